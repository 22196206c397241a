"""The data quality page: what came of every round's folders, and everything odd about them.

Pure: rows in, one self-contained HTML page out. Everything shown is escaped, since file names and
examples are what strangers filed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from gpurank.answers.notes import public_url
from gpurank.answers.warehouse import Answer, ask
from gpurank.pages.html import document, table

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Row = Mapping[str, Any]

_LEVELS = ("error", "warning", "info")
_SUMMARY = """
select s.* from marts.round_summary s join lookup.round r using (round_id) order by r.round_index
"""
_FIGURES = """
select q.round_id, q.topic, q.name, q.level, q.row_count, q.example, q.example_file
from marts.data_quality q left join lookup.issue_level l using (level)
where q.topic <> 'folders'
order by q.topic, l.priority nulls last, q.row_count desc, q.name
"""
_SPELLINGS = """
select i.round_id, i.kind, i.message, count(*) as row_count, min(i.source_file) as source_file
from marts.issue i left join lookup.round r using (round_id)
where starts_with(i.kind, 'unresolved_')
group by all order by i.kind, i.message, min(r.round_index)
"""
_OVERALL = """
select level, kind, message from marts.issue
where round_id not in (select round_id from marts.round_summary)
order by kind, message
"""
_STAGES = {
    "folder_count": "folders seen",
    "result_count": "results",
    "quarantined_count": "set aside",
    "scored_count": "scored",
    "throughput_count": "throughput",
    "independent_count": "independent",
    "ranked_count": "ranked",
    "unranked_count": "not ranked",
}


@dataclass(frozen=True, slots=True)
class Quality:
    """What the page shows, each a list of rows as mappings.

    ``rounds``: marts.round_summary; ``figures``: marts.data_quality without the folder counts;
    ``spellings``: identity spellings that no rule resolves; ``overall``: issues of no round.
    """

    rounds: Sequence[Row]
    figures: Sequence[Row]
    spellings: Sequence[Row]
    overall: Sequence[Row]


def read_quality(con: DuckDBPyConnection) -> Quality:
    """The page's rows from a warehouse."""
    found = (_rows(ask(con, sql)) for sql in (_SUMMARY, _FIGURES, _SPELLINGS, _OVERALL))
    return Quality(*found)


def quality_page(found: Quality, title: str = "Data quality") -> str:
    """The page as HTML text, UTF-8."""
    body = [f"<h1>{escape(title)}</h1>", f"<p>{_verdict(found)}</p>", _rounds(found)]
    body.append(
        "<p class=dim>Folders seen = results + set aside; results = ranked in their round's lists "
        "+ not ranked, each with its reason. Independent results are first filings of their "
        "measurement. Errors leave a number out, warnings ask for a look before use, notes are "
        "worth knowing.</p>"
    )
    body += [_spellings(found), _overall(found)]
    body += [_round(row, found) for row in found.rounds]
    return document(title, body)


def _verdict(found: Quality) -> str:
    wrong = [str(row["round_id"]) for row in found.rounds if not _is_reconciled(row)]
    total = {name: sum(row[name] for row in found.rounds) for name in _STAGES}
    text = (
        f"{len(found.rounds):,} rounds: {total['folder_count']:,} folders seen, "
        f"{total['result_count']:,} results and {total['quarantined_count']:,} set aside; "
        f"{total['ranked_count']:,} results ranked in their rounds and "
        f"{total['unranked_count']:,} not, each with a reason."
    )
    if wrong:
        return (
            f'<span class="critical">The sums do not agree in {escape(", ".join(wrong))}.</span> '
            f"{text}"
        )
    return f'<span class="passed">Nothing is lost.</span> {text}'


def _is_reconciled(row: Row) -> bool:
    seen = row["result_count"] + row["quarantined_count"]
    listed = row["ranked_count"] + row["unranked_count"]
    return bool(row["folder_count"] == seen and row["result_count"] == listed)


def _rounds(found: Quality) -> str:
    rows = []
    for row in found.rounds:
        name = escape(str(row["round_id"]))
        counts = [f"{row[stage]:,}" for stage in _STAGES]
        levels = [_count(found, row["round_id"], level) for level in _LEVELS]
        commit = escape(str(row["source_commit"] or "unknown")[:12])
        rows.append([f'<a href="#{name}">{name}</a>', *counts, *levels, f"<code>{commit}</code>"])
    head = ["round", *_STAGES.values(), "errors", "warnings", "notes", "commit"]
    return table("Rounds", head, rows, numbers=range(1, len(head) - 1), is_wide=True)


def _count(found: Quality, round_id: str, level: str) -> str:
    count = sum(
        row["row_count"]
        for row in found.figures
        if (row["round_id"], row["topic"], row["level"]) == (round_id, "issue", level)
    )
    return f'<span class="{level}">{count:,}</span>' if count and level != "info" else f"{count:,}"


def _spellings(found: Quality) -> str:
    if not found.spellings:
        return "<h2>Spellings</h2>\n<p>Every filed name was resolved.</p>"
    rows = [
        [
            escape(str(row["round_id"])),
            escape(str(row["message"])) + _place(row["source_file"]),
            f"{row['row_count']:,}",
        ]
        for row in found.spellings
    ]
    return "<h2>Spellings</h2>\n" + table(
        "Not resolved", ["round", "filed", "times"], rows, numbers=[2]
    )


def _place(file: str | None) -> str:
    return f'<br><span class="dim"><code>{escape(file)}</code></span>' if file else ""


def _overall(found: Quality) -> str:
    if not found.overall:
        return ""
    rows = [
        [_kind(str(row["kind"])), _level(row), escape(str(row["message"]))] for row in found.overall
    ]
    return "<h2>All rounds together</h2>\n" + table(
        "Checks that warned", ["check", "level", "what"], rows
    )


def _round(row: Row, found: Quality) -> str:
    name = str(row["round_id"])
    own = [figure for figure in found.figures if figure["round_id"] == name]
    parts = [f'<h2 id="{escape(name)}">{escape(name)}</h2>']
    for topic, caption in (
        ("quarantine", "Set aside"),
        ("unranked", "Not ranked"),
        ("issue", "Issues"),
    ):
        lines = [_line(figure, row) for figure in own if figure["topic"] == topic]
        if lines:
            head = ["what", "level", "count", "one example"]
            parts.append(table(f"{caption}, {name}", head, lines, numbers=[2]))
    if len(parts) == 1:
        parts.append("<p>Nothing to tell.</p>")
    return "\n".join(parts)


def _line(figure: Row, round_: Row) -> list[str]:
    name = str(figure["name"])
    words = _kind(name) if figure["topic"] == "issue" else escape(name)
    example = escape(str(figure["example"])) if figure["example"] else ""
    file = figure["example_file"]
    if file:
        shown = f"<code>{escape(str(file))}</code>"
        if figure["topic"] != "unranked":
            shown = _link(str(file), shown, round_)
        example += ("<br>" if example else "") + f'<span class="dim">{shown}</span>'
    return [words, _level(figure), f"{figure['row_count']:,}", example]


def _link(file: str, shown: str, round_: Row) -> str:
    url = public_url(str(round_["round_id"]), round_["source_commit"], file)
    return f'<a href="{escape(url)}">{shown}</a>' if url else shown


def _kind(name: str) -> str:
    """An issue's kind; it may break after an underscore, so that it fits a phone."""
    return f'<code class="kind">{escape(name).replace("_", "_<wbr>")}</code>'


def _level(row: Row) -> str:
    level = str(row["level"] or "")
    word = "note" if level == "info" else level
    return f'<span class="{escape(level)}">{escape(word)}</span>' if level != "info" else word


def _rows(answer: Answer) -> list[dict[str, Any]]:
    return [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
