"""A Sphinx extension: every page of docs/learn is also a notebook to download, made from the page itself.

The notebook is the page's code with its prose, not run: `site/notebooks/NAME.ipynb`, and a link at the top of the page.
What only the site understands is put plainly: `{eval}` becomes the code whose value the page shows, and a link to
another page, or a picture of one, its words alone.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.util.osutil import relative_uri

if TYPE_CHECKING:
    from nbformat import NotebookNode
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

ROOM = "learn/"
FOLDER = "notebooks"
INLINE = re.compile(r"\{eval\}(`+)(.+?)\1")
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
HIDDEN = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
SAID = """\
*A page of the documentation of dpselect, as a notebook.
Where a sentence has code in the place of a number, run the cells before it and the code has its value.
Install what it needs with `pip install '.[all]'` in a checkout.
The cells write their files into the folder in which they run: use a new one.*"""


def setup(app: Sphinx) -> dict[str, Any]:
    """What Sphinx calls."""
    app.connect("env-before-read-docs", spread)
    app.connect("builder-inited", keep_aside, priority=600)  # after MyST-NB has chosen a folder beside the site
    app.connect("doctree-resolved", add_link)
    app.connect("build-finished", write_all)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def keep_aside(app: Sphinx) -> None:
    """Pictures of cells lie with the other things that Sphinx keeps between builds."""
    folder = str(Path(app.doctreedir) / "cells")
    app.env.mystnb_config = app.env.mystnb_config.copy(output_folder=folder)


def spread(app: Sphinx, _env: BuildEnvironment, pages: list[str]) -> None:
    """Pages whose cells are run take longest: as they lie in one folder, one process would read them all."""
    long = [page for page in pages if is_notebook(app, page)]
    pages[:] = [page for page in pages if page not in long]
    for number, page in enumerate(long):
        pages.insert(number * (len(pages) + len(long)) // len(long), page)


def is_notebook(app: Sphinx, page: str) -> bool:
    """Has this page cells that are run?"""
    if not page.startswith(ROOM):
        return False
    head = Path(app.env.doc2path(page)).read_text("utf-8").split("\n---\n", 1)[0]
    return "file_format: mystnb" in head


def address(page: str) -> str:
    """Where the notebook of a page is, from the site's root."""
    return f"{FOLDER}/{page.removeprefix(ROOM)}.ipynb"


def add_link(app: Sphinx, tree: nodes.document, page: str) -> None:
    """Below the title, if the page has a notebook."""
    if app.builder.format != "html" or not is_notebook(app, page):
        return
    title = next(tree.findall(nodes.title))
    target = escape(relative_uri(app.builder.get_target_uri(page), address(page)))
    text = f'<p class="notebook-link"><a href="{target}" download>Download this page as a notebook</a></p>'
    title.parent.insert(title.parent.index(title) + 1, nodes.raw("", text, format="html"))


def write_all(app: Sphinx, failed: Exception | None) -> None:
    """All notebooks, once the pages are there."""
    if failed is not None or app.builder.format != "html":
        return
    import nbformat

    for page in sorted(app.env.found_docs):
        if is_notebook(app, page):
            file = Path(app.outdir) / address(page)
            file.parent.mkdir(exist_ok=True)
            text = Path(app.env.doc2path(page)).read_text("utf-8")
            nbformat.write(notebook(text), file)


def notebook(text: str) -> NotebookNode:
    """The page as a notebook that any Jupyter opens."""
    import jupytext
    import nbformat

    found = jupytext.reads(text, fmt="md:myst")
    found.cells.insert(0, nbformat.v4.new_markdown_cell(SAID))
    for place, cell in enumerate(found.cells):
        cell.id = f"cell-{place}"  # the same at every build
        if cell.cell_type == "markdown":
            cell.source = plain(cell.source)
        elif HIDDEN & set(cell.metadata.get("tags", ())):
            cell.metadata["jupyter"] = {"source_hidden": True}
    found.metadata = {"kernelspec": found.metadata["kernelspec"], "language_info": {"name": "python"}}
    nbformat.validate(found)
    return found


def plain(text: str) -> str:
    """Prose without what only the site understands."""
    return LINK.sub(_words, INLINE.sub(r"\1\2\1", text))


def _words(link: re.Match[str]) -> str:
    picture, words, target = link.groups()
    return f"*{words}*" if picture else link.group() if "://" in target else words
