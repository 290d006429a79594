"""A warehouse says what the DuckDB engine says: its real code runs on DuckDB, with a flavour of DuckDB's own.

The same is asked in the SQL of BigQuery, Snowflake, Trino and ClickHouse, which sqlglot and tests/engines/translated.py
turn into DuckDB's. So our words for them are tested as we read them; no server of theirs runs here.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pytest

import dpselect as dps
from dpselect.aggregates.measures import Mean, Sum
from dpselect.aggregates.totals import Totals
from dpselect.aggregates.unbounded import Unbounded
from dpselect.domain import UNSEEN, Column, Listed, Size, Span
from dpselect.engines.duckdb.engine import DuckDBEngine
from dpselect.engines.identity import source_of
from dpselect.engines.port import PerUser
from dpselect.engines.registry import open_engine
from dpselect.engines.sql.engine import SqlEngine
from dpselect.engines.warehouse.dialects import FLAVOURS
from dpselect.errors import DataError, ParameterError
from dpselect.periods import periods_of
from dpselect.testing import SeededDraws
from dpselect.texts.tokenizer import Tokenizer
from tests.engines.golden_questions import GRID, TYPES
from tests.engines.keyed_rows import PAIRS as TRICKY
from tests.engines.measured_rows import told as measured
from tests.engines.sources import AWKWARD, Row, counts, user_items
from tests.engines.test_by_group import told
from tests.engines.test_conformance import named, pairs
from tests.engines.test_postgres import CROWD, DOMAINS, NUMBERS
from tests.engines.test_values import histogram
from tests.engines.test_weights import SHARES, USERS, everything, in_pairs
from tests.engines.warehouses import DUCKDB

pytest.importorskip("sqlglot")
from tests.engines.translated import prepared, shared, translated

KEY = bytes(range(16))
Opened = Callable[..., SqlEngine]


TRANSLATED = ("bigquery", "snowflake", "trino", "clickhouse")


@pytest.fixture(params=["duckdb", *(pytest.param(name, marks=pytest.mark.slow) for name in TRANSLATED)])
def dialect(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(FLAVOURS, "duckdb", DUCKDB)
    return str(request.param)


def warehouse(dialect: str, rows: Sequence[Row], queries: list[str] | None = None) -> dps.Warehouse:
    connection = shared(rows)

    def run(sql: str) -> list[tuple[object, ...]]:
        (queries if queries is not None else []).append(sql)
        return connection.execute(sql if dialect == "duckdb" else translated(sql, dialect)).fetchall()

    return dps.Warehouse(run, dialect=dialect, types=TYPES)


@pytest.fixture
def opened(dialect: str) -> Opened:
    def engine(rows: Sequence[Row] = AWKWARD, *, key: bytes = KEY, **more: object) -> SqlEngine:
        names = {"user": "user_id", "item": "item"} | more
        return open_engine(warehouse(dialect, rows), table="shop.events", key=key, **names)

    return engine


def judge(rows: Sequence[Row] = AWKWARD, *, user: str = "user_id", item: str = "item", **more: object) -> DuckDBEngine:
    return DuckDBEngine(shared(rows), user=user, item=item, table="shop.events", key=KEY, **more)


# ---- the same histogram -----------------------------------------------------------------------------------


def test_counts_and_ties(opened):
    with opened() as found:
        assert pairs(found.top(1000)) == counts(AWKWARD)
        for most in range(5):
            assert pairs(found.top(most)) == counts(AWKWARD)[:most]
        assert pairs(found.grouped()) == counts(AWKWARD)


def test_no_rows_are_an_outcome(opened):
    with opened([(None, "a", 1), ("u", None, 1)]) as found:
        assert pairs(found.top(10)) == []
        assert pairs(found.grouped()) == []
        assert pairs(found.grouped(Listed(("a", "b")))) == [("a", 0), ("b", 0)]
        assert histogram(found.users_at(GRID, PerUser.MEAN)) == {}
        assert found.contributions().size == 0
        assert found.tokens(Tokenizer()).size == 0


@pytest.mark.parametrize("domain", DOMAINS.values(), ids=list(DOMAINS))
def test_domains_as_in_duckdb(opened, domain):
    with judge() as right, opened() as found:
        assert pairs(found.grouped(domain)) == pairs(right.grouped(domain))


@pytest.mark.parametrize("domain", [one for one in DOMAINS.values() if not isinstance(one, Size)], ids=repr)
def test_all_counts_in_order_and_items_left_out_as_in_duckdb(opened, domain):
    with judge() as right, opened() as found:
        assert pairs(found.counts_of(domain)) == pairs(right.counts_of(domain))
        if not isinstance(domain, Span):
            for engine in (right, found):
                engine.leave_out(domain)
            assert pairs(found.top(99)) == pairs(right.top(99))


@pytest.mark.parametrize("item", ["item", "amount"])
def test_spans_as_in_duckdb(opened, item):
    with judge(NUMBERS, item=item) as right, opened(NUMBERS, item=item) as found:
        for span in (Span(-4, 13), Span(5, 6), Span(20, 23)):
            assert pairs(found.grouped(span)) == pairs(right.grouped(span))
        large = found.grouped(Size(10**12))
        assert large.label(len(large.sizes) - 1, 12345) is UNSEEN


def test_parts_of_a_text(opened):
    rows = [("u", " a b  c", 1), ("v", "b", 1), ("v", "", 1), ("w", "it's\\", 1)]
    with judge(rows, split=" ") as right, opened(rows, split=" ") as found:
        assert pairs(found.top(9)) == pairs(right.top(9))
    with opened(rows, split="'s\\") as found:
        assert ("it", 1) in pairs(found.top(9))


def test_filters_as_in_duckdb(opened):
    everything = "paid AND price < 2.5 AND item <> 'it''s' AND NOT (day > '2024-01-25' OR \"at\" IS NULL)"
    for where in (everything, "item = ''''", "\"at\" < '2024-01-02' AND tax BETWEEN 1 AND 2.75"):
        with judge(where=where) as right, opened(where=where) as found:
            assert pairs(found.top(99)) == pairs(right.top(99)) != []


@pytest.mark.parametrize("user", ["user_id", "visitor", "price", "day"])
@pytest.mark.parametrize(
    ("column", "timezone", "durings"),
    [
        ("at", "UTC", ("2024-01-01..2024-01-03", ["2024-01-01", "2024-01-03"], "2024-01-02")),
        ("day", "Europe/Berlin", ("2024-01-21..2024-01-25", ["2024-01-22", "2024-01-25..2024-01-28"], "2024-01-24")),
    ],
    ids=["at", "day"],
)
def test_periods_as_in_duckdb(opened, user, column, timezone, durings):
    for during in durings:
        asked = periods_of(column, "day", during, timezone)
        for more in ({}, {"max_items_per_user": 1}):
            with judge(user=user, periods=asked, **more) as right, opened(user=user, periods=asked, **more) as found:
                ours, theirs = pairs(found.top(99)), pairs(right.top(99))
                assert sum(n for _, n in ours) == sum(n for _, n in theirs) > 0
                assert more or ours == theirs


def test_what_items_gained_as_in_duckdb(opened):
    asked = periods_of("at", "day", ["2024-01-02"], "UTC").compared_with(["2024-01-03"])
    found = []
    for engine in (judge(periods=asked), opened(periods=asked)):
        with engine:
            kept = engine.pairs()
            kept.release(np.arange(kept.weigh(np.array([1] * 99), b"k" * 16).sizes.sum()))
            users = dict(zip(map(str, kept.names()), kept.users(99, b"k" * 16).tolist(), strict=True))
            found.append((pairs(engine.top(99)), users))
    assert found[0] == found[1]
    assert found[0][0]
    assert 0 in found[0][1].values()
    with judge(periods=asked, max_items_per_user=99) as right, opened(periods=asked, max_items_per_user=99) as ours:
        assert pairs(ours.top(99)) == pairs(right.top(99)) == found[0][0]


def test_a_moment_of_a_warehouse_is_one_in_utc(opened):
    """What DuckDB has as clocks without a zone is UTC there, so Berlin's day of it begins an hour before."""
    asked = periods_of("at", "day", "2024-01-02", "Europe/Berlin")
    moments = "\"at\" >= '2024-01-01 23:00' AND \"at\" < '2024-01-02 23:00'"
    with judge(where=moments) as right, opened(periods=asked) as found:
        assert pairs(found.top(99)) == pairs(right.top(99)) != []


def test_a_text_tells_no_time_there(opened):
    with pytest.raises(ParameterError, match="time must be a column of dates or timestamps, got a column of text"):
        opened(periods=periods_of("item", "day", "2024-01-02", "UTC"))


@pytest.mark.parametrize("item", ["amount", "price", "tax", "day", "at", "paid"])
def test_types_as_in_duckdb(opened, item):
    with judge(item=item) as right, opened(item=item) as found:
        ours, theirs = pairs(found.top(99)), pairs(right.top(99))
        listed = Listed(tuple(label for label, _ in theirs[:2]))
        assert [type(label) for label, _ in ours] == [type(label) for label, _ in theirs]
        if item == "price":  # a float that is counted by its text is ordered by it
            ours.sort()
            theirs.sort()
        assert ours == theirs
        assert dict(pairs(found.grouped(listed))) == dict(theirs[:2]) == dict(pairs(right.grouped(listed)))


@pytest.mark.parametrize("by", [("paid",), ("day",), ("item", "paid", "day")], ids="+".join)
def test_counts_by_group_as_in_duckdb(opened, by):
    with judge(by=by, item="amount") as right, opened(by=by, item="amount") as found:
        theirs = right.top_by(99, 99)
        groups = theirs.groups(np.arange(len(theirs.sizes)))
        assert list(told(found.top_by(99, 99)).items()) == list(told(theirs).items()) != []
        listed = Listed(tuple(groups[::2]))
        ours = found.top_by(2, 99, listed, users=True)
        theirs = right.top_by(2, 99, listed, users=True)
        assert told(ours) == told(theirs)
        assert ours.users(np.arange(len(ours.sizes))).tolist() == theirs.users(np.arange(len(ours.sizes))).tolist()
        assert found.top_by(99, 1).counts.sum() <= right.top_by(99, 99).counts.sum()


def test_sums_by_group_as_in_duckdb(opened):
    asked = {"by": ("paid",), "item": "amount", "totals": Totals.of("price", 3, "0.1")}
    with judge(**asked) as right, opened(**asked) as found:
        ours, theirs = (one.top_by(99, 99, Listed((True,)), users=True) for one in (found, right))
        assert told(ours) == told(theirs) != told(right.top_by(99, 99))
        assert ours.users(np.arange(1)).tolist() == theirs.users(np.arange(1)).tolist()
        assert list(told(found.top_by(99, 99)).items()) == list(told(right.top_by(99, 99)).items()) != []
        everything = right.top_by(99, 99).counts.sum()
    with opened(**asked, max_items_per_user=1) as found:
        assert 0 < found.top_by(99, 1).counts.sum() <= everything


@pytest.mark.parametrize("by", [("paid",), ("item", "day")], ids="+".join)
def test_values_and_domains_by_group_as_in_duckdb(opened, by):
    with judge(by=by, item="amount") as right, opened(by=by, item="amount") as found:
        names = right.group_sets().labels(np.arange(2))
        sets, theirs = found.group_sets(), right.group_sets()
        assert sets.labels(np.arange(sets.size)) == theirs.labels(np.arange(theirs.size))
        codes = np.arange(0, sets.size, 2)
        for groups, others in ((Listed(tuple(names)),) * 2, (found.keep_groups(codes), right.keep_groups(codes))):
            for per_user in (PerUser.MIN, PerUser.MAX, PerUser.MEAN):
                ours = found.users_at_by(GRID, per_user, 99, groups)
                theirs = right.users_at_by(GRID, per_user, 99, others)
                assert ours.groups == theirs.groups
                for one, other in zip(ours.users, theirs.users, strict=True):
                    assert (one.places.tolist(), one.users.tolist()) == (other.places.tolist(), other.users.tolist())
            random = found.users_at_by(GRID, PerUser.RANDOM, 1, groups)
            assert random.groups == ours.groups
            assert sum(one.users.sum() for one in random.users) <= sum(one.users.sum() for one in ours.users)
            for domain in (Listed((1, 5, -2)), Span(0, 9)):
                assert told(found.counts_by(domain, 99, groups)) == told(right.counts_by(domain, 99, others))
                assert list(found.item_names(domain)) == list(right.item_names(domain))


@pytest.mark.parametrize("dialect", TRANSLATED)
def test_each_dialect_in_short(dialect):
    source = warehouse(dialect, AWKWARD)
    names = {"table": "shop.events", "user": "user_id", "item": "item", "key": KEY}
    with open_engine(source, **names) as found:
        assert pairs(found.top(1000)) == counts(AWKWARD)
        groups = found.grouped(Listed(("popular", "it's \\", '"')))
        assert (groups.label(0, 0), list(groups.counts)) == ("popular", [11, 0])
        everyone = found.pairs()
        everyone.weigh(np.array([6, 3], dtype=np.int64), KEY)
        everyone.release(np.array([0, 1]))
        first = everyone.names()
        assert len(first) == 2
        everyone.weigh(np.array([6, 3], dtype=np.int64), KEY)
        everyone.release(np.array([0]))
        assert len({*everyone.names()} - {*first}) == 1
    months = periods_of("at", "day", ["2024-01-01", "2024-01-03..2024-02-02"], "UTC")
    with open_engine(source, **names, periods=months) as found, judge(periods=months) as right:
        assert pairs(found.top(1000)) == pairs(right.top(1000)) != counts(AWKWARD)
    sums = Totals.of("price", 3, "0.1")
    with open_engine(source, **names, totals=sums) as found, judge(totals=sums) as right:
        assert pairs(found.top(1000)) == pairs(right.top(1000)) != counts(AWKWARD)
    with open_engine(source, **names, max_items_per_user=2) as found:
        rows = [(user, item) for user, item, _ in AWKWARD if user is not None and item is not None]
        assert dict(pairs(found.top(1000))) == kept(rows, 2, KEY)
    with open_engine(source, **(names | {"item": "amount"})) as found, judge(item="amount") as right:
        for which in (PerUser.MIN, PerUser.MEAN):
            assert histogram(found.users_at(GRID, which)) == histogram(right.users_at(GRID, which))


# ---- keys of several columns --------------------------------------------------------------------------------

WHOSE = [("user_id", "day"), ("visitor", "price", "paid")]
WHAT = [("item", "amount"), ("amount", "day"), ("paid", "at", "item"), ("price", "paid")]
TRICKY_ROWS: list[Row] = [(left, right, place) for place, (left, right) in enumerate(TRICKY)]


@pytest.mark.parametrize("user", WHOSE, ids="+".join)
@pytest.mark.parametrize("item", WHAT, ids="+".join)
def test_keys_of_several_columns_as_in_duckdb(opened, user, item):
    if set(user) & set(item):
        user = ("user_id", "visitor")
    with judge(user=user, item=item) as right, opened(user=user, item=item) as found:
        ours, theirs = pairs(found.top(9999)), pairs(right.top(9999))
        assert [tuple(map(type, label)) for label, _ in ours] == [tuple(map(type, label)) for label, _ in theirs]
        if item[0] == "price":  # a float is ordered by its text
            ours.sort()
            theirs.sort()
        assert ours == theirs
        listed = Listed((*(label for label, _ in theirs[::2]),))
        assert sorted(pairs(found.grouped(listed))) == sorted(theirs[::2])
        everyone = found.pairs()
        groups = everyone.weigh(np.ones(99, dtype=np.int64), KEY)
        everyone.release(np.arange(int(groups.sizes.sum())))
        assert set(everyone.names()) == {label for label, _ in theirs}
        assert len(everyone.weigh(np.ones(99, dtype=np.int64), KEY).weights) == 0


def test_no_value_of_a_key_is_taken_for_a_border(opened):
    for user, item in ((("user_id", "item"), "day"), ("visitor", ("user_id", "item"))):
        with judge(TRICKY_ROWS, user=user, item=item) as right, opened(TRICKY_ROWS, user=user, item=item) as found:
            ours = pairs(found.top(9999))
            assert ours == pairs(right.top(9999))
            assert sum(count for _, count in ours) == len(TRICKY)


def test_decimals_in_a_key_are_refused(opened):
    for columns in ({"item": ("item", "tax")}, {"user": ("user_id", "tax")}):
        with pytest.raises(DataError, match="a column of type decimal cannot be one of several columns"):
            opened(**columns)


@pytest.mark.parametrize("weight", ["price", "tax", "amount"])
def test_sums_of_weights_as_in_duckdb(opened, weight):
    totals = Totals.of(weight, 30, "0.25")
    with judge(totals=totals) as right, opened(totals=totals) as found:
        assert pairs(found.grouped()) == pairs(right.grouped()) != counts(AWKWARD)
        for domain in (Listed(("popular", "tie a", "nobody's")), Size(50)):
            assert list(found.grouped(domain).counts) == list(right.grouped(domain).counts)
    with (
        judge(totals=Totals.of(weight, 3)) as right,
        opened(totals=Totals.of(weight, 3), max_items_per_user=2) as found,
    ):
        whole, kept = dict(pairs(right.grouped())), dict(pairs(found.grouped()))
        assert all(n <= whole[item] for item, n in kept.items())
        assert 0 < sum(kept.values()) < sum(whole.values())


def test_measures_as_in_duckdb(opened):
    measures = [Sum("price", -5, 30, unit="0.25"), Mean("tax", 0, 2), Mean("amount", -3, 9)]
    items = ["popular", "tie a", "nobody's", ""]
    for domain in (None, Listed(("popular", "tie a", "nobody's"))):
        with judge(measures=measures) as right, opened(measures=measures) as found:
            for engine in (right, found) if domain else ():
                engine.check(domain)
            assert measured(found.measured(items, domain)) == measured(right.measured(items, domain))
    with opened(measures=measures, max_items_per_user=2) as found:
        counted = pairs(found.top(1000))
        rows = found.measured([item for item, _ in counted])
        assert [row[0].users for row in rows] == [users for _, users in counted]
    for item in ("visitor", "amount", "price", "tax", "day", "at", "paid", ("item", "day"), ("at", "amount")):
        with opened(measures=measures, item=item) as found:
            counted = pairs(found.top(1000))
            rows = found.measured([label for label, _ in counted])
            assert [row[0].users for row in rows] == [users for _, users in counted], item


# ---- values, sets, weights --------------------------------------------------------------------------------

VALUES: list[Row] = [
    *((f"u{n}", str(n * 0.7 - 8), n - 9) for n in range(160)),
    *(("v", str(n % 13), n) for n in range(40)),
]
VALUES += [("dropped", text, 1) for text in ("nan", "abc", "", "1\n", "1e", "0x1", "1_0")]
VALUES += [("mixed", "abc", 2), ("mixed", "7", 2), ("zero", "-0", 0), ("space", " 8 ", 8), ("e", "+1.5E+1", 3)]


@pytest.mark.parametrize("item", ["item", "amount", "price", "tax"])
def test_one_value_of_every_user(opened, item):
    # What is no number in plain notation is missing; DuckDB reads a few more texts.
    rows = [row for row in VALUES if item != "item" or row[0] != "dropped"]
    with judge(rows, item=item) as right, opened(VALUES if item == "item" else rows, item=item) as found:
        for which in (PerUser.MIN, PerUser.MAX, PerUser.MEAN):
            assert histogram(found.users_at(GRID, which)) == histogram(right.users_at(GRID, which))
        wide = Unbounded.of()
        assert histogram(found.users_at(wide, PerUser.MIN)) == histogram(right.users_at(wide, PerUser.MIN))
        some = histogram(found.users_at(GRID, PerUser.RANDOM))
        assert sum(some.values()) == sum(histogram(right.users_at(GRID, PerUser.MIN)).values())


def test_sets_of_users(opened):
    with opened() as found:
        assert named(found.contributions()) == user_items(AWKWARD)


def test_texts_are_cut_here(opened):
    with judge() as right, opened() as found:
        ours, theirs = found.tokens(Tokenizer()), right.tokens(Tokenizer())
        assert ours.size == theirs.size


def test_weights_and_released_items(opened):
    rows = [(user, item, 1) for user, items in USERS.items() for item in items]
    with opened(rows) as found:
        assert in_pairs(found.pairs().weigh(SHARES, b"k")) == [(28, 1), (12, 1), (10, 2)]
        assert everything(found.pairs(), SHARES) == {"a": 28, "z": 12, "b": 10, "c": 10}
        again = found.pairs()
        assert [column.tolist() for column in again.lengths(2)] == [[1, 2], [2, 3]]
        again.weigh(SHARES, b"k")
        again.release(np.array([0, 2]))
        assert again.names() == ["a", "b"]
        assert again.users(2, b"k").tolist() == [4, 2]
        assert in_pairs(again.weigh(SHARES, b"k")) == [(24, 1), (12, 1)]  # u1 and u4 have c alone now


@pytest.mark.parametrize("item", ["price", "day", "tax", "amount"])
def test_released_items_of_other_types(opened, item):
    with judge(item=item) as right, opened(item=item) as found:
        everyone, theirs = found.pairs(), {label for label, _ in pairs(right.grouped())}
        groups = everyone.weigh(np.ones(50, dtype=np.int64), KEY)
        everyone.release(np.arange(int(groups.sizes.sum())))
        assert set(everyone.names()) == theirs
        assert len(everyone.weigh(np.ones(50, dtype=np.int64), KEY).weights) == 0


def kept(rows: Sequence[tuple[str, str]], most: int, key: bytes) -> dict[object, int]:
    """The bound in plain Python: of every user the items with the smallest sha256 of key, length, user, item."""
    found: Counter[object] = Counter()
    for user in {user for user, _ in rows}:

        def place(item: str, start: str = f"{key.hex()}:{len(user)}:{user}") -> tuple[str, bytes]:
            return hashlib.sha256((start + item).encode()).hexdigest(), item.encode()

        found.update(sorted({item for one, item in rows if one == user}, key=place)[:most])
    return dict(found)


@pytest.mark.parametrize("most", [1, 4, 30])
def test_the_bound_is_the_hash_of_the_page(opened, most):
    rows = [(user, item, 0) for user, item in CROWD * 2]
    for key in (KEY, b"another key"):
        with opened(rows, max_items_per_user=most, key=key) as found:
            assert dict(pairs(found.top(10**6))) == kept(CROWD, most, key)


# ---- the whole way ----------------------------------------------------------------------------------------


def test_releases_as_from_a_table(dialect):
    rows = [(f"u{n}", f"item {(n * n) % 40 // 9}", n % 90) for n in range(400)]
    here = dps.Dataset(shared(rows), user="user_id", item="item", table="shop.events")
    there = dps.Dataset(warehouse(dialect, rows), user="user_id", item="item", table="shop.events")
    ages = dps.Dataset(there.source, user="user_id", item="amount", table="shop.events")
    asked = {"epsilon": 3, "delta": "1e-6"}
    for ask in (
        lambda data: data.top_k(3, **asked, draws=SeededDraws(1)),
        lambda data: data.choose(domain=["item 1", "item 2", "item 9"], epsilon=1, draws=SeededDraws(1)),
        lambda data: data.union(**asked, max_items_per_user=9, in_engine=True, counts=True, draws=SeededDraws(1)),
        lambda data: data.union(**asked, max_items_per_user=9, draws=SeededDraws(1)),
    ):
        ours, theirs = ask(there), ask(here)
        assert ours.labels == theirs.labels
        assert len(ours)
    assert ages.quantile(0.5, bounds=(0, 100), step=1, epsilon=3).labels[0] in range(30, 60)


def test_released_texts_and_their_users_come_in_the_order_of_bytes(dialect):
    rows = [
        ("u", "\U0001f600", 1),
        ("v", "\U0001f600", 2),
        ("u", "\uffff", 1),
        ("u", "a", 1),
        ("v", "a", 2),
        ("w", "a", 3),
    ]
    source = warehouse(dialect, rows, [])
    with open_engine(source, user="user_id", item="item", table="shop.events", key=KEY) as found:
        pairs = found.pairs()
        pairs.weigh(np.array([1, 1, 1], dtype=np.int64), KEY)
        pairs.release(np.array([0, 1, 2], dtype=np.int64))
        assert pairs.names() == ["a", "\uffff", "\U0001f600"]  # in UTF-16 the last two stand the other way round
        assert pairs.users(3, KEY).tolist() == [3, 1, 2]


def test_limited_domain_asks_one_query_and_few_rows_leave(dialect):
    queries: list[str] = []
    data = dps.Dataset(warehouse(dialect, AWKWARD, queries), user="user_id", item="item", table="shop.events")
    data.top_k(2, epsilon=1, delta="1e-6", k_bar=5, method="limited-domain")
    assert ["WHERE 1 = 0" in sql for sql in queries] == [True, False]  # the first has no rows, and is asked once
    assert queries[1].endswith("LIMIT 6")


def test_a_table_that_changes_between_two_questions_is_noticed_where_names_are_missing(dialect):
    connection = prepared()
    source = dps.Warehouse(
        lambda sql: connection.execute(sql if dialect == "duckdb" else translated(sql, dialect)).fetchall(),
        dialect=dialect,
        types=TYPES,
    )
    with open_engine(source, user="user_id", item="item", table="shop.events", key=KEY) as found:
        groups, pairs, released = found.grouped(), found.pairs(), found.pairs()
        for one in (pairs, released):
            one.weigh(np.array([1, 1], dtype=np.int64), KEY)
        released.release(np.array([0], dtype=np.int64))
        connection.execute("DELETE FROM shop.events")
        with pytest.raises(DataError, match="the table changed"):
            groups.label(0, 0)
        with pytest.raises(DataError, match="the table changed"):
            pairs.release(np.array([0], dtype=np.int64))
        with pytest.raises(DataError, match="the table changed"):
            released.users(2, KEY)


# ---- what is refused --------------------------------------------------------------------------------------


def test_what_a_warehouse_says_is_never_shown():
    class SecretError(Exception):
        pass

    def run(sql: str) -> list[tuple[object, ...]]:
        raise SecretError(f"row ('ann', 'cancer') in {sql}")

    source = dps.Warehouse(run, dialect="snowflake", types=TYPES)
    with pytest.raises(DataError, match="the warehouse did not answer") as caught:
        dps.Dataset(source, user="user_id", item="item", table="shop.events").engine()
    text = str(caught.value)
    assert "SecretError" in text
    assert "ann" not in text
    assert "SELECT" not in text
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


def test_what_came_in_another_form_is_never_quoted():
    def asked(answer: object, **more: str) -> SqlEngine:
        given = iter([[], answer])
        source = dps.Warehouse(lambda sql: next(given), dialect="trino", types=TYPES)  # noqa: ARG005 - written before
        return open_engine(source, table="t", key=KEY, **({"user": "user_id", "item": "item"} | more))

    with asked([("ann's secret", 3)], item="amount") as found:  # said to be whole numbers
        assert pairs(found.top(3)) == [("ann's secret", 3)]
    with asked([("ann's secret", "x")], item="amount") as found, pytest.raises(DataError) as caught:
        found.users_at(GRID, PerUser.MIN)
    assert "secret" not in str(caught.value)
    with asked([{"i": "ann's secret", "n": 3}]) as found, pytest.raises(ParameterError, match="got dict") as refused:
        found.top(3)
    assert "secret" not in str(refused.value)


def test_a_warehouse_is_described():
    def nothing(sql: str) -> list[tuple[object, ...]]:  # noqa: ARG001 - no rows, whatever is asked
        return []

    for wrong, message in (
        ({"dialect": "oracle"}, "dialect must be one of bigquery, snowflake, trino, clickhouse"),
        ({"types": {}}, "types must say for each column"),
        ({"types": {"a": "varchar"}}, "types must have one of text, integer"),
        ({"types": {"": "text"}}, "types must have names of columns"),
        ({"dialect": "clickhouse", "types": {"u": "text"}}, "types must have no column called 'u'"),
        ({"dialect": "clickhouse", "types": {"g": "text"}}, "types must have no column called 'g'"),
        ({"name": " "}, "name must be a text"),
    ):
        with pytest.raises(ParameterError, match=message):
            dps.Warehouse(nothing, **({"dialect": "trino", "types": TYPES} | wrong))
    with pytest.raises(ParameterError, match="run must be a function"):
        dps.Warehouse("SELECT", dialect="trino", types=TYPES)
    source = dps.Warehouse(nothing, dialect="trino", types=TYPES)
    budget = dps.Budget.open("b.sqlite", snapshot="monday")
    for wrong, message in (
        ({"table": None}, "table must name a table"),
        ({"table": "a.b.c.d"}, "table must name a table"),
        ({"table": "a..b"}, "table must name a table"),
        ({"item": "itme"}, "hint: did you mean item"),
        ({"user": "nobody"}, "user must be a column whose type the warehouse was told"),
        ({"item": "amount", "split": " "}, "split must go with an item column of text"),
        (
            {"budget": budget},
            "snapshot must go with a warehouse that has a name",
        ),
    ):
        with pytest.raises(ParameterError, match=message):
            dps.Dataset(source, **({"user": "user_id", "item": "item", "table": "t"} | wrong)).engine()
    day = dps.Dataset(source, user="user_id", item="day", table="t")
    with pytest.raises(DataError, match="holds no numbers"):
        day.quantile(0.5, bounds=(0, 1), epsilon=1)
    with pytest.raises(ParameterError, match="source must be"):
        day.choose(domain=Column(source, "item"), epsilon=1)


def test_a_ledger_takes_no_warehouse_for_another():
    def nothing(sql: str) -> list[tuple[object, ...]]:  # noqa: ARG001 - no rows, whatever is asked
        return []

    def question(name: str | None, snapshot: str | None = None) -> object:
        source = dps.Warehouse(nothing, dialect="trino", types=TYPES, name=name)
        data = dps.Dataset(source, user="user_id", item="item", table="t")
        with data.engine() as engine:
            return data.question("top_k", {"k": 1}, engine, snapshot)

    assert not question(None).repeatable
    assert not question("ours").repeatable
    assert question("ours", snapshot="monday").repeatable
    assert question("ours", snapshot="monday") == question("ours", snapshot="monday")
    assert question("ours", snapshot="monday").text != question("theirs", snapshot="monday").text
    source = dps.Warehouse(nothing, dialect="trino", types=TYPES)
    assert source_of(source) == ("Warehouse(trino)", False)
    assert repr(dps.Dataset(source, user="user_id", item="item", table="t")).startswith("Dataset(Warehouse(trino), ")
