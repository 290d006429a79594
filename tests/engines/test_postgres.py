"""The PostgreSQL engine says what the DuckDB engine says, to the bit, and a hash in Python judges its bound."""

from __future__ import annotations

import decimal
import hashlib
import itertools
import re
from collections import Counter
from collections.abc import Callable, Sequence

import duckdb
import pytest

from dpselect._ground.domain import UNSEEN, Listed, Size, Span
from dpselect.engines.memory import MEMORY_VARIABLE
from dpselect.engines.postgres.connection import PostgresWorkspace
from dpselect.engines.sql.engine import SqlEngine
from dpselect.errors import DataError, ParameterError
from tests.engines.every_engine import filled
from tests.engines.opened import DuckDBEngine, open_engine
from tests.engines.sources import AWKWARD, Row, counts, table
from tests.engines.test_conformance import kept as kept_of
from tests.engines.test_conformance import pairs

psycopg = pytest.importorskip("psycopg")

KEY = bytes(range(16))
NewDatabase = Callable[[], str]


def run(address: str, *statements: str) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def engine(address: str, *, user: str = "user", item: str = "item", **more: object) -> SqlEngine:
    return open_engine(address, user=user, item=item, **({"table": "t", "key": KEY} | more))


@pytest.fixture
def awkward(new_database: NewDatabase) -> str:
    return filled(new_database(), AWKWARD)


def test_what_would_not_fit_is_refused(new_database, monkeypatch):
    rows = [(f"user {n}", f"secret {n}", 1) for n in range(100)]
    with engine(filled(new_database(), rows)) as found:
        assert found.contributions().size == 100
        monkeypatch.setenv(MEMORY_VARIABLE, "5kB")
        with pytest.raises(DataError, match=r"^these rows need about 1 GiB of memory, more than there is") as caught:
            found.contributions()
    assert "secret" not in str(caught.value)


# ---- the same histogram -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "columns",
    [
        '"user" text COLLATE caseless, item text COLLATE caseless, age int8',
        '"user" varchar(20) COLLATE "und-x-icu", item name, age int8',
    ],
    ids=["a collation that orders without case", "other types of text"],
)
def test_collations_change_nothing(new_database, columns):
    address = new_database()
    run(address, "CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level1')")
    with engine(filled(address, AWKWARD, columns)) as found:
        assert pairs(found.top(1000)) == counts(AWKWARD)
        assert pairs(found.grouped()) == counts(AWKWARD)
    domain = Listed(("CASE", "Case", "caf\u00e9", "space", "SPACE"))
    with DuckDBEngine(table(AWKWARD), user="user", item="item", key=KEY) as judge, engine(address) as found:
        assert pairs(found.grouped(domain)) == pairs(judge.grouped(domain))


NUMBERS: list[Row] = [("a", "5", 5), ("b", "5", 5), ("c", "05", 9), ("d", "+5", 9), ("e", "5.0", -3), ("f", " 5", 12)]
NUMBERS += [("g", "-1", -3), ("h", "x", 100), ("i", "99999999999999999999", 2**63 - 1), ("j", "7", -(2**63))]
NUMBERS += [("k", "-0", 5), ("l", "5\n", 5), ("m", "0", 0), ("n", "9999999999999999999", 1), ("o", "7", 7)]


def test_a_huge_span_and_a_huge_size(new_database):
    address = filled(new_database(), NUMBERS)
    with DuckDBEngine(table(NUMBERS), user="user", item="age", key=KEY) as judge, engine(address, item="age") as found:
        for span in (Span(0, 10**12), Span(-(2**63), 2**63)):
            ours, theirs = found.grouped(span), judge.grouped(span)
            assert list(ours.counts) == list(theirs.counts)
            assert list(ours.sizes) == list(theirs.sizes)
            rest = len(ours.sizes) - 1
            for member in (0, 1, 4, 5, 6, 7, 8, ours.sizes[rest] - 1):
                assert ours.label(rest, member) == theirs.label(rest, member)
        large = found.grouped(Size(10**12))
        assert large.label(len(large.sizes) - 1, 12345) is UNSEEN
        for group, member in ((len(large.sizes), 0), (0, large.sizes[0]), (-1, 0), (0, -1)):
            with pytest.raises(IndexError):
                large.label(group, member)


# ---- types ------------------------------------------------------------------------------------------------

# Types that the rows of every engine lack, or with other values: in PostgreSQL, in DuckDB, and as both write them.
TYPES: dict[str, tuple[str, str, list[str]]] = {
    "int2": ("int2", "SMALLINT", ["-5", "7", "10", "0"]),
    "numeric with scale": ("numeric(10,2)", "DECIMAL(10,2)", ["1.5", "1.50", "-0.00", "0", "12345678.90"]),
    "numeric without digits": ("numeric(38,0)", "DECIMAL(38,0)", ["9" * 38, "-1", "10", "9"]),
    "float8": ("float8", "DOUBLE", ["0.1", "-0.0", "0.0", "NaN", "Infinity", "-Infinity", "1e300", "5e-324"]),
    "float4": ("float4", "FLOAT", ["0.1", "-0.0", "0.0", "NaN", "Infinity", "16777217", "3.4e38"]),
    "time": ("time", "TIME", ["00:00:00", "23:59:59.999999", "12:30:00.5"]),
    "timestamp": ("timestamp", "TIMESTAMP", ["2026-01-02 03:04:05", "2026-01-02 03:04:05.120", "1900-01-01 00:00:00"]),
    "timestamptz": ("timestamptz", "TIMESTAMPTZ", ["2026-01-02 03:04:05+02", "2026-01-02 01:04:05+00"]),
    "uuid": ("uuid", "UUID", ["A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "00000000-0000-0000-0000-00000000000f"]),
    "json": ("json", "JSON", ['{"b": 1}', "[1,  2]", '"x"']),
}


@pytest.mark.parametrize(("ours", "theirs", "values"), TYPES.values(), ids=list(TYPES))
def test_types_as_in_duckdb(new_database, ours, theirs, values):
    address = new_database()
    rows = [(value, number) for place, value in enumerate(values) for number in range(place % 3 + 1)]
    run(address, f'CREATE TABLE t (v {ours}, "n %s" int4)')
    connection = duckdb.connect()
    connection.execute(f'CREATE TABLE t (v {theirs}, "n %s" INTEGER)').fetchall()
    with psycopg.connect(address, autocommit=True) as server:
        for row in [*rows, (None, 1)]:
            server.execute(f"INSERT INTO t VALUES (%s::text::{ours}, %s)".encode(), row)
            connection.execute("INSERT INTO t VALUES (?, ?)", row).fetchall()
    for user, item in (("v", "n %s"), ("n %s", "v")):
        with (
            DuckDBEngine(connection, table="t", user=user, item=item, key=KEY) as judge,
            engine(address, user=user, item=item) as found,
        ):
            right = pairs(judge.top(100))
            same = pairs(found.top(100))
            assert same == right
            assert [*map(repr, same)] == [*map(repr, right)]
            assert pairs(found.grouped()) == right
            if item == "v":
                listed = Listed(tuple(values))
                assert pairs(found.grouped(listed)) == pairs(judge.grouped(listed))


# What DuckDB has no type for: the values of a column and the items that they are.
FORMS: dict[str, tuple[str, list[str], list[object]]] = {
    "char(n)": ("char(4)", ["a", "a   ", "b"], ["a", "b"]),
    "numeric without scale": ("numeric", ["1.0", "1.00", "NaN", "100", "1e2"], ["1", "100"]),
    "a domain over char(n)": ("code", ["a", "a   "], ["a"]),
    "name": ("name", ["a", "A", "a "], ["a", "A", "a "]),
    "float zeros": ("float8", ["0", "-0", "NaN"], ["0.0"]),
    "an infinite numeric": ("numeric", ["Infinity", "-Infinity", "1.5"], ["1.5"]),
    "an infinite float8": ("float8", ["Infinity", "-Infinity", "1.5"], ["1.5"]),
    "an infinite float4": ("float4", ["Infinity", "-Infinity", "1.5"], ["1.5"]),
    "bytea": ("bytea", ["\\x00ff", "\\x00", "\\x00FF"], [b"\x00", b"\x00\xff"]),
    "dates beyond Python": ("date", ["infinity", "0044-03-15 BC", "10000-01-01", "9999-12-31", "0001-01-01"],
                            ["0001-01-01", "9999-12-31"]),
    "moments beyond Python": ("timestamptz", ["infinity", "0044-03-15 BC", "9999-12-31 23:59:59.999999+00"],
                              ["9999-12-31 23:59:59.999999+00:00"]),
    "the end of a day": ("time", ["24:00:00", "23:59:59.999999"], ["23:59:59.999999"]),
    "an enum": ("mood", ["sad", "glad"], ["glad", "sad"]),
    "a domain": ("amount", ["1.50", "1.5"], ["1.50"]),
}  # fmt: skip


UNNAMED = re.compile("date|time|infinite")  # a user need not be named, so any date is one, and an infinity


@pytest.mark.parametrize("what", FORMS)
def test_one_form_of_each_value(new_database, what):
    address, (sql_type, values, items) = new_database(), FORMS[what]
    run(address, "CREATE TYPE mood AS ENUM ('sad', 'glad')", "CREATE DOMAIN price AS numeric(10, 2)")
    run(address, "CREATE DOMAIN code AS char(4)")
    run(address, "CREATE DOMAIN amount AS price CHECK (value > 0)", f"CREATE TABLE t (item {sql_type}, u int4)")
    with psycopg.connect(address, autocommit=True) as server:
        for value in values:
            server.execute(f"INSERT INTO t VALUES (%s::text::{sql_type}, 1)".encode(), [value])
    with engine(address, user="u") as found:
        labels = [label for label, _ in pairs(found.top(100))]
        assert sorted(map(str, labels)) == sorted(map(str, items))
        assert [label for label, _ in pairs(found.grouped())] == labels
    with engine(address, user="item", item="u") as found:
        unnamed = UNNAMED.search(f"{what} {sql_type}") is not None
        assert pairs(found.top(10)) == [(1, len(values) if unnamed else len(items))]


CITEXT = "CREATE EXTENSION IF NOT EXISTS citext SCHEMA public"
# Types of which one value has several texts, or whose texts the server's settings decide, and a line that ends that.
REFUSED = {
    "interval": ("interval", "interval", "extract(epoch FROM ...)"),
    "array": ("int[]", "_int4", "cast it to text"),
    "inet": ("inet", "inet", "cast it to text"),
    "composite": ("ours", "ours", "cast it to text"),
    "range": ("numrange", "numrange", "cast it to text"),
    "multirange": ("int4multirange", "int4multirange", "cast it to text"),
    "money": ("money", "money", "...::numeric"),
    "citext": ("public.citext", "citext", "lower(...::text)"),
    "time with a zone": ("timetz", "timetz", "cast it to text"),
    "bits": ("varbit", "varbit", "cast it to text"),
    "xml": ("xml", "xml", "cast it to text"),
    "jsonb": ("jsonb", "jsonb, in which 1.0 and 1.00 are equal", "->> 'id')::numeric"),
    "a domain over jsonb": ("document", "jsonb, in which 1.0 and 1.00 are equal", "->> 'id')::numeric"),
    "a collation": ("text COLLATE caseless", "text with the nondeterministic collation caseless", 'lower("c" COLLATE'),
    "a domain with a collation": ("word", "text with the nondeterministic collation caseless", 'lower("c" COLLATE'),
    "char(n) with a collation": ("char(9) COLLATE caseless", "text with the nondeterministic", 'lower("c" COLLATE'),
}


@pytest.mark.parametrize("what", REFUSED)
def test_types_that_have_two_forms_of_a_value_are_refused(new_database, what):
    address, (sql_type, name, hint) = new_database(), REFUSED[what]
    run(address, "CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
    run(address, "CREATE TYPE ours AS (a int)", "CREATE DOMAIN document AS jsonb", CITEXT)
    run(address, "CREATE DOMAIN word AS text COLLATE caseless")
    run(address, f"CREATE TABLE raw (u int, c {sql_type})", "CREATE VIEW t AS SELECT u, c FROM raw WHERE u > 0")
    said = rf"got column 'c' of type ([\w]+[.])?{re.escape(name)}"
    asked = [{"user": "u", "item": "c"}, {"user": "c", "item": "u"}, {"user": "u", "item": "u", "by": ("c",)}]
    for source, names in itertools.product(("raw", "t"), asked):
        with pytest.raises(ParameterError, match=said) as caught:
            engine(address, table=source, **names)
        assert hint in str(caught.value.hint)


def test_a_collation_of_a_column_that_only_the_filter_names_is_refused(new_database):
    """The server would find other rows: of 'Ann' it says that it is 'ann'."""
    address = new_database()
    run(address, "CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
    run(address, "CREATE TABLE t (u int, i text, w text COLLATE caseless)")
    with pytest.raises(ParameterError, match="'w' of type text with the nondeterministic collation caseless"):
        engine(address, user="u", item="i", where="w = 'ann'")


def test_what_the_hints_say_works(new_database):
    """Each line in a view, where the server then counts as we do."""
    address = new_database()
    run(address, "CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
    columns = "u int, c text COLLATE caseless, j jsonb, m money, i interval, x public.citext"
    run(address, CITEXT, f"CREATE TABLE raw ({columns})")
    run(address, "INSERT INTO raw VALUES (1, 'Ann', '{\"id\": 1.0}', 1, '1 day', 'Ann')")
    run(address, "INSERT INTO raw VALUES (2, 'ann', '{\"id\": 1.00}', 1, '24 h', 'ann')")
    for form in (
        'lower("c" COLLATE "C")',
        "(\"j\" ->> 'id')::numeric",
        "m::numeric",
        "extract(epoch FROM i)",
        "lower(x::text)",
    ):
        run(address, "DROP VIEW IF EXISTS t", f"CREATE VIEW t AS SELECT u, {form} AS c FROM raw")
        with engine(address, user="u", item="c") as found:
            assert [count for _, count in pairs(found.top(9))] == [2]


def test_a_filter_may_ask_whether_a_jsonb_is_there(new_database):
    address = new_database()
    run(address, "CREATE TABLE t (u int, i text, j jsonb)", "INSERT INTO t VALUES (1, 'a', '1.0'), (2, 'a', NULL)")
    with engine(address, user="u", item="i", where="j IS NOT NULL") as found:
        assert pairs(found.top(9)) == [("a", 1)]


def test_a_domain_that_does_not_fit(new_database):
    address = filled(new_database(), [("u", "1", 1)], '"user" text, item numeric, age int8')
    run(address, "CREATE TABLE texts AS SELECT 'u'::text AS \"user\", 'a'::text AS item")
    with engine(address, item="age") as found:
        for domain in (Listed(("x",)), Listed((1.5,)), Listed((2**70,))):
            with pytest.raises(ParameterError, match=r"domain must hold values that are"):
                found.check(domain)
    with engine(address) as found:
        with pytest.raises(ParameterError, match="domain must hold values that are numeric"):
            found.check(Listed(("1.5", "x")))
        with pytest.raises(ParameterError, match="which is numeric, got a range"):
            found.check(Span(0, 3))
        assert pairs(found.grouped(Listed(("1.50", 1)))) == [(decimal.Decimal(1), 1), (decimal.Decimal("1.5"), 0)]
    with engine(address, table="texts") as found, pytest.raises(ParameterError, match="domain must hold values"):
        found.check(Listed(("a\0",)))


# ---- the bound --------------------------------------------------------------------------------------------


def kept(rows: Sequence[tuple[str, str]], most: int, key: bytes) -> dict[object, int]:
    """The bound in plain Python: of every user the items with the smallest sha256 of key, length, user, item."""
    found: Counter[object] = Counter()
    for user in {user for user, _ in rows}:
        items = {item for one, item in rows if one == user}
        name = user.encode()
        start = key + len(name).to_bytes(4, "big") + name

        def place(item: str, start: bytes = start) -> tuple[bytes, bytes]:
            return hashlib.sha256(start + item.encode()).digest(), item.encode()

        found.update(sorted(items, key=place)[:most])
    return dict(found)


CROWD = [(f"u{user}", f"item {item}") for user in range(60) for item in range(25) if (user * item) % 7]
CROWD += [("u", "11"), ("u1", "1"), ("u11", ""), ("\u00e9", "\u00e9"), ("\u00e9", "e\u0301"), ("", "x"), ("", "")]


@pytest.mark.parametrize("most", [1, 4, 30])
def test_the_bound_is_the_hash_of_the_page(new_database, most):
    address = filled(new_database(), [(user, item, 0) for user, item in CROWD * 2])
    for key in (KEY, b"another key"):
        with engine(address, max_items_per_user=most, key=key) as found:
            assert kept_of(found) == kept(CROWD, most, key)
            inside = [("", "x"), ("u", "11")] + [pair for pair in CROWD if pair[1] in ("item 3", "item 4")]
            domain = Listed(("item 3", "item 4", "x", "11"))
            assert dict(pairs(found.counts_of(domain))) == kept(inside, most, key)


# ---- what leaves, what stays ------------------------------------------------------------------------------


@pytest.fixture
def spoken(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Every statement that is run, with how many rows came back."""
    found: list[tuple[str, int]] = []
    plain = PostgresWorkspace._rows

    def rows(self: PostgresWorkspace, sql: str, values: dict[str, object]) -> list[tuple[object, ...]]:
        came = plain(self, sql, values)
        found.append((sql, len(came)))
        return came

    monkeypatch.setattr(PostgresWorkspace, "_rows", rows)
    return found


def test_few_rows_leave_and_the_key_stays_beside_the_statements(awkward, spoken):
    key = b"a very secret key"
    with engine(awkward, max_items_per_user=3, key=key) as found:
        spoken.clear()
        found.top(4)
        assert [rows for _, rows in spoken] == [4]
        assert len(found.scores_of(["popular", "tie a", "secret!"])) == 3
        assert spoken[-1][1] == 2
        groups = found.grouped(Listed(("popular", "tie a", "secret?")))
        assert spoken[-1][1] == len(set(map(int, groups.counts)))
        before = len(spoken)
        groups.label(0, 0)
        assert [rows for _, rows in spoken[before:]] == [0, 1]
        for sql, _ in spoken:
            assert key.hex() not in sql.lower()
            assert "a very secret" not in sql
            assert "secret?" not in sql
            assert "secret!" not in sql


def test_one_snapshot_that_writes_nothing(awkward):
    with engine(awkward) as found:
        groups = found.grouped()
        run(awkward, "DELETE FROM t")
        assert pairs(groups) == counts(AWKWARD)
        assert pairs(found.top(1000)) == counts(AWKWARD)
        with psycopg.connect(awkward, autocommit=True) as other:
            tables = other.execute("SELECT relname FROM pg_class WHERE relpersistence = 't'").fetchall()
        assert tables == []
    run(
        awkward,
        "CREATE FUNCTION noted() RETURNS text LANGUAGE sql SET search_path FROM CURRENT "
        "AS $$ INSERT INTO t VALUES ('x', 'x', 1) RETURNING item $$",
        'CREATE VIEW writing AS SELECT "user", noted() AS item FROM (VALUES (\'u\')) AS v ("user")',
    )
    with engine(awkward, table="writing") as found, pytest.raises(DataError, match="could not be read"):
        found.top(5)
    with engine(awkward) as found:
        assert pairs(found.top(5)) == []
