"""The index of a report: a matrix of benchmarks and rounds, the first of each, what was read."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from gpurank.answers.notes import footnotes
from gpurank.declared.rounds import declared_rounds, round_order
from gpurank.pages.html import Column, NavigationLink, Table, link, render_page
from gpurank.pages.numbers import count, number, short
from gpurank.pages.report import GENERATOR
from gpurank.pages.report.data import Page, PageKey
from gpurank.pages.report.sections import source_link
from gpurank.pages.report.words import chips_of, system_of


def index_html(pages: Sequence[Page], age: Sequence[str] = ()) -> str:
    """Returns the index of these pages as HTML text; ``age`` says how old the data are."""
    sources = {source for page in pages for source in page.sources}
    chips = pages[0].lambda_chips
    divisions = {entry["division"] for page in pages for entry in page.entries if entry["division"]}
    rounds = sorted({page.key.round_id for page in pages if page.key.round_id}, key=round_order)
    benchmarks = sorted({page.key.benchmark for page in pages})
    lead = (
        f"{len(benchmarks)} benchmarks of {len(rounds)} rounds: every published result, read from "
        "its own logs and ranked by delay cost (derived): minutes × (accelerators + λ), here with "
        f"λ = {short(chips)}."
    )
    return render_page(
        "index.html",
        title="Rankings of training configurations (derived)",
        about=lead,
        age=age,
        navigation=[NavigationLink("Rankings", "#lists"), NavigationLink("Rounds", "#rounds")],
        scripts=("index.js",),
        generator=GENERATOR,
        home="index.html",
        span=f"{rounds[0]} to {rounds[-1]}" if len(rounds) > 1 else "".join(rounds),
        notes=footnotes(None, sources, divisions, chips),
        lists=_lists(pages, benchmarks, rounds[::-1]),
        first=_first(pages),
        rounds_read=_rounds_read(pages),
    )


def _lists(pages: Sequence[Page], benchmarks: Sequence[str], rounds: Sequence[str]) -> Table:
    """Returns which lists there are: links only, no results."""
    counts = {page.key: len(page.entries) for page in pages}

    def cell(key: PageKey) -> Markup | None:
        if key not in counts:
            return None
        name = (
            f"{declared_rounds().title(key.benchmark)}, {key.round_id or 'all comparable rounds'}"
        )
        return Markup('<a href="{0}" aria-label="{1}: {2} results">{2}</a>').format(
            key.file_name, name, counts[key]
        )

    columns = [
        Column("Benchmark"),
        Column("All rounds", True),
        *(Column(name, True) for name in rounds),
    ]
    rows = [
        [
            declared_rounds().title(benchmark),
            cell(PageKey(benchmark)),
            *(cell(PageKey(benchmark, name)) for name in rounds),
        ]
        for benchmark in benchmarks
    ]
    return Table(columns, rows)


def _first(pages: Sequence[Page]) -> Table:
    columns = (
        Column("Benchmark"),
        Column("Round"),
        Column("First by delay cost"),
        Column("Accelerators"),
        Column("Minutes", True),
        Column("Acc.-minutes", True),
        Column("Availability"),
        Column("Ranked", True),
    )
    rows = []
    for page in sorted(pages, key=_newest_first):
        first = page.entries[0]
        filed = "" if page.key.round_id else f" (filed in {first['round_id']})"
        rows.append(
            (
                link(page.key.file_name, declared_rounds().title(page.key.benchmark)),
                page.key.round_id or "all",
                system_of(first) + filed,
                chips_of(first),
                number(first["score_min"]),
                number(first["accelerator_minutes"]),
                first["availability"],
                count(len(page.entries)),
            )
        )
    return Table(columns, rows, is_stacked=True)


def _newest_first(page: Page) -> tuple[str, bool, tuple[int, ...]]:
    """Sorts by benchmark; its pooled list, then its rounds from the newest on."""
    name = page.key.round_id
    return (
        page.key.benchmark,
        name is not None,
        tuple(-part for part in round_order(name or "v0.0")),
    )


def _rounds_read(pages: Sequence[Page]) -> Table:
    columns = (
        Column("Round"),
        Column("Published"),
        Column("Source"),
        Column("Licence"),
        Column("Submitters", True),
        Column("Results", True),
        Column("Ranked", True),
        Column("Quarantined", True),
    )
    rounds = {row["round_id"]: row for page in pages for row in page.rounds}
    rows = [
        (
            name,
            row["published_on"],
            source_link(row["repository"], row["source_commit"]),
            row.get("source_licence") or "none on record",
            count(row["submitter_count"]),
            count(row["result_count"]),
            count(row["ranked_count"]),
            count(row["quarantined_count"]),
        )
        for name, row in sorted(rounds.items(), key=lambda item: round_order(item[0]))
    ]
    return Table(columns, rows, is_stacked=True)
