"""Policies: a user spends on the items that others have not lifted to the cutoff yet (Gopi et al. 2020)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

from dpselect import parameters
from dpselect.draws import Draws
from dpselect.errors import ParameterError
from dpselect.kernels import compiled
from dpselect.kernels.plain import Loop
from dpselect.mechanisms.set_union.laws import GaussianTail, LaplaceTail
from dpselect.mechanisms.set_union.ordering import users_and_items_in_order, users_in_order
from dpselect.mechanisms.set_union.port import UNIT, Progress, Weighed, parse, promise, released, settle, up, within
from dpselect.mechanisms.set_union.thresholds import root_up, smallest_deviation, threshold
from dpselect.parameters import Number
from dpselect.privacy import Privacy
from dpselect.user_sets import Int64, UserSets

ROUNDING = Fraction(1, 2**53)  # half the distance of neighbouring floats, as a part of them
MOST_USERS = 2**27
MOST_SLACK = Fraction(1, 8)  # keeps the cutoff within twice of what it is without slack


@dataclass(frozen=True, kw_only=True)
class PolicyLaplace:
    """Release the items whose weight plus Laplace noise is above a threshold; a user raises all their items equally.

    l1-descent: 1 is spent evenly over those of the user's items that are below the cutoff, which none ever passes. The
    cutoff is the threshold and `alpha` scales of the noise.

    Guarantee: (epsilon, delta)-DP.
    Neighbors: add-remove.
    Sensitivity: a user keeps a random `max_items_per_user` of their items and moves the final weights, all users
        together, by at most 1: exactly, since 2^30 whole parts are poured cell by cell (its page).
    Exactness: the law is exact: weights are whole multiples of 2^-30, and each item is one coin of P(weight + noise >
        threshold); the threshold is proved, rounded up.
    Cost: one sort of the pairs, one loop over users, one coin an item.
    Source: seed 001 (Gopi et al. 2020), Algorithms 3 and 4. Ours: whole parts, and a proof without slack.
    Example:
        >>> policy = PolicyLaplace(epsilon=1, delta="1e-6", max_items_per_user=9, alpha=40)
        >>> policy(UserSets.of(["a"] * 90 + ["b"])).tolist()
        [0]
    """

    epsilon: Number
    delta: Number
    max_items_per_user: int
    alpha: Number = 3
    threshold: Fraction = field(init=False)
    cutoff: Fraction = field(init=False)
    law: LaplaceTail = field(init=False, repr=False)
    privacy: Privacy = field(init=False, repr=False)
    slack: Fraction = field(init=False, default=Fraction(0), repr=False)

    def __post_init__(self) -> None:
        epsilon, delta = parse(self)
        height = threshold(lambda at: LaplaceTail(at, epsilon), delta, self.max_items_per_user, even_up)
        cutoff = Fraction(up(height + Fraction(self.alpha) / epsilon, UNIT), UNIT)
        law, privacy = LaplaceTail(height, epsilon), promise(epsilon, delta, "policy, Laplace")
        settle(self, threshold=height, cutoff=cutoff, law=law, privacy=privacy)

    def share(self, t: int) -> Fraction:  # noqa: ARG002 - the same for every t
        """All of it, where the user's other items are at the cutoff."""
        return Fraction(1)

    def weigh(self, ordered: UserSets, progress: Progress | None = None) -> Weighed:
        """l1-descent, user after user."""
        return filled("level", within(ordered, self.max_items_per_user), self.cutoff, progress)

    def __call__(self, sets: UserSets, *, draws: Draws | None = None, progress: Progress | None = None) -> Int64:
        """The codes of the released items, ascending."""
        return released(self, sets, self.max_items_per_user, users_and_items_in_order, draws, progress)


@dataclass(frozen=True, kw_only=True)
class PolicyGaussian:
    """Release the items whose weight plus Gaussian noise is above a threshold; a user moves straight to the cutoff.

    l2-descent: the weights of the user's items move towards the cutoff, in a straight line and by a Euclidean distance
    of at most 1. The cutoff is the threshold and `alpha` deviations of the noise.

    Guarantee: (epsilon, delta)-DP for data of at most `most_users` users (more are refused); half of delta for the
        noise, half for items that only one data set has.
    Neighbors: add-remove.
    Sensitivity: a user keeps a random `max_items_per_user` of their items and moves the final weights, all users
        together, by at most 1 + `slack` in the l2 norm; the slack bounds the rounding of all users' floats.
    Exactness: the law is exact: each item is one coin of P(weight + noise > threshold) at its float weight; noise and
        threshold are proved for sensitivity 1 + `slack`, rounded up.
    Cost: one gather of the pairs, one loop over users, one coin an item.
    Source: seed 001 (Gopi et al. 2020), Algorithms 5 and 6; Balle and Wang 2018, Theorem 8, for the noise. Ours: the
        proof by proximal maps, and the slack.
    Example:
        >>> PolicyGaussian(epsilon=1, delta="1e-6", max_items_per_user=9)(UserSets.of(["a"] * 90 + ["b"])).tolist()
        [0]
    """

    epsilon: Number
    delta: Number
    max_items_per_user: int
    alpha: Number = 5
    most_users: int = MOST_USERS
    deviation: Fraction = field(init=False, repr=False)
    threshold: Fraction = field(init=False)
    cutoff: Fraction = field(init=False)
    slack: Fraction = field(init=False)
    law: GaussianTail = field(init=False, repr=False)
    privacy: Privacy = field(init=False, repr=False)

    def __post_init__(self) -> None:
        epsilon, delta = parse(self)
        users = parameters.whole("most_users", self.most_users, least=1)
        shift = smallest_deviation(epsilon, delta / 2)
        _, highest = _heights(self, shift, delta / 2, Fraction(0))
        rounding = rounding_of_one(self.max_items_per_user, 2 * highest)
        slack = 2 * users * rounding
        if slack > MOST_SLACK:
            raise ParameterError("most_users", "be small enough for the rounding of floats not to matter", users)
        height, cutoff = _heights(self, shift * (1 + slack), delta / 2, rounding)
        law = GaussianTail(height, shift * (1 + slack))
        privacy = promise(epsilon, delta, "policy, Gaussian")
        settle(self, most_users=users, slack=slack, threshold=height, cutoff=cutoff, law=law, privacy=privacy)
        settle(self, deviation=law.deviation)

    def share(self, t: int) -> Fraction:  # noqa: ARG002 - the same for every t
        """All of it, where the user's other items are at the cutoff."""
        return Fraction(1)

    def weigh(self, ordered: UserSets, progress: Progress | None = None) -> Weighed:
        """l2-descent, user after user."""
        ordered = within(ordered, self.max_items_per_user)
        if ordered.users > self.most_users:
            raise ParameterError("most_users", "be at least the number of users", self.most_users, "raise most_users")
        given = (ordered.offsets, ordered.codes, ordered.size, float(self.cutoff))
        return compiled.run("descend", *given, progress=progress), 1

    def __call__(self, sets: UserSets, *, draws: Draws | None = None, progress: Progress | None = None) -> Int64:
        """The codes of the released items, ascending."""
        return released(self, sets, self.max_items_per_user, users_in_order, draws, progress)


def filled(name: Loop, ordered: UserSets, cutoff: Fraction, progress: Progress | None) -> Weighed:
    """The weights after a policy in whole parts."""
    given = (ordered.offsets, ordered.codes, ordered.size, int(cutoff * UNIT), UNIT)
    return compiled.run(name, *given, progress=progress), UNIT


def even_up(t: int) -> Fraction:
    """The most that l1-descent gives to each of t items that are new: 1/t in whole parts, rounded up."""
    return Fraction(-(-UNIT // t), UNIT)


def rounding_of_one(items: int, cutoff: Fraction) -> Fraction:
    """How far, in the l2 norm, the floats of one user's l2-descent can end from the exact ones.

    (items / 2 + 5) u for the step and sqrt(items) (cutoff + 1) u for adding it (docs/mechanisms/set-union-policies.md).
    """
    return ROUNDING * (Fraction(items, 2) + 5 + root_up(Fraction(items)) * (cutoff + 1))


def _heights(
    mechanism: PolicyGaussian, deviation: Fraction, delta: Fraction, rounding: Fraction
) -> tuple[Fraction, Fraction]:
    """Threshold and cutoff; the cutoff is a float."""

    def fresh(t: int) -> Fraction:
        return root_up(Fraction(1, t)) + rounding

    height = threshold(lambda at: GaussianTail(at, deviation), delta, mechanism.max_items_per_user, fresh)
    cutoff = max(height + Fraction(mechanism.alpha) * deviation, Fraction(1))
    up(cutoff, UNIT)
    return height, Fraction(math.nextafter(float(cutoff), math.inf))
