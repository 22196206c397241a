"""The orchestrator's home: the person's own where it can be written, else in the data folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flows.prefect_runtime import environment, server
from gpurank.settings import load


@pytest.fixture
def env(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    for name in [*os.environ]:
        if name.startswith("PREFECT"):
            monkeypatch.delenv(name)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setitem(os.environ, "HOME", str(tmp_path))
    return monkeypatch


def test_a_writable_home_is_left_alone(env: pytest.MonkeyPatch, tmp_path: Path) -> None:
    environment.prepare(load(home=tmp_path / "data", environ={}))
    assert "PREFECT_HOME" not in os.environ
    assert os.environ["PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS"] == "120"
    assert os.environ["PREFECT_SERVER_ANALYTICS_ENABLED"] == "false"


def test_without_a_writable_home_the_data_folder_serves(
    env: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    env.setattr(os, "access", lambda *_: False)
    environment.prepare(load(home=tmp_path / "data", environ={}))
    assert os.environ["PREFECT_HOME"] == str(tmp_path / "data" / "prefect")


def test_what_a_person_set_stays(env: pytest.MonkeyPatch, tmp_path: Path) -> None:
    env.setitem(os.environ, "PREFECT_HOME", "elsewhere")
    env.setitem(os.environ, "PREFECT_LOGGING_LEVEL", "DEBUG")
    environment.prepare(load(home=tmp_path / "data", environ={}))
    assert os.environ["PREFECT_HOME"] == "elsewhere"
    assert os.environ["PREFECT_LOGGING_LEVEL"] == "DEBUG"


@pytest.mark.parametrize(
    ("profiles", "expected"),
    [
        (None, False),
        ("active = 'mine'\n[profiles.mine]\nPREFECT_API_URL = 'http://127.0.0.1:4200/api'\n", True),
        ("active = 'ephemeral'\n[profiles.ephemeral]\nX = 'true'\n", False),
        ("half [", False),
    ],
)
def test_a_server_of_ones_own_is_used(
    env: pytest.MonkeyPatch, tmp_path: Path, profiles: str | None, expected: bool
) -> None:
    (tmp_path / ".prefect").mkdir()
    if profiles is not None:
        (tmp_path / ".prefect" / "profiles.toml").write_text(profiles)
    assert server._is_configured() is expected
    env.setitem(os.environ, "PREFECT_API_URL", "http://127.0.0.1:4200/api")
    assert server._is_configured()
