"""What `dpselect doctor` finds, of a machine that is well and of one that is not; and that it tells no secret."""

from __future__ import annotations

import socket
import sqlite3
from collections.abc import Callable
from contextlib import closing
from importlib import metadata
from pathlib import Path

import pytest

from dpselect.command import doctor as file
from dpselect.command.main import main
from dpselect.ledger import Ledger
from tests.end_to_end.conftest import ledger_of

Found = dict[str, tuple[str, str]]
Doctor = Callable[..., tuple[int, Found]]


@pytest.fixture
def doctor(capsys: pytest.CaptureFixture[str]) -> Doctor:
    """Run it: its exit status, and the state and the words of each thing. What is said twice keeps the last."""

    def run(*words: str) -> tuple[int, Found]:
        status = main(["doctor", *words])
        lines = [line.split(None, 1) for line in capsys.readouterr().out.splitlines()]
        return status, {rest[:16].strip(): (state, rest[16:].strip()) for state, rest in lines}

    return run


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """A ledger with a few entries."""
    ledger_of(path := tmp_path / "budget.sqlite", 3, data="plays")
    return path


def changed(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(sql)


def test_a_machine_that_is_well(doctor: Doctor) -> None:
    status, found = doctor()
    assert status == 0
    for about in ("dpselect", "duckdb", "numpy", "python-flint", "psycopg", "shtab"):
        assert found[about] == ("ok", metadata.version(about))
    assert found["engine DuckDB"] == ("ok", "answers a question")
    assert not {"ledger", "engine"} & set(found)


def test_an_extra_that_is_not_there(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    needed = ["numpy>=2.2", 'no-such-package[x]>=1 ; extra == "plots"', 'dpselect[plots] ; extra == "all"']
    monkeypatch.setattr(metadata, "requires", lambda _: needed)
    status, found = doctor()
    assert status == 0
    assert found["no-such-package"] == ("missing", "pip install 'no-such-package[x]'")
    assert set(found) == {"dpselect", "Python", "numpy", "no-such-package", "engine DuckDB"}


def test_an_engine_that_fails_in_an_unknown_way(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> str:
        raise ValueError("hush")

    monkeypatch.setattr(file, "_ask_question", fail)
    assert doctor()[1]["engine DuckDB"] == ("fails", "unexpected ValueError")


# ---- a ledger -------------------------------------------------------------------------------------------------


def test_a_ledger_that_is_well(doctor: Doctor, ledger: Path) -> None:
    status, found = doctor("--budget", str(ledger))
    assert status == 0
    assert found["ledger"][0] == "ok"
    assert "ann" not in str(found)
    assert "plays" not in str(found)


def test_a_ledger_that_is_not_there(doctor: Doctor, tmp_path: Path) -> None:
    status, found = doctor("--budget", str(tmp_path / "none.sqlite"))
    assert status == 6
    assert found["ledger"][0] == "fails"
    assert not (tmp_path / "none.sqlite").exists()


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE meta SET head = replace(head, substr(head, 1, 1), 'x')",
        "UPDATE meta SET entries = entries - 1",
        "DROP TRIGGER entry_UPDATE; UPDATE entry SET analyst = 'eve' WHERE number = 2",
        "DELETE FROM meta",
    ],
)
def test_a_ledger_that_was_tampered_with(doctor: Doctor, ledger: Path, sql: str) -> None:
    for one in sql.split("; "):
        changed(ledger, one)
    status, found = doctor("--budget", str(ledger))
    assert (status, found["ledger"][0]) == (6, "fails")
    assert "eve" not in str(found)


def test_a_ledger_of_another_form_stays_as_it_is(doctor: Doctor, ledger: Path) -> None:
    changed(ledger, "UPDATE meta SET version = 1")
    before = ledger.read_bytes()
    status, found = doctor("--budget", str(ledger))
    assert (status, found["ledger"][0]) == (6, "fails")
    assert ledger.read_bytes() == before


# ---- engines elsewhere ----------------------------------------------------------------------------------------


def test_a_server_that_is_not_there_is_named_without_its_password(doctor: Doctor) -> None:
    status, found = doctor("--engine", "postgresql://eve:hush@127.0.0.1:1/shop?application_name=hush2")
    assert status == 3
    assert found["engine"][0] == "fails"
    assert "postgresql://127.0.0.1:1/shop" in found["engine"][1]
    assert "hush" not in str(found)
    assert "eve" not in str(found)


def test_a_server_that_never_answers_is_left(doctor: Doctor) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        address = f"postgresql://eve:hush@127.0.0.1:{silent.getsockname()[1]}/shop?connect_timeout=2"
        status, found = doctor("--engine", address, "--budget", address)
    assert status == 3
    assert found["engine"][0] == found["ledger"][0] == "fails"
    assert "hush" not in str(found)


def test_an_address_of_nothing(doctor: Doctor) -> None:
    status, found = doctor("--engine", "mysql://eve:hush@there/x")
    assert status == 2
    assert found["engine"][0] == "fails"
    assert "hush" not in str(found)


def test_a_server_that_answers(doctor: Doctor, postgres_server: str) -> None:
    import psycopg

    with psycopg.connect(postgres_server.format(name="postgres"), autocommit=True) as connection:
        connection.execute("CREATE DATABASE doctor")
    address = postgres_server.format(name="doctor")
    Ledger.create(address).close()
    status, found = doctor("--engine", address, "--budget", address)
    assert status == 0
    assert "/doctor answers, version" in found["engine"][1]
    assert found["engine"][1].startswith("postgresql://")
    assert found["ledger"][0] == "ok"
