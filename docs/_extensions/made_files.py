"""Pages that are files elsewhere in the repository, and tables of the pages of a folder."""

from __future__ import annotations

from repository import DOCS, ROOT, led
from sphinx.errors import SphinxError


def file(page: str, name: str) -> str:
    """The text of a Markdown file outside `docs/`, with links that fit the page it becomes."""
    return led((ROOT / name).read_text("utf-8"), ROOT / name, DOCS / f"{page}.md")


def pages(page: str, folder: str) -> str:
    """The contents of a folder of pages: a hidden toctree of all, in the order of their names."""
    here = (DOCS / f"{page}.md").parent
    found = sorted((here / folder).resolve().glob("*.md"))
    names = [f"/{path.relative_to(DOCS).with_suffix('').as_posix()}" for path in found]
    return "\n".join(["```{toctree}", ":maxdepth: 1", "", *names, "```"])


def part(page: str, argument: str) -> str:
    """One section of a Markdown file outside `docs/`, with its heading."""
    name, _, title = argument.partition(" ")
    text = (ROOT / name).read_text("utf-8")
    mark = f"\n## {title}\n"
    if mark not in text:
        raise SphinxError(f"{name} has no section {title}")
    section = text.partition(mark)[2].partition("\n## ")[0]
    return led(f"{mark}{section}".strip(), ROOT / name, DOCS / f"{page}.md")
