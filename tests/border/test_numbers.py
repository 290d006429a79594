"""A number means the same however it is written, and a hostile one is answered or refused in bounded time."""

import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpselect as dps
from dpselect._ground.parameters import MAX_DECIMAL_EXPONENT, float_rounded_up, rational, rounded_up, whole_number
from dpselect.mechanisms import ExponentialMechanism, Peeling
from tests.border.doors import HOSTILE, PARTS, Door, knocks, pairs_of
from tests.covering import covering_of

ROOT = Path(__file__).resolve().parents[2]
INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
FLOATS = (float, np.float16, np.float32, np.float64, np.longdouble)
SAMPLE = {"q": Fraction(1, 2), "k_bar": 5, "delta_threshold": Fraction(1, 10**7), "failure": Fraction(1, 10**6)}
QUICK = ("mechanisms", "accounting", "budgets")
SLOW = ("verbs", "plans")  # they read rows and sample users at every knock: tests/slow/border


# ---- hostile numbers ----------------------------------------------------------------------------------------


def test_every_door_answers_or_refuses_every_number() -> None:
    check_doors(*QUICK)


def check_doors(*parts: str) -> None:
    """In a process of its own, which the system ends where a call takes 20 seconds of the processor."""
    command = [sys.executable, "-m", "tests.border.doors", *parts]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    lines = ended.stdout.splitlines()
    wrong = [line for line in lines if " RAISED " in line or line.endswith("TOO LONG")]
    assert (ended.returncode, wrong) == (0, []), lines[-1:]
    assert sum(line.endswith("answered") for line in lines) > 200
    assert sum(line.endswith("refused") for line in lines) > 2000


def test_every_number_is_pushed_at_every_door_and_every_name() -> None:
    assert {*QUICK, *SLOW} == {*PARTS}
    for part, doors in PARTS.items():
        every = [(door, name) for door in doors() for name in door.numbers]
        assert set().union(*map(pairs_of, knocks(part))) == {
            pair for door, name in every for label in HOSTILE for pair in pairs_of((door, name, label))
        }


def test_every_mechanism_and_every_function_of_accounting_is_a_door() -> None:
    from dpselect import accounting, mechanisms

    doors = {door.name for part in ("mechanisms", "accounting") for door in PARTS[part]()}
    ports = {"Mechanism", "SetUnion", "Composed"}
    values = {"AnySteps", "ApproxDP", "BoundedRange", "PureDP", "Steps", "ZCDP"}  # what the doors take
    assert {*mechanisms.__all__, *accounting.__all__} - ports - values <= doors


# ---- the same number -------------------------------------------------------------------------------------------


def written(value: Fraction) -> Iterator[Any]:
    """The number in every type that holds it."""
    yield value
    yield str(value)
    decimal = Decimal(value.numerator) / Decimal(value.denominator)
    if Fraction(decimal) == value:
        yield decimal
        yield str(decimal)
        yield from (made for kind in FLOATS if Decimal(str(made := kind(str(decimal)))) == decimal)
    if value.denominator == 1:
        yield from whole_ones(int(value))


def whole_ones(value: int) -> Iterator[Any]:
    """The integer in every width that holds it."""
    yield value
    yield from (kind(value) for kind in INTEGERS if np.iinfo(kind).min <= value <= np.iinfo(kind).max)


def told(answer: Any) -> object:
    """An answer as what two of them are compared by: of a release the promise, for users are sampled anew each time."""
    if isinstance(answer, dps.Release):
        return answer.privacy
    if isinstance(answer, dps.Forecast):
        return answer.to_json()
    return tuple(map(told, answer)) if isinstance(answer, tuple) else (type(answer), answer)


def outcome(door: Door, name: str, value: object) -> object:
    try:
        return told(door.knock(**{name: value}))
    except (dps.ParameterError, dps.BudgetError) as error:
        return type(error)


@pytest.mark.parametrize("part", QUICK)
def test_a_number_of_any_type_means_the_same(part: str) -> None:
    check_types(part)


def check_types(part: str) -> None:
    """Every parameter of every door, and every name of a parameter with a number of every type."""
    every = []
    for door in PARTS[part]():
        for name in door.numbers:
            usual = door.usual.get(name, SAMPLE.get(name, 1))
            if isinstance(usual, (list, tuple)) or name == "by_weight":  # the name of a column
                continue
            number = Fraction(usual)
            expected, kinds = outcome(door, name, number), written(number)
            if expected is dps.ParameterError:  # it must be an integer
                expected, kinds = outcome(door, name, int(number)), whole_ones(int(number))
            every += [(door, name, expected, other) for other in kinds]
    cases = covering_of(every, lambda case: {(case[0].name, case[1]), (case[1], type(case[3]))})
    for door, name, expected, other in cases:
        assert outcome(door, name, other) == expected, (door.name, name, type(other))
    assert sum(not isinstance(expected, type) for _, _, expected, _ in cases) > 30


def test_machine_integers_never_reach_exact_arithmetic() -> None:
    mechanism = ExponentialMechanism(epsilon=np.int8(100), sensitivity=np.uint8(200))
    for number in (mechanism.epsilon, mechanism.sensitivity):
        assert type(number) is Fraction
        assert {type(number.numerator), type(number.denominator)} == {int}
    assert type(Peeling(k=np.int64(3), epsilon=1).k) is int
    assert mechanism == ExponentialMechanism(epsilon=100, sensitivity=200)


# ---- floats --------------------------------------------------------------------------------------------------


@given(
    st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: x == 0 or abs(x) >= 10.0**-MAX_DECIMAL_EXPONENT)
)
def test_a_float_is_its_shortest_decimal(x: float) -> None:
    if abs(x) >= 10.0**MAX_DECIMAL_EXPONENT:
        return
    number = rational("x", x, "be a number")
    assert number == Fraction(repr(x))
    assert float_rounded_up(number) == x


@given(st.floats(min_value=1e-12, max_value=1e6))
def test_what_is_shown_of_a_float_is_never_less(x: float) -> None:
    number = rational("x", x, "be a number")
    assert Fraction(rounded_up(number)) >= number
    assert Fraction(repr(float_rounded_up(number))) >= number


@given(st.one_of(st.text(), st.from_regex(r"\s*[-+]?[0-9_]*\.?[0-9]*([eE/][-+]?[0-9]{1,3})?", fullmatch=True)))
def test_a_text_is_the_number_that_fractions_reads(text: str) -> None:
    try:
        expected = Fraction(text)
    except (ValueError, ZeroDivisionError):
        expected = None
    try:
        found = rational("x", text, "be a number")
    except dps.ParameterError:
        found = None
    assert found == expected or (found is None and expected and not 1e-300 <= abs(expected) < 1e301)


def test_a_tenth_is_shown_as_a_tenth() -> None:
    release = dps.choose({"a": 1, "b": 2}, epsilon=0.1)
    assert "epsilon 0.1 per user" in str(release)
    assert "(0.1, 0)-DP" in release.explain()
    assert rounded_up(Fraction(release.privacy.epsilon)) == "0.1"


def test_three_tenths_pay_for_three_questions_of_a_tenth(tmp_path: Path) -> None:
    with dps.Ledger.create(tmp_path / "budget.db") as ledger:
        ledger.data("default", 0.3, 0)
        ledger.grant(dps.Account(dataset="default", analyst="ada"), 0.3, 0)
        for _ in range(3):
            dps.choose({"a": 1, "b": 2}, epsilon=0.1, budget=dps.Budget.open(ledger, analyst="ada"))
        with pytest.raises(dps.BudgetError):
            dps.choose({"a": 1, "b": 2}, epsilon="1e-9", budget=dps.Budget.open(ledger, analyst="ada"))


def test_a_whole_number_has_a_range() -> None:
    for value in (2**53 + 1, 10**5000):
        with pytest.raises(dps.ParameterError, match=r"must be a whole number from 1 to 9007199254740992, got"):
            whole_number("users", value, minimum=1)
