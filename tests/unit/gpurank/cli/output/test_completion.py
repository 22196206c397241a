"""Completion offers what the warehouse holds, and nothing where there is none."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from gpurank.cli.output import completion


@pytest.fixture
def warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GPURANK_HOME", str(tmp_path))
    with duckdb.connect(str(tmp_path / "warehouse.duckdb")) as con:
        con.execute(
            "create schema marts; create table marts.result as select * from (values "
            "('v1.0/a/b/resnet', 'v1.0', 'resnet', 'A1'), ('v2.0/a/b/bert', 'v2.0', 'bert', null)"
            ") as _(result_id, round_id, benchmark, accelerator)"
        )
    return tmp_path


class Line:
    """What a shell has on its line so far."""

    def __init__(self, **params: str) -> None:
        self.params = params


def test_completion_offers_what_the_warehouse_holds(warehouse: Path) -> None:
    assert completion.benchmarks("") == ["bert", "resnet"]
    assert completion.benchmarks("re") == ["resnet"]
    assert completion.result_ids("v2") == ["v2.0/a/b/bert"]
    assert completion.accelerators("") == ["A1"]
    assert completion.round_names(Line(), "") == ["v1.0", "v2.0"]  # type: ignore[arg-type]
    bert = Line(benchmark="bert")
    assert completion.round_names(bert, "v") == ["v2.0"]  # type: ignore[arg-type]
    assert completion.results_or_rounds(bert, "") == ["v2.0"]  # type: ignore[arg-type]


def test_completion_is_silent_without_a_warehouse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GPURANK_HOME", str(tmp_path / "none"))
    assert completion.benchmarks("r") == []
    assert capsys.readouterr() == ("", "")
