"""Text that somebody else wrote, on its way to a terminal: nothing in it may steer one."""

from __future__ import annotations

import re
import sys
from typing import TextIO

# Control characters, and the marks that turn the direction of what follows: with them a name can
# move the cursor, colour what stands elsewhere, or read as another name. Half characters stand for
# bytes of a file's name that are not UTF-8.
_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069"
    "\ud800-\udfff\ufeff]"
)


def visible(text: str) -> str:
    """The text with a space for each character that steers; line breaks and tabs stay."""
    return _STEERING.sub(" ", text)


def in_one_line(text: str) -> str:
    """The same for a cell, which has one line."""
    return visible(text).replace("\n", " ").replace("\t", " ")


def say(text: str, stream: TextIO | None = None) -> None:
    """Print a message or an answer."""
    print(visible(text), file=sys.stdout if stream is None else stream, flush=True)
