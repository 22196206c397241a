"""Accelerators that the logs of a result name, against the one that its description names.

A log's ``submission_platform`` is free text (``8xMI355X_2xEPYC_9575F``) and often a placeholder.
Where it names a chip of the catalogue and the description names another, one of the two is wrong.
"""

from __future__ import annotations

import re
from functools import cache

import polars as pl

from gpurank.systems.accelerators import models_by_key
from gpurank.systems.spellings import LONGEST

# Short keys (L4, T4) and bare numbers (4090) are parts of other product names, too.
_SHORTEST_KEY = 3


@cache
def _chip_names() -> tuple[re.Pattern[str], dict[str, str]]:
    """Returns a pattern of all chip names, and the family of each."""
    families = {
        key: rows[0]["family"]
        for key, rows in models_by_key().items()
        if len(key) >= _SHORTEST_KEY and key[0].isalpha() and any(map(str.isdigit, key))
    }
    keys = "|".join(sorted(map(re.escape, families), key=len, reverse=True))
    # A count may precede the name (8xB200); a letter makes it part of another name.
    return re.compile(rf"(?:(?<=\dx)|(?<![a-z]))(?:{keys})(?![a-z0-9])"), families


def named_families(text: str | None) -> set[str]:
    """Returns the accelerator families whose names occur in a platform's free text."""
    if text is None or len(text) > LONGEST:
        return set()
    pattern, families = _chip_names()
    plain = re.sub(r"[^a-z0-9]+", " ", text.casefold())
    return {families[name] for name in pattern.findall(plain)}


def platform_issues(platforms: pl.DataFrame, accelerators: pl.DataFrame) -> pl.DataFrame:
    """Returns an issue for each description whose accelerator is not the one that its logs name.

    Args:
        platforms: round_id, path (of the description), platform_reported; distinct.
        accelerators: identity.system_accelerator.

    Returns:
        round_id, level, kind, message, source_file (the description).
    """
    schema = dict.fromkeys(("round_id", "level", "kind", "message", "source_file"), pl.String)
    records = set()
    joined = platforms.join(accelerators, on=("round_id", "path"))
    for row in joined.iter_rows(named=True):
        named = named_families(row["platform_reported"])
        if row["family"] is None or not named or row["family"] in named:
            continue
        message = (
            f"its logs call the platform {row['platform_reported']!r}, which names "
            f"{' and '.join(sorted(named))}; the description names {row['family']}, which counts"
        )
        kind = "accelerator_log_vs_description"
        records.add((row["round_id"], "warning", kind, message, row["path"]))
    return pl.DataFrame(sorted(records), schema=schema, orient="row")
