"""The text by which a ledger knows a question is the same for the same question only."""

from __future__ import annotations

import json
import os
from fractions import Fraction

import pytest

from dpselect._ground.domain import Column, Size
from dpselect.audit.question_text import summarize
from dpselect.engines.address import Address
from dpselect.engines.identity import identify_source
from dpselect.ledger.question import fingerprint

ASKED = {"k": 3, "epsilon": Fraction("0.5"), "delta": Fraction(1, 10**6), "domain": None, "counts": False}
DATA = {"source": "dict", "user": "user", "item": "item", "where": None, "snapshot": "one"}


def text(asked=ASKED, data=DATA, verb="top_k"):
    return fingerprint(verb, asked, data, has_fixed_data=True).text


def test_the_same_question_has_the_same_text_in_any_order():
    assert text() == text(dict(reversed(ASKED.items())), dict(reversed(DATA.items())))
    assert json.loads(text())["asked"]["epsilon"] == "1/2"


def test_a_file_is_known_by_name_and_change_but_never_by_its_size(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("user,item\n" + "1,2\n" * 300_000)  # a size that no other number in it is by chance
    first, pinned = identify_source(Address.parse(str(path)))
    assert pinned
    assert identify_source(Address.parse(str(path))) == (first, True)
    assert str(path.stat().st_size) not in json.dumps(first).replace(str(path), "").split(", ")
    before = path.stat().st_mtime_ns
    path.write_text("user,item\n" + "1,3\n" * 300_000)
    os.utime(path, ns=(before, before))  # as if it had never been written again
    assert identify_source(Address.parse(str(path)))[0] != first


def test_what_cannot_be_known_again_is_not_repeatable(tmp_path):
    assert identify_source(Address.parse({"user": [1]})) == ("builtins dict", False)
    assert identify_source(Address.parse(str(tmp_path / "missing.csv")))[1] is False
    assert not fingerprint("top_k", ASKED, DATA, has_fixed_data=False).repeatable
    frame = Column({"item": ["a"]}, "item")
    assert not fingerprint("top_k", ASKED | {"domain": frame}, DATA, has_fixed_data=True).repeatable


PRICE = "at epsilon 0.5 and delta 1e-06, from dict with users in user as of one"


@pytest.mark.parametrize(
    ("verb", "asked", "data", "said"),
    [
        ("top_k", {}, {}, "top 3 of item by number of users"),
        ("top_k", {"by_weight": "minutes"}, {}, "top 3 of item by minutes"),
        ("top_k", {"compared_with": ["2026-10"]}, {}, "top 3 of item by users gained, since 2026-10"),
        ("top_k", {}, {"during": "2026-10-05"}, "top 3 of item by number of users, during 2026-10-05"),
        ("top_k", {"by": ["country", "age"]}, {}, "top 3 of item by number of users, in every country,age"),
        ("union", {"k": None}, {"item": None, "text": "note"}, "all of note that enough users share"),
        ("choose", {"k": None, "domain": Size(3)}, {}, "the item with most users, of a known domain"),
        ("histogram", {"k": None, "counts": True}, {}, "number of users of each item, with counts"),
        ("users", {"k": None}, {"item": None}, "number of users"),
        ("quantile", {"q": [Fraction(1, 2), Fraction(9, 10)]}, {}, "quantile 0.5, 0.9 of item"),
        ("top_k", {"k": 1}, {"item": ["a", "b"]}, "top 1 of a,b by number of users"),
        ("top_k", {}, {"where": "a" * 60}, f"top 3 of item by number of users, where {'a' * 39}…"),
    ],
)
def test_a_question_in_words(verb, asked, data, said):
    assert summarize(text(ASKED | asked, DATA | data, verb)) == f"{said}, {PRICE}"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"source": [["/data/2026/plays.parquet", 1, 2, 3]]}, "plays.parquet with users in user as of one"),
        ({"source": [[f"/data/{n}.csv", 1] for n in range(4)]}, "0.csv, 1.csv and 2 more with users in user as of one"),
        ({"source": "postgresql://h/d", "table": "plays"}, "postgresql://h/d table plays with users in user as of one"),
        ({"source": "dict", "snapshot": None, "user": ["a", "b"]}, "dict with users in a,b"),
    ],
)
def test_a_question_names_its_source(data, said):
    assert summarize(text(data=DATA | data)).partition(", from ")[2] == said


def test_words_of_a_caller_s_own_stay_as_they_are():
    for own in ("free words", "1e999999999", '"{}"', "[]", "{}", '{"asked":1,"data":{},"verb":"top_k"}'):
        assert summarize(own) == own
    assert summarize("5" * 10_000) == "5" * 39 + "…"
