"""Writes marts and core tables as Parquet and CSV, with their metadata, into one folder."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpurank.answers.notes import Source, footnotes
from gpurank.answers.warehouse import NoData, ask, open_warehouse
from gpurank.declared.contracts import Contract, layer_contracts
from gpurank.declared.rounds import round_order
from gpurank.errors import Exit, GpurankError
from gpurank.pages.check import footnote_gaps
from gpurank.pages.export_metadata import (
    File,
    Origin,
    croissant,
    data_package,
    describe_column,
    origin_records,
)
from gpurank.settings import DEFAULT_LAMBDA, Settings
from gpurank.store.embargo import held
from tasks.outputs.export_csv import write_csv

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection

FORMATS = ("parquet", "csv")
_LAYERS = ("core", "marts")
_ORIGINS = "origins.json"


class ExportError(GpurankError, RuntimeError):
    """The export cannot be written to this folder, or may not be published yet."""

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
    """Writes every table of core and marts that has a contract, and the metadata of all.

    The folder appears complete or not at all. An earlier export in it is replaced; a folder that
    holds anything else is refused.

    Args:
        settings: where the warehouse is.
        folder: where to; an earlier export, an empty folder or nothing.
        formats: of ``parquet`` and ``csv``.
        today: refuse while a round may not be shown yet on this day; None: export anyway.

    Raises:
        NoData: there is no warehouse, or it holds none of the tables.
        ExportError: the folder holds something else, or a round is held back.
    """
    _check_folder(folder)
    partial = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    try:
        with open_warehouse(settings.warehouse_path) as con:
            _check_embargo(con, today)
            partial.mkdir(parents=True)
            written = [
                file
                for contract in _contracts_to_export(con)
                for file in _write_table(con, contract, formats, partial)
            ]
            _write_metadata(con, written, partial)
        _replace_folder(folder, partial)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    row_counts = {file.contract.table: file.row_count for file in written}
    byte_count = sum(file.byte_count for file in written)
    return Exported(folder, len(row_counts), sum(row_counts.values()), byte_count)


def _check_folder(folder: Path) -> None:
    """Raises ExportError where the folder holds anything but an export."""
    is_free = not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))
    if not is_free and not (folder / _ORIGINS).is_file():
        raise ExportError(f"{folder} is or holds something that is no export; name another folder")


def _check_embargo(con: DuckDBPyConnection, today: date | None) -> None:
    """Raises ExportError where a round may not be shown yet."""
    if today is None:
        return
    rounds = ask(con, "select round_id, published_on from marts.round_summary").rows
    if held_rounds := held(rounds, today):
        listing = ", ".join(f"{name} until {day}" for name, day in sorted(held_rounds.items()))
        raise ExportError(f"held back after its publication: {listing}; --no-hold exports anyway")


def _contracts_to_export(con: DuckDBPyConnection) -> list[Contract]:
    """Returns the contracts of the exported layers whose tables the warehouse holds."""
    sql = "select table_schema || '.' || table_name from information_schema.tables"
    tables = {row[0] for row in ask(con, sql).rows}
    declared = [contract for layer in _LAYERS for contract in layer_contracts(layer)]
    contracts = [contract for contract in declared if contract.table in tables]
    if not contracts:
        raise NoData("the warehouse holds no table to export; `gpurank analyze` builds them")
    return contracts


def _write_table(
    con: DuckDBPyConnection, contract: Contract, formats: Sequence[str], folder: Path
) -> Iterator[File]:
    """Writes one table in each format, and yields what was written."""
    import pyarrow.parquet as pq

    table = _read_table(con, contract)
    for form in sorted(formats, reverse=True):
        path = folder / form / f"{contract.table.replace('.', '_')}.{form}"
        path.parent.mkdir(exist_ok=True)
        if form == "parquet":
            pq.write_table(table, path, compression="zstd", version="2.6", store_schema=True)
        else:
            write_csv(table, contract, path)
        data = path.read_bytes()
        yield File(
            contract=contract,
            form=form,
            path=path.relative_to(folder).as_posix(),
            byte_count=len(data),
            sha256=hashlib.sha256(data).hexdigest(),
            row_count=table.num_rows,
        )


def _read_table(con: DuckDBPyConnection, contract: Contract) -> pa.Table:
    """Returns the table in declared columns and types, in the order of its key."""
    import duckdb

    names = ", ".join(f'"{column.name}"' for column in contract.columns)
    order = ", ".join(f'"{name}" nulls first' for name in contract.key)
    try:
        sql = f"select {names} from {contract.table} order by {order}"  # noqa: S608
        table = con.sql(sql).to_arrow_table()
    except duckdb.Error as error:
        raise ExportError(
            f"{contract.table} is not as declared ({str(error).splitlines()[0]}); "
            "`gpurank analyze` builds the warehouse anew"
        ) from error
    return table.cast(_exported_schema(contract))


def _exported_schema(contract: Contract) -> pa.Schema:
    """Returns the declared schema with descriptions, and plain texts in place of dictionaries.

    A dictionary is an encoding, not a meaning, and not every reader supports it.
    """
    import pyarrow as pa

    fields = []
    for field, column in zip(contract.arrow_schema(), contract.columns, strict=True):
        kind = pa.string() if pa.types.is_dictionary(field.type) else field.type
        metadata = {"description": describe_column(column)}
        if column.unit:
            metadata["unit"] = column.unit
        fields.append(pa.field(field.name, kind, field.nullable, metadata))
    return pa.schema(fields, {"description": contract.doc, "grain": contract.grain})


def _write_metadata(con: DuckDBPyConnection, written: Sequence[File], folder: Path) -> None:
    origins = _read_origins(con)
    sources = [Source(origin.round_id, origin.commit, origin.taken_on) for origin in origins]
    divisions = ask(con, "select distinct division from marts.result where division is not null")
    chips = ask(con, "select min(lambda_chips) from marts.ranking").rows[0][0]
    notes = footnotes(None, sources, divisions.column("division"), chips or DEFAULT_LAMBDA)
    if gaps := footnote_gaps(" ".join(notes)):
        raise ExportError(f"the footnote of the export lacks {', '.join(gaps)}")
    release = version("gpurank")
    _write_json(folder / "croissant.json", croissant(written, origins, notes, release))
    _write_json(folder / "datapackage.json", data_package(written, origins, notes, release))
    _write_json(folder / _ORIGINS, origin_records(origins))
    run = ask(con, "select run_id from lookup.run where kind = 'analysis'").rows[0][0]
    licences = ", ".join(
        f"{origin.round_id}: {origin.licence or 'none on record'}" for origin in origins
    )
    readme = files("tasks.outputs").joinpath("export_readme.md").read_text(encoding="utf-8")
    text = readme.format(notes="\n\n".join(notes), licences=licences, run=run)
    (folder / "README.md").write_text(text, encoding="utf-8", newline="\n")


def _read_origins(con: DuckDBPyConnection) -> list[Origin]:
    rows = ask(
        con,
        "select s.round_id, s.repository, s.source_commit, s.version_id, "
        "left(v.taken_at::varchar, 10), s.source_licence, s.source_licence_basis "
        "from marts.round_summary s join raw.round_version v using (round_id)",
    ).rows
    return [Origin(*row) for row in sorted(rows, key=lambda row: round_order(row[0]))]


def _write_json(path: Path, value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    path.write_text(text, encoding="utf-8", newline="\n")


def _replace_folder(folder: Path, complete: Path) -> None:
    """Moves the complete folder to where an earlier export may be."""
    old = folder.with_name(f".{folder.name}.{os.getpid()}.old")
    if folder.exists():
        folder.rename(old)
    complete.rename(folder)
    shutil.rmtree(old, ignore_errors=True)
