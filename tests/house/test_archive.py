"""A release kept as text comes back as it was; a question's text is the same for the same question only."""

from __future__ import annotations

import datetime
import json
import os
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np

from dpselect._ground.domain import UNSEEN, Column, Size
from dpselect._ground.privacy import Neighbors
from dpselect.engines.identity import source_of
from dpselect.ledger.question import question, summary
from dpselect.release.archive import archived, restored
from dpselect.release.release import Ended, Item, Receipt, Release, Statement

VALUES = [
    "ant", "", 7, -(2**70), True, 1.5, 0.1, float("inf"), None, UNSEEN, b"\x00\xff", Decimal("1.10"),
    datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 1, 2, 3, 456, tzinfo=datetime.UTC),
    datetime.time(1, 2, 3),
]  # fmt: skip


def release(*items: object) -> Release:
    statement = Statement(
        epsilon=Fraction(1, 3),
        delta=Fraction(1, 10**6),
        neighbors=Neighbors.ADD_REMOVE,
        mechanism="LimitedDomain",
        parameters={"k": 3, "epsilon_per_pick": Fraction(1, 7), "max_items_per_user": None},
        bound="zCDP",
        sentences=("One.", "Two."),
    )
    found = tuple(Item(item, rank, None if rank % 2 else rank * 10) for rank, item in enumerate(items, 1))
    return Release(items=found, ended=Ended.BOTTOM, counted=True, privacy=statement, secure=True)


def test_a_release_comes_back_with_its_types():
    kept = release(*VALUES)
    again = restored(archived(kept))
    assert again == kept
    assert [type(item) for item in again.labels] == [type(item) for item in VALUES]
    assert "\n" not in archived(kept)


def test_numpy_values_come_back_as_python_has_them_and_strange_ones_as_text():
    again = restored(archived(release(np.int64(3), np.str_("x"), ("a", 1, b"\x00"), {"a": "mapping"})))
    assert again.labels == [3, "x", ("a", 1, b"\x00"), '{"a": "mapping"}']


def test_the_receipt_is_not_part_of_what_is_kept():
    kept = release("ant")
    assert archived(replace(kept, charged=Receipt("1 pick", {"picks": 1}))) == archived(kept)


# ---- questions --------------------------------------------------------------------------------------------

ASKED = {"k": 3, "epsilon": Fraction("0.5"), "delta": Fraction(1, 10**6), "domain": None, "counts": False}
DATA = {"source": "dict", "user": "user", "item": "item", "where": None, "snapshot": "one"}


def text(asked=ASKED, data=DATA, verb="top_k"):
    return question(verb, asked, data, pinned=True).text


def test_the_same_question_has_the_same_text_in_any_order():
    assert text() == text(dict(reversed(ASKED.items())), dict(reversed(DATA.items())))
    assert json.loads(text())["asked"]["epsilon"] == "1/2"


def test_a_file_is_known_by_name_and_change_but_never_by_its_size(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("user,item\n" + "1,2\n" * 300_000)  # a size that no other number in it is by chance
    first, pinned = source_of(str(path))
    assert pinned
    assert source_of(str(path)) == (first, True)
    assert str(path.stat().st_size) not in json.dumps(first).replace(str(path), "").split(", ")
    before = path.stat().st_mtime_ns
    path.write_text("user,item\n" + "1,3\n" * 300_000)
    os.utime(path, ns=(before, before))  # as if it had never been written again
    assert source_of(str(path))[0] != first


def test_what_cannot_be_known_again_is_not_repeatable(tmp_path):
    assert source_of({"user": [1]}) == ("builtins dict", False)
    assert source_of(str(tmp_path / "missing.csv"))[1] is False
    assert not question("top_k", ASKED, DATA, pinned=False).repeatable
    frame = Column({"item": ["a"]}, "item")
    assert not question("top_k", ASKED | {"domain": frame}, DATA, pinned=True).repeatable


def test_a_question_for_a_person():
    assert summary(text()) == "top_k k=3 epsilon=0.5 delta=1e-06 from user=user item=item"
    long = text(ASKED | {"counts": True, "domain": Size(3)}, DATA | {"where": "a" * 60})
    for own in ("free words", "1e999999999", '"{}"', "[]", "{}", '{"asked":1,"data":{},"verb":"top_k"}'):
        assert summary(own) == own
    assert summary("5" * 10_000) == "5" * 39 + "…"
    grouped = text(ASKED | {"by": ["country", "age"], "by_weight": "minutes"})
    assert summary(grouped).startswith("top_k k=3 epsilon=0.5 delta=1e-06 by_weight=minutes by=country,age from ")
    assert summary(long).endswith(f"counts of a known domain from user=user item=item where={'a' * 39}…")
