"""The Python interface: the same questions as the command line, answered as polars frames.

``home`` is the data folder everywhere; by default GPURANK_HOME, else ``./data``. Pandas is one
``.to_pandas()`` away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from gpurank.answers import comparison as _comparison
from gpurank.answers import explain as _explain
from gpurank.answers import warehouse as reading
from gpurank.answers.comparison import Comparison
from gpurank.answers.explain import Explanation
from gpurank.answers.notes import footnotes_of
from gpurank.answers.warehouse import Answer, NoData, nearest
from gpurank.settings import load

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_TABLE = re.compile(r"[a-z_]+\.[a-z_0-9]+")


def connect(home: str | Path | None = None) -> DuckDBPyConnection:
    """A read-only DuckDB connection to the warehouse, without access to files or networks.

    Close it, or use it in a ``with`` block. A warehouse that is built meanwhile replaces the file;
    the connection keeps the one it opened.

    Raises:
        NoData: there is no warehouse yet.
    """
    settings = load(home=home)
    if settings.remote is not None:
        from gpurank.store.remote import refresh

        refresh(settings)
    return reading.open_warehouse(settings.warehouse_path)


def table(name: str, home: str | Path | None = None) -> pl.DataFrame:
    """A whole table, ``layer.name``; docs/tables.md lists tables and columns with their units.

    Raises:
        NoData: there is no such table; names the nearest one.
    """
    with _connected(home) as con:
        listing = "select table_schema || '.' || table_name from information_schema.tables"
        known = [row[0] for row in con.execute(listing).fetchall()]
        if name not in known or not _TABLE.fullmatch(name):
            raise NoData(f"no table is called {name!r}; {nearest(name, known)}")
        frame: pl.DataFrame = con.sql(f"from {name}").pl()
        return frame


def rounds(home: str | Path | None = None) -> pl.DataFrame:
    """What is in the warehouse, one row a round, in their order.

    ``round_id``, ``version_id``, ``source_commit`` (null: the source has none), ``result_count``,
    ``scored_count``, ``file_count``, ``byte_count`` (bytes) and ``taken_at`` (UTC).

    Raises:
        NoData: there is no warehouse yet.
    """
    with _connected(home) as con:
        return _frame(reading.rounds(con))


def rank(
    benchmark: str,
    round_id: str | None = None,
    pooled: bool = False,
    limit: int | None = None,
    home: str | Path | None = None,
) -> pl.DataFrame:
    """Ranked results of a benchmark in a round (by default its newest) or of all rounds pooled.

    ``score_min`` in minutes, ``accelerator_minutes`` and ``delay_cost`` in chip-minutes (both
    derived, not official metrics), lowest ``delay_cost`` first.

    Raises:
        NoData: nothing is ranked there; says what is.
    """
    with _connected(home) as con:
        return _frame(reading.ranking(con, benchmark, round_id, pooled, limit))


def footnotes(
    benchmark: str | None = None,
    divisions: Sequence[str] = ("closed",),
    home: str | Path | None = None,
) -> tuple[str, ...]:
    """What has to stand below a table or chart that you show of these results, line by line.

    Suite and versions, division, benchmark, where and when the rounds were taken from, what is
    derived, the verification and the mark. A frame cannot carry them, so they are asked for.

    Raises:
        NoData: there is no warehouse yet, or it holds no such benchmark.
    """
    with _connected(home) as con:
        if benchmark is not None:
            reading.require_benchmark(con, benchmark)
        return footnotes_of(con, benchmark, divisions)


def clusters(benchmark: str, home: str | Path | None = None) -> pl.DataFrame:
    """Cluster profiles of a benchmark, fastest median first.

    ``median_score_min`` in minutes, ``median_accelerator_minutes`` in chip-minutes (derived),
    ``share_4_to_16`` the share of members with 4 to 16 accelerators, ``count_note`` how stable the
    number of clusters is.

    Raises:
        NoData: the benchmark has none.
    """
    with _connected(home) as con:
        return _frame(reading.clusters(con, benchmark))


def predict(
    benchmark: str,
    accelerator: str,
    accelerator_count: int | None = None,
    home: str | Path | None = None,
) -> pl.DataFrame:
    """Predicted times to train, one row a count: a derived prediction, never a result.

    ``score_min`` with its 90 % interval ``score_low_min`` to ``score_high_min`` in minutes (null:
    too little was filed to tell), ``accelerator_minutes`` in chip-minutes. ``is_extrapolated``: the
    count lies outside those filed with the accelerator. Source: docs/method.md.

    Args:
        accelerator: canonical name, for example ``H100 SXM5 80GB``.
        accelerator_count: one count; None: all that are predicted.

    Raises:
        NoData: no such benchmark, it has no fleet law, or nothing is predicted there; says why
            and names the nearest.
    """
    with _connected(home) as con:
        return _frame(reading.predictions(con, benchmark, accelerator, accelerator_count))


def compare(first_id: str, second_id: str, home: str | Path | None = None) -> Comparison:
    """Set a result against another of the same benchmark: speed-up, efficiency, what to say beside.

    Both are ratios without unit, the first's minutes (accelerator-minutes) over the second's;
    above 1 the second is better.

    Raises:
        NotComparable: other benchmarks, or rounds of different comparable spans; says why.
        NoData: there is no such result; names the nearest ones.
    """
    with _connected(home) as con:
        return _comparison.compare(con, first_id, second_id)


def check_comparable(
    benchmark: str, round_id: str, other: str, home: str | Path | None = None
) -> str | None:
    """See that results of a benchmark may be compared between two rounds.

    Returns:
        What to say beside any such comparison (a soft break), or None.

    Raises:
        NotComparable: they may not; says why.
        NoData: the benchmark was not filed in one of the rounds.
    """
    with _connected(home) as con:
        return _comparison.check(con, benchmark, round_id, other)


def why(result_id: str, home: str | Path | None = None) -> Explanation:
    """Walk a result's numbers back to the lines of its logs.

    Times in minutes, clocks in milliseconds since 1970 (UTC), line numbers from 1.

    Raises:
        NoData: there is no such result; names the nearest ones.
    """
    with _connected(home) as con:
        return _explain.explain(con, result_id)


@contextmanager
def _connected(home: str | Path | None) -> Iterator[DuckDBPyConnection]:
    con = connect(home)
    try:
        yield con
    finally:
        con.close()


def _frame(answer: Answer) -> pl.DataFrame:
    return pl.DataFrame(
        list(answer.rows), schema=list(answer.columns), orient="row", infer_schema_length=None
    )
