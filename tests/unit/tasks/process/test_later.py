"""Stand-ins for modules: nothing is imported before its first use, and then the real thing."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

from tasks.process.later import later


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package of ours, ``shelf``, with a large module ``tome`` that a library ``reader`` uses."""
    (tmp_path / "shelf_x").mkdir()
    (tmp_path / "shelf_x" / "__init__.py").write_text("")
    (tmp_path / "shelf_x" / "tome.py").write_text("pages = 900\n")
    (tmp_path / "reader_x.py").write_text(
        "import shelf_x.tome as tome\ndef pages():\n    return tome.pages\n"
    )
    (tmp_path / "hasty_x.py").write_text("from shelf_x.tome import pages\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("shelf_x", "shelf_x.tome", "reader_x", "hasty_x"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return "shelf_x.tome"


def test_a_module_is_imported_when_it_is_used(shelf: str) -> None:
    with later(shelf):
        reader = import_module("reader_x")
    assert shelf not in sys.modules
    assert reader.pages() == 900
    assert sys.modules[shelf].pages == 900


def test_what_takes_names_at_once_gets_them(shelf: str) -> None:
    with later(shelf):
        assert import_module("hasty_x").pages == 900
    assert sys.modules[shelf].__spec__ is not None


def test_others_get_the_module_itself(shelf: str) -> None:
    with later(shelf):
        reader = import_module("reader_x")
    real = import_module(shelf)
    assert real.__spec__ is not None
    assert reader.pages() == real.pages


def test_what_is_imported_already_stays(shelf: str) -> None:
    real = import_module(shelf)
    with later(shelf):
        assert sys.modules[shelf] is real
    assert sys.modules[shelf] is real


def test_what_does_not_exist_is_missed_on_use() -> None:
    with later("no_such_module_x"):
        import no_such_module_x  # type: ignore[import-not-found]
    with pytest.raises(ModuleNotFoundError):
        no_such_module_x.anything  # noqa: B018
