"""Who else can get at a ledger's files. A group may, where the owner says so; everybody may by oversight only."""

from __future__ import annotations

import os
import stat
import warnings
from pathlib import Path

from dpselect.errors import LedgerError, LedgerWarning

_FILES = ("", "-wal", "-shm", "-journal")  # what SQLite keeps beside the file


def check_folder(path: Path) -> None:
    """Refuse to make a ledger where everybody could put another one in its place."""
    if _everybody_may_replace(path):
        raise LedgerError(
            f"no ledger can be made at {path}: every user of this machine may replace files in its folder",
            f"name another folder, or chmod o-w {path.parent}",
        )


def warn_of_others(path: Path) -> None:
    """Tell of a ledger that is open to everybody: earlier versions made them so."""
    for file in (path.with_name(path.name + end) for end in _FILES):
        if _mode(file) & (stat.S_IROTH | stat.S_IWOTH):
            _warn(
                f"{file} may be read by every user of this machine, and it holds questions and answers", f"600 {file}"
            )
    if _everybody_may_replace(path):
        _warn(f"every user of this machine may replace the ledger at {path}", f"o-w {path.parent}")


def _warn(what: str, chmod: str) -> None:
    warnings.warn(f"{what}\nhint: chmod {chmod}", LedgerWarning, stacklevel=2)


def _everybody_may_replace(path: Path) -> bool:
    """A sticky folder, such as /tmp, lets nobody but its owner replace a file."""
    mode = _mode(path.parent)
    return bool(mode & stat.S_IWOTH and not mode & stat.S_ISVTX)


def _mode(path: Path) -> int:
    """The rights of a file, none where it is not there, or where rights are kept otherwise (Windows)."""
    try:
        return path.stat().st_mode if os.name == "posix" else 0
    except OSError:
        return 0
