"""Settings: one frozen value, built once from arguments and environment, then passed in."""

from __future__ import annotations
from gpurank.errors import Exit, GpurankError

import hashlib
import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

# The rental, in chips, that a minute of waiting is worth unless the user says otherwise.
DEFAULT_LAMBDA = 8.0
# The ends of a 90 % interval are a twentieth of the resamples each.
FEWEST_BOOTSTRAPS = 20


class SettingsError(GpurankError, ValueError):
    """An argument or environment variable has a value that cannot be used."""

    exit_code = Exit.USAGE


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a run needs to know besides its input.

    ``home`` is the data folder, ``source`` where rounds come from (a mirror folder, a Git URL or
    path, or a template with ``{round}``; None: shipped facts or the public repositories).
    ``lambda_chips`` is the rental, in chips, that a minute of waiting is worth. ``workers`` is
    the number of processes that read rounds, and that analyse benchmarks. ``bootstraps`` is how
    many resamples tell how stable a finding is (None: the method's own numbers; 0: none, what
    depends on them is null). ``seed`` fixes every random draw.
    ``accept_shrink`` publishes even though a table lost more rows than its contract allows.
    ``run_id`` names this run in logs and manifests. ``as_of`` builds a warehouse of the versions
    that were valid then, into ``output``. ``remote`` is the object store's address that ``home`` is
    the local copy of (gpurank.store.remote).
    """

    home: Path
    source: str | None = None
    workers: int = 1
    lambda_chips: float = DEFAULT_LAMBDA
    bootstraps: int | None = None
    cluster_count: int = 5
    seed: int = 20240612
    accept_shrink: bool = False
    run_id: str = field(default="", compare=False)
    as_of: datetime | None = None
    output: Path | None = None
    remote: str | None = None

    @property
    def place(self) -> str:
        """What GPURANK_HOME names: the folder, or the object store's address."""
        return self.remote or str(self.home)

    @property
    def raw_dir(self) -> Path:
        """Folder of the immutable raw versions."""
        return self.home / "raw"

    @property
    def warehouse_path(self) -> Path:
        """The published DuckDB file, or the one beside it that is asked for."""
        return self.output or self.home / "warehouse.duckdb"

    @property
    def reports_dir(self) -> Path:
        """Folder of validation pages."""
        return self.home / "reports"

    @property
    def cache_dir(self) -> Path:
        """Folder of what can be fetched again (partial clones)."""
        return self.home / "cache"

    @property
    def lock_path(self) -> Path:
        """File that one writing run holds."""
        return self.home / "gpurank.lock"

    @property
    def as_of_dir(self) -> Path:
        """Folder of warehouses of the past; can be made again."""
        return self.home / "as-of"

    @property
    def watch_path(self) -> Path:
        """Record of the last watch."""
        return self.home / "watch.json"

    @property
    def rounds_lock_path(self) -> Path:
        """Machine-written list of what each ingested round was taken from."""
        return self.home / "rounds.lock.yml"


def default_workers() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def load(
    home: str | Path | None = None,
    source: str | None = None,
    workers: int | None = None,
    lambda_chips: float | None = None,
    accept_shrink: bool = False,
    bootstraps: int | None = None,
    environ: Mapping[str, str] | None = None,
) -> Settings:
    """Settings from arguments, else environment, else defaults.

    Environment: ``GPURANK_HOME``, ``GPURANK_SOURCE``, ``GPURANK_WORKERS``, ``GPURANK_LAMBDA``,
    ``GPURANK_BOOTSTRAPS``, ``GPURANK_RUN_ID``; for a data folder on object storage, GPURANK_CACHE
    names the folder of local copies (default ``~/.cache/gpurank``).

    Raises:
        SettingsError: a value is no number of its range, or the home is a file.
    """
    env = os.environ if environ is None else environ
    named = str(home or env.get("GPURANK_HOME") or "data")
    remote = named.rstrip("/") if "://" in named else None
    folder = Path(_copy_of(remote, env) if remote else named).expanduser().absolute()
    if folder.exists() and not folder.is_dir():
        raise SettingsError(f"{folder} is a file; GPURANK_HOME must name a folder")
    return Settings(
        home=folder,
        source=source or env.get("GPURANK_SOURCE") or None,
        workers=_positive_int("GPURANK_WORKERS", workers, env, default_workers()),
        lambda_chips=_positive_float("GPURANK_LAMBDA", lambda_chips, env, DEFAULT_LAMBDA),
        accept_shrink=accept_shrink,
        bootstraps=_bootstraps(bootstraps, env),
        remote=remote,
        run_id=env.get("GPURANK_RUN_ID")
        or env.get("PREFECT__FLOW_RUN_ID")
        or uuid.uuid4().hex[:12],
    )


def _copy_of(remote: str, env: Mapping[str, str]) -> str:
    """Folder of the local copy of an object store's folder."""
    name = hashlib.sha256(remote.encode()).hexdigest()[:12]
    return f"{env.get('GPURANK_CACHE') or '~/.cache/gpurank'}/{name}"


def _positive_int(name: str, given: int | None, env: Mapping[str, str], default: int) -> int:
    value: int | str = given if given is not None else env.get(name) or default
    try:
        number = int(value)
    except ValueError:
        number = 0
    if number < 1:
        raise SettingsError(f"{name}={value!r} is not a whole number of 1 or more")
    return number


def _bootstraps(given: int | None, env: Mapping[str, str]) -> int | None:
    value: int | str | None = given if given is not None else env.get("GPURANK_BOOTSTRAPS") or None
    if value is None:
        return None
    try:
        number = int(value)
    except ValueError:
        number = -1
    if number != 0 and number < FEWEST_BOOTSTRAPS:
        raise SettingsError(
            f"GPURANK_BOOTSTRAPS={value!r} is neither 0 nor a whole number of "
            f"{FEWEST_BOOTSTRAPS} or more: fewer make no interval"
        )
    return number


def _positive_float(
    name: str, given: float | None, env: Mapping[str, str], default: float
) -> float:
    value: float | str = given if given is not None else env.get(name) or default
    try:
        number = float(value)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise SettingsError(f"{name}={value!r} is not a number above 0")
    return number
