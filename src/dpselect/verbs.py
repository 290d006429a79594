"""The verbs: every parameter checked, a mechanism and its price fixed by data-independent facts."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from dpselect import parameters
from dpselect.counting import sampled
from dpselect.draws import Draws
from dpselect.mechanisms import (
    ExponentialMechanism,
    PermuteAndFlip,
    ReportNoisyMax,
)
from dpselect.mechanisms.candidates import Input
from dpselect.mechanisms.port import check_call, secure
from dpselect.parameters import Number
from dpselect.payments import Answer, Where, purse
from dpselect.plans import BestOne, Chooser
from dpselect.privacy import Neighbors, warn_if_weak
from dpselect.privacy import neighbors as related
from dpselect.questions import question
from dpselect.release import Release

CHOICES: dict[str, Callable[..., Chooser]] = {
    "exponential": ExponentialMechanism,
    "permute-and-flip": PermuteAndFlip,
    "noisy-max": ReportNoisyMax,
}


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
    `scores` is an array (an index is chosen), a mapping from label to score, a pandas Series (a label of its index
    is chosen), or a Histogram. `method` is
    "exponential", "permute-and-flip" (never worse in expectation at this epsilon, dearer in composition) or
    "noisy-max". With `ledger` and `analyst` the price is taken from that budget, as for a Dataset; scores have no
    fingerprint, so a stored answer is found again only where `snapshot` names their state. Raises ParameterError
    before any score is looked at.

        >>> choose({"left": 3, "right": 90}, epsilon=1, monotonic=True).labels
        ['right']
    """
    check_call(draws)
    plan = plan_choice(
        epsilon=epsilon, sensitivity=sensitivity, monotonic=monotonic, method=method, neighbors=neighbors
    )
    price = plan.chooser.privacy

    def ask() -> Answer:
        return plan.select(scores, secure(draws)), price.approx

    parameters.flag("fresh", fresh)
    warn_if_weak(price.approx)
    paying = purse(ledger, analyst, name, price.neighbors)
    if paying is None:
        return ask()[0]
    asked = {
        "epsilon": price.epsilon,
        "sensitivity": plan.chooser.sensitivity,
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
    most: int | None = None,
) -> BestOne:
    """Check every parameter and fix the mechanism; without `monotonic` the scores are counts of users.

    `most` is for how many items a user counts, where the data are bounded.
    """
    method = parameters.one_of("method", method, CHOICES)
    which = related(neighbors)
    counts = monotonic is None
    alike = which is Neighbors.ADD_REMOVE if monotonic is None else monotonic
    chooser = CHOICES[method](epsilon=epsilon, sensitivity=sensitivity, monotonic=alike, neighbors=which)
    scores = "Scores are counts of distinct users" if counts else "Scores are the caller's"
    how = "all scores the same way (monotonic)" if alike else "scores in either direction (factor 2)"
    moved = float(Fraction(chooser.sensitivity))
    said = f"{scores}; one user moves each by at most {moved:g}, and {how}.{sampled(most)}"
    return BestOne(chooser, said, users=counts)
