"""Ingest one round: pin its source, read, validate, publish the version."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from prefect import flow
from pydantic import Field

from flows import artifacts, progress
from flows.data_folder import locked
from flows.prefect_tasks import ingest_rounds
from gpurank.settings import load


@flow(name="ingest", flow_run_name="ingest-{round_id}", persist_result=False)
def ingest(
    round_id: Annotated[str, Field(pattern=r"^v\d+\.\d+$")],
    source: str | None = None,
    home: str | None = None,
    accept_shrink: bool = False,
    accept_missing: bool = False,
    run_id: str | None = None,
) -> list[dict[str, Any]]:
    """Bring one round up to date in the store of ``home`` (default: GPURANK_HOME).

    ``source`` is a mirror folder, a Git URL or path, or a template with ``{round}``; by default
    the round's public repository. ``accept_missing`` takes a Git directory that lacks some files.
    The warehouse is left as it is: ``analyze`` builds it.
    """
    settings = load(
        home=home,
        source=source,
        accept_shrink=accept_shrink,
        accept_missing=accept_missing,
        run_id=run_id,
    )
    with locked(settings, f"gpurank ingest {round_id}"):
        results = ingest_rounds([round_id], settings)
    artifacts.create_reconciliation(results)
    progress.current().say(progress.count_text(results))
    return [asdict(result) for result in results]
