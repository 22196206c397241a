"""The lock, the licences, the bill of materials and the wheel."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import subprocess
import sys
import zipfile
from email.message import Message
from pathlib import Path

import pytest

from supply.audit import ROOT, bill_of_materials, pinned, refused

LOCK = """\
one==1.0 \\
    --hash=sha256:{0} \\
    --hash=sha256:{1}
two[extra]==2.0
three==3.0 ; python_full_version < '3.12' \\
    --hash=sha256:{0}
""".format("a" * 64, "b" * 64)


def test_each_locked_package_has_a_hash() -> None:
    for name in ("requirements.lock", "requirements-dev.lock"):
        packages = pinned((ROOT / name).read_text(encoding="utf-8"))
        assert len(packages) > 50
        assert [package.name for package in packages if not package.hashes] == []


def test_a_lock_is_read() -> None:
    found = {package.name: package for package in pinned(LOCK)}
    assert found["one"].hashes == ("a" * 64, "b" * 64)
    assert (found["three"].version, found["three"].hashes) == ("3.0", ("a" * 64,))


@pytest.mark.parametrize(
    ("fields", "is_allowed"),
    [
        ({"License-Expression": "MIT"}, True),
        ({"License-Expression": "MPL-2.0 AND (Apache-2.0 OR MIT)"}, True),
        ({"License-Expression": "GPL-3.0-only OR MIT"}, True),
        ({"License-Expression": "GPL-3.0-only AND MIT"}, False),
        ({"Classifier": "License :: OSI Approved :: BSD License"}, True),
        ({"Classifier": "License :: Other/Proprietary License"}, False),
        ({"License": "GPL"}, False),
        ({}, False),
    ],
)
def test_licences(
    monkeypatch: pytest.MonkeyPatch, fields: dict[str, str], is_allowed: bool
) -> None:
    message = Message()
    for name, value in fields.items():
        message[name] = value
    monkeypatch.setattr("supply.audit.metadata", lambda _: message)
    assert (list(refused(pinned(LOCK)[:1])) == []) is is_allowed


def test_what_is_installed_may_be_passed_on() -> None:
    assert list(refused(pinned((ROOT / "requirements.lock").read_text(encoding="utf-8")))) == []


def test_the_bill_of_materials_names_every_package_and_no_host() -> None:
    packages = pinned((ROOT / "requirements.lock").read_text(encoding="utf-8"))
    document = bill_of_materials(packages)
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    assert len(document["components"]) == len(packages)
    assert "://" not in json.dumps(document)


def wheel(folder: Path) -> Path:
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    return path


def test_the_wheel_is_whole_and_the_same_each_time(tmp_path: Path) -> None:
    try:
        importlib.metadata.version("hatchling")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("hatchling, which builds the wheel, is not installed")
    first, second = wheel(tmp_path / "a"), wheel(tmp_path / "b")
    assert hashlib.sha256(first.read_bytes()).digest() == hashlib.sha256(
        second.read_bytes()
    ).digest()  # fmt: skip
    names = set(zipfile.ZipFile(first).namelist())
    kinds = {".py", ".sql", ".yml", ".csv", ".parquet", ".json", ".html", ".js", ".css"}
    for package in ("gpurank", "tasks", "flows", "warehouse", "expectations"):
        for path in (ROOT / package).rglob("*"):
            if path.is_file() and path.suffix in kinds:
                assert path.relative_to(ROOT).as_posix() in names, path
    assert any(name.startswith("warehouse/facts/v5.0/") for name in names)
    assert not [name for name in names if name.startswith(("tests/", "fuzz/", "benchmarks/"))]
