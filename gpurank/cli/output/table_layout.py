"""Which columns a terminal has room for. Rich wraps the text of those that are shown.

No cell is cut. If a table is too wide, headings wrap first, then columns with the same value in
every row are shown once beside the table, then text wraps, then the least important columns are
left out, by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

_GAP = 2
_EDGES = 2
# Text in a narrower column can hardly be read.
_NARROWEST_TEXT = 9


@dataclass(frozen=True, slots=True)
class Column:
    """A heading and its cells, as they are printed; widths in characters."""

    heading: str
    cells: tuple[str, ...]
    is_number: bool

    @property
    def full_width(self) -> int:
        """Width at which nothing wraps."""
        return max(map(cell_len, (self.heading, *self.cells)))

    @property
    def cell_width(self) -> int:
        """Width at which only the heading wraps, between words."""
        return max(map(cell_len, (*self.heading.split(), *self.cells)), default=0)

    @property
    def least_width(self) -> int:
        """Least readable width: numbers never wrap."""
        return self.cell_width if self.is_number else min(self.cell_width, _NARROWEST_TEXT)


@dataclass(frozen=True, slots=True)
class Layout:
    """Columns to show, constant ones as (heading, value), and headings of those left out."""

    columns: tuple[Column, ...]
    constants: tuple[tuple[str, str], ...] = ()
    left_out: tuple[str, ...] = ()


def choose_columns(
    columns: Sequence[Column], width: int | None, drop: Sequence[str] = ()
) -> Layout:
    """Returns the columns that fit into ``width`` characters; None: no limit.

    ``drop`` names the headings to leave out first, in that order; then columns go from the right.
    The first column always stays.
    """
    shown = list(columns)
    if width is None or total_width(column.full_width for column in shown) <= width:
        return Layout(tuple(shown))
    constants: list[tuple[str, str]] = []
    for column in reversed(shown[1:]):
        if total_width(column.cell_width for column in shown) <= width:
            break
        if len(column.cells) > 1 and len(set(column.cells)) == 1:
            shown.remove(column)
            constants.insert(0, (column.heading, column.cells[0]))
    left_out: list[str] = []
    while len(shown) > 1 and total_width(column.least_width for column in shown) > width:
        first_to_go = [
            column for heading in drop for column in shown[1:] if column.heading == heading
        ]
        column = first_to_go[0] if first_to_go else shown[-1]
        shown.remove(column)
        left_out.append(column.heading)
    return Layout(tuple(shown), tuple(constants), tuple(left_out))


def total_width(widths: Iterable[int]) -> int:
    """Returns the width of a table with columns of these widths."""
    listed = list(widths)
    return sum(listed) + _GAP * (len(listed) - 1) + _EDGES
