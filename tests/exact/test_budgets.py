"""Prices by outcome and whole sessions, enumerated: the real code against every neighbour, and its broken twins."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb, ctx

from dpselect.accounting.pick_accountant import Cost, PickAccountant
from dpselect.accounting.privacy_filters import Added, Alike, Concentrated, Terms, by_pick, by_total
from dpselect.aggregates.histogram import Histogram
from dpselect.errors import BudgetError, ParameterError
from dpselect.privacy import ApproxDP, BoundedRange, PureDP, Steps
from dpselect.queries.top_k import TopKQuery
from dpselect.reals import enclose
from dpselect.testing import hockey_stick, law
from tests.exact.grids import added, pairs
from tests.exact.laws import BITS

NAMES = "abcdef"


def histogram(counts):
    """The items that have users, as an engine hands them over: most users first, ties by name."""
    held = sorted((-c, name) for c, name in zip(counts, NAMES, strict=False) if c)
    return Histogram.from_items([name for _, name in held], [-c for c, _ in held])


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


def plan(k, k_bar, *, method="limited-domain", counts=False, epsilon=1, delta="0.1"):
    return TopKQuery(
        k=k,
        epsilon=epsilon,
        delta=delta,
        domain=None,
        counts=counts,
        k_bar=k_bar,
        max_items_per_user=None,
        method=method,
    ).plan


def neighbours(high=()):
    """All pairs of a small grid, and of histograms with two leaders, where bottom is rare and tells more; both ways."""
    found = list(pairs(3, 2))
    found += [(base, other) for base in ((h, h, 0) for h in high) for other in added(base)]
    return [pair for counts, other in found for pair in ((counts, other), (other, counts))]


def answers(plan, counts):
    return law(lambda draws: tuple(plan.select(histogram(counts), draws).labels))


@pytest.mark.parametrize("method", ["limited-domain"])
@pytest.mark.parametrize(("k", "k_bar"), [(1, 1), (2, 2), (2, 3), (3, 3)])
def test_what_an_answer_is_charged_covers_what_it_tells(method, k, k_bar):
    asked = plan(k, k_bar, method=method)
    for left, right in neighbours(high=(6, 9)):
        assert not overcharged(answers(asked, left), answers(asked, right), lambda o: asked.spent((len(o),)))


def test_a_short_answer_costs_less():
    asked = plan(10, 10, delta="1e-6")
    pick = asked.selector.terms.epsilon_per_pick
    assert asked.spent((0,)) == ApproxDP(pick, Fraction(1, 10**6))
    assert asked.spent((3,)) == ApproxDP(4 * pick, Fraction(1, 10**6))
    assert asked.spent((9,)) == asked.spent((10,)) == ApproxDP(Fraction(1), Fraction(1, 10**6))
    counted = plan(10, 10, counts=True, delta="1e-6")
    assert counted.spent((1,)).epsilon == counted.selector.terms.epsilon_per_pick * Fraction(5, 2)  # 2 picks, 1 count


TWINS = {
    "bottom is free": lambda asked: (
        lambda o: ApproxDP(asked.selector.terms.epsilon_per_pick * len(o), asked.privacy.delta)
    ),
    "delta is given back": lambda asked: lambda o: ApproxDP(asked.spent((len(o),)).epsilon, Fraction(0)),
}


@pytest.mark.parametrize("name", list(TWINS))
def test_a_twin_that_charges_too_little_is_refused(name):
    asked = plan(2, 2, delta="0.01")
    price = TWINS[name](asked)
    assert any(overcharged(answers(asked, left), answers(asked, right), price) for left, right in neighbours((6, 9)))


# ---- a session of two adaptive queries --------------------------------------------------------------------

# What the second question is about depends on what the first one said.
VIEWS = {"all": (0, 1, 2), "few": (1, 2)}


def session(terms, counts, ks, charge):
    """The outcomes of Algorithm 2 over a histogram: every query asks as much as is left, up to its k."""

    def run(draws):
        accountant, told, view = PickAccountant(terms), [], "all"
        for k in ks:
            try:
                asked = TopKQuery(
                    k=k,
                    epsilon_per_pick=terms.epsilon_per_pick,
                    delta_threshold=terms.delta_per_query or Fraction(1, 4),
                    domain=None,
                    counts=False,
                    k_bar=max(k, 2),
                    max_items_per_user=None,
                ).plan
                ceiling = Cost(asked.privacy.steps, 1)
                accountant.take(ceiling)
            except BudgetError:
                told.append("refused")
                continue
            seen = tuple(counts[i] if i in VIEWS[view] else 0 for i in range(len(counts)))
            labels = tuple(asked.select(histogram(seen), draws).labels)
            accountant.give_back(ceiling, Cost(charge(asked, len(labels)), 1))
            told.append(labels)
            view = "few" if labels[:1] == ("a",) else "all"
        return tuple(told)

    return law(run)


def honest(asked, found):
    return asked.steps((found,))


def bottom_free(asked, found):
    pick = asked.privacy.steps[0]
    return (Steps(pick.value, found),) if found else ()


def broken(terms, ks, charge=honest, promise=None):
    """Is there a pair of neighbours whom the outcomes tell apart by more than the promise?"""
    promise = promise or terms
    laws = {}

    def found(counts):
        if counts not in laws:
            laws[counts] = session(terms, counts, ks, charge)
        return laws[counts]

    with ctx.workprec(BITS):
        limit = enclose(promise.delta) + 1e-30
        return any(
            bool(hockey_stick(found(left), found(right), promise.epsilon).mid() > limit.mid())
            for left, right in neighbours((3, 6))
        )


@pytest.mark.parametrize("k_star", [2, 3])
@pytest.mark.parametrize("pick", ["0.5", "2"])
@pytest.mark.parametrize("composition", ["0", "0.05"])
def test_two_adaptive_queries_keep_the_promise_of_the_session(k_star, pick, composition):
    terms = by_pick(Fraction(pick), Fraction(1, 20), k_star, 2, Fraction(composition))
    assert terms.delta == Fraction(1, 10) + (0 if terms.bound == "basic" else Fraction(composition))
    assert not broken(terms, [2, 2])


def test_a_session_opened_by_its_total_keeps_it():
    terms = by_total(Fraction(2), Fraction(1, 5), 3, 2, 2)
    assert terms.delta_per_query * 2 <= terms.delta == Fraction(1, 5)
    assert not broken(terms, [2, 2])


def test_a_twin_that_charges_nothing_for_bottom_is_refused():
    terms = by_pick(Fraction(2), Fraction(1, 1000), 1, 4, Fraction(0))
    assert not broken(terms, [1, 1, 1, 1])
    assert broken(terms, [1, 1, 1, 1], bottom_free)


def test_a_twin_that_forgets_delta_per_query_is_refused():
    terms = by_pick(Fraction(1, 2), Fraction(1, 4), 4, 2, Fraction(0))
    forgotten = Terms(**{**terms.__dict__, "delta": Fraction(0)})
    once = Terms(**{**terms.__dict__, "delta": Fraction(1, 4)})
    assert not broken(terms, [2, 2])
    assert broken(terms, [2, 2], promise=forgotten)
    assert broken(terms, [2, 2], promise=once)


# ---- calls that take turns ----------------------------------------------------------------------------------

# Two calls on one bit, each of two steps, a step of e or, where its question says so, of nothing. The second call's
# questions are chosen from the first one's answers and the other way round. What a call is charged depends on how it
# ended: a step of nothing costs nothing. One of the two may also tell all, with probability TELL, which delta pays.
STEP, TELL = Fraction(7, 10), Fraction(1, 50)


def interleaved(bit, charge):
    """The law of all that is said when the calls take turns, and the (epsilon, delta) that each path is charged."""
    with ctx.workprec(BITS):
        true = enclose(STEP).exp() / (1 + enclose(STEP).exp())
        tell = enclose(TELL)
        said = {(): arb(1)}
        for turn in range(4):
            said = {
                (*path, answer): mass * p
                for path, mass in said.items()
                for answer, p in answered(path, turn, bit, true, tell).items()
            }
        return said, {path: charge(path) for path in said}


def asked_truly(path, turn):
    """Is it a step of e? Asked of the other call's last answer, so that each call's questions depend on the other's."""
    return turn == 0 or path[turn - 1] != 0


def answered(path, turn, bit, true, tell):
    if not asked_truly(path, turn):
        return {0: arb(1) / 2, 1: arb(1) / 2}
    if turn == 3:  # the second step of the second call may tell
        return {
            0: (1 - tell) * (1 - true if bit else true),
            1: (1 - tell) * (true if bit else 1 - true),
            f"is {bit}": tell,
        }
    return {0: 1 - true if bit else true, 1: true if bit else 1 - true}


def by_outcome(path):
    steps = [turn for turn in range(4) if asked_truly(path, turn)]
    return ApproxDP(STEP * len(steps), TELL if 3 in steps else Fraction(0))


def excess_of_paths(charge):
    """By how much all paths together go beyond their charges: at most 0 where Lemma 1 holds."""
    found = []
    for one, other in ((0, 1), (1, 0)):
        left, prices = interleaved(one, charge)
        right, _ = interleaved(other, charge)
        over, paid = excess(left, right, prices.__getitem__)
        found.append(over.mid() - paid.mid())
    return max(found)


def test_calls_that_take_turns_are_charged_the_sum_of_what_each_is():
    assert excess_of_paths(by_outcome) <= 1e-30


TURN_TWINS = {
    "each call is charged as if its questions had been fixed": lambda _: ApproxDP(2 * STEP, TELL / 2),
    "delta only where it told": lambda path: ApproxDP(by_outcome(path).epsilon, Fraction(0)),
    "the second call is charged when the first has ended": lambda path: ApproxDP(
        STEP * sum(asked_truly(path, turn) for turn in range(3)), by_outcome(path).delta
    ),
}


@pytest.mark.parametrize("name", TURN_TWINS)
def test_a_twin_that_forgets_a_turn_is_refused(name):
    assert excess_of_paths(TURN_TWINS[name]) > 1e-6


# ---- counting ---------------------------------------------------------------------------------------------

PICK = BoundedRange(Fraction(1, 10))


def test_each_filter_counts_a_pick_as_one_and_others_by_its_own_sum():
    for counting in (Added(PICK), Concentrated(PICK), Alike(PICK)):
        assert counting.picks(PICK) == 1
    assert Added(PICK).picks(PureDP(Fraction(1, 5))) == 2
    assert Concentrated(PICK).picks(PureDP(Fraction(1, 10))) == 4
    assert Concentrated(PICK).picks(BoundedRange(Fraction(1, 5))) == 4
    assert Concentrated(PICK).picks(PureDP(Fraction(1, 20))) == 1  # a noisy count costs what a pick does
    assert Alike(PICK).picks(PureDP(Fraction(1, 20))) == 1
    assert Alike(PICK).picks(PureDP(Fraction(1, 10))) is None
    assert Alike(PICK).picks(BoundedRange(Fraction(1, 100))) == 1


def terms_of(counting, k_star=10, l_star=3):
    return Terms(
        epsilon=Fraction(3),
        delta=Fraction(1, 100),
        epsilon_per_pick=PICK.epsilon,
        delta_per_query=Fraction(1, 1000),
        k_star=k_star,
        l_star=l_star,
        bound="",
        filter=counting,
    )


def picks(n, epsilon=PICK.epsilon):
    return (Steps(BoundedRange(Fraction(epsilon)), n),)


def test_a_tab_refuses_what_it_has_not_and_is_not_changed_by_that():
    accountant = PickAccountant(terms_of(Added(PICK)))
    accountant.take(Cost(picks(7), 1))
    with pytest.raises(
        BudgetError, match=r"has 3 picks and 2 queries left, this question may take 4 picks and 1 query"
    ):
        accountant.take(Cost(picks(4), 1))
    with pytest.raises(BudgetError, match="may take 1 pick and 3 queries"):
        accountant.take(Cost(picks(1), 3))
    assert (accountant.left.picks, accountant.left.queries) == (3, 2)
    accountant.give_back(Cost(picks(7), 1), Cost(picks(2), 1))
    assert (accountant.left.picks, accountant.left.queries) == (8, 2)
    accountant.take(Cost(picks(8), 0))
    assert accountant.left.picks == 0


def test_a_tab_that_counts_steps_alike_takes_no_larger_ones():
    accountant = PickAccountant(terms_of(Alike(PICK)))
    accountant.take(Cost(picks(1, "0.05")))
    with pytest.raises(ParameterError, match=r"^epsilon must be at most one pick, 0\.1"):
        accountant.take(Cost(picks(1, "0.11")))
    assert accountant.left.picks == 9


def test_closing_gives_back_what_surely_was_not_spent():
    assert PickAccountant(terms_of(Added(PICK))).close() == ApproxDP(Fraction(0), Fraction(0))
    accountant = PickAccountant(terms_of(Concentrated(PICK)))
    accountant.take(Cost(picks(5), 1))
    accountant.give_back(Cost(picks(5), 1), Cost(picks(2), 1))
    assert accountant.close() == ApproxDP(Fraction(2, 10), Fraction(1, 100) - 2 * Fraction(1, 1000))
    with pytest.raises(BudgetError, match="closed"):
        accountant.take(Cost(picks(1)))
    full = PickAccountant(terms_of(Concentrated(PICK), k_star=1000))
    full.take(Cost(picks(1000)))
    assert full.close().epsilon == 3  # never more than the promise


@pytest.mark.parametrize(
    ("ceiling", "least", "expected"),
    [
        (Cost(picks(4), 1), Cost(picks(1), 1), (2, 3)),
        (Cost(picks(4), 0), Cost(picks(4), 0), (2, 2)),
        (Cost(picks(11), 1), Cost(picks(1), 1), (0, 0)),
        (Cost(picks(9), 0), Cost(picks(1), 0), (1, 2)),
    ],
)
def test_how_many_more_questions(ceiling, least, expected):
    found = PickAccountant(terms_of(Added(PICK))).questions_left(ceiling, least)
    assert (found.at_least, found.at_most) == expected
    accountant = PickAccountant(terms_of(Added(PICK)))
    for _ in range(found.at_least):
        accountant.take(ceiling)
    accountant = PickAccountant(terms_of(Added(PICK)))
    for _ in range(found.at_most):
        accountant.take(ceiling)
        accountant.give_back(ceiling, least)
    with pytest.raises(BudgetError):
        accountant.take(ceiling)
