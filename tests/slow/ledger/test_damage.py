"""Failing disks: full ones, flipped bytes, files and logs that end too early. Each is told, none changes a balance."""

from __future__ import annotations

import itertools
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from dpselect.errors import LedgerError
from dpselect.ledger import Account, Entry, Ledger, Standing
from tests.ledger.amounts import ask, charge, grant

PAGE = 4096


@dataclass(frozen=True)
class State:
    """All that a ledger says."""

    entries: list[Entry]
    standings: list[Standing]
    problems: list[str]


def state(path: Path, head: str | None = None) -> State:
    with Ledger(path) as ledger:
        return State(list(ledger.entries()), ledger.all_standings(), ledger.verify(head))


def fill(ledger: Ledger) -> None:
    """A ledger of about forty entries and three accounts, with questions that need pages of their own."""
    for analyst in ("ann", "bob", "eve"):
        grant(ledger, Account("plays", analyst), 1, "1e-6")
    for number in range(12):
        account = Account("plays", ("ann", "bob", "eve")[number % 3])
        long = "[" + "1234567," * (900 if number == 5 else 20) + "0]"
        ask(ledger, account, charge("0.01", "1e-8"), f'{{"question": {number}}}', long)
    ledger.repeat(Account("plays", "ann"), '{"question": 0}')


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "budget.ledger"
    with Ledger.create(path) as ledger:
        fill(ledger)
    return path


# ---- damaged files ----------------------------------------------------------------------------------------


def check_damaged(path: Path, before: State) -> bool:
    """Was it reported? If not, nothing may differ. What is said without `verify` is never another amount."""
    known = {standing.account: standing for standing in before.standings}
    try:
        with Ledger(path) as ledger:
            with suppress(LedgerError):
                assert all(known[standing.account] == standing for standing in ledger.all_standings())
            for account, standing in known.items():
                with suppress(LedgerError):
                    assert ledger.standing(account) == standing
            problems = ledger.verify()
            if problems:
                return True
            assert State(list(ledger.entries()), ledger.all_standings(), problems) == before
    except LedgerError:
        return True
    return False


def test_flipped_bytes(file: Path) -> None:
    before, good = state(file), file.read_bytes()
    assert before.problems == []
    reported = 0
    positions = [*range(100), *range(100, len(good), 131)]  # most fields stand in some forty entries
    for position in positions:
        bad = bytearray(good)
        bad[position] ^= 0xFF if position % 2 else 1 << position % 8
        file.write_bytes(bad)
        reported += check_damaged(file, before)
        for left in file.parent.glob("*-*"):
            left.unlink()
    assert len(positions) / 4 < reported < len(positions)


def test_zeroed_pages(file: Path) -> None:
    before, good = state(file), file.read_bytes()
    for page in range(len(good) // PAGE):
        file.write_bytes(good[: page * PAGE] + bytes(PAGE) + good[(page + 1) * PAGE :])
        assert check_damaged(file, before)


def test_exchanged_pages(file: Path) -> None:
    before, good = state(file), file.read_bytes()
    pages = [good[at : at + PAGE] for at in range(0, len(good), PAGE)]
    for one, other in itertools.combinations(range(len(pages)), 2):
        mixed = pages.copy()
        mixed[one], mixed[other] = pages[other], pages[one]
        file.write_bytes(b"".join(mixed))
        assert check_damaged(file, before)


def test_a_file_that_ends_too_early(file: Path) -> None:
    before, good = state(file), file.read_bytes()
    for size in [0, 1, 50, 100, 1000, *range(PAGE, len(good), PAGE), len(good) - 1]:
        file.write_bytes(good[:size])
        assert check_damaged(file, before)


# ---- damaged logs -----------------------------------------------------------------------------------------


@pytest.fixture
def crashed(tmp_path: Path) -> tuple[Path, Path, State]:
    """A file and its write-ahead log as a crash leaves them, and what the ledger said."""
    path = tmp_path / "live.ledger"
    with Ledger.create(path) as ledger:
        fill(ledger)
        file, log = tmp_path / "crashed.ledger", tmp_path / "crashed.ledger-wal"
        shutil.copy(path, file)
        shutil.copy(path.with_name(path.name + "-wal"), log)
        return file, log, State(list(ledger.entries()), ledger.all_standings(), ledger.verify())


def test_a_crash_loses_nothing(crashed: tuple[Path, Path, State]) -> None:
    file, _, before = crashed
    assert state(file, before.entries[-1].digest) == before


def damaged_logs(good: bytes) -> Iterator[bytes]:
    for size in range(0, len(good), 9973):
        yield good[:size]
        yield good[:size] + bytes(len(good) - size)
        yield good[:size] + bytes([good[size] ^ 0xFF]) + good[size + 1 :]


@pytest.mark.filterwarnings("ignore:.* may be read by every user:dpselect.errors.LedgerWarning")
def test_damaged_logs(crashed: tuple[Path, Path, State], tmp_path: Path) -> None:
    """What a log lost is the end of the ledger, as a whole; a head noted elsewhere shows that it is gone."""
    file, log, before = crashed
    shorter = 0
    for number, bad in enumerate(damaged_logs(log.read_bytes())):
        copy = tmp_path / f"copy{number}"
        shutil.copy(file, copy)
        copy.with_name(copy.name + "-wal").write_bytes(bad)
        after = state(copy)
        assert after.problems == []
        assert after.entries == before.entries[: len(after.entries)]
        lost = len(after.entries) < len(before.entries)
        assert ("restored from an earlier copy" in str(state(copy, before.entries[-1].digest).problems)) == lost
        shorter += lost
    assert shorter > 10


# ---- full disks -------------------------------------------------------------------------------------------


def spend_until_it_fails(ledger: Ledger, account: Account) -> LedgerError:
    for number in range(10_000):
        try:
            ask(ledger, account, charge("0.0001"), f"{number}", "x" * 500)
        except LedgerError as error:
            return error
    raise AssertionError("it never failed")


def check_after_full(ledger: Ledger, path: Path, account: Account) -> None:
    """All that was answered is charged, and the ledger goes on once there is room."""
    count, spent = ledger.count, ledger.standing(account).own.spent
    assert ledger.verify() == []
    ask(ledger, account, charge("0.0001"))
    assert ledger.standing(account).own.spent == spent + charge("0.0001")
    assert state(path).problems == []
    assert ledger.count == count + 3


def test_no_more_pages(file: Path, ann: Account) -> None:
    with Ledger(file) as ledger:
        store = ledger._session._store
        store.run("PRAGMA max_page_count = 40")
        error = spend_until_it_fails(ledger, ann)
        assert str(error).endswith("could not be written: the disk is full\nhint: make room, then ask again")
        store.run("PRAGMA max_page_count = 100000")
        check_after_full(ledger, file, ann)


@contextmanager
def no_file_longer_than(size: int) -> Iterator[None]:
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits on the size of files")
@pytest.mark.parametrize("size", [100_000, 150_001, 301_234])
def test_no_room_for_the_log(file: Path, ann: Account, size: int) -> None:
    with Ledger(file) as ledger:
        with no_file_longer_than(size):
            error = spend_until_it_fails(ledger, ann)
        assert "could not be" in str(error)
        check_after_full(ledger, file, ann)


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits on the size of files")
def test_no_room_for_a_new_ledger(tmp_path: Path) -> None:
    with no_file_longer_than(5_000), pytest.raises(LedgerError, match="could not be"):
        Ledger.create(tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


def test_busy_for_too_long(file: Path, ann: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpselect.ledger.sqlite_store.LOCK_TIMEOUT_SECONDS", 0.1)
    with Ledger(file) as one, Ledger(file) as other, one._session._store.transaction():
        with pytest.raises(LedgerError, match="was in use by others for 60 seconds"):
            other.reserve(ann, charge("0.1"), "{}")
        assert other.standing(ann).own.spent == charge("0.04", "4e-8")
