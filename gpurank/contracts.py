"""Table contracts: grain, key, columns with types and units, checks.

Source: ``expectations/<layer>/<table>.yml``. A raw table's Parquet schema is made from here,
so that a column is declared once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import pyarrow as pa
import yaml

_TYPES: dict[str, pa.DataType] = {
    "string": pa.string(),
    "dictionary": pa.dictionary(pa.int32(), pa.string()),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "double": pa.float64(),
    "bool": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table: its name, type, unit and meaning."""

    name: str
    type: str
    doc: str
    unit: str | None = None
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class Contract:
    """One table's contract. ``checks`` are the raw YAML rows; tasks/validate.py reads them."""

    table: str
    grain: str
    key: tuple[str, ...]
    doc: str
    columns: tuple[Column, ...]
    checks: tuple[dict[str, Any], ...]

    def arrow_schema(self) -> pa.Schema:
        """The table's Arrow schema, in declared order."""
        return pa.schema(
            [pa.field(column.name, _TYPES[column.type], column.nullable) for column in self.columns]
        )


@cache
def contract(table: str) -> Contract:
    """The contract of ``layer.name``.

    Raises:
        FileNotFoundError: the table has no contract.
    """
    layer, _, name = table.partition(".")
    text = files("expectations").joinpath(layer, f"{name}.yml").read_text(encoding="utf-8")
    document = yaml.safe_load(text)
    return Contract(
        table=document["table"],
        grain=document["grain"],
        key=tuple(document["key"]),
        doc=document["doc"],
        columns=tuple(Column(**column) for column in document["columns"]),
        checks=tuple(document.get("checks", ())),
    )


@cache
def contracts() -> tuple[Contract, ...]:
    """Every contract, by table name."""
    names = [
        f"{layer.name}.{path.name.removesuffix('.yml')}"
        for layer in files("expectations").iterdir()
        if layer.is_dir() and not layer.name.startswith("_")
        for path in layer.iterdir()
        if path.name.endswith(".yml")
    ]
    return tuple(contract(name) for name in sorted(names))
