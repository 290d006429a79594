"""TokenStream: the n-grams of one length that stand in all messages, as arrays, and the step to the next length.

Level by level: words first, then what two released words in a row can make, then three. An n-gram is a candidate only
if its two parts of n - 1 tokens were released (Kim, Gopi, Kulkarni and Yekhanin, Differentially private n-gram
extraction, 2021). What was released is public, so choosing candidates by it is free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpselect.aggregates.user_sets import UserSets
from dpselect.errors import ParameterError

Int64 = npt.NDArray[np.int64]
Gram = tuple[str, ...]
"""The tokens of an n-gram; its label joins them by one space."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TokenStream:
    """At `place[j]` stands the n-gram `code[j]`, in a message of the user `user[j]`; places ascend.

    Within a message the places of neighbours differ by 1, between messages by more, so "the next token of the same
    message" is "the next place". Codes are 0 .. size - 1 and users 0 .. users - 1; how they are numbered depends on
    the data and may decide nothing. `grams` names n-grams and may be asked for released ones only.
    """

    level: int
    users: int
    user: Int64
    place: Int64
    code: Int64
    size: int
    grams: Callable[[Int64], list[Gram]]

    def __repr__(self) -> str:
        return f"TokenStream(level={self.level}, private)"

    def sets(self) -> UserSets:
        """The distinct n-grams of every user: a user of many messages is one user."""
        size = max(1, self.size)
        # Sorting is several times as fast here as np.unique, which goes through a table of hashes.
        pairs = np.sort(self.user * size + self.code)
        pairs = pairs[np.diff(pairs, prepend=-1) > 0]
        each = np.bincount(pairs // size, minlength=self.users)
        offsets = np.concatenate([[0], np.cumsum(each)]).astype(np.int64)
        return UserSets(offsets=offsets, codes=pairs % size, size=self.size, label=self.label, label_many=self._many)

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
        new = np.full(self.size, -1, dtype=np.int64)
        new[kept] = np.arange(len(kept))
        code = new[self.code]
        here = code >= 0
        place, user, code = self.place[here], self.user[here], code[here]
        follows = np.diff(place) == 1
        base = max(1, len(kept))
        pairs, code = np.unique(code[:-1][follows] * base + code[1:][follows], return_inverse=True)
        return TokenStream(
            level=self.level + 1,
            users=self.users,
            user=user[:-1][follows],
            place=place[:-1][follows],
            code=code.astype(np.int64, copy=False),
            size=len(pairs),
            grams=_Joined(parts, pairs // base, pairs % base),
        )

    @classmethod
    def tokens(
        cls, *, users: int, user: Int64, lengths: Int64, code: Int64, size: int, words: Callable[[Int64], list[str]]
    ) -> TokenStream:
        """Level 1: message m has `lengths[m]` tokens and belongs to `user[m]`; `code` are all tokens in a row."""
        # One place is left free after every message, whether it has tokens or not.
        message = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
        return cls(
            level=1,
            users=users,
            user=user[message],
            place=np.arange(len(code), dtype=np.int64) + message,
            code=code,
            size=size,
            grams=lambda codes: [(word,) for word in words(codes)],
        )

    @classmethod
    def of(cls, people: Iterable[Iterable[Sequence[str]]]) -> TokenStream:
        """From the messages of every user, each a list of its tokens."""
        known: dict[str, int] = {}
        user: list[int] = []
        lengths: list[int] = []
        code: list[int] = []
        users = 0
        for messages in people:
            for message in messages:
                user.append(users)
                lengths.append(len(message))
                code.extend(known.setdefault(token, len(known)) for token in message)
            users += 1
        names = list(known)
        whose, long, codes = (np.array(numbers, dtype=np.int64) for numbers in (user, lengths, code))
        return cls.tokens(
            users=users,
            user=whose,
            lengths=long,
            code=codes,
            size=len(names),
            words=lambda wanted: [names[one] for one in wanted],
        )


@dataclass(frozen=True, repr=False)
class _Joined:
    """The n-grams as pairs of released ones: no text but that of released parts is in here."""

    parts: list[Gram]
    left: Int64
    right: Int64

    def __call__(self, codes: Int64) -> list[Gram]:
        pairs = zip(self.left[codes].tolist(), self.right[codes].tolist(), strict=True)
        return [self.parts[left] + self.parts[right][-1:] for left, right in pairs]


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


Union = Callable[[UserSets, int], npt.ArrayLike]
"""A set union with the budget of one level: from the users' sets and the level to the codes it releases."""


@dataclass(frozen=True)
class Level:
    """What one level released: all n-grams of `length` tokens, in the order of their text."""

    length: int
    labels: tuple[str, ...]


def level_by_level(stream: TokenStream, longest: int, release: Union) -> Iterator[Level]:
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
