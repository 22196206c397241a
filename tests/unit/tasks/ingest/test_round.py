"""A round read from its source: the same bytes whoever reads, and progress that adds up."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tasks.ingest.round import read_snapshot
from tasks.pool import run_in_subprocess
from tasks.sources.snapshot import pin

LINE = ':::MLLOG {"time_ms": %d, "key": "%s", "value": %s, "metadata": {"lineno": %d}}\n'
ROUND_ID = "v4.0"


def log(minutes: int, record_count: int) -> str:
    """A run's log with so many records between its start and its stop."""
    lines = [LINE % (0, "run_start", "null", 1)]
    lines += [
        LINE % (number, "tracked_stats", f'{{"throughput": {number}}}', number + 1)
        for number in range(1, record_count + 1)
    ]
    stop = LINE % (minutes * 60_000, "run_stop", "null", record_count + 2)
    lines.append(stop.replace('"lineno"', '"status": "success", "lineno"'))
    return "".join(lines)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A round of a few chunks of 4 MiB: two submitters with twenty runs each."""
    root = tmp_path_factory.mktemp("round") / "training_results_v4.0"
    for submitter in ("Acme", "Bolt"):
        folder = root / submitter / "results" / "box" / "bert"
        folder.mkdir(parents=True)
        for number in range(20):
            text = log(number + 1, 100 + 1000 * (number % 7))
            (folder / f"result_{number}.txt").write_text(text)
        systems = root / submitter / "systems"
        systems.mkdir()
        (systems / "box.json").write_text(f'{{"submitter": "{submitter}"}}')
    return root


def read(checkout: Path, folder: Path, readers: int) -> list[tuple[int, int]]:
    """Reads the checkout into a new folder; returns the progress that was reported."""
    folder.mkdir()
    reports: list[tuple[int, int]] = []
    run_in_subprocess(
        read_snapshot,
        pin(ROUND_ID, str(checkout)),
        folder,
        folder,
        readers,
        follow=lambda *counts: reports.append(counts),
    )
    return reports


def test_the_same_bytes_whatever_the_number_of_readers(checkout: Path, tmp_path: Path) -> None:
    for readers in (1, 2, 3):
        read(checkout, tmp_path / str(readers), readers)
    names = sorted(path.name for path in (tmp_path / "1").iterdir())
    assert "event.parquet" in names
    for name in names:
        alone = (tmp_path / "1" / name).read_bytes()
        assert alone == (tmp_path / "2" / name).read_bytes(), name
        assert alone == (tmp_path / "3" / name).read_bytes(), name
    # Rows stand in groups of one chunk each.
    assert pq.read_metadata(tmp_path / "1" / "event.parquet").num_row_groups > 1


def test_progress_ends_with_the_bytes_and_files_of_the_round(
    checkout: Path, tmp_path: Path
) -> None:
    reports = read(checkout, tmp_path / "read", readers=2)
    files = [path for path in checkout.rglob("*") if path.is_file()]
    assert len(files) == 42
    assert reports[-1] == (sum(path.stat().st_size for path in files), 42)
    assert reports == sorted(reports)
