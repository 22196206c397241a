"""Charts: what is drawn stands where its numbers say."""

from __future__ import annotations

import math
import re

import pytest

from gpurank.pages.report.charts import BreakEven, Point, efficiency, log_axis, plane, ticks


def curve(count: float) -> float:
    """1 at 8, falling by a fixed part with each doubling."""
    return 1.0 - 0.5 * math.log(count / 8) / math.log(64)


def points(*pairs: tuple[float, float]) -> list[Point]:
    return [Point(x, y, index, 1) for index, (x, y) in enumerate(pairs)]


def test_ticks_stand_inside_the_axis() -> None:
    few = ticks(log_axis([8, 512], 0, 100))
    assert few == pytest.approx([10, 20, 50, 100, 200, 500])
    many = ticks(log_axis([1, 10_000], 0, 100))
    assert many == pytest.approx([1, 10, 100, 1000, 10_000])


def test_a_plane_without_a_front_has_none() -> None:
    some = points((8, 30), (64, 5))
    assert 'class="front"' not in plane(some, [], "t", "a")
    assert 'class="front"' in plane(some, [(8.0, 30.0), (64.0, 5.0)], "t", "a")


def test_marks_of_the_law_stand_on_its_curve() -> None:
    marks = [
        BreakEven(0.8, 96.0, 60.0, 200.0),
        BreakEven(0.5, 512.0, None, None),
        BreakEven(0.1, 10.0**7, 1.0, 2.0),
    ]
    drawn = efficiency(curve, points((64, 0.9), (256, 0.4)), marks, "title", "about")
    assert drawn.count('class="even"') == 2  # The third lies beyond the axis.
    assert drawn.count('class="whisker"') == 1
    assert "80\u00a0% at 96" in drawn and "50\u00a0% at 512" in drawn
    cx = [float(x) for x in re.findall(r'class="even" r="5.5" cx="([\d.]+)"', drawn)]
    start, end = map(float, re.findall(r'class="whisker" d="M([\d.]+) [\d.]+H([\d.]+)"', drawn)[0])
    assert start < cx[0] < end and cx[0] < cx[1]


@pytest.mark.parametrize(("above", "said"), [(1, "1 result above"), (3, "3 results above")])
def test_what_lies_above_the_chart_is_counted(above: int, said: str) -> None:
    drawn = efficiency(curve, points(*[(64, 50.0 + n) for n in range(above)]), [], "t", "a")
    assert said in drawn
