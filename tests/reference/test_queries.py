"""A question is one value: checked once, the same from Python and from JSON, and with nothing in it that lies."""

import datetime
import inspect
import json
from dataclasses import Field, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dpselect as dps
from dpselect._ground.domain import Listed
from dpselect._ground.methods import METHODS, NeedsBound, methods
from dpselect.aggregates.measures import Sum
from dpselect.asked_rows import AskedRows
from dpselect.flat import dataset_of
from dpselect.ledger.question import fingerprint
from dpselect.queries.facts import Facts
from dpselect.queries.parameters import table
from dpselect.queries.planning import PLANS, plan_class, plan_question
from dpselect.queries.values import NO_FACTS
from dpselect.questions.kinds import FLAG, OneOf, whole_number_kind
from dpselect.questions.parts import Payment
from dpselect.questions.questions import OneEach, Scores
from dpselect.release.accuracy import TOO_MANY
from dpselect.release.release import Statement
from dpselect.testing import SeededDraws
from dpselect.texts.text import NgramRange
from dpselect.texts.tokenizer import Tokenizer
from tests.by_names import by_names, drawn, plan_of
from tests.ledger.amounts import grant

ROWS = {"user": [u for u in range(900) for _ in range(2)], "item": [n for u in range(900) for n in (u % 3, 5)]}

QUERIES = [
    plan_of("top_k", k=2, epsilon="1/3"),
    plan_of("top_k", k=2, epsilon=1, delta="1e-7", counts=True, k_bar=30, max_items_per_user=2),
    plan_of("top_k", k=2, epsilon=0.1, domain=["a", None, 3, datetime.date(2024, 5, 1), b"x"]),
    plan_of("top_k", k=2, epsilon=1, domain=range(5, 90), method="canonical-set"),
    plan_of("top_k", k=2, epsilon=1, domain=10**6),
    plan_of("top_k", k=2, epsilon=1, by_weight="minutes", at_most=2.5, weight_unit="0.1", counts=True),
    plan_of("top_k", k=2, epsilon=1, by_weight="minutes", at_most=60, domain=["a", "b", "c"], method="set"),
    plan_of("top_k", k=2, epsilon=1, measures=["users", Sum("a, (b)", "-1/2", 9, unit="1/4"), 'mean(" c", 0, 1e-7)']),
    plan_of("union", epsilon=1),
    plan_of("union", epsilon=1, method="weighted-gaussian", counts=True),
    plan_of("union", epsilon=1, max_items_per_user=3, method="weighted-gaussian", in_engine=True),
    plan_of("top_k", k=2, epsilon=1, exclude=["a", datetime.date(2024, 5, 1), 7]),
    plan_of("top_k", k=2, epsilon=1, compared_with="2026-09"),
    plan_of("union", epsilon=1, popular=["a", 5]),
    plan_of("union", epsilon=1, exclude=["a", 5]),
    plan_of("union", epsilon=2, words=NgramRange(Tokenizer("spaces", lower=False), 1, 3), shares=("1/2", "1/4", "1/8")),
    plan_of("choose", epsilon=1, domain=["a", "b"], method="permute-and-flip"),
    plan_of("histogram", epsilon=1, domain=["b", 2.5, datetime.date(2024, 5, 1)], max_items_per_user=2),
    plan_of("histogram", epsilon="1/3", delta="1e-9", domain=range(-3, 400)),
    plan_of("users", within=50),
    plan_of("users", epsilon="1/3", by=["a", "b"], groups=[("x", 1), ("y", datetime.date(2024, 5, 1))], delta=0),
    plan_of("quantile", epsilon=1, bounds=(0, 9.5), q=(0.25, "1/2"), delta="1e-9", step="0.1", per_user="mean"),
]


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: json.dumps(query.to_dict()))
def test_json_holds_the_whole_question(query: dps.Plan) -> None:
    again = dps.Plan.from_dict(json.loads(json.dumps(query.to_dict())))
    assert again.to_dict() == query.to_dict()
    assert fingerprint("", again.key, {}, False) == fingerprint("", query.key, {}, False)
    assert again.price == query.price


def test_a_question_from_json_is_answered_as_one_from_python() -> None:
    data = dps.Dataset(ROWS, user="user", item="item", max_items_per_user=2)
    query = dps.Plan.from_dict({"verb": "top_k", "k": 3, "epsilon": "4", "counts": True})
    said = drawn(SeededDraws(1), lambda: data.ask(query))
    assert said.to_dict() == by_names(data).top_k(3, epsilon=4, counts=True, draws=SeededDraws(1)).to_dict()
    assert said.privacy.parameters["max_items_per_user"] == 2  # the data's, which the query had none of


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ([], "question must be an object with a verb"),
        ({"k": 3}, "verb must be one of top_k, union, choose, histogram, quantile, users"),
        ({"verb": "drop"}, "verb must be one of"),
        ({"verb": "top_k", "epsilon": 1, "kk": 3}, "kk must be a parameter of top_k"),
        ({"verb": "union"}, "epsilon must be given for union"),
        (
            {"verb": "quantile", "epsilon": 1, "per_user": "mean"},
            "per_user must be random, min or max if there are no",
        ),
        ({"verb": "histogram", "epsilon": 1}, "domain must be given for histogram"),
        ({"verb": "histogram", "epsilon": 1, "domain": 50}, "domain must say which items there are"),
        ({"verb": "top_k"}, "epsilon must be"),
        ({"verb": "top_k", "epsilon": {"a": 1}}, "epsilon must be"),
        ({"verb": "top_k", "epsilon": [1]}, "epsilon must be"),
        ({"verb": "top_k", "epsilon": 1, "domain": {"source": "/etc/passwd", "column": "a"}}, "domain must be a list"),
        ({"verb": "top_k", "epsilon": 1, "domain": "/etc/passwd"}, "domain must be"),
        ({"verb": "top_k", "epsilon": 1, "domain": [["float", "no"]]}, "domain must hold items in JSON types"),
        ({"verb": "top_k", "epsilon": 1, "domain": [["no such kind", "1"]]}, "domain must hold items in JSON types"),
        ({"verb": "top_k", "epsilon": 1, "counts": "yes"}, "counts must be True or False"),
        ({"verb": "union", "epsilon": 1, "shares": ["1/2"]}, "shares must be left out"),
    ],
)
def test_what_is_no_question_is_refused_in_our_words(found: object, message: str) -> None:
    with pytest.raises(dps.ParameterError, match=message):
        dps.Plan.from_dict(found)  # type: ignore[arg-type]


INNER = ["epsilon_per_pick", "delta_threshold", "sensitivity", "monotonic", "of_scores", "plan", "mechanism", "most"]


@pytest.mark.parametrize("verb", PLANS)
@pytest.mark.parametrize("name", INNER)
def test_json_cannot_say_what_only_our_code_may(verb: str, name: str) -> None:
    """A sensitivity of a thousandth, say, would make a promise about counts that does not hold."""
    given = {"verb": verb, "epsilon": 1, "domain": ["a"], "bounds": [0, 9], name: "1/1000"}
    known = plan_class(verb).fields()
    with pytest.raises(dps.ParameterError, match=f"{name} must be a parameter of {verb}"):
        dps.Plan.from_dict({one: value for one, value in given.items() if one in ("verb", name) or one in known})


def test_a_bound_that_the_data_do_not_keep_is_refused() -> None:
    """Counts would be noised for users of two items, while users of any number take part."""
    query = plan_of("top_k", k=2, epsilon=1, counts=True, max_items_per_user=2)
    for data in (
        dps.Dataset(ROWS, user="user", item="item"),
        dps.Dataset(ROWS, user="user", item="item", max_items_per_user=3),
    ):
        with pytest.raises(dps.ParameterError, match="max_items_per_user must be that of the data"):
            data.ask(query)
    assert dps.Dataset(ROWS, user="user", item="item", max_items_per_user=2).ask(query)


def test_a_union_has_a_bound_of_its_own_and_the_words_of_the_data() -> None:
    data = dps.Dataset(ROWS, user="user", item="item")
    assert data.ask(plan_of("union", epsilon=1, max_items_per_user=1)).privacy.parameters["max_items_per_user"] == 1
    bounded = dps.Dataset(ROWS, user="user", item="item", max_items_per_user=2)
    with pytest.raises(dps.ParameterError, match="max_items_per_user must be that of the data"):
        bounded.ask(plan_of("union", epsilon=1, max_items_per_user=3))
    with pytest.raises(dps.ParameterError, match="ngrams must be that of the data"):
        data.ask(plan_of("union", epsilon=1, words=NgramRange(Tokenizer(), 1, 2)))


def test_a_column_of_another_source_is_not_written() -> None:
    query = plan_of("top_k", k=1, epsilon=1, domain=dps.Column("catalogue.csv", "item"))
    with pytest.raises(dps.ParameterError, match="domain must be a list of items"):
        query.to_dict()


# ---- the registry -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS, ids=lambda method: f"{method.verb} {method.name}")
def test_a_row_says_of_its_mechanism_what_is_so(method) -> None:
    taken = inspect.signature(method.mechanism).parameters
    if method.name != "discover":  # which may choose the bound itself
        given = taken.get("max_items_per_user")
        needed = (
            NeedsBound.NONE
            if given is None
            else NeedsBound.REQUIRED
            if given.default is given.empty
            else NeedsBound.OPTIONAL
        )
        assert method.bound in (needed, NeedsBound.OPTIONAL)
        assert (method.bound is NeedsBound.REQUIRED) == (needed is NeedsBound.REQUIRED)
    assert method.popular == ("popular" in taken)
    if method.verb == "top_k":
        assert method.of_users == ("sensitivity" not in taken)
    if method.weights is not None:
        assert ("part" in taken) == (method.weights == "rounds")


def test_the_rows_of_a_verb_have_different_names() -> None:
    for verb in PLANS:
        names = [one.name for one in methods(verb)]
        assert len(set(names)) == len(names)


def test_every_field_of_a_question_is_in_its_table() -> None:
    for verb in PLANS:
        told = {line.split("`")[1] for line in table(verb) if line.startswith("| `")}
        assert told == set(plan_class(verb).fields()), verb
        assert all(one.name in told for one in fields(Statement) if one.name in ("epsilon", "delta"))


# ---- what only our own code may ask -----------------------------------------------------------------------

DATA = dps.Dataset(ROWS, user="user", item="item")
OURS = [
    plan_question(Scores(sensitivity="1/1000", monotonic=True), Payment(epsilon="1/10"), NO_FACTS),
    plan_question(OneEach(bounds=(0, 9)), Payment(epsilon=1), NO_FACTS),
]


@pytest.mark.parametrize("plan", OURS, ids=repr)
def test_a_question_for_values_of_ones_own_is_asked_of_no_data_set(plan: dps.Plan, monkeypatch) -> None:
    """It would choose among items that nobody listed, by a sensitivity that is not theirs."""
    monkeypatch.setattr(AskedRows, "open_engine", None)  # whoever opened the data now would fail otherwise
    for refused in (
        lambda: DATA.ask(plan),
        lambda: DATA.ask(plan.question, epsilon=1),
        lambda: DATA.plan(plan.question, epsilon=1),
    ):
        with pytest.raises(dps.ParameterError, match="question must be about a data set, got one about"):
            refused()


@pytest.mark.parametrize("plan", OURS, ids=repr)
def test_it_is_not_written_as_json(plan: dps.Plan) -> None:
    with pytest.raises(dps.ParameterError, match="question must be about a data set"):
        plan.to_dict()


@pytest.mark.parametrize("verb", ["top_k", "choose", "histogram"])
@pytest.mark.parametrize("most", ["3", "auto", "", [3], 0, False, -0.0, -5, 2.5, True, float("nan")], ids=repr)
def test_a_bound_is_a_number_of_items(verb: str, most: object) -> None:
    with pytest.raises(dps.ParameterError, match="max_items_per_user must be a whole number of at least 1"):
        dps.Plan.from_dict({"verb": verb, "epsilon": 1, "domain": ["a"], "max_items_per_user": most})  # type: ignore[dict-item]


def test_numbers_of_any_type_are_the_same_question() -> None:
    plain, other = (
        plan_of("top_k", k=3, epsilon=1, k_bar=40),
        plan_of("top_k", k=np.int64(3), epsilon=1, k_bar=np.int32(40)),
    )
    assert fingerprint("", plain.key, {}, False) == fingerprint("", other.key, {}, False)
    assert plain.to_dict() == other.to_dict()


def test_popular_items_keep_their_types() -> None:
    day = datetime.date(2024, 1, 1)
    query = plan_of("union", epsilon=1, popular=[1.5, day, b"x", "x", 1, True, ("date", "2024-01-01"), (day, 1)])
    again = dps.Plan.from_dict(json.loads(json.dumps(query.to_dict())))
    assert again.key == query.key
    assert again.popular == query.popular  # type: ignore[attr-defined]


def test_equal_lists_of_other_types_are_other_questions() -> None:
    ones, truths = (plan_of("union", epsilon=1, popular=[one]).mechanisms(None)[0].popular for one in (1, True))
    assert [type(one) for one in (*ones, *truths)] == [int, bool]


HOSTILE = [
    ["decimal", "sNaN"], ["tuple", [1]], ["mapping", []], [["a"]], [], ["a"], ["tuple", []], ["tuple", ["a", ["b"]]],
    ["tuple", [1, ["decimal", "sNaN"]]], ["tuple", [1, ["tuple", [1, 2]]]], ["other", [1, 2]],
]  # fmt: skip


@pytest.mark.parametrize("item", HOSTILE, ids=str)
def test_hostile_items_are_refused(item: object) -> None:
    for verb in ("top_k", "choose"):
        with pytest.raises(dps.ParameterError, match="domain must"):
            dps.Plan.from_dict({"verb": verb, "epsilon": 1, "domain": [item]})  # type: ignore[dict-item]


class Alike(str):
    """Texts that all look the same."""

    def __repr__(self) -> str:
        return "alike"


def test_a_question_is_known_by_its_items_and_not_by_how_they_look() -> None:
    """Two domains whose items have one repr were one question, and the second had the answer of the first."""
    one, other, twice = (
        fingerprint("", plan_of("choose", epsilon=1, domain=items).key, {}, True).text
        for items in ([Alike("a")], [Alike("b")], [Alike("a"), None, Alike("a")])
    )
    assert one != other
    assert one == twice
    here, there = (plan_of("union", epsilon=1, popular=[Alike(item)]) for item in "ab")
    assert here != there
    assert here.question != there.question
    assert here.key["popular"] != there.key["popular"]
    assert [str.__str__(plan.mechanisms(None)[0].popular[0]) for plan in (here, there)] == ["a", "b"]


def test_json_has_no_types_of_our_own() -> None:
    for query in QUERIES:
        assert {type(value) for value in query.to_dict().values()} <= {str, int, bool, list, dict}


@pytest.mark.parametrize("above", [7**1600, 2**16383], ids=["long", "longer"])
def test_a_price_that_nobody_could_write_down_is_refused(above: int, tmp_path: Path) -> None:
    """Of 4,295 digits it could be written; what was made of it could not, when all was paid and drawn."""
    for name in ("epsilon", "delta"):
        with pytest.raises(dps.ParameterError, match=f"{name} must"):
            plan_of("top_k", **{"epsilon": 1, "delta": "1e-6", name: Fraction(above - 1, above)})
    path = tmp_path / "budget.sqlite"
    with dps.Ledger.create(path) as ledger:
        grant(ledger, dps.Account("default", "ann"), 9, "1e-3")
    budget = dps.Budget.open(path, analyst="ann")
    data = dps.Dataset(ROWS, user="user", item="item", max_items_per_user=2, budget=budget)
    epsilon = Fraction(10**999 - 1, 10**999)  # the longest that a text may be
    for found in (
        data.top_k(2, epsilon=epsilon, counts=True),
        data.union(epsilon=epsilon, delta=Fraction(1, 3**200), counts=True, method="greedy-geometric"),
        dps.quantile([1, 2], bounds=(0, 9), epsilon=epsilon, budget=budget),
    ):
        assert dps.Release.from_json(found.to_json()).items == found.items


def test_what_is_deep_or_long_is_refused_at_once() -> None:
    with pytest.raises(dps.ParameterError, match="popular must hold integers of a thousand digits"):
        plan_of("union", epsilon=1, popular=[10**5000])
    with pytest.raises(dps.ParameterError, match="domain must hold integers of a thousand digits"):
        dps.Plan.from_dict({"verb": "choose", "epsilon": 1, "domain": [10**5000]})
    with pytest.raises(dps.ParameterError, match="max_items_per_user must"):
        dps.Plan.from_dict({"verb": "choose", "epsilon": 1, "domain": [1], "max_items_per_user": 10**5000})
    deep: object = 1
    for _ in range(5000):
        deep = ["tuple", [deep]]
    with pytest.raises(dps.ParameterError, match="domain must hold items"):
        dps.Plan.from_dict({"verb": "choose", "epsilon": 1, "domain": [deep]})  # type: ignore[dict-item]
    with pytest.raises(dps.ParameterError, match="q must be one number, or several in ascending order"):
        dps.Plan.from_dict({"verb": "quantile", "epsilon": 1, "bounds": [0, 1], "q": [0.5] * 20_000})


@pytest.mark.parametrize("query", ["top_k", None, {"verb": "top_k"}, 5])
def test_only_a_query_is_asked(query: object) -> None:
    with pytest.raises(dps.ParameterError, match="question must be a question"):
        DATA.ask(query)  # type: ignore[arg-type]


OF_THE_DATA, BESIDE_BY = object(), object()
IN_PLACE = {("within", "epsilon"), ("threshold", "epsilon")}  # what stands in place of what
WEIGHED = {"by_weight": "w", "at_most": 5}
BESIDE = {  # what is given with what
    **{("top_k", name): WEIGHED for name in ("by_weight", "at_most", "weight_unit")},
    ("top_k", "in_engine"): {"method": "discover"},
    ("top_k", "lost"): {"compared_with": ["2026-09"]},
    ("users", "by"): {"groups": ["a", "c"]},
    ("users", "groups"): {"by": ["g"]},
    ("users", "max_groups_per_user"): {"by": ["g"], "groups": ["a", "c"]},
}
# What else a parameter may be, where its kind alone does not tell. A new one needs its part in the key, and its line
# here if it is more than a flag, a word or a whole number.
OTHERWISE = {
    "top_k": {
        "epsilon": "1/2",
        "delta": "1e-8",
        "k_bar": 30,
        "method": "discover",
        "domain": [1, 2, 3, 4],
        "max_items_per_user": OF_THE_DATA,
        "within": 50,
        "by": ["g"],
        "groups": BESIDE_BY,
        "max_groups_per_user": BESIDE_BY,
        "users": BESIDE_BY,
        "by_weight": "v",
        "at_most": 6,
        "weight_unit": "1/2",
        "measures": ["sum(w, 0, 9)"],
        "compared_with": ["2026-09"],
        "exclude": ["a", 5],
    },
    "union": {
        "epsilon": "1/2",
        "delta": "1e-8",
        "method": "weighted-gaussian",
        "max_items_per_user": 4,
        "popular": ["a"],
        "threshold": 50,
        "by": ["g"],
        "exclude": ["a", 5],
        "shares": OF_THE_DATA,
        "ngrams": OF_THE_DATA,
        "tokenizer": OF_THE_DATA,
        "lower": OF_THE_DATA,
    },
    "choose": {
        "domain": ["a", "c"],
        "epsilon": "1/2",
        "method": "permute-and-flip",
        "delta": BESIDE_BY,
        "by": ["g"],
        "groups": BESIDE_BY,
        "max_groups_per_user": BESIDE_BY,
    },
    "histogram": {
        "domain": ["a", "c"],
        "epsilon": "1/2",
        "delta": "1e-8",
        "max_items_per_user": 1,
    },
    "quantile": {
        "q": "1/3",
        "bounds": [0, 8],
        "epsilon": "1/2",
        "delta": "1e-8",
        "step": 2,
        "within": 50,
        "by": ["g"],
        "groups": BESIDE_BY,
        "max_groups_per_user": BESIDE_BY,
    },
    "users": {
        "epsilon": "1/2",
        "delta": BESIDE_BY,
        "within": 50,
        "by": ["h"],
        "groups": ["a", "c"],
        "max_groups_per_user": 1,
    },
}
USUALLY = {
    "top_k": {"k": 2, "epsilon": 1},
    "union": {"epsilon": 1, "max_items_per_user": 3},
    "choose": {"domain": ["a", "b"], "epsilon": 1},
    "histogram": {"domain": ["a", "b"], "epsilon": 1},
    "quantile": {"bounds": [0, 9], "epsilon": 1, "step": 1},
    "users": {"epsilon": 1},
}


def _otherwise(parameter: Field[Any]) -> object:
    """Another value of a parameter than its default, by its kind."""
    kind, default = parameter.metadata["kind"], parameter.default
    if kind is FLAG:
        return not default
    if isinstance(kind, OneOf):
        return next(word for word in kind.words if word != default)
    assert kind.shape == whole_number_kind().shape, f"{parameter.name} needs its line in OTHERWISE"
    return 3 if default is None else default + 1


def test_no_parameter_is_left_out_of_the_key() -> None:
    """Two questions with one key are one to a budget, which gives the stored answer of the other."""
    for verb, listed in OTHERWISE.items():
        fields = plan_class(verb).fields()
        assert set(listed) <= set(fields)
        others = {name: listed[name] if name in listed else _otherwise(field) for name, field in fields.items()}
        keys = [fingerprint(verb, dps.Plan.from_dict({"verb": verb, **USUALLY[verb]}).key, {}, False).text]
        for name, other in others.items():
            if other not in (OF_THE_DATA, BESIDE_BY):
                usual = {one: given for one, given in USUALLY[verb].items() if (name, one) not in IN_PLACE}
                query = dps.Plan.from_dict({"verb": verb, **usual, **BESIDE.get((verb, name), {}), name: other})
                keys.append(fingerprint(verb, query.key, {}, False).text)
        assert len(set(keys)) == len(keys), verb
    grouped = {"verb": "top_k", "k": 3, "epsilon": 1, "by": ["g"]}
    others = [{}, {"groups": ["a", "b"]}, {"max_groups_per_user": 2}, {"users": True}, {"by": ["g", "h"]}]
    keys = [fingerprint("top_k", dps.Plan.from_dict(grouped | other).key, {}, False).text for other in others]
    assert len(set(keys)) == len(others)
    others = [{}, {"groups": ["a"]}, {"max_groups_per_user": 2}, {"by": ["g", "h"]}, {"delta": "1e-8"}]
    for verb in ("choose", "quantile"):
        grouped = {"verb": verb, **USUALLY[verb], "by": ["g"]}
        keys = [fingerprint(verb, dps.Plan.from_dict(grouped | other).key, {}, False).text for other in others]
        assert len(set(keys)) == len(others), verb
    set_of_items = {"verb": "top_k", "k": 3, "epsilon": 1, "domain": [1, 2, 3, 4]}
    ranked, unranked = (dps.Plan.from_dict({**set_of_items, "method": way}).key for way in ("auto", "set"))
    assert ranked["method"] != unranked["method"]


def test_what_the_data_say_is_in_the_key_too() -> None:
    usual: dict[str, object] = {"user": "u", "item": "t"}
    text = {"tokenizer": "spaces", "lower": False, "ngrams": 2}
    others = [{"user": "v"}, {"item": "s"}, {"where": "item IS NULL"}, {"max_items_per_user": 2}, {"split": " "}]
    others += [{"table": "x"}, {"newlines_in_values": True}, {"item": dps.Text("t")}]
    others += [{"item": dps.Text("t", **{name: value})} for name, value in text.items()]
    months = {"time": "a", "period": "month", "during": "2026-10"}
    others += [
        months,
        months | {"time": "b"},
        months | {"during": "2026-10..2026-11"},
        months | {"timezone": "Asia/Tokyo"},
    ]
    others += [months | {"period": "year", "during": "2026"}, {"types": {"item": "VARCHAR"}}]
    named = {name for one in others for name in one}
    taken = {*inspect.signature(dps.Dataset).parameters, *inspect.signature(dataset_of).parameters} - {"options"}
    assert named | {"source", "budget", "outside"} == taken  # what an outside package reads is in tests/outside
    whole = plan_of("union", epsilon=1)  # what is excluded is in the question's part
    lists = (None, Listed(("a",)), Listed(("b",)))
    assert len(
        {fingerprint("union", replace(whole, facts=Facts(exclude=one)).key, {}, True).text for one in lists}
    ) == len(lists)
    keys = []
    for one in [{}, *others]:
        opened = {"where": one.get("where"), "types": one.get("types")}
        with dps.Dataset(pa.table(ROWS), user="user", item="item", **opened).engine() as engine:  # type: ignore[arg-type]
            keys.append(dataset_of("a.csv", **usual | one)._rows.fingerprint("union", {}, engine, None).text)
    assert len(set(keys)) == len(keys)
    two, other = (
        plan_of("union", epsilon=1, words=NgramRange(Tokenizer("words"), 1, 2), shares=s)
        for s in (None, ("1/2", "1/3"))
    )
    assert two.key != other.key


# ---- a plan is asked as it is ---------------------------------------------------------------------------------


def test_a_plan_is_paid_at_the_delta_that_it_says() -> None:
    """The budget's own delta is in the plan that data make, and in no other."""
    budget = dps.Budget(epsilon=9, delta="1e-5")
    paying = dps.Dataset(ROWS, user="user", item="item", budget=budget)
    for asked in (dps.TopK(2).at(within=400), paying.plan(dps.TopK(2), within=400)):
        found = paying.ask(asked)
        assert (found.privacy.epsilon, found.privacy.delta) == (asked.ceiling.epsilon, asked.ceiling.delta)
    assert paying.plan(dps.TopK(2), epsilon=1).delta == Fraction(1, 10**8)
    assert dps.TopK(2).at(epsilon=1).delta == Fraction(1, 10**6)


@pytest.mark.parametrize(
    "question",
    [dps.TopK(2), dps.TopK(by="country"), dps.Union(), dps.Choose(["a", "b"]), dps.Histogram(["a", "b"]),
     dps.Quantile(bounds=(0, 9)), dps.Users()],
    ids=repr,
)  # fmt: skip
def test_a_plan_is_written_as_it_is_asked(question: Any) -> None:
    plan = question.at(epsilon="1/2")
    assert repr(plan).startswith(f"{question!r}.at(epsilon=")
    assert eval(repr(plan), dict(vars(dps))) == plan


def test_a_plan_says_before_what_its_answer_says_after() -> None:
    days = {**ROWS, "at": [datetime.date(2026, 10, 1), datetime.date(2026, 11, 1)] * 900, "g": ["x", "y"] * 900}
    data = dps.Dataset(days, user="user", item="item", time=dps.Time("at", period="month"), max_items_per_user=3)
    numbers = dps.Dataset({"user": range(900), "item": range(900)}, user="user", item="item")
    over = data.during("2026-10..2026-11")
    for rows, what in (
        (over, dps.TopK(2, counts=True)),
        (over, dps.TopK(2, domain=[0, 1, 2, 5])),
        (over, dps.TopK(2, domain=[0, 1, 2, 5], method="set")),
        (over, dps.TopK(1, method="limited-domain-sparse")),
        (over, dps.TopK(1, by=dps.By("g", max_groups_per_user=2, sizes=True))),
        (over, dps.Union(counts=True)),
        (over, dps.Choose([0, 1, 5])),
        (over, dps.Histogram([0, 1, 5])),
        (over, dps.Users()),
        (over, dps.Users(by=dps.By("g", groups=["x", "z"], max_groups_per_user=2))),
        (numbers, dps.Quantile([0.25, 0.5], bounds=(0, 900))),
    ):
        plan = rows.plan(what, epsilon=3)
        found = rows.ask(plan)
        assert found.items
        if what.verb == "quantile":  # an answer knows more of itself, and states no more than was known before
            gap = plan.accuracy.numbers["gap"]
            assert all(found.accuracy.numbers[name] <= gap for name in TOO_MANY)
        else:
            assert plan.accuracy == found.accuracy
        assert plan.ceiling.epsilon == found.privacy.epsilon
        assert str(plan).startswith(f"{what!r}: {plan.method}, at most epsilon 3")
