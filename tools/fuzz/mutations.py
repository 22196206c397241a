"""Ways in which a file gets damaged: each takes a random source and bytes and gives other bytes."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_QUOTED = re.compile(rb'"([A-Za-z_][\w ]*)"')
_PAIR = re.compile(rb'"(\w+)"\s*:\s*("[^"\\]*"|-?[\d.]+|null|true|false)')
#: What a score hangs on, and what is told beside it: most changes go to a line with one of these.
_DECIDING = re.compile(rb"run_st|scaling_factor")
_TELLING = re.compile(
    rb"run_st|eval_acc|eval_result|scaling|target|power_|conversion|per_node|nodes"
)
_ODD_NUMBERS = (
    b"0", b"-0", b"-1", b"1e999", b"1e300", b"9" * 400, b"NaN", b"Infinity", b"null", b'"1"',
    b"1e-320", b"0x10", b"1_000", b"1,5", b"true", b"[1]", b"9223372036854775808", b"1e15", b"2e14",
)  # fmt: skip
_ODD_BYTES = (
    b"\0", b"\xff", b"\r", b"\n", b'"', b"'", b"\\", b"{", b"}", b"[", b"]", b",", b":", b"\x1b[0m",
    b"\xe2\x80\xae", b"\xed\xa0\x80", b"\xef\xbb\xbf", b":::MLLOG ", b":::", b"\\u0000", b"\\ud800",
)  # fmt: skip

Change = Callable[[Random, bytes], bytes]


def _lines(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True)


def _line(random: Random, lines: list[bytes]) -> int:
    """A line's index; mostly one that a score hangs on."""
    draw = random.random()
    if draw < 0.8:
        wanted = _DECIDING if draw < 0.45 else _TELLING
        telling = [number for number, line in enumerate(lines) if wanted.search(line)]
        if telling:
            return random.choice(telling)
    return random.randrange(len(lines))


def _in_line(change: Change) -> Change:
    """The change made in one line."""

    def changed(random: Random, data: bytes) -> bytes:
        lines = _lines(data)
        if not lines:
            return data
        number = _line(random, lines)
        lines[number] = change(random, lines[number])
        return b"".join(lines)

    return changed


def _replaced(pattern: re.Pattern[bytes], other: Callable[[Random, bytes], bytes]) -> Change:
    """One match of a pattern in one line replaced."""

    def change(random: Random, line: bytes) -> bytes:
        found = list(pattern.finditer(line))
        if not found:
            return line
        match = random.choice(found)
        return line[: match.start()] + other(random, match[0]) + line[match.end() :]

    return _in_line(change)


def _flip(random: Random, line: bytes) -> bytes:
    if not line:
        return line
    at = random.randrange(len(line))
    return line[:at] + bytes([line[at] ^ (1 << random.randrange(8))]) + line[at + 1 :]


def _insert(random: Random, line: bytes) -> bytes:
    at = random.randint(0, len(line))
    return line[:at] + random.choice(_ODD_BYTES) + line[at:]


def _cut(random: Random, line: bytes) -> bytes:
    at = random.randint(0, len(line))
    return line[:at] + line[random.randint(at, min(len(line), at + 40)) :]


def _other_digit(random: Random, number: bytes) -> bytes:
    places = [at for at, byte in enumerate(number) if 48 <= byte <= 57]
    at = random.choice(places)
    return number[:at] + b"%d" % random.randrange(10) + number[at + 1 :]


def _other_letter(random: Random, word: bytes) -> bytes:
    at = random.randrange(1, len(word) - 1)
    return word[:at] + bytes([random.choice(b"abcdefghijklmnopqrstuvwxyz_")]) + word[at + 1 :]


def _twice(random: Random, pair: bytes) -> bytes:
    key, _, value = pair.partition(b":")
    other = _NUMBER.sub(lambda match: _other_digit(random, match[0]), value)
    return random.choice((pair + b", " + key + b":" + other, key + b":" + other + b", " + pair))


def _moved(random: Random, data: bytes) -> bytes:
    lines = _lines(data)
    if lines:
        line = lines.pop(_line(random, lines))
        lines.insert(random.randint(0, len(lines)), line)
    return b"".join(lines)


def _deleted(random: Random, data: bytes) -> bytes:
    lines = _lines(data)
    if lines:
        at = _line(random, lines)
        del lines[at : at + random.choice((1, 1, 1, 2, 20))]
    return b"".join(lines)


def _doubled(random: Random, data: bytes) -> bytes:
    lines = _lines(data)
    if lines:
        at = _line(random, lines)
        lines.insert(random.randint(0, len(lines)) if random.random() < 0.5 else at, lines[at])
    return b"".join(lines)


def _shuffled(random: Random, data: bytes) -> bytes:
    lines = _lines(data)
    if lines:
        at = _line(random, lines)
        part = lines[max(0, at - 10) : at + 10]
        random.shuffle(part)
        lines[max(0, at - 10) : at + 10] = part
    return b"".join(lines)


def _glued(random: Random, line: bytes) -> bytes:
    return line.rstrip(b"\r\n")


def _split(random: Random, line: bytes) -> bytes:
    at = random.randint(0, len(line))
    return line[:at] + b"\n" + line[at:]


def _interleaved(random: Random, data: bytes) -> bytes:
    """Two writers at one line: the second begins inside the first."""
    lines = _lines(data)
    if len(lines) < 2:
        return data
    at = min(_line(random, lines), len(lines) - 2)
    cut = random.randint(0, len(lines[at]))
    first, second = lines[at], lines[at + 1]
    lines[at : at + 2] = [first[:cut] + second.rstrip(b"\n") + first[cut:]]
    return b"".join(lines)


def _zeroed(random: Random, data: bytes) -> bytes:
    """A page that was never written to the disk."""
    size = random.choice((16, 512, 4096))
    at = random.randint(0, len(data))
    return data[:at] + b"\0" * min(size, len(data) - at) + data[at + size :]


def _truncated(random: Random, data: bytes) -> bytes:
    return data[: random.randint(0, len(data))]


def _beheaded(random: Random, data: bytes) -> bytes:
    return data[random.randint(0, len(data)) :]


def _long_line(random: Random, line: bytes) -> bytes:
    at = random.randint(0, len(line))
    filling = random.choice((b"x", b" ", b"[", b'{"a":', b"9", b'"', b"\\", b":::MLLOG "))
    return line[:at] + filling * ((1 << 20) // len(filling)) + line[at:]


def _nested(random: Random, pair: bytes) -> bytes:
    depth = random.choice((50, 2_000, 100_000))
    value = random.choice((b"[" * depth + b"]" * depth, b"[" * depth, b'{"a":' * depth))
    return pair.partition(b":")[0] + b":" + value


#: By name; every one of them may also leave the data as it is, where it finds nothing to change.
MUTATIONS: dict[str, Change] = {
    "bit_flipped": _in_line(_flip),
    "bytes_put_in": _in_line(_insert),
    "bytes_cut_out": _in_line(_cut),
    "digit_changed": _replaced(_NUMBER, _other_digit),
    "number_odd": _replaced(_NUMBER, lambda random, _: random.choice(_ODD_NUMBERS)),
    "number_huge": _replaced(
        _NUMBER, lambda random, text: text + b"0" * random.choice((3, 30, 9999))
    ),
    "number_negated": _replaced(_NUMBER, lambda _, text: b"-" + text.lstrip(b"-")),
    "letter_changed": _replaced(_QUOTED, _other_letter),
    "case_changed": _replaced(_QUOTED, lambda _, word: word.swapcase()),
    "value_nulled": _replaced(_PAIR, lambda _, pair: pair.partition(b":")[0] + b": null"),
    "pair_dropped": _replaced(_PAIR, lambda *_: b""),
    "key_twice": _replaced(_PAIR, _twice),
    "nested": _replaced(_PAIR, _nested),
    "line_deleted": _deleted,
    "line_doubled": _doubled,
    "line_moved": _moved,
    "lines_shuffled": _shuffled,
    "lines_reversed": lambda _, data: b"".join(reversed(_lines(data))),
    "lines_glued": _in_line(_glued),
    "line_split": _in_line(_split),
    "lines_interleaved": _interleaved,
    "long_line": _in_line(_long_line),
    "zeroed": _zeroed,
    "truncated": _truncated,
    "beheaded": _beheaded,
    "emptied": lambda *_: b"",
    "doubled": lambda _, data: data + data,
    "crlf": lambda _, data: data.replace(b"\n", b"\r\n"),
    "cr": lambda _, data: data.replace(b"\n", b"\r"),
    "no_newlines": lambda _, data: data.replace(b"\n", b""),
    "utf16": lambda _, data: data.decode("utf-8", "replace").encode("utf-16"),
    "marked": lambda _, data: b"\xef\xbb\xbf" + data,
    "latin": lambda _, data: data.replace(b"e", "é".encode("cp1252")),
    "single_quotes": _in_line(lambda _, line: line.replace(b'"', b"'")),
    "upper": _in_line(lambda _, line: line.upper()),
}  # fmt: skip
