"""Files. Text files also take awkward lines, as bytes."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq

from tests.replay.frame_kinds import EVERY_ARROW, arrow_table
from tests.replay.kinds import ANY, kind
from tests.replay.sorts import Rows


def csv_lines(rows: Rows, delimiter: str) -> list[bytes]:
    """The lines of a CSV file, each field in quotes but for null; a field may be bytes that are no UTF-8."""
    columns = [rows[name].values for name in rows]
    return [delimiter.encode().join(map(_field, cells)) + b"\n" for cells in zip(*columns, strict=True)]


def _field(value: object) -> bytes:
    if value is None:
        return b""
    raw = value if isinstance(value, bytes) else str(value).encode()
    return b'"' + raw.replace(b'"', b'""') + b'"'


def json_lines(rows: Rows) -> list[bytes]:
    """The lines of a JSON lines file; half an emoji is written as JSON escapes it."""
    columns = [rows[name].values for name in rows]
    return [json.dumps(dict(zip(rows, cells, strict=True))).encode() + b"\n" for cells in zip(*columns, strict=True)]


def header(rows: Rows, delimiter: str) -> bytes:
    """The first line of a CSV file."""
    return delimiter.join(rows).encode() + b"\n"


def text_file(lines: list[bytes], path: Path) -> str:
    """The lines in a file, compressed where its name says so."""
    whole = b"".join(lines)
    path.write_bytes(gzip.compress(whole, mtime=0) if path.suffix == ".gz" else whole)
    return str(path)


# Parquet has no seconds, and PyArrow writes them as milliseconds: what does not fit there is no row of such a file.
@kind(
    "Parquet",
    tuple(sort for sort in EVERY_ARROW if sort != "moment s"),
    cannot="surrogate, special decimal, beyond the day",
)
def _parquet(rows: Rows, folder: Path) -> object:
    pq.write_table(arrow_table(rows), folder / "rows.parquet")
    return str(folder / "rows.parquet")


@kind("Parquet, several files", ("text", "whole"), cannot="surrogate, special decimal")
def _parquet_files(rows: Rows, folder: Path) -> object:
    table = arrow_table(rows)
    for number in range(3):
        pq.write_table(table.slice(number * table.num_rows // 3, table.num_rows // 3 + 1), folder / f"{number}.parquet")
    return folder


# A CSV field that holds a line end is two records where each line is one: tests/replay/odd_lines.py has such lines.
LINE_TRAITS = "surrogate, null user"


def _csv_kind(name: str, file: str, delimiter: str) -> None:
    @kind(name, ("text",), cannot=LINE_TRAITS, lines="csv" if delimiter == "," else None)
    def _csv(rows: Rows, folder: Path) -> object:
        return text_file([header(rows, delimiter), *csv_lines(rows, delimiter)], folder / file)


_csv_kind("CSV", "rows.csv", ",")
_csv_kind("CSV, gz", "rows.csv.gz", ",")
_csv_kind("TSV", "rows.tsv", "\t")


def _json_kind(name: str, file: str) -> None:
    @kind(name, ANY, cannot="object", lines="json")
    def _json(rows: Rows, folder: Path) -> object:
        return text_file(json_lines(rows), folder / file)


_json_kind("JSON lines", "rows.jsonl")
_json_kind("JSON lines, gz", "rows.ndjson.gz")


@kind("JSON array", ANY, cannot="object", lines="array")
def _array(rows: Rows, folder: Path) -> object:
    return text_file([array_of(json_lines(rows))], folder / "rows.json")


def array_of(records: list[bytes]) -> bytes:
    """Records as one JSON array."""
    return b"[" + b",".join(record.strip() for record in records) + b"]"


PLAIN_LINES: dict[str, Callable[[Rows], tuple[list[bytes], list[bytes]]]] = {
    "csv": lambda rows: ([header(rows, ",")], csv_lines(rows, ",")),
    "json": lambda rows: ([], json_lines(rows)),
    "array": lambda rows: ([], json_lines(rows)),
}
"""By the form of lines: what stands before the rows, and the rows."""

FILE_NAMES = {
    "CSV": "rows.csv",
    "CSV, gz": "rows.csv.gz",
    "JSON lines": "rows.jsonl",
    "JSON lines, gz": "rows.ndjson.gz",
    "JSON array": "rows.json",
}


def written(kind_name: str, form: str, rows: Rows, line: bytes | None, place: str, folder: Path) -> str:
    """A text file of these rows with one more line of whatever bytes."""
    before, lines = PLAIN_LINES[form](rows)
    if line is not None:
        at = {"first": 0, "middle": len(lines) // 2, "last": len(lines)}[place]
        lines = [*lines[:at], line, *lines[at:]]
    return text_file([array_of(lines)] if form == "array" else [*before, *lines], folder / FILE_NAMES[kind_name])
