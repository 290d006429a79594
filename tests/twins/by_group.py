"""Broken ways to ask in every group, each of which a test must refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction

from flint import arb, ctx

from dpselect._ground.reals import Exp
from dpselect.mechanisms import Peeling
from dpselect.testing import law

BITS = 192


def peeled_in_groups_that_exist(rate: Fraction) -> Callable[[tuple[tuple[int, ...], ...]], dict[object, arb]]:
    """A known domain of items, in every group that has a user."""

    def run(table):
        mechanism = Peeling(k=1, epsilon_per_pick=rate)

        def answer(draws):
            groups = [g for g, counts in enumerate(table) if any(counts)]
            return tuple((g, *mechanism(list(table[g]), draws=draws).tolist()) for g in groups)

        return law(answer)

    return run


def charged(found: tuple[tuple[object, tuple[object, ...]], ...], groups: int, k: int, pick: Fraction) -> Fraction:
    """What an outcome costs: the picks of the groups with most, a group that is not shown being one."""
    picks = sorted((min(k, len(items) + 1) for _, items in found), reverse=True)[:groups]
    return pick * (sum(picks) + groups - len(picks))


def largest_alone(found: tuple[tuple[object, tuple[object, ...]], ...], k: int, pick: Fraction) -> Fraction:
    """Twin: the picks of one group, where a user counts in two."""
    return charged(found, 1, k, pick)


def unseen_free(found: tuple[tuple[object, tuple[object, ...]], ...], k: int, pick: Fraction) -> Fraction:
    """Twin: groups that are not shown cost nothing."""
    return pick * sum(min(k, len(items) + 1) for _, items in found)


def worst_excess(run, pairs: Iterable, price: Callable[[object], Fraction]) -> float:
    """The largest sum over outcomes of P(o) - e^price(o) P'(o), either way round, over all neighbours."""
    known: dict[object, dict[object, arb]] = {}

    def laws(table):
        if table not in known:
            known[table] = run(table)
        return known[table]

    worst = 0.0
    with ctx.workprec(BITS):
        for a, b in pairs:
            for one, other in ((laws(a), laws(b)), (laws(b), laws(a))):
                gaps = (p - Exp(price(o)).ball(BITS) * other.get(o, arb(0)) for o, p in one.items())
                worst = max(worst, float(sum((gap for gap in gaps if gap > 0), arb(0)).mid()))
    return worst
