"""Which files of the package a test file really uses, to judge what `selection` says it needs.

    python -m tests.house.observed OUTPUT.json tests/exact/test_choose.py ...

runs each test file and writes, for each, the files of the package of which a function ran. What runs while a module
is imported does not count: a package's `__init__.py` imports more than anybody uses.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import FrameType

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = str(ROOT / "src" / "dpselect")


class Observer:
    """The plugin: during a test, notes the file of every function of the package that is called."""

    def __init__(self) -> None:
        self.used: dict[str, set[str]] = {}
        self._now: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._now = self.used.setdefault(item.path.relative_to(ROOT).as_posix(), set())
        sys.setprofile(self._see)
        try:
            return (yield)
        finally:
            sys.setprofile(None)

    def _see(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call":
            return
        path = ours(frame.f_code.co_filename)
        if path is not None and path not in self._now and not importing(frame):
            self._now.add(path)


@cache
def ours(file: str) -> str | None:
    """The path of a file of the package in the checkout; None of any other file. Asked of every call."""
    return Path(file).relative_to(ROOT).as_posix() if file.startswith(PACKAGE) else None


def importing(frame: FrameType | None) -> bool:
    """Does it run because a module of the package is being imported?"""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(PACKAGE):
            return True
        frame = frame.f_back
    return False


def main(output: str, files: list[str]) -> int:
    """Run the files, write what they use."""
    observer = Observer()
    status = pytest.main(["-q", "-p", "no:cacheprovider", *files], plugins=[observer])
    Path(output).write_text(json.dumps({test: sorted(used) for test, used in observer.used.items()}))
    return int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
