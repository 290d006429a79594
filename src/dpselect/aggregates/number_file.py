"""NumberFile: whole numbers one after the other, in a file that only this user may open and that is gone with it.

Whatever goes wrong with it is an error of ours: no path and no number of anybody is in its text.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dpselect._ground.temporary import Folder
from dpselect.errors import OutputError

if TYPE_CHECKING:
    import numpy.typing as npt

Whole: TypeAlias = "npt.NDArray[np.integer[Any]]"


class NumberFile:
    """Written by `add`, then read by `parts`; the folder stays for as long as one of its files is used."""

    def __init__(self, folder: Folder, name: str, kind: type[np.integer[Any]]) -> None:
        self._folder = folder
        self._path = Path(folder.path) / name
        self._kind: np.dtype[np.integer[Any]] = np.dtype(kind)
        self.length: int = 0

    def add(self, numbers: Whole) -> None:
        """Write these behind those that are there."""
        if not len(numbers):
            return
        with _output_errors("written"), open(self._path, "ab", opener=_private) as file:
            file.write(np.ascontiguousarray(numbers, dtype=self._kind).data)
        self.length += len(numbers)

    def parts(self, lengths: Iterable[int]) -> Iterator[Whole]:
        """Yield the numbers from the first on, so many at a time."""
        if not self.length:
            for length in lengths:
                with _output_errors("read"):
                    if length:
                        raise OSError(None, "it is shorter than it was")
                yield np.empty(0, dtype=self._kind)
            return
        with contextlib.ExitStack() as stack:
            with _output_errors("read"):
                file = stack.enter_context(self._path.open("rb"))
            for length in lengths:
                with _output_errors("read"):
                    part = np.fromfile(file, dtype=self._kind, count=length)
                    if len(part) != length:
                        raise OSError(None, "it is shorter than it was")
                yield part

    def read_and_remove(self) -> Whole:
        """Read all numbers at once; the file is gone then."""
        (values,) = self.parts([self.length])
        self.drop()
        return values

    def drop(self) -> None:
        """Remove the file now."""
        with contextlib.suppress(OSError):
            self._path.unlink()
        self.length = 0


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)


@contextlib.contextmanager
def _output_errors(action: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        hint = "make room; TMPDIR says where temporary files go"
        raise OutputError(f"a temporary file cannot be {action}: {error.strerror}", hint) from None
