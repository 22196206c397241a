"""SQL for the checks that every contract implies; DuckDB counts the rows that fail them.

Table and column names come from our own contracts and are quoted. No value from a source becomes
part of a query.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpurank.declared.contracts import Contract
from gpurank.declared.unsafe_text import EMAIL_ADDRESS_RE2

_EMAIL_HINTS = ("@", "\\u0040")
_EMAIL_TEXT = re.compile(r"[\w.+%-]+(?:@|\\u0040)[\w.-]+")


def quote(name: str) -> str:
    """Returns a quoted SQL identifier; each part of ``layer.table`` is quoted on its own."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in name.split("."))


def mask_emails(text: str) -> str:
    """Returns the text with every e-mail address replaced, for messages and pages."""
    return _EMAIL_TEXT.sub("<e-mail>", text)


def failing_condition(contract: Contract, check: str, column: str) -> str:
    """Returns the SQL condition of the rows that fail ``not_null`` or ``no_email`` in a column."""
    if check == "not_null":
        return f"{quote(column)} is null"
    text = _text_expression(contract, column)
    hints = " or ".join(f"contains({text}, '{hint}')" for hint in _EMAIL_HINTS)
    return f"({hints}) and regexp_matches({text}, '{EMAIL_ADDRESS_RE2}')"


def failing_rows(contract: Contract, check: str, column: str) -> str:
    """Returns a query for the keys of the rows that fail a check in one column."""
    key = ", ".join(quote(name) for name in contract.key) or "*"
    condition = failing_condition(contract, check, column)
    return f"select {key} from {quote(contract.table)} where {condition}"  # noqa: S608


def table_counts(contract: Contract, filled: Sequence[str], searched: Sequence[str]) -> str:
    """Returns a query of one row: the table's rows, nulls per column, e-mail hints per column.

    A hint counts rows with a character that every address has. Only where there is one, the exact
    search is made, which costs a hundred times as much.

    Args:
        contract: the table.
        filled: columns whose nulls are counted.
        searched: text columns whose hints are counted.
    """
    counts = ["count(*)"]
    counts += [f"count(*) filter ({quote(column)} is null)" for column in filled]
    for column in searched:
        text = _text_expression(contract, column)
        # One filter per hint, because DuckDB then looks at a column's distinct values only.
        counts.append(
            " + ".join(f"count(*) filter (contains({text}, '{hint}'))" for hint in _EMAIL_HINTS)
        )
    return f"select {', '.join(counts)} from {quote(contract.table)}"  # noqa: S608


def repeated_keys(contract: Contract) -> str:
    """Returns a query for each key that occurs more than once; nulls count as equal."""
    key = ", ".join(quote(name) for name in contract.key)
    counted = f"select {key}, count(*) as occurrences from {quote(contract.table)}"  # noqa: S608
    return f"{counted} group by {key} having count(*) > 1"


def unproven_keys(contract: Contract) -> str:
    """Returns a query of one number: 0 if the order of the rows proves that no key repeats.

    It is 0 if rows of one value in the key's first column are adjacent and their other key
    columns ascend. That needs only the row before, where ``repeated_keys`` has to keep every key.
    Any other number proves nothing. For keys of two or more columns.
    """
    first, *rest = (quote(name) for name in contract.key)
    before = [f"before_{number}" for number in range(len(contract.key))]
    lagged = ", ".join(
        f"lag({name}) over () as {other}"
        for name, other in zip((first, *rest), before, strict=True)
    )
    is_new = f"{first} is distinct from {before[0]}"
    ascends = f"row({', '.join(rest)}) > row({', '.join(before[1:])})"
    return (
        f"select count(*) filter ({is_new}) - count(distinct {first})"  # noqa: S608
        f" + count(*) filter (not coalesce({is_new} or {ascends}, false))"
        f" from (select {', '.join((first, *rest))}, {lagged} from {quote(contract.table)})"
    )


def _text_expression(contract: Contract, column: str) -> str:
    is_list = contract.column(column).column_type.is_list
    return f"array_to_string({quote(column)}, ' ')" if is_list else quote(column)
