"""Stages of an analysis that take more than one call; flows/analyze.py lists all, in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gpurank.answers.warehouse import NoData, ask, open_warehouse
from gpurank.declared.contracts import contract, layer_contracts
from gpurank.declared.validation import (
    ValidationFailed,
    ValidationReport,
    issue_rows,
    merge_reports,
)
from gpurank.settings import Settings
from gpurank.store.versions import write_durably
from tasks.build.load import load_raw
from tasks.build.lookups import load_lookups
from tasks.build.models import prepare_analysis, run_layer
from tasks.build.provenance import read_inputs, record_run
from tasks.checks.validate import validate_layer
from tasks.ingest.round import write_page

if TYPE_CHECKING:
    import duckdb


def load_rounds(con: duckdb.DuckDBPyConnection, settings: Settings) -> None:
    """Load each round's version in use (or the one valid at ``as_of``), and the lookups.

    Raises:
        NoData: the store holds no round.
    """
    inputs = read_inputs(settings)
    record_run(con, inputs, settings)
    load_raw(con, inputs.versions)
    load_lookups(con)


def build_layer(
    con: duckdb.DuckDBPyConnection, layer: str, settings: Settings
) -> list[ValidationReport]:
    """Run the SQL models of a layer, then validate its tables.

    Returns:
        The layer's report; none for a layer without contracts.

    Raises:
        ModelRunError: a model failed.
        ValidationFailed: a critical check failed.
    """
    run_layer(con, layer)
    return _validate(con, layer, settings)


def check_analysis(con: duckdb.DuckDBPyConnection, settings: Settings) -> list[ValidationReport]:
    """Validate what the method and the history wrote; tables without rows are made empty.

    Raises:
        ValidationFailed: a critical check failed.
    """
    prepare_analysis(con)
    return _validate(con, "analysis", settings)


def add_warnings(con: duckdb.DuckDBPyConnection, reports: Sequence[ValidationReport]) -> None:
    """Add the warnings about derived tables to marts.issue, under round_id ``all``."""
    names = [column.name for column in contract("marts.issue").columns]
    columns, marks = ", ".join(names), ", ".join("?" for _ in names)
    for row in issue_rows(merge_reports("warehouse", reports)):
        values = [{**row, "round_id": "all"}.get(name) for name in names]
        con.execute(f"insert into marts.issue ({columns}) values ({marks})", values)  # noqa: S608


@contextmanager
def validation_page(settings: Settings) -> Iterator[list[ValidationReport]]:
    """Collect the reports of a build, and write them as a page even where a check failed.

    The page is about the published warehouse: a build into another file writes none.
    """
    reports: list[ValidationReport] = []
    try:
        yield reports
    except ValidationFailed as error:
        reports.append(error.report)
        raise
    finally:
        if reports and settings.output is None:
            write_page(settings.reports_dir, "warehouse", reports, "Validation of the warehouse")


def write_quality_page(settings: Settings) -> None:
    """Write the data quality page of the published warehouse."""
    from gpurank.pages.data_quality import quality_page, read_quality

    if settings.output is not None:
        return
    with open_warehouse(settings.warehouse_path) as con:
        text = quality_page(read_quality(con))
    settings.reports_dir.mkdir(parents=True, exist_ok=True)
    write_durably(settings.reports_dir / "data_quality.html", text)


def _validate(
    con: duckdb.DuckDBPyConnection, layer: str, settings: Settings
) -> list[ValidationReport]:
    if not layer_contracts(layer):
        return []
    return [validate_layer(con, layer, layer, _published_counts(con, layer, settings))]


def _published_counts(
    con: duckdb.DuckDBPyConnection, layer: str, settings: Settings
) -> Mapping[str, int] | None:
    """Returns rows per table of the published warehouse, below which a table must not shrink.

    None where it may: on request, where nothing is published, or where a round's bytes changed;
    then its raw tables were compared when it was ingested.
    """
    import duckdb

    if settings.accept_shrink:
        return None
    loaded = "select round_id, content_hash from raw.round_version"
    tables = "select table_name from information_schema.tables where table_schema = ?"
    try:
        with open_warehouse(settings.warehouse_path) as published:
            if not set(ask(published, loaded).rows) <= set(ask(con, loaded).rows):
                return None
            names = [f"{layer}.{name}" for (name,) in ask(published, tables, [layer]).rows]
            return {name: _row_count(published, name) for name in names}
    except (NoData, duckdb.Error):
        return None


def _row_count(con: duckdb.DuckDBPyConnection, table: str) -> int:
    return int(ask(con, f"select count(*) from {table}").rows[0][0])  # noqa: S608
