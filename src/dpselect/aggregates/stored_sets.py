"""StoredSets: what an engine hands to a set union where it is much. The distinct items of every user, in two files.

Memory holds a block at a time, and where blocks begin. The files are in a private folder, gone with the sets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dpselect._ground.dataclass import dataclass
from dpselect._ground.temporary import Folder
from dpselect.aggregates.number_file import NumberFile
from dpselect.aggregates.sorted_numbers import SortedNumbers
from dpselect.aggregates.user_sets import (
    CODE_LIMIT,
    NO_CODES,
    PAIRS_PER_BLOCK,
    Int64,
    UserSets,
    first_of_blocks,
    inverse,
    offsets_of,
)

if TYPE_CHECKING:
    import numpy.typing as npt

Labels = Callable[[Int64], list[object]]
LengthsAndCodes: TypeAlias = "tuple[npt.NDArray[np.integer[Any]], Int64]"
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
        """The number of users, those without items included."""
        return self.starts[-1][0]

    @property
    def pairs(self) -> int:
        """The number of items that all users have together."""
        return self.starts[-1][1]

    def label(self, code: int) -> object:
        """Return the name of one item."""
        return self.label_many(np.array([code], dtype=np.int64))[0]

    def labels(self, codes: npt.ArrayLike) -> list[object]:
        """Return the names of these codes, in their order. Ask for released items only."""
        return self.label_many(np.asarray(codes, dtype=np.int64))

    def blocks(self) -> Iterator[UserSets]:
        """Yield all users in their order, a block at a time."""
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
        """Return the users with each block as `change` changes it."""
        changed = map(change, self.blocks())
        first_block = next(changed)  # there is a block, if an empty one
        assert first_block.label_many is not None
        parts = ((np.diff(block.offsets), block.codes) for block in chain([first_block], changed))
        return store_sets(parts, first_block.size, first_block.label_many)

    def arranged(self, users: Int64, items: Int64 | None) -> StoredSets:
        """Return the users in this order, the items of each in this order of all items, or by their codes."""
        new_positions = inverse(users)
        ranks = None if items is None else inverse(items)
        lengths = np.zeros(len(users), dtype=np.uint32)
        sorted_pairs = SortedNumbers.expecting(self.pairs, high=max(1, len(users) << 32))
        first = 0
        for block in self.blocks():
            block_lengths = np.diff(block.offsets)
            block_positions = new_positions[first : first + block.users]
            lengths[block_positions] = block_lengths
            sorted_pairs.add(
                np.repeat(block_positions << 32, block_lengths) | (block.codes if ranks is None else ranks[block.codes])
            )
            first += block.users
        return store_sets(_lengths_then_codes(lengths, sorted_pairs, items), self.size, self.label_many)


def store_sets(parts: Iterable[LengthsAndCodes], size: int, label_many: Labels) -> StoredSets:
    """Keep users with their items, in the order in which they come."""
    folder = Folder()
    lengths, codes = NumberFile(folder, "lengths", np.uint32), NumberFile(folder, "codes", np.uint32)
    starts, users, pairs, next_cut, longest = [(0, 0)], 0, 0, PAIRS_PER_BLOCK, 0
    for part_lengths, items in parts:
        pair_starts = offsets_of(part_lengths.astype(np.int64)) + pairs
        cuts, next_cut = first_of_blocks(pair_starts[:-1], next_cut)
        starts += [(users + cut, int(pair_starts[cut])) for cut in cuts]
        users, pairs, longest = (
            users + len(part_lengths),
            int(pair_starts[-1]),
            max(longest, int(part_lengths.max(initial=0))),
        )
        lengths.add(part_lengths)
        codes.add(items)
    starts.append((users, pairs))
    return StoredSets(
        size=size, label_many=label_many, starts=tuple(starts), longest=longest, lengths=lengths, codes=codes
    )


def stored_pairs(sorted_pairs: SortedNumbers, size: int, label_many: Labels) -> StoredSets:
    """Return the sets of pairs, each one number, the user's code above the item's."""
    return store_sets(_sets_of(sorted_pairs.parts()), size, label_many)


def _sets_of(parts: Iterable[Int64]) -> Iterator[LengthsAndCodes]:
    """Yield the items as they come, and the numbers of each user once the next begins: parts may cut a user in two."""
    user, begun, pairs_read = -1, NO_CODES, 0
    for pairs in parts:
        pair_users = pairs >> 32
        begins = np.flatnonzero(np.diff(pair_users, prepend=user)) + pairs_read
        begun = np.append(begun, begins)
        yield np.diff(begun), pairs & (CODE_LIMIT - 1)
        user = int(pair_users[-1]) if len(pair_users) else user
        begun, pairs_read = begun[-1:], pairs_read + len(pairs)
    yield np.diff(np.append(begun, pairs_read) if len(begun) else begun), NO_CODES


def _lengths_then_codes(
    lengths: npt.NDArray[np.uint32], sorted_pairs: SortedNumbers, items: Int64 | None
) -> Iterator[LengthsAndCodes]:
    """Yield the number of items of all users, and then the items."""
    for start in range(0, len(lengths), PAIRS_PER_BLOCK):
        yield lengths[start : start + PAIRS_PER_BLOCK], NO_CODES
    for pairs in sorted_pairs.parts():
        codes = pairs & (CODE_LIMIT - 1)
        yield NO_CODES, codes if items is None else items[codes]
