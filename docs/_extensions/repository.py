"""Links to files of the repository that are no pages of the site: each file becomes one, with its lines numbered.

A page may link to `../src/dpselect/_ground/keys.py` as it does in the repository, and a reader of the
site offline finds it.
The README, the changelog and other Markdown outside `docs/` are pages under names of their own (`TAKEN_IN`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache, partial
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import SphinxError
from sphinx.util.osutil import relative_uri

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
AWAY = "https://repository.invalid/"  # stands for a file until the page that shows it is known
TAKEN_IN = {
    "README.md": "index",
    "docs": "index",
    "CHANGELOG.md": "reference/changelog",
    "CONTRIBUTING.md": "why/contributing",
    "SECURITY.md": "why/security",
    "benchmarks/README.md": "why/benchmarks",
    "docs/mechanisms": "why/index",
    "docs/decisions": "why/index",
}
LINK = re.compile(r"(?<!\\)\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1[`~]*[ \t]*$", re.MULTILINE | re.DOTALL)


def led(text: str, home: Path, page: Path) -> str:
    """The text of a file that lies at `home`, with its links as they must be on the page `page`."""
    ends = [0, *(end for fence in FENCE.finditer(text) for end in fence.span()), len(text)]
    parts = [text[start:end] for start, end in pairwise(ends)]
    # What stands between fences is prose; the fences themselves are the odd parts.
    return "".join(
        part if place % 2 else LINK.sub(lambda link: f"]({_led(link[1], home, page)})", part)
        for place, part in enumerate(parts)
    )


def _led(target: str, home: Path, page: Path) -> str:
    path, mark, anchor = target.partition("#")
    if not path or "://" in path or path.startswith(("mailto:", "<")):
        return target
    found = Path(os.path.normpath(home.parent / path))
    if not found.is_relative_to(ROOT):
        raise SphinxError(f"{home.relative_to(ROOT)} links to {target}, which is outside the repository")
    name = found.relative_to(ROOT).as_posix()
    if name in TAKEN_IN:
        return os.path.relpath(DOCS / f"{TAKEN_IN[name]}.md", page.parent) + mark + anchor
    if found.is_relative_to(DOCS) and found.is_file():
        return os.path.relpath(found, page.parent) + mark + anchor
    if not found.exists():
        raise SphinxError(f"{home.relative_to(ROOT)} links to {target}, which does not exist")
    return f"{AWAY}{name}{mark}{anchor}"


def read(_app: Sphinx, page: str, source: list[str]) -> None:
    """Mend the links of a page as it is read."""
    path = DOCS / f"{page}.md"
    source[0] = led(source[0], path, path)


def arrived(app: Sphinx, doctree: nodes.document) -> None:
    """Lead what stands for a file to the page that shows it."""
    page = app.env.docname
    for link in doctree.findall(nodes.reference):
        address = link.get("refuri", "")
        if address.startswith(AWAY):
            name, mark, anchor = address.removeprefix(AWAY).partition("#")
            _shown(app.env).setdefault(page, set()).add(name)
            here = app.builder.get_target_uri(page)
            link["refuri"] = relative_uri(here, app.builder.get_target_uri(f"files/{name}")) + mark + anchor
            link["internal"] = True


def _shown(env: BuildEnvironment) -> dict[str, set[str]]:
    """The files that each page links to, kept from build to build."""
    found: dict[str, set[str]] = env.__dict__.setdefault("repository_files", {})
    return found


def gone(_app: Sphinx, env: BuildEnvironment, page: str) -> None:
    """Forget the links of a page that is read anew."""
    _shown(env).pop(page, None)


def merged(_app: Sphinx, env: BuildEnvironment, _names: set[str], other: BuildEnvironment) -> None:
    """Take over what another process read."""
    _shown(env).update(_shown(other))


def pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield a page for every file that some page links to.

    Such pages are in no table of contents, so those of one folder show the same one, which is slow to make.
    """

    @cache
    def table_of_contents(folder: str, **options: Any) -> str:
        return app.builder._get_local_toctree(f"{folder}/page", **options)

    for name in sorted(set().union(*_shown(app.env).values())):
        path, page = ROOT / name, f"files/{name}"
        body = _listing(path) if path.is_dir() else _code(path)
        context = {"title": name, "body": f"<h1>{escape(name)}</h1>{body}"}
        yield page, {**context, "toctree": partial(table_of_contents, page.rpartition("/")[0])}, "page.html"


def _code(path: Path) -> str:
    text = path.read_text("utf-8")
    try:
        lexer = get_lexer_for_filename(path.name)
    except ClassNotFound:
        lexer = TextLexer()
    shown = highlight(text, lexer, HtmlFormatter(linenos="inline", lineanchors="L", wrapcode=True))
    return f'<div class="highlight">{shown}</div>'


def _listing(folder: Path) -> str:
    names = sorted(f"{path.name}/" if path.is_dir() else path.name for path in folder.iterdir() if path.name[0] != "_")
    return f"<ul>{''.join(f'<li>{escape(name)}</li>' for name in names)}</ul>"


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx asks of an extension."""
    app.connect("source-read", read, priority=600)  # after what is made has been put into the page
    app.connect("doctree-read", arrived)
    app.connect("env-purge-doc", gone)
    app.connect("env-merge-info", merged)
    app.connect("html-collect-pages", pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
