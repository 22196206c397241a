"""Writes a table as CSV that spreadsheets, R and data frame libraries read alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from gpurank.declared.contracts import Column, Contract

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

# What makes a spreadsheet take a text for a formula; the wide forms do so in East Asian locales.
_FORMULA = "^[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]"


def write_csv(table: pa.Table, contract: Contract, path: Path) -> None:
    """Writes RFC 4180 with LF; lists as JSON, UTC times as ISO 8601, formula-like text after ``'``.

    An empty text becomes a missing cell, because most readers cannot tell the two apart. Truth
    values are TRUE and FALSE, because R reads ``true`` as a text.
    """
    import polars as pl

    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    cells = [cell for column in contract.columns if (cell := _cell(column)) is not None]
    frame = frame.with_columns(cells)
    frame.write_csv(path, datetime_format="%Y-%m-%dT%H:%M:%S%.6fZ", line_terminator="\n")


def _cell(column: Column) -> pl.Expr | None:
    """Returns the cells of a column as they are written; None: polars' own form is right."""
    import polars as pl

    values = pl.col(column.name)
    if column.type.startswith("list_"):
        return values.map_elements(_json_list, return_dtype=pl.String)
    if column.type == "bool":
        return values.cast(pl.String).str.to_uppercase()
    if not column.is_text:
        return None
    return (
        pl.when(values.str.contains(_FORMULA))
        .then(pl.concat_str(pl.lit("'"), values))
        .when(values == "")
        .then(None)
        .otherwise(values)
        .alias(column.name)
    )


def _json_list(items: pl.Series) -> str:
    return json.dumps(list(items), ensure_ascii=False)
