"""Parses the bytes of a system description of any dialect into a tree of plain values.

Sources of the dialects: the v0.5 submission's ``entry.json``, the v0.6 ``key: {...}`` lines that
hold Python literals, JSON since v0.6, with and without trailing commas.
"""

from __future__ import annotations

import ast
import codecs
import json
import math
import re
import warnings
from dataclasses import dataclass, field
from typing import Any, Literal

from gpurank.declared.unsafe_text import EMAIL_ADDRESS

Dialect = Literal["json", "json_trailing_comma", "v06_kv", "v05_entry", "unreadable"]
Level = Literal["info", "warning", "error"]

MAX_BYTES = 4 << 20
MAX_LITERAL = 1 << 16
MAX_DEPTH = 64

# A string token, closed or running to the end of the text, or a comma before a closing bracket.
_TRAILING_COMMA = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|,(?=\s*+[}\]])', re.S)
# Patterns are anchored where a word starts, so that no text is scanned twice.
_KV_LINE = re.compile(r"\s*([A-Za-z_][\w \t.-]*+):\s*(\S.*)")
_BRACKET = re.compile(r"[\[\](){}]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_PRIVATE_KEY = re.compile(
    r"(?:^|[\W_])(?:poc|e-?mails?|authors?|maintainers?|phone)(?:$|[\W_])|poc_|contact", re.I
)
_KV_KEYS = frozenset(("org", "division", "status", "platform", "entry"))
_SHOWN_CONFLICTS = 20


@dataclass(frozen=True, slots=True)
class SystemIssue:
    """Something odd in one description; ``line_number`` is 1-based where a line has it."""

    level: Level
    kind: str
    message: str
    line_number: int | None = None


@dataclass(slots=True)
class Tree:
    """A parsed description: its dialect, its fields and what was odd while reading it."""

    dialect: Dialect
    fields: dict[str, Any] = field(default_factory=dict)
    issues: list[SystemIssue] = field(default_factory=list)


class _Pairs(dict[str, Any]):
    """A JSON object that remembers keys filed twice with different values."""

    conflicts: list[tuple[str, Any, Any]]


def _latin(error: UnicodeError) -> tuple[str, int]:
    """Reads bytes that are not UTF-8 as Windows-1252, so that the rest of the text stays."""
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error("gpurank_cp1252", _latin)


def decode(data: bytes) -> tuple[str, list[SystemIssue]]:
    """Returns the text of a description, with an issue where its bytes are not UTF-8."""
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")):
        if data.startswith(mark):
            text = data.decode(encoding, "replace")
            return text, [SystemIssue("warning", "non_utf8_bytes", "the description is UTF-16")]
    try:
        return data.decode("utf-8-sig"), []
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = "bytes that are not UTF-8 were read as Windows-1252"
        text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "gpurank_cp1252")
        return text, [SystemIssue("warning", "non_utf8_bytes", message, line)]


def _is_private(key: str) -> bool:
    """Returns whether a field's name says that it holds a contact, or is an address itself."""
    return bool(_PRIVATE_KEY.search(key) or EMAIL_ADDRESS.search(key))


def scrub(value: Any) -> Any:
    """Returns a value without contacts, e-mail addresses and characters UTF-8 cannot hold."""
    if isinstance(value, str):
        return EMAIL_ADDRESS.sub("[address removed]", _SURROGATE.sub("\ufffd", value))
    if isinstance(value, dict):
        return {scrub(str(k)): scrub(v) for k, v in value.items() if not _is_private(str(k))}
    if isinstance(value, (list, tuple)):
        return [scrub(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(str(scrub(item)) for item in value)
    if value is None or isinstance(value, (bool, int)):
        return value
    return value if isinstance(value, float) and math.isfinite(value) else scrub(str(value))


def _pairs(items: list[tuple[str, Any]]) -> _Pairs:
    result = _Pairs()
    result.conflicts = []
    for key, value in items:
        if key in result and result[key] != value:
            result.conflicts.append((key, result[key], value))
        result[key] = value
    return result


def _number(text: str) -> Any:
    """Returns a JSON number if its text survives (1.0 stays 1.0); a longer one stays text."""
    try:
        value = float(text)
    except ValueError:
        return text
    return value if repr(value) == text else text


def _integer(text: str) -> Any:
    return int(text) if len(text) < 19 else text


def _loads(text: str) -> Any:
    """Decodes JSON, with control characters in strings; ValueError for all it cannot read."""
    try:
        document = json.loads(
            text,
            strict=False,
            object_pairs_hook=_pairs,
            parse_float=_number,
            parse_int=_integer,
            parse_constant=str,
        )
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return _bounded(document)


def _bounded(document: Any) -> Any:
    """Returns the value if nothing in it is nested deeper than MAX_DEPTH; else ValueError."""
    level: list[Any] = [document]
    for _ in range(MAX_DEPTH):
        level = [
            item
            for node in level
            if isinstance(node, (dict, list, tuple, set))
            for item in (node.values() if isinstance(node, dict) else node)
        ]
        if not level:
            return document
    raise ValueError(f"nested deeper than {MAX_DEPTH}")


def literal(text: str) -> Any:
    """Evaluates a Python literal within bounds on size and depth.

    Raises:
        ValueError: not a literal, or beyond the bounds.
    """
    if len(text) > MAX_LITERAL:
        raise ValueError(f"a literal longer than {MAX_LITERAL} characters")
    depth = 0
    for match in _BRACKET.finditer(text):
        depth += 1 if match[0] in "([{" else -1
        if depth > MAX_DEPTH:
            raise ValueError(f"a literal nested deeper than {MAX_DEPTH}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _bounded(ast.literal_eval(text))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError("not a literal") from error


def _conflicts(tree: Any, text: str) -> list[SystemIssue]:
    """Returns an issue for each key that one object names twice with different values."""
    issues: list[SystemIssue] = []
    stack: list[tuple[Any, str]] = [(tree, "")]
    while stack and len(issues) < _SHOWN_CONFLICTS:
        node, where = stack.pop()
        if isinstance(node, _Pairs):
            for key, first, last in node.conflicts[:_SHOWN_CONFLICTS]:
                at = text.rfind(json.dumps(key, ensure_ascii=False))
                line = text.count("\n", 0, at) + 1 if at >= 0 else None
                a, b = (str(scrub(value))[:80] for value in (first, last))
                message = f"{where}{key} is filed twice, as {a!r} and {b!r}; the last one counts"
                issues.append(SystemIssue("warning", "system_duplicate_key", scrub(message), line))
            stack.extend((value, f"{where}{key}.") for key, value in node.items())
        elif isinstance(node, list):
            stack.extend((value, where) for value in node)
    return issues


def _as_json(text: str) -> Tree | None:
    """Returns the tree of a JSON description; None if it is not a JSON object."""
    dialect: Dialect = "json"
    line = None
    try:
        document = _loads(text)
    except ValueError:
        commas = [match.start() for match in _TRAILING_COMMA.finditer(text) if match[0] == ","]
        line = text.count("\n", 0, commas[0]) + 1 if commas else None
        text = _TRAILING_COMMA.sub(lambda match: "" if match[0] == "," else match[0], text)
        dialect = "json_trailing_comma"
        try:
            document = _loads(text)
        except ValueError:
            return None
    if not isinstance(document, dict):
        return None
    issues = _conflicts(document, text)
    if dialect == "json_trailing_comma":
        message = "a comma before a closing bracket was left out"
        issues.append(SystemIssue("warning", "system_trailing_comma", message, line))
    return Tree(dialect, scrub(document), issues)


def _value(text: str) -> Any:
    """Returns the value of one ``key: ...`` line: JSON or a Python literal, unwrapped."""
    try:
        parsed = _loads(text)
    except ValueError:
        parsed = literal(text)
    if isinstance(parsed, dict) and "value" in parsed:
        return parsed["value"]
    return parsed


def _unfold(value: Any, depth: int = 0) -> Any:
    """Evaluates Python literals inside strings: v0.6 quotes a dict inside a dict."""
    if depth > 4:
        return value
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return _unfold(literal(value.strip()), depth + 1)
        except ValueError:
            return value
    if isinstance(value, dict):
        return {key: _unfold(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_unfold(item, depth + 1) for item in value]
    return value


def _as_kv(text: str) -> Tree | None:
    """Returns the tree of ``key: {...}`` lines; None where no line holds a readable value."""
    tree = Tree("v06_kv")
    for number, line in enumerate(text.splitlines(), start=1):
        match = _KV_LINE.fullmatch(line.rstrip())
        if match is None or match[2][0] not in "{[\"'":
            if line.strip():
                message = "a line that is not 'key: value' was left out"
                tree.issues.append(SystemIssue("warning", "system_line_unread", message, number))
            continue
        key = match[1].rstrip()
        try:
            value = scrub(_unfold(_value(match[2])))
        except ValueError as error:
            message = f"the value of {key!r} could not be read: {error}"
            tree.issues.append(SystemIssue("warning", "system_line_unread", scrub(message), number))
            continue
        if key in tree.fields and tree.fields[key] != value:
            message = f"{key} is filed twice with different values; the last one counts"
            tree.issues.append(
                SystemIssue("warning", "system_duplicate_key", scrub(message), number)
            )
        tree.fields[key] = value
    tree.fields = {key: item for key, item in tree.fields.items() if not _is_private(key)}
    return tree if tree.fields.keys() & _KV_KEYS else None


def parse(data: bytes) -> Tree:
    """Returns the tree of a description of any dialect; else ``unreadable`` with an issue."""
    if len(data) > MAX_BYTES:
        message = f"the description has {len(data)} bytes, more than the limit of {MAX_BYTES}"
        return Tree("unreadable", {}, [SystemIssue("error", "system_unreadable", message)])
    text, issues = decode(data)
    tree = (_as_json(text) or _as_kv(text)) if text.strip() else None
    if tree is None:
        what = "holds no JSON object and no 'key: {…}' lines" if text.strip() else "is empty"
        message = f"the description {what}; its results have no system"
        return Tree("unreadable", {}, [*issues, SystemIssue("error", "system_unreadable", message)])
    tree.issues[:0] = issues
    return tree
