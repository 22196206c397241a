"""Which accelerator a filed name means.

Facts stand in ``warehouse/lookups/accelerator.csv`` (vendor data sheets; blank where unsure), the
spellings seen in published rounds in ``accelerator_spelling.csv``, and the words that may surround
a model's name in ``accelerator_word.csv``. A name not listed resolves only if every word of it is
understood and exactly one model fits all that it states.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import polars as pl

from gpurank.declared.rounds import round_order
from gpurank.systems.spellings import (
    BLANK,
    LONGEST,
    Match,
    closest,
    is_blank,
    normal,
    number,
    rows,
    truth,
    whole,
)

SCHEMA: dict[str, Any] = {
    "accelerator": pl.String,
    "family": pl.String,
    "vendor": pl.String,
    "architecture": pl.String,
    "memory_gb": pl.Float64,
    "form_factor": pl.String,
    "is_socketed": pl.Boolean,
    "link_rank": pl.Int64,
    "launch_year": pl.Int64,
    "peak_dense_bf16_tflops": pl.Float64,
    "memory_bandwidth_gb_s": pl.Float64,
    "tdp_w": pl.Float64,
}

_COUNT = re.compile(r"^\d+\s*x\s+")
_WATTS = re.compile(r"\(?(?<![\w.])(\d{2,4})\s?w\b\)?")
_MEMORY = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)\s?(?:gib|gb|g)\b")
_WORD = re.compile(r"[a-z0-9.+]+")
# v0.5 names the slice: tpuv2-512. The number counts cores, not another model.
SLICE = re.compile(r"\s*tpu[\s-]?v(\d\w?)-(\d+)\s*", re.I)


@dataclass(frozen=True, slots=True)
class _Stated:
    """What a name states: the model's key and the facts beside it."""

    key: str
    vendors: frozenset[str]
    architecture: str | None
    forms: frozenset[str]
    memory_types: frozenset[str]
    memory: frozenset[float]
    watts: frozenset[str] = field(default_factory=frozenset)


@cache
def models() -> dict[str, dict[str, str]]:
    """The catalogue's rows by model."""
    return {row["model"]: row for row in rows("accelerator")}


@cache
def _words() -> dict[str, tuple[str, str]]:
    return {row["word"]: (row["kind"], row["value"]) for row in rows("accelerator_word")}


@cache
def _keys() -> dict[str, tuple[dict[str, str], ...]]:
    found: dict[str, tuple[dict[str, str], ...]] = {}
    for row in models().values():
        for key in row["keys"].split(";"):
            found[key] = (*found.get(key, ()), row)
    return found


@cache
def _spellings() -> dict[str, tuple[dict[str, str], ...]]:
    found: dict[str, tuple[dict[str, str], ...]] = {}
    for row in rows("accelerator_spelling"):
        key = normal(row["reported"])
        found[key] = (*found.get(key, ()), row)
    return found


def _values(row: dict[str, str]) -> dict[str, Any]:
    text = {"family", "vendor", "architecture", "form_factor"}
    whole_numbers = {"link_rank", "launch_year"}
    values: dict[str, Any] = {}
    for name in SCHEMA:
        if name == "accelerator":
            values[name] = row["model"]
        elif name in text:
            values[name] = row[name] or None
        elif name in whole_numbers:
            values[name] = whole(row[name])
        elif name == "is_socketed":
            values[name] = truth(row[name])
        else:
            values[name] = number(row[name])
    return values


def _stated(text: str) -> _Stated:
    """Take a name apart; a word nobody knows stays in the key, which then fits no model."""
    rest = _COUNT.sub("", normal(text.replace("_", " ")))
    watts = frozenset(_WATTS.findall(rest))
    rest = _WATTS.sub(" ", rest)
    memory = frozenset(float(value) for value in _MEMORY.findall(rest))
    rest = _MEMORY.sub(" ", rest)
    said: dict[str, set[str]] = {"vendor": set(), "form": set(), "memory_type": set()}
    architecture: str | None = None
    key: list[str] = []
    words = _WORD.findall(rest)
    for index, word in enumerate(words):
        kind, value = _words().get(word, ("key", word))
        if kind == "key" and word == "ultra" and index and words[index - 1] == "blackwell":
            architecture = "Blackwell Ultra"
        elif kind == "key":
            key.append(word)
        elif kind == "architecture":
            architecture = value
        elif kind != "noise":
            said[kind].add(value or word)
    return _Stated(
        "".join(key),
        frozenset(said["vendor"]),
        architecture,
        frozenset(said["form"]),
        frozenset(said["memory_type"]),
        memory,
        watts,
    )


def _fits(row: dict[str, str], stated: _Stated) -> bool:
    """Whether nothing that the name states contradicts the model."""
    accepted = {float(value) for value in row["memory_accepted"].split(";") if value}
    powers = set(filter(None, row["power_accepted_w"].split(";")))
    kinds = {row["memory_type"], "hbm" if row["memory_type"].startswith("hbm") else ""}
    return (
        all(vendor == row["vendor"] for vendor in stated.vendors)
        and stated.architecture in (None, row["architecture"])
        and (not row["form_factor"] or all(map(row["form_factor"].startswith, stated.forms)))
        and stated.memory <= accepted
        and (not row["memory_type"] or stated.memory_types <= kinds)
        and (not powers or stated.watts <= powers)
    )


def _by_rule(text: str) -> dict[str, Any] | None:
    """Values of the one model that fits, or what all fitting variants of it share."""
    part = SLICE.fullmatch(text)
    stated = _stated(f"tpuv{part[1]}" if part else text)
    found = [row for row in _keys().get(stated.key, ()) if _fits(row, stated)]
    certain = [row for row in found if row["is_fallback"] != "true"]
    exact = [row for row in certain if row["form_factor"] in stated.forms]
    certain = exact if len(exact) == 1 else certain
    if len(certain) == 1:
        return _values(certain[0])
    fallback = [row for row in found if row["is_fallback"] == "true"]
    if not certain or len(fallback) != 1:
        return None
    variants = [_values(row) for row in certain]
    return {
        name: value
        if value is not None or len({variant[name] for variant in variants}) > 1
        else variants[0][name]
        for name, value in _values(fallback[0]).items()
    }


def identify_accelerator(text: str | None, round_id: str | None = None) -> Match:
    """The model that a filed accelerator name means.

    Args:
        text: the name as filed.
        round_id: the round it was filed in; some spellings mean a model in certain rounds only.

    Returns:
        The match with the values of SCHEMA; ``unresolved`` with the closest known model where the
        name is not understood as a whole.
    """
    if text is None or is_blank(text):
        return BLANK
    if len(text) > LONGEST:
        return Match("unresolved")
    for row in _spellings().get(normal(text), ()):
        if _in_rounds(row, round_id):
            return Match("lookup", _values(models()[row["model"]]))
    values = _by_rule(text)
    if values is not None:
        return Match("rule", values)
    named = {row["reported"]: row["model"] for row in rows("accelerator_spelling")}
    near = closest(text, [*models(), *named])
    return Match("unresolved", {}, named.get(near, near) if near else None)


class UnknownAcceleratorError(ValueError):
    """A name that means no known accelerator; the message names the closest one."""


def canonical_accelerator(text: str) -> str:
    """Returns the model that a name written by a user means.

    Raises:
        UnknownAcceleratorError: it means none.
    """
    if text in models():
        return text
    match = identify_accelerator(text)
    if match.method in ("unresolved", "blank"):
        hint = f"; did you mean {match.closest}?" if match.closest else ""
        raise UnknownAcceleratorError(f"accelerator {text!r} is not known{hint}")
    return str(match.values["accelerator"])


def _in_rounds(row: dict[str, str], round_id: str | None) -> bool:
    if not row["first_round"]:
        return True
    if round_id is None:
        return False
    return (
        round_order(row["first_round"]) <= round_order(round_id) <= round_order(row["last_round"])
    )
