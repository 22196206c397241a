"""HTML building blocks: figures with their footnote, tables, escaped text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files


class Markup(str):
    """Text that is HTML already; any other string is escaped when it is put into a page."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Head:
    """A column: its heading, whether it holds numbers, an explanation."""

    text: str
    is_number: bool = False
    about: str = ""


def html(value: object) -> str:
    """A cell's content: markup as it is, anything else escaped, None as a dash."""
    if value is None or value == "":
        return "–"
    return str(value) if isinstance(value, Markup) else escape(str(value))


def figure(name: str, caption: str, content: str, notes: Sequence[str], basis: str = "") -> str:
    """A chart or table with its caption above and its footnote below.

    ``basis`` says what a derived figure rests on where the common footnote does not.
    """
    lines = [*([basis] if basis else []), *notes]
    return (
        f'<figure id="{name}-figure" aria-labelledby="{name}-caption">'
        f'<figcaption id="{name}-caption">{escape(caption)}</figcaption>\n{content}\n'
        f'<footer class="notes">{"".join(f"<p>{escape(line)}</p>" for line in lines)}</footer>'
        "</figure>"
    )


def table(
    name: str, heads: Sequence[Head], rows: Iterable[Sequence[object]], is_stacked: bool = False
) -> str:
    """A plain table that scrolls sideways where it does not fit; the first cell heads its row.

    A stacked one shows its rows as cards on a phone: its cells then bear their headings, and its
    parts their roles, which the style sheet would take away.
    """
    numeric = [' class="n"' if head.is_number else "" for head in heads]
    part = _roles(is_stacked)
    top = "".join(
        f'<th scope="col"{kind}{part("columnheader")}>{escape(head.text)}</th>'
        for head, kind in zip(heads, numeric, strict=True)
    )
    lines = []
    for row in rows:
        labels = [f' data-label="{escape(head.text)}"' if is_stacked else "" for head in heads]
        cells = [
            f"<td{kind}{label}{part('cell')}>{html(value)}</td>"
            for value, kind, label in zip(row[1:], numeric[1:], labels[1:], strict=True)
        ]
        head = f'<th scope="row"{numeric[0]}{part("rowheader")}>{html(row[0])}</th>'
        lines.append(f"<tr{part('row')}>{head}{''.join(cells)}</tr>")
    shape = ' class="stack"' if is_stacked else ""
    group = part("rowgroup")
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-labelledby="{name}-caption">'
        f'<table{shape}{part("table")} aria-labelledby="{name}-caption">'
        f"<thead{group}><tr{part('row')}>{top}</tr></thead><tbody{group}>"
        + "\n".join(lines)
        + "</tbody></table></div>"
    )


def _roles(is_told: bool) -> Callable[[str], str]:
    return lambda role: f' role="{role}"' if is_told else ""


def link(address: str | None, text: str) -> Markup:
    """A link, or the text alone where there is no address."""
    if not address:
        return Markup(escape(text))
    return Markup(f'<a href="{escape(address)}">{escape(text)}</a>')


def breakable(path: str | None) -> Markup | None:
    """A path that may break after each slash, so that it does not widen its table."""
    return None if path is None else Markup(escape(path).replace("/", "/<wbr>"))


@cache
def template(name: str) -> str:
    """A file of templates/, without the line ends of another system."""
    path = files("gpurank.pages.report").joinpath("templates", name)
    return path.read_text(encoding="utf-8").replace("\r\n", "\n").strip()


def filled(name: str, values: dict[str, str]) -> str:
    """A template with each ``{{key}}`` replaced by its HTML.

    Raises:
        KeyError: the template asks for what was not given.
    """
    pieces = template(name).split("{{")
    text = [pieces[0]]
    for piece in pieces[1:]:
        key, _, rest = piece.partition("}}")
        text.append(values[key] + rest)
    return "".join(text)
