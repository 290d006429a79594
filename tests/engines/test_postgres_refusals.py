"""What a PostgreSQL source refuses, and what it never says: a password, a row, a word of the server."""

from __future__ import annotations

import _thread
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import dpselect as dps
from dpselect.engines.address import Address
from dpselect.engines.identity import identify_source
from dpselect.errors import DataError, ParameterError
from dpselect.flat import dataset_of
from tests.engines.every_engine import filled
from tests.engines.opened import open_engine
from tests.engines.sources import AWKWARD, counts
from tests.engines.test_conformance import pairs
from tests.engines.test_postgres import engine, run
from tests.ledger.amounts import grant

psycopg = pytest.importorskip("psycopg")

NewDatabase = Callable[[], str]
NOWHERE = "postgresql://ann:secret@127.0.0.1:1/db"


@pytest.fixture
def awkward(new_database: NewDatabase) -> str:
    return filled(new_database(), AWKWARD)


def dataset(address: str, **more: object) -> dps.Dataset:
    return dataset_of(address, **({"user": "user", "item": "item", "table": "t"} | more))


# ---- the verbs --------------------------------------------------------------------------------------------


def test_a_ledger_knows_the_rows_and_no_password(awkward, new_database, tmp_path: Path):
    place = str(tmp_path / "budget.sqlite")
    with dps.Ledger.create(place) as ledger:
        grant(ledger, dps.Account("default", "ann"), 4, "1e-5")

    def used(address: str) -> object:
        dataset(address, budget=dps.Budget.open(place, analyst="ann", snapshot="monday")).choose(
            domain=["popular", "x"], epsilon=1
        )
        with dps.Ledger(place) as ledger:
            return ledger.standing(dps.Account("default", "ann")).own.total.epsilon

    assert used(awkward) == 1
    assert used(awkward.replace("dpselect@", "dpselect:secret@")) == 1  # the same rows
    assert used(filled(new_database(), AWKWARD)) == 2  # a table of the same name in another schema
    assert b"secret" not in Path(place).read_bytes()


def test_what_decides_about_the_rows_makes_another_question():
    address = "postgresql://ann:secret@host:5/db?sslmode=require"
    known, pinned = identify_source(Address.parse(address))
    assert str(known).startswith("postgresql://host:5/db ")
    assert not pinned
    assert identify_source(Address.parse(address.replace("secret", "other"))) == (known, False)
    for one, other in (("ann", "bob"), (":5", ":6"), ("/db", "/db2"), ("sslmode=require", "options=-crole%3Dx")):
        assert identify_source(Address.parse(address.replace(one, other)))[0] != known


# ---- refused before anything is paid ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "more",
    [{"user": "usr"}, {"item": "itm"}, {"table": None}, {"table": "T"}],
    ids=str,
)
def test_parameters_that_do_not_fit(awkward, more):
    kind = DataError if more == {"table": "T"} else ParameterError  # a table that is not there may come
    with pytest.raises(kind, match=rf"^{next(iter(more))} must .*(\n.*)*hint: ") as error:
        dataset(awkward, **more).engine()
    assert "popular" not in str(error.value)


def test_a_table_with_its_schema_is_near_others_with_theirs(awkward):
    schema = awkward.rpartition("%3D")[2]
    with pytest.raises(DataError, match=rf"hint: did you mean .*{schema}\.t\b"):
        dataset(awkward, table=f"{schema}.tt").engine()


# ---- what goes wrong --------------------------------------------------------------------------------------


def test_no_connection_and_no_password_shown():
    for address in (NOWHERE, "postgresql://127.0.0.1:1/db?user=ann&password=secret"):
        with pytest.raises(DataError, match=r"no connection to postgresql://127\.0\.0\.1:1/db\nhint: check") as error:
            dataset(address).engine()
        assert "secret" not in str(error.value)
        assert error.value.__context__ is None
    for unreadable in ("postgresql://ann:secret@host/db?nonsense=secret", "postgresql://ann:12/secret@host/db"):
        with pytest.raises(ParameterError, match="source must be a PostgreSQL address") as refused:
            dataset(unreadable).engine()
        assert "secret" not in str(refused.value)
        assert refused.value.__context__ is None
    with pytest.raises(ParameterError, match="got an address that starts with mysql://") as other:
        dataset("mysql://ann:secret@host/db").engine()
    assert "secret" not in str(other.value)


def test_a_wrong_password(awkward):
    """The server trusts whoever comes by its socket, so a user who is not there stands for a wrong password."""
    with pytest.raises(DataError, match=r"no connection to .*\nhint: .*password") as error:
        dataset(awkward.replace("dpselect@", "nobody:secret@")).engine()
    assert "secret" not in str(error.value)


def test_the_repr_has_no_password(awkward):
    data = dataset(awkward.replace("dpselect@", "dpselect:secret@"))
    assert "postgresql://" in repr(data)
    assert "secret" not in repr(data)


def test_psycopg_is_optional(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(DataError, match=r"needs psycopg\nhint: pip install 'psycopg\[binary\]'"):
        dataset(NOWHERE).engine()


def test_no_right_to_read(awkward):
    run(awkward, "DROP ROLE IF EXISTS stranger", "CREATE ROLE stranger LOGIN")
    schema = awkward.rpartition("%3D")[2]
    stranger = awkward.replace("dpselect@", "stranger@")
    try:
        with pytest.raises(DataError, match=r"this user may not read the table\nhint: ask its owner for GRANT"):
            dataset(stranger, table=f"{schema}.t").engine()
        run(awkward, f"GRANT USAGE ON SCHEMA {schema} TO stranger", 'GRANT SELECT ("user") ON t TO stranger')
        with pytest.raises(DataError, match="this user may not read the table"):
            dataset(stranger).engine()
        run(awkward, "GRANT SELECT (item) ON t TO stranger")
        with engine(stranger) as found:
            assert pairs(found.top(1000)) == counts(AWKWARD)
    finally:
        run(awkward, "DROP OWNED BY stranger", "DROP ROLE stranger")


def test_a_failure_quotes_no_row(awkward):
    run(awkward, 'CREATE VIEW failing AS SELECT item::int AS item, "user" FROM t')
    with engine(awkward, table="failing") as found:
        with pytest.raises(DataError, match="the table could not be read") as error:
            found.top(5)
        assert error.value.__context__ is None
        assert error.value.__cause__ is None
        assert not any(item in str(error.value) for item in ("popular", "tie", "integer"))


def test_a_server_that_goes_away(awkward):
    with engine(awkward) as found:
        ours = found._database._workspace.fetch("SELECT pg_backend_pid()")[0][0]
        run(awkward, f"SELECT pg_terminate_backend({ours}, 5000)")
        with pytest.raises(DataError, match="the connection to the server was lost"):
            found.top(5)


def test_a_statement_that_the_server_stops(awkward):
    run(awkward, 'CREATE VIEW slow AS SELECT "user", item FROM t, LATERAL pg_sleep(length(item) + 60)')
    said = r"the server stopped the query\nhint: its statement_timeout"
    with engine(awkward, table="slow") as found:
        found._database._workspace.fetch("SET statement_timeout = 200")  # once all is open: a busy server is slow
        with pytest.raises(DataError, match=said):
            found.top(5)


def test_ctrl_c_stops_the_statement_at_once(awkward):
    run(awkward, 'CREATE VIEW endless AS SELECT "user", item FROM t, LATERAL pg_sleep(length(item) + 60)')
    ticks: list[float | None] = []

    def press(done: float | None) -> None:
        ticks.append(done)
        if len(ticks) == 1:  # the statement runs, and would not end otherwise
            threading.Timer(0.5, _thread.interrupt_main).start()

    with engine(awkward, table="endless") as found:
        pid = found._database._workspace.fetch("SELECT pg_backend_pid()")[0][0]
        with pytest.raises(KeyboardInterrupt):
            found.top(5, progress=press)
        with psycopg.connect(awkward, autocommit=True) as other:
            state = other.execute("SELECT state FROM pg_stat_activity WHERE pid = %s", [pid]).fetchone()
        assert state is not None
        assert state[0] != "active"
    assert ticks
    assert set(ticks) == {None}


def test_text_that_is_not_utf8_is_refused(postgres_server):
    address = postgres_server.format(name="latin")
    other = postgres_server.format(name="postgres")
    run(other, "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    try:
        with pytest.raises(DataError, match="does not store its text as UTF8"):
            open_engine(address, user="u", item="i", table="t", key=b"k")
    finally:
        time.sleep(0.1)
        run(other, "DROP DATABASE latin WITH (FORCE)")
