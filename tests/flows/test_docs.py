"""README and docs: every command, query and Python block runs as printed; every link leads there.

A fence's language says what it is: ``bash`` (a command a line), ``console`` (``$`` commands with
what they print), ``sql``, ``python``. A comment above it, ``<!-- not run: why -->``, is the only
way out. They run on one warehouse of the shipped facts, made once.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest
from query_book import BOOK, rewritten

from gpurank.answers.notes import TRADEMARK, UNVERIFIED
from gpurank.cli import main as cli
from gpurank.pages.check import footnote_gaps

pytestmark = pytest.mark.flow

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
OTHERS = [ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")]
RUN = ("bash", "console", "sql", "python")
_FENCE = re.compile(
    r"^(?:<!-- not run: (?P<why>.+?) -->\n)? *```(?P<kind>\w*)\n(?P<text>.*?)^ *```$",
    re.MULTILINE | re.DOTALL,
)
_LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
# Done by the fixture, on the same shipped facts.
_SET_UP = ("export ", "gpurank run")


@dataclass(frozen=True)
class Block:
    """One fenced block and where it stands."""

    page: Path
    line: int
    kind: str
    text: str
    why_not: str | None

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    def commands(self) -> list[str]:
        """Each command, without its comment."""
        lines = self.text.splitlines()
        if self.kind == "console":
            lines = [line[2:] for line in lines if line.startswith("$ ")]
        found = []
        for line in lines:
            parts = shlex.split(line, comments=True)
            found += [part.strip() for part in shlex.join(parts).split("'&&'")]
        return [one for one in found if one]


def blocks() -> list[Block]:
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for fence in _FENCE.finditer(text):
            line = text[: fence.start()].count("\n") + 1
            found.append(Block(page, line, fence["kind"], fence["text"], fence["why"]))
    return found


BLOCKS = blocks()
RUNNABLE = [one for one in BLOCKS if one.kind in RUN and one.why_not is None]


@pytest.fixture
def here(shipped_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working folder of its own, beside a copy of the warehouse that commands may write to."""
    home = tmp_path / "home"
    home.mkdir()
    for name in ("warehouse.duckdb", "raw"):
        (home / name).symlink_to(shipped_home / name)
    monkeypatch.setenv("GPURANK_HOME", str(home))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webbrowser.open", lambda _: True)
    yield tmp_path
    shutil.rmtree(home)


def run(command: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a command prints; it must end well."""
    words = shlex.split(command)
    assert words[0] == "gpurank", f"only gpurank is run here; say why not to run {command!r}"
    monkeypatch.setattr(sys, "argv", words)
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as ended,
    ):
        cli.main()
    assert not ended.value.code, f"{command}: {err.getvalue()}"
    return out.getvalue()


def flat(line: str) -> str:
    return " ".join(line.replace("─", "").split())


@pytest.mark.parametrize("block", [b for b in RUNNABLE if b.kind in ("bash", "console")], ids=str)
def test_commands_run(block: Block, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    printed = ""
    for command in block.commands():
        if not command.startswith(_SET_UP):
            printed += run(command, monkeypatch)
    if block.kind == "console":
        # A printed line may be cut at its end, never say anything else.
        given = [flat(line) for line in printed.splitlines()]
        for line in map(flat, block.text.splitlines()):
            if line and not line.startswith("$ ") and line != "…":
                assert any(one.startswith(line) for one in given), line


@pytest.mark.parametrize("block", [b for b in RUNNABLE if b.kind == "sql"], ids=str)
def test_queries_give_rows(block: Block, shipped_home: Path) -> None:
    with duckdb.connect(str(shipped_home / "warehouse.duckdb"), read_only=True) as con:
        assert con.sql(block.text).fetchall()


def test_the_printed_answers_are_those_of_the_shipped_rounds(shipped_home: Path) -> None:
    with duckdb.connect(str(shipped_home / "warehouse.duckdb"), read_only=True) as con:
        assert rewritten(con) == BOOK.read_text(encoding="utf-8"), (
            "docs/queries.md is stale; look, then: python tests/query_book.py WAREHOUSE"
        )


@pytest.mark.parametrize(
    "page", sorted({b.page for b in RUNNABLE if b.kind == "python"}), ids=lambda page: page.name
)
def test_python_runs(page: Path, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A page's blocks in order, in one namespace."""
    space: dict[str, object] = {}
    for block in RUNNABLE:
        if block.page == page and block.kind == "python":
            exec(compile(block.text, str(block), "exec"), space)
    assert capsys.readouterr().out


def test_no_command_hides_from_the_tests() -> None:
    """A block of commands bears its language, or says why it is not run."""
    hidden = [
        str(one)
        for one in BLOCKS
        if one.kind not in RUN
        and one.why_not is None
        and re.search(r"^(\$ )?(gpurank|make|python) ", one.text, re.MULTILINE)
    ]
    assert not hidden
    assert len(RUNNABLE) > 40


def slug(heading: str) -> str:
    text = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[\s]", "-", re.sub(r"[^\w\s-]", "", text))


def anchors(page: Path) -> set[str]:
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return {slug(found) for found in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}


@pytest.mark.parametrize("page", [*PAGES, *OTHERS], ids=lambda p: str(p.relative_to(ROOT)))
def test_relative_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in _LINK.findall(_FENCE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (
            anchor and target.suffix == ".md" and anchor not in anchors(target)
        ):
            broken.append(link)
    assert not broken


# A line that gives a submitter's result: its name and a figure with decimals.
_RESULT = re.compile(r"\b(?:NVIDIA|Oracle|Google|Dell|Intel|HPE|Supermicro|AMD|Lenovo)\b.*\d\.\d\d")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_pages_with_results_carry_the_footnote(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    if not re.search(_RESULT, text) and "delay_cost 1" not in text:
        return
    assert footnote_gaps(text) == ()
    for piece in (UNVERIFIED, TRADEMARK, "(derived, not an official metric)"):
        flat = " ".join(text.split())
        assert piece in flat and footnote_gaps(flat.replace(piece, ""))


def test_every_page_stands_in_the_site() -> None:
    listed = set(re.findall(r"([\w/]+\.md)", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))
    assert listed == {str(page.relative_to(ROOT / "docs")) for page in PAGES[1:]}
