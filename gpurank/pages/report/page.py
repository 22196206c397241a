"""One list's page: the answer, the controls, the ranking table; sections.py makes the rest."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from gpurank.answers.notes import Source, footnotes
from gpurank.pages.report import sections
from gpurank.pages.report.charts import legend_mark, symbols
from gpurank.pages.report.data import Page, PageKey, Row
from gpurank.pages.report.document import document
from gpurank.pages.report.parts import figure, filled
from gpurank.pages.report.payload import embedded, payload
from gpurank.pages.report.quality import quality_box
from gpurank.pages.report.words import (
    benchmark_name,
    chips_of,
    headline,
    list_name,
    number,
    short,
    system_of,
)

SCRIPTS = ("theme.js", "order.js", "page.js", "details.js", "plane.js", "start.js")


def page_html(page: Page) -> str:
    """The page as HTML text: one file that needs nothing else.

    The ranking stands in it as a plain table, so that it reads without scripts too.
    """
    notes, wide = page_notes(page), page_notes(page, page.all_sources)
    name, where = benchmark_name(page.key.benchmark), list_name(page.key, _rounds(page))
    body = filled(
        "page.html",
        {
            "symbols": symbols(),
            "benchmark": escape(name),
            "where": escape(where),
            "count": f"{len(page.entries):,}",
            "navigation": _navigation(page),
            "headline": escape(headline(page)),
            "tiles": figure("answers", "Three answers", _tiles(page), notes),
            "lambda": short(page.lambda_chips),
            "options": _options(page),
            "warning": _warning(page),
            "ranking": figure(
                "ranking",
                f"Ranking table (derived): {name}, {where}",
                _ranking(page),
                notes,
                "Rank intervals hold 90 % of draws over run noise, site noise where it is known, "
                "and λ from 1 to 64; tie groups by run noise alone.",
            ),
            "plane": sections.plane(page, notes),
            "waiting": sections.waiting(page, notes),
            "law": sections.law(page, wide),
            "clusters": sections.clusters(page, wide),
            "progress": sections.progress(page, wide),
            "quality": quality_box(page, notes),
        },
    )
    title = f"{name}, {where}: ranking table (derived)"
    return document(title, headline(page), body, SCRIPTS, embedded(payload(page)))


def page_notes(page: Page, sources: Sequence[Source] = ()) -> tuple[str, ...]:
    """The footnote of a table or chart of the page; ``sources`` where it shows other rounds too."""
    divisions = {entry["division"] for entry in page.entries if entry["division"]}
    return footnotes(page.key.benchmark, sources or page.sources, divisions, page.lambda_chips)


def _rounds(page: Page) -> list[str]:
    return [source.round_id for source in page.sources] or [
        entry["round_id"] for entry in page.entries[:1]
    ]


def _navigation(page: Page) -> str:
    def item(key: PageKey) -> str:
        text = key.round_id or "all rounds"
        if key == page.key:
            return f'<li><a aria-current="page" href="{key.file_name}">{text}</a></li>'
        return f'<li><a href="{key.file_name}">{text}</a></li>'

    return "".join(item(key) for key in page.siblings or (page.key,))


def _tiles(page: Page) -> str:
    fastest = min(page.entries, key=lambda e: (e["score_min"], e["accelerator_count"], e["rank"]))
    least = min(page.entries, key=lambda e: (e["accelerator_minutes"], e["rank"]))
    tiles = [
        _tile("best", f"Lowest delay cost (λ = {short(page.lambda_chips)})", page.entries[0]),
        _tile("fastest", "Fastest", fastest),
        _tile("least", "Fewest accelerator-minutes (derived)", least),
    ]
    return f'<div class="tiles">{"".join(tiles)}</div>'


def _tile(name: str, title: str, entry: Row) -> str:
    figures = (
        ("minutes", number(entry["score_min"])),
        ("accelerator-minutes", number(entry["accelerator_minutes"])),
        ("delay cost", number(entry["delay_cost"])),
    )
    facts = "".join(f"<div><dt>{label}</dt><dd>{text}</dd></div>" for label, text in figures)
    return (
        f'<section class="tile" id="tile-{name}"><h3>{escape(title)}</h3>'
        f'<p class="who">{escape(system_of(entry))}</p>'
        f'<p class="what">{escape(chips_of(entry))} · {entry["round_id"]} · '
        f"{escape(entry['availability'] or 'availability not filed')}</p><dl>{facts}</dl></section>"
    )


def _options(page: Page) -> str:
    """The filters: one select a property, with the values that occur."""
    chosen = (
        ("family", "Accelerator", _values(page, "accelerator_family")),
        ("submitter", "Submitter", _values(page, "submitter")),
        ("availability", "Availability", _values(page, "availability")),
        ("place", "Site", [value for value in ("on premises", "cloud") if _has(page, value)]),
        ("cluster", "Cluster", _values(page, "cluster_label")),
        ("round", "Round", _values(page, "round_id") if page.key.round_id is None else []),
    )
    made = []
    for name, label, values in chosen:
        if len(values) < 2:
            continue
        options = "".join(f"<option>{escape(str(value))}</option>" for value in values)
        made.append(
            f'<label>{label}<select data-filter="{name}"><option value="">all</option>'
            f"{options}</select></label>"
        )
    return "".join(made)


def _values(page: Page, column: str) -> list[object]:
    return sorted({entry[column] for entry in page.entries if entry[column] is not None})


def _has(page: Page, place: str) -> bool:
    return any(_place(entry) == place for entry in page.entries)


def _place(entry: Row) -> str:
    return {True: "on premises", False: "cloud"}.get(entry["is_on_premises"], "")


def _warning(page: Page) -> str:
    warnings = sorted({e["comparison_warning"] for e in page.entries if e["comparison_warning"]})
    if page.key.round_id is not None or not warnings:
        return ""
    text = " ".join(f"{warning}." for warning in warnings)
    return f'<p class="warn"><strong>Compare with care.</strong> {escape(text)}</p>'


# Heading, sort key, explanation, by column of the ranking table.
_COLUMNS = (
    ("Rank", "rank", "1 is best"),
    ("90 % of ranks", "interval", "rank interval over run noise, site noise and λ from 1 to 64"),
    ("Tie", "tie", "entries that run noise cannot part share a tie group"),
    ("System", "system", "submitter and system"),
    ("Accelerators", "count", "count and model"),
    ("Minutes", "minutes", "time to train"),
    ("Acc.-minutes", "work", "accelerators × minutes (derived)"),
    ("Delay cost", "cost", "minutes × (accelerators + λ) (derived)"),
    ("Cluster", "cluster", "group of similar configurations"),
    ("Status", "status", "availability and site"),
)


def _ranking(page: Page) -> str:
    heads = "".join(
        f'<th scope="col" title="{escape(about)}" data-key="{key}">{escape(text)}</th>'
        for text, key, about in _COLUMNS
    )
    rows = "\n".join(_row(entry, page) for entry in page.entries)
    return (
        '<p id="shown" role="status"></p>'
        '<div class="scroll"><table id="rank" aria-labelledby="ranking-caption">'
        f"<thead><tr>{heads}</tr></thead><tbody>\n{rows}\n</tbody></table></div>"
    )


def _row(entry: Row, page: Page) -> str:
    """A bare row: classes, buttons and roles come from the style sheet and the script."""
    status = ", ".join(text for text in (entry["availability"], _place(entry)) if text) or "–"
    filed = f" <small>{entry['round_id']}</small>" if not page.key.round_id else ""
    old = "" if entry["is_independent"] else " <small>refiled</small>"
    label = entry["cluster_label"]
    cells = (
        f"{entry['rank']}",
        f"{entry['rank_low']}–{entry['rank_high']}",
        f"{entry['tie_group']}",
        f"<b>{escape(entry['submitter'] or 'unknown submitter')}</b> "
        f"{escape(entry['system_name'])}{filed}{old}",
        escape(chips_of(entry)),
        number(entry["score_min"]),
        number(entry["accelerator_minutes"]),
        number(entry["delay_cost"]),
        "–" if label is None else f"{legend_mark(label)} {label}",
        escape(status),
    )
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
