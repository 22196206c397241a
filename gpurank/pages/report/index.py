"""The index of a report: a matrix of benchmarks and rounds, who is first where, what was read."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from gpurank.answers.notes import footnotes
from gpurank.declared.rounds import round_order
from gpurank.pages.report.data import Page, PageKey
from gpurank.pages.report.document import document
from gpurank.pages.report.parts import Head, Markup, figure, filled, link, table
from gpurank.pages.report.words import benchmark_name, chips_of, number, short, system_of

SCRIPTS = ("theme.js", "index.js")


def index_html(pages: Sequence[Page]) -> str:
    """The index page of these pages as HTML text."""
    sources = sorted(
        {source for page in pages for source in page.sources},
        key=lambda source: round_order(source.round_id),
    )
    chips = pages[0].lambda_chips
    divisions = {entry["division"] for page in pages for entry in page.entries if entry["division"]}
    notes = footnotes(None, sources, divisions, chips)
    rounds = sorted({page.key.round_id for page in pages if page.key.round_id}, key=round_order)
    benchmarks = sorted({page.key.benchmark for page in pages})
    lead = (
        f"{len(benchmarks)} benchmarks of {len(rounds)} rounds, every published result read from "
        f"its own logs, ranked by delay cost (derived): minutes × (accelerators + λ), here with "
        f"λ = {short(chips)}."
    )
    span = f"{rounds[0]} to {rounds[-1]}" if len(rounds) > 1 else "".join(rounds)
    body = filled(
        "index.html",
        {
            "where": f"MLPerf® Training {span} · ranking tables (derived)",
            "lead": escape(lead),
            "lists": _matrix(pages, benchmarks, rounds),
            "rankings": figure("first", "First of each ranking (derived)", _first(pages), notes),
            "rounds": figure("read", "What was read", _rounds(pages), notes),
        },
    )
    return document("Rankings of training configurations (derived)", lead, body, SCRIPTS)


def _matrix(pages: Sequence[Page], benchmarks: Sequence[str], rounds: Sequence[str]) -> str:
    """Links only, no results: which lists there are, the newest round first."""
    counts = {page.key: len(page.entries) for page in pages}

    def cell(key: PageKey) -> Markup | None:
        if key not in counts:
            return None
        name = f"{benchmark_name(key.benchmark)}, {key.round_id or 'all comparable rounds'}"
        return Markup(
            f'<a href="{key.file_name}" aria-label="{escape(name)}: {counts[key]} results">'
            f"{counts[key]}</a>"
        )

    latest = rounds[::-1]
    heads = [Head("Benchmark"), Head("All rounds", True), *(Head(name, True) for name in latest)]
    rows = [
        [
            benchmark_name(benchmark),
            cell(PageKey(benchmark)),
            *(cell(PageKey(benchmark, name)) for name in latest),
        ]
        for benchmark in benchmarks
    ]
    return (
        '<nav class="matrix" aria-labelledby="matrix-caption"><p class="hint" id="matrix-caption">'
        "Ranked results by benchmark and round; each number opens its list.</p>"
        f"{table('matrix', heads, rows)}</nav>"
    )


def _first(pages: Sequence[Page]) -> str:
    heads = (
        Head("Benchmark"),
        Head("Round"),
        Head("First by delay cost"),
        Head("Accelerators"),
        Head("Minutes", True),
        Head("Acc.-minutes", True),
        Head("Availability"),
        Head("Ranked", True),
    )
    rows = []
    for page in sorted(pages, key=_newest_first):
        first = page.entries[0]
        filed = "" if page.key.round_id else f" (filed in {first['round_id']})"
        rows.append(
            (
                link(page.key.file_name, benchmark_name(page.key.benchmark)),
                page.key.round_id or "all",
                system_of(first) + filed,
                chips_of(first),
                number(first["score_min"]),
                number(first["accelerator_minutes"]),
                first["availability"],
                f"{len(page.entries):,}",
            )
        )
    return f'<div id="first-table">{table("first", heads, rows, is_stacked=True)}</div>'


def _newest_first(page: Page) -> tuple[str, bool, tuple[int, ...]]:
    """By benchmark; its pooled list, then its rounds from the newest on."""
    name = page.key.round_id
    return (
        page.key.benchmark,
        name is not None,
        tuple(-part for part in round_order(name or "v0.0")),
    )


def _rounds(pages: Sequence[Page]) -> str:
    heads = (
        Head("Round"),
        Head("Published"),
        Head("Source"),
        Head("Licence"),
        Head("Submitters", True),
        Head("Results", True),
        Head("Ranked", True),
        Head("Set aside", True),
    )
    found = {row["round_id"]: row for page in pages for row in page.rounds}
    rows = [
        (
            name,
            row["published_on"],
            _repository(row["repository"], row["source_commit"]),
            row.get("source_licence") or "none on record",
            f"{row['submitter_count']:,}",
            f"{row['result_count']:,}",
            f"{row['ranked_count']:,}",
            f"{row['quarantined_count']:,}",
        )
        for name, row in sorted(found.items(), key=lambda item: round_order(item[0]))
    ]
    return table("read", heads, rows, is_stacked=True)


def _repository(repository: str, commit: str | None) -> Markup:
    name = repository.rpartition("/")[2]
    if not commit:
        return link(repository, name)
    return link(f"{repository}/tree/{commit}", f"{name}@{commit[:12]}")
