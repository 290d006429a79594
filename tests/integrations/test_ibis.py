"""Tables of Ibis: each is read where it lies, and what cannot be read there without harm is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import ibis
import narwhals as nw
import polars as pl
import pyarrow as pa
import pytest

import dpselect as dps
from dpselect.engines.address import Address
from dpselect.engines.identity import display_name, identify_source
from dpselect.engines.postgres.address import address_and_table, parse_address
from tests.engines.ibis_tables import in_duckdb, table_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import psycopg

HOLDERS = {"a": 400, "b": 300, "c": 200}
ROWS = pa.table(
    {
        "user": [user for holders in HOLDERS.values() for user in range(holders)],
        "item": [item for item, holders in HOLDERS.items() for _ in range(holders)],
        "n": [user % 5 for holders in HOLDERS.values() for user in range(holders)],
    }
)


def home_of(source: object) -> tuple[object, str | None]:
    """Where the rows of a table of Ibis are."""
    home = Address.parse(source).at_home()
    return home.source, home.table


def top(source: object, **more: object) -> set[object]:
    release = dps.Dataset(source, user="user", item="item", **more).top_k(2, epsilon=8, domain=["a", "b", "c"])
    return set(release.labels)


# ---- DuckDB and polars ------------------------------------------------------------------------------------


def test_a_table_of_duckdb_is_read_on_its_connection_by_name() -> None:
    table = in_duckdb(ROWS)
    assert home_of(table) == (table.get_backend().con, "t")
    assert top(table) == {"a", "b"}


@pytest.mark.parametrize("name", ['"odd.name"', '"odd""name"'])
def test_a_name_that_could_mean_another_is_asked_as_a_query(name: str) -> None:
    table = in_duckdb(ROWS, name="placed")
    connection = table.get_backend().con
    connection.execute(
        f"CREATE TABLE {name} AS FROM placed; CREATE SCHEMA odd; CREATE TABLE odd.name AS FROM placed LIMIT 0"
    )
    found = table_of(table.get_backend(), name[1:-1].replace('""', '"'))
    assert isinstance(home_of(found)[0], duckdb.DuckDBPyRelation)
    assert top(found) == {"a", "b"}


def test_an_expression_stays_in_duckdb() -> None:
    table = in_duckdb(ROWS)
    assert isinstance(home_of(table.filter(table.n > 2))[0], duckdb.DuckDBPyRelation)
    assert top(table.filter(table.item != "b").mutate(item=table.item.upper().lower())) == {"a", "c"}
    assert top(nw.from_native(table).filter(nw.col("item") != "a")) == {"b", "c"}


def test_tables_in_memory_and_functions_of_the_caller_come_along() -> None:
    @ibis.udf.scalar.python
    def same(text: str) -> str:
        return text

    rows = ibis.memtable(ROWS)
    assert top(rows) == {"a", "b"}
    table = in_duckdb(ROWS)
    kept = table.semi_join(ibis.memtable(pa.table({"item": ["b", "c"]})), "item")
    assert top(kept.mutate(item=same(kept.item))) == {"b", "c"}


def test_polars_gives_its_lazy_frame() -> None:
    table = ibis.polars.connect({"t": pl.DataFrame(ROWS)}).table("t")
    assert isinstance(home_of(table.filter(table.n > 2))[0], pl.LazyFrame)
    assert top(table.filter(table.item != "b")) == {"a", "c"}


def test_a_public_domain_and_prepared_data_come_from_one(tmp_path: Path) -> None:
    table = in_duckdb(ROWS)
    release = dps.Dataset(table, user="user", item="item").choose(domain=dps.Column(table, "item"), epsilon=8)
    assert release.labels == ["a"]
    dps.Dataset(table.filter(table.item != "b"), user="user", item="item").prepare(tmp_path / "rows.prepared")
    assert top(str(tmp_path / "rows.prepared")) == {"a", "c"}


def test_what_a_row_does_to_an_expression_is_not_told() -> None:
    table = in_duckdb(pa.table({"user": ["u"], "item": ["private text"]}))
    with pytest.raises(dps.DataError) as caught:
        top(table.mutate(item=table.item.cast("int64").cast("string")))
    assert "private" not in f"{caught.value}"
    assert caught.value.__cause__ is caught.value.__context__ is None


def test_nothing_is_shown_where_ibis_shows_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ibis.options, "interactive", True)
    table = in_duckdb(pa.table({"user": ["u"], "item": ["private text"]}))
    assert repr(dps.Dataset(table, user="user", item="item")) == "Dataset(<ibis Table>, user='user', item='item')"


# ---- PostgreSQL -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def address(postgres_server: str) -> str:
    import psycopg

    address = postgres_server.format(name="postgres")
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("""
            CREATE SCHEMA of_ibis;
            CREATE TABLE of_ibis."Rows.here" AS
                SELECT n AS "user", item, date '2026-01-01' + n % 2 AS day
                FROM (VALUES ('a', 400), ('b', 300), ('c', 200)) h(item, most), generate_series(1, most) s(n);
            INSERT INTO of_ibis."Rows.here" VALUES (1, 'a', 'infinity'), (2, 'a', '4000-01-01 BC');
            CREATE VIEW of_ibis.seen AS SELECT * FROM of_ibis."Rows.here" WHERE item <> 'b';
            CREATE ROLE "of ibis";
            GRANT USAGE ON SCHEMA of_ibis TO "of ibis"; GRANT SELECT ON of_ibis.seen TO "of ibis"
        """)
    return address


@pytest.fixture
def connection(address: str) -> Iterator[psycopg.Connection]:
    import psycopg

    with psycopg.connect(f"{address}&application_name=theirs", autocommit=True) as connection:
        connection.execute("SET search_path = of_ibis")
        yield connection


def test_a_table_of_postgres_is_counted_by_the_server(connection: psycopg.Connection) -> None:
    backend = ibis.postgres.from_connection(connection)
    rows = backend.table("Rows.here")
    source, table = home_of(rows)
    assert str(source).startswith("postgresql://")
    assert table == "of_ibis.Rows.here"
    assert top(rows) == {"a", "b"}
    assert top(backend.table("seen", database="of_ibis")) == {"a", "c"}


def test_a_date_that_python_does_not_have_is_only_missing(connection: psycopg.Connection) -> None:
    rows = ibis.postgres.from_connection(connection).table("Rows.here")
    release = dps.Dataset(rows, user="user", item="day").top_k(2, epsilon=8)
    assert [f"{label}" for label in sorted(release.labels)] == ["2026-01-01", "2026-01-02"]


def test_an_expression_over_postgres_is_refused_and_its_view_is_not(connection: psycopg.Connection) -> None:
    rows = ibis.postgres.from_connection(connection).table("Rows.here")
    with pytest.raises(dps.ParameterError, match="a table or view, where Ibis is over PostgreSQL"):
        top(rows.filter(rows.item != "a"))


def test_a_temporary_table_is_refused(connection: psycopg.Connection) -> None:
    connection.execute('CREATE TEMPORARY TABLE mine ("user" int, item text)')
    with pytest.raises(dps.ParameterError, match="outlives its connection"):
        top(ibis.postgres.from_connection(connection).table("mine"))


@pytest.mark.parametrize("taken", ["ROLE", "SESSION AUTHORIZATION"])
def test_the_role_that_the_session_took_is_taken(connection: psycopg.Connection, taken: str) -> None:
    backend = ibis.postgres.from_connection(connection)
    rows, seen = backend.table("Rows.here"), backend.table("seen")
    connection.execute(f'SET {taken} "of ibis"'.encode())
    assert top(seen) == {"a", "c"}
    with pytest.raises(dps.DataError, match="may not read the table"):
        top(rows)


def test_the_address_is_that_of_the_connection_and_is_never_shown(connection: psycopg.Connection) -> None:
    class Info:
        password = "se/cr&et %"
        get_parameters = staticmethod(connection.info.get_parameters)

    class WithPassword:
        info, transaction, execute = Info(), connection.transaction, connection.execute

    address, _ = address_and_table(WithPassword(), None, "seen")
    assert parse_address(address)["password"] == "se/cr&et %"
    assert parse_address(address)["application_name"] == "theirs"
    domain = dps.Column(ibis.postgres.from_connection(connection).table("seen"), "item")
    with pytest.raises(dps.ParameterError, match="over DuckDB or polars") as caught:
        dps.Dataset({"user": [1], "item": ["a"]}, user="user", item="item").choose(domain=domain, epsilon=1)
    assert "postgresql://" not in str(caught.value)


# ---- what is refused --------------------------------------------------------------------------------------


def _unbound() -> object:
    return ibis.table({"user": "int64", "item": "string"}, name="t")


def _of_two_connections() -> object:
    return in_duckdb(ROWS).union(ibis.polars.connect({"t": pl.DataFrame(ROWS)}).table("t"))


def _dropped() -> object:
    table = in_duckdb(ROWS)
    table.get_backend().con.execute("DROP TABLE t")
    return table.filter(table.n > 1)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (_unbound, "an Ibis table of one connection"),
        (_of_two_connections, "an Ibis table of one connection"),
        (_dropped, "cannot be read through its connection"),
        (lambda: ibis.memtable(ROWS).item, "got an object of type StringColumn"),
    ],
)
def test_what_has_no_rows_of_one_connection_is_refused(make: Callable[[], object], said: str) -> None:
    with pytest.raises(dps.DpselectError, match=said):
        top(make())


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "snowflake",
            r'one over snowflake\nhint: dps.Table\(connection, "events", untested=True\) reads it all the same',
        ),
        ("oracle", "one over oracle, for whose text no exact form is known\nhint: pass the result of its to_pyarrow"),
    ],
)
def test_other_engines_are_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch, name: str, said: str) -> None:
    table = in_duckdb(ROWS)
    monkeypatch.setattr(type(table.get_backend()), "name", name)
    with pytest.raises(dps.ParameterError, match=said):
        top(table)


def test_a_table_name_beside_it_is_refused() -> None:
    with pytest.raises(dps.ParameterError, match="table must be left out"):
        top(dps.Table(in_duckdb(ROWS), "t"))


# ---- what a ledger calls it -------------------------------------------------------------------------------


def test_a_ledger_tells_expressions_apart_and_knows_no_rows(tmp_path: Path) -> None:
    table = in_duckdb(ROWS)
    ledger = str(tmp_path / "ledger.sqlite")
    with dps.Ledger.create(ledger) as made:
        made.data("plays", epsilon=20, delta="1e-5")
        made.grant(dps.Account("plays", "ann"), epsilon=20, delta="1e-5")

    def paid(source: object, snapshot: str | None) -> bool:
        budget = dps.Budget.open(ledger, data="plays", analyst="ann", snapshot=snapshot)
        release = dps.Dataset(source, user="user", item="item", budget=budget).top_k(1, epsilon=1, domain=["a", "b"])
        return release.charged is not None and not release.charged.numbers["repeated"]

    assert paid(table, "monday")
    assert paid(table.filter(table.n > 2), "monday"), "another question"
    assert not paid(table, "monday")
    assert not paid(table.filter(table.n > 2), "monday")
    assert paid(table, None)
    assert paid(table, None), "without a snapshot nobody knows what changed"
    assert not paid(nw.from_native(table), "monday"), "a wrapping is none of the question"
    assert paid(nw.from_native(table).filter(nw.col("n") > 3), "monday"), "nor does it hide one"
    name, pinned = identify_source(Address.parse(table))
    assert not pinned
    assert name[:2] == ["ibis", "duckdb"]
    assert display_name(table) == "<ibis Table>"


def test_the_name_of_a_postgres_table_is_place_and_name(connection: psycopg.Connection) -> None:
    name, pinned = identify_source(Address.parse(ibis.postgres.from_connection(connection).table("seen")))
    assert name[2] == "of_ibis.seen"
    assert name[1].startswith("postgresql://")
    assert not pinned


# ---- what one row may not do ------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["a", 7, None])
@pytest.mark.parametrize("database", ["main", "temp"])
def test_no_row_decides_the_type_of_a_column(first: object, database: str) -> None:
    connection = ibis.sqlite.connect()
    connection.con.execute(f"CREATE TABLE {database}.t (user INTEGER, item)")
    connection.con.executemany("INSERT INTO t VALUES (?, ?)", [(-1, first), *((user, "a") for user in range(300))])
    for source in (dps.Table(connection, "t"), connection.table("t", database=database).select("user", "item")):
        with pytest.raises(dps.ParameterError, match=r"all declare a type.*column 'item' of 't' without one"):
            top(source)
    with pytest.raises(dps.ParameterError, match="be made without SQL"):
        top(connection.sql("SELECT user, item FROM t", schema={"user": "int64", "item": "string"}))


def test_a_view_without_rows_is_told_as_one_with_rows() -> None:
    connection, messages = ibis.sqlite.connect(), set()
    connection.con.execute("CREATE TABLE t (user INTEGER, item TEXT)")
    connection.con.execute("CREATE VIEW v AS SELECT user, lower(item) AS item FROM t")
    for _ in range(2):
        with pytest.raises(dps.ParameterError, match="all declare a type") as refused:
            top(dps.Table(connection, "v"))
        messages.add(str(refused.value))
        connection.con.execute("INSERT INTO t VALUES (1, 'a')")
    assert len(messages) == 1
