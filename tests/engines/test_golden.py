"""What each warehouse is asked, word by word in golden/, and what every such query must be: one SELECT of few things.

REWRITE_GOLDEN=1 writes the files anew; whoever does so reads what changed.
"""

from __future__ import annotations

import os
from functools import cache

import pytest

from dpselect.engines.value_key import value_key
from dpselect.engines.warehouse.dialects import FLAVOURS
from tests.engines.golden_questions import FOLDER, K_BAR, KEY, NUMBERS, PAIRS, TEXTS, TYPES, path, questions

sqlglot = pytest.importorskip("sqlglot")
from sqlglot import exp  # noqa: E402 - sqlglot is optional

# The names of columns and tables inside our queries.
OURS = set("u i n t v w x p a b d f k s r".split()) | {"place", "size", "name", "code", "share", "gap", "entry", "part"}
OURS |= {"value"}  # what Snowflake's FLATTEN calls it
OURS |= {"dpselect_time"}
OURS |= {"g", "l", "c", "e", "m", "item", "users"}  # of groups
OURS |= {f"{letter}{at}" for letter in "mpacqtnse" for at in range(2)}  # of measures
OURS |= {"k0", "k1", "x0", "x1"}  # the columns of items that have several
OURS |= {"dpselect_time", "q"}
OTHERS = ("price", "tax", "day", "at", "paid")
CHANGES = (exp.Into, exp.DML, exp.Create, exp.Drop, exp.Command, exp.Set, exp.Pragma, exp.Lock)
HASHED = {"sums bounded of months", "measures bounded of months"}
HASHED |= {
    "top bounded",
    "top of others bounded",
    "users_at random",
    "weigh first",
    "weigh second",
    "members",
    "users_of",
}
OF_PAIRS = {"left out of pairs", "names of pairs"}
HASHED |= {f"number {name}" for name in HASHED} | {"number users_at random of months"}


@cache
def asked(dialect: str) -> dict[str, str]:
    """All queries of one warehouse. Made when a test asks: every worker imports this file, and one runs it."""
    return dict(questions(dialect))


def wrong(sql: str, dialect: str, columns: set[str]) -> list[str]:
    """What a query is that it must not be."""
    statements = sqlglot.parse(sql, read=dialect)
    if len(statements) != 1 or not isinstance(statements[0], exp.Select):
        return ["not one SELECT"]
    tree = statements[0]
    found = ["it writes"] if any(tree.find(one) for one in CHANGES) else []
    found += ["all columns"] if any(not isinstance(star.parent, exp.Count) for star in tree.find_all(exp.Star)) else []
    for column in tree.find_all(exp.Column):
        theirs = column.name.lower() if dialect == "snowflake" else column.name
        if (column.this.quoted and theirs not in columns) or (not column.this.quoted and column.name not in OURS):
            found.append(f"column {column.name}")
    named = {cte.alias for cte in tree.find_all(exp.CTE)}
    for one in tree.find_all(exp.Table):
        name = one.sql("duckdb", identify=True).lower()
        if isinstance(one.this, exp.Identifier) and one.name not in named and '"shop"."events"' not in name:
            found.append(f"table {one.name}")
    for window in tree.find_all(exp.Window):
        by = [column.name for column in window.args.get("partition_by") or []]
        if by not in ([], ["u"], ["w"], ["g"], ["u", "g"]):
            found.append(f"window by {by}")
    return found


@pytest.mark.parametrize("dialect", FLAVOURS)
def test_queries_are_the_golden_ones(dialect):
    if os.environ.get("REWRITE_GOLDEN") == "1":
        (FOLDER / dialect).mkdir(parents=True, exist_ok=True)
        for file in (FOLDER / dialect).iterdir():
            file.unlink()
        for name, sql in asked(dialect).items():
            path(dialect, name).write_text(sql + "\n", "utf-8")
    written = {file.name: file.read_text("utf-8") for file in (FOLDER / dialect).iterdir()}
    assert written == {path(dialect, name).name: sql + "\n" for name, sql in asked(dialect).items()}


@pytest.mark.parametrize("dialect", FLAVOURS)
def test_each_is_one_select_of_few_things(dialect):
    for name, sql in asked(dialect).items():
        kind = name.partition(" column")[0]
        columns = NUMBERS if name.startswith("number ") and " column" not in name else TEXTS
        used = {columns["user"], columns["item"]}
        if " column" in name:
            used = {"user_id", *(column for column in OTHERS if TYPES[column] == kind)}
        if name.startswith("pair "):
            used = {*PAIRS["user"], *PAIRS["item"]}
        if name in OF_PAIRS:
            used |= {"day"}
        if name.startswith("groups "):
            used |= {"visitor", "paid"} if "pair" in name else {"visitor"}
            used |= {"price"} if "sums" in name else set()
        if name.startswith("each "):
            used = {*NUMBERS.values(), "paid"} if "users_at" in name or "span" in name else {*TEXTS.values(), "visitor"}
        if name == "top where":
            used |= {"price", "day", "at", "paid"}
        if name.startswith("by "):
            used |= {"day", "amount"} if "listed" in name else {"paid"}
        if name.startswith("measures"):
            used |= {"price", "tax"}
        if name.startswith("sums"):
            used |= {"tax"} if "bounded" in name else {"price"}
        used |= {"at"} if "of months" in name else {"day"} if "of a day" in name else set()
        assert wrong(sql, dialect, used) == [], name


@pytest.mark.parametrize("dialect", FLAVOURS)
def test_each_has_its_shape(dialect):
    distinct = "uniqExact(u)" if dialect == "clickhouse" else "count(DISTINCT u)"
    for name, sql in asked(dialect).items():
        tree = sqlglot.parse_one(sql, read=dialect)
        if name == "check":
            assert sql.endswith("WHERE 1 = 0")
        elif name.startswith("groups "):
            assert sql.endswith(" ORDER BY i, place"), name
            order = FLAVOURS[dialect].dialect.keyed(f"'{KEY.hex()}'", "u", "g")
            assert f"dense_rank() OVER (PARTITION BY u ORDER BY {order}, g) AS place" in sql, name
            assert ("PARTITION BY u, g ORDER BY" in sql) == ("bounded" in name), name
            assert ("GROUP BY u, g, i" in sql) == ("sums" in name), name
            continue
        elif name.startswith("each "):
            assert (tree.args.get("limit") is not None) == ("coded" in name), name
            assert sql.endswith(" ORDER BY i, place") == ("coded" not in name and "items" not in name), name
            keyed = FLAVOURS[dialect].dialect.keyed
            kept = keyed(f"'{KEY.hex()}'", "u", "g") in sql
            assert kept == ("coded" not in name and "items" not in name), name
            drawn = f"ORDER BY {keyed(repr(value_key(KEY).hex()), 'u', 'i')}, i)"
            assert (f"PARTITION BY u, g {drawn}" in sql) == ("random" in name), name
            continue
        elif "sums" in name:
            assert sql.endswith(f" ORDER BY n DESC, i LIMIT {K_BAR + 1}") == (name != "number sums of a domain"), name
            assert "GROUP BY u, i" in sql, name
            assert "DISTINCT u" not in sql, name
        elif name.startswith("by "):
            assert sql.endswith(" ORDER BY i, place"), name
            assert f"WHERE place <= {K_BAR + 1}" in sql, name
        elif " top" in f" {name}":
            assert sql.endswith(f" ORDER BY n DESC, i LIMIT {K_BAR + 1}"), name
            assert (distinct in sql) == ("bounded" not in name), name
        else:
            assert (tree.args.get("limit") is not None) == (name in ("coded_pairs", "left out of pairs")), name
        if name in HASHED:
            order = FLAVOURS[dialect].dialect.keyed(f"'{KEY.hex()}'", "u", "i")
            placed = "dense_rank" if "measures" in name else "row_number"
            assert f"{placed}() OVER (PARTITION BY u ORDER BY {order}, i) AS place" in sql, name
        assert (KEY.hex() in sql) == (name in HASHED | OF_PAIRS or name.startswith("by ")), name
        assert "SELECT DISTINCT u, i FROM" in sql or "sums" in name or "measures" in name or name not in HASHED, name


def twice(sql: str, dialect: str) -> list[str]:
    """Names that a SELECT gives to one thing and uses for another beside it: some databases know them in all of it."""
    found = []
    for select in sqlglot.parse_one(sql, read=dialect).find_all(exp.Select):
        named = [one for one in select.expressions if isinstance(one, exp.Alias) and one.this.name != one.alias]
        given = {one.alias: one for one in named}
        parts = [*select.expressions, *filter(None, (select.args.get(name) for name in ("where", "group")))]
        for part in parts:
            names = {one.name for one in part.find_all(exp.Column) if one.parent_select is select and not one.table}
            found += [name for name in sorted(names & given.keys()) if given[name] is not part]
    return found


@pytest.mark.parametrize("dialect", FLAVOURS)
def test_no_name_is_given_twice(dialect):
    assert {name: twice(sql, dialect) for name, sql in asked(dialect).items() if twice(sql, dialect)} == {}


def test_a_name_that_is_given_twice_is_found():
    assert twice("SELECT i AS item, g AS i FROM t", "clickhouse") == ["i"]
    assert twice("SELECT a AS i FROM t WHERE i > 1", "clickhouse") == ["i"]


@pytest.mark.parametrize("dialect", FLAVOURS)
@pytest.mark.parametrize(
    "text", ["it's", "\\", "\\'", "'; DROP TABLE t; --", "\n\r", "\u00e9\U0001f600", '"`${x}%s{}', ""]
)
def test_texts_and_names_are_read_as_they_were(dialect, text):
    written = FLAVOURS[dialect].dialect
    (one,) = sqlglot.parse(f"SELECT {written.literal(text)} AS x", read=dialect)
    assert one.expressions[0].this == exp.Literal.string(text)
    if text and dialect != "clickhouse" and "\\" not in text:  # sqlglot reads no backslash in a name
        (one,) = sqlglot.parse(f"SELECT 1 AS {written.quote(text)}", read=dialect)
        assert one.expressions[0].alias == text


def test_a_name_in_small_letters_is_one_in_capitals_in_snowflake():
    quote = FLAVOURS["snowflake"].dialect.quote
    assert [quote(name) for name in ("user_id", "userId", "user id", "USER")] == [
        '"USER_ID"',
        '"userId"',
        '"user id"',
        '"USER"',
    ]


BROKEN = {
    "two statements": "SELECT i FROM `shop`.`events`; DROP TABLE x",
    "a writing one": "CREATE TABLE x AS SELECT `item` AS i FROM `shop`.`events`",
    "an INSERT": "INSERT INTO x SELECT `item` AS i FROM `shop`.`events`",
    "another column": "SELECT `age` AS i FROM `shop`.`events`",
    "all columns": "SELECT * FROM `shop`.`events`",
    "another table": "SELECT `item` AS i FROM `shop`.`secrets`",
    "a name that nobody quoted": "SELECT age AS i FROM `shop`.`events`",
    "a window over items": "SELECT row_number() OVER (PARTITION BY i ORDER BY u) AS n FROM (SELECT `item` AS i FROM "
    "`shop`.`events`) AS t",
}


@pytest.mark.parametrize("sql", BROKEN.values(), ids=list(BROKEN))
def test_the_check_refuses(sql):
    assert wrong(sql, "bigquery", {"user_id", "item"})
