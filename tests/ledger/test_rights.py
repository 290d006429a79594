"""A ledger's files are for its owner alone, and one that is not is told of."""

from __future__ import annotations

import os
import stat
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpselect.errors import LedgerError, LedgerWarning
from dpselect.ledger import Account, Ledger
from tests.ledger.amounts import ask, charge, grant

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs the rights of files on Unix")


@pytest.fixture(autouse=True, params=[0o000, 0o022, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def rights(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


def test_all_files_are_for_their_owner(tmp_path: Path, ann: Account) -> None:
    path = tmp_path / "x"
    with Ledger.create(path) as ledger:
        grant(ledger, ann, 1, 0)
        ask(ledger, ann, charge("0.5"))
        assert rights(tmp_path) == {"x": 0o600, "x-wal": 0o600, "x-shm": 0o600}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Ledger(path).close()
    assert rights(tmp_path) == {"x": 0o600}


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o666, 0o602])
def test_a_file_that_is_open_to_everybody_is_told_of(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "x"
    Ledger.create(path).close()
    path.chmod(mode)
    with pytest.warns(LedgerWarning, match=r"x may be read by every user of this machine.*\nhint: chmod 600 .*x$"):
        Ledger(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == mode  # the owner's to change


def test_a_log_that_is_open_to_everybody_is_told_of(tmp_path: Path, ann: Account) -> None:
    path = tmp_path / "x"
    with Ledger.create(path) as ledger:
        grant(ledger, ann, 1, 0)
        path.with_name("x-wal").chmod(0o644)
        with pytest.warns(LedgerWarning, match="x-wal may be read by every user"):
            Ledger(path).close()


def test_what_is_for_a_group_is_its_owners_decision(tmp_path: Path) -> None:
    path = tmp_path / "x"
    Ledger.create(path).close()
    path.chmod(0o660)
    tmp_path.chmod(0o770)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Ledger(path).close()


def test_a_folder_in_which_everybody_may_replace_files(tmp_path: Path) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(LedgerError, match=r"every user of this machine may replace files in its folder\nhint: name"):
        Ledger.create(folder / "x")
    assert list(folder.iterdir()) == []
    folder.chmod(0o1777)  # as /tmp is
    Ledger.create(folder / "x").close()
    folder.chmod(0o777)
    with pytest.warns(LedgerWarning, match="may replace the ledger at .*x\nhint: chmod o-w"):
        Ledger(folder / "x").close()
