"""SQL for the checks that a contract implies: offending rows are counted where the data are.

Names come from contracts, which we write, and are quoted; no value from a source enters a query.
Event-sized tables never become frames; one row of counts a table is what gets validated.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpurank.declared.contracts import Column, Contract

# Whatever gpurank.logs.privacy blanks and still stands there; also where JSON escapes the
# character.
EMAIL = (
    r"[A-Za-z0-9_.+-](@|\\u0040)[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.[A-Za-z]{2,}($|[^A-Za-z0-9_])"
)
_EMAIL_HINTS = ("@", "\\u0040")
_EMAIL_TEXT = re.compile(r"[\w.+%-]+(?:@|\\u0040)[\w.-]+")

_DUCKDB_TYPES: dict[str, tuple[str, ...]] = {
    "string": ("VARCHAR", "ENUM"),
    "dictionary": ("VARCHAR", "ENUM"),
    "int32": ("INTEGER",),
    "int64": ("BIGINT",),
    "double": ("DOUBLE",),
    "bool": ("BOOLEAN",),
    "date": ("DATE",),
    "timestamp": ("TIMESTAMP WITH TIME ZONE", "TIMESTAMP"),
    "list_double": ("DOUBLE[]",),
    "list_string": ("VARCHAR[]",),
}


def quoted(name: str) -> str:
    """An SQL identifier, quoted; ``layer.table`` part by part."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in name.split("."))


def masked(text: str) -> str:
    """Text without e-mail addresses, for messages and pages."""
    return _EMAIL_TEXT.sub("<e-mail>", text)


def has_declared_type(column: Column, duckdb_type: str) -> bool:
    """Whether DuckDB's type of a column is one that the contract's type allows."""
    return any(
        duckdb_type == allowed or (allowed == "ENUM" and duckdb_type.startswith("ENUM("))
        for allowed in _DUCKDB_TYPES[column.type]
    )


def offending(contract: Contract, check: str, column: str) -> str:
    """Condition that holds for the rows which offend an implied check in one column."""
    name = _as_text(contract, column) if check == "no_email" else quoted(column)
    if check == "not_null":
        return f"{name} is null"
    hints = " or ".join(f"contains({name}, '{hint}')" for hint in _EMAIL_HINTS)
    return f"({hints}) and regexp_matches({name}, '{EMAIL}')"


def facts_query(contract: Contract, filled: Sequence[str], searched: Sequence[str]) -> str:
    """One row: rows; nulls of each ``filled`` column; a hint for each ``searched`` column.

    A hint counts what an e-mail address needs, and says whether the exact search, which costs a
    hundred times as much, has to be made.
    """
    counts = ["count(*)"]
    counts += [f"count(*) filter ({quoted(column)} is null)" for column in filled]
    for column in searched:
        name = _as_text(contract, column)
        # One filter a hint: each alone runs on a column's distinct values only.
        counts.append(
            " + ".join(f"count(*) filter (contains({name}, '{hint}'))" for hint in _EMAIL_HINTS)
        )
    return f"select {', '.join(counts)} from {quoted(contract.table)}"  # noqa: S608


def _as_text(contract: Contract, column: str) -> str:
    declared = next(item for item in contract.columns if item.name == column)
    name = quoted(column)
    return f"array_to_string({name}, ' ')" if declared.type == "list_string" else name


def offending_count(contract: Contract, check: str, column: str) -> str:
    """One row: how many rows offend an implied check in one column."""
    condition = offending(contract, check, column)
    return f"select count(*) from {quoted(contract.table)} where {condition}"  # noqa: S608


def repeated_keys(contract: Contract) -> str:
    """Rows: each key that occurs more than once (nulls are equal), and how often."""
    key = ", ".join(quoted(name) for name in contract.key)
    counted = f"select {key}, count(*) as occurrences from {quoted(contract.table)}"  # noqa: S608
    return f"{counted} group by {key} having count(*) > 1"


def repeated_key_hints(contract: Contract) -> str:
    """One row: 0 where no key can occur twice, since rows stand in groups and ascend in each.

    Groups are of the key's first column, and no two of one value; rows ascend in the others. This
    needs the row before alone, where ``repeated_keys`` keeps every key. Rows that stand otherwise
    (or nulls) say nothing. Only for keys of several columns.
    """
    first, *rest = (quoted(name) for name in contract.key)
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
        f" from (select {', '.join((first, *rest))}, {lagged} from {quoted(contract.table)})"
    )


def offending_rows(contract: Contract, check: str, column: str) -> str:
    """Key columns of the rows that offend an implied check of one column."""
    key = ", ".join(quoted(name) for name in contract.key) or "*"
    condition = offending(contract, check, column)
    return f"select {key} from {quoted(contract.table)} where {condition}"  # noqa: S608
