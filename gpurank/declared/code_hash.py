"""Hashes of what code means, so that better wording does not change a version or an analysis."""

from __future__ import annotations

import ast
import hashlib
import json
import threading
from collections.abc import Iterable
from importlib.resources.abc import Traversable

import yaml

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
# Python 3.11 counts the depth of a syntax tree in a place that threads share: two that parse at
# the same time may fail with a SystemError.
_PARSING = threading.Lock()


def hash_of_code(files: Iterable[tuple[str, Traversable]]) -> str:
    """Returns the SHA-256, hexadecimal, of what some source files mean.

    Python counts as its syntax tree without docstrings, SQL without its comment lines, YAML as the
    data it holds; files of any other kind count byte by byte.

    Args:
        files: (name, file) pairs; names count, so that files that swap contents are a change.
    """
    digest = hashlib.sha256()
    for name, file in files:
        data = _meaning(name, file.read_bytes())
        digest.update(f"{name} {len(data)}\n".encode() + data)
    return digest.hexdigest()


def _meaning(name: str, data: bytes) -> bytes:
    if name.endswith(".py"):
        with _PARSING:
            tree = ast.parse(data)
        return "\n".join(_nodes(tree)).encode()
    if name.endswith(".sql"):
        lines = data.splitlines()
        return b"\n".join(line for line in lines if not line.lstrip().startswith(b"--"))
    if name.endswith((".yml", ".yaml")):
        return json.dumps(yaml.safe_load(data), sort_keys=True, default=str).encode()
    return data


def _nodes(tree: ast.AST) -> list[str]:
    """The syntax tree as text. Unlike ast.dump, it is the same in every version of Python."""
    words: list[str] = []

    def walk(value: object) -> None:
        if isinstance(value, ast.AST):
            words.append(type(value).__name__)
            for field in value._fields:
                child = getattr(value, field, None)
                if field == "body":
                    child = _without_docstring(value, child)
                if child not in (None, []):  # newer versions have more fields that are empty
                    words.append(field)
                    walk(child)
        elif isinstance(value, list):
            for child in value:
                walk(child)
        else:
            words.append(repr(value))

    walk(tree)
    return words


def _without_docstring(node: ast.AST, body: object) -> object:
    if isinstance(node, _DOCUMENTED) and isinstance(body, list) and ast.get_docstring(node, False):
        return body[1:]
    return body
