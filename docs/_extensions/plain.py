"""The site for programs that read text: beside each page `NAME.md`, and `llms.txt` with the titles of all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from repository import AWAY
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


def read(app: Sphinx, page: str, source: list[str]) -> None:
    """Keep the text of a page, with all that is made in it."""
    _texts(app.env)[page] = source[0]


def merged(_app: Sphinx, env: BuildEnvironment, _names: set[str], other: BuildEnvironment) -> None:
    """Take over what another process read."""
    _texts(env).update(_texts(other))


def finished(app: Sphinx, error: Exception | None) -> None:
    """Write the texts of all pages, and their list."""
    if error is not None or app.builder.format != "html":
        return
    for page in app.env.found_docs:
        up = "../" * page.count("/")
        text = _texts(app.env)[page].replace(AWAY, f"{up}files/")
        (Path(app.outdir) / f"{page}.md").write_text(text, "utf-8")
    (Path(app.outdir) / "llms.txt").write_text("\n".join(_list(app.env, app.config.root_doc)) + "\n", "utf-8")


def _list(env: BuildEnvironment, root: str) -> Iterator[str]:
    yield f"# {env.titles[root].astext()}"
    summary = _texts(env)[root].partition("\n\n")[2].partition("\n\n")[0]
    yield from ("", f"> {' '.join(summary.split())}")
    for section in env.toctree_includes[root]:
        yield from ("", f"## {env.titles[section].astext()}", "")
        for page in (section, *_below(env, section)):
            yield f"- [{env.titles[page].astext()}]({page}.md)"


def _below(env: BuildEnvironment, page: str) -> Iterator[str]:
    for one in env.toctree_includes.get(page, ()):
        yield one
        yield from _below(env, one)


def _texts(env: BuildEnvironment) -> dict[str, str]:
    found: dict[str, str] = env.__dict__.setdefault("plain_texts", {})
    return found


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx asks of an extension."""
    app.connect("source-read", read, priority=700)  # after what is made, and the links
    app.connect("env-merge-info", merged)
    app.connect("build-finished", finished)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
