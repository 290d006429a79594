"""A release is written by one function of its plan and its outcome: what a draw wrote, a check writes again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import dpselect as dps
from dpselect._ground.domain import Span
from dpselect.queries.outline import plan_from_outline
from dpselect.queries.plan import Plan
from dpselect.release.answers.outcome import Outcome
from tests.reference.asked import LIKELY, QUESTIONS, WORDS, data_set
from tests.twins import written_answers as twins

BY: dict[str, Any] = {"by": ["country"], "max_groups_per_user": 1}
TOP: dict[str, Any] = {"verb": "top_k", "k": 2, **LIKELY}
UNION: dict[str, Any] = {"verb": "union", **LIKELY}
PERIODS = {"time": dps.Time("day", period="month"), "during": "2026-11"}
MORE: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "sequence": ({}, {"verb": "top_k", "k": 2, "domain": WORDS, "counts": True, "epsilon": 40}),
    "set with counts": (
        {},
        {"verb": "top_k", "k": 2, "domain": WORDS, "method": "canonical-set", "counts": True, "epsilon": 40},
    ),
    "sparse": ({}, {**TOP, "method": "limited-domain-sparse", "counts": True}),
    "discover, bound chosen": ({}, {**TOP, "k": 9, "method": "discover", "counts": True}),
    "discover, in engine": ({}, {**TOP, "method": "discover", "in_engine": True, "measures": ["sum(number, 0, 8)"]}),
    "discover by group": ({}, {**TOP, **BY, "method": "discover", "counts": True}),
    "discover in listed groups": ({}, {**TOP, **BY, "groups": ["FR", "NO"], "method": "discover"}),
    "by group, bound chosen": ({}, {**TOP, "by": ["country"], "counts": True, "users": True}),
    "left out": ({}, {**TOP, "exclude": ["b"]}),
    "weights by group": ({}, {**TOP, **BY, "by_weight": "number", "at_most": 8, "counts": True}),
    "measures of a domain": (
        {},
        {"verb": "top_k", "k": 2, "domain": WORDS, "measures": ["mean(number, 0, 8)"], "epsilon": 40},
    ),
    "gains": (PERIODS, {**TOP, "compared_with": "2026-10", "counts": True}),
    "union, bound chosen": ({}, {**UNION, "counts": True}),
    "union, in engine": ({}, {**UNION, "max_items_per_user": 2, "in_engine": True, "counts": True}),
    "union by group": ({}, {**UNION, "by": ["country"], "counts": True, "max_items_per_user": 2}),
    "union, deciding counts": ({}, {**UNION, "method": "count-gaussian", "counts": True, "max_items_per_user": 2}),
    "union, threshold": ({}, {"verb": "union", "threshold": 20, "max_items_per_user": 2, "delta": "1e-6"}),
    "union, left out": ({}, {**UNION, "max_items_per_user": 2, "exclude": ["a"]}),
    "n-grams with counts": (
        {"item": dps.Text("text", ngrams=(1, 3))},
        {**UNION, "ngrams": [1, 3], "shares": ["9/10", "1/20", "1/20"], "counts": True, "epsilon": 120},
    ),
    "pairs of words with counts": (
        {"item": dps.Text("text", ngrams=(2, 2))},
        {**UNION, "ngrams": [2, 2], "counts": True, "epsilon": 120},
    ),
    "n-grams, deciding counts": (
        {"item": dps.Text("text", ngrams=(2, 3))},
        {**UNION, "ngrams": [2, 3], "method": "count-gaussian", "counts": True, "max_items_per_user": 3},
    ),
    "choose, groups found": (
        {},
        {"verb": "choose", "domain": WORDS, "by": ["country"], "epsilon": 80, "delta": "1e-6"},
    ),
    "histogram, Gaussian": ({}, {"verb": "histogram", "domain": [*WORDS, *range(60)], "epsilon": 1, "delta": "1e-6"}),
    "users, within": ({}, {"verb": "users", "within": 30}),
    "median, within": ({"item": "number"}, {"verb": "quantile", "within": 30, "bounds": [0, 100]}),
    "quantiles, no bounds": ({"item": "number"}, {"verb": "quantile", "q": ["1/4", "3/4"], "epsilon": 40}),
}
ASKED = QUESTIONS | MORE
every_question = pytest.mark.parametrize("name", ASKED)


def answered(name: str, monkeypatch: pytest.MonkeyPatch, ready: Any = None) -> tuple[Plan, Outcome, dps.Release]:
    """The plan of a question, what was drawn for it, and the release that was written."""
    drawn: list[tuple[Plan, Outcome]] = []
    bind = ready or Plan.bind
    answer_of: dict[type[Plan], Any] = {}

    def watched(plan: Plan, engine: Any) -> Any:
        kind = type(plan)
        answer_of[kind] = kind.answer

        def answer(self: Plan, outcome: Outcome) -> dps.Release:
            if self is plan:
                drawn.append((plan, outcome))
            return answer_of[kind](self, outcome)

        monkeypatch.setattr(kind, "answer", answer)
        return bind(plan, engine)

    more, asked = ASKED[name]
    with monkeypatch.context() as patch:
        patch.setattr(Plan, "bind", watched)
        release = data_set(more).ask(dps.Plan.from_dict(asked))
    for kind, answer in answer_of.items():
        monkeypatch.setattr(kind, "answer", answer)
    [(plan, outcome)] = drawn
    return plan, outcome, release


def read(release: dps.Release) -> dps.Release:
    """The release as it comes from a file."""
    return dps.Release.from_json(release.to_json())


def rewritten(release: dps.Release, outcome_of: Any = None) -> dps.Release:
    """The release that a check writes: planned again from the question in its file, with the outcome in its file."""
    assert release.question is not None
    plan, rows = plan_from_outline(release.question)
    outcome = plan.outcome_of(release) if outcome_of is None else outcome_of(plan, release)
    written = plan.answer(outcome)
    return replace(written if rows is None else rows.describe_rows(written), question=release.question)


@every_question
def test_what_was_drawn_is_read_from_the_release(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, outcome, release = answered(name, monkeypatch)
    again = plan.outcome_of(read(release))
    assert [item._replace(level=0) for item in again.items] == [item._replace(level=0) for item in outcome.items]
    for field in ("ended", "groups", "secure", "discovered_by_group"):
        assert getattr(again, field) == getattr(outcome, field)
    for field in ("max_items_per_user", "max_groups_per_user", "discovered", "items_by_length"):
        if getattr(outcome, field) is not None:
            assert getattr(again, field) == getattr(outcome, field)
    assert plan.answer(again) == plan.answer(outcome)


@every_question
def test_a_check_writes_what_the_draw_wrote(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, release = answered(name, monkeypatch)
    assert rewritten(read(release)) == read(release)
    assert str(dps.check(release).verdict) == "follows"


@pytest.mark.unjudged
@pytest.mark.parametrize("name", ["top_k", "union", "choose", "quantile", "users", "histogram"])
def test_what_only_the_draw_says_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, release = answered(name, monkeypatch, twins.added_after_the_draw)
    assert rewritten(read(release)) != read(release)
    assert str(dps.check(release).verdict) == "does not follow"


def test_what_a_check_does_not_read_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, release = answered("top_k, discover", monkeypatch)
    assert release.privacy.parameters["discovered"] > len(release.items)
    assert rewritten(read(release), twins.without_choices) != read(release)
    _, _, release = answered("n-grams with counts", monkeypatch)
    assert rewritten(read(release), twins.without_levels) != read(release)


def test_a_number_of_candidates_that_the_file_lacks_is_no_accuracy() -> None:
    plan = dps.Choose(domain=Span(0, 4)).at(epsilon=1)
    outcome = Outcome(items=(), secure=True)
    assert plan.answer(outcome).accuracy.sentences == ()
    assert plan.answer(replace(outcome, candidates=4)).accuracy.sentences
