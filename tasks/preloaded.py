"""What the process that makes others imports once, before it forks them (tasks.fanout).

Polars is not among it: importing it starts threads, which a fork leaves behind.
"""

from __future__ import annotations

import gc
from importlib import import_module

_LIBRARIES = (
    "scipy.stats", "scipy.optimize", "scipy.cluster.hierarchy", "sklearn.cluster",
    "sklearn.metrics", "sklearn.tree", "gpurank.declared.contracts", "tasks.fanout",
)  # fmt: skip

# All of it stays. Looking for garbage in it takes a tenth of the imports, and later, in a child,
# would make copies of pages that are shared.
gc.disable()
for _name in _LIBRARIES:
    import_module(_name)
gc.freeze()
gc.enable()
