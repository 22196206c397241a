"""The outer document: styles and scripts inside, and a policy that lets nothing else in."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape

from gpurank.pages.report.parts import filled, template

GENERATOR = "gpurank report"


def document(title: str, about: str, body: str, scripts: Sequence[str], data: str = "{}") -> str:
    """A whole HTML page, UTF-8, LF.

    The content security policy names the hashes of the page's own style and script: nothing that
    a filed text might smuggle in would run, and the browser makes no request at all.

    Args:
        title: the document's title.
        about: one sentence for previews.
        body: HTML of the page between header and footer.
        scripts: file names in templates/, run in this order.
        data: JSON for the scripts, already safe to embed.
    """
    style = template("style.css")
    script = "(() => {\n" + "\n".join(template(name) for name in scripts) + "\n})();"
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    values = {
        "title": escape(title),
        "about": escape(about),
        "generator": GENERATOR,
        "policy": policy,
        "style": style,
        "script": script,
        "data": data,
        "body": body,
    }
    return filled("document.html", values) + "\n"


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"sha256-{digest}"
