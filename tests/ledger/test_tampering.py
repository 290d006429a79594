"""Whatever is changed by hand is named by `verify`, and the ledger refuses to go on where its end is gone."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

import pytest

from dpselect.errors import BudgetError, LedgerError
from dpselect.ledger import Account, Entry, Ledger, sql
from dpselect.ledger.terms import format_parts
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
    "number": ("number = 99", "entries are missing: 7 follows 5"),
    "kind": ("kind = 'refused'", "entry 6 was changed"),
    "dataset": ("dataset = 'sales'", "entry 6 was changed"),
    "analyst": ("analyst = 'bob'", "entry 6 was changed"),
    "epsilon": ("epsilon = '0.100000000000000000000000000000'", "entry 6 was changed"),
    "delta": ("delta = '0.000000000000000000000000000000'", "entry 6 was changed"),
    "question": ("question = 'another'", "entry 6 was changed"),
    "question_hash": ("question_hash = 'ff'", "entry 6 was changed: the hash of its question"),
    "refers_to": ("refers_to = 1", "entry 6 was changed"),
    "release": ("release = '[9]'", "entry 6 was changed"),
    "renyi": ("renyi = '0.100000000000000000000000000000'", "entry 6 was changed"),
    "terms": ("""terms = '{"parts":[["2026-10","0.2","0","0.2"]]}'""", "entry 6 is damaged: its terms are none"),
    "terms that may be": (f"terms = '{format_parts({'2026-10': charge('0.2')})}'", "entry 6 was changed"),
    "at": ("at = '1970-01-01T00:00:00+00:00'", "entry 6 was changed"),
    "previous": ("previous = digest", "entry 6 does not follow the entry before it"),
    "digest": ("digest = previous", "entry 7 does not follow the entry before it"),
}


def test_every_field_is_changed_below() -> None:
    there = {field.name for field in fields(Entry)} - {"account", "charge"}
    columns = there | {"dataset", "analyst", "epsilon", "delta", "renyi", "question_hash"}
    assert columns == {change_.partition(" = ")[0] for change_, _ in CHANGES.values()}
    assert columns == set(sql.ENTRY.split(", "))


@pytest.mark.parametrize(("change_", "found"), CHANGES.values(), ids=CHANGES)
def test_a_changed_field(file: Path, change_: str, found: str) -> None:
    change(file, f"UPDATE entry SET {change_} WHERE number = 6")
    assert found in problems(file)


@pytest.mark.parametrize("field", ["number", "epsilon", "question", "release", "at", "digest", "renyi", "terms"])
@pytest.mark.parametrize("value", ["x'ff'", "'\ufffd'", "3.5", "''", "-1"])
def test_a_field_of_another_type(file: Path, field: str, value: str) -> None:
    try:
        change(file, f"UPDATE entry SET {field} = {value} WHERE number = 6")
    except sqlite3.Error:
        return  # SQLite itself refuses it
    assert problems(file)
    with Ledger(file) as ledger, suppress(LedgerError):  # no other error than ours
        list(ledger.entries())


def test_an_entry_in_the_middle_is_deleted(file: Path) -> None:
    change(file, "DELETE FROM entry WHERE number = 4")
    found = problems(file)
    assert "entries are missing: 5 follows 3" in found
    assert "entry 5 does not follow the entry before it" in found
    assert "entry 6 settles no open reservation" in found


def test_entries_change_places(file: Path) -> None:
    change(file, *(f"UPDATE entry SET number = {n} WHERE number = {o}" for o, n in ((6, 99), (8, 6), (99, 8))))
    assert "entry 6 does not follow" in problems(file)


def test_the_tail_is_deleted(file: Path, ann: Account) -> None:
    change(file, "DELETE FROM entry WHERE number >= 10")
    found = problems(file)
    assert "the last entry is not the one on record: it has 9 entries and the record says 11" in found
    for whose in ("'ann' on 'plays'", "'plays'"):
        spent = (
            f"what is used of {whose} is epsilon 0.5 and delta 0.0000001 spent and epsilon 0.125 and delta 0 reserved"
        )
        truth = "its entries add up to epsilon 0.5 and delta 0.0000001 spent and epsilon 0 and delta 0 reserved"
        assert f"{spent}, {truth}" in found
    with Ledger(file) as ledger:
        for write in (
            lambda: grant(ledger, ann, 1, 0),
            lambda: ledger.reserve(ann, charge("0.1"), "{}"),
            lambda: ledger.repeat(ann, "one"),
        ):
            with pytest.raises(LedgerError, match="its last entries are missing or foreign\nhint: run"):
                write()


def test_the_head_is_changed(file: Path, ann: Account) -> None:
    change(file, "UPDATE meta SET head = 'x'")
    assert "the last entry is not the one on record" in problems(file)
    with Ledger(file) as ledger, pytest.raises(LedgerError, match="its last entries are missing"):
        ledger.reserve(ann, charge("0.1"), "{}")


def test_the_ledger_says_it_is_another(file: Path) -> None:
    change(file, "UPDATE meta SET ledger = 'another'")
    assert "entry 1 does not follow the entry before it" in problems(file)


def test_meta_is_gone(file: Path) -> None:
    with Ledger(file) as ledger:
        change(file, "DELETE FROM meta")
        assert "cannot be identified" in ledger.verify()[0]
        with pytest.raises(LedgerError, match="its header cannot be trusted: it is missing"):
            _ = ledger.head
    with pytest.raises(LedgerError, match="its version is missing"):
        Ledger(file)


NOTHING = "0.000000000000000000000000000000"
CACHES = {
    "account": ("UPDATE data SET epsilon = '9000.000000000000000000000000000000'", "the account of 'plays'"),
    "terms": ("UPDATE data SET terms = replace(terms, 'one user', 'nobody')", "the account of 'plays'"),
    "quota": (
        "UPDATE quota SET granted_epsilon = '9.000000000000000000000000000000' WHERE analyst = 'ann'",
        "the quota of 'ann' on 'plays'",
    ),
    "spent": (f"UPDATE used SET spent_epsilon = '{NOTHING}' WHERE analyst = 'ann'", "what is used of 'ann' on 'plays'"),
    "spent by all": (f"UPDATE used SET spent_renyi = '{NOTHING}' WHERE analyst = ''", "what is used of 'plays'"),
    "reserved": (f"UPDATE used SET reserved_epsilon = '{NOTHING}' WHERE analyst = ''", "what is used of 'plays'"),
}


@pytest.mark.parametrize(("statement", "what"), CACHES.values(), ids=CACHES)
def test_what_is_promised_granted_or_used_is_changed(file: Path, ann: Account, statement: str, what: str) -> None:
    change(file, statement)
    found = problems(file)
    assert f"{what.partition(' of ')[0]} of 'plays' is damaged: its contents do not match its seal" in found
    assert f"{what} is missing or damaged" in found
    with Ledger(file) as ledger:
        for use in (lambda: ledger.reserve(ann, charge("0.1"), "{}"), lambda: ledger.standing(ann)):
            with pytest.raises(LedgerError, match="cannot be trusted: its contents do not match its seal"):
                use()


EXCHANGED = {
    "data": (
        "dataset = 'plays'",
        "the account of 'plays' is epsilon 9000 and delta 0.2, ",
        "its entries add up to epsilon 1000 and delta 0.1, ",
    ),
    "quota": (
        "analyst = 'ann'",
        "the quota of 'ann' on 'plays' is epsilon 9 and delta 0, ",
        "its entries add up to epsilon 1 and delta 0.000001",
    ),
    "used": (
        "analyst = 'ann'",
        "what is used of 'ann' on 'plays' is epsilon 0 and delta 0 spent and epsilon 0 and delta 0 reserved, ",
        "its entries add up to epsilon 0.5 and delta 0.0000001 spent and epsilon 0.125 and delta 0 reserved",
    ),
}


@pytest.mark.parametrize(("table", "said"), EXCHANGED.items(), ids=EXCHANGED)
def test_a_row_is_exchanged_with_its_seal(file: Path, ann: Account, table: str, said: tuple[str, str, str]) -> None:
    richer, (whose, *sentences) = file.with_name("richer"), said
    with Ledger.create(richer) as ledger:
        ledger.data("plays", 9000, "0.2")
        ledger.grant(ann, 9, 0)
    connection = sqlite3.connect(richer)
    found = connection.execute(f"SELECT * FROM {table} WHERE {whose}")
    columns, row = [column[0] for column in found.description], found.fetchone()
    connection.close()
    sets = ", ".join(f"{name} = '{cell}'" for name, cell in zip(columns, row, strict=True))
    change(file, f"UPDATE {table} SET {sets} WHERE {whose}")
    for sentence in sentences:
        assert sentence in problems(file)


DELETED = {
    "account": ("data", "dataset = 'plays'", "the account of 'plays'", "there is no promise for the data 'plays'"),
    "quota": ("quota", "analyst = 'bob'", "the quota of 'bob' on 'plays'", "'bob' has no budget for the data set"),
    "used": ("used", "analyst = 'bob'", "what is used of 'bob' on 'plays'", "the usage of 'bob' on 'plays' is missing"),
    "used by all": ("used", "analyst = ''", "what is used of 'plays'", "the usage of 'bob' on 'plays' is missing"),
}


@pytest.mark.parametrize(("table", "which", "what", "refused"), DELETED.values(), ids=DELETED)
def test_a_row_is_deleted(file: Path, table: str, which: str, what: str, refused: str) -> None:
    """What was used is never nothing because it is gone."""
    change(file, f"DELETE FROM {table} WHERE {which}")
    assert problems(file) == f"{what} is missing or damaged"
    with Ledger(file) as ledger, pytest.raises(LedgerError, match=refused):
        ledger.reserve(Account("plays", "bob"), charge("0.1"), "{}")


def test_an_account_that_is_made_again_forgets_nothing_that_was_used(file: Path, ann: Account) -> None:
    change(file, "DELETE FROM data", "DELETE FROM quota")
    with Ledger(file) as ledger:
        ledger.data("plays", "0.7", "1e-6")
        ledger.grant(ann, 1, 0)
        assert ledger.standing(ann).own.total == charge("0.625", "1e-7")
        with pytest.raises(BudgetError):
            ledger.reserve(ann, charge("0.1"), "{}")
        assert "changes how an account composes" in "\n".join(ledger.verify())


def test_only_a_head_noted_elsewhere_shows_a_rollback(file: Path, ann: Account) -> None:
    earlier = file.with_name("earlier")
    earlier.write_bytes(file.read_bytes())
    with Ledger(file) as ledger:
        ask(ledger, ann, charge("0.125"))
        noted = ledger.head
    file.write_bytes(earlier.read_bytes())
    assert problems(file) == ""
    assert "the ledger was rewritten or restored from an earlier copy" in problems(file, noted)


def test_entries_cannot_be_changed_by_accident(where: str, ann: Account) -> None:
    with Ledger.create(where) as ledger:
        grant(ledger, ann, 1, 0)
        run = ledger._session._store.run
        for statement in ("UPDATE entry SET at = ''", "DELETE FROM entry"):
            with (
                pytest.raises(LedgerError, match="refused an unexpected change"),
                ledger._session._store.transaction(),
            ):
                run(statement)
        assert ledger.verify() == []


def test_the_tables_of_postgres_are_checked_too(new_database: Callable[[], str], ann: Account) -> None:
    with Ledger.create(new_database()) as ledger:
        grant(ledger, ann, 1, 0)
        run = ledger._session._store.run
        with pytest.raises(LedgerError, match="refused an unexpected change"):
            run("TRUNCATE entry CASCADE")
        run("ALTER TABLE entry DISABLE TRIGGER entry_kept")
        with ledger._session._store.transaction():
            run("UPDATE entry SET epsilon = '2.000000000000000000000000000000'")
        assert "entry 1 was changed" in "\n".join(ledger.verify())


def test_many_problems_are_cut_short(file: Path) -> None:
    with Ledger(file) as ledger:
        for number in range(120):
            grant(ledger, Account("sales", f"a{number}"), 1, 0)
    change(file, "UPDATE entry SET at = ''")
    found = problems(file).splitlines()
    assert (len(found), found[-1]) == (101, "and 32 more problems")
