"""A question for a share of a budget: the largest epsilon of three digits whose ceiling takes no more of it."""

import copy
import math
from fractions import Fraction

import pytest

import dpselect as dps
from dpselect._ground import parameters
from dpselect.accounting.prices import Spent
from dpselect.errors import ParameterError
from dpselect.utility.price import by_share, index_at_most, number_at
from tests.by_names import plan_of

ROWS = {"user": [*range(600), *range(300)], "item": ["ant"] * 600 + ["bee"] * 300}


def votes(budget, source=ROWS, **more):
    return dps.Dataset(source, user="user", item="item", budget=budget, **more)


# ---- a question without any price ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "budget", "must"),
    [
        (lambda data: data.top_k(2), None, "top_k, or within in its place"),
        (lambda data: data.top_k(2), dps.Budget(epsilon=1, delta="1e-5"), "top_k, or share or within in its place"),
        (lambda data: data.union(), None, "union, or threshold in its place"),
        (lambda data: data.median(bounds=(0, 9)), None, "quantile, or within in its place"),
        (lambda data: data.choose(domain=["ant", "bee"]), None, "choose"),
        (lambda data: data.choose(domain=["ant", "bee"], by="user"), None, "choose"),
        (lambda data: data.histogram(domain=["ant", "bee"]), None, "histogram"),
        (lambda _: dps.choose({"ant": 3}, epsilon=None), None, "choose"),
    ],
)
def test_whoever_names_no_price_is_told_what_to_name(ask, budget, must: str) -> None:
    with pytest.raises(ParameterError) as error:
        ask(votes(budget))
    assert str(error.value) == (
        f"epsilon must be given for {must}, got nothing\nhint: 1 is a common choice; a smaller one reveals less"
    )


# ---- what may be written ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "meant"),
    [("1%", "1/100"), ("0.5 %", "1/200"), (0.01, "1/100"), ("1/200", "1/200"), ("100%", 1), (Fraction(1, 3), "1/3")],
)
def test_a_share_is_a_percentage_or_a_number_below_1(written, meant):
    assert parameters.share("share", written) == Fraction(meant)


BAD = [0, 1, 2, -0.5, "0%", "101%", "-1%", "abc", "%", "1%%", "", "1e-999999999", float("nan"), True, [0.01], b"1%"]


@pytest.mark.parametrize("share", BAD, ids=repr)
def test_what_is_no_share_is_refused_in_every_verb_before_anything_is_read(share):
    asked = votes(dps.Budget(epsilon=1, delta="1e-6"), source="no-such-file.csv")
    for ask in (
        lambda: asked.top_k(share=share),
        lambda: asked.union(share=share),
        lambda: asked.choose(domain=["a"], share=share),
        lambda: asked.quantile(bounds=(0, 1), share=share),
        lambda: asked.median(bounds=(0, 1), share=share),
        lambda: dps.choose([1, 2], share=share, budget=dps.Budget(epsilon=1)),
        lambda: dps.quantile([1, 2], bounds=(0, 9), share=share, budget=dps.Budget(epsilon=1)),
        lambda: dps.quantile([1, 2], bounds=(0, 9), share=share, budget=dps.Budget(epsilon=1)),
    ):
        with pytest.raises(ParameterError, match=r"^share must be a share above 0") as found:
            ask()
        assert len(str(found.value)) < 300


def test_a_share_is_of_a_budget_and_in_place_of_epsilon():
    with pytest.raises(ParameterError, match=r"^share must be given with a budget, which it is a share of, got 1/100"):
        votes(None).top_k(share="1%")
    with pytest.raises(ParameterError, match=r"^share must be left out if epsilon is given"):
        votes(dps.Budget(epsilon=1)).choose(domain=["a"], epsilon=1, share="1%")


# ---- the search -------------------------------------------------------------------------------------------


def test_numbers_of_three_digits_are_in_order():
    found = [number_at(place) for place in range(-2000, 2000)]
    assert found == sorted(set(found))
    assert [index_at_most(one) for one in found] == list(range(-2000, 2000))
    for number in ("0.012399999", "1", "9.999", "99950", "1e-20"):
        place = index_at_most(Fraction(number))
        assert number_at(place) <= Fraction(number) < number_at(place + 1)


NUMBERS = [number_at(place) for place in range(index_at_most(Fraction(1, 10**4)), index_at_most(Fraction(10)))]
PARTS = {
    "linear": lambda x: x / 3,
    "square": lambda x: x * x,
    "both": lambda x: min(x, 5 * x * x),
    "with a floor": lambda x: max(Fraction(1, 1000), x * x / 7),
    "free below 1/50": lambda x: Fraction(0) if x < Fraction(1, 50) else x * x,
    "jumping": lambda x: x * x if x < Fraction(1, 20) else 3 * x * x,
    "exponential": lambda x: Fraction(math.expm1(min(float(x), 300.0))),
}


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("start", ["1e-9", "0.01", "0.07", "40"])
def test_the_search_finds_what_looking_at_every_number_finds(name, start):
    for share in (Fraction(1, 100), Fraction(1, 3), Fraction(1, 499)):
        part, looks = PARTS[name], []

        def make(x, looks=looks):
            looks.append(x)
            return x

        fitting = [
            x
            for x in map(number_at, range(index_at_most(Fraction(1, 10**4)), index_at_most(Fraction(10))))
            if part(x) <= share
        ]
        assert by_share(make, part, share, Fraction(start)) == fitting[-1]
        assert len(looks) < 40


def test_epsilons_that_are_refused_as_too_small_end_with_that_refusal():
    def make(x):
        if x < Fraction(1, 10):
            raise ParameterError("epsilon", "be at least 0.1", "less")
        return x

    assert by_share(make, lambda x: x, Fraction(1, 5), Fraction(1, 1000)) == Fraction(1, 5)
    with pytest.raises(ParameterError, match=r"^epsilon must be at least 0.1, got less\nhint: take a larger share"):
        by_share(make, lambda x: x, Fraction(1, 20), Fraction(1, 1000))
    with pytest.raises(ParameterError, match=r"^share must be larger for this question, got 1 %"):
        by_share(lambda x: x, lambda _: Fraction(1, 2), Fraction(1, 100), Fraction(1))


# ---- what it means ----------------------------------------------------------------------------------------

KINDS = [
    ("top_k", True, {"k": 10}),
    ("top_k", True, {"k": 3, "counts": True}),
    ("top_k", False, {"k": 5, "domain": range(100)}),
    ("union", True, {"max_items_per_user": 5}),
    ("union", True, {}),
    ("choose", False, {"domain": ["a", "b"]}),
    ("quantile", False, {"bounds": (0, 100), "q": [0.25, 0.5]}),
]


@pytest.mark.parametrize(("kind", "needed", "given"), KINDS, ids=str)
@pytest.mark.parametrize(("epsilon", "delta", "share"), [("1", "1e-6", "5%"), ("10", "1e-5", "0.7%")])
def test_the_next_epsilon_would_take_more_than_the_share(kind, needed, given, epsilon, delta, share):
    budget, wanted = dps.Budget(epsilon=epsilon, delta=delta), parameters.share("share", share)
    promise = budget._account.promise
    query = plan_of(kind, paying=budget, share=share, **given)

    def part(asked):
        return promise.part(asked.price_at(promise.order).whole)

    assert part(query) <= wanted
    if needed:
        assert (
            wanted * promise.limits.failure * Fraction(99, 100) < query.delta or query.delta == parameters.DEFAULT_DELTA
        )
    place = index_at_most(query.epsilon)
    assert number_at(place) == query.epsilon
    after = plan_of(kind, **given, epsilon=number_at(place + 1), **({"delta": query.delta} if needed else {}))
    price = after.price_at(promise.order)
    assert promise.part(Spent(price.epsilon, price.renyi)) > wanted


def test_a_budget_that_adds_up_is_shared_by_epsilon():
    query = plan_of("choose", paying=dps.Budget(epsilon=3, delta=0), share="7%", domain=["a"])
    assert query.epsilon == Fraction(21, 100)


def test_questions_of_one_kind_for_a_hundredth_fit_a_hundred_times():
    budget, charged = dps.Budget(epsilon=1, delta="1e-6"), []
    while budget.left >= 0.01:
        charged.append(dps.choose([1, 900], share="1%", budget=budget).charged)
    assert len(charged) >= 100
    assert all(one.sentence.startswith(("0.99", "1 %", "1.00 %")) for one in charged)
    with pytest.raises(dps.BudgetError, match="the question must reserve up to"):
        dps.choose([1, 900], share="1%", budget=budget)


def test_what_was_taken_changes_no_share_so_that_stored_answers_are_found_again(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("\n".join(["user,item", *(f"{u},ant" for u in range(500))]))
    budget = dps.Budget(epsilon=1, delta="1e-6")
    first = votes(budget, path).top_k(2, share="5%")
    votes(budget, path).choose(domain=["ant", "bee"], epsilon="0.3")
    again = votes(budget, path).top_k(2, share="5%")
    assert again.charged.numbers["repeated"] is True
    assert again.privacy == first.privacy


def test_a_delta_may_be_named_if_it_is_within_the_share():
    budget = dps.Budget(epsilon=1, delta="1e-6")
    assert votes(budget).top_k(2, share="10%", delta="1e-9").privacy.delta == Fraction(1, 10**9)
    with pytest.raises(ParameterError, match=r"^delta must be at most 5e-08 for this share, got 1e-07"):
        votes(budget).top_k(2, share="10%", delta="1e-7")
    with pytest.raises(ParameterError, match=r"^delta must be in the budget for this question, got 0"):
        votes(dps.Budget(epsilon=1, delta=0)).top_k(2, share="10%")
    assert votes(dps.Budget(epsilon=1, delta=0)).top_k(
        1, share="10%", domain=["ant", "bee"]
    ).privacy.epsilon == Fraction(1, 10)


def test_a_share_of_a_ledgers_budget_is_of_the_quota_or_of_what_is_left_to_all_analysts(tmp_path):
    with dps.Ledger.create(tmp_path / "budget.sqlite") as ledger:
        ledger.data("default", "1", "1e-6")
        ledger.grant(dps.Account("default", "ann"), "1/2", "5e-7")
        budget = dps.Budget.open(ledger, analyst="ann")
        found = votes(budget).choose(domain=["ant", "bee"], share="1%")
        assert Fraction(99, 10000) < found.charged.numbers["share"] <= Fraction(1, 100)
        assert votes(budget).top_k(1, share="1%").privacy.delta == Fraction(5, 10**9)
        query = plan_of("choose", domain=["ant", "bee"], epsilon=found.privacy.epsilon)
        assert budget.left_for(found) == budget.left_for(query) > 90
        ledger.grant(dps.Account("default", "bob"), "1/2", "5e-7")
        with pytest.raises(ParameterError, match=r"^plan must be a Plan, or a release that this budget paid for"):
            dps.Budget.open(ledger, analyst="bob").left_for(found)


# ---- how many more questions like the one that a release answers ------------------------------------------


def test_a_budget_knows_how_many_more_fit_of_a_release_that_it_paid():
    budget = dps.Budget(epsilon=1, delta="1e-6")
    found = votes(budget).top_k(3, share="2%")
    query = plan_of("top_k", k=3, epsilon=found.privacy.epsilon, delta=found.privacy.delta)
    assert budget.left_for(found) == budget.left_for(query) == found.charged.numbers["questions_left"] > 40
    votes(budget).choose(domain=["ant", "bee"], epsilon="1/4")
    assert 0 < budget.left_for(found) == budget.left_for(query) < found.charged.numbers["questions_left"]


def test_of_no_other_release():
    budget, other = dps.Budget(epsilon=1, delta="1e-6"), dps.Budget(epsilon=1, delta="1e-6")
    found = votes(budget).choose(domain=["ant", "bee"], epsilon="1/10")
    assert copy.copy(found) == found
    assert budget.left_for(copy.copy(found)) == budget.left_for(found)
    unpaid = votes(None).choose(domain=["ant", "bee"], epsilon="1/10")
    for payer, release in (
        (other, found),
        (budget, unpaid),
        (budget, dps.Release.from_json(found.to_json())),
    ):
        with pytest.raises(ParameterError, match=r"^plan must be a Plan"):
            payer.left_for(release)


def test_the_share_of_a_question_is_what_its_ceiling_takes(tmp_path):
    """Before it is asked; and as much is gone while it is open."""
    query = dps.Plan.from_dict(
        {"verb": "top_k", "k": 10, "epsilon": "0.1", "delta": "1e-9", "method": "limited-domain"}
    )
    memory = dps.Budget(epsilon=1, delta="1e-6")
    assert memory.share_of(query) == pytest.approx(1 / 111.0, rel=0.01)
    assert memory.left_for(query) == 111
    with dps.Ledger.create(tmp_path / "x") as ledger:
        ledger.data("plays", 1, "1e-6")
        ledger.grant(dps.Account("plays", "ann"), "0.25", "1e-6")
    quota = dps.Budget.open(tmp_path / "x", data="plays", analyst="ann")
    assert quota.share_of(query) == pytest.approx(4 * memory.share_of(query))
    for budget in (memory, quota):
        with pytest.raises(dps.ParameterError, match="plan must be a Plan, got 3"):
            budget.share_of(3)


@pytest.mark.parametrize("share", ["1e-30", "1e-90"])
def test_a_share_may_be_smaller_than_any_price_that_an_accuracy_has(share: str) -> None:
    """Two searches on the numbers of three digits, each within limits of its own."""
    plan = votes(dps.Budget(epsilon=1, delta="1e-5")).plan(dps.Choose(["ant", "bee"]), share=share)
    assert 0 < plan.epsilon <= Fraction(share)
    assert plan.epsilon > Fraction(share) * Fraction(99, 100)
