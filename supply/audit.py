"""Licences, bill of materials and known vulnerabilities: ``python -m supply.audit [--sbom FILE]``.

Licences are read from the installed packages, the bill of materials (CycloneDX 1.6) from the
lock, whose hashes it repeats. Vulnerabilities are asked of pip-audit, where it is installed and
its service answers; no answer is told and is no clean bill.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;\\]+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
#: Licences that let an Apache-2.0 package depend on theirs and be passed on.
ALLOWED = frozenset(
    {
        "0BSD", "Apache-2.0", "Artistic-1.0", "BSD", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0",
        "CNRI-Python", "ISC", "MIT", "MIT-0", "MPL-2.0", "PSF-2.0", "Python-2.0", "Unlicense",
        "Zlib",
    }
)  # fmt: skip
# Spellings in classifiers and free text, as SPDX names.
_NAMED = {
    "Apache Software License": "Apache-2.0", "Apache License 2.0": "Apache-2.0",
    "BSD License": "BSD", "MIT License": "MIT", "ISC License (ISCL)": "ISC",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0", "Artistic License": "Artistic-1.0",
    "Python Software Foundation License": "PSF-2.0", "The Unlicense (Unlicense)": "Unlicense",
    "Zero-Clause BSD (0BSD)": "0BSD",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pinned:
    """A package of the lock, with the SHA-256 of each of its files."""

    name: str
    version: str
    hashes: tuple[str, ...]


def pinned(text: str) -> list[Pinned]:
    """The packages of a lock file."""
    found = []
    for entry in re.split(r"\n(?=\S)", text):
        if match := _PIN.match(entry.strip()):
            found.append(Pinned(match["name"], match["version"], tuple(_HASH.findall(entry))))
    return found


def choices(name: str) -> list[set[str]]:
    """Licences of an installed package: alternatives, each the set that it asks to be kept.

    Raises:
        PackageNotFoundError: it is not installed.
    """
    known = metadata(name)
    if expression := known.get("License-Expression"):
        return _alternatives(expression)
    classified = [
        item.rpartition(" :: ")[2]
        for item in known.get_all("Classifier", [])
        if item.startswith("License :: ") and item != "License :: OSI Approved"
    ]
    if classified:
        return [{_NAMED.get(item, item)} for item in classified]
    stated = (known.get("License") or "").strip().splitlines()[:1]
    return [option for text in stated for option in _alternatives(_NAMED.get(text, text))]


def _alternatives(expression: str) -> list[set[str]]:
    """``A OR B AND C`` as A, or B with C. Of nested ones all are asked for, which is stricter."""
    if "(" in expression:
        return [set(re.split(r"\s+(?:AND|OR)\s+|[()\s]+", expression)) - {"", "AND", "OR"}]
    options = re.split(r"\s+OR\s+", expression.strip())
    return [set(re.split(r"\s+AND\s+", option)) for option in options]


def refused(packages: list[Pinned]) -> Iterator[str]:
    """A sentence for each installed package without a licence that is allowed."""
    for package in packages:
        try:
            offered = choices(package.name)
        except PackageNotFoundError:
            continue  # for another system or Python
        if not any(option <= ALLOWED for option in offered):
            told = " or ".join(" and ".join(sorted(option)) for option in offered)
            yield f"{package.name} {package.version}: {told or 'no licence stated'}"


def bill_of_materials(packages: list[Pinned]) -> dict[str, Any]:
    """The lock as a CycloneDX document; the same lock gives the same text."""
    components = [
        {
            "type": "library",
            "bom-ref": f"pkg:pypi/{package.name}@{package.version}",
            "name": package.name,
            "version": package.version,
            "purl": f"pkg:pypi/{package.name}@{package.version}",
            "properties": [{"name": "sha256", "value": value} for value in package.hashes],
        }
        for package in packages
    ]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "gpurank"}},
        "components": components,
    }


def vulnerabilities(lock: Path) -> tuple[int, str]:
    """(exit code, what to tell) of pip-audit on the lock; 0 with a reason where it cannot tell."""
    if importlib.util.find_spec("pip_audit") is None:
        return 0, "not audited for vulnerabilities: pip-audit is not installed"
    options = ["-r", str(lock), "--disable-pip", "--require-hashes", "-f", "json"]
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "pip_audit", *options], capture_output=True, text=True
    )
    try:
        rows = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return 0, "not audited for vulnerabilities: the service does not answer"
    unknown = [row["name"] for row in rows if "skip_reason" in row]
    found = [f"{r['name']} {v['id']}" for r in rows for v in r.get("vulns", ())]
    told = f"{len(rows) - len(unknown)} packages audited, {len(unknown)} unknown to the service"
    return int(bool(found)), "\n".join([*found, told])


def main() -> int:
    """Check and tell; 1 where a licence or a known vulnerability forbids a release."""
    parser = argparse.ArgumentParser(prog="supply.audit", description=__doc__)
    parser.add_argument("--lock", type=Path, default=ROOT / "requirements.lock")
    parser.add_argument("--sbom", type=Path, help="write the bill of materials here")
    args = parser.parse_args()
    packages = pinned(args.lock.read_text(encoding="utf-8"))
    unhashed = [package.name for package in packages if not package.hashes]
    bad = list(refused(packages)) + [f"{name}: no hash in the lock" for name in unhashed]
    if args.sbom:
        args.sbom.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(bill_of_materials(packages), indent=1)
        args.sbom.write_text(text + "\n", encoding="utf-8")
    code, told = vulnerabilities(args.lock)
    print("\n".join([*bad, f"{len(packages)} packages, licences and hashes checked", told]))
    return 1 if bad else code


if __name__ == "__main__":
    sys.exit(main())
