"""Rows per round and table of the shipped rounds, so that a change of the data is a diff in git.

``python -m tools.row_counts WAREHOUSE > expectations/row_counts.csv`` writes the file (`make
row-counts`); a test fails if the shipped rounds give other counts.
"""

from __future__ import annotations

import csv
import sys
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from gpurank.declared.contracts import Contract, contracts
from gpurank.declared.rounds import round_order
from tasks.build.load import NOT_LOADED

if TYPE_CHECKING:
    import duckdb

LAYERS = ("raw", "core", "marts")
# Rows of tables that have no round.
ALL_ROUNDS = "all"
# Raw tables get this column when they are loaded.
_ROUND = "round_id"

RowCounts = dict[tuple[str, str], int]


def count_rows(con: duckdb.DuckDBPyConnection) -> RowCounts:
    """Returns the rows of each (round_id, table) of raw, core and marts.

    Rows of a table without a round, or without a value in it, count under ``all``. The warnings
    that a validation adds to marts.issue (round_id ``all`` there) are no data and do not count.
    """
    counts: RowCounts = {}
    for declared in contracts():
        if declared.layer not in LAYERS or declared.table in NOT_LOADED:
            continue
        query = f"select '{ALL_ROUNDS}', count(*) from {declared.table} group by all"  # noqa: S608
        if _has_round(declared):
            query = (
                f"select coalesce({_ROUND}, '{ALL_ROUNDS}'), count(*) from {declared.table} "  # noqa: S608
                f"where {_ROUND} is distinct from '{ALL_ROUNDS}' group by all"
            )
        for round_id, rows in con.execute(query).fetchall():
            counts[str(round_id), declared.table] = int(rows)
    return dict(sorted(counts.items(), key=lambda item: (_order(item[0][0]), item[0][1])))


def to_csv(counts: RowCounts) -> str:
    """Returns the counts as CSV text: round_id, table, rows."""
    stream = StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(("round_id", "table", "rows"))
    writer.writerows((round_id, table, rows) for (round_id, table), rows in counts.items())
    return stream.getvalue()


def _has_round(declared: Contract) -> bool:
    return declared.layer == "raw" or _ROUND in declared.column_names


def _order(round_id: str) -> tuple[int, ...]:
    """Rounds from the oldest on, ``all`` last."""
    return (1,) if round_id == ALL_ROUNDS else (0, *round_order(round_id))


def main() -> None:
    """Prints the counts of the warehouse that is named on the command line."""
    import duckdb

    with duckdb.connect(str(Path(sys.argv[1])), read_only=True) as con:
        sys.stdout.write(to_csv(count_rows(con)))


if __name__ == "__main__":
    main()
