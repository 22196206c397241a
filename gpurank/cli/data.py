"""Commands that look after a data folder: rounds, diff, prune, doctor.

Each imports what it alone needs inside, so that the other commands start quickly.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpurank.answers.notes import footnotes
from gpurank.cli.options import Form, Output, warehouse
from gpurank.cli.output.answer import Format, redirect_to, show
from gpurank.declared.rounds import round_order
from gpurank.errors import Exit
from gpurank.settings import load
from gpurank.terminal_safety import say

_ROUND_COLUMNS = {
    "round_id": "round",
    "state": "state",
    "published_on": "published on",
    "version_id": "version",
    "form": "form",
    "source_commit": "commit",
    "results": "results",
    "quarantined": "quarantined",
    "runs": "runs",
    "issues": "issues",
    "failed_versions": "failed",
    "is_in_warehouse": "analysed",
}
_ROUND_DROP = ("failed", "quarantined", "form", "commit", "runs", "issues")
_CHANGE_COLUMNS = {
    "kind": "kind",
    "subject_id": "what",
    "field_name": "field",
    "old_value": "before",
    "new_value": "after",
}


def register(app: typer.Typer) -> None:
    """Add these commands to the application."""
    for command in (rounds, diff, prune, doctor):
        app.command()(command)


def rounds(form: Form = Format.table, output: Output = None) -> None:
    """List the rounds in the data folder, and the known rounds that it lacks.

    State: held; missing (published and not held); expected (announced, not known to be published).

    Example: gpurank rounds --format json
    """
    from gpurank.operations import health
    from gpurank.operations.freshness import footnotes as freshness_notes
    from gpurank.operations.freshness import freshness_of

    settings = load()
    answer = health.rounds(settings)
    if form is Format.table:
        answer = answer.cut("source_commit", 12)
    notes = freshness_notes(freshness_of(settings))
    show(answer, form, output, notes, _ROUND_COLUMNS, _ROUND_DROP)


def diff(
    round_id: Annotated[str, typer.Argument(metavar="ROUND", help="For example v5.1.")],
    first: Annotated[
        str | None,
        typer.Option(
            "--from", help="Version id or commit, or its beginning; default: the one before --to."
        ),
    ] = None,
    second: Annotated[
        str | None, typer.Option("--to", help="Version id or commit; default: the one in use.")
    ] = None,
    form: Form = Format.table,
    output: Output = None,
) -> None:
    """Show what changed in a round between two of its versions; by default the two newest.

    Edited system descriptions (one row per field), results added, withdrawn or renamed, changed
    scores, moved ranks.

    Example: gpurank diff v5.1
    Example: gpurank diff v5.1 --from 504c3b50 --to 888b59ab --format csv
    """
    from gpurank.store import remote
    from tasks.upkeep.diff import difference

    round_order(round_id)
    settings = load()
    remote.pull(settings)
    changes = difference(round_id, first, second, settings)
    show(changes.answer, form, output, footnotes(None, changes.sources), _CHANGE_COLUMNS)


def prune(
    keep: Annotated[
        int, typer.Option(help="How many published versions of each round to keep.", min=1)
    ] = 5,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be removed.")
    ] = False,
    form: Form = Format.table,
    output: Output = None,
) -> None:
    """Remove old versions of rounds, never one that is in use or that the warehouse was built from.

    If fewer than two are kept, the next `gpurank analyze` cannot say what changed.

    Example: gpurank prune --keep 3 --dry-run
    """
    from gpurank.store import remote
    from gpurank.store.run_lock import writing
    from gpurank.store.versions import Store
    from tasks.upkeep import prune as pruning

    settings = load()
    if dry_run or not (settings.remote or settings.home.is_dir()):
        remote.pull(settings)
        old_versions = pruning.candidates(settings, keep)
    else:
        owner = "gpurank prune"
        with writing(settings.lock_path, owner), remote.claimed(settings, owner):
            remote.pull(settings)
            Store(settings.raw_dir).sweep()
            remote.sweep(settings)
            old_versions = pruning.candidates(settings, keep)
            pruning.remove(settings, old_versions)
    show(pruning.answer(old_versions, dry_run), form, output)


def doctor(
    form: Form = Format.table,
    output: Output = None,
    max_age: Annotated[
        float | None,
        typer.Option(
            help="Fail if the last watch, or a newer round that is not held, is older than this "
            "many days.",
            min=0,
        ),
    ] = None,
    round_id: Annotated[
        str | None,
        typer.Option(
            "--round",
            "-r",
            help="Instead, print the lines that this round lacks in the declared files.",
        ),
    ] = None,
) -> None:
    """Check the installation and the data folder: versions, space, lock, store, age, warehouse.

    Exit code 7 if any check is bad, so that a monitor can call it. A published round that is not
    held is "behind", which is bad only with --max-age.

    Example: gpurank doctor
    Example: gpurank doctor --json --max-age 9
    Example: gpurank doctor --round v5.0
    """
    from gpurank.operations import health
    from gpurank.operations.freshness import freshness_of

    if round_id is not None:
        _show_missing_lines(round_id, form, output)
        return
    settings = load()
    answer = health.examine(settings, max_age)
    command = freshness_of(settings).command if "behind" in answer.column("state") else ""
    notes = [f"To get the missing rounds: {command}"] if command else []
    show(answer, form, output, notes)
    if "bad" in answer.column("state"):
        raise typer.Exit(Exit.STORAGE)


def _show_missing_lines(round_id: str, form: Format, output: Path | None) -> None:
    """Prints the lines that a round lacks in the declared files, as text to paste or as rows."""
    from gpurank.operations import missing_lines

    with warehouse() as connection:
        lines = missing_lines.read(connection, round_id)
    if form is not Format.table:
        show(missing_lines.answer(lines), form, output)
        return
    with redirect_to(output):
        say(missing_lines.text(round_id, lines))
