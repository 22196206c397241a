"""The contract reader: strict in, loud out."""

from __future__ import annotations

import pyarrow as pa
import pytest

from gpurank.declared.contracts import (
    ContractError,
    contract,
    contracts,
    layer_contracts,
    parse_contract,
    version_contracts,
)

GOOD = """
table: core.thing
grain: one thing
key: [thing_id]
doc: Things.
columns:
  - {name: thing_id, type: string, doc: its name}
  - {name: weight_kg, type: double, unit: kg, nullable: true, doc: how heavy}
checks:
  - {expect: column_values_to_be_between, column: weight_kg, min_value: 0,
     severity: critical, why: w}
  - {name: is_known, sql: "select 1 where false", severity: warning, why: w}
"""


def test_reads_columns_options_and_checks() -> None:
    read = parse_contract(GOOD, "core/thing.yml")
    assert (read.table, read.layer, read.key) == ("core.thing", "core", ("thing_id",))
    assert read.arrow_schema() == pa.schema(
        [pa.field("thing_id", pa.string(), False), pa.field("weight_kg", pa.float64(), True)]
    )
    assert (read.may_be_empty, read.is_large, read.min_share_of_previous) == (False, False, 0.9)
    first, second = read.checks
    assert first.expect == "column_values_to_be_between"
    assert first.arguments == {"column": "weight_kg", "min_value": 0}
    assert (first.name, second.name) == ("weight_kg_column_values_to_be_between", "is_known")
    assert (first.severity, second.severity) == ("critical", "warning")
    assert second.sql == "select 1 where false"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("grain: one thing", "", "missing grain"),
        ("doc: Things.", "doc: Things.\nmay_be_emtpy: true", "unknown may_be_emtpy"),
        ("type: double", "type: float", "unknown type 'float'"),
        ("unit: kg", "units: kg", "unknown units"),
        ("nullable: true", "nullable: maybe", "nullable is true or false"),
        ("name: weight_kg", "name: thing_id", "declared twice"),
        ("key: [thing_id]", "key: [id]", "'id', which is no column"),
        ("column: weight_kg", "column: weight", "'weight' is no column"),
        ("severity: critical", "severity: fatal", "critical or warning"),
        ("severity: critical, why", "why", "missing severity"),
        ("severity: warning, why: w", "severity: warning", "missing why"),
        ("name: is_known, sql", "sql", "missing name"),
        ("name: is_known, sql", "name: is_known, expekt", "either expect: or sql:"),
        ("doc: Things.", "doc: Things.\nis_large: true", "sql: checks only"),
        ("doc: Things.", "doc: Things.\ndoc: Again.", "given twice"),
        ("key: [thing_id]", "key: [thing_id", "not YAML"),
    ],
)
def test_refuses_by_name(old: str, new: str, said: str) -> None:
    assert old in GOOD
    with pytest.raises(ContractError, match=r"core/thing\.yml") as caught:
        parse_contract(GOOD.replace(old, new, 1), "core/thing.yml")
    assert said in str(caught.value)


def test_two_checks_of_one_name_are_refused() -> None:
    line = GOOD.strip().splitlines()[-1]
    with pytest.raises(ContractError, match="two checks are called 'is_known'"):
        parse_contract(GOOD + line, "core/thing.yml")


def test_every_contract_reads_and_is_named_as_its_path() -> None:
    tables = [each.table for each in contracts()]
    assert len(tables) == len(set(tables))
    assert {"event", "folder", "issue", "power", "run", "scaling", "source_file", "system"} <= {
        table.partition(".")[2] for table in tables if table.startswith("raw.")
    }
    assert all(each.checks for each in version_contracts())
    assert layer_contracts("no_such_layer") == ()


def test_a_published_table_is_a_view_with_the_same_columns() -> None:
    law, view = contract("analysis.fleet_law"), contract("marts.fleet_law")
    assert view.columns == law.columns and view.key == law.key
    assert view.shows == "analysis.fleet_law" and law.shows is None
    assert law.checks and not view.checks
    assert view in layer_contracts("marts")
    with pytest.raises(FileNotFoundError, match=r"marts\.no_such has no contract"):
        contract("marts.no_such")


def test_a_version_holds_no_table_that_only_a_warehouse_has() -> None:
    tables = {each.table for each in version_contracts()}
    assert "raw.run" in tables and "raw.round_version" not in tables
    assert contract("raw.round_version") in layer_contracts("raw")
