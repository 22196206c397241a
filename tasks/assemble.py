"""The order of the analysis: what is done to a warehouse that is being built."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpurank.answers.reading import NoData
from gpurank.settings import Settings
from gpurank.versions.history import publications, valid_at
from gpurank.versions.store import Store
from tasks.fanout import Each, here

if TYPE_CHECKING:
    import duckdb

    from gpurank.declared.validation import ValidationReport

Run = Callable[["duckdb.DuckDBPyConnection", Settings], Any]


@dataclass(frozen=True, slots=True)
class Step:
    """One named step; ``run`` changes the warehouse behind the connection."""

    name: str
    run: Run


def steps(each: Each = here) -> tuple[Step, ...]:
    """Every step from an empty warehouse to the marts, in order.

    Args:
        each: where the method's jobs run, one a benchmark; the warehouse does not depend on it.
    """
    return (
        Step("load", load),
        Step("identify", _identify(each)),
        Step("staging", _layer("staging")),
        Step("core", _layer("core")),
        Step("metrics", _layer("metrics")),
        Step("method", _method(each)),
        Step("history", history),
        Step("check", method_checked),
        Step("marts", _layer("marts")),
        Step("views", views),
    )


def load(con: duckdb.DuckDBPyConnection, settings: Settings) -> int:
    """Load every round's version in use (or valid then) and the lookups; gives how many rounds.

    Raises:
        NoData: the store holds no round.
    """
    from tasks import provenance
    from tasks.load import Version, load_raw
    from tasks.lookups import load_lookups

    store = Store(settings.raw_dir)
    versions, history = [], {}
    for round_id in store.rounds():
        known = publications(store, round_id)
        item = valid_at(known, settings.as_of) if settings.as_of else known[-1]
        if item is not None:
            version = item.manifest.version_id
            folder = store.folder(round_id, version)
            versions.append(Version(round_id, version, folder, item.valid_from))
            history[round_id] = known
    if not versions and store.rounds():
        raise NoData(f"nothing was known by {settings.as_of}; `gpurank rounds` shows since when")
    if not versions:
        raise NoData(
            f"no round has been ingested into {settings.home}; "
            "`gpurank run` takes the shipped ones, `gpurank backfill --source …` others"
        )
    provenance.begin(con, versions, history, settings)
    load_raw(con, versions)
    load_lookups(con)
    return len(versions)


def views(con: duckdb.DuckDBPyConnection, settings: Settings) -> None:
    """Views of the marts under names that a person would guess."""
    from tasks.views import create_views

    create_views(con)


def history(con: duckdb.DuckDBPyConnection, settings: Settings) -> None:
    """Write when each version was valid and what changed between a round's two newest."""
    from tasks import changes

    changes.run(con, settings)


def method_checked(con: duckdb.DuckDBPyConnection, settings: Settings) -> ValidationReport | None:
    """Check what the method wrote; a table that it had nothing for is there, empty."""
    from tasks.model import prepare_analysis

    prepare_analysis(con)
    return validate(con, "analysis", settings)


def validate(
    con: duckdb.DuckDBPyConnection, layer: str, settings: Settings
) -> ValidationReport | None:
    """Check one layer against its contracts; None where it has none.

    Raises:
        ValidationFailed: a critical check failed.
    """
    from gpurank.declared.contracts import contracts
    from tasks.validate import validate_warehouse

    if not any(declared.layer == layer for declared in contracts()):
        return None
    return validate_warehouse(con, layer, _rows_before(con, layer, settings))


def _rows_before(
    con: duckdb.DuckDBPyConnection, layer: str, settings: Settings
) -> dict[str, int] | None:
    """Rows a table of the warehouse in use, where the new one holds the same bytes and more."""
    import duckdb

    from gpurank.answers.reading import ask, open_warehouse

    if settings.accept_shrink:
        return None
    # Where a round's bytes changed, its raw tables were compared when it was ingested.
    held = "select round_id, content_hash from raw.round_version"
    tables = "select table_name from information_schema.tables where table_schema = ?"
    try:
        with open_warehouse(settings.warehouse_path) as old:
            if not set(ask(old, held).rows) <= set(ask(con, held).rows):
                return None
            names = [f"{layer}.{name}" for (name,) in ask(old, tables, [layer]).rows]
            return {name: _count(old, name) for name in names}
    except (NoData, duckdb.Error):
        return None


def _count(con: duckdb.DuckDBPyConnection, table: str) -> int:
    from gpurank.answers.reading import ask

    return int(ask(con, f"select count(*) from {table}").rows[0][0])  # noqa: S608


def note_warnings(con: duckdb.DuckDBPyConnection, reports: Sequence[ValidationReport]) -> None:
    """Add what only warned in a derived table to marts.issue, under round_id ``all``."""
    from gpurank.declared.contracts import contract
    from gpurank.declared.validation import issue_rows, merged

    names = [column.name for column in contract("marts.issue").columns]
    for row in issue_rows(merged("warehouse", reports)):
        values = [{**row, "round_id": "all"}.get(name) for name in names]
        columns, marks = ", ".join(names), ", ".join("?" for _ in names)
        con.execute(f"insert into marts.issue ({columns}) values ({marks})", values)  # noqa: S608


def write_page(settings: Settings, reports: Sequence[ValidationReport]) -> None:
    """Write the page of the warehouse's validation."""
    from tasks import ingest

    if reports:
        title = "Validation of the warehouse"
        ingest.write_page(settings.reports_dir, "warehouse", reports, title)


def write_quality_page(settings: Settings) -> None:
    """Write the data quality page of the published warehouse."""
    from gpurank.answers.reading import open_warehouse
    from gpurank.pages.quality import quality_page, read_quality
    from gpurank.versions.store import write_durably

    with open_warehouse(settings.warehouse_path) as con:
        text = quality_page(read_quality(con))
    settings.reports_dir.mkdir(parents=True, exist_ok=True)
    write_durably(settings.reports_dir / "data_quality.html", text)


def _layer(layer: str) -> Run:
    def run(con: duckdb.DuckDBPyConnection, settings: Settings) -> ValidationReport | None:
        from tasks.model import run_layer

        run_layer(con, layer)
        return validate(con, layer, settings)

    return run


def _identify(each: Each) -> Run:
    """Make identity.* of the reported spellings, and ready what the method will need."""

    def run(con: duckdb.DuckDBPyConnection, settings: Settings) -> None:
        from tasks.identify import load_identity
        from tasks.method import FEW_RESULTS, IMPORTS

        if _count(con, "raw.folder") >= FEW_RESULTS:
            each.warm(*IMPORTS)
        load_identity(con)

    return run


def _method(each: Each) -> Run:
    def run(con: duckdb.DuckDBPyConnection, settings: Settings) -> dict[str, int]:
        from tasks import method

        return method.run(con, settings, each)

    return run
