"""Charts as inline SVG: drawn here, so that they stand without scripts, in print and in mail.

Colours are classes (light, dark and print are the style sheet's); every colour has a shape too.
Scripts only hide points and move the line of equal cost. Coordinates are rounded to 0.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 760, 470
LEFT, RIGHT, TOP, BOTTOM = 108, 18, 16, 62
# Drawn around the origin; area about equal, so that no cluster looks louder.
SHAPES = {
    1: "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z",
    2: "M-4.5-4.5h9v9h-9z",
    3: "M0-6.2L5.8 4.4H-5.8z",
    4: "M0-6.4L6.4 0L0 6.4L-6.4 0z",
    5: "M-1.9-6h3.8v4.1H6v3.8H1.9V6h-3.8V1.9H-6v-3.8h4.1z",
    6: "M0 6.2L5.8-4.4H-5.8z",
    7: "M-4.2-6h8.4L0 0l4.2 6h-8.4L0 0z",
    8: "M0-6L5.7-1.9L3.5 4.9H-3.5L-5.7-1.9z",
}
# Efficiency beyond which one result would squash the chart; what lies above is told in words.
_TALLEST = 2.0
NO_CLUSTER = "M-5-5l10 10M5-5l-10 10"


# A break-even mark: efficiency, count, low and high end of the count.
Mark = tuple[float, float, float | None, float | None]


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale from values to pixels; ``low`` and ``high`` in data units."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = True

    def at(self, value: float) -> float:
        """Pixel of a value."""
        go = math.log if self.is_log else float
        span = go(self.high) - go(self.low)
        return self.start + (go(value) - go(self.low)) / span * (self.end - self.start)


@dataclass(frozen=True, slots=True)
class Point:
    """One mark: data coordinates, the entry's place in the list, its cluster."""

    x: float
    y: float
    place: int
    cluster: int | None
    is_ringed: bool = False


def log_axis(values: Sequence[float], start: float, end: float) -> Axis:
    """An axis with some room on both sides; a single value gets a factor of two each way."""
    low, high = min(values), max(values)
    room = 1.25 if high > low * 1.5 else 2.0
    return Axis(low / room, high * room, start, end)


def ticks(axis: Axis) -> list[float]:
    """Tick values of a log axis: powers of ten, with 2 and 5 where there are few."""
    powers = range(math.floor(math.log10(axis.low)), math.ceil(math.log10(axis.high)) + 1)
    steps: tuple[int, ...] = (1, 2, 5) if axis.high / axis.low < 3000 else (1,)
    values = [step * 10.0**power for power in powers for step in steps]
    return [value for value in values if axis.low <= value <= axis.high]


def symbols() -> str:
    """The marks, defined once a page; ``s0`` is that of no cluster."""
    shapes = {0: NO_CLUSTER, **SHAPES}
    made = "".join(
        f'<symbol id="s{label}" viewBox="-8 -8 16 16"><path d="{path}"/></symbol>'
        f'<path id="p{label}" d="{path}"/>'
        for label, path in shapes.items()
    )
    return f'<svg width="0" height="0" class="defs" aria-hidden="true"><defs>{made}</defs></svg>'


def _shape(cluster: int | None) -> int:
    return 0 if cluster is None else (cluster - 1) % len(SHAPES) + 1


def legend_mark(cluster: int | None) -> str:
    """The mark alone, for a legend or a table cell; its meaning stands beside it as text."""
    shape = _shape(cluster)
    return f'<svg class="key k{shape}" aria-hidden="true"><use href="#s{shape}"/></svg>'


def plane(
    points: Sequence[Point], front: Sequence[tuple[float, float]], title: str, about: str
) -> str:
    """Time against accelerators, log-log, with the Pareto front as steps.

    Points carry ``data-i`` (their place in the list); the script fills ``.iso``, the line of equal
    delay cost, and finds the axes' limits in the data attributes of the svg element.
    """
    x = log_axis([point.x for point in points], LEFT, WIDTH - RIGHT)
    y = log_axis([point.y for point in points], HEIGHT - BOTTOM, TOP)
    parts = [_frame(x, y, "accelerators", "minutes to train", _plain, _plain)]
    parts.append('<path class="iso" d=""/>')
    if front:
        parts.append(f'<path class="front" d="{_steps(front, x, y)}"/>')
    parts += [_mark(point, x, y) for point in points]
    parts += [_ring(point, x, y) for point in points if point.is_ringed]
    data = (
        f' data-x0="{x.low!r}" data-x1="{x.high!r}" data-y0="{y.low!r}" data-y1="{y.high!r}"'
        f' data-box="{LEFT} {WIDTH - RIGHT} {TOP} {HEIGHT - BOTTOM}"'
    )
    return _svg("plane", title, about, parts, data)


def efficiency(
    curve: Callable[[float], float],
    points: Sequence[Point],
    marks: Sequence[Mark],
    title: str,
    about: str,
) -> str:
    """Efficiency against 8 accelerators: the law's curve, the results, the break-even marks.

    ``marks`` are (efficiency, count, low, high); the whisker is the interval of the count.
    """
    counts = [point.x for point in points] + [8.0, 512.0]
    x = log_axis(counts, LEFT, WIDTH - RIGHT)
    top = max([1.25, *(min(point.y * 1.05, _TALLEST) for point in points)])
    y = Axis(0.0, top, HEIGHT - BOTTOM, TOP, is_log=False)
    parts = [_frame(x, y, "accelerators", "efficiency against 8", _plain, _percent)]
    parts += [_mark(point, x, y) for point in points if point.y <= top]
    if above := sum(point.y > top for point in points):
        said = f"{above} result{'s' if above > 1 else ''} above {_percent(top)}"
        parts.append(f'<text class="title" x="{LEFT + 8}" y="{TOP + 16}">{said}</text>')
    first, last = math.log(max(x.low, 1.0)), math.log(x.high)
    line = [math.exp(first + (last - first) * step / 80) for step in range(81)]
    path = "M" + "L".join(f"{x.at(n):.1f} {y.at(min(curve(n), top)):.1f}" for n in line)
    parts.append(f'<path class="law" d="{path}"/>')
    for level, count, low, high in marks:
        if not x.low < count < x.high:
            continue
        if low is not None and high is not None:
            start, end = x.at(max(low, x.low)), x.at(min(high, x.high))
            parts.append(f'<path class="whisker" d="M{start:.1f} {y.at(level):.1f}H{end:.1f}"/>')
        parts.append(
            f'<circle class="even" r="5.5" cx="{x.at(count):.1f}" cy="{y.at(level):.1f}"/>'
            f'<text class="even-text" x="{x.at(count) + 8:.1f}" y="{y.at(level) - 8:.1f}">'
            f"{level * 100:.0f}\u00a0% at {count:,.0f}</text>"
        )
    return _svg("efficiency", title, about, parts)


def pareto_front(points: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Points that no other equals or beats in both coordinates, by ascending first one."""
    front: list[tuple[float, float]] = []
    for x, y in sorted(set(points)):
        if not front or y < front[-1][1]:
            front.append((x, y))
    return front


def _steps(front: Sequence[tuple[float, float]], x: Axis, y: Axis) -> str:
    first = front[0]
    path = f"M{x.at(first[0]):.1f} {y.end:.1f}V{y.at(first[1]):.1f}"
    for count, time in front[1:]:
        path += f"H{x.at(count):.1f}V{y.at(time):.1f}"
    return path + f"H{x.end:.1f}"


def _mark(point: Point, x: Axis, y: Axis) -> str:
    # What it is stands in the list; the script makes tooltips of it.
    shape = _shape(point.cluster)
    return (
        f'<g data-i="{point.place}" transform="translate({x.at(point.x):.1f} '
        f'{y.at(point.y):.1f})"><use class="k{shape}" href="#p{shape}"/></g>'
    )


def _ring(point: Point, x: Axis, y: Axis) -> str:
    return f'<circle class="ring" r="10" cx="{x.at(point.x):.1f}" cy="{y.at(point.y):.1f}"/>'


def _frame(
    x: Axis,
    y: Axis,
    x_title: str,
    y_title: str,
    x_form: Callable[[float], str],
    y_form: Callable[[float], str],
) -> str:
    parts = []
    for value in ticks(x):
        minor = "" if _is_power(value) else " minor"
        parts.append(
            f'<path class="grid{minor}" d="M{x.at(value):.1f} {TOP}V{HEIGHT - BOTTOM}"/>'
            f'<text class="tick{minor}" text-anchor="middle" x="{x.at(value):.1f}" '
            f'y="{HEIGHT - BOTTOM + 22}">{x_form(value)}</text>'
        )
    for value in ticks(y) if y.is_log else [0, 0.25, 0.5, 0.75, 1]:
        minor = "" if not y.is_log or _is_power(value) else " minor"
        parts.append(
            f'<path class="grid{minor}" d="M{LEFT} {y.at(value):.1f}H{WIDTH - RIGHT}"/>'
            f'<text class="tick{minor}" text-anchor="end" x="{LEFT - 8}" '
            f'y="{y.at(value) + 4:.1f}">{y_form(value)}</text>'
        )
    middle = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(
        f'<text class="title" text-anchor="middle" x="{(LEFT + WIDTH - RIGHT) / 2}" '
        f'y="{HEIGHT - 12}">{x_title}</text>'
        f'<text class="title" text-anchor="middle" transform="translate(18 {middle}) rotate(-90)">'
        f"{y_title}</text>"
    )
    return "".join(parts)


def _svg(name: str, title: str, about: str, parts: Sequence[str], data: str = "") -> str:
    return (
        f'<svg id="{name}" class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-labelledby="{name}-title {name}-about"{data}>'
        f'<title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-about">{escape(about)}</desc>' + "\n".join(parts) + "</svg>"
    )


def _is_power(value: float) -> bool:
    return abs(math.log10(value) - round(math.log10(value))) < 1e-9


def _plain(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def _percent(value: float) -> str:
    return f"{value * 100:.0f}\u00a0%"
