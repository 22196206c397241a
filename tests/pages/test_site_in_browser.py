"""The documentation site opened from a disk: search finds, nothing comes from elsewhere."""

from __future__ import annotations

import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
from browser import Browser, find

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if find_spec("mkdocs") is None or find_spec("material") is None:
        pytest.skip("mkdocs-material is not installed (requirements/docs.lock; `make site` does)")
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    return folder


@pytest.mark.parametrize(("page", "above"), [("index.html", ""), ("howto/sql.html", "../")])
def test_search_works_from_a_disk(site: Path, page: str, above: str) -> None:
    path = find()
    if path is None:
        pytest.skip("no Chromium on this machine (set GPURANK_CHROMIUM to its path)")
    with Browser(path) as browser:
        browser.open(site / page)
        browser.click("header [for=__search]")
        browser.enter("[data-md-component=search-query]", "withdrawal")
        browser.ask(
            "document.querySelector('[data-md-component=search-query]')"
            ".dispatchEvent(new KeyboardEvent('keyup', {key: 'l', bubbles: true}))"
        )
        found: list[str] = []
        end = time.monotonic() + 30
        while not found and time.monotonic() < end:
            time.sleep(0.1)
            found = browser.ask(
                "[...document.querySelectorAll('.md-search-result__link')].map((a) => a.href)"
            )
        assert any("withdrawal.html" in link for link in found)
        assert not [one for one in browser.requests if not one.startswith(site.as_uri())]
        assert not browser.problems
