"""Reads every record of a log, of any dialect, into columns.

Dialects: ``mllog`` (``:::MLLOG {json}``, v0.7 on), ``mll`` (``:::MLL <seconds> <key>: {json}``,
v0.6), ``mlpv05`` (``:::MLPv0.5.0 ...``) and ``wallclock`` (one v0.6 submitter). The marker may
stand anywhere in a line, since ranks print prefixes and other output runs into records.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, compress, count
from typing import TypeAlias

import msgspec
from msgspec import Raw

from gpurank.logs.dialects import (
    MllogRecord,
    Record,
    decode_mllog,
    parse_mll,
    parse_mllog,
    parse_v05,
    parse_wallclock,
    undecodable,
)
from gpurank.logs.privacy import blank_contacts, is_contact_key, may_hold_contact

JsonText: TypeAlias = Raw | bytes

_MARK = b":::ML"
_MLLOG = b":::MLLOG"
_MARKERS = re.compile(rb":::ML(?P<kind>LOG|Pv(?=\d)|L(?=\s))")
_WALLCLOCK = re.compile(rb"MLPerf:(?=\s+\S+\s+\[\d\d/\d\d/\d\d \d\d:\d\d:\d\d\],)")
_DIALECTS = {b"LOG": "mllog", b"L": "mll", b"Pv": "mlpv05"}
_ERRORS = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)


#: Records of one file; the published logs hold up to 13,000.
RECORD_LIMIT = 1_000_000


def refusal_reason(data: bytes) -> str | None:
    """Returns why a file of acceptable size is still not read; None where it is read.

    A record takes far more memory and time than the eight bytes that can begin one.
    """
    if len(data) < RECORD_LIMIT * len(_MLLOG):
        return None
    if data.count(_MARK) + data.count(b"MLPerf:") <= RECORD_LIMIT:
        return None
    return f"it holds more than {RECORD_LIMIT:,} records, which no log does"


@dataclass(slots=True)
class Records:
    """The records of one file, in file order, as columns of equal length.

    ``line_number`` is 1-based and counts newline bytes. ``time_ms`` is the record's own clock
    (ms). ``value`` and ``metadata`` are UTF-8 JSON text, empty where absent; an undecodable
    record has no key and its raw text as value. Contact persons are blanked.
    """

    line_number: list[int] = field(default_factory=list)
    dialect: list[str] = field(default_factory=list)
    time_ms: list[float | None] = field(default_factory=list)
    key: list[str | None] = field(default_factory=list)
    value: list[JsonText] = field(default_factory=list)
    metadata: list[JsonText] = field(default_factory=list)
    event_type: list[str | None] = field(default_factory=list)
    is_decodable: list[bool] = field(default_factory=list)
    _joined: dict[str, bytes] = field(default_factory=dict)

    def joined(self, name: str) -> bytes:
        """Returns the texts of ``value`` or ``metadata``, concatenated."""
        return self._joined.get(name) or b"".join(getattr(self, name))

    def keep_joined(self, name: str, text: bytes) -> None:
        """Keeps a concatenation that is known already, so that ``joined`` need not repeat it."""
        self._joined[name] = text

    def __len__(self) -> int:
        return len(self.key)

    def append(self, line_number: int, dialect: str, record: Record) -> None:
        """Appends one record."""
        self.line_number.append(line_number)
        self.dialect.append(dialect)
        self.time_ms.append(record.time_ms)
        self.key.append(record.key)
        self.value.append(record.value)
        self.metadata.append(record.metadata)
        self.event_type.append(record.event_type)
        self.is_decodable.append(record.key is not None)


def positions(keys: Sequence[str | None], wanted: frozenset[str]) -> dict[str | None, list[int]]:
    """Returns the positions of each of the wanted keys among a log's keys, ascending."""
    by_key: dict[str | None, list[int]] = {key: [] for key in wanted}
    for number in compress(count(), map(wanted.__contains__, keys)):
        by_key[keys[number]].append(number)
    return by_key


def read_log(data: bytes) -> Records:
    """Reads every record in a file's bytes; never raises, whatever the bytes are.

    Records that cannot be decoded are kept with ``is_decodable`` false.
    """
    records = _read_plain(data)
    if records is not None:
        _make_text(records, b"")
    else:
        records = _read_any(data)
        _make_text(records, b"\n")
    return records


def _read_plain(data: bytes) -> Records | None:
    """Reads the common case at full speed, well-formed ``:::MLLOG`` records only; else None."""
    head, *chunks = data.split(_MLLOG)
    if not chunks:
        return None
    parts = [chunk.partition(b"\n") for chunk in chunks]
    rests = [rest for _, _, rest in parts if rest]
    # A record of another dialect can only lie between these: one quoted inside a record is part
    # of it, and one that runs into its end makes it ill-formed.
    if _MARK in head or _MARK in b"\n".join(rests):
        return None
    try:
        decoded = [decode_mllog(text) for text, _, _ in parts]
    except _ERRORS:
        return None
    lines = [chunk.count(b"\n") for chunk in chunks[:-1]]
    times = [record.time_ms for record in decoded]
    if None in times:
        times = [_time_ms(record) for record in decoded]
    return Records(
        line_number=list(accumulate(lines, initial=1 + head.count(b"\n"))),
        dialect=["mllog"] * len(decoded),
        time_ms=times,
        key=[record.key for record in decoded],
        value=[record.value for record in decoded],
        metadata=[record.metadata for record in decoded],
        event_type=[record.event_type for record in decoded],
        is_decodable=[True] * len(decoded),
    )


def _read_any(data: bytes) -> Records:
    records = Records()
    line_number, counted_to = 1, 0
    joined_to = -1
    pieces = list(_pieces(data))
    for number, (dialect, start, after_marker) in enumerate(pieces):
        if start < joined_to:
            continue
        end = pieces[number + 1][1] if number + 1 < len(pieces) else len(data)
        line_number += data.count(b"\n", counted_to, start)
        counted_to = start
        record = _parse(dialect, data[after_marker:end])
        if record.key is None and b"\n" not in data[after_marker:end] and number + 2 <= len(pieces):
            # A marker quoted inside a value splits its record in two.
            end = pieces[number + 2][1] if number + 2 < len(pieces) else len(data)
            whole = _parse(dialect, data[after_marker:end])
            if whole.key is not None:
                record, joined_to = whole, end
        records.append(line_number, dialect, record)
    return records


def _pieces(data: bytes) -> Iterator[tuple[str, int, int]]:
    """Yields (dialect, start of marker, end of marker) of every record."""
    is_any = False
    start = data.find(_MARK)
    while start >= 0:
        match = _MARKERS.match(data, start)
        if match is not None:
            is_any = True
            kind = match["kind"]
            yield _DIALECTS[kind], start, match.end() - (1 if kind == b"Pv" else 0)
        start = data.find(_MARK, start + len(_MARK))
    if not is_any and b"MLPerf:" in data:
        for match in _WALLCLOCK.finditer(data):
            yield "wallclock", match.start(), match.end()


_PARSERS: dict[str, Callable[[bytes], Record]] = {
    "mll": parse_mll,
    "mlpv05": parse_v05,
    "wallclock": parse_wallclock,
}


def _parse(dialect: str, text: bytes) -> Record:
    if dialect != "mllog":
        return _PARSERS[dialect](text)
    try:
        decoded = decode_mllog(text.partition(b"\n")[0])
    except _ERRORS:
        return parse_mllog(text)
    if not decoded.key:
        return undecodable(text)
    return Record(
        _time_ms(decoded), decoded.key, decoded.value, decoded.metadata, decoded.event_type
    )


def _time_ms(record: MllogRecord) -> float | None:
    if record.time_ms is None and record.time_s is not None:
        return record.time_s * 1000
    return record.time_ms


def _make_text(records: Records, separator: bytes) -> None:
    """Replaces bytes that are not UTF-8 and blanks contact persons.

    Decoding does not validate values that it skips. Each column is first tested as a whole, since
    hardly any holds either. ``separator`` may be empty where all texts are JSON, which begins and
    ends with ASCII, so that no two neighbours form a character together.
    """
    keys = set(records.key)
    contact_keys = {key for key in keys if is_contact_key(key)}
    if contact_keys:
        for number, key in enumerate(records.key):
            if key in contact_keys:
                records.value[number] = b'""'
    for name in ("value", "metadata"):
        column: list[JsonText] = getattr(records, name)
        text = separator.join(column)
        is_text = text.isascii() or _is_text(text)
        if not is_text:
            column[:] = [bytes(value).decode("utf-8", "replace").encode() for value in column]
        if may_hold_contact(text):
            column[:] = [blank_contacts(bytes(value)) for value in column]
        elif is_text and not separator:
            records.keep_joined(name, text)
    for names, distinct in ((records.key, keys), (records.event_type, set(records.event_type))):
        if any(name is not None and "@" in name for name in distinct):
            names[:] = [name and blank_contacts(name.encode()).decode() for name in names]


def _is_text(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
