"""SQL models: which there are, what each reads, and the order in which they run.

A file ``warehouse/<nn>_<layer>/<name>.sql`` holds one SELECT and is the table ``<layer>.<name>``.
What it reads is taken from the SQL itself, never declared beside it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import duckdb

from gpurank.errors import Exit, GpurankError

_LAYER_FOLDER = re.compile(r"(\d+)_([a-z]+)")
_SOURCE_SCHEMAS = frozenset({"raw", "lookup", "identity", "analysis"})


class ModelError(GpurankError, ValueError):
    """A SQL model that cannot be placed: says which file and what to change."""

    exit_code = Exit.VALIDATION


@dataclass(frozen=True, slots=True)
class Model:
    """One SQL file: its table, its layer's number, its text and the tables it reads."""

    table: str
    layer: str
    layer_number: int
    sql: str
    reads: frozenset[str]

    @property
    def doc(self) -> str:
        """The comment lines at the top of the file, as one paragraph."""
        lines: list[str] = []
        for line in self.sql.splitlines():
            if not line.startswith("--"):
                break
            lines.append(line.removeprefix("--").strip())
        return " ".join(lines)


def tables_read(sql: str, where: str) -> frozenset[str]:
    """Tables (``schema.name``) that one SELECT reads; common table expressions are not tables.

    Args:
        sql: the statement.
        where: what to call it in messages.

    Raises:
        ModelError: not exactly one SELECT, or a table named without its schema.
    """
    text = _serialize(sql)
    if text.get("error"):
        raise ModelError(f"{where}: not one readable SELECT: {text.get('error_message')}")
    if len(text["statements"]) != 1:
        raise ModelError(f"{where}: holds {len(text['statements'])} statements; write one SELECT")
    nodes = list(_walk(text["statements"][0]))
    local = {entry["key"] for node in nodes for entry in _common_tables(node)}
    found = set()
    for node in nodes:
        if node.get("type") != "BASE_TABLE":
            continue
        schema, name = node.get("schema_name", ""), node["table_name"]
        if schema:
            found.add(f"{schema}.{name}")
        elif name not in local:
            raise ModelError(f"{where}: reads {name!r} without a schema; write layer.{name}")
    return frozenset(found)


def read_models(root: Traversable) -> tuple[Model, ...]:
    """Every model under ``root`` (the folder that holds ``10_staging`` and so on), by table name.

    Raises:
        ModelError: an unreadable statement.
    """
    found = []
    for folder in root.iterdir():
        match = _LAYER_FOLDER.fullmatch(folder.name)
        if not match or not folder.is_dir():
            continue
        for path in folder.iterdir():
            if not path.name.endswith(".sql"):
                continue
            sql = path.read_text(encoding="utf-8")
            where = f"{folder.name}/{path.name}"
            table = f"{match[2]}.{path.name.removesuffix('.sql')}"
            found.append(Model(table, match[2], int(match[1]), sql, tables_read(sql, where)))
    return tuple(sorted(found, key=lambda model: (model.layer_number, model.table)))


def in_order(models: Iterable[Model]) -> tuple[Model, ...]:
    """The models in an order in which each stands after all it reads; ties by name.

    Raises:
        ModelError: two models of one name, a cycle, a read of a later layer or of a table that
            neither a model nor the loader makes.
    """
    by_table: dict[str, Model] = {}
    for model in models:
        if model.table in by_table:
            raise ModelError(f"{model.table} is defined twice")
        by_table[model.table] = model
    for model in by_table.values():
        _check_reads(model, by_table)
    graph = {
        table: {read for read in model.reads if read in by_table}
        for table, model in by_table.items()
    }
    sorter = TopologicalSorter(graph)
    try:
        sorter.prepare()
    except CycleError as error:
        circle = " > ".join(error.args[1])
        raise ModelError(f"models read each other in a circle: {circle}") from error
    ordered: list[Model] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        ordered += (by_table[table] for table in ready)
        sorter.done(*ready)
    return tuple(sorted(ordered, key=lambda model: model.layer_number))


@cache
def all_models() -> tuple[Model, ...]:
    """The package's own models, in running order."""
    return in_order(read_models(files("warehouse")))


def layer_models(layer: str) -> tuple[Model, ...]:
    """The package's models of one layer, in running order.

    Raises:
        ModelError: no such layer.
    """
    chosen = tuple(model for model in all_models() if model.layer == layer)
    if not chosen:
        known = ", ".join(dict.fromkeys(model.layer for model in all_models()))
        raise ModelError(f"there is no layer {layer!r}; the layers are {known}")
    return chosen


def layers() -> tuple[str, ...]:
    """Layer names in running order."""
    return tuple(dict.fromkeys(model.layer for model in all_models()))


def _check_reads(model: Model, known: Mapping[str, Model]) -> None:
    for read in sorted(model.reads):
        other = known.get(read)
        if other is None:
            if read.partition(".")[0] not in _SOURCE_SCHEMAS:
                raise ModelError(f"{model.table} reads {read}, which no model makes")
        elif other.layer_number > model.layer_number:
            raise ModelError(f"{model.table} reads {read}, which stands in the later {other.layer}")


def _serialize(sql: str) -> dict[str, Any]:
    row = _connection().cursor().execute("SELECT json_serialize_sql(?)", [sql]).fetchone()
    assert row is not None
    document: dict[str, Any] = json.loads(row[0])
    return document


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def _walk(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
        for child in node.values():
            yield from _walk(child)
    elif isinstance(node, list):
        for child in node:
            yield from _walk(child)


def _common_tables(node: dict[str, Any]) -> list[dict[str, Any]]:
    entries = node.get("cte_map")
    return entries["map"] if isinstance(entries, dict) else []
