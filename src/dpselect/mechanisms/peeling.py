"""Peeling: the ranked top k of a known domain."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from dpselect import parameters
from dpselect.draws import Draws
from dpselect.errors import ParameterError
from dpselect.mechanisms import gaps
from dpselect.mechanisms.candidates import Answer, Candidates, Input, Picks, candidates
from dpselect.mechanisms.port import secure
from dpselect.mechanisms.price import plan_of, price
from dpselect.parameters import Number
from dpselect.privacy import Neighbors, Privacy, neighbors


@dataclass(frozen=True, kw_only=True)
class Peeling:
    """Select k of a known domain in rank order: k exponential mechanisms, each without the winners so far.

    Guarantee: (epsilon, delta)-DP for the whole call; each of the k picks is one epsilon_per_pick-bounded-range
        step. Give `epsilon` for the largest epsilon_per_pick that fits, or `epsilon_per_pick` for its total.
    Neighbors: add-remove, or replace-one (which halves the rate, since one count may rise and another fall).
    Sensitivity: one user moves every count by at most 1, as many of them as they like.
    Exactness: the law is exact. It is that of the one-shot Gumbel mechanism, though no Gumbel number is made.
    Cost: one pass over the counts, then k draws; grouped counts cost as much as there are distinct counts.
    Source: Durfee and Rogers 2019 (seed 003), pEM of Section 4.1; seed 004, Theorem 1. Ours: the composition
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
    privacy: Privacy = field(init=False, repr=False)
    _pick: Fraction = field(init=False, repr=False)

    def __post_init__(self) -> None:
        k = parameters.listed("k", self.k)
        delta = parameters.probability("delta", self.delta, zero=True)
        related = neighbors(self.neighbors)
        privacy, pick = price(plan_of(k), self.epsilon, self.epsilon_per_pick, delta, neighbors=related)
        settled = {"k": k, "epsilon": privacy.epsilon, "delta": delta, "epsilon_per_pick": pick}
        for name, value in {**settled, "neighbors": related, "privacy": privacy, "_pick": pick}.items():
            object.__setattr__(self, name, value)

    def __call__(self, counts: Input, *, draws: Draws | None = None) -> Answer:
        """k indices or labels, best first."""
        among = candidates(counts)
        return among.names(self.picks(among, secure(draws)))

    def gap(self, beta: float, candidates: int) -> Fraction:
        """No item that is picked later, or never, has more users by more than this, but with probability beta."""
        return gaps.exponential(self._rate, gaps.others(candidates), gaps.each(beta, self.k))

    @property
    def _rate(self) -> Fraction:
        """One candidate weighs exp(rate count)."""
        return self._pick / (2 if self.neighbors is Neighbors.REPLACE_ONE else 1)

    def picks(self, among: Candidates, draws: Draws) -> Picks:
        """k candidates as (group, member), best first."""
        if self.k > among.count:
            hint = "lower k, or give a larger domain"
            raise ParameterError("k", "be at most the number of candidates in the domain", self.k, hint)
        return draws.peel(among.weights(self._rate), self.k)
