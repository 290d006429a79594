"""`frame.dps`: the verbs of a Dataset on pandas and polars frames, with their parameters, checks and errors."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pytest

import dpselect as dps
import dpselect.pandas
import dpselect.polars
from dpselect.namespace import Namespace
from tests.integrations.written import FILE, VERBS, first_line, of_rows, parameters, written

ROWS = {"user": [*range(400), *range(300), *range(200)], "item": ["a"] * 400 + ["b"] * 300 + ["c"] * 200}
ROWS["n"] = [n % 9 for n in range(900)]
FRAMES: dict[str, Callable[[], Any]] = {
    "pandas": lambda: pd.DataFrame(ROWS),
    "polars": lambda: pl.DataFrame(ROWS),
    "polars, lazy": lambda: pl.LazyFrame(ROWS),
}
KINDS = pytest.mark.parametrize("make", FRAMES.values(), ids=list(FRAMES))
OF_ITEMS = {"user": "user", "item": "item"}
DOMAIN = ["a", "b", "c"]
ASKED: dict[str, tuple[dict[str, Any], list[object]]] = {
    "top_k": ({"k": 2, "epsilon": 20, **OF_ITEMS, "where": "item <> 'a'"}, ["b", "c"]),
    "union": ({"epsilon": 20, **OF_ITEMS, "max_items_per_user": 3}, ["a", "b", "c"]),
    "choose": ({"domain": DOMAIN, "epsilon": 20, **OF_ITEMS}, ["a"]),
    "histogram": ({"domain": DOMAIN, "epsilon": 20, **OF_ITEMS}, ["a", "b", "c"]),
    "median": ({"bounds": (0, 8), "step": 8, "epsilon": 20, "user": "user", "item": "n", "per_user": "max"}, [8]),
}
ASKED["quantile"] = ({**ASKED["median"][0], "q": 0.9}, [8])


# ---- signatures -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_has_the_parameters_of_rows_and_verb(verb: str) -> None:
    method = getattr(Namespace, verb)
    assert list(inspect.signature(method).parameters.values())[1:] == parameters(verb)
    own = inspect.signature(getattr(dps.Dataset, verb)).parameters
    assert set(inspect.signature(method).parameters) == set(own) | set(of_rows())
    assert first_line(method) == first_line(getattr(dps.Dataset, verb))


def test_every_verb_of_a_dataset_is_there() -> None:
    returns = {name for name, one in vars(dps.Dataset).items() if callable(one) and "Release" in _returned(one)}
    assert {name for name in returns if not name.startswith("_")} == {*VERBS, "ask"}


def _returned(method: Callable[..., object]) -> str:
    return str(inspect.signature(method).return_annotation)


def test_the_file_is_what_would_be_written() -> None:
    assert FILE.read_text("utf-8") == written(FILE.read_text("utf-8")), "python -m tests.integrations.written"


# ---- answers and errors -----------------------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("verb", ASKED)
def test_the_answer_is_that_of_a_dataset(make: Callable[[], Any], verb: str) -> None:
    given, labels = ASKED[verb]
    release = getattr(make().dps, verb)(**given)
    rows = {name: given[name] for name in of_rows() if name in given and name != "max_items_per_user"}
    asked = {name: value for name, value in given.items() if name not in rows}
    assert release.labels == getattr(dps.Dataset(make(), **rows), verb)(**asked).labels == labels


def said(ask: Callable[[], object]) -> str:
    """What an error says."""
    with pytest.raises(dps.DpselectError) as caught:
        ask()
    return f"{type(caught.value).__name__}: {caught.value}"


@pytest.mark.parametrize(("verb", "wrong"), [(verb, one.name) for verb in VERBS for one in parameters(verb)])
def test_a_wrong_value_is_refused_as_by_a_dataset(verb: str, wrong: str) -> None:
    """So every parameter arrives, each where it belongs."""
    frame, bad = pd.DataFrame(ROWS), object()
    given = {name: value for name, value in ASKED[verb][0].items() if name != wrong}
    own = inspect.signature(getattr(dps.Dataset, verb)).parameters
    rows = {name: value for name, value in {**given, wrong: bad}.items() if name not in own}
    asked = {name: value for name, value in {**given, wrong: bad}.items() if name in own}
    assert said(lambda: getattr(frame.dps, verb)(**given, **{wrong: bad})) == said(
        lambda: getattr(dps.Dataset(frame, **rows), verb)(**asked)
    )


@KINDS
def test_several_questions_and_their_budget(make: Callable[[], Any]) -> None:
    budget = dps.Budget(epsilon=10, delta="1e-5")
    data = make().dps.dataset(**OF_ITEMS, budget=budget, where="item <> 'c'")
    assert isinstance(data, dps.Dataset)
    assert (data.where, data.paying) == ("item <> 'c'", budget)
    make().dps.top_k(1, **OF_ITEMS, budget=budget, epsilon=4, domain=DOMAIN)
    with pytest.raises(dps.BudgetError):
        make().dps.top_k(1, **OF_ITEMS, budget=budget, epsilon=9, domain=DOMAIN)


# ---- the frame --------------------------------------------------------------------------------------------


def test_a_copy_is_asked_and_not_its_original() -> None:
    frame = pd.DataFrame(ROWS)
    copies = [frame.copy(), copy.copy(frame), copy.deepcopy(frame), pickle.loads(pickle.dumps(frame)), frame[:]]
    for one in copies:
        one["item"] = "other"
        assert one.dps.choose(**OF_ITEMS, domain=["a", "other"], epsilon=20).labels == ["other"]
    assert frame.dps.choose(**OF_ITEMS, domain=["a", "other"], epsilon=20).labels == ["a"]


def test_rows_are_read_anew() -> None:
    frame = pd.DataFrame(ROWS)
    data = frame.dps.dataset(**OF_ITEMS)
    frame["item"] = "other"
    for asked in (data, frame.dps.dataset(**OF_ITEMS)):
        assert asked.choose(domain=["a", "other"], epsilon=20).labels == ["other"]


@KINDS
def test_nothing_of_the_rows_is_shown(make: Callable[[], Any]) -> None:
    shown = repr(make().dps)
    assert shown.startswith("<dpselect for a p")
    assert "900" not in shown


def in_a_new_process(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_only_its_own_import_registers_it() -> None:
    code = "import pandas, polars, dpselect; dpselect.Dataset; has = lambda: [hasattr(f, 'dps') for f in frames]; "
    code += "frames = (pandas.DataFrame, polars.DataFrame, polars.LazyFrame); print(has()); "
    code += "import dpselect.pandas; print(has()); import dpselect.polars; print(has())"
    assert in_a_new_process(code).splitlines() == [f"{[False] * 3}", f"{[True, False, False]}", f"{[True] * 3}"]


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_what_is_not_installed_is_said(package: str) -> None:
    code = f"import sys; sys.modules['{package}'] = None\ntry:\n    import dpselect.{package}\n"
    code += "except ImportError as error:\n    print(error)"
    needs = f"dpselect.{package} needs {package}\nhint: pip install 'dpselect[{package}]'"
    assert in_a_new_process(code) == needs
