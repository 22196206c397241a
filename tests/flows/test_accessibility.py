"""WCAG 2.2 AA by axe, on every kind of page as the shipped rounds fill it.

axe-core's file comes with a development package that is locked without what it depends on; the
browser is driven by tests/browser.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import pytest
from browser import Browser, find

from gpurank.answers.warehouse import open_warehouse
from gpurank.declared.validation import CheckResult, ValidationReport
from gpurank.pages.data_quality import quality_page, read_quality
from gpurank.pages.report.benchmark_page import page_html
from gpurank.pages.report.data import PageKey, pages
from gpurank.pages.report.index import index_html
from gpurank.pages.validation import validation_page
from gpurank.settings import load

pytestmark = [pytest.mark.flow, pytest.mark.slow]

REPORT = ["index", "resnet-pooled", "llama2_70b_lora-v5.0", "ncf-v0.5"]
READABLE = ["data_quality", "validation"]
WIDTHS = (1280, 390)
SCHEMES = ("light", "dark")
SHOWN = [
    (name, width, scheme)
    for name in REPORT + READABLE
    for width, scheme in product(WIDTHS, SCHEMES)
    # The longest page takes axe ten seconds; the others share its style sheet.
    if name != "resnet-pooled" or (width == 1280) is (scheme == "light")
]
# All rules of WCAG 2.2 AA and axe's good practices; the size of targets is off unless it is asked.
OPTIONS = {"rules": {"target-size": {"enabled": True}}, "resultTypes": ["violations"]}


@pytest.fixture(scope="module")
def folder(shipped_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of the shipped rounds under test."""
    made = tmp_path_factory.mktemp("pages")
    settings = load(home=str(shipped_home), environ={})
    with open_warehouse(settings.warehouse_path) as con:
        found = pages(con)
        (made / "data_quality.html").write_text(quality_page(read_quality(con)), encoding="utf-8")
    (made / "index.html").write_text(index_html(found), encoding="utf-8")
    by_name = {page.key.file_name: page for page in found}
    assert PageKey("resnet").file_name == "resnet-pooled.html"
    for name in REPORT[1:]:
        text = page_html(by_name[f"{name}.html"])
        (made / f"{name}.html").write_text(text, encoding="utf-8")
    (made / "validation.html").write_text(validation_page(validated()), encoding="utf-8")
    return made


def validated() -> list[ValidationReport]:
    """Of each state one: passed, warned of, failed."""
    results = [
        CheckResult("raw.run", "a", severity, is_passed, "what", "why", "run_ms", examples=("1",))
        for severity, is_passed in (("critical", True), ("warning", False), ("critical", False))
    ]
    return [
        ValidationReport(
            f"raw v{number}.0", tuple(results[:number]), number, number, {"raw.run": 9}
        )
        for number in (1, 2, 3)
    ]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = find()
    if path is None:
        pytest.skip("no Chromium on this machine (set GPURANK_CHROMIUM to its path)")
    with Browser(path) as opened:
        yield opened


@pytest.fixture(scope="module")
def axe() -> str:
    if find_spec("axe_playwright_python") is None:
        pytest.skip("axe is not installed (requirements/axe.lock, which `make test` installs)")
    return files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")


def violations(browser: Browser, axe: str) -> list[str]:
    """What axe finds on the page that is shown: rule, and where first."""
    browser.ask(axe + ";0")
    said = "(each) => each.id + ' x' + each.nodes.length + ': ' + each.nodes[0].html.slice(0, 200)"
    script = f"axe.run({json.dumps(OPTIONS)}).then((found) => found.violations.map({said}))"
    return list(browser.ask(script))


@pytest.mark.parametrize(("name", "width", "scheme"), SHOWN)
def test_axe_finds_no_violation(
    browser: Browser, axe: str, folder: Path, name: str, width: int, scheme: str
) -> None:
    browser.open(folder / f"{name}.html", width, 844, scheme)
    if name in REPORT[1:]:
        browser.click("#rank .open")
    assert violations(browser, axe) == []
    assert browser.ask("document.documentElement.scrollWidth") <= width
    assert not browser.problems and not browser.requests


def test_axe_would_find_one(browser: Browser, axe: str, tmp_path: Path) -> None:
    """A field without a label, grey on grey, and a page without a language."""
    path = tmp_path / "bad.html"
    text = "<title>x</title><main><h1>x</h1><input><p style='color:#999;background:#aaa'>grey</p>"
    path.write_text(text, encoding="utf-8")
    browser.open(path)
    rules = {found.split(" ")[0] for found in violations(browser, axe)}
    assert {"html-has-lang", "label", "color-contrast"} <= rules
