"""What changed in a round from one version to another: results, scores, ranks, system fields.

Both versions must be read by the same code, so that only changes of the source show.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

KINDS = (
    "system_edited", "system_added", "system_withdrawn", "result_added", "result_withdrawn",
    "result_renamed", "result_set_aside", "score_changed", "logs_changed", "rank_moved",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Result:
    """A result in one version.

    ``logs`` is a hash over the bytes of its logs, ``rank`` its rank in the round's list; None if
    it has none.
    """

    result_id: str
    benchmark: str
    system_path: str | None
    score_min: float | None
    rank: int | None
    logs: str | None


@dataclass(frozen=True, slots=True)
class State:
    """A round in one version.

    ``systems`` holds the fields of each system description as one JSON object by path, None if
    it is unreadable. ``quarantined`` holds the reason by the id that a result would have.
    """

    results: tuple[Result, ...]
    systems: Mapping[str, str | None]
    quarantined: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Change:
    """One change; ``subject_id`` is a result id or the path of a system description."""

    kind: str
    subject_id: str
    benchmark: str | None = None
    field_name: str | None = None
    old_value: str | None = None
    new_value: str | None = None


def changes(old: State, new: State) -> tuple[Change, ...]:
    """Returns every change from one version of a round to another, sorted by kind and subject."""
    before = {item.result_id: item for item in old.results}
    after = {item.result_id: item for item in new.results}
    gone = [item for name, item in before.items() if name not in after]
    came = [item for name, item in after.items() if name not in before]
    renamed = list(_renamed(gone, came))
    pairs = [(before[name], item) for name, item in after.items() if name in before] + renamed
    found = [*_results(gone, came, renamed, new), *_systems(old, new, renamed)]
    for first, second in pairs:
        found += _numbers(first, second)
    order = {kind: place for place, kind in enumerate(KINDS)}
    return tuple(sorted(found, key=lambda c: (order[c.kind], c.subject_id, c.field_name or "")))


def _renamed(gone: Iterable[Result], came: Iterable[Result]) -> Iterator[tuple[Result, Result]]:
    """Yields pairs of a withdrawn and an added result of one benchmark with identical logs.

    Several results of one measurement (with power, without) have the same logs: results whose
    ids end alike are paired first, then the others in order.
    """
    groups: dict[tuple[str, str], tuple[list[Result], list[Result]]] = defaultdict(lambda: ([], []))
    for place, items in enumerate((gone, came)):
        for item in items:
            if item.logs:
                groups[item.benchmark, item.logs][place].append(item)
    for left, right in groups.values():
        for parts in (2, 0):
            yield from _pair_up(left, right, parts)


def _pair_up(
    left: list[Result], right: list[Result], parts: int
) -> Iterator[tuple[Result, Result]]:
    """Removes and yields pairs from both lists whose ids agree in that many last parts."""
    for item in sorted(left, key=lambda result: result.result_id):
        for match in sorted(right, key=lambda result: result.result_id):
            if not parts or _tail(match, parts) == _tail(item, parts):
                left.remove(item)
                right.remove(match)
                yield item, match
                break


def _tail(item: Result, parts: int) -> list[str]:
    return item.result_id.split("/")[-parts:]


def _results(
    gone: Sequence[Result],
    came: Sequence[Result],
    renamed: Sequence[tuple[Result, Result]],
    new: State,
) -> Iterator[Change]:
    paired = {item.result_id for pair in renamed for item in pair}
    for first, second in renamed:
        yield Change(
            "result_renamed", second.result_id, second.benchmark, None,
            first.result_id, second.result_id,
        )  # fmt: skip
    for item in gone:
        if item.result_id in paired:
            continue
        reason = new.quarantined.get(item.result_id)
        kind = "result_set_aside" if reason else "result_withdrawn"
        yield Change(kind, item.result_id, item.benchmark, None, _text(item.score_min), reason)
    for item in came:
        if item.result_id not in paired:
            yield Change(
                "result_added", item.result_id, item.benchmark, None, None, _text(item.score_min)
            )


def _systems(old: State, new: State, renamed: Sequence[tuple[Result, Result]]) -> Iterator[Change]:
    moved = {
        first.system_path: second.system_path
        for first, second in renamed
        if first.system_path not in new.systems and second.system_path not in old.systems
    }
    for path, fields in old.systems.items():
        target = path if path in new.systems else moved.get(path)
        if target is not None and target in new.systems:
            yield from _edits(target, fields, new.systems[target])
        elif _stands_alone(path, old, new):
            yield Change("system_withdrawn", path)
    for path in new.systems:
        is_new = path not in old.systems and path not in moved.values()
        if is_new and _stands_alone(path, new, old):
            yield Change("system_added", path)


def _stands_alone(path: str, here: State, there: State) -> bool:
    """Returns whether a description came or went without any result that did the same."""
    others = {item.result_id for item in there.results}
    users = [item.result_id for item in here.results if item.system_path == path]
    return not users or any(name in others for name in users)


def _edits(path: str, old: str | None, new: str | None) -> Iterator[Change]:
    if old == new:
        return
    if old is None or new is None:
        words = ["unreadable" if text is None else "readable" for text in (old, new)]
        yield Change("system_edited", path, None, "description", *words)
        return
    before, after = json.loads(old), json.loads(new)
    for name in sorted({*before, *after}):
        if before.get(name) != after.get(name) or (name in before) != (name in after):
            values = (_value(before, name), _value(after, name))
            yield Change("system_edited", path, None, name, *values)


def _numbers(old: Result, new: Result) -> Iterator[Change]:
    is_same = (
        old.score_min == new.score_min
        if old.score_min is None or new.score_min is None
        else math.isclose(old.score_min, new.score_min, rel_tol=1e-9)
    )
    name, benchmark = new.result_id, new.benchmark
    if not is_same:
        values = (_text(old.score_min), _text(new.score_min))
        yield Change("score_changed", name, benchmark, "score_min", *values)
    elif old.logs != new.logs:
        yield Change("logs_changed", name, benchmark)
    if old.rank != new.rank:
        values = (_text(old.rank), _text(new.rank))
        yield Change("rank_moved", name, benchmark, "rank", *values)


def _value(fields: Mapping[str, Any], name: str) -> str | None:
    """Returns a field as filed: text without quotes, else JSON; None if it is absent."""
    if name not in fields:
        return None
    value = fields[name]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _text(value: float | None) -> str | None:
    return None if value is None else repr(value)
