"""How many users there are: the law of the real code, privacy over all neighbouring rows, and wrong twins refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement

import pyarrow as pa
import pytest

import dpselect as dps
from dpselect import asked_rows
from dpselect.aggregates.count_groups import CountGroups
from dpselect.queries.users import UsersPlan
from dpselect.testing import ExactDraws, Law, hockey_stick, law
from tests.twins import users as twins
from tests.twins.users import Row

pytestmark = pytest.mark.usefixtures("one_duckdb")

LEFT_OUT = Fraction(1, 10**16)  # unbounded draws are followed to 2^-60
EPSILON = 5
Counts = tuple[int, ...]
Tell = Callable[[Counts, ExactDraws], Counts]
Laws = Callable[[Counts], Law]

# What one user may have: a row twice, two items, two countries, no item, no country.
OF_A_USER: Sequence[Sequence[tuple[str | None, str | None]]] = (
    [("x", "DE")],
    [("x", "FR"), ("x", "FR")],
    [("x", "DE"), ("y", "FR"), ("z", "FR")],
    [(None, "DE"), (None, None)],
    [("x", "DE"), ("x", "FR"), ("y", "DE")],
)
QUESTIONS = {
    "all": dps.Users(),
    "one group": dps.Users(by=dps.By("country", groups=["DE", "FR"], max_groups_per_user=1)),
    "two groups": dps.Users(by=dps.By("country", groups=["DE", "FR"], max_groups_per_user=2)),
    "all listed groups": dps.Users(by=dps.By("country", groups=["DE", "FR"])),
}


def plan_of(question: dps.Question) -> UsersPlan:
    """At a price whose noise is the same for all."""
    by = question.by  # type: ignore[attr-defined]
    plan = question.at(epsilon=EPSILON * (1 if by is None else by.max_groups_per_user or len(by.groups.items)))
    assert isinstance(plan, UsersPlan)
    return plan


def rows_of(held: Sequence[Sequence[tuple[str | None, str | None]]]) -> tuple[Row, ...]:
    """Rows of users, and one of nobody."""
    return (*((f"u{at}", *row) for at, rows in enumerate(held) for row in rows), (None, "x", "DE"))


def neighbours() -> Iterator[tuple[tuple[Row, ...], tuple[Row, ...]]]:
    """Rows of up to two users, and the same with one more."""
    for many in range(3):
        for held in combinations_with_replacement(OF_A_USER, many):
            for one in OF_A_USER:
                yield rows_of(held), rows_of([*held, one])


NEIGHBOURS = list(neighbours())


@cache
def counted(question: dps.Question, rows: tuple[Row, ...]) -> Counts:
    """The numbers that the engine hands over."""
    columns = dict(zip(("user", "item", "country"), zip(*rows, strict=True), strict=True))
    table = pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
    plan = plan_of(question)
    with dps.Dataset(table, user="user", item="item")._rows_for(plan)._open_for(plan) as engine:
        return tuple(plan.count_users(engine).counts.tolist())


def told(plan: UsersPlan) -> Tell:
    """The code that is used, from the numbers to what is shown."""

    return lambda counts, draws: tuple(plan.noisy(CountGroups.from_items(range(len(counts)), counts), draws))


def laws_of(tell: Tell) -> Laws:
    """The law of what is shown for each counts, enumerated once."""
    return cache(lambda counts: law(lambda draws: tell(counts, draws)))


@cache
def laws_told(name: str) -> Laws:
    """Those of the code that is used: they depend on the rows through the counts alone."""
    return laws_of(told(plan_of(QUESTIONS[name])))


def least_delta(laws: Laws, pairs: Sequence[tuple[Counts, Counts]], epsilon: Fraction) -> float:
    """Over all neighbours, in both directions."""
    ways = {way for pair in pairs for way in (pair, pair[::-1])}
    return max(float(hockey_stick(laws(a), laws(b), epsilon).upper()) for a, b in ways)


@pytest.fixture(params=[b"k" * 16, b"o" * 16], ids=["key", "another key"])
def one_key(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The key that decides in which groups a user counts is drawn apart from the rows: the same for neighbours."""
    monkeypatch.setattr(asked_rows, "fresh_key", lambda: request.param)
    counted.cache_clear()
    yield
    counted.cache_clear()


@pytest.mark.usefixtures("one_key")
@pytest.mark.parametrize("name", QUESTIONS)
def test_privacy_over_all_neighbours(name: str) -> None:
    """And with equality: at a hundredth less of epsilon a delta would be needed."""
    question = QUESTIONS[name]
    plan = plan_of(question)
    pairs = [(counted(question, a), counted(question, b)) for a, b in NEIGHBOURS]
    assert plan.price.delta == 0
    assert least_delta(laws_told(name), pairs, plan.epsilon) <= LEFT_OUT
    assert least_delta(laws_told(name), pairs, plan.epsilon * Fraction(99, 100)) > 10**-7


@pytest.mark.usefixtures("one_key")
def test_without_a_bound_a_user_counts_in_all_listed_groups() -> None:
    rows = rows_of([OF_A_USER[0], OF_A_USER[1], OF_A_USER[4]])
    assert counted(QUESTIONS["all listed groups"], rows) == twins.in_every_group(rows) == (2, 2)
    assert sum(counted(QUESTIONS["one group"], rows)) == 3


@pytest.mark.parametrize("count", [0, 1, 2])
def test_the_law_is_two_sided_geometric_and_what_is_below_zero_is_zero(count: int) -> None:
    found = law(lambda draws: told(plan_of(dps.Users()))((count,), draws))
    for shown in range(5):
        far = abs(shown - count)
        right = math.exp(-EPSILON * far) * math.tanh(EPSILON / 2)
        if not shown:  # and all below
            right = math.exp(-EPSILON * count) / (1 + math.exp(-EPSILON))
        assert float(found[(shown,)]) == pytest.approx(right, rel=1e-9)
    assert min(found) == (0,)


@pytest.mark.parametrize("twin", [twins.rows_counted, twins.items_of_users_counted], ids=lambda one: one.__name__)
def test_what_is_no_number_of_users_is_refused(twin: Callable[[Sequence[Row]], Counts]) -> None:
    plan = plan_of(QUESTIONS["all"])
    assert least_delta(laws_told("all"), [(twin(a), twin(b)) for a, b in NEIGHBOURS], plan.epsilon) > 0.01


def test_users_in_more_groups_than_are_paid_are_refused() -> None:
    plan = plan_of(QUESTIONS["one group"])
    pairs = [(twins.in_every_group(a), twins.in_every_group(b)) for a, b in NEIGHBOURS]
    assert least_delta(laws_told("one group"), pairs, plan.epsilon) > 0.01


def test_noise_for_one_group_where_users_count_in_all_is_refused() -> None:
    listed = plan_of(QUESTIONS["all listed groups"])
    pairs = [(counted(listed.question, a), counted(listed.question, b)) for a, b in NEIGHBOURS]

    def tell(counts: Counts, draws: ExactDraws) -> Counts:
        return twins.noise_of_one_group(counts, Fraction(listed.mechanism.epsilon), draws)

    assert least_delta(laws_of(tell), pairs, listed.epsilon) > 0.01


@pytest.mark.parametrize("twin", [twins.half_of_the_noise, twins.noise_of_one_side], ids=lambda one: one.__name__)
def test_wrong_noise_is_refused(twin: Callable[[Counts, Fraction, ExactDraws], Counts]) -> None:
    plan = plan_of(QUESTIONS["all"])
    pairs = [(counted(dps.Users(), a), counted(dps.Users(), b)) for a, b in NEIGHBOURS]

    def tell(counts: Counts, draws: ExactDraws) -> Counts:
        return twin(counts, plan.mechanism.rate, draws)

    assert least_delta(laws_of(tell), pairs, plan.epsilon) > 0.01


@pytest.mark.parametrize("count", [0, 1, 3])
def test_the_interval_holds_95_percent_and_half_of_it_does_not(count: int) -> None:
    plan = dps.Users().at(epsilon="1/2")
    assert isinstance(plan, UsersPlan)
    width, rate = plan.mechanism.width(0.05), float(plan.mechanism.rate)

    def held(within: int) -> float:
        shown = {z: max(0, count + z) for z in range(-200, 201)}
        noise = {z: math.exp(-rate * abs(z)) * math.tanh(rate / 2) for z in shown}
        return sum(noise[z] for z, one in shown.items() if max(0, one - within) <= count <= one + within)

    assert held(width) >= 0.95
    assert count < width // 2 or held(width // 2) < 0.95
