"""A table or a text into a file, which appears whole or not at all."""

from __future__ import annotations

import contextlib
import csv
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from dpselect.errors import OutputError
from dpselect.release import formatting
from dpselect.temporary import Folder


def csv_text(columns: Mapping[str, Sequence[object]]) -> str:
    """Comma-separated values with a head; what is missing is an empty field. Labels are as they are: releases.md."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*([formatting.plain(cell) for cell in cells] for cells in columns.values()), strict=True))
    return text.getvalue()


def parquet_bytes(columns: Mapping[str, Sequence[object]]) -> bytes:
    """The columns as a Parquet file, written by the engine."""
    from dpselect.engines.duckdb.tables import write_table

    with Folder() as folder:
        path = Path(folder.path, "release.parquet")
        write_table(columns, path)
        return path.read_bytes()


def save(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Into a draft beside the file, which then takes its name; straight into what is no ordinary file."""
    content = content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace")
    place = Path(os.path.realpath(path))
    try:
        if place.exists() and not place.is_file():
            place.write_bytes(content)
            return
        draft = place.with_name(f".{place.name}.{os.getpid()}.part")
        try:
            draft.write_bytes(content)
            with contextlib.suppress(FileNotFoundError):
                draft.chmod(place.stat().st_mode & 0o7777)  # an old file keeps its permissions
            draft.replace(place)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"{os.fspath(path)} cannot be written: {error.strerror}") from None
