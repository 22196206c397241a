"""SQL models: which tables and views they make, what they read, and the order in which they run.

A file ``warehouse/<nn>_<layer>/<name>.sql`` holds one SELECT and makes the table
``<layer>.<name>``. A mart that only shows a lower table has no file: the lower table's contract
publishes it. What a model reads is taken from its SQL.
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

from gpurank.declared.contracts import contracts
from gpurank.errors import Exit, GpurankError

_LAYER_FOLDER = re.compile(r"(\d+)_([a-z]+)")
_SOURCE_SCHEMAS = frozenset({"raw", "lookup", "identity", "analysis"})


class ModelError(GpurankError, ValueError):
    """A SQL model cannot be used. The message names the file and what to change."""

    exit_code = Exit.VALIDATION


@dataclass(frozen=True, slots=True)
class Model:
    """One SELECT: the table or view that it makes, its layer and the tables that it reads."""

    table: str
    layer: str
    layer_number: int
    sql: str
    reads: frozenset[str]
    is_view: bool = False

    @property
    def doc(self) -> str:
        """The comment lines at the top of the SQL, as one paragraph."""
        lines: list[str] = []
        for line in self.sql.splitlines():
            if not line.startswith("--"):
                break
            lines.append(line.removeprefix("--").strip())
        return " ".join(lines)


def tables_read(sql: str, where: str) -> frozenset[str]:
    """Returns the tables (``schema.name``) that one SELECT reads, without its own CTEs.

    Args:
        sql: the statement.
        where: the file's name in messages.

    Raises:
        ModelError: not exactly one SELECT, or a table named without its schema.
    """
    document = _serialize(sql)
    if document.get("error"):
        raise ModelError(f"{where}: not one readable SELECT: {document.get('error_message')}")
    statements = document["statements"]
    if len(statements) != 1:
        raise ModelError(f"{where}: holds {len(statements)} statements; write one SELECT")
    nodes = list(_walk(statements[0]))
    common_tables = {entry["key"] for node in nodes for entry in _common_tables(node)}
    tables = set()
    for node in nodes:
        if node.get("type") != "BASE_TABLE":
            continue
        schema, name = node.get("schema_name", ""), node["table_name"]
        if schema:
            tables.add(f"{schema}.{name}")
        elif name not in common_tables:
            raise ModelError(f"{where}: reads {name!r} without a schema; write layer.{name}")
    return frozenset(tables)


def read_models(root: Traversable) -> tuple[Model, ...]:
    """Reads every SQL file under ``root``, the folder that holds ``10_staging`` and so on.

    Returns:
        The models by layer and name.

    Raises:
        ModelError: an unreadable statement.
    """
    models = []
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
            models.append(Model(table, match[2], int(match[1]), sql, tables_read(sql, where)))
    return tuple(sorted(models, key=lambda model: (model.layer_number, model.table)))


def published_views(models: Iterable[Model]) -> tuple[Model, ...]:
    """Returns a view for each table whose contract publishes it in one of the models' layers.

    Raises:
        ModelError: a contract publishes into a layer that no folder makes.
    """
    layer_numbers = {model.layer: model.layer_number for model in models}
    views = []
    for view in contracts():
        if view.shows is None:
            continue
        if view.layer not in layer_numbers:
            raise ModelError(f"{view.shows} is published as {view.table}: no such layer")
        doc = " ".join(view.doc.split())
        key = ", ".join(f'"{name}"' for name in view.key)
        sql = f"-- {doc}\nSELECT * FROM {view.shows} ORDER BY {key}\n"
        number = layer_numbers[view.layer]
        views.append(Model(view.table, view.layer, number, sql, frozenset({view.shows}), True))
    return tuple(views)


def sort_models(models: Iterable[Model]) -> tuple[Model, ...]:
    """Returns the models so that each comes after all that it reads; ties by name.

    Raises:
        ModelError: two models have one name, models read each other in a circle, or one reads a
            later layer or a table that neither a model nor the loader makes.
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
    """Returns the package's own models, in the order in which they run."""
    models = read_models(files("warehouse"))
    return sort_models([*models, *published_views(models)])


def layer_models(layer: str) -> tuple[Model, ...]:
    """Returns the package's models of one layer, in the order in which they run.

    Raises:
        ModelError: there is no such layer.
    """
    models = tuple(model for model in all_models() if model.layer == layer)
    if not models:
        raise ModelError(f"there is no layer {layer!r}; the layers are {', '.join(layers())}")
    return models


def layers() -> tuple[str, ...]:
    """Returns the names of the layers, in the order in which they run."""
    return tuple(dict.fromkeys(model.layer for model in all_models()))


def _check_reads(model: Model, models: Mapping[str, Model]) -> None:
    for read in sorted(model.reads):
        other = models.get(read)
        if other is None:
            if read.partition(".")[0] not in _SOURCE_SCHEMAS:
                raise ModelError(f"{model.table} reads {read}, which no model makes")
        elif other.layer_number > model.layer_number:
            raise ModelError(f"{model.table} reads {read} of the later layer {other.layer}")


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
