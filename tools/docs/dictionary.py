"""The data dictionary: every table's contract as Markdown.

``python -m tools.docs.dictionary > docs/tables.md`` writes it; a test fails if it is out of date.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from gpurank.declared.contracts import Check, Column, Contract, contracts

# The order in which tables are made, which is also the order to read them in.
_LAYERS = ("raw", "lookup", "identity", "staging", "core", "metrics", "analysis", "marts")
_HEAD = """# Tables

Generated from the contracts in `expectations/` by `make docs`
(`python -m tools.docs.dictionary > docs/tables.md`); edit those, not this file.
[contracts.md](contracts.md) describes their format and the checks that every table has in addition
to those listed here. Every table of the warehouse has one more column, `run_id`, the run that made
the row: `join lookup.run using (run_id)`. Tables of `raw` also start with `round_id` and
`version_id` there.
"""


def tables_text(declared: Iterable[Contract]) -> str:
    """Returns the dictionary as Markdown: a list of tables, then one section per table.

    Tables are sorted by layer, in the order in which layers are made, and then by name.
    """
    ordered = sorted(declared, key=lambda contract: (_layer_order(contract), contract.table))
    parts = [_HEAD]
    for layer in dict.fromkeys(contract.layer for contract in ordered):
        tables = [contract for contract in ordered if contract.layer == layer]
        rows = [[_link(contract.table), _text(contract.grain)] for contract in tables]
        parts.append(f"**{layer}**\n\n" + _table(["table", "one row is"], rows))
    parts += [_section(contract) for contract in ordered]
    return "\n".join(parts)


def _layer_order(contract: Contract) -> tuple[int, str]:
    known = contract.layer in _LAYERS
    return (_LAYERS.index(contract.layer) if known else len(_LAYERS), contract.layer)


def _link(table: str) -> str:
    return f"[{table}](#{table.replace('.', '')})"


def _section(contract: Contract) -> str:
    key = ", ".join(f"`{name}`" for name in contract.key) or "none"
    sentences = [f"One row is {_text(contract.grain)}.", f"Key: {key}."]
    if contract.may_be_empty:
        sentences.append("May be empty.")
    if contract.is_large:
        sentences.append("As large as the logs: only `sql:` checks.")
    if contract.published_as:
        sentences.append(f"Published as {_link(contract.published_as)}.")
    if contract.shows:
        sentences.append(f"A view of {_link(contract.shows)}, which describes the columns.")
    lines = [f"## {contract.table}", "", contract.doc.strip(), "", " ".join(sentences), ""]
    if contract.shows:
        return "\n".join(lines)
    columns = [_column_row(column) for column in contract.columns]
    lines.append(_table(["column", "type", "unit", "null", "meaning"], columns))
    if contract.checks:
        checks = [[f"`{c.name}`", c.severity, _condition(c), _text(c.why)] for c in contract.checks]
        lines.append(_table(["check", "severity", "holds when", "why"], checks))
    return "\n".join(lines)


def _column_row(column: Column) -> list[str]:
    may_be_null = "yes" if column.nullable else ""
    unit = _text(column.unit or "")
    return [f"`{column.name}`", column.type, unit, may_be_null, _text(column.doc)]


def _condition(check: Check) -> str:
    if check.sql is not None:
        return "no row: " + _code(check.sql)
    arguments = ", ".join(f"{name}={value}" for name, value in check.arguments.items())
    return _code(f"{check.expect}({arguments})")


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def _text(text: str) -> str:
    """Returns one line of prose for a table cell, with Markdown and HTML escaped."""
    line = " ".join(text.split())
    for character in "\\|<>*`[]":
        line = line.replace(character, "\\" + character)
    return line


def _code(text: str) -> str:
    """Returns code for a table cell. A bar would end the cell even within code."""
    line = " ".join(text.split()).replace("|", "\\|")
    fence = "``" if "`" in line else "`"
    return f"{fence}{line}{fence}"


def main() -> None:
    """Prints the dictionary of every declared table."""
    sys.stdout.write(tables_text(contracts()))


if __name__ == "__main__":
    main()
