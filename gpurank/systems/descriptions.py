"""System descriptions as filed: every dialect into the same reported columns, as text.

Field names, their misspellings and the columns they fill stand in
``warehouse/lookups/system_field.csv``. Numbers stay the text that was filed; they are read from
it by :mod:`gpurank.systems.totals`.
"""

from __future__ import annotations

import csv
import difflib
import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from gpurank.declared.contracts import contract
from gpurank.systems.description_text import Dialect, Level, SystemIssue, parse

__all__ = ["Description", "SystemIssue", "read_description", "reported_columns"]


# Finding the closest known field is slow; no description has so many fields of its own.
_MOST_HINTS = 100


@dataclass(frozen=True, slots=True)
class Description:
    """One system description.

    ``fields`` is every field as filed without contact persons and e-mail addresses; ``reported``
    has one text or None for each ``*_reported`` column of raw.system.
    """

    path: str
    parse_dialect: Dialect
    fields: dict[str, Any]
    reported: dict[str, str | None]
    issues: tuple[SystemIssue, ...]

    @property
    def fields_json(self) -> str | None:
        """``fields`` as one JSON object, or None where nothing could be read."""
        if self.parse_dialect == "unreadable":
            return None
        return json.dumps(self.fields, ensure_ascii=False, sort_keys=True, allow_nan=False)


@dataclass(frozen=True, slots=True)
class _Field:
    canonical: str
    column: str
    role: str


@cache
def reported_columns() -> tuple[str, ...]:
    """The ``*_reported`` columns of raw.system, in their order."""
    names = (column.name for column in contract("raw.system").columns)
    return tuple(name for name in names if name.endswith("_reported"))


@cache
def _table(shape: str) -> dict[str, _Field]:
    text = files("warehouse").joinpath("lookups", "system_field.csv").read_text(encoding="utf-8")
    rows = [row for row in csv.DictReader(text.splitlines()) if row["shape"] == shape]
    return {
        row["field"]: _Field(row["canonical_field"], row["column"], row["role"]) for row in rows
    }


@cache
def _squeezed(shape: str) -> dict[str, _Field]:
    return {_squeeze(name): known for name, known in _table(shape).items()}


def _squeeze(name: str) -> str:
    return re.sub(r"[\W_]+", "_", name.strip().lower()).strip("_")


def _text(value: Any) -> str | None:
    """The text of a filed value: strings as they are, numbers as written, null as None."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, list) and all(isinstance(item, (str, int, float)) for item in value):
        return ", ".join(str(item) for item in value)
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


class _Reader:
    """Collects the columns and the issues of one description."""

    def __init__(self, dialect: Dialect, issues: list[SystemIssue]) -> None:
        self.dialect = dialect
        self.columns: dict[str, str | None] = dict.fromkeys(reported_columns())
        self.issues = issues
        self.seen: set[tuple[str, str]] = set()
        self.unknown_count = 0

    def note(self, level: Level, kind: str, message: str) -> None:
        self.issues.append(SystemIssue(level, kind, message))

    def fill(self, shape: str, fields: dict[str, Any]) -> None:
        """Put the fields of one shape into the columns that nothing has filled yet."""
        seen: dict[str, str] = {}
        for name, value in self._ordered(shape, fields):
            known = self._find(shape, name)
            if known is None or not known.column:
                continue
            text = _text(value)
            if isinstance(value, (dict, list)):
                kind = type(value).__name__
                self.note("info", "system_field_not_text", f"{name} is filed as a {kind}")
            filled = self.columns[known.column]
            if filled is None or not filled.strip():
                self.columns[known.column] = text if text is not None else filled
            elif known.canonical in seen and text != filled:
                self.note(
                    "warning",
                    "system_duplicate_key",
                    f"{seen[known.canonical]} is {filled!r} and {name} is {text!r}; "
                    f"{seen[known.canonical]} counts",
                )
            seen.setdefault(known.canonical, name)
            self.seen.add((shape, known.canonical))

    def _ordered(self, shape: str, fields: dict[str, Any]) -> list[tuple[str, Any]]:
        """Fields in the table's order, so that a right name wins over a misspelt one."""
        order = {name: index for index, name in enumerate(_table(shape))}
        return sorted(fields.items(), key=lambda item: order.get(item[0], len(order)))

    def _find(self, shape: str, name: str) -> _Field | None:
        known = _table(shape).get(name)
        if known is not None and known.role != "alias":
            return known
        known = known or _squeezed(shape).get(_squeeze(name))
        if known is not None:
            message = f"field {name!r} was read as {known.canonical!r}"
            self.note("info", "system_field_misnamed", message)
            return known
        self.unknown_count += 1
        is_told = self.unknown_count <= _MOST_HINTS
        close = difflib.get_close_matches(name[:80], _table(shape), n=1) if is_told else []
        hint = f"; the closest known one is {close[0]!r}" if close else ""
        self.note("info", "unknown_system_field", f"field {name[:80]!r} is not known{hint}")
        return None

    def missing(self, *shapes: str) -> None:
        """An issue for each required column of these shapes that nothing has filled."""
        for shape in shapes:
            for name, known in _table(shape).items():
                if known.role != "required" or not known.column:
                    continue
                if not (self.columns[known.column] or "").strip():
                    what = "empty" if (shape, name) in self.seen else "absent"
                    self.note("warning", "system_field_missing", f"field {name!r} is {what}")


def _merged(nodes: Any, reader: _Reader) -> dict[str, Any]:
    """One node description out of ``nodes``; several different ones joined with `` + ``."""
    items = nodes if isinstance(nodes, list) else [nodes]
    kinds = [item for item in items if isinstance(item, dict)]
    if len(kinds) != len(items) or not kinds:
        reader.note("warning", "system_field_missing", "nodes holds no node description")
    if len(kinds) < 2:
        return kinds[0] if kinds else {}
    reader.note(
        "warning",
        "system_node_kinds",
        f"{len(kinds)} node descriptions; their values are joined with ' + ' where they differ",
    )
    merged: dict[str, Any] = {}
    for name in dict.fromkeys(name for kind in kinds for name in kind):
        values = [_text(kind.get(name)) or "" for kind in kinds]
        same = len(set(values)) == 1 and name != "num_nodes"
        merged[name] = values[0] if same else " + ".join(values)
    return merged


def read_description(data: bytes, path: str) -> Description:
    """Read one system description of any dialect.

    Args:
        data: the file's bytes.
        path: its path, kept in the result.

    Returns:
        The description; ``parse_dialect='unreadable'`` and an error issue where nothing could be
        read. Never raises.
    """
    tree = parse(data)
    reader = _Reader(tree.dialect, tree.issues)
    fields = tree.fields
    if tree.dialect == "unreadable":
        return Description(path, "unreadable", {}, reader.columns, tuple(tree.issues))
    entry = fields.get("entry")
    if tree.dialect == "v06_kv":
        outer = {name: value for name, value in fields.items() if name != "entry"}
        reader.fill("kv", outer)
        fields = entry if isinstance(entry, dict) else {}
    elif "nodes" in fields and not {"number_of_nodes", "accelerators_per_node"} & {
        _squeeze(name) for name in fields
    }:
        reader.dialect = "v05_entry"
    nodes = _merged(fields["nodes"], reader) if "nodes" in fields else {}
    if reader.dialect == "json" or reader.dialect == "json_trailing_comma":
        reader.fill("system", fields)
        # v0.6 files may describe a node in both shapes; there num_cores is a node's total
        reader.fill("node", {name: item for name, item in nodes.items() if name != "num_cores"})
        reader.missing("system")
    else:
        reader.fill("entry", fields)
        reader.fill("node", nodes)
        reader.missing("entry", "node")
    return Description(path, reader.dialect, tree.fields, reader.columns, tuple(reader.issues))
