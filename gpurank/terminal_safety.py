"""Text from submissions and other strangers, made safe to print on a terminal."""

from __future__ import annotations

import re
import sys
from typing import TextIO

from gpurank.declared.unsafe_text import CONTROL_CHARACTERS

# Lone surrogates represent bytes of a file name that are not UTF-8.
_CONTROL = re.compile(f"[{CONTROL_CHARACTERS}\ud800-\udfff]")


def visible(text: str) -> str:
    """Returns the text with a space for each control character; line breaks and tabs stay."""
    return _CONTROL.sub(" ", text)


def in_one_line(text: str) -> str:
    """Returns the text with a space for each control character, line break and tab."""
    return visible(text).replace("\n", " ").replace("\t", " ")


def say(text: str, stream: TextIO | None = None) -> None:
    """Print a message or an answer, by default to stdout."""
    print(visible(text), file=sys.stdout if stream is None else stream, flush=True)
