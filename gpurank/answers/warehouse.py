"""Queries the published warehouse; each question is one SELECT, each answer its rows.

Rows and not frames, because importing a frame library takes longer than most answers.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpurank.answers.sandbox import CONFIG, bounded
from gpurank.declared.rounds import declared_rounds, round_order
from gpurank.errors import Exit, GpurankError

if TYPE_CHECKING:
    import polars as pl
    from duckdb import DuckDBPyConnection


class NoData(GpurankError, LookupError):
    """The warehouse does not hold the data asked for, or does not exist yet."""

    exit_code = Exit.NO_DATA


class QueryError(GpurankError, ValueError):
    """A user's SQL failed; the message is DuckDB's."""

    exit_code = Exit.USAGE


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows with the names and SQL types of their columns, in the order to show them."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    types: tuple[str, ...]
    title: str | None = None

    def column(self, name: str) -> list[Any]:
        """Returns every value of one column."""
        index = self.columns.index(name)
        return [row[index] for row in self.rows]

    def dicts(self) -> list[dict[str, Any]]:
        """Returns each row as values by column."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def frame(self) -> pl.DataFrame:
        """Returns the rows as a polars frame."""
        import polars as pl

        return pl.DataFrame(
            list(self.rows), schema=list(self.columns), orient="row", infer_schema_length=None
        )

    def cut(self, name: str, length: int) -> Answer:
        """Returns the same answer with the texts of one column cut to a number of characters."""
        index = self.columns.index(name)
        texts = [None if text is None else str(text)[:length] for text in self.column(name)]
        rows = zip(self.rows, texts, strict=True)
        cut = tuple((*row[:index], text, *row[index + 1 :]) for row, text in rows)
        return replace(self, rows=cut)


def open_warehouse(path: Path) -> DuckDBPyConnection:
    """Opens a read-only connection that cannot access other files or the network.

    The file may be replaced while the connection is open; the connection keeps the old one.

    Raises:
        NoData: there is no warehouse, or it cannot be read.
    """
    import duckdb

    if not path.is_file():
        raise NoData(f"there is no warehouse at {path}; `gpurank run` makes one")
    try:
        return duckdb.connect(str(path), read_only=True, config=dict(CONFIG))
    except duckdb.Error as error:
        raise NoData(
            f"{path} cannot be read ({_first_line(error)}); `gpurank analyze` builds it anew"
        ) from None


def ask(con: DuckDBPyConnection, sql: str, values: Sequence[Any] = (), title: str = "") -> Answer:
    """Runs one statement and returns its rows.

    Raises:
        duckdb.Error: the statement failed.
        QueryError: the text holds no statement, only blanks or a comment.
    """
    cursor: DuckDBPyConnection | None = con.execute(sql, list(values))
    if cursor is None:
        raise QueryError("there is no statement in it; write one SELECT")
    description = cursor.description or ()
    names = tuple(str(column[0]) for column in description)
    types = tuple(str(column[1]) for column in description)
    return Answer(names, tuple(cursor.fetchall()), types, title or None)


def loaded_versions(con: DuckDBPyConnection) -> dict[str, str]:
    """Returns the version of each round in the warehouse, in the order of the rounds."""
    rows = ask(con, "select round_id, version_id from raw.round_version").rows
    return dict(sorted(rows, key=lambda row: round_order(row[0])))


def published_versions(path: Path) -> dict[str, str]:
    """Returns the version of each round in a warehouse file; none where it cannot be read."""
    import duckdb

    try:
        with open_warehouse(path) as con:
            return loaded_versions(con)
    except (NoData, duckdb.Error):
        return {}


@contextmanager
def queried(con: DuckDBPyConnection) -> Iterator[None]:
    """Runs a user's SQL in the block within limits.

    Raises:
        QueryError: the statement failed, or exceeded the limit of time or memory.
    """
    import duckdb

    try:
        with bounded(con):
            yield
    except (duckdb.Error, TimeoutError) as error:
        raise QueryError(str(error).strip()) from error
    except MemoryError:
        raise QueryError("the answer does not fit into memory; ask for fewer rows") from None


def nearest(word: str, names: Iterable[str]) -> str:
    """Returns ``did you mean …?`` for a near miss, else the names that exist."""
    names = sorted(set(names))
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    close = close or [name for name in names if name.startswith(word) or word.startswith(name)]
    if close:
        return f"did you mean {close[0]}?"
    return f"there are {', '.join(names)}" if names else "there are none yet"


def nearest_round(round_id: str, rounds: Iterable[str]) -> str:
    """Returns ``did you mean v4.0?`` for a misspelt round, else the rounds that exist."""
    names = sorted(set(rounds), key=round_order)
    digits = re.sub(r"[^0-9]+", "", round_id)
    for name in names:
        if round_id not in names and name.strip("v").replace(".", "") == digits:
            return f"did you mean {name}? it is in {', '.join(names)}"
    return f"it is in {', '.join(names) or 'none'}"


def require_benchmark(con: DuckDBPyConnection, benchmark: str) -> None:
    """Raises an error unless the warehouse holds results of a benchmark.

    Raises:
        NoData: it holds none; names the benchmarks in folders of that name, or the nearest one.
    """
    benchmarks = ask(con, "select distinct benchmark from marts.result").column("benchmark")
    if benchmark in benchmarks:
        return
    sql = (
        "select distinct benchmark from marts.result where benchmark_folder = ? order by benchmark"
    )
    in_folder = ask(con, sql, [benchmark]).column("benchmark")
    if in_folder:
        hint = f"folders of that name hold {' or '.join(in_folder)}"
    else:
        hint = nearest(benchmark, benchmarks)
    raise NoData(f"no benchmark is called {benchmark!r}; {hint}")


def ranking(
    con: DuckDBPyConnection,
    benchmark: str,
    round_id: str | None = None,
    pooled: bool = False,
    limit: int | None = None,
) -> Answer:
    """Returns the ranking of a benchmark in a round (default: its newest), or of all rounds pooled.

    Times are in minutes, ``delay_cost`` = accelerator-minutes + λ x minutes, lower is better.
    ``refiled_from`` is the round in which the same measurement was first submitted.

    Raises:
        NoData: nothing is ranked there; the message says what is.
    """
    require_benchmark(con, benchmark)
    scope = "pooled" if pooled else "round"
    sql = "select distinct round_id from marts.ranking where benchmark = ? and scope = ?"
    rounds = sorted(
        filter(None, ask(con, sql, [benchmark, scope]).column("round_id")), key=round_order
    )
    if not pooled:
        if round_id is not None and round_id not in rounds:
            raise NoData(
                f"nothing of {benchmark} is ranked in {round_id}; "
                + nearest_round(round_id, rounds)
            )
        if not rounds:
            raise NoData(f"{benchmark} is ranked in no round; see marts.data_quality")
        rounds = [round_id or rounds[-1]]
    answer = ask(con, _RANKING, [benchmark, scope, rounds, limit if limit else 1_000_000])
    if not answer.rows:
        raise NoData(f"nothing of {benchmark} is ranked over all rounds; give --round")
    where = "all comparable rounds" if pooled else rounds[0]
    return replace(
        add_publication_dates(answer), title=f"{benchmark}, {where}: ranking table (derived)"
    )


_RANKING = """
select r.rank, r.tie_group, r.round_id, m.submitter, m.system_name, m.accelerator,
       r.accelerator_count, r.score_min, r.accelerator_minutes, r.delay_cost,
       r.cluster_label, m.availability, m.division, m.is_independent,
       case when not m.is_independent then m.first_seen_round_id end as refiled_from,
       r.lambda_chips, m.source_commit, r.result_id, r.comparison_warning
from marts.ranking r
join marts.result m using (result_id)
where r.benchmark = ? and r.scope = ? and list_contains(?, r.round_id)
order by r.rank, r.accelerator_count, r.result_id
limit ?
"""


def clusters(con: DuckDBPyConnection, benchmark: str) -> Answer:
    """Returns the cluster profiles of a benchmark, fastest median first.

    Raises:
        NoData: the benchmark has no clusters; the message says why.
    """
    require_benchmark(con, benchmark)
    answer = ask(
        con,
        "select cluster_label, name, member_count, median_score_min, median_accelerator_count, "
        "median_accelerator_minutes, share_4_to_16, leading_families, jaccard, is_count_stable, "
        "count_note from marts.cluster_profile where benchmark = ? and cluster_label is not null "
        "order by cluster_label",
        [benchmark],
        f"{benchmark}: clusters over its comparable rounds (derived)",
    )
    if not answer.rows:
        sql = "select reason from marts.cluster_profile where benchmark = ?"
        reasons = ask(con, sql, [benchmark]).column("reason")
        reason = reasons[0] if reasons else "no independent results"
        raise NoData(f"{benchmark} has no clusters: {reason}")
    return answer


def cluster_rounds(con: DuckDBPyConnection, benchmark: str) -> list[str]:
    """Returns the rounds whose results a benchmark's clusters hold."""
    sql = "select distinct round_id from marts.cluster where benchmark = ? order by round_id"
    return ask(con, sql, [benchmark]).column("round_id")


def require_fleet_law(con: DuckDBPyConnection, benchmark: str) -> None:
    """Raises an error unless a fleet law was fitted to a benchmark.

    Raises:
        NoData: none was; the message says why.
    """
    sql = "select reason from marts.fleet_law where benchmark = ?"
    reasons = ask(con, sql, [benchmark]).column("reason")
    if not reasons or reasons[0]:
        raise NoData(f"{benchmark} has no fleet law: {reasons[0] if reasons else 'not fitted'}")


def predictions(
    con: DuckDBPyConnection, benchmark: str, accelerator: str, count: int | None = None
) -> Answer:
    """Returns the predicted times of an accelerator by the fleet law, one row per count; minutes.

    Raises:
        NoData: no such benchmark, no fleet law (says why), or nothing predicted for the
            accelerator or the count; names the nearest.
    """
    require_benchmark(con, benchmark)
    require_fleet_law(con, benchmark)
    sql = "select * from marts.prediction where benchmark = ? order by accelerator_count"
    answer = ask(con, sql, [benchmark])
    names = answer.column("accelerator")
    rows = [row for row, name in zip(answer.rows, names, strict=True) if name == accelerator]
    if not rows:
        hint = nearest(accelerator, names)
        raise NoData(f"nothing of {benchmark} is predicted for {accelerator!r}; {hint}")
    answer = replace(answer, rows=tuple(rows))
    if count is None:
        return answer
    counts = answer.column("accelerator_count")
    if count not in counts:
        close = sorted(sorted(counts, key=lambda predicted: abs(predicted - count))[:2])
        raise NoData(
            f"{benchmark} is not predicted for {count} x {accelerator}; the nearest counts are "
            f"{' and '.join(map(str, close))}"
        )
    return replace(answer, rows=(rows[counts.index(count)],))


def rounds(con: DuckDBPyConnection) -> Answer:
    """Returns what the warehouse holds, one row per round."""
    answer = ask(
        con,
        "select v.round_id, v.version_id, v.source_commit, s.result_count, s.scored_count, "
        "v.file_count, v.byte_count, v.taken_at "
        "from raw.round_version v "
        "left join (select round_id, count(*) result_count, count(score_min) scored_count "
        "from marts.result group by round_id) s using (round_id) "
        "order by try_cast(string_split(v.round_id[2:], '.') as integer[])",
        title="rounds in the warehouse",
    )
    return add_publication_dates(answer)


def add_publication_dates(answer: Answer) -> Answer:
    """Returns an answer with a last column ``published_on``, the date of each row's round.

    Null where the date is not known.
    """
    days = [declared_rounds().get(name).published_on for name in answer.column("round_id")]
    return replace(
        answer,
        columns=(*answer.columns, "published_on"),
        rows=tuple((*row, day) for row, day in zip(answer.rows, days, strict=True)),
        types=(*answer.types, "DATE"),
    )


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
