"""The published rounds as archives: every file, every commit, flat memory."""

from __future__ import annotations

import subprocess
import tarfile
import tracemalloc
from pathlib import Path

import pyarrow as pa
import pytest

from tasks.sources.snapshot import available, content_hash, files, pin

pytestmark = [pytest.mark.real, pytest.mark.slow]

# Files below results/ and systems/ of each archive, counted with tar itself; commits as published
# with the archives.
EXPECTED = {
    "v0.5": (641, "c71f2e7c4b11ec7ab89eb4d8ceaadaae8529fff7"),
    "v0.6": (463, "f312518c2d6107eec983750eed23950f1f0c8a0e"),
    "v0.7": (1018, "0a8a85a209c8e45b661596c382cc20f4e32fd2fe"),
    "v1.0": (1422, "50619b5df63f1d646715a82c1fb8c35f271e25fa"),
    "v2.0": (2889, "8437fbb78349aa3c3054aeccb1d47d2a315a80e7"),
    "v3.0": (2937, "63e326c400f5d8bb8c6070a9ab08332d4931152e"),
    "v4.0": (5670, "6fe954378efe4a1a1bd665550b18ff8f26018def"),
    "v4.1": (1534, "b87b9e396f771345d4ef122ba33456304f15228d"),
    "v5.0": (1950, "0fdc28f013256aea84fa36fdaf1e0fa46094b18c"),
    "v5.1": (1844, "441d65f4445cd59687466533fd9f55399136e7a4"),
}


def test_the_mirror_lists_its_rounds(shared: Path) -> None:
    assert available(shared / "rounds") == tuple(EXPECTED)


@pytest.mark.parametrize("round_id", EXPECTED)
def test_every_file_comes_once_in_order_with_the_commit(
    shared: Path, tmp_path: Path, round_id: str
) -> None:
    snapshot = pin(round_id, shared / "rounds")
    paths = [file.path for file in files(snapshot, tmp_path) if not file.withheld_reason]
    assert (len(paths), snapshot.commit) == EXPECTED[round_id]
    assert paths == sorted(set(paths), key=lambda path: path.split("/"))
    assert not any(path.startswith("training_results") for path in paths)


def test_bytes_are_the_archives_and_memory_stays_flat(shared: Path, tmp_path: Path) -> None:
    """Against a plain reading of the same archive; a round has 274 MB, its largest file 4 MB."""
    snapshot = pin("v4.1", shared / "rounds")
    tracemalloc.start()
    total = sum(len(file.data) for file in files(snapshot, tmp_path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    with (
        pa.input_stream(snapshot.uri, compression="zstd") as stream,
        tarfile.open(fileobj=stream, mode="r|") as archive,
    ):
        assert total == sum(entry.size for entry in archive if entry.isfile())
    assert peak < 40 << 20


def test_recompressed_and_committed_it_has_the_same_content(shared: Path, tmp_path: Path) -> None:
    """v0.5 from its archive, from the tree inside it, and from a repository of that tree."""
    source = shared / "rounds" / "training_results_v0.5.tar.zst"
    with (
        pa.input_stream(str(source), compression="zstd") as stream,
        tarfile.open(fileobj=stream, mode="r|") as archive,
    ):
        archive.extractall(tmp_path, filter="data")
    (tree,) = tmp_path.glob("training_results_v0.5-*")
    options = ("user.name=t", "user.email=t@example.org", "core.autocrlf=false")
    who = [part for option in (*options, "core.compression=1") for part in ("-c", option)]
    for command in (("init", "-q", "-b", "trunk"), ("add", "-A"), ("commit", "-q", "-m", "x")):
        subprocess.run(["git", "-C", str(tree), *who, *command], check=True)
    bare = tmp_path / "training_results_v0.5.git"
    subprocess.run(["git", "clone", "-q", "--bare", str(tree), str(bare)], check=True)
    # Serve without looking for the smallest pack: it would take most of this test's time.
    subprocess.run(["git", "-C", str(bare), "config", "pack.window", "0"], check=True)
    subprocess.run(["git", "-C", str(bare), "config", "uploadpack.allowFilter", "true"], check=True)
    hashes = {
        content_hash((f.path, f.content_id) for f in files(pin("v0.5", where), tmp_path / "cache"))
        for where in (source, tree, bare)
    }
    assert len(hashes) == 1
