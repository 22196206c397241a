"""Issue rows: whatever was odd, once each."""

from __future__ import annotations

from typing import Any

from gpurank.declared.rounds import BenchmarkRule, Rounds
from gpurank.logs.layout import Place
from gpurank.logs.runs import RunFacts

# Why a run does not count, in words; keys are raw.run.convergence_basis.
_REASONS = {
    "no_records": "the file holds no record, so it is no run",
    "no_run_start": "there is no readable run_start, so the run has no time",
    "no_run_stop": "there is no readable run_stop, so the run counts as not converged",
    "multiple_attempts": "several attempts are complete, so none is taken",
    "clock": "run_stop is not usefully later than run_start, so the run has no time",
    "wallclock": "times are local wall clock and no outcome is logged, so the run does not count",
    "unknown_status": "the outcome on run_stop is not known, so the run does not count",
    "no_outcome": "neither an outcome nor a target is known, so the run does not count",
    "target_missed": "no outcome is logged and the target was missed",
    "aborted": "filed as not successful",
}
_EXPECTED = frozenset({"aborted", "target_missed"})


class Issues:
    """Collects issue rows; an observation made twice is kept once."""

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
        """Keep one observation about a file, a line of it, or a folder."""
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
        """The rows, sorted by their key."""
        return [self._rows[key] for key in sorted(self._rows)]

    def of_run(
        self,
        path: str,
        place: Place,
        facts: RunFacts,
        rule: BenchmarkRule,
        rounds: Rounds,
        round_id: str,
    ) -> None:
        """What is odd about one run."""
        folder_id = place.folder_id

        def add(level: str, kind: str, message: str, line: int | None = None) -> None:
            self.add(level, kind, message, path, line, folder_id)

        basis = facts.convergence_basis
        if not facts.is_converged:
            level = "info" if basis in _EXPECTED else "warning"
            add(level, f"run_{basis}", _REASONS[basis], facts.stop_line or facts.start_line)
        if facts.attempt_count > 1 and basis != "multiple_attempts":
            message = f"{facts.attempt_count} attempts were started; the one completed counts"
            add("warning", "several_run_start", message, facts.start_line)
        if facts.is_below_target:
            message = f"a success as filed, but its evaluation {facts.quality} misses {rule.target}"
            add("warning", "success_below_target", message, facts.quality_line)
        for line in facts.out_of_line:
            message = "the record's time contradicts the records around it; it is taken as filed"
            add("warning", "clock_out_of_line", message, line)
        if facts.duration_source == "elapsed":
            message = "the run time is the elapsed time that eval_result gives"
            add("info", "elapsed_time_used", message)
        named = facts.benchmark_reported
        if named and place.benchmark_folder:
            canonical = rounds.canonical_benchmark(round_id, named)
            if canonical != rule.benchmark:
                message = (
                    f"the log calls its benchmark {named!r}, its folder {place.benchmark_folder!r}"
                )
                add("warning", "benchmark_folder_vs_log", message)
