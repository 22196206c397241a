"""Which version was valid when, from journals, manifests and without either."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from gpurank.settings import SettingsError
from gpurank.store import versions as module
from gpurank.store.history import find, last_two, moment, publications, valid_at
from gpurank.store.versions import Manifest, Store, StoreError


def version(
    store: Store, content: str, source_date: str | None = None, round_id: str = "v9.9",
    taken_at: str = "2030-01-01T00:00:00+00:00", commit: str | None = None,
) -> Manifest:  # fmt: skip
    manifest = Manifest(
        round_id, f"{content}-1", "complete", "full", "git", "u", commit, content, content, "k",
        taken_at, 0, 0, source_date=source_date,
    )  # fmt: skip
    with store.building(round_id) as folder:
        return store.seal(folder, manifest)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Times that publications are noted with, first come first used."""
    times: list[str] = []
    monkeypatch.setattr(module, "now", lambda: times.pop(0))
    return times


def test_the_commit_says_since_when_a_version_holds(tmp_path: Path, clock: list[str]) -> None:
    store = Store(tmp_path)
    clock += ["2031-01-01T00:00:00+00:00", "2031-01-02T00:00:00+00:00"]
    store.publish(version(store, "a", "2025-10-01T00:00:00+00:00"))
    store.publish(version(store, "b", "2025-11-18T09:00:00+01:00"))
    known = publications(store, "v9.9")
    assert [item.valid_from for item in known] == [
        datetime(2025, 10, 1, tzinfo=UTC), datetime(2025, 11, 18, 8, tzinfo=UTC),
    ]  # fmt: skip

    def held(text: str) -> str | None:
        found = valid_at(known, moment(text))
        return found.manifest.content_hash if found else None

    assert held("2025-09-30") is None
    assert held("2025-11-17") == "a"
    assert held("2025-11-18T07:59:59+00:00") == "a"
    assert held("2025-11-18") == "b"


def test_without_a_commit_a_round_holds_from_its_publication_and_a_correction_from_here(
    tmp_path: Path, clock: list[str]
) -> None:
    store = Store(tmp_path)
    clock += ["2031-01-01T00:00:00+00:00", "2031-01-02T00:00:00+00:00"]
    store.publish(version(store, "a", round_id="v4.0"))
    store.publish(version(store, "b", round_id="v4.0"))
    first, second = publications(store, "v4.0")
    assert first.valid_from == datetime(2024, 6, 12, tzinfo=UTC)
    assert second.valid_from == datetime(2031, 1, 2, tzinfo=UTC)
    clock.append("2031-01-01T00:00:00+00:00")
    store.publish(version(store, "a"))
    (undeclared,) = publications(store, "v9.9")
    assert undeclared.valid_from is None
    assert undeclared.known_from == datetime(2031, 1, 1, tzinfo=UTC)


def test_bytes_that_came_back_hold_anew(tmp_path: Path, clock: list[str]) -> None:
    store = Store(tmp_path)
    clock += [f"2031-01-0{day}T00:00:00+00:00" for day in (1, 2, 3)]
    a = version(store, "a", "2025-10-01T00:00:00+00:00")
    store.publish(a)
    store.publish(version(store, "b", "2025-11-18T00:00:00+00:00"))
    store.publish(a)
    known = publications(store, "v9.9")
    assert [item.manifest.content_hash for item in known] == ["a", "b", "a"]
    assert known[2].valid_from == datetime(2031, 1, 3, tzinfo=UTC)
    pair = last_two(known)
    assert pair is not None and pair[0].manifest.content_hash == "b"


def test_a_store_without_a_journal_and_a_run_that_died_before_the_pointer(
    tmp_path: Path, clock: list[str]
) -> None:
    store = Store(tmp_path)
    clock += [f"2031-01-0{day}T00:00:00+00:00" for day in (1, 2)]
    a = version(store, "a", taken_at="2029-01-01T00:00:00+00:00")
    b = version(store, "b", taken_at="2029-02-01T00:00:00+00:00")
    (tmp_path / "v9.9" / "latest").write_text(b.version_id)
    assert [item.manifest for item in publications(store, "v9.9")] == [a, b]
    store.publish(a)
    store.publish(b)
    (tmp_path / "v9.9" / "latest").write_text(a.version_id)
    assert [item.manifest for item in publications(store, "v9.9")] == [b, a]
    (tmp_path / "v9.9" / "published.json").write_text("[half")
    assert publications(store, "v9.9")[-1].manifest == a


def test_the_same_bytes_read_by_other_code_are_no_change(tmp_path: Path, clock: list[str]) -> None:
    store = Store(tmp_path)
    clock += ["2031-01-01T00:00:00+00:00"]
    store.publish(version(store, "a"))
    assert last_two(publications(store, "v9.9")) is None


def test_a_version_is_found_by_the_start_of_its_id_or_commit(tmp_path: Path) -> None:
    store = Store(tmp_path)
    a, b = version(store, "a", commit="504c3b50"), version(store, "b", commit="888b59ab")
    assert find((a, b), "a-") == a
    assert find((a, b), "888b") == b
    with pytest.raises(StoreError, match="no version"):
        find((a, b), "7")
    with pytest.raises(StoreError, match="no version"):
        find((a, b), "")
    with pytest.raises(SettingsError, match="not a date"):
        moment("yesterday")
