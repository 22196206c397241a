"""Settings of a run: one frozen value, made of arguments and environment, then passed in."""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from gpurank.errors import Exit, GpurankError

# The rental, in chips, that a minute of waiting is worth unless the user says otherwise.
DEFAULT_LAMBDA = 8.0
# With fewer resamples, the tails of a 90 % interval (a twentieth each) would hold none.
FEWEST_BOOTSTRAPS = 20


class SettingsError(GpurankError, ValueError):
    """An argument or environment variable has a value that cannot be used."""

    exit_code = Exit.USAGE


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that a run needs to know besides its input.

    Attributes:
        home: the data folder.
        source: where rounds come from: a mirror folder, a Git URL or path, or a template with
            ``{round}``; None: the shipped facts or the public repositories.
        workers: number of processes that read rounds, and that analyse benchmarks.
        lambda_chips: what a minute of waiting is worth, in rented chips.
        bootstraps: number of resamples that show how stable a finding is; None: the method's own
            numbers; 0: none, and what depends on them is null.
        cluster_count: number of clusters in which results are grouped.
        seed: fixes every random draw.
        accept_shrink: publish even though a table lost more rows than its contract allows.
        accept_missing: take a Git directory that lacks some files; they are listed as withheld.
        run_id: names this run in logs and manifests.
        as_of: build a warehouse of the versions that were valid at this time, into ``output``.
        output: another warehouse file to build than the published one.
        remote: address of the object store that ``home`` is the local copy of
            (gpurank.store.remote).
    """

    home: Path
    source: str | None = None
    workers: int = 1
    lambda_chips: float = DEFAULT_LAMBDA
    bootstraps: int | None = None
    cluster_count: int = 5
    seed: int = 20240612
    accept_shrink: bool = False
    accept_missing: bool = False
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
        """The published DuckDB file, or the other one that ``output`` names."""
        return self.output or self.home / "warehouse.duckdb"

    @property
    def reports_dir(self) -> Path:
        """Folder of validation pages."""
        return self.home / "reports"

    @property
    def cache_dir(self) -> Path:
        """Folder of what can be fetched again: partial clones."""
        return self.home / "cache"

    @property
    def lock_path(self) -> Path:
        """Lock file: one run at a time writes to the data folder."""
        return self.home / "gpurank.lock"

    @property
    def as_of_dir(self) -> Path:
        """Folder of warehouses as of past dates; they can be built again."""
        return self.home / "as-of"

    @property
    def watch_path(self) -> Path:
        """Record of the last watch."""
        return self.home / "watch.json"

    @property
    def rounds_lock_path(self) -> Path:
        """Machine-written list of the source of each ingested round."""
        return self.home / "rounds.lock.yml"


def default_workers() -> int:
    """Returns the number of cores that this process may use."""
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
    run_id: str | None = None,
    accept_missing: bool = False,
) -> Settings:
    """Returns settings from arguments, else the environment, else defaults.

    Environment: ``GPURANK_HOME``, ``GPURANK_SOURCE``, ``GPURANK_WORKERS``, ``GPURANK_LAMBDA``,
    ``GPURANK_BOOTSTRAPS``, ``GPURANK_RUN_ID``; for a data folder on object storage, GPURANK_CACHE
    names the folder of local copies (default ``~/.cache/gpurank``). Without any, a run is named by
    its Prefect flow run, and outside of Prefect at random.

    Raises:
        SettingsError: a value is not a number in its range, or the home is a file.
    """
    env = os.environ if environ is None else environ
    address = str(home or env.get("GPURANK_HOME") or "data")
    remote = address.rstrip("/") if "://" in address else None
    folder = Path(_local_copy(remote, env) if remote else address).expanduser().absolute()
    if folder.exists() and not folder.is_dir():
        raise SettingsError(f"{folder} is a file; GPURANK_HOME must name a folder")
    return Settings(
        home=folder,
        source=source or env.get("GPURANK_SOURCE") or None,
        workers=_positive_int("GPURANK_WORKERS", workers, env, default_workers()),
        lambda_chips=_positive_float("GPURANK_LAMBDA", lambda_chips, env, DEFAULT_LAMBDA),
        accept_shrink=accept_shrink,
        accept_missing=accept_missing,
        bootstraps=_bootstraps(bootstraps, env),
        remote=remote,
        run_id=run_id
        or env.get("GPURANK_RUN_ID")
        or env.get("PREFECT__FLOW_RUN_ID")
        or uuid.uuid4().hex[:12],
    )


def _local_copy(remote: str, env: Mapping[str, str]) -> str:
    """Returns the folder of the local copy of an object store's folder."""
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
            f"{FEWEST_BOOTSTRAPS} or more: fewer give no interval"
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
