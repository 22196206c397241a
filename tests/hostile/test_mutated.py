"""Damaged files: the same score, another one with an issue, or none with a reason.

`make mutate` does the same with ten thousand; here a few hundred on every run.
"""

from __future__ import annotations

import zlib
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from cases.miniature import Mini, mll, mllog

from gpurank.declared.rounds import declared_rounds
from tasks.sources.snapshot import files, pin
from tools.fuzz.folders import Case, Subject, cases, subjects
from tools.fuzz.mutate import Outcome, Tally, judge, outcomes, run
from tools.fuzz.mutations import MUTATIONS

pytestmark = pytest.mark.slow

MINUTES = (30.0, 31.0, 32.0, 33.0, 90.0)


def pool() -> list[Subject]:
    """Folders of two rounds and dialects, one of them scaled."""
    found = []
    for round_id, dialect in (("v0.6", mll), ("v2.0", mllog)):
        for machine in ("plain", "scaled"):
            mini = Mini()
            folder = mini.result(f"Sub/{machine}/resnet", MINUTES, {}, dialect=dialect)
            if machine == "scaled":
                mini[f"{folder}/scaling.json"] = b'{"scaling_factor": 1.1}'
            packed = tuple((path, zlib.compress(bytes(data))) for path, data in mini.items())
            found.append(Subject(round_id, folder, packed))
        mini = Mini()
        mini.result("Sub/box/bert", (10.0,) * 10, {}, dialect=dialect)
        packed = tuple((path, zlib.compress(bytes(data))) for path, data in mini.items())
        found.append(Subject(round_id, "Sub/results/box/bert", packed))
    return found


def told(tally: Tally) -> str:
    return "\n".join(tally.told[:20])


def test_of_invented_files() -> None:
    made = run(pool(), 160, seed=7)
    assert made.is_clean, told(made)
    assert sum(made.verdicts.values()) == 160
    # A test in which nothing ever goes wrong would say nothing.
    assert made.verdicts["issue"] + made.verdicts["no_score"] >= 15


@pytest.mark.real
@pytest.mark.parametrize("round_id", ["v0.5", "v4.1"])
def test_of_published_files(shared: Path, tmp_path: Path, round_id: str) -> None:
    taken = files(pin(round_id, shared / "rounds"), tmp_path)
    contents = ((file.path, file.data) for file in taken if not file.withheld_reason)
    chosen = subjects(contents, declared_rounds().get(round_id), 1_000_000, 2, seed=7)
    made = run(chosen, 100, seed=7)
    assert made.is_clean, told(made)


def outcome(
    score: float | None, *kinds: str, is_result: bool = True, seconds: float = 0
) -> Outcome:
    return Outcome(score, is_result, Counter((kind, "f", "m") for kind in kinds), seconds)


def test_the_judge_tells_a_silent_change_from_the_others() -> None:
    subject = pool()[0]
    path = "Sub/results/plain/resnet/result_0.txt"
    shorter = Case(0, subject, "line_deleted", path, b"")
    before = outcome(32.0, "old")
    assert judge(shorter, before, outcome(32.0, "old"))[0] == "same"
    assert judge(shorter, before, outcome(33.0, "old", "new"))[0] == "issue"
    assert judge(shorter, before, outcome(None, "old"))[0] == "no_score"
    assert judge(shorter, before, outcome(None, is_result=False))[0] == "quarantined"
    assert judge(shorter, before, outcome(33.0, "old"))[0] == "wrong"
    assert judge(shorter, before, outcome(32.0, seconds=9))[0] == "slow"


def test_a_crash_is_found_down_to_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(round_id: str, folders: list[tuple[str, dict[str, bytes]]]) -> list[Outcome]:
        if any(len(data) == 0 for _, contents in folders for data in contents.values()):
            raise RuntimeError("an empty file")
        return outcomes(round_id, folders)

    monkeypatch.setattr("tools.fuzz.mutate.outcomes", failing)
    names = [*MUTATIONS]
    made = run(pool()[:1], len(names), seed=1)
    assert (made.verdicts["crash"], made.is_clean) == (1, False)
    assert made.by_mutation["emptied"]["crash"] == 1


def test_each_mutation_is_the_same_for_the_same_seed() -> None:
    data = b'{"scaling_factor": 1.10, "x": "y"}\n:::MLLOG {"key": 1}\n' * 3
    for name, change in MUTATIONS.items():
        made = {change(Random(3), data) for _ in range(2)}
        assert len(made) == 1, name
        assert change(Random(3), b"") is not None


def test_cases_depend_on_the_seed_alone() -> None:
    first, second = (list(cases(pool(), 60, 5)) for _ in range(2))
    assert [(case.path, case.data) for case in first] == [(case.path, case.data) for case in second]
    assert len({case.mutation for case in first}) > 30
