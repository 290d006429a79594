"""Pages for everybody: what scrolls can be reached by keyboard, landmarks have names, and each page has a heading.

The theme leaves these out. What is mended already is left as it is.
"""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

CHANGES = (
    (re.compile(r'(<div class="highlight">)<pre>'), r'\1<pre tabindex="0">'),
    (re.compile(r'(<div class="table-wrapper[^"]*")>'), r'\1 tabindex="0">'),
    (re.compile(r'<aside class="sidebar-drawer">'), '<aside class="sidebar-drawer" aria-label="Pages">'),
    (re.compile(r'(<aside class="toc-drawer[^"]*")>'), r'\1 aria-label="On this page">'),
    (re.compile(r'<th class="head">\s*(?:<p>\s*</p>)?\s*</th>'), "<td></td>"),
    (re.compile(r'(?<!</h1>)(<div id="search-results")'), r"<h1>Search</h1>\1"),
)
# A long signature is a line for each parameter, which is no list of terms.
SIGNATURE = re.compile(r'<dl>\n(<dd><em class="sig-param">.*?)</dl>', re.DOTALL)


def mended(text: str) -> str:
    """The page as everybody can use it."""
    text = SIGNATURE.sub(_lines, text)
    for old, new in CHANGES:
        text = old.sub(new, text)
    return text


def _lines(found: re.Match[str]) -> str:
    return found[1].replace("<dd>", '<span class="sig-line">').replace("</dd>", "</span>")


def finished(app: Sphinx, error: Exception | None) -> None:
    """Mend what was written."""
    if error is None:
        for path in sorted(Path(app.outdir).rglob("*.html")):
            text = path.read_text("utf-8")
            whole = mended(text)
            if whole != text:
                path.write_text(whole, "utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx asks of an extension."""
    app.connect("build-finished", finished)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
