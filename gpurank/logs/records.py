"""Every record of a log, of every dialect, in columns.

Dialects: ``mllog`` (``:::MLLOG {json}``, v0.7 on), ``mll`` (``:::MLL <seconds> <key>: {json}``,
v0.6), ``mlpv05`` (``:::MLPv0.5.0 ...``) and ``wallclock`` (one v0.6 submitter). The marker may
stand anywhere in a line: ranks print prefixes, and other output is glued to records.
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


def refused(data: bytes) -> str | None:
    """Why a file is not read though its size would let it; None where it is.

    A record takes far more memory and time than the eight bytes that can begin one.
    """
    if len(data) < RECORD_LIMIT * len(_MLLOG):
        return None
    if data.count(_MARK) + data.count(b"MLPerf:") <= RECORD_LIMIT:
        return None
    return f"more than {RECORD_LIMIT:,} records, which no log holds"


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
        """The texts of ``value`` or ``metadata``, one behind the other."""
        return self._joined.get(name) or b"".join(getattr(self, name))

    def keep_joined(self, name: str, text: bytes) -> None:
        """Have ``joined`` give what is known already."""
        self._joined[name] = text

    def __len__(self) -> int:
        return len(self.key)

    def append(self, line_number: int, dialect: str, record: Record) -> None:
        """Add one record as the file's next."""
        self.line_number.append(line_number)
        self.dialect.append(dialect)
        self.time_ms.append(record.time_ms)
        self.key.append(record.key)
        self.value.append(record.value)
        self.metadata.append(record.metadata)
        self.event_type.append(record.event_type)
        self.is_decodable.append(record.key is not None)


def positions(keys: Sequence[str | None], wanted: frozenset[str]) -> dict[str | None, list[int]]:
    """Where each of the wanted keys stands among a log's, ascending."""
    found: dict[str | None, list[int]] = {key: [] for key in wanted}
    for number in compress(count(), map(wanted.__contains__, keys)):
        found[keys[number]].append(number)
    return found


def read_log(data: bytes) -> Records:
    """Every record in a file's bytes; never raises, whatever the bytes are.

    Records that cannot be read are kept with ``is_decodable`` false.
    """
    records = _read_plain(data)
    if records is not None:
        _make_text(records, b"")
    else:
        records = _read_any(data)
        _make_text(records, b"\n")
    return records


def _read_plain(data: bytes) -> Records | None:
    """The common case at full speed: well-formed ``:::MLLOG`` records alone; else None."""
    head, *chunks = data.split(_MLLOG)
    if not chunks:
        return None
    parts = [chunk.partition(b"\n") for chunk in chunks]
    rests = [rest for _, _, rest in parts if rest]
    # Records of other dialects stand between these, if anywhere: one quoted inside a record is
    # part of it, and one glued to its end makes it ill-formed.
    if _MARK in head or _MARK in b"\n".join(rests):
        return None
    try:
        found = [decode_mllog(text) for text, _, _ in parts]
    except _ERRORS:
        return None
    lines = [chunk.count(b"\n") for chunk in chunks[:-1]]
    times = [record.time_ms for record in found]
    if None in times:
        times = [_time_ms(record) for record in found]
    return Records(
        line_number=list(accumulate(lines, initial=1 + head.count(b"\n"))),
        dialect=["mllog"] * len(found),
        time_ms=times,
        key=[record.key for record in found],
        value=[record.value for record in found],
        metadata=[record.metadata for record in found],
        event_type=[record.event_type for record in found],
        is_decodable=[True] * len(found),
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
    """(dialect, start of marker, end of marker) of every record."""
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
        found = decode_mllog(text.partition(b"\n")[0])
    except _ERRORS:
        return parse_mllog(text)
    if not found.key:
        return undecodable(text)
    return Record(_time_ms(found), found.key, found.value, found.metadata, found.event_type)


def _time_ms(record: MllogRecord) -> float | None:
    if record.time_ms is None and record.time_s is not None:
        return record.time_s * 1000
    return record.time_ms


def _make_text(records: Records, between: bytes) -> None:
    """Replace bytes that are not UTF-8 and blank contact persons.

    JSON decoding does not look into skipped values. A column is looked through as a whole first,
    since hardly any holds either; ``between`` its texts may be nothing where all are JSON, which
    begins and ends with ASCII, so that no two make a character together.
    """
    for name in ("value", "metadata"):
        column: list[JsonText] = getattr(records, name)
        text = between.join(column)
        is_text = text.isascii() or _is_text(text)
        if not is_text:
            column[:] = [bytes(one).decode("utf-8", "replace").encode() for one in column]
        if may_hold_contact(text):
            column[:] = [blank_contacts(bytes(one)) for one in column]
        elif is_text and not between:
            records.keep_joined(name, text)
    keys = set(records.key)
    contact_keys = {key for key in keys if is_contact_key(key)}
    if contact_keys:
        records.keep_joined("value", b"")
        for number, key in enumerate(records.key):
            if key in contact_keys:
                records.value[number] = b'""'
    for names, distinct in ((records.key, keys), (records.event_type, set(records.event_type))):
        if any(name is not None and "@" in name for name in distinct):
            names[:] = [name and blank_contacts(name.encode()).decode() for name in names]


def _is_text(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
