"""scaling.json: the factor by which a result that converged too fast is scaled back."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

from gpurank.logs.evaluations import quantity, single_valued

#: A factor, and what is wrong with it: level, kind and message of an issue.
Scaling: TypeAlias = tuple[float | None, tuple[str, str, str] | None]

#: The rules only ever scale a result back (factor ≥ 1); twice as long is a misread file.
SMALLEST_FACTOR = 1.0
LARGEST_FACTOR = 2.0
# The largest factor of the published rounds is 1.189.
_USUAL_FACTOR = 1.25


def read_scaling(data: bytes) -> Scaling:
    """Returns (factor, problem) of a scaling.json; a problem is (level, kind, message).

    The factor is None where it cannot be read or cannot be right; then the result has no score.
    """
    try:
        document: Any = json.loads(data.decode("utf-8-sig"), object_pairs_hook=single_valued)
    except (ValueError, RecursionError):
        document = None
    value = document.get("scaling_factor") if isinstance(document, dict) else None
    factor = quantity(value)
    if factor is None or factor <= 0:
        message = "the file holds no usable scaling_factor, so the result has no score"
        return None, ("error", "scaling_unreadable", message)
    if not SMALLEST_FACTOR <= factor <= LARGEST_FACTOR:
        message = (
            f"scaling_factor {factor:g} is outside {SMALLEST_FACTOR:g} to {LARGEST_FACTOR:g}, "
            "so the result has no score"
        )
        return None, ("error", "scaling_implausible", message)
    if factor > _USUAL_FACTOR:
        message = (
            f"scaling_factor {factor:g} is larger than any published one (1.19); taken as filed"
        )
        return factor, ("warning", "scaling_unusual", message)
    return factor, None
