"""Reads system descriptions: every dialect into the same reported columns, as text.

``warehouse/lookups/system_field.csv`` holds field names, their misspellings and the columns they
fill. Numbers stay the filed text; :mod:`gpurank.systems.totals` reads them.
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
    """Returns the ``*_reported`` columns of raw.system, in their order."""
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
    return {_squeeze(name): field for name, field in _table(shape).items()}


def _squeeze(name: str) -> str:
    return re.sub(r"[\W_]+", "_", name.strip().lower()).strip("_")


def _text(value: Any) -> str | None:
    """Returns the text of a filed value: strings as they are, numbers as written, null as None."""
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
        """Fills columns that are still empty from the fields of one shape."""
        seen: dict[str, str] = {}
        for name, value in self._ordered(shape, fields):
            field = self._find(shape, name)
            if field is None or not field.column:
                continue
            text = _text(value)
            if isinstance(value, (dict, list)):
                kind = type(value).__name__
                self.note("info", "system_field_not_text", f"{name} is filed as a {kind}")
            filled = self.columns[field.column]
            if filled is None or not filled.strip():
                self.columns[field.column] = text if text is not None else filled
            elif field.canonical in seen and text != filled:
                first = seen[field.canonical]
                self.note(
                    "warning",
                    "system_duplicate_key",
                    f"{first} is {filled!r} and {name} is {text!r}; {first} counts",
                )
            seen.setdefault(field.canonical, name)
            self.seen.add((shape, field.canonical))

    def _ordered(self, shape: str, fields: dict[str, Any]) -> list[tuple[str, Any]]:
        """Returns fields in the table's order, so that a right name wins over a misspelt one."""
        order = {name: index for index, name in enumerate(_table(shape))}
        return sorted(fields.items(), key=lambda pair: order.get(pair[0], len(order)))

    def _find(self, shape: str, name: str) -> _Field | None:
        field = _table(shape).get(name)
        if field is not None and field.role != "alias":
            return field
        field = field or _squeezed(shape).get(_squeeze(name))
        if field is not None:
            message = f"field {name!r} was read as {field.canonical!r}"
            self.note("info", "system_field_misnamed", message)
            return field
        self.unknown_count += 1
        has_hint = self.unknown_count <= _MOST_HINTS
        close = difflib.get_close_matches(name[:80], _table(shape), n=1) if has_hint else []
        hint = f"; the closest known one is {close[0]!r}" if close else ""
        self.note("info", "unknown_system_field", f"field {name[:80]!r} is not known{hint}")
        return None

    def note_missing(self, *shapes: str) -> None:
        """Adds an issue for each required column of these shapes that is still empty."""
        for shape in shapes:
            for name, field in _table(shape).items():
                if field.role != "required" or not field.column:
                    continue
                if not (self.columns[field.column] or "").strip():
                    what = "empty" if (shape, name) in self.seen else "absent"
                    self.note("warning", "system_field_missing", f"field {name!r} is {what}")


def _merge_nodes(nodes: Any, reader: _Reader) -> dict[str, Any]:
    """Returns one node description for ``nodes``; values that differ are joined with `` + ``."""
    filed = nodes if isinstance(nodes, list) else [nodes]
    kinds = [node for node in filed if isinstance(node, dict)]
    if len(kinds) != len(filed) or not kinds:
        reader.note("warning", "system_field_missing", "nodes holds no node description")
    if len(kinds) < 2:
        return kinds[0] if kinds else {}
    reader.note(
        "warning",
        "system_node_kinds",
        f"{len(kinds)} node descriptions; values that differ are joined with ' + '",
    )
    merged: dict[str, Any] = {}
    for name in dict.fromkeys(name for kind in kinds for name in kind):
        values = [_text(kind.get(name)) or "" for kind in kinds]
        same = len(set(values)) == 1 and name != "num_nodes"
        merged[name] = values[0] if same else " + ".join(values)
    return merged


def read_description(data: bytes, path: str) -> Description:
    """Reads one system description of any dialect. Never raises.

    Args:
        data: the file's bytes.
        path: its path, kept in the result.

    Returns:
        The description; ``parse_dialect='unreadable'`` and an error issue where nothing could be
        read.
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
    nodes = _merge_nodes(fields["nodes"], reader) if "nodes" in fields else {}
    if reader.dialect == "json" or reader.dialect == "json_trailing_comma":
        reader.fill("system", fields)
        # v0.6 files may describe a node in both shapes, in which num_cores is a node's total.
        reader.fill("node", {name: item for name, item in nodes.items() if name != "num_cores"})
        reader.note_missing("system")
    else:
        reader.fill("entry", fields)
        reader.fill("node", nodes)
        reader.note_missing("entry", "node")
    return Description(path, reader.dialect, tree.fields, reader.columns, tuple(reader.issues))
