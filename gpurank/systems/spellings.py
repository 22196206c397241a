"""Rows of ``warehouse/lookups/*.csv`` and the normal form in which spellings are compared."""

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

_MARK = re.compile(r"\((?:r|tm|c)\)|[®™©]", re.I)


@dataclass(frozen=True, slots=True)
class Match:
    """What one spelling means: canonical values, how they were found, the closest known name."""

    method: Method
    values: dict[str, Any] = field(default_factory=dict)
    closest: str | None = None


BLANK = Match("blank")


@cache
def rows(name: str) -> tuple[dict[str, str], ...]:
    """The rows of one lookup as text, in file order."""
    text = files("warehouse").joinpath("lookups", f"{name}.csv").read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def normal(text: str) -> str:
    """A spelling without case, trademark signs and repeated blanks."""
    return " ".join(_MARK.sub(" ", text).casefold().split())


@cache
def _placeholders() -> frozenset[str]:
    return frozenset(row["text"] for row in rows("placeholder"))


def is_blank(text: str | None) -> bool:
    """Whether a filed text says nothing: null, empty or a placeholder such as N/A or TODO."""
    return text is None or normal(text) in _placeholders()


def closest(text: str, known: Iterable[str]) -> str | None:
    """The known name that is spelt most like ``text``; None where none is near."""
    names = {normal(name): name for name in known}
    found = difflib.get_close_matches(normal(text)[:120], sorted(names), n=1, cutoff=0.4)
    return names[found[0]] if found else None


def whole(text: str) -> int | None:
    return int(text) if text else None


def number(text: str) -> float | None:
    return float(text) if text else None


def truth(text: str) -> bool | None:
    return text == "true" if text else None
