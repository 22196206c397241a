"""Writes the result tables of docs/method.md from a published warehouse.

``python -m tools.docs.method_tables docs/method.md`` rewrites what is between
``<!-- table: name -->`` and ``<!-- end -->`` from the warehouse of GPURANK_HOME.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpurank.answers.notes import footnotes_of
from gpurank.answers.warehouse import open_warehouse
from gpurank.pages.numbers import MISSING, count, fixed
from gpurank.settings import load

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# The name of the block that holds the footnotes of the tables, instead of a table.
FOOTNOTES = "footnotes"
_BLOCK = re.compile(r"(<!-- table: (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


class PageError(ValueError):
    """A page asks for a table that does not exist."""


@dataclass(frozen=True, slots=True)
class PageTable:
    """One table: its headings, its query, decimals by column (None: text or whole numbers)."""

    headings: tuple[str, ...]
    sql: str
    digits: tuple[int | None, ...]


def table_text(con: DuckDBPyConnection, name: str) -> str:
    """Returns one table as Markdown.

    Raises:
        PageError: no table has this name.
    """
    if name == FOOTNOTES:
        return "\n\n".join(footnotes_of(con)) + "\n"
    if name not in TABLES:
        raise PageError(f"no table is called {name!r}; there are {', '.join(sorted(TABLES))}")
    table = TABLES[name]
    rows = con.execute(table.sql).fetchall()
    lines = [_line(table.headings), _line(["---"] * len(table.headings))]
    lines += [_line([_cell(v, d) for v, d in zip(row, table.digits, strict=True)]) for row in rows]
    return "\n".join(lines) + "\n"


def blocks(page: str) -> dict[str, str]:
    """Returns the tables of a page by name."""
    return {match[2]: match[3] for match in _BLOCK.finditer(page)}


def rewrite_tables(page: str, con: DuckDBPyConnection) -> str:
    """Returns the page with every table written again from the warehouse."""
    return _BLOCK.sub(lambda match: f"{match[1]}{table_text(con, match[2])}{match[4]}", page)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(value: Any, digits: int | None) -> str:
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if digits is not None:
        return fixed(float(value), digits)
    return count(value) if isinstance(value, int | float) else str(value)


TABLES = {
    "sample": PageTable(
        ("benchmark", "rounds", "scored", "analysis set"),
        "select benchmark, string_agg(distinct round_id, ' ' order by round_id), count(*), "
        "count(*) filter (is_in_analysis_set) from metrics.configuration "
        "group by benchmark order by benchmark",
        (None, None, None, None),
    ),
    "selection": PageTable(
        (
            "target",
            "order",
            "variable",
            "partial correlation",
            "stability",
            "importance (submitters)",
            "importance (families)",
            "group",
        ),
        "select case target when 'score_min' then 'T' else 'AM' end, selection_order, "
        "one.variable, partial_correlation, stability, importance_submitter, importance_family, "
        "(select string_agg(variable, ', ' order by variable) from marts.selection other "
        "where other.benchmark = one.benchmark and other.target = one.target "
        "and other.group_id = one.group_id and other.variable <> one.variable) "
        "from marts.selection one where benchmark = 'resnet' and is_selected "
        "order by target desc, selection_order",
        (None, None, None, 2, 2, 2, 2, None),
    ),
    "matched": PageTable(
        ("benchmark", "host variable", "effect on ln T per SD", "p", "cells", "entries"),
        "select benchmark, variable, effect_per_sd, p_value, cell_count, row_count "
        "from marts.matched_cpu where cell_count > 0 and (benchmark = 'resnet' or p_value < 0.05) "
        "order by benchmark <> 'resnet', benchmark, variable",
        (None, None, 3, 3, None, None),
    ),
    "clusters": PageTable(
        (
            "cluster",
            "members",
            "median T (min)",
            "median N",
            "median AM",
            "share with 4–16",
            "Jaccard",
            "leading families",
        ),
        "select cluster_label || ' ' || name, member_count, median_score_min, "
        "median_accelerator_count, median_accelerator_minutes, share_4_to_16, jaccard, "
        "leading_families from marts.cluster_profile where benchmark = 'resnet' "
        "order by cluster_label",
        (None, None, 2, None, 0, 2, 2, None),
    ),
    "k_profile": PageTable(
        (
            "k",
            "silhouette",
            "Calinski–Harabasz",
            "gap",
            "± sd",
            "bootstrap ARI",
            "weakest Jaccard",
            "without one submitter (least)",
            "Ward ARI",
            "mixture ARI",
        ),
        "select cluster_count, silhouette, calinski_harabasz, gap, gap_sd, bootstrap_ari, "
        "jaccard_low, submitter_ari_low, ward_ari, mixture_ari from marts.cluster_count "
        "where benchmark = 'resnet' order by cluster_count",
        (None, 2, 0, 2, 2, 2, 2, 2, 2, 2),
    ),
    "k_stability": PageTable(
        (
            "benchmark",
            "rows",
            "k = 5 stable",
            "weakest Jaccard",
            "bootstrap ARI",
            "without one submitter (least)",
            "stable k",
            "gap prefers",
            "silhouette prefers",
        ),
        "select benchmark, max(row_count), bool_or(is_stable) filter (is_chosen), "
        "max(jaccard_low) filter (is_chosen), max(bootstrap_ari) filter (is_chosen), "
        "max(submitter_ari_low) filter (is_chosen), "
        "string_agg(cluster_count, ' ' order by cluster_count) filter (is_stable), "
        "arg_max(cluster_count, gap), arg_max(cluster_count, silhouette) "
        "from marts.cluster_count join (select benchmark, max(row_count) row_count "
        "from marts.cluster_profile group by benchmark) using (benchmark) "
        "group by benchmark order by benchmark",
        (None, None, None, 2, 2, 2, None, None, None),
    ),
    "ranking": PageTable(
        (
            "round",
            "rank",
            "entry",
            "N",
            "T (min)",
            "delay cost",
            "90 % rank: run",
            "run, site",
            "run, site, λ",
            "P(first)",
        ),
        "select round_id, rank, submitter || ' ' || system_folder, accelerator_count, score_min, "
        "delay_cost, rank_low_run || '–' || rank_high_run, "
        "rank_low_site || '–' || rank_high_site, rank_low || '–' || rank_high, probability_first "
        "from marts.ranking where benchmark = 'resnet' and scope = 'round' and rank <= 3 "
        "and round_id in ('v2.0', 'v3.0', 'v4.0') order by round_id, rank, result_id",
        (None, None, None, None, 3, 1, None, None, None, 2),
    ),
    "best_for_lambda": PageTable(
        ("λ from", "λ to", "entry", "accelerator", "N", "T (min)", "AM"),
        "select lambda_low, lambda_high, submitter || ' ' || system_name, accelerator, "
        "accelerator_count, score_min, accelerator_minutes from marts.best_for_lambda "
        "where benchmark = 'resnet' and list_round_id = 'v4.0' order by lambda_low",
        (1, 1, None, None, None, 2, 0),
    ),
    "sensitivity": PageTable(
        (
            "method",
            "lists",
            "same first",
            "rank of its first (median)",
            "Kendall's τ (mean)",
            "reversal rate (mean)",
            "first reversed (mean)",
        ),
        "select method, count(*), avg((first_rank = 1)::int), median(first_rank), "
        "avg(rank_correlation), avg(reversal_rate), avg(first_reversal_rate) "
        "from marts.sensitivity group by method order by avg(reversal_rate), method",
        (None, None, 2, None, 2, 2, 2),
    ),
    "fleet_law": PageTable(
        (
            "benchmark",
            "rows",
            "e(64)",
            "90 %",
            "e(512)",
            "90 %",
            "software a year",
            "e = 0.8 at N",
            "90 %",
            "e = 0.5 at N",
            "90 %",
        ),
        "select law.benchmark, row_count, efficiency_64, "
        "printf('%.2f–%.2f', efficiency_64_low, efficiency_64_high), efficiency_512, "
        "printf('%.2f–%.2f', efficiency_512_low, efficiency_512_high), exp(yearly_gain), "
        "most.accelerator_count, printf('%.0f–%.0f', most.count_low, most.count_high), "
        "half.accelerator_count, printf('%.0f–%.0f', half.count_low, half.count_high) "
        "from marts.fleet_law law "
        "join marts.break_even most on law.benchmark = most.benchmark "
        "join marts.break_even half on law.benchmark = half.benchmark "
        "where most.fleet_efficiency = 0.8 and half.fleet_efficiency = 0.5 "
        "order by law.benchmark",
        (None, None, 2, None, 2, None, 2, 0, None, 0, None),
    ),
    "prediction": PageTable(
        (
            "benchmark",
            "cells",
            "results",
            "median error",
            "coverage of 90 %",
            "by cell",
            "inside the submitted counts",
            "outside",
        ),
        "select benchmark, cell_count, row_count, median_error, coverage, cell_coverage, "
        "coverage_inside, coverage_extrapolated from marts.prediction_check order by benchmark",
        (None, None, None, 3, 2, 2, 2, 2),
    ),
    "progress": PageTable(
        (
            "benchmark",
            "same system again",
            "software a year",
            "by the law",
            "generations",
            "a generation",
            "hardware a year",
        ),
        "select benchmark, software_pair_count, software_yearly_speedup, law_yearly_speedup, "
        "hardware_pair_count, hardware_generation_speedup, hardware_yearly_speedup "
        "from marts.progress order by benchmark",
        (None, None, 2, 2, None, 2, 2),
    ),
}


def main(arguments: Sequence[str]) -> int:
    """Rewrites the tables of the named pages."""
    with open_warehouse(load().warehouse_path) as con:
        for name in arguments:
            path = Path(name)
            text = rewrite_tables(path.read_text(encoding="utf-8"), con)
            path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
