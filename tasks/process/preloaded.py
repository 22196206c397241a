"""What the process that makes others imports once, before it forks them (tasks.process.fanout).

Polars is not among it: importing it starts threads, which a fork leaves behind.
"""

from __future__ import annotations

from importlib import import_module

from tasks.process.forever import forever

_LIBRARIES = (
    "scipy.stats", "scipy.optimize", "scipy.cluster.hierarchy", "sklearn.cluster",
    "sklearn.metrics", "sklearn.tree", "gpurank.declared.contracts", "tasks.process.fanout",
)  # fmt: skip

with forever():
    for _name in _LIBRARIES:
        import_module(_name)
