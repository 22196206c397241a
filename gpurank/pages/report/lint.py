"""Does a page keep the rules: a footnote on each table and chart, and nothing from elsewhere?"""

from __future__ import annotations

import re
from html.parser import HTMLParser

from gpurank.pages.footnote_check import missing

_VOID = {"meta", "link", "input", "br", "wbr", "hr", "img", "path", "circle", "use"}
# What a browser would fetch; a link that a person follows is none.
_FETCHING = {"src", "srcset", "poster", "data", "action", "formaction", "background", "ping"}
_CSS_FETCH = re.compile(r"@import|url\(\s*['\"]?(?!data:|#)", re.IGNORECASE)

_SUITE = re.compile(r"MLPerf® Training (v\d+\.\d+)")
# A cell or label that names a round and nothing else.
_ROUND = re.compile(r"v\d+\.\d+")


def faults(page: str) -> tuple[str, ...]:
    """What is wrong with a page, one sentence each; empty for a good one."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    return tuple(reader.faults)


class _Reader(HTMLParser):
    """Follows figures and what stands in them."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[str] = []
        self._figure: str | None = None
        self._notes: list[str] = []
        self._rounds: set[str] = set()
        self._depth: list[str] = []
        self._is_links_only = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self._loads(tag, given)
        if tag == "figure":
            self._figure, self._notes, self._rounds = given.get("id", "a figure"), [], set()
        elif tag == "nav":
            # A matrix of links shows no result.
            self._is_links_only = True
        elif self._is_bare(tag, given):
            self.faults.append(f"a {tag} stands outside a figure, so it has no footnote")
        if tag not in _VOID:
            self._depth.append("notes" if given.get("class") == "notes" else tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in _VOID:
            return
        if self._depth:
            self._depth.pop()
        if tag == "nav":
            self._is_links_only = False
        if tag == "figure" and self._figure is not None:
            said = " ".join(self._notes)
            for lack in missing(said):
                self.faults.append(f"{self._figure}: the footnote lacks {lack}")
            for round_id in sorted(self._rounds - set(_SUITE.findall(said))):
                self.faults.append(f"{self._figure}: it shows {round_id}, its footnote does not")
            self._figure = None

    def handle_data(self, data: str) -> None:
        if "notes" in self._depth:
            self._notes.append(data)
        elif self._figure is not None and _ROUND.fullmatch(data.strip()):
            self._rounds.add(data.strip())
        if self._depth and self._depth[-1] == "style" and _CSS_FETCH.search(data):
            self.faults.append("the style sheet loads something")

    def _is_bare(self, tag: str, given: dict[str, str]) -> bool:
        is_shown = tag == "table" or (tag == "svg" and given.get("role") == "img")
        return is_shown and self._figure is None and not self._is_links_only

    def _loads(self, tag: str, given: dict[str, str]) -> None:
        for name in _FETCHING & set(given):
            self.faults.append(f"<{tag} {name}> makes the page fetch {given[name][:60]!r}")
        if tag == "link" and not given.get("href", "").startswith("data:"):
            self.faults.append(f"<link> loads {given.get('href', '')[:60]!r}")
