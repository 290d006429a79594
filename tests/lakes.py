"""Tables of Delta and Iceberg, and a server that answers for a folder as S3 does."""

from __future__ import annotations

import json
import struct
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import deltalake
import numpy as np
import pyarrow as pa
import pytest

import dpselect as dps
from tests.replay.lake_kinds import AT

ROWS = pa.table({"user": np.arange(600) % 300, "item": ["a", "b", "c"] * 200, "n": np.arange(600) % 7})
OLD = pa.table({"user": [1000, 1001], "item": ["old", "old"], "n": [1, 1]})


def counted(source: object, budget: dps.Budget | None = None, **more: object) -> dict[object, int]:
    """True numbers, all but certainly: the budget is large."""
    data = dps.Dataset(source, user="user", item="item", budget=budget, **more)
    return {one.item: one.count for one in data.histogram(["a", "b", "c", "old"], epsilon=200)}


ALL = {"a": 100, "b": 100, "c": 100, "old": 0}


def delta(folder: Path, *versions: pa.Table, **more: object) -> str:
    """A Delta table; each version replaces the one before, whose files stay."""
    for rows in versions:
        deltalake.write_deltalake(folder, rows, mode="overwrite", schema_mode="overwrite", **more)
    return str(folder)


def catalog_of(folder: Path, *versions: pa.Table) -> Any:
    """An Iceberg table, as its catalog has it."""
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("tests", uri="sqlite://", warehouse=folder.as_uri())
    catalog.create_namespace("events")
    table = catalog.create_table("events.rows", schema=versions[0].schema)
    first, *others = versions
    table.append(first)
    for rows in others:
        table.overwrite(rows)
    return table


def iceberg(folder: Path, *versions: pa.Table) -> str:
    return catalog_of(folder, *versions).location().removeprefix("file://")


def declared(folder: Path, **configuration: str) -> str:
    """A Delta table of ROWS that declares something."""
    schema = deltalake.Schema.from_arrow(ROWS.schema)
    deltalake.DeltaTable.create(folder, schema, configuration=configuration)
    deltalake.write_deltalake(folder, ROWS, mode="append")
    return str(folder)


def lines_of(log: Path) -> list[dict[str, dict[str, object]]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def newest(place: Path) -> Path:
    return max((place / "_delta_log").glob("*.json"))


def with_row_deleted(place: Path, row: int = 1) -> str:
    """Delete a row of every file of a table by a bitmap in its log, as other writers do; this one rewrites files."""
    log, lines = newest(place), []
    for added in (line["add"] for line in lines_of(log) if "add" in line):
        removed = {name: added[name] for name in ("path", "size", "partitionValues")}
        lines += [{"remove": {**removed, "deletionTimestamp": 1, "dataChange": True}}]
        lines += [{"add": {**added, "deletionVector": bitmap(row)}}]
    log.with_name(f"{int(log.stem) + 1:020d}.json").write_text("\n".join(map(json.dumps, lines)))
    return str(place)


def bitmap(row: int) -> dict[str, object]:
    """A deletion vector of one row: a roaring bitmap in base 85 of ZeroMQ's letters."""
    letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    data = struct.pack("<IQIIIHHIH", 1681511377, 1, 0, 12346, 1, 0, 0, 16, row) + b"\0\0"
    words = [int.from_bytes(data[at : at + 4], "big") for at in range(0, len(data), 4)]
    text = "".join(letters[word // 85**place % 85] for word in words for place in (4, 3, 2, 1, 0))
    return {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": len(data), "cardinality": 1}


@pytest.fixture
def bucket(tmp_path, monkeypatch) -> Iterator[tuple[Path, Callable[[str], str]]]:
    """A folder, and the address of what is below it, at a server that lists objects as S3 does."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "tests")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "tests")
    (tmp_path / "bucket").mkdir()
    handler = type("Handler", (Objects,), {"root": tmp_path})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        behind = f"?{AT}=127.0.0.1:{server.server_port}&scheme=http"
        yield tmp_path / "bucket", lambda path: f"s3://bucket{path}{behind}"
        server.shutdown()


class Objects(BaseHTTPRequestHandler):
    """As much of S3 as a reader asks for: lists, sizes, and ranges of bytes."""

    root: Path

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def do_HEAD(self) -> None:
        self.answer()

    def do_GET(self) -> None:
        self.answer()

    def answer(self) -> None:
        asked = urlsplit(self.path)
        query, path = parse_qs(asked.query, keep_blank_values=True), self.root / unquote(asked.path).strip("/")
        if "list-type" in query:
            self.send(200, self.listed(path, query["prefix"][0] if "prefix" in query else "", "delimiter" in query))
        elif path.is_dir() and path.parent == self.root:
            self.send(200, b"")
        elif not path.is_file():
            self.send(404, b"")
        else:
            found, of = path.read_bytes(), self.headers.get("Range")
            first, last = map(int, of.removeprefix("bytes=").split("-")) if of else (0, len(found) - 1)
            said = {"Content-Range": f"bytes {first}-{last}/{len(found)}"} if of else {}
            self.send(206 if of else 200, found[first : last + 1], **said)

    def listed(self, bucket: Path, prefix: str, one_level: bool) -> bytes:
        names = [one.relative_to(bucket).as_posix() for one in sorted(bucket.rglob("*")) if one.is_file()]
        names = [name for name in names if name.startswith(prefix)]
        below = {prefix + name[len(prefix) :].partition("/")[0] + "/" for name in names if "/" in name[len(prefix) :]}
        if one_level:
            names = [name for name in names if "/" not in name[len(prefix) :]]
        sizes = {name: (bucket / name).stat().st_size for name in names}
        day = "<LastModified>2026-01-01T00:00:00.000Z</LastModified>"
        said = "".join(f"<Contents><Key>{name}</Key><Size>{sizes[name]}</Size>{day}</Contents>" for name in names)
        if one_level:
            said += "".join(f"<CommonPrefixes><Prefix>{one}</Prefix></CommonPrefixes>" for one in sorted(below))
        space = "http://s3.amazonaws.com/doc/2006-03-01/"
        said = f"<KeyCount>{len(names)}</KeyCount><IsTruncated>false</IsTruncated>{said}"
        return f'<?xml version="1.0"?><ListBucketResult xmlns="{space}">{said}</ListBucketResult>'.encode()

    def send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)
