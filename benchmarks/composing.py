"""How many questions one grant pays: adding epsilons up, against an account that also counts one Rényi order.

No data are read and nothing is drawn: every answer is taken to cost its ceiling. A question has a thousandth of the
grant's delta where it needs one. docs/composing.md has the rule and its proof.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from measure import table

from dpselect import Choose, Plan, Quantile, TopK, Union
from dpselect.accounting.prices import Price, Spent, ceiling
from dpselect.accounting.promise import Promise, how_many, order_for
from dpselect.mechanisms import RenyiShaped
from dpselect.mechanisms.set_union.renyi_curve import Conditions, half_weight
from dpselect.mechanisms.set_union.renyi_shaped import COMPOSED, MAX_CONTRIBUTIONS, has_curve

GRANTS = (("1", "1e-6"), ("3", "1e-5"), ("10", "1e-5"))
EPSILONS = ("0.05", "0.1", "0.2", "0.5", "1")
QUESTIONS = 1000  # which the grant's delta is shared by
MIX = 200
ITEMS = 10  # per user, in unions
TARGET = 3
PARTS = ("1/4", "1/2", "3/4", "9/10")  # of delta, that could be set apart
APART_KINDS = ("top 10", "top 10 of a known domain", "median", "union of 10 items per user")

Make = Callable[[Fraction, Fraction], Plan]


def top(k: int, counts: bool = False, domain: int | None = None) -> Make:
    """A top k, of a known domain where its size is given."""

    def make(epsilon: Fraction, delta: Fraction) -> Plan:
        known = None if domain is None else range(domain)
        return TopK(k, domain=known, counts=counts).at(epsilon=epsilon, delta=delta)

    return make


def quantiles(*q: str) -> Make:
    """Quantiles of a value from 0 to 1000."""
    return lambda epsilon, delta: Quantile(list(q), bounds=(0, 1000), step=1).at(epsilon=epsilon, delta=delta)


def choose(epsilon: Fraction, _: Fraction) -> Plan:
    """One of a thousand."""
    return Choose(range(1000)).at(epsilon=epsilon)


def union(epsilon: Fraction, delta: Fraction) -> Plan:
    """All items that enough users share."""
    return Union().at(epsilon=epsilon, delta=delta, max_items_per_user=ITEMS)


def counted_union(epsilon: Fraction, delta: Fraction) -> Plan:
    """The same, and how many users share each."""
    return Union(counts=True).at(epsilon=epsilon, delta=delta, max_items_per_user=ITEMS)


KINDS: dict[str, Make] = {
    "top 10": top(10),
    "top 10 with counts": top(10, counts=True),
    "top 10 of a known domain": top(10, domain=1000),
    "median": quantiles("0.5"),
    "nine deciles": quantiles(*(f"0.{i}" for i in range(1, 10))),
    "union of 10 items per user": union,
    "union of 10 items per user, with counts": counted_union,
}


@dataclass(frozen=True)
class Analyst:
    """How many of the questions of the mix somebody asks, for which part of the grant's epsilon each, in turn."""

    questions: int
    part: Fraction
    asks: tuple[Make, ...]


MIXED = (
    Analyst(100, Fraction(1, 100), (top(10), quantiles("0.5"), top(10, domain=1000), top(5))),
    Analyst(70, Fraction(2, 100), (top(20, counts=True), quantiles("0.25", "0.5", "0.75"), choose)),
    Analyst(30, Fraction(5, 100), (union, top(100), quantiles(*(f"0.{i}" for i in range(1, 10))))),
)


def rows(promise: Promise) -> list[list[object]]:
    """One kind of question after the other."""
    found = []
    for name, make in KINDS.items():
        cells: list[object] = [name]
        for each in EPSILONS:
            price = make(Fraction(each), promise.delta / QUESTIONS).price_at(promise.order)
            cells.append(f"{promise.epsilon // Fraction(each)} / {how_many(promise, price)}")
        found.append(cells)
    found += [
        ["union, as it would be at the account's order", *(at_the_order(promise, Fraction(each)) for each in EPSILONS)],
    ]
    return found


def at_the_order(promise: Promise, epsilon: Fraction) -> str:
    """One round at the account's order that reaches 1/2 where a round of RenyiShaped(epsilon, delta) does."""
    delta = promise.delta / QUESTIONS
    if not has_curve(epsilon, delta, ITEMS) or promise.order is None:
        return "-"
    made = RenyiShaped(epsilon=epsilon, delta=delta, max_items_per_user=ITEMS)
    hidden, steps = delta * (1 - COMPOSED), ((ITEMS, 1),)
    spends = sum((one.budget for one in made.conditions), Fraction(0))
    wanted = half_weight(Conditions(order=made.order, budget=spends, delta=hidden, steps=steps), MAX_CONTRIBUTIONS)
    low, high = Fraction(0), epsilon
    for _ in range(20):
        middle = (low + high) / 2
        same = Conditions(order=promise.order, budget=middle, delta=hidden, steps=steps)
        low, high = (low, middle) if half_weight(same, MAX_CONTRIBUTIONS) <= wanted else (middle, high)
    count = how_many(promise, Price(10 * promise.epsilon, high, hidden))  # with no price by adding
    return f"{promise.epsilon // epsilon} / {count}"


def in_turn(promise: Promise) -> list[Plan]:
    """The questions of all analysts, each spread evenly over the whole."""
    when = []
    for number, analyst in enumerate(MIXED):
        for i in range(analyst.questions):
            make = analyst.asks[i % len(analyst.asks)]
            when.append((Fraction(2 * i + 1, 2 * analyst.questions), number, make, analyst.part))
    delta = promise.delta / QUESTIONS
    return [make(promise.epsilon * part, delta) for _, _, make, part in sorted(when, key=lambda one: one[:2])]


def paid_by_adding(promise: Promise, asked: Sequence[Plan]) -> int:
    """How many fit where epsilons and deltas add up; one that does not fit is left out."""
    epsilon = delta = Fraction(0)
    paid = 0
    for query in asked:
        most = query.ceiling
        if epsilon + most.epsilon <= promise.epsilon and delta + most.delta <= promise.delta:
            epsilon, delta, paid = epsilon + most.epsilon, delta + most.delta, paid + 1
    return paid


def paid(promise: Promise, prices: Sequence[Price]) -> int:
    """How many fit by the rule; one that does not is left out."""
    settled, count = Spent(), 0
    for price in prices:
        charge = promise.charge(settled, price)
        if promise.admits(settled, Spent(), charge):
            settled, count = settled + charge, count + 1
    return count


def by_part(epsilon: Fraction, delta: Fraction, part: Fraction) -> list[object]:
    """How many questions are paid if this part is set apart: of each kind, and of the mix until one does not fit."""
    apart = delta * part
    promise = Promise(epsilon, delta, order_for(epsilon, apart), apart)
    small = [KINDS[name](Fraction(1, 10), delta / QUESTIONS) for name in KINDS if name in APART_KINDS]
    prices = [one.price_at(promise.order) for one in in_turn(promise)]
    found = [how_many(promise, one.price_at(promise.order)) for one in small]
    low, high = 0, 10 * len(prices)  # that fit, and that do not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if paid(promise, (prices * 10)[:middle]) == middle else (low, middle)
    return [f"({epsilon}, {float(delta):g})", str(part), *found, low]


def main() -> None:
    """Print the tables."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    mixes: list[list[object]] = []
    met = True
    for epsilon, delta in GRANTS:
        promise = Promise.for_account(Fraction(epsilon), Fraction(delta))
        print(f"\nA grant of ({epsilon}, {delta}), order {promise.order}: by adding / by this rule\n")
        table(["question", *(f"epsilon {each}" for each in EPSILONS)], rows(promise))
        asked = in_turn(promise)
        added = paid_by_adding(promise, asked)
        stated = paid(promise, [ceiling(one.price, promise.order) for one in asked])
        finer = paid(promise, [one.price_at(promise.order) for one in asked])
        met &= finer >= TARGET * added
        mixes.append([f"({epsilon}, {delta})", len(asked), added, stated, finer, f"{finer / added:.1f}"])
    print("\nThree analysts: 100 questions of 1 % of epsilon, 70 of 2 %, 30 of 5 %\n")
    table(["grant", "asked", "paid by adding", "by stated (epsilon, delta)", "by this rule", "ratio"], mixes)
    print("\nBy the part of delta that is set apart, questions of epsilon 0.1; of the mix until one does not fit\n")
    parts = [by_part(Fraction(e), Fraction(d), Fraction(part)) for e, d in GRANTS for part in PARTS]
    table(["grant", "apart", *APART_KINDS, "of the mix"], parts)
    print(f"\n(at least {TARGET} times as many: {'met' if met else 'MISSED'})")
    sys.exit(not met)


if __name__ == "__main__":
    main()
