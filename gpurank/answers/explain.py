"""Traces a rank back to accelerator-minutes, score, runs and log lines at a pinned commit."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gpurank.answers.notes import public_url
from gpurank.answers.warehouse import Answer, NoData, ask, nearest, ranking

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_RESULT = """
select r.result_id, r.round_id, r.benchmark, r.division, r.availability, r.submitter,
       r.system_name, r.accelerator, r.accelerator_count, r.node_count, t.explanation as
       count_explanation, s.score_min, s.score_missing_reason, s.unscaled_min, s.scaling_factor,
       r.scaling_path, s.run_count, s.converged_run_count, s.required_run_count, s.drop_count,
       r.accelerator_count * s.score_min as accelerator_minutes,
       m.first_seen_round_id, m.first_seen_result_id, m.is_independent, r.system_path,
       r.source_commit, r.version_id
from core.result r
join metrics.score s using (result_id)
left join marts.result m using (result_id)
left join identity.system_total t on t.round_id = r.round_id and t.path = r.system_path
where r.result_id = ?
"""

_RUNS = """
select run.file, run.run_min, run.is_converged, run.convergence_basis, run.status_reported,
       placed.place, coalesce(placed.is_kept, false) as is_kept,
       placed.file is not null as is_in_set,
       filed.start_ms, filed.start_line, filed.stop_ms, filed.stop_line, filed.duration_source,
       run.quality, filed.quality_line, source.sha256
from core.run run
join raw.run filed on filed.round_id = run.round_id and filed.path = run.file
left join metrics.run_set placed on placed.result_id = run.result_id and placed.file = run.file
left join raw.source_file source on source.round_id = run.round_id and source.path = run.file
where run.result_id = ?
order by placed.place nulls last, run.file
"""

_RANKS = """
select scope, rank, tie_group, score_min, accelerator_count, accelerator_minutes, lambda_chips,
       delay_cost, cluster_label
from marts.ranking where result_id = ? order by scope desc
"""

_FILES = """
select path, sha256 from raw.source_file where round_id = ? and list_contains(?, path)
"""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything that one result's numbers are computed from.

    ``ranks`` has one row per scope, ``runs`` one row per log in the order of the olympic mean
    (minutes; lines are 1-based; ``url`` is the start line at the pinned commit, null if the commit
    is unknown). ``files`` are the other files that were read.
    """

    result: Mapping[str, Any]
    ranks: Answer
    runs: Answer
    files: tuple[Mapping[str, Any], ...]

    def as_dict(self) -> dict[str, Any]:
        """Returns the explanation as plain values."""
        return {
            **self.result,
            "ranks": self.ranks.dicts(),
            "runs": self.runs.dicts(),
            "files": [dict(row) for row in self.files],
        }


def explain(con: DuckDBPyConnection, result_id: str) -> Explanation:
    """Traces a result's numbers back to the lines of its logs.

    Raises:
        NoData: there is no such result; names the nearest ones.
    """
    rows = ask(con, _RESULT, [result_id]).dicts()
    if not rows:
        ids = ask(con, "select result_id from core.result").column("result_id")
        raise NoData(f"no result is called {result_id!r}; {nearest_result(result_id, ids)}")
    result = rows[0]
    round_id, commit = result["round_id"], result["source_commit"]
    runs = ask(con, _RUNS, [result_id])
    urls = [
        public_url(round_id, commit, path, line)
        for path, line in zip(runs.column("file"), runs.column("start_line"), strict=True)
    ]
    runs = replace(
        runs,
        columns=(*runs.columns, "url"),
        types=(*runs.types, "VARCHAR"),
        rows=tuple((*row, url) for row, url in zip(runs.rows, urls, strict=True)),
    )
    paths = [path for path in (result["system_path"], result["scaling_path"]) if path]
    files = tuple(
        {"path": path, "sha256": sha256, "url": public_url(round_id, commit, path)}
        for path, sha256 in ask(con, _FILES, [round_id, paths]).rows
    )
    return Explanation(result, ask(con, _RANKS, [result_id]), runs, files)


def result_at_rank(con: DuckDBPyConnection, benchmark: str, round_id: str | None, rank: int) -> str:
    """Returns the id of the result at a rank of a round's ranking.

    Raises:
        NoData: the table is empty or shorter.
    """
    table = ranking(con, benchmark, round_id)
    ranks = table.column("rank")
    if rank not in ranks:
        raise NoData(f"{table.title} has no rank {rank}; it goes from 1 to {max(ranks)}")
    return str(table.column("result_id")[ranks.index(rank)])


def text(explanation: Explanation) -> list[str]:
    """Returns the explanation as lines to read."""
    row = explanation.result
    lines = [
        f"{row['result_id']}",
        f"  {row['submitter']}, {row['system_name']}: {row['accelerator_count']} x "
        f"{row['accelerator']}, {row['division']} division, {row['availability']}",
    ]
    for rank in explanation.ranks.dicts():
        where = row["round_id"] if rank["scope"] == "round" else "all comparable rounds"
        lines += [
            f"rank {rank['rank']} in {where} (tie group {rank['tie_group']}, "
            f"cluster {rank['cluster_label'] or 'none'})",
            f"  delay_cost {rank['delay_cost']:,.3f} = {row['score_min']:.4f} min x "
            f"({row['accelerator_count']} + {rank['lambda_chips']:g})",
        ]
    if row["is_independent"] is False:
        lines.append(f"same measurement as {row['first_seen_result_id']}; fits count it once")
    if row["count_explanation"]:
        lines.append(f"accelerators {row['accelerator_count']}: {row['count_explanation']}")
    lines += [_score(row, explanation.runs), *_runs(explanation.runs)]
    for file in explanation.files:
        lines.append(f"read beside: {file['path']}, sha256 {file['sha256']}")
        lines += [f"          {file['url']}"] if file["url"] else []
    commit = row["source_commit"] or "unknown"
    return [*lines, f"source commit {commit}, version {row['version_id']}"]


def _score(row: Mapping[str, Any], runs: Answer) -> str:
    if row["score_min"] is None:
        return f"score: none ({row['score_missing_reason']})"
    kept = [run for run in runs.dicts() if run["is_kept"]]
    return (
        f"score {row['score_min']:.6f} min = {row['unscaled_min']:.6f} min "
        f"(mean of {len(kept)} of {row['run_count']} runs; {row['drop_count']} dropped at each "
        f"end; {row['required_run_count']} required) x {row['scaling_factor']:.6g} "
        f"({row['scaling_path'] or 'no scaling.json'})"
    )


def _runs(runs: Answer) -> list[str]:
    lines = []
    for run in runs.dicts():
        role = "kept   " if run["is_kept"] else "dropped" if run["is_in_set"] else "unused "
        if run["run_min"] is None:
            time = f"no time ({run['convergence_basis']})"
        else:
            time = f"{run['run_min']:.6f} min"
            time += "" if run["is_converged"] else f", not converged ({run['convergence_basis']})"
        span = f"{run['file']}:{run['start_line']} to :{run['stop_line']}"
        clock = f"{_clock(run['start_ms'])} to {_clock(run['stop_ms'])} ms"
        lines += [f"  {role} {time}  {span}", f"          {clock}, sha256 {run['sha256']}"]
        lines += [f"          {run['url']}"] if run["url"] else []
    return lines


def _clock(value: float | None) -> str:
    """Returns milliseconds without trailing zeros."""
    return "none" if value is None else f"{value:.3f}".rstrip("0").rstrip(".")


def nearest_result(result_id: str, result_ids: list[str]) -> str:
    """Returns a hint at the nearest ids, of the same round if possible.

    Ids of different rounds share most of their letters, so the round is compared first.
    """
    round_id = result_id.partition("/")[0]
    in_round = [name for name in result_ids if name.startswith(f"{round_id}/")]
    if not in_round:
        rounds = {name.partition("/")[0] for name in result_ids}
        return f"it starts with a round, and {nearest(round_id, rounds)}"
    if len(in_round) <= 5:
        return nearest(result_id, in_round)
    close = difflib.get_close_matches(result_id, in_round, n=3, cutoff=0.3)
    return f"did you mean {' or '.join(close)}?" if close else "`gpurank top` shows ids"
