"""Quantiles of values: every parameter checked, the price fixed, and the verbs for an array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from dpselect import parameters
from dpselect.draws import Draws
from dpselect.engines.port import PerUser
from dpselect.mechanisms.port import check_call, secure
from dpselect.mechanisms.quantile import Quantile
from dpselect.parameters import Number
from dpselect.payments import Answer, Where, purse
from dpselect.plans import ValuesAt
from dpselect.privacy import warn_if_weak
from dpselect.questions import question
from dpselect.release import Release

Bounds = tuple[Number, Number]
MEDIAN = Fraction(1, 2)

ONE_EACH = {
    PerUser.RANDOM: "A user with several values takes part with one of the distinct ones, chosen at random.",
    PerUser.MIN: "A user with several values takes part with the smallest.",
    PerUser.MAX: "A user with several values takes part with the largest.",
    PerUser.MEAN: "A user with several values takes part with their mean, taken after each has moved to the grid.",
}
CALLERS = "Every value is the one value of one user."


def quantile(
    values: object,
    q: Number | Sequence[Number] = 0.5,
    *,
    bounds: Bounds,
    epsilon: Number,
    delta: Number = 0,
    step: Number | None = None,
    ledger: Where | None = None,
    analyst: str | None = None,
    name: str = "default",
    snapshot: str | None = None,
    fresh: bool = False,
    draws: Draws | None = None,
) -> Release:
    """The value below which a share q of all users' values lies, or several such values, ascending.

    Guarantee: (epsilon, delta)-DP for one user coming or going, if every user has one value in `values`. `bounds` are
    two numbers chosen without looking at the data; what lies beyond counts as the bound, and what is missing does not
    count. The answer is a point low + i `step`; without a step the points are very dense. Several q share the price,
    and a small delta makes them more accurate. With `ledger` and `analyst` the price is taken from that budget; values
    have no fingerprint, so a stored answer is found again only where `snapshot` names their state. Raises
    ParameterError before any value is looked at.

        >>> quantile([30] * 50 + [40] * 60, bounds=(0, 120), step=1, epsilon=9).labels
        [40]
    """
    check_call(draws)
    plan = plan_quantile(q, bounds=bounds, step=step, epsilon=epsilon, delta=delta)
    price = plan.mechanism.privacy.approx

    def ask() -> Answer:
        return plan.select(values, secure(draws)), price

    parameters.flag("fresh", fresh)
    warn_if_weak(price)
    paying = purse(ledger, analyst, name)
    if paying is None:
        return ask()[0]
    whole = asked(plan, draws)
    what = question("quantile", whole, {"source": "values", "snapshot": snapshot}, snapshot is not None)
    return paying.pay(price, what, ask, fresh=fresh)


def median(
    values: object,
    *,
    bounds: Bounds,
    epsilon: Number,
    step: Number | None = None,
    ledger: Where | None = None,
    analyst: str | None = None,
    name: str = "default",
    snapshot: str | None = None,
    fresh: bool = False,
    draws: Draws | None = None,
) -> Release:
    """The middle one of all users' values: `quantile` with q = 1/2, which is epsilon-DP."""
    return quantile(
        values,
        MEDIAN,
        bounds=bounds,
        epsilon=epsilon,
        step=step,
        ledger=ledger,
        analyst=analyst,
        name=name,
        snapshot=snapshot,
        fresh=fresh,
        draws=draws,
    )


def plan_quantile(
    q: Number | Sequence[Number],
    *,
    bounds: Bounds,
    step: Number | None,
    epsilon: Number | None = None,
    delta: Number = 0,
    epsilon_per_pick: Number | None = None,
    per_user: PerUser | None = None,
) -> ValuesAt:
    """Check every parameter and fix the price: of the whole, or for a session of each quantile."""
    mechanism = Quantile(q=q, bounds=bounds, step=step, epsilon=epsilon, delta=delta, epsilon_per_pick=epsilon_per_pick)
    return ValuesAt(mechanism, CALLERS if per_user is None else ONE_EACH[per_user])


def chosen(per_user: PerUser | str) -> PerUser:
    """Which value of a user counts, or a clear error."""
    return PerUser(parameters.one_of("per_user", per_user, PerUser))


def asked(plan: ValuesAt, draws: Draws | None, per_user: PerUser | None = None) -> Mapping[str, object]:
    """What a ledger knows the question by."""
    m = plan.mechanism
    return {
        "q": m.shares,
        "bounds": (m.grid.low, m.grid.high),
        "step": m.grid.step,
        "epsilon": m.privacy.epsilon,
        "delta": m.delta,
        "per_user": None if per_user is None else str(per_user),
        "secure": draws is None or draws.secure,
    }
