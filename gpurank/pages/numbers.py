"""Numbers as text for pages and documents; assets/page.js formats those that change in a browser.

None is shown as a dash.
"""

from __future__ import annotations

MISSING = "–"
_PERCENT = "\u00a0%"


def number(value: float | int | None) -> str:
    """Returns about four significant figures, never an exponent: 0.600, 12.35, 179.5, 4,096."""
    if value is None:
        return MISSING
    if isinstance(value, int):
        return count(value)
    size = abs(value)
    return fixed(value, 3 if size < 10 else 2 if size < 100 else 1 if size < 10_000 else 0)


def short(value: float) -> str:
    """Returns a setting as a person would write it: 8, 6.6, 184, 1,024."""
    return count(value) if value >= 100 else f"{value:.3g}"


def count(value: float | None) -> str:
    """Returns a whole number with separators of thousands: 1,024."""
    return MISSING if value is None else f"{value:,.0f}"


def fixed(value: float, digits: int) -> str:
    """Returns a number with so many decimals: 1,234.50."""
    return f"{value:,.{digits}f}"


def tick(value: float) -> str:
    """Returns the label of an axis: 0.05, 2, 1,000."""
    return count(value) if value >= 1 else f"{value:g}"


def percent(value: float) -> str:
    """Returns a share as whole per cent: 50 %."""
    return f"{value * 100:.0f}{_PERCENT}"


def share(value: float | None) -> str:
    """Returns a share as whole per cent; neither "0 %" nor "100 %" where that is only rounded."""
    if value is None:
        return MISSING
    if 0 < value < 0.005:
        return f"under 1{_PERCENT}"
    if 0.995 < value < 1:
        return f"over 99{_PERCENT}"
    return percent(value)


def quantity(value: float | None, unit: str) -> str | None:
    """Returns a measured value with its unit, four significant figures below 1,000; None stays."""
    if value is None:
        return None
    return f"{value:,.4g} {unit}" if value < 1000 else f"{count(value)} {unit}"


def plural(value: int, noun: str) -> str:
    """Returns a count with its noun: 1 result, 1,203 results."""
    return f"{count(value)} {noun}{'' if value == 1 else 's'}"
