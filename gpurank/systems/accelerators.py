"""Which accelerator a filed name means.

``warehouse/lookups/accelerator.csv`` holds the facts (vendor data sheets; blank where unsure),
``accelerator_spelling.csv`` the spellings seen in published rounds, and ``accelerator_word.csv``
the words that may surround a model's name. A name that is not listed resolves only if every word
of it is understood and exactly one model fits all that it states. Two things may be settled beside
the name: an architecture word that contradicts the chip's own name is overruled with a note, and
the memory filed in its own field chooses between variants that the name leaves open.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cache
from typing import Any

import polars as pl

from gpurank.declared.rounds import round_order
from gpurank.errors import Exit, GpurankError
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
# v0.5 names the slice: tpuv2-512. The number counts cores and does not name another model.
SLICE = re.compile(r"\s*tpu[\s-]?v(\d\w?)-(\d+)\s*", re.I)
# A filed memory may be rounded, or be what the driver leaves free.
_MEMORY_TOLERANCE = 0.01


@dataclass(frozen=True, slots=True)
class _Stated:
    """What a name states: the chip's own name (``key``) and the other facts in it."""

    key: str
    vendors: frozenset[str]
    architecture: str | None
    forms: frozenset[str]
    memory_types: frozenset[str]
    memory: frozenset[float]
    watts: frozenset[str] = field(default_factory=frozenset)


@cache
def models() -> dict[str, dict[str, str]]:
    """Returns the catalogue's rows by model."""
    return {row["model"]: row for row in rows("accelerator")}


@cache
def _words() -> dict[str, tuple[str, str]]:
    return {row["word"]: (row["kind"], row["value"]) for row in rows("accelerator_word")}


@cache
def models_by_key() -> dict[str, tuple[dict[str, str], ...]]:
    """Returns the catalogue's rows by each of their keys (``h100``), a chip's name in short."""
    by_key: dict[str, tuple[dict[str, str], ...]] = {}
    for row in models().values():
        for key in row["keys"].split(";"):
            by_key[key] = (*by_key.get(key, ()), row)
    return by_key


@cache
def _spellings() -> dict[str, tuple[dict[str, str], ...]]:
    by_spelling: dict[str, tuple[dict[str, str], ...]] = {}
    for row in rows("accelerator_spelling"):
        spelling = normal(row["reported"])
        by_spelling[spelling] = (*by_spelling.get(spelling, ()), row)
    return by_spelling


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


def _read_name(text: str) -> _Stated:
    """Returns what a name states; a word that is not known stays in the key, which then fits none.

    A slice's name (``tpuv3-512``) states its generation.
    """
    if part := SLICE.fullmatch(text):
        text = f"tpuv{part[1]}"
    rest = _COUNT.sub("", normal(text.replace("_", " ")))
    watts = frozenset(_WATTS.findall(rest))
    rest = _WATTS.sub(" ", rest)
    memory = frozenset(float(value) for value in _MEMORY.findall(rest))
    rest = _MEMORY.sub(" ", rest)
    stated: dict[str, set[str]] = {"vendor": set(), "form": set(), "memory_type": set()}
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
            stated[kind].add(value or word)
    return _Stated(
        "".join(key),
        frozenset(stated["vendor"]),
        architecture,
        frozenset(stated["form"]),
        frozenset(stated["memory_type"]),
        memory,
        watts,
    )


def _accepted_memory(row: dict[str, str]) -> set[float]:
    """Returns the memory sizes under which a model is filed, GB."""
    return {float(value) for value in row["memory_accepted"].split(";") if value}


def _fits(row: dict[str, str], stated: _Stated) -> bool:
    """Returns whether nothing that the name states, but its architecture, contradicts the model."""
    powers = set(filter(None, row["power_accepted_w"].split(";")))
    kinds = {row["memory_type"], "hbm" if row["memory_type"].startswith("hbm") else ""}
    return (
        all(vendor == row["vendor"] for vendor in stated.vendors)
        and (not row["form_factor"] or all(map(row["form_factor"].startswith, stated.forms)))
        and stated.memory <= _accepted_memory(row)
        and (not row["memory_type"] or stated.memory_types <= kinds)
        and (not powers or stated.watts <= powers)
    )


def _fitting_models(stated: _Stated) -> tuple[list[dict[str, str]], str | None]:
    """Returns the models that fit a name, and a note where its architecture word was overruled.

    The chip's own name is unique, and architecture words are often filed wrong (``Blackwell`` for
    a B300, which is Blackwell Ultra): the chip's name counts.
    """
    fitting = [row for row in models_by_key().get(stated.key, ()) if _fits(row, stated)]
    agreeing = [row for row in fitting if stated.architecture in (None, row["architecture"])]
    if agreeing or not fitting:
        return agreeing, None
    chip, architecture = fitting[0]["family"], fitting[0]["architecture"]
    note = f"it says {stated.architecture}, but {chip} is {architecture}; the chip's name counts"
    return fitting, note


def _choose(
    fitting: list[dict[str, str]], stated: _Stated, filed_memory_gib: float | None
) -> dict[str, Any] | None:
    """Returns the values of the one model that fits, or what all fitting variants share.

    None where none fits, or several do that the catalogue has no common row for.
    """
    variants = [row for row in fitting if row["is_fallback"] != "true"]
    exact = [row for row in variants if row["form_factor"] in stated.forms]
    variants = exact if len(exact) == 1 else variants
    if len(variants) > 1 and filed_memory_gib:
        of_that_memory = [row for row in variants if _has_memory(row, filed_memory_gib)]
        variants = of_that_memory or variants
    if len(variants) == 1:
        return _values(variants[0])
    fallback = [row for row in fitting if row["is_fallback"] == "true"]
    if not variants or len(fallback) != 1:
        return None
    candidates = [_values(row) for row in variants]
    return {
        name: value
        if value is not None or len({candidate[name] for candidate in candidates}) > 1
        else candidates[0][name]
        for name, value in _values(fallback[0]).items()
    }


def _has_memory(row: dict[str, str], filed_gib: float) -> bool:
    return any(abs(size - filed_gib) <= _MEMORY_TOLERANCE * size for size in _accepted_memory(row))


def _closest_model(text: str, key: str) -> str | None:
    """Returns the model whose chip has the name, or nearly the name, of an unresolved spelling."""
    keys = models_by_key()
    words = [key, *_WORD.findall(normal(text))]
    near = next((word for word in words if word in keys), None) or closest(key, keys)
    if near is None:
        return None
    names = [row["model"] for row in keys[near] if row["is_fallback"] != "true"]
    spelling = normal(text)
    return max(names, key=lambda name: SequenceMatcher(None, spelling, normal(name)).ratio())


def identify_accelerator(
    text: str | None, round_id: str | None = None, memory_gib: float | None = None
) -> Match:
    """Returns the model that a filed accelerator name means.

    Args:
        text: the name as filed.
        round_id: the round it was filed in; some spellings mean a model in certain rounds only.
        memory_gib: memory filed with the name, GiB; it chooses between variants that the name
            leaves open, and never contradicts a name that leaves none open.

    Returns:
        The match with the values of SCHEMA; ``unresolved`` with the closest known model where the
        name is not understood as a whole.
    """
    if text is None or is_blank(text):
        return BLANK
    if len(text) > LONGEST:
        return Match("unresolved")
    stated = _read_name(text)
    fitting, note = _fitting_models(stated)
    for row in _spellings().get(normal(text), ()):
        if _in_rounds(row, round_id):
            model = models()[row["model"]]
            if model["is_fallback"] == "true" and memory_gib:
                narrowed = _choose(fitting, stated, memory_gib)
                if narrowed is not None and narrowed["accelerator"] != model["model"]:
                    return Match("rule", narrowed)
            return Match("lookup", _values(model))
    values = _choose(fitting, stated, memory_gib)
    if values is not None:
        return Match("rule", values, note=note)
    return Match("unresolved", {}, _closest_model(text, stated.key))


class UnknownAcceleratorError(GpurankError, ValueError):
    """A name that means no known accelerator; the message names the closest one."""

    exit_code = Exit.USAGE


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
