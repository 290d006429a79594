"""Whatever is changed by hand is named by `verify`, and the ledger refuses to go on where its end is gone."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

import pytest

from dpselect.errors import LedgerError
from dpselect.ledger import Account, Entry, Ledger
from tests.ledger.amounts import ask, charge, grant


@pytest.fixture
def file(tmp_path: Path, ann: Account) -> Path:
    """Entries 1 to 11: a promise, two grants, two questions that were answered, a repeat, an open reservation."""
    path = tmp_path / "budget.ledger"
    with Ledger.create(path) as ledger:
        grant(ledger, ann, 1, "1e-6")
        grant(ledger, Account("plays", "bob"), 1, 0)
        ask(ledger, ann, charge("0.25", "1e-7"), "one", "[1]")
        ask(ledger, ann, charge("0.25"), "two", "[2]")
        ledger.repeat(ann, "one")
        ledger.reserve(ann, charge("0.125"), "three")
        assert ledger.verify() == []
    return path


def change(file: Path, *statements: str) -> None:
    """As somebody with a shell would: the triggers are dropped first."""
    connection = sqlite3.connect(file)
    for statement in ("DROP TRIGGER entry_UPDATE", "DROP TRIGGER entry_DELETE", *statements):
        connection.execute(statement)
    connection.commit()
    connection.close()


def problems(file: Path, head: str | None = None) -> str:
    with Ledger(file) as ledger:
        return "\n".join(ledger.verify(head))


CHANGES = {
    "number": ("number = 99", "entries are missing: 6 follows 4"),
    "kind": ("kind = 'refused'", "entry 5 was changed"),
    "dataset": ("dataset = 'sales'", "entry 5 was changed"),
    "analyst": ("analyst = 'bob'", "entry 5 was changed"),
    "epsilon": ("epsilon = '0.100000000000000000000000000000'", "entry 5 was changed"),
    "delta": ("delta = '0.000000000000000000000000000000'", "entry 5 was changed"),
    "question": ("question = 'another'", "entry 5 was changed"),
    "question_hash": ("question_hash = 'ff'", "entry 5 was changed: the hash of its question"),
    "refers_to": ("refers_to = 1", "entry 5 was changed"),
    "release": ("release = '[9]'", "entry 5 was changed"),
    "at": ("at = '1970-01-01T00:00:00+00:00'", "entry 5 was changed"),
    "previous": ("previous = digest", "entry 5 does not follow the entry before it"),
    "digest": ("digest = previous", "entry 6 does not follow the entry before it"),
}


def test_every_field_is_changed_below() -> None:
    there = {field.name for field in fields(Entry)} - {"account", "charge"}
    assert there | {"dataset", "analyst", "epsilon", "delta", "question_hash"} == set(CHANGES)


@pytest.mark.parametrize(("change_", "found"), CHANGES.values(), ids=CHANGES)
def test_a_changed_field(file: Path, change_: str, found: str) -> None:
    change(file, f"UPDATE entry SET {change_} WHERE number = 5")
    assert found in problems(file)


@pytest.mark.parametrize("field", ["number", "epsilon", "question", "release", "at", "digest"])
@pytest.mark.parametrize("value", ["x'ff'", "'\ufffd'", "3.5", "''", "-1"])
def test_a_field_of_another_type(file: Path, field: str, value: str) -> None:
    try:
        change(file, f"UPDATE entry SET {field} = {value} WHERE number = 5")
    except sqlite3.Error:
        return  # SQLite itself refuses it
    assert problems(file)
    with Ledger(file) as ledger, suppress(LedgerError):  # no other error than ours
        list(ledger.entries())


def test_an_entry_in_the_middle_is_deleted(file: Path) -> None:
    change(file, "DELETE FROM entry WHERE number = 3")
    found = problems(file)
    assert "entries are missing: 4 follows 2" in found
    assert "entry 4 does not follow the entry before it" in found
    assert "entry 5 settles no open reservation" in found


def test_entries_change_places(file: Path) -> None:
    change(file, *(f"UPDATE entry SET number = {n} WHERE number = {o}" for o, n in ((5, 99), (7, 5), (99, 7))))
    assert "entry 5 does not follow" in problems(file)


def test_the_tail_is_deleted(file: Path, ann: Account) -> None:
    change(file, "DELETE FROM entry WHERE number >= 9")
    found = problems(file)
    assert "the last entry is not the one that the ledger says it has: it has 8 entries and says 10" in found
    assert "says reserved epsilon 0.125 and delta 0, its entries add up to epsilon 0 and delta 0" in found
    with Ledger(file) as ledger:
        for write in (
            lambda: grant(ledger, ann, 1, 0),
            lambda: ledger.reserve(ann, charge("0.1"), "{}"),
            lambda: ledger.repeat(ann, "one"),
        ):
            with pytest.raises(LedgerError, match="its last entries are missing or are not its own\nhint: run"):
                write()


def test_the_head_is_changed(file: Path, ann: Account) -> None:
    change(file, "UPDATE meta SET head = 'x'")
    assert "the last entry is not the one that the ledger says it has" in problems(file)
    with Ledger(file) as ledger, pytest.raises(LedgerError, match="its last entries are missing"):
        ledger.reserve(ann, charge("0.1"), "{}")


@pytest.mark.parametrize("change_", ["ledger = 'another'", "born = 3"])
def test_the_ledger_says_it_is_another(file: Path, change_: str) -> None:
    change(file, f"UPDATE meta SET {change_}")
    assert "entry 1 does not follow the entry before it" in problems(file)


def test_meta_is_gone(file: Path) -> None:
    with Ledger(file) as ledger:
        change(file, "DELETE FROM meta")
        assert "does not say what it is" in ledger.verify()[0]
        with pytest.raises(LedgerError, match="what it says of itself cannot be trusted: it is missing"):
            _ = ledger.head
    with pytest.raises(LedgerError, match="it does not say its version"):
        Ledger(file)


def test_a_balance_is_changed(file: Path, ann: Account) -> None:
    change(file, "UPDATE balance SET granted_epsilon = '9.000000000000000000000000000000' WHERE analyst = 'ann'")
    assert "the balance of 'ann' on 'plays' is damaged: its amounts do not match their seal" in problems(file)
    with Ledger(file) as ledger, pytest.raises(LedgerError, match="cannot be trusted: its amounts do not match"):
        ledger.reserve(ann, charge("5"), "{}")


def test_a_balance_is_exchanged_with_its_seal(file: Path, ann: Account) -> None:
    richer = file.with_name("richer")
    with Ledger.create(richer) as ledger:
        grant(ledger, ann, 9, 0)
    columns = "granted_epsilon, granted_delta, spent_epsilon, spent_delta, reserved_epsilon, reserved_delta, seal"
    connection = sqlite3.connect(richer)
    row = connection.execute(f"SELECT {columns} FROM balance").fetchone()
    connection.close()
    sets = ", ".join(f"{name} = '{cell}'" for name, cell in zip(columns.split(", "), row, strict=True))
    change(file, f"UPDATE balance SET {sets} WHERE analyst = 'ann'")
    found = problems(file)
    assert (
        "the balance of 'ann' on 'plays' says granted epsilon 9 and delta 0, its entries add up to epsilon 1" in found
    )
    assert "says spent epsilon 0 and delta 0" in found


def test_a_balance_is_deleted(file: Path) -> None:
    change(file, "DELETE FROM balance WHERE analyst = 'bob'")
    assert problems(file) == "the balance of 'bob' on 'plays' is missing or damaged"


def test_only_a_head_noted_elsewhere_shows_a_rollback(file: Path, ann: Account) -> None:
    earlier = file.with_name("earlier")
    earlier.write_bytes(file.read_bytes())
    with Ledger(file) as ledger:
        ask(ledger, ann, charge("0.125"))
        noted = ledger.head
    file.write_bytes(earlier.read_bytes())
    assert problems(file) == ""
    assert "the ledger was rewritten, or set back to an earlier state" in problems(file, noted)


def test_entries_cannot_be_changed_by_accident(where: str, ann: Account) -> None:
    with Ledger.create(where) as ledger:
        grant(ledger, ann, 1, 0)
        run = ledger._opened().run
        for statement in ("UPDATE entry SET at = ''", "DELETE FROM entry"):
            with pytest.raises(LedgerError, match="refused a change that no ledger makes"):
                run(statement)
        assert ledger.verify() == []


def test_the_tables_of_postgres_are_checked_too(new_database: Callable[[], str], ann: Account) -> None:
    with Ledger.create(new_database()) as ledger:
        grant(ledger, ann, 1, 0)
        run = ledger._opened().run
        with pytest.raises(LedgerError, match="refused a change"):
            run("TRUNCATE entry CASCADE")
        run("ALTER TABLE entry DISABLE TRIGGER entry_kept")
        run("UPDATE entry SET epsilon = '2.000000000000000000000000000000'")
        assert "entry 1 was changed" in "\n".join(ledger.verify())


def test_many_problems_are_cut_short(file: Path) -> None:
    with Ledger(file) as ledger:
        for number in range(120):
            grant(ledger, Account("sales", f"a{number}"), 1, 0)
    change(file, "UPDATE entry SET at = ''")
    found = problems(file).splitlines()
    assert (len(found), found[-1]) == (101, "and 30 more problems")
