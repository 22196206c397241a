"""Issue rows: whatever is odd about a round's files, each observation once."""

from __future__ import annotations

from typing import Any

from gpurank.declared.rounds import BenchmarkRule, Rounds
from gpurank.logs.layout import Place
from gpurank.logs.runs import RunFacts

# Why a run does not count, by raw.run.convergence_basis.
_REASONS = {
    "no_records": "the file holds no record, so it is not a run",
    "no_run_start": "there is no readable run_start, so the run has no time",
    "no_run_stop": "there is no readable run_stop, so the run counts as not converged",
    "multiple_attempts": "the log holds several complete attempts, so none of them counts",
    "clock": "run_stop is not plausibly later than run_start, so the run has no time",
    "wallclock": "its clock is local time and it logs no outcome, so the run does not count",
    "unknown_status": "the status on run_stop is not a known one, so the run does not count",
    "no_outcome": "neither a status nor a target is known, so the run does not count",
    "target_missed": "no status is logged and the run misses the target",
    "aborted": "the run is filed as not successful",
}
_EXPECTED = frozenset({"aborted", "target_missed"})


class Issues:
    """Collects issue rows; the same observation made twice is one row."""

    def __init__(self) -> None:
        self._rows: dict[tuple[Any, ...], dict[str, Any]] = {}

    def add(
        self,
        level: str,
        kind: str,
        message: str,
        source_file: str | None = None,
        line_number: int | None = None,
        folder_id: str | None = None,
    ) -> None:
        """Adds one observation about a file, a line of it, or a folder."""
        self._rows.setdefault(
            (kind, source_file or folder_id or "", line_number or 0, message),
            {
                "level": level,
                "kind": kind,
                "message": message,
                "source_file": source_file,
                "line_number": line_number,
                "folder_id": folder_id,
            },
        )

    def rows(self) -> list[dict[str, Any]]:
        """Returns the rows, sorted by kind, file, line and message."""
        return [self._rows[key] for key in sorted(self._rows)]

    def add_run(
        self,
        path: str,
        place: Place,
        facts: RunFacts,
        rule: BenchmarkRule,
        rounds: Rounds,
        round_id: str,
    ) -> None:
        """Adds what is odd about one run."""
        folder_id = place.folder_id

        def add(level: str, kind: str, message: str, line: int | None = None) -> None:
            self.add(level, kind, message, path, line, folder_id)

        basis = facts.convergence_basis
        if not facts.is_converged:
            level = "info" if basis in _EXPECTED else "warning"
            add(level, f"run_{basis}", _REASONS[basis], facts.stop_line or facts.start_line)
        if facts.attempt_count > 1 and basis != "multiple_attempts":
            message = f"{facts.attempt_count} attempts were started; the completed one counts"
            add("warning", "several_run_start", message, facts.start_line)
        if facts.is_below_target:
            message = f"the run is filed as a success, but {_missed_target(facts, rule)}"
            add("warning", "success_below_target", message, facts.quality_line)
        for line, doubt in facts.clock_doubts:
            add("warning", "clock_out_of_line", f"{doubt}; it is taken as filed", line)
        if facts.duration_source == "elapsed":
            message = "the run time is the elapsed time that eval_result states"
            add("info", "elapsed_time_used", message)
        named = facts.benchmark_reported
        if named and place.benchmark_folder:
            canonical = rounds.canonical_benchmark(round_id, named)
            if canonical != rule.benchmark:
                message = (
                    f"the log calls its benchmark {named!r}, its folder {place.benchmark_folder!r}"
                )
                add("warning", "benchmark_folder_vs_log", message)


def _missed_target(facts: RunFacts, rule: BenchmarkRule) -> str:
    """Returns which target a run misses, and by which evaluation.

    The target is the rule's, or the log's own where the rule has none.
    """
    target = rule.target if rule.target is not None else facts.target_reported
    if rule.second_metric is not None:
        return (
            f"no evaluation reaches both {rule.metric} {target} "
            f"and {rule.second_metric} {rule.target_second}"
        )
    if rule.target_second is not None:
        return (
            f"its deciding evaluation {facts.quality_json} misses "
            f"{target} (boxes) or {rule.target_second} (masks)"
        )
    source = "" if rule.target is not None else ", the target that the log itself states"
    return f"its deciding evaluation {facts.quality} misses {target}{source}"
