"""Archives made to do harm: each is read as what it holds, or refused with one clear error."""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
import tarfile
from pathlib import Path

import pyarrow as pa
import pytest

from tasks.sources import archive as snapshot_archive
from tasks.sources.snapshot import SourceError, SourceFile, files, pin

COMMIT = "0123456789abcdef0123456789abcdef01234567"
TOP = f"training_results_v4.0-{COMMIT}"
BELOW = f"{TOP}/Sub/results/box/bert/"
END = bytes(1024)


def header(name: str, size: int, kind: bytes = b"0", target: str = "", mtime: float = 0) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname, info.mtime = size, kind, target, mtime
    return info.tobuf(tarfile.GNU_FORMAT)


def entry(
    name: str = BELOW + "result_1.txt", data: bytes = b"y", kind: bytes = b"0", target: str = ""
) -> bytes:
    return header(name, len(data), kind, target) + data + bytes(-len(data) % 512)


def pax(records: dict[str, str | bytes], kind: bytes = b"x") -> bytes:
    """An extended header: what it says replaces what the next entry says of itself."""
    body = b""
    for key, value in records.items():
        text = b" %s=%s\n" % (key.encode(), value if isinstance(value, bytes) else value.encode())
        length = len(text) + 1
        while length != len(str(length)) + len(text):
            length += 1
        body += b"%d" % length + text
    return entry("pax", body, kind)


def extended(data: bytes = b"x", **records: str | bytes) -> bytes:
    named = {key.replace("__", "."): value for key, value in records.items()}
    return pax(named) + entry(BELOW + "result_0.txt", data)


GIT = pax({"comment": COMMIT}, b"g")
GOOD = GIT + entry() + END


def zstd(data: bytes) -> bytes:
    packed: bytes = pa.compress(data, codec="zstd", asbytes=True)
    return packed


def read(folder: Path, data: bytes, suffix: str = ".tar") -> list[SourceFile]:
    path = folder / f"training_results_v4.0{suffix}"
    path.write_bytes(data)
    found = list(files(pin("v4.0", path), folder / "cache"))
    assert sorted(item.name for item in folder.iterdir()) == ["cache", path.name]
    assert list((folder / "cache").iterdir()) == []
    return found


SPARSE = {"GNU__sparse__major": "1", "GNU__sparse__minor": "0"}
NAME = BELOW + "result_0.txt"
REFUSED: dict[str, bytes] = {
    "path_of_an_extension": extended(path="../../etc/results/x.txt"),
    "root_of_an_extension": extended(path="/etc/results/x.txt"),
    "path_of_a_sparse_file": extended(
        b"1\n0\n5\n" + bytes(506) + b"hello", **SPARSE, GNU__sparse__name="../../results/x",
        GNU__sparse__realsize="5",
    ),
    "path_of_a_long_name": entry("l", b"../../results/x\0", b"L") + entry(),
    "path_of_a_solaris_header": entry("p", b"17 path=../../ab\n", b"X") + entry(),
    "path_that_climbs": entry("../../evil/results/x.txt") + entry(),
    "path_from_the_root": entry("/etc/results/x.txt") + entry(),
    "path_that_climbs_inside": entry(f"{TOP}/Sub/../../results/x.txt") + entry(),
    "path_without_end": extended(path=BELOW + "a" * 900_000 + ".txt"),
    "path_of_many_folders": extended(path=BELOW + "a/" * 5_000 + "x.txt"),
    "size_huge": extended(size="9" * 30) + entry(),
    "size_beyond_the_file": header(NAME, 1 << 45) + bytes(4096),
    "size_below_nothing": extended(size="-5") + entry(),
    "size_of_the_next_entry_too": extended(size="513") + entry(),
    "extension_of_length_nothing": entry("pax", b"0 path=a\n", b"x") + entry(),
    "extension_alone": header("pax", 0, b"x"),
    "extensions_in_a_chain": entry("pax", b"11 path=ab\n", b"x") * 3_000 + entry(),
    "long_names_in_a_chain": entry("l", b"ab\0", b"L") * 3_000 + entry(),
    "sparse_map_of_lies": extended(b"9999\n0\n5\n" + bytes(503), **SPARSE, GNU__sparse__name=NAME,
                                   GNU__sparse__realsize="5"),
    "sparse_map_of_words": extended(GNU__sparse__map="0,5,10,x", GNU__sparse__size="99"),
    "twice_by_dots": entry(f"{TOP}/./Sub//results/box/./bert/result_1.txt") + entry(),
    "twice_by_volume": entry() + entry(kind=b"Z"),
    "parent": entry("..") + entry(),
    "root": entry("/") + entry(),
    "folder_with_bytes": entry(kind=b"5", data=b"z" * 600) + entry(BELOW + "result_2.txt"),
    "link_with_bytes": entry(kind=b"2", data=b"z" * 600, target="/etc/passwd") + entry(),
    "no_checksum": entry().replace(b"ustar", b"usxar"),
    "more_after_its_end": entry() + END + b"junk" * 200,
    "another_archive_after_its_end": GOOD + GIT + entry(BELOW + "result_9.txt"),
    "an_entry_after_a_gap": entry() + bytes(512) + entry(BELOW + "result_9.txt"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(SourceError, match=r"again|once"):
        read(tmp_path, GIT + REFUSED[name] + END)
    assert {path.name for path in tmp_path.iterdir()} <= {"cache", "training_results_v4.0.tar"}
    assert not list(tmp_path.glob("cache/*"))


READ: dict[str, tuple[bytes, dict[str, bytes | None]]] = {
    # (entries, path below the result folder: bytes, or None where it is listed without)
    "sparse": (entry(kind=b"S"), {"result_1.txt": None}),
    "sparse_of_a_terabyte": (
        extended(b"1\n0\n5\n" + bytes(506) + b"hello", **SPARSE, GNU__sparse__name=NAME,
                 GNU__sparse__realsize=str(1 << 40)),
        {"result_0.txt": None},
    ),
    "volume": (entry(kind=b"M") + entry(BELOW + "result_2.txt"),
               {"result_1.txt": None, "result_2.txt": b"y"}),
    "unknown_kind": (entry(kind=b"Z"), {"result_1.txt": None}),
    "contiguous": (entry(kind=b"7"), {"result_1.txt": b"y"}),
    "hard_link_to_itself": (entry(kind=b"1", data=b"", target=NAME), {"result_1.txt": None}),
    "file_that_is_a_folder_too": (
        entry() + entry(BELOW + "result_1.txt/x.txt"),
        {"result_1.txt": b"y", "result_1.txt/x.txt": b"y"},
    ),
    "link_that_is_a_folder_too": (
        entry(f"{TOP}/Sub/results/box", b"", b"2", "/etc") + entry(),
        {"result_1.txt": b"y"},
    ),
    "names_that_differ_in_case": (
        entry(BELOW + "RESULT_1.txt") + entry(), {"RESULT_1.txt": b"y", "result_1.txt": b"y"},
    ),
    "names_that_look_alike": (
        entry(BELOW + "\u00e9.txt") + entry(BELOW + "e\u0301.txt"),
        {"e\u0301.txt": b"y", "\u00e9.txt": b"y"},
    ),
    "backslashes": (entry(BELOW + "..\\..\\x.txt"), {"..\\..\\x.txt": b"y"}),
    "line_break": (entry(BELOW + "a\nb.txt"), {"a\\nb.txt": b"y"}),
    "escape": (entry(BELOW + "a\x1b[2J.txt"), {"a\\x1b[2J.txt": b"y"}),
    "turned_round": (entry(BELOW + "\u202etxt.exe.txt"), {"\\u202etxt.exe.txt": b"y"}),
    "zero_in_a_name": (extended(path=BELOW + "a\0b.txt"), {"a\\x00b.txt": b"x"}),
    "binary_name": (extended(hdrcharset="BINARY", path=BELOW.encode() + b"\xff.txt"),
                    {"\\xff.txt": b"x"}),
    "no_name": (entry("") + entry(), {"result_1.txt": b"y"}),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_it_is_read_as_what_it_holds(tmp_path: Path, name: str) -> None:
    made, expected = READ[name]
    found = {file.path: file for file in read(tmp_path, GIT + made + END)}
    inside = {
        path: file for path, file in found.items() if path.startswith("Sub/results/box/bert/")
    }
    assert {
        path.removeprefix("Sub/results/box/bert/"): None if file.withheld_reason else file.data
        for path, file in inside.items()
    } == expected
    assert all(file.withheld_reason for path, file in found.items() if path not in inside)


@pytest.mark.parametrize("mtime", ["nan", "inf", "-inf", "1e300", "9" * 15, "-" + "9" * 15])
def test_a_time_beyond_all_calendars_is_none(tmp_path: Path, mtime: str) -> None:
    (file,) = read(tmp_path, pax({"comment": COMMIT, "mtime": mtime}, b"g") + entry() + END)
    assert file.data == b"y"
    taken = pin("v4.0", tmp_path / "training_results_v4.0.tar")
    assert (taken.commit, taken.committed_at) == (COMMIT, None)


PACKED: dict[str, tuple[bytes, bool]] = {
    # (archive, whether it is read)
    "gzip_in_parts": (gzip.compress(GOOD[:700]) + gzip.compress(GOOD[700:]), True),
    "gzip_in_20000_empty_parts": (gzip.compress(b"") * 20_000 + gzip.compress(GOOD), True),
    "gzip_then_zeros": (gzip.compress(GOOD) + bytes(100), True),
    "gzip_then_junk": (gzip.compress(GOOD) + b"junk", False),
    "gzip_in_gzip": (gzip.compress(gzip.compress(GOOD)), False),
    "gzip_of_zstd": (gzip.compress(zstd(GOOD)), False),
    "gzip_header_without_end": (b"\x1f\x8b\x08\x04" + bytes(6) + b"\xff\xff" + bytes(99), False),
    "zstd_in_parts": (zstd(GOOD[:700]) + zstd(GOOD[700:]), True),
    "zstd_in_50000_empty_parts": (zstd(b"") * 50_000 + zstd(GOOD), True),
    "zstd_after_a_skipped_frame": (
        b"\x50\x2a\x4d\x18" + struct.pack("<I", 4) + b"skip" + zstd(GOOD), True,
    ),
    "zstd_in_a_skipped_frame": (
        b"\x50\x2a\x4d\x18" + struct.pack("<I", 0xFFFFFFF0) + zstd(GOOD), False,
    ),
    "zstd_then_junk": (zstd(GOOD) + b"junk", False),
    "zstd_then_half_a_frame": (zstd(GOOD) + zstd(GOOD)[:6], False),
    "zstd_of_a_huge_window": (b"\x28\xb5\x2f\xfd\x00\xf8" + zstd(GOOD)[6:], False),
    "bzip2": (bz2.compress(GOOD), False),
    "xz": (lzma.compress(GOOD), False),
    "zip": (b"PK\x03\x04" + bytes(600), False),
}  # fmt: skip


@pytest.mark.parametrize("name", PACKED)
def test_packing(tmp_path: Path, name: str) -> None:
    data, is_read = PACKED[name]
    if is_read:
        assert [file.data for file in read(tmp_path, data)] == [b"y"]
        return
    with pytest.raises(SourceError, match="again"):
        read(tmp_path, data)


def test_names_alone_do_not_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = b"".join(extended(path=f"{BELOW}{n}/{'a' * 3_000}.txt") for n in range(9))
    assert len(read(tmp_path, GIT + many + END)) == 9
    monkeypatch.setattr(snapshot_archive, "NAMES_LIMIT_B", 20_000)
    with pytest.raises(SourceError, match="more names"):
        read(tmp_path, GIT + many + END)
