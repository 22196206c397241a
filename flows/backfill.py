"""Ingest many rounds side by side, then analyze once: `gpurank run`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from prefect import flow
from pydantic import Field

from flows import artifacts, progress
from flows.analyze import update_warehouse
from flows.data_folder import locked
from flows.errors import RoundsFailed
from flows.prefect_runtime.task_runner import task_runner
from flows.prefect_tasks import ingest_rounds
from gpurank.settings import load
from tasks.ingest import shipped


@flow(
    name="backfill",
    flow_run_name="backfill-{rounds}",
    task_runner=task_runner(),
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
    accept_missing: bool = False,
    bootstraps: Annotated[int, Field(ge=0)] | None = None,
    workers: Annotated[int, Field(ge=1)] | None = None,
    run_id: str | None = None,
) -> list[dict[str, Any]]:
    """Ingest the rounds, then build the warehouse once of all rounds in the store.

    ``rounds`` is ``v2.0,v3.0``, ``v1.0..v5.0`` or ``all``. A round that fails is reported and
    leaves the others alone; the run then counts as failed. ``use_shipped`` takes the facts that
    ship with the package instead of a source. ``accept_missing`` takes a Git directory that lacks
    some files. The other parameters are those of ``analyze``.
    """
    settings = load(
        home=home,
        source=source,
        workers=workers,
        lambda_chips=lambda_chips,
        accept_shrink=accept_shrink,
        accept_missing=accept_missing,
        bootstraps=bootstraps,
        run_id=run_id,
    )
    round_ids = shipped.selected(rounds, settings, use_shipped)
    with locked(settings, f"gpurank run --rounds {rounds}"):
        results = ingest_rounds(round_ids, settings, use_shipped)
        artifacts.create_reconciliation(results)
        if then_analyze and any(result.state != "failed" for result in results):
            update_warehouse(settings)
    if any(result.state == "failed" for result in results):
        raise RoundsFailed(results)
    progress.current().say(progress.count_text(results))
    return [asdict(result) for result in results]
