"""Planning a top k of one list: the mechanism and its price, by data-independent facts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpselect._ground import methods, parameters
from dpselect._ground.domain import Domain, most_items, refuse_more
from dpselect._ground.methods import AUTO
from dpselect._ground.privacy import BoundedRange, Neighbors, PureDP, Steps
from dpselect.accounting.calibration import COUNT_SHARE, largest_epsilon, plan_of, priced, split_delta
from dpselect.errors import ParameterError
from dpselect.mechanisms.top_k.limited_domain import LimitedDomain
from dpselect.queries.plan import sampled
from dpselect.queries.selection import LimitedTop, PeeledTop, Selection

if TYPE_CHECKING:
    from dpselect.aggregates.measures import Measure
    from dpselect.mechanisms.top_k.noisy_counts import NoisyCounts
    from dpselect.mechanisms.top_k.noisy_measures import NoisyMeasures

DISCOVER, LIMITED, PEELING = "discover", "limited-domain", "peeling"
SPARSE = "limited-domain-sparse"
FEWEST_OF_A_SET = 3  # below, peeling's monotonic counts are worth more
LEAST_EPSILON_OF_A_SET = Fraction(3, 10)
MOST_PER_EPSILON = 30  # k / epsilon up to which a whole set is drawn although delta lets peeling compose
FEWEST_TO_DISCOVER = 20
FEWEST_OF_SPARSE = 3
FEWEST_TO_DISCOVER_BY_GROUP, MOST_BY_GROUP = 10, 20  # picks in the groups of a user, and picks / epsilon
MOST_OF_LIMITED_DOMAIN = 25  # k / epsilon up to which bottom is low enough
MOST_OF_SPARSE = 4000  # k^2 / epsilon up to which few of the picks are too low

KNOWN_DOMAIN = "The domain is given, so peeling ranks exactly k of its items; unseen items take part with count 0."
KNOWN_SET = "The domain is given, and k of its items are chosen all at once; unseen items take part with count 0."
KNOWN_SEQUENCE = "The domain is given, and a ranking of k of its items is chosen all at once, unseen items included."
UNKNOWN_NOISE = "No domain is given; the k_bar largest counts are noised once, and those above noisy bottom come out."
IN_ORDER = " It was taken because the items are to come in order."
LARGE_K = " It was taken because k is large for epsilon."
BOUND_HELPS = " With a max_items_per_user that few users exceed, a set union could find more."
UNKNOWN_DOMAIN = "No domain is given, so limited domain looks only at the k_bar + 1 items with most users."
UNKNOWN_SPARSE = (
    "No domain is given, so only the k_bar + 1 items with most users are looked at, and one noisy threshold decides "
    "which picks come out."
)
NO_ORDER = {
    "canonical-set": " A whole set was taken because no order is wanted and k is small enough for epsilon.",
    "peeling": " It was taken because for a whole set k is below 3, or too large for epsilon.",
}


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What a plan is made for: all that a question says but its price."""

    k: int
    domain: Domain | None
    counts: bool
    measures: tuple[Measure, ...]
    k_bar: int | None
    ranked: bool
    max_items_per_user: int | None
    moves: int  # by how much one user moves a score at most
    by_weight: bool
    gains: bool = False  # are scores what items gained from some periods to others?
    in_engine: bool = False

    @property
    def noises(self) -> int:
        """How many noisy numbers of each item are asked for."""
        return int(self.counts) + self._of_measures

    @property
    def _of_measures(self) -> int:
        return sum(one.noises for one in self.measures)

    def planned(self, method: str, epsilon: Fraction, delta: Fraction) -> Selection:
        """The mechanism, and the price of all of it."""
        bound, why, domain = self.max_items_per_user, "", self.domain
        if domain is not None:
            self._check_known(domain)
            if method == AUTO:
                best = best_set_method(parameters.listed("k", self.k), epsilon, delta)
                method, why = (PEELING, IN_ORDER) if self.ranked else (best, NO_ORDER[best])
            why += sampled(bound)
            if method == PEELING:
                return self._peeled(epsilon, delta, KNOWN_DOMAIN + why)
            return self._set(method, epsilon, delta, why)
        if method == AUTO and self.k_bar is None:
            method = best_unknown_method(parameters.listed("k", self.k), epsilon, delta, bound)
            method = SPARSE if self.by_weight and method == DISCOVER else method
            why = "" if method == LIMITED else LARGE_K
            if method == SPARSE and not self.by_weight and bound is None and is_for_a_union(self.k, epsilon):
                why += BOUND_HELPS
            if self.gains and _discovered_if_possible(epsilon, delta, bound) == DISCOVER:
                method, why = DISCOVER, ""  # gains are small beside numbers of users, and a union needs only these
        if method == DISCOVER:
            from dpselect.queries.top_k_discovery import plan_discovery

            return plan_discovery(
                self.k,
                epsilon=epsilon,
                delta=delta,
                counts=self.counts,
                measures=self.measures,
                max_items_per_user=bound,
                in_engine=self.in_engine,
                why=why,
            )
        if method in (AUTO, LIMITED):
            return self._limited(epsilon, delta)
        if method == SPARSE:
            return self._sparse(epsilon, delta, UNKNOWN_SPARSE + why)
        return self._noised(method, epsilon, delta)

    def _check_known(self, domain: Domain) -> None:
        if self.k_bar is not None:
            raise ParameterError("k_bar", "be left out where a domain is given", self.k_bar)
        most = most_items(domain)
        if most is not None:
            refuse_more(parameters.listed("k", self.k), most)

    def _peeled(self, epsilon: Fraction, delta: Fraction, reason: str) -> PeeledTop:
        peeling = methods.named("top_k", PEELING)
        whole = peeling.make(k=self.k, epsilon=epsilon, delta=delta, sensitivity=self.moves)
        if not self.noises:
            return PeeledTop(method=PEELING, selector=whole, privacy=whole.privacy, reason=reason)
        plan = plan_of(whole.k, self._moved(whole.k) * self.noises)
        pick = largest_epsilon(plan, epsilon, delta)
        privacy = priced(plan(pick), epsilon, delta, failure=Fraction(0), neighbors=Neighbors.ADD_REMOVE)
        selector = peeling.make(k=self.k, epsilon_per_pick=pick, delta=delta, sensitivity=self.moves)
        told = self._told(pick * COUNT_SHARE)
        return PeeledTop(method=PEELING, selector=selector, **told, privacy=privacy, reason=reason)

    def _limited(self, epsilon: Fraction, delta: Fraction) -> LimitedTop:
        whole = self._limited_domain(epsilon=epsilon, delta=delta)
        if not self.noises:
            return LimitedTop(method=LIMITED, selector=whole, privacy=whole.privacy, reason=UNKNOWN_DOMAIN)
        picks = sum(s.times for s in whole.privacy.steps)
        plan = plan_of(picks, self._moved(whole.k) * self.noises)
        split = split_delta(plan, epsilon, delta, whole.terms.swaps(whole.terms.k_bar))
        pick, failure = split.epsilon_per_pick, split.threshold
        selector = self._limited_domain(epsilon_per_pick=pick, delta=delta, delta_threshold=failure)
        privacy = priced(plan(pick), epsilon, split.composition, failure=failure, neighbors=Neighbors.ADD_REMOVE)
        told = self._told(pick * COUNT_SHARE)
        return LimitedTop(method=LIMITED, selector=selector, **told, privacy=privacy, reason=UNKNOWN_DOMAIN)

    def _sparse(self, epsilon: Fraction, delta: Fraction, reason: str) -> Selection:
        """One noisy threshold, picks, and their noisy numbers, together within epsilon."""
        from dpselect.queries.top_k_sparse import SparseTop

        counted = self._moved(parameters.listed("k", self.k)) * self.noises
        given: dict[str, Any] = {"k": self.k, "k_bar": self.k_bar, "sensitivity": self.moves, "counted": counted}
        selector = methods.named("top_k", SPARSE).make(epsilon=epsilon, delta=delta, **given)
        told = self._told(selector.epsilon_per_pick * COUNT_SHARE)
        return SparseTop(method=SPARSE, selector=selector, **told, privacy=selector.privacy, reason=reason)

    def _set(self, method: str, epsilon: Fraction, delta: Fraction, why: str) -> Selection:
        """One step for the set; its counts, together, as much epsilon again, and each other noisy number too."""
        from dpselect.queries.top_k_set import SetTop

        row = methods.named("top_k", method)
        reason = (KNOWN_SEQUENCE if row.ordered else KNOWN_SET) + why
        selector = row.make(k=self.k, epsilon=epsilon, sensitivity=self.moves)
        if not self.noises:
            return SetTop(method=method, selector=selector, privacy=selector.privacy, reason=reason)
        moved = self._moved(selector.k)

        def plan(x: Fraction) -> tuple[Steps, ...]:
            return (Steps(BoundedRange(x), 1), Steps(PureDP(x / moved), moved * self.noises))

        x = largest_epsilon(plan, epsilon, delta)
        privacy = priced(plan(x), epsilon, delta, failure=Fraction(0), neighbors=Neighbors.ADD_REMOVE)
        selector = row.make(k=self.k, epsilon=x, sensitivity=self.moves)
        return SetTop(method=method, selector=selector, **self._told(x / moved), privacy=privacy, reason=reason)

    def _noised(self, method: str, epsilon: Fraction, delta: Fraction) -> Selection:
        """Noise on the k_bar largest counts once, at a price that grows with the items of a user and not with k."""
        from dpselect.queries.top_k_noisy import NoisyTop

        if self.max_items_per_user is None:
            hint = "Dataset(max_items_per_user=...), --max-items-per-user"
            raise ParameterError("max_items_per_user", f"be given for {method}", "nothing", hint)
        times = self._of_measures  # counts come with the selection
        part = epsilon / (1 + times)
        selector = methods.named("top_k", method).make(
            k=self.k, epsilon=part, delta=delta, max_items_per_user=self.max_items_per_user, k_bar=self.k_bar
        )
        privacy, measurer = selector.privacy, None
        if times:
            privacy = replace(privacy, epsilon=epsilon, steps=(Steps(PureDP(epsilon), 1),))
            measurer = self._measurer(part / self._moved(selector.k))
        return NoisyTop(
            method=method,
            selector=selector,
            privacy=privacy,
            reason=UNKNOWN_NOISE,
            counts=self.counts,
            measurer=measurer,
        )

    def _limited_domain(self, **price: Any) -> LimitedDomain:
        bound = self.max_items_per_user
        return LimitedDomain(k=self.k, k_bar=self.k_bar, max_items_per_user=bound, sensitivity=self.moves, **price)

    def _told(self, each: Fraction) -> dict[str, Any]:
        """What tells noisy numbers of the winners, at this epsilon for each of them."""
        return {"counter": self._counter(each) if self.counts else None, "measurer": self._measurer(each)}

    def _measurer(self, each: Fraction) -> NoisyMeasures | None:
        if not self.measures:
            return None
        from dpselect.mechanisms.top_k.noisy_measures import NoisyMeasures

        bound = self.max_items_per_user
        return NoisyMeasures(measures=self.measures, k=self.k, epsilon_per_noise=each, max_items_per_user=bound)

    def _counter(self, each: Fraction) -> NoisyCounts:
        from dpselect.mechanisms.top_k.noisy_counts import NoisyCounts

        bound = self.max_items_per_user
        return NoisyCounts(k=self.k, epsilon_per_count=each, max_items_per_user=bound, sensitivity=self.moves)

    def _moved(self, k: int) -> int:
        """How many of the k winners' counts one user can move."""
        return k if self.max_items_per_user is None else min(k, self.max_items_per_user)


def best_set_method(k: int, epsilon: Fraction, delta: Fraction) -> str:
    """Where no order is wanted: one draw of a whole set, or peeling, by k, epsilon and delta alone.

    The loss of a set is spread over k ln(d / k) / epsilon users, that of peeling's picks, where delta lets them
    compose, over about sqrt(k ln(1 / delta)) ln(d) / epsilon: so a set is the worse where k is large and epsilon
    small. The limits are measured (benchmarks/README.md, known_domain).
    """
    small = k < FEWEST_OF_A_SET or epsilon < LEAST_EPSILON_OF_A_SET
    large = delta > 0 and k > MOST_PER_EPSILON * epsilon
    return PEELING if small or large else "canonical-set"


def best_unknown_method(k: int, epsilon: Fraction, delta: Fraction, most: int | None) -> str:
    """Without a domain: limited domain, its sparse form, or discover, by k, epsilon, delta and the bound alone.

    Bottom stands ln(k_bar / delta) / epsilon_per_pick users above the first item that is not looked at, and the epsilon
    of one pick falls with k. One threshold for all picks stands lower once k is large for epsilon, and what it costs
    leaves less to the picks. What a union needs of an item does not depend on k, but is more where k is small. The
    limits are measured (benchmarks/README.md, unknown_domain and discover).
    """
    if k < FEWEST_OF_SPARSE or k <= MOST_OF_LIMITED_DOMAIN * epsilon:
        return LIMITED
    return _discovered_if_possible(epsilon, delta, most, SPARSE) if is_for_a_union(k, epsilon) else SPARSE


def is_for_a_union(k: int, epsilon: Fraction) -> bool:
    """Is k so large for epsilon that most picks of all items would be too low?"""
    return k >= FEWEST_TO_DISCOVER and k**2 > MOST_OF_SPARSE * epsilon


def best_by_group(picks: int, epsilon: Fraction, delta: Fraction, most: int | None) -> str:
    """In every group: limited domain, or discover, by the picks in the groups of a user and the price alone.

    Groups are smaller than all data, so bottom is too high sooner. The limits are measured (benchmarks/README.md,
    by_group).
    """
    if picks < FEWEST_TO_DISCOVER_BY_GROUP or picks <= MOST_BY_GROUP * epsilon:
        return LIMITED
    return _discovered_if_possible(epsilon, delta, most)


def _discovered_if_possible(epsilon: Fraction, delta: Fraction, most: int | None, otherwise: str = LIMITED) -> str:
    from dpselect.queries.top_k_discovery import fits
    from dpselect.queries.union_terms import BOUND_SHARE

    left = epsilon if most is not None else epsilon * (1 - BOUND_SHARE)
    return DISCOVER if fits(left, delta, most) else otherwise
