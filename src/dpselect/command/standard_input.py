"""Standard input as a file in a private folder, which is removed when the command ends.

The name gives the format, as the extension of a file does: `-` is CSV, `jsonl:-` JSON lines, `parquet:-` Parquet.
"""

from __future__ import annotations

import shutil
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from dpselect.errors import OutputError, SourceError

if TYPE_CHECKING:
    from dpselect._ground.temporary import Folder


@cache
def save_standard_input(name: str) -> str:
    """Return the path of a file that holds standard input.

    The first call reads it to its end; the file lives as long as the process.
    """
    if sys.stdin is None or sys.stdin.isatty():
        raise SourceError("FILE", "have a pipe or a file before -", "a terminal", "cat plays.csv | dpselect top -")
    path = Path(_folder().path) / f"standard-input.{name.rpartition(':')[0] or 'csv'}"
    try:
        with path.open("xb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
    except OSError as error:
        raise OutputError(f"standard input cannot be kept: {error.strerror}", "TMPDIR says where") from None
    return str(path)


@cache
def _folder() -> Folder:
    from dpselect._ground.temporary import Folder

    return Folder()
