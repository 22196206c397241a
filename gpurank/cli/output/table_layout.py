"""Which columns a terminal has room for, and how wide each is: pure, so that it can be tested.

Nothing is cut inside a cell. What does not fit is, in this order: headings wrapped, columns that
say the same in every row told once, text wrapped, the least important columns left out by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len

_GAP = 2
_EDGES = 2
# A text column narrower than this is read letter by letter.
_NARROWEST = 9


@dataclass(frozen=True, slots=True)
class Column:
    """A heading and its cells, as they are printed; ``width`` in characters once it is fitted."""

    head: str
    cells: tuple[str, ...]
    is_number: bool
    width: int = 0

    @property
    def content(self) -> int:
        """Widest cell."""
        return max(map(cell_len, self.cells), default=0)

    @property
    def natural(self) -> int:
        """Width at which nothing wraps."""
        return max(self.content, cell_len(self.head))

    @property
    def with_wrapped_head(self) -> int:
        """Width at which only the heading wraps."""
        return max(self.content, *(cell_len(word) for word in self.head.split() or [""]))

    @property
    def unbroken(self) -> int:
        """Width at which text wraps between words only, as far as a word is not overlong."""
        words = (word for text in (self.head, *self.cells) for word in text.split())
        longest = max(map(cell_len, words), default=0)
        return max(self.least, min(self.with_wrapped_head, longest))

    @property
    def least(self) -> int:
        """Width below which it is better left out: numbers never wrap."""
        return self.with_wrapped_head if self.is_number else min(self.with_wrapped_head, _NARROWEST)


@dataclass(frozen=True, slots=True)
class Fitted:
    """The columns that are shown, those told once (heading, value), and those left out."""

    columns: tuple[Column, ...]
    same: tuple[tuple[str, str], ...] = ()
    left_out: tuple[str, ...] = ()


def fit(columns: Sequence[Column], width: int | None, drop: Sequence[str] = ()) -> Fitted:
    """Columns that fit ``width`` characters; None: no limit.

    ``drop`` names headings in the order in which they may go; others go from the right. The first
    column always stays.
    """
    shown = [replace(one, width=one.natural) for one in columns]
    if width is None or _total(shown) <= width:
        return Fitted(tuple(shown))
    shown = [replace(one, width=one.with_wrapped_head) for one in columns]
    same: list[tuple[str, str]] = []
    for one in reversed(shown[1:]):
        if _total(shown) <= width:
            break
        if len(one.cells) > 1 and len(set(one.cells)) == 1:
            shown.remove(one)
            same.insert(0, (one.head, one.cells[0]))
    left_out = []
    while len(shown) > 1 and _total(shown, least=True) > width:
        gone = _next_to_go(shown, drop)
        shown.remove(gone)
        left_out.append(gone.head)
    return Fitted(tuple(_shrunk(shown, width)), tuple(same), tuple(left_out))


def _total(columns: Sequence[Column], least: bool = False) -> int:
    widths = [min(one.width, one.least) if least else one.width for one in columns]
    return sum(widths) + _GAP * (len(columns) - 1) + _EDGES


def _next_to_go(shown: Sequence[Column], drop: Sequence[str]) -> Column:
    for head in drop:
        for one in shown[1:]:
            if one.head == head:
                return one
    return shown[-1]


def _shrunk(shown: Sequence[Column], width: int) -> list[Column]:
    """Text columns made narrower, always the widest first, until all fit.

    They break between words as long as that is enough, then inside of as few columns as will do.
    """
    fitted = list(shown)
    while (over := _total(fitted) - width) > 0:
        able = [one for one in fitted if one.width > one.unbroken]
        if not able:
            break
        widest = max(able, key=lambda one: one.width)
        second = max((one.width for one in able if one is not widest), default=0)
        target = max(widest.unbroken, min(widest.width - 1, max(second, widest.width - over)))
        fitted[fitted.index(widest)] = replace(widest, width=target)
    for one in sorted(fitted, key=lambda one: -one.width):
        if (over := _total(fitted) - width) > 0:
            target = max(min(one.width, one.least), one.width - over)
            fitted[fitted.index(one)] = replace(one, width=target)
    if _total(fitted) > width:
        # One column alone is wider than the terminal: it folds.
        room = max(1, width - _EDGES)
        return [replace(one, width=min(one.width, room)) for one in fitted]
    return fitted
