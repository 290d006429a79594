"""TokenStream: the n-grams of one length in all messages, as numbers, and the step to the next length.

Level by level: words first, then what two released words in a row can make, then three. An n-gram is a candidate only
if its two parts of n - 1 tokens were released (Kim, Gopi, Kulkarni and Yekhanin, Differentially private n-gram
extraction, 2021). What was released is public, so choosing candidates by it is free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dpselect._ground.dataclass import dataclass
from dpselect.aggregates.user_sets import CODE_LIMIT, Sets, UserSets, each_once, offsets_of
from dpselect.errors import ParameterError

if TYPE_CHECKING:
    import numpy.typing as npt

Int64: TypeAlias = "npt.NDArray[np.int64]"
Gram = tuple[str, ...]
"""The tokens of an n-gram; its label joins them by one space."""
GAP = CODE_LIMIT - 1  # no code is that large
NO_CODES = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TokenStream:
    """All n-grams of one length, user after user and message after message, as numbers.

    `entries` has for every user the n-gram that begins at each token, or GAP where none does, and GAP at the end of
    each message. So of two entries that follow each other, neither GAP, both stand in one message, one token apart.
    They are kept as the items of users are, in memory or on disk, and read in blocks of whole users. Codes are
    0 .. size - 1; how they and users are numbered depends on the data and may decide nothing. `grams` names n-grams
    and may be asked for released ones only.
    """

    level: int
    entries: Sets
    size: int
    grams: Callable[[Int64], list[Gram]]

    def __repr__(self) -> str:
        return f"TokenStream(level={self.level}, private)"

    @property
    def users(self) -> int:
        """The number of users, those without n-grams included."""
        return self.entries.users

    def sets(self) -> Sets:
        """Return the distinct n-grams of each user, over all messages of the user."""

        def distinct(block: UserSets) -> UserSets:
            user_indices = np.repeat(np.arange(block.users, dtype=np.int64), np.diff(block.offsets))
            user_ngram_pairs = ((user_indices << 32) | block.codes)[block.codes != GAP]
            user_ngram_pairs.sort()
            user_ngram_pairs = each_once(user_ngram_pairs)
            offsets = offsets_of(np.bincount(user_ngram_pairs >> 32, minlength=block.users))
            return UserSets(
                offsets=offsets,
                codes=user_ngram_pairs & (CODE_LIMIT - 1),
                size=self.size,
                label=self.label,
                label_many=self._labels_of,
            )

        return self.entries.mapped(distinct)

    def label(self, code: int) -> str:
        """Return the name of one n-gram."""
        return str(self._labels_of(np.array([code], dtype=np.int64))[0])

    def labels(self, released: npt.ArrayLike) -> list[str]:
        """Return the names of released n-grams, in the order of their text: codes beyond level 1 have another order."""
        return sorted(map(str, self._labels_of(_parse_codes(released, self.size))))

    def _labels_of(self, codes: Int64) -> list[object]:
        return [" ".join(gram) for gram in self.grams(codes)]

    def grow(self, released: npt.ArrayLike) -> TokenStream:
        """Return the n-grams that are one token longer and whose two parts were released.

        The parts are all tokens but the last, and all but the first. The n-grams of a user depend only on the released
        ones and on that user's messages.
        """
        released_codes = _parse_codes(released, self.size)
        released_grams = self.grams(released_codes)
        new_codes = np.full(self.size + 1, -1, dtype=np.int64)  # the last one is for GAP
        new_codes[released_codes] = np.arange(len(released_codes))
        base = max(1, len(released_codes))

        def joined(block: UserSets) -> Int64:
            """Return the two parts of the n-gram at each entry as one number, or -1."""
            part_codes = new_codes[np.minimum(block.codes, self.size)]
            # After the last entry of a user, a GAP, nothing follows.
            pairs = np.full(len(part_codes), -1, dtype=np.int64)
            has_both = (part_codes[:-1] >= 0) & (part_codes[1:] >= 0)
            pairs[:-1][has_both] = part_codes[:-1][has_both] * base + part_codes[1:][has_both]
            return pairs

        pairs = NO_CODES
        for block in self.entries.blocks():
            joined_pairs = joined(block)
            merged = np.concatenate([pairs, joined_pairs[joined_pairs >= 0]])
            merged.sort()
            pairs = each_once(merged)

        def grown(block: UserSets) -> UserSets:
            joined_pairs = joined(block)
            is_ngram = joined_pairs >= 0
            codes = np.full(len(joined_pairs), GAP, dtype=np.int64)
            codes[is_ngram] = np.searchsorted(pairs, joined_pairs[is_ngram])
            is_kept = is_ngram.copy()
            is_kept[1:] |= is_ngram[:-1]  # a GAP after an n-gram; other GAPs separate nothing
            offsets = np.append(0, np.cumsum(is_kept))[block.offsets]
            return replace(block, offsets=offsets, codes=codes[is_kept])

        return TokenStream(
            level=self.level + 1,
            entries=self.entries.mapped(grown),
            size=len(pairs),
            grams=_JoinedGrams(released_grams, pairs, base),
        )


@dataclass(frozen=True, repr=False)
class _JoinedGrams:
    """The n-grams as pairs of released ones: it holds no text but that of released parts."""

    parts: list[Gram]
    pairs: Int64
    base: int

    def __call__(self, codes: Int64) -> list[Gram]:
        part_pairs = [divmod(pair, self.base) for pair in self.pairs[codes].tolist()]
        return [self.parts[left] + self.parts[right][-1:] for left, right in part_pairs]


def store_in_memory(offsets: Int64, codes: Int64) -> UserSets:
    """Return entries of users as arrays; they have no names."""
    return UserSets(offsets=offsets, codes=codes, size=GAP + 1, label=refuse_label, label_many=refuse_label)


def refuse_label(_: object) -> list[object]:
    """Raise LookupError: an entry has no name of its own."""
    raise LookupError("the n-gram has the name")


def _parse_codes(released: npt.ArrayLike, size: int) -> Int64:
    """Return released codes, ascending and without duplicates."""
    codes = np.asarray(released)
    if codes.size == 0:
        return np.zeros(0, dtype=np.int64)
    if codes.ndim != 1 or codes.dtype.kind not in "iu":
        raise ParameterError("released", "be whole numbers in a row", f"an array of {codes.dtype}")
    unique_codes = np.unique(codes.astype(np.int64))
    if unique_codes[0] < 0 or unique_codes[-1] >= size:
        raise ParameterError("released", "be codes of this level", "one that is none")
    return unique_codes


LevelUnion: TypeAlias = "Callable[[Sets, int], npt.ArrayLike]"
"""A set union with the budget of one level: a function of the users' sets and the level that releases codes."""


@dataclass(frozen=True)
class Level:
    """The release of one level: all its n-grams of `length` tokens, in the order of their text."""

    length: int
    labels: tuple[str, ...]


def release_levels(stream: TokenStream, longest: int, release: LevelUnion) -> Iterator[Level]:
    """Yield the levels 1 to `longest`, each as soon as it is released.

    `release` is called once for each level and pays for it, also for levels below the shortest wanted n-gram, which
    give the candidates. After a level that released nothing there are no candidates, so `release` is not called again:
    the levels that follow are empty and free.
    """
    has_candidates = True
    for length in range(1, longest + 1):
        labels: list[str] = []
        if has_candidates:
            released = release(stream.sets(), length)
            labels = stream.labels(released)
            has_candidates = bool(labels)
            if has_candidates and length < longest:
                stream = stream.grow(released)
        yield Level(length, tuple(labels))
