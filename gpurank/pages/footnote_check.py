"""Does a shown table or chart say what a publisher of derived numbers must say?

Works on any text that a person sees: a figure of a page, a terminal table, an exported notice.
"""

from __future__ import annotations

import re

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


def missing(text: str) -> tuple[str, ...]:
    """What a footnote lacks, in words; empty where it is complete.

    The retrieval date is asked for wherever the commit is known.
    """
    flat = _SPACE.sub(" ", text)
    found = [name for name, pattern in _REQUIRED.items() if not re.search(pattern, flat)]
    if re.search(r"@[0-9a-f]{7,40}", flat) and not re.search(r" on \d{4}-\d{2}-\d{2}", flat):
        found.append("the retrieval date")
    return tuple(found)
