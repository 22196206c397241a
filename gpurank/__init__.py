"""Select, cluster and rank accelerator configurations for deep-learning training.

The Python interface has the names of the commands: ``top``, ``clusters``, ``why``, ``query``,
``choose``, ``compare``, ``mine`` and ``rounds``. In addition, ``connect`` opens the warehouse,
``table`` reads one table, ``predict`` estimates the time of a system that has no result,
``check_comparable`` says whether two rounds may be compared, ``footnotes`` returns the text
to print below published results, ``load`` and ``Settings`` say where the data are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpurank.api import (
        NoData,
        NotComparable,
        QueryError,
        Settings,
        check_comparable,
        choose,
        clusters,
        compare,
        connect,
        footnotes,
        load,
        mine,
        predict,
        query,
        rank,
        rounds,
        table,
        top,
        why,
    )

__all__ = [
    "NoData",
    "NotComparable",
    "QueryError",
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
    "query",
    "rank",
    "rounds",
    "table",
    "top",
    "why",
]

# Hidden from type checkers, which would take every misspelt name for a good one.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import the interface, and with it polars, only when one of its names is used."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from gpurank import api

        return getattr(api, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
