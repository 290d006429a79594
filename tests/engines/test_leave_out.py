"""Items that must not come back, on every engine: their rows do not exist, before any bound and for every question."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest

from dpselect._ground.domain import Column, Listed
from dpselect.engines import Engine
from dpselect.errors import ParameterError
from tests.engines.every_engine import Held
from tests.engines.test_conformance import kept

ROWS = {
    "user": [1, 1, 1, 2, 2, 3, 3, 4, None],
    "text": ["a", "b", "c", "a", "B", "a b", "a", "c", "a"],
    "number": [1, 2, 3, 1, 2, 1, 2, 3, 1],
    "day": [datetime.date(2026, 1, 1 + n % 3) for n in range(9)],
    "group": ["p", "p", "q", "p", "q", "q", "p", "q", "p"],
}


def top(engine: Engine) -> dict[object, int]:
    found = engine.top(100)
    return {found.label(place, 0): int(count) for place, count in enumerate(found.counts)}


def told(held: Held, items: Listed | Column, item: str | list[str] = "text", **more: object) -> dict[object, int]:
    """What is left."""
    with held.engine(**({"item": item} | more)) as engine:  # type: ignore[arg-type]
        engine.leave_out(items)
        return top(engine)


def test_their_rows_do_not_exist(hold) -> None:
    held = hold(pa.table(ROWS))
    everything = told(held, Listed(("nobody's",)))
    assert everything == {"a": 3, "c": 2, "B": 1, "a b": 1, "b": 1}
    for gone in (("a",), ("b", None, "c", "b"), ("A", "B")):
        assert told(held, Listed(gone)) == {item: n for item, n in everything.items() if item not in gone}
    assert told(held, Column({"t": ["a", None, "c"]}, "t")) == {"B": 1, "a b": 1, "b": 1}
    assert told(held, Listed((3, 1)), "number") == {2: 3}
    assert told(held, Listed((datetime.date(2026, 1, 1),)), "day").keys() == {
        datetime.date(2026, 1, 2), datetime.date(2026, 1, 3),
    }  # fmt: skip
    assert told(held, Listed(tuple(everything))) == {}


def test_every_question_is_asked_without_them(hold) -> None:
    held = hold(pa.table(ROWS))
    gone = Listed(("a", "nobody's"))
    with held.engine(item="text") as engine:
        engine.leave_out(gone)
        sets = engine.contributions()
        assert sorted(map(str, sets.labels(np.arange(sets.size)))) == ["B", "a b", "b", "c"]
        assert len(sets.offsets) == 5
        grouped = engine.grouped()
        assert (grouped.counts.tolist(), list(grouped.sizes)) == ([2, 1], [1, 3])
    with held.engine(item="text") as engine:
        engine.leave_out(gone)
        users, lengths = engine.pairs().user_set_sizes(10)
        assert sum(lengths.tolist()) == 4
        assert sum((users * lengths).tolist()) == 5
    with held.engine(item="text", by=("group",)) as engine:
        engine.leave_out(gone)
        found = engine.top_by(10, 10, users=True)
        assert found.groups(np.arange(2)) == ["p", "q"]
        assert (found.sizes.tolist(), found.counts.tolist()) == ([1, 3], [1, 2, 1, 1])
        assert found.users(np.arange(2)).tolist() == [1, 4]


def test_they_take_no_place_of_a_bound(hold) -> None:
    """A user of a hundred such items and one more keeps that one."""
    users = [u for u in range(30) for _ in range(5)]
    rows = pa.table({"user": users, "item": [f"gone{n % 5}" if n % 5 else "kept" for n in range(150)]})
    held = hold(rows)
    gone = Listed(tuple(f"gone{n}" for n in range(5)))
    with held.engine(item="item", max_items_per_user=1) as engine:
        engine.leave_out(gone)
        assert kept(engine) == {"kept": 30}


def test_what_does_not_fit_is_refused(hold) -> None:
    held = hold(pa.table(ROWS))
    for items, column, message in (
        (Listed((1, 2)), "text", "types must declare column 'text'"),
        (Listed(("one",)), "number", "exclude must hold values"),
        (Listed((("a", 1),)), "text", "exclude must list single values"),
        (Column({"t": ["a"]}, "u"), "text", "exclude must be a column"),
    ):
        with held.engine(item=column) as engine, pytest.raises(ParameterError, match=message):
            engine.leave_out(items)
