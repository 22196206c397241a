"""A run of which nothing has changed builds nothing; any change of inputs or settings does."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from flows.as_of import build
from gpurank.cli import main as cli
from gpurank.settings import Settings, load
from tasks.build import provenance
from tasks.ingest.round import ingest_round


@pytest.fixture
def settings(mirror: Path, tmp_path: Path) -> Settings:
    """A data folder with v3.0, analyzed without resamples."""
    made = load(home=tmp_path / "home", source=str(mirror), bootstraps=0, environ={})
    ingest_round("v3.0", made)
    build(made)
    return made


def run(monkeypatch: pytest.MonkeyPatch, settings: Settings, *arguments: str) -> None:
    monkeypatch.setenv("GPURANK_HOME", str(settings.home))
    monkeypatch.setattr(sys, "argv", ["gpurank", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 0


@pytest.mark.parametrize("command", ["run", "backfill", "analyze"])
def test_a_command_with_nothing_to_do_says_so_without_starting_prefect(
    settings: Settings,
    mirror: Path,
    command: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = settings.warehouse_path.stat()
    words = [] if command == "analyze" else ["--source", str(mirror), "--rounds", "v3.0"]
    run(monkeypatch, settings, command, *words, "--bootstraps", "0")
    expected = f"nothing changed: {settings.warehouse_path} is up to date\n"
    assert capsys.readouterr().err == expected
    after = settings.warehouse_path.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_other_settings_versions_or_no_warehouse_are_a_reason_to_build(
    settings: Settings, mirror: Path
) -> None:
    assert provenance.is_up_to_date(settings)
    # Neither where a round comes from nor how many processes read it changes a number.
    assert provenance.is_up_to_date(replace(settings, source=None, workers=7, run_id="other"))
    assert not provenance.is_up_to_date(replace(settings, lambda_chips=16.0))
    assert not provenance.is_up_to_date(replace(settings, bootstraps=None))
    result = mirror / "training_results_v3.0" / "Acme" / "results" / "acme_n1" / "resnet"
    (result / "scaling.json").write_text('{"scaling_factor": 1.25}')
    ingest_round("v3.0", settings)
    assert not provenance.is_up_to_date(settings)
    build(settings)
    assert provenance.is_up_to_date(settings)
    settings.warehouse_path.write_bytes(b"not a database")
    assert not provenance.is_up_to_date(settings)
    settings.warehouse_path.unlink()
    assert not provenance.is_up_to_date(settings)
