"""Look for new rounds and changed ones, ingest those, analyze once, say what changed."""

from __future__ import annotations

from typing import Annotated, Any

from prefect import flow
from pydantic import Field

from flows import prefect_tasks as steps
from flows import watch_steps
from flows.prefect_runtime import task_runner as runners
from gpurank.settings import load


@flow(name="watch", flow_run_name="watch", task_runner=runners.task_runner(), persist_result=False)
def watch(
    source: str | None = None,
    home: str | None = None,
    lambda_chips: Annotated[float, Field(gt=0)] | None = None,
    accept_shrink: bool = False,
) -> dict[str, Any]:
    """Bring the data folder up to what ``source`` holds now; gives what was found and done.

    A question that fails is reported and changes nothing. A scheduled run that comes late finds
    that another has caught up since, and ends at once.
    """
    settings = load(
        home=home, source=source, lambda_chips=lambda_chips, accept_shrink=accept_shrink
    )
    if watch_steps.is_superseded(settings):
        return {"state": "superseded"}
    with steps.locked(settings, "gpurank watch"):
        watched = watch_steps.bring_up_to_date(settings)
    return watch_steps.announced(watched, settings)
