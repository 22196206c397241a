"""Write marts and core tables as Parquet and CSV, with their metadata, as one folder."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpurank.answers.notes import Source, footnotes
from gpurank.answers.warehouse import NoData, ask, open_warehouse
from gpurank.declared.contracts import Column, Contract, layer_contracts
from gpurank.declared.rounds import round_order
from gpurank.errors import Exit, GpurankError
from gpurank.pages.export_metadata import (
    File,
    Origin,
    croissant,
    data_package,
    described,
    provenance,
)
from gpurank.pages.footnote_check import missing
from gpurank.settings import Settings
from gpurank.store.embargo import held

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa
    from duckdb import DuckDBPyConnection

FORMATS = ("parquet", "csv")
_LAYERS = ("core", "marts")
_ORIGINS = "origins.json"


class ExportError(GpurankError, RuntimeError):
    """The export cannot be written there, or may not be published yet."""

    exit_code = Exit.STORAGE


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written: the folder, its tables, rows and bytes (of data files)."""

    folder: Path
    table_count: int
    row_count: int
    byte_count: int


def export(
    settings: Settings,
    folder: Path,
    formats: Sequence[str] = FORMATS,
    today: date | None = None,
) -> Exported:
    """Write every table of core and marts that has a contract, and the metadata of all.

    The folder appears whole or not at all; an earlier export in it is replaced, anything else
    that stands there is not touched.

    Args:
        settings: where the warehouse is.
        folder: where to; an earlier export, an empty folder or nothing.
        formats: of ``parquet`` and ``csv``.
        today: refuse while a round may not be shown yet on this day; None: export anyway.

    Raises:
        NoData: there is no warehouse, or it holds none of the tables.
        ExportError: the folder holds something else, or a round is held back.
    """
    _refuse_others(folder)
    partial = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    con = open_warehouse(settings.warehouse_path)
    try:
        _refuse_held(con, today)
        partial.mkdir(parents=True)
        tables = _present(con)
        files = [file for each in tables for file in _write_table(con, each, formats, partial)]
        _write_metadata(con, files, partial)
        _place(partial, folder)
    finally:
        con.close()
        shutil.rmtree(partial, ignore_errors=True)
    rows = {file.contract.table: file.row_count for file in files}
    size = sum(file.byte_count for file in files)
    return Exported(folder, len(rows), sum(rows.values()), size)


def _refuse_others(folder: Path) -> None:
    is_free = not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))
    if not is_free and not (folder / _ORIGINS).is_file():
        raise ExportError(f"{folder} is or holds something that is no export; name another folder")


def _refuse_held(con: DuckDBPyConnection, today: date | None) -> None:
    if today is None:
        return
    rounds = ask(con, "select round_id, published_on from marts.round_summary").rows
    if waiting := held(rounds, today):
        told = ", ".join(f"{name} until {day}" for name, day in sorted(waiting.items()))
        raise ExportError(f"held back after its publication: {told}; --no-hold exports anyway")


def _present(con: DuckDBPyConnection) -> list[Contract]:
    listing = "select table_schema || '.' || table_name from information_schema.tables"
    there = {row[0] for row in ask(con, listing).rows}
    declared = [contract for layer in _LAYERS for contract in layer_contracts(layer)]
    found = [contract for contract in declared if contract.table in there]
    if not found:
        raise NoData("the warehouse holds no table to export; `gpurank analyze` builds them")
    return found


def _write_table(
    con: DuckDBPyConnection, contract: Contract, formats: Sequence[str], folder: Path
) -> Iterable[File]:
    table = _read(con, contract)
    for form in sorted(formats, reverse=True):
        path = folder / form / f"{contract.table.replace('.', '_')}.{form}"
        path.parent.mkdir(exist_ok=True)
        if form == "parquet":
            _write_parquet(table, path)
        else:
            _write_csv(table, contract, path)
        data = path.read_bytes()
        yield File(
            contract=contract,
            form=form,
            path=path.relative_to(folder).as_posix(),
            byte_count=len(data),
            sha256=hashlib.sha256(data).hexdigest(),
            row_count=table.num_rows,
        )


def _read(con: DuckDBPyConnection, contract: Contract) -> pa.Table:
    """The table in declared columns and types, in the order of its key."""
    import duckdb
    import pyarrow as pa

    names = ", ".join(f'"{column.name}"' for column in contract.columns)
    order = ", ".join(f'"{name}" nulls first' for name in contract.key)
    try:
        sql = f"select {names} from {contract.table} order by {order}"  # noqa: S608
        found = con.sql(sql).to_arrow_table()
    except duckdb.Error as error:
        raise ExportError(
            f"{contract.table} is not as declared ({str(error).splitlines()[0]}); "
            "`gpurank analyze` builds the warehouse anew"
        ) from error
    fields = [
        pa.field(field.name, _plain(field.type), field.nullable, _about(column))
        for field, column in zip(contract.arrow_schema(), contract.columns, strict=True)
    ]
    return found.cast(pa.schema(fields, {"description": contract.doc, "grain": contract.grain}))


def _plain(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    # Dictionaries are an encoding, not a meaning, and not every reader takes them.
    return pa.string() if pa.types.is_dictionary(kind) else kind


def _about(column: Column) -> dict[str, str]:
    return {"description": described(column), **({"unit": column.unit} if column.unit else {})}


def _write_parquet(table: pa.Table, path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table, path, compression="zstd", version="2.6", store_schema=True)


def _write_csv(table: pa.Table, contract: Contract, path: Path) -> None:
    """RFC 4180 with LF; lists as JSON, UTC times as ISO 8601, formula-like text quoted by ``'``.

    An empty text becomes a missing cell: most readers cannot tell the two apart. Truth values are
    TRUE and FALSE, for R takes ``true`` for a text.
    """
    import polars as pl

    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    frame = frame.with_columns(
        [
            _cell(column)
            for column in contract.columns
            if column.is_text or column.type == "bool" or "list" in column.type
        ]
    )
    frame.write_csv(path, datetime_format="%Y-%m-%dT%H:%M:%S%.6fZ", line_terminator="\n")


def _cell(column: Column) -> pl.Expr:
    import polars as pl

    if column.type.startswith("list_"):
        to_json = lambda items: json.dumps(list(items), ensure_ascii=False)  # noqa: E731
        return pl.col(column.name).map_elements(to_json, return_dtype=pl.String)
    if column.type == "bool":
        return pl.col(column.name).cast(pl.String).str.to_uppercase()
    text = pl.col(column.name)
    # The wide forms are what Excel takes for the same signs in East Asian locales.
    is_formula = text.str.contains("^[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
    return (
        pl.when(is_formula)
        .then(pl.concat_str(pl.lit("'"), text))
        .when(text == "")
        .then(None)
        .otherwise(text)
        .alias(column.name)
    )


def _write_metadata(con: DuckDBPyConnection, files: Sequence[File], folder: Path) -> None:
    origins = _origins(con)
    sources = [Source(item.round_id, item.commit, item.taken_on) for item in origins]
    found = ask(con, "select distinct division from marts.result where division is not null")
    chips = ask(con, "select min(lambda_chips) from marts.ranking").rows[0][0]
    notes = footnotes(None, sources, found.column("division"), chips or 8.0)
    if lack := missing(" ".join(notes)):
        raise ExportError(f"the footnote of the export lacks {', '.join(lack)}")
    release = version("gpurank")
    _write_json(folder / "croissant.json", croissant(files, origins, notes, release))
    _write_json(folder / "datapackage.json", data_package(files, origins, notes, release))
    _write_json(folder / _ORIGINS, provenance(origins))
    licences = ", ".join(f"{item.round_id}: {item.licence or 'none on record'}" for item in origins)
    text = _README.format(notes="\n\n".join(notes), licences=licences, run=_run(con))
    (folder / "README.md").write_text(text, encoding="utf-8", newline="\n")


def _origins(con: DuckDBPyConnection) -> list[Origin]:
    rows = ask(
        con,
        "select s.round_id, s.repository, s.source_commit, s.version_id, v.taken_at::varchar, "
        "s.source_licence, s.source_licence_basis "
        "from marts.round_summary s join raw.round_version v using (round_id)",
    ).rows
    rows = tuple(sorted(rows, key=lambda row: round_order(row[0])))
    return [
        Origin(name, repository, commit, version_id, taken_at[:10], licence, basis)
        for name, repository, commit, version_id, taken_at, licence, basis in rows
    ]


def _run(con: DuckDBPyConnection) -> str:
    runs = ask(con, "select run_id from lookup.run where kind = 'analysis'").rows
    return str(runs[0][0])


def _write_json(path: Path, value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    path.write_text(text, encoding="utf-8", newline="\n")


def _place(partial: Path, folder: Path) -> None:
    """Put the finished folder in the place of an earlier one."""
    old = folder.with_name(f".{folder.name}.{os.getpid()}.old")
    if folder.exists():
        folder.rename(old)
    partial.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


_README = """# Training configurations, ranked and clustered (derived)

`parquet/` and `csv/` hold the same tables; `croissant.json` and `datapackage.json` describe every
table, column and unit, with the SHA-256 of each file; `origins.json` names the commit and version
of each round. Every row was made by the run `{run}`.

```python
pandas.read_parquet("parquet/marts_ranking.parquet")
polars.read_parquet("parquet/marts_ranking.parquet")
duckdb.sql("from 'parquet/marts_ranking.parquet'")
```

From CSV, where a filed text can be `NA`, which is no missing value; R needs no package:

```python
pandas.read_csv("csv/marts_ranking.csv", keep_default_na=False, na_values=[""])
polars.read_csv("csv/marts_ranking.csv", infer_schema_length=None)
duckdb.sql("from read_csv('csv/marts_ranking.csv', sample_size=-1)")
```

```r
read.csv("csv/marts_ranking.csv", na.strings = "", encoding = "UTF-8")
```

In CSV an empty cell is a missing value or an empty text, truth is TRUE or FALSE, times are UTC, a
list is JSON text, and a text that begins with `=`, `+`, `-`, `@` (also in their wide forms), a tab
or a line break has `'` before it, so that no spreadsheet runs it as a formula; Parquet holds each
as it is.

The tables and their making: Apache-2.0. What they are derived from stands under the licence of
each round's repository ({licences}); no raw file is contained. Data as is, without endorsement.

{notes}
"""
