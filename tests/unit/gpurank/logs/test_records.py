"""Records: every dialect, anywhere in a line, on any bytes."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic_logs import log, record, run

from gpurank.logs import records as mllog
from gpurank.logs.records import Records, read_log

MARKS = [
    b":::MLLOG ",
    b":::MLL ",
    b":::MLPv0.5.0 ",
    b"MLPerf: ",
    b'{"key": "run_start"',
    b"\n",
    b"\r",
]


def row(data: bytes, number: int = 0) -> tuple[object, ...]:
    records = read_log(data)
    return (
        records.line_number[number],
        records.dialect[number],
        records.time_ms[number],
        records.key[number],
        bytes(records.value[number]),
        bytes(records.metadata[number]),
    )


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (
            b'noise\n:::MLLOG {"namespace": "", "time_ms": 1600000000123, "event_type": '
            b'"INTERVAL_START", "key": "run_start", "value": null, "metadata": {"lineno": 3}}\n',
            (2, "mllog", 1600000000123.0, "run_start", b"null", b'{"lineno": 3}'),
        ),
        (
            b':::MLL 1560822993.653 run_start: {"value": null, "metadata": {"lineno": 9}}\n',
            (1, "mll", 1560822993653.0, "run_start", b"null", b'{"lineno": 9}'),
        ),
        (
            b'MLPerf: resnet [06/13/19 00:55:21], eval_accuracy: {"value": 75.98000%}\n',
            # 2019-06-13T00:55:21Z
            (1, "wallclock", 1560387321000.0, "eval_accuracy", b'{"value": "75.98000%"}',
             b'{"benchmark":"resnet"}'),
        ),
    ],
    ids=["mllog", "mll", "wallclock"],
)  # fmt: skip
def test_a_record_of_each_dialect(data: bytes, expected: tuple[object, ...]) -> None:
    assert row(data) == expected
    assert read_log(data).event_type == ["INTERVAL_START" if b"INTERVAL" in data else None]


@pytest.mark.parametrize(
    ("time_field", "time_ms"),
    [
        ('"time_s": 1593354412.910', 1593354412910.0),
        ('"time_ms": 1600000000123.5', 1600000000123.5),
        ('"time_ms": "1600000000123.5"', 1600000000123.5),
        ('"time_ms": 1, "time_ms": 2', 2.0),  # the last of duplicate keys counts
        ('"time_ms": Infinity', None),
    ],
)
def test_forms_of_a_time(time_field: str, time_ms: float | None) -> None:
    assert row(f':::MLLOG {{{time_field}, "key": "run_start"}}'.encode())[2] == time_ms


def test_a_value_that_is_no_number_stays_text() -> None:
    assert row(b':::MLLOG {"key": "eval_accuracy", "value": NaN}')[4] == b'"NaN"'


def test_mll_record_with_python_literals_and_bare_words() -> None:
    data = (
        b':::MLL 1560875546.25 eval_accuracy: {"value": 0.35, "metadata": {\'lineno\': 49, '
        b"'file': 'eval.py', 'epoch_num': 11, 'note': None}}\n"
        b":::MLL 1560875546.5 cache_clear: {value: true, metadata: {lineno: 0, file: manual}}\n"
    )
    first, second = row(data), row(data, 1)
    assert (first[4], second[4]) == (b"0.35", b"true")
    metadata = {"lineno": 49, "file": "eval.py", "epoch_num": 11, "note": None}
    assert json.loads(str(first[5], "utf-8")) == metadata  # type: ignore[call-overload]
    assert json.loads(str(second[5], "utf-8")) == {"lineno": 0, "file": "manual"}  # type: ignore[call-overload]


def test_v05_record_doubled_by_a_logger() -> None:
    body = b':::MLPv0.5.0 resnet 1541670088.5 (a.py:4) eval_accuracy: {"value": 0.5, "epoch": 3}\n'
    start = b":::MLPv0.5.0 resnet 1541670089 (a:1) run_start\n"
    records = read_log(body + b"INFO:mlperf_compliance:" + body + start)
    assert records.dialect == ["mlpv05"] * 3
    assert records.key == ["eval_accuracy", "eval_accuracy", "run_start"]
    assert records.time_ms == [1541670088500.0, 1541670088500.0, 1541670089000.0]
    assert json.loads(bytes(records.value[1])) == {"value": 0.5, "epoch": 3}
    assert bytes(records.value[2]) == b""
    assert json.loads(bytes(records.metadata[2]))["benchmark"] == "resnet"


def test_v05_value_that_is_no_json_is_kept_as_text() -> None:
    data = b":::MLPv0.5.0 ncf 1.0 (a.py:1) model_hp_shape: (224, 224) -> x"
    assert row(data)[4] == b'"(224, 224) -> x"'


@pytest.mark.parametrize(
    "prefix",
    ["0: ", "  12: ", "[1,0]<stdout>:", "I0614 12:00:00.1 1 mllog.py:42] ", "Done (t=0.5s)",
     "90%|####  | 9/10\r", "\x1b[32m", "Namespace(a=':::')"],
)  # fmt: skip
def test_the_marker_may_stand_anywhere_in_a_line(prefix: str) -> None:
    plain = record("run_start", 1_600_000_000_000)
    assert row((prefix + plain).encode()) == row(plain.encode())


@pytest.mark.parametrize(
    "suffix", ["\r", " done", "\x1b[0m", "0: next output {", '{"a": 1}', "\r90%|###"]
)
def test_text_behind_a_record_is_not_part_of_it(suffix: str) -> None:
    plain = record("run_start", 1_600_000_000_000, {"a": [1, "}"]})
    assert row((plain + suffix).encode()) == row(plain.encode())


@pytest.mark.parametrize("at", [20, 40, 60, 90, 120])
@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_a_line_break_inside_a_record_is_mended(at: int, line_break: str) -> None:
    plain = record("eval_accuracy", 1_600_000_000_000, 0.7512345, epoch_num=3)
    broken = plain[:at] + line_break + plain[at:] + "\n" + record("run_stop", 1_600_000_000_001)
    records = read_log(broken.encode())
    assert records.key == ["eval_accuracy", "run_stop"]
    assert records.line_number == [1, 3]
    assert json.loads(bytes(records.value[0])) == 0.7512345


def test_a_record_cut_by_another_is_kept_as_undecodable() -> None:
    cut = record("eval_accuracy", 1_600_000_000_000, 0.75)[:50]
    records = read_log((cut + record("run_stop", 1_600_000_000_001) + "\n").encode())
    assert records.key == [None, "run_stop"]
    assert records.is_decodable == [False, True]
    assert bytes(records.value[0]) == cut.removeprefix(":::MLLOG ").encode()


def test_a_marker_quoted_in_a_value_does_not_make_a_record() -> None:
    plain = record("note", 1_600_000_000_000, "see :::MLLOG in the docs")
    records = read_log((plain + "\n" + record("run_stop", 1) + "\nbroken :::MLLOG {\n").encode())
    assert records.key == ["note", "run_stop", None]
    assert records.line_number == [1, 2, 3]


def test_bytes_that_are_not_utf8_cost_no_record() -> None:
    data = b"\xc3:::MLLOG " + record("a", 1, "x").removeprefix(":::MLLOG ").encode().replace(
        b'"x"', b'"\xff"'
    )
    records = read_log(data + b"\n\x00\xfe" + record("run_stop", 2).encode())
    assert records.key == ["a", "run_stop"]
    assert bytes(records.value[0]).decode() == '"\N{REPLACEMENT CHARACTER}"'


@pytest.mark.parametrize(
    "value",
    [
        "1" + "0" * 400,
        "1e400",
        "[" * 5_000 + "]" * 5_000,
        "[" * 200_000,
        '{"a":' * 3_000 + "}" * 3_000,
    ],
    ids=range(5),
)
def test_huge_numbers_and_deep_nesting_never_raise(value: str) -> None:
    for key in ("time_ms", "value", "metadata", "namespace"):
        data = f':::MLLOG {{"key": "a", "{key}": {value}}}\n'.encode()
        records = read_log(data + record("run_stop", 5).encode())
        assert records.key[-1] == "run_stop"
        assert records.time_ms[0] is None


def test_contact_persons_are_blanked_everywhere() -> None:
    lines = [
        record("submission_poc_name", 1, "Jane Doe"),
        record("submission_poc_email", 2, "jane@example.com"),
        record("note", 3, {"text": "ask jane.doe+x@mail.example.org", "poc_name": "Jane Doe"}),
        record("note", 4, None, author="<jane@example.com>"),
        record("submission_entry", 5, "{'poc_name': 'Jane Doe', 'poc_email': 'jane@example.com'}"),
        ':::MLLOG {"key": "note", "value": "jane\\u0040example.com"}',
        ":::MLLOG {broken jane@example.com",
        ":::MLL 1.5 submission_poc_email: {'value': 'jane@example.com', 'metadata': {}}",
    ]
    records = read_log(log(lines))
    assert len(records) == len(lines)
    kept = b"\n".join([bytes(text) for text in (*records.value, *records.metadata)])
    for private in (b"Jane", b"Doe", b"jane", b"example"):
        assert private not in kept
    assert records.key[:2] == ["submission_poc_name", "submission_poc_email"]


# More hostile texts stand in tests/hostile/test_logs.py.
@pytest.mark.parametrize(
    "text",
    [
        b":::MLLOG {'a': '" + b"\\'" * 200_000,
        b":::MLLOG " * 50_000,
        b":::MLLOG {" + b"1" * 400_000 + b"x}",
        b':::MLLOG {"a": "' + b"a" * 400_000 + b'@"',
        b":::MLPv0.5.0 a 1 (" + b")  " * 100_000,
        b"MLPerf: " * 50_000,
    ],
    ids=range(6),
)
def test_hostile_text_takes_linear_time(text: bytes) -> None:
    before = time.process_time()
    consistent(read_log(text))
    assert time.process_time() - before < 2


def test_no_record_in_no_bytes() -> None:
    assert len(read_log(b"")) == 0
    assert len(read_log(b"no record here\n" * 10)) == 0


def consistent(records: Records) -> None:
    columns = [getattr(records, name) for name in Records.__slots__ if not name.startswith("_")]
    assert {len(column) for column in columns} == {len(records)}
    assert records.line_number == sorted(records.line_number)
    for number in range(len(records)):
        bytes(records.value[number]).decode("utf-8")
        bytes(records.metadata[number]).decode("utf-8")
        assert records.is_decodable[number] == (records.key[number] is not None)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(st.binary(max_size=30), st.sampled_from(MARKS)), max_size=30))
def test_any_bytes_give_records_and_no_exception(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    records = read_log(data)
    consistent(records)
    assert all(1 <= number <= data.count(b"\n") + 1 for number in records.line_number)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_damaged_log_never_raises(data: st.DataObject) -> None:
    text = bytearray(log(run()))
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(text) - 1))
        replacement = data.draw(st.binary(max_size=4))
        text[at : at + data.draw(st.integers(0, 4))] = replacement
    consistent(read_log(bytes(text)))


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", "0: ", "noise ", "noise\n", "noise\nmore\n\n", "\r\n"]),
            st.integers(0, 10**15),
            st.sampled_from(["run_start", "eval_accuracy", "a b", "\\u00e9", ":::ML", ":::MLLOG"]),
            st.sampled_from(["1", "null", '"x"', '{"a": [1, 2]}', '"a@b.cd"', '":::MLLOG {"']),
            st.sampled_from(["\n", "\r\n", "\n\n", "", " \n", "\nlast words"]),
        ),
        max_size=6,
    )
)
def test_the_fast_reader_returns_what_the_careful_one_does(
    parts: list[tuple[str, int, str, str, str]],
) -> None:
    lines = [
        f':::MLLOG {{"time_ms": {time}, "event_type": "POINT_IN_TIME", "key": "{key}", '
        f'"value": {value}, "metadata": {{"lineno": {number}}}}}'
        for number, (_, time, key, value, _) in enumerate(parts)
    ]
    data = "".join(
        before + line + after for (before, *_, after), line in zip(parts, lines, strict=True)
    ).encode()
    fast, careful = mllog._read_plain(data), mllog._read_any(data)
    if fast is not None:
        for name in Records.__slots__:
            found, expected = getattr(fast, name), getattr(careful, name)
            if name in ("value", "metadata"):
                found, expected = ([bytes(one) for one in texts] for texts in (found, expected))
            assert found == expected, name
    if not any(":::" in key + value for _, _, key, value, _ in parts):
        assert careful.key == [key.replace("\\u00e9", "\u00e9") for _, _, key, _, _ in parts]
