"""The Python interface: the questions of the command line, answered as polars frames.

Functions have the names of the commands. ``home`` is the data folder; by default GPURANK_HOME,
else ``./data``. ``.to_pandas()`` turns a frame into one of pandas.
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
from gpurank.answers.choose import choose
from gpurank.answers.comparison import Comparison, NotComparable
from gpurank.answers.explain import Explanation
from gpurank.answers.notes import footnotes_of
from gpurank.answers.placing import mine
from gpurank.answers.warehouse import Answer, NoData, QueryError, nearest
from gpurank.declared.rounds import round_order
from gpurank.operations.freshness import freshness_of_warehouse
from gpurank.settings import Settings, load

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = [
    "NoData",
    "NotComparable",
    "QueryError",
    "Settings",
    "check_comparable",
    "choose",
    "clusters",
    "compare",
    "connect",
    "footnotes",
    "load",
    "mine",
    "predict",
    "query",
    "rank",
    "rounds",
    "table",
    "top",
    "why",
]

_TABLE = re.compile(r"[a-z_]+\.[a-z_0-9]+")


def connect(home: str | Path | None = None) -> DuckDBPyConnection:
    """Returns a read-only DuckDB connection to the warehouse, without access to files or networks.

    Close it, or use it in a ``with`` block. A warehouse that is built meanwhile replaces the file;
    the connection keeps the one it opened.

    Raises:
        NoData: there is no warehouse yet.
    """
    settings = load(home=home)
    if settings.remote is not None:
        from gpurank.store import remote  # only for a data folder on object storage

        remote.refresh(settings)
    return reading.open_warehouse(settings.warehouse_path)


def table(name: str, home: str | Path | None = None) -> pl.DataFrame:
    """Returns a whole table, ``layer.name``; docs/tables.md lists them, with columns and units.

    Raises:
        NoData: there is no such table; names the nearest one.
    """
    with _connected(home) as connection:
        listing = "select table_schema || '.' || table_name from information_schema.tables"
        names = [row[0] for row in connection.execute(listing).fetchall()]
        if name not in names or not _TABLE.fullmatch(name):
            raise NoData(f"no table is called {name!r}; {nearest(name, names)}")
        frame: pl.DataFrame = connection.sql(f"from {name}").pl()
        return frame


def query(sql: str, home: str | Path | None = None) -> pl.DataFrame:
    """Returns the rows of one SELECT (DuckDB), within the limits of ``gpurank query``.

    Raises:
        QueryError: the statement is wrong, returns no rows, or takes too long or too much memory.
        NoData: there is no warehouse yet.
    """
    with _connected(home) as connection, reading.queried(connection):
        relation = connection.sql(sql)
        if relation is None:
            raise QueryError("the statement returns no rows; write one SELECT")
        frame: pl.DataFrame = relation.pl()
        return frame


def rounds(home: str | Path | None = None) -> pl.DataFrame:
    """Returns the rounds in the warehouse, one row per round, oldest first.

    ``round_id``, ``version_id``, ``source_commit`` (null: the source has none), ``result_count``,
    ``scored_count``, ``file_count``, ``byte_count`` (bytes), ``taken_at`` (UTC), ``published_on``
    (null: not known) and ``newer_not_held``: the rounds that are published, newer than this one
    and not in the warehouse, as far as this version of gpurank and the last watch know.

    Raises:
        NoData: there is no warehouse yet.
    """
    with _connected(home) as connection:
        frame = _frame(reading.rounds(connection))
        freshness = freshness_of_warehouse(connection, load(home=home))
    missing = [known.round_id for known in freshness.missing]
    newer = [
        [name for name in missing if round_order(name) > round_order(round_id)]
        for round_id in frame["round_id"]
    ]
    return frame.with_columns(pl.Series("newer_not_held", newer, dtype=pl.List(pl.String)))


def top(
    benchmark: str,
    round_id: str | None = None,
    pooled: bool = False,
    limit: int | None = None,
    home: str | Path | None = None,
) -> pl.DataFrame:
    """Returns ranked results of a benchmark in a round (by default its newest), or of all pooled.

    ``score_min`` in minutes, ``accelerator_minutes`` and ``delay_cost`` in chip-minutes (both
    derived, not official metrics), lowest ``delay_cost`` first.

    Raises:
        NoData: nothing is ranked there; says what is.
    """
    with _connected(home) as connection:
        return _frame(reading.ranking(connection, benchmark, round_id, pooled, limit))


# The name before the interface had those of the commands.
rank = top


def footnotes(
    benchmark: str | None = None,
    divisions: Sequence[str] = ("closed",),
    home: str | Path | None = None,
) -> tuple[str, ...]:
    """Returns the footnotes for a table or chart of these results, line by line.

    Suite and versions, division, benchmark, where and when the rounds were taken from, what is
    derived, the verification and the mark. A frame cannot carry them.

    Raises:
        NoData: there is no warehouse yet, or it holds no such benchmark.
    """
    with _connected(home) as connection:
        if benchmark is not None:
            reading.require_benchmark(connection, benchmark)
        return footnotes_of(connection, benchmark, divisions)


def clusters(benchmark: str, home: str | Path | None = None) -> pl.DataFrame:
    """Returns the cluster profiles of a benchmark, fastest median first.

    ``median_score_min`` in minutes, ``median_accelerator_minutes`` in chip-minutes (derived),
    ``share_4_to_16`` the share of members with 4 to 16 accelerators, ``count_note`` how stable the
    number of clusters is.

    Raises:
        NoData: the benchmark has none.
    """
    with _connected(home) as connection:
        return _frame(reading.clusters(connection, benchmark))


def predict(
    benchmark: str,
    accelerator: str,
    accelerator_count: int | None = None,
    home: str | Path | None = None,
) -> pl.DataFrame:
    """Returns predicted times to train, one row per accelerator count: never a result.

    ``score_min`` with its 90 % interval ``score_low_min`` to ``score_high_min`` in minutes (null:
    too few results), ``accelerator_minutes`` in chip-minutes. ``is_extrapolated``: the count lies
    outside those published with the accelerator. Source: docs/method.md.

    Args:
        accelerator: canonical name, for example ``H100 SXM5 80GB``.
        accelerator_count: one count; None: all that are predicted.

    Raises:
        NoData: no such benchmark, it has no fleet law, or nothing is predicted there; says why
            and names the nearest.
    """
    with _connected(home) as connection:
        return _frame(reading.predictions(connection, benchmark, accelerator, accelerator_count))


def compare(first_id: str, second_id: str, home: str | Path | None = None) -> Comparison:
    """Compares a result with another of the same benchmark: speed-up, efficiency, warnings.

    Speed-up and efficiency are ratios without unit: minutes, and accelerator-minutes, of the first
    result divided by those of the second; above 1 the second is better.

    Raises:
        NotComparable: other benchmarks, or rounds of different comparable spans; says why.
        NoData: there is no such result; names the nearest ones.
    """
    with _connected(home) as connection:
        return _comparison.compare(connection, first_id, second_id)


def check_comparable(
    benchmark: str, round_id: str, other: str, home: str | Path | None = None
) -> str | None:
    """Checks that results of a benchmark may be compared between two rounds.

    Returns:
        The warning to show with such a comparison (a soft break), or None.

    Raises:
        NotComparable: they may not; says why.
        NoData: the benchmark has no results in one of the rounds.
    """
    with _connected(home) as connection:
        return _comparison.check(connection, benchmark, round_id, other)


def why(result_id: str, home: str | Path | None = None) -> Explanation:
    """Traces a result's numbers to the lines of its logs.

    Times in minutes, clocks in milliseconds since 1970 (UTC), line numbers from 1.

    Raises:
        NoData: there is no such result; names the nearest ones.
    """
    with _connected(home) as connection:
        return _explain.explain(connection, result_id)


@contextmanager
def _connected(home: str | Path | None) -> Iterator[DuckDBPyConnection]:
    connection = connect(home)
    try:
        yield connection
    finally:
        connection.close()


def _frame(answer: Answer) -> pl.DataFrame:
    return pl.DataFrame(
        list(answer.rows), schema=list(answer.columns), orient="row", infer_schema_length=None
    )
