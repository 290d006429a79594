"""The question of a verb, at the price that somebody named, or that of the budget that pays."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from dpselect import parameters
from dpselect.parameters import Number
from dpselect.queries.query import Query
from dpselect.queries.within import ACCURACIES

Asked = TypeVar("Asked", bound=Query)


class Paying(Protocol):
    """What a budget says of the price of a question."""

    def price(self, verb: str, epsilon: Number | None, delta: Number | None, *, needed: bool = False) -> dict[str, Any]:
        """The price as parameters of the question."""
        ...


def at_price(
    kind: type[Asked],
    paying: Paying | None,
    *,
    epsilon: Number | None,
    delta: Number | None = None,
    needed: bool = False,
    **given: Any,
) -> Asked:
    """The question of a verb; `needed` says that it needs a delta, whether or not one was named.

    Where an accuracy is named in place of epsilon, the budget says no more than the delta.
    """
    if paying is None:
        return kind(**given, **parameters.price(epsilon, delta))
    if epsilon is None and any(given.get(name) is not None for name in ACCURACIES):
        usual = paying.price(kind.verb, 1, delta, needed=needed)
        return kind(**given, **(usual | {"epsilon": None}))
    return kind(**given, **paying.price(kind.verb, epsilon, delta, needed=needed))
