"""Every question as each warehouse is asked it: the real engine over a warehouse whose answers were written before."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import numpy as np

import dpselect as dps
from dpselect.aggregates.measures import Mean, Sum
from dpselect.aggregates.totals import Totals
from dpselect.aggregates.value_counts import Grid
from dpselect.domain import Listed, Span
from dpselect.engines.port import PerUser
from dpselect.engines.registry import open_engine
from dpselect.engines.sql import sets
from dpselect.engines.sql.engine import SqlEngine
from dpselect.periods import periods_of
from dpselect.texts.tokenizer import Tokenizer

FOLDER = Path(__file__).parent / "golden"
KEY = bytes(range(16))
TYPES = {
    "user_id": "text", "item": "text", "visitor": "integer", "amount": "integer", "price": "number",
    "tax": "decimal", "day": "date", "at": "timestamp", "paid": "boolean",
}  # fmt: skip
TEXTS = {"user": "user_id", "item": "item"}
NUMBERS = {"user": "visitor", "item": "amount"}
PAIRS = {"user": ("user_id", "day"), "item": ("item", "visitor")}
GRID = Grid.of((-5, 95.5), "0.5")
K_BAR = 20
WHERE = "paid AND price < 2.5 AND item <> 'it''s' AND NOT (day > '2024-02-01' OR \"at\" IS NULL)"
MEASURES = [Sum("price", -5, 60, unit="0.5"), Mean("tax", 0, 10)]
MONTHS = {"periods": periods_of("at", "month", ["2024-01..2024-02", "2024-05"], "Europe/Berlin")}
ONE_DAY = {"periods": periods_of("day", "day", "2024-01-31", "Europe/Berlin")}

Ask = Callable[[SqlEngine], object]


def _weigh(engine: SqlEngine) -> object:
    """Two rounds, in the first of which the second of three items of weight 7 is released; then its name and users."""
    pairs = engine.pairs()
    pairs.weigh(np.array([6, 3], dtype=np.int64), KEY)
    pairs.release(np.array([1], dtype=np.int64))
    pairs.weigh(np.array([6, 3], dtype=np.int64), KEY)
    return pairs.names(), pairs.users(2, KEY), pairs.lengths(4)


def _without_some(engine: SqlEngine) -> object:
    engine.leave_out(Listed(("a", "it's \\")))
    return engine.top(K_BAR + 1)


def _without_some_in_groups(engine: SqlEngine) -> object:
    engine.leave_out(Listed(("a", "it's \\")))
    return engine.contributions_by(2).label(0)


def _measured_in_a_domain(engine: SqlEngine) -> object:
    domain = Listed(("a", "b"))
    engine.check(domain)
    return engine.measured(("b",), domain)


def _users_at(per_user: PerUser) -> Ask:
    return lambda engine: engine.users_at(GRID, per_user)


def _users_at_by(per_user: PerUser) -> Ask:
    return lambda engine: engine.users_at_by(GRID, per_user, 2, Listed((True, False)))


def _found_groups(engine: SqlEngine) -> object:
    engine.group_sets()
    return engine.users_at_by(GRID, PerUser.MIN, 1, engine.keep_groups(np.array([1], dtype=np.int64)))


# What is asked of which columns, what the warehouse says in turn, and the names of the queries.
QUESTIONS: list[tuple[dict[str, object], Ask, list[list[tuple[object, ...]]], list[str]]] = [
    (TEXTS, lambda engine: engine.top(K_BAR + 1), [[]], ["top"]),
    (TEXTS | {"max_items_per_user": 3}, lambda engine: engine.top(K_BAR + 1), [[]], ["top bounded"]),
    (TEXTS | {"where": WHERE}, lambda engine: engine.top(K_BAR + 1), [[]], ["top where"]),
    (TEXTS | MONTHS, lambda engine: engine.top(K_BAR + 1), [[]], ["top of months"]),
    (TEXTS | ONE_DAY, lambda engine: engine.top(K_BAR + 1), [[]], ["top of a day"]),
    (NUMBERS | MONTHS, _users_at(PerUser.RANDOM), [[]], ["number users_at random of months"]),
    (TEXTS | {"split": "it's \\ "}, lambda engine: engine.top(K_BAR + 1), [[]], ["top split"]),
    (TEXTS | {"totals": Totals.of("price", 60, "0.5")}, lambda engine: engine.top(K_BAR + 1), [[]], ["sums"]),
    (TEXTS | MONTHS | {"totals": Totals.of("tax", 60), "max_items_per_user": 3}, lambda engine: engine.top(K_BAR + 1),
     [[]], ["sums bounded of months"]),
    (NUMBERS | {"totals": Totals.of("amount", 5)}, lambda engine: engine.grouped(Listed((1, 5))), [[]],
     ["number sums of a domain"]),
    (TEXTS | {"measures": MEASURES}, lambda engine: engine.measured(("a", "it's \\")), [[]], ["measures"]),
    (TEXTS | MONTHS | {"measures": MEASURES, "max_items_per_user": 3}, _measured_in_a_domain, [[]],
     ["measures bounded of months"]),
    (NUMBERS | {"measures": [Mean("amount", 0, 5)]}, lambda engine: engine.measured((1, 5), Span(0, 9)), [[]],
     ["number measures of a span"]),
    (TEXTS | {"by": ("paid",)}, lambda engine: engine.top_by(K_BAR + 1, 1), [[]], ["by group"]),
    (TEXTS | MONTHS | {"by": ("day", "amount"), "max_items_per_user": 3, "split": " "},
     lambda engine: engine.top_by(K_BAR + 1, 2, Listed(((datetime.date(2024, 1, 31), 5),)), users=True), [[]],
     ["by listed groups of months"]),
    (TEXTS, lambda engine: engine.grouped().label(0, 1), [[(5, 2)], [("b",)]], ["groups", "name"]),
    (TEXTS, lambda engine: engine.grouped(Listed(("a", "it's \\", '"\u00e9"'))), [[]], ["domain"]),
    (TEXTS, lambda engine: engine.grouped(Span(-3, 9)).label(0, 1), [[], [(1,)]], ["span", "unseen"]),
    (TEXTS, lambda engine: engine.counts_of(Listed(("b", "a"))), [[]], ["in order"]),
    (TEXTS, lambda engine: engine.counts_of(Span(-3, 9)), [[]], ["in order of a span"]),
    (TEXTS | {"max_items_per_user": 3}, _without_some, [[]], ["top of others bounded"]),
    (TEXTS | {"item": ("day", "item"), "by": ("day",)}, _without_some_in_groups, [[(0,)], [("a",)]],
     ["left out of pairs", "names of pairs"]),
    (TEXTS, _users_at(PerUser.RANDOM), [[]], ["users_at random"]),
    (TEXTS, _weigh, [[(7, 3)], [("b",)], [(6, 1)], [(2,)], [(1, 2)]],
     ["weigh first", "members", "weigh second", "users_of", "lengths"]),
    (TEXTS, lambda engine: engine.contributions().label(0), [[(0,)], [("a",)]], ["coded_pairs", "item_names"]),
    (TEXTS, lambda engine: engine.tokens(Tokenizer()), [[(3,)], [(0, "one two")]], ["letters", "texts"]),
    (TEXTS | {"by": ("visitor",), "max_items_per_user": 3}, lambda engine: engine.top_by(K_BAR + 1, 2, users=True),
     [[]], ["groups bounded"]),
    (TEXTS | {"by": ("visitor",), "max_items_per_user": 3, "totals": Totals.of("price", 60, "0.5")},
     lambda engine: engine.top_by(K_BAR + 1, 2, Listed((1, 5)), users=True), [[]], ["groups bounded of sums"]),
    (TEXTS | {"by": ("visitor", "paid")}, lambda engine: engine.top_by(K_BAR + 1, 1), [[]], ["groups of a pair"]),
    (TEXTS | {"by": ("visitor",)}, lambda engine: engine.top_by(K_BAR + 1, 1, Listed((1, 5)), users=True), [[]],
     ["groups listed"]),
    *((NUMBERS | {"by": ("paid",)}, _users_at_by(per_user), [[]], [f"each users_at {per_user}"])
      for per_user in PerUser),
    (TEXTS | {"by": ("visitor",)}, _found_groups, [[(0,), (1,)], []], ["each coded", "each found"]),
    (TEXTS | {"by": ("visitor",), "max_items_per_user": 3},
     lambda engine: engine.counts_by(Listed(("a", "it's \\")), 2, Listed((1, 5))), [[]], ["each domain"]),
    (NUMBERS | {"by": ("paid",)}, lambda engine: engine.counts_by(Span(0, 9), 2, Listed((True,))), [[]], ["each span"]),
    (TEXTS | {"by": ("visitor",)}, lambda engine: engine.item_names(Listed(("b", "a"))), [[]], ["each items"]),
    (PAIRS, lambda engine: engine.top(K_BAR + 1), [[]], ["pair top"]),
    (PAIRS, lambda engine: engine.grouped(Listed((("a", 1), ("it's \\", -2)))), [[]], ["pair domain"]),
    (NUMBERS, lambda engine: engine.top(K_BAR + 1), [[]], ["number top"]),
    (NUMBERS | {"max_items_per_user": 3}, lambda engine: engine.top(K_BAR + 1), [[]], ["number top bounded"]),
    (NUMBERS, lambda engine: engine.grouped(Listed((1, 5))), [[]], ["number domain"]),
    (NUMBERS, lambda engine: engine.grouped(Span(0, 9)), [[]], ["number span"]),
    *((NUMBERS, _users_at(per_user), [[]], [f"number users_at {per_user}"]) for per_user in PerUser),
    (NUMBERS, _weigh, [[(7, 3)], [("5",)], [(6, 1)], [(5,)], [(2,)], [(1, 2)]],
     [f"number {one}" for one in ("weigh first", "members", "weigh second", "named", "users_of", "lengths")]),
    *((TEXTS | {"item": item}, lambda engine: engine.top(K_BAR + 1), [[]], [f"{TYPES[item]} column top"])
      for item in ("price", "tax", "day", "at", "paid")),
    *((TEXTS | {"item": item}, _users_at(PerUser.MAX), [[]], [f"{TYPES[item]} column users_at"])
      for item in ("price", "tax")),
    (TEXTS | {"item": "price"}, lambda engine: engine.grouped(Listed((0.5, 2.0))), [[]], ["number column domain"]),
]  # fmt: skip


def questions(dialect: str) -> Iterator[tuple[str, str]]:
    """The names of all queries and what a warehouse of this dialect is asked."""
    for columns, ask, answers, names in QUESTIONS:
        queries: list[str] = []
        left = iter([[], *answers])

        def run(sql: str, queries: list[str] = queries, left: Iterator[object] = left) -> object:
            queries.append(sql)
            return next(left)

        warehouse = dps.Warehouse(run, dialect=dialect, types=TYPES)
        with (
            patch.object(sets, "available", lambda: 2**40),  # no query may hang on this machine's memory
            open_engine(warehouse, table="shop.events", key=KEY, **columns) as engine,
        ):
            ask(engine)
        if names == ["top"]:
            yield "check", queries[0]
        assert len(queries) == 1 + len(names), (names, queries)
        yield from zip(names, queries[1:], strict=True)


def path(dialect: str, name: str) -> Path:
    """The file of one query."""
    return FOLDER / dialect / f"{name.replace(' ', '_')}.sql"
