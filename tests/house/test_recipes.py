"""CONTRIBUTING's recipes are true: the files of the package that name a sample are those of its table."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from functools import cache

import pytest

from tests.house.rules import ROOT, sources

PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
PREFIX, IF = "src/dpselect/", "if "
# By what a recipe calls its sample: the names of it in code, and the folder that is its own.
SAMPLES: Mapping[str, tuple[set[str], str]] = {
    "per_user": ({"per_user"}, ""),
    "LimitedDomainSparse": (
        {"LimitedDomainSparse", "limited-domain-sparse", "sparse_limited_domain", "SPARSE"},
        "",
    ),
    "Histogram": ({"def histogram", "Histogram", "HistogramPlan", "'histogram'"}, ""),
    "Spark": ({"SPARK", "SPARK_PREFIX", "SparkDatabase", "spark"}, "engines/spark/"),
    "iceberg_catalogs": (
        {"iceberg_catalogs", "is_iceberg_object", "ICEBERG_PREFIX"},
        "engines/sources/iceberg_catalogs.py",
    ),
}


def recipe(page: str, sample: str) -> str:
    """The part of the page that is about a sample: from its bold title to the next one, or to the next section."""
    starts = [match.start() for match in re.finditer(r"^(?:\*\*Add |## )", page, re.MULTILINE)]
    parts = [page[start:stop] for start, stop in zip(starts, [*starts[1:], len(page)], strict=True)]
    (found,) = [part for part in parts if f"`{sample}`" in part.partition(":")[0]]
    return found


def rows(part: str) -> Iterator[tuple[list[str], str]]:
    """Every row of the table: the files of the package in it, NAME for any name, and what to write."""
    for line in re.findall(r"^\| (`.+) \|$", part, re.MULTILINE):
        files, _, what = line.partition(" | ")
        paths = [path.removeprefix(PREFIX) for path in re.findall(r"`([^`]+)`", files) if path.startswith(PREFIX)]
        yield [path.replace("NAME", "*") for path in paths], what


@cache
def names(source: str) -> frozenset[str]:
    """Return every name in the code of a file; a text, and a function that is defined, also as such."""
    return frozenset(_names(source))


def _names(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.ClassDef(name=name):
                yield name
            case ast.FunctionDef(name=name):
                yield from (name, f"def {name}")
            case ast.keyword(arg=str() as name):
                yield name
            case ast.alias(name=name) | ast.ImportFrom(module=str() as name):
                yield from name.split(".")
            case ast.Constant(value=str() as text):
                yield from (text, repr(text))


def naming(files: Mapping[str, str], words: set[str], own: str) -> list[str]:
    """The files that name one of these words, without those of a folder."""
    return sorted(
        path for path, source in files.items() if not (own and path.startswith(own)) and words & names(source)
    )


def wrong_rows(page: str, sample: str, files: Mapping[str, str]) -> list[str]:
    """Files that name a sample and are in no row, and files of rows that name none and do not say "if"."""
    words, own = SAMPLES[sample]
    found, table = naming(files, words, own), [*rows(recipe(page, sample))]
    patterns = [pattern for paths, _ in table for pattern in paths]
    assert patterns
    missing = [f"{path} names {sample}" for path in found if not any(fnmatch(path, pattern) for pattern in patterns)]
    needed = [pattern for paths, what in table if not what.startswith(IF) for pattern in paths]
    idle = [
        f"{pattern} does not name {sample}"
        for pattern in needed
        if not any(fnmatch(path, pattern) for path in [*found, *(file for file in files if own and file == own)])
    ]
    return missing + idle


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_recipe_names_the_files_that_its_sample_needed(sample: str) -> None:
    assert wrong_rows(PAGE, sample, sources()) == []


def test_a_wrong_recipe_is_noticed() -> None:
    files = {**sources(), "remote/wire.py": "per_user = 1"}
    assert wrong_rows(PAGE, "per_user", files) == ["remote/wire.py names per_user"]
    less = PAGE.replace("| `src/dpselect/verbs.py` | the argument and its docstring |\n", "")
    assert wrong_rows(less, "per_user", sources()) == ["verbs.py names per_user"]
    more = PAGE.replace("| `src/dpselect/verbs.py` | the", "| `src/dpselect/verbs.py`, `src/dpselect/demo.py` | the")
    assert wrong_rows(more, "per_user", sources()) == ["demo.py does not name per_user"]
