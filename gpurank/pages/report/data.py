"""What the pages show, read from the warehouse at once and split by page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gpurank.answers.notes import Source
from gpurank.answers.warehouse import NoData, ask
from gpurank.declared.rounds import round_order

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PageKey:
    """One list: a benchmark in one round, or (``round_id`` None) over its comparable rounds."""

    benchmark: str
    round_id: str | None = None

    @property
    def file_name(self) -> str:
        """``resnet-v4.0.html``, ``resnet-pooled.html``."""
        return f"{self.benchmark}-{self.round_id or 'pooled'}.html"

    @property
    def order(self) -> tuple[str, tuple[int, int]]:
        """Sort key: by benchmark, pooled first, then by round."""
        return self.benchmark, round_order(self.round_id) if self.round_id else (-1, 0)


@dataclass(frozen=True, slots=True)
class Page:
    """Everything one page shows; rows are mappings by the columns of docs/tables.md.

    ``entries``: ranked results in ranking order, each with its system, ``runs`` (its logs, kept
    ones by time) and ``fleet`` (its row of the fleet law or None). ``law``: the fleet law's row or
    None where the warehouse has none; ``marks`` its break-even counts. ``clusters``: profiles, or
    one row with the reason why there are none. ``left_out``: reasons with counts. ``software``,
    ``hardware``, ``progress``: what the same hardware and new generations gained. ``issues``:
    kinds that affect results of the list, with counts. ``rounds``: rows of marts.round_summary.
    ``sources``: where the rounds of the list come from; ``all_sources``: the same for every round
    that the benchmark's fits, clusters and comparisons over rounds use.
    """

    key: PageKey
    entries: tuple[Row, ...]
    sources: tuple[Source, ...]
    rounds: tuple[Row, ...] = ()
    law: Row | None = None
    marks: tuple[Row, ...] = ()
    clusters: tuple[Row, ...] = ()
    left_out: tuple[Row, ...] = ()
    issues: tuple[Row, ...] = ()
    software: tuple[Row, ...] = ()
    hardware: tuple[Row, ...] = ()
    progress: Row | None = None
    siblings: tuple[PageKey, ...] = ()
    all_sources: tuple[Source, ...] = ()

    @property
    def lambda_chips(self) -> float:
        """The λ that the list was ranked with."""
        return float(self.entries[0]["lambda_chips"])


@dataclass(slots=True)
class _Tables:
    """Rows of the whole warehouse, keyed as pages look them up."""

    entries: dict[PageKey, list[Row]] = field(default_factory=lambda: defaultdict(list))
    by_benchmark: dict[str, dict[str, list[Row]]] = field(default_factory=dict)
    left_out: dict[PageKey, list[Row]] = field(default_factory=lambda: defaultdict(list))
    issues: dict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))
    rounds: dict[str, Row] = field(default_factory=dict)
    sources: dict[str, Source] = field(default_factory=dict)


_ENTRIES = """
select r.*, m.accelerator_family, m.accelerator_reported, m.framework, m.division,
       m.unscaled_min, m.scaling_factor, m.run_count, m.required_run_count, m.source_commit,
       m.epochs_to_converge, m.throughput_per_s, c.system_path, s.accelerators_per_node,
       s.socket_count, s.core_count, s.memory_per_node_gib, s.network_gbps_per_node, s.link_rank,
       s.accelerator_form_factor, s.framework_reported, s.explanation as count_explanation
from marts.ranking r
join marts.result m using (result_id)
join core.result c using (result_id)
left join marts.system s on s.round_id = c.round_id and s.path = c.system_path
order by r.benchmark, r.scope, r.rank, r.accelerator_count, r.result_id
"""
_RUNS = """
select result_id, file, run_min, is_converged, convergence_basis, is_kept, start_line
from marts.run order by result_id, is_kept is not true, run_min nulls last, file
"""
_LEFT_OUT = """
select u.scope, u.round_id, u.benchmark,
       case when starts_with(u.reason, 'same measurement as ')
            then 'refiled: the list shows the measurement under its first filing'
            else u.reason end as reason,
       count(*) as result_count
from marts.unranked u group by all order by result_count desc, reason
"""
_ISSUES = """
select result_id, level, kind, message from marts.issue where result_id is not null
order by level, kind, message, result_id
"""
# Tables that an older warehouse may lack.
_OPTIONAL = {
    "law": ("fleet_law", "benchmark"),
    "marks": ("break_even", "benchmark, fleet_efficiency desc"),
    "fleet": ("fleet_result", "benchmark, result_id"),
    "clusters": ("cluster_profile", "benchmark, cluster_label"),
    "software": (
        "software_progress",
        "benchmark, from_round_id, submitter, accelerator, accelerator_count, from_result_id",
    ),
    "hardware": (
        "hardware_progress",
        "benchmark, round_id, accelerator_vendor, is_socketed, accelerator_launch_year, result_id",
    ),
    "progress": ("progress", "benchmark"),
}


def pages(con: DuckDBPyConnection) -> tuple[Page, ...]:
    """Reads every list of the warehouse as a page: by benchmark, pooled first, then by round.

    Raises:
        NoData: nothing is ranked.
    """
    tables = _read(con)
    keys = sorted(tables.entries, key=lambda key: key.order)
    if not keys:
        raise NoData("nothing is ranked, so there is nothing to report; see marts.data_quality")
    return tuple(_page(tables, key, keys) for key in keys)


def _read(con: DuckDBPyConnection) -> _Tables:
    tables = _Tables()
    for row in _rows(con, "select * from marts.round_summary"):
        tables.rounds[row["round_id"]] = row
    for row in _rows(
        con, "select round_id, source_commit, taken_at::varchar as taken_at from raw.round_version"
    ):
        tables.sources[row["round_id"]] = Source(
            row["round_id"], row["source_commit"], row["taken_at"]
        )
    for name, (table, order) in _OPTIONAL.items():
        split: dict[str, list[Row]] = defaultdict(list)
        for row in _optional(con, table, order):
            split[row["benchmark"]].append(row)
        tables.by_benchmark[name] = split
    runs: dict[str, list[Row]] = defaultdict(list)
    for row in _rows(con, _RUNS):
        runs[row["result_id"]].append(row)
    for row in _rows(con, _ISSUES):
        tables.issues[row["result_id"]].append(row)
    fleet = {
        row["result_id"]: row for rows in tables.by_benchmark["fleet"].values() for row in rows
    }
    for row in _rows(con, _ENTRIES):
        row["runs"] = tuple(runs[row["result_id"]])
        row["fleet"] = fleet.get(row["result_id"])
        row["issues"] = tuple(tables.issues.get(row["result_id"], ()))
        tables.entries[_key(row)].append(row)
    for row in _rows(con, _LEFT_OUT):
        tables.left_out[_key(row)].append(row)
    return tables


def _key(row: Row) -> PageKey:
    return PageKey(row["benchmark"], None if row["scope"] == "pooled" else row["round_id"])


def _page(tables: _Tables, key: PageKey, keys: Sequence[PageKey]) -> Page:
    entries = tables.entries[key]
    rounds = sorted({row["round_id"] for row in entries}, key=round_order)
    of_benchmark = {
        name: split.get(key.benchmark, []) for name, split in tables.by_benchmark.items()
    }
    siblings = tuple(other for other in keys if other.benchmark == key.benchmark)
    all_rounds = {row["round_id"] for other in siblings for row in tables.entries[other]}
    return Page(
        key=key,
        entries=tuple(entries),
        sources=tuple(tables.sources[name] for name in rounds if name in tables.sources),
        rounds=tuple(tables.rounds[name] for name in rounds if name in tables.rounds),
        law=of_benchmark["law"][0] if of_benchmark["law"] else None,
        marks=tuple(of_benchmark["marks"]),
        clusters=tuple(of_benchmark["clusters"]),
        left_out=tuple(_summed(tables.left_out[key])),
        issues=tuple(_issue_kinds(entries)),
        software=tuple(
            row
            for row in of_benchmark["software"]
            if key.round_id is None or key.round_id in (row["from_round_id"], row["to_round_id"])
        ),
        hardware=tuple(
            row for row in of_benchmark["hardware"] if key.round_id in (None, row["round_id"])
        ),
        progress=of_benchmark["progress"][0] if of_benchmark["progress"] else None,
        siblings=siblings,
        all_sources=tuple(
            tables.sources[name] for name in sorted(all_rounds & set(tables.sources))
        ),
    )


def _summed(rows: Sequence[Row]) -> list[Row]:
    """Returns one row per reason: a pooled list leaves out results of several rounds."""
    counts: dict[str, int] = defaultdict(int)
    for row in rows:
        counts[row["reason"]] += row["result_count"]
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [{"reason": reason, "result_count": count} for reason, count in ordered]


def _issue_kinds(entries: Sequence[Row]) -> list[Row]:
    """Returns each kind of issue of the list's results: how many results, one example."""
    kinds: dict[tuple[str, str], Row] = {}
    for entry in entries:
        # A result counts once per kind, however many issues of the kind it has.
        for key, issue in {(row["level"], row["kind"]): row for row in entry["issues"]}.items():
            row = kinds.setdefault(
                key,
                {
                    "level": issue["level"],
                    "kind": issue["kind"],
                    "result_count": 0,
                    "example": issue["message"],
                    "result_id": entry["result_id"],
                },
            )
            row["result_count"] += 1
    severity = {"error": 0, "warning": 1, "info": 2}
    return sorted(kinds.values(), key=lambda row: (severity.get(row["level"], 3), row["kind"]))


def _optional(con: DuckDBPyConnection, table: str, order: str) -> list[Row]:
    """Reads a mart, else the analysis table behind it; no rows where neither exists."""
    schemas = {
        row[0]
        for row in ask(
            con,
            "select table_schema from information_schema.tables where table_name = ?",
            [table],
        ).rows
    }
    for schema in ("marts", "analysis"):
        if schema in schemas:
            return _rows(con, f"select * from {schema}.{table} order by {order}")  # noqa: S608
    return []


def _rows(con: DuckDBPyConnection, sql: str) -> list[Row]:
    return ask(con, sql).dicts()
