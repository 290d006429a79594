"""Lines and their fields, beside Python's own way to split and to read one line."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import dpselect as dps
from dpselect.engines.duckdb.workspace import Workspace
from dpselect.engines.sources import csv_fields
from dpselect.engines.sources.arrow_texts import CONTIGUOUS, VIEWS, _alive, lines_of, repeated, streamed
from dpselect.engines.sources.csv_fields import cut_fields
from dpselect.engines.sources.csv_form import USUAL_CSV
from dpselect.engines.sources.files import find_files
from dpselect.engines.sources.scans.lines import json_values, open_lines
from dpselect.engines.sources.scans.reading import ONCE
from dpselect.engines.sources.text_lines import MAX_VALUE_BYTES, blocks, first_line
from tests.engines.opened import DuckDBEngine
from tests.engines.test_conformance import pairs

PIECES = [
    b"a", b"bc", b"\n", b"\n", b"\r\n", b"\r", b"\xff", b"\xc3", b"\xa9", "\u00e9".encode(), b'"', b'"', b'""', b",",
    b",", b"\x00", b" ", b"x" * 30, b"\xef\xbb\xbf", b"\\", b"'", b"\x1f",
]  # fmt: skip
CONTENT = st.lists(st.sampled_from(PIECES) | st.binary(max_size=3), max_size=60).map(b"".join)


def plain_lines(content: bytes, longest: int, *, header: bool) -> list[bytes]:
    """The lines that can be read, one after the other."""
    content = content.removeprefix(b"\xef\xbb\xbf")
    lines = content.removesuffix(b"\n").split(b"\n") if content else []
    kept = []
    for line in lines[1:] if header else lines:
        whole = line.removesuffix(b"\r") + b"\n"
        if len(whole) <= longest and whole.decode(errors="replace").encode() == whole:
            kept.append(whole)
    return kept


def plain_fields(line: bytes, delimiter: str) -> list[str | None]:
    """What the csv module reads in one line, None for an empty field; nothing where the line is not well formed."""
    text = line.decode().removesuffix("\n").replace("\r", "\ue000")  # to the module it would end a line
    quoted = csv.reader([text], delimiter=delimiter, strict=True)
    try:
        fields = next(quoted, [])
    except csv.Error:
        return []
    # An empty field in quotes is the empty text: its length in the line tells them apart.
    bare = split_outside(text, delimiter)
    pairs = zip(fields or [""], bare, strict=True)
    return [None if raw == "" else value.replace("\ue000", "\r") for value, raw in pairs]


def split_outside(text: str, delimiter: str) -> list[str]:
    """The fields as they are written."""
    fields, at = [], 0
    while True:
        end = at
        if text[at : at + 1] == '"':
            end += 1
            while text[end] != '"' or text[end : end + 2] == '""':
                end += 2 if text[end] == '"' else 1
        end = text.find(delimiter, end)
        if end < 0:
            return [*fields, text[at:]]
        fields.append(text[at:end])
        at = end + 1


@pytest.fixture(scope="module")
def workspace():
    workspace = Workspace()
    yield workspace
    workspace.close()


def records(workspace: Workspace, parts: list[bytes], delimiter: str, width: int) -> list[list[str | None]]:
    """The fields of all lines that have so many."""
    batches = (cut_fields(part, delimiter, width, range(width))[1] for part in parts)
    with streamed(batches, [VIEWS] * width) as stream, workspace.registered(stream) as name:
        return [list(row) for row in workspace.fetch_unguarded(f"SELECT * FROM {name}")]


@given(CONTENT, st.integers(1, 40), st.integers(1, 40), st.booleans(), st.booleans())
@example(content=b"1\n" + b"x" * 40, size=40, longest=30, header=False, packed=False)
@example(content=b"1\n" + b"x" * 30, size=40, longest=31, header=False, packed=False)
def test_lines_are_those_of_the_file_wherever_reading_stops(tmp_path_factory, content, size, longest, header, packed):
    path = tmp_path_factory.mktemp("lines") / ("x.csv.gz" if packed else "x.csv")
    path.write_bytes(gzip.compress(content) if packed else content)
    found = list(blocks(str(path), header=header, size=size, longest=longest))
    assert b"".join(found) == b"".join(plain_lines(content, longest, header=header))
    assert all(block.endswith(b"\n") for block in found)


@given(CONTENT, st.sampled_from(",;\t|"), st.integers(1, 4), st.booleans())
def test_fields_are_those_that_python_reads_in_each_line_alone(workspace, content, delimiter, width, apart):
    lines = plain_lines(content.replace(b",", delimiter.encode()), MAX_VALUE_BYTES, header=False)
    right = [fields for line in lines if len(fields := plain_fields(line, delimiter)) == width]
    parts = lines if apart else [b"".join(lines)] if lines else []
    assert records(workspace, parts, delimiter, width) == right


FIELDS = [
    "",
    "a",
    '""',
    '"b"',
    '"c,d"',
    '"e""f"',
    'g"h',
    'i""',
    "\r",
    '"\r"',
    "\x00",
    "\ufeff",
    '",,"',
    '"\x00,"',
    '""""',
]


def test_every_pair_of_fields(workspace):
    rows = [[one, other] for one in FIELDS for other in FIELDS]
    lines = [",".join(row).encode() + b"\n" for row in rows]
    right = [plain_fields(line, ",") for line in lines]
    assert records(workspace, [b"".join(lines)], ",", 2) == [one for one in right if len(one) == 2]
    assert sum(len(one) == 2 for one in right) == len(rows)


ORDINARY = {"csv": b'u%d,"it, em",x\n', "tsv": b"u%d\titem\tx\n", "jsonl": b'{"user": "u%d", "item": "item"}\n'}
LONG_LINES = [
    b"x" * (MAX_VALUE_BYTES - 1),
    b"x" * MAX_VALUE_BYTES,
    b'"' * (MAX_VALUE_BYTES - 5) + b",b,c",
    b'u,"' + b"," * (MAX_VALUE_BYTES - 9) + b'",x',
]
ANYTHING = st.lists(CONTENT | st.sampled_from(LONG_LINES), min_size=1, max_size=4)


@given(ANYTHING, st.sampled_from(sorted(ORDINARY)), st.booleans(), st.booleans())
def test_nobody_else_s_rows_move(tmp_path_factory, between, kind, packed, ended):
    """Whatever stands between the lines of others, and at the end of the file, they are read as without it."""
    path = tmp_path_factory.mktemp("between") / (f"x.{kind}.gz" if packed else f"x.{kind}")
    first = {"csv": b"user,item,other\n", "tsv": b"user\titem\tother\n", "jsonl": b""}[kind]
    parts = [first]
    for number, odd in enumerate(between):
        parts += [ORDINARY[kind] % number, odd, b"\n"]
    parts.append((ORDINARY[kind] % len(between)).removesuffix(b"" if ended else b"\n"))
    content = b"".join(parts)
    path.write_bytes(gzip.compress(content, 1) if packed else content)
    item = "it, em" if kind == "csv" else "item"
    with DuckDBEngine(path, user="user", item="item", key=b"k") as engine:
        assert dict(pairs(engine.top(10_000)))[item] == len(between) + 1


def test_a_line_is_taken_apart_once_whatever_is_asked_of_it(workspace, tmp_path):
    """The plan names what a filter computes: columns that are there, unless the engine moved it below them."""
    (path := tmp_path / "x.jsonl").write_text("{}\n")
    with open_lines(find_files(path), USUAL_CSV).rows(workspace, ["a", "b"]) as rows:
        for source, moved in ((rows, False), (rows.replace(ONCE, "true"), True)):
            sql = f"SELECT b, count(DISTINCT a) FROM {source} WHERE a IS NOT NULL AND b <> 'x' GROUP BY b"
            ((_, plan),) = workspace.fetch_unguarded(f"EXPLAIN (FORMAT json) {sql}")
            assert ("array_extract" in plan) == moved


def test_a_line_that_is_no_object_is_not_tried(workspace):
    """Where one cannot be read, all beside it are read once more: a blank line would be seen by the clock."""
    lines = b'\n\r\nbad\n[1\n"x\n{"user": 1}\n \t{"user": 2}\n'
    with streamed(iter([[lines_of(lines)]]), [CONTIGUOUS]) as stream, workspace.registered(stream) as name:
        sql = f"SELECT v[1] FROM {json_values(name, 'c0', ['user'])}"
        assert "TRY(" in sql
        found = workspace.fetch(sql.replace("TRY(", "("))
    assert found == [(None,)] * 5 + [("1",), ("2",)]


@given(st.lists(st.lists(st.sampled_from(FIELDS), min_size=1, max_size=3), max_size=40))
def test_unusual_lines_move_no_other(workspace, rows):
    """A block of usual lines, with others between them that are rewritten or left out, each as if it stood alone."""
    lines = [",".join(row).encode() + b"\n" for row in rows]
    alone = [fields for line in lines for fields in records(workspace, [line], ",", 2)]
    assert records(workspace, [b"".join(lines)] if lines else [], ",", 2) == alone


def test_an_unusual_line_that_is_no_record_is_not_cut_again(monkeypatch):
    """A line of a mebibyte would take as long as hundreds of usual ones: its row would be seen by the clock."""
    again = []
    monkeypatch.setattr(csv_fields, "cut_fields", lambda block, *_: again.append(block) or (0, []))
    cut_fields(b'a,b\n"c",d"e,f\n"g",h"i\n"j"k,l\n"m",n"\n', ",", 2, [0])
    assert again == [b'a,b\n"g","h""i"\n"m","n"""\n']


def test_a_block_without_records_does_not_end_the_rows(workspace):
    assert records(workspace, [b"a,b\n", b"x\n", b'"\n"y"z\n', b"c,d\n"], ",", 2) == [["a", "b"], ["c", "d"]]


@given(st.lists(st.text(max_size=40), min_size=1), st.integers(1, 5000))
def test_texts_of_every_length_are_themselves(workspace, texts, times):
    """Those that stand in their views, those that do not, and one value for many rows."""
    block = "".join(f'"{text}"\n'.replace("\r", "") for text in texts if "\n" not in text and '"' not in text).encode()
    right = [[line[1:-1]] for line in block.decode().split("\n")[:-1]]
    assert records(workspace, [block] if block else [], ",", 1) == right
    batches = [[repeated(text, times)] for text in (*texts, None)]
    with streamed(iter(batches), [VIEWS]) as stream, workspace.registered(stream) as name:
        rows = workspace.fetch_unguarded(f"SELECT c0, count(*) FROM {name} GROUP BY c0")
    counts = {text: texts.count(text) * times for text in texts}
    assert dict(rows) == counts | {None: times}


@pytest.mark.parametrize("key", ["0", "1", "-", "00", "+0", "0x0", "\u0660", "user", "a0"])
def test_a_list_has_no_keys(tmp_path, key):
    path = tmp_path / "x.jsonl"
    path.write_text('["z", "y"]\n ["z"]\n' + json.dumps({key: "a"}) + "\n")
    with DuckDBEngine(path, user=key, item=key, key=b"k") as engine:
        assert pairs(engine.top(3)) == [("a", 1)]


def test_a_line_of_any_length_is_left_out_alone_and_never_held(tmp_path):
    path = tmp_path / "x.csv"
    for length in (MAX_VALUE_BYTES - 1, MAX_VALUE_BYTES, 50_000_000):
        path.write_bytes(b"user,item\n1,a\n" + b"x" * length + b"\n2,b\n")
        found = list(blocks(str(path), header=True))
        assert b"".join(found).replace(b"x", b"") == (b"1,a\n\n2,b\n" if length < MAX_VALUE_BYTES else b"1,a\n2,b\n")
        assert max(map(len, found)) <= MAX_VALUE_BYTES + (1 << 17)


def test_the_first_line_is_looked_at_alone(tmp_path):
    path = tmp_path / "x.csv"
    for content, line in ((b"", None), (b"\xef\xbb\xbfa,b\r\nc", b"a,b"), (b"a\r", b"a"), (b"\n", b"")):
        path.write_bytes(content)
        assert first_line(str(path)) == line


@pytest.mark.parametrize("name", ["x.csv", "x.jsonl"])
def test_nothing_is_kept_when_a_question_is_over(name, tmp_path):
    csv_text = io.StringIO()
    csv.writer(csv_text).writerows([("user", "item"), *((n, "a") for n in range(200_000))])
    lines = csv_text.getvalue() if name == "x.csv" else '{"user": 1, "item": 2}\n' * 200_000
    (tmp_path / name).write_text(lines)
    before = set(_alive)
    with DuckDBEngine(tmp_path / name, user="user", item="item", key=b"k") as engine:
        assert len(engine.top(3).counts) == 1
        with engine._database.reading(f"SELECT u FROM {engine._rows}"):
            pass  # a stream that nobody reads
    assert set(_alive) == before


# ---- the form of a file, as its owner says it ---------------------------------------------------------------


def asked(path: Path, **said: object) -> list[tuple[object, int]]:
    """Items and their numbers of users."""
    with dps.Dataset(dps.CSV(path, **said), user="user", item="item").engine() as engine:  # type: ignore[arg-type]
        return sorted(pairs(engine.top(9)))


def test_files_without_a_header_and_with_a_title(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"\xef\xbb\xbf1;tea\r\n2;tea\r\n3;milk\r\n4;a;b\r\n")
    for newlines in (False, True):
        said = {"columns": ["user", "item"], "delimiter": ";", "newlines_in_values": newlines}
        assert asked(path, **said)[-2:] == [("milk", 1), ("tea", 2)]
    assert asked(path, header=False, columns=["user", "item"], delimiter=";", skip=1) == [("milk", 1), ("tea", 1)]
    path.write_bytes(b"1\n2")  # shorter than a mark of UTF-8
    assert list(blocks(str(path), header=2)) == []
    path.write_text("exported, by somebody\n\nuser,item\n1,tea\n2,tea\n")
    for newlines in (False, True):
        assert asked(path, skip=2, newlines_in_values=newlines) == [("tea", 2)]
    assert "of them read" in str(dps.Dataset(dps.CSV(path, skip=2), user="user", item="item").inspect())


def test_other_encodings_are_read_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes("user,item\n1,café\n2,caf".encode("cp1252") + b"\x81\n3," + "café\n".encode("cp1252"))
    assert asked(path, encoding="cp1252") == [("café", 2)]
    assert asked(path) == []
    assert asked(path, encoding="latin-1") == [("caf\x81", 1), ("café", 2)]
    found = str(dps.Dataset(dps.CSV(path, encoding="cp1252"), user="user", item="item").inspect())
    assert "left out: 1 not in cp1252 (line 3)" in found


def test_a_mark_of_utf8_is_left_out_at_the_start_of_a_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    lines = "\ufeffuser,item\n\ufeff1,tea\n1,tea\n".encode()
    for more in (b"", b"\xff,milk\n"):  # a line that cannot be read changes no other
        path.write_bytes(lines + more)
        assert asked(path, encoding="utf-8-sig") == asked(path) == [("tea", 2)]


@pytest.mark.parametrize("newlines", [False, True])
def test_messages_do_not_show_the_first_line_of_a_file_without_a_header(tmp_path: Path, newlines: bool) -> None:
    (tmp_path / "x.csv").write_text("ann,paris\n")
    source = dps.CSV(tmp_path / "x.csv", newlines_in_values=newlines)
    for said in ({"user": "user", "item": "item"}, {"user": "ann", "item": "paris", "types": {"zzz": "BIGINT"}}):
        with pytest.raises(dps.ParameterError) as error:
            dps.Dataset(source, **said).users(epsilon=1)  # type: ignore[arg-type]
        assert "ann" not in str(error.value)
        assert "paris" not in str(error.value)


@pytest.mark.parametrize(
    "said",
    [{"encoding": "unicode_escape"}, {"encoding": "raw_unicode_escape"}, {"encoding": "iso2022_jp"},
     {"encoding": "utf-16"}, {"encoding": "shift_jis"}, {"encoding": "rot13"}, {"encoding": "cp037"}, {"skip": -1},
     {"header": False}, {"columns": "user"}, {"columns": ["a", "a"]}, {"delimiter": ":"},
     {"encoding": "cp1252", "newlines_in_values": True}],
)  # fmt: skip
def test_a_form_that_cannot_be_is_refused(said: dict[str, object]) -> None:
    with pytest.raises(dps.ParameterError):
        dps.CSV("x.csv", **said)  # type: ignore[arg-type]


def test_a_header_that_names_a_column_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("user,item,user\n1,tea,2\n")
    with pytest.raises(dps.DataError, match="names column 3 as another column too") as error:
        asked(tmp_path / "x.csv")
    assert "user," not in str(error.value)
    assert asked(tmp_path / "x.csv", columns=["user", "item", "other"], skip=1) == [("tea", 1)]


def test_a_form_makes_another_question(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("user,item\n1,tea\n")
    forms = [{}, {"encoding": "latin-1"}, {"skip": 1, "columns": ["user", "item"]}, {"delimiter": ","}]
    found = set()
    for form in forms:
        data = dps.Dataset(dps.CSV(tmp_path / "x.csv", **form), user="user", item="item")  # type: ignore[arg-type]
        with data.engine() as engine:
            found.add(data._rows.fingerprint("top_k", {}, engine, None).text)
    assert len(found) == len(forms)


@pytest.mark.parametrize("key", ["user", "a/b~c", "0", "it's"])
@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "-Infinity", "nan", "-nan", "-NAN", "inf", "-INF", "nAn", "-iNfInItY"]
)
def test_a_number_that_json_does_not_have_is_missing_and_its_name_is_a_text(number, key, tmp_path):
    """Python writes a missing id as NaN: the rows of all people without one would be one person's."""
    users = [*(f'"u{n}"' for n in range(50)), number, number, f'"{number}"', f'["{number}"]', f"[{number}]"]
    (path := tmp_path / "x.jsonl").write_text(
        "".join(f'{{{json.dumps(key)}: {user}, "item": "tea", "more": {number}}}\n' for user in users)
    )
    with DuckDBEngine(path, user=key, item="item", key=b"k") as engine:
        assert pairs(engine.top(9)) == [("tea", 53)]
    with DuckDBEngine(path, user="item", item=key, key=b"k", where="more IS NULL") as engine:
        assert len(pairs(engine.top(99))) == 53
