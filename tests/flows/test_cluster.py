"""A backfill on a cluster of separate worker processes gives what the local one gives."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from flows.prefect_runtime.task_runner import ClusterJobs, task_runner
from gpurank.settings import SettingsError
from gpurank.store.versions import Store

pytestmark = pytest.mark.slow


def test_a_runner_is_chosen_by_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPURANK_RUNNER", "threads")
    assert type(task_runner(3)).__name__ == "ThreadPoolTaskRunner"
    monkeypatch.setenv("GPURANK_RUNNER", "slurm")
    with pytest.raises(SettingsError, match="neither threads nor dask"):
        task_runner()


@contextmanager
def dask() -> Iterator[str]:
    """A scheduler and two workers, each a process."""
    distributed: Any = pytest.importorskip("distributed")
    pytest.importorskip("prefect_dask")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True) as cluster:
        yield f"dask:{cluster.scheduler_address}"


@pytest.mark.flow
def test_workers_of_a_cluster_give_the_same_versions_and_marts(
    orchestrator: None, mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from prefect import flow

    import tasks.method.benchmark
    from flows.backfill import backfill

    # So few results would be worth no journey.
    monkeypatch.setattr(tasks.method.benchmark, "FEW_RESULTS", 0)

    def run(home: Path) -> dict[str, Any]:
        done = backfill.with_options(task_runner=task_runner(2))("all", str(mirror), str(home))
        assert [item["state"] for item in done] == ["ingested", "ingested"]
        with duckdb.connect(str(home / "warehouse.duckdb"), read_only=True) as con:
            names = [
                name for (name,) in con.execute(
                    "select table_name from information_schema.tables "
                    "where table_schema = 'marts' order by 1"
                ).fetchall()
            ]  # fmt: skip
            return {name: con.execute(f"from marts.{name}").fetchall() for name in names}

    with dask() as runner:
        local = run(tmp_path / "local")
        monkeypatch.setenv("GPURANK_RUNNER", runner)
        remote = run(tmp_path / "remote")
        # The method's jobs travel as well.
        away = flow(task_runner=task_runner(2))(lambda: ClusterJobs()(os.getpid, [()] * 4))()
        with pytest.raises(ValueError, match=r"math domain|nonneg"):
            flow(task_runner=task_runner(2))(lambda: ClusterJobs()(math.sqrt, [(1,), (-1,)]))()
    assert os.getpid() not in away
    assert local == remote
    for round_id in ("v3.0", "v4.0"):
        first, second = (Store(tmp_path / n / "raw").latest(round_id) for n in ("local", "remote"))
        assert first is not None and second is not None
        # Files and all that is known of them, but for when and by which run they were read.
        assert first == replace(second, taken_at=first.taken_at, run_id=first.run_id)
        assert Store(tmp_path / "remote" / "raw").damage(second) == ()
    locks = [(tmp_path / name / "rounds.lock.yml").read_text() for name in ("local", "remote")]
    assert locks[0] == locks[1] and "v3.0" in locks[0] and "v4.0" in locks[0]
