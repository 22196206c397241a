"""Classifies a round's files by their paths, and finds the result folder each belongs to.

Layouts: ``<submitter>/results/<system>/<benchmark>/result_*.txt`` with
``<submitter>/systems/<system>.json`` (v0.6 on); ``<top>/<submitter>/<package>/results/<system>/
<benchmark>/`` with ``<system>/entry.json`` (v0.5). Paths are relative to the repository and use /.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from gpurank.declared.rounds import Round

Kind = Literal[
    "result_log",
    "extra_log",
    "system_description",
    "scaling",
    "power",
    "checker_params",
    "submission",
    "marker",
    "stray",
    "withheld",
]

_RESULT_LOG = re.compile(r"result_.*\.txt")
_MARKERS = frozenset({".gitkeep", ".gitignore", ".DS_Store"})
_POWER = "power"
_CHECKER_PARAMS = "package_checker_params"


@dataclass(frozen=True, slots=True)
class Place:
    """Where one file belongs in a round.

    ``system_path_part`` is the name of the folder below results/, ``system_folder`` the name of the
    system. ``benchmark_folder`` is None for files above that level. ``folder_id`` is the path of
    the folder that a result file belongs to; for a copy nested deeper it is the nested folder.
    ``kind`` is ``extra_log`` for any file that may hold records without being a result log;
    whether it does shows only when it is read.
    """

    path: str
    kind: Kind
    submitter_folder: str | None = None
    package_folder: str | None = None
    system_folder: str | None = None
    system_path_part: str | None = None
    benchmark_folder: str | None = None
    folder_id: str | None = None
    is_nested: bool = False
    run_stem: str | None = None


def classify(path: str, round_: Round) -> Place:
    """Returns what the file at ``path`` is in a round. Never raises."""
    parts = path.split("/")
    name = parts[-1]
    top = 1 if round_.top_folder is not None and parts[0] == round_.top_folder else 0
    if "results" in parts[top + 1 : -1]:
        at = parts.index("results", top + 1)
        return _in_results(path, parts, top, at, round_)
    if "systems" in parts[top + 1 : -1]:
        at = parts.index("systems", top + 1)
        # Code has folders of that name too; only rounds with packages describe systems in them.
        is_own = at == top + 1 or round_.top_folder is not None
        if is_own and at == len(parts) - 2 and name.endswith(".json") and not name.startswith("."):
            return Place(
                path,
                "system_description",
                parts[top],
                _joined(parts[top + 1 : at]),
                name.removesuffix(".json"),
            )
    return Place(path, _other_kind(name), parts[top] if len(parts) > top + 1 else None)


def system_paths(place: Place) -> tuple[str, ...]:
    """Returns the possible paths of a result folder's system description, the usual one first.

    ``place`` is any file in the folder.
    """
    if place.folder_id is None or place.system_path_part is None:
        return ()
    before, _, _ = place.path.partition("/results/")
    system = place.system_path_part
    return f"{before}/systems/{system}.json", f"{before}/results/{system}/entry.json"


def run_number(path: str) -> int | None:
    """Returns the last number in a result log's name, by which a submission orders its runs."""
    numbers = re.findall(r"\d+", path.rpartition("/")[2].rpartition(".")[0])
    return int(numbers[-1]) if numbers and len(numbers[-1]) < 19 else None


def _in_results(path: str, parts: list[str], top: int, at: int, round_: Round) -> Place:
    submitter = parts[top]
    package = _joined(parts[top + 1 : at])
    below = parts[at + 1 :]
    name = below[-1]
    if len(below) == 1:
        return Place(path, _other_kind(name), submitter, package)
    part = below[0]
    system = part
    if part in round_.generic_system_folders and package is not None:
        system = package.split("/")[0]
    if len(below) == 2:
        return _below_system(path, submitter, package, system, part)
    benchmark, deeper = below[1], below[2:-1]
    folder_id = "/".join(parts[: at + 3])
    kind, is_nested, stem = _kind(name, deeper), False, None
    if kind == "power":
        stem = deeper[1] if len(deeper) > 1 else name.rpartition(".")[0]
    elif deeper and _RESULT_LOG.fullmatch(name):
        folder_id, is_nested = path.rpartition("/")[0], True
    return Place(
        path, kind, submitter, package, system, part, benchmark, folder_id, is_nested, stem
    )


def _below_system(path: str, submitter: str, package: str | None, system: str, part: str) -> Place:
    """Returns a file directly below a system folder: an entry, or a log without benchmark level."""
    folder_id, _, name = path.rpartition("/")
    if name == "entry.json":
        return Place(path, "system_description", submitter, package, system, part)
    if _RESULT_LOG.fullmatch(name):
        return Place(path, "result_log", submitter, package, system, part, None, folder_id)
    return Place(path, _other_kind(name), submitter, package, system, part)


def _kind(name: str, deeper: list[str]) -> Kind:
    if not deeper and _RESULT_LOG.fullmatch(name):
        return "result_log"
    if not deeper and name == "scaling.json":
        return "scaling"
    if not deeper and name.partition(".")[0] == _CHECKER_PARAMS:
        return "checker_params"
    if deeper and deeper[0] == _POWER and name.endswith(".txt"):
        return "power"
    return _other_kind(name)


def _other_kind(name: str) -> Kind:
    if name in _MARKERS:
        return "marker"
    if name == "submission.json":
        return "submission"
    return "extra_log"


def _joined(parts: list[str]) -> str | None:
    return "/".join(parts) or None
