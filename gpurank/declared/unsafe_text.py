"""Patterns of what may not be stored or shown: e-mail addresses and terminal control characters.

This is their one home. Readers blank what they match, and checks prove that nothing is left.
"""

from __future__ import annotations

import re

#: An e-mail address in text. It begins where a word does, so that a long text without an address
#: takes linear time.
EMAIL_ADDRESS = re.compile(
    r"(?<![\w.+-])[\w.+-]++@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}(?![A-Za-z0-9_])"
)
#: The same for RE2, which DuckDB uses and which has no look-around; the @ may be escaped in JSON.
EMAIL_ADDRESS_RE2 = (
    r"[A-Za-z0-9_.+-](@|\\u0040)[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.[A-Za-z]{2,}($|[^A-Za-z0-9_])"
)
#: Control characters, and the marks that turn the direction of text or take no room: with them a
#: name can move the cursor, colour other text, or read as another name. The inside of a character
#: class; tab and line break are not in it.
CONTROL_CHARACTERS = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff"
)
