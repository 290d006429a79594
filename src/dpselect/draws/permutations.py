"""Random orders, random subsets and random distinct numbers.

The first two sort by random keys, 64-bit words of block, random bits and position. Entries of equal keys are ordered by
new keys of their own, so no number of random bits is too small.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dpselect.draws.entropy import Bits, SystemBits

if TYPE_CHECKING:
    import numpy.typing as npt

Int64: TypeAlias = "npt.NDArray[np.int64]"
UInt64: TypeAlias = "npt.NDArray[np.uint64]"

ENTRIES_PER_SORT = 1 << 16  # entries sorted at once: half a MB, which fits into a processor's cache
NUMBER_BITS = 31  # bits of a distinct number


def order(bits: Bits, n: int) -> Int64:
    """Return 0 .. n - 1 in a uniformly random order."""
    return by_random_key(bits, np.zeros(n, dtype=np.uint64)).astype(np.int64)


def sample(bits: Bits, offsets: Int64, max_per_block: int) -> Int64:
    """Keep a uniformly random `max_per_block` positions of every block, or all, in ascending order."""
    sizes = np.diff(offsets)
    large = np.flatnonzero(sizes > max_per_block)
    keep = np.ones(int(offsets[-1] - offsets[0]), dtype=bool)
    for blocks in _parts(large, sizes[large]):
        block_sizes = sizes[blocks]
        ends, excess = np.cumsum(block_sizes), block_sizes - max_per_block
        block = np.repeat(np.arange(len(blocks), dtype=np.uint64), block_sizes)
        lost = np.repeat(ends - np.cumsum(excess), excess) + np.arange(excess.sum())
        moved = np.repeat(offsets[blocks] - offsets[0] - (ends - block_sizes), excess)
        keep[by_random_key(bits, block)[lost].astype(np.int64) + moved] = False
    kept_positions: Int64 = np.flatnonzero(keep) + offsets[0]
    return kept_positions


def distinct(n: int, taken: Int64, bits: Bits | None = None, size: int = NUMBER_BITS) -> Int64:
    """Return n different numbers of `size` bits, none of them taken, in a uniformly random order of such numbers.

    They are the first n new ones of a sequence of independent uniform numbers. So each list of them has the same
    probability, and what is left of a list without one of its entries is distributed as if that had never been asked.
    """
    bits, numbers = bits or SystemBits(), taken
    while len(numbers) < len(taken) + n:
        fresh = bits.words(len(taken) + n - len(numbers)) >> np.uint64(64 - size)
        candidates = np.concatenate([numbers, fresh.astype(np.int64)])
        numbers = candidates[np.sort(np.unique(candidates, return_index=True)[1])]
    return numbers[len(taken) :]


def _parts(blocks: Int64, sizes: Int64) -> Iterator[Int64]:
    """Divide the blocks into runs of about PART entries; a longer block is one run."""
    if len(blocks):
        ends = np.cumsum(sizes)
        cuts = np.searchsorted(ends, np.arange(ENTRIES_PER_SORT, int(ends[-1]), ENTRIES_PER_SORT))
        yield from (run for run in np.split(blocks, cuts) if len(run))  # equal cuts leave empty ones


def by_random_key(bits: Bits, blocks: UInt64) -> UInt64:
    """Order the positions 0, 1, ... of entries by block, those of a block in a uniformly random order.

    `blocks` rises from 0 without gaps. A key needs at least one random bit: there are fewer than 2^32 entries,
    or one block.
    """
    n = len(blocks)
    if n < 2:
        return np.arange(n, dtype=np.uint64)
    below = np.uint64((n - 1).bit_length())
    free = np.uint64(64 - int(below) - int(blocks[-1]).bit_length())
    keys = bits.words(n) >> (np.uint64(64) - free)
    keys |= blocks << free
    keys <<= below
    keys |= np.arange(n, dtype=np.uint64)
    keys.sort()
    order = keys & ((np.uint64(1) << below) - np.uint64(1))
    keys >>= below
    same = keys[1:] == keys[:-1]
    if same.any():
        _again(bits, order, same)
    return order


def _again(bits: Bits, order: UInt64, same: npt.NDArray[np.bool_]) -> None:
    """Put every run of equal keys in a random order; same[i] says that entries i and i + 1 have equal keys."""
    after = np.concatenate([[False], same])
    tied = np.flatnonzero(after | np.concatenate([same, [False]]))
    runs = np.cumsum(~after[tied]) - 1
    order[tied] = order[tied][by_random_key(bits, runs.astype(np.uint64))]
