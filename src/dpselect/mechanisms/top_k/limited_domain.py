"""Limited domain: at most k items, in rank order, of a domain that nobody has to know."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import field
from fractions import Fraction

import numpy as np

from dpselect._ground import parameters
from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import MAX_INTEGER, Number
from dpselect._ground.privacy import Neighbors, Privacy, StepsOfPick
from dpselect.accounting.calibration import one_price, plan_of, price, priced, split_delta
from dpselect.draws import Draws, Weights, secure
from dpselect.draws.weights import MAX_RATE
from dpselect.errors import ParameterError
from dpselect.mechanisms import gaps
from dpselect.mechanisms.candidates import Answer, Input, Picks
from dpselect.mechanisms.port import set_fields
from dpselect.mechanisms.top_k.top_rows import TopRows, top_rows


@dataclass(frozen=True)
class Terms:
    """The terms that follow from the parameters of a limited domain, all exact."""

    k: int
    k_bar: int
    epsilon_per_pick: Fraction
    delta_threshold: Fraction
    max_items_per_user: int | None
    sensitivity: int
    privacy: Privacy

    @property
    def rate(self) -> Fraction:
        """The rate of picks: an item of count h weighs exp(rate h)."""
        return self.epsilon_per_pick / self.sensitivity

    def swaps(self, k_bar: int) -> int:
        """Return how many of the k_bar best items can be exchanged for others when one user comes or goes."""
        return k_bar if self.max_items_per_user is None else min(self.max_items_per_user, k_bar)

    def gap(self, beta: float) -> Fraction:
        """Return the gap: no item that is picked later, or never, has more users by more, but with probability beta."""
        return gaps.exponential(self.rate, gaps.log_others(self.k_bar), gaps.failure_per_step(beta, self.k))

    def shortfall(self, beta: float) -> Fraction:
        """Return by how many users, at most, a picked item is below the k-th best, but with probability beta."""
        return gaps.kth(self.rate, gaps.log_others(self.k_bar, self.k), self.k, beta)

    def reach(self, beta: float) -> Fraction:
        """Return the reach: while an item has more users than rank k_bar + 1 by more, the list does not end early.

        But with probability beta. The items of count 0 weigh k_bar at most, bottom at least as much as one.
        """
        steepness = self.bottom(self.k_bar)
        ends = gaps.logarithm(steepness) + math.log1p(float(self.k_bar / steepness))
        return self.sensitivity + gaps.exponential(self.rate, ends, gaps.failure_per_step(beta, self.k))

    def bottom(self, k_bar: int) -> Fraction:
        """Return the factor of exp(rate (h_(k_bar + 1) + sensitivity)) in the weight of bottom."""
        return self.swaps(k_bar) / self.delta_threshold


@dataclass(frozen=True, kw_only=True)
class PeelingWithBottom(ABC):
    """Peeling that bottom may end. The port of limited domain and its variant with a chosen cut-off; each is final."""

    k: int
    delta: Number
    k_bar: int | None = None
    epsilon: Number | None = None
    epsilon_per_pick: Number | None = None
    delta_threshold: Number | None = None
    max_items_per_user: int | None = None
    sensitivity: int = 1
    terms: Terms = field(init=False, repr=False)

    def __post_init__(self) -> None:
        parse(self)

    @property
    def privacy(self) -> Privacy:
        """The price: bounded-range steps, and delta_threshold."""
        return self.terms.privacy

    def __call__(self, counts: Input, *, draws: Draws | None = None) -> Answer:
        """Select at most k indices or labels, best first; fewer than k where bottom ended it."""
        rows = top_rows(counts, self.terms.k_bar + 1)
        return rows.names(self.picks(rows, secure(draws)))

    @abstractmethod
    def picks(self, rows: TopRows, draws: Draws) -> Picks:
        """Draw picked rows as (row, 0), best first."""


@dataclass(frozen=True, kw_only=True)
class LimitedDomain(PeelingWithBottom):
    """Select at most k items in rank order, looking only at the k_bar + 1 items with the most users.

    Picks go on until k items are found or "bottom" is drawn, a candidate that stands for everything below the
    k_bar largest counts. An answer shorter than k means that bottom ended it. Where fewer than k_bar items
    have any user, the missing ones take part as items of count 0, whose draw means bottom too.

    Guarantee: (epsilon, delta)-DP; delta is `delta_threshold` (a neighbour's data may lack an item that is
        released) and what composing k epsilon_per_pick-bounded-range steps needs.
    Neighbors: add-remove.
    Sensitivity: one user moves every count by at most `sensitivity`, all the same way, as many as they like, or at
        most `max_items_per_user` of them where that is given (the data must then have been bounded so). Equal counts
        are ordered by index or label, so the index of an array must not come from the data.
    Exactness: the law is exact; bottom weighs exp(epsilon_per_pick (h + sensitivity) / sensitivity)
        min(max_items_per_user, k_bar) / delta_threshold in it, where h is the count after the k_bar largest.
    Cost: one pass to find k_bar + 1 rows, then k draws.
    Source: Durfee and Rogers 2019, Algorithm 1 and Theorem 1. Ours: bottom as a rational
        weight, items of count 0, any sensitivity, and the proof that every bound for k bounded-range steps applies
        (its page).
    Example:
        >>> LimitedDomain(k=2, k_bar=3, epsilon=4, delta="1e-6")([900, 600, 5, 2, 1]).tolist()
        [0, 1]
    """

    def picks(self, rows: TopRows, draws: Draws) -> Picks:
        """Draw picked rows as (row, 0), best first."""
        return until_bottom(rows, draws, self.terms, self.terms.k_bar)

    @property
    def height(self) -> float:
        """The distance of bottom above h_(k_bar + 1): sensitivity + ln(swaps / delta_threshold) / rate."""
        return self.sensitivity + math.log(self.terms.bottom(self.terms.k_bar)) / float(self.terms.rate)


def default_k_bar(k: int) -> int:
    """Return ten times k and at least 1000.

    The threshold grows only with ln k_bar (docs/mechanisms/limited-domain.md).
    """
    return max(10 * k, 1000)


def parse_k_bar(k: int, k_bar: int | None) -> int:
    """Return the number given, or the default."""
    parsed = (
        default_k_bar(k)
        if k_bar is None
        else parameters.whole_number("k_bar", k_bar, minimum=1, maximum=MAX_INTEGER - 1)
    )
    if parsed < k:
        raise ParameterError("k_bar", f"be at least k = {k}", parsed, "raise k_bar or lower k")
    return parsed


def parse(mechanism: PeelingWithBottom, *, more_picks: int = 0) -> None:
    """Parse the parameters into exact values; split delta where `delta_threshold` does not say how."""
    k = parameters.listed_size("k", mechanism.k)
    k_bar = parse_k_bar(k, mechanism.k_bar)
    delta, bound = parameters.probability("delta", mechanism.delta), mechanism.max_items_per_user
    if bound is not None:
        bound = parameters.whole_number("max_items_per_user", bound, minimum=1)
    sensitivity = parameters.whole_number("sensitivity", mechanism.sensitivity, minimum=1)
    plan = plan_of(k + more_picks)
    threshold, pick = _split(mechanism, plan, delta, k_bar if bound is None else min(bound, k_bar))
    if pick is None:
        privacy, pick = price(
            plan,
            mechanism.epsilon,
            mechanism.epsilon_per_pick,
            delta - threshold,
            failure=threshold,
            neighbors=Neighbors.ADD_REMOVE,
        )
    else:
        requested = parameters.epsilon("epsilon", mechanism.epsilon)
        privacy = priced(plan(pick), requested, delta - threshold, failure=threshold, neighbors=Neighbors.ADD_REMOVE)
    set_fields(mechanism, k=k, k_bar=k_bar, delta=delta, delta_threshold=threshold, max_items_per_user=bound)
    terms = Terms(k, k_bar, pick, threshold, bound, sensitivity, privacy)
    if terms.bottom(k_bar) >= MAX_RATE:  # which no draw could weigh, when rows had been read
        must, hint = f"leave more than {terms.swaps(k_bar)} * 2^-900 for unknown items", "raise delta, or lower k_bar"
        raise ParameterError("delta", must, "no more", hint)
    set_fields(mechanism, epsilon=privacy.epsilon, epsilon_per_pick=pick, sensitivity=sensitivity, terms=terms)


def _split(
    mechanism: PeelingWithBottom, plan: StepsOfPick, delta: Fraction, swaps: int
) -> tuple[Fraction, Fraction | None]:
    """Return the part of delta that pays for unknown items, and the epsilon of a pick where it is found with that."""
    one_price(mechanism.epsilon, mechanism.epsilon_per_pick)
    if mechanism.delta_threshold is not None:
        threshold = parameters.probability("delta_threshold", mechanism.delta_threshold)
        if threshold > delta:
            raise ParameterError("delta_threshold", "be at most delta", mechanism.delta_threshold)
        return threshold, None
    if mechanism.epsilon is None:
        return delta / 2, None
    split = split_delta(plan, parameters.epsilon("epsilon", mechanism.epsilon), delta, swaps)
    return split.threshold, split.epsilon_per_pick


def until_bottom(rows: TopRows, draws: Draws, terms: Terms, k_bar: int) -> Picks:
    """Peel items, bottom, and the items of count 0 that fill up k_bar (Algorithm 1); stop at the first non-item."""
    counts = rows.inside(k_bar)
    items, missing = len(counts), k_bar - len(counts)
    fillers = [missing] if missing else []
    weights = Weights(
        scores=np.array([*counts, rows.after(k_bar) + terms.sensitivity, *(0 for _ in fillers)], dtype=np.int64),
        rate=terms.rate,
        sizes=np.array([1] * (items + 1) + fillers, dtype=np.int64),
        factors=[Fraction(1)] * items + [terms.bottom(k_bar)] + [Fraction(1)] * len(fillers),
    )
    max_picks = min(terms.k, items + 1)  # among so many picks is a first non-item: a large k costs no more
    return [pick for pick in draws.peel(weights, max_picks, until=items) if pick[0] < items]
