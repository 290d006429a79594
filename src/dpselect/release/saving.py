"""A table or a text into a file, which appears whole or not at all."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

from dpselect._ground.temporary import Folder
from dpselect.errors import OutputError
from dpselect.release import formatting
from dpselect.release.new_file import NewFile, is_device

FORMULA = re.compile(r"(^|;)(?=[\s'\"]*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20])")
"""Where a text begins that spreadsheets run; semicolons separate cells where a comma is for decimals."""


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


def parquet_bytes(columns: Mapping[str, Sequence[object]]) -> bytes:
    """The columns as a Parquet file, written by the engine."""
    from dpselect.engines.duckdb.tables import write_table

    with Folder() as folder:
        path = Path(folder.path, "release.parquet")
        write_table(columns, path)
        return path.read_bytes()


def save(path: str | os.PathLike[str], content: str | bytes, *, private: bool = False) -> None:
    """Into a draft beside the file, which then takes its name; straight into what is no ordinary file.

    A `private` one that was not there is for its owner alone.
    """
    content = content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace")
    place = Path(path)
    try:
        if is_device(place):
            place.write_bytes(content)
            return
        new = NewFile(place, Path(os.path.realpath(place)), room=len(content), private=private)
        try:
            new.write(content)
        finally:
            new.give_up()
    except OSError as error:
        raise OutputError(f"{place} cannot be written: {error.strerror}") from None
