"""Reading: one state of a folder of prepared data, held so that its files stay, and found to be as it was written.

A reader holds a lock on the file of its state, and looks again whether that is still the one that counts. Files that
the next state does not have are removed only when nobody holds a state that has them.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import weakref
from collections.abc import Sequence

from dpselect.engines.prepared.state import (
    AGAIN,
    PARTS,
    Part,
    PreparedState,
    damaged,
    pointed,
    read,
    refuse_others,
    state_file,
)
from dpselect.errors import DataError

if sys.platform != "win32":
    import fcntl

_TRIES = 100
_BLOCK = 1 << 20
_sound: set[tuple[str, int, int, int, int]] = set()


class Reading:
    """One state, whose files stay while this is open."""

    def __init__(self, folder: str) -> None:
        self.folder: str = os.path.realpath(folder)
        self.shown: str = repr(folder)
        refuse_others(self.folder, self.shown)
        self.state: PreparedState
        self.state, self._lock = _held(self.folder, self.shown)
        self._end = weakref.finalize(self, os.close, self._lock)
        try:
            self._look()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the state."""
        self._end()

    def paths(self, parts: Sequence[Part]) -> list[str]:
        """Where files are, whose bytes were found to be those that were written; once for each in this process."""
        found = []
        for part in parts:
            path = os.path.join(self.folder, PARTS, part.name)
            if not _is_sound(path, part):
                raise damaged(self.shown)
            found.append(path)
        return found

    def _look(self) -> None:
        """Refuse a part that is not there, or not of its size, before anything is paid."""
        for part in self.state.parts:
            try:
                size = os.path.getsize(os.path.join(self.folder, PARTS, part.name))
            except OSError:
                size = -1
            if size != part.size:
                what = "is missing" if size < 0 else "is not as it was written"
                raise DataError(f"a part of the prepared data in {self.shown} {what}", f"{AGAIN}, or take a copy")


def current(folder: str) -> PreparedState:
    """The state that counts now, for what stays the same in all of them."""
    reading = Reading(folder)
    reading.close()
    return reading.state


def _held(folder: str, shown: str) -> tuple[PreparedState, int]:
    """The state that counts, and the open file that holds it: named, then held, then looked at again."""
    for _ in range(_TRIES):
        name = pointed(folder, shown)
        try:
            lock = os.open(state_file(folder, name), os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        except FileNotFoundError:
            if pointed(folder, shown) == name:
                break
            continue
        except OSError as error:
            raise DataError(f"{shown} cannot be read: {error.strerror}") from None
        try:
            _share(lock)
            if pointed(folder, shown) == name:
                return _named(name, _all(lock), shown), lock
        except OSError as error:
            os.close(lock)
            raise DataError(f"{shown} cannot be read: {error.strerror}") from None
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)
    raise DataError(f"a part of the prepared data in {shown} is missing", f"{AGAIN}, or take a copy")


def _named(name: str, text: bytes, shown: str) -> PreparedState:
    """The state that was meant: under its name no other one may stand, for answers are known by that name."""
    state = read(text, shown)
    if state.name != name:
        raise damaged(shown)
    return state


def _is_sound(path: str, part: Part) -> bool:
    """Are its bytes those that were written?"""
    try:
        with open(path, "rb") as file:
            found = os.fstat(file.fileno())
            stamp = (part.digest, found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns)
            if stamp in _sound:
                return True
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return False
    if digest == part.digest:
        _sound.add(stamp)
    return digest == part.digest


def _share(lock: int) -> None:
    """Hold a state, together with others who read it; where a file system has no locks nothing is removed."""
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_SH)


def _all(descriptor: int) -> bytes:
    found = b""
    while block := os.read(descriptor, _BLOCK):
        found += block
    return found
