"""StoredSets: what an engine hands to a set union where it is much. The distinct items of every user, in two files.

Memory holds a block at a time, and where blocks begin. The files are in a private folder, gone with the sets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from dpselect._ground.temporary import Folder
from dpselect.aggregates.number_file import NumberFile
from dpselect.aggregates.sorted_numbers import SortedNumbers
from dpselect.aggregates.user_sets import BLOCK, LOW, NOTHING, Int64, UserSets, first_of_blocks, inverse, offsets_of

Labels = Callable[[Int64], list[object]]
Part = tuple[npt.NDArray[np.integer[Any]], Int64]
"""How many items some users have, and some items: either may run ahead of the other."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StoredSets:
    """Block b has the users `starts[b][0]` to `starts[b + 1][0]`, whose items begin at `starts[b][1]`.

    All else is as in `UserSets`, which each block is. The repr shows nothing: all of this is private.
    """

    size: int
    label_many: Labels
    starts: tuple[tuple[int, int], ...]
    longest: int
    lengths: NumberFile
    codes: NumberFile

    def __repr__(self) -> str:
        return "StoredSets(private)"

    @property
    def users(self) -> int:
        """How many users there are, those without items included."""
        return self.starts[-1][0]

    @property
    def pairs(self) -> int:
        """How many items all users have together."""
        return self.starts[-1][1]

    def label(self, code: int) -> object:
        """The name of one item."""
        return self.label_many(np.array([code], dtype=np.int64))[0]

    def labels(self, codes: npt.ArrayLike) -> list[object]:
        """The names of these codes, in their order. Ask for released items only."""
        return self.label_many(np.asarray(codes, dtype=np.int64))

    def blocks(self) -> Iterator[UserSets]:
        """All users in their order, some at a time."""
        users, pairs = np.diff(self.starts, axis=0).T.tolist()
        for lengths, codes in zip(self.lengths.parts(users), self.codes.parts(pairs), strict=True):
            yield UserSets(
                offsets=offsets_of(lengths.astype(np.int64)),
                codes=codes.astype(np.int64),
                size=self.size,
                label=self.label,
                label_many=self.label_many,
            )

    def mapped(self, change: Callable[[UserSets], UserSets]) -> StoredSets:
        """The same users with what `change` makes of each block."""
        changed = map(change, self.blocks())
        one = next(changed)  # there is a block, if an empty one
        assert one.label_many is not None
        parts = ((np.diff(block.offsets), block.codes) for block in chain([one], changed))
        return stored(parts, one.size, one.label_many)

    def arranged(self, users: Int64, items: Int64 | None) -> StoredSets:
        """Users in this order, the items of each in this order of all items, or by their codes, as they are here."""
        places = inverse(users)
        ranks = None if items is None else inverse(items)
        lengths = np.zeros(len(users), dtype=np.uint32)
        sort = SortedNumbers.expecting(self.pairs, high=max(1, len(users) << 32))
        first = 0
        for block in self.blocks():
            own = np.diff(block.offsets)
            where = places[first : first + block.users]
            lengths[where] = own
            sort.add(np.repeat(where << 32, own) | (block.codes if ranks is None else ranks[block.codes]))
            first += block.users
        return stored(_laid_out(lengths, sort, items), self.size, self.label_many)


def stored(parts: Iterable[Part], size: int, label_many: Labels) -> StoredSets:
    """Keep users with their items, in the order in which they come."""
    folder = Folder()
    lengths, codes = NumberFile(folder, "lengths", np.uint32), NumberFile(folder, "codes", np.uint32)
    starts, users, pairs, due, longest = [(0, 0)], 0, 0, BLOCK, 0
    for own, items in parts:
        before = offsets_of(own.astype(np.int64)) + pairs
        cuts, due = first_of_blocks(before[:-1], due)
        starts += [(users + cut, int(before[cut])) for cut in cuts]
        users, pairs, longest = users + len(own), int(before[-1]), max(longest, int(own.max(initial=0)))
        lengths.add(own)
        codes.add(items)
    starts.append((users, pairs))
    found = tuple(starts)
    return StoredSets(size=size, label_many=label_many, starts=found, longest=longest, lengths=lengths, codes=codes)


def stored_pairs(sort: SortedNumbers, size: int, label_many: Labels) -> StoredSets:
    """The sets of pairs, each one number, the user's code above the item's."""
    return stored(_sets_of(sort.parts()), size, label_many)


def _sets_of(parts: Iterable[Int64]) -> Iterator[Part]:
    """The items as they come, and how many each user has, once the next user begins: parts may cut a user in two."""
    user, begun, seen = -1, NOTHING, 0
    for pairs in parts:
        whose = pairs >> 32
        begins = np.flatnonzero(np.diff(whose, prepend=user)) + seen
        begun = np.append(begun, begins)
        yield np.diff(begun), pairs & (LOW - 1)
        user = int(whose[-1]) if len(whose) else user
        begun, seen = begun[-1:], seen + len(pairs)
    yield np.diff(np.append(begun, seen) if len(begun) else begun), NOTHING


def _laid_out(lengths: npt.NDArray[np.uint32], sort: SortedNumbers, items: Int64 | None) -> Iterator[Part]:
    """How many items all users have, and then the items."""
    for start in range(0, len(lengths), BLOCK):
        yield lengths[start : start + BLOCK], NOTHING
    for pairs in sort.parts():
        codes = pairs & (LOW - 1)
        yield NOTHING, codes if items is None else items[codes]
