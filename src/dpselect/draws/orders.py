"""Random orders and random subsets: sort by lots, 64-bit words of block, random bits and place.

Entries whose lots are equal are put in order by new lots of their own, so no number of bits is too small.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from dpselect.draws.bits import Bits

Int64 = npt.NDArray[np.int64]
UInt64 = npt.NDArray[np.uint64]

PART = 1 << 20  # entries sorted at once: 8 MB, which a processor keeps near


def order(bits: Bits, n: int) -> Int64:
    """0 .. n - 1 in a uniformly random order."""
    return by_lot(bits, np.zeros(n, dtype=np.uint64)).astype(np.int64)


def sample(bits: Bits, offsets: Int64, most: int) -> Int64:
    """Places to keep, ascending: of every block a uniformly random `most`, or all where there are no more."""
    sizes = np.diff(offsets)
    large = np.flatnonzero(sizes > most)
    keep = np.ones(int(offsets[-1] - offsets[0]), dtype=bool)
    for blocks in _parts(large, sizes[large]):
        ends = np.cumsum(sizes[blocks])
        starts = ends - sizes[blocks]
        block = np.repeat(np.arange(len(blocks)), sizes[blocks])
        lost = np.flatnonzero(np.arange(len(block)) - starts[block] >= most)
        moved = (offsets[blocks] - offsets[0] - starts)[block[lost]]
        keep[by_lot(bits, block.astype(np.uint64))[lost].astype(np.int64) + moved] = False
    kept: Int64 = np.flatnonzero(keep) + offsets[0]
    return kept


def _parts(blocks: Int64, sizes: Int64) -> Iterator[Int64]:
    """The blocks in runs of about PART entries; a longer block is one run."""
    if len(blocks):
        ends = np.cumsum(sizes)
        cuts = np.unique(np.searchsorted(ends, np.arange(PART, int(ends[-1]), PART)))
        yield from (run for run in np.split(blocks, cuts) if len(run))


def by_lot(bits: Bits, blocks: UInt64) -> UInt64:
    """The places 0, 1, ... of entries ordered by block, those of a block in a uniformly random order.

    `blocks` rises from 0 without gaps. A lot needs one random bit at least: there are fewer than 2^32 entries,
    or one block.
    """
    n = len(blocks)
    if n < 2:
        return np.arange(n, dtype=np.uint64)
    below = np.uint64((n - 1).bit_length())
    free = np.uint64(64 - int(below) - int(blocks[-1]).bit_length())
    lots = blocks << free | bits.words(n) >> (np.uint64(64) - free)
    lots = lots << below | np.arange(n, dtype=np.uint64)
    lots.sort()
    places = lots & ((np.uint64(1) << below) - np.uint64(1))
    lots >>= below
    same = lots[1:] == lots[:-1]
    if same.any():
        _again(bits, places, same)
    return places


def _again(bits: Bits, places: UInt64, same: npt.NDArray[np.bool_]) -> None:
    """Put every run of equal lots in a random order; same[i] says that entries i and i + 1 are equal."""
    after = np.concatenate([[False], same])
    tied = np.flatnonzero(after | np.concatenate([same, [False]]))
    runs = np.cumsum(~after[tied]) - 1
    places[tied] = places[tied][by_lot(bits, runs.astype(np.uint64))]
