"""A top k chosen all at once: one step, and noisy counts where they were asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Self

from dpselect._ground import methods
from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Progress
from dpselect._ground.privacy import BoundedRange, PureDP, Steps
from dpselect.accounting.calibration import largest_epsilon
from dpselect.aggregates.count_groups import CountGroups
from dpselect.draws import Draws
from dpselect.mechanisms.candidates import label_order
from dpselect.mechanisms.joint.canonical_set import CanonicalSet
from dpselect.mechanisms.joint.ranked import rank_counts
from dpselect.queries.top.selection import Selection, Terms, TopRequest
from dpselect.release import accuracy
from dpselect.release.accuracy import BETA, Accuracy, largest_whole_below
from dpselect.release.answers.outcome import DrawnItem, Outcome
from dpselect.release.answers.ranking_sentences import A_SET, KNOWN_SET
from dpselect.release.release import Release
from dpselect.release.statement import Kind


@dataclass(frozen=True, kw_only=True)
class SetTop(Selection):
    """k items of a known domain in one draw."""

    selector: CanonicalSet

    @classmethod
    def from_request(cls, method: str, request: TopRequest, epsilon: Fraction, delta: Fraction, why: str) -> Self:
        """Return the selection: one step for the set.

        Its counts, together, as much epsilon again, and each other noisy number too.
        """
        row = methods.method_row("top_k", method)
        reason = KNOWN_SET + why
        selector = row.make(k=request.k, epsilon=epsilon, sensitivity=request.sensitivity)
        if not request.noises_per_item:
            return cls(method=method, selector=selector, privacy=selector.privacy, reason=reason)
        moved_counts = request.moved_winners

        def plan(x: Fraction) -> tuple[Steps, ...]:
            return (Steps(BoundedRange(x), 1), Steps(PureDP(x / moved_counts), moved_counts * request.noises_per_item))

        x = largest_epsilon(plan, epsilon, delta)
        noise_plan = request.plan_noise(plan(x)[0], x / moved_counts, epsilon, delta)
        return cls(
            method=method,
            selector=row.make(k=request.k, epsilon=x, sensitivity=request.sensitivity),
            counter=noise_plan.counter,
            measurer=noise_plan.measurer,
            privacy=noise_plan.priced(epsilon, delta, Fraction(0)),
            reason=reason,
        )

    def shortfall(self, candidates: int | None) -> int | None:
        """Return by how much an item may be below the k-th best: no more than by the loss of the set."""
        return None if candidates is None else largest_whole_below(self.selector.gap(BETA, candidates))

    def draw(self, aggregate: CountGroups, draws: Draws, progress: Progress | None = None) -> Outcome:  # noqa: ARG002 - quick
        """Draw the items. Those of a set come in an order of their own, or by their noisy counts."""
        ranked_counts = rank_counts(aggregate, self.selector.k)
        ranks = self.selector.ranks(ranked_counts, draws)
        labels = ranked_counts.names(ranks)
        counts = self.count([ranked_counts.count(rank) for rank in ranks], draws)
        return _sorted(
            Outcome(items=tuple(map(DrawnItem, labels, counts)), secure=draws.secure, candidates=ranked_counts.items)
        )

    def count_again(self, outcome: Outcome, scores: Sequence[int], draws: Draws) -> Outcome:
        """Return the outcome with noisy counts of the winners, in their order."""
        return _sorted(super().count_again(outcome, scores, draws))

    def answer(self, outcome: Outcome) -> Release:
        """Write the release of the items."""
        good = self.set_accuracy(outcome.candidates or 1) + self.count_accuracy(len(outcome.items))
        return self.write(outcome, self.state(self.terms()), good, kind=Kind.SET)

    def terms(self) -> Terms:
        """Describe the selection."""
        return {"k": self.selector.k, "epsilon_of_set": self.selector.epsilon}, [self.reason, A_SET]

    def set_accuracy(self, candidates: int) -> Accuracy:
        """Return how good the items are, and their counts."""
        return accuracy.unordered_set(largest_whole_below(self.selector.gap(BETA, candidates)), self.scale)

    def planned_accuracy(self, candidates: int | None) -> Accuracy:
        """Return how good the items are, and their counts."""
        return self.set_accuracy(candidates or 1) + self.count_accuracy(self.selector.k)


def _sorted(outcome: Outcome) -> Outcome:
    """Return the outcome in the order of its noisy counts, and of items without any in one that is fixed."""
    items = sorted(outcome.items, key=lambda item: (-(item.score or 0), label_order(item.label)))
    return replace(outcome, items=tuple(items))
