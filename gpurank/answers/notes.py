"""The footnotes of every published number: suite, version, division, source, basis, trademark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from gpurank.declared.rounds import declared_rounds, round_order
from gpurank.settings import DEFAULT_LAMBDA

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

TRADEMARK = (
    "The MLPerf name and logo are registered and unregistered trademarks of MLCommons "
    "Association in the United States and other countries. All rights reserved. Unauthorized "
    "use strictly prohibited. See www.mlcommons.org for more information."
)
UNVERIFIED = "Result not verified by MLCommons Association."
DERIVED = (
    "accelerator-minutes (derived, not an official metric) = accelerators x minutes; delay_cost "
    "(derived, not an official metric) = minutes x (accelerators + {lambda_chips:g}); scores are "
    "recomputed from the submitted logs."
)


@dataclass(frozen=True, slots=True)
class Source:
    """Where a round was taken from: its commit (None: unknown) and the day it was taken."""

    round_id: str
    commit: str | None
    taken_at: str | None


def footnotes(
    benchmark: str | None,
    sources: Iterable[Source],
    divisions: Iterable[str] = ("closed",),
    lambda_chips: float = DEFAULT_LAMBDA,
) -> tuple[str, ...]:
    """Returns the footnote lines of a table of results (``benchmark`` None: of several benchmarks).

    They name suite, versions, division and benchmark; the sources; how derived figures are
    computed; that results are not verified; and the trademark.
    """
    taken = sorted(set(sources), key=lambda source: round_order(source.round_id))
    suites = ", ".join(f"MLPerf® Training {source.round_id}" for source in taken)
    division = ", ".join(sorted(set(divisions))) or "closed"
    about = f"benchmark {benchmark}" if benchmark else "several benchmarks"
    return (
        f"{suites}; {division} division; {about}.",
        "Retrieved from " + "; ".join(_retrieved(source) for source in taken) + ".",
        DERIVED.format(lambda_chips=lambda_chips),
        f"{UNVERIFIED} {TRADEMARK}",
    )


def footnotes_of(
    con: DuckDBPyConnection,
    benchmark: str | None = None,
    divisions: Iterable[str | None] = ("closed",),
    round_ids: Sequence[str] | None = None,
    lambda_chips: float | None = None,
) -> tuple[str, ...]:
    """Returns the footnote lines of what is shown from a warehouse.

    Args:
        con: the warehouse.
        benchmark: None: several.
        divisions: of the results shown; None among them: not known.
        round_ids: rounds of the results shown; None: all that the benchmark has.
        lambda_chips: λ of the delay cost; None: the warehouse's own.
    """
    rows = con.execute(
        "select distinct v.round_id, v.source_commit, v.taken_at::varchar from raw.round_version v "
        "join marts.result m using (round_id) "
        "where ($benchmark is null or m.benchmark = $benchmark) "
        "and ($rounds is null or list_contains($rounds, v.round_id))",
        {"benchmark": benchmark, "rounds": None if round_ids is None else list(round_ids)},
    ).fetchall()
    if lambda_chips is None:
        ranked = con.execute("select max(lambda_chips) from marts.ranking").fetchall()
        lambda_chips = ranked[0][0] or DEFAULT_LAMBDA
    names = [division or "unknown" for division in divisions]
    return footnotes(benchmark, [Source(*row) for row in rows], names, lambda_chips)


def public_url(round_id: str, commit: str | None, path: str, line: int | None = None) -> str | None:
    """Returns the URL of a file at its commit in the round's repository; None without a commit."""
    if not commit:
        return None
    url = f"{declared_rounds().get(round_id).repository}/blob/{commit}/{quote(path)}"
    return f"{url}#L{line}" if line else url


def _retrieved(source: Source) -> str:
    repository = declared_rounds().get(source.round_id).repository.removeprefix("https://")
    commit = f"@{source.commit[:12]}" if source.commit else " (commit unknown)"
    day = f" on {source.taken_at[:10]}" if source.taken_at else ""
    return f"{repository}{commit}{day}"
