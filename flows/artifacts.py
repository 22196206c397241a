"""Artifacts of a flow run: what a person wants to see in the orchestrator's own pages."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Any

from prefect.artifacts import create_markdown_artifact, create_table_artifact

from gpurank.answers.notes import footnotes_of
from gpurank.answers.warehouse import Answer, ask, open_warehouse
from gpurank.declared.validation import ValidationReport
from gpurank.operations.watch_record import WatchRecord
from gpurank.settings import Settings
from tasks.ingest.round import IngestResult

_BEST = """
select r.benchmark, r.round_id, r.rank, m.submitter, m.system_name, m.accelerator,
       r.accelerator_count, r.score_min, r.accelerator_minutes, r.delay_cost, r.result_id
from marts.ranking r join marts.result m using (result_id)
where r.scope = 'round' and r.rank <= 3
order by r.benchmark, r.round_id desc, r.rank, r.result_id
"""

_MARKUP = re.compile(r"[\\`*_\[\]()|!#~]")

_CHANGED = """
select round_id, kind, subject_id, field_name, old_value, new_value from marts.change
where list_contains(?, round_id) order by round_id, kind, subject_id, field_name limit 500
"""


def reconciliation(outcomes: Sequence[IngestResult]) -> None:
    """Table of what each round held: folders seen = results + set aside."""
    rows = [
        {
            "round": item.round_id,
            "state": item.state,
            "version": item.version_id,
            "folders seen": item.counts.get("folder"),
            "results": item.counts.get("result"),
            "set aside": item.counts.get("quarantined"),
            "files": item.counts.get("source_file"),
            "runs": item.counts.get("run"),
            "issues": item.counts.get("issue"),
            "message": item.message,
        }
        for item in outcomes
    ]
    create_table_artifact(rows, key="reconciliation", description="Folders seen and kept")


def ranking(settings: Settings) -> None:
    """Table of the three best results a benchmark and round."""
    con = open_warehouse(settings.warehouse_path)
    try:
        best, notes = ask(con, _BEST), footnotes_of(con)
    finally:
        con.close()
    told = "Best three a benchmark and round: ranking table (derived), not official."
    description = "\n\n".join([told, *map(_cell, notes)])
    create_table_artifact(_rows(best), key="ranking", description=description)


def watch(record: WatchRecord, moved: Sequence[str], settings: Settings) -> None:
    """Markdown of a watch: what the source answered, round by round, and what changed for it."""
    lines = ["# Watch", "", f"{record.started_at}, {settings.home}", ""]
    lines += [f"Versions in use moved: {', '.join(moved) or 'none'}.", ""]
    lines += ["| round | state | commit | before | message |", "|---|---|---|---|---|"]
    for item in record.findings:
        cells = (item.round_id, item.state, item.commit, item.known_commit, item.message)
        lines.append("| " + " | ".join(_cell(value) for value in cells) + " |")
    lines += ["", *(f"- {name} failed: {_cell(why)}" for name, why in record.failed.items())]
    if moved:
        lines += ["", "## Changed upstream", "", *_changes(moved, settings)]
    create_markdown_artifact("\n".join(lines), key="watch", description="What a watch found")


def _changes(moved: Sequence[str], settings: Settings) -> list[str]:
    """The first rows of marts.change of some rounds, as Markdown."""
    with open_warehouse(settings.warehouse_path) as con:
        found, notes = ask(con, _CHANGED, [list(moved)]), footnotes_of(con)
    lines = ["| " + " | ".join(found.columns) + " |", "|" + "---|" * len(found.columns)]
    lines += ["| " + " | ".join(_cell(value) for value in row) + " |" for row in found.rows]
    lines += ["", *(f"{_cell(note)}\n" for note in notes)]
    return lines if found.rows else ["Nothing but new rounds."]


def _cell(value: str | None) -> str:
    """Text as text: no markup, link or cell of it reaches the page."""
    return _MARKUP.sub(r"\\\g<0>", html.escape(value or "")).replace("\n", " ")


def validation(settings: Settings, reports: Sequence[ValidationReport]) -> None:
    """Markdown of the validation: counts, and each failed check in a sentence."""
    lines = ["# Validation", "", "| subject | checks | warnings |", "|---|---|---|"]
    lines += [f"| {r.subject} | {len(r.results)} | {len(r.warnings)} |" for r in reports]
    lines += ["", *(f"- {_cell(w.sentence())}" for r in reports for w in r.warnings)]
    lines += ["", f"Page: {settings.reports_dir / 'validation-warehouse.html'}"]
    create_markdown_artifact("\n".join(lines), key="validation", description="Contracts checked")


def _rows(answer: Answer) -> list[dict[str, Any]]:
    return [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
