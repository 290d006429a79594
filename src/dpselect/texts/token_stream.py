"""TokenStream: the n-grams of one length that stand in all messages, as numbers, and the step to the next length.

Level by level: words first, then what two released words in a row can make, then three. An n-gram is a candidate only
if its two parts of n - 1 tokens were released (Kim, Gopi, Kulkarni and Yekhanin, Differentially private n-gram
extraction, 2021). What was released is public, so choosing candidates by it is free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dpselect.aggregates.user_sets import LOW, Sets, UserSets, each_once, offsets_of
from dpselect.errors import ParameterError

Int64 = npt.NDArray[np.int64]
Gram = tuple[str, ...]
"""The tokens of an n-gram; its label joins them by one space."""
GAP = LOW - 1  # no code is that large
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
        """How many users there are, those without n-grams included."""
        return self.entries.users

    def sets(self) -> Sets:
        """The distinct n-grams of every user: a user of many messages is one user."""

        def distinct(block: UserSets) -> UserSets:
            whose = np.repeat(np.arange(block.users, dtype=np.int64), np.diff(block.offsets))
            pairs = ((whose << 32) | block.codes)[block.codes != GAP]
            pairs.sort()
            pairs = each_once(pairs)
            offsets = offsets_of(np.bincount(pairs >> 32, minlength=block.users))
            return UserSets(
                offsets=offsets, codes=pairs & (LOW - 1), size=self.size, label=self.label, label_many=self._many
            )

        return self.entries.mapped(distinct)

    def label(self, code: int) -> str:
        """The name of one n-gram."""
        return str(self._many(np.array([code], dtype=np.int64))[0])

    def labels(self, released: npt.ArrayLike) -> list[str]:
        """The names of released n-grams, in the order of their text: codes beyond level 1 are in another order."""
        return sorted(map(str, self._many(_codes(released, self.size))))

    def _many(self, codes: Int64) -> list[object]:
        return [" ".join(gram) for gram in self.grams(codes)]

    def grow(self, released: npt.ArrayLike) -> TokenStream:
        """The n-grams that are one token longer and of which both parts were released.

        The parts are all tokens but the last, and all but the first. Which n-grams of a user these are depends on the
        released ones and on that user's messages, and on nothing else.
        """
        kept = _codes(released, self.size)
        parts = self.grams(kept)
        new = np.full(self.size + 1, -1, dtype=np.int64)  # the last one is what GAP becomes
        new[kept] = np.arange(len(kept))
        base = max(1, len(kept))

        def joined(block: UserSets) -> Int64:
            """The two parts of what begins at each entry, as one number, or -1."""
            part = new[np.minimum(block.codes, self.size)]
            pairs = np.full(len(part), -1, dtype=np.int64)  # after the last entry of a user, a GAP, nothing follows
            both = (part[:-1] >= 0) & (part[1:] >= 0)
            pairs[:-1][both] = part[:-1][both] * base + part[1:][both]
            return pairs

        pairs = NO_CODES
        for block in self.entries.blocks():
            own = joined(block)
            more = np.concatenate([pairs, own[own >= 0]])
            more.sort()
            pairs = each_once(more)

        def grown(block: UserSets) -> UserSets:
            own = joined(block)
            here = own >= 0
            codes = np.full(len(own), GAP, dtype=np.int64)
            codes[here] = np.searchsorted(pairs, own[here])
            stays = here.copy()
            stays[1:] |= here[:-1]  # a GAP behind an n-gram; others hold nothing apart
            offsets = np.append(0, np.cumsum(stays))[block.offsets]
            return replace(block, offsets=offsets, codes=codes[stays])

        return TokenStream(
            level=self.level + 1,
            entries=self.entries.mapped(grown),
            size=len(pairs),
            grams=_Joined(parts, pairs, base),
        )

    @classmethod
    def from_messages(cls, people: Iterable[Iterable[Sequence[str]]]) -> TokenStream:
        """From the messages of every user, each a list of its tokens."""
        known: dict[str, int] = {}
        codes: list[int] = []
        offsets = [0]
        for messages in people:
            for message in messages:
                codes += [known.setdefault(token, len(known)) for token in message]
                codes.append(GAP)
            offsets.append(len(codes))
        names = list(known)
        entries = store_in_memory(np.array(offsets, dtype=np.int64), np.array(codes, dtype=np.int64))
        return cls(level=1, entries=entries, size=len(names), grams=lambda codes: [(names[code],) for code in codes])


@dataclass(frozen=True, repr=False)
class _Joined:
    """The n-grams as pairs of released ones: no text but that of released parts is in here."""

    parts: list[Gram]
    pairs: Int64
    base: int

    def __call__(self, codes: Int64) -> list[Gram]:
        asked = [divmod(pair, self.base) for pair in self.pairs[codes].tolist()]
        return [self.parts[left] + self.parts[right][-1:] for left, right in asked]


def store_in_memory(offsets: Int64, codes: Int64) -> UserSets:
    """Entries of users as arrays; they have no names."""
    return UserSets(offsets=offsets, codes=codes, size=GAP + 1, label=refuse_label, label_many=refuse_label)


def refuse_label(_: object) -> list[object]:
    """An entry has no name of its own."""
    raise LookupError("the n-gram has the name")


def _codes(released: npt.ArrayLike, size: int) -> Int64:
    """Released codes, ascending and each once."""
    codes = np.asarray(released)
    if codes.size == 0:
        return np.zeros(0, dtype=np.int64)
    if codes.ndim != 1 or codes.dtype.kind not in "iu":
        raise ParameterError("released", "be whole numbers in a row", f"an array of {codes.dtype}")
    found = np.unique(codes.astype(np.int64))
    if found[0] < 0 or found[-1] >= size:
        raise ParameterError("released", "be codes of this level", "one that is none")
    return found


LevelUnion = Callable[[Sets, int], npt.ArrayLike]
"""A set union with the budget of one level: from the users' sets and the level to the codes it releases."""


@dataclass(frozen=True)
class Level:
    """What one level released: all n-grams of `length` tokens, in the order of their text."""

    length: int
    labels: tuple[str, ...]


def release_levels(stream: TokenStream, longest: int, release: LevelUnion) -> Iterator[Level]:
    """The levels 1 to `longest`, each as soon as it is released.

    `release` is called once for every level and pays for it, also for those below the shortest n-gram that is wanted:
    they say which candidates there are. After a level that released nothing there are no candidates and nothing is
    asked: the levels that follow are empty and cost nothing.
    """
    alive = True
    for length in range(1, longest + 1):
        labels: list[str] = []
        if alive:
            released = release(stream.sets(), length)
            labels = stream.labels(released)
            alive = bool(labels)
            if alive and length < longest:
                stream = stream.grow(released)
        yield Level(length, tuple(labels))
