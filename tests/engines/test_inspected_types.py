"""What inspection proposes to declare: the first type that fits, what it leaves missing, and a command that works."""

from __future__ import annotations

import datetime
import gzip
import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpselect as dps
from dpselect.command.main import main
from dpselect.inspection import columns as inspected_columns
from dpselect.inspection.report import IntendedUse, inspect, missing_as_declared
from dpselect.rows import parse_types

NUMBER = 400
Say = Callable[[int], object]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_csv(path: str, columns: dict[str, Say], rows: int = NUMBER) -> None:
    lines = ["\t".join(columns), *("\t".join(str(say(n)) for say in columns.values()) for n in range(rows))]
    text = "\n".join(lines) + "\n"
    Path(path).write_bytes(gzip.compress(text.encode()) if path.endswith(".gz") else text.encode())


def of_columns(source: object, **wanted: object) -> dict[str, str]:
    """What is said of each column, without its name."""
    found = inspect(source, intended_use=IntendedUse(**wanted)).findings  # type: ignore[arg-type]
    lines = [line.removeprefix("column ").partition(": ") for line in found if line.startswith("column ")]
    return {name: said for name, _, said in lines}


def moment(n: int) -> datetime.datetime:
    return datetime.datetime(2026, 3, n % 28 + 1, n % 24)


TEXTS: dict[str, tuple[Say, str]] = {  # a text column for each type, all values read
    "BIGINT": (lambda n: n - 200, "BIGINT"),
    "whole, with a point": (lambda n: f"{n}.0", "BIGINT"),
    "more digits than BIGINT": (lambda n: 10**20 + n, "DECIMAL(38,0)"),
    "decimals": (lambda n: f"{n / 100:.2f}" if n % 2 else n, "DECIMAL(18,2)"),
    "decimals of a long fraction": (lambda n: f"{n}.{n:020d}", "DECIMAL(38,20)"),
    "powers of ten": (lambda n: f"{n}e-{n % 5}", "DOUBLE"),
    "decimal commas": (lambda n: f"{n},{n % 100:02d}", "NUMBER(type='DECIMAL(18,2)', decimal=',')"),
    "points for thousands": (
        lambda n: f"{n % 9 + 1}.{n:03d},{n % 100:02d}",
        "NUMBER(type='DECIMAL(18,2)', decimal=',', thousands='.')",
    ),
    "commas for thousands": (lambda n: f"{n % 9 + 1},{n:03d}.5", "NUMBER(type='DECIMAL(18,1)', thousands=',')"),
    "days": (lambda n: moment(n).date(), "DATE"),
    "days and moments": (lambda n: moment(n) if n % 2 else moment(n).date(), "TIMESTAMP"),
    "moments": (lambda n: moment(n).isoformat(), "TIMESTAMP"),
    "moments in a zone": (lambda n: f"{moment(n).isoformat()}Z", "TIMESTAMPTZ"),
    "truth": (lambda n: "true" if n % 2 else "false", "BOOLEAN"),
    "days of Germany": (lambda n: f"{n % 28 + 1}.03.2026", "TIME(format='%d.%m.%Y')"),
    "moments of America": (lambda n: f"03/{n % 28 + 1}/2026 10:30", "TIME(format='%m/%d/%Y %H:%M')"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_column_of_texts_is_proposed_the_first_type_that_fits(name: str) -> None:
    say, declared = TEXTS[name]
    write_csv("x.tsv", {"user": lambda n: f"u{n}", "value": say})
    assert of_columns("x.tsv")["value"] == f"text; {declared} reads all {NUMBER} values"
    *_, command = inspect("x.tsv").findings
    assert f"value={declared}" in shlex.split(command)
    types = parse_types({"value": declared})
    assert missing_as_declared("x.tsv", types) == [f"value: reads all {NUMBER} values"]


@pytest.mark.parametrize("name", TEXTS)
def test_one_value_that_does_not_fit_has_its_line(name: str) -> None:
    say, declared = TEXTS[name]
    for path in ("x.tsv", "x.tsv.gz"):
        write_csv(path, {"user": lambda n: f"u{n}", "value": lambda n: "red" if n in (7, 90) else say(n)})
        said = f"{declared} leaves 2 of {NUMBER} values missing (the first in line 9)"
        assert of_columns(path)["value"] == f"text; {said}"


def test_lines_that_are_not_read_are_counted_as_lines() -> None:
    """A line has the number that an editor shows, whatever lines before it are left out."""
    lines = [b"user,price", b"1,2.5", b'1,"', b"\xff,3", b"1", b"1," + b"9" * (1 << 20), b"", b"2,3", b"3,red", b"4,1"]
    Path("x.csv").write_bytes(b"\n".join(lines))
    said = "text; DECIMAL(18,1) leaves 1 of 4 values missing (the first in line 9)"
    assert of_columns("x.csv")["price"] == said
    records = [b'{"price": 1.5}', b"[1]", b'{"price": "\xff"}', b'{"price": 2}', b'{"price": "red"}', b'{"price": 3}']
    Path("x.jsonl").write_bytes(b"\n".join(records))
    said = "text; DECIMAL(18,1) leaves 1 of 4 values missing (the first in line 5)"
    assert of_columns("x.jsonl")["price"] == said


def test_a_large_file_has_the_first_line_of_all_blocks() -> None:
    write_csv("x.tsv", {"user": lambda n: f"u{n}" * 20, "value": lambda n: "red" if n >= 30_000 else n}, 60_001)
    assert (
        of_columns("x.tsv")["value"].endswith("leaves 30,001 of 60,001 values missing (the first in line 30,002)")
        is False
    )
    write_csv("x.tsv", {"user": lambda n: f"u{n}" * 20, "value": lambda n: "red" if n >= 50_000 else n}, 60_000)
    said = "text; BIGINT leaves 10,000 of 60,000 values missing (the first in line 50,002)"
    assert of_columns("x.tsv")["value"] == said


MIXED: dict[str, tuple[Say, str]] = {  # nothing is proposed, and what is said instead
    "words": (lambda n: f"red {n}", "text"),
    "nothing": (lambda _n: "", "text"),
    "fewer numbers than half": (lambda n: n if n % 3 == 0 else "red", "text; BIGINT reads 134 of 400 values"),
    "codes": (
        lambda n: f"{n:05d}",
        "text; BIGINT reads all 400 values; but 400 begin with 0, as codes do, and would lose it, so it is not "
        "proposed",
    ),
    "points of thousands or decimals": (
        lambda n: f"{n % 9 + 1}.{n:03d}",
        "text; DECIMAL(18,3) reads all 400 values, or NUMBER(type='BIGINT', decimal=',', thousands='.') reads all 400 "
        "values; two readings, of which you alone know which was meant",
    ),
    "commas of thousands or decimals": (
        lambda n: f"{n % 9 + 1},{n:03d}" if n % 2 else n,
        "text; NUMBER(type='BIGINT', thousands=',') reads all 400 values, or NUMBER(type='DECIMAL(18,3)', decimal=',') "
        "reads all 400 values; two readings, of which you alone know which was meant",
    ),
    "months or days": (
        lambda n: f"{n % 12 + 1}/{n % 11 + 1}/2026",
        "text; TIME(format='%d/%m/%Y') reads all 400 values, or TIME(format='%m/%d/%Y') reads all 400 values; two "
        "readings, of which you alone know which was meant",
    ),
    "a zone for some": (
        lambda n: moment(n).isoformat() + ("Z" if n % 4 else ""),
        "text; times, of which 100 of 400 have no zone: TIME(zone='...') says where the clocks stood that showed these",
    ),
}


@pytest.mark.parametrize("name", MIXED)
def test_what_leaves_a_choice_is_not_chosen(name: str) -> None:
    say, said = MIXED[name]
    write_csv("x.tsv", {"user": lambda n: f"u{n}", "value": say})
    assert of_columns("x.tsv")["value"] == said
    assert "--type" not in shlex.split(inspect("x.tsv").findings[-1])


def test_a_fraction_below_one_shows_what_the_point_is() -> None:
    write_csv("x.tsv", {"user": lambda n: f"u{n}", "value": lambda n: f"{n % 2}.{n:03d}"})
    assert of_columns("x.tsv")["value"] == "text; DECIMAL(18,3) reads all 400 values"


@pytest.mark.parametrize(
    ("unit", "digits", "name"), [("s", 0, ""), ("ms", 3, "milli"), ("us", 6, "micro"), ("ns", 9, "nano")]
)
def test_numbers_in_a_column_of_times_count_from_1970(unit: str, digits: int, name: str) -> None:
    said = f"TIME(unit='{unit}') reads all 400 values; whole numbers that count {name}seconds from 1970 on"
    write_csv("x.tsv", {"user": lambda n: f"u{n}", "at": lambda n: (1_775_781_000 + n) * 10**digits})
    assert of_columns("x.tsv", time="at")["at"] == f"text; {said}"
    other = f"text; BIGINT reads all 400 values; as times they would be {name}seconds: TIME(unit='{unit}')"
    assert of_columns("x.tsv")["at"] == other
    at = pa.array([(1_775_781_000 + n) * 10**digits for n in range(400)])
    pq.write_table(pa.table({"user": range(400), "at": at}), "x.parquet")
    assert of_columns("x.parquet", time="at")["at"] == f"BIGINT; {said}"


def test_users_are_declared_only_where_their_forms_differ() -> None:
    """A user is never named, so whole numbers may stay text; unless 7 and 7.0 would be two users."""
    write_csv("x.tsv", {"user": lambda n: n})
    assert of_columns("x.tsv", user=("user",))["user"] == "text; BIGINT reads all 400 values"
    assert "--type" not in inspect("x.tsv", intended_use=IntendedUse(("user",))).findings[-1]
    lines = ['{"user": 7, "item": "a"}', '{"user": 7.0, "item": "b"}', '{"user": "8", "item": "a"}']
    Path("x.jsonl").write_text("\n".join(lines))
    data = dps.Dataset("x.jsonl", user="user", item="item")
    said = str(data.inspect()).splitlines()
    other = "1 of them in another form than 7, such as 7.0: other users until it is declared"
    assert f"column user: text; BIGINT reads all 3 values; {other}" in said
    assert "users: 3" in said
    assert said[-1] == "dpselect top x.jsonl --user user --item item --type user=BIGINT --epsilon 1"
    assert "users: 2" in str(dps.Dataset("x.jsonl", user="user", item="item", types={"user": "BIGINT"}).inspect())


def test_items_are_declared_where_hardly_any_would_be_missing() -> None:
    for bad, declared in ((10, True), (30, False)):
        write_csv("x.tsv", {"user": lambda n: f"u{n}", "item": lambda n, bad=bad: "red" if n < bad else n})
        said = str(dps.Dataset("x.tsv", user="user", item="item").inspect()).splitlines()
        line = f"column item: text; BIGINT leaves {bad} of 400 values missing (the first in line 2)"
        more = "" if declared else "; not proposed for items, of which more than 1 in 20 would be missing"
        assert line + more in said
        assert ("--type item=BIGINT" in said[-1]) == declared
        assert "--type item=BIGINT" in inspect("x.tsv").findings[-1]  # as a weight or a measure
    write_csv("x.tsv", {"user": lambda n: f"u{n}", "item": lambda n: n})
    parts = str(dps.Dataset("x.tsv", user="user", item=dps.Split("item", "1")).inspect()).splitlines()
    assert "column item: text" in parts
    assert parts[-1] == "dpselect top x.tsv --user user --item item --split 1 --epsilon 1"


def test_a_wide_table_says_which_columns_were_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspected_columns, "_MAX_COLUMNS", 2)
    write_csv("x.tsv", {f"c{place}": lambda n: n for place in range(5)}, 3)
    assert [*of_columns("x.tsv", time="c4")] == ["c4", "c0", "c1"]
    said = "of 5 columns only the first 2 and those that are asked for were looked at"
    assert said in inspect("x.tsv").findings
    write_csv("y.tsv", {"user": lambda n: n}, 3)
    assert not any("looked at" in line for line in inspect("y.tsv").findings)


def test_keys_of_json_lines() -> None:
    lines = [b'{"user":{"id":1},"Item":"a","n":null}', b'{"user":{"id":2},"Item":"b"}', b"[1]", b'{"user":3,"x"']
    Path("x.jsonl").write_bytes(b"\n".join(lines))
    found = str(dps.Dataset("x.jsonl", user="user.id", item="Item", where="n = 'x'").inspect()).splitlines()
    nothing = "NO LINE has a value under the key {!r}: questions that use it are charged for empty answers"
    assert [line for line in found if "key" in line or "KEY" in line] == [
        nothing.format("user.id"),
        "key 'Item': a value in 2 of 4 lines",
        nothing.format("n"),
        "keys that lines have: 'Item' (2), 'user' (2), 'n' (1); keys inside of others (a.b) are not read",
    ]
    Path("y.jsonl").write_text("".join(json.dumps({"user": n, "item": "a", "age": f"{n}.0"}) + "\n" for n in range(9)))
    assert of_columns("y.jsonl")["age"] == "text; BIGINT reads all 9 values"


def test_a_key_of_a_row_writes_no_line_and_moves_no_terminal() -> None:
    key = "k\x1b[201~\ncurl x | sh\n\u202e"
    Path("x.jsonl").write_text("".join(json.dumps({"user": n, "item": "a", key: n}) + "\n" for n in range(9)))
    found = dps.Dataset("x.jsonl", user="user", item="item").inspect()
    assert all(line.isprintable() for line in found.findings)
    assert found.findings[-1] == "dpselect top x.jsonl --user user --item item --epsilon 1"
    assert any(line.startswith(r"column k\x1b[201~\ncurl x | sh\n\u202e: text; BIGINT") for line in found.findings)


def test_a_key_of_json_lines_that_names_of_folders_hide() -> None:
    Path("rows/country=DE").mkdir(parents=True)
    lines = ['{"user":1,"item":"a","country":"FR"}', '{"user":2,"item":"a"}', '{"user":3,"item":"a","country":null}']
    Path("rows/country=DE/x.jsonl").write_text("\n".join(lines))
    found = dps.Dataset("rows", user="user", item="item").inspect().findings
    assert "key 'country' has a value in 1 of 3 lines, which the names of folders replace" in found
    with dps.Dataset("rows", user="user", item="country").engine() as engine:
        assert engine.top(1).counts.tolist() == [3]


def test_folders_above_the_files_are_named_with_the_folder_that_makes_them_columns() -> None:
    Path("rows/country=DE/city=B").mkdir(parents=True)
    Path("rows/country=DE/city=B/x.csv").write_text("user,item,city\n1,a,B\n")
    found = dps.Dataset("rows/country=DE/city=B", user="user", item="item").inspect().findings
    above = "column country: none, for only folders below the given one are columns; give 'rows' to have it"
    assert [one for one in found if "only folders below" in one] == [above]  # the file has a city
    found = dps.Dataset("rows", user="user", item="item").inspect().findings
    assert not [one for one in found if "only folders below" in one]


def parquet(path: str, **columns: object) -> None:
    Path(path).parent.mkdir(exist_ok=True)
    pq.write_table(pa.table(columns), path)


def clocks(zone: str | None) -> pa.Array:
    return pa.array([0, 10**15], pa.timestamp("us", zone))


def test_files_of_unequal_types_are_explained() -> None:
    one = {"user": [1, 2], "tag": ["a", "b"], "p": [1, 2], "age": ["19.0", "x"]}
    other = {"user": [3.0, None], "tag": [b"a", b"\xff"], "p": [1.5, 2.5], "age": ["18", "7"]}
    parquet("d/a.parquet", at=clocks(None), **one)
    parquet("d/b.parquet", at=clocks("UTC"), **other)
    until = "FAILS until it is declared: {} in d/b.parquet and {} in d/a.parquet; "
    whole = until.format("DOUBLE", "BIGINT")
    first = "the first in row 2 of d/"
    assert of_columns("d") == {
        "user": f"{whole}BIGINT reads all 3 values",
        "at": until.format("TIMESTAMPTZ", "TIMESTAMP")
        + "TIME(zone='...') says where the clocks stood that showed times without a zone",
        "tag": until.format("BLOB", "VARCHAR") + f"VARCHAR leaves 1 of 4 values missing ({first}b.parquet)",
        "p": f"{whole}DOUBLE reads all 4 values",
        "age": f"text; BIGINT leaves 1 of 4 values missing ({first}a.parquet)",
    }
    found = str(dps.Dataset("d", user="user", item="tag").inspect()).splitlines()
    assert any("FAILS: a question with these columns is refused: source must have one type" in line for line in found)
    assert "under the types that are proposed:" in found
    assert "users: 3" in found
    assert shlex.split(found[-1])[:7] == ["dpselect", "top", "d", "--user", "user", "--item", "tag"]


def test_what_no_declaration_cures_ends_in_no_command() -> None:
    parquet("d/a.parquet", user=[1], item=["a"])
    parquet("d/b.parquet", user_id=[2], item=["a"])
    found = str(dps.Dataset("d", user="user", item="item").inspect()).splitlines()
    assert "FAILS: d/b.parquet has no column user, which says who a user is: every file must have it" in found
    assert not found[-1].startswith("dpselect")
    for folder in ("h/country=DE", "h/country=FR/day=1"):
        Path(folder).mkdir(parents=True)
        Path(folder, "x.csv").write_text("user,item\n1,a\n")
    Path("twice.csv").write_text("user,item,item\n1,a,b\n")
    Path("e").mkdir()
    Path("e/a.csv").write_text("user,item\n1,a\n")
    Path("e/b.csv").write_text("user,thing\n1,a\n")
    Path("bad.parquet").write_text("no file")
    Path("blank.csv").write_text("\nuser,item\n")
    Path("bad.csv.gz").write_bytes(gzip.compress(b"user,item\n" + b"1,2\n" * 9)[:-12])
    for path, text in (
        ("h", "have the same columns in the folders"),
        ("twice.csv", "names column 3 as another column too"),
        ("e", "be files with the same columns"),
        ("bad.parquet", "cannot be read as parquet"),
        ("blank.csv", "no header that can be read"),
    ):
        for more in ({}, {"user": "user", "item": "item"}):
            *_, last = (dps.Dataset(path, **more).inspect() if more else inspect(path)).findings  # type: ignore[arg-type]
            assert last.startswith("FAILS: every question is refused")
            assert text in last
    assert "FAILS after" in str(inspect("bad.csv.gz"))


def test_what_files_lack_and_values_that_are_too_long_are_named() -> None:
    parquet("d/a.parquet", user=[1, 2], text=["a", "b" * (1 << 20) + "c"], data=[b"x" * (1 << 21), b""])
    parquet("d/b.parquet", user=[1, 2])
    found = inspect("d").findings
    where = "longer than 1 MiB (the first in row"
    assert f"d/a.parquet: missing: 1 values of column text {where} 2)" in found
    assert f"d/a.parquet: missing: 1 values of column data {where} 1)" in found
    assert of_columns("d")["text"] == "text; missing in 1 files, such as d/b.parquet"
    assert "missing in" not in of_columns("d")["user"]


def test_a_name_that_files_and_folders_have_is_explained() -> None:
    Path("h/item=x").mkdir(parents=True)
    Path("h/item=x/a.csv").write_text("user,item\n1,a\n")
    assert "both, as h/item=x/a.csv" in of_columns("h")["item"]


def test_columns_that_declare_their_type_say_what_they_cannot_be() -> None:
    small = {"n": [1, 2], "f": [1.5, float("nan")], "l": [[1], [2]], "s": ["a", None], "b": [True, False]}
    parquet("d/a.parquet", at=clocks(None), d=pa.array([15, 25], pa.decimal128(5, 1)), **small)
    assert of_columns("d/a.parquet") == {
        "at": "TIMESTAMP, as the source declares; cannot be used as weight, measure",
        "d": "DECIMAL(5,1), as the source declares; cannot be used as time",
        "n": "BIGINT, as the source declares; cannot be used as time",
        "f": "DOUBLE, as the source declares; 1 values are missing (NaN or out of range, the first in row 2); "
        "cannot be used as time",
        "l": "LIST, as the source declares; cannot be used as user, item, weight, measure, time",
        "s": "text",
        "b": "BOOLEAN, as the source declares; cannot be used as weight, measure, time",
    }


def test_what_the_owner_declares_is_counted() -> None:
    write_csv("x.tsv", {"user": lambda n: f"u{n}", "price": lambda n: f"{n}.5" if n == 3 else n})
    types = parse_types({"price": "BIGINT"})
    said = "leaves 1 of 400 values missing (the first in line 5)"
    assert of_columns("x.tsv", types=types)["price"] == f"BIGINT, as you declare: {said}; cannot be used as time"
    assert missing_as_declared("x.tsv", types) == [f"price: {said}"]
    with pytest.raises(dps.ParameterError, match="types must name columns of the source, got 'prise'"):
        inspect("x.tsv", intended_use=IntendedUse(types=parse_types({"prise": "BIGINT"})))


def test_the_command_that_is_proposed_works(capsys: pytest.CaptureFixture[str]) -> None:
    """One command, one paste: the last line is a question that is answered."""
    at = {"at": lambda n: 1_775_781_000_000 + n, "price": lambda n: f"1.{n:03d},5{n % 10}"}
    write_csv("it's $1.tsv", {"the, user": lambda n: f"u{n}", "item": lambda n: n % 3, **at})
    words = ["--user", '"the, user"', "--item", "item", "--time", "at", "--period", "month", "--during", "2026-04"]
    assert main(["inspect", "it's $1.tsv", *words, "--where", "price > 5"]) == 0
    *_, command = capsys.readouterr().out.splitlines()
    asked = shlex.split(command)
    assert asked[:3] == ["dpselect", "top", "it's $1.tsv"]
    assert "at=TIME(unit='ms')" in asked
    assert main([*asked[1:], "--quiet", "--format", "plain-csv"]) == 0
    assert capsys.readouterr().out.startswith("rank,item\n")


def test_a_pipe_is_called_as_it_was(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    import io
    import sys

    write_csv("x.tsv", {"user": lambda n: n, "price": lambda n: f"{n}.5"})
    text = Path("x.tsv").read_bytes().replace(b"\t", b",")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert main(["inspect", "-"]) == 0
    out = capsys.readouterr().out
    assert "-: 400 lines, 400 of them read" in out
    assert out.splitlines()[-1].startswith("dpselect top - --user ...")


def test_frames_are_told_what_to_declare_in_python() -> None:
    table = pa.table({"user": range(9), "item": ["a"] * 9, "age": [f"{n}.0" for n in range(9)]})
    found = str(dps.Dataset(table, user="user", item="item").inspect()).splitlines()
    assert found[-1] == "to declare it: types={'age': 'BIGINT'}"
    assert "column age: text; BIGINT reads all 9 values" in found
