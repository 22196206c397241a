"""Reads amounts from filed text: whole counts, memory, network speed.

Memory is sold in powers of two, so GB and TB mean GiB and 1,024 GiB here, as GiB and TiB do. A text
that states no amount, several, or an ambiguous one is None.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from gpurank.systems.spellings import LONGEST

MOST = 10**6

_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_MEMORY = re.compile(
    r"(?<![\w.,])(?:(?P<count>\d+)\s*[x\xd7*]\s*)?(?P<value>\d+(?:\.\d+)?)\s*(?P<unit>[tgm]i?b|[tg])\b",
    re.I,
)
_MEMORY_SPEED = re.compile(r"\d+(?:\.\d+)?\s*[gm]i?b\s*/\s*s(?:ec)?\b|\d+\s*[gm]t/s", re.I)
# An amount per socket is not a node's.
_OF_A_SOCKET = re.compile(r"(?:\b(?:per|each)\s+|/\s*)(?:socket|cpu|processor)\b", re.I)
_SECOND_PART = re.compile(r"\s*(?:[tgm]i?b\b|[x\xd7*]\s*\d)", re.I)
_MOST_GIB = 2.0**17
_GIB = {"t": 1024.0, "g": 1.0, "m": 1 / 1024}

_LABEL = re.compile(r"(?:^|(?<=[,;\s]))([A-Za-z][A-Za-z+&/ ]*?)\s*:\s*")
_PARENTHESES = re.compile(r"\([^()]*\)")
_ITEM = re.compile(r"(?:[,;+]|\band\b)(?![^()]*\))", re.I)
_SIDE = re.compile(r"storage|manag|mgmt|oob|bmc|in-?band|front|north|user", re.I)
_NODES = re.compile(r"\bnode\s*\d+\s*:", re.I)
# 400Gb/s, 400 Gb/Sec, 400Gbps, 400GbE, 400Gbit/s, 100G; never bytes (GB/s)
_SPEED = re.compile(
    r"(?<![A-WYZa-wyz\d._-])(?P<value>\d+(?:\.\d+)?)\s?(?:G(?:b|bps|be|bE|bit)(?![a-zA-Z])|G(?=\s*$|\s+[A-Z]))"
)
_TIMES = re.compile(r"(?<![\w.])(\d+)\s*[xX\xd7]\s*(?=[\w\[])")
_TIMES_TIMES = re.compile(r"\d\s*[xX\xd7]\s*\d+\s*[xX\xd7]")
_LANES = re.compile(r"(?<![\w.])4\s?[xX]\s+(?:SDR|DDR|QDR|FDR|EDR|HDR|NDR|XDR)\b")
_PLAIN_TIMES = re.compile(r"^\s*(\d+)\s+(?=\d+\s?Gb)")
_SEVERAL_PORTS = re.compile(r"\b(?:dual|two|quad|[2-9])[\s-]?ports?\b", re.I)
_OF_A_PART = re.compile(
    r"\b(?:per|each)\s+(?:gpu|accelerator|chip|card|nic|socket|cpu)\b|\bgpus?\s*[x\xd7]", re.I
)
_MOST_GBPS = 1e6


def count(text: str | None) -> int | None:
    """Returns a whole number of 0 to a million: ``8``, ``8.0``, `` 8 `` are 8; else None."""
    if text is None or len(text) > LONGEST or not text.strip() or "_" in text:
        return None
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        return None
    if not value.is_finite() or value < 0 or value != value.to_integral_value():
        return None
    return int(value) if value <= MOST else None


def memory_gib(text: str | None, unit_if_none: str | None = None) -> float | None:
    """Returns memory in GiB: ``2 TB`` is 2,048, ``24 x 32GB RDIMM`` is 768, ``81559 MiB`` is 79.6.

    Args:
        text: the amount as filed.
        unit_if_none: unit of a bare number (``GB`` in v0.5's description), or None.

    A decimal ``2.048 TB`` is the 2,048 GB that it writes out. Texts with two amounts are None.
    """
    if text is None or len(text) > LONGEST:
        return None
    plain = _MEMORY_SPEED.sub(" ", text).strip()
    plain = _THOUSANDS.sub(lambda match: match[0].replace(",", ""), plain)
    bare = count(plain)
    if bare is not None:
        plain = f"{bare} {unit_if_none}" if unit_if_none else ""
    amounts = list(_MEMORY.finditer(plain))
    if len(amounts) != 1 or _NODES.search(plain) or _OF_A_SOCKET.search(plain):
        return None
    match = amounts[0]
    if plain.startswith("-") or _SECOND_PART.match(plain, match.end()):
        return None
    value, unit = Decimal(match["value"]), match["unit"].lower()
    if unit == "tb" and value.as_tuple().exponent == -3 and (value * 1000) % 64 == 0:
        value, unit = value * 1000, "gb"
    gib = float(value) * _GIB[unit[0]] * int(match["count"] or 1)
    return gib if gib <= _MOST_GIB else None


def _items(text: str) -> list[tuple[int | None, float | None]]:
    """Returns (ports, Gb/s of one) of each item that states either; None where not stated."""
    links: list[tuple[int | None, float | None]] = []
    for item in _ITEM.split(_LANES.sub(" ", text)):
        plain = _PARENTHESES.sub(" ", item)
        statement = plain if _SPEED.search(plain) else item.replace("(", " ")
        speeds = list(_SPEED.finditer(statement))
        before = statement[: speeds[0].end()] if speeds else statement
        times = _TIMES.search(before) or _PLAIN_TIMES.match(statement)
        is_doubtful = bool(
            _SEVERAL_PORTS.search(statement)
            or _TIMES_TIMES.search(before)
            or len(_TIMES.findall(before)) > 1
        )
        if len({match["value"] for match in speeds}) > 1 or is_doubtful:
            links.append((None, max((float(match["value"]) for match in speeds), default=None)))
        elif speeds or times:
            speed = float(speeds[0]["value"]) if speeds else None
            links.append((int(times[1]) if times else None, speed))
    return links


def _compute_part(text: str) -> str:
    """Returns the text about the compute network, where parts are labelled, without storage etc."""
    labels = list(_LABEL.finditer(text))
    ends = [*(label.start() for label in labels[1:]), len(text)]
    parts = [(label[1], text[label.end() : end]) for label, end in zip(labels, ends, strict=False)]
    for label, part in parts:
        if "compute" in label.lower():
            return part
    rest = [part for label, part in parts if not _SIDE.search(label)]
    return ", ".join([text[: labels[0].start()] if labels else text, *rest])


def network_gbps(text: str | None) -> float | None:
    """Returns Gb/s of a node's compute network: ``4x ConnectX-7 IB NDR 400Gb/s`` is 1,600.

    Of several networks the one called Compute counts, else the fastest. None where a number of
    ports or a speed is not stated, where an unnumbered port is as fast as the numbered ones, or
    where only management or storage networks are named. A few ports without a speed beside more
    ports with one are left out; see :func:`is_network_lower_bound`.
    """
    return _network(text)[0]


def is_network_lower_bound(text: str | None) -> bool:
    """Returns whether :func:`network_gbps` leaves out ports whose speed is not stated."""
    return _network(text)[1]


def _network(text: str | None) -> tuple[float | None, bool]:
    if text is None or len(text) > LONGEST or _NODES.search(text) or _OF_A_PART.search(text):
        return None, False
    links = _items(_compute_part(text))
    known = [(ports, speed) for ports, speed in links if ports is not None and speed is not None]
    if not known:
        return None, False
    most_ports = max(ports for ports, _ in known)
    without_speed = [ports for ports, speed in links if speed is None]
    if any(ports is None or ports >= most_ports for ports in without_speed):
        return None, False
    fastest = max(speed for _, speed in known)
    if any(ports is None and (speed or 0) >= fastest for ports, speed in links):
        return None, False
    total = max(ports * speed for ports, speed in known)
    return (total, bool(without_speed)) if 0 < total <= _MOST_GBPS else (None, False)
