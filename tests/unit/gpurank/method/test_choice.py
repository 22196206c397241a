"""Choosing: worked examples, a brute-force oracle, and that a looser limit removes no option."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpurank.method.choice import (
    Candidate,
    Choice,
    ChoiceError,
    Cost,
    Limits,
    decide,
    parse_minutes,
)
from gpurank.method.prices import Price, PriceError, lowest_prices, read_prices


def entry(name: str, time: float | None, count: int | None, **given: Any) -> Candidate:
    plain: dict[str, Any] = {
        "result_id": name, "round_id": "v4.0", "submitter": "S", "system_name": name,
        "accelerator": "X", "accelerator_count": count, "division": "closed",
        "availability": "available", "is_on_premises": True, "score_min": time,
    }  # fmt: skip
    return Candidate(**{**plain, **given})


# AM: 8 x 20 = 160, 64 x 3 = 192, 512 x 1 = 512, 8 x 30 = 240.
FOUR = [entry("small", 20, 8), entry("mid", 3, 64), entry("big", 1, 512), entry("old", 30, 8)]


def names(choice: Choice) -> dict[str, str]:
    return {row.candidate.result_id: row.status for row in choice.rows}


def test_the_cheapest_inside_the_deadline_is_recommended() -> None:
    choice = decide(FOUR, Limits(within_min=10), Cost())
    assert choice.recommended is not None and choice.recommended.candidate.result_id == "mid"
    assert choice.recommended.cost == 192
    assert [row.candidate.result_id for row in choice.front] == ["big", "mid"]
    reasons = {row.candidate.result_id: (row.kind, row.reason) for row in choice.rows}
    assert reasons["big"] == (
        None, "costs 320.0 chip-min more (166.7%) and is 2.00 min faster"
    )  # fmt: skip
    assert reasons["small"] == ("too_slow", "takes 20.00 min, 10 allowed")
    # Waiting 20 min costs 160, a sixth less; waiting 30 min costs more, so it is no saving.
    assert [(s.within_min, s.cost, s.saved) for s in choice.savings] == [(20, 160, 32)]
    assert choice.savings[0].saved_share == pytest.approx(1 / 6)


def test_lambda_and_prices_change_what_is_cheapest() -> None:
    # At lambda 8: 320, 216, 520, 480.
    assert decide(FOUR, Limits(), Cost(8)).recommended.candidate.result_id == "mid"  # type: ignore[union-attr]
    price = Price("X", "P", "eu", 6.0, "USD", date(2026, 11, 1), "list")
    choice = decide(FOUR, Limits(), Cost(0, 12, {"X": price}))
    # 0.1 a minute and chip: 20 x (0.8 + 12) = 256, 3 x 18.4 = 55.2, 1 x 63.2, 30 x 12.8.
    assert {r.candidate.result_id: round(r.cost or 0, 1) for r in choice.rows} == {
        "mid": 55.2, "big": 63.2, "small": 256.0, "old": 384.0
    }  # fmt: skip
    assert choice.cost.unit == "USD"
    assert price.basis == "6 USD an hour per accelerator on 2026-11-01, P, eu (list)"


def test_dominated_options_name_what_dominates_them() -> None:
    choice = decide(FOUR, Limits(), Cost())
    old = next(row for row in choice.rows if row.candidate.result_id == "old")
    assert not old.is_on_front and old.status == "option"
    # "mid" is faster and cheaper, the nearest such in cost.
    assert old.reason == (
        "costs 80.0 chip-min more (50.0%); mid is as fast or faster and no dearer"
    )


@pytest.mark.parametrize(
    ("given", "kind", "reason"),
    [
        ({"score_min": None, "score_missing_reason": "too_few_runs"}, "no_score",
         "no score: too_few_runs"),
        ({"division": "open"}, "division", "open division"),
        ({"division": None}, "division", "unknown division"),
        ({"copy_of": "first"}, "copy", "the same measurement as first"),
        ({"accelerator_count": 0}, "no_accelerators", "no accelerators"),
        ({"accelerator_count": None}, "no_accelerators", "accelerator count unknown"),
        ({"availability": "preview"}, "availability", "preview, not available"),
        ({"availability": None}, "availability", "availability not filed, not available"),
        ({"is_on_premises": False}, "site", "cloud, not on premises"),
        ({"is_on_premises": None}, "site", "on premises or cloud not filed, not on premises"),
        ({"accelerator": "Y"}, "no_price", "no price for Y"),
        ({"accelerator": None}, "no_price", "no price for an unknown accelerator"),
        ({"accelerator_count": 65}, "too_many", "65 accelerators, 64 allowed"),
        ({"accelerator_count": 64}, "over_budget", "costs 640.0 EUR, 100 allowed"),
        ({"score_min": 31.0, "accelerator_count": 1}, "too_slow", "takes 31.00 min, 30 allowed"),
        ({"accelerator_count": 10}, None, None),  # 100 EUR, exactly what is allowed
        ({}, None, None),
    ],
)  # fmt: skip
def test_each_excluded_row_has_one_reason(
    given: dict[str, Any], kind: str | None, reason: str | None
) -> None:
    price = Price("X", "P", "", 60.0, "EUR", date(2026, 1, 1), "s")
    limits = Limits(30, 64, 100, "available", True)
    choice = decide([replace(entry("a", 10.0, 8), **given)], limits, Cost(0, 0, {"X": price}))
    row = choice.rows[0]
    assert (row.kind, row.reason) == (kind, reason)
    assert row.status == ("excluded" if kind else "recommended")


def test_run_noise_makes_ties() -> None:
    # ln(165 / 160) = 0.0308 against 1.645 x sqrt(2) x 0.02 = 0.0465, and x 0.01 = 0.0233.
    def close(sd: float | None) -> Choice:
        rows = [
            entry("a", 20, 8, log_score_sd=sd),
            entry("b", 20.625, 8, log_score_sd=sd),
        ]
        return decide(rows, Limits(), Cost())

    assert [row.is_tie for row in close(0.02).rows] == [False, True]
    assert not close(0.01).rows[1].is_tie and not close(None).rows[1].is_tie


def test_of_equal_options_one_stands_on_the_front() -> None:
    choice = decide([entry("a", 20, 8), entry("b", 20, 8)], Limits(), Cost())
    assert [row.candidate.result_id for row in choice.front] == ["a"]


def test_nothing_fits() -> None:
    choice = decide(FOUR, Limits(within_min=0.5), Cost())
    assert choice.recommended is None and choice.options == () and choice.savings == ()
    assert decide([], Limits(), Cost()).rows == ()


entries = st.lists(
    st.builds(
        entry,
        st.integers(0, 10_000).map(lambda i: f"{i:05d}"),
        st.none() | st.sampled_from([0.5, 1.0, 2.0, 7.5, 20.0, 90.0]),
        st.none() | st.sampled_from([0, 1, 8, 64, 512]),
        division=st.sampled_from(["closed", "open", None]),
        availability=st.sampled_from(["available", "preview", None]),
        is_on_premises=st.sampled_from([True, False, None]),
        copy_of=st.sampled_from([None, None, "other"]),
    ),
    max_size=10,
    unique_by=lambda e: e.result_id,
)
bounds = st.builds(
    Limits,
    within_min=st.none() | st.sampled_from([0.7, 2.0, 8.0, 100.0]),
    max_accelerators=st.none() | st.sampled_from([1, 8, 100, 1000]),
    budget=st.none() | st.sampled_from([5.0, 100.0, 1000.0, 1e6]),
    availability=st.sampled_from([None, "available", "preview"]),
    is_on_premises=st.sampled_from([None, True, False]),
    division=st.sampled_from([None, "closed", "open"]),
)


def oracle(rows: list[Candidate], limits: Limits, chips: float) -> dict[str, float]:
    """Costs of what keeps every limit, spelt out apart from the code."""
    kept = {}
    for r in rows:
        if r.score_min is None or not r.accelerator_count or r.copy_of:
            continue
        cost = r.score_min * r.accelerator_count + chips * r.score_min
        if (
            r.score_min <= (limits.within_min or math.inf)
            and r.accelerator_count <= (limits.max_accelerators or math.inf)
            and cost <= (limits.budget or math.inf)
            and limits.availability in (None, r.availability)
            and (limits.is_on_premises is None or limits.is_on_premises == r.is_on_premises)
            and limits.division in (None, r.division)
        ):
            kept[r.result_id] = cost
    return kept


@settings(max_examples=200, deadline=None)
@given(entries, bounds, st.sampled_from([0.0, 8.0]))
def test_against_the_oracle(rows: list[Candidate], limits: Limits, chips: float) -> None:
    choice = decide(rows, limits, Cost(chips))
    expected = oracle(rows, limits, chips)
    found = {row.candidate.result_id: row.cost for row in choice.options}
    assert found.keys() == expected.keys()
    assert all(found[name] == pytest.approx(cost) for name, cost in expected.items())
    assert len(choice.rows) == len(rows)
    assert all((row.kind is None) == (row.candidate.result_id in expected) for row in choice.rows)
    assert all(row.reason for row in choice.rows if row.status != "recommended")
    if expected:
        assert choice.recommended is not None
        assert choice.recommended.cost == pytest.approx(min(expected.values()))
    time = {r.result_id: r.score_min or 0.0 for r in rows}
    front = {
        a for a in expected
        if not any(
            time[b] <= time[a] and expected[b] <= expected[a] * (1 + 1e-12)
            and (time[b], expected[b]) != (time[a], expected[a]) for b in expected
        )
    }  # fmt: skip
    shown = {(time[r.candidate.result_id], r.cost) for r in choice.front}
    assert {t for t, _ in shown} == {time[name] for name in front}
    later = oracle(rows, replace(limits, within_min=None), chips)
    for saving in choice.savings:
        inside = [cost for name, cost in later.items() if time[name] <= saving.within_min]
        assert saving.cost == pytest.approx(min(inside))


@settings(max_examples=200, deadline=None)
@given(entries, bounds, st.data())
def test_a_looser_limit_removes_no_option(rows: list[Candidate], limits: Limits, data: Any) -> None:
    looser = limits
    for name in ("within_min", "max_accelerators", "budget"):
        value = getattr(limits, name)
        if value is not None and data.draw(st.booleans()):
            loose = data.draw(st.sampled_from([None, value * 2, value * 50]))
            looser = replace(looser, **{name: loose})
    for name in ("availability", "is_on_premises", "division"):
        if data.draw(st.booleans()):
            looser = replace(looser, **{name: None})
    tight, loose = decide(rows, limits, Cost()), decide(rows, looser, Cost())
    inside = {row.candidate.result_id for row in tight.options}
    assert inside <= {row.candidate.result_id for row in loose.options}
    if tight.recommended is not None:
        assert loose.recommended is not None
        assert (loose.recommended.cost or 0) <= (tight.recommended.cost or 0)


@pytest.mark.parametrize(
    ("text", "minutes"),
    [("30min", 30), ("2h", 120), ("1h30m", 90), ("1h 30 min", 90), ("90s", 1.5), ("45", 45),
     ("1.5h", 90), ("1d", 1440), ("2 hours", 120), ("10 minutes", 10), ("30 SEC", 0.5)],
)  # fmt: skip
def test_lengths_of_time(text: str, minutes: float) -> None:
    assert parse_minutes(text) == pytest.approx(minutes)


@pytest.mark.parametrize(
    "text", ["", "2x", "min", "-3min", "0", "1h foo", "1e3", "nan", "3 weeks", "30 45"]
)
def test_no_lengths_of_time(text: str) -> None:
    with pytest.raises(ChoiceError, match="not a duration"):
        parse_minutes(text)


def test_limits_and_costs_that_make_no_sense() -> None:
    for bad in ({"within_min": 0}, {"max_accelerators": -1}, {"budget": math.inf}):
        with pytest.raises(ChoiceError, match="above 0"):
            Limits(**bad)
    price = Price("X", "P", "", 1, "USD", date(2026, 1, 1), "s")
    with pytest.raises(ChoiceError, match="give prices with it"):
        Cost(minute_value=3)
    with pytest.raises(ChoiceError, match="with prices give the value of a minute"):
        Cost(lambda_chips=8, prices={"X": price})
    with pytest.raises(ChoiceError, match="0 or more"):
        Cost(lambda_chips=-1)


ROW = {
    "accelerator": "NVIDIA H100-SXM5-80GB", "provider": "P", "region": "eu", "per_hour": "2.5",
    "currency": "usd", "date": "2026-11-01", "source": "list",
}  # fmt: skip


def test_prices_are_canonical_and_the_lowest_counts() -> None:
    rows = [ROW, {**ROW, "provider": "Q", "per_hour": "2.25"}, {**ROW, "region": "us"}]
    found = lowest_prices(rows, "prices.csv")
    assert list(found) == ["H100 SXM5 80GB"]
    assert found["H100 SXM5 80GB"].provider == "Q"
    assert found["H100 SXM5 80GB"].currency == "USD"


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([ROW, {**ROW, "currency": "EUR", "region": "us"}],
         r"line 3: EUR, but line 2 is in USD; give all prices in one currency"),
        ([ROW, {**ROW, "accelerator": "H100 SXM5 80GB", "per_hour": "3"}],
         r"line 3: H100 SXM5 80GB from P eu has a price in line 2 already"),
        ([{**ROW, "accelerator": "H1000 Turbo"}], r"line 2: accelerator 'H1000 Turbo' is not kn"),
        ([{**ROW, "per_hour": "free"}], r"per_hour 'free' is not a number above 0"),
        ([{**ROW, "per_hour": "-1"}], r"per_hour '-1' is not a number above 0"),
        ([{**ROW, "per_hour": "nan"}], r"per_hour 'nan' is not a number above 0"),
        ([{**ROW, "date": "01.11.2026"}], r"date '01.11.2026' is not a date such as 2026"),
        ([{**ROW, "date": ""}], r"line 2: date is empty"),
        ([{**ROW, "source": None}], r"line 2: source is empty"),
        ([{**ROW, "currency": "$"}], r"currency '\$' is not a three-letter code"),
        ([], r"holds no price"),
    ],
)  # fmt: skip
def test_price_lists_that_cannot_be_used(rows: list[dict[str, Any]], told: str) -> None:
    with pytest.raises(PriceError, match=told):
        lowest_prices(rows, "prices.csv")


def test_price_files(tmp_path: Any) -> None:
    path = tmp_path / "prices.csv"
    path.write_text(
        "\ufeffaccelerator, provider,region,per_hour,currency,date,source\n"
        "H100 SXM5 80GB, P,,2,USD,2026-11-01,quote\n",
        encoding="utf-8",
    )
    assert read_prices(path)["H100 SXM5 80GB"].per_hour == 2
    path.write_text("accelerator,per_hour\nH100,2\n")
    with pytest.raises(PriceError, match="lacks the column provider, region, currency"):
        read_prices(path)
    with pytest.raises(PriceError, match="cannot be read as a price list"):
        read_prices(tmp_path / "none.csv")
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PriceError, match="cannot be read as a price list"):
        read_prices(path)
