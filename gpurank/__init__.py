"""Select, cluster and rank accelerator configurations for deep-learning training.

``connect`` opens the warehouse, ``table``, ``rounds``, ``rank``, ``clusters`` and ``why`` answer
the common questions, ``choose`` the cheapest configuration inside limits, ``predict`` the time of
a system that nobody filed, ``mine`` holds one's own runs against the published ones,
``compare`` and ``check_comparable`` refuse what may not be compared, ``footnotes`` gives what has
to stand below a table that is shown, ``Settings`` and ``load`` say where the data are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpurank.answers.choose import choose
    from gpurank.answers.comparison import NotComparable
    from gpurank.answers.placing import mine
    from gpurank.answers.warehouse import NoData
    from gpurank.api import (
        check_comparable,
        clusters,
        compare,
        connect,
        footnotes,
        predict,
        rank,
        rounds,
        table,
        why,
    )
    from gpurank.settings import Settings, load

__all__ = [
    "NoData",
    "NotComparable",
    "Settings",
    "check_comparable",
    "choose",
    "clusters",
    "compare",
    "connect",
    "footnotes",
    "load",
    "mine",
    "predict",
    "rank",
    "rounds",
    "table",
    "why",
]

_HOMES = {
    "NoData": "gpurank.answers.warehouse",
    "NotComparable": "gpurank.answers.comparison",
    "choose": "gpurank.answers.choose",
    "Settings": "gpurank.settings",
    "load": "gpurank.settings",
    "mine": "gpurank.answers.placing",
}


# Hidden from type checkers, to whom it would make every misspelt name a good one.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import a public name when it is first used: frames cost time that few calls need."""
        if name in __all__:
            from importlib import import_module

            return getattr(import_module(_HOMES.get(name, "gpurank.api")), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
