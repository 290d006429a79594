"""Installs a package for a test: its wheel, as its own build backend makes it, on the path of this process."""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flit_core import buildapi

PROJECT = """
[build-system]
requires = ["flit_core>=3.12"]
build-backend = "flit_core.buildapi"

[project]
name = "{name}"
version = "0.1"
description = "A package of a test"

[project.entry-points."{group}"]
given = "{module}:{function}"
"""


@contextmanager
def installed(project: Path, into: Path) -> Iterator[None]:
    """Have the package of a folder with a pyproject.toml installed."""
    before, modules, folder = [*sys.path], {*sys.modules}, os.getcwd()
    os.chdir(project)
    try:
        wheel = buildapi.build_wheel(str(into))
    finally:
        os.chdir(folder)
    place = into / wheel.removesuffix(".whl")
    zipfile.ZipFile(into / wheel).extractall(place)
    sys.path.insert(0, str(place))
    try:
        yield
    finally:
        sys.path[:] = before
        for name in {*sys.modules} - modules:
            if str(place) in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]


@contextmanager
def written(into: Path, code: str, *, group: str = "dpselect.sources", name: str = "dps-broken") -> Iterator[None]:
    """Have a package installed whose one entry point is the function `opens` of this code."""
    module, folder = name.replace("-", "_"), into / name
    folder.mkdir()
    (folder / f"{module}.py").write_text(f'"""A package of a test."""\n{code}\n')
    (folder / "pyproject.toml").write_text(PROJECT.format(name=name, group=group, module=module, function="opens"))
    with installed(folder, into):
        yield
