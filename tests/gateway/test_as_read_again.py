"""A question is planned once, when it comes; only from another process a worker has the body that was kept alone."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpselect.errors import ParameterError
from dpselect.gateway import gateway as gateways
from dpselect.gateway.asked import AskedQuestion, parse_question
from dpselect.gateway.problems import problem_of_error
from dpselect.gateway.settings.reading import read
from tests.gateway.served import serving, settings_in


class Paying:
    """A budget with a delta of its own."""

    usual_delta = Fraction(1, 10**8)


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Any:
    data = read(settings_in(tmp_path_factory.mktemp("gateway"))).data["plays"]
    weights = {name: one.model_copy(update={"unit": Fraction(1, 10)}) for name, one in data.weights.items()}
    declared = {"plays": data.model_copy(update={"max_items_per_user": 3, "weights": weights})}

    def made(body: Mapping[str, Any]) -> AskedQuestion:
        return parse_question(body, declared, lambda _: Paying())  # type: ignore[arg-type, return-value]

    return made


@pytest.mark.parametrize(
    ("verb", "name"),
    [
        ("quantile", "step"),
        ("quantile", "bounds"),
        ("top_k", "weight_unit"),
        ("top_k", "at_most"),
        ("top_k", "max_items_per_user"),
        ("union", "max_items_per_user"),
        ("top_k", "delta"),
        ("union", "method"),
    ],
)
def test_null_is_left_out_and_a_worker_plans_the_same(plan: Any, verb: str, name: str) -> None:
    body: dict[str, Any] = {"data": "plays", "verb": verb, "epsilon": "1"}
    if name in ("weight_unit", "at_most"):
        body["by_weight"] = "minutes"
    first, null = plan(body), plan({**body, name: None})
    assert first.key == null.key == plan(first.body).key == plan(null.body).key
    assert first.plan == null.plan == plan(null.body).plan


def test_a_question_is_planned_once_and_from_its_body_where_another_process_took_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[object] = []
    monkeypatch.setattr(
        gateways, "parse_question", lambda body, *more: (seen.append(body), parse_question(body, *more))[1]
    )
    body = {"data": "plays", "verb": "top_k", "k": 3, "epsilon": "1/9"}
    with serving(tmp_path) as served:
        assert served.ann.ask(body)["state"] == "answered"
        assert seen == [body]
        monkeypatch.setattr(served.gateway._waiting, "get", lambda _: None)
        assert served.ann.ask({**body, "k": 4})["state"] == "answered"
        assert [len(one) for one in seen] == [4, 4, 7]  # type: ignore[arg-type] # a body that is kept also says item, delta and fresh


def test_all_mistakes_of_a_body_are_told_at_once(plan: Any) -> None:
    body = {
        "data": "plays",
        "verb": "top_k",
        "k": 0,
        "epsilon": "much",
        "by": [],
        "groups": "x",
        "delta": 2,
        "counts": 1,
    }
    with pytest.raises(ParameterError, match="k must be a whole number of at least 1") as caught:
        plan(body)
    told = problem_of_error(caught.value)
    assert [one["parameter"] for one in told["others"]] == ["by", "groups", "counts", "epsilon", "delta"]  # type: ignore[index, call-overload]
    assert all("must" in one["detail"] for one in told["others"])  # type: ignore[index, operator, union-attr, call-overload]
    with pytest.raises(ParameterError) as alone:
        plan({"data": "plays", "verb": "top_k", "k": 0, "epsilon": "1"})
    assert "others" not in problem_of_error(alone.value)


def test_a_page_and_http_tell_them_too(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        page = served.ann.get("/ask?data=plays&verb=top_k&price=epsilon&epsilon=much&delta=2").text
        told = served.ann.post("/v1/price", {"data": "plays", "verb": "top_k", "k": 0, "epsilon": "much"}).json()
    assert "delta must be at least 0 and less than 1" in page
    assert "epsilon must be a positive, finite number" in page
    assert (told["parameter"], [one["parameter"] for one in told["others"]]) == ("k", ["epsilon"])


@pytest.mark.parametrize(("name", "hint"), [("eps", "epsilon"), ("top_n", "k"), ("group_by", "by")])
def test_names_of_other_tools_are_told_which_parameter_is_meant(plan: Any, name: str, hint: str) -> None:
    with pytest.raises(ParameterError) as error:
        plan({"data": "plays", "verb": "top_k", name: 3})
    assert error.value.hint == f"did you mean {hint}?"
