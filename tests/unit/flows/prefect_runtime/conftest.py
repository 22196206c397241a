"""An environment in which nobody has set up Prefect."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def env(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    for name in [*os.environ]:
        if name.startswith("PREFECT"):
            monkeypatch.delenv(name)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setitem(os.environ, "HOME", str(tmp_path))
    return monkeypatch
