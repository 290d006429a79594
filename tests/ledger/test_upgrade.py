"""A ledger goes on in another: all of it is there, exactly, and of the two only one can be spent from."""

from __future__ import annotations

import sqlite3
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dpselect as dps
from dpselect._ground.periods import parse_periods
from dpselect.audit.report import report
from dpselect.command.ledger_rows import history_rows
from dpselect.errors import BudgetError, LedgerError
from dpselect.ledger import Account, Charge, Entry, EntryKind, Ledger, sql
from dpselect.ledger.entry import chain_entry
from dpselect.ledger.journal import Journal
from dpselect.ledger.locations import create_store, open_store
from dpselect.ledger.rows import entry_row
from dpselect.ledger.terms import Chain, format_chain
from tests.ledger.amounts import ask, charge, grant, started

ANN, BOB = Account("plays", "ann"), Account("plays", "bob")
OF_MONTHS, THAT_ADDS = Account("months", "ann"), Account("adds", "eve")
CLOSED = "is closed: ledger [0-9a-f]{32} continues it\nhint: name that ledger instead"


@pytest.fixture
def places(new_database: Callable[[], str], tmp_path: Path, request: pytest.FixtureRequest) -> tuple[str, str]:
    """An old place and a new one."""
    files = iter(["old.ledger", "new.ledger"])
    one, two = (new_database() if kind == "postgres" else str(tmp_path / next(files)) for kind in request.param)
    return one, two


PAIRS = [(one, two) for one in ("sqlite", "postgres") for two in ("sqlite", "postgres")]
in_all_places = pytest.mark.parametrize("places", PAIRS, indirect=True, ids="-".join)
in_two_places = pytest.mark.parametrize("places", [PAIRS[0], PAIRS[-1]], indirect=True, ids="-".join)


@pytest.fixture
def old(tmp_path: Path) -> str:
    return lived(str(tmp_path / "old.ledger"))


@pytest.fixture
def new(tmp_path: Path) -> str:
    return str(tmp_path / "new.ledger")


def lived(where: str) -> str:
    """A ledger in which everything happened that can: each sort of account, price and end of a question."""
    months = parse_periods("at", "month", "2026-09..2026-10", "Europe/Berlin")
    with Ledger.create(where) as ledger:
        ledger.data("plays", 1, "1e-5", keep="10%")
        ledger.data("pairs", 1, 0, user=["user", "device"], unit="one pair")
        ledger.data("adds", 3, 0)
        ledger.data("months", 2, "1e-5", period="month", time="at", timezone="Europe/Berlin")
        for account, delta in ((ANN, "1e-6"), (BOB, "1e-6"), (OF_MONTHS, "1e-6"), (THAT_ADDS, 0)):
            ledger.grant(account, "0.75", delta, by="olga")
        ask(ledger, ANN, Charge.round_up(Fraction(1, 3), Fraction("1e-8"), Fraction(1, 70)), "a third", "[1]")
        ask(
            ledger, ANN, Charge.round_up(Fraction(1, 7), Fraction(0), Fraction(1, 300)), "a third", "[2]"
        )  # a fresh answer
        held = started(ledger, BOB, Charge.round_up(Fraction(1, 2), Fraction("1e-8"), Fraction(1, 9)), "less")
        ledger.settle(held, Charge.round_up(Fraction(1, 11), Fraction("1e-8"), Fraction(1, 99)), "[3]")
        assert ledger.repeat(BOB, "a third") == "[2]"
        with pytest.raises(BudgetError):
            ledger.reserve(BOB, charge("40"), "too much")
        ledger.give_back(ledger.reserve(BOB, charge("0.125"), "given back", approved_by="olga"))
        ask(ledger, THAT_ADDS, charge("0.7"), "adds", None)
        of_months = ledger.reserve(
            OF_MONTHS, Charge.round_up(Fraction(1, 3), Fraction(0), Fraction(1, 50)), "m", during=months
        )
        ledger.start(of_months)
        ledger.settle(of_months, Charge.round_up(Fraction(1, 13), Fraction(0), Fraction(1, 500)), "[4]")
        ledger.data("plays", 2, "1e-5")
        ledger.grant(BOB, "0.25", 0)
        ledger.reserve(ANN, Charge.round_up(Fraction(1, 17), Fraction(0), Fraction(1, 600)), "unread")
        started(ledger, ANN, Charge.round_up(Fraction(1, 19), Fraction("1e-9"), Fraction(1, 700)), "dead")
    return where


def state(ledger: Ledger) -> dict[str, Any]:
    """All that decides what may still be asked, and what was said: without numbers and digests of entries."""
    balances = ledger.all_standings()
    rows = [row for row, entry in history_rows(ledger) if entry.account.dataset]
    records = {one: report(ledger, one) for one in ("plays", "adds", "months")}
    return {
        "balances": balances,
        "accounts": ledger.data_accounts(),
        "standings": [ledger.standing(one.account, one.period) for one in balances],
        "pending": [(one.entry.account, one.entry.parts, one.may_have_read) for one in ledger.pending()],
        "stored": [
            found and found.release
            for found in (ledger.find_settlement("plays", key) for key in ("a third", "less", "x"))
        ],
        "history": [{**row, "number": 0} for row in rows],
        "records": {
            name: [record["changes"][-8:], record["periods"], record["analysts"], *without_numbers(record)]
            for name, record in ((name, changed(record)) for name, record in records.items())
        },
    }


def changed(record: Any) -> Any:
    return {**record, "changes": [one for one in record["changes"] if one["epsilon"] is not None]}


def without_numbers(record: Any) -> list[list[dict[str, Any]]]:
    return [[{**row, "number": 0} for row in record[part]] for part in ("questions", "used")]


# ---- what is carried over -------------------------------------------------------------------------------------


@in_all_places
def test_all_of_it_is_there_exactly(places: tuple[str, str]) -> None:
    one, two = places
    with Ledger(lived(one)) as ledger:
        before, entries, head = state(ledger), list(ledger.entries()), ledger.head
    with Ledger.upgrade(one, two) as new, Ledger(one) as old:
        assert state(new) == state(old) == before
        assert new.count == len(entries) + 2
        first, *carried_over, opened = new.entries()
        assert (first.kind, first.charge, opened.kind) == (EntryKind.CONTINUES, charge("0"), EntryKind.OPENED)
        assert first.terms == format_chain(Chain(new.continued_from.ledger, sql.FORMAT, len(entries), head))  # type: ignore[union-attr]
        assert [(number, digest) for number, digest, _ in new.former_entries()] == [
            (e.number, e.digest) for e in entries
        ]
        assert [replace(e, number=0, refers_to=0, previous="", digest="") for e in carried_over] == [
            replace(e, number=0, refers_to=0, previous="", digest="") for e in entries
        ]
        assert (new.verify(), old.verify(), old.verify(head)) == ([], [], [])
        noted = [
            entry.digest for entry in (*entries[::9], *[*old.entries()][-2:])
        ]  # at any time, and after it was closed
        assert {digest: new.verify(digest) for digest in noted} == {digest: [] for digest in noted}
        assert new.verify("0" * 64) != []
        kept = old.continued_in
        assert kept is not None
        assert (kept.ledger, kept.entries, kept.head) == (
            Journal(new._session._store).meta().ledger,
            new.count - 1,
            opened.previous,
        )
        assert new.repeat(BOB, "a third") == "[2]"
        assert new.repeat(BOB, "another key") is None
        for pending in list(new.pending()):
            if not pending.may_have_read:
                new.give_back(pending)
        assert [one.entry.question for one in new.pending()] == ["dead"]
        ask(new, ANN, charge("0.001"), "more")
        assert new.verify(head) == []


def test_twice(old: str, new: str, tmp_path: Path) -> None:
    """A head of the first ledger is met in the third, and both that were closed stay closed."""
    with Ledger(old) as first:
        before, head = state(first), first.head
        heads = [head, *[entry.digest for entry in first.entries()][::9]]
        with Ledger.upgrade(old, new) as second:
            second.grant(BOB, "0.125", 0)
            heads += [first.head, *[entry.digest for entry in second.entries()][::9]]
            with Ledger.upgrade(new, tmp_path / "third") as third:
                heads += [second.head]
                assert {digest: third.verify(digest) for digest in heads} == {digest: [] for digest in heads}
                assert state(third)["records"]["adds"] == before["records"]["adds"]
                assert third.all_standings() == second.all_standings() != first.all_standings()
                assert len([0 for number, _, _ in third.former_entries() if number == 5]) == 2
                for closed in (first, second):
                    with pytest.raises(LedgerError, match=CLOSED):
                        ask(closed, ANN, charge("0.001"))
    with pytest.raises(LedgerError, match="continues it, and is not at that place"):
        Ledger.upgrade(old, tmp_path / "third")


def test_an_empty_ledger(tmp_path: Path) -> None:
    Ledger.create(tmp_path / "old").close()
    (tmp_path / "new").touch(0o644)  # as a process leaves it that died very early
    with Ledger.upgrade(tmp_path / "old", tmp_path / "new") as new:
        assert (new.verify(), new.count, [*new.former_entries()]) == ([], 2, [])
        grant(new, ANN, 1, 0)
    assert (tmp_path / "new").stat().st_mode & 0o777 == (0o666 if sys.platform == "win32" else 0o600)


def test_stored_answers_are_free_where_the_key_is_the_same(old: str, new: str) -> None:
    votes = {"user": [1, 2, 3, 4], "item": ["a", "a", "a", "b"]}

    def asked(where: str, snapshot: str) -> dps.Release:
        budget = dps.Budget.open(where, data="adds", analyst="eve", snapshot=snapshot)
        return dps.Dataset(votes, user="user", item="item", budget=budget).choose(["a", "b"], epsilon="0.01")

    first = asked(old, "today")
    with Ledger.upgrade(old, new) as ledger:
        spent = ledger.standing(THAT_ADDS).own.spent
        again = asked(new, "today")
        assert (again.labels, again.charged.numbers["repeated"]) == (first.labels, True)  # type: ignore[union-attr]
        assert ledger.standing(THAT_ADDS).own.spent == spent
        assert asked(new, "tomorrow").charged.numbers["repeated"] is False  # type: ignore[union-attr]
        assert ledger.standing(THAT_ADDS).own.spent == spent + charge("0.01")
        with pytest.raises(LedgerError, match=CLOSED):
            asked(old, "today")


@pytest.mark.parametrize("form", sql.READABLE_FORMATS)
def test_older_forms_are_read_and_never_written(
    old: str, new: str, tmp_path: Path, form: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        older.setattr(sql, "FORMAT", form)
        of_form = lived(str(tmp_path / "older"))
    with Ledger(of_form) as ledger:
        before = state(ledger)
        told_of = f"has format {form}, but this dpselect writes format {sql.FORMAT}\nhint: `dpselect ledger upgrade"
        for use in uses(ledger):
            with pytest.raises(LedgerError, match=told_of):
                use()
        with Ledger.upgrade(of_form, new) as after:
            assert state(after) == before
            assert (after.verify(ledger.head), ledger.verify()) == ([], [])
            assert after.continued_from.form == form  # type: ignore[union-attr]
    assert old != of_form


# ---- only one is open -----------------------------------------------------------------------------------------


def uses(ledger: Ledger) -> Sequence[Callable[[], object]]:
    """Everything by which an entry is written."""
    unread, dead, *_ = ledger.pending()
    return (
        lambda: ledger.data("plays", 9, "0.01"),
        lambda: ledger.grant(ANN, 1, 0),
        lambda: ledger.reserve(ANN, charge("0.01"), "q"),
        lambda: ledger.repeat(BOB, "a third"),
        lambda: ledger.record_repeats([(BOB, "a third", 10)]),
        lambda: ledger.give_back(unread),
        lambda: ledger.give_back(dead),
        ledger.check_open,
    )


@in_two_places
def test_nothing_is_spent_from_the_old_one(places: tuple[str, str]) -> None:
    """Neither by who has it open, nor by who opens it, nor by a program that does not know that it was closed."""
    one, two = places
    with Ledger(lived(one)) as before:
        unread = before.reserve(ANN, charge("0.01"), "waits")
        reads = started(before, ANN, charge("0.02"), "runs")
        with Ledger.upgrade(one, two) as new, Ledger(one) as after:
            count = after.count
            with pytest.raises(LedgerError, match=CLOSED):
                before.start(unread)
            with pytest.raises(LedgerError, match=CLOSED):
                before.settle(reads, charge("0.01"), "[9]")
            for ledger in (before, after):
                for use in uses(ledger) if ledger is before else (ledger.check_open,):
                    with pytest.raises(LedgerError, match=CLOSED):
                        use()
                store = ledger._session._store
                last = list(ledger.entries())[-1]
                row = entry_row(chain_entry(last, last.number + 1, last.digest))
                with pytest.raises(LedgerError, match="refused an unexpected change"), store.transaction():
                    store.run(sql.NEW_ENTRY, row)
            assert (after.count, after.verify()) == (count, [])
            held = {one.entry.question: one.may_have_read for one in new.pending()}
            assert held == {"unread": False, "dead": True, "waits": False, "runs": True}


def test_whoever_spends_meanwhile_is_in_the_new_one_or_has_no_answer(tmp_path: Path) -> None:
    one, two = tmp_path / "old", tmp_path / "new"
    with Ledger.create(one) as ledger:
        grant(ledger, ANN, 100, "0.01")
    answered: list[str] = []
    begun, refused = threading.Barrier(4), list[str]()

    def spend(name: int) -> None:
        with Ledger(one) as ledger:
            begun.wait()
            for number in range(10_000):
                try:
                    ask(ledger, ANN, charge("0.001"), f"{name} {number}", "[1]")
                except LedgerError as error:
                    refused.append(str(error))
                    return
                answered.append(f"{name} {number}")

    threads = [threading.Thread(target=spend, args=(name,)) for name in range(3)]
    for thread in threads:
        thread.start()
    begun.wait()
    while len(answered) < 20:
        pass
    with Ledger.upgrade(one, two) as new:
        for thread in threads:
            thread.join()
        assert len(refused) == 3
        assert all("is closed: ledger" in told_of for told_of in refused)
        kept = [entry.question for entry in new.entries() if entry.kind is EntryKind.HOLD]
        assert set(answered) <= set(kept)
        open_ = sum(1 for _ in new.pending())
        assert len(kept) - open_ == len(answered)
        usage = new.standing(ANN).own
        assert usage.spent.epsilon == len(answered) * Fraction(1, 1000)
        assert usage.reserved.epsilon == open_ * Fraction(1, 1000)
        assert new.verify() == []


# ---- what is refused ------------------------------------------------------------------------------------------


def test_no_ledger_is_overwritten(old: str, new: str, tmp_path: Path) -> None:
    Ledger.create(new).close()
    before = Path(new).read_bytes()
    other, foreign, text = tmp_path / "other", tmp_path / "foreign", tmp_path / "text"
    lived(str(other))
    unfinished(str(other), str(tmp_path / "of another"))
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE songs (name TEXT)")
    connection.close()
    foreign.chmod(0o600)
    text.write_text("a text that is no ledger")
    text.chmod(0o600)
    for there in (new, old, str(other), str(tmp_path / "of another")):
        with pytest.raises(LedgerError, match="is already there\nhint: a ledger is never overwritten"):
            Ledger.upgrade(old, there)
    for there, told_of in ((foreign, "its tables do not exist"), (text, "not a SQLite"), (tmp_path, "is a folder")):
        with pytest.raises(LedgerError, match=told_of):
            Ledger.upgrade(old, there)
    with pytest.raises(LedgerError, match="there is no ledger at"):
        Ledger.upgrade(tmp_path / "gone", new)
    assert Path(new).read_bytes() == before
    with Ledger(old) as ledger:
        ask(ledger, ANN, charge("0.001"))
        assert ledger.verify() == []


def test_a_damaged_ledger_is_not_continued(old: str, new: str) -> None:
    with sqlite3.connect(old) as connection:
        connection.execute("DROP TRIGGER entry_UPDATE")
        connection.execute("UPDATE entry SET release = '[7]' WHERE release = '[1]'")
    connection.close()
    with pytest.raises(LedgerError, match=r"is not clean: entry \d+ was changed"):
        Ledger.upgrade(old, new)
    assert not Path(new).exists()
    with Ledger(old) as ledger:
        ask(ledger, ANN, charge("0.001"))


def unfinished(old: str, new: str) -> None:
    """An upgrade that ends before the old ledger is closed."""

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patched, suppress(KeyboardInterrupt):
        patched.setattr("dpselect.ledger.upgrade._check_whole", dies)
        Ledger.upgrade(old, new)


@in_two_places
def test_an_interrupted_upgrade_leaves_the_old_one_open_and_is_made_anew(places: tuple[str, str]) -> None:
    one, two = places
    unfinished(lived(one), two)
    for opened in (lambda: Ledger(two), lambda: Ledger.create(two)):
        with pytest.raises(
            LedgerError, match=r"is unfinished: an upgrade was interrupted\nhint: run the same|already there"
        ):
            opened()
    with Ledger(one) as ledger:
        assert ledger.continued_in is None
        ask(ledger, BOB, charge("0.01"), "after it", "[6]")
        before = state(ledger)
    unfinished(one, two)
    with Ledger.upgrade(one, two) as new:
        assert state(new) == before
        assert new.verify() == []
        assert new.repeat(BOB, "after it") == "[6]"


def test_only_the_ledger_that_the_old_one_names_is_opened(old: str, new: str, tmp_path: Path) -> None:
    """Of two that were begun, one; and it opens once."""
    unfinished(old, str(tmp_path / "first"))
    Ledger.upgrade(old, new).close()
    with pytest.raises(LedgerError, match="continues it, and is not at that place"):
        Ledger.upgrade(old, tmp_path / "first")
    with pytest.raises(LedgerError, match="is unfinished"):
        Ledger(tmp_path / "first")
    with Ledger.upgrade(old, new) as again:  # nothing is left to do
        assert len([entry for entry in again.entries() if entry.kind is EntryKind.OPENED]) == 1


# ---- what verify refuses --------------------------------------------------------------------------------------


def forged(source: Ledger, where: Path, change: Callable[[list[Entry]], list[Entry]]) -> list[str]:
    """What is said of a ledger with other entries whose own digests and sums are sound."""
    store = create_store(where)
    sql.build_tables(store)
    meta = Journal(source._session._store).meta()
    store.run("BEGIN")
    previous = sql.genesis_digest(meta.ledger, meta.form)
    store.run("UPDATE meta SET ledger = ? WHERE id = 1", (meta.ledger,))
    for number, entry in enumerate(change(list(source.entries())), 1):
        made = chain_entry(entry, number, previous, entry.at)
        Journal(store).write(made)
        previous = made.digest
    store.run("COMMIT")
    store.close()
    with Ledger(where) as ledger:
        return [one for one in ledger.verify() if "add up to" not in one and "missing or damaged" not in one]


def without(kind: EntryKind) -> Callable[[list[Entry]], list[Entry]]:
    return lambda entries: [entry for entry in entries if entry.kind is not kind]


def cheaper(entries: list[Entry]) -> list[Entry]:
    at = next(place for place, entry in enumerate(entries) if entry.kind is EntryKind.SETTLE)
    return [*entries[:at], replace(entries[at], charge=charge("0.001")), *entries[at + 1 :]]


def with_a_grant(entries: list[Entry]) -> list[Entry]:
    made = next(entry for entry in entries if entry.kind is EntryKind.GRANT)
    return [*entries[:-1], replace(made, charge=charge("0.76", "1e-6")), entries[-1]]


def of_another(entries: list[Entry]) -> list[Entry]:
    assert entries[-1].terms is not None
    return [*entries[:-1], replace(entries[-1], terms=entries[-1].terms.replace('"head":"', '"head":"0'))]


def shorter(entries: list[Entry]) -> list[Entry]:
    return entries[:4]


def begun_again(entries: list[Entry]) -> list[Entry]:
    return [*entries, entries[0]]


FORGED: dict[str, tuple[Callable[[list[Entry]], list[Entry]], str]] = {
    "as it is": (lambda entries: entries, ""),
    "nothing before": (without(EntryKind.CONTINUES), "opens a ledger that continues no other"),
    "never opened": (without(EntryKind.OPENED), "the ledger was never opened, which continues ledger "),
    "a price that is less": (cheaper, "and they are not what that ledger has"),
    "one more grant": (with_a_grant, "does not open the ledger after the last entry that was carried over"),
    "another end": (of_another, "does not name how the ledger ended that this one continues"),
    "not all of it": (shorter, "entries are missing that were to be carried over from ledger "),
    "another beginning": (begun_again, "continues another ledger, and is not the first"),
}


@pytest.mark.parametrize(("change", "found"), FORGED.values(), ids=FORGED)
def test_what_was_carried_over_is_proved_by_the_new_ledger_alone(
    old: str, new: str, tmp_path: Path, change: Callable[[list[Entry]], list[Entry]], found: str
) -> None:
    with Ledger.upgrade(old, new) as ledger:
        problems = forged(ledger, tmp_path / "forged", change)
    assert (problems == []) if not found else any(found in one for one in problems), problems


def test_an_entry_after_the_last_one_is_told(old: str, new: str) -> None:
    """As an older program on a place that lets it: the trigger is gone."""
    Ledger.upgrade(old, new).close()
    store = open_store(old)
    with store.transaction():
        store.run("DROP TRIGGER entry_closed")
        journal = Journal(store)
        meta = journal.meta()
        last = journal.entry(5)
        assert last is not None
        journal.write(chain_entry(last, meta.entries + 1, meta.head))
    store.close()
    with Ledger(old) as ledger:
        assert any("was written after the ledger was closed" in one for one in ledger.verify())


def test_of_two_upgrades_at_once_one_is_made(old: str, tmp_path: Path) -> None:
    """They wait for each other at the lock of the old ledger."""
    begun, said = threading.Barrier(2), dict[str, str]()

    def upgrade(name: str) -> None:
        begun.wait()
        try:
            Ledger.upgrade(old, tmp_path / name).close()
            said[name] = ""
        except LedgerError as error:
            said[name] = str(error)

    threads = [threading.Thread(target=upgrade, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (made,) = (name for name, told_of in said.items() if not told_of)
    (refused,) = (name for name in said if name != made)
    assert "continues it" in said[refused]
    with Ledger(tmp_path / made) as ledger:
        assert ledger.verify() == []
    with pytest.raises(LedgerError, match=r"there is no ledger|is unfinished"):
        Ledger(tmp_path / refused)
