"""The verbs: fix a mechanism and its price by data-independent facts, ask the engine, select, say what it cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dpselect import parameters
from dpselect.accounting.calibration import largest_epsilon, split_delta
from dpselect.accounting.composition import compose
from dpselect.draws import Draws
from dpselect.engines.domain import Domain, most_items
from dpselect.errors import ParameterError
from dpselect.histogram import Histogram
from dpselect.mechanisms import ExponentialMechanism, Mechanism, NoisyCounts, PermuteAndFlip, ReportNoisyMax
from dpselect.mechanisms.candidates import Input, candidates
from dpselect.mechanisms.chosen_k_bar import ChosenKBar
from dpselect.mechanisms.limited_domain import LimitedDomain
from dpselect.mechanisms.peeling import Peeling
from dpselect.mechanisms.port import secure
from dpselect.mechanisms.price import COUNT_SHARE, plan_of
from dpselect.mechanisms.top_rows import top_rows
from dpselect.parameters import Number
from dpselect.privacy import Neighbors, Privacy, Steps
from dpselect.privacy import neighbors as related
from dpselect.release import Item, Release, Statement

CHOICES: dict[str, Callable[..., Mechanism]] = {
    "exponential": ExponentialMechanism,
    "permute-and-flip": PermuteAndFlip,
    "noisy-max": ReportNoisyMax,
}
UNKNOWN: dict[str, type[LimitedDomain] | type[ChosenKBar]] = {
    "limited-domain": LimitedDomain,
    "chosen-k-bar": ChosenKBar,
}
BETA = 0.05  # accuracy is stated for 95 of 100 answers


def choose(
    scores: Input,
    *,
    epsilon: Number,
    sensitivity: Number = 1,
    monotonic: bool = False,
    neighbors: Neighbors | str = Neighbors.ADD_REMOVE,
    method: str = "exponential",
    draws: Draws | None = None,
) -> Release:
    """Choose the best of some candidates by a private score; one item comes back.

    Guarantee: epsilon-DP for one user against `neighbors`. `sensitivity` is how far one user can move any score;
    `monotonic=True` says that one more user moves all scores the same way (add-remove only) and halves the price.
    `scores` is an array (an index is chosen), a mapping from label to score, or a Histogram. `method` is
    "exponential", "permute-and-flip" (never worse in expectation at this epsilon, dearer in composition) or
    "noisy-max". Raises ParameterError before any score is looked at.

        >>> choose({"left": 3, "right": 90}, epsilon=1, monotonic=True).labels
        ['right']
    """
    plan = plan_choice(
        epsilon=epsilon, sensitivity=sensitivity, monotonic=monotonic, method=method, neighbors=neighbors
    )
    return plan.select(scores, secure(draws))


@dataclass(frozen=True)
class BestOne:
    """A plan for choosing one."""

    chooser: Mechanism
    sentence: str

    def select(self, scores: Input, draws: Draws) -> Release:
        """Run on the scores."""
        label = next(iter(self.chooser(scores, draws=draws)))
        label = int(label) if isinstance(label, np.integer) else label
        statement = stated(self.chooser.privacy, type(self.chooser).__name__, {"k": 1}, (self.sentence,))
        return Release(items=(Item(label, 1, None),), complete=True, privacy=statement, secure=draws.secure)


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


@dataclass(frozen=True)
class TopK:
    """A plan for top k: what selects, what counts the winners, and what both cost. Made before data is touched."""

    selector: LimitedDomain | ChosenKBar | Peeling
    counter: NoisyCounts | None
    privacy: Privacy
    reason: str

    @property
    def rows(self) -> int | None:
        """How many rows may leave the engine; None for a known domain, which is asked for groups."""
        return None if isinstance(self.selector, Peeling) else self.selector.terms.k_bar + 1

    def select(self, histogram: Histogram, draws: Draws) -> Release:
        """Run on the engine's answer."""
        if isinstance(self.selector, Peeling):
            among = candidates(histogram)
            picks, counts, names = self.selector.picks(among, draws), among.scores, among.names
        else:
            rows = top_rows(histogram, self.selector.terms.k_bar + 1)
            picks, counts, names = self.selector.picks(rows, draws), rows.counts, rows.names
        noisy: list[Any] = [None] * len(picks)
        if self.counter is not None:
            noisy = self.counter([int(counts[g]) for g, _ in picks], draws=draws)
        labels = names(picks) if picks else []
        items = tuple(Item(label, i + 1, noisy[i]) for i, label in enumerate(labels))
        return Release(
            items=items, complete=len(items) == self.selector.k, privacy=self.statement(), secure=draws.secure
        )

    def statement(self) -> Statement:
        """What is promised, in numbers and in sentences."""
        s = self.selector
        used: dict[str, object] = {"k": s.k, "epsilon_per_pick": s.epsilon_per_pick}
        sentences = [self.reason]
        if not isinstance(s, Peeling):
            used |= {"k_bar": s.k_bar, "delta_threshold": s.delta_threshold, "max_items_per_user": s.max_items_per_user}
            sentences += _limited_domain_sentences(s)
        if self.counter is not None:
            used["epsilon_per_count"] = self.counter.epsilon_per_count
            scale = 1 / float(Fraction(self.counter.epsilon_per_count))
            sentences.append(f"Counts carry discrete Laplace noise of scale {scale:.3g} users.")
        return stated(self.privacy, type(s).__name__, used, tuple(sentences))


def _limited_domain_sentences(s: LimitedDomain | ChosenKBar) -> list[str]:
    touched = "any number of items" if s.max_items_per_user is None else f"at most {s.max_items_per_user} items"
    if isinstance(s, ChosenKBar):
        return [f"One user touches {touched}; the cut-off k_bar is chosen privately between {s.k} and {s.k_bar}."]
    alpha, gap = s.accuracy(BETA)
    return [
        f"One user touches {touched}.",
        f"An item comes out only if it beats bottom, which stands {s.height:.4g} users above the count of rank "
        f"k_bar + 1 = {s.terms.k_bar + 1}.",
        f"With probability {1 - BETA:.0%} every item's true count is at least the k-th largest less {alpha:.4g}; all "
        f"{s.k} items come back with probability {1 - BETA:.0%} if the k-th count is {gap:.4g} or more above the "
        f"count of rank k_bar + 1 (Lemma 3.1).",
    ]


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
        if k_bar is not None:
            raise ParameterError("k_bar", "be left out where a domain is given", k_bar)
        most = most_items(domain)
        if most is not None and parameters.whole("k", k, least=1) > most:
            raise ParameterError("k", "be at most the number of items in the domain", k)
        return _plan_known(k, epsilon, delta, counts, max_items_per_user)
    if delta is None:
        hint = "an item of an unknown domain can betray its user with probability delta; 1e-6 is a common choice"
        raise ParameterError("delta", "be given where no domain is", "nothing", hint)
    return _plan_unknown(k, epsilon, delta, counts, k_bar, max_items_per_user, method)


def _method(method: str, *, known: bool) -> str:
    allowed = ["auto", "peeling"] if known else ["auto", *UNKNOWN]
    if method not in allowed:
        where = "with a domain" if known else "without a domain"
        raise ParameterError("method", f"be one of {', '.join(allowed)} {where}", repr(method))
    if method != "auto":
        return method
    return "peeling" if known else "limited-domain"


def _plan_known(k: int, epsilon: Fraction, delta: Number | None, counts: bool, bound: int | None) -> TopK:
    reason = "The domain is given, so peeling ranks exactly k of its items; unseen items take part with count 0."
    share = parameters.probability("delta", 0 if delta is None else delta, zero=True)
    whole = Peeling(k=k, epsilon=epsilon, delta=share)
    if not counts:
        return TopK(whole, None, whole.privacy, reason)
    plan = plan_of(whole.k, _moved(whole.k, bound))
    pick = largest_epsilon(plan, epsilon, share)
    selector = Peeling(k=k, epsilon_per_pick=pick, delta=share)
    counter = NoisyCounts(k=k, epsilon_per_count=pick * COUNT_SHARE, max_items_per_user=bound)
    return TopK(selector, counter, _together(plan(pick), epsilon, share, Fraction(0)), reason)


def _plan_unknown(
    k: int, epsilon: Fraction, delta: Number, counts: bool, k_bar: int | None, bound: int | None, method: str
) -> TopK:
    reason = "No domain is given, so limited domain looks only at the k_bar + 1 items with most users."
    make = UNKNOWN[method]
    whole = make(k=k, k_bar=k_bar, epsilon=epsilon, delta=delta, max_items_per_user=bound)
    if not counts:
        return TopK(whole, None, whole.privacy, reason)
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
    counter = NoisyCounts(k=k, epsilon_per_count=pick * COUNT_SHARE, max_items_per_user=bound)
    return TopK(selector, counter, _together(plan(pick), epsilon, split.composition, threshold), reason)


def _moved(k: int, bound: int | None) -> int:
    """How many of the k winners' counts one user can move."""
    return k if bound is None else min(k, bound)


def _together(steps: Sequence[Steps], epsilon: Fraction, composition: Fraction, failure: Fraction) -> Privacy:
    """The privacy of picks and counts together; `epsilon` was calibrated to cover them."""
    bound = compose(steps, composition).bound
    used = Fraction(0) if bound == "basic" else composition
    return Privacy(
        epsilon=epsilon,
        delta=used + failure,
        neighbors=Neighbors.ADD_REMOVE,
        steps=tuple(steps),
        failure=failure,
        bound=bound,
    )


def stated(privacy: Privacy, mechanism: str, used: Mapping[str, object], sentences: tuple[str, ...]) -> Statement:
    """A privacy value as a release says it."""
    return Statement(
        epsilon=privacy.epsilon,
        delta=privacy.delta,
        neighbors=privacy.neighbors,
        mechanism=mechanism,
        parameters=dict(used),
        bound=privacy.bound,
        sentences=sentences,
    )
