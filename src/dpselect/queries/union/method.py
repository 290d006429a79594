"""By which method a set union is answered: the one that was named, or the best by data-independent facts."""

from __future__ import annotations

from fractions import Fraction

from dpselect._ground import methods
from dpselect._ground.methods import AUTO, NeedsBound
from dpselect._ground.parameters import rounded_up
from dpselect.errors import ParameterError, came
from dpselect.mechanisms.set_union.renyi_shaped import has_curve, least_epsilon
from dpselect.queries.union.bound import LEAST_LAST_BOUND
from dpselect.questions.parts import BY_BOUND

ROUNDS = "renyi-shaped"
ONE_ITEM, ONE_ITEM_COUNTED = "truncated-geometric", "count-laplace"
WITHOUT_CURVE = "weighted-gaussian"  # where epsilon is too small for a curve of renyi-shaped
WITH_COUNTS = ("count-laplace", "count-gaussian")  # what decides there is a noisy count, which may be shown
WITH_POPULAR = FOR_FEW = "greedy-geometric"
FEW_ITEMS = 6  # a chosen bound up to which it finds more than rounds; measured, docs/methods-compared.md
COUNTS_OF_BUDGET = Fraction(1, 2)  # of a Renyi budget, for counts: as many items as without a budget in common
LEAST_DELTA = Fraction(1, 10**100)


def best_method(
    epsilon: Fraction, delta: Fraction, max_items: int, *, counted: bool = False, in_engine: bool = False
) -> str:
    """Return the best method by epsilon, delta, the bound and what is asked for alone; measured.

    Docs/methods-compared.md.
    """
    if max_items == 1:
        return ONE_ITEM_COUNTED if counted and not in_engine else ONE_ITEM
    share = COUNTS_OF_BUDGET if counted else Fraction(0)
    return ROUNDS if has_curve(epsilon, delta, max_items, share) else WITHOUT_CURVE


def resolve_bound(method: str, stated: int | None, *, counted: bool) -> tuple[int | None, bool]:
    """Return max_items_per_user, and whether it is to be chosen privately."""
    if method == ONE_ITEM and stated not in (None, 1):
        raise ParameterError("max_items_per_user", f"be 1 for {ONE_ITEM}", came(stated))
    if method == ONE_ITEM or stated is not None:
        return stated or 1, False
    is_needed = method in (AUTO, BY_BOUND) or methods.method_row("union", method).bound is NeedsBound.REQUIRED
    return None, is_needed or counted


def without_curve(
    requested: Fraction,
    epsilon: Fraction,
    delta: Fraction,
    max_items: int | None,
    method: str,
    hint: str,
    counts_share: Fraction = Fraction(0),
) -> ParameterError:
    """Return the error where `epsilon`, the union's part of the price, is too small for a Renyi-shaped curve."""
    items = "max_items_per_user chosen privately" if max_items is None else f"{max_items} items per user"
    if delta < LEAST_DELTA:
        return ParameterError("delta", f"be at least {rounded_up(LEAST_DELTA)} for {method}", rounded_up(delta), hint)
    least = rounded_up(
        least_epsilon(delta, LEAST_LAST_BOUND if max_items is None else max_items, counts_share) * requested / epsilon
    )
    return ParameterError("epsilon", f"be at least {least} for {method} with {items}", rounded_up(requested), hint)
