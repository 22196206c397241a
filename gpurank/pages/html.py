"""The HTML toolkit of all pages: Jinja2 templates with autoescape in one shell.

A page is one self-contained file. Its content security policy allows only its own style sheet and
script, by their hashes: no filed text can run, and the browser requests nothing.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from gpurank.pages import numbers

GENERATOR = "gpurank"
"""The generator that a page names in its head; the report uses it to recognise its own pages."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a shown table: its heading and whether it holds numbers."""

    heading: str
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table to be shown; the first cell of a row is its heading, None is shown as a dash.

    The rows of a stacked table become cards on a phone; the cells of a wide one never wrap.
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[object]]
    is_stacked: bool = False
    is_wide: bool = False


@dataclass(frozen=True, slots=True)
class NavigationLink:
    """An entry of the navigation in the page's header."""

    text: str
    address: str
    is_current: bool = False


def render_page(
    template: str,
    *,
    title: str,
    about: str,
    navigation: Sequence[NavigationLink],
    styles: Sequence[str] = (),
    scripts: Sequence[str] = (),
    generator: str = GENERATOR,
    home: str | None = None,
    data: Mapping[str, Any] | None = None,
    **values: Any,
) -> str:
    """Returns a whole page as HTML text with LF line ends.

    Args:
        template: file in templates/ that extends base.html.
        title: the document's title.
        about: one sentence for previews.
        navigation: links in the header.
        styles: files in assets/ that extend style.css.
        scripts: files in assets/ that run in this order, after theme.js.
        generator: the program named in the page's head.
        home: address that the name gpurank in the header links to; None: no link.
        data: what the scripts read, embedded as JSON.
        values: what the template shows.
    """
    style = "\n".join(map(read_asset, ("style.css", *styles)))
    script = "(() => {\n" + "\n".join(map(read_asset, ("theme.js", *scripts))) + "\n})();"
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return str(
        render(
            template,
            title=title,
            about=about,
            navigation=navigation,
            generator=generator,
            home=home,
            data=data,
            style=style,
            script=script,
            policy=policy,
            **values,
        )
    )


def render(template: str, **values: Any) -> Markup:
    """Returns a filled template; every value that is not Markup is escaped.

    Raises:
        jinja2.UndefinedError: the template uses a value that was not passed.
    """
    return Markup(_environment().get_template(template).render(values))  # noqa: S704


def element(name: str, content: object, css_class: str = "") -> Markup:
    """Returns an HTML element with escaped content."""
    if css_class:
        return Markup('<{0} class="{1}">{2}</{0}>').format(name, css_class, content)
    return Markup("<{0}>{1}</{0}>").format(name, content)


def link(address: str | None, text: object) -> Markup:
    """Returns a link, or the escaped text alone where there is no address."""
    if not address:
        return Markup("{}").format(text)
    return Markup('<a href="{}">{}</a>').format(address, text)


def breakable(text: str | None, separator: str = "/") -> Markup | None:
    """Returns a text that may wrap after each separator, so that it does not widen its table."""
    if text is None:
        return None
    return Markup("{}<wbr>").format(separator).join(text.split(separator))


@cache
def read_asset(name: str) -> str:
    """Returns the text of a style sheet or script in assets/, with LF line ends."""
    path = files("gpurank.pages").joinpath("assets", name)
    return path.read_text(encoding="utf-8").replace("\r\n", "\n").strip()


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("gpurank.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )
    # Floats keep their shortest exact form, so that a browser computes with the very same numbers.
    environment.policies["json.dumps_kwargs"] = {
        "ensure_ascii": False,
        "separators": (",", ":"),
        "allow_nan": False,
    }
    environment.filters |= {
        "number": numbers.number,
        "short": numbers.short,
        "count": numbers.count,
    }
    return environment


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"sha256-{digest}"
