"""The order of the analysis: what is done to a warehouse that is being built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gpurank.answers.warehouse import NoData
from gpurank.declared.validation import ValidationReport
from gpurank.settings import Settings
from gpurank.store.history import publications, valid_at
from gpurank.store.versions import Store
from tasks.checks.deferred import Checks, Run
from tasks.pool import Each, here

if TYPE_CHECKING:
    import duckdb


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
    checks = Checks()
    listed = (
        Step("load", _load(checks)),
        Step("identify", _identify(each, checks)),
        Step("staging", _layer("staging", checks)),
        Step("core", _layer("core", checks)),
        Step("metrics", _layer("metrics", checks)),
        Step("method", _method(each, checks)),
        Step("history", history),
        Step("check", _method_checked(checks)),
        Step("marts", _marts(checks)),
        Step("views", views),
    )
    return tuple(replace(step, run=checks.before_any_error(step.run)) for step in listed)


def reports_of(result: Any) -> list[ValidationReport]:
    """The reports among what a step gave."""
    given = result if isinstance(result, list) else [result]
    return [one for one in given if isinstance(one, ValidationReport)]


def load(con: duckdb.DuckDBPyConnection, settings: Settings) -> int:
    """Load every round's version in use (or valid then) and the lookups; gives how many rounds.

    Raises:
        NoData: the store holds no round.
    """
    from tasks.build import provenance
    from tasks.build.load import Version, load_raw
    from tasks.build.lookups import load_lookups

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
    from tasks.build.views import create_views

    create_views(con)


def history(con: duckdb.DuckDBPyConnection, settings: Settings) -> None:
    """Write when each version was valid and what changed between a round's two newest."""
    from tasks.build import history as changes

    changes.run(con, settings)


def note_warnings(con: duckdb.DuckDBPyConnection, reports: Sequence[ValidationReport]) -> None:
    """Add what only warned in a derived table to marts.issue, under round_id ``all``."""
    from gpurank.declared.contracts import contract
    from gpurank.declared.validation import issue_rows, merge_reports

    names = [column.name for column in contract("marts.issue").columns]
    for row in issue_rows(merge_reports("warehouse", reports)):
        values = [{**row, "round_id": "all"}.get(name) for name in names]
        columns, marks = ", ".join(names), ", ".join("?" for _ in names)
        con.execute(f"insert into marts.issue ({columns}) values ({marks})", values)  # noqa: S608


def write_page(settings: Settings, reports: Sequence[ValidationReport]) -> None:
    """Write the page of the warehouse's validation."""
    from tasks.ingest import round as ingest

    if reports:
        title = "Validation of the warehouse"
        ingest.write_page(settings.reports_dir, "warehouse", reports, title)


def write_quality_page(settings: Settings) -> None:
    """Write the data quality page of the published warehouse."""
    from gpurank.answers.warehouse import open_warehouse
    from gpurank.pages.data_quality import quality_page, read_quality
    from gpurank.store.versions import write_durably

    with open_warehouse(settings.warehouse_path) as con:
        text = quality_page(read_quality(con))
    settings.reports_dir.mkdir(parents=True, exist_ok=True)
    write_durably(settings.reports_dir / "data_quality.html", text)


def _load(checks: Checks) -> Run:
    def run(con: duckdb.DuckDBPyConnection, settings: Settings) -> int:
        checks.forget()
        count = load(con, settings)
        checks.begin(con, "lookup", settings)
        return count

    return run


def _layer(layer: str, checks: Checks) -> Run:
    def run(con: duckdb.DuckDBPyConnection, settings: Settings) -> None:
        from tasks.build.models import run_layer

        run_layer(con, layer)
        checks.begin(con, layer, settings)

    return run


def _identify(each: Each, checks: Checks) -> Run:
    """Make identity.* of the reported spellings, and ready what the method will need."""

    def run(con: duckdb.DuckDBPyConnection, settings: Settings) -> None:
        from tasks.build.identity import load_identity
        from tasks.method.benchmark import FEW_RESULTS, IMPORTS

        if row_count(con, "raw.folder") >= FEW_RESULTS:
            each.warm(*IMPORTS)
        load_identity(con)
        checks.begin(con, "identity", settings)

    return run


def _method(each: Each, checks: Checks) -> Run:
    def run(con: duckdb.DuckDBPyConnection, settings: Settings) -> list[ValidationReport]:
        from tasks.method import benchmark as method

        method.run_method(con, settings, each)
        return checks.settle()

    return run


def _method_checked(checks: Checks) -> Run:
    """Check what the method wrote; a table that it had nothing for is there, empty."""

    def run(con: duckdb.DuckDBPyConnection, settings: Settings) -> None:
        from tasks.build.models import prepare_analysis

        prepare_analysis(con)
        checks.begin(con, "analysis", settings)

    return run


def _marts(checks: Checks) -> Run:
    def run(con: duckdb.DuckDBPyConnection, settings: Settings) -> list[ValidationReport]:
        _layer("marts", checks)(con, settings)
        return checks.settle()

    return run
