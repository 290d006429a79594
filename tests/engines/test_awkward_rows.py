"""Files that are damaged or hold texts that are none; awkward lines are in tests/replay."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpselect.engines.duckdb import engine as of_duckdb
from dpselect.engines.sources.csv_form import CsvForm
from dpselect.errors import DpselectError
from tests.covering import covering
from tests.engines.opened import DuckDBEngine, open_engine
from tests.engines.test_conformance import pairs


@contextmanager
def opened(path: Path, **more: bool) -> Iterator[DuckDBEngine]:
    with open_engine(path, user="user", item="item", key=b"k", **more) as engine:
        assert isinstance(engine, of_duckdb.DuckDBEngine)
        yield engine


def counts(path: Path, **more: bool) -> dict[object, int]:
    with opened(path, **more) as engine:
        return dict(pairs(engine.top(1000)))


def test_values_over_lines_where_the_owner_says_so(tmp_path):
    (tmp_path / "x.csv").write_text('user,item\nu1,"two\nlines"\nu2,"two\nlines"\n')
    assert counts(tmp_path / "x.csv", csv=CsvForm(newlines_in_values=True)) == {"two\nlines": 2}
    assert counts(tmp_path / "x.csv") == {}


def test_a_damaged_archive_is_an_error_of_ours_or_an_answer(tmp_path):
    content = gzip.compress(b"user,item\n" + b"".join(b"u%d,item %d\n" % (n, n % 7) for n in range(300)))
    failed = 0
    for name, place in ((name, place) for name in ("x.csv.gz", "x.jsonl.gz") for place in range(0, len(content), 40)):
        (tmp_path / name).write_bytes(content[:place] + bytes([content[place] ^ 64]) + content[place + 1 :])
        try:
            counts(tmp_path / name)
        except DpselectError:  # in the header it can also be a column that is not there
            failed += 1
    assert failed > 20


# ---- Parquet ------------------------------------------------------------------------------------------------


def texts(values: list[bytes]) -> pa.Array:
    """A column of texts that may not be UTF-8."""
    ends = np.cumsum([0, *map(len, values)]).tolist()
    offsets = pa.py_buffer(struct.pack(f"<{len(ends)}i", *ends))
    return pa.Array.from_buffers(pa.string(), len(values), [None, offsets, pa.py_buffer(b"".join(values))])


ENCODINGS = ["RLE_DICTIONARY", "PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"]
BAD = [[b"\xff"], [b"a\xff\xfe"], [b"\xc3"], [b"\xc3", b"\xa9"], [b"\xed\xa0\x80"]]


@pytest.mark.parametrize(
    ("encoding", "bad", "place", "role"), covering(ENCODINGS, BAD, (0, 2, 4), ("filter", "item", "user"))
)
def test_texts_of_parquet_that_are_not_utf8(encoding, bad, place, role, tmp_path):
    dictionary = encoding == "RLE_DICTIONARY"
    how = {"use_dictionary": dictionary} if dictionary else {"use_dictionary": False, "column_encoding": encoding}
    notes = [b"a"] * 4
    notes[place:place] = bad
    rows = len(notes)
    table = pa.table({"user": [str(n) for n in range(rows)], "item": ["x"] * rows, "note": texts(notes)})
    pq.write_table(table, tmp_path / "x.parquet", **how)
    asked = {"filter": {"where": "note <> 'b'"}, "item": {"item": "note"}, "user": {"user": "note"}}[role]
    with DuckDBEngine(tmp_path / "x.parquet", **({"user": "user", "item": "item", "key": b"k"} | asked)) as engine:
        found = dict(pairs(engine.top(9)))
    right = {"filter": {"x": rows}, "item": {"a": 4} | {item: n for item, n in found.items() if item != "a"}}
    assert found == right[role] if role != "user" else found["x"] in (2, 3)


def test_what_a_row_of_parquet_is_does_not_hang_on_the_statistics_of_others(tmp_path):
    """Statistics leave out NaN, and they are of bytes: with them a file's part was skipped or not, by other rows."""
    nan = float("nan")
    for values, more, where in (
        ([1.0, nan], [200.0], "x > 100"),
        ([1.0, nan], [nan], "x > 100"),
        (texts([b"b", b"\xff"]), texts([b"A"]), "x = '?'"),
        (texts([b"b", b"\xff"]), texts([b"zz"]), "x > '>' AND x < '@'"),
    ):
        found = []
        for column in (pa.array(values), pa.concat_arrays([pa.array(values), pa.array(more)])):
            users = [f"u{n}" for n in range(len(column))]
            pq.write_table(pa.table({"user": users, "item": users, "x": column}), tmp_path / "x.parquet")
            with DuckDBEngine(tmp_path / "x.parquet", user="user", item="item", where=where, key=b"k") as engine:
                found.append([pair for pair in pairs(engine.top(9)) if pair[0] != "u2"])
        assert found == [[("u1", 1)]] * 2, where
