"""How old a store is: fixed days, and the publication dates of rounds.yml."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from gpurank.declared.rounds import declared_rounds
from gpurank.operations.freshness import assess, describe, footnotes
from gpurank.operations.freshness_checks import rows
from gpurank.operations.watch_record import Finding, WatchRecord
from gpurank.settings import Settings

TODAY = date(2026, 12, 1)
ALL = declared_rounds().declared
# v6.1 has no known date of publication, so that it cannot be missing.
PUBLISHED = [name for name in ALL if declared_rounds().get(name).published_on]


def asked(*findings: Finding) -> WatchRecord:
    stamp = "2026-11-20T06:00:00+00:00"
    return WatchRecord(stamp, stamp, "r", True, findings)


def test_a_store_that_ends_at_v5_0_is_behind_by_two() -> None:
    held = PUBLISHED[: PUBLISHED.index("v5.0") + 1]
    age = assess(held, today=TODAY)
    assert age.newest is not None and age.newest.round_id == "v5.0"
    assert [known.round_id for known in age.newer_missing] == ["v5.1", "v6.0"]
    assert "gpurank run --rounds v5.1,v6.0" in age.command
    text = " ".join(describe(age))
    assert "v5.1 (12 November 2025) and v6.0 (16 June 2026) are published and not held." in text
    assert "never asked" in text


def test_rounds_that_ship_come_from_the_package() -> None:
    age = assess(
        [name for name in PUBLISHED if name not in ("v5.1", "v6.0")] + ["v6.0"], today=TODAY
    )
    assert [known.round_id for known in age.missing] == ["v5.1"] and age.newer_missing == ()
    assert age.command == "gpurank run"


def test_a_store_with_every_published_round_is_content() -> None:
    age = assess(PUBLISHED, asked(), today=TODAY)
    assert age.missing == () and age.command == ""
    assert [known.round_id for known in age.expected] == ["v6.1"]
    first, second = footnotes(age)
    assert "Newest round held: v6.0, published on 16 June 2026." in first
    assert "v6.1 is announced" in second and "last asked on 20 November 2026" in second


def test_what_the_source_has_is_published_whatever_is_declared() -> None:
    age = assess(PUBLISHED, asked(Finding("v6.1", "new")), today=TODAY)
    assert [known.round_id for known in age.missing] == ["v6.1"]
    assert "v6.1 (date not known) is published and not held." in " ".join(describe(age))


def test_before_a_day_of_publication_a_round_is_expected() -> None:
    age = assess(PUBLISHED[: PUBLISHED.index("v5.1") + 1], today=date(2026, 6, 15))
    assert age.missing == () and "v6.0" in [known.round_id for known in age.expected]


def test_a_round_that_is_held_back_is_not_the_newest_shown() -> None:
    age = assess(PUBLISHED, today=date(2026, 6, 20), held_back={"v6.0": date(2026, 6, 30)})
    assert age.newest is not None and age.newest.round_id == "v5.1"
    assert "v6.0 until 30 June 2026" in " ".join(describe(age, "shown"))


def test_an_empty_folder_says_only_that_nobody_asked(tmp_path: Path) -> None:
    ((what, state, text),) = rows(Settings(tmp_path), {})
    assert (what, state) == ("last watch", "note") and "never asked" in text
