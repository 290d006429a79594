"""`frame.dps(...)`: the rows of a pandas or polars frame as a Dataset."""

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

ROWS = {"user": [*range(400), *range(300), *range(200)], "item": ["a"] * 400 + ["b"] * 300 + ["c"] * 200}
ROWS["n"] = [n % 9 for n in range(900)]
FRAMES: dict[str, Callable[[], Any]] = {
    "pandas": lambda: pd.DataFrame(ROWS),
    "polars": lambda: pl.DataFrame(ROWS),
    "polars, lazy": lambda: pl.LazyFrame(ROWS),
}
KINDS = pytest.mark.parametrize("make", FRAMES.values(), ids=list(FRAMES))
OF_ITEMS = {"user": "user", "item": "item"}


@KINDS
def test_it_takes_what_a_dataset_takes(make: Callable[[], Any]) -> None:
    def given_to(makes: Callable[..., object]) -> list[tuple[str, object]]:
        return [(name, one.default) for name, one in inspect.signature(makes).parameters.items()]

    assert given_to(make().dps) == given_to(dps.Dataset)[1:]


@KINDS
def test_a_wrong_value_is_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(dps.ParameterError, match="max_items_per_user must be"):
        make().dps(**OF_ITEMS, max_items_per_user=0)
    with pytest.raises(dps.ParameterError, match="user must be the name of a column"):
        make().dps(item="item")


# ---- the frame --------------------------------------------------------------------------------------------


def test_a_copy_is_asked_and_not_its_original() -> None:
    frame = pd.DataFrame(ROWS)
    copies = [frame.copy(), copy.copy(frame), copy.deepcopy(frame), pickle.loads(pickle.dumps(frame)), frame[:]]
    for one in copies:
        one["item"] = "other"
        assert one.dps(**OF_ITEMS).choose(domain=["a", "other"], epsilon=20).labels == ["other"]
    assert frame.dps(**OF_ITEMS).choose(domain=["a", "other"], epsilon=20).labels == ["a"]


def test_rows_are_read_anew() -> None:
    frame = pd.DataFrame(ROWS)
    data = frame.dps(**OF_ITEMS)
    frame["item"] = "other"
    for asked in (data, frame.dps(**OF_ITEMS)):
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
    needs = f"dpselect.{package} needs {package}\nhint: pip install {package} pyarrow"
    assert in_a_new_process(code) == needs
