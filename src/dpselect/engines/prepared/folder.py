"""Folder: what a folder of prepared data holds, which of its states counts, and who may write there.

A small file names the state that counts. It is replaced at once, when all of a new state is on the disk: whoever reads
sees the old state or the new one.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
from pathlib import Path

from dpselect.engines.prepared.state import FORM, damaged, other_form
from dpselect.engines.sources.files import PREPARED
from dpselect.errors import DataError, DpselectError, OutputError

_LONGEST = 2**16  # bytes of the file that names a state
PARTS = "_parts"  # readers of data files pass over what begins so


def pointed(folder: str, shown: str) -> str:
    """The name of the state that counts."""
    try:
        with open(os.path.join(folder, PREPARED), "rb") as file:
            found = json.loads(file.read(_LONGEST))
        form, name = found["form"], str(found["state"])
    except OSError as error:
        raise DataError(f"{shown} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        form, name = FORM, ""
    if form != FORM:
        raise other_form(form, shown)
    if not re.fullmatch("[0-9a-f]{32}", name):
        raise damaged(shown)
    return name


def state_file(folder: str, name: str) -> str:
    """Where a state is written."""
    return os.path.join(folder, PARTS, f"state-{name}.json")


def refuse_others(folder: str, shown: str, *, own: bool = False) -> None:
    """Refuse a folder in which somebody else may put other data in the place of these."""
    if os.name != "posix":
        return
    for path in (Path(folder), Path(folder, PARTS)):
        try:
            found = path.stat()
        except OSError:
            continue
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            error: type[DpselectError] = OutputError if own else DataError
            raise error(f"other users of this machine may write to {shown}", f"chmod -R go-w {shlex.quote(folder)}")
        if own and found.st_uid != os.geteuid():
            raise OutputError(f"{shown} belongs to another user", "name a folder of your own")
