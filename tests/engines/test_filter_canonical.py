"""The text by which a budget knows a filter: spelling changes nothing in it, and two meanings never share it."""

from __future__ import annotations

import contextlib
import itertools
import json

import pytest

import dpselect as dps
from dpselect.engines import row_filter
from dpselect.engines.duckdb.spelling import DUCKDB_SPELLING
from dpselect.engines.duckdb.types import filter_type
from dpselect.engines.filters.tree import Constant, Name, Operation, canonical
from tests.engines.filter_rows import COLUMNS, CONDITIONS

TYPES = {"genre": "VARCHAR", "n": "INTEGER", "x": "DOUBLE", "d": "DATE", "a,b": "VARCHAR", "a": "VARCHAR"}

SAME = [
    ("genre='Drama'", " genre  =\n'Drama'", "GENRE = 'Drama'", "\"genre\" == ('Drama')", "(genre) = 'Drama'"),
    ("n > 1 AND x < 2 AND d IS NULL", "((n > 1) and x<2 And d is null)"),
    ("n <> 1", "n != 1"),
    ("x IN (1, 2)", "x in (1,2)"),
    ("genre LIKE 'q%'", "starts_with(genre, 'q')"),
    ("n::DOUBLE > 1", "CAST(n AS DOUBLE PRECISION) > 1"),
]

OTHER = [
    "genre = '1'",
    "genre = 'a,b'", "genre IN ('a', 'b')", "genre IN ('a,b')", "genre IN ('a'', ''b')", "genre = 'genre'",
    "genre = a", "genre = 'a'", 'genre = "a,b"', "n = 1", "n = 1.0", "n = 1e0", "n = 10", "n = -1", "n = 1 OR n = 1",
    "x = 1", "x = 1.0", "x = 0.0", "x = -0.0", "x = 1e1", "x = -1e1", "n IS NULL", "NOT n IS NULL", "TRUE", "NULL",
    "FALSE",
    "n > 1 AND (x < 2 OR d IS NULL)", "(n > 1 AND x < 2) OR d IS NULL", "n - (1 - 2) = 0", "(n - 1) - 2 = 0",
    "d = DATE '2020-01-01'", "d = TIMESTAMP '2020-01-01 00:00:00'", "genre = '2020-01-01'", "genre LIKE 'a%'",
    "genre LIKE '%a'",
    "genre LIKE 'a_'", "genre LIKE '_a'", "genre LIKE '__'", "genre LIKE '%'", "contains(genre, 'a')",
    "genre::INT = 1", "genre::DOUBLE = 1", "genre::DECIMAL(10, 2) = 1", "genre::DECIMAL(10, 3) = 1", "genre = 'True'",
    "genre = 'None'", "genre = '\U0001f600'", r"genre = '\ud83d\ude00'", "genre = '\"'", r"genre = '\"'",
]  # fmt: skip


def text(condition, **types):
    columns = {name: filter_type(kind) for name, kind in {**TYPES, **types}.items()}
    return row_filter.parse(condition).canonical(columns)


@pytest.mark.parametrize("spellings", SAME, ids=lambda same: same[0])
def test_spelling_changes_nothing(spellings):
    assert len({text(one) for one in spellings}) == 1


def clashes(write):
    """Pairs of filters that mean different things and have one text."""
    written = [(one, write(one)) for one in [*OTHER, *(same[0] for same in SAME)]]
    return [(a, b) for (a, first), (b, second) in itertools.combinations(written, 2) if first == second]


def test_two_meanings_never_share_a_text():
    assert clashes(text) == []


def tree(condition):
    return row_filter.parse(condition).tree


def unquoted(node):
    """The twin that quotes no text."""
    if isinstance(node, Operation):
        return f"{node.operator}{node.options}({','.join(map(unquoted, node.operands))})"
    return node.name if isinstance(node, Name) else f"{type(node.value).__name__} {node.value}"


def untyped(node):
    """The twin that forgets the types of constants."""
    if isinstance(node, Operation):
        return json.dumps([node.operator, str(node.options), [untyped(part) for part in node.operands]])
    return json.dumps(["column", node.name]) if isinstance(node, Name) else json.dumps(["constant", str(node.value)])


def flat(node):
    """The twin that forgets which part belongs to which operation."""
    if isinstance(node, Operation):
        return f"{json.dumps([node.operator, str(node.options)])}{''.join(map(flat, node.operands))}"
    return json.dumps([type(node).__name__, repr(node.name if isinstance(node, Name) else node.value)])


@pytest.mark.parametrize(
    ("twin", "clash"),
    [
        (unquoted, ("genre IN ('a', 'b')", "genre IN ('a,str b')")),
        (untyped, ("n = 1", "n = '1'")),
        (flat, ("n > 1 AND (x < 2 AND n < 5) AND TRUE", "n > 1 AND (x < 2 AND n < 5 AND TRUE)")),
    ],
)
def test_a_writer_that_forgets_something_is_found(twin, clash):
    assert twin(tree(clash[0])) == twin(tree(clash[1]))
    assert text(clash[0]) != text(clash[1])


def test_the_same_text_is_the_same_sql():
    """Over all conditions that the engines are tried with."""
    types = {name: filter_type(kind) for name, (kind, *_) in COLUMNS.items()}
    found = {}
    for condition in CONDITIONS:
        read = row_filter.parse(condition)
        with contextlib.suppress(dps.ParameterError):  # it does not fit these types
            sql = read.sql(types, lambda name: f'"{name}"', DUCKDB_SPELLING)
            assert found.setdefault(read.canonical(types), sql) == sql
    assert len(found) > 100


def test_a_column_of_another_type_makes_another_filter():
    assert text("n > 1") != text("n > 1", n="BIGINT")
    assert text("n > 1") == text("n > 1", x="BIGINT")  # it does not look at that one


def test_members_of_an_enum_are_not_in_it():
    """They may be read from rows, and a ledger keeps the text."""
    assert text("genre = 'a'", genre="ENUM('ann', 'bob')") == text("genre = 'a'", genre="ENUM('bob')")


def test_a_part_that_stands_twice_is_written_once():
    node = Operation("=", (Name("n"), Constant(1)))
    for _ in range(90):
        node = Operation("AND", (node, node))
    assert len(canonical(node, {"n": ("n", "INTEGER")})) < 10_000


def test_what_has_no_text_of_its_own_is_refused():
    with pytest.raises(TypeError, match=r"^a bytes has no text that tells it from every other$"):
        canonical(Operation("=", (Name("n"),), (b"",)), {"n": ("n", "INTEGER")})
