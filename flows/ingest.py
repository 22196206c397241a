"""One round: pinned, read, checked, published."""

from __future__ import annotations

from typing import Annotated, Any

from prefect import flow
from pydantic import Field

from flows import artifacts
from flows import prefect_tasks as steps
from gpurank.settings import load


@flow(name="ingest", flow_run_name="ingest-{round_id}", persist_result=False)
def ingest(
    round_id: Annotated[str, Field(pattern=r"^v\d+\.\d+$")],
    source: str | None = None,
    home: str | None = None,
    accept_shrink: bool = False,
) -> list[dict[str, Any]]:
    """Bring one round up to date in the store of ``home`` (default: GPURANK_HOME).

    ``source`` is a mirror folder, a Git URL or path, or a template with ``{round}``; by default
    the round's public repository. The warehouse is left as it is: `analyze` builds it.
    """
    settings = load(home=home, source=source, accept_shrink=accept_shrink)
    with steps.locked(settings, f"gpurank ingest {round_id}"):
        outcomes = steps.ingest_rounds([round_id], settings)
    artifacts.reconciliation(outcomes)
    return steps.summary(outcomes)
