"""What is said where there is no ledger, or one that this user or this program cannot use."""

from __future__ import annotations

import getpass
import itertools
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dpselect.errors import LedgerError
from dpselect.ledger import Account, Ledger, sql
from tests.ledger.amounts import ask, charge, grant, rest

NOBODY = 65534
for_everybody = pytest.mark.filterwarnings("ignore:.* may be read by every user:dpselect.errors.LedgerWarning")
as_another_user = pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() != 0, reason="needs root, to become a user without rights"
)

not_windows = pytest.mark.skipif(sys.platform == "win32", reason="needs what files can do on Unix")


@pytest.fixture
def file(tmp_path: Path, ann: Account) -> Path:
    """A ledger with one question, closed, in a folder that others may enter."""
    path = tmp_path / "budget.ledger"
    with Ledger.create(path) as ledger:
        grant(ledger, ann, 1, 0)
        ask(ledger, ann, charge("0.25"), "q", "[1]")
    return path


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match=r"there is no ledger at .*x\nhint: make one with `dpselect ledger init .*x`"):
        Ledger(tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_a_file_of_two_names(file: Path, ann: Account) -> None:
    second = file.with_name("second.ledger")
    with Ledger(file) as ledger:
        second.hardlink_to(file)
        with pytest.raises(LedgerError, match=r"has another name \(a hard link\)"):
            ledger.reserve(ann, charge("0.5"), "q")
    for name in (file, second):
        with pytest.raises(LedgerError, match="hint: remove that name"):
            Ledger(name)
    second.unlink()
    with Ledger(file) as ledger:
        ask(ledger, ann, charge("0.75"), "q", "[1]")


@for_everybody
def test_files_that_are_no_ledger(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"")
    with pytest.raises(LedgerError, match="is empty, not a ledger"):
        Ledger(path)
    path.write_text("plain words, long enough to fill the header of a database file" * 100, "utf-8")
    with pytest.raises(LedgerError, match="is not a ledger: the file is not a SQLite database"):
        Ledger(path)
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE meta (id INTEGER)")
    other.close()
    with pytest.raises(LedgerError, match="is not a ledger: its tables do not exist"):
        Ledger(path)
    with pytest.raises(LedgerError, match="is a folder"):
        Ledger(tmp_path)
    with pytest.raises(LedgerError, match="cannot be opened: it is no path"):
        Ledger("a\0b")


def test_addresses_that_are_none() -> None:
    for make in (Ledger, Ledger.create):
        with pytest.raises(LedgerError, match="address that starts with mysql://"):
            make("mysql://ann:secret@host/db")


def test_folders_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match=r"no ledger can be made at .*: No such file"):
        Ledger.create(tmp_path / "no" / "x")


@not_windows
def test_names_of_files_with_signs(tmp_path: Path, ann: Account) -> None:
    path = tmp_path / "50% ?mode=ro#é.ledger"
    with Ledger.create(path) as ledger:
        grant(ledger, ann, 1, 0)
    assert path.exists()
    with Ledger(str(path)) as ledger:
        assert ledger.count == 2


def test_a_ledger_that_was_not_finished_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql, "_CREATE_TABLES", (*sql._CREATE_TABLES, "CREATE TABLE ("))
    with pytest.raises(LedgerError, match="failed"):
        Ledger.create(tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


# ---- rights -----------------------------------------------------------------------------------------------


@contextmanager
def nobody() -> Iterator[None]:
    """As a user who owns nothing."""
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def others_may_enter(tmp_path: Path, file: Path) -> None:
    """Its owner lets everybody read the ledger."""
    file.chmod(0o644)
    ours = (path for path in (tmp_path, *tmp_path.parents) if path.owner() == getpass.getuser())
    for folder in itertools.takewhile(lambda path: path.name.startswith(("test_", "popen-", "pytest-")), ours):
        folder.chmod(0o755)


@for_everybody
@as_another_user
@pytest.mark.usefixtures("others_may_enter")
def test_a_file_that_may_only_be_read(file: Path, ann: Account) -> None:
    with nobody(), Ledger(file) as ledger:
        assert ledger.standing(ann).own.spent == charge("0.25")
        assert len(list(ledger.entries())) == 5
        assert ledger.verify(ledger.head) == []
        for write in (lambda: grant(ledger, ann, 1, 0), lambda: ledger.repeat(ann, "q")):
            with pytest.raises(LedgerError, match=r"this user may not write to the ledger.*\nhint: ask its owner"):
                write()
    assert sorted(path.name for path in file.parent.iterdir()) == [file.name]


@for_everybody
@as_another_user
@pytest.mark.usefixtures("others_may_enter")
def test_a_file_that_others_write_meanwhile(file: Path, ann: Account) -> None:
    with Ledger(file) as writer:
        ask(writer, ann, charge("0.25"))
        with nobody(), Ledger(file) as reader:
            assert reader.standing(ann).own.spent == charge("0.5")
            assert reader.verify(reader.head) == []
        file.with_name(file.name + "-wal").chmod(0o600)
        with nobody(), pytest.raises(LedgerError, match="may not read its write-ahead log"):
            Ledger(file)


@as_another_user
@pytest.mark.usefixtures("others_may_enter")
def test_a_file_that_may_not_be_read(file: Path) -> None:
    file.chmod(0o600)
    with nobody(), pytest.raises(LedgerError, match="may not be read by this user"):
        Ledger(file)
    file.parent.chmod(0o700)
    with nobody(), pytest.raises(LedgerError, match="cannot be opened: Permission denied"):
        Ledger(file)
    with nobody(), pytest.raises(LedgerError, match=r"no ledger can be made at .*: Permission denied"):
        Ledger.create(file.with_name("other"))


# ---- versions ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [min(sql.READABLE_FORMATS) - 1, sql.FORMAT + 1])
def test_a_ledger_of_another_form_is_refused(where: str, form: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as other:
        other.setattr(sql, "FORMAT", form)
        Ledger.create(where).close()
        Ledger(where).close()
    told = f"has format {form}, but this dpselect reads format {sql.FORMAT}\n"
    told += "hint: use the version of dpselect that made it"
    with pytest.raises(LedgerError, match=told):
        Ledger(where)


# ---- PostgreSQL -------------------------------------------------------------------------------------------


def test_a_database_without_a_ledger(new_database: Callable[[], str]) -> None:
    with pytest.raises(LedgerError, match="is not a ledger: its tables do not exist"):
        Ledger(new_database())


def test_no_server() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(
        LedgerError, match=r"no connection to the ledger at postgresql://127\.0\.0\.1:1/db\nhint"
    ) as error:
        Ledger("postgresql://ann:secret@127.0.0.1:1/db")
    assert "ann" not in str(error.value)
    for awkward in ("postgresql://ann:secret@host/db?nonsense=secret", "postgresql://ann:12/secret@host/db"):
        with pytest.raises(LedgerError, match="is not a PostgreSQL address") as error:
            Ledger.create(awkward)
        assert "secret" not in str(error.value)


def test_psycopg_is_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(LedgerError, match=r"needs psycopg\nhint: pip install 'psycopg\[binary\]'"):
        Ledger("postgresql://host/db")


def test_a_role_that_may_only_read(new_database: Callable[[], str], ann: Account) -> None:
    import psycopg

    address = new_database()
    role = "reader_of_" + address.partition("@/")[2].partition("?")[0]
    with Ledger.create(address) as ledger:
        grant(ledger, ann, 1, 0)
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {role} LOGIN".encode())
    as_reader = address.replace("dpselect@", f"{role}@")
    with pytest.raises(LedgerError, match="or this user may not see them"):
        Ledger(as_reader)
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute(f"GRANT USAGE ON SCHEMA dpselect TO {role}".encode())
        owner.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA dpselect TO {role}".encode())
    with Ledger(as_reader) as ledger:
        assert rest(ledger.standing(ann)) == charge("1")
        assert ledger.verify() == []
        with pytest.raises(LedgerError, match="this user may not write to the ledger"):
            grant(ledger, ann, 1, 0)


def test_a_schema_of_another_user(new_database: Callable[[], str], ann: Account) -> None:
    import psycopg

    address = new_database()
    name = address.partition("@/")[2].partition("?")[0]
    keeper, mallory = f"keeper_of_{name}", f"mallory_of_{name}"
    as_keeper = address.replace("dpselect@", f"{keeper}@")
    with psycopg.connect(address, autocommit=True) as server:
        for role in (keeper, mallory):
            server.execute(f"CREATE ROLE {role} LOGIN".encode())
        server.execute(f"CREATE SCHEMA dpselect AUTHORIZATION {mallory}".encode())
        server.execute(b"GRANT ALL ON SCHEMA dpselect TO PUBLIC")
        with pytest.raises(LedgerError, match="its schema dpselect belongs to another user, who could remove"):
            Ledger.create(as_keeper)
        server.execute(f"ALTER SCHEMA dpselect OWNER TO {keeper}".encode())
        with Ledger.create(as_keeper) as ledger:
            grant(ledger, ann, 1, 0)


def test_a_server_that_goes_away(new_database: Callable[[], str], ann: Account) -> None:
    import psycopg

    address = new_database()
    with Ledger.create(address) as ledger:
        grant(ledger, ann, 1, 0)
        with psycopg.connect(address, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'dpselect'")
        for _ in range(2):
            with pytest.raises(
                LedgerError, match="lost its connection: it is unknown whether the last step was recorded"
            ):
                ledger.reserve(ann, charge("0.5"), "{}")
    with Ledger(address) as ledger:
        assert rest(ledger.standing(ann)) == charge("1")


def test_an_unfinished_transaction_ends_with_its_error(ledger: Ledger, ann: Account, where: str) -> None:
    grant(ledger, ann, 1, 0)
    with pytest.raises(LedgerError, match="has no budget"):
        ledger.reserve(Account("plays", "zoe"), charge("0.5"), "{}")
    with Ledger(where) as other:
        ask(other, ann, charge("0.5"))
    ask(ledger, ann, charge("0.5"))
    assert ledger.verify() == []


def test_an_interruption_leaves_no_transaction_open(
    ledger: Ledger, ann: Account, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    grant(ledger, ann, 1, 0)
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr("dpselect.ledger.journal.used_row", interrupted)  # after the entry was written
        with pytest.raises(KeyboardInterrupt):
            ledger.reserve(ann, charge("0.5"), "{}")
    with Ledger(where) as other:
        assert other.count == 2
        ask(other, ann, charge("0.5"))
    assert ledger.verify() == []


@not_windows
def test_a_file_that_is_replaced_while_open(file: Path, ann: Account) -> None:
    with Ledger(file) as ledger:
        copy = file.with_name("copy")
        shutil.copy(file, copy)
        copy.replace(file)
        with pytest.raises(LedgerError, match="was removed or replaced while it was open"):
            ledger.reserve(ann, charge("0.5"), "{}")
        file.unlink()
        with pytest.raises(LedgerError, match="was removed or replaced while it was open"):
            grant(ledger, ann, 1, 0)


def test_another_working_folder(tmp_path: Path, ann: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Ledger.create("budget") as ledger:
        grant(ledger, ann, 1, 0)
    with Ledger("budget") as ledger:
        monkeypatch.chdir("/")
        ask(ledger, ann, charge("0.5"))


@not_windows
def test_a_link_to_the_file(file: Path, ann: Account, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "link").symlink_to(file)
    with Ledger(elsewhere / "link") as ledger, Ledger(file) as direct:
        ask(ledger, ann, charge("0.5"))
        assert direct.head == ledger.head
    assert [path.name for path in elsewhere.iterdir()] == ["link"]


def test_a_copy_of_the_file_is_the_ledger(file: Path, tmp_path: Path) -> None:
    shutil.copy(file, tmp_path / "copy")
    with Ledger(tmp_path / "copy") as ledger, Ledger(file) as original:
        assert ledger.verify(original.head) == []
