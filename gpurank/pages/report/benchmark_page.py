"""The page of one list: the answer, the controls, the ranking, and the sections below it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpurank.answers.notes import Source, footnotes
from gpurank.declared.rounds import declared_rounds
from gpurank.pages.html import NavigationLink, render_page
from gpurank.pages.numbers import count, plural
from gpurank.pages.report import GENERATOR, charts, sections
from gpurank.pages.report.data import Page, Row
from gpurank.pages.report.payload import payload
from gpurank.pages.report.words import (
    chips_of,
    describe_cluster,
    describe_law,
    describe_progress,
    describe_stability,
    headline,
    list_name,
    month_of,
    site_of,
    system_of,
)

SCRIPTS = ("order.js", "page.js", "details.js", "plane.js", "start.js")
# Heading, sort key, explanation, by column of the ranking table.
_RANKING_COLUMNS = (
    ("Rank", "rank", "1 is best"),
    ("90 % of ranks", "interval", "rank interval over run noise, site noise and λ from 1 to 64"),
    ("Tie", "tie", "entries that are statistically tied share a tie group"),
    ("System", "system", "submitter and system"),
    ("Accelerators", "count", "count and model"),
    ("Minutes", "minutes", "time to train"),
    ("Acc.-minutes", "work", "accelerators × minutes (derived)"),
    ("Delay cost", "cost", "minutes × (accelerators + λ) (derived)"),
    ("Cluster", "cluster", "group of similar configurations"),
    ("Status", "status", "availability and site"),
)


def page_html(page: Page, age: Sequence[str] = ()) -> str:
    """Returns the page as HTML text: one file that needs nothing else.

    The ranking is a plain table in it, so that it reads without scripts too. ``age`` says how old
    the data are, in sentences.
    """
    benchmark = declared_rounds().title(page.key.benchmark)
    where = list_name(page.key, _rounds(page))
    plane_title = f"Time to train against accelerators: {benchmark}, {where}"
    efficiency_title = f"Efficiency against size: {benchmark}, {where}"
    law = page.law if page.law is not None and page.law["reason"] is None else None
    law_text = describe_law(law, page.marks) if law is not None else ""
    return render_page(
        "benchmark.html",
        title=f"{benchmark}, {where}: ranking table (derived)",
        about=headline(page),
        age=age,
        navigation=_navigation(page),
        scripts=SCRIPTS,
        generator=GENERATOR,
        home="index.html",
        data=payload(page),
        page=page,
        benchmark=benchmark,
        where=where,
        notes=page_notes(page),
        notes_of_all_rounds=page_notes(page, page.all_sources),
        shapes=charts.SHAPES,
        ranking_columns=_RANKING_COLUMNS,
        tiles=_tiles(page),
        filters=_filters(page),
        warnings=_warnings(page),
        plane_title=plane_title,
        plane=sections.time_against_size(page, plane_title),
        cluster_names=_cluster_names(page),
        has_unclustered=any(entry["cluster_label"] is None for entry in page.entries),
        best_by_lambda=sections.best_by_lambda(page),
        law_text=law_text,
        law_is_missing_because=_why_no_law(page),
        efficiency_title=efficiency_title,
        efficiency=sections.efficiency_chart(page, efficiency_title, law_text),
        clusters=[row for row in page.clusters if row["cluster_label"] is not None],
        clusters_are_missing_because=page.clusters[0]["reason"] if page.clusters else "none made",
        cluster_stability=describe_stability(page.clusters),
        cluster_counts=_cluster_counts(page),
        progress_text=describe_progress(page),
        generations=sections.generations(page),
        software=sections.software(page),
        quality_text=_quality_text(page),
        left_out=sections.left_out(page),
        issues=sections.issues(page),
        rounds_read=sections.rounds_read(page),
        chips_of=chips_of,
        month_of=month_of,
        describe_cluster=describe_cluster,
        shape_of=charts.shape_of,
        site_of=site_of,
        system_of=system_of,
    )


def page_notes(page: Page, sources: Sequence[Source] = ()) -> tuple[str, ...]:
    """Returns the footnote of the page's tables and charts.

    ``sources`` are those of the rounds shown, where these are more than the list's own.
    """
    divisions = {entry["division"] for entry in page.entries if entry["division"]}
    return footnotes(page.key.benchmark, sources or page.sources, divisions, page.lambda_chips)


def _rounds(page: Page) -> list[str]:
    return [source.round_id for source in page.sources] or [page.entries[0]["round_id"]]


def _navigation(page: Page) -> list[NavigationLink]:
    return [
        NavigationLink(key.round_id or "all rounds", key.file_name, key == page.key)
        for key in page.siblings or (page.key,)
    ]


def _tiles(page: Page) -> list[tuple[str, str, Row]]:
    """Returns the three answers: the name in element ids, the heading's start, the entry."""
    fastest = min(page.entries, key=lambda e: (e["score_min"], e["accelerator_count"], e["rank"]))
    least = min(page.entries, key=lambda e: (e["accelerator_minutes"], e["rank"]))
    return [
        ("best", "Lowest delay cost", page.entries[0]),
        ("fastest", "Fastest", fastest),
        ("least", "Fewest accelerator-minutes (derived)", least),
    ]


def _filters(page: Page) -> list[tuple[str, str, list[Any]]]:
    """Returns the name, label and values of each filter that has two values or more."""
    sites = [site_of(entry) for entry in page.entries]
    filters = [
        ("family", "Accelerator", _values(page, "accelerator_family")),
        ("submitter", "Submitter", _values(page, "submitter")),
        ("availability", "Availability", _values(page, "availability")),
        ("place", "Site", [site for site in ("on premises", "cloud") if site in sites]),
        ("cluster", "Cluster", _values(page, "cluster_label")),
        ("round", "Round", _values(page, "round_id") if page.key.round_id is None else []),
    ]
    return [each for each in filters if len(each[2]) > 1]


def _values(page: Page, column: str) -> list[Any]:
    return sorted({entry[column] for entry in page.entries if entry[column] is not None})


def _warnings(page: Page) -> list[str]:
    """Returns why entries of a pooled list compare only with care."""
    if page.key.round_id is not None:
        return []
    return sorted({e["comparison_warning"] for e in page.entries if e["comparison_warning"]})


def _cluster_names(page: Page) -> list[tuple[int, str]]:
    names = {
        entry["cluster_label"]: entry["cluster_name"] or ""
        for entry in page.entries
        if entry["cluster_label"] is not None
    }
    return sorted(names.items())


def _cluster_counts(page: Page) -> dict[int, int]:
    labels = [entry["cluster_label"] for entry in page.entries]
    return {label: labels.count(label) for label in set(labels)}


def _why_no_law(page: Page) -> str:
    if page.law is None:
        return "This warehouse holds no fleet law for this benchmark."
    return f"No fleet law could be fitted: {page.law['reason']}."


def _quality_text(page: Page) -> str:
    refiled = sum(not entry["is_independent"] for entry in page.entries)
    left_out = sum(row["result_count"] for row in page.left_out)
    return (
        f"{plural(len(page.entries), 'result')} ranked here"
        + (f", {count(refiled)} of them measured and filed in an earlier round" if refiled else "")
        + f"; {count(left_out)} left out, with the reason for each below."
    )
