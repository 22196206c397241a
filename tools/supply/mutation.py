"""Every small fault of some kinds in scoring and ranking: which does no test notice?

``python -m tools.supply.mutation`` copies the project and plants one fault after the other: a
comparison, an operator, a number or a keyword replaced by its neighbour, in the SQL that makes
scores and the Python that ranks them. A fault that no test notices and that EXPLAINED does not name
ends it with an error. It takes a quarter of an hour; tools/supply/mutants.py has a short list.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON_TESTS = (
    "tests/unit/gpurank/method/test_ranking.py",
    "tests/unit/gpurank/method/test_ranking_edges.py",
)
SQL_TESTS = ("tests/sql", "tests/cases/test_numbered_cases.py")
FILES = {
    "gpurank/method/ranking.py": PYTHON_TESTS,
    "gpurank/method/pareto.py": PYTHON_TESTS,
    "warehouse/30_metrics/score.sql": SQL_TESTS,
    "warehouse/30_metrics/run_set.sql": SQL_TESTS,
}
#: The changed line: why no test can notice it.
EXPLAINED = {
    "place[same] = 1": "ranks begin at 1, so that the running maximum takes no notice",
    "return np.stack([(held <= level * draws - 1e-6).sum(axis=1) + 1 for level in _LEVEL])": (
        "counts are whole numbers, and the bound is none"
    ),
    "while len(hull) > 1 and _rate(hull[-2], i, time_min, accelerator_minutes) <= _rate(": (
        "a line from a to c is no steeper than one from a to b exactly where one from b to c is not"
    ),
    "coalesce(olympic.set_count, 1) AS set_count,": "no rule asks for fewer than three runs",
}
_SWAPPED: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Lt: (ast.LtE,), ast.LtE: (ast.Lt,), ast.Gt: (ast.GtE,), ast.GtE: (ast.Gt,),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.And: (ast.Or,), ast.Or: (ast.And,),
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div,), ast.Div: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,),
}  # fmt: skip
_SYMBOLS = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.In: "in", ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not", ast.And: "and",
    ast.Or: "or", ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.BitAnd: "&",
    ast.BitOr: "|",
}  # fmt: skip
_SQL = (
    (r"(?<![<>=])<(?![<>=])", "<="), (r"<=", "<"), (r"(?<![<>=])>(?![<>=])", ">="), (r">=", ">"),
    (r"(?<![<>=])=(?![<>=])", "<>"), (r"\bAND\b", "OR"), (r"\bOR\b", "AND"), (r"\bNOT\b ", ""),
    (r" - ", " + "), (r" \+ ", " - "), (r" \* ", " / "), (r" / ", " * "), (r"\b0\b", "1"),
    (r"\b1\.0\b", "2.0"), (r"\bASC\b", "DESC"), (r"NULLS LAST", "NULLS FIRST"),
    (r"IS NULL\b", "IS NOT NULL"), (r"IS NOT NULL\b", "IS NULL"), (r"count\(\*\)", "0"),
    (r"\bLEFT JOIN\b", "JOIN"),
)  # fmt: skip


def python_faults(text: str) -> Iterator[tuple[int, str, str]]:
    """(line number, the fault, the changed text) of each fault in Python code."""
    tree = ast.parse(text)
    types = {
        id(part) for node in ast.walk(tree) for hint in _hints(node) for part in ast.walk(hint)
    }
    for node in ast.walk(tree):
        if id(node) in types:
            continue
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            left, right = node.left, node.comparators[0]
            yield from _between(text, left, right, type(node.ops[0]))
        elif isinstance(node, ast.BinOp):
            yield from _between(text, node.left, node.right, type(node.op))
        elif isinstance(node, ast.BoolOp):
            yield from _between(text, node.values[0], node.values[1], type(node.op))
        elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            if isinstance(node.value, bool):
                continue
            found = str(node.value + 1)
            yield node.lineno, f"{node.value} -> {found}", _spliced(text, node, node, found)


def _hints(node: ast.AST) -> list[ast.expr]:
    """What only type checkers read."""
    found = (getattr(node, name, None) for name in ("annotation", "returns"))
    return [hint for hint in found if hint is not None]


def _between(
    text: str, left: ast.expr, right: ast.expr, kind: type[ast.AST]
) -> Iterator[tuple[int, str, str]]:
    """The operator between two expressions, replaced; only where both stand on one line."""
    if left.end_lineno != right.lineno or kind not in _SWAPPED:
        return
    lines = text.splitlines(keepends=True)
    number = right.lineno - 1
    line = lines[number].encode()
    middle = line[left.end_col_offset : right.col_offset].decode()
    for new in _SWAPPED[kind]:
        old = _SYMBOLS[kind]
        if old in middle:
            changed = middle.replace(old, _SYMBOLS[new], 1).encode()
            lines[number] = (
                line[: left.end_col_offset] + changed + line[right.col_offset :]
            ).decode()
            yield right.lineno, f"{old} -> {_SYMBOLS[new]}", "".join(lines)


def _spliced(text: str, first: ast.expr, last: ast.expr, new: str) -> str:
    lines = text.splitlines(keepends=True)
    line = lines[first.lineno - 1].encode()
    lines[first.lineno - 1] = (
        line[: first.col_offset] + new.encode() + line[last.end_col_offset :]
    ).decode()
    return "".join(lines)


def sql_faults(text: str) -> Iterator[tuple[int, str, str]]:
    """(line number, the fault, the changed text) of each fault in SQL, comments left alone."""
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        code = line.partition("--")[0]
        for pattern, new in _SQL:
            for match in re.finditer(pattern, code):
                changed = line[: match.start()] + new + line[match.end() :]
                told = f"{match.group().strip()} -> {new.strip() or 'nothing'}"
                yield number + 1, told, "".join([*lines[:number], changed, *lines[number + 1 :]])


def faults(name: str, text: str) -> Iterator[tuple[int, str, str]]:
    """Every fault of a file."""
    yield from (python_faults if name.endswith(".py") else sql_faults)(text)


def survivors(names: list[str]) -> tuple[int, list[str]]:
    """How many faults were planted in the files, and those that no test noticed."""
    planted, found = 0, []
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        copy = Path(folder) / "project"
        skip = shutil.ignore_patterns(".git", ".venv", "data", "docs", "build", "corpus", "facts")
        shutil.copytree(ROOT, copy, ignore=skip)
        for name in names:
            path = copy / name
            text = path.read_text(encoding="utf-8")
            if _is_noticed(copy, FILES[name]):
                raise SystemExit(f"the tests of {name} fail without any fault")
            for number, told, changed in faults(name, text):
                path.write_text(changed, encoding="utf-8")
                planted += 1
                line = changed.splitlines()[number - 1].strip()
                if line in EXPLAINED or _is_noticed(copy, FILES[name]):
                    continue
                found.append(f"{name}:{number}: {told}: {line}")
                print(f"SURVIVED {found[-1]}", flush=True)
            path.write_text(text, encoding="utf-8")
    return planted, found


def _is_noticed(copy: Path, tests: tuple[str, ...]) -> bool:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    try:
        done = subprocess.run(  # noqa: S603 (our own tests)
            command, cwd=copy, env=environment, capture_output=True, timeout=300
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


if __name__ == "__main__":
    count, left = survivors(sys.argv[1:] or list(FILES))
    print(f"{count} faults, {len(left)} that no test noticed")
    sys.exit(bool(left))
