"""A round is held back for two weeks after its publication."""

from __future__ import annotations

from datetime import date

from gpurank.store.embargo import held


def test_a_round_is_held_for_two_weeks() -> None:
    rounds = [("v6.0", date(2026, 6, 1)), ("v5.0", date(2025, 6, 4)), ("v9.9", None)]
    assert held(rounds, date(2026, 6, 14)) == {"v6.0": date(2026, 6, 15)}
    assert held(rounds, date(2026, 6, 15)) == {}
