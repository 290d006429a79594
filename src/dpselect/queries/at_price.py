"""The question of a verb, at the price that somebody named, or that of the budget that pays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from dpselect._ground import parameters
from dpselect._ground.parameters import Number
from dpselect.errors import ParameterError, came
from dpselect.queries.by_share import by_share, three_digits
from dpselect.queries.query import Query

if TYPE_CHECKING:
    from dpselect.ledger.sharing import Sharing

Asked = TypeVar("Asked", bound=Query)
ACCURACIES = ("within", "users_for")  # in place of epsilon


class Paying(Protocol):
    """What a budget says of the price of a question."""

    @property
    def usual_delta(self) -> Fraction:
        """That of a question that needs one and names none; 0 where it has none."""
        ...

    @property
    def sharing(self) -> Sharing:
        """What a share of it is."""
        ...


def at_price(
    kind: type[Asked],
    paying: Paying | None,
    *,
    epsilon: Number | None,
    delta: Number | None = None,
    share: Number | None = None,
    **given: Any,
) -> Asked:
    """The question of a verb, of these parameters.

    For a `share` of the budget it has the largest epsilon, of three digits, whose ceiling takes no more. What others
    took changes nothing, so the same share is the same question. Where an accuracy is named, the epsilon follows from
    it, and the budget says no more than the delta.
    """
    near, needed = next((name for name in ACCURACIES if given.get(name) is not None), None), kind.needs_delta(given)
    if share is None:
        if near is None and epsilon is None:
            raise unpriced(kind.verb, [*(["share"] if paying else []), *(name for name in ACCURACIES if name in given)])
        if paying is not None and delta is None and needed:
            delta = paying.usual_delta or None
        return kind(**given, **parameters.price(epsilon, delta))

    def made(each: dict[str, Any]) -> Asked:
        return kind(**given, **each)

    return at_share(made, paying, share, epsilon=epsilon, delta=delta, near=near, needed=needed)


def unpriced(verb: str, instead: Sequence[str]) -> ParameterError:
    """What to say where neither epsilon nor what may stand in its place was named."""
    must = f"be given for {verb}" + (f", or {' or '.join(instead)} in its place" if instead else "")
    return ParameterError("epsilon", must, "nothing", "1 is a common choice; a smaller one reveals less")


def at_share(
    make: Callable[[dict[str, Any]], Asked],
    paying: Paying | None,
    share: Number,
    *,
    epsilon: object,
    delta: Number | None,
    near: str | None,
    needed: bool,
) -> Asked:
    """The question that `make` makes of a price, for a share of the budget; `near` is an accuracy that was named."""
    wanted = parameters.share("share", share)
    if epsilon is not None:
        raise ParameterError("share", "be left out where epsilon is given", came(share))
    if near is not None:
        raise ParameterError("share", f"be left out where {near} is given", came(share))
    if paying is None:
        hint = "budget=dps.Budget(epsilon=, delta=), or --budget FILE; or give epsilon"
        raise ParameterError("share", "be given with a budget, which it is a share of", came(share), hint)
    shares = paying.sharing
    if delta is None and needed:
        of_share = shares.delta(wanted)
        if not of_share:
            hint = "make a budget with a delta, or give a domain where there is one"
            raise ParameterError("delta", "be in the budget for this question", "0", hint)
        delta = three_digits(min(parameters.DELTA, of_share))

    def made(each: Fraction) -> Asked:
        return make(parameters.price(each, delta))

    found: Asked = by_share(made, shares.part, wanted, shares.start(wanted))
    shares.check_failure(found, wanted)
    return found
