"""Every round's version in use: SQL layers, selection, clusters, ranking, marts, published."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from prefect import flow
from pydantic import Field

from flows import artifacts
from flows import prefect_tasks as steps
from flows.prefect_runtime import task_runner as runners
from gpurank.settings import SettingsError, load
from gpurank.store.history import moment


@flow(
    name="analyze", flow_run_name="analyze", task_runner=runners.task_runner(), persist_result=False
)
def analyze(
    home: str | None = None,
    lambda_chips: Annotated[float, Field(gt=0)] | None = None,
    accept_shrink: bool = False,
    as_of: str | None = None,
    output: str | None = None,
    bootstraps: Annotated[int, Field(ge=0)] | None = None,
    workers: Annotated[int, Field(ge=1)] | None = None,
) -> str:
    """Build the warehouse of ``home`` (default: GPURANK_HOME) anew and swap it in; gives its path.

    ``lambda_chips`` is what a minute of waiting is worth, in chips rented (default 8). ``as_of``
    builds ``output`` of the versions that were valid at that date and leaves the other alone.
    ``bootstraps`` is how many resamples tell how stable a finding is; with 0 that is null.
    """
    settings = load(
        home=home,
        workers=workers,
        lambda_chips=lambda_chips,
        accept_shrink=accept_shrink,
        bootstraps=bootstraps,
    )
    if as_of and not output:
        raise SettingsError("as_of needs an output: the warehouse in use is never of the past")
    when, target = moment(as_of) if as_of else None, Path(output) if output else None
    settings = replace(settings, as_of=when, output=target)
    with steps.locked(settings, "gpurank analyze"):
        reports = steps.build_warehouse(settings)
    artifacts.ranking(settings)
    artifacts.validation(settings, reports)
    return str(settings.warehouse_path)
