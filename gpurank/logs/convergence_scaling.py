"""scaling.json: the factor by which a result is scaled back."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

from gpurank.logs.evaluations import quantity, single_valued

#: A factor and what is wrong with it: level, kind, message of an issue.
Scaling: TypeAlias = tuple[float | None, tuple[str, str, str] | None]

_SMALLEST, _LARGEST = 1.0, 2.0
_USUAL = 1.25


def read_scaling(data: bytes) -> Scaling:
    """(factor, problem) of a scaling.json; a problem is (level, kind, message).

    The factor is None where it cannot be read or cannot be: the rules only ever scale back, by
    less than a fifth so far. Then the result has no score.
    """
    try:
        document: Any = json.loads(data.decode("utf-8-sig"), object_pairs_hook=single_valued)
    except (ValueError, RecursionError):
        document = None
    value = document.get("scaling_factor") if isinstance(document, dict) else None
    factor = quantity(value)
    if factor is None or factor <= 0:
        message = "no usable scaling_factor stands in it, so the result has no score"
        return None, ("error", "scaling_unreadable", message)
    if not _SMALLEST <= factor <= _LARGEST:
        message = (
            f"scaling_factor {factor:g} is outside {_SMALLEST:g} to {_LARGEST:g}, "
            "so the result has no score"
        )
        return None, ("error", "scaling_implausible", message)
    if factor > _USUAL:
        message = f"scaling_factor {factor:g} is larger than any known (1.19); taken as filed"
        return factor, ("warning", "scaling_unusual", message)
    return factor, None
