"""Rounds and the rules by which their benchmarks are scored.

Source of every value: ``warehouse/rounds.yml``. Nothing here knows a round by name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import yaml

from gpurank.errors import Exit, GpurankError

_ROUND = re.compile(r"v(\d+)\.(\d+)")


class UnknownRound(GpurankError, ValueError):
    """A round name that is not of the form ``vX.Y``, or a selection that names none."""

    exit_code = Exit.USAGE


@dataclass(frozen=True, slots=True)
class BenchmarkRule:
    """How one benchmark is scored in one round.

    ``target``/``target_second`` are on the scale the round's logs use; ``second_metric`` names
    the second series where a run must pass two (FID and CLIP). ``basis`` says where the rule
    comes from: ``declared`` (the round lists the benchmark), ``by_name`` (the benchmark is known,
    the round does not list it) or ``unknown`` (no rule: rows without a score).
    """

    benchmark: str
    basis: Literal["declared", "by_name", "unknown"]
    runs_required: int | None = None
    drop: int = 1
    max_nonconverged: int = 1
    direction: Literal["higher", "lower"] | None = None
    target: float | None = None
    target_second: float | None = None
    metric: str | None = None
    second_metric: str | None = None
    counter_unit: str | None = None
    take_first_converged: bool = False
    is_timed_by_elapsed: bool = False
    """The run time is the elapsed time in eval_result; run_stop there ends the evaluation."""


@dataclass(frozen=True, slots=True)
class Round:
    """One published round. ``published_on`` is null where it is not known."""

    round_id: str
    repository: str
    published_on: date | None
    benchmarks: tuple[str, ...]
    top_folder: str | None
    generic_system_folders: tuple[str, ...]
    is_declared: bool


def round_order(round_id: str) -> tuple[int, int]:
    """Sort key of a round name: ``v3.1`` before ``v10.0``.

    Raises:
        UnknownRound: the name is not ``vX.Y``.
    """
    match = _ROUND.fullmatch(round_id)
    if not match:
        raise UnknownRound(f"{round_id!r} is not a round name; write it as v4.0")
    return int(match[1]), int(match[2])


@dataclass(frozen=True)
class Rounds:
    """All declarations of ``rounds.yml``, parsed once."""

    document: dict[str, Any]

    @property
    def declared(self) -> tuple[str, ...]:
        """Names of the declared rounds, oldest first."""
        return tuple(sorted(self.document["rounds"], key=round_order))

    def get(self, round_id: str) -> Round:
        """The round's declaration, or a fall-back one built by rule for an undeclared round."""
        round_order(round_id)
        row = self.document["rounds"].get(round_id, {})
        return Round(
            round_id=round_id,
            repository=row.get(
                "repository", self.document["repository_template"].format(round=round_id)
            ),
            published_on=row.get("published_on"),
            benchmarks=tuple(row.get("benchmarks", ())),
            top_folder=row.get("top_folder"),
            generic_system_folders=tuple(row.get("generic_system_folders", ())),
            is_declared=round_id in self.document["rounds"],
        )

    def _alias(self, round_id: str, folder: str) -> dict[str, str]:
        order = round_order(round_id)
        for alias in self.document["folder_aliases"]:
            last = round_order(alias["last"]) if "last" in alias else order
            if alias["folder"] == folder and round_order(alias["first"]) <= order <= last:
                return dict(alias)
        return {}

    def canonical_benchmark(self, round_id: str, folder: str) -> str:
        """Canonical benchmark of a folder name in a round (``ssd`` in v2.0 is ``retinanet``)."""
        return self._alias(round_id, folder).get("benchmark", folder)

    def round_folder(self, round_id: str, folder: str) -> str:
        """What the round calls a folder that one submitter spells otherwise (v0.6 ``mask``)."""
        return self._alias(round_id, folder).get("stands_for", folder)

    def rule(self, round_id: str, folder: str) -> BenchmarkRule:
        """The scoring rule of a benchmark folder in a round; never raises for an unknown one."""
        benchmark = self.canonical_benchmark(round_id, folder)
        defaults = self.document["benchmarks"].get(benchmark)
        if defaults is None:
            return BenchmarkRule(benchmark=benchmark, basis="unknown")
        row = self.document["rounds"].get(round_id, {})
        declared = benchmark in row.get("benchmarks", ())
        values = {**defaults, **row.get("overrides", {}).get(benchmark, {})}
        return BenchmarkRule(
            benchmark=benchmark,
            basis="declared" if declared else "by_name",
            runs_required=values["runs"],
            drop=values["drop"],
            max_nonconverged=values["max_nonconverged"],
            direction=values.get("direction"),
            target=values.get("target"),
            target_second=values.get("target_second"),
            metric=values.get("metric"),
            second_metric=values.get("second_metric"),
            counter_unit=values.get("unit"),
            take_first_converged=values.get("take_first_converged", False),
            is_timed_by_elapsed=values.get("is_timed_by_elapsed", False),
        )

    def select(self, text: str, available: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """Round names of a selection: ``v2.0,v3.0``, ``v1.0..v5.0`` or ``all``, oldest first.

        A range takes the rounds in it that are available (declared ones by default); a round
        named outright is taken as it is, so that an undeclared one can be asked for.

        Raises:
            UnknownRound: a malformed name, or nothing selected.
        """
        known = self.declared if available is None else available
        chosen: set[str] = set()
        for part in filter(None, (piece.strip() for piece in text.split(","))):
            if part == "all":
                chosen.update(known)
            elif ".." in part:
                first, _, last = part.partition("..")
                low, high = round_order(first), round_order(last)
                chosen.update(name for name in known if low <= round_order(name) <= high)
            else:
                round_order(part)
                chosen.add(part)
        if not chosen:
            raise UnknownRound(f"{text!r} selects no round; known are {', '.join(known) or 'none'}")
        return tuple(sorted(chosen, key=round_order))


@cache
def declared_rounds() -> Rounds:
    """The rounds declared in the package's ``warehouse/rounds.yml``."""
    text = files("warehouse").joinpath("rounds.yml").read_text(encoding="utf-8")
    return Rounds(yaml.safe_load(text))
