"""Rows of ``warehouse/lookups/*.csv``, and the normal form in which spellings are compared."""

from __future__ import annotations

import csv
import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal

Method = Literal["lookup", "rule", "unresolved", "blank"]

#: Characters of the longest text that is read as a name or an amount.
LONGEST = 1000

_LONGEST_COMPARED = 120
_LEAST_LIKENESS = 0.8

_MARK = re.compile(r"\((?:r|tm|c)\)|[®™©]", re.I)


@dataclass(frozen=True, slots=True)
class Match:
    """What one spelling means: canonical values, how they were found, the closest known name.

    ``note`` says what in the spelling was overruled, where something was.
    """

    method: Method
    values: dict[str, Any] = field(default_factory=dict)
    closest: str | None = None
    note: str | None = None


BLANK = Match("blank")


@cache
def rows(name: str) -> tuple[dict[str, str], ...]:
    """Returns the rows of one lookup as text, in file order."""
    text = files("warehouse").joinpath("lookups", f"{name}.csv").read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def normal(text: str) -> str:
    """Returns a spelling in lower case, without trademark signs and repeated blanks."""
    return " ".join(_MARK.sub(" ", text).casefold().split())


@cache
def _placeholders() -> frozenset[str]:
    return frozenset(row["text"] for row in rows("placeholder"))


def is_blank(text: str | None) -> bool:
    """Returns whether a filed text is empty: null, blank or a placeholder such as N/A or TODO."""
    return text is None or normal(text) in _placeholders()


def closest(text: str, known: Iterable[str]) -> str | None:
    """Returns the known name of which ``text`` is probably a misspelling; None where none is near.

    Near means at least four fifths of the letters in common (difflib's ratio), and the same digits
    or one too many or too few: a name with other digits is another product, not a misspelt one.
    """
    spelling = normal(text)[:_LONGEST_COMPARED]
    names = {normal(name): name for name in known}
    candidates = sorted(name for name in names if _have_near_digits(spelling, name))
    near = difflib.get_close_matches(spelling, candidates, n=1, cutoff=_LEAST_LIKENESS)
    return names[near[0]] if near else None


def _have_near_digits(one: str, other: str) -> bool:
    shorter, longer = sorted(("".join(filter(str.isdigit, text)) for text in (one, other)), key=len)
    if len(longer) - len(shorter) > 1:
        return False
    return shorter == longer or any(
        longer[:i] + longer[i + 1 :] == shorter for i in range(len(longer))
    )


def whole(text: str) -> int | None:
    """Returns a lookup's cell as a whole number; None where it is empty."""
    return int(text) if text else None


def number(text: str) -> float | None:
    """Returns a lookup's cell as a number; None where it is empty."""
    return float(text) if text else None


def truth(text: str) -> bool | None:
    """Returns a lookup's cell as a truth value; None where it is empty."""
    return text == "true" if text else None
