"""A top k chosen all at once: one step, and noisy counts where they were asked for."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from dpselect._ground import methods
from dpselect._ground.parameters import Progress
from dpselect._ground.privacy import BoundedRange, Neighbors, PureDP, Steps
from dpselect.accounting.calibration import largest_epsilon, priced
from dpselect.aggregates.count_groups import CountGroups
from dpselect.draws import Draws
from dpselect.mechanisms.candidates import fixed
from dpselect.mechanisms.joint.canonical_set import CanonicalSet
from dpselect.mechanisms.joint.ranked import ranked
from dpselect.queries.answer import likeness
from dpselect.queries.top.selection import Selection, Wanted, fresh_counts, near_counts
from dpselect.release import accuracy
from dpselect.release.accuracy import BETA, Accuracy, whole
from dpselect.release.release import Item, Kind, Release, Statement

KNOWN_SET = "The domain is given, and k of its items are chosen all at once; items without users have count 0."


@dataclass(frozen=True, kw_only=True)
class SetTop(Selection):
    """k items of a known domain in one draw."""

    selector: CanonicalSet

    @classmethod
    def of(cls, method: str, wanted: Wanted, epsilon: Fraction, delta: Fraction, why: str) -> Self:
        """One step for the set; its counts, together, as much epsilon again, and each other noisy number too."""
        row = methods.named("top_k", method)
        reason = KNOWN_SET + why
        selector = row.make(k=wanted.k, epsilon=epsilon, sensitivity=wanted.moves)
        if not wanted.noises:
            return cls(method=method, selector=selector, privacy=selector.privacy, reason=reason)
        moved = wanted.moved(selector.k)

        def plan(x: Fraction) -> tuple[Steps, ...]:
            return (Steps(BoundedRange(x), 1), Steps(PureDP(x / moved), moved * wanted.noises))

        x = largest_epsilon(plan, epsilon, delta)
        privacy = priced(plan(x), epsilon, delta, failure=Fraction(0), neighbors=Neighbors.ADD_REMOVE)
        selector = row.make(k=wanted.k, epsilon=x, sensitivity=wanted.moves)
        return cls(method=method, selector=selector, **wanted.told(x / moved), privacy=privacy, reason=reason)

    def shortfall(self, candidates: int | None) -> int | None:
        """By how much an item may be below the k-th best: no more than by the loss of the set."""
        return None if candidates is None else whole(self.selector.gap(BETA, candidates))

    def select(self, aggregate: CountGroups, draws: Draws, progress: Progress | None = None) -> Release:  # noqa: ARG002 - quick
        """The answer for counts. Items of a set come in an order of their own, or by their noisy counts."""
        among = ranked(aggregate, self.selector.k)
        ranks = self.selector.ranks(among, draws)
        labels = list(among.names(ranks))
        order = sorted(range(len(labels)), key=lambda i: fixed(labels[i]))
        told = fresh_counts(self.counter, [among.count(rank) for rank in ranks], draws, self.scale)
        if self.counter is not None:
            order.sort(key=lambda i: -(told.of[i][0] or 0))
        items = tuple(Item(labels[i], None, *told.of[i]) for i in order)
        return Release(
            items=items,
            kind=Kind.SET,
            counted=self.counter is not None,
            privacy=self.statement(),
            secure=draws.secure,
            accuracy=self.near(among.items),
        )

    def near(self, candidates: int) -> Accuracy:
        """How good the items are, and their counts."""
        good = accuracy.of_set(whole(self.selector.gap(BETA, candidates)), self.scale)
        return good + near_counts(self.counter, self.scale)

    def before(self, candidates: int | None) -> Accuracy:
        """How good the items are, and their counts."""
        return self.near(candidates or 1)

    def like(self, release: Release, candidates: int) -> Release:
        """An answer with what this plan says of it."""
        return likeness(release, self.statement(), self.near(candidates), kind=Kind.SET, **self.counting)

    def statement(self) -> Statement:
        """What is promised, in numbers and in sentences."""
        used: dict[str, object] = {"k": self.selector.k, "epsilon_of_set": self.selector.epsilon}
        sentences = [self.reason, "The items are a set: their order says nothing, unless noisy counts give one."]
        return self.stated(used, sentences)
