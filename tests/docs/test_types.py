"""docs/types.md has one table of types, made from the code: every source is in it, and what is refused."""

from __future__ import annotations

import re
import sys

import pytest

from dpselect.rows import parse_types
from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "docs" / "_extensions"))
from made_types import ARROW, DUCKDB, POSTGRES, SPARK, SQLITE, types

PAGE = (ROOT / "docs" / "types.md").read_text("utf-8")


@pytest.fixture(scope="module")
def rows() -> dict[tuple[str, str], dict[str, list[str]]]:
    """Of each meaning and its uses the types of each source."""
    lines = [line.strip("| ").split(" | ") for line in types("types", "").splitlines()[2:]]
    return {
        (here, uses): {source: names.split(", ") for source, names in re.findall(r"\*\*(.+?)\*\*(?:: ([^;]+))?", of)}
        for here, uses, of in lines
    }


def test_every_type_of_every_source_is_there_once(rows):
    for source, every in (
        ("Parquet, Delta", ARROW), ("Arrow, pandas, polars", ARROW), ("PostgreSQL", POSTGRES),
        ("SQLite", [name or "no type" for name in SQLITE]),
        ("DuckDB", [name.partition("(")[0] for name in DUCKDB]), ("Spark", [name.partition("(")[0] for name in SPARK]),
    ):  # fmt: skip
        assert sorted(name for of in rows.values() for name in of.get(source, [])) == sorted(every)


def test_what_each_is(rows):
    text, refused = rows["text, until it is declared", "user, item"], rows["refused", "nothing"]
    assert {"CSV, TSV, a pipe", "JSON lines", "names of folders", "Parquet, Delta", "DuckDB"} <= text.keys()
    assert {"decimal of more digits", "list", "struct", "map"} <= {*refused["Parquet, Delta"]}
    assert {"int8", "int64", "uint64"} <= {*rows["whole number", "user, item, number"]["Parquet, Delta"]}
    assert "timestamp_ntz" in rows["timestamp", "user, item, time"]["Spark"]
    assert "timestamptz" in rows["timestamp with a zone", "user, item, time"]["PostgreSQL"]


def test_the_page_holds_the_table_and_declarations_that_are_read():
    assert PAGE.count("<!-- made: types -->") == 1
    assert "**Schema is public.**" in PAGE
    listed = re.findall(r"^\| `([^`]+)`[^|]* \|", PAGE, re.MULTILINE)
    assert len(listed) > 9
    for text in listed:
        declared = text.replace("p,s", "18,2")
        assert parse_types({"x": declared})["x"].text == declared
