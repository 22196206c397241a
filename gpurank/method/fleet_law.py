"""The fleet law's efficiency at N accelerators: 1 at 8, half lost near Nc, falling as N^-g.

docs/method.md, section 4.
"""

from __future__ import annotations

from typing import TypeVar

from gpurank.method.arrays import Floats

BASE_COUNT = 8
Number = TypeVar("Number", float, Floats)


def efficiency(count: float, half_count: Number, exponent: Number) -> Number:
    """Returns e(N) = (1 + (8 / Nc)^g) / (1 + (N / Nc)^g), elementwise.

    Args:
        count: N.
        half_count: Nc, in accelerators.
        exponent: g.
    """
    base: Number = 1 + (BASE_COUNT / half_count) ** exponent
    result: Number = base / (1 + (count / half_count) ** exponent)
    return result


def break_even(level: float, half_count: Number, exponent: Number) -> Number:
    """Returns the N at which e(N) has fallen to ``level``, elementwise."""
    base: Number = 1 + (BASE_COUNT / half_count) ** exponent
    result: Number = half_count * (base / level - 1) ** (1 / exponent)
    return result
