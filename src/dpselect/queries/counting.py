"""Counts of what was selected: noisy ones with their intervals, and what is said of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dpselect.draws import Draws
from dpselect.release import accuracy
from dpselect.release.accuracy import BETA, Accuracy

if TYPE_CHECKING:
    from dpselect.mechanisms.top_k.noisy_counts import NoisyCounts


def sampled(most: int | None) -> str:
    """What of a user counts where the data are bounded: a sentence to put behind another."""
    return "" if most is None else f" Every user counts for at most {accuracy.said_items(most)}, chosen at random."


@dataclass(frozen=True)
class Counts:
    """Noisy counts with their intervals, and how good they are."""

    of: Sequence[tuple[int | None, int | None, int | None]]
    accuracy: Accuracy

    @classmethod
    def none(cls, items: int) -> Counts:
        """None were asked for."""
        return cls([(None, None, None)] * items, accuracy.NOTHING)

    @classmethod
    def within(cls, noisy: Sequence[int], width: int, said: Accuracy) -> Counts:
        """Each is so near to the true one."""
        return cls([(n, *accuracy.interval(n, width)) for n in noisy], said)


def fresh_counts(counter: NoisyCounts | None, counts: Sequence[int], draws: Draws) -> Counts:
    """Counts with noise of their own, where they were asked for."""
    if counter is None:
        return Counts.none(len(counts))
    width = counter.width(BETA)
    noisy = counter(counts, draws=draws) if counts else []
    return Counts.within(noisy, width, accuracy.counts_apart(width, counter.max_items_per_user))


def noise(epsilon_per_count: Fraction) -> str:
    """How noisy counts are."""
    scale = 1 / float(epsilon_per_count)
    return f"Counts carry discrete Laplace noise of scale {scale:.3g} users."
