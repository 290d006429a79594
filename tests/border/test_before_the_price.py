"""What would fail in the middle is refused at the start: nothing is read, reserved or drawn for it."""

import itertools
import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import dpselect as dps
from dpselect.testing import SeededDraws, drawing
from tests.by_names import by_names
from tests.ledger.amounts import grant

ROWS = {"user": ["a", "b", "c"] * 4, "item": [1] * 12, "text": ["so it goes"] * 12}
NO_DRAWS = (5, "secure", object(), SeededDraws, [SeededDraws(1)])
NO_PROGRESS = (5, "bar", [print])
NO_NAME = (["exponential"], {"a": 1}, 5, "x" * 100_000, b"auto", ("auto",))
PRICE = {"epsilon": 1, "delta": "1e-6"}
ENDS = {"bounds": (0, 10), "epsilon": 1}


@pytest.fixture
def ledger(tmp_path: Path) -> dps.Ledger:
    with dps.Ledger.create(tmp_path / "budget.db") as made:
        grant(made, dps.Account(dataset="default", analyst="ada"), 10, "1e-3")
        yield made


def asked(verb: str, paying: dict[str, Any], **wrong: Any) -> object:
    """One call of a verb, with one thing wrong."""
    data = dps.Dataset({key: ROWS[key] for key in ("user", "item")}, user="user", item="item", **paying)
    calls = {
        "choose": lambda **given: dps.choose({"a": 1, "b": 2}, **{"epsilon": 1, **paying, **given}),
        "quantile": lambda **given: dps.quantile([1, 2, 3], **{**ENDS, **paying, **given}),
        "Dataset.top_k": lambda **given: by_names(data).top_k(1, **{**PRICE, **given}),
        "Dataset.top_k known": lambda **given: by_names(data).top_k(1, **{**PRICE, "domain": [1, 2], **given}),
        "Dataset.union": lambda **given: by_names(data).union(**{**PRICE, **given}),
        "Dataset.choose": lambda **given: by_names(data).choose(**{"epsilon": 1, "domain": [1, 2], **given}),
        "Dataset.histogram": lambda **given: by_names(data).histogram(**{"epsilon": 1, "domain": [1, 2], **given}),
        "Dataset.users": lambda **given: by_names(data).users(**{"epsilon": 1, **given}),
        "Dataset.quantile": lambda **given: by_names(data).quantile(**{**ENDS, **given}),
        "Dataset.median": lambda **given: by_names(data).median(**{**ENDS, **given}),
    }
    return calls[verb](**wrong)


EVERY = ("choose", "quantile", "Dataset.top_k", "Dataset.top_k known", "Dataset.union", "Dataset.choose",
         "Dataset.quantile", "Dataset.median", "Dataset.histogram", "Dataset.users")  # fmt: skip
WRONG = [
    *((verb, "progress", value) for verb, value in itertools.product(EVERY[2:], NO_PROGRESS)),
    *((verb, "method", value) for verb, value in itertools.product(("choose", *EVERY[2:6]), NO_NAME)),
    *((verb, "neighbors", value) for verb, value in itertools.product(("choose",), NO_NAME)),
    *((verb, "per_user", value) for verb, value in itertools.product(EVERY[6:8], NO_NAME)),
    *((verb, "fresh", value) for verb, value in itertools.product(EVERY, (1, "yes", None))),
]


@pytest.mark.parametrize(
    ("verb", "name", "value"), WRONG, ids=[f"{verb}-{name}-{at}" for at, (verb, name, _) in enumerate(WRONG)]
)
def test_a_wrong_argument_costs_nothing(verb: str, name: str, value: object, ledger: dps.Ledger) -> None:
    with pytest.raises(dps.ParameterError, match=rf"^{name} must") as found:
        asked(verb, {"budget": dps.Budget.open(ledger, analyst="ada")}, **{name: value})
    assert len(str(found.value)) < 1000
    assert len(list(ledger.entries())) == 2  # the promise and the grant


@pytest.mark.parametrize("value", [*NO_DRAWS, None], ids=map(str, range(6)))
def test_what_are_no_draws_is_refused_before_anything_is_asked(value: object) -> None:
    with pytest.raises(dps.ParameterError, match="draws must be draws such as those"), drawing(value):  # type: ignore[arg-type]
        pytest.fail("nothing is asked with these")


def test_draws_for_tests_end_with_their_block_and_reach_no_other_thread() -> None:
    def secure() -> bool:
        return dps.choose({"a": 1, "b": 2}, epsilon=1).secure

    with drawing(SeededDraws(1)):
        assert not secure()
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(secure).result()
    with pytest.raises(ZeroDivisionError), drawing(SeededDraws(1)):
        raise ZeroDivisionError
    assert secure()


NOTES = {"user": [*range(300)], "note": ["so it goes"] * 300}
TINY = {
    "delta": lambda paying: dps.Dataset(ROWS, user="user", item="item", **paying).top_k(5, epsilon=1, delta="1e-290"),
    "shares": lambda paying: by_names(
        dps.Dataset(NOTES, user="user", item=dps.Text("note", ngrams=(1, 2)), **paying)
    ).union(epsilon=1, shares=("1/2", "1e-90")),
}


@pytest.mark.parametrize("name", TINY)
def test_a_part_that_no_mechanism_can_be_made_for_costs_nothing(name: str) -> None:
    """Which one answers, or how much bottom weighs, came out when the ceiling was taken."""
    budget = dps.Budget(epsilon=1, delta="1e-3")
    with pytest.raises(dps.ParameterError, match=f"^{name} must (be at least|leave more than) "):
        TINY[name]({"budget": budget})
    assert budget.left == 1


@pytest.mark.parametrize("verb", EVERY[2:])
@pytest.mark.parametrize("name", ["draws", "progress"])
def test_a_budget_in_memory_takes_nothing_for_a_wrong_argument(verb: str, name: str) -> None:
    budget = dps.Budget(epsilon=1, delta="1e-6")
    with pytest.raises(dps.ParameterError, match=rf"^{name} must"):
        asked(verb, {"budget": budget}, **{name: 5})
    assert budget.left == 1


def test_real_draws_and_callbacks_are_taken() -> None:
    for verb in EVERY:
        extra = {"progress": lambda _: None} if verb in EVERY[2:] else {}
        with drawing(SeededDraws(1)):
            asked(verb, {}, **extra)


# ---- promises that say little ---------------------------------------------------------------------------------


PLAIN = dps.Dataset(ROWS, user="user", item="item")


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: dps.choose({"a": 1, "b": 2}, epsilon="10.5"), "epsilon = 10.5 is large"),
        (lambda: dps.quantile([1, 2], bounds=(0, 9), epsilon=11), "epsilon = 11 is large"),
        (lambda: PLAIN.top_k(epsilon=1, delta="0.001"), "delta = 0.001 is large"),
        (lambda: PLAIN.union(epsilon=1, delta="0.01"), "delta = 0.01 is large"),
    ],
)
def test_a_weak_promise_is_told_at_the_callers_line(call: Any, says: str) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        call()
    assert [one.category for one in told] == [dps.WeakPromiseWarning]
    assert says in str(told[0].message)
    assert told[0].filename == __file__


def test_a_usual_promise_is_not_warned_of() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dps.choose({"a": 1, "b": 2}, epsilon=10)
        asked("Dataset.top_k", {}, epsilon=10, delta="0.00099")


def test_the_warning_comes_before_a_row_is_read_or_paid(ledger: dps.Ledger) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(dps.WeakPromiseWarning):
            asked("Dataset.choose", {"budget": dps.Budget.open(ledger, analyst="ada")}, epsilon=11)
    assert len(list(ledger.entries())) == 2


def test_the_command_says_it_in_one_line(tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("user,item\n" + "".join(f"{i},a\n" for i in range(50)))
    command = [sys.executable, "-m", "dpselect", "top", str(rows), "--user", "user", "--item", "item", "-k", "1"]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONWARNINGS"}
    command += ["--epsilon", "20", "--delta", "1e-6", "--quiet"]  # progress goes by the clock
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert ended.returncode == 0, ended
    assert ended.stderr.splitlines() == [
        "dpselect: mind: epsilon = 20 is large. An answer may be e^20 times as likely with a person's rows as without "
        "them, so it may well reveal whether they are there; 1 is a common choice."
    ]


def test_a_schema_is_looked_at_before_the_price(tmp_path: Path, ledger: dps.Ledger) -> None:
    paying = {"budget": dps.Budget.open(ledger, analyst="ada")}
    missing = {"source": str(tmp_path / "none.csv"), "user": "user", "item": "item"}
    lacking = {"source": {key: ROWS[key] for key in ("user", "item")}, "user": "user", "item": "other"}
    for given, error, message in (
        (missing, dps.DataError, "^source must be a file that exists"),
        (lacking, dps.ParameterError, "^item must be a column"),
    ):
        rows = dps.Dataset(**given, **paying)
        with pytest.raises(error, match=message):
            by_names(rows).top_k(1, **PRICE)
    with pytest.raises(dps.ParameterError, match=r"^user must"):
        dps.Dataset(**(missing | {"user": 5}), **paying)
    assert len(list(ledger.entries())) == 2  # the promise and the grant
