"""Where rounds are read side by side: threads here, or the workers of a Dask or Ray cluster.

Chosen by configuration alone: ``GPURANK_RUNNER`` is ``threads`` (default), ``dask`` or ``ray``
(a cluster of this machine), or either with the address of a running one
(``dask:tcp://head:8786``, ``ray:head:6379``). Workers need the same GPURANK_HOME, on a file
system that they share, and the same code.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from prefect.task_runners import ThreadPoolTaskRunner

from gpurank.settings import SettingsError, default_workers

VARIABLE = "GPURANK_RUNNER"
_STORE_B = 128 * 1024**2
_CLASSES = {"dask": ("prefect_dask", "DaskTaskRunner"), "ray": ("prefect_ray", "RayTaskRunner")}


def task_runner(workers: int | None = None) -> Any:
    """The configured task runner; ``workers`` rounds at once (default: the cores).

    Raises:
        SettingsError: an unknown kind, or one whose packages are not installed.
    """
    kind, _, address = os.environ.get(VARIABLE, "threads").partition(":")
    count = workers or default_workers()
    if kind == "threads" and not address:
        return ThreadPoolTaskRunner(max_workers=count)
    if kind not in _CLASSES:
        raise SettingsError(f"{VARIABLE}={kind!r} is none of threads, {', '.join(_CLASSES)}")
    module, name = _CLASSES[kind]
    try:
        runner = getattr(import_module(module), name)
    except ImportError as error:
        raise SettingsError(
            f"{VARIABLE}={kind} needs packages that are not installed ({error}); "
            f"pip install 'gpurank[{kind}]'"
        ) from None
    if address:
        return runner(address=address)
    if kind == "ray":
        # Tasks return a few lines: no page beside ours, and a store that does not take the memory.
        local = {"num_cpus": count, "include_dashboard": False, "object_store_memory": _STORE_B}
        return runner(init_kwargs=local)
    return runner(cluster_kwargs={"n_workers": count, "threads_per_worker": 1})
