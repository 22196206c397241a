"""Analyze every round's version in use: build a new warehouse, validate it, publish it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from prefect import flow
from pydantic import Field

from flows import artifacts, progress
from flows.data_folder import locked
from flows.prefect_runtime.task_runner import side_by_side, task_runner
from flows.prefect_tasks import run_as_task
from gpurank.declared.validation import ValidationReport
from gpurank.settings import Settings, SettingsError, load
from gpurank.store import remote
from gpurank.store.history import moment
from tasks.build import provenance, publish
from tasks.build.history import record_history
from tasks.build.identity import load_identity
from tasks.build.load import new_warehouse
from tasks.build.stages import (
    add_warnings,
    build_layer,
    check_analysis,
    load_rounds,
    validation_page,
    write_quality_page,
)
from tasks.build.views import create_views
from tasks.method.benchmark import run_method


@flow(name="analyze", flow_run_name="analyze", task_runner=task_runner(), persist_result=False)
def analyze(
    home: str | None = None,
    lambda_chips: Annotated[float, Field(gt=0)] | None = None,
    accept_shrink: bool = False,
    as_of: str | None = None,
    output: str | None = None,
    bootstraps: Annotated[int, Field(ge=0)] | None = None,
    workers: Annotated[int, Field(ge=1)] | None = None,
    run_id: str | None = None,
) -> str:
    """Build the warehouse of ``home`` (default: GPURANK_HOME) and return its path.

    ``lambda_chips`` is what a minute of waiting is worth, in rented chips (default 8). ``as_of``
    builds ``output`` from the versions that were valid at that date and leaves the published
    warehouse alone. ``bootstraps`` is the number of resamples that show how stable a finding is;
    with 0 those columns are null. ``run_id`` names the run in logs.
    """
    settings = load(
        home=home,
        workers=workers,
        lambda_chips=lambda_chips,
        accept_shrink=accept_shrink,
        bootstraps=bootstraps,
        run_id=run_id,
    )
    if as_of and not output:
        raise SettingsError("as_of needs an output: the published warehouse is never of the past")
    when, target = moment(as_of) if as_of else None, Path(output) if output else None
    settings = replace(settings, as_of=when, output=target)
    with locked(settings, "gpurank analyze"):
        update_warehouse(settings)
    return str(settings.warehouse_path)


def update_warehouse(settings: Settings) -> bool:
    """Build and publish the warehouse, unless the published one is up to date.

    Returns:
        Whether it was built.
    """
    remote.pull(settings)
    if provenance.is_up_to_date(settings):
        progress.current().say(f"nothing changed: {settings.warehouse_path} is up to date")
        return False
    reports = build_warehouse(settings, run_as_task)
    write_quality_page(settings)
    artifacts.create_ranking(settings)
    artifacts.create_validation(settings, reports)
    return True


def run_directly(name: str, stage: Callable[..., Any], *arguments: Any) -> Any:
    """Run a stage without Prefect."""
    return stage(*arguments)


def build_warehouse(
    settings: Settings, run: Callable[..., Any] = run_directly
) -> list[ValidationReport]:
    """Build a warehouse stage by stage and publish it.

    Args:
        settings: of this run.
        run: runs each stage, given its name, function and arguments: as a Prefect task in a flow,
            directly elsewhere.

    Returns:
        The validation report of each layer.

    Raises:
        NoData: no round has been ingested.
        ValidationFailed: a critical check failed; nothing is published.
    """
    with publish.temporary_file(settings) as path, validation_page(settings) as reports:
        with new_warehouse(path) as con, side_by_side(settings) as each:
            run("load", load_rounds, con, settings)
            run("identify", load_identity, con)
            for layer in ("staging", "core", "metrics"):
                reports += run(layer, build_layer, con, layer, settings)
            # Per benchmark: select, cluster, rank, fit (tasks/method/benchmark.py).
            run("method", run_method, con, settings, each)
            run("history", record_history, con, settings)
            reports += run("check", check_analysis, con, settings)
            reports += run("marts", build_layer, con, "marts", settings)
            run("views", create_views, con)
            add_warnings(con, reports)
            analysis_id = provenance.current_analysis(con)
        publish.swap(path, settings)
    progress.current().say(f"published {settings.warehouse_path} ({analysis_id})")
    return reports
