"""Table contracts: grain, key, columns with types and units, checks.

Source: ``expectations/<layer>/<table>.yml``; docs/contracts.md describes the format. Every schema
of ours is derived from a contract (Arrow, Parquet, DuckDB, export metadata), so that each column is
declared once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any, Literal, cast

import pyarrow as pa
import yaml

from gpurank.declared.column_types import COLUMN_TYPES, ColumnType
from gpurank.errors import GpurankError

Severity = Literal["critical", "warning"]

_CONTRACT_ENTRIES = {"table", "grain", "key", "doc", "columns", "checks"}
_CONTRACT_OPTIONS = {
    "is_large", "is_warehouse_only", "may_be_empty", "min_share_of_previous", "published_as",
}  # fmt: skip
_COLUMN_ENTRIES = {"name", "type", "doc", "unit", "nullable"}
_CHECK_ENTRIES = {"expect", "sql", "name", "severity", "why"}
_COLUMN_ARGUMENTS = ("column", "column_A", "column_B")
_COLUMN_LIST_ARGUMENTS = ("column_list", "column_set")

# Every table of a warehouse has this column after its declared ones (tasks/build/provenance.py).
RUN_ID = "run_id"


class ContractError(GpurankError, ValueError):
    """A contract cannot be read. The message names the file, the entry and what is allowed."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table: its name, type, unit and meaning."""

    name: str
    type: str
    doc: str
    unit: str | None = None
    nullable: bool = False

    @property
    def column_type(self) -> ColumnType:
        """The column's type with its name in each system."""
        return COLUMN_TYPES[self.type]

    @property
    def is_text(self) -> bool:
        """Whether the column holds text or lists of text."""
        return self.column_type.is_text


@dataclass(frozen=True, slots=True)
class Check:
    """One declared check: an expectation with its arguments, or a query for the failing rows.

    ``expect`` is a name of Great Expectations without its leading ``expect_``; ``sql`` returns the
    rows that fail. Exactly one of the two is set.
    """

    name: str
    severity: Severity
    why: str
    expect: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    sql: str | None = None


@dataclass(frozen=True, slots=True)
class Contract:
    """One table's contract; docs/contracts.md says what each entry means.

    Attributes:
        published_as: the mart that shows this table, as a view with the same columns.
        shows: the table behind a view; None for tables. Never written in a file.
        is_warehouse_only: a raw table that no version of a round holds as a file.
    """

    table: str
    grain: str
    key: tuple[str, ...]
    doc: str
    columns: tuple[Column, ...]
    checks: tuple[Check, ...] = ()
    may_be_empty: bool = False
    is_large: bool = False
    is_warehouse_only: bool = False
    min_share_of_previous: float = 0.9
    published_as: str | None = None
    shows: str | None = None

    @property
    def layer(self) -> str:
        """The schema of the table."""
        return self.table.partition(".")[0]

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the declared columns, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def sql_columns(self) -> str:
        """The columns as CREATE TABLE wants them: ``"path" VARCHAR, "line" INTEGER``."""
        return ", ".join(f'"{column.name}" {column.column_type.duckdb}' for column in self.columns)

    def column(self, name: str) -> Column:
        """Returns a declared column.

        Raises:
            KeyError: the table has no such column.
        """
        return {column.name: column for column in self.columns}[name]

    def arrow_schema(self) -> pa.Schema:
        """Returns the table's Arrow schema, in declared order."""
        return pa.schema(
            [
                pa.field(column.name, column.column_type.arrow, column.nullable)
                for column in self.columns
            ]
        )

    def view(self) -> Contract:
        """Returns the contract of the mart that shows this table.

        It has the same columns and the same implied checks. The declared checks are left out,
        because they hold for the table already.

        Raises:
            ValueError: the table is not published.
        """
        if self.published_as is None:
            raise ValueError(f"{self.table} is not published")
        return replace(
            self, table=self.published_as, shows=self.table, published_as=None, checks=()
        )


# The C implementation is ten times as fast, and every command reads contracts when it starts.
_Safe: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Safe):  # type: ignore[misc]
    """A YAML loader that refuses a repeated entry; by default the last one silently wins."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = [key.value for key, _ in node.value]
        for name in names:
            if names.count(name) > 1:
                raise yaml.constructor.ConstructorError(
                    None, None, f"{name!r} is given twice", node.start_mark
                )
        return dict(super().construct_mapping(node, deep))


def parse_contract(text: str, where: str) -> Contract:
    """Reads a contract from its YAML text.

    Args:
        text: the file's content.
        where: the file's name in messages (``raw/run.yml``).

    Raises:
        ContractError: an unknown, missing or contradictory entry.
    """
    try:
        document = yaml.load(text, Loader=_Loader)  # noqa: S506 (a SafeLoader)
    except yaml.YAMLError as error:
        raise ContractError(f"{where}: not YAML: {error}") from error
    if not isinstance(document, dict):
        raise ContractError(f"{where}: expected a mapping with {sorted(_CONTRACT_ENTRIES)}")
    required = _CONTRACT_ENTRIES - {"checks"}
    _check_entries(document, required, _CONTRACT_ENTRIES | _CONTRACT_OPTIONS, where)
    columns = tuple(_read_column(entry, where) for entry in document["columns"])
    names = [column.name for column in columns]
    for name in names:
        if names.count(name) > 1:
            raise ContractError(f"{where}: column {name!r} is declared twice")
    for name in document["key"]:
        if name not in names:
            raise ContractError(f"{where}: the key names {name!r}, which is no column")
    is_large = bool(document.get("is_large", False))
    checks = tuple(
        _read_check(entry, names, is_large, f"{where}, check {number}")
        for number, entry in enumerate(document.get("checks") or (), start=1)
    )
    check_names = [check.name for check in checks]
    for name in check_names:
        if check_names.count(name) > 1:
            raise ContractError(f"{where}: two checks are called {name!r}; give one a name:")
    return Contract(
        table=document["table"],
        grain=document["grain"],
        key=tuple(document["key"]),
        doc=document["doc"],
        columns=columns,
        checks=checks,
        may_be_empty=bool(document.get("may_be_empty", False)),
        is_large=is_large,
        is_warehouse_only=bool(document.get("is_warehouse_only", False)),
        min_share_of_previous=float(document.get("min_share_of_previous", 0.9)),
        published_as=document.get("published_as"),
    )


def _check_entries(
    entry: Mapping[str, Any], required: set[str], allowed: set[str], where: str
) -> None:
    missing = required - set(entry)
    if missing:
        raise ContractError(f"{where}: missing {', '.join(sorted(missing))}")
    unknown = set(entry) - allowed
    if unknown:
        raise ContractError(
            f"{where}: unknown {', '.join(sorted(map(str, unknown)))}; "
            f"allowed are {', '.join(sorted(allowed))}"
        )


def _read_column(entry: Any, where: str) -> Column:
    if not isinstance(entry, dict):
        raise ContractError(f"{where}: a column is a mapping, not {entry!r}")
    _check_entries(
        entry, {"name", "type", "doc"}, _COLUMN_ENTRIES, f"{where}, column {entry.get('name')}"
    )
    if entry["type"] not in COLUMN_TYPES:
        raise ContractError(
            f"{where}, column {entry['name']}: unknown type {entry['type']!r}; "
            f"allowed are {', '.join(COLUMN_TYPES)}"
        )
    if not isinstance(entry.get("nullable", False), bool):
        raise ContractError(f"{where}, column {entry['name']}: nullable is true or false")
    return Column(
        name=str(entry["name"]),
        type=str(entry["type"]),
        doc=str(entry["doc"]),
        unit=str(entry["unit"]) if "unit" in entry else None,
        nullable=entry.get("nullable", False),
    )


def _read_check(entry: Any, columns: list[str], is_large: bool, where: str) -> Check:
    if not isinstance(entry, dict):
        raise ContractError(f"{where}: a check is a mapping, not {entry!r}")
    _check_entries(entry, {"severity", "why"}, set(entry) | {"severity"}, where)
    if entry["severity"] not in ("critical", "warning"):
        raise ContractError(f"{where}: severity is critical or warning, not {entry['severity']!r}")
    severity = cast(Severity, entry["severity"])
    why = str(entry["why"])
    if ("expect" in entry) == ("sql" in entry):
        raise ContractError(f"{where}: give either expect: or sql:")
    if "sql" in entry:
        _check_entries(entry, {"name"}, _CHECK_ENTRIES - {"expect"}, where)
        return Check(str(entry["name"]), severity, why, sql=str(entry["sql"]).strip())
    if is_large:
        raise ContractError(f"{where}: a table with is_large takes sql: checks only")
    arguments = {name: value for name, value in entry.items() if name not in _CHECK_ENTRIES}
    used = columns_of(arguments)
    for name in used:
        if name not in columns:
            raise ContractError(f"{where}: {name!r} is no column of the table")
    name = str(entry.get("name") or "_".join([*map(str, used), str(entry["expect"])]))
    return Check(name, severity, why, expect=str(entry["expect"]), arguments=arguments)


def columns_of(arguments: Mapping[str, Any]) -> list[str]:
    """Returns the columns that an expectation's arguments name."""
    names = [arguments[name] for name in _COLUMN_ARGUMENTS if name in arguments]
    return names + [name for each in _COLUMN_LIST_ARGUMENTS for name in arguments.get(each, ())]


@cache
def contract(table: str) -> Contract:
    """Returns the contract of ``layer.name``, of its own file or as the view of a lower table.

    Raises:
        FileNotFoundError: the table has no contract.
        ContractError: its contract cannot be read, or names another table than its path.
    """
    layer, _, name = table.partition(".")
    path = files("expectations").joinpath(layer, f"{name}.yml")
    if path.is_file():
        return _read_contract(layer, name)
    for view in _views():
        if view.table == table:
            return view
    raise FileNotFoundError(f"{table} has no contract: there is no expectations/{layer}/{name}.yml")


@cache
def layer_contracts(layer: str) -> tuple[Contract, ...]:
    """Returns the contracts of one layer, views included, by table name; maybe none."""
    views = [view for view in _views() if view.layer == layer]
    return tuple(sorted([*_files_of(layer), *views], key=lambda contract: contract.table))


@cache
def contracts() -> tuple[Contract, ...]:
    """Returns every contract, views included, by table name."""
    return tuple(each for layer in _layers() for each in layer_contracts(layer))


def version_contracts() -> tuple[Contract, ...]:
    """Returns the contracts of the raw tables that a version of a round holds as files."""
    return tuple(each for each in layer_contracts("raw") if not each.is_warehouse_only)


@cache
def _views() -> tuple[Contract, ...]:
    """The marts that show one lower table.

    Raises:
        ContractError: a mart has a file of its own, or is shown twice.
    """
    views: dict[str, Contract] = {}
    for lower in (each for layer in _layers() for each in _files_of(layer)):
        if lower.published_as is None:
            continue
        view = lower.view()
        layer, _, name = view.table.partition(".")
        if files("expectations").joinpath(layer, f"{name}.yml").is_file() or view.table in views:
            raise ContractError(f"{lower.table}: {view.table} is declared elsewhere too")
        views[view.table] = view
    return tuple(views.values())


@cache
def _files_of(layer: str) -> tuple[Contract, ...]:
    """The contracts that have a file, of one layer, by table name."""
    folder = files("expectations").joinpath(layer)
    if not folder.is_dir():
        return ()
    names = [
        path.name.removesuffix(".yml")
        for path in folder.iterdir()
        if path.name.endswith(".yml") and not path.name.startswith(".")
    ]
    return tuple(_read_contract(layer, name) for name in sorted(names))


@cache
def _read_contract(layer: str, name: str) -> Contract:
    where = f"expectations/{layer}/{name}.yml"
    text = files("expectations").joinpath(layer, f"{name}.yml").read_text(encoding="utf-8")
    parsed = parse_contract(text, where)
    if parsed.table != f"{layer}.{name}":
        raise ContractError(
            f"{where}: names the table {parsed.table!r} instead of '{layer}.{name}'"
        )
    return parsed


def _layers() -> list[str]:
    return sorted(
        folder.name
        for folder in files("expectations").iterdir()
        if folder.is_dir() and not folder.name.startswith(("_", "."))
    )
