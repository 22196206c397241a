"""Numbers as text: four significant figures, no exponents, nothing rounded to none or all."""

from __future__ import annotations

import pytest

from gpurank.pages import numbers


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"), (4096, "4,096"), (0.6, "0.600"), (12.345, "12.35"), (179.46, "179.5"),
        (12345.6, "12,346"), (-3.14159, "-3.142"),
    ],
)  # fmt: skip
def test_numbers_have_four_figures_and_no_exponent(value: float | None, text: str) -> None:
    assert numbers.number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"), (0, "0 %"), (0.001, "under 1 %"), (0.5, "50 %"), (0.74, "74 %"),
        (0.999, "over 99 %"), (1, "100 %"),
    ],
)  # fmt: skip
def test_a_share_is_not_rounded_to_none_or_all(value: float | None, text: str) -> None:
    assert numbers.share(value) == text.replace(" %", "\u00a0%")


@pytest.mark.parametrize(
    ("value", "text"),
    [(8.0, "8"), (6.571, "6.57"), (184.2, "184"), (1024, "1,024"), (1770.4, "1,770")],
)
def test_settings_as_a_person_writes_them(value: float, text: str) -> None:
    assert numbers.short(value) == text


def test_quantities_counts_and_ticks() -> None:
    assert numbers.quantity(None, "GiB") is None
    assert numbers.quantity(0.123456, "kWh") == "0.1235 kWh"
    assert numbers.quantity(2048.0, "GiB") == "2,048 GiB"
    assert [numbers.plural(value, "pair") for value in (0, 1, 1203)] == [
        "0 pairs", "1 pair", "1,203 pairs",
    ]  # fmt: skip
    assert [numbers.tick(value) for value in (0.05, 2.0, 10000.0)] == ["0.05", "2", "10,000"]
    assert numbers.fixed(1234.5678, 2) == "1,234.57" and numbers.count(None) == "–"
