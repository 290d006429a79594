"""Files with one awkward row more: everybody else is read as before, and no row makes a question fail."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpselect.engines.duckdb.engine import DuckDBEngine
from dpselect.engines.registry import open_engine
from dpselect.errors import DataError, DpselectError
from tests.covering import covering
from tests.engines.test_conformance import pairs

OTHERS = [(f"u{n}", f"item {n % 3}") for n in range(30)]
CSV_LINES = {
    "an open quote": b'mallory,"x',
    "an open quote at the start": b'"mallory,x',
    "a quote inside": b'mallory,5" x',
    "text after a quote": b'mallory,"a"b',
    "an odd quote in the middle": b'mallory,a"',
    "only a quote": b'"',
    "a quote that would end another's": b'x",y',
    "too few fields": b"mallory",
    "too many fields": b"mallory,x,y",
    "nothing": b"",
    "blank": b"   ",
    "only delimiters": b",,,,",
    "not UTF-8": b"mallory,\xff\xfe",
    "half a letter": b"mallory,\xc3",
    "a carriage return": b"mallory,a\rb,c\r",
    "a zero byte": b"mallory,\x00",
    "a backslash at the end": b"mallory,\\",
    "a remark": b"# mallory",
    "the header again": b"user,item",
    "a byte order mark": b"\xef\xbb\xbfmallory,x",
    "controls": b"\x1a\x1f\x1e\x1c,\x0b\x0c\x85",
    "a long line": b"mallory," + b"x" * 3_000_000,
    "a longer line": b'mallory,"' + b"y" * 20_000_000,
}
JSON_LINES = {
    "an array": b'[{"user": "mallory", "item": "x"}]',
    "an open array": b"[",
    "a number": b"5",
    "null": b"null",
    "nothing": b"",
    "an open text": b'{"user": "mallory',
    "an open record": b'{"user": "mallory", "item": {"a": 1',
    "two records": b'{"user": "mallory", "item": "x"}{"user": "u1", "item": "y"}',
    "a lone surrogate": b'{"user": "mallory", "item": "\\ud800"}',
    "a lone surrogate as a key": b'{"\\ud800": 1, "user": "mallory", "item": "x"}',
    "not UTF-8": b'{"user": "mallory", "item": "\xff"}',
    "odd types": b'{"user": ["mallory"], "item": {"a": [1]}}',
    "a key twice": b'{"user": "mallory", "item": "x", "item": "y"}',
    "other keys": b'{"zzz": 1}',
    "a huge number": b'{"user": "mallory", "item": 1e999}',
    "a zero in a text": b'{"user": "mallory", "item": "a\\u0000b"}',
    "deep": b'{"user": "mallory", "item": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep and open": b'{"user": "mallory", "item": ' + b"[" * 100_000,
    "50 megabytes": b'{"user": "mallory", "item": "' + b"x" * 50_000_000 + b'"}',
}
KINDS: dict[str, tuple[str, bytes, Callable[[str, str], bytes], dict[str, bytes]]] = {
    "csv": ("rows.csv", b"user,item\n", lambda user, item: f'"{user}",{item}\n'.encode(), CSV_LINES),
    "csv of Windows": ("rows.csv", b"user,item\r\n", lambda user, item: f"{user},{item}\r\n".encode(), CSV_LINES),
    "tsv": (
        "rows.tsv",
        b"user\titem\n",
        lambda user, item: f"{user}\t{item}\n".encode(),
        {name: line.replace(b",", b"\t") for name, line in CSV_LINES.items()},
    ),
    "jsonl": (
        "rows.jsonl",
        b"",
        lambda user, item: f'{{"user": "{user}", "item": "{item}"}}\n'.encode(),
        JSON_LINES,
    ),
}
_SHORT = 1000  # longer lines stand in the middle of one kind of file only
LIKE = {"csv of Windows": "csv", "tsv": "csv"}  # they go through the same code but for a few lines


def cases(kind: str) -> list[tuple[str, int, bool]]:
    """A line, its place and whether the file is compressed: each two of them, and each line in each kind of file."""
    alike = [one for one in KINDS if LIKE.get(one, one) == LIKE.get(kind, kind)]
    short = [name for name, line in KINDS[kind][3].items() if len(line) < _SHORT]
    found = [case[1:] for case in covering(alike, short, (0, 15, 30), (False, True)) if case[0] == kind]
    return found + [(name, 15, False) for name in KINDS[kind][3] if name not in short and kind not in LIKE]


def written(folder: Path, kind: str, place: int | None, line: bytes = b"") -> Path:
    """The rows of the others, with one more line at some place."""
    name, header, form, _ = KINDS[kind]
    rows = [form(*row) for row in OTHERS]
    if place is not None:
        rows.insert(place, line + (b"\r\n" if header.endswith(b"\r\n") else b"\n"))
    content = header + b"".join(rows)
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(content)
    (folder / f"{name}.gz").write_bytes(gzip.compress(content, 1))
    return folder / name


@contextmanager
def opened(path: Path, **more: bool) -> Iterator[DuckDBEngine]:
    with open_engine(path, user="user", item="item", key=b"k", **more) as engine:
        assert isinstance(engine, DuckDBEngine)
        yield engine


def counts(path: Path, **more: bool) -> dict[object, int]:
    with opened(path, **more) as engine:
        return dict(pairs(engine.top(1000)))


def harm(path: Path, before: dict[object, int], **more: bool) -> str | None:
    """What one more line did to the others; None where it did nothing."""
    try:
        after = counts(path, **more)
    except DataError:
        return "the question fails"
    moved = {item: after.get(item, 0) - before.get(item, 0) for item in before.keys() | after.keys()}
    wrong = {item: by for item, by in moved.items() if by not in (0, 1)}
    return f"counts moved by {wrong}" if wrong or sum(moved.values()) > 1 else None


@pytest.mark.parametrize("kind", KINDS)
def test_one_line_speaks_for_nobody_else(kind, tmp_path):
    before = counts(written(tmp_path / "before", kind, None))
    assert before == {f"item {n}": 10 for n in range(3)}
    for name, place, packed in cases(kind):
        path = written(tmp_path / "after", kind, place, KINDS[kind][3][name])
        assert harm(path.with_name(path.name + ".gz") if packed else path, before) is None, (name, place, packed)


def test_a_reader_whose_quotes_run_on_is_found_out(tmp_path):
    before = counts(written(tmp_path / "before", "csv", None), newlines_in_values=True)
    path = written(tmp_path / "after", "csv", 15, CSV_LINES["an open quote"])
    assert "counts moved" in str(harm(path, before, newlines_in_values=True))


@example(line=b'"')
@given(line=st.binary(max_size=30).map(lambda line: line.replace(b"\n", b"")))
def test_no_bytes_speak_for_anybody_else(tmp_path_factory, line):
    before = {f"item {n}": 10 for n in range(3)}
    for kind in ("csv", "jsonl"):
        assert harm(written(tmp_path_factory.mktemp("rows"), kind, 15, line), before) is None


def test_values_over_lines_where_the_owner_says_so(tmp_path):
    (tmp_path / "x.csv").write_text('user,item\nu1,"two\nlines"\nu2,"two\nlines"\n')
    assert counts(tmp_path / "x.csv", newlines_in_values=True) == {"two\nlines": 2}
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


def test_nan_of_sixteen_bits_is_missing(tmp_path):
    halves = pa.array(np.array([1.5, np.nan, np.nan], np.float16))
    pq.write_table(pa.table({"user": [1, 2, 3], "item": halves}), tmp_path / "x.parquet")
    with DuckDBEngine(tmp_path / "x.parquet", user="user", item="item", key=b"k") as engine:
        assert pairs(engine.top(3)) == [(1.5, 1)]
