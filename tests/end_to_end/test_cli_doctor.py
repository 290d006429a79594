"""What `dpselect doctor` finds, of a machine that is well and of one that is not; and that it tells no secret."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sqlite3
import stat
import tempfile
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from dpselect.command import doctor_machine, doctor_places
from dpselect.command.doctor_findings import State
from dpselect.command.main import main
from dpselect.command.variables import VARIABLES
from dpselect.ledger import Account, Ledger

Found = dict[str, tuple[str, str]]
Doctor = Callable[..., tuple[int, Found]]


@pytest.fixture
def doctor(capsys: pytest.CaptureFixture[str]) -> Doctor:
    """Run it: its exit status, and the state and the words of each thing. What is said twice keeps the last."""

    def run(*words: str) -> tuple[int, Found]:
        status = main(["doctor", "--format", "json", *words])
        said = json.loads(capsys.readouterr().out)
        assert said["ok"] is (status == 0)
        return status, {one["about"]: (one["state"], one["found"]) for one in said["findings"]}

    return run


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """A ledger with a few entries."""
    path = tmp_path / "budget.sqlite"
    with Ledger.create(path) as made:
        made.data("plays", epsilon=3, delta="1e-5")
        made.grant(Account("plays", "ann"), epsilon=1, delta="1e-6")
    return path


@pytest.fixture
def silent() -> object:
    """The port of a server that takes calls and never answers."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        yield server.getsockname()[1]


def look(path: Path) -> Found:
    """What is found of a ledger alone."""
    return {one.about: (one.state, one.found) for one in doctor_places.ledger(str(path))}


def changed(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(sql)


# ---- this machine ---------------------------------------------------------------------------------------------


def test_a_machine_that_is_well(doctor: Doctor) -> None:
    status, found = doctor()
    assert status == 0
    for about in ("dpselect", "Python", "duckdb", "numpy", "python-flint", "memory", "entropy", "clock"):
        assert found[about][0] == "ok"
    assert found["engine DuckDB"][0] == "ok"
    assert {"extra plots", "extra postgres", "extra gateway"} <= set(found)
    assert "extra all" not in found


def test_the_table_has_a_line_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    *lines, empty, end = capsys.readouterr().out.splitlines()
    assert (empty, end) == ("", "nothing fails")
    assert all(line.startswith(tuple(State)) for line in lines)


def test_settings_without_their_secrets(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    for one in VARIABLES:
        monkeypatch.setenv(one.name, "4GiB" if one.name == "DPSELECT_MEMORY" else "hush")
    monkeypatch.setenv("DPSELECT_MEMROY", "hush")
    _, found = doctor()
    assert found["DPSELECT_MEMORY"] == ("ok", "4GiB")
    assert found["DPSELECT_TOKEN"][0] == "ok"
    assert found["DPSELECT_MEMROY"][0] == "could be better"
    assert "did you mean DPSELECT_MEMORY?" in found["DPSELECT_MEMROY"][1]
    told = [about for about, (_, said) in found.items() if "hush" in said]
    assert told == [
        one.name for one in sorted(VARIABLES, key=lambda v: v.name) if one.shown and "MEMORY" not in one.name
    ]
    assert {"DPSELECT_TOKEN", "DPSELECT_GATEWAY", "DPSELECT_MEMROY"}.isdisjoint(told)


def test_a_setting_that_is_wrong(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPSELECT_MEMORY", "much")
    status, found = doctor()
    assert status == 2
    assert found["memory"][0] == "fails"


def test_no_place_for_temporary_files(doctor: Doctor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    status, found = doctor()
    assert found["temporary files"][0] == "fails"
    assert status == 4


def test_little_room_and_little_memory(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPSELECT_MEMORY", "1GiB")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 9, 1))  # type: ignore[attr-defined]
    status, found = doctor()
    assert status == 0
    assert found["memory"][0] == found["temporary files"][0] == "could be better"


def test_extras_that_are_not_there_or_old() -> None:
    gone = doctor_machine._package("extra x", [("no-such-package", "1")], "pip install 'dpselect[x]'")
    assert gone.state is State.ABSENT
    assert gone.found == "without no-such-package: pip install 'dpselect[x]'"
    old = doctor_machine._package("extra x", [("numpy", "99.1"), ("duckdb", "0.1")], "")
    assert old.state is State.BETTER
    assert old.found.startswith("numpy ")
    assert old.found.endswith("is older than 99.1")


# ---- a ledger -------------------------------------------------------------------------------------------------


def test_a_ledger_that_is_well(doctor: Doctor, ledger: Path) -> None:
    status, found = doctor("--budget", str(ledger))
    assert status == 0
    assert {found[f"ledger{what}"][0] for what in ("", "'s head", "'s rights", "'s lock")} == {"ok"}
    assert "ann" not in str(found)
    assert "plays" not in str(found)


def test_a_ledger_that_is_not_there(doctor: Doctor, tmp_path: Path) -> None:
    status, found = doctor("--budget", str(tmp_path / "none.sqlite"))
    assert status == 6
    assert found["ledger"][0] == "fails"
    assert not (tmp_path / "none.sqlite").exists()


def test_a_ledger_that_somebody_holds(ledger: Path) -> None:
    with closing(sqlite3.connect(ledger, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert look(ledger)["ledger's lock"][0] == "could be better"


def test_a_ledger_that_others_may_read(ledger: Path) -> None:
    ledger.chmod(0o640)
    assert look(ledger)["ledger's rights"][0] == "could be better"
    ledger.chmod(0o600)
    ledger.parent.chmod(stat.S_IMODE(ledger.parent.stat().st_mode) | stat.S_IWOTH)
    assert look(ledger)["ledger"][0] == "could be better"  # everybody may put another file in its place


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE meta SET head = replace(head, substr(head, 1, 1), 'x')",
        "UPDATE meta SET entries = entries - 1",
        "DROP TRIGGER entry_UPDATE; UPDATE entry SET analyst = 'eve' WHERE number = 2",
        "DELETE FROM meta",
    ],
)
def test_a_ledger_that_was_tampered_with(ledger: Path, sql: str) -> None:
    for one in sql.split("; "):
        changed(ledger, one)
    assert [(one.state, one.status) for one in doctor_places.ledger(str(ledger))] == [("fails", 6)]


def test_a_ledger_of_another_form_stays_as_it_is(ledger: Path) -> None:
    changed(ledger, "UPDATE meta SET version = 1")
    before = ledger.read_bytes()
    assert [(one.state, one.status) for one in doctor_places.ledger(str(ledger))] == [("fails", 6)]
    assert ledger.read_bytes() == before


def test_a_ledger_whose_last_entry_is_yet_to_come(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_places, "AHEAD", -timedelta(days=1))
    assert look(ledger)["ledger's clock"][0] == "could be better"


# ---- engines elsewhere ----------------------------------------------------------------------------------------


def test_a_server_that_is_not_there_is_named_without_its_password(doctor: Doctor) -> None:
    status, found = doctor("--engine", "postgresql://eve:hush@127.0.0.1:1/shop?application_name=hush2")
    assert status == 3
    assert found["engine PostgreSQL"][0] == "fails"
    assert "postgresql://127.0.0.1:1/shop" in found["engine PostgreSQL"][1]
    assert "hush" not in str(found)
    assert "eve" not in str(found)


def test_a_server_that_never_answers_is_left(doctor: Doctor, silent: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_places, "PATIENCE", 0.5)
    address = f"postgresql://eve:hush@127.0.0.1:{silent}/shop?connect_timeout=3"
    status, found = doctor("--engine", address, "--budget", address)
    assert status == 3
    assert found["engine PostgreSQL"] == found["ledger"] == ("fails", "no answer in time")


def test_an_address_of_nothing(doctor: Doctor) -> None:
    status, found = doctor("--engine", "mysql://eve:hush@there/x")
    assert status == 2
    assert found["engine"][0] == "fails"
    assert "hush" not in str(found)


@pytest.mark.slow
def test_a_server_that_answers(doctor: Doctor, postgres_server: str) -> None:
    import psycopg

    with psycopg.connect(postgres_server.format(name="postgres"), autocommit=True) as connection:
        connection.execute("CREATE DATABASE doctor")
    address = postgres_server.format(name="doctor")
    Ledger.create(address).close()
    status, found = doctor("--engine", address, "--budget", address)
    assert status == 0
    assert "answers, version" in found["engine PostgreSQL"][1]
    assert found["ledger"][0] == found["ledger's head"][0] == "ok"


@pytest.mark.skipif(shutil.which("java") is None, reason="no java here")
def test_a_cluster_of_spark(doctor: Doctor, silent: int) -> None:
    pytest.importorskip("pyspark")
    status, found = doctor("--engine", f"spark:spark://eve@127.0.0.1:{silent}")
    assert status == 0
    assert found["engine Spark"][1].startswith(f"the port of spark://127.0.0.1:{silent} answers")
    status, found = doctor("--engine", "spark:spark://127.0.0.1:1")
    assert status == 3
    assert doctor("--engine", "spark:local")[0] == 0


@pytest.mark.skipif(os.name != "posix", reason="a program is a script there")
def test_an_old_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert doctor_places._java().state is State.BETTER
    java.write_text("#!/bin/sh\necho what\n")
    assert doctor_places._java().state is State.BETTER
    java.unlink()
    assert doctor_places._java().state is State.ABSENT
