"""The order of the analysis: what is done to a warehouse that is being built."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpurank.reading import NoData
from gpurank.settings import Settings
from gpurank.store import Store

if TYPE_CHECKING:
    import duckdb

    from gpurank.validation import ValidationReport

Run = Callable[["duckdb.DuckDBPyConnection", Settings], Any]


@dataclass(frozen=True, slots=True)
class Step:
    """One named step; ``run`` changes the warehouse behind the connection."""

    name: str
    run: Run


def steps() -> tuple[Step, ...]:
    """Every step from an empty warehouse to the marts, in order."""
    return (
        Step("load", load),
        Step("identify", identify),
        Step("staging", _layer("staging")),
        Step("core", _layer("core")),
        Step("metrics", _layer("metrics")),
        Step("select", _method("selection")),
        Step("cluster", _method("clustering")),
        Step("rank", _method("ranking")),
        Step("scale", _method("fleet")),
        Step("marts", marts),
    )


def load(con: duckdb.DuckDBPyConnection, settings: Settings) -> int:
    """Load every round's version in use and the lookups; gives the number of rounds.

    Raises:
        NoData: the store holds no round.
    """
    from tasks.load import Version, load_raw
    from tasks.lookups import load_lookups

    store = Store(settings.raw_dir)
    versions = []
    for round_id in store.rounds():
        latest = store.latest(round_id)
        if latest is not None:
            folder = store.folder(round_id, latest.version_id)
            versions.append(Version(round_id, latest.version_id, folder))
    if not versions:
        raise NoData(
            f"no round has been ingested into {settings.home}; "
            "`gpurank run` takes the shipped ones, `gpurank backfill --source …` others"
        )
    load_raw(con, versions)
    load_lookups(con)
    return len(versions)


def identify(con: duckdb.DuckDBPyConnection, settings: Settings) -> None:
    """Make identity.* of the reported spellings."""
    from tasks.identify import load_identity

    load_identity(con)


def marts(con: duckdb.DuckDBPyConnection, settings: Settings) -> ValidationReport | None:
    """Make marts.* and check what the method wrote and what people will read."""
    from tasks.model import prepare_analysis, run_layer

    prepare_analysis(con)
    validate(con, "analysis")
    run_layer(con, "marts")
    return validate(con, "marts")


def validate(con: duckdb.DuckDBPyConnection, layer: str) -> ValidationReport | None:
    """Check one layer against its contracts; None where it has none.

    Raises:
        ValidationFailed: a critical check failed.
    """
    from gpurank.contracts import contracts
    from tasks.validate import validate_warehouse

    if not any(declared.layer == layer for declared in contracts()):
        return None
    return validate_warehouse(con, layer)


def note_warnings(con: duckdb.DuckDBPyConnection, reports: Sequence[ValidationReport]) -> None:
    """Add what only warned in a derived table to marts.issue, under no round."""
    from gpurank.contracts import contract
    from gpurank.validation import issue_rows, merged

    names = [column.name for column in contract("marts.issue").columns]
    for row in issue_rows(merged("warehouse", reports)):
        values = [row.get(name) for name in names]
        marks = ", ".join("?" for _ in names)
        con.execute(f"insert into marts.issue values ({marks})", values)  # noqa: S608


def write_page(settings: Settings, reports: Sequence[ValidationReport]) -> None:
    """Write the page of the warehouse's validation."""
    from tasks import ingest

    if reports:
        title = "Validation of the warehouse"
        ingest.write_page(settings.reports_dir, "warehouse", reports, title)


def _layer(layer: str) -> Run:
    def run(con: duckdb.DuckDBPyConnection, settings: Settings) -> ValidationReport | None:
        from tasks.model import run_layer

        run_layer(con, layer)
        return validate(con, layer)

    return run


def _method(name: str) -> Run:
    def run(con: duckdb.DuckDBPyConnection, settings: Settings) -> Any:
        from importlib import import_module

        from gpurank.method import method_settings

        return import_module(f"tasks.{name}").run(con, method_settings(settings))

    return run
