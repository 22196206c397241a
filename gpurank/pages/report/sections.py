"""The charts and tables of a benchmark page below its ranking; None where the data are missing."""

from __future__ import annotations

import math

import numpy as np
from markupsafe import Markup

from gpurank.method.fleet_law import efficiency
from gpurank.method.pareto import pareto_front
from gpurank.pages.html import Column, Table, breakable, element, link
from gpurank.pages.numbers import count, fixed, number, short
from gpurank.pages.report import charts
from gpurank.pages.report.data import Page, Row
from gpurank.pages.report.words import chips_of


def time_against_size(page: Page, title: str) -> Markup:
    """Returns the chart of time against count, by cluster, with the Pareto front.

    Entries that are best for some λ have a ring.
    """
    points = [
        charts.Point(
            entry["accelerator_count"],
            entry["score_min"],
            index,
            entry["cluster_label"],
            entry["best_for_lambda_low"] is not None,
        )
        for index, entry in enumerate(page.entries)
    ]
    coordinates = np.array([(point.x, point.y) for point in points], dtype=np.float64)
    on_front = coordinates[pareto_front(coordinates[:, 0], coordinates[:, 1])]
    front = sorted({(float(x), float(y)) for x, y in on_front})
    about = (
        f"{len(points)} results, {number(min(p.x for p in points))} to "
        f"{number(max(p.x for p in points))} accelerators, "
        f"{number(min(p.y for p in points))} to {number(max(p.y for p in points))} minutes; "
        f"{len(front)} on the Pareto front. The ranking table above lists every point."
    )
    return charts.plane(points, front, title, about)


def efficiency_chart(page: Page, title: str, about: str) -> Markup | None:
    """Returns efficiency against size with the fleet law; None where no law was fitted."""
    law = page.law
    if law is None or law["reason"] is not None:
        return None
    # An entry's efficiency is the law's at its count, corrected by the entry's residual.
    points = [
        charts.Point(
            entry["accelerator_count"],
            entry["fleet"]["fleet_efficiency"] * math.exp(-entry["fleet"]["log_residual"]),
            index,
            entry["cluster_label"],
        )
        for index, entry in enumerate(page.entries)
        if entry["fleet"] is not None and entry["fleet"]["log_residual"] is not None
    ]
    break_evens = [
        charts.BreakEven(
            float(row["fleet_efficiency"]),
            float(row["accelerator_count"]),
            row["count_low"],
            row["count_high"],
        )
        for row in page.marks
    ]
    return charts.efficiency(
        lambda size: float(efficiency(size, law["half_count"], law["exponent"])),
        points,
        break_evens,
        title,
        about,
    )


def best_by_lambda(page: Page) -> Table:
    """Returns the entries that are best for some λ, by rising λ."""
    best = sorted(
        (entry for entry in page.entries if entry["best_for_lambda_low"] is not None),
        key=lambda entry: entry["best_for_lambda_low"],
    )
    columns = (
        Column("λ, in chips"),
        Column("Best system"),
        Column("Round"),
        Column("Accelerators"),
        Column("Minutes", True),
        Column("Acc.-minutes", True),
        Column("Availability"),
    )
    rows = [
        (
            _lambda_interval(entry),
            element("b", entry["submitter"] or "") + " " + str(entry["system_name"]),
            entry["round_id"],
            chips_of(entry),
            number(entry["score_min"]),
            number(entry["accelerator_minutes"]),
            entry["availability"],
        )
        for entry in best
    ]
    return Table(columns, rows, is_stacked=True)


def _lambda_interval(entry: Row) -> str:
    low, high = entry["best_for_lambda_low"], entry["best_for_lambda_high"]
    if high is None:
        return f"from {short(low)}" if low > 0 else "any"
    return f"up to {short(high)}" if low <= 0 else f"{short(low)} to {short(high)}"


def generations(page: Page) -> Table | None:
    """Returns the fastest entry with eight accelerators of each family, with its predecessor's."""
    columns = (
        Column("Round"),
        Column("Family"),
        Column("Accelerator"),
        Column("Launched", True),
        Column("Fastest, minutes", True),
        Column("Previous family"),
        Column("Times as fast", True),
        Column("Result"),
    )
    rows = [
        (
            row["round_id"],
            f"{row['accelerator_vendor']} {row['accelerator_family']}",
            row["accelerator"],
            row["accelerator_launch_year"],
            number(row["score_min"]),
            row["previous_family"],
            None if row["speedup"] is None else fixed(row["speedup"], 2),
            breakable(row["result_id"]),
        )
        for row in page.hardware
    ]
    return Table(columns, rows, is_stacked=True) if rows else None


def software(page: Page) -> Table | None:
    """Returns results on the same hardware in two rounds."""
    columns = (
        Column("Submitter"),
        Column("Accelerators"),
        Column("From"),
        Column("To"),
        Column("Minutes before", True),
        Column("Minutes after", True),
        Column("Times as fast", True),
        Column("Result"),
    )
    rows = [
        (
            row["submitter"],
            f"{count(row['accelerator_count'])} × {row['accelerator']}",
            row["from_round_id"],
            row["to_round_id"],
            number(row["from_score_min"]),
            number(row["to_score_min"]),
            fixed(row["speedup"], 2),
            breakable(row["to_result_id"]),
        )
        for row in page.software
    ]
    return Table(columns, rows, is_stacked=True) if rows else None


def left_out(page: Page) -> Table | None:
    """Returns how many results have no rank, by reason."""
    columns = (Column("Why left out"), Column("Results", True))
    rows = [(row["reason"], count(row["result_count"])) for row in page.left_out]
    return Table(columns, rows) if rows else None


def issues(page: Page) -> Table | None:
    """Returns the kinds of issue that affect ranked results, with an example of each."""
    columns = (
        Column("Level"),
        Column("Kind"),
        Column("Results", True),
        Column("Example"),
        Column("Result"),
    )
    rows = [
        (
            row["level"],
            row["kind"].replace("_", "\u00a0"),
            count(row["result_count"]),
            breakable(row["example"]),
            breakable(row["result_id"]),
        )
        for row in page.issues
    ]
    return Table(columns, rows) if rows else None


def rounds_read(page: Page) -> Table:
    """Returns what was read of each round of the list, over all benchmarks."""
    columns = (
        Column("Round"),
        Column("Source"),
        Column("Folders", True),
        Column("Results", True),
        Column("With a score", True),
        Column("Ranked", True),
        Column("Quarantined", True),
        Column("Version"),
    )
    rows = [
        (
            row["round_id"],
            source_link(row["repository"], row["source_commit"]),
            count(row["folder_count"]),
            count(row["result_count"]),
            count(row["scored_count"]),
            count(row["ranked_count"]),
            count(row["quarantined_count"]),
            row["version_id"],
        )
        for row in page.rounds
    ]
    return Table(columns, rows)


def source_link(repository: str, commit: str | None) -> Markup:
    """Returns a link to a repository, at its commit where that is known."""
    name = repository.rpartition("/")[2]
    if not commit:
        return link(repository, name)
    return link(f"{repository}/tree/{commit}", f"{name}@{commit[:12]}")
