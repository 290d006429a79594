"""Limited domain by sparse vector: hidden picks, shown while their counts pass one noisy threshold."""

from __future__ import annotations

from dataclasses import field
from fractions import Fraction

import numpy as np
from flint import arb, ctx

from dpselect._ground import parameters
from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Number
from dpselect._ground.privacy import BoundedRange, Neighbors, Privacy, Steps
from dpselect._ground.reals import Exp, enclose, upper
from dpselect.accounting.calibration import largest_epsilon, plan_of, priced
from dpselect.accounting.composition import basic
from dpselect.draws import Draws, Weights, secure
from dpselect.errors import ParameterError
from dpselect.mechanisms import gaps
from dpselect.mechanisms.candidates import Answer, Input, Picks
from dpselect.mechanisms.port import set_fields
from dpselect.mechanisms.top_k.limited_domain import parse_k_bar
from dpselect.mechanisms.top_k.top_rows import TopRows, top_rows

PRECISION = 128
HIGHEST = 2**62  # heights and counts stay in 64 bits
FEW = 10  # picks below which the threshold deserves more; measured: docs/results.md, unknown_domain
SHARE_OF_FEW, SHARE = Fraction(1, 3), Fraction(1, 4)  # of epsilon, for the threshold
TEST_SHARE = Fraction(1, 8)  # of what is left, for the tests where the picks are composed


@dataclass(frozen=True)
class SparseTerms:
    """The terms that follow from the parameters, all exact."""

    k: int
    k_bar: int
    sensitivity: int
    epsilon_per_pick: Fraction
    epsilon_of_threshold: Fraction
    epsilon_of_test: Fraction
    delta_threshold: Fraction
    height: int
    left: Fraction  # epsilon and delta for picks, and for noisy numbers of the winners that follow
    composition: Fraction
    privacy: Privacy

    @property
    def rate(self) -> Fraction:
        """The rate of picks: an item of count h weighs exp(rate h)."""
        return self.epsilon_per_pick / self.sensitivity

    @property
    def test_rate(self) -> Fraction:
        """The rate of tests: the noise n on a count has probability in proportion to e^(-test_rate n)."""
        return self.epsilon_of_test / self.sensitivity

    def added(self, items: int) -> Fraction:
        """Return the epsilons of the picks and tests of an answer of so many items, by adding up.

        The pick that ends a list is hidden together with its test, so the larger of the two is enough.
        """
        last = max(self.epsilon_per_pick, self.epsilon_of_test) if items < self.k else Fraction(0)
        return self.epsilon_of_threshold + items * self.epsilon_per_pick + last

    def gap(self, beta: float) -> Fraction:
        """Return the gap: no item that is picked later, or never, has more users by more, but with probability beta."""
        return gaps.exponential(self.rate, gaps.log_others(self.k_bar), gaps.failure_per_step(beta, self.k))

    def shortfall(self, beta: float) -> Fraction:
        """Return by how many users, at most, a picked item is below the k-th best, but with probability beta."""
        return gaps.kth(self.rate, gaps.log_others(self.k_bar, self.k), self.k, beta)

    def reach(self, beta: float) -> Fraction:
        """Return the reach: while an item has more users than rank k_bar + 1 by more, the list does not end early.

        But with probability beta: half of it for a pick that is too low, half for noise of more than t on the count of
        one of k picks, each of probability e^(-rate (t + 1)).
        """
        noise = gaps.exponential(self.test_rate, 0.0, gaps.failure_per_step(beta / 2, self.k))
        return self.height + noise.__ceil__() + self.gap(beta / 2)


@dataclass(frozen=True, kw_only=True)
class LimitedDomainSparse:
    """Pick k of the k_bar items with the most users, then show them in this order while they pass a noisy threshold.

    The first pick that does not pass, or that is one of the nameless items of count 0 that fill up k_bar, ends the
    list; it and all after it stay hidden. The threshold stands `height` above the count after the k_bar largest, less
    one noise; a part `threshold_share` of epsilon pays for it. `counted` noisy numbers of the winners may follow, each
    of half the epsilon of a pick, and are paid within epsilon too.

    Guarantee: (epsilon, delta)-DP; delta is `delta_threshold` (a neighbour's data may lack an item that is released),
        once and not for each pick, and what composing the picks needs.
    Neighbors: add-remove.
    Sensitivity: one user moves every count by at most `sensitivity`, all the same way, as many as they like. Equal
        counts are ordered by index or label, so the index of an array must not come from the data.
    Exactness: the law is exact; `height` is rounded up from a certified logarithm.
    Cost: one pass to find k_bar + 1 rows, then k draws and at most as many tests.
    Source: ours; picks as in Durfee and Rogers 2019, tests as in AboveThreshold (Dwork and Roth 2014, Algorithm 1),
        with one-sided noise; statement and proof on its page.
    Example:
        >>> LimitedDomainSparse(k=2, k_bar=3, epsilon=4, delta="1e-6")([900, 600, 5, 2, 1]).tolist()
        [0, 1]
    """

    k: int
    epsilon: Number
    delta: Number
    k_bar: int | None = None
    threshold_share: Number | None = None
    sensitivity: int = 1
    counted: int = 0
    terms: SparseTerms = field(init=False, repr=False)

    def __post_init__(self) -> None:
        k = parameters.listed_size("k", self.k)
        set_fields(
            self,
            k=k,
            k_bar=parse_k_bar(k, self.k_bar),
            epsilon=parameters.epsilon("epsilon", self.epsilon),
            delta=parameters.probability("delta", self.delta),
            sensitivity=parameters.whole_number("sensitivity", self.sensitivity, minimum=1),
            counted=parameters.whole_number("counted", self.counted, minimum=0),
        )
        default_share = SHARE_OF_FEW if k < FEW else SHARE
        share = parameters.positive(
            "threshold_share", default_share if self.threshold_share is None else self.threshold_share
        )
        if share >= 1:
            raise ParameterError("threshold_share", "be below 1", self.threshold_share)
        set_fields(self, threshold_share=share)
        set_fields(self, terms=derive_terms(self))

    @property
    def privacy(self) -> Privacy:
        """The price: steps for threshold and tests and for each pick, noisy numbers, and delta_threshold."""
        return self.terms.privacy

    @property
    def epsilon_per_pick(self) -> Fraction:
        """The bounded range of each pick."""
        return self.terms.epsilon_per_pick

    def __call__(self, counts: Input, *, draws: Draws | None = None) -> Answer:
        """Select at most k indices or labels, best first; fewer than k where a test ended the list."""
        rows = top_rows(counts, self.terms.k_bar + 1)
        return rows.names(self.picks(rows, secure(draws)))

    def picks(self, rows: TopRows, draws: Draws) -> Picks:
        """Draw shown rows as (row, 0), best first."""
        t = self.terms
        counts = rows.inside(t.k_bar)
        threshold = rows.after(t.k_bar) + t.height - draws.geometric(t.epsilon_of_threshold / t.sensitivity)
        shown_picks: list[tuple[int, int]] = []
        for pick in self._hidden(rows, draws):
            lead = int(counts[pick[0]]) - threshold if pick[0] < len(counts) else -1
            # A count less geometric noise passes while the noise is at most its lead: all but e^(-rate (lead + 1)).
            if lead < 0 or draws.bernoulli(Exp(-t.test_rate * (lead + 1))):
                break
            shown_picks.append(pick)
        return shown_picks

    def _hidden(self, rows: TopRows, draws: Draws) -> Picks:
        """Peel the k_bar best, up to the first nameless item."""
        counts = rows.inside(self.terms.k_bar)
        items, missing = len(counts), self.terms.k_bar - len(counts)
        fillers = [missing] if missing else []
        weights = Weights(
            scores=np.array([*counts, *(0 for _ in fillers)], dtype=np.int64),
            rate=self.terms.rate,
            sizes=np.array([1] * items + fillers, dtype=np.int64),
        )
        return draws.peel(weights, min(self.k, items + len(fillers)), until=items)


def derive_terms(mechanism: LimitedDomainSparse) -> SparseTerms:
    """Return the terms that leave most to a pick: adding up, or composing the picks at half of delta."""
    m, epsilon, delta = mechanism, Fraction(mechanism.epsilon), Fraction(mechanism.delta)
    threshold = epsilon * Fraction(m.threshold_share or SHARE)
    remaining, plan = epsilon - threshold, plan_of(m.k, m.counted)
    pick, composition = remaining / basic(plan(Fraction(1))), Fraction(0)
    test, failure, bound = pick, delta, "basic"
    composed = largest_epsilon(plan, remaining * (1 - TEST_SHARE), delta / 2)
    if composed > pick:
        pick, test, failure, composition = composed, remaining * TEST_SHARE, delta / 2, delta / 2
        remaining -= test
        bound = priced(plan(pick), remaining, composition, failure=failure, neighbors=Neighbors.ADD_REMOVE).bound
    steps = (Steps(BoundedRange(threshold + 2 * test), 1), *plan(pick))
    return SparseTerms(
        k=m.k,
        k_bar=parse_k_bar(m.k, m.k_bar),
        sensitivity=m.sensitivity,
        epsilon_per_pick=pick,
        epsilon_of_threshold=threshold,
        epsilon_of_test=test,
        delta_threshold=failure,
        height=height_for(threshold / m.sensitivity, test / m.sensitivity, failure, m.sensitivity),
        left=remaining,
        composition=composition,
        privacy=Privacy(
            epsilon=epsilon,
            delta=delta,
            neighbors=Neighbors.ADD_REMOVE,
            steps=steps,
            failure=failure,
            bound=bound,
        ),
    )


def height_for(threshold_rate: Fraction, test_rate: Fraction, delta: Fraction, lead: int) -> int:
    """Return the least height: an item `lead` over the count after the k_bar largest passes with at most delta."""
    with ctx.workprec(PRECISION):
        least = upper((_ratio(threshold_rate, test_rate) / enclose(delta)).log() / enclose(threshold_rate))
    height = lead + max(0, least.__ceil__())
    if height > HIGHEST:
        raise ParameterError("epsilon", "be large enough for a threshold below 2^62", "a smaller value")
    return height


def _ratio(threshold_rate: Fraction, test_rate: Fraction) -> arb:
    return (-enclose(test_rate)).expm1() / (-enclose(threshold_rate + test_rate)).expm1()
