"""Planning a top k: every parameter checked, a mechanism and its price fixed by data-independent facts."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

from dpselect import parameters
from dpselect.accounting.calibration import largest_epsilon, split_delta
from dpselect.counting import sampled
from dpselect.discovery import METHOD as DISCOVER
from dpselect.discovery import TopFound, fits, plan_discovery
from dpselect.engines.domain import Domain, most_items
from dpselect.errors import ParameterError, came
from dpselect.mechanisms import (
    CanonicalSet,
    GammaMechanism,
    JointPermuteAndFlip,
    JointSequence,
    JointSet,
    LimitedDomainGaussian,
    LimitedDomainLaplace,
    NoisyCounts,
    OneShotLaplace,
)
from dpselect.mechanisms.chosen_k_bar import ChosenKBar
from dpselect.mechanisms.limited_domain import LimitedDomain
from dpselect.mechanisms.peeling import Peeling
from dpselect.mechanisms.price import COUNT_SHARE, plan_of, priced
from dpselect.parameters import Number
from dpselect.plans import SetSelector, TopK, TopNoisy, TopSet
from dpselect.privacy import Neighbors, PureDP, Steps
from dpselect.unions import BOUND_SHARE

UNKNOWN: dict[str, type[LimitedDomain] | type[ChosenKBar]] = {
    "limited-domain": LimitedDomain,
    "chosen-k-bar": ChosenKBar,
}
SETS: dict[str, Callable[..., SetSelector]] = {
    "joint-set": JointSet,
    "joint-sequence": JointSequence,
    "canonical-set": CanonicalSet,
    "joint-permute-and-flip": JointPermuteAndFlip,
    "canonical-permute-and-flip": partial(JointPermuteAndFlip, loss="canonical"),
}
NOISED: dict[str, type[LimitedDomainLaplace] | type[LimitedDomainGaussian]] = {
    "limited-domain-laplace": LimitedDomainLaplace,
    "limited-domain-gaussian": LimitedDomainGaussian,
}
ONE_SHOT = ("one-shot-laplace", "gamma")
SHORT = {"joint": "joint-set", "canonical": "canonical-set"}
FEWEST_OF_A_SET = 3  # below, peeling's monotonic counts are worth more
LEAST_EPSILON_OF_A_SET = Fraction(3, 10)
MOST_PER_EPSILON = 30  # k / epsilon up to which a whole set is drawn although delta lets peeling compose
FEWEST_TO_DISCOVER = 20
MOST_OF_LIMITED_DOMAIN = 30  # k / epsilon up to which bottom is low enough

KNOWN_DOMAIN = "The domain is given, so peeling ranks exactly k of its items; unseen items take part with count 0."
KNOWN_SET = "The domain is given, and k of its items are chosen all at once; unseen items take part with count 0."
KNOWN_SEQUENCE = "The domain is given, and a ranking of k of its items is chosen all at once, unseen items included."
KNOWN_NOISE = "The domain is given; every count is noised once, unseen items included, and the k largest are taken."
UNKNOWN_NOISE = "No domain is given; the k_bar largest counts are noised once, and those above noisy bottom come out."
IN_ORDER = " It was taken because the items are to come in order."
NO_ORDER = {
    "canonical-set": " A whole set was taken because no order is wanted and k is small enough for epsilon.",
    "peeling": " It was taken because for a whole set k is below 3, or too large for epsilon.",
}
LARGE_K = " It was taken because k is large for epsilon."
UNKNOWN_DOMAIN = "No domain is given, so limited domain looks only at the k_bar + 1 items with most users."


def plan_top_k(
    k: int,
    *,
    epsilon: Number,
    delta: Number | None,
    domain: Domain | None,
    counts: bool,
    k_bar: int | None,
    max_items_per_user: int | None,
    method: str,
    ranked: bool = True,
) -> TopK | TopSet | TopNoisy | TopFound:
    """Check every parameter, fix the mechanism by data-independent facts, and settle the price."""
    parameters.flag("counts", counts)
    parameters.flag("ranked", ranked)
    epsilon = parameters.epsilon("epsilon", epsilon)
    method = _method(method, known=domain is not None)
    share = parameters.delta_or_default(delta, needed=domain is None)
    if domain is not None:
        _check_known(k, k_bar, domain)
        why, sample = "", sampled(max_items_per_user)
        if method == "auto":
            best = best_set_method(parameters.listed("k", k), epsilon, share)
            method, why = ("peeling", IN_ORDER) if ranked else (best, NO_ORDER[best])
        if method in ONE_SHOT:
            return _plan_one_shot(k, epsilon, share, counts, max_items_per_user, method, KNOWN_NOISE + sample)
        if method in SETS:
            return _plan_set(k, epsilon, share, counts, max_items_per_user, method, ranked, why + sample)
        return _plan_known(k, epsilon, share, counts, max_items_per_user, why + sample)
    why = ""
    if method == "auto" and k_bar is None:
        method = best_unknown_method(parameters.listed("k", k), epsilon, share, max_items_per_user)
        why = LARGE_K if method == DISCOVER else ""
    if method == DISCOVER:
        bound = max_items_per_user
        return plan_discovery(
            k, epsilon=epsilon, delta=share, counts=counts, k_bar=k_bar, max_items_per_user=bound, why=why
        )
    if method in NOISED:
        return _plan_noised(k, epsilon, share, counts, k_bar, max_items_per_user, method)
    named = "limited-domain" if method == "auto" else method
    return _plan_unknown(k, epsilon, share, counts, k_bar, max_items_per_user, named)


def _check_known(k: int, k_bar: int | None, domain: Domain) -> None:
    if k_bar is not None:
        raise ParameterError("k_bar", "be left out where a domain is given", k_bar)
    most = most_items(domain)
    if most is not None and parameters.listed("k", k) > most:
        raise ParameterError("k", "be at most the number of items in the domain", k)


def _method(method: str, *, known: bool) -> str:
    allowed = ["auto", "peeling", *SETS, *ONE_SHOT] if known else ["auto", *UNKNOWN, DISCOVER, *NOISED]
    if known and isinstance(method, str):
        method = SHORT.get(method, method)
    return parameters.one_of("method", method, allowed, " with a domain" if known else " without a domain")


def best_set_method(k: int, epsilon: Fraction, delta: Fraction) -> str:
    """Where no order is wanted: one draw of a whole set, or peeling, by k, epsilon and delta alone.

    The loss of a set is spread over k ln(d / k) / epsilon users, that of peeling's picks, where delta lets them
    compose, over about sqrt(k ln(1 / delta)) ln(d) / epsilon: so a set is the worse where k is large and epsilon
    small. The limits are measured (benchmarks/README.md, known_domain).
    """
    small = k < FEWEST_OF_A_SET or epsilon < LEAST_EPSILON_OF_A_SET
    large = delta > 0 and k > MOST_PER_EPSILON * epsilon
    return "peeling" if small or large else "canonical-set"


def best_unknown_method(k: int, epsilon: Fraction, delta: Fraction, most: int | None) -> str:
    """Without a domain: limited domain, or discover, then peel, by k, epsilon, delta and max_items_per_user alone.

    Bottom stands ln(k_bar / delta) / epsilon_per_pick users above the first item that is not looked at, and the epsilon
    of one pick falls with k. What a union needs of an item does not depend on k, but is more where k is small. The
    limits are measured (benchmarks/README.md, discover).
    """
    left = epsilon if most is not None else epsilon * (1 - BOUND_SHARE)
    large = k >= FEWEST_TO_DISCOVER and k > MOST_OF_LIMITED_DOMAIN * epsilon
    return DISCOVER if large and fits(left, delta, most) else "limited-domain"


def _plan_set(
    k: int, epsilon: Fraction, share: Fraction, counts: bool, bound: int | None, method: str, ranked: bool, why: str
) -> TopSet:
    """One step for the set; its counts, together, as much epsilon again."""
    make = SETS[method]
    reason = (KNOWN_SEQUENCE if method == "joint-sequence" else KNOWN_SET) + why
    if ranked and method != "joint-sequence":
        hint = "joint-sequence and peeling rank; or say ranked=False (--unordered)"
        raise ParameterError("method", "rank the items, which a set does not", came(method), hint)
    selector = make(k=k, epsilon=epsilon)
    if not counts:
        return TopSet(selector, None, selector.privacy, reason)
    moved = _moved(selector.k, bound)
    value = type(selector.privacy.steps[0].value)

    def plan(x: Fraction) -> tuple[Steps, ...]:
        return (Steps(value(x), 1), Steps(PureDP(x / moved), moved))

    x = largest_epsilon(plan, epsilon, share)
    privacy = priced(plan(x), epsilon, share, failure=Fraction(0), neighbors=Neighbors.ADD_REMOVE)
    counter = NoisyCounts(k=selector.k, epsilon_per_count=x / moved, max_items_per_user=bound)
    return TopSet(make(k=k, epsilon=x), counter, privacy, reason)


def _plan_one_shot(
    k: int, epsilon: Fraction, share: Fraction, counts: bool, bound: int | None, method: str, reason: str
) -> TopNoisy:
    """Noise on every count of the domain once. Counts of users move alike, so Laplace noise has scale k / epsilon."""
    if method == "gamma":
        gamma = GammaMechanism(k=k, epsilon=epsilon)
        return TopNoisy(gamma, None, gamma.privacy, reason, counts)
    whole = OneShotLaplace(k=k, epsilon=epsilon, monotonic=True)
    if not counts:
        return TopNoisy(whole, None, whole.privacy, reason, counts)
    moved = _moved(whole.k, bound)

    def plan(x: Fraction) -> tuple[Steps, ...]:
        return (Steps(PureDP(x), 1), Steps(PureDP(x / moved), moved))

    x = largest_epsilon(plan, epsilon, share)
    privacy = priced(plan(x), epsilon, share, failure=Fraction(0), neighbors=Neighbors.ADD_REMOVE)
    counter = NoisyCounts(k=whole.k, epsilon_per_count=x / moved, max_items_per_user=bound)
    return TopNoisy(OneShotLaplace(k=k, epsilon=x, monotonic=True), counter, privacy, reason, counts)


def _plan_noised(
    k: int, epsilon: Fraction, delta: Number, counts: bool, k_bar: int | None, bound: int | None, method: str
) -> TopNoisy:
    """Noise on the k_bar largest counts once, at a price that grows with the items of a user and not with k."""
    if bound is None:
        hint = "Dataset(max_items_per_user=...), --max-items-per-user"
        raise ParameterError("max_items_per_user", f"be given for {method}", "nothing", hint)
    selector = NOISED[method](k=k, epsilon=epsilon, delta=delta, max_items_per_user=bound, k_bar=k_bar)
    return TopNoisy(selector, None, selector.privacy, UNKNOWN_NOISE, counts)


def _plan_known(k: int, epsilon: Fraction, share: Fraction, counts: bool, bound: int | None, why: str) -> TopK:
    whole = Peeling(k=k, epsilon=epsilon, delta=share)
    if not counts:
        return TopK(whole, None, whole.privacy, KNOWN_DOMAIN + why)
    plan = plan_of(whole.k, _moved(whole.k, bound))
    pick = largest_epsilon(plan, epsilon, share)
    selector = Peeling(k=k, epsilon_per_pick=pick, delta=share)
    privacy = priced(plan(pick), epsilon, share, failure=Fraction(0), neighbors=Neighbors.ADD_REMOVE)
    return TopK(selector, _counter(k, pick, bound), privacy, KNOWN_DOMAIN + why)


def _plan_unknown(
    k: int, epsilon: Fraction, delta: Number, counts: bool, k_bar: int | None, bound: int | None, method: str
) -> TopK:
    make = UNKNOWN[method]
    whole = make(k=k, k_bar=k_bar, epsilon=epsilon, delta=delta, max_items_per_user=bound)
    if not counts:
        return TopK(whole, None, whole.privacy, UNKNOWN_DOMAIN)
    picks = sum(s.times for s in whole.privacy.steps)
    plan = plan_of(picks, _moved(whole.k, bound))
    split = split_delta(plan, epsilon, Fraction(whole.delta), whole.terms.swaps(whole.terms.k_bar))
    pick, threshold = split.epsilon_per_pick, split.threshold
    selector = make(
        k=k,
        k_bar=k_bar,
        epsilon_per_pick=pick,
        delta=delta,
        delta_threshold=threshold,
        max_items_per_user=bound,
    )
    privacy = priced(plan(pick), epsilon, split.composition, failure=threshold, neighbors=Neighbors.ADD_REMOVE)
    return TopK(selector, _counter(k, pick, bound), privacy, UNKNOWN_DOMAIN)


def plan_picks(
    k: int,
    *,
    epsilon_per_pick: Fraction,
    delta_threshold: Fraction,
    domain: Domain | None,
    counts: bool,
    k_bar: int | None,
    max_items_per_user: int | None,
) -> TopK:
    """Top k by picks of a given epsilon each, for a session, which composes them itself: no delta is spent on that."""
    counted = parameters.flag("counts", counts)
    bound, pick = max_items_per_user, epsilon_per_pick
    selector: LimitedDomain | Peeling
    if domain is not None:
        _check_known(k, k_bar, domain)
        selector, failure, reason = Peeling(k=k, epsilon_per_pick=pick), Fraction(0), KNOWN_DOMAIN + sampled(bound)
    else:
        failure, reason = delta_threshold, UNKNOWN_DOMAIN
        selector = LimitedDomain(
            k=k,
            k_bar=k_bar,
            epsilon_per_pick=pick,
            delta=failure,
            delta_threshold=failure,
            max_items_per_user=bound,
        )
    steps = plan_of(k, _moved(k, bound) if counted else 0)(pick)
    privacy = priced(steps, None, Fraction(0), failure=failure, neighbors=Neighbors.ADD_REMOVE)
    return TopK(selector, _counter(k, pick, bound) if counted else None, privacy, reason)


def _counter(k: int, pick: Fraction, bound: int | None) -> NoisyCounts:
    return NoisyCounts(k=k, epsilon_per_count=pick * COUNT_SHARE, max_items_per_user=bound)


def _moved(k: int, bound: int | None) -> int:
    """How many of the k winners' counts one user can move."""
    return k if bound is None else min(k, bound)
