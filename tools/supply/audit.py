"""Licences, bill of materials, known vulnerabilities: ``python -m tools.supply.audit``.

Licences are read from the installed packages, the bill of materials (CycloneDX 1.6) from the
lock, whose hashes it repeats, and is held against its schema. Vulnerabilities are asked of
pip-audit; where its service does not answer, that is told, is no clean bill, and fails with
``--strict``.
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

ROOT = Path(__file__).resolve().parents[2]
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


def invalid(document: str) -> str | None:
    """What the schema of CycloneDX 1.6 says against a bill of materials; None if nothing."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    found = JsonStrictValidator(SchemaVersion.V1_6).validate_str(document)
    return None if found is None else f"the bill of materials is not CycloneDX 1.6: {found}"


class Unanswered(RuntimeError):
    """Whether a vulnerability is known could not be asked."""


def vulnerabilities(lock: Path) -> tuple[list[str], int]:
    """(known vulnerabilities of the locked packages, packages that the service knows).

    Raises:
        Unanswered: pip-audit is not installed, its service does not answer, or it knows no package.
    """
    if importlib.util.find_spec("pip_audit") is None:
        raise Unanswered("pip-audit is not installed")
    options = ["-r", str(lock), "--disable-pip", "--require-hashes", "-f", "json"]
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "pip_audit", *options], capture_output=True, text=True
    )
    try:
        rows = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        why = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise Unanswered(f"the service does not answer ({why[:200]})") from None
    known = [row for row in rows if "skip_reason" not in row]
    if not known:
        raise Unanswered("the service knows none of the packages")
    return [f"{row['name']} {v['id']}" for row in known for v in row["vulns"]], len(known)


def main() -> int:
    """Check and tell; 1 where a licence or a known vulnerability forbids a release.

    With ``--strict`` also where vulnerabilities could not be asked.
    """
    parser = argparse.ArgumentParser(prog="tools.supply.audit", description=__doc__)
    parser.add_argument("--lock", type=Path, default=ROOT / "requirements/run.lock")
    parser.add_argument("--sbom", type=Path, help="write the bill of materials here")
    parser.add_argument("--strict", action="store_true", help="fail where nobody answers")
    args = parser.parse_args()
    packages = pinned(args.lock.read_text(encoding="utf-8"))
    unhashed = [package.name for package in packages if not package.hashes]
    bad = list(refused(packages)) + [f"{name}: no hash in the lock" for name in unhashed]
    if args.sbom:
        text = json.dumps(bill_of_materials(packages), indent=1)
        bad += [item for item in [invalid(text)] if item]
        args.sbom.parent.mkdir(parents=True, exist_ok=True)
        args.sbom.write_text(text + "\n", encoding="utf-8")
    print("\n".join([*bad, f"{len(packages)} packages, licences and hashes checked"]))
    try:
        found, count = vulnerabilities(args.lock)
    except Unanswered as error:
        print(f"NOT AUDITED for vulnerabilities: {error}. This is no clean bill.", file=sys.stderr)
        return int(bool(bad) or args.strict)
    print("\n".join([*found, f"{count} packages audited, {len(found)} known vulnerabilities"]))
    if count < len(packages):
        print(f"{len(packages) - count} packages are unknown to the service", file=sys.stderr)
    return int(bool(bad or found))


if __name__ == "__main__":
    sys.exit(main())
