"""The text by which a ledger knows a question is the same for the same question only."""

from __future__ import annotations

import json
import os
from fractions import Fraction

from dpselect._ground.domain import Column, Size
from dpselect.engines.identity import source_of
from dpselect.ledger.question import question, summary

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
