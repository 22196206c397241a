"""Which files count, and the hash of them all."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpurank.logs.source_files import SourceFile, content_hash, interest, readable_path

ONE, TWO = "1" * 64, "2" * 64


def test_content_hash_is_sha256_over_the_lines_in_path_order() -> None:
    lines = f"{ONE}  a/results/x\n{TWO}  b/results/y\n".encode()
    assert content_hash([("b/results/y", TWO), ("a/results/x", ONE)]) == (
        hashlib.sha256(lines).hexdigest()
    )


@given(st.dictionaries(st.text(min_size=1), st.sampled_from([ONE, TWO]), max_size=6), st.randoms())
def test_content_hash_does_not_depend_on_order(files: dict[str, str], random: object) -> None:
    rows = list(files.items())
    expected = content_hash(rows)
    random.shuffle(rows)  # type: ignore[attr-defined]
    assert content_hash(rows) == expected


def test_content_hash_tells_names_bytes_and_forged_lines_apart() -> None:
    hashes = [
        content_hash([("a", ONE), ("b", TWO)]),
        content_hash([("a", TWO), ("b", ONE)]),
        content_hash([("a", ONE)]),
        content_hash([(f"a\n{TWO}  b", ONE)]),
        content_hash([(f"a\\n{TWO}  b", ONE)]),
    ]
    assert len(set(hashes)) == len(hashes)


def test_a_path_that_comes_twice_has_no_hash() -> None:
    with pytest.raises(ValueError, match="twice"):
        content_hash([("a", ONE), ("a", TWO)])


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("Sub/results/X660 G45_SXM4/bert/result_0.txt", "data"),
        ("Sub/results/AS-4124GO-NART+/bert/result_0.txt", "data"),
        ("Sub/systems/x.json", "data"),
        ("Sub/systems/x.JSON", "data"),
        ("Sub/results/s/bert/.!65506!result_4.txt", "data"),
        ("Sub/results/s/bert/train.log", "data"),
        ("Sub/results/s/bert/compliance_1.out", "data"),
        ("Sub/results/summary.csv", "data"),
        ("Sub/results/.gitkeep", "data"),
        ("Sub/results/.DS_Store", "data"),
        ("Sub/results/s/package_checker_params", "data"),
        ("v0.5.0/sub/package/results/tpu/resnet/result_1.txt", "data"),
        ("v0.5.0/sub/package/entry.json", "data"),
        ("Sub/submission.json", "data"),
        ("Sub/systems/.x.json.swp", "stray"),
        ("Sub/systems/README.md", "stray"),
        ("Sub/results/s/bert/nvlog.json.1", "stray"),
        ("Sub/results/s/bert/raw_logs/log.rank0-1stRun", "stray"),
        ("README.md", None),
        ("results", None),
        ("Sub/benchmarks/bert/run.txt", None),
        ("Sub/my_results/s/result_0.txt", None),
        ("Sub/results/s/bert/power/nodes.png", None),
        ("Sub/results/s/bert/run.sh", None),
        ("Sub/results/s/bert/logs.tgz", None),
    ],
)
def test_which_files_count(path: str, kind: str | None) -> None:
    assert interest(path) == kind


def test_a_path_is_always_valid_unicode() -> None:
    assert readable_path(b"a/\xb8 \xc3\xa9") == "a/\\xb8 \u00e9"
    assert readable_path(b"a/jo@example.org/x@8b.json") == "a/jo\\x40example.org/x\\x408b.json"
    assert readable_path(b"a/8xH100@700W") == "a/8xH100@700W"


def test_a_withheld_file_keeps_its_size_and_hash() -> None:
    assert SourceFile("a", b"xy").byte_count == 2
    assert SourceFile("a", b"xy").sha256 == hashlib.sha256(b"xy").hexdigest()
    withheld = SourceFile("a", b"", "larger than 1 MiB", 7, ONE)
    assert (withheld.byte_count, withheld.sha256) == (7, ONE)
