"""Spark as a database: one form for every value however a session is set up, nothing left behind, nothing shown."""

from __future__ import annotations

import datetime
import decimal
import math
import subprocess
import sys
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import dpselect as dps
from dpselect._ground.domain import Listed
from dpselect.engines.address import Address, SourceKind
from dpselect.engines.duckdb.dialect import counted_type
from dpselect.engines.duckdb.domain import store_domain
from dpselect.engines.duckdb.workspace import Workspace
from dpselect.engines.row_filter import parse
from dpselect.engines.spark import source as spark_source
from dpselect.engines.spark.database import SparkDatabase
from dpselect.engines.spark.dialect import SPARK, literal, secret
from dpselect.engines.sql.database import ReadRequest
from dpselect.errors import DataError, ParameterError, SourceError
from tests import spark as local_spark
from tests.engines.opened import open_engine
from tests.engines.sources import AWKWARD, counts
from tests.engines.test_conformance import pairs

# Together more than a minute; tables cannot be listed where Spark compiles nothing.
pytestmark = pytest.mark.usefixtures("as_spark_comes")

KEY = bytes(range(16))
PAIRS = "user string, item string"


def opened(source, *, user="user", item="item", **more):
    return SparkDatabase(Address.parse(source, more.pop("table", None)), ReadRequest(user, item, **more))


def rows_of(database, user="user", item="item"):
    """The rows that count, each in its one form, as SQL."""
    (u, user_type), (i, item_type) = ((SPARK.quote(name), database.types[name]) for name in (user, item))
    forms = f"{user_type.canonical_form.replace('{}', u)} AS u, {item_type.canonical_form.replace('{}', i)} AS i"
    here = f"{user_type.present_condition.replace('{}', u)} AND {item_type.present_condition.replace('{}', i)}"
    return f"(SELECT {forms} FROM {database.source} WHERE {here})"


def counted(database, **columns):
    """Items and their numbers of distinct users, most first."""
    pairs = f"SELECT DISTINCT u, i FROM {rows_of(database, **columns)} AS t"
    return database.rows(f"SELECT i, count(*) AS n FROM ({pairs}) AS d GROUP BY i ORDER BY n DESC, i")


def left_behind(spark):
    # The catalogue's own list was seen to fail where another session of this JVM was the last to ask.
    views = [row.tableName for row in spark.sql("SHOW TABLES").collect() if row.tableName.startswith("dpselect_")]
    return views, spark.sparkContext._jsc.getPersistentRDDs().size()


def awkward(spark):
    return spark.createDataFrame(AWKWARD, f"{PAIRS}, age int")


SESSIONS = {
    "as it comes": {},
    "another": {
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.ansi.enabled": "false",
        "spark.sql.caseSensitive": "true",
        "spark.sql.session.timeZone": "America/New_York",
        "spark.sql.parser.escapedStringLiterals": "true",
        "spark.sql.ansi.doubleQuotedIdentifiers": "false",
        "spark.sql.timestampType": "TIMESTAMP_NTZ",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.legacy.charVarcharAsString": "true",
        "spark.sql.timeType.enabled": "true",
    },
}


def session_like(spark, how):
    """A session that is set up in one way or another, beside the first."""
    found = spark.newSession()
    if how == "as it comes":
        local_spark.let_come(found)
    with warnings.catch_warnings():  # Connect tells what is deprecated
        warnings.simplefilter("ignore", UserWarning)
        for name, value in SESSIONS[how].items():
            found.conf.set(name, value)
    return found


@pytest.fixture(scope="module", params=list(SESSIONS))
def session(spark, request):
    return session_like(spark, request.param)


@pytest.fixture(scope="module")
def another(spark):
    return session_like(spark, "another")


# ---- one form for every value -------------------------------------------------------------------------------


def test_counts_and_ties(session):
    database = opened(awkward(session))
    assert counted(database) == counts(AWKWARD)
    database.close()


UTC = datetime.UTC
VALUES = {  # the SQL of values, of which the last two are missing or one, and the labels that they must get
    "tinyint": ("1Y, -2Y, 1Y, NULL", [-2, 1]),
    "smallint": ("1S, -2S, 1S, NULL", [-2, 1]),
    "int": ("1, -2, 1, NULL", [-2, 1]),
    "bigint": (f"1L, -{2**63}L, {2**63 - 1}L, 1L, NULL", [-(2**63), 1, 2**63 - 1]),
    "double": ("0.0D, -0.0D, 1.5D, double('NaN'), NULL", [0.0, 1.5]),
    "float": ("0.0F, -0.0F, 0.1F, float('NaN'), NULL", [0.0, float(np.float32(0.1))]),
    "decimal": ("1.50BD, 1.5BD, -0.25BD, NULL", [decimal.Decimal("-0.25"), decimal.Decimal("1.50")]),
    "boolean": ("true, false, true, NULL", [False, True]),
    "string": ("'b', 'a', 'B', 'a ', 'a', NULL", ["B", "a", "a ", "b"]),
    "binary": ("X'00ff', X'', X'61', X'61', NULL", [b"", b"\x00\xff", b"a"]),
    "date": (
        "DATE'2024-02-29', DATE'0001-01-01', DATE'-0044-03-15', DATE'+12345-01-01', NULL",
        ["-0044-03-15", datetime.date(1, 1, 1), datetime.date(2024, 2, 29), "+12345-01-01"],
    ),
    "timestamp_ntz": (
        "TIMESTAMP_NTZ'2024-03-10 02:30:00.5', TIMESTAMP_NTZ'+12345-01-01 00:00:00', NULL",
        [datetime.datetime(2024, 3, 10, 2, 30, 0, 500000), "+12345-01-01 00:00:00"],
    ),
    # Of these two in New York an hour of the autumn comes twice.
    "timestamp": (
        "timestamp_micros(-1L), TIMESTAMP_LTZ'2024-11-03 05:30:00Z', TIMESTAMP_LTZ'2024-11-03 01:30:00-05:00', "
        "timestamp_micros(9223372036854775807L), timestamp_micros(-9223372036854775808L), NULL",
        [
            "-290308-12-21 19:59:05.224192",
            datetime.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
            datetime.datetime(2024, 11, 3, 5, 30, tzinfo=UTC),
            datetime.datetime(2024, 11, 3, 6, 30, tzinfo=UTC),
            "+294247-01-10 04:00:54.775807",
        ],
    ),
    "time": ("TIME'12:34:56.000007', TIME'00:00:00', NULL", [datetime.time(0), datetime.time(12, 34, 56, 7)]),
    "void": ("NULL, NULL", []),
}


@pytest.mark.parametrize("name", VALUES)
def test_labels(another, name):
    values, labels = VALUES[name]
    database = opened(another.sql(f"SELECT 'u' AS user, explode(array({values})) AS item"))
    item = database.types["item"]
    assert item.name.partition("(")[0] == name
    forms = f"SELECT {item.label_form} AS name, {SPARK.text.replace('{}', 'i')} AS text"
    found = database.rows(f"{forms} FROM (SELECT DISTINCT i FROM {rows_of(database)} AS t) AS d ORDER BY d.i")
    assert [item.to_label(row[0]) for row in found] == labels
    assert [type(item.to_label(row[0])) for row in found] == [type(label) for label in labels]
    assert "-0.0" not in repr(found)
    assert len({row[1] for row in found}) == len(labels)
    inside = [label for label in labels if not isinstance(label, str) or item.is_text]
    if inside:  # a public list of the same values meets each of them, once
        own = Workspace()
        kept = store_domain(own, Listed(tuple(inside)), [counted_type(item.duckdb_type or "")])
        public = [row[0] for row in own.fetch(f"FROM {kept}")]
        own.close()
        listed = database.put_items([*public, *public], [item])
        sql = f"SELECT d.i, count(DISTINCT t.i) FROM {listed} AS d LEFT JOIN {rows_of(database)} AS t ON d.i = t.i"
        assert [row[1] for row in database.rows(f"{sql} GROUP BY d.i")] == [1] * len(inside)
    database.close()


def test_text_loses_what_is_not_its_bytes(another):
    broken = "SELECT 'u' AS user, CAST(c AS STRING) AS item FROM VALUES (X'61ff'), (X'61fe'), (X'62') AS t(c)"
    database = opened(another.sql(broken))
    assert counted(database) == [("a\ufffd", 1), ("b", 1)]
    database.close()


def test_char_loses_its_padding(spark):
    spark.sql("CREATE TABLE padded (user CHAR(4), item VARCHAR(4)) USING parquet")
    spark.sql("INSERT INTO padded VALUES ('a', 'b '), ('a   ', 'b'), ('c', 'b')")
    database = opened(spark, table="padded")
    assert sorted(database.rows(f"SELECT DISTINCT u, i FROM {rows_of(database)} AS t")) == [
        ("a", "b"), ("a", "b "), ("c", "b"),
    ]  # fmt: skip
    database.close()
    spark.sql("DROP TABLE padded")


OTHERS = ["array(1)", "map(1, 2)", "struct(1)", "interval 1 day", "interval 1 month", "parse_json('1')"]


@pytest.mark.parametrize("sql", OTHERS)
def test_other_types_are_refused(spark, sql):
    with pytest.raises(SourceError, match=r"got column 'item' of type \w+( \w+)*\nhint: cast it"):
        opened(spark.sql(f"SELECT 'u' AS user, {sql} AS item"))


COLLATIONS = ["UTF8_LCASE", "UNICODE", "UNICODE_CI", "UTF8_BINARY_RTRIM", "de_AI"]


@pytest.mark.parametrize("collation", COLLATIONS)
def test_a_collation_is_refused_and_the_hint_works(another, collation):
    """Spark counts 'a' and 'A' once under some of them, and we would count them twice."""
    from pyspark.sql.functions import expr

    frame = another.sql(f"SELECT c COLLATE {collation} AS `a c`, 1 AS n FROM VALUES ('a'), ('A') AS t(c)")
    for user, item in (("a c", "n"), ("n", "a c")):
        with pytest.raises(SourceError, match=f"'a c' of type text with the collation {collation}") as caught:
            opened(frame, user=user, item=item)
        line = str(caught.value.hint).partition(": ")[2]
        made = eval(line, {"frame": frame, "expr": expr})
        database = opened(made, user="n", item="a c")
        assert counted(database, user="n", item="a c") == [("a", 1)]
        database.close()


def test_a_table_whose_column_has_a_collation_is_refused(another):
    another.sql("CREATE TABLE folded (user STRING COLLATE UTF8_LCASE, item STRING) USING parquet")
    try:
        with pytest.raises(SourceError, match="'user' of type text with the collation UTF8_LCASE"):
            opened(another, table="folded")
        with pytest.raises(SourceError, match="'user' of type text with the collation UTF8_LCASE"):
            opened(another, table="folded", user="item", condition=parse("user = 'a'"))
    finally:
        another.sql("DROP TABLE folded")


NUMBERS = {
    "12": 12.0, " -1.5e2 ": -150.0, ".5": 0.5, "5.": 5.0, "1e999": math.inf, "-1e999": -math.inf, "1e-999": 0.0,
    "1d": None, "1f": None, "0x10": None, "nan": None, "Infinity": None, "1e9999": None, "": None, " ": None,
    ".": None, "1 2": None, "1\n": None, "\t1": None, "\uff11": None, "9" * 400: math.inf,
}  # fmt: skip


def test_numbers_in_text(another):
    database = opened(another.createDataFrame([("u", text) for text in NUMBERS], PAIRS))
    number = database.types["item"].number_form.replace("{}", "i")
    assert dict(database.rows(f"SELECT i, {number} FROM {rows_of(database)} AS t")) == NUMBERS
    database.close()


@pytest.mark.parametrize("text", ["it's", "a\\b", "${env:HOME}", "\\Q|\\E", "'; --", "plain", "", "\U0001f600\n"])
def test_literals_and_separators(session, text):
    database = opened(session.createDataFrame([("u", f"x{text}y.z{text}")], PAIRS))
    assert database.rows(f"SELECT {literal(text)}") == [(text,)]
    if text:
        split = SPARK.split_query.format(separator=literal(text), rows=f"{rows_of(database)} AS t", more="")
        assert Counter(database.rows(split)) == Counter([("u", "x"), ("u", "y.z"), ("u", "")])
    database.close()


def test_whole_numbers(another):
    database = opened(another.createDataFrame([("u", "7")], PAIRS))
    total = f"{SPARK.exact_sum.replace('{}', 'b')} + 1"
    divided = SPARK.floor_division.format(total, "1 + 1")
    assert database.rows(f"SELECT {divided} FROM VALUES ({2**63 - 1}L), (4L) AS t(b)") == [(2**62 + 2,)]
    database.close()


# ---- the bound ------------------------------------------------------------------------------------------------


def first_of(spark, keyed, items, keys):
    """How often each item comes first of its user's, over many keys."""
    found = spark.sql(
        f"SELECT i, count(*) FROM (SELECT i, row_number() OVER (PARTITION BY a, u ORDER BY {keyed}, i) AS place "
        f"FROM (SELECT xxhash64(id) AS a, xxhash64(id, 1) AS b FROM range({keys})) AS k "
        f"CROSS JOIN (SELECT u, {items} AS i FROM (SELECT explode(array('u', 'v')) AS u) AS v) AS t) AS p "
        "WHERE place = 1 GROUP BY i"
    ).collect()
    return dict(tuple(row) for row in found)


@pytest.mark.parametrize("items", ["explode(sequence(0L, 9L))", "explode(array('a', 'b', '', 'aa', 'ab'))"])
def test_each_item_is_kept_as_often_as_the_others(spark, items):
    keys = 4000
    found = first_of(spark, SPARK.keyed_hash("a, b", "u", "i"), items, keys)
    size, draws = (10 if "sequence" in items else 5), 2 * keys

    def fits(counts):  # six deviations of a binomial: one false alarm in 10^8
        away = 6 * math.sqrt(draws / size * (1 - 1 / size))
        return len(counts) == size and all(abs(count - draws / size) < away for count in counts.values())

    assert sum(found.values()) == draws
    assert fits(found)
    assert not fits(first_of(spark, "xxhash64(u, i)", items, keys))  # a hash without the key keeps the same one
    assert not fits(first_of(spark, "a & hash(i)", items, keys))


def test_the_key_is_what_it_says(spark):
    assert spark.sql(f"SELECT {secret(KEY)} AS key").first()[0] == KEY


# ---- what is kept, put and fetched -----------------------------------------------------------------------------


def test_kept_results_are_read_and_forgotten(spark):
    before = left_behind(spark)
    database = opened(awkward(spark))
    kept = database.keep(f"SELECT DISTINCT u, i FROM {rows_of(database)} AS t")
    counted = f"SELECT i, count(*) AS n, 0.5D AS half FROM {kept} AS k GROUP BY i ORDER BY n DESC, i"
    items = database.columns(counted, ("i", "n", "half"))
    assert [*zip(items["i"], items["n"], strict=True)] == counts(AWKWARD)
    assert [items[name].dtype for name in ("i", "n", "half")] == [np.dtype(object), np.int64, np.float64]
    names = f"SELECT i AS name, n FROM (SELECT i, count(*) AS n FROM {kept} AS k GROUP BY i) AS c", "n DESC, name"
    assert database.names_at(*names, np.array([0, 3])) == [counts(AWKWARD)[0][0], counts(AWKWARD)[3][0]]
    assert database.names_at(*names, np.array([], dtype=np.int64)) == []
    assert left_behind(spark)[1] == before[1] + 2
    database.drop(kept)
    assert left_behind(spark)[1] == before[1]
    database.close()
    assert left_behind(spark) == before
    assert spark.range(3).count() == 3


def test_many_places_at_once(spark):
    database = opened(spark.sql("SELECT 'u' AS user, id AS item FROM range(5000)"))
    sql = f"SELECT -i AS name, i FROM {rows_of(database)} AS t"
    places = np.arange(0, 5000, 2)
    assert database.names_at(sql, "i", places) == [-place for place in places]
    empty = database.columns(f"{sql} WHERE i < 0", ("name", "i"))
    assert (len(empty["i"]), empty["i"].dtype) == (0, np.int64)
    database.close()


def test_small_tables(another):
    database = opened(another.createDataFrame([("u", "a")], PAIRS))
    texts = ["it's", "\U0001f600", "", "a\\b"]
    given = database.put({"t": np.array([2**63 - 1, -5, 0, 1]), "x": texts})
    assert database.rows(f"SELECT x, t FROM {given} AS g ORDER BY t")[-1] == ("it's", 2**63 - 1)
    assert {row[0] for row in database.rows(f"SELECT x FROM {given} AS g")} == set(texts)
    with pytest.raises(ParameterError, match="domain must hold values that are string, like the item column"):
        database.put_items([1, "a"], [database.types["item"]])
    database.close()


def test_what_the_caller_keeps_stays(spark):
    """Spark has one copy of one plan: ours is not the caller's to lose."""
    frame = spark.createDataFrame([("u", "a")], PAIRS).cache()
    frame.count()
    database = opened(frame)
    same = database.keep(f"SELECT * FROM {database.source} AS s")
    assert counted(database) == [("a", 1)]
    database.drop(same)
    database.close()
    assert frame.storageLevel.useMemory
    frame.unpersist(blocking=True)


def test_nothing_is_left_when_a_question_fails(spark):
    before = left_behind(spark)
    frame = spark.sql("SELECT 'u' AS user, raise_error(concat('secret', id)) AS item FROM range(3)")
    database = opened(frame.withColumn("item", frame.item.cast("string")))
    with pytest.raises(DataError):
        database.keep(f"SELECT u, i FROM {rows_of(database)} AS t")
    database.close()
    assert left_behind(spark) == before


# ---- what is said, and what is not -----------------------------------------------------------------------------


@pytest.mark.parametrize("item", ["raise_error(concat('secret', id))", "CAST(concat('secret', id) AS INT)"])
def test_what_spark_says_is_not_shown(spark, capfd, item):
    """It quotes values of rows, and PySpark would log them as well."""
    database = opened(spark.sql(f"SELECT 'u' AS user, CAST({item} AS STRING) AS item FROM range(3)"))
    with pytest.raises(DataError, match="Spark: the table could not be read") as error:
        counted(database)
    shown = "".join(traceback.format_exception(error.value))
    assert "secret" not in shown.replace(item, "")
    assert error.value.__cause__ is error.value.__context__ is None
    written = capfd.readouterr()
    assert "secret" not in written.out + written.err
    database.close()


def test_files_that_vanish(spark, tmp_path):
    spark.createDataFrame(AWKWARD, f"{PAIRS}, age int").repartition(2).write.parquet(str(tmp_path / "rows"))
    database = opened(spark, table=str(tmp_path / "rows"))
    assert counted(database) == counts(AWKWARD)
    for file in (tmp_path / "rows").glob("*.parquet"):
        file.unlink()
    with pytest.raises(DataError, match="Spark: the table, or a part of it, does not exist"):
        counted(database)
    database.close()


def test_a_question_is_stopped_at_once(spark):
    """Ctrl-C, here from the report of progress: the job ends, and the session lives on.

    The rows would take hours. A task notices at every thousand rows of a range, but not inside a join.
    """
    database = opened(spark.sql("SELECT 'u' AS user, id AS item FROM range(1000000000000)"))

    def interrupt(done):
        assert done is None
        if spark.sparkContext.statusTracker().getActiveJobsIds():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        database.rows(f"SELECT max(xxhash64(i, u)) FROM {rows_of(database)} AS t", progress=interrupt)
    assert list(spark.sparkContext.statusTracker().getActiveJobsIds()) == []
    assert database.rows("SELECT 1") == [(1,)]
    database.close()


# ---- sources -----------------------------------------------------------------------------------------------------


def test_names_of_columns(another):
    """Found as they are written; a dot, a quote and a column beside it that differs in letter case change nothing."""
    frame = another.createDataFrame([("u", "a", 1, "x")], "`a.user` string, `it``em` string, `A.USER` int, item string")
    database = opened(frame, user="a.user", item="it`em", numbers=(("by_weight", "item"),))
    assert counted(database, user="a.user", item="it`em") == [("a", 1)]
    assert list(database.types) == ["a.user", "it`em", "item"]
    database.close()
    with pytest.raises(ParameterError, match="letter case"):
        opened(frame, user="a.user", item="A.USER")
    with pytest.raises(ParameterError, match="user must be a column of the source, got 'Item'\nhint: did you mean"):
        opened(frame, user="Item")
    with pytest.raises(ParameterError, match="be one column of the source"):
        opened(frame.toDF("user", "item", "c", "item"))
    with pytest.raises(ParameterError, match="rename the column"):
        opened(frame.toDF("user", "${env:HOME}", "c", "d"), item="${env:HOME}")


@pytest.mark.parametrize("case_is_seen", [True, False])
def test_filters_name_columns_that_differ_in_letter_case(spark, another, case_is_seen):
    """Each is read for itself, and a filter names it exactly, whatever Spark takes for one name."""
    session = another if case_is_seen else spark
    columns = "user string, item string, Country string, country string"
    frame = session.createDataFrame([(f"u{n}", "a", "BIG", "small") for n in range(30)], columns)
    for item, where, expected in (
        ("Country", None, [("BIG", 30)]),
        ("country", None, [("small", 30)]),
        ("item", "Country = 'BIG'", [("a", 30)]),
        ("item", "country = 'small' AND ITEM = 'a'", [("a", 30)]),
        ("item", "country = 'BIG'", []),
    ):
        with open_engine(frame, user="user", item=item, where=where, key=b"k") as engine:
            assert pairs(engine.top(5)) == expected
    for item, where, message in (
        ("item", "COUNTRY = 'small'", r"exactly .* got 'COUNTRY', which may be 'Country' or 'country'"),
        ("country", "Country = 'BIG'", "where must name columns that differ by more than letter case"),
        ("item", "Country = 'BIG' AND country = 'small'", "where must name columns that differ by more than"),
    ):
        with pytest.raises(ParameterError, match=message):
            open_engine(frame, user="user", item=item, where=where, key=b"k")


def test_tables_of_a_catalogue(spark):
    awkward(spark).createOrReplaceTempView("events")
    database = opened(spark, table="events")
    assert counted(database) == counts(AWKWARD)
    for wrong, message in (
        ("event", "did you mean events"),
        ("no such", "got 'no such'"),
        ("a.b.c.d", "got 'a.b.c.d'"),
    ):
        with pytest.raises(DataError, match=message):
            opened(spark, table=wrong)
    with pytest.raises(ParameterError, match="table must name a table, a view or files, got nothing") as error:
        opened(spark)
    assert "dpselect_" not in str(error.value)
    with pytest.raises(ParameterError, match="table must be left out for a frame"):
        opened(awkward(spark), table="events")
    database.close()
    spark.catalog.dropTempView("events")


def test_an_address_is_the_session_that_runs(spark, tmp_path):
    rows = [("u", 'a "b", c d'), ("u", "1"), ("v", "1")]
    frame = spark.createDataFrame(rows, PAIRS).coalesce(1)
    frame.write.csv(str(tmp_path / "rows.csv"), header=True, escape='"')
    frame.write.orc(str(tmp_path / "rows.orc"))
    frame.write.parquet(str(tmp_path / "rows"))
    for address, name in (("spark:", "rows.csv"), ("spark:local[2]", "rows.orc"), ("spark:", "rows")):
        database = opened(address, table=str(tmp_path / name))
        assert counted(database) == [("1", 2), ('a "b", c d', 1)]
        database.close()
    for other in ("spark:local[7]", "spark://user:word@example.org:7077"):
        with pytest.raises(ParameterError, match="source must name the running Spark") as error:
            opened(other, table="events")
        assert "word" not in str(error.value)
    with pytest.raises(ParameterError, match="whose columns are known only from its rows"):
        opened("spark:", table="rows.json")
    with pytest.raises(DataError, match="spark:: the table, or a part of it, does not exist"):
        opened("spark:", table=str(tmp_path / "none.parquet"))


@pytest.mark.usefixtures("spark")
def test_an_open_quote_in_a_csv_file_swallows_no_row_behind_it(tmp_path):
    lines = ["user,item", *(f"v{n},tea" for n in range(20)), 'mallory,"x', *(f"w{n},tea" for n in range(20))]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    database = opened("spark:", table=str(tmp_path / "rows.csv"))
    assert ("tea", 40) in counted(database)
    database.close()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 'u' AS user, rand() AS item",
        "SELECT uuid() AS user, 'i' AS item",
        "SELECT monotonically_increasing_id() AS user, 'i' AS item FROM range(3)",
        "SELECT 'u' AS user, id AS item FROM range(3) WHERE rand() < 0.5",
        "SELECT 'u' AS user, id AS item FROM range(3) ORDER BY rand() LIMIT 1",
    ],
)
def test_rows_that_are_drawn_are_refused(spark, sql):
    """A question may read them more than once; a view of them is seen through, and a copy of them will do."""
    frame = spark.sql(sql)
    frame.createOrReplaceTempView("drawn")
    for source, table in ((frame, None), (spark, "drawn")):
        with pytest.raises(ParameterError, match="source must be the same rows each time"):
            opened(source, table=table)
    opened(frame.localCheckpoint()).close()
    spark.catalog.dropTempView("drawn")


@pytest.mark.parametrize(
    ("sql", "cut"),
    [
        ("SELECT id AS user, 'i' AS item FROM range(9) LIMIT 3", "limit"),
        ("SELECT user, item FROM (SELECT id AS user, 'i' AS item FROM range(9) LIMIT 3) WHERE user > 1", "limit"),
        ("SELECT id AS user, 'i' AS item FROM range(9) WHERE id IN (SELECT id FROM range(5) LIMIT 2)", "limit"),
        ("SELECT id AS user, 'i' AS item FROM range(9) SORT BY user LIMIT 3", "limit"),
        ("SELECT id AS user, 'i' AS item FROM range(9) OFFSET 3", "offset"),
        ("SELECT id AS user, 'i' AS item FROM (SELECT id FROM range(9)) TABLESAMPLE (50 PERCENT)", "sample"),
        ("SELECT id AS user, 1 AS item FROM (FROM range(9)) TABLESAMPLE (9 PERCENT) REPEATABLE (3)", "sample"),
        ("SELECT id % 3 AS user, first(id) AS item FROM range(9) GROUP BY 1", "first"),
        ("SELECT id % 3 AS user, last(id) + 1 AS item FROM range(9) GROUP BY 1 HAVING count(*) > 1", "last"),
        ("SELECT id % 3 AS user, any_value(id) AS item FROM range(9) GROUP BY 1", "any_value"),
    ],
)
def test_an_unordered_limit_is_named(spark, sql, cut):
    frame = spark.sql(sql)
    with pytest.raises(ParameterError, match=f"the same rows each time, got an unordered {cut}, which may leave other"):
        opened(frame)
    opened(frame.localCheckpoint()).close()


def test_duplicates_that_differ_are_dropped_in_no_order(spark):
    frame = spark.sql("SELECT id % 3 AS user, id % 2 AS item FROM range(9)")
    with pytest.raises(ParameterError, match="got an unordered dropDuplicates of some columns, which may leave other"):
        opened(frame.dropDuplicates(["user"]))
    for same in (frame.dropDuplicates(), frame.distinct(), frame.groupBy("user").agg({"item": "max"})):
        opened(same.toDF("user", "item")).close()


def test_a_limit_of_sorted_rows_is_read(spark):
    frame = spark.sql("SELECT item, user FROM (SELECT id AS user, 'i' AS item FROM range(9) ORDER BY id) LIMIT 3")
    opened(frame).close()


def test_a_stream_is_refused(spark):
    with pytest.raises(ParameterError, match="be rows that are there, got a stream"):
        opened(spark.readStream.format("rate").load(), user="value", item="timestamp")


def test_what_is_of_spark(spark):
    for source in (spark, spark.range(1), "spark:", "spark://h:7077", "spark:local[2]"):
        assert Address.parse(source).kind is SourceKind.SPARK
    for source in ("rows.parquet", "sparks", {"user": []}, None, Path("spark:")):
        assert Address.parse(source).kind is not SourceKind.SPARK
    assert (spark_source.display_name("spark:local[2]"), spark_source.display_name(spark)) == (
        "spark:local[2]",
        "Spark",
    )


def test_pyspark_is_asked_for_when_it_is_missing():
    code = (
        "import sys; sys.modules['pyspark'] = sys.modules['pyspark.sql'] = None\n"
        "from dpselect.engines.spark.database import SparkDatabase\n"
        "from dpselect.engines.address import Address\n"
        "from dpselect.engines.sql.database import ReadRequest\n"
        "SparkDatabase(Address.parse('spark:', 't'), ReadRequest('u', 'i'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "DataError: a table in Spark needs PySpark\nhint: pip install pyspark pyarrow" in done.stderr


def test_names_of_folders_are_text(spark, tmp_path):
    """Spark would read 01 and 1 as one whole number, by what the names of other folders are."""
    for store, users in (("01", 40), ("1", 20), ("2", 30)):
        rows = [(f"{store}-{number}",) for number in range(users)]
        spark.createDataFrame(rows, "user string").write.parquet(str(tmp_path / f"shops/store={store}"))
    inference = "spark.sql.sources.partitionColumnTypeInference.enabled"
    before = spark.conf.get(inference)
    data = dps.Dataset(dps.Table(spark, str(tmp_path / "shops")), user="user", item="store")
    release = data.top_k(5, epsilon=400, counts=True)
    assert {item.item: item.count for item in release} == {"01": 40, "2": 30, "1": 20}
    assert spark.conf.get(inference) == before
