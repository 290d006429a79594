"""Prices by outcome, and what a budget pays by them, enumerated: the real code against every neighbour, and twins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace

import pytest
from flint import arb, ctx

import dpselect as dps
from dpselect._ground.privacy import ApproxDP, Steps
from dpselect._ground.reals import enclose
from dpselect.accounting.prices import of_outcome
from dpselect.aggregates.count_groups import CountGroups
from dpselect.ledger.question import Fingerprint
from dpselect.queries.top.plan import TopKPlan
from dpselect.testing import hockey_stick, law
from tests.by_names import plan_of
from tests.exact.grids import added, pairs
from tests.exact.laws import BITS

NAMES = "abcdef"


def histogram(counts):
    """The items that have users, as an engine hands them over: most users first, ties by name."""
    held = sorted((-c, name) for c, name in zip(counts, NAMES, strict=False) if c)
    return CountGroups.from_items([name for _, name in held], [-c for c, _ in held])


def excess(left, right, price):
    """sum over outcomes of max(0, P - e^(price of the outcome) Q), and E_P of its delta."""
    with ctx.workprec(BITS):
        over, paid = arb(0), arb(0)
        for outcome, p in left.items():
            charge = price(outcome)
            gap = p - enclose(charge.epsilon).exp() * right.get(outcome, arb(0))
            over += gap if not gap <= 0 else 0
            paid += p * enclose(charge.delta)
        return over, paid


def overcharged(left, right, price):
    over, paid = excess(left, right, price)
    return bool(over.mid() > paid.mid() + 1e-30)


# ---- one call ---------------------------------------------------------------------------------------------


def plan(k, k_bar, *, counts=False, delta="0.1"):
    price = {"epsilon": 1, "delta": delta}
    return plan_of("top_k", k=k, k_bar=k_bar, counts=counts, method="limited-domain", **price).selection


def charged(plan, items):
    """What a budget that adds up is charged for an answer of so many items."""
    cost = plan.cost_at(SimpleNamespace(found=(items,)), None).whole
    return ApproxDP(cost.epsilon, cost.failure)


def neighbours(high=()):
    """All pairs of a small grid, and of histograms with two leaders, where bottom is rare and tells more; both ways."""
    found = list(pairs(3, 2))
    found += [(base, other) for base in ((h, h, 0) for h in high) for other in added(base)]
    return [pair for counts, other in found for pair in ((counts, other), (other, counts))]


def answers(plan, counts):
    return law(lambda draws: tuple(plan.select(histogram(counts), draws).labels))


@pytest.mark.parametrize(("k", "k_bar"), [(1, 1), (2, 2), (2, 3), (3, 3)])
def test_what_an_answer_is_charged_covers_what_it_tells(k, k_bar):
    asked = plan(k, k_bar)
    for left, right in neighbours(high=(6, 9)):
        assert not overcharged(answers(asked, left), answers(asked, right), lambda o: charged(asked, len(o)))


def test_a_short_answer_costs_less():
    asked = plan(10, 10, delta="1e-6")
    pick = asked.selector.terms.epsilon_per_pick
    assert charged(asked, 0) == ApproxDP(pick, Fraction(1, 10**6))
    assert charged(asked, 3) == ApproxDP(4 * pick, Fraction(1, 10**6))
    assert charged(asked, 9) == charged(asked, 10) == ApproxDP(Fraction(1), Fraction(1, 10**6))
    counted = plan(10, 10, counts=True, delta="1e-6")
    one = sum(step.value.epsilon for step in counted.counter.steps_of(1))
    pick = counted.selector.terms.epsilon_per_pick
    assert charged(counted, 0).epsilon == pick < charged(counted, 1).epsilon == 2 * pick + one < 1
    adding = plan_of("top_k", k=3, k_bar=10, epsilon="0.1", delta="1e-9", counts=True).selection
    pick, own = adding.selector.terms.epsilon_per_pick, adding.counter.noise.own
    assert charged(adding, 1).epsilon == pick * 2 + own * 2  # 2 picks, and own noise of a doubled count


TWINS = {
    "bottom is free": lambda asked: (
        lambda o: ApproxDP(asked.selector.terms.epsilon_per_pick * len(o), asked.privacy.delta)
    ),
    "delta is given back": lambda asked: lambda o: ApproxDP(charged(asked, len(o)).epsilon, Fraction(0)),
}


@pytest.mark.parametrize("name", list(TWINS))
def test_a_twin_that_charges_too_little_is_refused(name):
    asked = plan(2, 2, delta="0.01")
    price = TWINS[name](asked)
    assert any(overcharged(answers(asked, left), answers(asked, right), price) for left, right in neighbours((6, 9)))


# ---- many adaptive questions ------------------------------------------------------------------------------

# What a question is about depends on what the one before said.
VIEWS = {"all": (0, 1, 2), "few": (1, 2)}
UNKNOWN = Fingerprint("{}", repeatable=False)


@dataclass(frozen=True)
class Charged:
    """A question, and how many steps a budget is told that its answer took."""

    query: TopKPlan
    taken: Callable[[TopKPlan, int], Sequence[Steps]]

    @property
    def price(self):
        return self.query.price

    def price_at(self, order):
        return self.query.price_at(order)

    def cost_at(self, release, order):
        return of_outcome(self.price, self.taken(self.query, len(release)), order)


def honest(query, items):
    return query.steps(SimpleNamespace(found=(items,)))


def bottom_free(query, items):
    return (Steps(query.price.steps[0].value, items),) if items else ()


def told(promise, asked, times, counts):
    """The law of all answers that a budget pays, asked one after the other until `times`."""

    def run(draws):
        budget, said, view = dps.Budget(epsilon=promise.epsilon, delta=promise.delta), [], "all"
        for _ in range(times):
            seen = histogram(counts[i] if i in VIEWS[view] else 0 for i in range(len(counts)))
            try:
                release = budget.pay(
                    asked, UNKNOWN, lambda seen=seen: asked.query.selection.select(seen, draws), fresh=True
                )
            except dps.BudgetError:
                said.append("refused")
                break
            said.append(tuple(release.labels))
            view = "few" if release.labels[:1] == ["a"] else "all"
        return tuple(said)

    return law(run)


def broken(promise, query, times, taken=honest):
    """By how much, at most, neighbours can be told apart beyond the promise."""
    laws, asked = {}, Charged(query, taken)

    def found(counts):
        if counts not in laws:
            laws[counts] = told(promise, asked, times, counts)
        return laws[counts]

    with ctx.workprec(BITS):
        pairs_of = neighbours((3, 6))
        most = max(float(hockey_stick(found(a), found(b), promise.epsilon).mid()) for a, b in pairs_of)
    return most > promise.delta * (1 + Fraction(1, 10**12))


@pytest.mark.parametrize("epsilon", ["1", "3"])
def test_answers_that_a_budget_paid_by_their_outcomes_keep_its_promise(epsilon):
    """A list of two leaves nothing for a second question, one that ends early does."""
    promise = ApproxDP(Fraction(epsilon), Fraction(1, 1000))
    query = plan_of("top_k", k=2, epsilon=promise.epsilon * 2 / 3, delta="1e-4", k_bar=2, method="limited-domain")
    found = told(promise, Charged(query, honest), 2, (6, 3, 0))
    assert {answers[1] == "refused" for answers in found} == {True, False}
    assert not broken(promise, query, 2)


def test_a_twin_that_charges_nothing_for_bottom_is_refused():
    promise = ApproxDP(Fraction(2), Fraction(1, 100))
    query = plan_of("top_k", k=1, epsilon=2, delta="0.001", k_bar=2, method="limited-domain")
    assert not broken(promise, query, 4)
    assert broken(promise, query, 4, bottom_free)
