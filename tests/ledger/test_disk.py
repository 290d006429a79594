"""A commit that must last waits for the disk, so that no crash undoes a charge under which rows were read."""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path

import pytest

from dpselect.errors import LedgerError
from dpselect.ledger import Account, Ledger
from tests.ledger.amounts import charge, grant, started

SYNCS = {"x86_64": (74, 75), "aarch64": (82, 83)}  # the numbers of fsync and fdatasync

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux, whose threads may give up system calls")


class Program(ctypes.Structure):
    """A filter of system calls, as Linux takes it."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def fail_to_sync() -> None:
    """From now on, whatever this thread syncs fails, as on a broken disk (seccomp)."""
    load, equal, answer = 0x20, 0x15, 0x06
    fsync, fdatasync = SYNCS[platform.machine()]
    instructions = [
        (load, 0, 0, 0),  # the number of the call
        (equal, 1, 0, fsync),
        (equal, 0, 1, fdatasync),
        (answer, 0, 0, 0x0005_0000 | errno.EIO),
        (answer, 0, 0, 0x7FFF_0000),  # as ever
    ]
    program = Program(len(instructions), b"".join(struct.pack("HBBI", *one) for one in instructions))
    system = ctypes.CDLL(None, use_errno=True)
    for request in ((38, 1, 0, 0, 0), (22, 2, ctypes.byref(program), 0, 0)):  # no new rights, then the filter
        if system.prctl(*request):
            raise OSError(ctypes.get_errno(), "no filter of system calls can be set")


@pytest.fixture
def no_disk() -> Iterator[Executor]:
    """A thread whose syncs fail."""
    with ThreadPoolExecutor(1, initializer=fail_to_sync) as thread:
        yield thread


def test_what_must_last_fails_where_the_disk_does_not_take_it(tmp_path: Path, ann: Account, no_disk: Executor) -> None:
    with Ledger.create(tmp_path / "x") as ledger:
        grant(ledger, ann, 1, "1e-6")
        reserved, running = ledger.reserve(ann, charge("0.1"), "{}"), started(ledger, ann, charge("0.1"))
        for must_last in (
            lambda: grant(ledger, ann, 1, "1e-6"),
            lambda: ledger.start(reserved),
            lambda: ledger.settle(running, charge("0.1"), "[]"),
            lambda: ledger.give_back(reserved),
        ):
            with pytest.raises(LedgerError, match="the disk or its file system failed"):
                no_disk.submit(must_last).result()
        assert ledger.verify() == []
        ledger.start(reserved)


def test_a_new_ledger_is_on_the_disk(tmp_path: Path, no_disk: Executor) -> None:
    with pytest.raises(LedgerError, match="the disk or its file system failed"):
        no_disk.submit(Ledger.create, tmp_path / "x").result()
    assert not (tmp_path / "x").exists()
