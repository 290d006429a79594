"""Level by level: words first, then what two released words in a row can make, then three.

An n-gram is a candidate only if its two parts of n - 1 tokens were released (Kim, Gopi, Kulkarni and Yekhanin,
Differentially private n-gram extraction, 2021). What was released is public, so choosing candidates by it is free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy.typing as npt

from dpselect.aggregates.user_sets import UserSets
from dpselect.texts.token_stream import TokenStream

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
