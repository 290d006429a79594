"""The parts of pages by themselves: filters from menus, numbers, words."""

from __future__ import annotations

import ast
import csv
import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpselect as dps
from dpselect import filter_texts as filters
from dpselect.engines.filters.grammar import parse
from dpselect.engines.filters.tree import Constant, Name, Operation
from dpselect.errors import ParameterError
from dpselect.gateway.asked import TEXT_PARAMETERS
from dpselect.gateway.pages import asking, conditions, snippets, words
from dpselect.gateway.pages.conditions import Condition
from dpselect.gateway.pages.rendering import fields_of, help_for
from dpselect.mcp.desk import describe_error
from dpselect.queries.planning import plan_class
from dpselect.remote.problems import error_of

# ---- filters ------------------------------------------------------------------------------------------------


# What no engine can hold is refused by the language itself.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20)


@given(TEXTS, TEXTS)
def test_a_typed_text_is_that_text_and_nothing_else(column: str, value: str) -> None:
    said = conditions.join_conditions([Condition(column, "is", f'"{value}"')])
    assert said is not None
    assert parse(said) == Operation("=", (Name(column), Constant(value)))


@pytest.mark.parametrize(
    "value", ["it's", "' OR '1'='1", "x' --", '"', "12", "-3.5", "1e5", "TRUE", "DATE '2024-01-01'"]
)
@pytest.mark.parametrize("operator", list(conditions.OPERATORS))
def test_every_row_is_one_condition_on_its_column(operator: str, value: str) -> None:
    said = conditions.join_conditions([Condition("select", operator, value)])
    assert said is not None
    tree = parse(said)
    assert isinstance(tree, Operation)
    if tree.operator == "NOT":
        (tree,) = tree.operands
        assert isinstance(tree, Operation)
    assert tree.operands[0] == Name("select")
    assert all(isinstance(part, Constant) for part in tree.operands[1:])
    filters.resolve(said, {"select": None})


def test_digits_are_a_number_and_quotation_marks_make_them_a_text() -> None:
    assert conditions.join_conditions([Condition("age", "at-least", "18")]) == "age >= 18"
    assert conditions.join_conditions([Condition("zip", "is", "'08001'")]) == "zip = '08001'"
    assert (
        conditions.join_conditions([Condition("age", "more-than", "1,000")]) == "age > '1,000'"
    )  # which the types then refuse


def test_listed_values_keep_their_types_and_others_are_left_out() -> None:
    values: tuple[object, ...] = ("Germany", 7, True, "7x")
    for chosen, said in (("Germany", "'Germany'"), ("7", "7"), ("True", "TRUE"), ("7x", "'7x'")):
        assert conditions.join_conditions([Condition("c", "is", chosen, values)]) == f"c = {said}"
    fields = {"column": ["c", "c", "d"], "comparison": ["at-least", "is"], "value": ["Atlantis", "7"]}
    rows = conditions.rows(fields, {"c": list(values)})
    assert [(row.operator, row.value) for row in rows] == [("is", ""), ("is", "7")]
    assert conditions.join_conditions(rows) == "c = 7"


def test_several_values_of_one_column_mean_any_of_them() -> None:
    rows = [
        Condition("c", "is", "a"),
        Condition("c", "is", "b"),
        Condition("d", "is-not", "1"),
        Condition("d", "there", ""),
    ]
    assert conditions.join_conditions(rows) == "c IN ('a', 'b') AND d <> 1 AND d IS NOT NULL"
    assert conditions.join_conditions([Condition("c", "is", "")]) is None


# ---- the form -----------------------------------------------------------------------------------------------

OPEN: dict[str, Any] = {
    "name": "plays",
    "items": ["artist", "country"],
    "groups": ["country"],
    "filters": {},
    "weights": {"minutes": {}},
    "values": {"minutes": {"low": 0.0, "high": 90.5}},
    "domains": {"country": ["DE", 'a "b"']},
    "periods": ["2026-11", "2026-10"],
}
CLOSED = OPEN | {"groups": [], "weights": {}, "values": {}, "periods": []}
FIRST = {"by": ["country"], "by_weight": ["minutes"], "compared_with": ["2026-10"]}


def test_a_list_too_long_to_be_read_is_left_to_the_question_to_refuse() -> None:
    text = "x" * (csv.field_size_limit() + 1)
    assert asking.form({"verb": ["union"], "popular": [text]}, [OPEN]).body["popular"] == text


@pytest.mark.parametrize("verb", list(asking.VERB_SENTENCES))
def test_the_form_has_every_parameter_of_a_question(verb: str) -> None:
    wanted = {*plan_class(verb).fields()} - {*TEXT_PARAMETERS}
    assert wanted <= {*asking.form({"verb": [verb], **FIRST}, [OPEN]).controls}
    offered = {*asking.form({"verb": [verb], **FIRST}, [CLOSED]).controls}
    assert not offered & {"by", "groups", "by_weight", "at_most", "measures", "during", "compared_with"}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ("k=12&counts=", {"k": 12}),
        ("k=1e3&k_bar=%C2%B2", {"k": "1e3", "k_bar": "\u00b2"}),  # which the question refuses
        ("by=country&groups=DE, 7,1.5,'8',\"a, b\"", {"groups": ["DE", 7, 1.5, "8", "a, b"], "by": ["country"]}),
        ("groups=DE&at_most=3", {}),  # which are of nothing here
        ("verb=users&by=country", {"by": ["country"], "groups": ["DE", 'a "b"']}),
        (
            "verb=quantile&q=1/4, 0.5&bounds=0,1&per_user=max",
            {"q": ["1/4", "0.5"], "bounds": ["0", "1"], "per_user": "max"},
        ),
        ("measures=sum(minutes, 0, 90.5)", {"measures": "sum(minutes, 0, 90.5)"}),
        ("compared_with=2026-10&users=yes", {"compared_with": ["2026-10"]}),
        ("verb=union&price=threshold&threshold=9&share=7&in_engine=yes", {"threshold": 9, "in_engine": True}),
        ("price=epsilon&epsilon=1/2&delta=1e-9&within=8", {"epsilon": "1/2", "delta": "1e-9"}),
        ("price=threshold&delta=1e-9&fresh=yes", {"share": "2%", "fresh": True}),
        ("verb=drop&item=user&by=artist&method=none", {"verb": "top_k", "item": "artist"}),
    ],
)
def test_a_form_says_its_question(fields: str, said: dict[str, Any]) -> None:
    body = asking.form(fields_of(fields), [OPEN]).body
    assert {name: body.get(name) for name in said} == said
    others = {*body} - {*said} - {"data", "verb", "item", "during", "share", "k", "q", "counts"}
    assert not others
    assert json.loads(json.dumps(body)) == body


# ---- numbers and words --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "up", "said"),
    [
        (0.01781, True, "1.79 %"),
        (0.01719, False, "1.71 %"),
        (0.829, False, "82.90 %"),
        (0.82001, True, "82.01 %"),
        (1, False, "100 %"),
        (0, True, "0 %"),
        (0.00004, True, "0.0040 %"),
        (3.03, True, "303 %"),
        (Fraction(1, 3), False, "33.33 %"),
    ],
)
def test_what_is_taken_is_rounded_up_and_what_is_left_down(part: float, up: bool, said: str) -> None:
    assert words.percent(part, up=up).replace(words.SPACE, " ") == said


def test_a_number_keeps_its_digits_and_a_text_is_as_it_is() -> None:
    assert [words.number(one) for one in (1_234_567, 0.25, "7", True)] == ["1,234,567", "0.25", "7", "true"]


def test_titles_say_what_was_asked() -> None:
    assert words.format_question({"verb": "top_k", "k": 1, "item": "artist"}) == "Top artist by number of users"
    body = {"verb": "top_k", "k": 5, "item": ["country", "artist"], "by": ["city"], "during": ["2026-10", "2026-11"]}
    assert (
        words.format_question(body)
        == "Top 5 pairs of country and artist by number of users in every city, October 2026 and November 2026"
    )
    assert words.format_question({"verb": "quantile", "q": ["1/2", "9/10"], "item": "age"}).replace(
        words.SPACE, " "
    ) == ("Median and 90 % quantile of age")


def test_python_text_holds_any_value() -> None:
    where = "a = 'it''s \"x\"\\' AND b = '\u202e'"
    code = snippets.python(
        "https://x.example", {"data": "plays", "verb": "top_k", "k": 3, "where": where, "share": "2%"}
    )
    called: dict[str, object] = {}
    tree = compile(code, "page", "exec", dont_inherit=True, flags=0x400)
    for node in ast.walk(tree):  # type: ignore[arg-type]
        if isinstance(node, ast.keyword) and node.arg == "share":
            called["share"] = ast.literal_eval(node.value)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "where":
            called["where"] = ast.literal_eval(node.args[0])
    assert called == {"where": where, "share": "2%"}


@pytest.mark.parametrize(
    "body",
    [
        {"verb": "choose", "domain": 5},
        {"verb": "histogram", "domain": {"start": 0, "stop": 3}, "delta": 0},
        {
            "verb": "choose",
            "domain": ["x'\"); import os", ["date", "2026-10-01"], ["decimal", "1.5"], ["float", "nan"]],
        },
        {"verb": "top_k", "by": ["a"], "groups": ["\\", "\n"], "users": True, "counts": False},
        {"verb": "top_k", "by_weight": "n", "at_most": "3", "exclude": ['a"b']},
        {
            "verb": "top_k",
            "item": ["a", "b"],
            "where": "a = 'x'",
            "during": ["2026-09", "2026-10"],
            "exclude": [["tuple", ["c", 1]]],
        },
        {"verb": "union", "method": "greedy-geometric", "popular": ["a"], "threshold": 5},
    ],
    ids=repr,
)
def test_the_python_of_a_question_asks_it(body: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def sent(_self: object, _verb: str, said: dict[str, Any], _progress: object) -> str:
        asked.append(said)
        return "answer"

    monkeypatch.setattr(dps.RemoteDataset, "_answer", sent)
    monkeypatch.setenv("DPSELECT_TOKEN", "t" * 43)
    price = {} if "threshold" in body else {"epsilon": "1"}
    exec(snippets.python("https://x.example", {"data": "plays", **body, **price}), {})
    usual = {"counts": False, "users": False}
    kept = {name: value for name, value in {**body, **price, "data": "plays"}.items() if usual.get(name) is not value}
    assert {name: str(value) for name, value in asked[0].items()} == {name: str(value) for name, value in kept.items()}


@pytest.mark.parametrize(
    ("where", "must"),
    [
        ("country = 'Atlantis'", "compare country with listed values, got a value that is not listed"),
        ("country IN ('DE', 'Atlantis')", "compare country with listed values, got a value that is not listed"),
        ("country > 'DE'", "by =, <>, IN or IS NULL, got another condition"),
    ],
)
def test_a_value_that_is_not_listed_is_told_from_another_condition(where: str, must: str) -> None:
    with pytest.raises(ParameterError) as found:
        filters.resolve(where, {"country": ("DE", "FR")})
    assert must in str(found.value)
    problem = {"type": "https://x.example/problems/parameter", "parameter": "where", "hint": found.value.hint}
    assert found.value.hint == "GET /v1/data has the lists"  # by command, by page and for agents there is no HTTP
    assert error_of(problem).hint == "the ask page of the gateway, or described() of its Remote, has the lists"
    assert help_for(problem) == "the menus of the ask page have the lists"
    for error in (found.value, error_of(problem)):
        assert "hint: the tool data has the lists" in describe_error(error)
    assert "Atlantis" not in str(found.value)
    assert "FR" not in str(found.value)
