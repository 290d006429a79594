"""Errors cross processes whole, and what they say of a wrong value is short and never data."""

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import dpselect as dps
from dpselect.errors import MAX_MESSAGE_LENGTH, came
from dpselect.gateway.settings.reading import Mistake, SettingsError

ERRORS = (
    dps.ParameterError("k", "be a whole number of at least 1", "0"),
    dps.ParameterError("k_bar", "be at least k = 10", 5, "raise k_bar or lower k"),
    dps.DataError("the source could not be read"),
    dps.DataError("the source could not be read", "a file may be damaged"),
    dps.BudgetError("the session is closed", "open another one"),
    dps.LedgerError("the ledger cannot be opened", "make one"),
    dps.OutputError("-o must name a file"),
    dps.OutputError("the file cannot be written", "is there room?"),
    dps.GatewayError("the gateway rejected this token", "make one", kind="sign-in"),
    SettingsError("gateway.toml", [Mistake("tick must be a number", "tick = 1")]),
    dps.DpselectError("base"),
)


def raised(error: dps.DpselectError) -> None:
    """In a process of its own."""
    raise error


def test_every_error_of_ours_is_here() -> None:
    known = {dps.DpselectError, *dps.DpselectError.__subclasses__()}
    assert {type(error) for error in ERRORS} == known


@pytest.mark.parametrize("error", ERRORS, ids=repr)
@pytest.mark.parametrize("through", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
def test_an_error_is_the_same_after_a_copy(error: dps.DpselectError, through) -> None:
    other = through(error)
    assert (type(other), str(other), other.args, vars(other)) == (type(error), str(error), error.args, vars(error))


def test_a_process_pool_outlives_an_error() -> None:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        for error in ERRORS:
            with pytest.raises(type(error)) as found:
                pool.submit(raised, error).result()
            assert (str(found.value), vars(found.value)) == (str(error), vars(error))
        with pytest.raises(dps.ParameterError, match="epsilon"):
            pool.submit(dps.choose, {"a": 1}, epsilon=-1).result()


class Speaking:
    """Whose `repr` says what it holds, and counts how often it was asked."""

    asked = 0

    def __repr__(self) -> str:
        Speaking.asked += 1
        return "alice"


class SpeakingText(str):
    """A text with a `repr` of its own."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "alice" * 10**5


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "None"),
        (True, "True"),
        (5, "5"),
        (np.int64(5), "5"),
        (10**5000, "an integer of about 5001 digits"),
        (-(10**400), "an integer of about 401 digits"),
        (0.1, "0.1"),
        (np.float64(0.1), "0.1"),
        (np.float32(0.1), "0.1"),
        (float("nan"), "nan"),
        (Decimal("0.1"), "Decimal('0.1')"),
        (Fraction(1, 3), "1/3"),
        (Fraction(1, 10**5000), "a fraction of about 5001 digits"),
        ("DE", "'DE'"),
        ("x" * 10**5, "'" + "x" * 80 + "'..."),
        (SpeakingText("DE"), "'DE'"),
        (b"DE", "b'DE'"),
        ("\x1b[31m\u202e", "'\\x1b[31m\\u202e'"),
        ([1, 2], "a value of type list"),
        ({"alice": 1}, "a value of type dict"),
        (np.array(["alice"]), "a value of type ndarray"),
        (Speaking(), "a value of type Speaking"),
        (type("T" * 10**5, (), {})(), "a value of type " + "T" * (MAX_MESSAGE_LENGTH - 16) + "..."),
    ],
    ids=lambda value: type(value).__name__[:20],
)
def test_what_came_is_shown_short_and_never_data(value: object, shown: str) -> None:
    assert came(value) == shown
    assert Speaking.asked == 0


def test_a_parameter_error_cuts_what_it_is_given() -> None:
    for value in ("x" * 10**6, 10**10**4, Decimal("0." + "1" * 10**5), Fraction(1, 10**10**4)):
        assert len(str(dps.ParameterError("epsilon", "be a number", value))) < MAX_MESSAGE_LENGTH + 50


PRIVATE = np.array([34.0, 27.0])


@pytest.mark.parametrize(
    "ask",
    [
        lambda column: dps.quantile([1, 2], q=column, bounds=(0, 9), epsilon=1),
        lambda column: dps.quantile([1, 2], q=0.5, bounds=column, epsilon=1),
        lambda column: dps.TopK(3).forecast(dps.Population(100, items=10), epsilon=column * -1),
        lambda column: dps.TopK(3).forecast(column),
        lambda column: dps.Population(groups=column),
        lambda column: dps.TopK(3).forecast(dps.Population(100, items=10), epsilon=1, methods=column.astype(str)),
    ],
    ids=["q", "bounds", "epsilon", "like", "groups", "methods"],
)
def test_a_column_in_the_place_of_a_list_is_told_by_its_type(ask) -> None:
    with pytest.raises(dps.ParameterError, match="got a value of type ndarray") as found:
        ask(PRIVATE)
    assert "34" not in str(found.value)
    assert "27" not in str(found.value)


def test_a_list_of_steps_that_is_none_is_refused() -> None:
    with pytest.raises(dps.ParameterError, match="steps must be a list of Steps"):
        dps.accounting.compose(np.array(3), 0)  # type: ignore[arg-type]


@pytest.mark.parametrize("column", [np.array(["a", "b"]), 3, " "])
def test_a_domain_column_is_a_name(column: object) -> None:
    with pytest.raises(dps.ParameterError, match="domain column must be the name of a column"):
        dps.Column({"item": ["a"]}, column)  # type: ignore[arg-type]
