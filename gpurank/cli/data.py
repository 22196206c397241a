"""Commands that look after a data folder: rounds, diff, prune, doctor.

Each imports what it alone needs inside, so that the other commands start quickly.
"""

from __future__ import annotations

from typing import Annotated

import typer

from gpurank.answers.notes import footnotes
from gpurank.cli.options import Form, Output
from gpurank.cli.output.answer import Format, show
from gpurank.declared.rounds import round_order
from gpurank.errors import Exit
from gpurank.settings import load

_ROUND_COLUMNS = {
    "round_id": "round",
    "version_id": "version",
    "form": "form",
    "source_commit": "commit",
    "results": "results",
    "quarantined": "quarantined",
    "runs": "runs",
    "issues": "issues",
    "failed_versions": "failed",
    "is_in_warehouse": "analysed",
    "published_on": "published on",
    "state": "state",
}
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
    """List the rounds in the data folder: version, commit, results, quarantined, published or not.

    Example: gpurank rounds --format json
    """
    from gpurank.operations import freshness, health

    settings = load()
    answer = health.rounds(settings)
    notes = freshness.footnotes(freshness.freshness_of(settings))
    if form is Format.table:
        answer = answer.cut("source_commit", 12)
    show(answer, form, output, notes, _ROUND_COLUMNS)


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
        typer.Option(help="Fail if the last watch is older than this many days.", min=0),
    ] = None,
) -> None:
    """Check the installation and the data folder: versions, space, lock, store, age, warehouse.

    Exit code 7 if any check is bad, so that a monitor can call it.

    Example: gpurank doctor
    Example: gpurank doctor --json --max-age 9
    """
    from gpurank.operations import health

    answer = health.examine(load(), max_age)
    show(answer, form, output)
    if "bad" in answer.column("state"):
        raise typer.Exit(Exit.STORAGE)
