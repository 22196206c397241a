"""Records of files as batches of raw.event: nothing lost, nothing turned into something else."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from gpurank.declared.contracts import contract
from gpurank.logs.eventbatch import EventBatches
from gpurank.logs.mllog import Records

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
    batches = EventBatches()
    found: list[pa.RecordBatch] = []
    for number, rows in enumerate(files):
        found += batches.add(f"file{number}", records(rows), 1)
    found += batches.flush()
    table = pa.Table.from_batches(found, contract("raw.event").arrow_schema())
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


def test_a_batch_is_given_out_when_it_is_full_and_texts_begin_anew() -> None:
    batches = EventBatches()
    rows = [{"line_number": 1, "dialect": "mllog", "time_ms": 1.0, "key": "a", "value": "1",
             "metadata": "{}", "event_type": None, "is_decodable": True}]  # fmt: skip
    first = list(batches.add("one", records(rows), 1 << 30))
    (second,) = [*batches.add("two", records(rows), 1), *batches.flush()]
    assert [batch.num_rows for batch in first] == [1]
    assert second.column("path").to_pylist() == ["two"]
    assert list(batches.flush()) == []
