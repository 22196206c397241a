"""Prefect artifacts of a flow run: what a person sees about it on Prefect's own pages."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from prefect.artifacts import create_markdown_artifact, create_table_artifact

from gpurank.answers.notes import footnotes_of
from gpurank.answers.warehouse import ask, open_warehouse
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


def create_reconciliation(results: Sequence[IngestResult]) -> None:
    """Create a table of what each round held: folders seen = results + quarantined."""
    rows = [
        {
            "round": item.round_id,
            "state": item.state,
            "version": item.version_id,
            "folders seen": item.counts.get("folder"),
            "results": item.counts.get("result"),
            "quarantined": item.counts.get("quarantined"),
            "files": item.counts.get("source_file"),
            "runs": item.counts.get("run"),
            "issues": item.counts.get("issue"),
            "message": item.message,
        }
        for item in results
    ]
    create_table_artifact(
        rows, key="reconciliation", description="Folders seen = results + quarantined"
    )


def create_ranking(settings: Settings) -> None:
    """Create a table of the three best results per benchmark and round."""
    with open_warehouse(settings.warehouse_path) as con:
        best, notes = ask(con, _BEST), footnotes_of(con)
    title = "Best three per benchmark and round: ranking table (derived), not official."
    description = "\n\n".join([title, *map(escape_markdown, notes)])
    create_table_artifact(best.dicts(), key="ranking", description=description)


def create_watch(record: WatchRecord, moved: Sequence[str], settings: Settings) -> None:
    """Create a page on a watch: what the source answered for each round, and what changed."""
    lines = ["# Watch", "", f"{record.started_at}, {settings.home}", ""]
    lines += [f"Rounds with a new version in use: {', '.join(moved) or 'none'}.", ""]
    lines += ["| round | state | commit | before | message |", "|---|---|---|---|---|"]
    for item in record.findings:
        cells = (item.round_id, item.state, item.commit, item.known_commit, item.message)
        lines.append("| " + " | ".join(escape_markdown(value) for value in cells) + " |")
    lines += [
        "",
        *(f"- {name} failed: {escape_markdown(why)}" for name, why in record.failed.items()),
    ]
    if moved:
        lines += ["", "## Changed upstream", "", *_change_lines(moved, settings)]
    create_markdown_artifact("\n".join(lines), key="watch", description="What a watch found")


def _change_lines(moved: Sequence[str], settings: Settings) -> list[str]:
    """Returns the first rows of marts.change of some rounds, as Markdown."""
    with open_warehouse(settings.warehouse_path) as con:
        changes, notes = ask(con, _CHANGED, [list(moved)]), footnotes_of(con)
    lines = ["| " + " | ".join(changes.columns) + " |", "|" + "---|" * len(changes.columns)]
    lines += [
        "| " + " | ".join(escape_markdown(value) for value in row) + " |" for row in changes.rows
    ]
    lines += ["", *(f"{escape_markdown(note)}\n" for note in notes)]
    return lines if changes.rows else ["No changes but new rounds."]


def escape_markdown(value: str | None) -> str:
    """Returns text from outside so that Markdown shows it as text: no markup, link or cell."""
    return _MARKUP.sub(r"\\\g<0>", html.escape(value or "")).replace("\n", " ")


def create_validation(settings: Settings, reports: Sequence[ValidationReport]) -> None:
    """Create a page on the validation: counts, and each failed check in a sentence."""
    lines = ["# Validation", "", "| subject | checks | warnings |", "|---|---|---|"]
    lines += [f"| {r.subject} | {len(r.results)} | {len(r.warnings)} |" for r in reports]
    lines += ["", *(f"- {escape_markdown(w.sentence())}" for r in reports for w in r.warnings)]
    lines += ["", f"Page: {settings.reports_dir / 'validation-warehouse.html'}"]
    create_markdown_artifact(
        "\n".join(lines), key="validation", description="Checks of the contracts"
    )
