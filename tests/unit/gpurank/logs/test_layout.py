"""What a file is, by its path alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpurank.declared.rounds import declared_rounds
from gpurank.logs.layout import classify, run_number, system_paths

OLD, NEW = declared_rounds().get("v0.5"), declared_rounds().get("v4.0")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("Acme/results/box/resnet/result_0.txt", "result_log"),
        ("Acme/results/box/resnet/result_07.txt", "result_log"),
        ("Acme/results/box/resnet/result_5016-240510_26.txt", "result_log"),
        ("Acme/results/box/resnet/result_run1.txt", "result_log"),
        ("Acme/results/box/resnet/.!65506!result_4.txt", "extra_log"),
        ("Acme/results/box/resnet/1594407_1.log", "extra_log"),
        ("Acme/results/box/resnet/raw_logs/train_run1.log", "extra_log"),
        ("Acme/results/box/resnet/scaling.json", "scaling"),
        ("Acme/results/box/resnet/power/result_1/node_0.txt", "power"),
        ("Acme/results/box/resnet/power/result_1/sw_0.txt", "power"),
        ("Acme/results/box/result_1.txt", "result_log"),
        ("Acme/results/box/entry.json", "system_description"),
        ("Acme/results/box/.gitkeep", "marker"),
        ("Acme/results/README.md", "extra_log"),
        ("Acme/systems/box.json", "system_description"),
        ("Acme/systems/.box.json.swp", "extra_log"),
        ("Acme/systems/README.md", "extra_log"),
        ("Acme/submission.json", "submission"),
        ("README.md", "extra_log"),
        ("results", "extra_log"),
        ("", "extra_log"),
    ],
)
def test_kinds(path: str, kind: str) -> None:
    assert classify(path, NEW).kind == kind


def test_a_result_log() -> None:
    location = classify("Acme/results/box + 1/resnet/result_0.txt", NEW)
    assert location.folder_id == "Acme/results/box + 1/resnet"
    assert (location.submitter_folder, location.system_folder) == ("Acme", "box + 1")
    assert (location.package_folder, location.benchmark_folder) == (None, "resnet")
    assert system_paths(location) == (
        "Acme/systems/box + 1.json",
        "Acme/results/box + 1/entry.json",
    )


def test_the_oldest_round_names_a_generic_system_by_its_package() -> None:
    location = classify("v0.5.0/acme/slice.8/ssd-slice-8/results/tpu/ssd/result_1.txt", OLD)
    assert (location.submitter_folder, location.package_folder) == ("acme", "slice.8/ssd-slice-8")
    assert (location.system_folder, location.benchmark_folder) == ("slice.8", "ssd")
    entry = "v0.5.0/acme/slice.8/ssd-slice-8/results/tpu/entry.json"
    assert entry in system_paths(location)
    described = classify(entry, OLD)
    assert (described.kind, described.system_folder) == ("system_description", "slice.8")
    named = classify("v0.5.0/acme/submission/results/box_mxnet/ssd/result_1.txt", OLD)
    assert (named.package_folder, named.system_folder) == ("submission", "box_mxnet")


@pytest.mark.parametrize(
    ("path", "folder_id"),
    [
        # A folder nested below a result is its own.
        ("Acme/results/box/resnet/bert/result_0.txt", "Acme/results/box/resnet/bert"),
        ("Acme/results/box/bert/power/result_5119-24_06/node_0.txt", "Acme/results/box/bert"),
        ("Acme/results/box/result_1.txt", "Acme/results/box"),
    ],
)
def test_the_folder_that_a_file_belongs_to(path: str, folder_id: str) -> None:
    location = classify(path, NEW)
    assert location.folder_id == folder_id
    assert location.is_nested == ("resnet/bert" in path)
    assert (location.benchmark_folder is None) == ("/box/result_1" in path)
    assert location.run_stem == ("result_5119-24_06" if "power" in path else location.run_stem)


@pytest.mark.parametrize(
    ("name", "number"),
    [("result_10.txt", 10), ("result_07.txt", 7), ("result_5-24_3.txt", 3), ("result_a.txt", None)],
)
def test_run_numbers(name: str, number: int | None) -> None:
    assert run_number(f"Acme/results/box8/resnet/{name}") == number


@given(st.text(alphabet="ab/.-_ résults0", max_size=40))
def test_no_path_is_too_odd(path: str) -> None:
    for round_ in (OLD, NEW):
        location = classify(path, round_)
        assert location.path == path
        assert system_paths(location) is not None


@given(
    st.lists(st.sampled_from(["results", "systems", "a", "power", "result_0.txt", "v0.5.0", ""]))
)
def test_no_arrangement_of_known_names_is_too_odd(parts: list[str]) -> None:
    for round_ in (OLD, NEW):
        location = classify("/".join(parts), round_)
        assert (location.folder_id is None) or "/".join(parts).startswith(location.folder_id)
