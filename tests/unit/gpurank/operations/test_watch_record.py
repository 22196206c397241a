"""Which rounds a watch asks for, and what an answer, a refusal and silence mean."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gpurank.operations import watch_record as watching
from gpurank.operations.watch_record import Finding, WatchRecord
from gpurank.settings import Settings
from gpurank.store.versions import Manifest, Store
from tasks.sources import snapshot
from tasks.sources.snapshot import Snapshot, SourceMissing, SourceRefused, SourceUnavailable
from tasks.upkeep import watch

URL = "https://example.org/training_results_{round}.git"
OLD, NEW = "a" * 40, "b" * 40


def test_the_next_names_of_a_round() -> None:
    assert watching.successors("v5.1") == ("v5.2", "v5.3", "v6.0", "v6.1")
    # Every round that was published follows from the one before it.
    published = "v0.5 v0.6 v0.7 v1.0 v1.1 v2.0 v2.1 v3.0 v3.1 v4.0 v4.1 v5.0 v5.1 v6.0 v6.1"
    names = published.split()
    assert all(b in watching.successors(a) for a, b in itertools.pairwise(names))


def test_names_to_ask_fill_the_span_of_the_store_and_go_beyond_it() -> None:
    declared = ("v4.0", "v4.1", "v5.0", "v5.1")
    assert watching.names_to_ask(("v4.1", "v5.0"), declared) == (
        "v4.1", "v5.0", "v5.1", "v5.2", "v5.3", "v6.0", "v6.1",
    )  # fmt: skip
    assert watching.names_to_ask((), declared)[:4] == declared
    assert watching.names_to_ask(("v9.0",), declared) == ("v9.0", "v9.1", "v9.2", "v10.0", "v10.1")


def test_a_new_round_is_asked_for_its_successors() -> None:
    found = [Finding("v6.0", "new"), Finding("v6.1", "absent"), Finding("v5.0", "unchanged")]
    assert watching.names_after(found, ["v6.0", "v6.1"]) == ("v6.2", "v7.0", "v7.1")


def stored(home: Path, round_id: str, form: str = "facts") -> Settings:
    settings = Settings(home=home, source=URL)
    store = Store(settings.raw_dir)
    manifest = Manifest(
        round_id, "1-1", "complete", form, "git", "u", OLD, f"git:{OLD}", "c", "k", "t", 0, 0
    )
    with store.building(round_id) as folder:
        store.seal(folder, manifest)
    store.publish(manifest)
    return settings


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> dict[str, str | Exception]:
    """Commit or error that each round's remote answers with; the others are not there."""
    given: dict[str, str | Exception] = {}

    def pin(round_id: str, source: str | None) -> Snapshot:
        found = given.get(round_id, SourceMissing("no such repository"))
        if isinstance(found, Exception):
            raise found
        return Snapshot(round_id, "git", "u", found, f"git:{found}")

    monkeypatch.setattr(snapshot, "pin", pin)
    monkeypatch.setattr(watch, "RETRY_AFTER_S", (0.0, 0.0))
    return given


def states(settings: Settings) -> dict[str, str]:
    return {item.round_id: item.state for item in watch.look(settings)}


def test_new_changed_unchanged_and_absent(
    tmp_path: Path, answers: dict[str, str | Exception]
) -> None:
    settings = stored(tmp_path, "v6.1")
    answers.update({"v6.1": OLD})
    assert states(settings) == {
        "v6.1": "unchanged", "v6.2": "absent", "v6.3": "absent", "v7.0": "absent",
        "v7.1": "absent",
    }  # fmt: skip
    answers.update({"v6.1": NEW, "v7.0": NEW, "v8.0": NEW})
    found = states(settings)
    assert (found["v6.1"], found["v7.0"], found["v8.0"]) == ("changed", "new", "new")
    assert found["v9.1"] == "absent"


@pytest.mark.parametrize(
    ("round_id", "error"),
    [
        # Of a round that is known to exist, no error says anything.
        ("v6.0", SourceUnavailable("timed out")),
        ("v6.0", SourceRefused("403")),
        ("v6.0", SourceMissing("404")),
        # Of any other, only "not there" means absence.
        ("v7.0", SourceUnavailable("timed out")),
        ("v7.0", SourceRefused("403")),
    ],
)
def test_silence_and_refusal_are_not_absence(
    tmp_path: Path, answers: dict[str, str | Exception], round_id: str, error: Exception
) -> None:
    settings = stored(tmp_path, "v6.0")
    answers.update({"v6.0": OLD, "v6.1": NEW, round_id: error})
    answered = states(settings)
    assert (answered[round_id], answered["v6.1"]) == ("unanswered", "new")


def test_where_nothing_answers_nothing_is_absent(
    tmp_path: Path, answers: dict[str, str | Exception]
) -> None:
    assert set(states(stored(tmp_path, "v6.1")).values()) == {"unanswered"}


def test_a_question_is_asked_three_times(
    tmp_path: Path, answers: dict[str, str | Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def pin(round_id: str, source: str | None) -> Snapshot:
        asked.append(round_id)
        if asked.count(round_id) < 3:
            raise SourceUnavailable("no answer")
        return Snapshot(round_id, "git", "u", OLD, f"git:{OLD}")

    monkeypatch.setattr(snapshot, "pin", pin)
    monkeypatch.setattr(watch, "_MOST_ROUNDS", 1)
    assert states(stored(tmp_path, "v6.1"))["v6.1"] == "unchanged"
    assert asked.count("v6.1") == 3


def test_other_code_makes_a_full_version_changed(
    tmp_path: Path, answers: dict[str, str | Exception]
) -> None:
    settings = stored(tmp_path, "v6.1", form="full")
    answers.update({"v6.1": OLD})
    (found,) = (item for item in watch.look(settings) if item.round_id == "v6.1")
    assert found.state == "changed" and "other code" in (found.message or "")


def test_one_repository_is_no_place_to_look_for_rounds(tmp_path: Path) -> None:
    settings = replace(Settings(tmp_path), source="https://example.org/training_results_v4.0.git")
    with pytest.raises(snapshot.SourceError, match=r"\{round\}"):
        watch.look(settings)


def test_the_record_survives_and_a_clock_set_back_makes_no_negative_age(tmp_path: Path) -> None:
    record = WatchRecord(
        "2026-01-01T00:00:00+00:00", "2026-01-01T00:01:00+00:00", "r", False,
        (Finding("v6.0", "new", NEW), Finding("v6.1", "unanswered", message="no")),
        {}, {"v6.0": "broken"},
    )  # fmt: skip
    path = tmp_path / "watch.json"
    assert watching.read(path) is None
    watching.write(path, record)
    assert watching.read(path) == record
    assert (record.behind, record.unanswered) == (("v6.0",), ("v6.1",))
    assert record.age_s(datetime(2025, 1, 1, tzinfo=UTC)) == 0.0
    assert record.age_s(datetime(2026, 1, 2, 0, 1, tzinfo=UTC)) == 86_400
    path.write_text("{half")
    assert watching.read(path) is None
