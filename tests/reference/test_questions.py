"""Questions as values: what they say of themselves, when two are the same, and what is refused when one is made."""

from __future__ import annotations

import datetime
import json
import pickle
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpselect as dps
from dpselect.queries.facts import Facts
from dpselect.questions.parts import Payment
from dpselect.questions.questions import QUESTIONS
from tests.by_names import OF_ASKING, noun_of, plan_of
from tests.pairs.table import OF_QUESTIONS, answered_calls

ROWS = {"user": [1, 1, 2], "item": ["a", "b", "a"]}
DATA = dps.Dataset(ROWS, user="user", item="item")
NAMES = {name: getattr(dps, name) for name in dps.__all__} | {"Decimal": Decimal, "datetime": datetime}


def every_noun() -> Iterator[dps.Question]:
    """Of every pair of parts that a question can have."""
    for call in answered_calls(OF_QUESTIONS):
        yield noun_of(call.verb, {name: one for name, one in call.asked.items() if name not in Facts.flat_fields()})[0]


def test_a_question_is_what_its_repr_its_json_and_its_pickle_make() -> None:
    seen = 0
    for one in every_noun():
        same = [eval(repr(one), NAMES), pickle.loads(pickle.dumps(one)), replace(one), one.replace()]
        domain = getattr(one, "domain", None)
        groups = getattr(getattr(one, "by", None), "groups", None)
        if not any(isinstance(each, dps.Column) for each in (domain, groups)):
            same.append(dps.Question.from_dict(json.loads(json.dumps(one.to_dict()))))
        for each in same:
            assert (each, hash(each), repr(each)) == (one, hash(one), repr(one))
        seen += 1
    assert seen > 400


def test_a_changed_value_reads_the_new_fields_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    question, read = dps.TopK(3, domain=["a", "b"], by=dps.By("c", groups=["x"])), []
    fields_of_a_top_k = question.parameters()
    for one in fields_of_a_top_k:
        kind = one.metadata["kind"]
        noted = replace(kind, read=lambda name, given, kind=kind: (read.append(name), kind.read(name, given))[1])
        monkeypatch.setattr(one, "metadata", {**one.metadata, "kind": noted})
    changed = question.replace(k=4)
    assert read == ["k"]
    assert (changed, question.k) == (dps.TopK(4, domain=["a", "b"], by=dps.By("c", groups=["x"])), 3)
    with pytest.raises(dps.ParameterError, match="k must be"):
        question.replace(k=0)
    with pytest.raises(dps.ParameterError, match="share must be left out if epsilon is given"):
        Payment(epsilon=1).replace(share="1%")  # all fields together are checked again
    with pytest.raises(TypeError, match="no field 'kk'"):
        question.replace(kk=1)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (dps.TopK(domain=[1]), dps.TopK(domain=[True])),
        (dps.TopK(domain=[1]), dps.TopK(domain=[1.0])),
        (dps.TopK(domain=["1"]), dps.TopK(domain=[1])),
        (dps.TopK(), dps.TopK(k=11)),
        (dps.TopK(), dps.Union()),
        (dps.TopK(by="a"), dps.TopK(by=dps.By("a", groups=["x"]))),
        (dps.TopK(by=dps.By("a", groups=[1])), dps.TopK(by=dps.By("a", groups=[True]))),
        (dps.TopK(score=dps.Total("a", at_most=1)), dps.TopK(score=dps.Total("a", at_most=2))),
        (dps.TopK(domain=dps.Column("a.csv", "x")), dps.TopK(domain=dps.Column("b.csv", "x"))),
        (dps.TopK(domain=5), dps.TopK(domain=range(5))),
        (dps.TopK(method="discover"), dps.TopK(method=dps.Method("discover", in_engine=True))),
        (dps.Quantile(0.5), dps.Quantile(0.1)),
        (dps.Histogram(domain=["a"]), dps.Choose(domain=["a"])),
    ],
    ids=repr,
)  # fmt: skip
def test_different_questions_differ(one: dps.Question, other: dps.Question) -> None:
    assert one != other
    assert len({one, other}) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (dps.TopK(domain=["a", "b"]), dps.TopK(domain=("a", "b"))),
        (dps.TopK(10, method="auto", counts=False), dps.TopK()),
        (dps.TopK(by="a"), dps.TopK(by=dps.By(["a"]))),
        (dps.Quantile(0.1), dps.Quantile(["1/10"])),
        (dps.Quantile(bounds=(0, Decimal("0.5"))), dps.Quantile(Fraction(1, 2), bounds=["0", 0.5])),
        (dps.TopK(measures="users"), dps.TopK(measures=["users"])),
        (dps.TopK(measures=dps.Mean("n", 0, 1)), dps.TopK(measures="mean(n, 0, 1)")),
        (dps.TopK(score=dps.Gain("2026-09")), dps.TopK(score=dps.Gain(["2026-09"]))),
        (dps.Union(by="a"), dps.Union(by=["a"])),
    ],
    ids=repr,
)
def test_the_same_question_is_equal_however_it_is_written(one: dps.Question, other: dps.Question) -> None:
    assert one == other
    assert len({one, other}) == 1


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "no number": (lambda: dps.TopK("ten"), r"^k must be a whole number"),
    "none": (lambda: dps.TopK(0), r"^k must be"),
    "a truth": (lambda: dps.TopK(True), r"^k must be"),
    "no flag": (lambda: dps.TopK(counts=1), r"^counts must be True or False"),
    "no column": (lambda: dps.TopK(by=""), r"^by must be the name of a column"),
    "no columns": (lambda: dps.TopK(by=[]), r"^by must be the name of a column"),
    "no groups": (lambda: dps.By("a", groups=[]), r"^groups must hold at least one item"),
    "a number of groups": (lambda: dps.By("a", groups=4), r"^groups must be a list"),
    "no bound": (lambda: dps.By("a", max_groups_per_user=0), r"^max_groups_per_user must be"),
    "a column as a score": (lambda: dps.TopK(score="minutes"), r"^score must be Total\(\.\.\.\) or Gain"),
    "groups of groups": (lambda: dps.TopK(by=dps.Total("a")), r"^by must be By\(\.\.\.\)"),
    "a negative cap": (lambda: dps.Total("a", at_most=-1), r"^at_most must be a positive"),
    "no period": (lambda: dps.Gain(""), r"^over must be the name of a period"),
    "no measure": (lambda: dps.TopK(measures="median(a)"), r"^measures must be"),
    "a word": (lambda: dps.TopK(method="limited-domian"), r"^method must be .*\nhint: did you mean limited-domain"),
    "of another verb": (lambda: dps.Union(method="peeling"), r"^method must be one of auto, count-laplace"),
    "no set of one": (lambda: dps.Choose(method="set"), r"^method must be one of exponential"),
    "an option of others": (
        lambda: dps.TopK(method=dps.Method("peeling", k_bar=5)),
        r"^k_bar must be left out",
    ),
    "an option of a union": (
        lambda: dps.TopK(method=dps.Method(popular=["a"])),
        r"^popular must be left out",
    ),
    "not in an engine": (lambda: dps.Union(method=dps.Method("greedy-geometric", in_engine=True)), r"^in_engine must"),
    "above one": (lambda: dps.Quantile(2), r"^q must be between 0 and 1(.|\n)*hint: a share of users: 1/2"),
    "descending": (lambda: dps.Quantile([0.5, 0.1]), r"^q must be one number, or several in ascending"),
    "bounds": (lambda: dps.Quantile(bounds=(9, 0)), r"^bounds must be two numbers, the lower one first"),
    "bounds in one word": (
        lambda: dps.Quantile(bounds=["0-9"]),
        r"^bounds must be two numbers(.|\n)*hint: .*--bounds 0,120",
    ),
    "one bound": (lambda: dps.Quantile(bounds=[1]), r"^bounds must be two numbers"),
    "whose value": (lambda: dps.Quantile(per_user="sum"), r"^per_user must be"),
    "a column of measures": (lambda: dps.TopK(measures=np.array(["secret"])), r"^measures must .* type ndarray"),
    "lists as items": (lambda: dps.Method(popular=[[1]]), r"^popular must hold items that can be looked up"),
    "a long number": (lambda: dps.Method(popular=[10**5000]), r"^popular must hold integers of a thousand digits"),
    "one item as text": (lambda: dps.Choose("ab"), r"^domain must be a list of items(.|\n)*hint: a list of one item"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_mistake_is_told_when_the_question_is_made(case: str) -> None:
    make, said = WRONG[case]
    with pytest.raises(dps.ParameterError, match=said):
        make()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (None, "question must be an object"),
        ({"k": 3}, "verb must be"),
        ({"verb": "top"}, "verb must be one of"),
        ({"verb": "top_k", "kay": 3}, "kay must be a parameter of top_k, got another\nhint: did you mean k"),
        ({"verb": "top_k", "epsilon": 1}, "epsilon must be a parameter of top_k"),
        ({"verb": "union", "k_bar": 3}, "k_bar must be a parameter of union"),
        ({"verb": "top_k", "groups": ["a"]}, "by must be given for groups"),
        ({"verb": "top_k", "at_most": 3}, "by_weight must be given for weights"),
        (
            {"verb": "top_k", "by_weight": "a", "compared_with": "2026-09"},
            "compared_with must be left out if",
        ),
        ({"verb": "top_k", "domain": {"from": 1}}, "domain must be a list of items"),
        ({"verb": "top_k", "domain": [{"a": 1}]}, "domain must hold plain values"),
        ({"verb": "top_k", "ranked": False}, "ranked must be a parameter of top_k"),
        ({"verb": "top_k", "method": "discover", "k_bar": 5}, "k_bar must be left out for discover"),
    ],
)
def test_a_mistake_in_json_is_told(body: Any, said: str) -> None:
    with pytest.raises(dps.ParameterError) as caught:
        dps.Question.from_dict(body)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize("verb", QUESTIONS)
def test_every_parameter_makes_another_question(verb: str) -> None:
    """So no two questions that differ in one are taken for the same."""
    kind = QUESTIONS[verb]
    others: dict[str, Any] = {
        "k": 3, "score": dps.Gain("2026-09"), "counts": True, "measures": "mean(n, 0, 1)", "domain": ["x"],
        "method": {"top_k": "discover", "union": "count-laplace", "choose": "permute-and-flip"}.get(verb), "q": 0.3,
        "bounds": (0, 7), "step": 2, "per_user": "max",
    }  # fmt: skip
    others["by"] = dps.By("a", groups=["x"]) if verb == "users" else "a"
    found = [kind(), *(kind(**{one.name: others[one.name]}) for one in fields(kind))]
    assert len(set(found)) == len({json.dumps(one.to_dict(), sort_keys=True) for one in found}) == len(found)


def test_shares_of_levels_are_those_of_the_text_however_it_is_asked() -> None:
    rows = {"user": range(300), "note": ["so it goes"] * 300}
    text = dps.Text("note", ngrams=(1, 2), level_shares=("1/4", "3/4"))
    data = dps.Dataset(rows, user="user", item=text, max_items_per_user=5)
    query = {"verb": "union", "epsilon": 9, "delta": "1e-6", "ngrams": [1, 2]}
    answers = [data.union(epsilon=9, delta="1e-6"), data.ask(dps.Plan.from_dict(query))]
    assert answers[0].privacy == answers[1].privacy
    usual = dps.Dataset(rows, user="user", item=dps.Text("note", ngrams=(1, 2)), max_items_per_user=5)
    assert usual.union(epsilon=9, delta="1e-6").privacy != answers[0].privacy
    with pytest.raises(dps.ParameterError, match="shares must be that of the data"):
        data.ask(dps.Plan.from_dict({**query, "shares": ["1/2", "1/2"]}))


# ---- asked ------------------------------------------------------------------------------------------------


def test_no_question_may_cost_more_than_is_given_for_it() -> None:
    """Each pair of parts that a question can have, at two prices; the delta is the usual one if none is given."""
    seen = 0
    for call in answered_calls(OF_QUESTIONS):
        given = {name: one for name, one in call.asked.items() if name not in (*OF_ASKING, "epsilon")}
        for epsilon in (Fraction(1, 3), Fraction(2)):
            ceiling = plan_of(call.verb, epsilon=epsilon, **given).ceiling
            assert ceiling.epsilon == epsilon, call
            assert 0 <= ceiling.delta <= Fraction(str(given.get("delta", "1e-6"))), call
        seen += 1
    assert seen > 400


def test_a_question_is_asked_of_any_data_at_any_price() -> None:
    question = dps.TopK(1, domain=["a", "b"])
    assert [DATA.ask(question, epsilon=epsilon).privacy.epsilon for epsilon in (1, 3)] == [1, 3]
    assert DATA.ask(question, epsilon=10**5).labels == ["a"]
    assert DATA.ask(dps.Quantile(bounds=(0, 2)), epsilon=1).privacy.delta == 0
    assert DATA.ask(dps.TopK(1, domain=["a", "b"]), within=100).privacy.epsilon < 1
    budget = dps.Budget(epsilon=2, delta="1e-6")
    paying = dps.Dataset(ROWS, user="user", item="item", budget=budget)
    assert paying.ask(dps.Histogram(["a", "b"]), share="50%").privacy.epsilon == 1


def test_items_that_are_excluded_are_said_of_the_data() -> None:
    rows = {"user": [*range(300), *range(200)], "item": ["spam"] * 300 + ["tea"] * 200}
    data = dps.Dataset(rows, user="user", item="item")
    for asked in (data.exclude(["spam"]), data.exclude(dps.Column({"bad": ["spam"]}, "bad"))):
        assert asked.top_k(2, epsilon=9).labels == asked.union(epsilon=9).labels == ["tea"]
    less = data.exclude(["spam"])
    assert less.where("TRUE").top_k(1, epsilon=9).labels == ["tea"]
    assert less.ask(dps.Plan.from_dict({"verb": "top_k", "k": 1, "epsilon": 9})).labels == ["tea"]
    assert data.top_k(1, epsilon=9).labels == ["spam"]
    assert repr(less).endswith(".exclude(['spam'])")
    for ask, said in (
        (lambda: less.exclude(["tea"]), "exclude must be given once only"),
        (lambda: less.choose(["tea"], epsilon=1), "exclude must be left out for choose"),
        (lambda: less.top_k(1, domain=["tea"], epsilon=1), "exclude must be left out if a domain is given"),
        (
            lambda: less.ask(dps.Plan.from_dict({"verb": "top_k", "epsilon": 1, "exclude": ["a"]})),
            "exclude must be that of the data",
        ),
        (lambda: data.exclude("spam"), "exclude must be a list"),
        (lambda: data.exclude(3), "exclude must be a list"),
    ):
        with pytest.raises(dps.ParameterError, match=f"^{said}"):
            ask()


@pytest.mark.parametrize(
    ("question", "price", "said"),
    [
        (dps.TopK(), {}, "epsilon must be given for top_k, or within in its place"),
        (dps.Choose(["a"]), {"within": 3}, "within must be left out for choose"),
        (dps.TopK(), {"threshold": 3}, "threshold must be left out for top_k"),
        (dps.TopK(), {"epsilon": 1, "share": "1%"}, "share must be left out if epsilon is given"),
        (dps.Choose(), {"epsilon": 1}, "domain must be"),
        (dps.Histogram(), {"epsilon": 1}, "domain must be"),
        (dps.TopK(score=dps.Total("n")), {"epsilon": 1}, "at_most must be"),
        ({"verb": "top_k"}, {"epsilon": 1}, "question must be a question"),
        (dps.Plan.from_dict({"verb": "top_k", "epsilon": 1}), {"epsilon": 1}, "epsilon must be left out for a Plan"),
    ],
)
def test_a_price_that_does_not_go_with_it_is_refused(question: Any, price: dict[str, Any], said: str) -> None:
    with pytest.raises(dps.ParameterError) as caught:
        DATA.ask(question, **price)
    assert str(caught.value).startswith(said)
