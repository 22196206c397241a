"""Records of files as batches of raw.event: nothing lost, nothing turned into something else."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from gpurank.declared.contracts import contract
from gpurank.logs.event_columns import EventBatch
from gpurank.logs.records import Records

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
RECORD = st.fixed_dictionaries(
    {
        "line_number": st.integers(1, 2**31 - 1),
        "dialect": st.sampled_from(["mllog", "mll", "mlpv05", "wallclock"]),
        "time_ms": st.none() | st.floats(allow_nan=False, allow_infinity=False),
        "key": st.none() | TEXT,
        "value": TEXT,
        "metadata": TEXT,
        "event_type": st.none() | st.sampled_from(["INTERVAL_START", "POINT_IN_TIME", ""]),
        "is_decodable": st.booleans(),
    }
)


def records(rows: list[dict[str, Any]]) -> Records:
    columns = {name: [row[name] for row in rows] for name in rows[0]} if rows else {}
    for name in ("value", "metadata"):
        if rows:
            columns[name] = [text.encode() for text in columns[name]]
    return Records(**columns)


@settings(deadline=None)
@given(st.lists(st.lists(RECORD, max_size=6), max_size=4))
def test_rows_come_out_as_they_went_in(files: list[list[dict[str, Any]]]) -> None:
    events = EventBatch()
    for number, rows in enumerate(files):
        events.add(f"file{number}", records(rows))
    batch = events.batch()
    assert (batch is None) == (not any(files))
    table = pa.Table.from_batches([batch] if batch else [], contract("raw.event").arrow_schema())
    table.validate(full=True)
    expected = [
        {
            **row,
            "path": f"file{number}",
            "record_number": place,
            # An empty JSON text stands for none.
            "value": row["value"] or None,
            "metadata": row["metadata"] or None,
        }
        for number, rows in enumerate(files)
        for place, row in enumerate(rows)
    ]
    assert [dict(row) for row in table.to_pylist()] == expected
