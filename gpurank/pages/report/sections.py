"""The sections below the ranking: plane, price of waiting, fleet law, clusters, progress, quality.

A section without data says why; none is left out silently.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

from gpurank.pages.report import charts
from gpurank.pages.report.charts import Point, legend_mark
from gpurank.pages.report.data import Page, Row
from gpurank.pages.report.parts import Head, Markup, breakable, figure, table
from gpurank.pages.report.words import (
    benchmark_name,
    chips_of,
    cluster_card,
    cluster_firmness,
    law_words,
    list_name,
    number,
    progress_words,
    short,
)

Notes = Sequence[str]


def plane(page: Page, notes: Notes) -> str:
    """Time against count, by cluster, with the Pareto front and those best for some λ."""
    points = [
        Point(
            entry["accelerator_count"],
            entry["score_min"],
            place,
            entry["cluster_label"],
            entry["best_for_lambda_low"] is not None,
        )
        for place, entry in enumerate(page.entries)
    ]
    front = charts.pareto_front([(point.x, point.y) for point in points])
    about = (
        f"{len(points)} results, {number(min(p.x for p in points))} to "
        f"{number(max(p.x for p in points))} accelerators, "
        f"{number(min(p.y for p in points))} to {number(max(p.y for p in points))} minutes; "
        f"{len(front)} on the Pareto front. The ranking table above holds every point."
    )
    name = f"{benchmark_name(page.key.benchmark)}, {_where(page)}"
    title = f"Time to train against accelerators: {name}"
    drawn = charts.plane(points, front, title, about)
    legend = _legend(page)
    hint = '<p class="hint" id="plane-reading" role="status"></p>'
    return figure(
        "plane-chart",
        title,
        f'<div class="chart-box" data-keys="plane">{drawn}</div>{hint}{legend}',
        notes,
        "Pareto front: no other result of the list has fewer accelerators and less time.",
    )


def _legend(page: Page) -> str:
    names = {
        entry["cluster_label"]: entry["cluster_name"]
        for entry in page.entries
        if entry["cluster_label"] is not None
    }
    items = [
        f"<li>{legend_mark(label)} {label} {escape(names[label] or '')}</li>"
        for label in sorted(names)
    ]
    if any(entry["cluster_label"] is None for entry in page.entries):
        items.append(f"<li>{legend_mark(None)} no cluster</li>")
    lines = (
        ("front", "M0 8H9V2H22", "Pareto front"),
        ("iso", "M0 9L22 1", "equal delay cost with the first"),
    )
    for kind, path, text in lines:
        items.append(
            f'<li><svg class="key line" viewBox="0 0 22 10" width="22" height="10" '
            f'aria-hidden="true"><path class="{kind}" d="{path}"/></svg> {text}</li>'
        )
    items.append(
        '<li><svg class="key" viewBox="-11 -11 22 22" width="16" height="16" aria-hidden="true">'
        '<circle class="ring" r="9"/></svg> best for some λ</li>'
    )
    return f'<ul class="legend">{"".join(items)}</ul>'


def waiting(page: Page, notes: Notes) -> str:
    """Which entry is best at which price of waiting."""
    best = sorted(
        (entry for entry in page.entries if entry["best_for_lambda_low"] is not None),
        key=lambda entry: entry["best_for_lambda_low"],
    )
    rows = [
        (
            _interval(entry),
            Markup(f"<b>{escape(entry['submitter'] or '')}</b> {escape(entry['system_name'])}"),
            entry["round_id"],
            chips_of(entry),
            number(entry["score_min"]),
            number(entry["accelerator_minutes"]),
            entry["availability"],
        )
        for entry in best
    ]
    heads = (
        Head("λ, in chips"),
        Head("Best system"),
        Head("Round"),
        Head("Accelerators"),
        Head("Minutes", True),
        Head("Acc.-minutes", True),
        Head("Availability"),
    )
    caption = f"Best at each price of waiting: {benchmark_name(page.key.benchmark)}, {_where(page)}"
    basis = "λ: a minute of waiting is worth the rental of λ accelerators of the same kind."
    return figure("waiting", caption, table("waiting", heads, rows, True), notes, basis)


def _interval(entry: Row) -> str:
    low, high = entry["best_for_lambda_low"], entry["best_for_lambda_high"]
    if high is None:
        return f"from {short(low)} on" if low > 0 else "any"
    return f"up to {short(high)}" if low <= 0 else f"{short(low)} to {short(high)}"


def law(page: Page, notes: Notes) -> str:
    """Efficiency against size with the fleet law and its break-even marks, or why there is none."""
    found = page.law
    if found is None:
        return _absent("This warehouse holds no fleet law for this benchmark.")
    if found["reason"] is not None:
        return _absent(f"No fleet law could be fitted: {found['reason']}.")
    said = law_words(found, page.marks)
    title = f"Efficiency against size: {benchmark_name(page.key.benchmark)}, {_where(page)}"
    drawn = charts.efficiency(_curve(found), _fleet_points(page), _marks(page), title, said)
    lines = (
        ("law", "M0 2C8 2 12 8 22 9", "fleet law"),
        ("whisker", "M0 5H22", "break-even count with its interval"),
    )
    legend = "".join(
        f'<li><svg class="key line" viewBox="0 0 22 10" width="22" height="10" aria-hidden="true">'
        f'<path class="{kind}" d="{path}"/></svg> {text}</li>'
        for kind, path, text in lines
    )
    content = f'<div class="chart-box">{drawn}</div><ul class="legend">{legend}</ul>'
    made = figure("efficiency-chart", title, content, notes, _LAW_BASIS)
    return f"<p>{escape(said)}</p>{made}"


_LAW_BASIS = (
    "Efficiency (derived, not an official metric): accelerator-minutes of 8 accelerators over "
    "those of the count, by a law fitted to all comparable rounds; a point is a result of this "
    "list against the law fitted without it. Whiskers: 90 % over resampled submitters."
)


def _curve(found: Row) -> Callable[[float], float]:
    half, exponent = found["half_count"], found["exponent"]
    grown = 1 + (8 / half) ** exponent
    return lambda count: float(grown / (1 + (count / half) ** exponent))


def _fleet_points(page: Page) -> list[Point]:
    """Each result's efficiency: the law's at its count, corrected by its residual."""
    return [
        Point(
            entry["accelerator_count"],
            entry["fleet"]["fleet_efficiency"] * math.exp(-entry["fleet"]["log_residual"]),
            place,
            entry["cluster_label"],
        )
        for place, entry in enumerate(page.entries)
        if entry["fleet"] is not None and entry["fleet"]["log_residual"] is not None
    ]


def _marks(page: Page) -> list[charts.Mark]:
    return [
        (
            float(row["fleet_efficiency"]),
            float(row["accelerator_count"]),
            row["count_low"],
            row["count_high"],
        )
        for row in page.marks
    ]


def clusters(page: Page, notes: Notes) -> str:
    """Cluster cards in plain words, or why there are none."""
    profiles = [row for row in page.clusters if row["cluster_label"] is not None]
    if not profiles:
        reason = page.clusters[0]["reason"] if page.clusters else "none were made"
        return _absent(f"This benchmark has no clusters: {reason}.")
    counts: dict[int, int] = {}
    for entry in page.entries:
        counts[entry["cluster_label"]] = counts.get(entry["cluster_label"], 0) + 1
    cards = []
    for row in profiles:
        label = row["cluster_label"]
        here = counts.get(label, 0)
        cards.append(
            f'<section class="card"><h3>{legend_mark(label)} {label} {escape(row["name"])}</h3>'
            f"<p>{escape(cluster_card(row))}</p>"
            f"<p>Leading families: {escape(row['leading_families'] or 'none')}. "
            f"In this list: {here:,}.</p></section>"
        )
    note = profiles[0].get("count_note")
    firm = cluster_firmness(profiles)
    said = f"<p>{escape(firm)}</p>" if firm else ""
    if note:
        said += f'<p class="hint">In the method\'s terms: {escape(note)}.</p>'
    name = benchmark_name(page.key.benchmark)
    caption = f"Clusters of {name} over its comparable rounds (derived)"
    basis = "Clusters: K-means on log time, log count and log accelerator-minutes of all rounds."
    return said + figure(
        "clusters", caption, f'<div class="cards">{"".join(cards)}</div>', notes, basis
    )


def progress(page: Page, notes: Notes) -> str:
    """What software and what new generations gained."""
    said = f"<p>{escape(progress_words(page))}</p>"
    name, parts = benchmark_name(page.key.benchmark), [said]
    if page.hardware:
        parts.append(_generations(page, name, notes))
    if page.software:
        parts.append(_software(page, name, notes))
    return "".join(parts)


def _generations(page: Page, name: str, notes: Notes) -> str:
    heads = (
        Head("Round"),
        Head("Family"),
        Head("Accelerator"),
        Head("Launched", True),
        Head("Fastest, minutes", True),
        Head("Family before"),
        Head("Times as fast", True),
        Head("Result"),
    )
    rows = [
        (
            row["round_id"],
            f"{row['accelerator_vendor']} {row['accelerator_family']}",
            row["accelerator"],
            row["accelerator_launch_year"],
            number(row["score_min"]),
            row["previous_family"],
            None if row["speedup"] is None else f"{row['speedup']:.2f}",
            breakable(row["result_id"]),
        )
        for row in page.hardware
    ]
    basis = "The fastest entry with 8 accelerators of each family; entries differ in software too."
    content = table("generations", heads, rows, True)
    return figure("generations", f"Generations, eight against eight: {name}", content, notes, basis)


def _software(page: Page, name: str, notes: Notes) -> str:
    heads = (
        Head("Submitter"),
        Head("Accelerators"),
        Head("From"),
        Head("To"),
        Head("Minutes before", True),
        Head("Minutes after", True),
        Head("Times as fast", True),
        Head("Result"),
    )
    rows = [
        (
            row["submitter"],
            f"{row['accelerator_count']:,} × {row['accelerator']}",
            row["from_round_id"],
            row["to_round_id"],
            number(row["from_score_min"]),
            number(row["to_score_min"]),
            f"{row['speedup']:.2f}",
            breakable(row["to_result_id"]),
        )
        for row in page.software
    ]
    basis = "Same submitter, accelerator, count and host processor; different measurements."
    content = table("software", heads, rows, True)
    return figure("software", f"Software on the same hardware: {name}", content, notes, basis)


def _where(page: Page) -> str:
    return list_name(page.key, [source.round_id for source in page.sources] or ["?"])


def _absent(reason: str) -> str:
    return f'<p class="absent">{escape(reason)}</p>'
