"""Questions over the databases that count for Ibis: one statement each, how many rows it gives, and what is refused."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest

import dpselect as dps
from dpselect.engines.ibis import backends
from dpselect.engines.ibis.scan import IbisScan
from tests.engines.every_engine import Held, Hold, judge
from tests.engines.ibis_tables import in_datafusion, in_sqlite, mariadb
from tests.engines.test_conformance import pairs
from tests.engines.test_every_engine import in_band

HOLDERS = {"a": 400, "b": 300, "c": 200, "d": 100}
ROWS = pa.table(
    {
        "user": [f"u{user}" for holders in HOLDERS.values() for user in range(holders)],
        "item": [item for item, holders in HOLDERS.items() for _ in range(holders)],
        "age": [user % 90 for holders in HOLDERS.values() for user in range(holders)],
        "country": ["DE" if user % 2 else "fr " for holders in HOLDERS.values() for user in range(holders)],
    }
)
LIST = ["a", "c", "nobody's"]
PAIRS = len(ROWS)
NEAR_TOP = dps.Method(k_bar=2)
Ask = Callable[[dps.Dataset], dps.Release]


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each statement over rows gave, one after the other."""
    numbers: list[int] = []
    decoded = IbisScan._decoded

    def counted(self: IbisScan, batches: pa.RecordBatchReader, names: Mapping[str, str]) -> pa.RecordBatchReader:
        table = batches.read_all()
        numbers.append(len(table))
        return decoded(self, table.to_reader(), names)

    monkeypatch.setattr(IbisScan, "_decoded", counted)
    return numbers


def data(source: object, item: str | tuple[str, ...] = "item", **more: Any) -> dps.Dataset:
    return dps.Dataset(source, user="user", item=item, **more)


QUESTIONS: dict[str, tuple[Ask, int]] = {
    "a top k": (lambda rows: rows.top_k(2, method=NEAR_TOP, epsilon=8), 3),
    "a top k with counts": (lambda rows: rows.top_k(2, method=NEAR_TOP, epsilon=8, counts=True), 3),
    "a top k of a list": (lambda rows: rows.top_k(2, epsilon=8, domain=LIST), len(HOLDERS)),
    "a choice": (lambda rows: rows.choose(domain=LIST, epsilon=8), len(HOLDERS)),
    "a histogram": (lambda rows: rows.histogram(domain=LIST, epsilon=8), len(HOLDERS)),
    "users": (lambda rows: rows.users(epsilon=8), 1),
    "a union": (lambda rows: rows.union(epsilon=8, delta="1e-6"), PAIRS),
    "a median": (lambda rows: data(rows._original_source, "age").median(bounds=(0, 90), step=1, epsilon=8), PAIRS),
    "a top k of users with a bound": (
        lambda rows: data(rows._original_source, max_items_per_user=1).top_k(2, epsilon=8, counts=True),
        PAIRS,
    ),
}


@pytest.mark.parametrize(("ask", "rows"), QUESTIONS.values(), ids=QUESTIONS)
def test_a_question_is_one_statement(hold: Hold, ask: Ask, rows: int, fetched: list[int]) -> None:
    release = ask(data(hold(ROWS).source))
    assert release.items
    assert len(fetched) == 1
    assert fetched[0] <= rows


def test_a_top_k_by_group_is_one_statement(hold: Hold, fetched: list[int]) -> None:
    held = hold(ROWS)
    release = data(held.source).top_k(2, method=NEAR_TOP, by=dps.By("country", max_groups_per_user=1), epsilon=8)
    assert {item.group for item in release.items} == {("DE",), ("fr ",)}
    assert {item.item for item in release.items} == {"a", "b"}
    assert fetched == [PAIRS if held.kind == "sqlite" else 2 * 3], "SQLite has no hash: its pairs are counted here"


GROUPS, USERS = 5, 600
SPREAD = pa.table(
    {
        "user": [f"u{user}" for user in range(USERS) for _ in range(GROUPS)] * 2,
        "country": [f"c{group}" for _ in range(USERS) for group in range(GROUPS)] * 2,
        "item": ["x"] * USERS * GROUPS + ["y"] * USERS * GROUPS,
    }
)


def kept_in(held: Held, most: int, key: bytes) -> dict[object, int]:
    """How many users keep each group, by both of its items."""
    with held.engine(by=("country",), key=key) as engine:
        found = engine.top_by(9, most, users=True)
        groups = range(len(found.sizes))
        users = found.users(np.array(groups)).tolist()
        assert found.counts.tolist() == [number for number in users for _ in "xy"], "all items of a group are kept"
        return dict(zip(found.groups(np.array(groups)), users, strict=True))


def test_a_user_keeps_as_many_groups_as_said_and_each_equally_often(hold: Hold) -> None:
    held = hold(SPREAD)
    for most in (1, 2, GROUPS, GROUPS + 1):
        assert sum(kept_in(held, most, b"1" * 16).values()) == USERS * min(most, GROUPS)
    once, again, other = (kept_in(held, 2, key) for key in (b"k" * 16, b"k" * 16, b"o" * 16))
    assert once == again != other
    for found in (once, other):
        assert in_band(found, USERS, 2 / GROUPS)
        assert not in_band({**found, "c0": found["c0"] * 3 // 2}, USERS, 2 / GROUPS)


# ---- text -------------------------------------------------------------------------------------------------

PREFIX = "x" * 990
NEAR = [f"{PREFIX}{n:02}" for n in range(9, -1, -1)]


def test_long_texts_differ_at_their_ends(hold: Hold) -> None:
    texts = [*NEAR, NEAR[3] + " ", NEAR[3].upper()]
    rows = pa.table(
        {"user": [f"{text}u" for text in texts for _ in "ab"], "item": [text for text in texts for _ in "ab"]}
    )
    with hold(rows).engine() as engine:
        assert pairs(engine.top(20)) == [(text, 1) for text in sorted(texts)]
        assert pairs(engine.top(3)) == [(text, 1) for text in sorted(texts)[:3]]


def test_a_longer_text_is_missing_whoever_has_it(hold: Hold) -> None:
    held = hold(pa.table({"user": ["u", "v"], "item": ["a", "y" * ((1 << 20) + 1)]}))
    with held.engine() as engine:
        assert pairs(engine.top(9)) == [("a", 1)]


FILTERS = [
    "country = 'DE'", "country <> 'fr '", "country IN ('fr', 'de', 'DE')", "country = 'it''s \\'",
    "age BETWEEN 3 AND 7",
    "NOT (age < 80 OR country = 'DE')", "age IS NULL", "country > 'DE' AND age >= 88", "7 > age", "item NOT IN ('a')",
]  # fmt: skip


@pytest.mark.parametrize("where", FILTERS)
def test_a_filter_keeps_the_rows_that_it_keeps_everywhere(hold: Hold, where: str) -> None:
    with hold(ROWS).engine(where=where) as engine, judge(ROWS).engine(where=where) as right:
        assert pairs(engine.top(9)) == pairs(right.top(9))
        assert engine.condition == right.condition


def test_filters_of_dates_decimals_and_truth_values() -> None:
    days = [datetime.date(2024, 1, day) for day in range(1, 9)]
    rows = pa.table(
        {
            "user": [f"u{day}" for day in range(8)],
            "item": pa.array(days),
            "price": pa.array([Decimal(day) / 4 for day in range(8)], pa.decimal128(6, 2)),
            "flag": [day % 2 == 0 for day in range(8)],
        }
    )
    table = in_datafusion(rows)
    for where in (
        "item >= '2024-01-03'",
        "item < DATE '2024-01-03'",
        "price <= 1.25 AND flag",
        "NOT flag",
        "price = 1",
    ):
        with data(table, where=where).engine() as engine, judge(rows).engine(where=where) as right:
            assert pairs(engine.top(9)) == pairs(right.top(9)) != []


# ---- SQLite -----------------------------------------------------------------------------------------------


def of_sqlite(*rows: tuple[object, object], encoding: str = "UTF-8") -> Any:
    backend = ibis.sqlite.connect()
    backend.con.execute(f"PRAGMA encoding = '{encoding}'")
    backend.con.execute("CREATE TABLE t (user TEXT, item INTEGER)")
    backend.con.executemany("INSERT INTO t VALUES (?, ?)", rows)
    backend.con.commit()
    return backend.table("t")


def test_a_value_of_another_type_than_its_column_is_missing() -> None:
    rows = [("u", 1), ("v", 1), ("w", "one"), ("x", b"1"), ("y", 1.5), (b"u", 1), ("z", None), ("q", 2**63 - 1)]
    with data(of_sqlite(*rows)).engine() as engine:
        assert pairs(engine.top(9)) == [(1, 2), (2**63 - 1, 1)]


def test_text_that_is_no_utf8_and_a_database_in_utf16() -> None:
    with pytest.raises(dps.ParameterError, match="hint: export it into a database whose PRAGMA encoding"):
        data(of_sqlite(("a", 1), encoding="UTF-16le")).engine()
    table = of_sqlite(("\u00e9\U0001f600", 1), ("a\0b", 2), ("a\0c", 2))
    with dps.Dataset(table, user="item", item="user").engine() as engine:
        assert pairs(engine.top(9)) == [("a\0b", 1), ("a\0c", 1), ("\u00e9\U0001f600", 1)]
    backend = ibis.sqlite.connect()
    backend.con.execute("CREATE TABLE t (user TEXT, item TEXT)")
    backend.con.execute("INSERT INTO t SELECT 'u', CAST(x'61ff' AS TEXT)")
    with data(backend.table("t")).engine() as engine:
        assert pairs(engine.top(9)) == [("a\ufffd", 1)]


# ---- MariaDB ----------------------------------------------------------------------------------------------


@pytest.fixture
def server(mariadb_server: str) -> Iterator[Any]:
    backend = mariadb(mariadb_server)
    yield backend
    with suppress(Exception):  # a test may have closed it
        backend.con.close()


def run(backend: Any, *statements: str) -> None:
    cursor = backend.con.cursor()
    for statement in statements:
        cursor.execute(statement)
    cursor.close()


def test_what_mariadb_alone_has(server: Any) -> None:
    run(
        server,
        "SET SESSION sql_mode = 'ALLOW_INVALID_DATES'",
        "CREATE TABLE t (user BIGINT UNSIGNED, day DATE, kind ENUM('b', 'a'), id UUID, small TINYINT(1), year YEAR)",
        "INSERT INTO t VALUES (18446744073709551615, '0000-00-00', 'a', uuid(), 1, 2024)",
        "INSERT INTO t VALUES (1, '2024-02-31', 'b', '12345678-9ABC-4EF0-8234-56789ABCDEF0', 7, 1999)",
        "INSERT INTO t VALUES (1, '2024-02-00', 'b', '12345678-9abc-4ef0-8234-56789abcdef0', 7, NULL)",
        "INSERT INTO t VALUES (2, '2024-02-29', 'a', NULL, NULL, 2024)",
    )
    table = server.table("t")
    found = {}
    for item in ("day", "kind", "small", "year", None):
        with dps.Dataset(table, user="user", item=item).engine() as engine:
            found[item or "user"] = [(str(label), count) for label, count in pairs(engine.top(9))]
    assert found == {
        "day": [("2024-02-29", 1)], "kind": [("a", 2), ("b", 1)], "small": [("1", 1), ("7", 1)],
        "year": [("2024", 2), ("1999", 1)], "user": [("()", 3)],
    }  # fmt: skip
    with dps.Dataset(table, user="id", item="kind").engine() as engine:
        assert dict(pairs(engine.top(9))) == {"a": 1, "b": 1}


def test_text_in_another_character_set_is_refused_unless_a_view_converts_it(server: Any) -> None:
    run(
        server,
        "CREATE TABLE t (user INT, item VARCHAR(20) CHARACTER SET latin1)",
        "INSERT INTO t VALUES (1, 'caf\u00e9')",
        "CREATE VIEW seen AS SELECT user, CONVERT(item USING utf8mb4) AS item FROM t",
    )
    with pytest.raises(dps.ParameterError, match="the character set latin1\nhint: read it in a view: SELECT CONVERT"):
        data(server.table("t")).engine()
    with data(server.table("seen")).engine() as engine:
        assert pairs(engine.top(9)) == [("caf\u00e9", 1)]


@pytest.mark.parametrize("setting", ["max_sort_length = 64", "sql_select_limit = 1"])
def test_a_session_that_would_cut_values_off_is_refused(server: Any, setting: str) -> None:
    run(server, "CREATE TABLE t (user INT, item INT)")
    table = server.table("t")
    run(server, f"SET SESSION {setting}")
    with pytest.raises(dps.ParameterError, match="got other settings\nhint: SET SESSION"):
        data(table).engine()


def test_a_closed_connection_is_told(server: Any) -> None:
    run(server, "CREATE TABLE t (user INT, item INT)")
    table = server.table("t")
    server.con.close()
    with pytest.raises(dps.DataError, match="over mysql: the connection cannot be used\nhint: open it again"):
        data(table).top_k(1, epsilon=1)


def test_a_table_that_is_gone_is_told_without_the_servers_words(server: Any) -> None:
    run(server, "CREATE TABLE private_name (user INT, item INT)")
    table = server.table("private_name")
    run(server, "DROP TABLE private_name")
    with pytest.raises(
        dps.DataError, match="over mysql: the table could not be read\nhint: check that it exists"
    ) as told:
        data(table).top_k(1, epsilon=1)
    assert "private_name" not in str(told.value)


# ---- what is refused --------------------------------------------------------------------------------------

SMALL = pa.table({"user": ["u"], "item": ["private text"], "when": pa.array([0], pa.timestamp("us")), "raw": [b"x"]})


def test_what_a_row_does_to_an_expression_is_not_told() -> None:
    table = in_datafusion(SMALL)
    with pytest.raises(dps.DataError, match="over datafusion: the table could not be read") as told:
        data(table.mutate(item=table.item.cast("int64"))).top_k(1, epsilon=1)
    assert "private" not in str(told.value)
    assert told.value.__cause__ is told.value.__context__ is None


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"item": "when"}, r"column 'when' of type timestamp\(6\) of datafusion\nhint: use its days: table.mutate"),
        ({"item": "raw"}, "column 'raw' of type binary of datafusion\nhint: cast it to text"),
        ({"item": "itme"}, "item must be a column of the source, got 'itme'\nhint: did you mean"),
        ({"types": {"item": "BIGINT"}}, "types must be left out for tables of PostgreSQL, Spark and Ibis"),
        ({"where": "item LIKE 'p%'"}, "got LIKE, over a table of Ibis\nhint: filter the expression"),
        ({"where": "itme = 'p'"}, "where must use columns of the source, got 'itme'"),
        ({"where": "item = 1"}, "where must be one condition"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_paid(tmp_path: Path, more: dict[str, Any], said: str) -> None:
    ledger = tmp_path / "ledger.sqlite"
    with dps.Ledger.create(ledger) as made:
        made.data("plays", epsilon=1, delta=0)
        made.grant(dps.Account("plays", "ann"), epsilon=1, delta=0)
    budget = dps.Budget.open(ledger, data="plays", analyst="ann")
    with pytest.raises(dps.ParameterError, match=said):
        dps.Dataset(in_datafusion(SMALL), **{"user": "user", "item": "item", "budget": budget} | more).top_k(
            1, epsilon=1, domain=["a"]
        )
    assert budget.left == 1


def test_a_table_of_a_connection_by_its_name() -> None:
    backend = in_sqlite(ROWS).get_backend()
    assert repr(data(dps.Table(backend, "t"))).startswith("Dataset(Table(")
    with pytest.raises(dps.ParameterError, match="table must name a table of the connection, got nothing"):
        data(backend).engine()
    assert data(dps.Table(backend, "t")).top_k(1, epsilon=8).labels == ["a"]
    with pytest.raises(dps.DataError, match="table must be a table or view of the connection, got 'tt'"):
        data(dps.Table(backend, "tt")).top_k(1, epsilon=8)


@pytest.mark.parametrize("make", [in_datafusion, in_sqlite])
def test_rows_that_choose_each_other_are_refused(make: Any) -> None:
    """One row more would put another out."""
    table = make(ROWS)
    for expression in (table.limit(2), table.limit(2).filter(table.item == "a"), table.sample(0.5)):
        with pytest.raises(dps.ParameterError, match="be an expression without a limit or a sample"):
            data(expression).top_k(1, epsilon=8)


def test_an_untested_backend_is_in_every_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = in_datafusion(ROWS).get_backend()
    unknown = replace(backends.BACKENDS["datafusion"], tested=lambda _connection: False)
    monkeypatch.setattr(backends, "BACKENDS", {"datafusion": unknown})
    with pytest.raises(dps.ParameterError, match=r"one over datafusion\nhint: dps.Table\(.*untested=True"):
        data(backend.table("t")).top_k(1, epsilon=8)
    release = data(dps.Table(backend, "t", untested=True)).top_k(1, epsilon=8)
    assert "over datafusion, untested, which is not part of dpselect, read the rows" in " ".join(str(release).split())
    assert "over datafusion, untested" in release.to_json()
    monkeypatch.setattr(backends, "BACKENDS", {})
    with pytest.raises(dps.ParameterError, match="for whose text no exact form is known"):
        data(dps.Table(backend, "t", untested=True)).top_k(1, epsilon=8)


def test_a_domain_and_prepared_data_come_from_one_unless_a_thread_owns_it(tmp_path: Path) -> None:
    table, sqlite = in_datafusion(ROWS), in_sqlite(ROWS)
    assert data(sqlite).choose(domain=dps.Column(table, "item"), epsilon=8).labels == ["a"]
    data(table).prepare(tmp_path / "rows.prepared")
    assert dps.Dataset(tmp_path / "rows.prepared").top_k(1, epsilon=8).labels == ["a"]
    for ask in (
        lambda: data(table).choose(domain=dps.Column(sqlite, "item"), epsilon=8),
        lambda: data(sqlite).prepare(tmp_path / "more.prepared"),
    ):
        with pytest.raises(
            dps.DpselectError, match=r'over SQLite.*\nhint: dps.Table\("app.sqlite", "events"\) reads it'
        ):
            ask()


def test_a_ledger_tells_expressions_apart(tmp_path: Path) -> None:
    table = in_sqlite(ROWS)
    ledger = tmp_path / "ledger.sqlite"
    with dps.Ledger.create(ledger) as made:
        made.data("plays", epsilon=20, delta="1e-5")
        made.grant(dps.Account("plays", "ann"), epsilon=20, delta="1e-5")

    def repeated(source: object) -> object:
        budget = dps.Budget.open(ledger, data="plays", analyst="ann", snapshot="monday")
        charged = data(source, budget=budget).top_k(1, epsilon=1, domain=["a", "b"]).charged
        return charged is not None and charged.numbers["repeated"]

    assert not repeated(table)
    assert not repeated(table.filter(table.age > 3))
    assert repeated(table)
    by_name = dps.Table(table.get_backend(), "t")
    assert not repeated(by_name), "a name is another question"
    assert repeated(by_name)
