"""Numbers sorted on disk: they come in any order and go out in rising order, each once, a part at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dpselect._ground.temporary import Folder
from dpselect.aggregates.number_file import NumberFile
from dpselect.aggregates.user_sets import PAIRS_PER_BLOCK, Int64, each_once

MOST_FILES = 64  # over which numbers are spread at once


class SortedNumbers:
    """Numbers from the first to below the last of `bounds`, spread over a file for each pair of neighbouring bounds.

    Each file is sorted by itself, one that is too long is spread anew. So memory holds a few blocks of numbers and no
    more, however they are distributed: a number that comes often is written once for each time that some are added.
    """

    def __init__(self, bounds: Sequence[int]) -> None:
        self._bounds = bounds
        folder = Folder()
        self._files = [NumberFile(folder, str(index), np.int64) for index in range(len(bounds) - 1)]

    @classmethod
    def expecting(cls, number: int, *, high: int) -> SortedNumbers:
        """Return empty parts for about so many numbers, from 0 to below `high`."""
        return cls(_even(0, high, -(-number // PAIRS_PER_BLOCK)))

    def add(self, numbers: Int64) -> None:
        """Take these in, which are sorted in place."""
        numbers.sort()
        numbers = each_once(numbers)
        cuts = np.searchsorted(numbers, np.array(self._bounds[1:-1], dtype=np.int64))
        for file, part in zip(self._files, np.split(numbers, cuts), strict=True):
            file.add(part)

    def parts(self) -> Iterator[Int64]:
        """Yield all numbers, once: each part sorted, and all below those of later parts."""
        for file, low, high in zip(self._files, self._bounds, self._bounds[1:], strict=False):
            if file.length <= 2 * PAIRS_PER_BLOCK or high - low == 1:
                numbers = file.read_and_remove().astype(np.int64, copy=False)
                numbers.sort()
                yield each_once(numbers)
                continue
            finer = SortedNumbers(self._finer(file, low, high))
            for part in file.parts(_blocks(file.length)):
                finer.add(part.astype(np.int64, copy=False))
            file.drop()
            yield from finer.parts()

    def _finer(self, file: NumberFile, low: int, high: int) -> list[int]:
        """Return bounds about a block apart, by a sample of the numbers, and even ones, if it misleads."""
        parts = min(MOST_FILES, 2 * file.length // PAIRS_PER_BLOCK)
        sample = np.sort(next(file.parts([PAIRS_PER_BLOCK])))
        quantiles = sample[np.arange(1, parts) * len(sample) // parts].tolist()
        return sorted({*_even(low, high, 4), *quantiles})


def _even(low: int, high: int, parts: int) -> list[int]:
    """Return the bounds of so many parts of equal size, if there are not too many."""
    files = max(1, min(MOST_FILES, parts, high - low))
    return [low + (high - low) * index // files for index in range(files + 1)]


def _blocks(length: int) -> Iterator[int]:
    for start in range(0, length, PAIRS_PER_BLOCK):
        yield min(PAIRS_PER_BLOCK, length - start)
