"""A small question costs little: it imports what it needs, and nothing of the engines and methods that nobody asked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

# What stays away from the plain question, and an option that needs it: so each line can fail.
UNASKED = {
    "dpselect.engines.row_filter": ["--where", "user <> 'x'"],
    "dpselect.engines.count_groups": ["--domain", "a,b"],
    "dpselect.mechanisms.joint.canonical_set": ["--domain", "a,b", "--method", "canonical-set"],
    "dpselect.mechanisms.top_k.noisy_counts": ["--counts"],
    "dpselect.mechanisms.top_k.peeling": ["--domain", "a,b"],
    "dpselect.mechanisms.set_union.port": ["--method", "discover"],
    "dpselect.release.serialization": ["--format", "json"],
    "json": ["--format", "json"],
    "dpselect.release.item_columns": ["--item", "more"],
    "dpselect.release.files": ["-o", os.devnull],
    "dpselect.engines.duckdb.domain": ["--domain", "a,b"],
    "dpselect.release.answers.items_left_out": ["--exclude", "a"],
}
NEVER = (
    "dpselect.ledger",
    *(f"dpselect.engines.sql.{name}" for name in ("by_group", "numbers", "pairs", "sets", "values")),
    "dpselect.engines.duckdb.elsewhere",
    *("dpselect.engines.outside", "dpselect.inspection"),
    "dpselect.engines.postgres.database",
    "dpselect.engines.spark.database",
    "dpselect.engines.sources.frames",
    "dpselect.engines.sources.scans.frames",
    "dpselect.engines.duckdb.catalog",
    "dpselect.engines.sources.scans.lines",
    "dpselect.queries.parameters",
    "dpselect.queries.union",
    "dpselect.queries.quantile",
    "dpselect.forecast",
    "dpselect.papers",
    *(f"dpselect.release.{name}" for name in ("charts", "panels", "picture", "svg")),
    "dpselect.texts",
    *("dpselect.remote", "dpselect.command.from_gateway", "http.client", "ssl"),
    *("concurrent", "difflib", "logging"),
    *("duckdb", "importlib.metadata", "hashlib", "_hashlib"),
    *("pandas", "polars", "pyarrow", "psycopg", "pyspark", "matplotlib", "narwhals", "shtab", "pydantic"),
)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("small") / "rows.parquet"
    duckdb.sql("SELECT 'u' || i % 9 AS user, 'abc'[1 + i % 3] AS item, 'x' AS more FROM range(99) t(i)").write_parquet(
        str(file)
    )
    return file


def imported(words: list[str]) -> set[str]:
    """The modules that a command has imported when it ends."""
    code = (
        f"from dpselect.command.main import main; import sys; end = main({words!r}); print(*sys.modules); sys.exit(end)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def top(rows: Path, *more: str) -> set[str]:
    return imported(["top", str(rows), "--user", "user", "--item", "item", "-k", "2", "--epsilon", "1", *more])


@pytest.fixture(scope="module")
def plain(rows: Path) -> set[str]:
    return top(rows)


def test_the_plain_question_imports_what_it_needs(plain: set[str]) -> None:
    assert {"_duckdb", "dpselect.engines.duckdb.engine", "dpselect.mechanisms.top_k.limited_domain"} <= plain
    assert not {one for one in plain if one.startswith(NEVER)}
    assert len([one for one in plain if one.partition(".")[0] == "dpselect"]) <= 128


@pytest.mark.parametrize("module", UNASKED)
def test_a_module_comes_with_the_option_that_needs_it(module: str, plain: set[str], rows: Path) -> None:
    assert module not in plain
    assert module in top(rows, *UNASKED[module])


def test_a_plain_union_imports_neither_the_ledger_nor_openssl(rows: Path) -> None:
    words = ["union", str(rows), "--user", "user", "--item", "item", "--epsilon", "1"]
    unasked = ("dpselect.ledger", "duckdb", "hashlib", "_hashlib")
    assert not {one for one in imported(words) if one.startswith(unasked)}
    rows.with_name("popular.txt").write_text("a\n", "utf-8")
    assert {"dpselect.ledger", "hashlib"} <= imported([*words, "--popular", str(rows.with_name("popular.txt"))])
