"""Views in the main schema under names that a user would guess: ``from results``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

# Name of the view: its query and its comment.
VIEWS = {
    "benchmarks": (
        "select benchmark, count(distinct round_id) as round_count, count(*) as result_count, "
        "min(score_min) as fastest_min from marts.result group by benchmark",
        "Benchmarks with their rounds and results.",
    ),
    "clusters": (
        "from marts.cluster_profile where cluster_label is not null",
        "Groups of similar configurations, marts.cluster_profile.",
    ),
    "issues": ("from marts.issue", "Every issue, marts.issue."),
    "rankings": (
        "from marts.ranking where scope = 'round'",
        "Each round's ranking, marts.ranking; rankings_pooled is over all comparable rounds.",
    ),
    "rankings_pooled": (
        "from marts.ranking where scope = 'pooled'",
        "Rankings over all rounds that may be compared, marts.ranking.",
    ),
    "results": ("from marts.result", "Every result, marts.result."),
    "rounds": ("from marts.round_summary", "What each round holds, marts.round_summary."),
    "runs": ("from marts.run", "Every log of a result, marts.run."),
    "systems": ("from marts.system", "Every system description, marts.system."),
}


def create_views(con: duckdb.DuckDBPyConnection) -> None:
    """Makes the views in a warehouse that has its marts."""
    for name, (query, doc) in VIEWS.items():
        select = query if query.startswith("select") else f"select * {query}"
        con.execute(f"create or replace view main.{name} as {select}")
        con.execute(f"comment on view main.{name} is '{doc.replace(chr(39), chr(39) * 2)}'")
