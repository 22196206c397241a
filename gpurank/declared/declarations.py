"""Rows of the lookup tables that people declare: rounds, rules, spans, soft breaks, corrections.

Sources: ``warehouse/rounds.yml`` and ``warehouse/corrections.yml``. Each row is a dictionary.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from gpurank.declared.rounds import Rounds, round_order
from gpurank.errors import GpurankError

Row = dict[str, Any]

ACTIONS = ("replace", "set_null", "note")
CORRECTABLE: dict[str, dict[str, tuple[type, ...]]] = {
    "raw.run": {"duration_ms": (int, float), "is_converged": (bool,)},
    "raw.system": dict.fromkeys(
        (
            "node_count_reported",
            "accelerators_per_node_reported",
            "accelerator_reported",
            "host_cpu_reported",
            "division_reported",
            "status_reported",
        ),
        (str,),
    ),
}
_ENTRIES = {
    "id", "round", "table", "path", "column", "action", "value", "expect", "reason",
}  # fmt: skip


class CorrectionError(GpurankError, ValueError):
    """A correction cannot be read. The message names the record and what is allowed."""


def round_number(round_id: str) -> int:
    """Returns a round's name as a number that SQL can compare: 4001 for v4.1."""
    major, minor = round_order(round_id)
    return 1000 * major + minor


def round_rows(rounds: Rounds, loaded: Iterable[str]) -> list[Row]:
    """Returns the rows of ``lookup.round``: declared and loaded rounds, oldest first."""
    names = sorted({*rounds.declared, *loaded}, key=round_order)
    return [
        {
            "round_id": name,
            "round_number": round_number(name),
            "round_index": index,
            "round_date": rounds.get(name).published_on,
            "repository": rounds.get(name).repository,
            "is_declared": rounds.get(name).is_declared,
        }
        for index, name in enumerate(names)
    ]


def rule_rows(rounds: Rounds, folders: Iterable[tuple[str, str]]) -> list[Row]:
    """Returns the rows of ``lookup.rule``: the rule of each (round, benchmark folder)."""
    rows = []
    for round_id, folder in sorted(folders, key=lambda pair: (round_order(pair[0]), pair[1])):
        rule = asdict(rounds.rule(round_id, folder))
        rule["drop_count"] = rule.pop("drop")
        names = {"benchmark_folder": folder, "round_folder": rounds.round_folder(round_id, folder)}
        rows.append({"round_id": round_id, **names, **rule})
    return rows


def span_rows(rounds: Rounds) -> list[Row]:
    """Returns the rows of ``lookup.comparable_span``: rounds that may be compared."""
    return [
        {
            "span_id": f"{row['benchmark']} {row['first']}"
            + (f" to {row['last']}" if row["last"] != row["first"] else ""),
            "benchmark": row["benchmark"],
            "first_round_id": row["first"],
            "last_round_id": row["last"],
            "first_number": round_number(row["first"]),
            "last_number": round_number(row["last"]),
            "note": row.get("note"),
        }
        for row in rounds.document["comparable_spans"]
    ]


def soft_break_rows(rounds: Rounds) -> list[Row]:
    """Returns the rows of ``lookup.soft_break``: something besides the systems changed."""
    return [
        {
            "benchmark": row["benchmark"],
            "after_round_id": row["after"],
            "before_round_id": row["before"],
            "after_number": round_number(row["after"]),
            "before_number": round_number(row["before"]),
            "reason": row["reason"],
        }
        for row in rounds.document["soft_breaks"]
    ]


def correction_rows(records: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Returns the rows of ``lookup.correction``: the declared corrections.

    Raises:
        CorrectionError: an entry, action or column is missing, unknown or given twice.
    """
    names = [str(record.get("id")) for record in records]
    for record in records:
        fault = _fault(record)
        if names.count(str(record.get("id"))) > 1:
            fault = "is declared twice"
        if fault:
            raise CorrectionError(f"correction {record.get('id', 'without id')}: {fault}")
    return [
        {
            "correction_id": record["id"],
            "round_id": record["round"],
            "table_name": record["table"],
            "path": record["path"],
            "column_name": record["column"],
            "action": record["action"],
            "value": _text(record.get("value")),
            "expect": _text(record["expect"]),
            "reason": " ".join(record["reason"].split()),
        }
        for record in records
    ]


def _fault(record: Mapping[str, Any]) -> str | None:
    """Returns what is wrong with a record's form, or None."""
    action = record.get("action")
    if action not in ACTIONS:
        return f"action {action!r} is none of {ACTIONS}"
    wanted = _ENTRIES if action == "replace" else _ENTRIES - {"value"}
    if wrong := set(record) ^ wanted:
        return f"entries {sorted(wrong)} are missing or unknown"
    if action == "note":
        return None
    types = CORRECTABLE.get(record["table"], {}).get(record["column"])
    if types is None:
        known = [f"{table}.{name}" for table, names in CORRECTABLE.items() for name in names]
        return f"{record['table']}.{record['column']} cannot be corrected; these can: {known}"
    if action == "replace" and type(record["value"]) not in types:
        return f"value {record['value']!r} is no {' or '.join(kind.__name__ for kind in types)}"
    return None


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)
