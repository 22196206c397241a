"""Many rounds side by side on the cores, then one analysis."""

from __future__ import annotations

from typing import Annotated, Any

from prefect import flow
from pydantic import Field

from flows import artifacts
from flows import prefect_tasks as steps
from flows.errors import RoundsFailed
from flows.prefect_runtime import task_runner as runners
from gpurank.settings import load
from tasks.ingest import shipped


@flow(
    name="backfill",
    flow_run_name="backfill-{rounds}",
    task_runner=runners.task_runner(),
    persist_result=False,
)
def backfill(
    rounds: Annotated[str, Field(pattern=r"^[v\d., al]+$")] = "all",
    source: str | None = None,
    home: str | None = None,
    use_shipped: bool = False,
    lambda_chips: Annotated[float, Field(gt=0)] | None = None,
    then_analyze: bool = True,
    accept_shrink: bool = False,
    bootstraps: Annotated[int, Field(ge=0)] | None = None,
    workers: Annotated[int, Field(ge=1)] | None = None,
) -> list[dict[str, Any]]:
    """Ingest the rounds, then build the warehouse once of whatever is in the store.

    ``rounds`` is ``v2.0,v3.0``, ``v1.0..v5.0`` or ``all``. A round that fails is reported and
    leaves the others alone; the run then counts as failed. ``use_shipped`` takes the facts that
    travel in the package instead of a source. ``bootstraps`` as in analyze.
    """
    settings = load(
        home=home,
        source=source,
        workers=workers,
        lambda_chips=lambda_chips,
        accept_shrink=accept_shrink,
        bootstraps=bootstraps,
    )
    names = shipped.selected(rounds, settings, use_shipped)
    with steps.locked(settings, f"gpurank backfill --rounds {rounds}"):
        outcomes = steps.ingest_rounds(names, settings, use_shipped)
        artifacts.reconciliation(outcomes)
        if then_analyze and any(item.state != "failed" for item in outcomes):
            reports = steps.build_warehouse(settings)
            artifacts.ranking(settings)
            artifacts.validation(settings, reports)
    if any(item.state == "failed" for item in outcomes):
        raise RoundsFailed(outcomes)
    return steps.summary(outcomes)
