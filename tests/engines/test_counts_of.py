"""All counts of a known domain, on every engine: those without a row too, in the order that the domain has."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from dpselect._ground.domain import Column, Listed, NamedDomain, Span
from dpselect.engines.sources.scans.declarations import parse_type
from dpselect.errors import ParameterError
from tests.engines.every_engine import Held

ROWS = {
    "user": ["a", "a", "b", "b", "c", "c", "d", None, "a", "e", "f", "f"],
    "text": ["x", "Y", "x", "Y", "x", "x", "z", "x", None, "x y", "x", "É"],
    "number": [1, 2, 1, 2, 1, 1, -3, 1, None, 40, 1, 7],
    "real": [1.0, 2.5, 1.0, 2.5, -0.0, 0.0, 9.0, 1.0, None, float("nan"), 1.0, 7.0],
    "digits": ["1", "02", "1", "2", "1", "1", "-3", "1", None, "+4", "1", "7"],
    "day": [datetime.date(2026, 1, 1 + n % 3) if n != 8 else None for n in range(12)],
}
DAYS = [datetime.date(2026, 1, day) for day in (3, 9, 1)]


def told(held: Held, domain: NamedDomain, item: str | list[str] = "text", **more: object) -> list[tuple[object, int]]:
    """All of it."""
    with held.engine(**({"item": item} | more)) as engine:  # type: ignore[arg-type]
        engine.check(domain, max_items=10)
        found = engine.counts_of(domain)
        assert list(found.sizes) == [1] * len(found.counts)
        return [(found.label(place, 0), int(count)) for place, count in enumerate(found.counts)]


def test_a_list_comes_in_its_own_order(hold) -> None:
    held = hold(pa.table(ROWS))
    assert told(held, Listed(("z", "nobody's", "É", "x", "Y", None, "x"))) == [
        ("z", 1), ("nobody's", 0), ("É", 1), ("x", 4), ("Y", 2),
    ]  # fmt: skip
    assert told(held, Listed((40, 1, -3, 5)), "number") == [(40, 1), (1, 4), (-3, 1), (5, 0)]
    assert told(held, Listed((9, 0, 2.5)), "real") == [(9.0, 1), (0.0, 1), (2.5, 2)]
    users = {"user": "day", "item": "text"}
    assert told(held, Listed(("x", "z")), **users) == [("x", 3), ("z", 1)]


def test_days_and_columns(hold) -> None:
    held = hold(pa.table(ROWS))
    users = [{ROWS["user"][n] for n in range(12) if ROWS["day"][n] == day} - {None} for day in DAYS]
    right = dict(zip(DAYS, map(len, users), strict=True))
    assert told(held, Listed(tuple(DAYS)), "day") == list(right.items())
    assert told(held, Column({"d": DAYS}, "d"), "day") == sorted(right.items())
    assert told(held, Column({"t": ["x", "É", "q", "Y", None]}, "t")) == [("Y", 2), ("q", 0), ("x", 4), ("É", 1)]


def test_numbers_of_a_span(hold) -> None:
    held = hold(pa.table(ROWS))
    right = [0, 1, 0, 0, 0, 4, 2, 0]
    assert told(held, Span(-4, 4), "number") == list(zip(range(-4, 4), right, strict=True))
    with pytest.raises(ParameterError, match="types must declare column 'digits'"):
        told(held, Span(-4, 4), "digits")


def test_items_of_several_columns(hold) -> None:
    held = hold(pa.table(ROWS))
    listed = Listed((("z", -3), ("x", 2), ("x", 1)))
    assert told(held, listed, ["text", "number"]) == [(("z", -3), 1), (("x", 2), 0), (("x", 1), 4)]


def test_prices_and_truths(hold) -> None:
    rows = pa.table({
        "user": [1, 2, 3],
        "price": pa.array([Decimal("1.50"), Decimal("1.50"), Decimal("2.00")], pa.decimal128(8, 2)),
        "flag": [True, False, True],
    })  # fmt: skip
    held = hold(rows)
    assert told(held, Listed((2, Decimal("1.5"), Decimal("0.25"))), "price") == [
        (Decimal("2.00"), 1), (Decimal("1.50"), 2), (Decimal("0.25"), 0),
    ]  # fmt: skip
    assert told(held, Listed((True, False)), "flag") == [(True, 2), (False, 1)]


def test_a_bound_counts_items_of_the_domain_alone(hold) -> None:
    """A user of two items has one of them; items outside of the domain take no place from it."""
    held = hold(pa.table({"user": [1, 1, 1, 1, 2], "item": ["a", "b", "c", "d", "a"]}))
    found = told(held, Listed(("b", "a")), "item", max_items_per_user=1)
    assert [item for item, _ in found] == ["b", "a"]
    assert sum(count for _, count in found) == 2
    assert told(held, Listed(("b", "a")), "item", max_items_per_user=2) == [("b", 1), ("a", 2)]


def test_what_is_too_long_is_refused(hold) -> None:
    held = hold(pa.table(ROWS))
    for domain in (Listed(("a", "b", "c")), Column({"d": ["a", "b", "c"]}, "d")):
        with held.engine(item="text") as engine, pytest.raises(ParameterError, match="must have at most 2 items"):
            engine.check(domain, max_items=2)


def test_no_rows(hold) -> None:
    rows = pa.table({"user": pa.array([], pa.int64()), "item": pa.array([], pa.string())})
    assert told(hold(rows), Listed(("b", "a")), "item") == [("b", 0), ("a", 0)]


@pytest.mark.parametrize("rows", [
    {"user": [1, 2, 3], "item": [3, "b", 3]},  # values without a declared type
    {"user": [1, 2, 3], "item": ["3", "b", "3"]},
])  # fmt: skip
def test_lists_of_python_values(rows: dict[str, list[object]], tmp_path) -> None:
    listed = Listed(("z", "b", "a", rows["item"][0]))
    if isinstance(rows["item"][0], int):
        assert told(Held("objects", rows, None), Listed(("z", 3, "b")), "item") == [("z", 0), (3, 2), ("b", 1)]
    else:
        assert told(Held("objects", rows, None), listed, "item") == [("z", 0), ("b", 1), ("a", 0), ("3", 2)]
        path = tmp_path / "rows.csv"
        path.write_text("user,item\n1,3\n2,b\n3,3\n")
        held = Held("csv", str(path), None)
        with pytest.raises(ParameterError, match="types must declare column 'item'"):
            told(held, Listed((4, 3)), "item")
        types = {"item": parse_type("item", "BIGINT")}
        assert told(held, Listed((4, 3)), "item", types=types) == [(4, 0), (3, 2)]


def test_a_hundred_thousand_items_in_one_question() -> None:
    items = [f"item {n}" for n in range(100_000)][::-1]
    held = Held("duckdb", pa.table({"user": [1, 1, 2], "item": ["item 5", "item 7", "item 5"]}), None)
    with held.engine() as engine:
        found = engine.counts_of(Listed(tuple(items)))
    assert [found.label(place, 0) for place in range(len(items))] == items
    assert found.counts[-6] == 2
    assert found.counts.sum() == 3
