"""Which host processor a filed name means.

``warehouse/lookups/cpu.csv`` holds the facts: physical cores of a socket and the year in which the
generation was launched, blank where unsure. ``cpu_spelling.csv`` holds the spellings that the rules
would not understand or would misread.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import polars as pl

from gpurank.systems.spellings import BLANK, LONGEST, Match, closest, is_blank, normal, rows, whole

SCHEMA: dict[str, Any] = {
    "cpu": pl.String,
    "vendor": pl.String,
    "generation": pl.String,
    "cores_per_socket": pl.Int64,
    "launch_year": pl.Int64,
}

COUNT = re.compile(r"^\s*(\d+)\s*x\s+", re.I)
_NOISE = re.compile(
    r"@?\s*\d+(?:\.\d+)?\s?ghz\b|\b\d+[\s-]?cores?\b|\b\d{1,3}c\b|\bcpu\b|\bprocessors?\b"
    r"|\bamd\b|\bintel\b|\bscalable\b|[@()]"
)
_NODE = re.compile(r"\bnode\s*\d+\s*:", re.I)
_TIERS = frozenset(("xeon", "platinum", "gold", "silver", "bronze"))


def _key(text: str) -> str:
    return " ".join(_NOISE.sub(" ", COUNT.sub("", normal(text))).split())


@cache
def _models() -> dict[str, dict[str, str]]:
    return {row["model"]: row for row in rows("cpu")}


@cache
def _by_key() -> dict[str, dict[str, str]]:
    return {_key(model): row for model, row in _models().items()}


@cache
def _xeons() -> dict[str, dict[str, str]]:
    """Returns Intel's models by their number, which is unique."""
    return {
        key.rpartition(" ")[2]: row
        for key, row in _by_key().items()
        if re.fullmatch(r"xeon (?:\w+ )?\d{4}\w*\+?", key)
    }


@cache
def _spellings() -> dict[str, str]:
    return {normal(row["reported"]): row["model"] for row in rows("cpu_spelling")}


def _values(row: dict[str, str]) -> dict[str, Any]:
    numbers = {"cores_per_socket", "launch_year"}
    facts = {"cpu": row["model"], **row}
    return {name: whole(facts[name]) if name in numbers else facts[name] or None for name in SCHEMA}


def _by_rule(text: str) -> dict[str, str] | None:
    key = _key(text)
    if key in _by_key():
        return _by_key()[key]
    # The P suffix is AMD's single-socket version of the same processor.
    if re.fullmatch(r"epyc \d{4}p", key):
        return _by_key().get(key[:-1])
    *tiers, model = key.split() or [""]
    row = _xeons().get(model)
    if row is None or not tiers or not _TIERS.issuperset(tiers):
        return None
    return row if set(tiers) <= set(_key(row["model"]).split()) else None


def node_parts(text: str | None) -> list[str]:
    """Returns the parts of ``Node1: a, Node2: b``; empty where the text has another form."""
    if text is None or not _NODE.match(text.strip()):
        return []
    return [part.strip(" ,;") for part in _NODE.split(text.strip())[1:]]


def _mixed(parts: list[str]) -> Match:
    """Returns what several processors in one system share, without cores of a socket."""
    matches = [identify_cpu(part) for part in parts]
    if any(match.method not in ("lookup", "rule") for match in matches):
        near = [match.closest for match in matches if match.closest]
        return Match("unresolved", {}, "; ".join(near) or None)
    values = [match.values for match in matches]
    if all(value == values[0] for value in values):
        return Match("rule", values[0])
    shared = {
        name: values[0][name] if len({value[name] for value in values}) == 1 else None
        for name in SCHEMA
    }
    names = " + ".join(value["cpu"] for value in values)
    return Match("rule", {**shared, "cpu": f"mixed: {names}"})


def identify_cpu(text: str | None) -> Match:
    """Returns the model that a filed processor name means, with the values of SCHEMA.

    ``unresolved`` with the closest known model where the name is not understood as a whole; a
    system that names another processor for each node is ``mixed: a + b``.
    """
    if text is None or is_blank(text):
        return BLANK
    if len(text) > LONGEST:
        return Match("unresolved")
    if parts := node_parts(text):
        return _mixed(parts)
    model = _spellings().get(normal(text))
    if model is not None:
        return Match("lookup", _values(_models()[model]))
    row = _by_rule(text)
    if row is not None:
        return Match("rule", _values(row))
    return Match("unresolved", {}, closest(_key(text), _models()))
