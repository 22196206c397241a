"""When a round's derived numbers may be shown: not before its publication date plus two weeks."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta

HOLD = timedelta(days=14)


def held(rounds: Iterable[tuple[str, date | None]], today: date) -> dict[str, date]:
    """Returns the rounds that are held back, with the first day on which they may be shown.

    A round of unknown publication date is not held back: it comes from a public repository, and
    an undeclared date must not be guessed.
    """
    return {
        round_id: published_on + HOLD
        for round_id, published_on in rounds
        if published_on is not None and today < published_on + HOLD
    }
