"""Writing: a new state of prepared data, whose files are complete on the disk before it takes the old one's place.

What a writer does not finish counts for nothing. It removes it itself, with what nobody reads any more; what one that
was killed left is removed by the next.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path

from dpselect._ground.temporary import LOCKS
from dpselect.draws import fresh_key
from dpselect.engines.prepared.state import FORM, PARTS, Part, PreparedState, pointed, read, refuse_others, state_file
from dpselect.engines.sources.files import PREPARED, is_prepared
from dpselect.errors import DataError, OutputError

if sys.platform != "win32":
    import fcntl

_NAME = re.compile(r"[a-z]+-[0-9a-f]{32}\.(?:parquet|json|new)")
_NOTE = "made by dpselect prepare; as private as the rows that it was made from"


class Writing:
    """The folder while one process writes a new state; files of states that nobody reads go before and after."""

    def __init__(self, folder: str) -> None:
        self.folder: str = os.path.realpath(folder)
        self.shown: str = repr(folder)
        lock, self._alone = _claimed(self.folder, self.shown)
        self._end, self._writer = weakref.finalize(self, os.close, lock), os.getpid()
        try:
            refuse_others(self.folder, self.shown, own=True)
            self._before = self._now()
            self._sweep()
        except BaseException:
            self._end()
            raise

    def close(self) -> None:
        """Remove what does not count, and let others write."""
        try:
            if self._end.alive and os.getpid() == self._writer:  # not in a child that was forked meanwhile
                self._sweep()
        finally:
            self._end()

    def new(self, kind: str, token: bytes) -> str:
        """The path of a new file, which nobody else may open."""
        path = os.path.join(self.folder, PARTS, f"{kind}-{token.hex()}.parquet")
        with _says_why(self.shown):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        return path

    def path(self, part: Part) -> str:
        """Where a file is."""
        return os.path.join(self.folder, PARTS, part.name)

    def taken(self, kind: str, path: str) -> Part:
        """A file that others wrote in such a folder, under a name of its own, for nobody else to open."""
        own = self.new(kind, fresh_key())
        with _says_why(self.shown):
            os.chmod(path, 0o600)
            os.replace(path, own)
        return self.part(own)

    def part(self, path: str) -> Part:
        """A file that is complete, down on the disk."""
        with _says_why(self.shown), open(path, "r+b") as file:  # what cannot be written to cannot be settled everywhere
            os.fsync(file.fileno())
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            size = os.fstat(file.fileno()).st_size
        return Part(os.path.basename(path), size, digest)

    def replace(self, state: PreparedState) -> None:
        """The new state counts from here on."""
        with _says_why(self.shown):
            parts = os.path.join(self.folder, PARTS)
            _write(state_file(self.folder, state.name), state.text())
            draft = os.path.join(parts, f"pointer-{state.name}.new")
            _write(draft, json.dumps({"form": FORM, "state": state.name, "note": _NOTE}) + "\n")
            _settle(parts)
            if self._now() != self._before:  # only where nothing can be locked
                raise OutputError(f"another process has written to {self.shown} meanwhile", "do it again")
            os.replace(draft, os.path.join(self.folder, PREPARED))
            _settle(self.folder)

    def _now(self) -> str | None:
        """The name of the state that counts; None where that cannot be told."""
        try:
            return pointed(self.folder, self.shown) if is_prepared(self.folder) else None
        except DataError:
            return None

    def _sweep(self) -> None:
        """Remove what no state has that counts or is read. What is not named as ours is left alone.

        Nothing is removed where nothing can be locked: it may be what somebody else is writing.
        """
        needed = self._needed() if self._alone else None
        if needed is None:
            return
        for path in sorted(Path(self.folder, PARTS).glob("*")):
            if _NAME.fullmatch(path.name) and path.name not in needed:
                _remove(path)

    def _needed(self) -> set[str] | None:
        """The names of files that somebody needs; None where that cannot be told."""
        needed: set[str] = set()
        try:
            name = pointed(self.folder, self.shown) if is_prepared(self.folder) else None
            for path in Path(self.folder, PARTS).glob("state-*.json"):
                if path.name == f"state-{name}.json" or not _unread(path):
                    needed |= {path.name, *(part.name for part in read(path.read_bytes(), self.shown).parts)}
        except (DataError, OSError):
            return None
        return needed


def _remove(path: Path) -> None:
    if path.name.startswith("work-") and path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    with contextlib.suppress(OSError):
        path.unlink()


def ready(folder: str) -> None:
    """A place for prepared data: a folder that is new, empty or holds some already."""
    path, shown = Path(folder), repr(folder)
    with _says_why(shown):
        if path.exists() and not path.is_dir():
            raise OutputError(f"{shown} is no folder", "name a new folder for the prepared data")
        if not path.is_dir():
            path.mkdir(mode=0o700, parents=True, exist_ok=True)  # another process may make it too
        held = {one.name for one in path.iterdir()} - {PARTS}
        if held and PREPARED not in held:
            raise OutputError(f"{shown} is not empty", "name a new folder for the prepared data")
        if (path / PARTS).is_symlink():  # what is there may be another folder's, and would be removed
            raise OutputError(f"{shown} has a link in the place of its parts", "name a new folder")
        refuse_others(folder, shown, own=True)
        (path / PARTS).mkdir(mode=0o700, exist_ok=True)


def _claimed(folder: str, shown: str) -> tuple[int, bool]:
    """The lock of whoever writes, and whether it is one: some file systems have none."""
    with _says_why(shown):
        lock = os.open(os.path.join(folder, PARTS) if LOCKS else os.devnull, os.O_RDONLY)
    try:
        if sys.platform != "win32":
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise OutputError(f"another process is writing to {shown}", "wait until it is done") from None
    except OSError:
        return lock, False
    return lock, LOCKS


def _unread(path: Path) -> bool:
    """Does nobody hold this state?"""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        if sys.platform != "win32":
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError:  # somebody reads it, or locks are not known here
        return False
    finally:
        os.close(descriptor)


def _write(path: str, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _settle(folder: str) -> None:
    """The names in a folder, down on the disk."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def _says_why(shown: str) -> Iterator[None]:
    """What a system says of a folder of the caller's."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"{shown} cannot be written: {error.strerror}") from None
