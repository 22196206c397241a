"""A backfill on a cluster of separate worker processes gives what the local one gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flows.runners import task_runner
from gpurank.settings import SettingsError
from gpurank.versions.store import Store


def test_a_runner_is_chosen_by_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPURANK_RUNNER", "threads")
    assert type(task_runner(3)).__name__ == "ThreadPoolTaskRunner"
    monkeypatch.setenv("GPURANK_RUNNER", "slurm")
    with pytest.raises(SettingsError, match="none of threads, dask, ray"):
        task_runner()


@pytest.mark.flow
def test_dask_workers_give_the_same_versions_and_marts(
    orchestrator: None, mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed: Any = pytest.importorskip("distributed")
    pytest.importorskip("prefect_dask")
    import duckdb

    from flows.backfill import backfill

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

    local = run(tmp_path / "local")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True) as cluster:
        monkeypatch.setenv("GPURANK_RUNNER", f"dask:{cluster.scheduler_address}")
        remote = run(tmp_path / "remote")
    assert local == remote
    for round_id in ("v3.0", "v4.0"):
        first, second = (Store(tmp_path / n / "raw").latest(round_id) for n in ("local", "remote"))
        assert first is not None and second is not None
        assert (first.version_id, first.hashes) == (second.version_id, second.hashes)
    locks = [(tmp_path / name / "rounds.lock.yml").read_text() for name in ("local", "remote")]
    assert locks[0] == locks[1] and "v3.0" in locks[0] and "v4.0" in locks[0]
