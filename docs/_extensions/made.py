"""What pages say that the code knows: a line `<!-- made: NAME ARGUMENT -->` of a page becomes Markdown made from code.

Help of commands, signatures, tables of methods, operations over HTTP: none can be older than the code that it is about,
because nobody writes it down. What makes each is in a file of its own, and is imported when a page asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import SphinxError

LINE = re.compile(r"^<!-- made: ([\w-]+)(?: (.+?))? -->$", re.MULTILINE)
MAKERS = {
    "api": "made_api:api",
    "audit": "made_audit:files",
    "audit-adapters": "made_audit:adapters",
    "audit-adapter-files": "made_audit:adapter_table",
    "audit-load": "made_audit:load",
    "audit-others": "made_audit:others",
    "audit-rooms": "made_audit:rooms",
    "commands": "made_commands:commands",
    "engines": "made_methods:engines",
    "errors": "made_errors:errors",
    "file": "made_files:file",
    "http": "made_http:operations",
    "json": "made_json:example",
    "methods": "made_methods:methods",
    "pages": "made_files:pages",
    "parameters": "made_parameters:parameters",
    "part": "made_files:part",
    "problems": "made_http:problems",
    "settings": "made_settings:settings",
    "tasks": "made_tasks:tasks",
    "types": "made_types:types",
}


def maker(name: str) -> Callable[[str, str], str]:
    """What makes this: a function of the page's name and the argument."""
    if name not in MAKERS:
        raise SphinxError(f"nothing makes {name}; there are {', '.join(sorted(MAKERS))}")
    module, _, function = MAKERS[name].partition(":")
    found: Callable[[str, str], str] = getattr(import_module(module), function)
    return found


def filled(text: str, page: str) -> str:
    """A page with all that is made put into it."""
    return LINE.sub(partial(_made, page=page), text)


def _made(line: re.Match[str], page: str) -> str:
    return maker(line[1])(page, line[2] or "")


def read(_app: Sphinx, page: str, source: list[str]) -> None:
    """Fill a page as it is read."""
    source[0] = filled(source[0], page)


def outdated(_app: Sphinx, env: BuildEnvironment, *_names: set[str]) -> list[str]:
    """Pages with something made are read at every build: the code may have changed, which no page shows."""
    return [page for page in env.found_docs if LINE.search(Path(env.doc2path(page)).read_text("utf-8"))]


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx asks of an extension."""
    app.connect("source-read", read, priority=400)
    app.connect("env-get-outdated", outdated)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
