"""The public names are typed for those who use them: strict, with py.typed, no configuration."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import gpurank

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def test_a_strict_program_passes_and_its_mistakes_are_found(tmp_path: Path) -> None:
    """``--warn-unused-ignores`` (in --strict) proves that each marked mistake is one."""
    assert (ROOT / "gpurank" / "py.typed").exists()
    (tmp_path / "user.py").write_text((HERE / "user.py").read_text(encoding="utf-8"))
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--config-file=",
         f"--cache-dir={ROOT / '.mypy_cache' / 'user'}", "user.py"],
        cwd=tmp_path, capture_output=True, text=True, env={"MYPYPATH": str(ROOT)}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", sorted(gpurank.__all__))
def test_each_name_says_what_it_is(name: str) -> None:
    thing = getattr(gpurank, name)
    told = inspect.getdoc(thing) or ""
    assert told, f"{name} has no docstring"
    if inspect.isfunction(thing) and "pl.DataFrame" in str(inspect.signature(thing)):
        assert "Raises" in told or "gpurank.api" in told
        if name not in ("query", "table", "rounds"):
            assert re.search(r"minutes", told), f"{name} gives no units"
