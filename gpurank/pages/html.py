"""The frame of the readable pages: one self-contained HTML document, light or dark, any width.

Pure: text in, text out. Nothing is loaded from a network, and no script runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_STYLE = """
:root { color-scheme: light dark; --line: #c8ccd2; --bad: #b3261e; --warn: #8a5a00; --good: #1d6b34;
  --soft: #f3f4f6; --dim: #5b616b; --paper: #fff; --ink: #14202e; --link: #0b57b0; }
@media (prefers-color-scheme: dark) { :root { --line: #454a52; --bad: #ff8a80; --warn: #f2bd5c;
  --good: #7bd694; --soft: #22252a; --dim: #a3a9b3; --paper: #14181d; --ink: #e8edf3;
  --link: #7db8ff; } }
html { background: var(--paper); color: var(--ink); } a { color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; margin: .75rem 0; font-size: .9rem; }
caption { text-align: left; font-weight: 600; padding: .25rem 0; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem;
  border-bottom: 1px solid var(--line); overflow-wrap: break-word; }
thead th { background: var(--soft); } tbody th { font-weight: normal; }
.number { text-align: right; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
.wide th, .wide td { white-space: nowrap; overflow-wrap: normal; }
.dim { color: var(--dim); }
.critical, .error { color: var(--bad); font-weight: 600; }
.warning { color: var(--warn); font-weight: 600; }
.passed { color: var(--good); } .scroll { overflow-x: auto; }
summary { cursor: pointer; font-weight: 600; padding: .3rem 0; }
code { font-family: ui-monospace, monospace; overflow-wrap: anywhere; }
:is(td, th):has(> code) { min-width: 9rem; }
.kind { overflow-wrap: break-word; }
@media (max-width: 40rem) { body { margin: 1rem auto; } th, td { padding: .3rem .4rem; } }
""".strip()


def document(title: str, body: Sequence[str]) -> str:
    """A whole page, UTF-8; the parts of ``body`` are HTML already, empty ones are left out."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{_STYLE}\n</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(part for part in body if part)
        + "\n</main>\n</body>\n</html>\n"
    )


def table(
    caption: str,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    numbers: Sequence[int] = (),
    is_wide: bool = False,
) -> str:
    """A table of cells that are HTML already; the first cell of a row is its heading.

    ``numbers`` are the places of columns that hold numbers; a wide table scrolls and never wraps.
    """
    kinds = [' class="number"' if place in numbers else "" for place in range(len(head))]
    heading = "".join(
        f'<th scope="col"{kind}>{escape(name)}</th>' for name, kind in zip(head, kinds, strict=True)
    )
    lines = []
    for row in rows:
        pairs = zip(row[1:], kinds[1:], strict=True)
        cells = "".join(f"<td{kind}>{cell}</td>" for cell, kind in pairs)
        lines.append(f'<tr><th scope="row">{row[0]}</th>{cells}</tr>')
    label = escape(caption)
    shape = ' class="wide"' if is_wide else ""
    return (
        f'<div class="scroll" role="region" aria-label="{label}" tabindex="0">'
        f"<table{shape}>\n<caption>{label}</caption>\n"
        f"<thead><tr>{heading}</tr></thead>\n<tbody>\n"
        + "\n".join(lines)
        + "\n</tbody></table></div>"
    )
