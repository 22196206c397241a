"""The lock, the licences, the bill of materials and the wheel."""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import json
import os
import shutil
import subprocess
import sys
import zipfile
from email.message import Message
from pathlib import Path

import pytest

from tools.supply import audit
from tools.supply.audit import ROOT, bill_of_materials, invalid, pinned, refused, vulnerabilities

LOCK = """\
one==1.0 \\
    --hash=sha256:{0} \\
    --hash=sha256:{1}
two[extra]==2.0
three==3.0 ; python_full_version < '3.12' \\
    --hash=sha256:{0}
""".format("a" * 64, "b" * 64)


def test_each_locked_package_has_a_hash() -> None:
    paths = sorted(ROOT.glob("requirements/*.lock"))
    assert len(paths) >= 4
    for path in paths:
        packages = pinned(path.read_text(encoding="utf-8"))
        assert packages
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
    monkeypatch.setattr("tools.supply.audit.metadata", lambda _: message)
    assert (list(refused(pinned(LOCK)[:1])) == []) is is_allowed


def test_what_is_installed_may_be_passed_on() -> None:
    assert list(refused(pinned((ROOT / "requirements/run.lock").read_text(encoding="utf-8")))) == []


def test_the_bill_of_materials_names_every_package_and_no_host() -> None:
    packages = pinned((ROOT / "requirements/run.lock").read_text(encoding="utf-8"))
    document = bill_of_materials(packages)
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    assert len(document["components"]) == len(packages)
    assert "://" not in json.dumps(document)


def test_the_bill_of_materials_is_one_by_its_schema() -> None:
    pytest.importorskip("cyclonedx.validation.json", reason="`make audit` installs it")
    packages = pinned((ROOT / "requirements/run.lock").read_text(encoding="utf-8"))
    document = bill_of_materials(packages)
    assert invalid(json.dumps(document)) is None
    told = invalid(json.dumps({**document, "components": [{"type": "library"}]}))
    assert told is not None and "name" in told


def answering(monkeypatch: pytest.MonkeyPatch, text: str, errors: str = "") -> None:
    """pip-audit is there and says this."""
    done = subprocess.CompletedProcess([], 1, text, errors)
    monkeypatch.setattr(audit.importlib.util, "find_spec", lambda _: object())
    monkeypatch.setattr(audit.subprocess, "run", lambda *_, **__: done)


def test_known_vulnerabilities_fail(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    vulnerable = {"name": "a", "version": "1", "vulns": [{"id": "PYSEC-1"}, {"id": "PYSEC-2"}]}
    rows = [vulnerable, {"name": "b", "vulns": []}, {"name": "c", "skip_reason": "not found"}]
    answering(monkeypatch, json.dumps({"dependencies": rows}))
    assert vulnerabilities(tmp_path) == (["a PYSEC-1", "a PYSEC-2"], 2)
    monkeypatch.setattr(sys, "argv", ["audit"])
    assert audit.main() == 1
    assert "a PYSEC-1" in capsys.readouterr().out
    answering(monkeypatch, json.dumps({"dependencies": rows[1:2]}))
    assert audit.main() == 0


@pytest.mark.parametrize(
    ("text", "errors", "reason"),
    [
        ("", "ConnectionError: no route to host", "no route"),
        ("<html>", "", "said nothing"),
        ('{"dependencies": [{"name": "a", "skip_reason": "x"}]}', "", "none of the packages"),
    ],
)
def test_no_answer_is_no_clean_bill(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str, errors: str,
    reason: str,
) -> None:  # fmt: skip
    answering(monkeypatch, text, errors)
    for options, code in (([], 0), (["--strict"], 1)):
        monkeypatch.setattr(sys, "argv", ["audit", *options])
        assert audit.main() == code
        told = capsys.readouterr().err
        assert told.startswith("NOT AUDITED") and reason in told


def wheel(root: Path, folder: Path, mask: int, **environment: str) -> bytes:
    """The wheel that a copy of the project gives in these surroundings."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    given = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000", **environment}
    subprocess.run(command, cwd=root, env=given, check=True, capture_output=True, umask=mask)
    (path,) = folder.glob("*.whl")
    return path.read_bytes()


def copied(root: Path, mask: int, mtime: int) -> Path:
    """A copy of what is packed, its files as another person's checkout has them."""
    for name in ("gpurank", "tasks", "flows", "warehouse", "expectations"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, root / name)
    for path in root.rglob("*"):
        path.chmod((0o777 if path.is_dir() else 0o666) & ~mask)
        os.utime(path, (mtime, mtime))
    return root


def test_the_wheel_is_whole_and_the_same_everywhere(tmp_path: Path) -> None:
    try:
        importlib.metadata.version("hatchling")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("hatchling, which builds the wheel, is not installed")
    first = wheel(copied(tmp_path / "a", 0o022, 10**9), tmp_path / "x", 0o022, TZ="UTC")
    second = wheel(
        copied(tmp_path / "another folder", 0o077, 1_700_000_001), tmp_path / "y", 0o077,
        TZ="Pacific/Kiritimati", LC_ALL="C", PYTHONHASHSEED="7",
    )  # fmt: skip
    assert hashlib.sha256(first).hexdigest() == hashlib.sha256(second).hexdigest()
    names = set(zipfile.ZipFile(io.BytesIO(first)).namelist())
    kinds = {".py", ".sql", ".yml", ".csv", ".parquet", ".json", ".html", ".js", ".css"}
    for package in ("gpurank", "tasks", "flows", "warehouse", "expectations"):
        for path in (ROOT / package).rglob("*"):
            if path.is_file() and path.suffix in kinds:
                assert path.relative_to(ROOT).as_posix() in names, path
    assert any(name.startswith("warehouse/facts/v5.0/") for name in names)
    assert not [
        name for name in names if name.startswith(("tests/", "tools/fuzz/", "tools/benchmarks/"))
    ]
