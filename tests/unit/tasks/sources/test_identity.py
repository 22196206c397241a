"""A source of another suite or another round is refused by whatever it says of itself."""

from __future__ import annotations

import io
import subprocess
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from tasks.sources.snapshot import SourceError, files, pin

HPC_README = b"# hpc_results_v0.7\nMLPerf\xe2\x84\xa2 HPC Training v0.7 results\n"
TRAINING_README = b"# Submissions\nMLPerf\xe2\x84\xa2 Training v0.7 results\n"
RUN = "Sub/results/box/{}/result_0.txt"


def checkout(folder: Path, benchmarks: tuple[str, ...], readme: bytes | None = None) -> Path:
    for benchmark in benchmarks:
        path = folder / RUN.format(benchmark)
        path.parent.mkdir(parents=True)
        path.write_bytes(b"x")
    if readme is not None:
        (folder / "README.md").write_bytes(readme)
    return folder


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)


def archive(path: Path, entries: Mapping[str, bytes]) -> Path:
    with tarfile.open(path, "w") as tar:
        for name, data in entries.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def read(round_id: str, source: Path | str, cache: Path) -> int:
    return len(list(files(pin(round_id, source), cache)))


@pytest.mark.parametrize(
    "source",
    [
        "https://example.org/hpc_results_v0.7",
        "https://example.org/hpc_results_v0.7.git",
        "git@example.org:lab/inference_results_v0.7.git",
    ],
)
def test_the_address_of_another_suite(source: str) -> None:
    with pytest.raises(SourceError, match=r"_results_v0\.7 by its name.*not training_results_v0"):
        pin("v0.7", source)


@pytest.mark.parametrize("top", ["hpc_results_v0.7-" + "a" * 40, "training_results_v0.6"])
def test_the_top_folder_of_an_archive(tmp_path: Path, top: str) -> None:
    path = archive(tmp_path / "copy.tar", {f"{top}/{RUN.format('resnet')}": b"x"})
    with pytest.raises(SourceError, match="by its top folder"):
        read("v0.7", path, tmp_path)


def test_the_readme_in_every_kind_of_source(tmp_path: Path) -> None:
    folder = checkout(tmp_path / "copy", ("bert", "resnet"), HPC_README)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "x")
    inside = {f"any/{RUN.format('bert')}": b"x", f"any/{RUN.format('resnet')}": b"x"}
    packed = archive(tmp_path / "copy.tar", {"any/README.md": HPC_README, **inside})
    for source in (folder, folder / ".git", f"file://{folder}", packed):
        with pytest.raises(SourceError, match=r"is hpc_results_v0\.7 by its README '#"):
            read("v0.7", source, tmp_path / "cache")
    (folder / "README.md").write_bytes(TRAINING_README)
    assert read("v0.7", folder, tmp_path) == 2
    fine = archive(tmp_path / "fine.tar", {"any/README.md": TRAINING_README, **inside})
    assert read("v0.7", fine, tmp_path) == 2
    with pytest.raises(SourceError, match=r"is training_results_v0\.7 by its README"):
        read("v1.0", folder, tmp_path)


def test_the_remote_that_a_clone_came_from(tmp_path: Path) -> None:
    folder = checkout(tmp_path / "copy", ("resnet",))
    git(folder, "init", "-q")
    git(folder, "remote", "add", "origin", "https://example.org/hpc_results_v0.7.git")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "x")
    for source in (folder, folder / ".git"):
        with pytest.raises(SourceError, match=r"is hpc_results_v0\.7 by its remote"):
            pin("v0.7", source)


def test_the_benchmarks_of_another_suite(tmp_path: Path) -> None:
    folder = checkout(tmp_path / "copy", ("cosmoflow", "deepcam"))
    with pytest.raises(SourceError, match=r"HPC suite \(cosmoflow, deepcam\)"):
        read("v0.7", folder, tmp_path)


def test_the_benchmarks_of_another_round(tmp_path: Path) -> None:
    folder = checkout(tmp_path / "copy", ("bert", "llama2_70b_lora", "rgat"))
    with pytest.raises(SourceError, match=r"llama2_70b_lora, rgat, which .*v0\.7 does not.*v4\.0"):
        read("v0.7", folder, tmp_path)


@pytest.mark.parametrize(
    "benchmarks",
    [
        ("resnet",),  # no sign at all: a renamed copy
        ("bert", "resnet", "llama2_70b_lora"),  # one that the round does not list
        ("resnet", "something_new"),  # one that nobody knows
        ("cosmoflow", "resnet"),  # a stray folder beside those of the suite
    ],
)
def test_a_copy_without_a_contrary_sign_is_read(
    tmp_path: Path, benchmarks: tuple[str, ...]
) -> None:
    folder = checkout(tmp_path / "my_copy", benchmarks, b"# Our copy\nMade by hand.\n")
    assert read("v0.7", folder, tmp_path) == len(benchmarks)


def test_a_round_that_nobody_declared_may_have_benchmarks_of_any_round(tmp_path: Path) -> None:
    folder = checkout(tmp_path / "copy", ("bert", "resnet", "rgat"))
    assert read("v99.0", folder, tmp_path) == 3
