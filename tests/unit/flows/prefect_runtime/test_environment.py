"""Prefect's environment: what the user set stays; its home is the user's where writable."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flows.console import Console
from flows.prefect_runtime import environment


def test_a_writable_home_is_left_alone(env: pytest.MonkeyPatch, tmp_path: Path) -> None:
    environment.set_defaults(tmp_path / "data")
    assert "PREFECT_HOME" not in os.environ
    assert os.environ["PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS"] == "120"
    assert os.environ["PREFECT_SERVER_ANALYTICS_ENABLED"] == "false"


def test_without_a_writable_home_the_data_folder_serves(
    env: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    env.setattr(os, "access", lambda *_: False)
    environment.set_defaults(tmp_path / "data")
    assert os.environ["PREFECT_HOME"] == str(tmp_path / "data" / "prefect")


def test_what_a_person_set_stays(env: pytest.MonkeyPatch, tmp_path: Path) -> None:
    env.setitem(os.environ, "PREFECT_HOME", "elsewhere")
    env.setitem(os.environ, "PREFECT_LOGGING_LEVEL", "DEBUG")
    environment.set_defaults(tmp_path / "data")
    assert os.environ["PREFECT_HOME"] == "elsewhere"
    assert os.environ["PREFECT_LOGGING_LEVEL"] == "DEBUG"


@pytest.mark.parametrize(
    ("console", "level"),
    [
        (Console(), "CRITICAL"),
        (Console(is_verbose=True), "INFO"),
        (Console(is_debug=True), "INFO"),
    ],
)
def test_prefect_logs_only_what_was_asked_for(
    env: pytest.MonkeyPatch, tmp_path: Path, console: Console, level: str
) -> None:
    environment.set_defaults(tmp_path / "data", console)
    assert os.environ["PREFECT_LOGGING_LEVEL"] == level
