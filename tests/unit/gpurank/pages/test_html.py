"""The toolkit: what is not markup is escaped, and a page allows only its own style and script."""

from __future__ import annotations

import base64
import hashlib
import re
from html import unescape

import pytest
from jinja2 import UndefinedError

from gpurank.pages.html import NavigationLink, Table, breakable, element, link, render, render_page

HOSTILE = "<script>alert('x')</script>&\""


def a_page(**values: object) -> str:
    return render_page(
        "data_quality.html",
        title=HOSTILE,
        about=HOSTILE,
        navigation=[NavigationLink(HOSTILE, HOSTILE, True)],
        **{
            "unreconciled": [], "counts": HOSTILE, "by_round": None, "spellings": None,
            "overall": None, "rounds": [],
        }
        | values,
    )  # fmt: skip


def test_helpers_escape_content_and_attributes() -> None:
    assert element("code", "<a>&", "x") == '<code class="x">&lt;a&gt;&amp;</code>'
    assert element("b", element("i", "<")) == "<b><i>&lt;</i></b>"
    assert link('"><script>', "<b>") == '<a href="&#34;&gt;&lt;script&gt;">&lt;b&gt;</a>'
    assert link(None, "<b>") == "&lt;b&gt;"
    assert breakable("a<b/c") == "a&lt;b/<wbr>c"
    assert breakable("a_b", "_") == "a_<wbr>b"
    assert breakable(None) is None


def test_a_missing_value_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        render("chart.svg", name="x")


def test_a_policy_allows_only_the_style_and_script_of_the_page() -> None:
    text = a_page(by_round=Table((), ()))
    assert text.count("<script") == 1 and "alert(&#39;x&#39;)" in text
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert unescape(policy[1]).startswith("default-src 'none'; ")
    for name in ("style", "script"):
        content = re.search(rf"<{name}>(.*?)</{name}>", text, re.DOTALL)
        assert content is not None
        digest = base64.b64encode(hashlib.sha256(content[1].encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}';" in unescape(policy[1])
