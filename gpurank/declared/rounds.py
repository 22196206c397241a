"""Rounds and the rules by which their benchmarks are scored.

Every value comes from ``warehouse/rounds.yml``; no round is named in code.
"""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import yaml

from gpurank.errors import Exit, GpurankError

_ROUND = re.compile(r"v(\d+)\.(\d+)")
# Two rounds are published a year.
_MONTHS_BETWEEN_ROUNDS = 6


class UnknownRound(GpurankError, ValueError):
    """A round name is not of the form ``vX.Y``, or a selection names no round."""

    exit_code = Exit.USAGE


@dataclass(frozen=True, slots=True)
class BenchmarkRule:
    """How one benchmark is scored in one round.

    Attributes:
        benchmark: canonical name.
        basis: where the rule comes from: ``declared`` (the round lists the benchmark), ``by_name``
            (the benchmark is known, the round does not list it) or ``unknown`` (no rule, so that
            rows have no score).
        target: the quality that ends a run, on the scale of the round's logs.
        target_second: the same of ``second_metric``, where a run must reach two (FID and CLIP).
        is_timed_by_elapsed: whether the run time is the elapsed time in eval_result; run_stop
            then ends the evaluation.
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
    take_first_converged: bool = False
    is_timed_by_elapsed: bool = False


@dataclass(frozen=True, slots=True)
class Round:
    """One published round; ``published_on`` is None where it is not known."""

    round_id: str
    repository: str
    published_on: date | None
    benchmarks: tuple[str, ...]
    top_folder: str | None
    generic_system_folders: tuple[str, ...]
    is_declared: bool


def round_order(round_id: str) -> tuple[int, int]:
    """Returns the sort key of a round name: ``v3.1`` comes before ``v10.0``.

    Raises:
        UnknownRound: the name is not ``vX.Y``.
    """
    match = _ROUND.fullmatch(round_id)
    if not match:
        raise UnknownRound(f"{round_id!r} is not a round name; write it as v4.0")
    return int(match[1]), int(match[2])


@dataclass(frozen=True)
class Rounds:
    """All declarations of ``rounds.yml``."""

    document: dict[str, Any]

    @property
    def declared(self) -> tuple[str, ...]:
        """Returns the names of the declared rounds, oldest first."""
        return tuple(sorted(self.document["rounds"], key=round_order))

    def get(self, round_id: str) -> Round:
        """Returns the round's declaration, or a default one for an undeclared round."""
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

    def expected_on(self, round_id: str) -> date | None:
        """Returns the day on which a round was or will be published.

        Where the round has no date of publication, half a year for each declared round since the
        newest one before it that has one; None where no earlier round has one.
        """
        published_on = self.get(round_id).published_on
        if published_on is not None:
            return published_on
        order = round_order(round_id)
        waiting = 1
        for earlier in reversed([name for name in self.declared if round_order(name) < order]):
            published_on = self.get(earlier).published_on
            if published_on is not None:
                return _add_months(published_on, waiting * _MONTHS_BETWEEN_ROUNDS)
            waiting += 1
        return None

    def next_round_expected_on(self) -> date:
        """Returns when the first round after the newest published one is expected."""
        dates = [self.get(name).published_on for name in self.declared]
        newest = max(day for day in dates if day is not None)
        return _add_months(newest, _MONTHS_BETWEEN_ROUNDS)

    def _alias(self, round_id: str, folder: str) -> dict[str, str]:
        order = round_order(round_id)
        for alias in self.document["folder_aliases"]:
            last = round_order(alias["last"]) if "last" in alias else order
            if alias["folder"] == folder and round_order(alias["first"]) <= order <= last:
                return dict(alias)
        return {}

    def canonical_benchmark(self, round_id: str, folder: str) -> str:
        """Returns the benchmark that a folder means in a round (``ssd`` in v2.0: retinanet)."""
        return self._alias(round_id, folder).get("benchmark", folder)

    def round_folder(self, round_id: str, folder: str) -> str:
        """Returns what other submitters of the round call a folder (v0.6 ``mask``: maskrcnn)."""
        return self._alias(round_id, folder).get("stands_for", folder)

    def title(self, benchmark: str) -> str:
        """Returns what pages call a benchmark: ``ResNet-50 (image classification)``.

        A benchmark without a title keeps its own name.
        """
        return str(self.document["benchmarks"].get(benchmark, {}).get("title", benchmark))

    def rule(self, round_id: str, folder: str) -> BenchmarkRule:
        """Returns the scoring rule of a benchmark folder in a round; an unknown one has none."""
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
            take_first_converged=values.get("take_first_converged", False),
            is_timed_by_elapsed=values.get("is_timed_by_elapsed", False),
        )

    def select(self, text: str, available: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """Returns the rounds of a selection, oldest first.

        Args:
            text: names (``v2.0,v3.0``), a range (``v1.0..v5.0``) or ``all``. A round that is named
                is selected even if it is not available, so that undeclared ones can be read.
            available: the rounds that a range or ``all`` selects from; by default the declared.

        Raises:
            UnknownRound: a malformed name, or nothing is selected.
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


def _add_months(day: date, months: int) -> date:
    """The same day of a later month, or that month's last day where it has no such day."""
    year, month = divmod(day.month - 1 + months, 12)
    year, month = day.year + year, month + 1
    return date(year, month, min(day.day, monthrange(year, month)[1]))


@cache
def declared_rounds() -> Rounds:
    """Returns the rounds declared in the package's ``warehouse/rounds.yml``."""
    text = files("warehouse").joinpath("rounds.yml").read_text(encoding="utf-8")
    return Rounds(yaml.safe_load(text))
