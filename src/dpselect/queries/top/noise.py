"""A top k by the largest of noisy counts, all noised once: the whole price at any answer, and the counts with it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self

from dpselect._ground import methods
from dpselect._ground.parameters import Progress
from dpselect._ground.privacy import PureDP, Steps
from dpselect.aggregates.count_groups import CountGroups
from dpselect.draws import Draws
from dpselect.errors import ParameterError
from dpselect.mechanisms.published import noisy_limited_domain
from dpselect.mechanisms.published.noisy_limited_domain import LimitedDomainLaplace, k_bar_of
from dpselect.mechanisms.top_k.top_rows import top_rows
from dpselect.queries.top.selection import Selection, Terms, Wanted
from dpselect.release import accuracy
from dpselect.release.accuracy import BETA, Accuracy
from dpselect.release.answers.outcome import DrawnItem, Outcome
from dpselect.release.release import Ended, Release

UNKNOWN_NOISE = (
    "No domain is given; noise is added once to the k_bar largest counts, and those above noisy bottom are returned."
)


@dataclass(frozen=True, kw_only=True)
class NoisyTop(Selection):
    """At most k items above a noisy bottom. `counts` says whether their counts were asked for: they cost nothing."""

    selector: LimitedDomainLaplace
    counts: bool

    @classmethod
    def of(cls, method: str, wanted: Wanted, epsilon: Fraction, delta: Fraction) -> Self:
        """Noise on the k_bar largest counts once, at a price that grows with the items of a user and not with k."""
        if wanted.max_items_per_user is None:
            hint = "Dataset(max_items_per_user=...), --max-items-per-user"
            raise ParameterError("max_items_per_user", f"be given for {method}", "nothing", hint)
        times = wanted.of_measures  # counts come with the selection
        part = epsilon / (1 + times)
        selector = methods.named("top_k", method).make(
            k=wanted.k, epsilon=part, delta=delta, max_items_per_user=wanted.max_items_per_user, k_bar=wanted.k_bar
        )
        privacy, measurer = selector.privacy, None
        if times:
            privacy = replace(privacy, epsilon=epsilon, steps=(Steps(PureDP(epsilon), 1),))
            measurer = wanted.measurer(part / wanted.moved(selector.k))
        return cls(
            method=method,
            selector=selector,
            privacy=privacy,
            reason=UNKNOWN_NOISE,
            counts=wanted.counts,
            measurer=measurer,
        )

    @property
    def k_bar(self) -> int:
        """How many items with the most users are looked at."""
        return k_bar_of(self.selector)

    def shortfall(self, candidates: int | None) -> int:  # noqa: ARG002
        """By how much an item may be below the k-th best: it is left out then, or stands below."""
        return noisy_limited_domain.gap(self.selector, BETA)

    def width(self) -> int:
        """How near all counts are at once."""
        return self.selector.width(BETA) if self.counts else 0

    def reach(self) -> int:
        """How far above rank k_bar + 1 nothing is missing."""
        return noisy_limited_domain.reach(self.selector, BETA)

    def draw(self, aggregate: CountGroups, draws: Draws, progress: Progress | None = None) -> Outcome:  # noqa: ARG002 - quick
        """Draw the picks with their counts."""
        s = self.selector
        rows = top_rows(aggregate, self.k_bar + 1)
        picks, noisy = s.picks_with_counts(rows, draws)
        labels = list(rows.names(picks)) if picks else []
        ended = Ended.FULL if len(labels) == s.k else Ended.BOTTOM
        scores = noisy if self.counts else [None] * len(labels)
        return Outcome(items=tuple(map(DrawnItem, labels, scores)), secure=draws.secure, ended=ended)

    def answer(self, outcome: Outcome) -> Release:
        """Write the release of picks."""
        return self.write(outcome, self.state(self.terms()), self.near(), counted=self.counts, width=self.width())

    def near(self) -> Accuracy:
        """How good the items are, and their counts."""
        good = accuracy.ranking(noisy_limited_domain.gap(self.selector, BETA), scale=self.scale)
        good += accuracy.ends_early(self.reach(), self.k_bar + 1, self.scale)
        return good + accuracy.counts_together(self.width(), self.scale) if self.counts else good

    def before(self, candidates: int | None) -> Accuracy:  # noqa: ARG002 - k_bar of them are looked at
        """How good the items are, and their counts."""
        return self.near()

    def terms(self) -> Terms:
        """Describe the selection."""
        s = self.selector
        used: dict[str, object] = {
            "k": s.k,
            "k_bar": self.k_bar,
            "max_items_per_user": s.max_items_per_user,
            "height": s.height,
        }
        most = accuracy.said_items(s.max_items_per_user)
        sentences = [
            self.reason,
            f"One user counts for at most {most}. An item is returned only if its noisy count "
            f"is above noisy bottom, which is {s.height} users above the count of rank {self.k_bar + 1:,}.",
        ]
        return used, sentences
