"""Compares two versions of a round."""

from __future__ import annotations

from dataclasses import astuple, dataclass

from gpurank.answers.notes import Source
from gpurank.answers.warehouse import Answer, NoData
from gpurank.settings import Settings
from gpurank.store.changes import changes
from gpurank.store.history import find, last_two, publications
from gpurank.store.versions import Manifest, Store
from tasks.build.history import state, states_of

_COLUMNS = ("kind", "subject_id", "benchmark", "field_name", "old_value", "new_value")


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed, as rows, and the two versions that were compared."""

    answer: Answer
    sources: tuple[Source, ...]


def difference(
    round_id: str, first: str | None, second: str | None, settings: Settings
) -> Difference:
    """Returns what changed in a round from one version to another.

    ``first`` and ``second`` are the starts of version ids or commits; by default the newest two
    versions with different bytes.

    Raises:
        NoData: the round is not in the store, or has only one version.
        StoreError: no version, or more than one, has an id or a commit with such a start.
    """
    store = Store(settings.raw_dir)
    old, new = _pair(round_id, first, second, store)
    chips = settings.lambda_chips
    with states_of([old], store) as before, states_of([new], store) as after:
        differences = changes(state(before, round_id, chips), state(after, round_id, chips))
    answer = Answer(
        ("round_id", *_COLUMNS, "old_version_id", "new_version_id"),
        tuple(
            (round_id, *astuple(change), old.version_id, new.version_id) for change in differences
        ),
        ("VARCHAR",) * (len(_COLUMNS) + 3),
        f"{round_id}: {len(differences)} changes from {_name(old)} to {_name(new)}",
    )
    pair = (Source(round_id, item.source_commit, item.taken_at) for item in (old, new))
    return Difference(answer, tuple(pair))


def _pair(
    round_id: str, first: str | None, second: str | None, store: Store
) -> tuple[Manifest, Manifest]:
    known = publications(store, round_id)
    if not known:
        raise NoData(f"{round_id} has not been ingested; `gpurank rounds` shows what is there")
    versions = store.versions(round_id)
    new = known[-1].manifest if second is None else find(versions, second)
    if first is not None:
        return find(versions, first), new
    if second is None and (pair := last_two(known)):
        return pair[0].manifest, pair[1].manifest
    names = [item.manifest.version_id for item in known]
    place = names.index(new.version_id) if new.version_id in names else 0
    if place == 0:
        raise NoData(f"{round_id} has no version before {new.version_id} to compare it with")
    return known[place - 1].manifest, new


def _name(item: Manifest) -> str:
    commit = f" (commit {item.source_commit[:12]})" if item.source_commit else ""
    return f"{item.version_id}{commit}"
