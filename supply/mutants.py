"""Hand-written faults in scoring and ranking, each of which a test must notice.

``python -m supply.mutants`` copies the project, plants one fault at a time and runs the tests of
that part. Of a larger list one was left out: a sort without its last key is the same sort, since
it is stable. A generator of mutants does not read SQL, where the scores are made.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCORE, SET = "warehouse/30_metrics/score.sql", "warehouse/30_metrics/run_set.sql"
RANK = "gpurank/method/ranking.py"
RANK_TESTS = ("tests/unit/test_ranking.py", "tests/unit/test_ranking_edges.py")
SQL_TESTS = ("tests/sql", "tests/cases/test_numbered_cases.py")
#: (file, as it is, the fault, the tests that must notice)
MUTANTS: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    (SCORE, "WITH total AS (", "WITH total AS (", SQL_TESTS),  # no fault: the tests pass at all
    (RANK, "def rank(", "def rank(", RANK_TESTS),
    (RANK, "gap > 0 and gap >= quantile", "gap >= quantile", RANK_TESTS),
    (RANK, "gap > 0 and gap >= quantile", "gap > 0 and gap >= 2 * quantile", RANK_TESTS),
    (RANK, "variances[leader] + variances[j]", "variances[j] + variances[j]", RANK_TESTS),
    (RANK, 'pl.col("score_min") > 0) & (', 'pl.col("score_min") >= 0) & (', RANK_TESTS),
    (RANK, "everything[:, :_TOP]", "everything[:, : _TOP - 1]", RANK_TESTS),
    (RANK, "everything[:, :_TOP]", "everything[:, : _TOP + 1]", RANK_TESTS),
    (RANK, "everything[:, 0]", "everything[:, 1]", RANK_TESTS),
    (RANK, ".sum(axis=1) + 1 for level", ".sum(axis=1) for level", RANK_TESTS),
    (SCORE, "/ len(kept_minutes) * scaling_factor", "/ len(kept_minutes)", SQL_TESTS),
    (SCORE, "OR result.division = 'open' THEN", "THEN", SQL_TESTS),
    (SCORE, "unusable_count > rule.max", "unusable_count >= rule.max", SQL_TESTS),
    (SCORE, "kept_count = 0 THEN", "kept_count < 0 THEN", SQL_TESTS),
    (SCORE, "set_count < rule.runs_required", "set_count <= rule.runs_required", SQL_TESTS),
    (SCORE, "FILTER (is_kept AND usable_min", "FILTER (usable_min", SQL_TESTS),
    (SCORE, "set_count >= runs_required", "set_count > runs_required", SQL_TESTS),
)


def survivors() -> list[str]:
    """Faults that no test noticed."""
    found = []
    for file, right, wrong, tests in MUTANTS:
        with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
            copy = Path(folder) / "project"
            skip = shutil.ignore_patterns(".git", ".venv", "data", "docs", "build", "corpus")
            shutil.copytree(ROOT, copy, ignore=skip)
            path = copy / file
            text = path.read_text(encoding="utf-8")
            if right not in text:
                raise SystemExit(f"{file} no longer holds {right!r}; renew the mutant")
            path.write_text(text.replace(right, wrong), encoding="utf-8")
            command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
            environment = {**os.environ, "PYTHONPATH": str(copy)}
            done = subprocess.run(command, cwd=copy, env=environment, capture_output=True)  # noqa: S603
            told = f"{file}: {right!r} -> {wrong!r}"
            if right == wrong and done.returncode:
                raise SystemExit(f"the tests of {file} fail without any fault")
            is_noticed = done.returncode == 1 or right == wrong
            print(("noticed  " if is_noticed else "SURVIVED ") + told, flush=True)
            if not is_noticed:
                found.append(told)
    return found


if __name__ == "__main__":
    sys.exit(bool(survivors()))
