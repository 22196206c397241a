"""Validation of small versions that are made here: each fault is found by name."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpurank.declared.contracts import contract, parse_contract, version_contracts
from gpurank.declared.validation import ValidationFailed, ValidationReport, issue_rows
from tasks.checks import validate
from tasks.checks.validate import validate_layer, validate_version

Tables = dict[str, list[dict[str, Any]]]
FOLDER = "Acme/results/box/resnet"
LOGS = [f"{FOLDER}/result_{number}.txt" for number in range(5)]
STEPS = [(1, "start"), (2, "stop")]
SYSTEM = "Acme/systems/box.json"
SCALING = f"{FOLDER}/scaling.json"


def file(path: str, kind: str, folder_id: str | None, record_count: int = 0) -> dict[str, Any]:
    return {
        "path": path, "kind": kind, "folder_id": folder_id, "byte_count": 10,
        "sha256": "0" * 64, "record_count": record_count,
    }  # fmt: skip


def run(path: str) -> dict[str, Any]:
    return {
        "path": path, "folder_id": FOLDER, "dialect": "mllog", "record_count": 2,
        "undecodable_count": 0, "attempt_count": 1, "completed_attempt_count": 1,
        "start_ms": 1000.0, "start_line": 1, "stop_ms": 61000.0, "stop_line": 2,
        "duration_ms": 60000.0, "duration_source": "run_stop", "status_reported": "success",
        "is_converged": True, "convergence_basis": "status", "fingerprint": path,
    }  # fmt: skip


def event(path: str, line: int, key: str) -> dict[str, Any]:
    return {
        "path": path, "line_number": line, "record_number": line - 1, "dialect": "mllog",
        "time_ms": 1000.0, "key": key, "value": "null", "is_decodable": True,
    }  # fmt: skip


def sound() -> Tables:
    """One result of five runs, its system and its factor: nothing to complain about."""
    return {
        "source_file": [file(path, "result_log", FOLDER, 2) for path in LOGS]
        + [file(SYSTEM, "system_description", None), file(SCALING, "scaling", FOLDER)],
        "folder": [
            {
                "folder_id": FOLDER, "submitter_folder": "Acme", "system_folder": "box",
                "benchmark_folder": "resnet", "benchmark_folder_source": "folder",
                "result_log_count": 5, "withheld_log_count": 0, "file_count": 6,
                "system_path": SYSTEM,
            }
        ],
        "event": [
            event(path, line, f"run_{what}") for path in LOGS for line, what in STEPS
        ],
        "run": [run(path) for path in LOGS],
        "system": [
            {
                "path": SYSTEM, "submitter_folder": "Acme", "system_folder": "box",
                "parse_dialect": "json", "accelerator_reported": "A100", "fields_json": "{}",
            }
        ],
        "scaling": [{"path": SCALING, "folder_id": FOLDER, "scaling_factor": 1.05}],
        "power": [],
        "issue": [],
    }  # fmt: skip


def write(folder: Path, tables: Tables) -> Path:
    for name, rows in tables.items():
        schema = contract(f"raw.{name}").arrow_schema()
        # Written without the schema's own refusal of nulls, so that the check has to find them.
        fields = [pa.field(each.name, each.type) for each in schema]
        pq.write_table(
            pa.Table.from_pylist(rows, schema=pa.schema(fields)), folder / f"{name}.parquet"
        )
    return folder


def failures(folder: Path, tables: Tables, **options: Any) -> dict[str, str]:
    """Failed critical checks, ``table.check`` → the error's sentence."""
    with pytest.raises(ValidationFailed) as caught:
        validate_version(write(folder, tables), "v9.9", **options)
    return {
        f"{failure.table.partition('.')[2]}.{failure.check}": failure.sentence()
        for failure in caught.value.report.critical_failures
    }


def test_a_sound_version_passes_with_everything_evaluated(tmp_path: Path) -> None:
    report = validate_version(write(tmp_path, sound()), "v9.9")
    assert report.is_passed and report.warnings == () and report.critical_failures == ()
    assert report.declared_count == report.evaluated_count == len(report.results)
    declared = sum(len(each.checks) for each in version_contracts())
    assert report.declared_count > declared
    assert report.row_counts["raw.run"] == 5 and report.row_counts["raw.power"] == 0


def empty(table: str) -> Callable[[Tables], None]:
    return lambda tables: tables[table].clear()


def put(table: str, row: int = 0, **values: Any) -> Callable[[Tables], None]:
    return lambda tables: tables[table][row].update(values)


def again(table: str) -> Callable[[Tables], None]:
    return lambda tables: tables[table].append(dict(tables[table][0]))


def drop(table: str, row: int = 0) -> Callable[[Tables], None]:
    return lambda tables: tables[table].pop(row) and None


# Faults that do not touch each other are put into one version, since each validation takes a while.
RANGE, SET = "column_values_to_be_between", "column_values_to_be_in_set"
FAULTS = {
    # Case 45: an empty batch passes most checks.
    "empty": [
        (empty("run"), "run.not_empty", "0 rows"),
        (empty("event"), "event.not_empty", "0 rows"),
    ],
    "repeated or unfilled": [
        (again("run"), "run.key_unique", LOGS[0]),
        (again("event"), "event.key_unique", LOGS[0]),
        (put("run", 1, folder_id=None), "run.not_null", f"folder_id at path = {LOGS[1]}"),
        (put("event", 2, line_number=None), "event.not_null", f"line_number at path = {LOGS[1]}"),
    ],
    # Case 24 first: a folder that is neither a result nor quarantined.
    "lost": [
        (put("folder", folder_id="X"), "folder.result_or_quarantined", "folder_id = X"),
        (drop("run"), "source_file.result_log_is_read", LOGS[0]),
        (drop("run"), "folder.logs_are_runs", "run_count = 0"),
        (drop("event", 4), "event.all_records_kept", "event_count = 1"),
        (drop("event", 6), "run.lines_are_events", LOGS[2]),
        (drop("scaling"), "source_file.scaling_is_read", SCALING),
    ],
    # Case 7 among them: a failed run's time must not count.
    "wrong": [
        (put("scaling", scaling_factor=0.5), f"scaling.scaling_factor_{RANGE}", "0.5"),
        (put("run", 0, duration_ms=61000.0), "run.duration_is_stop_less_start", LOGS[0]),
        (put("run", 1, duration_ms=-1.0), f"run.duration_ms_{RANGE}", "-1.0"),
        (put("run", 2, convergence_basis="aborted"), "run.convergence_has_basis", "aborted"),
        (put("run", 3, convergence_basis="luck"), f"run.convergence_basis_{SET}", "luck"),
        (put("source_file", 0, kind="other"), f"source_file.kind_{SET}", "other"),
        (put("source_file", 1, path="../x"), "source_file.path_is_relative", "../x"),
        (put("event", key="submission_poc_name", value='"J. Doe"'), "event.no_contact_person", "1"),
        (put("system", fields_json="{"), "system.fields_are_json", SYSTEM),
    ],
}


@pytest.mark.parametrize("group", FAULTS)
def test_each_fault_stops_the_publication(tmp_path: Path, group: str) -> None:
    tables = sound()
    for break_it, _, _ in FAULTS[group]:
        break_it(tables)
    found = failures(tmp_path, tables)
    for _, check, example in FAULTS[group]:
        assert check in found
        assert example in found[check]


def test_an_address_is_found_and_not_repeated(tmp_path: Path) -> None:
    tables = sound()
    places = [("event", "value"), ("event", "metadata"), ("run", "seed"), ("system", "fields_json")]
    for table, column in places:
        tables[table][0][column] = '{"by": "jane.doe@example.org"}'
    found = failures(tmp_path, tables)
    assert found.keys() == {f"{table}.no_email" for table, _ in places}
    assert all(column in found[f"{table}.no_email"] for table, column in places)
    assert "jane" not in " ".join(found.values())


def test_an_address_in_a_key_is_masked(tmp_path: Path) -> None:
    tables = sound()
    tables["issue"] = [{"level": "info", "kind": "k", "message": "by jane@example.org"}] * 2
    found = failures(tmp_path, tables)
    assert found.keys() == {"issue.no_email", "issue.key_unique"}
    assert "jane" not in " ".join(found.values()) and "<e-mail>" in found["issue.key_unique"]


def test_a_table_may_not_shrink_by_much(tmp_path: Path) -> None:
    version = write(tmp_path, sound())
    assert validate_version(version, "v9.9", {"run": 5, "raw.event": 11}).is_passed  # 10 ≥ 9.9
    found = failures(tmp_path, sound(), previous_counts={"raw.run": 6, "issue": 99})  # 5 < 5.4
    assert found.keys() == {"run.shrink"}
    assert "5 rows after 6, 5 needed" in found["run.shrink"]


def test_shipped_facts_may_hold_fewer_events(tmp_path: Path) -> None:
    tables = sound()
    for row in tables["source_file"]:
        row["record_count"] *= 3
    assert set(failures(tmp_path, tables)) == {"event.all_records_kept"}
    previous = {"event": 999, "run": 5}
    assert validate_version(tmp_path, "v9.9", previous, form="facts").is_passed


def test_missing_and_damaged_files_are_named(tmp_path: Path) -> None:
    version = write(tmp_path, sound())
    (version / "power.parquet").unlink()
    (version / "scaling.parquet").write_bytes(b"PAR1 not a table")
    with pytest.raises(ValidationFailed) as caught:
        validate_version(version, "v9.9")
    found = {f.table for f in caught.value.report.critical_failures if f.check == "readable"}
    assert found == {"raw.power", "raw.scaling"}


def test_columns_and_types_must_be_the_declared_ones(tmp_path: Path) -> None:
    version = write(tmp_path, sound())
    table = pq.read_table(version / "scaling.parquet")
    wrong = table.rename_columns(["path", "folder_id", "factor"]).set_column(
        2, "factor", pa.array([1], pa.int64())
    )
    pq.write_table(wrong, version / "scaling.parquet")
    with pytest.raises(ValidationFailed, match="scaling_factor is missing"):
        validate_version(version, "v9.9")
    pq.write_table(
        table.set_column(2, "scaling_factor", pa.array([1])), version / "scaling.parquet"
    )
    with pytest.raises(ValidationFailed, match="scaling_factor is BIGINT, declared double"):
        validate_version(version, "v9.9")
    pq.write_table(table.select([1, 0, 2]), version / "scaling.parquet")
    with pytest.raises(ValidationFailed, match="the order is folder_id, path, scaling_factor"):
        validate_version(version, "v9.9")


def test_a_warning_becomes_an_issue_row(tmp_path: Path) -> None:
    tables = sound()
    tables["run"][2]["global_batch_size"] = 0.0
    report = validate_version(write(tmp_path, tables), "v9.9")
    assert report.is_passed
    (row,) = issue_rows(report)
    assert row["level"] == "warning"
    assert row["kind"] == "validation_global_batch_size_column_values_to_be_between"
    assert "1 of 5 rows" in row["message"] and LOGS[2] in row["message"]


THING = """
table: core.thing
grain: one thing
key: [thing_id]
doc: Things.
columns:
  - {{name: thing_id, type: int64, doc: d}}
  - {{name: small, type: int64, nullable: true, doc: d}}
  - {{name: parts, type: list_double, nullable: true, doc: d}}
checks:
  - {{{check}, severity: warning, why: w}}
"""


@pytest.fixture
def validate_thing(monkeypatch: pytest.MonkeyPatch) -> Callable[..., ValidationReport]:
    """Validates core.thing with one declared check; the report, also of a failure."""

    def run(check: str, values: str = "(1, null, [1.5]), (2, 3, null)") -> ValidationReport:
        declared = parse_contract(THING.format(check=check), "thing")
        monkeypatch.setattr(validate, "layer_contracts", lambda layer: (declared,))
        with duckdb.connect() as con:
            con.execute("create schema core")
            con.execute(
                "create table core.thing as "
                "select thing_id::bigint as thing_id, small::bigint as small,"
                f" parts::double[] as parts from (values {values}) t(thing_id, small, parts)"
            )
            try:
                return validate_layer(con, "core", "core")
            except ValidationFailed as error:
                return error.report

    return run


def test_nullable_integers_stay_integers(
    validate_thing: Callable[..., ValidationReport],
) -> None:
    report = validate_thing("expect: column_values_to_be_in_set, column: small, value_set: [4]")
    (failure,) = report.warnings
    assert failure.examples == ("small = 3 at thing_id = 2",)
    assert failure.observed == "1 of 2 rows"


@pytest.mark.parametrize(
    "check",
    [
        # Great Expectations drops an unknown name without an error.
        "expect: column_values_to_be_betwen, column: small, min_value: 0",
        "expect: column_values_to_be_between, column: small, minimum: 0, max_value: 5",
        "expect: column_values_to_be_between, column: small, min_value: nought",
        "name: n, sql: select nothing from core.thing",
        "name: n, sql: select 1 from core.absent",
    ],
)
def test_a_check_that_cannot_run_fails_whatever_its_severity(
    check: str, validate_thing: Callable[..., ValidationReport]
) -> None:
    report = validate_thing(check)
    assert not report.is_passed
    (failure,) = report.critical_failures
    assert failure.observed.startswith("not evaluated")


def test_fewer_checks_are_evaluated_than_declared_for_a_misspelt_expectation(
    validate_thing: Callable[..., ValidationReport],
) -> None:
    report = validate_thing("expect: column_values_to_be_betwen, column: small, min_value: 0")
    assert report.declared_count - report.evaluated_count == 1
    assert "betwen" in report.critical_failures[0].check


def test_mostly_allows_a_share(validate_thing: Callable[..., ValidationReport]) -> None:
    check = "expect: column_values_to_be_between, column: small, max_value: 9, mostly: 0.5"
    values = "(1, 1, null), (2, 99, null)"
    assert validate_thing(check, values).warnings == ()
    assert len(validate_thing(check.replace("0.5", "0.6"), values).warnings) == 1


def test_a_table_of_a_layer_needs_a_contract() -> None:
    with duckdb.connect() as con:
        con.execute("create schema nolayer; create table nolayer.stray as select 1 as one")
        with pytest.raises(ValidationFailed, match=r"nolayer\.stray: check contract failed"):
            validate_layer(con, "nolayer", "nolayer")


def test_great_expectations_is_imported_only_when_used() -> None:
    code = "import sys, tasks.checks.validate; sys.exit('great_expectations' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
