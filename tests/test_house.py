"""The house's own rules: layers, sizes, names, trade marks, paths."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("gpurank", "tasks", "flows", "warehouse", "expectations")


def tracked(*suffixes: str) -> list[Path]:
    """Files git tracks (or would), by suffix; every file where no suffix is named."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=False,
        text=True,
    )
    if listing.returncode:
        pytest.skip("not a git checkout")
    paths = [ROOT / name for name in listing.stdout.split("\0") if name]
    return [p for p in paths if p.is_file() and (not suffixes or p.suffix in suffixes)]


def modules() -> list[Path]:
    return [p for p in tracked(".py") if p.relative_to(ROOT).parts[0] in PACKAGES]


def test_layers_hold() -> None:
    from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

    assert lint_imports(config_filename=str(ROOT / "pyproject.toml")) == EXIT_STATUS_SUCCESS


def test_every_model_has_its_contract_and_its_test() -> None:
    missing = []
    for path in sorted((ROOT / "warehouse").glob("*_*/*.sql")):
        layer = path.parent.name.partition("_")[2]
        for folder in ("expectations", "tests/sql"):
            twin = ROOT / folder / layer / f"{path.stem}.yml"
            if not twin.exists():
                missing.append(str(twin.relative_to(ROOT)))
    assert not missing, "models without a twin: " + ", ".join(missing)


def test_the_mark_names_nothing_of_ours() -> None:
    """The registered mark stands in prose and data alone, never in a name that we gave."""
    mark = re.compile(r"mlperf", re.IGNORECASE)
    named = [str(p.relative_to(ROOT)) for p in tracked() if mark.search(p.name)]
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = getattr(node, "name", None) or getattr(node, "id", None)
            if isinstance(name, str) and mark.search(name):
                named.append(f"{path.relative_to(ROOT)}: {name}")
    for path in sorted((ROOT / "expectations").rglob("*.yml")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if re.match(r"\s*(table:|- \{name:)", line) and mark.search(line.partition("doc:")[0]):
                named.append(f"{path.relative_to(ROOT)}: {line.strip()}")
    assert not named, "\n".join(named)


def test_no_machine_paths_and_no_registry_hosts() -> None:
    # Split, so that this file does not find itself.
    words = ["/wo" + "rk/", "/ro" + "ot/", "/tm" + "p/", "py" + r"pi\.org", "python" + "hosted"]
    bad = re.compile("|".join(words))
    found = []
    for path in tracked(".py", ".sql", ".yml", ".yaml", ".toml", ".md", ".lock", ".txt", ""):
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if bad.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}")
    assert not found, "\n".join(found)


def test_rounds_are_rows_not_branches() -> None:
    """No code of the core, the tasks or the flows decides by a round's name."""
    found = []
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare):
                for side in [node.left, *node.comparators]:
                    if isinstance(side, ast.Constant) and re.fullmatch(
                        r"v\d+\.\d+", str(side.value)
                    ):
                        found.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert not found, "\n".join(found)


def test_every_variable_that_is_read_is_documented() -> None:
    """Those of the program in docs/operations.md, a line each; those of tests in CONTRIBUTING."""
    name = re.compile(r"GPURANK_[A-Z][A-Z_]*[A-Z]")
    operations = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    told = set(re.findall(r"^\| `(GPURANK_[A-Z_]+)` \|", operations, re.MULTILINE))
    read = {found for path in modules() for found in name.findall(path.read_text(encoding="utf-8"))}
    assert read == told
    others = {
        found
        for path in tracked(".py", ".yml", ".yaml", ".toml")
        if path.relative_to(ROOT).parts[0] not in PACKAGES
        for found in name.findall(path.read_text(encoding="utf-8"))
    }
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert others - told <= set(name.findall(contributing))
