"""What an owner is told of a source: it agrees with what is read, and says what fails."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given

import dpselect as dps
from dpselect.command.main import main
from dpselect.engines.duckdb.workspace import Workspace
from dpselect.engines.sources.text_lines import Header, blocks
from dpselect.engines.values import MAX_VALUE_BYTES
from dpselect.inspection.files import _is_record
from dpselect.inspection.report import inspect
from dpselect.inspection.text_faults import TOO_LONG, csv_judge, find_faults, json_judge
from tests.engines.test_awkward_rows import counts, texts
from tests.engines.test_text_lines import CONTENT, records
from tests.replay.odd_lines import LINES

FIRST = "NOT PRIVATE: this reads every row, and its output is for the owner of the data only"


def said(source: object, **more: object) -> list[str]:
    """What is said of the lines and rows of a source; what its columns are is in `test_inspected_types`."""
    found = dps.Dataset(source, **more).inspect() if more else inspect(source)  # type: ignore[arg-type]
    first, *others = str(found).splitlines()
    assert first == FIRST
    columns = ("column ", "text can be used", "to ask", "dpselect top", "to declare")
    return [line for line in others if not line.startswith(columns)]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_keys_that_are_in_no_line():
    """Whoever misspells a key, or asks for one inside of another, reads which keys there are."""
    lines = [b'{"user":{"id":1},"Item":"a","n":null}', b'{"user":{"id":2},"Item":"b"}', b"[1]", b'{"user":3,"x"']
    Path("x.jsonl").write_bytes(b"\n".join(lines))
    found = said("x.jsonl", user="user.id", item="item", where="n = 'x'")
    assert found[2:6] == [
        "NO LINE has a value under the key 'user.id': questions that use it are charged for empty answers",
        "NO LINE has a value under the key 'item': questions that use it are charged for empty answers",
        "NO LINE has a value under the key 'n': questions that use it are charged for empty answers",
        "keys that lines have: 'Item' (2), 'user' (2), 'n' (1); keys inside of others (a.b) are not read",
    ]
    assert said("x.jsonl", user="user", item="Item")[2:5] == [
        "key 'user': a value in 2 of 4 lines",
        "key 'Item': a value in 2 of 4 lines",
        "rows: 4",
    ]
    Path("x.csv").write_text("user,item\n1,a\n")
    assert not [line for line in said("x.csv", user="user", item="item") if "key" in line or "LINE" in line]


def test_an_empty_answer_names_the_keys_of_json_lines():
    """Whatever the lines hold: of a key that is in no line, and of one that is in all."""
    Path("x.jsonl").write_text("".join(f'{{"user": {user}, "item": "a"}}\n' for user in range(300)))
    Path("x.csv").write_text("user,item\n")
    budget = dps.Budget(epsilon=3, delta="1e-3")

    def asked(source: str, user: str, where: str) -> dps.Release:
        data = dps.Dataset(source, user=user, item="item", where=where, budget=budget)
        return data.top_k(3, epsilon="0.5", delta="1e-6")

    def words(release: dps.Release) -> str:
        return " ".join(str(release).split())

    for user, where in (("user.id", "item = 'a'"), ("user", "item = 'b'"), ("user", "cuontry = 'x'")):
        keys = ", ".join(dict.fromkeys([user, "item", where.split()[0]]))
        said_of_it = f"things to check: the keys {keys}, the filter"
        first, again = (asked("x.jsonl", user, where) for _ in range(2))
        assert not first.items
        assert said_of_it in words(first)
        assert said_of_it in words(again)  # stored
        assert again.charged.numbers["repeated"]
        assert str(dps.check(first).verdict) == "follows"
    full = asked("x.jsonl", "user", "item = 'a'")
    assert full.items
    assert "things to check" not in words(full)
    assert "things to check: the filter" in words(asked("x.csv", "user", "item = 'a'"))


def test_lines_of_a_csv_file():
    Path("x.csv").write_bytes(b'user,item\nu1,a\nmallory,"x\nu2,a\nu3\n\xff,b\n\nu4,"q\nu5,\n')
    assert said("x.csv") == [
        "x.csv: 8 lines, 3 of them read",
        "x.csv: left out: 2 with a quote that has no other, or with text after a quote (line 3, 8)",
        "x.csv: left out: 1 of 1 fields where the header has 2 (line 5)",
        "x.csv: left out: 1 not UTF-8 (line 6); in Python, dps.CSV(files, encoding='cp1252') declares another encoding",
        "x.csv: left out: 1 blank (line 7)",
    ]
    assert said("x.csv", user="user", item="item", where="item <> 'b'")[5:] == [
        "rows: 3",
        "rows without a user: 0",
        "rows without an item: 1",
        "rows that where leaves out: 1",
        "users: 2",
        "items: 1",
        "pairs of a user and an item: 2",
        "items of a user: at least 1; 25% have at most 1, 50% have at most 1, 75% have at most 1, 90% have at most 1, "
        "99% have at most 1, 100% have at most 1",
    ]
    assert "not checked one by one" in said(dps.CSV("x.csv", newlines_in_values=True), user="user", item="item")[0]


@pytest.fixture(scope="module")
def shared() -> Iterator[Workspace]:
    workspace = Workspace()
    yield workspace
    workspace.close()


@given(CONTENT)
def test_a_line_of_csv_has_a_fault_where_it_is_not_read(shared, content):
    path = Path("x.csv")
    path.write_bytes(content)
    found = [fault for _, fault in find_faults("x.csv", csv_judge(Header(",", ("a", "b"))), header=True)]
    assert found.count(None) == len(records(shared, list(blocks("x.csv", header=True)), ",", 2))


NO_VALUES = {  # lines that are read, and have no user or no item
    "csv": {"delimiters only"},
    "json": {"an empty record", "a missing key", "a null", "keys in other case", "NaN"},
}


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_every_awkward_line_is_read_or_has_a_fault(kind):
    name = "x.csv" if kind == "csv" else "x.jsonl"
    workspace = Workspace()
    judge = (
        csv_judge(Header(",", ("user", "item", "other")))
        if kind == "csv"
        else json_judge(lambda line: _is_record(workspace, line))
    )
    empty = set()
    for odd in LINES[kind]:
        Path(name).write_bytes((b"user,item,other\n" if kind == "csv" else b"") + odd.line)
        found = [fault for _, fault in find_faults(name, judge, header=kind == "csv")]
        read = counts(Path(name))
        assert None in found or read == {}, odd.name
        empty |= {odd.name} if None in found and not read else set()
    workspace.close()
    assert empty == NO_VALUES[kind]


def test_records_and_damage():
    Path("x.jsonl").write_bytes(b'{"user":1,"item":2}\n[1]\n{"user":"\\ud800"}\n{"user":3,"item":"\\u00e9",}\nbad\n')
    assert said("x.jsonl") == [
        "x.jsonl: 5 lines, 2 of them read",
        "x.jsonl: left out: 3 not one JSON object (line 2, 3, 5)",
    ]
    packed = gzip.compress(b"user,item\n" + b"1,2\n" * 100_000)
    Path("x.csv.gz").write_bytes(packed[:-200])
    assert "FAILS after" in said("x.csv.gz")[0]


def test_columns_of_parquet_that_cannot_be_read():
    moments = pa.array([0, 2**62], pa.int64()).cast(pa.timestamp("ms"))
    table = {"user": [1, 2], "item": texts([b"a", b"\xff"]), "when": moments, "x": np.array([1.5, np.nan])}
    pq.write_table(pa.table(table), "x.parquet")
    assert said("x.parquet") == [
        "x.parquet: 2 rows",
        "x.parquet: read with ? instead of invalid bytes: "
        "1 texts of column item that are not UTF-8 (the first in row 2)",
        "x.parquet: FAILS: column when (TIMESTAMP) has values that cannot be read, such as times out of range; every "
        "question that uses it fails. Write the file again without them",
    ]
    assert "FAILS: a question with these columns is refused: the source" in said("x.parquet", user="when", item="x")[3]
    assert "rows without an item: 1" in said("x.parquet", user="user", item="x")


def test_what_is_no_file():
    assert said({"user": [1, 2], "item": ["a", "a"]}, user="user", item="item")[0] == "rows: 2"
    with pytest.raises(dps.ParameterError, match="user must be given with item for a source that is not a file"):
        inspect({"user": [1]})


def test_the_command_says_the_same(capsys):
    Path("x.csv").write_text("user,item\n1,a\n")
    command = ["inspect", "x.csv", "--user", "user", "--item", "item"]
    assert main(command) == 0
    assert capsys.readouterr() == (f"{dps.Dataset('x.csv', user='user', item='item').inspect()}\n", "")
    assert main(["inspect", "x.csv"]) == 0
    assert capsys.readouterr() == (f"{inspect('x.csv')}\n", "")
    for words, text in (
        (["--user", "user"], "item must be the name of a column, or a list of several, got nothing"),
        (["--where", "true"], "user must be the name of a column"),
        ([*command[2:], "--time", "day", "--period", "month"], "during must be given for data with a time"),
    ):
        assert main(["inspect", "x.csv", *words]) == 2
        assert text in capsys.readouterr().err
    assert main(["inspect", "y.csv"]) == 3
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("text", [r"\u00e9", r"\ud83d\ude00", r"\\ud83d\u0041\n", r"\uD83D\uDE00\""])
def test_escapes_of_whole_characters_are_judged_without_the_engine(text):
    assert json_judge(lambda _line: False)(f'{{"v": "{text}"}}') is None


@pytest.mark.parametrize("text", [r"\ud83d", r"\ude00\ud83d", r"\\ud83d\ude00", r"\ud83d\u0041", r"\ud83d\ud83d\ude00"])
def test_half_of_a_character_is_the_engine_s_to_judge(text):
    assert json_judge(lambda _line: False)(f'{{"v": "{text}"}}') == "not one JSON object"


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("letters", [MAX_VALUE_BYTES // 2, *range(MAX_VALUE_BYTES - 2, MAX_VALUE_BYTES + 3)])
@pytest.mark.parametrize(("encoding", "letter"), [("utf-8", b"x"), ("cp1252", b"x"), ("cp1252", b"\xe9")])
def test_the_longest_line_is_that_of_a_question(encoding, letter, letters, mark):
    """It is measured in UTF-8, which may have more bytes, and without the mark at the start of a file."""
    Path("x.csv").write_bytes(mark + letter * letters + b"\r\n")
    read = list(blocks("x.csv", header=0, encoding=encoding))
    judge = csv_judge(Header(",", ("user",), 0, encoding))
    assert [fault for _, fault in find_faults("x.csv", judge, header=0, encoding=encoding)] == [
        None if read else TOO_LONG
    ]
