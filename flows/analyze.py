"""Every round's version in use: SQL layers, selection, clusters, ranking, marts, published."""

from __future__ import annotations

from prefect import flow

from flows import artifacts, steps
from gpurank.settings import load


@flow(name="analyze", flow_run_name="analyze", persist_result=False)
def analyze(
    home: str | None = None, lambda_chips: float | None = None, accept_shrink: bool = False
) -> str:
    """Build the warehouse of ``home`` (default: GPURANK_HOME) anew and swap it in; gives its path.

    ``lambda_chips`` is what a minute of waiting is worth, in chips rented (default 8).
    """
    settings = load(home=home, lambda_chips=lambda_chips, accept_shrink=accept_shrink)
    with steps.locked(settings, "gpurank analyze"):
        reports = steps.build_warehouse(settings)
    artifacts.ranking(settings)
    artifacts.validation(settings, reports)
    return str(settings.warehouse_path)
