"""The verbs: every parameter checked, a mechanism and its price fixed by data-independent facts."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from dpselect import parameters
from dpselect.accounting.calibration import largest_epsilon, split_delta
from dpselect.draws import Draws
from dpselect.engines.domain import Domain, most_items
from dpselect.errors import ParameterError
from dpselect.mechanisms import ExponentialMechanism, Mechanism, NoisyCounts, PermuteAndFlip, ReportNoisyMax
from dpselect.mechanisms.candidates import Input
from dpselect.mechanisms.chosen_k_bar import ChosenKBar
from dpselect.mechanisms.limited_domain import LimitedDomain
from dpselect.mechanisms.peeling import Peeling
from dpselect.mechanisms.port import secure
from dpselect.mechanisms.price import COUNT_SHARE, plan_of, priced
from dpselect.parameters import Number
from dpselect.payments import Answer, Where, purse
from dpselect.plans import BestOne, TopK
from dpselect.privacy import Neighbors
from dpselect.privacy import neighbors as related
from dpselect.questions import question
from dpselect.release import Release

CHOICES: dict[str, Callable[..., Mechanism]] = {
    "exponential": ExponentialMechanism,
    "permute-and-flip": PermuteAndFlip,
    "noisy-max": ReportNoisyMax,
}
UNKNOWN: dict[str, type[LimitedDomain] | type[ChosenKBar]] = {
    "limited-domain": LimitedDomain,
    "chosen-k-bar": ChosenKBar,
}
KNOWN_DOMAIN = "The domain is given, so peeling ranks exactly k of its items; unseen items take part with count 0."
UNKNOWN_DOMAIN = "No domain is given, so limited domain looks only at the k_bar + 1 items with most users."


def choose(
    scores: Input,
    *,
    epsilon: Number,
    sensitivity: Number = 1,
    monotonic: bool = False,
    neighbors: Neighbors | str = Neighbors.ADD_REMOVE,
    method: str = "exponential",
    ledger: Where | None = None,
    analyst: str | None = None,
    name: str = "default",
    snapshot: str | None = None,
    fresh: bool = False,
    draws: Draws | None = None,
) -> Release:
    """Choose the best of some candidates by a private score; one item comes back.

    Guarantee: epsilon-DP for one user against `neighbors`. `sensitivity` is how far one user can move any score;
    `monotonic=True` says that one more user moves all scores the same way (add-remove only) and halves the price.
    `scores` is an array (an index is chosen), a mapping from label to score, or a Histogram. `method` is
    "exponential", "permute-and-flip" (never worse in expectation at this epsilon, dearer in composition) or
    "noisy-max". With `ledger` and `analyst` the price is taken from that budget, as for a Dataset; scores have no
    fingerprint, so a stored answer is found again only where `snapshot` names their state. Raises ParameterError
    before any score is looked at.

        >>> choose({"left": 3, "right": 90}, epsilon=1, monotonic=True).labels
        ['right']
    """
    plan = plan_choice(
        epsilon=epsilon, sensitivity=sensitivity, monotonic=monotonic, method=method, neighbors=neighbors
    )
    price = plan.chooser.privacy

    def ask() -> Answer:
        return plan.select(scores, secure(draws)), price.approx

    parameters.flag("fresh", fresh)
    paying = purse(ledger, analyst, name, price.neighbors)
    if paying is None:
        return ask()[0]
    asked = {
        "epsilon": price.epsilon,
        "sensitivity": Fraction(sensitivity),
        "monotonic": monotonic,
        "method": type(plan.chooser).__name__,
        "neighbors": str(price.neighbors),
        "secure": draws is None or draws.secure,
    }
    what = question("choose", asked, {"source": "scores", "snapshot": snapshot}, snapshot is not None)
    return paying.pay(price.approx, what, ask, fresh=fresh)


def plan_choice(
    *,
    epsilon: Number,
    method: str,
    neighbors: Neighbors | str,
    sensitivity: Number = 1,
    monotonic: bool | None = None,
) -> BestOne:
    """Check every parameter and fix the mechanism; without `monotonic` the scores are counts of users."""
    if method not in CHOICES:
        raise ParameterError("method", f"be one of {', '.join(CHOICES)}", repr(method))
    which = related(neighbors)
    counts = monotonic is None
    alike = which is Neighbors.ADD_REMOVE if monotonic is None else monotonic
    chooser = CHOICES[method](epsilon=epsilon, sensitivity=sensitivity, monotonic=alike, neighbors=which)
    scores = "Scores are counts of distinct users" if counts else "Scores are the caller's"
    how = "all scores the same way (monotonic)" if alike else "scores in either direction (factor 2)"
    moved = float(Fraction(sensitivity))
    return BestOne(chooser, f"{scores}; one user moves each by at most {moved:g}, and {how}.")


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
) -> TopK:
    """Check every parameter, fix the mechanism by data-independent facts, and settle the price."""
    parameters.flag("counts", counts)
    epsilon = parameters.positive("epsilon", epsilon)
    method = _method(method, known=domain is not None)
    if domain is not None:
        _check_known(k, k_bar, domain)
        return _plan_known(k, epsilon, delta, counts, max_items_per_user)
    if delta is None:
        hint = "an item of an unknown domain can betray its user with probability delta; 1e-6 is a common choice"
        raise ParameterError("delta", "be given where no domain is", "nothing", hint)
    return _plan_unknown(k, epsilon, delta, counts, k_bar, max_items_per_user, method)


def _check_known(k: int, k_bar: int | None, domain: Domain) -> None:
    if k_bar is not None:
        raise ParameterError("k_bar", "be left out where a domain is given", k_bar)
    most = most_items(domain)
    if most is not None and parameters.whole("k", k, least=1) > most:
        raise ParameterError("k", "be at most the number of items in the domain", k)


def _method(method: str, *, known: bool) -> str:
    allowed = ["auto", "peeling"] if known else ["auto", *UNKNOWN]
    if method not in allowed:
        where = "with a domain" if known else "without a domain"
        raise ParameterError("method", f"be one of {', '.join(allowed)} {where}", repr(method))
    if method != "auto":
        return method
    return "peeling" if known else "limited-domain"


def _plan_known(k: int, epsilon: Fraction, delta: Number | None, counts: bool, bound: int | None) -> TopK:
    share = parameters.probability("delta", 0 if delta is None else delta, zero=True)
    whole = Peeling(k=k, epsilon=epsilon, delta=share)
    if not counts:
        return TopK(whole, None, whole.privacy, KNOWN_DOMAIN)
    plan = plan_of(whole.k, _moved(whole.k, bound))
    pick = largest_epsilon(plan, epsilon, share)
    selector = Peeling(k=k, epsilon_per_pick=pick, delta=share)
    privacy = priced(plan(pick), epsilon, share, failure=Fraction(0), neighbors=Neighbors.ADD_REMOVE)
    return TopK(selector, _counter(k, pick, bound), privacy, KNOWN_DOMAIN)


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
        selector, failure, reason = Peeling(k=k, epsilon_per_pick=pick), Fraction(0), KNOWN_DOMAIN
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
