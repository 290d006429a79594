"""Files. Text files also take awkward lines, as bytes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow.parquet as pq

from tests.replay.frame_kinds import EVERY_ARROW, arrow_table
from tests.replay.kinds import ANY, kind
from tests.replay.sorts import PLACES, Rows

FILES = {  # of text: their names, and what stands between the fields of CSV
    "CSV": ("rows.csv", ","),
    "CSV, gz": ("rows.csv.gz", ","),
    "TSV": ("rows.tsv", "\t"),
    "JSON lines": ("rows.jsonl", ""),
    "JSON lines, gz": ("rows.ndjson.gz", ""),
}


def written(name: str, rows: Rows, odd: dict[str, bytes], folder: Path) -> str:
    """A text file of this kind with these rows and with more lines, of whatever bytes, by their places."""
    file, delimiter = FILES[name]
    cells = list(zip(*(column.values for column in rows.values()), strict=True))
    if delimiter:
        head = [delimiter.join(rows).encode() + b"\n"]
        lines = [delimiter.encode().join(map(_field, fields)) + b"\n" for fields in cells]
    else:  # half an emoji is written as JSON escapes it
        head, lines = [], [json.dumps(dict(zip(rows, fields, strict=True))).encode() + b"\n" for fields in cells]
    half = len(lines) // 2
    first, middle, last = (odd.get(place, b"") for place in PLACES)
    whole = b"".join([*head, first, *lines[:half], middle, *lines[half:], last])
    (folder / file).write_bytes(gzip.compress(whole, mtime=0) if file.endswith(".gz") else whole)
    return str(folder / file)


def _field(value: object) -> bytes:
    """A field in quotes, but for null; it may be bytes that are no UTF-8."""
    if value is None:
        return b""
    raw = value if isinstance(value, bytes) else str(value).encode()
    return b'"' + raw.replace(b'"', b'""') + b'"'


def _text_kind(name: str, delimiter: str) -> None:
    # A CSV field that holds a line end is two records where each line is one: tests/replay/odd_lines.py has such lines.
    sorts, cannot = (("text",), "surrogate") if delimiter else (ANY, "object")
    lines = {"": "json", ",": "csv"}.get(delimiter)
    like = {"CSV, gz": "CSV", "TSV": "CSV", "JSON lines, gz": "JSON lines"}.get(name)

    @kind(name, sorts, cannot=cannot, lines=lines, like=like)
    def _make(rows: Rows, folder: Path) -> object:
        return written(name, rows, {}, folder)


for _name, (_, _delimiter) in FILES.items():
    _text_kind(_name, _delimiter)


@kind("JSON array", ANY, cannot="object")
def _array(rows: Rows, folder: Path) -> object:
    """It is one syntax of all rows, and so refused whatever they are."""
    Path(written("JSON lines", rows, {}, folder)).rename(folder / "rows.json")
    return str(folder / "rows.json")


# Parquet has no seconds, and PyArrow writes them as milliseconds: what does not fit there is no row of such a file.
@kind(
    "Parquet",
    tuple(sort for sort in EVERY_ARROW if sort != "moment s"),
    cannot="surrogate, special decimal, beyond the day",
)
def _parquet(rows: Rows, folder: Path) -> object:
    pq.write_table(arrow_table(rows), folder / "rows.parquet")
    return str(folder / "rows.parquet")


@kind("Parquet, several files", ("text", "whole"), cannot="surrogate, special decimal", like="Parquet")
def _parquet_files(rows: Rows, folder: Path) -> object:
    table = arrow_table(rows)
    for number in range(3):
        pq.write_table(table.slice(number * table.num_rows // 3, table.num_rows // 3 + 1), folder / f"{number}.parquet")
    return folder
