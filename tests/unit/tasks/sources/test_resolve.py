"""Where a round is looked for, and what a person is told when it is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpurank.declared.rounds import UnknownRound
from tasks.sources.resolve import Location, resolve
from tasks.sources.snapshot import SourceError, SourceMissing, available, pin


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    """A mirror with an archive, a checkout, one with a commit in its name, and strays."""
    (tmp_path / "training_results_v4.0.tar.zst").write_bytes(b"-")
    (tmp_path / "training_results_v4.1").mkdir()
    (tmp_path / "training_results_v3.0-63e326c400f5").mkdir()
    (tmp_path / "training_results_v10.0.tgz").write_bytes(b"-")
    (tmp_path / "training_results_v5.0.tar.zst.part").write_bytes(b"-")
    (tmp_path / "README.md").write_text("-")
    return tmp_path


def test_without_a_source_a_round_comes_from_its_public_repository() -> None:
    location = resolve("v5.1", None)
    assert location == Location("git", "https://github.com/mlcommons/training_results_v5.1")


def test_a_mirror_gives_what_is_there(mirror: Path) -> None:
    assert available(mirror) == ("v3.0", "v4.0", "v4.1", "v10.0")
    archive = Location("archive", str(mirror / "training_results_v4.0.tar.zst"))
    assert resolve("v4.0", mirror) == archive
    assert resolve("v4.0", mirror / "training_results_v4.0.tar.zst") == archive
    assert resolve("v4.1", mirror) == Location("tree", str(mirror / "training_results_v4.1"))
    assert resolve("v3.0", mirror).uri.endswith("training_results_v3.0-63e326c400f5")


def test_templates_name_any_of_these(mirror: Path) -> None:
    template = str(mirror / "training_results_{round}.tar.zst")
    assert resolve("v4.0", template).kind == "archive"
    assert available(template) == ("v4.0",)
    url = "https://example.org/training_results_{round}.git"
    assert resolve("v4.0", url).uri == "https://example.org/training_results_v4.0.git"
    assert available(url) is None
    assert available(None) is None


def test_a_missing_round_is_told_with_what_is_there(mirror: Path) -> None:
    with pytest.raises(SourceMissing) as caught:
        resolve("v5.0", mirror)
    message = str(caught.value)
    for part in (str(mirror), "training_results_v5.0", ".tar.zst", "v3.0, v4.0, v4.1, v10.0"):
        assert part in message


def test_a_missing_path_is_told_with_its_nearest_names(mirror: Path) -> None:
    with pytest.raises(SourceMissing, match=r"holds .*training_results_v4\.0\.tar\.zst"):
        resolve("v4.0", mirror / "training_results_v4.0.tar.zs")
    with pytest.raises(SourceMissing, match="does not exist"):
        available(mirror / "nowhere" / "below")


def test_two_of_a_round_are_not_guessed_between(mirror: Path) -> None:
    (mirror / "training_results_v3.0-0123456789ab").mkdir()
    with pytest.raises(SourceError, match="more than once"):
        resolve("v3.0", mirror)


def test_an_exact_name_goes_first_and_an_archive_before_a_folder(mirror: Path) -> None:
    (mirror / "training_results_v4.0").mkdir()
    (mirror / "training_results_v4.0-0123456789ab").mkdir()
    assert resolve("v4.0", mirror).kind == "archive"
    (mirror / "training_results_v4.1-0123456789ab").mkdir()
    assert resolve("v4.1", mirror).uri.endswith("training_results_v4.1")


def test_a_folder_around_the_folder_is_seen_through(tmp_path: Path) -> None:
    inner = tmp_path / "training_results_v4.0" / "training_results_v4.0-0123456789ab"
    inner.mkdir(parents=True)
    assert resolve("v4.0", tmp_path) == Location("tree", str(inner))


@pytest.mark.parametrize(
    "name", ["training_results_v4.1.tar.zst", "training_results_v4.10.tar.zst"]
)
def test_another_rounds_source_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"-")
    with pytest.raises(SourceError, match=r"not training_results_v4\.0"):
        resolve("v4.0", tmp_path / name)
    with pytest.raises(SourceError, match=r"not training_results_v4\.0"):
        resolve("v4.0", f"https://example.org/{name.removesuffix('.tar.zst')}.git")


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    with pytest.raises(SourceMissing, match="holds photos"):
        resolve("v4.0", tmp_path)
    (tmp_path / "Sub" / "results").mkdir(parents=True)
    assert resolve("v4.0", tmp_path).kind == "tree"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("", "empty"),
        ("--upload-pack=touch x", "starts with"),
        ("ext::sh -c id", "helper"),
        ("fd::17", "helper"),
        ("-oProxyCommand=touch harmed", "starts with"),
        ("ssh://-oProxyCommand=touch/harmed", "not a Git URL"),
        ("https://-x/y", "not a Git URL"),
        ("ftp://example.org/x", "not a Git URL"),
        ("https://example.org/a\nb", "control"),
        ("https://example.org/training_results_v4.0.tar.gz", "download"),
    ],
)
def test_hostile_and_unusable_sources_are_refused(source: str, reason: str) -> None:
    with pytest.raises(SourceError, match=reason):
        pin("v4.0", source)


@pytest.mark.parametrize("user", ["me:s3cret", "s3cret"])
def test_a_secret_in_a_url_is_refused_and_not_repeated(user: str) -> None:
    with pytest.raises(SourceError) as caught:
        resolve("v4.0", f"https://{user}@example.org/training_results_v4.0")
    assert "s3cret" not in str(caught.value)
    assert resolve("v4.0", "ssh://git@example.org/training_results_v4.0").kind == "git"
    assert resolve("v4.0", "git@example.org:training_results_v4.0.git").kind == "git"


@pytest.mark.parametrize("round_id", ["4.0", "v4", "v4.0/../x", "all", ""])
def test_a_malformed_round_is_refused(round_id: str) -> None:
    with pytest.raises(UnknownRound):
        pin(round_id, None)
