"""Text from submissions and other strangers, made safe to print on a terminal."""

from __future__ import annotations

import re
import sys
from typing import TextIO

# Control characters, and marks that change the direction of text: with them a name can move the
# cursor, colour other text, or look like another name. Lone surrogates stand for the bytes of a
# file name that are not UTF-8.
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069"
    "\ud800-\udfff\ufeff]"
)


def visible(text: str) -> str:
    """Returns the text with a space for each control character; line breaks and tabs stay."""
    return _CONTROL.sub(" ", text)


def in_one_line(text: str) -> str:
    """Returns the text with a space for each control character, line break and tab."""
    return visible(text).replace("\n", " ").replace("\t", " ")


def say(text: str, stream: TextIO | None = None) -> None:
    """Print a message or an answer, by default to stdout."""
    print(visible(text), file=sys.stdout if stream is None else stream, flush=True)
