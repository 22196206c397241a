"""Questions to the published warehouse, each one SELECT; the answers are rows.

Plain rows, not frames: the command line must answer before a frame library is imported.
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
from gpurank.declared.rounds import round_order
from gpurank.errors import Exit, GpurankError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class NoData(GpurankError, LookupError):
    """What was asked for is not in the warehouse, or there is no warehouse yet."""

    exit_code = Exit.NO_DATA


class QueryError(GpurankError, ValueError):
    """A person's SQL cannot be run; the message is the database's own."""

    exit_code = Exit.USAGE


@dataclass(frozen=True, slots=True)
class Answer:
    """Column names, rows and the columns' SQL types, in the order they are to be shown."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    types: tuple[str, ...]
    title: str | None = None

    def column(self, name: str) -> list[Any]:
        """Every value of one column."""
        place = self.columns.index(name)
        return [row[place] for row in self.rows]

    def cut(self, name: str, length: int) -> Answer:
        """The same with the texts of one column cut to so many characters, for people."""
        place = self.columns.index(name)
        cut = [None if text is None else str(text)[:length] for text in self.column(name)]
        rows = zip(self.rows, cut, strict=True)
        made = tuple((*row[:place], text, *row[place + 1 :]) for row, text in rows)
        return replace(self, rows=made)


def open_warehouse(path: Path) -> DuckDBPyConnection:
    """A read-only connection that can reach no other file and no network.

    The file may be replaced while the connection is open; it keeps the one it opened.

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
    """Rows of one statement.

    Raises:
        duckdb.Error: the statement is wrong.
        QueryError: there is none, only blanks or a comment.
    """
    cursor: DuckDBPyConnection | None = con.execute(sql, list(values))
    if cursor is None:
        raise QueryError("there is no statement in it; write one SELECT")
    described = cursor.description or ()
    names, types = (tuple(str(item[place]) for item in described) for place in (0, 1))
    return Answer(names, tuple(cursor.fetchall()), types, title or None)


@contextmanager
def queried(con: DuckDBPyConnection) -> Iterator[None]:
    """Run a person's own SQL within limits, and tell its faults apart from ours.

    Raises:
        QueryError: the statement in the block failed, or took too long or too much.
    """
    import duckdb

    try:
        with bounded(con):
            yield
    except (duckdb.Error, TimeoutError) as error:
        raise QueryError(str(error).strip()) from error
    except MemoryError:
        raise QueryError("the answer does not fit into memory; ask for fewer rows") from None


def nearest(word: str, known: Iterable[str]) -> str:
    """``; did you mean …`` for a near miss, else what there is to choose from."""
    names = sorted(set(known))
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    close = close or [name for name in names if name.startswith(word) or word.startswith(name)]
    if close:
        return f"did you mean {close[0]}?"
    return f"there are {', '.join(names)}" if names else "there are none yet"


def nearest_round(round_id: str, known: Iterable[str]) -> str:
    """``did you mean v4.0?`` for a misspelt round; what there is for one that is not held."""
    names = sorted(set(known), key=round_order)
    digits = re.sub(r"[^0-9]+", "", round_id)
    for name in names:
        if round_id not in names and name.strip("v").replace(".", "") == digits:
            return f"did you mean {name}? it is in {', '.join(names)}"
    return f"it is in {', '.join(names) or 'none'}"


def require_benchmark(con: DuckDBPyConnection, benchmark: str) -> None:
    """See that results of a benchmark are in the warehouse.

    Raises:
        NoData: none are; names the benchmark that a folder of that name holds, or the nearest.
    """
    known = [row[0] for row in ask(con, "select distinct benchmark from marts.result").rows]
    if benchmark in known:
        return
    sql = (
        "select distinct benchmark from marts.result where benchmark_folder = ? order by benchmark"
    )
    held = ask(con, sql, [benchmark]).column("benchmark")
    hint = f"folders of that name hold {' or '.join(held)}" if held else nearest(benchmark, known)
    raise NoData(f"no benchmark is called {benchmark!r}; {hint}")


def ranking(
    con: DuckDBPyConnection,
    benchmark: str,
    round_id: str | None = None,
    pooled: bool = False,
    limit: int | None = None,
) -> Answer:
    """Ranked results of a benchmark in a round (by default its newest), or of all rounds pooled.

    Times in minutes, ``delay_cost`` = accelerator-minutes + λ x minutes, lower is better.
    ``refiled_from`` is the round in which the same measurement was first filed.

    Raises:
        NoData: nothing is ranked there; says what is.
    """
    require_benchmark(con, benchmark)
    scope = "pooled" if pooled else "round"
    found = ask(
        con,
        "select distinct round_id from marts.ranking where benchmark = ? and scope = ?",
        [benchmark, scope],
    )
    rounds = sorted((row[0] for row in found.rows if row[0]), key=round_order)
    if not pooled:
        if round_id is not None and round_id not in rounds:
            raise NoData(
                f"nothing of {benchmark} is ranked in {round_id}; "
                + nearest_round(round_id, rounds)
            )
        if not rounds:
            raise NoData(f"{benchmark} is ranked in no round; see marts.data_quality")
        rounds = [round_id or rounds[-1]]
    rows = ask(con, _RANKING, [benchmark, scope, rounds, limit if limit else 1_000_000])
    if not rows.rows:
        raise NoData(f"nothing of {benchmark} is ranked over all rounds; give --round")
    where = "all comparable rounds" if pooled else rounds[0]
    return replace(rows, title=f"{benchmark}, {where}: ranking table (derived)")


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
    """Cluster profiles of a benchmark, fastest median first.

    Raises:
        NoData: the benchmark has no clusters; says why where the warehouse knows.
    """
    require_benchmark(con, benchmark)
    rows = ask(
        con,
        "select cluster_label, name, member_count, median_score_min, median_accelerator_count, "
        "median_accelerator_minutes, share_4_to_16, leading_families, jaccard, is_count_stable, "
        "count_note from marts.cluster_profile where benchmark = ? and cluster_label is not null "
        "order by cluster_label",
        [benchmark],
        f"{benchmark}: clusters over its comparable rounds (derived)",
    )
    if not rows.rows:
        told = ask(con, "select reason from marts.cluster_profile where benchmark = ?", [benchmark])
        reason = told.rows[0][0] if told.rows else "no independent results"
        raise NoData(f"{benchmark} has no clusters: {reason}")
    return rows


def cluster_rounds(con: DuckDBPyConnection, benchmark: str) -> list[str]:
    """Rounds that a benchmark's clusters are made of: those of its comparable span, by name."""
    found = ask(
        con,
        "select distinct round_id from marts.cluster where benchmark = ? order by round_id",
        [benchmark],
    )
    return [str(row[0]) for row in found.rows]


def predictions(
    con: DuckDBPyConnection, benchmark: str, accelerator: str, count: int | None = None
) -> Answer:
    """Predicted times of an accelerator by the fleet law, one row a count; minutes.

    Raises:
        NoData: no such benchmark, no fleet law (says why), or nothing predicted for the
            accelerator or the count; names the nearest.
    """
    require_benchmark(con, benchmark)
    law = ask(con, "select reason from marts.fleet_law where benchmark = ?", [benchmark])
    if not law.rows or law.rows[0][0]:
        raise NoData(f"{benchmark} has no fleet law: {law.rows[0][0] if law.rows else 'no row'}")
    sql = "select * from marts.prediction where benchmark = ? order by accelerator_count"
    every = ask(con, sql, [benchmark])
    place = every.columns.index("accelerator")
    rows = tuple(row for row in every.rows if row[place] == accelerator)
    if not rows:
        hint = nearest(accelerator, every.column("accelerator"))
        raise NoData(f"nothing of {benchmark} is predicted for {accelerator!r}; {hint}")
    found = replace(every, rows=rows)
    if count is None:
        return found
    counts = found.column("accelerator_count")
    if count not in counts:
        close = sorted(sorted(counts, key=lambda known: abs(known - count))[:2])
        raise NoData(
            f"{benchmark} is not predicted for {count} x {accelerator}; the nearest counts are "
            f"{' and '.join(map(str, close))}"
        )
    return replace(found, rows=(rows[counts.index(count)],))


def rounds(con: DuckDBPyConnection) -> Answer:
    """What is in the warehouse, one row a round."""
    return ask(
        con,
        "select v.round_id, v.version_id, v.source_commit, s.result_count, s.scored_count, "
        "v.file_count, v.byte_count, v.taken_at "
        "from raw.round_version v "
        "left join (select round_id, count(*) result_count, count(score_min) scored_count "
        "from marts.result group by round_id) s using (round_id) "
        "order by try_cast(string_split(v.round_id[2:], '.') as integer[])",
        title="rounds in the warehouse",
    )


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
