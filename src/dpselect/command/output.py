"""Destinations of releases: checked before any data is read, and written in one step afterwards.

A result costs privacy budget and cannot be made again for free. So everything that could prevent writing it is checked
first, an old file stays whole until the new one is complete, and a result that cannot be written to its file is
printed.
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

FORMAT_BY_EXTENSION = {".txt": "table", ".csv": "csv", ".json": "json", ".md": "markdown", ".parquet": "parquet"}
SET_FORMAT_BY_EXTENSION = {**FORMAT_BY_EXTENSION, ".txt": "lines"}


# ---- contents ---------------------------------------------------------------------------------------------


def choose_format(
    requested: str | None, path: Path | None, formats_by_extension: Mapping[str, str] = FORMAT_BY_EXTENSION
) -> str:
    """Return the chosen format, else that of the file's extension, else "table"."""
    if path is None:
        if requested == "parquet":
            raise ParameterError(
                "--format", "be table, csv, json or markdown on standard output", "parquet", "give -o FILE"
            )
        return requested or "table"
    from dpselect.release.files import is_device

    by_extension = formats_by_extension.get(path.suffix.lower())
    if requested is None and by_extension is None and not is_device(path):
        extensions = ", ".join(formats_by_extension)
        raise ParameterError("-o", f"end in one of {extensions}", path.name, "or say which with --format")
    if requested is not None and by_extension is not None and requested.removeprefix("plain-") != by_extension:
        raise ParameterError("--format", f"fit the extension of -o, {path.suffix}", requested)
    return requested or by_extension or "table"


def render(release: Release, file_format: str, *, explain: bool = False) -> bytes:
    """Return the release as the bytes of a file.

    A table has all of its rows, since the release cannot be made again for free.
    """
    if file_format == "parquet":
        return release._parquet()
    if file_format == "lines":
        text = "".join(formatting.text(label) + "\n" for label in release.labels)  # line breaks in items are escaped
    else:
        plain_csv = partial(release.to_csv, escape=False)
        writers: dict[str, Callable[[], str]] = {"csv": release.to_csv, "plain-csv": plain_csv, "json": release.to_json}
        writers["markdown"] = release.to_markdown
        text = writers[file_format]() if file_format in writers else release.explain() if explain else release.text
        text = text if text.endswith("\n") else text + "\n"
    return text.encode("utf-8", "backslashreplace")


# ---- destinations -----------------------------------------------------------------------------------------


class Destination(Protocol):
    """A checked place for the output, which is written once."""

    def write(self, content: bytes) -> None:
        """Write all of the bytes, or raise OSError."""
        ...

    def give_up(self) -> None:
        """Remove what was prepared, if nothing was written."""
        ...


def check_destination(path: Path | None, inputs: Sequence[str]) -> Destination:
    """Return the destination for -o, or standard output, after checking that it can be written."""
    if path is None:
        return StandardOutput()
    from dpselect.release.files import NewFile, is_device

    if is_device(path):
        return Device(path)
    real_path = Path(os.path.realpath(path))
    if real_path.is_dir():
        raise OutputError(f"-o must name a file, {path} is a folder")
    if not real_path.parent.is_dir():
        raise OutputError(f"the folder of -o does not exist: {path.parent}")
    for source in inputs:
        with contextlib.suppress(OSError):
            if real_path.samefile(source):
                raise ParameterError("-o", "name a file other than the data", str(path))
    if real_path.exists() and not os.access(real_path, os.W_OK):
        raise OutputError(f"{path} is there and must not be written to")
    return NewFile(path, real_path)


class StandardOutput:
    """Standard output. It takes bytes, so that only a terminal's own encoding changes them."""

    def __init__(self) -> None:
        if sys.stdout is None:
            raise OutputError("standard output is closed, and -o was not given")

    def write(self, content: bytes) -> None:
        """Write all of the bytes, and flush."""
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
        """Do nothing, since nothing was prepared."""


class Device:
    """A special file, which is written directly."""

    def __init__(self, path: Path) -> None:
        if path.exists() and not os.access(path, os.W_OK):
            raise OutputError(f"{path} cannot be written to")
        self.path = path

    def write(self, content: bytes) -> None:
        """Write the bytes to the file."""
        with self.path.open("wb") as file:
            file.write(content)

    def give_up(self) -> None:
        """Do nothing, since nothing was prepared."""


# ---- writing, and its failures ----------------------------------------------------------------------------


def write_release(release: Release, file_format: str, destination: Destination, *, explain: bool = False) -> None:
    """Write the release to its destination; `explain` adds the whole statement.

    If writing fails, the release is printed as JSON to another stream, and the error says to which.
    """
    try:
        destination.write(render(release, file_format, explain=explain))
    except BaseException as error:
        destination.give_up()
        reader_is_gone = isinstance(error, BrokenPipeError) and isinstance(destination, StandardOutput)
        if reader_is_gone or not isinstance(error, Exception):
            raise  # the reader has gone, or somebody pressed Ctrl-C
        # Whatever else went wrong, disk or renderer: the budget is spent, and the answer must come out.
        reason = getattr(error, "strerror", None) or type(error).__name__
        rescue = render(release, "json")
        if not isinstance(destination, StandardOutput) and _try_to_write(sys.stdout, rescue):
            raise OutputError(
                f"the output could not be written: {reason}\nhint: the result is on standard output, as JSON"
            ) from None
        _try_to_write(sys.stderr, rescue)
        raise OutputError(f"the output could not be written: {reason}\nhint: the result is above, as JSON") from None
    is_short_markdown = file_format == "markdown" and explain
    if is_short_markdown or file_format in (
        "lines",
        "csv",
        "plain-csv",
        "parquet",
    ):  # formats without room for the statement
        statement_lines = release.notes if explain else release.summary
        _try_to_write(sys.stderr, ("\n".join(statement_lines) + "\n").encode("utf-8", "backslashreplace"))


def _try_to_write(stream: TextIO, content: bytes) -> bool:
    """Write the bytes, and return whether that worked."""
    try:
        stream.flush()
        stream.buffer.write(content)
        stream.flush()
    except (OSError, AttributeError, ValueError):
        return False
    return True
