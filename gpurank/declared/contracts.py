"""Table contracts: grain, key, columns with types and units, checks.

Source: ``expectations/<layer>/<table>.yml``; docs/contracts.md describes the format. A raw table's
Parquet schema is made from here, so that a column is declared once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal, cast

import pyarrow as pa
import yaml

from gpurank.errors import GpurankError

Severity = Literal["critical", "warning"]

_TYPES: dict[str, pa.DataType] = {
    "string": pa.string(),
    "dictionary": pa.dictionary(pa.int32(), pa.string()),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "double": pa.float64(),
    "bool": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "list_double": pa.list_(pa.float64()),
    "list_string": pa.list_(pa.string()),
}
_TEXT = ("string", "dictionary", "list_string")
_CONTRACT_ENTRIES = {"table", "grain", "key", "doc", "columns", "checks"}
_CONTRACT_OPTIONS = {"may_be_empty", "is_large", "min_share_of_previous"}
_COLUMN_ENTRIES = {"name", "type", "doc", "unit", "nullable"}
_CHECK_ENTRIES = {"expect", "sql", "name", "severity", "why"}
_COLUMN_ARGUMENTS = ("column", "column_A", "column_B")
_COLUMN_LIST_ARGUMENTS = ("column_list", "column_set")


# Every table of a warehouse has this column behind its declared ones (tasks/build/provenance.py).
RUN_ID = "run_id"


class ContractError(GpurankError, ValueError):
    """A contract that cannot be read: says which file, which entry, and what is allowed."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table: its name, type, unit and meaning."""

    name: str
    type: str
    doc: str
    unit: str | None = None
    nullable: bool = False

    @property
    def is_text(self) -> bool:
        """Whether the column holds free or categorical text."""
        return self.type in _TEXT


@dataclass(frozen=True, slots=True)
class Check:
    """One declared check: an expectation with its arguments, or a query for offending rows.

    ``expect`` is a Great Expectations name without its leading ``expect_``; ``sql`` returns the
    offending rows. Exactly one of the two is set.
    """

    name: str
    severity: Severity
    why: str
    expect: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    sql: str | None = None


@dataclass(frozen=True, slots=True)
class Contract:
    """One table's contract; docs/contracts.md says what each entry means."""

    table: str
    grain: str
    key: tuple[str, ...]
    doc: str
    columns: tuple[Column, ...]
    checks: tuple[Check, ...] = ()
    may_be_empty: bool = False
    is_large: bool = False
    min_share_of_previous: float = 0.9

    @property
    def layer(self) -> str:
        """The schema the table stands in."""
        return self.table.partition(".")[0]

    def arrow_schema(self) -> pa.Schema:
        """The table's Arrow schema, in declared order."""
        return pa.schema(
            [pa.field(column.name, _TYPES[column.type], column.nullable) for column in self.columns]
        )


# In C where the package has it: ten times as fast, and read at the start of every command.
_Safe: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Safe):  # type: ignore[misc]
    """YAML that refuses an entry given twice, which plain YAML readers drop silently."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = [key.value for key, _ in node.value]
        for name in names:
            if names.count(name) > 1:
                raise yaml.constructor.ConstructorError(
                    None, None, f"{name!r} is given twice", node.start_mark
                )
        return dict(super().construct_mapping(node, deep))


def parse_contract(text: str, where: str) -> Contract:
    """A contract from its YAML text.

    Args:
        text: the file's content.
        where: what to call it in messages (``raw/run.yml``).

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
    _entries(document, required, _CONTRACT_ENTRIES | _CONTRACT_OPTIONS, where)
    columns = tuple(_column(entry, where) for entry in document["columns"])
    names = [column.name for column in columns]
    for name in names:
        if names.count(name) > 1:
            raise ContractError(f"{where}: column {name!r} is declared twice")
    for name in document["key"]:
        if name not in names:
            raise ContractError(f"{where}: the key names {name!r}, which is no column")
    is_large = bool(document.get("is_large", False))
    checks = tuple(
        _check(entry, names, is_large, f"{where}, check {number}")
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
        min_share_of_previous=float(document.get("min_share_of_previous", 0.9)),
    )


def _entries(entry: Mapping[str, Any], required: set[str], allowed: set[str], where: str) -> None:
    missing = required - set(entry)
    if missing:
        raise ContractError(f"{where}: missing {', '.join(sorted(missing))}")
    unknown = set(entry) - allowed
    if unknown:
        raise ContractError(
            f"{where}: unknown {', '.join(sorted(map(str, unknown)))}; "
            f"allowed are {', '.join(sorted(allowed))}"
        )


def _column(entry: Any, where: str) -> Column:
    if not isinstance(entry, dict):
        raise ContractError(f"{where}: a column is a mapping, not {entry!r}")
    _entries(
        entry, {"name", "type", "doc"}, _COLUMN_ENTRIES, f"{where}, column {entry.get('name')}"
    )
    if entry["type"] not in _TYPES:
        raise ContractError(
            f"{where}, column {entry['name']}: unknown type {entry['type']!r}; "
            f"allowed are {', '.join(_TYPES)}"
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


def _check(entry: Any, columns: list[str], is_large: bool, where: str) -> Check:
    if not isinstance(entry, dict):
        raise ContractError(f"{where}: a check is a mapping, not {entry!r}")
    _entries(entry, {"severity", "why"}, set(entry) | {"severity"}, where)
    if entry["severity"] not in ("critical", "warning"):
        raise ContractError(f"{where}: severity is critical or warning, not {entry['severity']!r}")
    severity = cast(Severity, entry["severity"])
    why = str(entry["why"])
    if ("expect" in entry) == ("sql" in entry):
        raise ContractError(f"{where}: give either expect: or sql:")
    if "sql" in entry:
        _entries(entry, {"name"}, _CHECK_ENTRIES - {"expect"}, where)
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
    """The columns that an expectation's arguments name."""
    used = [arguments[name] for name in _COLUMN_ARGUMENTS if name in arguments]
    return used + [name for each in _COLUMN_LIST_ARGUMENTS for name in arguments.get(each, ())]


@cache
def contract(table: str) -> Contract:
    """The contract of ``layer.name``.

    Raises:
        FileNotFoundError: the table has no contract.
        ContractError: its contract cannot be read, or names another table than its path.
    """
    layer, _, name = table.partition(".")
    text = files("expectations").joinpath(layer, f"{name}.yml").read_text(encoding="utf-8")
    where = f"expectations/{layer}/{name}.yml"
    parsed = parse_contract(text, where)
    if parsed.table != table:
        raise ContractError(f"{where}: names the table {parsed.table!r} instead of {table!r}")
    return parsed


@cache
def layer_contracts(layer: str) -> tuple[Contract, ...]:
    """The contracts of one layer, by table name; empty where the layer has none."""
    folder = files("expectations").joinpath(layer)
    if not folder.is_dir():
        return ()
    names = [
        path.name.removesuffix(".yml")
        for path in folder.iterdir()
        if path.name.endswith(".yml") and not path.name.startswith(".")
    ]
    return tuple(contract(f"{layer}.{name}") for name in sorted(names))


@cache
def contracts() -> tuple[Contract, ...]:
    """Every contract, by table name."""
    layers = sorted(
        folder.name
        for folder in files("expectations").iterdir()
        if folder.is_dir() and not folder.name.startswith(("_", "."))
    )
    return tuple(each for layer in layers for each in layer_contracts(layer))
