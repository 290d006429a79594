"""UserSets: what an engine hands to a set union. The distinct items of every user, as two arrays.

Sets of many users are read in blocks of whole users, here as on disk (`StoredSets`): where a block ends is decided by
the sets alone, so whoever draws block after block draws the same for both.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, Self, TypeAlias, TypeVar

import numpy as np

from dpselect._ground.dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

Int64: TypeAlias = "npt.NDArray[np.int64]"
PAIRS_PER_BLOCK = 1 << 22  # pairs: a block ends with the user who reaches a multiple of it


class Blocks(Protocol):
    """The distinct items of every user, some users at a time."""

    @property
    def size(self) -> int:
        """Codes of items are 0 .. size - 1; some may be of items that nobody has."""
        ...

    def blocks(self) -> Iterator[UserSets]:
        """All users in their order, some at a time."""
        ...


class Sets(Blocks, Protocol):
    """The distinct items of every user, wherever they are. The order of users, and of the items of each, is kept."""

    @property
    def users(self) -> int:
        """The number of users, those without items included."""
        ...

    @property
    def pairs(self) -> int:
        """The number of items that all users have together."""
        ...

    @property
    def longest(self) -> int:
        """The number of items of the user with most of them."""
        ...

    @property
    def label_many(self) -> Callable[[Int64], list[object]] | None:
        """Names many at once, where an engine can do so in one go."""
        ...

    def labels(self, codes: npt.ArrayLike) -> list[object]:
        """Return the names of these codes, in their order. Ask for released items only."""
        ...

    def mapped(self, change: Callable[[UserSets], UserSets]) -> Self:
        """Return the users with each block as `change` changes it: it keeps all users and the codes of items."""
        ...

    def arranged(self, users: Int64, items: Int64 | None) -> Self:
        """Users in this order, the items of each in this order of all items, or in their given order."""
        ...


S = TypeVar("S", bound=Sets)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class UserSets:
    """User v has the items `codes[offsets[v] : offsets[v + 1]]`, each once; `label(code)` names an item.

    `labels(codes)` names many at once; an engine that can do so in one go gives `label_many`.

    Codes are 0 .. size - 1, of which some may be of items that nobody has. A user is one whole person, however many
    rows, files or partitions they came from.
    Neither the order of users nor the numbering of items may decide anything: both depend on the data. The repr shows
    nothing: all of this is private.
    """

    offsets: Int64
    codes: Int64
    size: int
    label: Callable[[int], object]
    label_many: Callable[[Int64], list[object]] | None = None

    def __repr__(self) -> str:
        return "UserSets(private)"

    @property
    def users(self) -> int:
        """The number of users, those without items included."""
        return len(self.offsets) - 1

    @property
    def pairs(self) -> int:
        """The number of items that all users have together."""
        return int(self.offsets[-1] - self.offsets[0])

    @property
    def longest(self) -> int:
        """The number of items of the user with most of them."""
        return int(np.diff(self.offsets).max()) if self.users else 0

    def blocks(self) -> Iterator[UserSets]:
        """All users in their order, some at a time; one block, that may be empty, where they are few."""
        cuts, _ = first_of_blocks(self.offsets[:-1], PAIRS_PER_BLOCK)
        for start, end in zip([0, *cuts], [*cuts, self.users], strict=True):
            if not cuts:
                yield self
                return
            first, last = self.offsets[start], self.offsets[end]
            yield replace(self, offsets=self.offsets[start : end + 1] - first, codes=self.codes[first:last])

    def mapped(self, change: Callable[[UserSets], UserSets]) -> UserSets:
        """Return the users with each block as `change` changes it."""
        changed = [change(block) for block in self.blocks()]
        if len(changed) == 1:
            return changed[0]
        lengths = np.concatenate([np.diff(block.offsets) for block in changed])
        codes = np.concatenate([block.codes for block in changed])
        return replace(changed[0], offsets=offsets_of(lengths), codes=codes)

    def arranged(self, users: Int64, items: Int64 | None) -> UserSets:
        """Return the users in this order, the items of each in this order of all items, or in their given order."""
        lengths = np.diff(self.offsets)
        offsets = offsets_of(lengths[users])
        if items is None:
            indices = np.repeat(self.offsets[:-1][users] - offsets[:-1], lengths[users])
            indices += np.arange(len(indices), dtype=np.int64)
            return replace(self, offsets=offsets, codes=self.codes[indices])
        pairs = np.repeat(inverse(users) << 32, lengths)
        pairs |= inverse(items)[self.codes]
        pairs.sort()
        pairs &= CODE_LIMIT - 1
        return replace(self, offsets=offsets, codes=items[pairs])

    def labels(self, codes: npt.ArrayLike) -> list[object]:
        """Return the names of these codes, in their order. Ask for released items only."""
        requested = np.asarray(codes, dtype=np.int64)
        return [self.label(int(code)) for code in requested] if self.label_many is None else self.label_many(requested)

    @classmethod
    def from_sets(cls, sets: Iterable[Iterable[Hashable]]) -> UserSets:
        """Return the sets of one collection of items per user; an item that is in it twice counts once."""
        code_by_item: dict[Hashable, int] = {}
        codes: list[int] = []
        offsets = [0]
        for items in sets:
            codes.extend(code_by_item.setdefault(item, len(code_by_item)) for item in dict.fromkeys(items))
            offsets.append(len(codes))
        labels = list(code_by_item)
        return cls(
            offsets=np.array(offsets, dtype=np.int64),
            codes=np.array(codes, dtype=np.int64),
            size=len(labels),
            label=lambda code: labels[code],
        )


MAX_ROWS = 2**31 - 1  # so that every code fits into its half of a pair
CODE_LIMIT = 2**32
PART = 1 << 16  # pairs that fit into a processor's cache
NO_CODES = np.empty(0, dtype=np.int64)


def sets_of(pairs: Int64) -> tuple[Int64, Int64]:
    """Offsets and codes of the distinct pairs, each one number: the user's code above the item's.

    Works in place, a part at a time that fits into a processor's cache.
    """
    pairs.sort()
    starts, length, last = [NO_CODES], 0, -1
    for start in range(0, len(pairs), PART):
        part = pairs[start : start + PART]
        new = _first_of_a_run(part)
        new[0] = part[0] != last
        part = part[new]
        begins = _first_of_a_run(part >> 32)
        if len(part):
            begins[0] = part[0] >> 32 != last >> 32
            last = int(part[-1])
        starts.append(np.flatnonzero(begins) + length)
        pairs[length : length + len(part)] = part & (CODE_LIMIT - 1)
        length += len(part)
    return np.concatenate([*starts, [length]]), pairs[:length]


def summed(weigh: Callable[[UserSets], Int64], sets: Blocks) -> Int64:
    """Return the sum over all blocks of what `weigh` gives every item: integers, so exact."""
    total: Int64 | None = None
    for block in sets.blocks():
        block_weights = weigh(block)
        if total is None:
            total = block_weights
        else:
            total += block_weights
    return np.zeros(sets.size, dtype=np.int64) if total is None else total


def numbers_of_users(sets: Blocks) -> Int64:
    """Return the number of users of each item."""
    return summed(lambda block: np.bincount(block.codes, minlength=block.size).astype(np.int64, copy=False), sets)


def first_of_blocks(starts: Int64, due: int) -> tuple[list[int], int]:
    """Return the users that begin a block, from the numbers of pairs before each; the next block is due at `due` pairs.

    With them, when the block after those is due.
    """
    cuts = []
    while (user := int(np.searchsorted(starts, due))) < len(starts):
        cuts.append(user)
        due = (int(starts[user]) // PAIRS_PER_BLOCK + 1) * PAIRS_PER_BLOCK
    return cuts, due


def inverse(order: Int64) -> Int64:
    """Return the position of each number in an order."""
    positions = np.empty(len(order), dtype=np.int64)
    positions[order] = np.arange(len(order), dtype=np.int64)
    return positions


def offsets_of(lengths: Int64) -> Int64:
    """Return where each block of these lengths begins, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def each_once(values: Int64) -> Int64:
    """Sorted numbers, each once."""
    return values[_first_of_a_run(values)]


def _first_of_a_run(values: Int64) -> npt.NDArray[np.bool_]:
    first = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    return first
