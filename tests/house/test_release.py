"""A release in all its forms: JSON that every parser takes, frames, text that steers no terminal, a plot."""

from __future__ import annotations

import datetime
import json
import math
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas
import pyarrow
import pytest

import dpselect as dps
from dpselect._ground.domain import UNSEEN
from dpselect._ground.privacy import Neighbors
from dpselect.release import formatting
from dpselect.release.groups import Group, Groups
from dpselect.release.release import Ended, Item, Release, Statement
from dpselect.release.table import display_width

STATEMENT = Statement(
    epsilon=Fraction(1, 3),
    delta=Fraction("1e-6"),
    neighbors=Neighbors.ADD_REMOVE,
    mechanism="LimitedDomain",
    parameters={"k": 10, "epsilon_per_pick": Fraction(1, 30), "max_items_per_user": None},
    bound="basic",
    sentences=("One user touches any number of items.", "Bottom stands 30 users above <the rest>."),
)


def release(
    labels: Sequence[object],
    counts: Sequence[int | None] | None = None,
    *,
    complete: bool = True,
    secure: bool = True,
) -> Release:
    found = counts or [None] * len(labels)
    items = tuple(Item(label, i, count) for i, (label, count) in enumerate(zip(labels, found, strict=True), 1))
    ended = Ended.FULL if complete else Ended.BOTTOM
    return Release(items=items, ended=ended, counted=counts is not None, privacy=STATEMENT, secure=secure)


PLAIN = {
    "text": ("Ærøskøbing \U0001d11e", "Ærøskøbing \U0001d11e"),
    "integer": (2**53 - 1, 2**53 - 1),
    "integer that floats take for another": (2**80, str(2**80)),
    "float": (0.1, 0.1),
    "bool": (True, True),
    "date": (datetime.date(2024, 2, 29), "2024-02-29"),
    "datetime": (datetime.datetime(2024, 2, 29, 1, 2, 3, tzinfo=datetime.UTC), "2024-02-29T01:02:03+00:00"),
    "time": (datetime.time(1, 2), "01:02:00"),
    "decimal": (Decimal("1.10"), "1.10"),
    "bytes": (b"\x00\xff", "00ff"),
    "numpy integer": (np.int64(7), 7),
    "numpy float": (np.float64(0.5), 0.5),
    "numpy bool": (np.bool_(True), True),
    "numpy text": (np.str_("a"), "a"),
    "numpy date": (np.datetime64("2024-02-29T01:02:03.000000001"), "2024-02-29T01:02:03.000000001"),
    "nan": (math.nan, "nan"),
    "infinity": (-math.inf, "-inf"),
    "numpy nan": (np.float64("nan"), "nan"),
    "unseen": (UNSEEN, None),
    "that text itself": ("(unseen item)", "(unseen item)"),
    "none": (None, None),
    "list": ([1, (b"\x01", math.nan)], [1, ["01", "nan"]]),
    "mapping": ({1: Decimal(2)}, {"1": "2"}),
    "fraction": (Fraction(1, 2), 0.5),
    "other": (complex(1, 2), "(1+2j)"),
}


@pytest.mark.parametrize(("value", "expected"), PLAIN.values(), ids=list(PLAIN))
def test_json_form_of_a_value(value: object, expected: object) -> None:
    found = json.loads(release([value]).to_json(), parse_constant=pytest.fail)["items"][0]["item"]
    assert found == expected
    assert type(found) is type(expected)


def test_json_form() -> None:
    found = json.loads(release(["a", "b"], [12, -3], complete=False).to_json())
    assert found == {
        "items": [{"item": "a", "rank": 1, "count": 12}, {"item": "b", "rank": 2, "count": -3}],
        "kind": "ranking",
        "counted": True,
        "count_of": {"what": "users"},
        "complete": False,
        "ended": "bottom",
        "privacy": {
            "epsilon": math.nextafter(1 / 3, 1),  # the float 1 / 3 is below one third
            "delta": 1e-6,
            "neighbors": "add-remove",
            "unit": "user",
            "mechanism": "LimitedDomain",
            "parameters": {"k": 10, "epsilon_per_pick": pytest.approx(1 / 30), "max_items_per_user": None},
            "bound": "basic",
            "statement": list(STATEMENT.sentences),
        },
        "secure": True,
        "accuracy": {"confidence_percent": 95, "statement": []},
        "exact": {
            "epsilon": "1/3",
            "delta": "1/1000000",
            "parameters": {"k": 10, "epsilon_per_pick": ["fraction", "1/30"], "max_items_per_user": None},
            "accuracy": {},
        },
    }
    assert found == release(["a", "b"], [12, -3], complete=False).to_dict()


def test_no_count_without_counts() -> None:
    assert release(["a"]).to_dict()["items"] == [{"item": "a", "rank": 1}]
    assert list(release(["a"]).to_columns()) == ["rank", "item"]


def test_empty_release_keeps_the_columns_that_were_asked_for() -> None:
    asked = Statement(**{**vars(STATEMENT), "parameters": {"k": 3, "epsilon_per_count": Fraction(1)}})
    empty = Release(items=(), ended=Ended.BOTTOM, counted=True, privacy=asked, secure=True)
    assert list(empty.to_columns()) == ["rank", "item", "count"]
    said = "0 of at most 3 items: none could be released, though there may be some."
    assert " ".join(str(empty).split()).startswith(said)
    assert empty.to_polars().shape == (0, 3)


# ---- frames -----------------------------------------------------------------------------------------------

FRAMES: dict[str, list[object]] = {
    "text": ["a", "b"],
    "unseen": ["a", UNSEEN],
    "only unseen": [UNSEEN, UNSEEN],
    "integers": [1, np.int64(2)],
    "dates": [datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)],
    "bytes": [b"a", b"b"],
    "decimals": [Decimal("1.1"), Decimal("2.2")],
}


@pytest.mark.parametrize("labels", FRAMES.values(), ids=list(FRAMES))
def test_frames_hold_the_same(labels: list[object]) -> None:
    found = release(labels, [5, -6])
    expected = [None if label is UNSEEN else label for label in labels]
    frame, table = found.to_polars(), found.to_arrow()
    assert frame.columns == table.column_names == ["rank", "item", "count"]
    assert frame["item"].to_list() == table["item"].to_pylist() == expected
    assert frame["count"].to_list() == [5, -6]
    pandas_frame: pandas.DataFrame = found.to_pandas()
    assert list(pandas_frame.columns) == ["rank", "item", "count"]
    assert [None if pandas.isna(item) else item for item in pandas_frame["item"]] == expected


@pytest.mark.parametrize("labels", [[1, "a"], [2**70, 1], [(1, 2), "a"], [1, True]])
def test_frames_turn_mixed_items_into_text(labels: list[object]) -> None:
    found = release(labels).to_arrow()
    assert found.schema.field("item").type == pyarrow.string()
    assert found["item"].to_pylist() == [formatting.text(label) for label in labels]


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match=r"needs polars.*\nhint: pip install polars pyarrow"):
        release(["a"]).to_polars()


# ---- for people -------------------------------------------------------------------------------------------


def test_table() -> None:
    found = release(["The Beatles", "Björk"], [12_345, 678])
    table = [
        "2 items, best first.",
        "",
        "rank  item          count",
        "   1  The Beatles  12,345",
        "   2  Björk           678",
        "",
    ]
    assert str(found).splitlines() == [*table, "spent: epsilon 0.3334, delta 1e-06 per user"]
    assert found.explain().splitlines() == [
        *table,
        "spent: (0.3334, 1e-06)-DP per user, add-remove neighbours",
        "how it was found:",
        "  One user touches any number of items.",
        "  Bottom stands 30 users above <the rest>.",
    ]


def test_a_short_answer_has_a_line_of_its_own() -> None:
    assert "2 of at most 10 items: no other could be released" in str(release(["a", "b"], complete=False))
    assert "at most 10 items" not in str(release(["a", "b"]))


def test_insecure_draws_are_said() -> None:
    assert "NOT SECURE" in str(release(["a"], secure=False))
    assert "NOT SECURE" in release(["a"], secure=False)._repr_html_()
    assert "NOT SECURE" not in str(release(["a"]))


def test_items_do_not_steer_the_terminal() -> None:
    nasty = "\x1b[2J\r\nspent: nothing\u202e\x9b"
    assert str(release([nasty])).splitlines()[0] == r"1 item: \x1b[2J\r\nspent: nothing\u202e\x9b."
    lines = release([nasty]).explain().splitlines()
    assert lines[0] == r"1 item: \x1b[2J\r\nspent: nothing\u202e\x9b."
    assert lines[3] == r"   1  \x1b[2J\r\nspent: nothing\u202e\x9b"
    assert json.loads(release([nasty]).to_json())["items"][0]["item"] == nasty


def test_wide_characters_are_aligned() -> None:
    lines = str(release(["東京", "Oslo", "e\u0301"], [1, 2, 3])).splitlines()[3:6]
    assert {display_width(line) for line in lines} == {display_width(lines[0])}


def test_a_long_item_is_shown_whole() -> None:
    lines = str(release(["x" * 500, "y"], [1, 2])).splitlines()
    assert "x" * 500 in lines[3]
    assert len(lines[4]) < 100


def test_items_of_a_mebibyte_do_not_fill_a_screen() -> None:
    """A column may hold values of that size, and an answer is printed by whoever looks at it."""
    long = "x" * (1 << 20)
    two = release([f"{long}a", f"{long}b"], [2, 1])
    printed = str(two)
    assert printed == repr(two)
    assert len(printed) < 4_000
    assert "(values are cut after 1,000 characters: to_pandas(), to_csv(path) have all)" in printed
    assert "are cut" not in str(release(["x" * 1_000, "y"], [2, 1]))
    for whole in (two.text, two.explain(), two.to_csv(), two.to_json(), two.to_markdown()):
        assert f"{long}a" in whole
        assert f"{long}b" in whole
    named = release([long])
    assert len(str(named)) < 4_000
    assert "are cut" in str(named)
    assert long in named.text
    assert len(two._repr_html_()) < 20_000
    shown = tuple(Group((f"{long}{name}",), Ended.BOTTOM) for name in "ab")
    empty = replace(release([]), groups=Groups(("country",), shown))
    assert len(str(empty)) < 4_000


@pytest.mark.parametrize(
    "number", [Fraction(1, 3), Fraction(10**30 + 1, 3 * 10**30), Fraction(1, 10), Fraction(2, 10**7)]
)
def test_printed_numbers_never_understate(number: Fraction) -> None:
    statement = Statement(**{**vars(STATEMENT), "epsilon": number}).to_dict()
    assert 0 <= Fraction(json.dumps(statement["epsilon"])) - number < number / 10**15


@pytest.mark.parametrize(("number", "text"), [("1", "1"), ("0.1", "0.1"), ("1e-6", "1e-06"), ("1000000", "1000000")])
def test_numbers_are_short(number: str, text: str) -> None:
    assert formatting.number(Fraction(number)) == text


# ---- the package root -------------------------------------------------------------------------------------


def fresh(code: str) -> str:
    """What a new interpreter prints."""
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_import_loads_nothing_heavy() -> None:
    heavy = "{'numpy', 'duckdb', 'flint', 'pandas', 'polars', 'pyarrow', 'matplotlib', 'argparse'}"
    assert fresh(f"import sys, dpselect; print({heavy} & set(sys.modules))").strip() == "set()"


def test_importing_a_name_loads_only_what_it_needs() -> None:
    heavy = "{'numpy', 'duckdb', 'flint', 'pandas', 'polars', 'pyarrow', 'matplotlib'}"
    code = f"import sys; from dpselect import Release, ParameterError, TopK; print({heavy} & set(sys.modules))"
    assert fresh(code).strip() == "set()"


@pytest.mark.parametrize("name", dps.__all__)
def test_public_names_exist(name: str) -> None:
    assert getattr(dps, name) is getattr(dps, name)
    assert name in dir(dps)


def test_all_is_sorted_and_star_import_works() -> None:
    assert sorted(dps.__all__) == list(dps.__all__) == dir(dps)
    names: dict[str, Any] = {}
    exec("from dpselect import *", names)
    assert set(dps.__all__) <= set(names)


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Datset'"):
        _ = dps.Datset
