"""Checks that a source is what it was given as: this suite and this round.

Suites number their rounds alike: ``hpc_results_v0.7`` is not ``training_results_v0.7``. A source
says what it is by its name, by the remote that it was cloned from, by the title of its README and
by the benchmarks in it. Each of these is compared with the round that was asked for where it is
there; a copy without any of them is accepted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from gpurank.declared.rounds import declared_rounds
from tasks.sources.base import SourceError

SUITE = "training"

_REPOSITORY = re.compile(r"(?P<suite>[a-z]+)_results_(?P<round>v\d+\.\d+)(?!\d)", re.IGNORECASE)
_TITLE = re.compile(
    r"MLPerf\W{0,3}\s*(?P<suite>HPC|Inference|Training|Tiny|Mobile|Storage|Client|Automotive)\b"
    r"[^\n]{0,20}?\b(?P<round>v\d+\.\d+)(?!\d)",
    re.IGNORECASE,
)
_TITLE_LINES = 5
#: A README's title is within these first bytes.
README_LIMIT_B = 4096
# Benchmarks of the HPC suite, from its rules (mlcommons/training_policies, hpc_training_rules).
_HPC_BENCHMARKS = frozenset(
    {"cosmoflow", "deepcam", "opencatalyst", "open_catalyst", "oc20", "openfold"}
)
# A single benchmark that the round does not list may be a submitter's own; several are a sign.
_FEWEST_FOREIGN = 2


def check_name(round_id: str, name: str, where: str, what: str = "name") -> None:
    """Raises an error if a name or an address belongs to another suite or another round.

    ``what`` says in the message what kind of name it is.

    Raises:
        SourceError: it belongs to another one.
    """
    matches = list(_REPOSITORY.finditer(name))
    if matches:
        _compare(round_id, matches[-1], where, f"{what} {name!r}")


def check_contents(round_id: str, paths: Iterable[str], readme: bytes | None, where: str) -> None:
    """Raises an error if the README's title or the benchmarks belong to another suite or round.

    ``readme`` is the README at the top of the source, None if there is none.

    Raises:
        SourceError: they do; the message says what they are.
    """
    if readme is not None:
        _check_title(round_id, readme, where)
    _check_benchmarks(round_id, _benchmark_folders(paths), where)


def is_repository_name(name: str) -> bool:
    """Returns whether a name is that of a results repository, whatever its suite and round."""
    return _REPOSITORY.match(name) is not None


def is_readme(path: str) -> bool:
    """Returns whether a path below the top of a source is that of its README."""
    return path.lower() in ("readme.md", "readme", "readme.txt", "readme.rst")


def _check_title(round_id: str, readme: bytes, where: str) -> None:
    lines = [
        line.strip() for line in readme[:README_LIMIT_B].decode("utf-8", "replace").splitlines()
    ]
    for line in list(filter(None, lines))[:_TITLE_LINES]:
        match = _TITLE.search(line) or _REPOSITORY.search(line)
        if match:
            _compare(round_id, match, where, f"README {line[:80]!r}")
            return


def _compare(round_id: str, match: re.Match[str], where: str, sign: str) -> None:
    found = f"{match['suite'].lower()}_results_{match['round'].lower()}"
    asked = f"{SUITE}_results_{round_id}"
    if found != asked:
        raise SourceError(
            f"{where} is {found} by its {sign}, not {asked}; give the source of {asked}, or write "
            "{round} where the round stands in its name"
        )


def _benchmark_folders(paths: Iterable[str]) -> frozenset[str]:
    """Returns the names of the folders at ``results/<system>/<benchmark>/``."""
    names = set()
    for path in paths:
        folders = PurePosixPath(path).parts[:-1]
        if "results" in folders:
            below = folders[folders.index("results") + 1 :]
            if len(below) > 1:
                names.add(below[1])
    return frozenset(names)


def _check_benchmarks(round_id: str, folders: frozenset[str], where: str) -> None:
    declared = declared_rounds()
    names = {declared.canonical_benchmark(round_id, folder) for folder in folders}
    known = {name for name in names if declared.rule(round_id, name).basis != "unknown"}
    hpc = sorted(name for name in names if name.lower() in _HPC_BENCHMARKS)
    if hpc and not known:
        raise SourceError(
            f"{where} holds benchmarks of the HPC suite ({', '.join(hpc)}) and none of "
            f"{SUITE}_results_{round_id}; give the source of {SUITE}_results_{round_id}"
        )
    if not declared.get(round_id).is_declared:
        return
    foreign = known - set(declared.get(round_id).benchmarks)
    others = [name for name in declared.declared if known <= set(declared.get(name).benchmarks)]
    if len(foreign) >= _FEWEST_FOREIGN and others:
        raise SourceError(
            f"{where} holds {', '.join(sorted(foreign))}, which {SUITE}_results_{round_id} does "
            f"not have; its benchmarks are those of {', '.join(others)}: give the source of "
            f"{SUITE}_results_{round_id}"
        )
