"""Parses one log record of each dialect from the bytes behind its marker.

A record that breaks its dialect is repaired where that is safe (text behind the record, terminal
escapes, a line break inside it, Python literals instead of JSON) and is returned as undecodable
otherwise. Nothing here raises, whatever the bytes are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import NamedTuple

import msgspec
from msgspec import Raw

_LONGEST_REPAIRED = 1 << 16
_ERRORS = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, ValueError)

_ANSI = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")
# A string that never closes runs to the end, so that no text is scanned twice.
_EDGE = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[{}\[\]]', re.DOTALL)
_RELAXED = re.compile(
    rb"""(?P<json>"(?:[^"\\]|\\.)*+(?:"|\\?\Z))"""
    rb"""|(?:\b[uU])?'(?P<single>(?:[^'\\]|\\.)*+)(?:'|\\?\Z)"""
    rb"""|(?P<percent>[-+]?\d[\d.eE+-]*+%)"""
    rb"""|(?P<number>-?(?:0|[1-9]\d*+)(?:\.\d+)?(?:[eE][-+]?\d+)?)(?=[\s,:}\])]|$)"""
    rb"""|(?P<word>[-+]?[A-Za-z0-9_.$/][\w.$/+-]*+)"""
    rb"""|(?P<trailing>,)(?=\s*[}\])])"""
    rb"""|(?P<tuple>[()])""",
    re.DOTALL,
)
_WORDS = {
    b"None": b"null", b"null": b"null", b"True": b"true", b"true": b"true",
    b"False": b"false", b"false": b"false",
}  # fmt: skip
_MLL = re.compile(rb"\s*(\S+)\s+([\w./-]+)\s*:\s*")
_V05 = re.compile(rb"v[\d.]+\s+(\S+)\s+(\S+)\s+\(([^()]*+)\)\s+(\w+)[ \t]*(:|\r|$)")
_WALLCLOCK = re.compile(
    rb"\s*(\S+)\s+\[(\d\d)/(\d\d)/(\d\d) (\d\d):(\d\d):(\d\d)\],"
    rb"\s*([^:\r]++)(:|\r|$)"
)

ABSENT = Raw(b"")


class Record(NamedTuple):
    """One record. ``value`` and ``metadata`` are JSON text, empty where absent.

    ``key`` is None for an undecodable record, whose raw text is in ``value``.
    """

    time_ms: float | None
    key: str | None
    value: Raw | bytes
    metadata: Raw | bytes
    event_type: str | None


class MllogRecord(msgspec.Struct, gc=False):
    """Shape of a well-formed record since v0.7; unknown fields are skipped."""

    key: str
    value: Raw = ABSENT
    metadata: Raw = ABSENT
    event_type: str | None = None
    time_ms: float | None = None
    time_s: float | None = None


class _Loose(msgspec.Struct, gc=False):
    key: Raw = ABSENT
    value: Raw = ABSENT
    metadata: Raw = ABSENT
    event_type: Raw = ABSENT
    time_ms: Raw = ABSENT
    time_s: Raw = ABSENT


class _Body(msgspec.Struct, gc=False):
    value: Raw = ABSENT
    metadata: Raw = ABSENT


decode_mllog = msgspec.json.Decoder(MllogRecord).decode
_decode_loose = msgspec.json.Decoder(_Loose).decode
_decode_body = msgspec.json.Decoder(_Body).decode
_decode_raw = msgspec.json.Decoder(Raw).decode
_decode_any = msgspec.json.Decoder().decode


def undecodable(text: bytes) -> Record:
    """Returns a record that could not be decoded, with its raw text up to the end of its line."""
    line = text.partition(b"\n")[0][:_LONGEST_REPAIRED].strip()
    return Record(None, None, line, b"", None)


def parse_mllog(text: bytes) -> Record:
    """Parses a ``:::MLLOG`` record from the text behind its marker up to the next marker."""
    for candidate in _candidates(text):
        try:
            loose = _decode_loose(candidate)
        except _ERRORS:
            continue
        key = _text(loose.key)
        if key is None:
            break
        time_ms = _number(loose.time_ms)
        if time_ms is None and (time_s := _number(loose.time_s)) is not None:
            time_ms = time_s * 1000
        return Record(
            time_ms, key, loose.value or ABSENT, loose.metadata or ABSENT, _text(loose.event_type)
        )
    return undecodable(text)


def parse_mll(text: bytes) -> Record:
    """Parses a ``:::MLL <seconds> <key>: {json}`` record (v0.6)."""
    line = text.partition(b"\n")[0]
    match = _MLL.match(line)
    time_s = _number(match[1]) if match else None
    if not match or time_s is None:
        return undecodable(text)
    for candidate in chain([line[match.end() :]], _candidates(text[match.end() :])):
        try:
            body = _decode_body(candidate)
        except _ERRORS:
            continue
        return Record(time_s * 1000, _replaced(match[2]), body.value, body.metadata, None)
    return undecodable(text)


def parse_v05(text: bytes) -> Record:
    """Parses a ``:::MLPv0.5.0 <benchmark> <seconds> (<file>:<line>) <key>[: <value>]`` record.

    ``text`` starts with the version. The benchmark and the position in the source become metadata.
    """
    match = _V05.match(text.partition(b"\n")[0])
    time_s = _number(match[2]) if match else None
    value = _plain_value(text[match.end() :]) if match else None
    if not match or time_s is None or value is None:
        return undecodable(text)
    metadata = {"benchmark": _replaced(match[1]), "origin": _replaced(match[3])}
    return Record(time_s * 1000, _replaced(match[4]), value, msgspec.json.encode(metadata), None)


def parse_wallclock(text: bytes) -> Record:
    """Parses a ``<benchmark> [MM/DD/YY hh:mm:ss], <key>[: <value>]`` record (v0.6, one submitter).

    Its clock is local time without a zone, which is read as if it were UTC.
    """
    match = _WALLCLOCK.match(text.partition(b"\n")[0])
    value = _plain_value(text[match.end() :]) if match else None
    if not match or value is None:
        return undecodable(text)
    month, day, year, hour, minute, second = (int(match[i]) for i in range(2, 8))
    try:
        moment = datetime(2000 + year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return undecodable(text)
    metadata = msgspec.json.encode({"benchmark": _replaced(match[1])})
    key = _replaced(match[8].strip())
    return Record(moment.timestamp() * 1000, key, value, metadata, None)


def json_value(text: Raw | bytes | None) -> object:
    """Returns the value of a JSON text; None where it is empty or cannot be decoded."""
    if not text:
        return None
    try:
        return _decode_any(text)
    except _ERRORS:
        return None


def json_values(texts: Sequence[Raw | bytes]) -> list[object]:
    """Returns the value of each JSON text as ``json_value`` does, in one call of the decoder."""
    try:
        values: list[object] = _decode_any(b"[" + b",".join([t or b"null" for t in texts]) + b"]")
    except _ERRORS:
        values = []
    # Texts that are not JSON by themselves may form a list of another length together.
    return values if len(values) == len(texts) else [json_value(text) for text in texts]


def finite(value: object) -> float | None:
    """Returns a finite number as float; None for anything else, including booleans."""
    if value.__class__ is float:  # by far the most frequent case
        return value if math.isfinite(value) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def _candidates(text: bytes) -> Iterator[bytes]:
    """Yields readings of a broken record, the most literal one first."""
    plain = _without_escapes(text.partition(b"\n")[0])
    end = _object_end(plain)
    if end is None:
        plain = _without_escapes(re.sub(rb"[\r\n]+", b"", text[:_LONGEST_REPAIRED]))
        end = _object_end(plain)
    if end is not None:
        exact = _readable(plain[:end])
        yield exact
        yield _relaxed(exact)


def _without_escapes(text: bytes) -> bytes:
    return _ANSI.sub(b"", text) if b"\x1b" in text else text


def _readable(text: bytes) -> bytes:
    return text.decode("utf-8", "replace").encode()


def _object_end(text: bytes) -> int | None:
    """Returns the end of the JSON object that ``text`` starts with; None where it has none."""
    start = len(text) - len(text.lstrip())
    if text[start : start + 1] != b"{":
        return None
    depth = 0
    for match in _EDGE.finditer(text, start):
        token = match[0]
        if token in b"{[":
            depth += 1
        elif token in b"}]":
            depth -= 1
            if depth <= 0:
                return match.end()
    return None


def _relaxed(text: bytes) -> bytes:
    """Returns JSON for a Python literal or bare words: quotes, None, percent signs, tuples."""

    def as_json(match: re.Match[bytes]) -> bytes:
        kind, token = match.lastgroup, match[0]
        if kind == "single":
            inner = _replaced(match["single"])
            return msgspec.json.encode(re.sub(r"\\(.)", r"\1", inner))
        if kind == "word":
            return _WORDS.get(token) or msgspec.json.encode(_replaced(token))
        if kind == "percent":
            return b'"' + token + b'"'
        if kind == "trailing":
            return b""
        if kind == "tuple":
            return b"[" if token == b"(" else b"]"
        return token

    return _RELAXED.sub(as_json, text)


def _plain_value(text: bytes) -> bytes | None:
    """Returns a value as JSON: as it is where it is JSON, else its text as a JSON string.

    None where an object is cut off.
    """
    line = _without_escapes(text.partition(b"\n")[0]).strip()
    if not line:
        return b""
    broken = _candidates(text.lstrip(b" \t")) if line[:1] == b"{" else ()
    for candidate in chain([line], broken):
        try:
            candidate.decode("utf-8")
            _decode_raw(candidate)
            return candidate
        except _ERRORS:
            continue
    return None if line[:1] == b"{" else msgspec.json.encode(_replaced(line))


def _text(raw: Raw | None) -> str | None:
    if not raw:
        return None
    try:
        value = _decode_any(_readable(bytes(raw)))
    except _ERRORS:
        return None
    return value if isinstance(value, str) and value else None


def _number(raw: Raw | bytes) -> float | None:
    """Returns a finite number from its JSON text, quoted or not; else None."""
    text = bytes(raw).strip().strip(b'"')
    try:
        number = float(text) if b"_" not in text else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _replaced(text: bytes) -> str:
    return text.decode("utf-8", "replace")
