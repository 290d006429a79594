"""A table or a text into a file, which appears whole or not at all."""

from __future__ import annotations

import contextlib
import csv
import errno
import os
import re
import stat
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from types import SimpleNamespace
from typing import BinaryIO

from dpselect._ground.dataclass import dataclass
from dpselect._ground.temporary import HAS_LOCKS, is_same_file, sweep_drafts, try_lock
from dpselect.errors import OutputError
from dpselect.release import formatting

RESERVE = 1 << 20  # bytes: more than a release of thousands of items takes
FORMULA = re.compile(r"(^|;)(?=[\s'\"]*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20])")
"""Where a text begins that spreadsheets run; semicolons separate cells where a comma is for decimals."""


def is_device(path: Path) -> bool:
    """A terminal, a pipe, /dev/null: nothing can stand beside it or take its place."""
    name = path.as_posix()
    if name.startswith(("/dev/", "/proc/")) and not name.startswith("/dev/shm/"):  # where files lie in memory
        return True
    with contextlib.suppress(OSError):
        return not (stat.S_ISREG(path.stat().st_mode) or path.is_dir())
    return False


@dataclass
class _Draft:
    """What a draft is removed by. It is filled step by step, so that a signal at any of them leaves nothing."""

    maker: int = field(default_factory=os.getpid)
    path: Path | None = None
    file: BinaryIO | None = None


class NewFile:
    """A file that appears whole or not at all: bytes go to a reserved file beside it, which then takes its name.

    The draft goes when this object does, whatever ends the work; what a process that was killed left goes next time.
    """

    def __init__(self, path: Path, real: Path, room: int = RESERVE, *, private: bool = False) -> None:
        self.real = real
        self._mode = 0o600 if private else 0o666
        self._draft = _Draft()
        self._end = weakref.finalize(self, _forget, self._draft)
        try:
            file = self._begun()
        except OSError as error:
            raise OutputError(f"{path} cannot be written: {error.strerror}") from None
        try:
            reserve(file.fileno(), room)
        except OSError as error:
            self.give_up()
            raise OutputError(f"there is no room for {path}: {error.strerror}") from None

    def _begun(self) -> BinaryIO:
        """A new draft beside the file, locked while it is open. Its name is nobody else's: it may be removed by it."""
        folder, prefix = self.real.parent, f".{self.real.name}."
        how = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        sweep_drafts(str(folder), prefix, ".part")
        while True:
            self._draft.path = folder / f"{prefix}{os.getpid()}-{time.time_ns()}.part"
            try:
                self._draft.file = file = os.fdopen(os.open(self._draft.path, how, self._mode), "wb")
            except FileExistsError:
                continue
            if try_lock(file.fileno()) and is_same_file(self._draft.path, file.fileno()):
                return file

    def write(self, content: bytes) -> None:
        """Into the draft and down to the disk, then the draft takes the file's name."""
        draft, file = self._draft.path, self._draft.file
        if draft is None or file is None:
            raise ValueError("there is no draft any more")
        file.write(content)  # over the reserved bytes, which are cut off only after
        file.flush()
        file.truncate(len(content))
        os.fsync(file.fileno())
        if not HAS_LOCKS:
            file.close()  # Windows renames no open file
        with contextlib.suppress(OSError):
            draft.chmod(stat.S_IMODE(self.real.stat().st_mode))  # an old file keeps its permissions
        draft.replace(self.real)
        self.give_up()

    def give_up(self) -> None:
        """Remove the draft, if it has not become the file; the old file, if there was one, is untouched."""
        try:
            self._end()
        except BaseException:
            _forget(self._draft)
            raise


def _forget(draft: _Draft) -> None:
    if draft.file is not None:
        with contextlib.suppress(OSError):
            draft.file.close()  # which may write what was refused before
    if draft.path is not None and os.getpid() == draft.maker:
        draft.path.unlink(missing_ok=True)


def reserve(descriptor: int, room: int) -> None:
    """Take the room now, so that a full disk is found before the data is read."""
    if not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(descriptor, 0, room)
    except OSError as error:
        # Some file systems cannot reserve; that alone is no reason to refuse.
        if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS):
            raise


def csv_text(columns: Mapping[str, Sequence[object]], *, escape: bool) -> str:
    """Comma-separated values with a head; what is missing is an empty field.

    `escape` puts an apostrophe before a text that a spreadsheet would run, whatever apostrophes it begins with already:
    so no two texts are written as one. A text may begin after a semicolon too.
    """

    def written(cell: object) -> object:
        found = formatting.plain(cell)
        return FORMULA.sub(r"\1'", found) if escape and isinstance(cell, str) and isinstance(found, str) else found

    rows: list[str] = []  # which end so that a text with either half of a line's end is quoted
    writer = csv.writer(SimpleNamespace(write=rows.append), lineterminator="\r\n")
    writer.writerow(map(written, columns))
    writer.writerows(zip(*(map(written, cells) for cells in columns.values()), strict=True))
    return "".join(f"{row[:-2]}\n" for row in rows)


def save(path: str | os.PathLike[str], content: str | bytes, *, private: bool = False) -> None:
    """Into a draft beside the file, which then takes its name; straight into what is no ordinary file.

    A `private` one that was not there is for its owner alone.
    """
    content = content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace")
    target = Path(path)
    try:
        if is_device(target):
            target.write_bytes(content)
            return
        new = NewFile(target, Path(os.path.realpath(target)), room=len(content), private=private)
        try:
            new.write(content)
        finally:
            new.give_up()
    except OSError as error:
        raise OutputError(f"{target} cannot be written: {error.strerror}") from None
