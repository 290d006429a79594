"""Temporary folders and drafts that outlive no process for long: each is locked while its process lives.

What holds rows must not stay behind. A process removes its own; what one that was killed left is removed by the next
to start. Which those are is never guessed from age or number of a process: the lock (flock) of a living one cannot be
taken. A thing is made, then locked, then looked at again: whoever sweeps in between takes the lock first, and the maker
finds that out and makes another.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import tempfile
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from dpselect.errors import OutputError

if sys.platform != "win32":  # there nothing is locked, and nothing is swept
    import fcntl

LOCKS = sys.platform != "win32"
PREFIX = "dpselect-locked-"
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NOFOLLOW
_swept: set[tuple[int, str]] = set()


@dataclass
class _Held:
    """What a folder is removed by. It is filled step by step, so that a signal at any of them leaves nothing."""

    maker: int = field(default_factory=os.getpid)
    path: str | None = None
    locks: list[int] = field(default_factory=list)


class Folder:
    """A new folder that only this user may open; removed by `close`, and when this object or its process ends.

    It is among temporary ones, or in the folder `place`, where an OSError says why it cannot be.
    """

    def __init__(self, place: str | None = None) -> None:
        given, place = place, place or tempfile.gettempdir()
        if given is not None or (os.getpid(), place) not in _swept:
            _swept.add((os.getpid(), place))
            sweep_folders(place)
        self._held = _Held()
        self._end = weakref.finalize(self, _end, self._held)
        try:
            self.path: str = _made(self._held, place)
        except OSError as error:
            self.close()
            if given is not None:
                raise
            raise OutputError(f"no temporary folder can be made: {error.strerror}", "TMPDIR says where") from None
        except BaseException:
            self.close()
            sweep_folders(place)  # where a signal came before its name was known
            raise

    def close(self) -> None:
        """Remove it now; where a signal comes meanwhile, before the signal goes on."""
        try:
            self._end()
        except BaseException:
            _end(self._held)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _made(held: _Held, place: str) -> str:
    while True:
        held.path = path = tempfile.mkdtemp(prefix=PREFIX, dir=place)  # mode 0700
        if not LOCKS:
            return path
        try:
            held.locks.append(os.open(path, _FOLDER))
        except FileNotFoundError:  # swept already
            continue
        if claimed(held.locks[-1]) and same(path, held.locks[-1]):
            return path


def _end(held: _Held) -> None:
    """Remove the folder, unless this is a child of its maker, then let go of the lock."""
    if held.path is not None and os.getpid() == held.maker:
        shutil.rmtree(held.path, ignore_errors=True)
    while held.locks:
        os.close(held.locks.pop())


# ---- locks --------------------------------------------------------------------------------------------------


def claimed(descriptor: int) -> bool:
    """Take the lock, for as long as the descriptor is open; False where somebody has it.

    True also where a file system has no locks: nothing is swept there.
    """
    try:
        return _free(descriptor)
    except BlockingIOError:
        return False
    except OSError:
        return True


def same(path: str | Path, descriptor: int) -> bool:
    """Is the open one still what stands at the path?"""
    try:
        there, held = os.lstat(path), os.fstat(descriptor)
    except OSError:
        return False
    return (there.st_dev, there.st_ino) == (held.st_dev, held.st_ino)


@contextlib.contextmanager
def _dead(path: str, how: int) -> Iterator[os.stat_result | None]:
    """The state of what is this user's and held by nobody, locked meanwhile; None where it is not, or is unknown."""
    descriptor = state = None
    try:
        with contextlib.suppress(OSError):
            descriptor = os.open(path, how)
            if _free(descriptor) and same(path, descriptor):
                state = os.fstat(descriptor)
        yield state if state is not None and state.st_uid == os.geteuid() else None
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _free(descriptor: int) -> bool:
    """Take the lock, or an OSError says why not."""
    if sys.platform != "win32":
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return True


# ---- sweeping -------------------------------------------------------------------------------------------------


def sweep_folders(place: str) -> None:
    """Remove the folders of processes that are no more."""
    for path in _named(place, PREFIX, ""):
        with _dead(path, _FOLDER) as state:
            if state is not None and stat.S_ISDIR(state.st_mode) and stat.S_IMODE(state.st_mode) == stat.S_IRWXU:
                shutil.rmtree(path, ignore_errors=True)


def sweep_drafts(place: str, prefix: str, suffix: str) -> None:
    """Remove the files of processes that are no more."""
    for path in _named(place, prefix, suffix):
        with _dead(path, os.O_RDONLY | _NOFOLLOW | getattr(os, "O_NONBLOCK", 0)) as state:
            if state is not None and stat.S_ISREG(state.st_mode):
                with contextlib.suppress(OSError):
                    os.unlink(path)


def _named(place: str, prefix: str, suffix: str) -> list[str]:
    if not LOCKS:
        return []
    with contextlib.suppress(OSError), os.scandir(place) as entries:
        return [entry.path for entry in entries if entry.name.startswith(prefix) and entry.name.endswith(suffix)]
    return []
