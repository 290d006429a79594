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
from dataclasses import field
from pathlib import Path
from typing import Self

from dpselect._ground.dataclass import dataclass
from dpselect.errors import OutputError

if sys.platform != "win32":  # there nothing is locked, and nothing is swept
    import fcntl

HAS_LOCKS = sys.platform != "win32"
PREFIX = "dpselect-locked-"
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_OPEN_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NOFOLLOW
_swept: set[tuple[int, str]] = set()


@dataclass
class _FolderState:
    """The path and the locks by which a folder is removed, filled step by step, so that no signal leaves one behind."""

    maker: int = field(default_factory=os.getpid)
    path: str | None = None
    locks: list[int] = field(default_factory=list)


class Folder:
    """A new folder that only this user may open; removed by `close`, and when this object or its process ends.

    It lies among temporary ones, or in the folder `parent`; there an OSError says why it cannot be made.
    """

    def __init__(self, parent: str | None = None) -> None:
        requested_parent, parent = parent, parent or tempfile.gettempdir()
        if requested_parent is not None or (os.getpid(), parent) not in _swept:
            _swept.add((os.getpid(), parent))
            sweep_folders(parent)
        self._held = _FolderState()
        self._end = weakref.finalize(self, _remove_folder, self._held)
        try:
            self.path: str = _make_folder(self._held, parent)
        except OSError as error:
            self.close()
            if requested_parent is not None:
                raise
            raise OutputError(f"no temporary folder can be made: {error.strerror}", "TMPDIR says where") from None
        except BaseException:
            self.close()
            sweep_folders(parent)  # where a signal came before its name was known
            raise

    def close(self) -> None:
        """Remove the folder now; if a signal comes meanwhile, before the signal goes on."""
        try:
            self._end()
        except BaseException:
            _remove_folder(self._held)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _make_folder(state: _FolderState, parent: str) -> str:
    while True:
        state.path = path = tempfile.mkdtemp(prefix=PREFIX, dir=parent)  # mode 0700
        if not HAS_LOCKS:
            return path
        try:
            state.locks.append(os.open(path, _OPEN_FOLDER))
        except FileNotFoundError:  # swept already
            continue
        if try_lock(state.locks[-1]) and is_same_file(path, state.locks[-1]):
            return path


def _remove_folder(state: _FolderState) -> None:
    """Remove the folder, unless this is a child of its maker, then release the lock."""
    if state.path is not None and os.getpid() == state.maker:
        shutil.rmtree(state.path, ignore_errors=True)
    while state.locks:
        os.close(state.locks.pop())


# ---- locks --------------------------------------------------------------------------------------------------


def try_lock(descriptor: int) -> bool:
    """Take the lock for as long as the descriptor is open, and return False if another process has it.

    True also where a file system has no locks: nothing is swept there.
    """
    try:
        return _lock(descriptor)
    except BlockingIOError:
        return False
    except OSError:
        return True


def is_same_file(path: str | Path, descriptor: int) -> bool:
    """Return whether the path still leads to the open file."""
    try:
        at_path, opened = os.lstat(path), os.fstat(descriptor)
    except OSError:
        return False
    return (at_path.st_dev, at_path.st_ino) == (opened.st_dev, opened.st_ino)


@contextlib.contextmanager
def _locked_if_free(path: str, flags: int) -> Iterator[os.stat_result | None]:
    """Yield the state of a path of this user that nobody has locked, locked meanwhile; None for any other."""
    descriptor = state = None
    try:
        with contextlib.suppress(OSError):
            descriptor = os.open(path, flags)
            if _lock(descriptor) and is_same_file(path, descriptor):
                state = os.fstat(descriptor)
        yield state if state is not None and state.st_uid == os.geteuid() else None
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Take the lock, or raise an OSError that says why not."""
    if sys.platform != "win32":
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return True


# ---- sweeping -------------------------------------------------------------------------------------------------


def sweep_folders(parent: str) -> None:
    """Remove the folders of processes that have ended."""
    for path in _list_paths(parent, PREFIX, ""):
        with _locked_if_free(path, _OPEN_FOLDER) as state:
            if state is not None and stat.S_ISDIR(state.st_mode) and stat.S_IMODE(state.st_mode) == stat.S_IRWXU:
                shutil.rmtree(path, ignore_errors=True)


def sweep_drafts(parent: str, prefix: str, suffix: str) -> None:
    """Remove the files of processes that have ended."""
    for path in _list_paths(parent, prefix, suffix):
        with _locked_if_free(path, os.O_RDONLY | _NOFOLLOW | getattr(os, "O_NONBLOCK", 0)) as state:
            if state is not None and stat.S_ISREG(state.st_mode):
                with contextlib.suppress(OSError):
                    os.unlink(path)


def _list_paths(parent: str, prefix: str, suffix: str) -> list[str]:
    if not HAS_LOCKS:
        return []
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        return [entry.path for entry in entries if entry.name.startswith(prefix) and entry.name.endswith(suffix)]
    return []
