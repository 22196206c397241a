"""The fuzz targets on their kept corpus and on mutations of it; `make fuzz` goes further."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.fuzz.targets import TARGETS

CORPUS = Path(__file__).parents[2] / "tools" / "fuzz" / "corpus"
SEEDS = {
    name: [path.read_bytes() for path in sorted((CORPUS / name).iterdir())] for name in TARGETS
}
PIECES = st.sampled_from(
    [b"", b"\0", b"\xff", b"\n", b"\r", b'"', b"'", b"{", b"}", b"[", b":::MLLOG ",
     b":::MLL ", b"-", b"9" * 400, b"1e999", b"NaN", b"\\u0040", b"\xe2\x80",
     b"../", b"null", b"{" * 3000]
)  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn, seeds: list[bytes]) -> bytes:
    """A kept input with some pieces cut out, put in, doubled or swapped for another's."""
    data = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(1, 6))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 400)))
        other = draw(st.sampled_from(seeds))
        put = draw(PIECES | st.binary(max_size=8) | st.just(data[start:end] * 2) | st.just(other))
        data = (data[:start] + put + data[end:])[: 1 << 17]
    return data


@pytest.mark.parametrize("name", TARGETS)
def test_the_kept_corpus(name: str) -> None:
    assert SEEDS[name]
    for data in SEEDS[name]:
        TARGETS[name](data)


@pytest.mark.parametrize("name", TARGETS)
def test_mutations_of_it(name: str) -> None:
    @settings(deadline=5000)
    @given(mutated(SEEDS[name]))
    def attack(data: bytes) -> None:
        TARGETS[name](data)

    attack()
