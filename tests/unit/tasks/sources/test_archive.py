"""Archives: whole or refused, in path order, without a name of theirs on disk."""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import os
import pickle
import random
import tarfile
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from gpurank.logs import source_files as content
from tasks.sources import untrusted_archive as snapshot_unpack
from tasks.sources.snapshot import SourceError, SourceFile, content_hash, files, pin

COMMIT = "0123456789abcdef0123456789abcdef01234567"
TOP = f"training_results_v4.0-{COMMIT}"
# Noise, so that a cut in the packed bytes is a cut in the middle.
NOISE = random.Random(4).randbytes(200_000)
FILES = {
    "Sub/results/sys+/bert/result_0.txt": b"one\n",
    "Sub/results/sys/bert/result 1.txt": b"two\r\n",
    "Sub/results/sys/bert/result_0.txt": NOISE,
    "Sub/systems/.sys.json.swp": b"\xb8\x00",
    "Sub/systems/sys.json": b"{}",
}
NOT_TAKEN = {"README.md": b"x", "Sub/results/run.sh": b"x", "Sub/code/a.py": b"x"}


def in_path_order(files: dict[str, bytes]) -> list[tuple[str, bytes]]:
    """By folder names one after the other: ``sys`` and all that is in it before ``sys+``."""
    return sorted(files.items(), key=lambda item: item[0].split("/"))


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def tar(
    entries: Mapping[str, bytes], extra: tuple[tarfile.TarInfo, ...] = (), comment: str = COMMIT
) -> bytes:
    """A tar with a commit in its global header, entries in the order given, then ``extra``."""
    out = io.BytesIO()
    headers = {"comment": comment} if comment else {}
    with tarfile.open(
        fileobj=out, mode="w", format=tarfile.PAX_FORMAT, pax_headers=headers, encoding="utf-8"
    ) as archive:
        for name, data in entries.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        for info in extra:
            archive.addfile(info, io.BytesIO(bytes(info.size)))
    return out.getvalue()


class _Kept(io.BytesIO):
    def close(self) -> None:
        return


def zstd_bytes(data: bytes) -> bytes:
    out = _Kept()
    with pa.CompressedOutputStream(out, "zstd") as stream:
        stream.write(data)
    return out.getvalue()


FORMS: dict[str, Callable[[bytes], bytes]] = {
    ".tar.zst": zstd_bytes,
    ".tar.gz": gzip.compress,
    ".tgz": gzip.compress,
    ".tar": bytes,
}


def wrapped(entries: Mapping[str, bytes], top: str = TOP) -> dict[str, bytes]:
    return {f"{top}/{name}": data for name, data in entries.items()}


def put(folder: Path, data: bytes, suffix: str = ".tar.zst") -> Path:
    path = folder / f"training_results_v4.0{suffix}"
    path.write_bytes(FORMS[suffix](data))
    return path


def read(path: Path) -> list[SourceFile]:
    return list(files(pin("v4.0", path), path.parent / "cache"))


def taken(path: Path) -> dict[str, bytes]:
    return {file.path: file.data for file in read(path)}


@pytest.mark.parametrize("suffix", FORMS)
def test_files_come_in_path_order_whatever_the_packing(tmp_path: Path, suffix: str) -> None:
    mixed = {**FILES, **NOT_TAKEN}
    names = sorted(mixed)
    random.Random(1).shuffle(names)
    path = put(tmp_path, tar(wrapped({name: mixed[name] for name in names})), suffix)
    found = read(path)
    assert [(file.path, file.data) for file in found] == in_path_order(FILES)
    assert not any(file.withheld_reason for file in found)


def test_recompressing_keeps_the_content_hash_and_changes_the_fingerprint(tmp_path: Path) -> None:
    hashes, prints = set(), set()
    for suffix, data in ((".tar.zst", tar(wrapped(FILES))), (".tgz", tar(wrapped(FILES, "x-1")))):
        path = put(tmp_path, data, suffix)
        hashes.add(content_hash((file.path, file.content_id) for file in read(path)))
        prints.add(pin("v4.0", path).fingerprint)
    expected = content_hash((p, hashlib.sha256(d).hexdigest()) for p, d in FILES.items())
    assert hashes == {expected}
    assert len(prints) == 2


def test_a_snapshot_says_where_and_which_commit_and_pickles(tmp_path: Path) -> None:
    path = put(tmp_path, tar(wrapped(FILES)))
    snapshot = pin("v4.0", tmp_path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert (snapshot.kind, snapshot.uri, snapshot.commit) == ("archive", str(path), COMMIT)
    assert snapshot.fingerprint == f"sha256:{digest}"
    assert pickle.loads(pickle.dumps(snapshot)) == snapshot


def test_the_commit_falls_back_to_the_top_folder(tmp_path: Path) -> None:
    path = put(tmp_path, tar(wrapped(FILES), comment="made by hand"))
    assert pin("v4.0", path).commit == COMMIT
    path = put(tmp_path, tar(wrapped(FILES, "training_results_v4.0"), comment=""))
    assert pin("v4.0", path).commit is None


@pytest.mark.parametrize("top", [".", f"./{TOP}", "training_results_v4.0", "fork-0123456", "any"])
def test_the_folder_around_the_repository_is_stripped(tmp_path: Path, top: str) -> None:
    both = {**FILES, "Other/results/s/bert/result_0.txt": b"three"}
    assert taken(put(tmp_path, tar(wrapped(both, top)))) == both


def test_a_single_submitter_is_no_folder_around(tmp_path: Path) -> None:
    assert taken(put(tmp_path, tar(FILES))) == FILES


def test_an_archive_of_another_round_is_refused(tmp_path: Path) -> None:
    path = put(tmp_path, tar(wrapped(FILES, f"training_results_v4.1-{COMMIT}")))
    with pytest.raises(SourceError, match=r"v4\.1.*not training_results_v4\.0"):
        pin("v4.0", path)


@pytest.mark.parametrize("suffix", FORMS)
@pytest.mark.parametrize("kept", [0.02, 0.5, 0.9])
def test_half_a_download_is_no_small_round(tmp_path: Path, suffix: str, kept: float) -> None:
    path = put(tmp_path, tar(wrapped(FILES)), suffix)
    snapshot = pin("v4.0", path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * kept)])
    with pytest.raises(SourceError, match="changed"):
        next(files(snapshot, tmp_path))
    given = []
    with pytest.raises(SourceError, match=r"get it again|get the archive again"):
        given.extend(files(pin("v4.0", path), tmp_path))
    assert not given


@pytest.mark.parametrize("suffix", [".tar.zst", ".tar"])
def test_a_tar_without_its_end_mark_is_cut_off(tmp_path: Path, suffix: str) -> None:
    data = tar(wrapped({"Sub/systems/a.json": b"{}"})).rstrip(b"\0")
    whole_block = data + bytes(-len(data) % 512)
    with pytest.raises(SourceError, match="cut off"):
        read(put(tmp_path, whole_block, suffix))
    with pytest.raises(SourceError, match="cut off"):
        read(put(tmp_path, whole_block + bytes(100), suffix))
    assert len(read(put(tmp_path, whole_block + bytes(1024), suffix))) == 1


def test_damage_is_refused(tmp_path: Path) -> None:
    data = bytearray(tar(wrapped(FILES)))
    broken = data.copy()
    broken[data.rindex(b"ustar") - 200] ^= 0xFF
    with pytest.raises(SourceError, match="damaged"):
        read(put(tmp_path, bytes(broken), ".tar"))
    path = put(tmp_path, bytes(data), ".tar.gz")
    packed = bytearray(path.read_bytes())
    packed[len(packed) // 2] ^= 0xFF
    path.write_bytes(bytes(packed))
    with pytest.raises(SourceError, match="again"):
        read(path)
    with pytest.raises(SourceError, match="after its end"):
        read(put(tmp_path, bytes(data) + b"more" * 128, ".tar"))


@pytest.mark.parametrize(
    ("content_", "reason"),
    [
        (b"", "empty"),
        (b"<!doctype html><p>404", "neither zstd"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
        (bytes(10240), "cut off|empty"),
        (b"\x28\xb5\x2f\xfd", "not a whole archive"),
    ],
)
def test_what_is_no_archive_is_refused(tmp_path: Path, content_: bytes, reason: str) -> None:
    path = tmp_path / "training_results_v4.0.tar.zst"
    path.write_bytes(content_)
    with pytest.raises(SourceError, match=reason):
        read(path)


@pytest.mark.parametrize(
    "name", ["../../evil/results/x.txt", "/etc/results/x.txt", f"{TOP}/Sub/../../results/x.txt"]
)
def test_names_that_lead_outside_are_refused(tmp_path: Path, name: str) -> None:
    path = put(tmp_path, tar({**wrapped(FILES), name: b"x"}))
    with pytest.raises(SourceError, match="leads outside"):
        read(path)
    assert sorted(item.name for item in tmp_path.iterdir()) == ["cache", path.name]
    assert list((tmp_path / "cache").iterdir()) == []


def test_links_and_devices_are_listed_without_bytes(tmp_path: Path) -> None:
    extra = (
        member(f"{TOP}/Sub/results/s/a.txt", tarfile.SYMTYPE, "/etc/passwd"),
        member(f"{TOP}/Sub/results/s/b.txt", tarfile.LNKTYPE, f"{TOP}/Sub/systems/sys.json"),
        member(f"{TOP}/Sub/results/s/c.txt", tarfile.CHRTYPE),
        member(f"{TOP}/Sub/results/s/d.txt", tarfile.FIFOTYPE),
        member(f"{TOP}/Sub/code/e.txt", tarfile.SYMTYPE, "/etc/passwd"),
    )
    found = read(put(tmp_path, tar(wrapped(FILES), extra)))
    withheld = {f.path[-5:]: (f.withheld_reason, f.data) for f in found if f.withheld_reason}
    assert withheld == {
        "a.txt": ("symbolic link", b""),
        "b.txt": ("hard link", b""),
        "c.txt": ("not a regular file", b""),
        "d.txt": ("not a regular file", b""),
    }
    assert len(found) == len(FILES) + 4


def test_a_path_that_comes_twice_is_refused(tmp_path: Path) -> None:
    again = member(f"{TOP}/Sub/systems/sys.json")
    with pytest.raises(SourceError, match="twice"):
        read(put(tmp_path, tar(wrapped(FILES), (again,))))


def test_two_rounds_in_one_archive_are_refused(tmp_path: Path) -> None:
    both = wrapped(FILES) | wrapped(FILES, "training_results_v4.0-" + "f" * 40)
    with pytest.raises(SourceError, match="more than one top folder"):
        read(put(tmp_path, tar(both)))


def test_odd_names_become_valid_unicode(tmp_path: Path) -> None:
    odd = {"Sub/results/s \u00e9+/b\udcb8/result_0.txt": b"x"}
    paths = list(taken(put(tmp_path, tar(wrapped(odd)))))
    assert paths == ["Sub/results/s \u00e9+/b\\xb8/result_0.txt"]


def test_too_large_files_are_listed_with_their_size_and_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content, "FILE_LIMIT_B", 100_000)
    found = {file.path: file for file in read(put(tmp_path, tar(wrapped(FILES))))}
    large = found["Sub/results/sys/bert/result_0.txt"]
    assert large.withheld_reason
    assert (large.data, large.byte_count) == (b"", len(NOISE))
    assert large.sha256 == hashlib.sha256(NOISE).hexdigest()
    assert found["Sub/systems/sys.json"].withheld_reason is None


@pytest.mark.parametrize(
    ("limit", "value", "reason"),
    [
        ("ENTRY_LIMIT", 3, "more than 3 entries"),
        ("TOTAL_LIMIT_B", 1 << 20, "more than 1 MiB"),
        ("RATIO_FROM_B", 1 << 20, "times its size"),
        ("HEADER_LIMIT_B", 1000, "header"),
    ],
)
def test_bombs_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int, reason: str
) -> None:
    entries = {f"Sub/results/s/{i}.txt": bytes(1 << 19) for i in range(5)}
    entries["Sub/results/" + "n" * 2000 + ".txt"] = b"x"
    path = put(tmp_path, tar(wrapped(entries)))
    assert len(read(path)) == len(entries)
    monkeypatch.setattr(snapshot_unpack, limit, value)
    with pytest.raises(SourceError, match=reason):
        read(path)


def test_a_claimed_size_beyond_the_file_is_refused(tmp_path: Path) -> None:
    info = tarfile.TarInfo(f"{TOP}/Sub/results/s/x.txt")
    info.size = 1 << 45
    data = info.tobuf(tarfile.GNU_FORMAT) + bytes(4096)
    with pytest.raises(SourceError, match="again"):
        read(put(tmp_path, data, ".tar"))


def test_nothing_is_left_on_disk(tmp_path: Path) -> None:
    reading = files(pin("v4.0", put(tmp_path, tar(wrapped(FILES)))), tmp_path / "cache")
    next(reading)
    assert list((tmp_path / "cache").iterdir()) == []
    reading.close()


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path, tar(wrapped(FILES)))

    class Full(io.BytesIO):
        def write(self, data: object) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: Full())
    with pytest.raises(SourceError, match="no room to unpack"):
        read(path)


def test_an_archive_without_results_is_no_round(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no file of a round"):
        read(put(tmp_path, tar(wrapped(NOT_TAKEN))))
