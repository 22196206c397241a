"""Files that a person names or keeps: links, devices, too much, formats that grow."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from cases.miniature import log

from gpurank.answers import own_runs
from gpurank.answers.own_runs import OwnRunsError, find_benchmark, read_files, read_logs
from gpurank.method.prices import PriceError, read_prices
from gpurank.store.rounds_lock import read as read_lock


def test_what_is_no_file_is_no_log(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    (folder / "result_0.txt").write_bytes(log(30))
    os.mkfifo(folder / "result_1.txt")
    (folder / "result_2.txt").symlink_to("/dev/zero")
    (folder / "result_3.txt").symlink_to("result_3.txt")
    (folder / "result_4.txt").symlink_to("nowhere")
    (folder / "round").symlink_to(folder)
    (folder / "result_5.txt").mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "s.txt"))
        assert [name for name, _ in read_files(folder)] == ["result_0.txt"]


def test_a_file_larger_than_any_log_is_refused_unread(tmp_path: Path) -> None:
    with (tmp_path / "result_0.txt").open("wb") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(OwnRunsError, match="give the folder"):
        list(read_files(tmp_path))


@pytest.mark.parametrize(("limit", "value"), [("_MAX_FILES", 3), ("_MAX_TOTAL_B", 100)])
def test_a_folder_of_everything_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    for number in range(4):
        (tmp_path / f"result_{number}.txt").write_bytes(b"x" * 40)
    assert len(list(read_files(tmp_path))) == 4
    monkeypatch.setattr(own_runs, limit, value)
    with pytest.raises(OwnRunsError, match="give the folder"):
        list(read_files(tmp_path))


def test_of_two_scalings_none_is_taken_by_chance() -> None:
    runs = [(f"{name}/result_0.txt", log(30)) for name in ("a", "b")]
    one, other = b'{"scaling_factor": 1.1}', b'{"scaling_factor": 1.2}'
    assert read_logs([*runs, ("a/scaling.json", one), ("b/scaling.json", one)])[2] == one
    with pytest.raises(OwnRunsError, match="differ"):
        read_logs([*runs, ("a/scaling.json", one), ("b/scaling.json", other)])


def test_a_file_of_marks_alone_is_refused() -> None:
    with pytest.raises(OwnRunsError, match="more than 1,000,000 records"):
        read_logs([("result_0.txt", b":::MLLOG" * 1_000_001)])


def test_a_name_that_is_no_text_is_a_name(tmp_path: Path) -> None:
    name = os.fsdecode(b"result_\xff.txt")
    (tmp_path / name).write_bytes(log(30))
    logs, ignored, _ = read_logs(read_files(tmp_path))
    assert (list(logs), ignored, find_benchmark(logs, None)) == ([name], [], "resnet")


PRICES = "accelerator,provider,region,per_hour,currency,date,source\n"
ROW = "H100 SXM5 80GB,p,r,{},USD,2026-01-01,s\n"


@pytest.mark.parametrize(
    "text",
    [
        *(PRICES + ROW.format(number) for number in ("nan", "inf", "-1", "0", "1e999", "=1+1", "")),
        PRICES + "x" * 200_000 + "\n",
        PRICES + '"unclosed\n' * 100,
        PRICES.replace(",", ";") + ROW.format(1),
        PRICES + ROW.format(1).replace("2026-01-01", "9999-99-99"),
        "",
    ],
)
def test_a_price_list_that_is_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "prices.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PriceError):
        read_prices(path)


def test_a_price_list_without_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PriceError, match="price list"):
        read_prices(Path("/dev/zero"))
    path = tmp_path / "prices.csv"
    with path.open("wb") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(PriceError, match="price list"):
        read_prices(path)


def test_aliases_that_multiply_stay_small(tmp_path: Path) -> None:
    """Ten levels of ten aliases each: ten thousand million items, were they copied."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for n in range(1, 10):
        lines.append(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]")
    path = tmp_path / "rounds.lock.yml"
    path.write_text("\n".join(lines), encoding="utf-8")
    assert read_lock(path) == {}
    for text in (
        "[" * 100_000,
        "a: " * 5_000,
        "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
    ):
        path.write_text(text, encoding="utf-8")
        assert read_lock(path) == {}
    path.write_bytes(b"v4.0: \xff\xfe")
    assert read_lock(path) == {}
