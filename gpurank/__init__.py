"""Select, cluster and rank accelerator configurations for deep-learning training.

``connect`` opens the warehouse, ``table``, ``rounds``, ``rank``, ``clusters`` and ``why`` answer
the common questions, ``choose`` the cheapest configuration inside limits, ``predict`` the time of
a system that nobody filed, ``mine`` holds one's own runs against the published ones,
``compare`` and ``check_comparable`` refuse what may not be compared,
``Settings`` and ``load`` say where the data are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# The module of the declared rounds bears the name of a public function. Once it is loaded the
# import system leaves the package's attribute alone, so that the function below can have it.
import gpurank.rounds as _declared_rounds  # noqa: F401

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from gpurank.api import check_comparable, clusters, compare, connect, predict, rank, table, why
    from gpurank.choosing import choose
    from gpurank.comparison import NotComparable
    from gpurank.placing import mine
    from gpurank.reading import NoData
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
    "load",
    "mine",
    "predict",
    "rank",
    "rounds",
    "table",
    "why",
]

_HOMES = {
    "NoData": "gpurank.reading",
    "NotComparable": "gpurank.comparison",
    "choose": "gpurank.choosing",
    "Settings": "gpurank.settings",
    "load": "gpurank.settings",
    "mine": "gpurank.placing",
}


def rounds(home: str | Path | None = None) -> pl.DataFrame:
    """What is in the warehouse, one row a round; see gpurank.api.rounds."""
    from gpurank import api

    return api.rounds(home)


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
