"""Result folders of a round: each is a result, or has a reason why it is not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gpurank.declared.rounds import BenchmarkRule, Round, Rounds
from gpurank.logs.issues import Issues
from gpurank.logs.layout import Place, system_paths
from gpurank.logs.privacy import blank_contacts

_NONE = "(none named)"
# One word is usual; of a longer file, which is something else, only the beginning is kept.
_LONGEST_PARAMS = 1000


@dataclass(slots=True)
class _Folder:
    place: Place
    file_count: int = 0
    result_log_count: int = 0
    withheld_log_count: int = 0
    read_log_count: int = 0
    extra_run_count: int = 0
    checker_params: str | None = None
    named: set[str] = field(default_factory=set)


def checker_params(data: bytes) -> str | None:
    """Returns the text of a package_checker_params file in one line; None where it is empty."""
    text = " ".join(blank_contacts(data).decode("utf-8", "replace").split())
    return text[:_LONGEST_PARAMS] or None


class Folders:
    """Collects the folders at benchmark level while a round's files are read."""

    def __init__(self, round_: Round, rounds: Rounds, issues: Issues) -> None:
        self._round = round_
        self._rounds = rounds
        self._issues = issues
        self._folders: dict[str, _Folder] = {}
        self._systems: set[str] = set()

    @property
    def seen_count(self) -> int:
        """Number of folders seen."""
        return len(self._folders)

    def add_file(self, place: Place, *, is_read: bool = True) -> None:
        """Counts a file towards its folder, and towards the folder that this one is nested in."""
        if place.folder_id is None:
            return
        folder = self._folders.setdefault(place.folder_id, _Folder(place))
        folder.file_count += 1
        if place.kind == "result_log":
            folder.result_log_count += is_read
            folder.withheld_log_count += not is_read
        if place.is_nested:
            parent_id = parent_folder(place)
            parent = Place(
                place.path,
                "extra_log",
                place.submitter_folder,
                place.package_folder,
                place.system_folder,
                place.system_path_part,
                place.benchmark_folder,
                parent_id,
            )
            self._folders.setdefault(parent_id, _Folder(parent)).file_count += 1

    def add_result_log(self, place: Place, named: str | None) -> None:
        """Adds a result log that was read, and the benchmark that it names."""
        if place.folder_id is None:
            return
        folder = self._folders[place.folder_id]
        folder.read_log_count += 1
        if named is not None and named.strip():
            folder.named.add(named)

    def add_extra_log(self, place: Place, *, has_run_start: bool) -> None:
        """Adds a log that lies where a result log would, under another name."""
        below = place.path.removeprefix(f"{place.folder_id}/")
        if place.folder_id is not None and "/" not in below and has_run_start:
            self._folders[place.folder_id].extra_run_count += 1

    def add_checker_params(self, place: Place, text: str | None) -> None:
        """Adds a submission's instructions to MLCommons' package checker (one line)."""
        if place.folder_id is not None:
            self._folders[place.folder_id].checker_params = text

    def add_system(self, path: str) -> None:
        """Adds a system description."""
        self._systems.add(path)

    def rows(self) -> list[dict[str, Any]]:
        """Returns the rows of raw.folder by folder_id; adds an issue for each oddity."""
        results: set[tuple[str | None, ...]] = {
            (
                f.place.submitter_folder,
                f.place.package_folder,
                f.place.system_folder,
                f.place.benchmark_folder,
            )
            for f in self._folders.values()
            if not f.place.is_nested
        }
        return [
            self._row(folder_id, self._folders[folder_id], results)
            for folder_id in sorted(self._folders)
        ]

    def _row(
        self, folder_id: str, folder: _Folder, results: set[tuple[str | None, ...]]
    ) -> dict[str, Any]:
        place = folder.place
        benchmark = place.benchmark_folder
        source = "folder"
        if benchmark is None:
            source = "log"
            benchmark = next(iter(folder.named)) if len(folder.named) == 1 else None
        rule = self._rounds.rule(self._round.round_id, benchmark or "")
        system_path = self._system_path(folder_id, place)
        reason = self._quarantine_reason(folder, benchmark, source, rule, results)
        if reason is not None:
            self._issues.add("warning", "folder_quarantined", reason, folder_id=folder_id)
        else:
            self._note(folder_id, folder, rule, benchmark or "", system_path)
        return {
            "folder_id": folder_id,
            "submitter_folder": place.submitter_folder,
            "package_folder": place.package_folder,
            "system_folder": place.system_folder,
            "benchmark_folder": _below_system(place) if place.is_nested else benchmark or _NONE,
            "benchmark_folder_source": source,
            "result_log_count": folder.result_log_count,
            "withheld_log_count": folder.withheld_log_count,
            "file_count": folder.file_count,
            "system_path": system_path,
            "checker_params": folder.checker_params,
            "quarantine_reason": reason,
        }

    def _system_path(self, folder_id: str, place: Place) -> str | None:
        """Returns the path of a folder's system description, also one of other upper case."""
        paths = system_paths(place)
        for path in paths:
            if path in self._systems:
                return path
        spelt = {path.casefold() for path in paths}
        near = [path for path in self._systems if path.casefold() in spelt]
        if len(near) != 1:
            return None
        message = f"its system is described in {near[0]}, which is spelt differently"
        self._issues.add("info", "system_description_spelling", message, folder_id=folder_id)
        return near[0]

    def _quarantine_reason(
        self,
        folder: _Folder,
        benchmark: str | None,
        source: str,
        rule: BenchmarkRule,
        results: set[tuple[str | None, ...]],
    ) -> str | None:
        place = folder.place
        if place.package_folder is not None and self._round.top_folder is None:
            return "not in a submitter's own results folder; the round has no results elsewhere"
        if place.is_nested:
            return "nested below another result folder; its logs are not a result of their own"
        if benchmark is None:
            named = ", ".join(sorted(folder.named)) or "none"
            return f"logs without a benchmark folder, and they name {named} as their benchmark"
        key = (place.submitter_folder, place.package_folder, place.system_folder, benchmark)
        if source == "log" and key in results:
            return f"logs without a benchmark folder beside the folder {benchmark!r}"
        log_count = folder.result_log_count + folder.withheld_log_count
        if rule.basis == "unknown" and not log_count:
            return "no benchmark of this name is known, and it holds no result log"
        return None

    def _note(
        self,
        folder_id: str,
        folder: _Folder,
        rule: BenchmarkRule,
        benchmark: str,
        system_path: str | None,
    ) -> None:
        def add(level: str, kind: str, message: str) -> None:
            self._issues.add(level, kind, message, folder_id=folder_id)

        if system_path is None:
            message = "it has no system description, so nothing but its score is known"
            add("error", "system_description_missing", message)
        if rule.basis == "unknown":
            message = (
                f"warehouse/rounds.yml has no line for {benchmark!r} under benchmarks; "
                "its runs are kept without a score"
            )
            add("error", "unknown_benchmark", message)
        elif rule.basis == "by_name" and self._round.is_declared:
            message = (
                f"the benchmarks of {self._round.round_id} in warehouse/rounds.yml do not list "
                f"{benchmark!r}; its usual rule is used"
            )
            add("info", "benchmark_not_listed", message)
        needed = rule.runs_required
        log_count = folder.read_log_count
        if folder.withheld_log_count:
            # Each of these logs has an issue of its own; how many there really are is unknown.
            return
        if not folder.result_log_count and folder.extra_run_count:
            message = (
                f"{folder.extra_run_count} logs of runs are not named result_*.txt, so none counts"
            )
            add("warning", "misnamed_result_logs", message)
        elif not folder.result_log_count:
            add("warning", "no_result_logs", "it holds no result log, so it has no score")
        elif needed is not None and log_count < needed:
            add("warning", "too_few_runs", f"it holds {log_count} of the {needed} runs required")
        elif needed is not None and log_count > needed:
            message = f"it holds {log_count} runs, {needed} are required"
            add("info", "more_runs_than_needed", message)


def _below_system(place: Place) -> str:
    """Returns a nested folder's path below its system folder."""
    below = (place.folder_id or "").partition("/results/")[2]
    return below.partition("/")[2]


def parent_folder(place: Place) -> str:
    """Returns the folder at benchmark level that a nested folder is in."""
    before, _, below = (place.folder_id or "").partition("/results/")
    return f"{before}/results/" + "/".join(below.split("/")[:2])
