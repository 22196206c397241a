"""Shared fixtures. The published rounds stand beside the checkout where they are available."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def shared_folder() -> Path | None:
    """The folder with rounds/ and truth/, or None where it is absent."""
    default = Path(__file__).resolve().parents[2] / "shared"
    folder = Path(os.environ.get("GPURANK_SHARED", default))
    return folder if (folder / "rounds").is_dir() else None


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder with the published rounds and their official scores; skips where absent."""
    folder = shared_folder()
    if folder is None:
        pytest.skip("the published rounds (../shared or GPURANK_SHARED) are not on this machine")
    return folder
