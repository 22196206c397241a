"""Commands that keep a data folder up to date over the years: diff, prune."""

from __future__ import annotations

from typing import Annotated

import typer

from gpurank.cli.explore import Form, Output
from gpurank.cli.output.answer import Format, show
from gpurank.settings import load

_CHANGES = {
    "kind": "kind",
    "subject_id": "what",
    "field_name": "field",
    "old_value": "before",
    "new_value": "after",
}


def register(app: typer.Typer) -> None:
    """Add the operating commands to the application."""
    for command in (diff, prune):
        app.command()(command)


def diff(
    round_id: Annotated[str, typer.Argument(metavar="ROUND", help="For example v5.1.")],
    first: Annotated[
        str | None,
        typer.Option("--from", help="Version id or commit (a prefix will do); default: before."),
    ] = None,
    second: Annotated[
        str | None, typer.Option("--to", help="Version id or commit; default: the one in use.")
    ] = None,
    form: Form = Format.table,
    output: Output = None,
) -> None:
    """What changed in a round between two of its versions; by default the two newest.

    Edited system descriptions (one row a field), results added, withdrawn or renamed, changed
    scores, moved ranks.

    Example: gpurank diff v5.1
    Example: gpurank diff v5.1 --from 504c3b50 --to 888b59ab --format csv
    """
    from gpurank.answers.notes import footnotes
    from gpurank.declared.rounds import round_order
    from gpurank.store import remote
    from tasks.upkeep.diff import difference

    round_order(round_id)
    settings = load()
    remote.pull(settings)
    found = difference(round_id, first, second, settings)
    show(found.answer, form, output, footnotes(None, found.sources), _CHANGES)


def prune(
    keep: Annotated[int, typer.Option(help="Published versions to keep a round.", min=1)] = 5,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would go.")] = False,
    form: Form = Format.table,
    output: Output = None,
) -> None:
    """Remove old versions of rounds; never the one in use, never one the warehouse was built of.

    With fewer than two kept, the next `gpurank analyze` cannot tell what changed.

    Example: gpurank prune --keep 3 --dry-run
    """
    from gpurank.store import remote
    from gpurank.store.run_lock import writing
    from gpurank.store.versions import Store
    from tasks.upkeep import prune as retention

    settings = load()
    if dry_run or not (settings.remote or settings.home.is_dir()):
        remote.pull(settings)
        chosen = retention.candidates(settings, keep)
    else:
        name = "gpurank prune"
        with writing(settings.lock_path, name), remote.claimed(settings, name):
            remote.pull(settings)
            Store(settings.raw_dir).sweep()
            remote.sweep(settings)
            chosen = retention.candidates(settings, keep)
            retention.remove(settings, chosen)
    show(retention.answer(chosen, dry_run), form, output)
