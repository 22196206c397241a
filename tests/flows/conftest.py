"""A small mirror of two invented rounds, and one real orchestrator for all flow tests."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest

from gpurank.settings import load
from tasks.ingest.shipped import facts_dir

ROOT = Path(__file__).resolve().parents[2]

START_MS = 1_700_000_000_000
# Minutes of the five runs of each system: the olympic mean is that of the middle three.
SYSTEMS = {
    "Acme": ("acme_n1", 1, 8, (30.0, 31.0, 32.0, 33.0, 90.0)),
    "Zeta": ("zeta_n4", 4, 8, (8.0, 9.0, 10.0, 11.0, 12.0)),
}


def log(minutes: float, start_ms: int) -> str:
    """One run's log: started, passed its target, stopped after so many minutes."""
    stop_ms = start_ms + int(minutes * 60_000)
    records: list[tuple[int, str, Any, dict[str, Any]]] = [
        (start_ms - 5000, "submission_benchmark", "resnet", {}),
        (start_ms - 5000, "submission_division", "closed", {}),
        (start_ms - 4000, "global_batch_size", 256, {}),
        (start_ms, "run_start", None, {}),
        (stop_ms - 10, "eval_accuracy", 0.7592, {"epoch_num": 36}),
        (stop_ms, "run_stop", None, {"status": "success"}),
    ]
    lines = []
    for time_ms, key, value, metadata in records:
        row = {
            "namespace": "", "time_ms": time_ms, "event_type": "POINT_IN_TIME", "key": key,
            "value": value, "metadata": {"file": "train.py", "lineno": 1, **metadata},
        }  # fmt: skip
        lines.append(":::MLLOG " + json.dumps(row))
    return "\n".join(lines) + "\n"


def write_round(mirror: Path, round_id: str, shift_min: float = 0.0) -> Path:
    """A checked-out round of two submitters with one ResNet result each."""
    root = mirror / f"training_results_{round_id}"
    for number, (submitter, (system, nodes, per_node, minutes)) in enumerate(SYSTEMS.items()):
        folder = root / submitter / "results" / system / "resnet"
        folder.mkdir(parents=True)
        for run, value in enumerate(minutes):
            start_ms = START_MS + number * 10**9 + run * 10**8 + int(shift_min * 10**6)
            text = log(value + shift_min, start_ms)
            (folder / f"result_{run}.txt").write_text(text)
        described = {
            "submitter": submitter, "division": "closed", "status": "Available on-premise",
            "system_name": system, "number_of_nodes": str(nodes),
            "host_processors_per_node": "2", "host_processor_model_name": "AMD EPYC 7742",
            "host_processor_core_count": "64", "host_memory_capacity": "1 TB",
            "host_networking": "InfiniBand", "accelerators_per_node": str(per_node),
            "accelerator_model_name": "NVIDIA A100-SXM4-80GB (400W)",
            "accelerator_memory_capacity": "80 GB", "accelerator_interconnect": "NVLink",
            "framework": "PyTorch 2.0", "operating_system": "Ubuntu 22.04",
        }  # fmt: skip
        systems = root / submitter / "systems"
        systems.mkdir(parents=True)
        (systems / f"{system}.json").write_text(json.dumps(described))
    return root


def git(folder: Path, *arguments: str, date: str | None = None) -> str:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    dated = {} if date is None else {"GIT_COMMITTER_DATE": date, "GIT_AUTHOR_DATE": date}
    return subprocess.run(
        ["git", "-C", str(folder), *who, *arguments],
        check=True, capture_output=True, text=True, env=os.environ | dated,
    ).stdout.strip()  # fmt: skip


@dataclass
class Remotes:
    """Bare repositories of rounds, one a round, and the checkouts they are pushed from."""

    folder: Path

    @property
    def template(self) -> str:
        """A source that is asked like the public repositories: nothing can be listed."""
        return f"file://{self.folder}/remotes/training_results_{{round}}.git"

    def checkout(self, round_id: str) -> Path:
        return self.folder / "work" / f"training_results_{round_id}"

    def bare(self, round_id: str) -> Path:
        return self.folder / "remotes" / f"training_results_{round_id}.git"

    def add(self, round_id: str, shift_min: float = 0.0, date: str | None = None) -> None:
        """Make a round's repository and publish its first commit."""
        write_round(self.folder / "work", round_id, shift_min)
        git(self.checkout(round_id), "init", "-q", "-b", "published")
        self.bare(round_id).parent.mkdir(parents=True, exist_ok=True)
        git(self.folder, "init", "-q", "--bare", "-b", "published", str(self.bare(round_id)))
        git(self.bare(round_id), "config", "uploadpack.allowFilter", "true")
        git(self.bare(round_id), "config", "uploadpack.allowAnySHA1InWant", "true")
        self.publish(round_id, date)

    def publish(self, round_id: str, date: str | None = None) -> str:
        """Commit whatever the checkout holds now and push it; gives the commit."""
        work = self.checkout(round_id)
        git(work, "add", "-A")
        git(work, "commit", "-q", "-m", "x", date=date)
        git(work, "push", "-q", str(self.bare(round_id)), "HEAD:published")
        return git(work, "rev-parse", "HEAD")

    def edit_system(self, round_id: str, submitter: str, **fields: str) -> None:
        """Change fields of a submitter's only system description."""
        (path,) = (self.checkout(round_id) / submitter / "systems").glob("*.json")
        path.write_text(json.dumps(json.loads(path.read_text()) | fields))

    def take_away(self, round_id: str) -> None:
        shutil.rmtree(self.bare(round_id))


@pytest.fixture
def remotes(tmp_path: Path) -> Remotes:
    """No repository yet."""
    return Remotes(tmp_path)


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    """A mirror folder with v3.0 and v4.0."""
    folder = tmp_path / "mirror"
    write_round(folder, "v3.0")
    write_round(folder, "v4.0", shift_min=1.0)
    return folder


@pytest.fixture(scope="session")
def invented_round() -> Callable[..., Path]:
    """``write_round``, for fixtures of other modules."""
    return write_round


@pytest.fixture(scope="session")
def orchestrator() -> Iterator[None]:
    """A real, temporary server for every flow of the session."""
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=120):
        yield


@pytest.fixture(scope="session")
def shipped_home(orchestrator: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the warehouse of the shipped facts: the demo's, else made here."""
    versions = {(path.parent.name, path.name) for path in facts_dir().glob("*/*") if path.is_dir()}
    for name in filter(None, [os.environ.get("GPURANK_HOME"), str(ROOT / "data" / "demo")]):
        path = load(home=name, environ={}).warehouse_path
        if path.is_file():
            with duckdb.connect(str(path), read_only=True) as con:
                sql = "select round_id, version_id from marts.round_summary"
                if set(con.execute(sql).fetchall()) == versions:
                    return path.parent
    from flows.backfill import backfill

    folder = tmp_path_factory.mktemp("shipped") / "home"
    backfill("all", None, str(folder), use_shipped=True)
    return folder
