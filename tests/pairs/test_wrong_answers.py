"""What judges the pairs could refuse: a wrong answer of each sort, an answer without its rows, rows that were read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

import dpselect as dps
from tests.pairs.asking import Asking
from tests.pairs.check import check, same_question
from tests.pairs.crossing import Call, crossed
from tests.pairs.judging import right
from tests.pairs.rows import Unread
from tests.pairs.states import REFUSED, Refused
from tests.pairs.triples import NAMED
from tests.pairs.truth import Truth

COUNTED = crossed(NAMED["told: counts"])
WRONG: dict[str, tuple[str, Callable[[dps.Release], dps.Release]]] = {
    "order": ("told: counts", lambda found: replace(found, items=found.items[::-1])),
    "count": ("told: counts", lambda found: _first(found, count=(found.items[0].count or 0) + 1)),
    "interval": ("told: counts", lambda found: _first(found, high=(found.items[0].low or 0) - 1)),
    "one alone": ("told: counts", lambda found: _first(found, item="g")),
    "missing": ("question: union", lambda found: replace(found, items=found.items[1:])),
    "other item": ("question: choice", lambda found: _first(found, item="b")),
    "other rank": ("question: median", lambda found: _first(found, item=1000)),
    "group": ("groups: groups, bounded", lambda found: replace(found, items=found.items[1:])),
    "one user more": ("question: users", lambda found: _first(found, count=(found.items[0].count or 0) + 1)),
    "one less": ("question: histogram", lambda found: _first(found, count=(found.items[0].count or 0) - 1)),
}


def _first(found: dps.Release, **wrong: object) -> dps.Release:
    first = replace(found.items[0], **wrong)  # type: ignore[arg-type] # a wrong value of any type
    return replace(found, items=(first, *found.items[1:]))


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_answer_is_refused(name: str, asking: Asking) -> None:
    feature, spoilt = WRONG[name]
    call = crossed(NAMED[feature])
    found = asking.answer(call)
    right(Truth(call, found))
    with pytest.raises((AssertionError, KeyError)):
        right(Truth(call, spoilt(found)))


def test_an_answer_to_another_question_is_noticed(asking: Asking) -> None:
    other = Call(COUNTED.verb, {**COUNTED.given, "k": 2})
    with pytest.raises(AssertionError):
        same_question(asking.answer(COUNTED), asking.answer(other))


def test_rows_that_are_read_are_noticed(asking: Asking) -> None:
    unread = Unread()
    asking.ask(COUNTED, rows={"source": unread})
    assert unread.touched


def test_a_pair_that_is_declared_otherwise_fails(asking: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    answered, refused = (
        (NAMED["told: counts"], NAMED["filter: filter"]),
        (NAMED["item: day"], NAMED["question: median"]),
    )
    check(answered, asking)
    check(refused, asking)
    both = (Refused("counts", "no reason", {"counts": True}),)
    monkeypatch.setattr("tests.pairs.states.REFUSED", both)
    with pytest.raises(pytest.fail.Exception):
        check(answered, asking)
    with pytest.raises(dps.DataError):
        check(refused, asking)
    assert both != REFUSED
