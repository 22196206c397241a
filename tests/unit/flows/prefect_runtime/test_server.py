"""The temporary server: used only without one of the user's own, made of what Prefect offers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flows.prefect_runtime import server


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
    assert server.is_configured() is expected
    env.setitem(os.environ, "PREFECT_API_URL", "http://127.0.0.1:4200/api")
    assert server.is_configured()


def test_prefect_still_offers_the_private_function_that_the_server_is_made_by() -> None:
    # Prefect moved it where this fails: see flows/prefect_runtime/server.py, create_server.
    application = server.create_server().config.app
    paths = {route.path for route in application.routes}  # type: ignore[union-attr]
    assert "/api" in paths
