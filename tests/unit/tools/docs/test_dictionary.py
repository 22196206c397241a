"""docs/tables.md is what the contracts say."""

from __future__ import annotations

from pathlib import Path

from gpurank.declared.contracts import contract, contracts, parse_contract
from tools.docs.dictionary import tables_text

TABLES = Path(__file__).resolve().parents[4] / "docs" / "tables.md"


def test_tables_md_is_fresh() -> None:
    assert TABLES.read_text(encoding="utf-8") == tables_text(contracts()), (
        "docs/tables.md is stale; write it again with: make docs"
    )


def test_a_view_refers_to_the_table_that_it_shows() -> None:
    text = tables_text([contract("analysis.fleet_law"), contract("marts.fleet_law")])
    assert "Published as [marts.fleet_law](#martsfleet_law)." in text
    assert "A view of [analysis.fleet_law](#analysisfleet_law)" in text
    assert text.count("| `exponent` |") == 1


def test_a_section_shows_units_nulls_checks_and_escapes() -> None:
    text = tables_text(
        [
            parse_contract(
                """
table: core.thing
grain: "a | b"
key: [thing_id]
doc: Things.
columns:
  - {name: thing_id, type: string, doc: "<script> [x]"}
  - {name: weight_kg, type: double, unit: kg, nullable: true, doc: how heavy}
checks:
  - {name: light, sql: "select 'a' || 'b'", severity: warning, why: "heavy * things"}
""",
                "thing",
            )
        ]
    )
    assert "## core.thing" in text
    assert "| `thing_id` | string |  |  | \\<script\\> \\[x\\] |" in text
    assert "| `weight_kg` | double | kg | yes | how heavy |" in text
    assert "| `light` | warning | no row: `select 'a' \\|\\| 'b'` | heavy \\* things |" in text
    assert "One row is a \\| b." in text
