"""Checks what is shown: a complete footnote on each table and chart, and nothing loaded from afar.

``footnote_gaps`` works on any text that a person sees: a figure of a page, a terminal table, an
exported notice.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser

from gpurank.answers.notes import TRADEMARK, UNVERIFIED

_REQUIRED = {
    "the suite and version": r"MLPerf® Training v\d+\.\d+",
    "the division": r"\b(closed|open)\b.* division",
    "the benchmark": r"\bbenchmark(s)?\b",
    "the source repository": r"Retrieved from \S+/training_results_v\d|Retrieved from \S+/\S+",
    "the commit": r"@[0-9a-f]{7,40}|commit unknown",
    "that figures are derived": r"derived, not an official metric",
    "that MLCommons has not verified it": re.escape(UNVERIFIED),
    "the trademark sentence": re.escape(TRADEMARK),
}
_SPACE = re.compile(r"\s+")
_VOID = {"meta", "link", "input", "br", "wbr", "hr", "img", "path", "circle", "use"}
# Attributes that make a browser request something; a link that a person follows does not.
_REQUESTING = {"src", "srcset", "poster", "data", "action", "formaction", "background", "ping"}
_CSS_REQUEST = re.compile(r"@import|url\(\s*['\"]?(?!data:|#)", re.IGNORECASE)
_SUITE = re.compile(r"MLPerf® Training (v\d+\.\d+)")
# The text of a cell or label that names a round and nothing else.
_ROUND = re.compile(r"v\d+\.\d+")


def footnote_gaps(text: str) -> tuple[str, ...]:
    """Returns in words what a footnote lacks; empty where it is complete.

    The retrieval date is required wherever the commit is known.
    """
    flat = _SPACE.sub(" ", text)
    gaps = [name for name, pattern in _REQUIRED.items() if not re.search(pattern, flat)]
    if re.search(r"@[0-9a-f]{7,40}", flat) and not re.search(r" on \d{4}-\d{2}-\d{2}", flat):
        gaps.append("the retrieval date")
    return tuple(gaps)


def page_faults(page: str) -> tuple[str, ...]:
    """Returns what is wrong with a page that shows results, one sentence each."""
    reader = _read(page)
    return (*reader.requests, *reader.faults)


def page_requests(page: str) -> tuple[str, ...]:
    """Returns what a browser would request for a page, one sentence each."""
    return tuple(_read(page).requests)


def _read(page: str) -> _Reader:
    reader = _Reader()
    reader.feed(page)
    reader.close()
    return reader


class _Reader(HTMLParser):
    """Collects faults of figures and footnotes, and requests, while it reads a page."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[str] = []
        self.requests: list[str] = []
        self._figure: str | None = None
        self._notes: list[str] = []
        self._rounds: set[str] = set()
        self._open_tags: list[str] = []
        self._is_in_navigation = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self._check_requests(tag, attributes)
        if tag == "figure":
            self._figure, self._notes, self._rounds = attributes.get("id", "a figure"), [], set()
        elif tag == "nav":
            # A matrix of links shows no result.
            self._is_in_navigation = True
        elif self._needs_figure(tag, attributes):
            self.faults.append(f"a {tag} stands outside a figure, so it has no footnote")
        if tag not in _VOID:
            self._open_tags.append("notes" if attributes.get("class") == "notes" else tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in _VOID:
            return
        if self._open_tags:
            self._open_tags.pop()
        if tag == "nav":
            self._is_in_navigation = False
        if tag == "figure" and self._figure is not None:
            self._check_footnote(self._figure, " ".join(self._notes))
            self._figure = None

    def handle_data(self, data: str) -> None:
        if "notes" in self._open_tags:
            self._notes.append(data)
        elif self._figure is not None and _ROUND.fullmatch(data.strip()):
            self._rounds.add(data.strip())
        if self._open_tags and self._open_tags[-1] == "style" and _CSS_REQUEST.search(data):
            self.requests.append("the style sheet loads something")

    def _check_footnote(self, figure: str, footnote: str) -> None:
        for gap in footnote_gaps(footnote):
            self.faults.append(f"{figure}: the footnote lacks {gap}")
        for round_id in sorted(self._rounds - set(_SUITE.findall(footnote))):
            self.faults.append(f"{figure}: it shows {round_id}, its footnote does not")

    def _needs_figure(self, tag: str, attributes: dict[str, str]) -> bool:
        shows_results = tag == "table" or (tag == "svg" and attributes.get("role") == "img")
        return shows_results and self._figure is None and not self._is_in_navigation

    def _check_requests(self, tag: str, attributes: dict[str, str]) -> None:
        for name in _REQUESTING & set(attributes):
            self.requests.append(f"<{tag} {name}> makes the page fetch {attributes[name][:60]!r}")
        if tag == "link" and not attributes.get("href", "").startswith("data:"):
            self.requests.append(f"<link> loads {attributes.get('href', '')[:60]!r}")
