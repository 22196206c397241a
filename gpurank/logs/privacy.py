"""Blanks contact persons in logs before anything is stored.

Submissions name a contact (``submission_poc_name``, ``submission_poc_email``), and e-mail addresses
also occur in free text. Neither says anything about a result. These patterns work on the bytes of
JSON text; gpurank.declared.unsafe_text has those for text.
"""

from __future__ import annotations

import re
from functools import lru_cache

# Anchored at the start of a word, so that a long text without an address takes linear time.
_WORD = rb"[^\s\"'<>()\[\]{},;:=\\|@]"
_ADDRESS = re.compile(
    rb"(?:(?<=[\s\"'<>()\[\]{},;:=\\|@])|\A)" + _WORD + rb"++(?:@|\\u0040)[\w.\-]+\.[A-Za-z]{2,}"
)
_FIELD = re.compile(
    rb"""(poc_(?:name|e?mail)\\*["']?\s{0,9}[:=]\s{0,9})(\\*["'])(.{0,2000}?)(?<!\\)\2""",
    re.DOTALL | re.IGNORECASE,
)


def may_hold_contact(data: bytes) -> bool:
    """Returns whether a text could hold a contact at all; quick, so that few texts need more."""
    return b"@" in data or b"poc_" in data or (b"\\" in data and b"\\u0040" in data)


@lru_cache(4096)
def is_contact_key(key: str | None) -> bool:
    """Returns whether a record's key says that its value is a contact person."""
    if key is None:
        return False
    lowered = key.lower()
    return "poc_" in lowered or "contact" in lowered


def blank_contacts(text: bytes) -> bytes:
    """Returns the text without e-mail addresses and without the values of contact fields."""
    if not may_hold_contact(text):
        return text
    return _ADDRESS.sub(b"", _FIELD.sub(rb"\1\2\2", text))
