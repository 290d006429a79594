"""Numbers sorted on disk: they come in any order and go out in rising order, each once, a part at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpselect.aggregates.number_file import NumberFile
from dpselect.aggregates.user_sets import BLOCK, Int64, each_once
from dpselect.temporary import Folder

MOST_FILES = 64  # over which numbers are spread at once


class SortedNumbers:
    """Numbers from `low` to below `high`, spread over files by size.

    Each file is sorted by itself, one that is too long is spread anew. So memory holds a few blocks of numbers and no
    more, however they are distributed: a number that comes often is written once for each time that some are added.
    """

    def __init__(self, expected: int, *, high: int, low: int = 0, folder: Folder | None = None) -> None:
        files = max(1, min(MOST_FILES, -(-expected // BLOCK), high - low))
        self._folder = Folder() if folder is None else folder
        self._bounds = [low + (high - low) * place // files for place in range(files + 1)]
        self._files = [NumberFile(self._folder, f"{start}-{high}", np.int64) for start in self._bounds[:-1]]

    def add(self, numbers: Int64) -> None:
        """Take these in, which are sorted in place."""
        numbers.sort()
        numbers = each_once(numbers)
        cuts = np.searchsorted(numbers, np.array(self._bounds[1:-1], dtype=np.int64))
        for file, part in zip(self._files, np.split(numbers, cuts), strict=True):
            file.add(part)

    def parts(self) -> Iterator[Int64]:
        """All of them, once: each part sorted, and all below those of later parts."""
        for file, low, high in zip(self._files, self._bounds, self._bounds[1:], strict=False):
            if file.length <= 2 * BLOCK or high - low == 1:
                numbers = file.all().astype(np.int64, copy=False)
                numbers.sort()
                yield each_once(numbers)
                continue
            finer = SortedNumbers(file.length, low=low, high=high, folder=Folder())
            for part in file.parts(_blocks(file.length)):
                finer.add(part.astype(np.int64, copy=False))
            file.drop()
            yield from finer.parts()


def _blocks(length: int) -> Iterator[int]:
    for start in range(0, length, BLOCK):
        yield min(BLOCK, length - start)
