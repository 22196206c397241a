"""The present time: the one place that asks the clock, so that a test can set it."""

from __future__ import annotations

from datetime import UTC, date, datetime


def now() -> datetime:
    """Returns the present time in UTC."""
    return datetime.now(UTC)


def today() -> date:
    """Returns the date in UTC."""
    return now().date()
