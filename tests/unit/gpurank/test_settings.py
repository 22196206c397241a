"""Settings come from arguments, then environment, then defaults."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpurank.method.settings import MethodError, MethodSettings, method_settings
from gpurank.settings import SettingsError, load


def test_arguments_win_over_environment_over_defaults(tmp_path: Path) -> None:
    env = {"GPURANK_HOME": str(tmp_path / "env"), "GPURANK_WORKERS": "3"}
    assert load(environ=env).home == tmp_path / "env"
    assert load(environ=env).workers == 3
    assert load(home=tmp_path / "arg", workers=2, environ=env).home == tmp_path / "arg"
    assert load(home=tmp_path / "arg", workers=2, environ=env).workers == 2
    assert load(environ={}).home == Path("data").absolute()
    assert load(environ={}).lambda_chips == 8.0
    assert load(environ={}).bootstraps is None
    assert load(environ={"GPURANK_BOOTSTRAPS": "0"}).bootstraps == 0
    assert load(bootstraps=20, environ={"GPURANK_BOOTSTRAPS": "0"}).bootstraps == 20
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("GPURANK_WORKERS", ["0", "-1", "two", "1.5"]),
        ("GPURANK_LAMBDA", ["0", "-8", "nan", "inf", "x"]),
        # None, or enough for an interval.
        ("GPURANK_BOOTSTRAPS", ["-1", "1", "19", "many"]),
    ],
)
def test_values_without_meaning_are_refused(name: str, values: list[str]) -> None:
    for value in values:
        with pytest.raises(SettingsError, match=name):
            load(environ={name: value})


def test_a_file_as_home_is_refused(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("x")
    with pytest.raises(SettingsError, match="is a file"):
        load(home=tmp_path / "home", environ={})


def test_the_method_takes_the_number_of_bootstraps_from_a_run() -> None:
    own = method_settings(load(environ={}))
    assert (own.selection_bootstraps, own.cluster_bootstraps, own.fleet_bootstraps) == (
        500, 100, 200,
    )  # fmt: skip
    none = method_settings(load(bootstraps=0, environ={}))
    assert (none.selection_bootstraps, none.cluster_bootstraps, none.fleet_bootstraps) == (0, 0, 0)
    with pytest.raises(MethodError, match="bootstraps"):
        MethodSettings(cluster_bootstraps=-1)
