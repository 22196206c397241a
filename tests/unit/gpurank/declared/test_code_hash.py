"""The hash of code: wording leaves it as it is, meaning moves it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpurank.declared.code_hash import hash_of_code

PYTHON = '''"""A module."""
import math  # for pi

class Area:
    """An area."""

    def circle(self, radius):
        """Return the area of a circle."""
        return math.pi * radius**2  # square
'''
SQL = "-- A model.\nselect 1 as one -- kept\n"
YAML = "# A contract.\ntable: core.run\nkey: [run_id]\n"


def hashed(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return hash_of_code([(name, path)])


@pytest.mark.parametrize(
    ("name", "text", "old", "new"),
    [
        ("area.py", PYTHON, '"""A module."""\n', ""),
        ("area.py", PYTHON, "  # for pi", ""),
        ("area.py", PYTHON, "Return the area of a circle.", "Returns a circle's area."),
        ("area.py", PYTHON, '    """An area."""\n\n', '    """What is inside."""\n'),
        (
            "area.py",
            PYTHON,
            "math.pi * radius**2  # square",
            "(math.pi *\n            radius ** 2)",
        ),
        ("one.sql", SQL, "-- A model.\n", "-- What one is.\n"),
        ("run.yml", YAML, "# A contract.\n", ""),
        ("run.yml", YAML, "[run_id]", "\n  - run_id"),
    ],
)
def test_wording_and_layout_do_not_count(
    tmp_path: Path, name: str, text: str, old: str, new: str
) -> None:
    assert old in text
    assert hashed(tmp_path, name, text) == hashed(tmp_path, name, text.replace(old, new))


@pytest.mark.parametrize(
    ("name", "text", "old", "new"),
    [
        ("area.py", PYTHON, "radius**2", "radius**3"),
        ("area.py", PYTHON, "return math.pi", "return None or math.pi"),
        ("area.py", PYTHON, "def circle", "def disc"),
        ("a.py", 'x = "one"\n', "one", "two"),  # a text that is a value
        ("one.sql", SQL, "select 1", "select 2"),
        ("run.yml", YAML, "[run_id]", "[run_id, path]"),
        ("words.csv", "a,b\n", "b", "c"),
    ],
)
def test_meaning_counts(tmp_path: Path, name: str, text: str, old: str, new: str) -> None:
    assert old in text
    assert hashed(tmp_path, name, text) != hashed(tmp_path, name, text.replace(old, new))


def test_the_same_in_every_version_of_python(tmp_path: Path) -> None:
    """A value that was worked out once; each version of Python that CI runs must find it."""
    text = 'def f(a, *b, c=None):\n    return f"{a!r:>9}" if b else lambda: 0\n'
    assert hashed(tmp_path, "f.py", text) == (
        "ae637f060efefca8a58e420ce2e642e4c588059e86a97b0439af67a3933a9ccc"
    )
