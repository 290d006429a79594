"""A parameter is declared once: one that is made up here is found in all that is read off the fields."""

from __future__ import annotations

import inspect

import pytest

import dpselect as dps
from dpselect.gateway.web import openapi
from dpselect.queries.outline import outline, plan_from_outline
from dpselect.queries.parameters import schemas, table
from dpselect.queries.planning import plan_class, question_from_flat
from dpselect.questions.kinds import whole_number_kind
from dpselect.questions.questions import QUESTIONS, TopK
from dpselect.questions.value import frozen, param


@frozen
class MadeUp(TopK):
    """A top k with one parameter more."""

    at_least: int | None = param(whole_number_kind(), default=None, help="items of fewer users are not shown")


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(QUESTIONS, "top_k", MadeUp)


def test_it_is_checked_told_compared_and_written() -> None:
    one, other = MadeUp(3, at_least=5), MadeUp(3)
    assert repr(one) == "MadeUp(3, at_least=5)"
    assert len({one, other, MadeUp(3, at_least=5)}) == 2
    assert one.to_dict() == {"verb": "top_k", "k": 3, "at_least": 5}
    assert dps.Question.from_dict(one.to_dict()) == one
    with pytest.raises(dps.ParameterError, match="at_least must be a whole number of at least 1, got 0"):
        MadeUp(at_least=0)


def test_a_question_that_does_not_use_it_is_the_same_as_before() -> None:
    assert MadeUp(3).to_dict() == TopK(3).to_dict()
    assert outline(MadeUp(3).at(epsilon=1)) == outline(TopK(3).at(epsilon=1))


def test_a_command_json_http_docs_and_a_release_have_it() -> None:
    assert question_from_flat("top_k", {"at_least": 5, "epsilon": "1"})[0] == MadeUp(at_least=5)
    assert "at_least" in plan_class("top_k").fields()
    assert schemas("top_k")["at_least"]["description"] == "items of fewer users are not shown"
    assert openapi.question("top_k")["properties"]["at_least"]["minimum"] == 1
    assert "| `at_least` | items of fewer users are not shown |" in table("top_k")
    plan = dps.Plan.from_dict({"verb": "top_k", "at_least": 5, "epsilon": 1})
    assert outline(plan)["at_least"] == 5
    assert outline(plan_from_outline(outline(plan))[0]) == outline(plan)


def test_a_slip_of_its_name_is_told() -> None:
    said = "at_lest must be a parameter of top_k, got another\nhint: did you mean at_most or lost or at_least"
    with pytest.raises(dps.ParameterError, match=said):
        dps.Plan.from_dict({"verb": "top_k", "at_lest": 5, "epsilon": 1})


@pytest.mark.parametrize("question", [dps.TopK, dps.Union, dps.Choose, dps.Quantile, dps.Histogram, dps.Users])
def test_a_verb_has_the_fields_of_its_question_and_the_price(question: type[dps.Question]) -> None:
    verb, own = question.verb, [one.name for one in question.parameters()]
    taken = [*inspect.signature(getattr(dps.Dataset, verb)).parameters][1:]
    assert sorted(taken) == sorted([*own, "epsilon", "delta", "share"])
    assert len(taken) <= 10
    assert [*inspect.signature(getattr(dps.RemoteDataset, verb)).parameters][1:] == taken
