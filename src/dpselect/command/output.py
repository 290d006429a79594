"""Where a release goes: checked and reserved before any data is read, written in one step after.

A result costs privacy budget and cannot be made again for free. So every reason why it could not be written is
looked for first, an old file stays whole until the new one is complete, and a result that finds no way to its
file is printed in its stead.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TextIO

from dpselect.errors import OutputError, ParameterError
from dpselect.release import formatting

if TYPE_CHECKING:
    from dpselect.release.release import Release

BY_EXTENSION = {".txt": "table", ".csv": "csv", ".json": "json", ".md": "markdown", ".parquet": "parquet"}
SETS_BY_EXTENSION = {**BY_EXTENSION, ".txt": "lines"}


# ---- what is written --------------------------------------------------------------------------------------


def format_of(chosen: str | None, path: Path | None, by: Mapping[str, str] = BY_EXTENSION) -> str:
    """The format that was chosen, else what the file's extension says, else a table."""
    if path is None:
        if chosen == "parquet":
            raise ParameterError(
                "--format", "be table, csv, json or markdown on standard output", "parquet", "give -o FILE"
            )
        return chosen or "table"
    from dpselect.release.files import is_device

    by_extension = by.get(path.suffix.lower())
    if chosen is None and by_extension is None and not is_device(path):
        known = ", ".join(by)
        raise ParameterError("-o", f"end in one of {known}", path.name, "or say which with --format")
    if chosen is not None and by_extension is not None and chosen.removeprefix("plain-") != by_extension:
        raise ParameterError("--format", f"fit the extension of -o, {path.suffix}", chosen)
    return chosen or by_extension or "table"


def rendered(release: Release, form: str, *, explain: bool = False) -> bytes:
    """The release as the bytes of a file: a table with all of its rows, since it cannot be made again for free."""
    if form == "parquet":
        from dpselect.release import files

        return files.parquet_bytes(release.to_columns())
    if form == "lines":
        text = "".join(
            formatting.text(label) + "\n" for label in release.labels
        )  # a line break in an item is an escape
    else:
        plain_csv = partial(release.to_csv, escape=False)
        forms: dict[str, Callable[[], str]] = {"csv": release.to_csv, "plain-csv": plain_csv, "json": release.to_json}
        forms["markdown"] = release.to_markdown
        text = forms[form]() if form in forms else release.explain() if explain else release.text
        text = text if text.endswith("\n") else text + "\n"
    return text.encode("utf-8", "backslashreplace")


# ---- where it is written ----------------------------------------------------------------------------------


class Destination(Protocol):
    """A place that was checked; it takes the bytes once."""

    def write(self, content: bytes) -> None:
        """All of the bytes, or an OSError."""
        ...

    def give_up(self) -> None:
        """Leave no trace where nothing was written."""
        ...


def destination(path: Path | None, inputs: Sequence[str]) -> Destination:
    """The place for -o, or standard output, fit to be written as far as that can be known before."""
    if path is None:
        return StandardOutput()
    from dpselect.release.files import NewFile, is_device

    if is_device(path):
        return Device(path)
    real = Path(os.path.realpath(path))
    if real.is_dir():
        raise OutputError(f"-o must name a file, {path} is a folder")
    if not real.parent.is_dir():
        raise OutputError(f"the folder of -o does not exist: {path.parent}")
    for source in inputs:
        with contextlib.suppress(OSError):
            if real.samefile(source):
                raise ParameterError("-o", "name a file other than the data", str(path))
    if real.exists() and not os.access(real, os.W_OK):
        raise OutputError(f"{path} is there and must not be written to")
    return NewFile(path, real)


class StandardOutput:
    """Standard output, in bytes so that nothing depends on the terminal's encoding but a table for people."""

    def __init__(self) -> None:
        if sys.stdout is None:
            raise OutputError("standard output is closed, and -o was not given")

    def write(self, content: bytes) -> None:
        """All of it, at once."""
        stream = sys.stdout
        encoding = stream.encoding or "utf-8"
        # A terminal of another encoding gets escapes for what it cannot show; files and pipes get UTF-8.
        text = content.decode("utf-8")
        body = text.encode(encoding, "backslashreplace") if stream.isatty() else content
        buffer = getattr(stream, "buffer", None)
        if buffer is None:
            stream.write(text)
        else:
            stream.flush()
            buffer.write(body)
        stream.flush()

    def give_up(self) -> None:
        """Nothing was begun."""


class Device:
    """A special file, written directly."""

    def __init__(self, path: Path) -> None:
        if path.exists() and not os.access(path, os.W_OK):
            raise OutputError(f"{path} cannot be written to")
        self.path = path

    def write(self, content: bytes) -> None:
        """Straight into the file."""
        with self.path.open("wb") as file:
            file.write(content)

    def give_up(self) -> None:
        """Nothing was begun."""


# ---- when it cannot be written ----------------------------------------------------------------------------


def deliver(release: Release, form: str, place: Destination, *, explain: bool = False) -> None:
    """Write the release, with all that is to be said where `explain` asks for it.

    If that fails, print it as JSON wherever it can still be read, and say so.
    """
    try:
        place.write(rendered(release, form, explain=explain))
    except BaseException as error:
        place.give_up()
        gone = isinstance(error, BrokenPipeError) and isinstance(place, StandardOutput)
        if gone or not isinstance(error, Exception):
            raise  # nobody reads on, or somebody pressed Ctrl-C
        # Whatever else went wrong, disk or renderer: the budget is spent, and the answer must come out.
        reason = getattr(error, "strerror", None) or type(error).__name__
        rescue = rendered(release, "json")
        if not isinstance(place, StandardOutput) and _to(sys.stdout, rescue):
            raise OutputError(
                f"the output could not be written: {reason}\nhint: the result is on standard output, as JSON"
            ) from None
        _to(sys.stderr, rescue)
        raise OutputError(f"the output could not be written: {reason}\nhint: the result is above, as JSON") from None
    short = form == "markdown" and explain
    if short or form in ("lines", "csv", "plain-csv", "parquet"):  # which have no room for the statement
        told = release.notes if explain else release.summary
        _to(sys.stderr, ("\n".join(told) + "\n").encode("utf-8", "backslashreplace"))


def _to(stream: TextIO, content: bytes) -> bool:
    """True when the bytes went out."""
    try:
        stream.flush()
        stream.buffer.write(content)
        stream.flush()
    except (OSError, AttributeError, ValueError):
        return False
    return True
