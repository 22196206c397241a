"""The data quality page: what became of every round's folders, and every issue found in them.

File names and examples are filed text, so everything shown is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from gpurank.answers.notes import public_url
from gpurank.answers.warehouse import ask
from gpurank.pages.html import (
    Column,
    NavigationLink,
    Table,
    breakable,
    element,
    link,
    render_page,
)
from gpurank.pages.numbers import count, plural

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
    "folder_count": "Folders seen",
    "result_count": "Results",
    "quarantined_count": "Quarantined",
    "scored_count": "Scored",
    "throughput_count": "Throughput",
    "independent_count": "Independent",
    "ranked_count": "Ranked",
    "unranked_count": "Not ranked",
}
_TOPICS = {"quarantine": "Quarantined", "unranked": "Not ranked", "issue": "Issues"}


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
    """Reads what the page shows from a warehouse."""
    return Quality(*(ask(con, sql).dicts() for sql in (_SUMMARY, _FIGURES, _SPELLINGS, _OVERALL)))


def quality_page(quality: Quality, title: str = "Data quality") -> str:
    """Returns the page as HTML text."""
    sections = [("Rounds", "rounds"), ("Spellings", "spellings")]
    if quality.overall:
        sections.append(("All rounds together", "overall"))
    sections += [(str(row["round_id"]), str(row["round_id"])) for row in quality.rounds]
    return render_page(
        "data_quality.html",
        title=title,
        about="What became of every folder of every round, and every issue found in them.",
        styles=("checks.css",),
        navigation=[NavigationLink(text, f"#{anchor}") for text, anchor in sections],
        unreconciled=[row["round_id"] for row in quality.rounds if not _is_reconciled(row)],
        counts=_counts(quality),
        by_round=_by_round(quality),
        spellings=_spellings(quality),
        overall=_overall(quality),
        rounds=[(row["round_id"], _tables_of_round(row, quality)) for row in quality.rounds],
    )


def _counts(quality: Quality) -> str:
    total = {name: sum(row[name] for row in quality.rounds) for name in _STAGES}
    return (
        f"{plural(len(quality.rounds), 'round')}: {plural(total['folder_count'], 'folder')} seen, "
        f"{plural(total['result_count'], 'result')} and {count(total['quarantined_count'])} "
        f"quarantined; {plural(total['ranked_count'], 'result')} ranked in their rounds and "
        f"{count(total['unranked_count'])} not, each with a reason."
    )


def _is_reconciled(row: Row) -> bool:
    seen = row["result_count"] + row["quarantined_count"]
    listed = row["ranked_count"] + row["unranked_count"]
    return bool(row["folder_count"] == seen and row["result_count"] == listed)


def _by_round(quality: Quality) -> Table:
    rows = [
        (
            link(f"#{row['round_id']}", row["round_id"]),
            *(count(row[stage]) for stage in _STAGES),
            *(_issue_count(quality, row["round_id"], level) for level in _LEVELS),
            element("code", str(row["source_commit"] or "unknown")[:12]),
        )
        for row in quality.rounds
    ]
    names = (*_STAGES.values(), "Errors", "Warnings", "Notes")
    columns = (Column("Round"), *(Column(name, True) for name in names), Column("Commit"))
    return Table(columns, rows, is_wide=True)


def _issue_count(quality: Quality, round_id: str, level: str) -> Markup | str:
    total = sum(
        row["row_count"]
        for row in quality.figures
        if (row["round_id"], row["topic"], row["level"]) == (round_id, "issue", level)
    )
    return element("span", count(total), level) if total and level != "info" else count(total)


def _spellings(quality: Quality) -> Table | None:
    rows = [
        (row["round_id"], _with_file(row["message"], row["source_file"]), count(row["row_count"]))
        for row in quality.spellings
    ]
    return Table((Column("Round"), Column("Filed"), Column("Times", True)), rows) if rows else None


def _with_file(text: str | None, file: Markup | str | None) -> Markup:
    """Returns a text with the file below it that it comes from."""
    below = element("span", element("code", file), "dim") if file else ""
    return Markup("<br>").join(filter(None, (text, below)))


def _overall(quality: Quality) -> Table | None:
    rows = [(_kind(row["kind"]), _level(row), row["message"]) for row in quality.overall]
    return Table((Column("Check"), Column("Level"), Column("What")), rows) if rows else None


def _tables_of_round(round_: Row, quality: Quality) -> list[tuple[str, str, Table]]:
    """Returns topic, caption and table of what was quarantined, not ranked, or has an issue."""
    columns = (Column("What"), Column("Level"), Column("Count", True), Column("One example"))
    tables = []
    for topic, caption in _TOPICS.items():
        rows = [
            _figure_cells(figure, round_)
            for figure in quality.figures
            if (figure["round_id"], figure["topic"]) == (round_["round_id"], topic)
        ]
        if rows:
            tables.append((topic, f"{caption}, {round_['round_id']}", Table(columns, rows)))
    return tables


def _figure_cells(figure: Row, round_: Row) -> tuple[object, ...]:
    name, file = figure["name"], figure["example_file"]
    shown: Markup | str | None = file
    if file and figure["topic"] != "unranked":
        shown = link(public_url(str(round_["round_id"]), round_["source_commit"], file), file)
    return (
        _kind(name) if figure["topic"] == "issue" else name,
        _level(figure),
        count(figure["row_count"]),
        _with_file(figure["example"], shown),
    )


def _kind(name: str) -> Markup:
    """Returns an issue's kind, which may break after an underscore so that it fits a phone."""
    return element("code", breakable(name, "_"), "kind")


def _level(row: Row) -> Markup | str:
    level = str(row["level"] or "")
    return "note" if level == "info" else element("span", level, level)
