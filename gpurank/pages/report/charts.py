"""Charts as inline SVG, complete without scripts, in print and in mail.

This module computes coordinates; templates/chart.svg draws. Colours are CSS classes (light, dark
and print are the style sheet's), and every colour has a shape too. Scripts only hide points and
move the line of equal cost. Coordinates are rounded to 0.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from gpurank.pages import numbers
from gpurank.pages.html import render

WIDTH, HEIGHT = 760, 470
LEFT, RIGHT, TOP, BOTTOM = 108, 742, 16, 408
# Cluster shapes around the origin, of about equal area, so that no cluster looks louder; 0 is the
# shape of results without a cluster.
SHAPES = {
    0: "M-5-5l10 10M5-5l-10 10",
    1: "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z",
    2: "M-4.5-4.5h9v9h-9z",
    3: "M0-6.2L5.8 4.4H-5.8z",
    4: "M0-6.4L6.4 0L0 6.4L-6.4 0z",
    5: "M-1.9-6h3.8v4.1H6v3.8H1.9V6h-3.8V1.9H-6v-3.8h4.1z",
    6: "M0 6.2L5.8-4.4H-5.8z",
    7: "M-4.2-6h8.4L0 0l4.2 6h-8.4L0 0z",
    8: "M0-6L5.7-1.9L3.5 4.9H-3.5L-5.7-1.9z",
}
# Efficiency above which one result would squash the chart; higher results are counted in words.
_HIGHEST_EFFICIENCY = 2.0
_CURVE_STEPS = 80


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale from values to pixels; ``low`` and ``high`` in data units."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = True

    def at(self, value: float) -> float:
        """Returns the pixel of a value, rounded to 0.1."""
        scale = math.log if self.is_log else float
        span = scale(self.high) - scale(self.low)
        share = (scale(value) - scale(self.low)) / span
        return round(self.start + share * (self.end - self.start), 1)


@dataclass(frozen=True, slots=True)
class Point:
    """One result: data coordinates, its index in the list, its cluster, whether it has a ring."""

    x: float
    y: float
    index: int
    cluster: int | None
    has_ring: bool = False


@dataclass(frozen=True, slots=True)
class BreakEven:
    """The count at which efficiency falls to a level, with the interval of the count."""

    efficiency: float
    count: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class _Tick:
    at: float
    label: str
    is_minor: bool


@dataclass(frozen=True, slots=True)
class _Mark:
    x: float
    y: float
    index: int
    shape: int
    has_ring: bool


def log_axis(values: Sequence[float], start: float, end: float) -> Axis:
    """Returns an axis with some room on both sides, a factor of two around a single value."""
    low, high = min(values), max(values)
    room = 1.25 if high > low * 1.5 else 2.0
    return Axis(low / room, high * room, start, end)


def ticks(axis: Axis) -> list[float]:
    """Returns tick values of a log axis: powers of ten, with 2 and 5 where there are few."""
    powers = range(math.floor(math.log10(axis.low)), math.ceil(math.log10(axis.high)) + 1)
    steps: tuple[int, ...] = (1, 2, 5) if axis.high / axis.low < 3000 else (1,)
    values = [step * 10.0**power for power in powers for step in steps]
    return [value for value in values if axis.low <= value <= axis.high]


def shape_of(cluster: int | None) -> int:
    """Returns the key in SHAPES of a cluster's mark; more than eight clusters share shapes."""
    return 0 if cluster is None else (cluster - 1) % (len(SHAPES) - 1) + 1


def plane(
    points: Sequence[Point], front: Sequence[tuple[float, float]], title: str, about: str
) -> Markup:
    """Returns time against accelerators, log-log, with the Pareto front as steps.

    Points carry ``data-i`` (their index in the list). The script fills ``.iso``, the line of equal
    delay cost, and reads the axes' limits from the data attributes of the svg element.

    Args:
        points: (accelerators, minutes) of each result.
        front: Pareto front by rising number of accelerators.
        title: the chart's title.
        about: the chart in words.
    """
    x = log_axis([point.x for point in points], LEFT, RIGHT)
    y = log_axis([point.y for point in points], BOTTOM, TOP)
    lines = [("iso", "")]
    if front:
        lines.append(("front", _steps(front, x, y)))
    return _chart(
        "plane",
        title,
        about,
        x_ticks=_log_ticks(x),
        y_ticks=_log_ticks(y),
        x_title="accelerators",
        y_title="minutes to train",
        marks=[_mark(point, x, y) for point in points],
        lines_below=lines,
        limits={"x0": x.low, "x1": x.high, "y0": y.low, "y1": y.high},
    )


def efficiency(
    curve: Callable[[float], float],
    points: Sequence[Point],
    break_evens: Sequence[BreakEven],
    title: str,
    about: str,
) -> Markup:
    """Returns efficiency against 8 accelerators: the law's curve, the results, break-even counts.

    Args:
        curve: efficiency at a number of accelerators.
        points: (accelerators, efficiency) of each result.
        break_evens: drawn where their count lies inside the chart; the whisker is its interval.
        title: the chart's title.
        about: the chart in words.
    """
    x = log_axis([*(point.x for point in points), 8.0, 512.0], LEFT, RIGHT)
    top = max([1.25, *(min(point.y * 1.05, _HIGHEST_EFFICIENCY) for point in points)])
    y = Axis(0.0, top, BOTTOM, TOP, is_log=False)
    above = sum(point.y > top for point in points)
    counts = np.geomspace(max(x.low, 1.0), x.high, _CURVE_STEPS + 1).tolist()
    path = "M" + "L".join(f"{x.at(count)} {y.at(min(curve(count), top))}" for count in counts)
    return _chart(
        "efficiency",
        title,
        about,
        x_ticks=_log_ticks(x),
        y_ticks=[
            _Tick(y.at(level), numbers.percent(level), False) for level in (0, 0.25, 0.5, 0.75, 1)
        ],
        x_title="accelerators",
        y_title="efficiency against 8",
        marks=[_mark(point, x, y) for point in points if point.y <= top],
        note=f"{numbers.plural(above, 'result')} above {numbers.percent(top)}" if above else "",
        lines_above=[("law", path)],
        break_evens=[
            {
                "x": x.at(mark.count),
                "y": y.at(mark.efficiency),
                "label": f"{numbers.percent(mark.efficiency)} at {numbers.count(mark.count)}",
                "whisker": _whisker(mark, x),
            }
            for mark in break_evens
            if x.low < mark.count < x.high
        ],
    )


def _chart(name: str, title: str, about: str, **parts: object) -> Markup:
    empty = {"limits": {}, "lines_below": (), "lines_above": (), "break_evens": (), "note": ""}
    box = {"width": WIDTH, "height": HEIGHT, "left": LEFT, "right": RIGHT, "top": TOP}
    return render(
        "chart.svg", name=name, title=title, about=about, bottom=BOTTOM, **box, **(empty | parts)
    )


def _mark(point: Point, x: Axis, y: Axis) -> _Mark:
    shape = shape_of(point.cluster)
    return _Mark(x.at(point.x), y.at(point.y), point.index, shape, point.has_ring)


def _whisker(mark: BreakEven, x: Axis) -> tuple[float, float] | None:
    if mark.low is None or mark.high is None:
        return None
    return x.at(max(mark.low, x.low)), x.at(min(mark.high, x.high))


def _steps(front: Sequence[tuple[float, float]], x: Axis, y: Axis) -> str:
    (count, time), *others = front
    path = f"M{x.at(count)} {y.end}V{y.at(time)}"
    for count, time in others:
        path += f"H{x.at(count)}V{y.at(time)}"
    return path + f"H{x.end}"


def _log_ticks(axis: Axis) -> list[_Tick]:
    return [
        _Tick(axis.at(value), numbers.tick(value), not _is_power_of_ten(value))
        for value in ticks(axis)
    ]


def _is_power_of_ten(value: float) -> bool:
    return abs(math.log10(value) - round(math.log10(value))) < 1e-9
