"""Sources that cannot be: each is refused with what it must be, and a hint."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import narwhals
import narwhals.stable.v1
import narwhals.stable.v2
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

import dpselect as dps
from dpselect.engines.address import Address, SourceKind
from dpselect.engines.identity import identify_source
from dpselect.engines.sources.csv_form import CsvForm
from dpselect.errors import DataError, DpselectError, ParameterError
from dpselect.flat import dataset_of
from tests.engines.opened import DuckDBEngine
from tests.engines.test_conformance import pairs


def engine(source: object, **more: object) -> DuckDBEngine:
    return DuckDBEngine(source, **({"user": "user", "item": "item", "key": b"k"} | more))


def refused(source: object, kind: type[DpselectError] = ParameterError, **more: object) -> str:
    with pytest.raises(kind) as caught:
        engine(source, **more)
    assert caught.value.__context__ is None
    return str(caught.value)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"user": [1], "item": ["a"], "country": ["x"]}), "events.parquet")
    Path("notes.txt").write_text("x")
    Path("empty").mkdir()
    return tmp_path


def test_a_file_that_is_not_there():
    assert refused("event.parquet", DataError) == (
        "source must be a file that exists, got 'event.parquet'\nhint: did you mean events.parquet?"
    )
    assert "hint: there is no folder 'nowhere'" in refused("nowhere/events.parquet", DataError)
    assert "match at least one file" in refused("x*.parquet", DataError)
    assert "a folder that holds" in refused("empty", DataError)
    assert "known endings: .parquet" in refused("notes.txt")
    assert "an empty list" in refused([], DataError)
    assert "an element of type dict" in refused([{"user": 1}])
    assert "or at s3://, gs:// or https://" in refused("ftp://host/x.parquet")
    assert "an object of type int" in refused(5)
    assert "an object of type set" in refused({1, 2})


def test_kinds_do_not_mix():
    Path("more.csv").write_text("user,item\n1,a\n")
    assert "files of one kind, got csv and parquet" in refused(".")
    assert "files of one kind" in refused(["events.parquet", "more.csv"])


def test_columns_that_are_not_there():
    sources = [
        "events.parquet",
        pq.read_table("events.parquet"),
        pl.read_parquet("events.parquet"),
        pl.scan_parquet("events.parquet"),
        pd.read_parquet("events.parquet"),
        duckdb.connect().read_parquet("events.parquet"),
        {"user": [1], "item": [1], "country": [2]},
    ]
    for source in sources:
        assert (
            refused(source, item="contry")
            == "item must be a column of the source, got 'contry'\nhint: did you mean country?"
        )
        assert (
            refused(source, user="USER") == "user must be a column of the source, got 'USER'\nhint: did you mean user?"
        )
        assert "hint: there is user, item, country" in refused(source, user="zzz")


def test_parts_are_those_of_a_text():
    said = refused({"user": [1], "n": np.array([2])}, item="n", split=" ")
    assert said.startswith("split must go with an item column of text, got a column of")


def test_text_files_show_near_names_only():
    Path("a.csv").write_text("user,secret person\n")
    hint = "the first line of a CSV file must name the columns; in Python, dps.CSV(files, skip=1) skips a title"
    assert refused("a.csv").endswith(f"\nhint: {hint}")
    assert "did you mean user?" in refused("a.csv", user="usr")


def test_files_that_are_broken():
    Path("x.parquet").write_bytes(b"PAR1 nothing PAR1")
    assert refused("x.parquet", DataError).startswith("x.parquet cannot be read as parquet\nhint: it may be damaged")
    assert refused("*.parquet", DataError).startswith("x.parquet cannot be read as parquet")
    Path("x.csv").write_text("")
    assert "x.csv is empty" in refused("x.csv", DataError)
    Path("x.csv.gz").write_text("user,item")
    assert "has no header that can be read" in refused("x.csv.gz", DataError)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the superuser may read everything")
def test_files_that_may_not_be_read():
    Path("events.parquet").chmod(0)
    assert "cannot be read" in refused("events.parquet", DataError)


def test_json_that_is_not_lines_by_its_name_alone():
    for name in ("x.json", "x.json.gz"):
        for content in ("", "[]", '{"user": 1, "item": 2}'):
            Path(name).write_text(content)
            assert f"be JSON lines, Parquet or CSV rather than .json, got '{name}'\nhint: rename a file" in refused(
                name
            )
    Path("empty/x.json").write_text("")
    assert "rather than .json" in refused("empty")


def test_a_csv_file_whose_first_line_names_nothing():
    for content in (b"\nuser,item\n", b"  \nuser,item\n", b'"user,item\n1,2\n', b"user\ritem\r1\r", b"us\xffer,item\n"):
        Path("x.csv").write_bytes(content)
        assert "x.csv has no header that can be read" in refused("x.csv", DataError)


def test_csv_files_name_the_same_columns():
    Path("a.csv").write_text("user,item\n1,secret\n")
    Path("b.csv").write_text("user,itm\n2,a\n")
    Path("c.csv").write_text("item;user;more\na;3;x\n")
    Path("d.csv").write_text("item;user\nsecret;3\n")
    assert refused(["a.csv", "b.csv"]).startswith(
        "source must be files with the same columns, got b.csv, which does not have column 2 of"
    )
    assert refused(["a.csv", "c.csv"]).endswith("got a.csv, which does not have column 3 of c.csv")
    with engine(["a.csv", "d.csv"]) as opened:
        assert pairs(opened.top(3)) == [("secret", 2)]


def test_values_over_lines_are_for_csv_files():
    Path("x.jsonl").write_text("")
    for source in ("events.parquet", "x.jsonl"):
        assert refused(source, csv=CsvForm(newlines_in_values=True)).startswith("newlines_in_values must be left out")


def test_an_empty_json_file_has_any_column():
    Path("x.jsonl").write_text("")
    with engine("x.jsonl", where="other = 'x'") as opened:
        assert pairs(opened.top(3)) == []


@pytest.mark.parametrize("first", ["0", "9"])
def test_an_empty_csv_file_among_others_has_no_rows(first):
    Path("in").mkdir()
    Path(f"in/{first}.csv").write_bytes(b"")
    Path("in/5.csv").write_text("user,item\nu,a\n")
    with engine("in") as opened:
        assert pairs(opened.top(3)) == [("a", 1)]


def test_halves_are_floats_beside_floats_and_parquet_has_other_endings():
    """Each half is a float exactly; Impala writes .parq, which a folder would have without a word."""
    Path("in").mkdir()
    for name, width, users in (
        ("a.parquet", np.float16, [1, 2]),
        ("b.parq", np.float32, [3]),
        ("C.PARQ", np.float32, [4]),
    ):
        numbers = pa.array(np.full(len(users), 0.1, np.float16).astype(width))
        pq.write_table(pa.table({"user": users, "item": numbers}), Path("in") / name)
    with engine("in") as opened:
        assert pairs(opened.top(3)) == [(0.0999755859375, 4)]


def test_databases():
    with duckdb.connect("rows.duckdb") as connection:
        connection.execute('CREATE TABLE "my rows" AS SELECT 1 AS user, 2 AS item').fetchall()
        connection.execute("CREATE SCHEMA s").fetchall()
        connection.execute('CREATE VIEW s.seen AS FROM main."my rows"').fetchall()
        assert "another program or connection may have it open" in refused("rows.duckdb", DataError, table="my rows")
    assert "got nothing\nhint: there is my rows, s.seen" in refused("rows.duckdb")
    assert "hint: did you mean my rows?" in refused("rows.duckdb", DataError, table="my_rows")
    for table in ("my rows", "main.my rows", "s.seen"):
        with engine("rows.duckdb", table=table) as opened:
            assert pairs(opened.top(3)) == [(2, 1)]
    with duckdb.connect("rows.duckdb") as connection:  # nothing holds it any more
        connection.execute("DROP SCHEMA s CASCADE").fetchall()
    Path("lite.db").write_bytes(b"SQLite format 3\x00" + b"\x00" * 4096)
    assert "lite.db cannot be opened as a DuckDB database" in refused("lite.db", DataError, table="t")
    Path("other.db").write_bytes(b"")
    assert "one DuckDB database, got 2" in refused(["rows.duckdb", "other.db"], table="t")
    assert "left out for this kind of source" in refused("events.parquet", table="t")
    assert "left out for this kind of source" in refused({"user": [1], "item": [1]}, table="t")


def test_connections():
    connection = duckdb.connect()
    connection.execute("CREATE TABLE clicks AS SELECT 1 AS user, 2 AS item").fetchall()
    scan = {"user": [1], "item": [1]}  # a Python variable is not a table
    assert "a table or view of the connection, got 'clics'\nhint: did you mean clicks?" in refused(
        connection, DataError, table="clics"
    )
    for name in ("scan", "table", "connection", "events.parquet", "t; DROP TABLE clicks", "range(5)"):
        assert "table must be a table or view" in refused(connection, DataError, table=name), scan
    assert "name a table or view" in refused(connection)
    pending = connection.execute("FROM range(100000)")
    assert "has an unfinished result" in refused(connection, DataError, table="clicks")
    assert pending.fetchone() == (0,)
    connection.close()
    assert refused(connection, DataError, table="clicks")


def test_uncommitted_rows_are_seen():
    connection = duckdb.connect()
    connection.execute('CREATE TABLE t("user" INT, item INT)').fetchall()
    connection.begin()
    connection.execute("INSERT INTO t VALUES (1, 2)").fetchall()
    with engine(connection, table="t") as opened:
        assert pairs(opened.top(3)) == [(2, 1)]
    connection.rollback()


@pytest.mark.parametrize("question", [lambda opened: opened.top(3), lambda opened: opened.contributions()])
def test_a_relation_runs_once(question):
    connection = duckdb.connect()
    calls = []
    connection.create_function("seen", lambda x: calls.append(x) or x, ["BIGINT"], "BIGINT", side_effects=True)
    relation = connection.sql("SELECT seen(range) AS user, range % 3 AS item FROM range(60)")
    with engine(relation) as opened:
        assert calls == []
        question(opened)
    assert len(calls) == 60


def test_lazy_frames_are_collected_when_asked_only():
    seen = []
    frame = pl.LazyFrame({"user": [1, 2], "item": ["a", "b"], "n": [1, 2]})
    watched = frame.map_batches(lambda part: (seen.append(part.columns), part)[1], schema=frame.collect_schema())
    with engine(watched) as opened:
        assert all(seen_part == [] for seen_part in seen) or len(seen) <= 1
        before = len(seen)
        opened.top(3)
    assert len(seen) == before + 1


def test_a_reader_gives_its_rows_once_and_is_refused_before_any():
    reader = pa.table({"user": [1], "item": ["a"]}).to_reader()
    assert refused(reader) == (
        "source must give its rows more than once, got a RecordBatchReader\n"
        "hint: every question reads the rows again; give reader.read_all()"
    )
    with engine(reader.read_all()) as opened:
        assert pairs(opened.top(3)) == [("a", 1)]


def test_a_stream_is_not_begun_by_opening_it():
    seen = []

    class Watched:
        def __arrow_c_stream__(self, requested_schema=None):
            schema = pa.schema({"user": pa.int64(), "item": pa.string()})
            batches = (seen.append(1) or pa.record_batch([[1], ["a"]], schema=schema) for _ in range(2))
            return pa.RecordBatchReader.from_batches(schema, batches).__arrow_c_stream__()

    with engine(Watched()) as opened:
        assert seen == []
        assert pairs(opened.top(3)) == pairs(opened.top(3)) == [("a", 1)]
    assert len(seen) == 4


def test_a_stream_that_fails_says_nothing_of_its_rows():
    class Broken:
        def __arrow_c_stream__(self, requested_schema=None):
            raise ValueError("secret person")

    assert refused(Broken(), DataError).startswith("the source has no stream of Arrow tables\nhint: every question")
    assert "no stream of Arrow tables" in refused(pl.Series("a", [1]), DataError)  # a stream, but of no table


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_a_frame_that_needs_pyarrow_says_so(frame, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert refused(frame({"user": [1], "item": [2]})) == (
        "source must be a file or a dict of arrays where PyArrow is not installed, got a DataFrame\n"
        "hint: pip install pyarrow"
    )
    with engine({"user": [1], "item": [2]}) as opened:
        assert pairs(opened.top(3)) == [(2, 1)]


def test_a_frame_that_needs_narwhals_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "narwhals", None)
    frame = type("DataFrame", (), {"__module__": "dask.dataframe"})()
    assert refused(frame) == (
        "source must be a frame that is read without narwhals, got a frame of dask\nhint: pip install narwhals pyarrow"
    )


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("postgresql://ann@db.example/shop", SourceKind.POSTGRES),
        ("postgres://ann@db.example/shop", SourceKind.POSTGRES),
        ("spark:local[2]", SourceKind.SPARK),
        ("s3://bucket/rows.parquet", SourceKind.REMOTE),
        ("https://shop.example/rows.parquet", SourceKind.REMOTE),
        ("rows.parquet", SourceKind.PATHS),
        (Path("spark:rows.csv"), SourceKind.PATHS),
        (["postgresql://ann@db.example/shop"], SourceKind.PATHS),
        ({"user": [1]}, SourceKind.OBJECT),
        (None, SourceKind.OBJECT),
    ],
    ids=repr,
)
def test_what_a_source_is_follows_from_its_form(source, kind):
    assert Address.parse(source).kind is kind


def test_a_narwhals_frame_takes_the_way_of_what_it_wraps():
    relation = duckdb.connect().sql("SELECT 1 AS user")
    for frame in (pd.DataFrame({"user": [1]}), pl.LazyFrame({"user": [1]}), pa.table({"user": [1]}), relation):
        for wrap in (narwhals, narwhals.stable.v1, narwhals.stable.v2):
            assert Address.parse(wrap.from_native(frame)).source is frame
    assert "an object of type set" in refused(set())


def test_a_partition_of_a_folder_is_a_column():
    for day in ("1", "2"):
        Path(f"parts/day={day}").mkdir(parents=True)
        pq.write_table(pa.table({"user": [1, int(day)], "item": ["a", f"b{day}"]}), f"parts/day={day}/x.parquet")
    with engine("parts", where="day = '2'") as opened:
        assert pairs(opened.top(3)) == [("a", 1), ("b2", 1)]


def test_files_may_lack_a_column_or_hold_more():
    pq.write_table(pa.table({"item": ["a"], "user": [1]}), "one.parquet")
    pq.write_table(pa.table({"user": [2, 3], "other": [5, 6], "item": ["a", "b"]}), "two.parquet")
    with engine(["one.parquet", "two.parquet"]) as opened:
        assert pairs(opened.top(3)) == [("a", 2), ("b", 1)]
    with engine(["one.parquet", "two.parquet"], where="other = 5") as opened:
        assert pairs(opened.top(3)) == [("a", 1)]


def test_home_is_where_it_should_be(folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USERPROFILE", str(folder))
    with engine("~/events.parquet") as opened:
        assert pairs(opened.top(3)) == [("a", 1)]


def test_json_in_parquet_is_refused_before_a_row_is_read(tmp_path):
    """DuckDB looks at each value, and fails for everybody where one is no JSON."""
    duckdb.sql(f"COPY (SELECT 'u' AS user, 'x' AS item, '1'::JSON AS other) TO '{tmp_path}/rows.parquet'")
    with engine(tmp_path / "rows.parquet") as one:
        assert pairs(one.top(1)) == [("x", 1)]
    with pytest.raises(DataError, match="column 'other' is JSON in Parquet"):
        DuckDBEngine(tmp_path / "rows.parquet", user="user", item="other", key=b"k")


HELD = {"user": ["u1", "u2"], "item": ["007", "7.10"], "n": [1, 2]}


PACKERS = {".zst": "zstd -q {}", ".bz2": "bzip2 {}", ".xz": "xz {}", ".zip": "zip -q {}.zip {}"}
WRITERS: dict[str, Callable[[str], object]] = {
    ".avro": lambda path: pl.DataFrame(HELD).write_avro(path),
    ".orc": lambda path: pyarrow.orc.write_table(pa.table(HELD), path),
    ".json": lambda path: pl.DataFrame(HELD).write_json(path),
    **dict.fromkeys((".feather", ".arrow", ".ipc"), lambda path: pyarrow.feather.write_feather(pa.table(HELD), path)),
}


@pytest.mark.parametrize("ending", WRITERS)
def test_the_line_for_a_file_of_another_kind_writes_one_that_is_read(ending):
    """And no type of it hangs on a row."""
    WRITERS[ending](f"rows{ending}")
    line = refused(f"rows{ending}").rpartition("declares: " if ending == ".json" else "Parquet: ")[2]
    eval(line, {"polars": pl, "pyarrow": pa, "duckdb": duckdb})
    found = pq.read_table("rows.parquet").to_pydict()
    assert found == ({name: HELD[name] for name in ("user", "item")} if ending == ".json" else HELD)


@pytest.mark.parametrize("ending", PACKERS)
def test_the_line_for_a_file_that_is_packed_unpacks_it(ending):
    Path("rows.csv").write_text(rows := "user,item\nu1,007\n")
    if shutil.which(PACKERS[ending].split()[0]) is None:
        pytest.skip(f"nothing here writes {ending}")
    subprocess.run(PACKERS[ending].format("rows.csv", "rows.csv"), shell=True, check=True)
    Path("rows.csv").unlink(missing_ok=True)
    subprocess.run(refused(f"rows.csv{ending}").rpartition("unpack it: ")[2], shell=True, check=True)
    assert Path("rows.csv").read_text() == rows


def test_a_spreadsheet_is_written_as_texts():
    assert "pandas.read_excel('rows.xlsx', dtype=str).to_parquet('rows.parquet')" in refused(_made("rows.xlsx"))


def _made(path: str) -> str:
    Path(path).write_bytes(b"x")
    return path


def test_a_first_line_of_excel_names_no_columns():
    Path("x.csv").write_text("sep=;\nuser;item\n1;a\n")
    assert refused("x.csv", DataError).endswith(
        "hint: its first line, sep=;, is Excel's and names none: tail -n +2 FILE > rows.csv"
    )


def test_a_blank_in_a_name_is_seen():
    Path("x.csv").write_text("user, item\n1, a\n")
    assert refused("x.csv").endswith("hint: did you mean ' item', with its blanks?")


@pytest.mark.parametrize("bytes_", [b"", b"PAR1", b"user,item\n1,a\n"])
def test_the_file_that_is_no_parquet_is_named(bytes_):
    Path("parts").mkdir()
    for name in ("1.parquet", "3.parquet"):
        Path("parts", name).write_bytes(Path("events.parquet").read_bytes())
    Path("parts/2.parquet").write_bytes(bytes_)
    assert refused("parts", DataError).startswith(f"parts/2.parquet ({len(bytes_)} bytes) cannot be read as parquet\n")


@pytest.mark.parametrize("name", ["n / 10", "year(day)", "CASE WHEN n < 30 THEN 'young' END"])
def test_an_expression_is_no_column_and_the_line_makes_one(name):
    rows = pl.DataFrame({"user": ["u1"], "n": [19], "day": ["2026-01-01"]}).with_columns(
        day=pl.col("day").str.to_date()
    )
    line = refused(rows, item=name).partition("view or frame: ")[2]
    assert len(eval(line, {"duckdb": duckdb, "rows": rows}).fetchall()[0]) == 4


@pytest.mark.parametrize(
    ("column", "fetched"),
    [
        (pa.array([[1, 2]]), (1, 2)), (pa.array([[1, 2]], pa.large_list(pa.int64())), (1, 2)),
        (pa.array([90], pa.duration("s")), (90_000_000,)), (pa.array([{"field": 5}]), (5,)),
        (pa.array([[("field", 5)]], pa.map_(pa.string(), pa.int64())), (5,)),
    ],
)  # fmt: skip
def test_the_line_for_a_type_that_is_not_read_makes_one_that_is(column, fetched):
    rows = pa.table({"user": ["u1"], "item": column})
    line = refused(duckdb.from_arrow(rows), DataError).partition("view or frame: ")[2].replace("COLUMN", "item")
    found = eval(line, {"duckdb": duckdb, "rows": rows})
    assert tuple(row[-1] for row in found.fetchall()) == fetched
    assert found.columns[-1] != "item"


def test_what_would_choose_types_by_rows_is_refused_with_the_call_that_reads_it():
    given = pyarrow.dataset.dataset("events.parquet")
    several = pyarrow.dataset.dataset([given, given])
    assert refused(several).endswith('hint: pass the Arrow table that its to_table(columns=["user", "item"]) makes')
    engine(given)  # whose files each have the types of the dataset
    assert refused(given.scanner()).endswith("hint: pass the Arrow table that its to_table() makes")
    engine(given.to_table(columns=["user", "item"]))


@pytest.mark.parametrize("password", ["zqxw", "zq;xw", "zq#xw", "zq?xw", "zq%3fxw", "zq/xw", "z@q;x@w"])
@pytest.mark.parametrize("at", ["@", "%40"])
@pytest.mark.parametrize("scheme", ["https", "s3", "mysql"])
def test_no_part_of_a_password_in_an_address_is_shown(password: str, at: str, scheme: str) -> None:
    """Neither in the repr of a data set or a table, nor in what a ledger keeps, nor in an error."""
    address = f"{scheme}://ann:{password}{at}host/rows.parquet"
    messages = [
        repr(dataset_of(address, user="user", item="item")),
        str(identify_source(Address.parse(address))[0]),
        repr(dps.Table(address, "t")),
    ]
    sources: list[object] = [[address, "events.parquet"]]
    if scheme == "mysql" or (at == "@" and "/" not in password):  # of the others nothing is refused before a connection
        sources.append(address)
    for source in sources:
        with pytest.raises(ParameterError) as caught:
            engine(source)
        messages.append(str(caught.value))
    for message in messages:
        assert not re.search("ann|z|x@?w", message)


def test_an_address_without_a_password_is_shown_up_to_its_query() -> None:
    shown = repr(dataset_of("https://shop.example/rows.parquet?token=secret", user="user", item="item"))
    assert "https://shop.example/rows.parquet'" in shown
    assert "https://'" in repr(dataset_of("https://shop.example/rows.parquet?of=a@b", user="user", item="item"))
