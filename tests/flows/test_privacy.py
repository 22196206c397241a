"""No contact person's name or address gets into anything that a run leaves behind or prints.

Each place where submissions name people gets a name and an address of its own, so that whatever
leaks says from where.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from synthetic_logs import run

pytestmark = [pytest.mark.flow, pytest.mark.slow]

NAME = "Quilla{}"
ADDRESS = "{}.quilla@example.org"
PLACES = (
    "key", "upper", "odd_key", "entry", "entry_text", "log_text", "escaped", "system", "nested",
    "notes", "framework", "json_key", "oldest", "oldest_notes", "pairs", "submission", "params",
    "power", "readme", "old_key", "old_entry",
)  # fmt: skip


def name(place: str) -> str:
    return NAME.format(place.replace("_", ""))


def address(place: str) -> str:
    return ADDRESS.format(place.replace("_", "."))


def both(place: str) -> str:
    return f"{name(place)} <{address(place)}>"


def record(key: str, value: Any, **metadata: Any) -> str:
    row = {"time_ms": 1_700_000_000_000, "key": key, "value": value, "metadata": metadata}
    return f"0: :::MLLOG {json.dumps(row)}\n"


def newer(mirror: Path) -> None:
    """Contacts in the logs and descriptions of the forms used since v0.7."""
    root = mirror / "training_results_v4.0"
    folder = root / "Acme" / "results" / "acme_n1" / "resnet"
    folder.mkdir(parents=True)
    for number in range(5):
        lines = run(30 + number, start_ms=1_700_000_000_000 + number * 10**8)
        (folder / f"result_{number}.txt").write_text("\n".join(lines) + "\n")
    first = folder / "result_0.txt"
    entry = {"poc_name": name("entry"), "poc_email": address("entry"), "os": "x"}
    told = f"{{'poc_name': '{name('entry_text')}', 'poc_email': '{address('entry_text')}'}}"
    escaped = record("note", address("escaped")).replace("@", "\\u0040")
    planted = [
        record("submission_poc_name", name("key"), email=address("key")),
        record("submission_poc_email", address("key")),
        record("SUBMISSION_POC_NAME", name("upper")),
        record("submission_contact", both("odd_key")),
        record("submission_entry", entry),
        record("submission_entry", told),
        record("weights_from", f"s3://bucket ask {address('log_text')} for access"),
        escaped,
    ]
    first.write_text("".join(planted) + first.read_text())
    (folder / "package_checker_params").write_text(f"rcp-bypass {address('params')}")
    power = folder / "power" / "result_0"
    power.mkdir(parents=True)
    (power / "node_0.txt").write_text(record("operator", address("power")))
    (root / "Acme" / "results" / "README.md").write_text(both("readme"))
    (root / "Acme" / "submission.json").write_text(json.dumps({"poc": both("submission")}))
    (root / "Acme" / "systems").mkdir()
    described = {
        "submitter": "Acme", "division": "closed", "status": "Available on-premise",
        "system_name": "acme_n1", "number_of_nodes": "1", "accelerators_per_node": "8",
        "accelerator_model_name": "NVIDIA A100-SXM4-80GB", "host_processors_per_node": "2",
        "host_processor_model_name": "AMD EPYC 7742", "host_processor_core_count": "64",
        "submission_poc_name": name("system"), "poc_email": address("system"),
        "other_software_stack": {"contact": name("nested"), "mail": address("nested")},
        "hw_notes": f"rack 4; questions to {address('notes')}",
        "framework": f"PyTorch 2.0 (built by {address('framework')})",
        address("json_key"): "x",
    }  # fmt: skip
    (root / "Acme" / "systems" / "acme_n1.json").write_text(json.dumps(described))


def oldest(mirror: Path) -> None:
    """Contacts in an entry of v0.5 and in a description of v0.6 that is no JSON."""
    package = mirror / "training_results_v0.5" / "v0.5.0" / "acme" / "resnet-box"
    folder = package / "results" / "box" / "resnet"
    folder.mkdir(parents=True)
    entry = {
        "division": "closed", "status": "onprem", "hardware": "box", "framework": "TF 1.11",
        "poc_name": name("oldest"), "poc_email": address("oldest"),
        "notes": f"by {address('oldest_notes')}",
        "nodes": [{"num_nodes": "1", "cpu": "Xeon 8180", "accelerator": "V100",
                   "num_accelerators": "8"}],
    }  # fmt: skip
    (folder.parent / "entry.json").write_text(json.dumps(entry))
    (package / "submission.json").write_text(json.dumps({"poc_email": address("submission")}))
    for number in range(5):
        start = 1_540_000_000 + 10_000 * number
        (folder / f"result_{number}.txt").write_text(
            f":::MLPv0.5.0 resnet {start}.5 (a.py:1) run_start\n"
            f":::MLPv0.5.0 resnet {start + 60}.5 (a.py:1) eval_accuracy: "
            '{"epoch":62,"value":0.75}\n'
            f':::MLPv0.5.0 resnet {start + 61}.5 (a.py:1) run_stop: {{"success": true}}\n'
        )
    root = mirror / "training_results_v0.6" / "Acme"
    folder = root / "results" / "box" / "resnet"
    folder.mkdir(parents=True)
    for number in range(5):
        start = 1_560_000_000 + 10_000 * number
        text = (
            f':::MLL {start}.0 submission_poc_name: {{"value": "{name("old_key")}"}}\n'
            f':::MLL {start}.0 submission_entry: {{"value": "{{\'poc_email\': '
            f"'{address('old_entry')}'}}\"}}\n"
        )
        for key, at in (("run_start", start + 1), ("run_stop", start + 61)):
            text += f':::MLL {at}.0 {key}: {{"value": null, "metadata": {{"status": "success"}}}}\n'
        (folder / f"result_{number}.txt").write_text(text)
    (root / "systems").mkdir()
    value = str({"framework": "MXNet", "hardware": "box", "poc_email": address("pairs")})
    (root / "systems" / "box.json").write_text(
        'org: {"value": "Acme"}\ndivision: {"value": "closed"}\nstatus: {"value": "onprem"}\n'
        f"entry: {json.dumps({'value': value})}\n"
        f"poc_name: {json.dumps({'value': name('pairs')})}\n"
    )


@pytest.fixture(scope="module")
def home(orchestrator: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The data folder after a whole run on three rounds full of contacts."""
    from flows.backfill import backfill

    folder = tmp_path_factory.mktemp("private")
    mirror = folder / "mirror"
    newer(mirror)
    oldest(mirror)
    backfill("all", str(mirror), str(folder / "home"))
    yield folder / "home"


def leaks(text: str) -> list[str]:
    """Places whose name or address stands in a text."""
    lowered = text.lower().replace("\\u0040", "@")
    return [
        place
        for place in PLACES
        if name(place).lower() in lowered or address(place).lower() in lowered
    ]


def contents(path: Path) -> str:
    """Everything a file says, whatever its form."""
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        return repr(table.to_pylist()) + repr(table.schema.metadata)
    if path.suffix == ".duckdb":
        with duckdb.connect(str(path), read_only=True) as con:
            tables = con.sql(
                "select table_schema || '.' || table_name from information_schema.tables"
            ).fetchall()
            return "".join(repr(con.sql(f"from {table}").fetchall()) for (table,) in tables)
    return path.read_bytes().decode("utf-8", "replace")


def test_the_planted_files_were_read(home: Path) -> None:
    with duckdb.connect(str(home / "warehouse.duckdb"), read_only=True) as con:
        rows = con.sql("select round_id, score_min, framework from marts.result").fetchall()
        scored = {round_id for round_id, score, _ in rows if score is not None}
        told = con.sql("select checker_params from marts.convergence order by 1").fetchall()
    assert scored == {"v0.5", "v0.6", "v4.0"}
    assert ("rcp-bypass",) in told


def test_no_file_of_the_data_folder_names_a_contact(home: Path) -> None:
    files = [path for path in sorted(home.rglob("*")) if path.is_file()]
    assert {".parquet", ".duckdb", ".json", ".html", ".yml"} <= {path.suffix for path in files}
    found = {str(path.relative_to(home)): leaks(contents(path)) for path in files}
    assert not {path: places for path, places in found.items() if places}


def test_no_command_prints_a_contact(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from gpurank.cli import main as cli

    monkeypatch.setenv("GPURANK_HOME", str(home))
    result = "v4.0/Acme/acme_n1/resnet"
    commands = [
        ["top", "-b", "resnet", "-r", "v4.0", "-f", "json"], ["top", "-b", "resnet", "--pooled"],
        ["why", result], ["why", result, "-f", "json"], ["compare", result, result],
        ["rounds"], ["doctor"],
        *(["query", f"from {table}", "-f", "csv"] for table in ("marts.issue", "raw.system",
          "marts.system", "raw.run", "raw.source_file", "identity.framework", "identity.issue",
          "marts.data_quality", "marts.quarantine", "raw.round_version")),
    ]  # fmt: skip
    for arguments in commands:
        monkeypatch.setattr(sys, "argv", ["gpurank", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        shown = capsys.readouterr()
        assert ended.value.code in (0, None), (arguments, shown.err)
        assert not leaks(shown.out + shown.err), arguments


def test_no_artifact_of_the_orchestrator_names_a_contact(home: Path) -> None:
    from prefect.client.orchestration import get_client

    async def stored() -> str:
        async with get_client() as client:
            artifacts = await client.read_artifacts()
            runs = await client.read_flow_runs()
            logs = await client.read_logs()
        return "".join(item.model_dump_json() for item in (*artifacts, *runs, *logs))

    text = asyncio.run(stored())
    assert "acme_n1" in text or "Acme" in text
    assert not leaks(text)


def test_what_is_planted_would_be_found() -> None:
    for place in PLACES:
        assert place in leaks(f"x{name(place)}y")
        assert place in leaks(address(place).replace("@", "\\u0040"))
