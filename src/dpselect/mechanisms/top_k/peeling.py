"""Peeling: the ranked top k of a known domain."""

from __future__ import annotations

from dataclasses import field
from fractions import Fraction

from dpselect._ground import parameters
from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Number
from dpselect._ground.privacy import Neighbors, Privacy, parse_neighbors
from dpselect.accounting.calibration import plan_of, price
from dpselect.draws import Draws, secure
from dpselect.mechanisms import gaps
from dpselect.mechanisms.candidates import Answer, Candidates, Input, Picks, parse_candidates, refuse_too_few
from dpselect.mechanisms.port import set_fields


@dataclass(frozen=True, kw_only=True)
class Peeling:
    """Select k of a known domain in rank order: k exponential mechanisms, each without the winners so far.

    Guarantee: (epsilon, delta)-DP for the whole call; each of the k picks is one epsilon_per_pick-bounded-range
        step. Give `epsilon` for the largest epsilon_per_pick that fits, or `epsilon_per_pick` for its total.
    Neighbors: add-remove, or replace-one (which halves the rate, since one count may rise and another fall).
    Sensitivity: one user changes every count by at most `sensitivity`, all the same way, any number of them.
    Exactness: the distribution is exact. It is that of the one-shot Gumbel mechanism, though no Gumbel noise is drawn.
    Cost: one pass over the counts, then k draws; grouped counts cost as much as the number of distinct counts.
    Source: Durfee and Rogers 2019, pEM of Section 4.1; Durfee and Rogers 2021, Theorem 1. Ours: the composition
        (the optimum for adaptive bounded-range steps, where it is the smallest bound).
    Example:
        >>> Peeling(k=2, epsilon=4)([900, 5, 600, 7]).tolist()
        [0, 2]
    """

    k: int
    epsilon: Number | None = None
    delta: Number = 0
    epsilon_per_pick: Number | None = None
    neighbors: Neighbors = Neighbors.ADD_REMOVE
    sensitivity: int = 1
    privacy: Privacy = field(init=False, repr=False)
    _pick: Fraction = field(init=False, repr=False)

    def __post_init__(self) -> None:
        k = parameters.listed_size("k", self.k)
        delta = parameters.probability("delta", self.delta, zero=True)
        related = parse_neighbors(self.neighbors)
        privacy, pick = price(plan_of(k), self.epsilon, self.epsilon_per_pick, delta, neighbors=related)
        set_fields(self, k=k, epsilon=privacy.epsilon, delta=delta, epsilon_per_pick=pick, neighbors=related)
        set_fields(
            self,
            privacy=privacy,
            sensitivity=parameters.whole_number("sensitivity", self.sensitivity, minimum=1),
            _pick=pick,
        )

    def __call__(self, counts: Input, *, draws: Draws | None = None) -> Answer:
        """Select k indices or labels, best first."""
        candidates = parse_candidates(counts)
        return candidates.names(self.picks(candidates, secure(draws)))

    def gap(self, beta: float, candidates: int) -> Fraction:
        """Return the gap: no item picked later, or never, has more users by more, except with probability beta."""
        return gaps.exponential(self._rate, gaps.log_others(candidates), gaps.failure_per_step(beta, self.k))

    def shortfall(self, beta: float, candidates: int) -> Fraction:
        """Return by how many users, at most, a picked item is below the k-th best, but with probability beta."""
        return gaps.kth(self._rate, gaps.log_others(candidates, self.k), self.k, beta)

    @property
    def _rate(self) -> Fraction:
        """The rate at which a candidate weighs exp(rate count)."""
        return self._pick / (self.sensitivity * (2 if self.neighbors is Neighbors.REPLACE_ONE else 1))

    def picks(self, candidates: Candidates, draws: Draws) -> Picks:
        """Draw k candidates as (group, member), best first."""
        refuse_too_few(self.k, candidates)
        return draws.peel(candidates.weights(self._rate), self.k)
