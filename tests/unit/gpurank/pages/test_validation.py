"""The validation page: complete, escaped, self-contained."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from gpurank.declared.validation import CheckResult, ValidationReport
from gpurank.pages.check import page_requests
from gpurank.pages.validation import validation_page

EVIL = '<script>alert("x")</script>&'


def page(*results: CheckResult, subject: str = "raw v9.9", note: str = "") -> str:
    count = len(results)
    return validation_page(
        [ValidationReport(subject, results, count, count, {"raw.run": 1234})], note=note
    )


def result(severity: str = "critical", is_passed: bool = True, text: str = "t") -> CheckResult:
    assert severity in ("critical", "warning")
    return CheckResult(
        f"raw.{text}",
        text,
        severity,
        is_passed,
        text,
        text,
        column=text,
        examples=(text,),  # type: ignore[arg-type]
    )


class _Tags(HTMLParser):
    """Checks that tags nest, and collects them."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        if tag not in ("meta", "link", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_everything_is_escaped_and_nests() -> None:
    text = page(result(is_passed=False, text=EVIL), subject=EVIL, note=EVIL)
    # The page's own script is the only one.
    assert text.count("<script") == 1 and EVIL not in text
    assert text.count("&lt;script&gt;") >= 8
    tags = _Tags()
    tags.feed(text)
    assert tags.open == []
    assert {"main", "table", "figcaption", "th", "details"} <= set(tags.seen)


def test_nothing_is_loaded_from_elsewhere() -> None:
    text = page(result())
    assert not page_requests(text) and not re.search(r"https?:|src=", text)
    links = set(re.findall(r'<a[^>]* href="([^"]*)"', text))
    assert links == {"#main", "#summary", "#validation-1"}


def test_verdict_and_counts() -> None:
    good, warned = result(), result("warning", is_passed=False)
    bad = result(is_passed=False)
    assert "Passed.</span> 1 of 2 checks passed; warnings: 1, critical failures: 0." in page(
        good, warned
    )
    failed = page(good, warned, bad)
    assert (
        "Failed; not published.</span> 1 of 3 checks passed; warnings: 1, critical failures: 1."
        in failed
    )
    assert "Failed checks" in failed and "Failed checks" not in page(good)
    # Critical ones come first.
    rows = failed[failed.index("Failed checks") :]
    assert rows.index('class="critical"') < rows.index('class="warning"')


def test_no_checks_is_not_a_pass() -> None:
    assert "Nothing was checked." in validation_page([])


def test_both_colour_schemes_and_language() -> None:
    text = page(result())
    assert "prefers-color-scheme: dark" in text and '<html lang="en">' in text
