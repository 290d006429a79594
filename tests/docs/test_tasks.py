"""docs/tasks.md says each question in three ways, and each is read back as the same question."""

from __future__ import annotations

import re
import shlex
import sys
from typing import Any

import pytest

import dpselect as dps
from dpselect._ground.domain import Listed
from dpselect.command import options
from dpselect.command.parser import build_parser
from dpselect.command.verbs import COMMAND_VERBS, item_columns
from dpselect.queries.planning import question_from_flat
from dpselect.questions.parts import Payment
from dpselect.verbs import Verbs
from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "docs" / "_extensions"))
from made_tasks import TASKS, Task, body, command, data_of, python

BESIDE = {"data", "item", "where", "during", "exclude", "max_items_per_user", "fresh"}  # of the data, or of the asking


class Heard(Verbs):
    """Data that say what they were asked, in place of an answer."""

    def _set_periods(self, names: Any) -> None:
        self.narrowed = names

    def _answer_question(self, question: Any, payment: Payment, **_: object) -> Any:
        items = self.excluded.items if isinstance(self.excluded, Listed) else None
        said = {"where": self._condition, "during": self._during, "exclude": items}
        return question, payment, {name: value for name, value in said.items() if value is not None}

    def _answer_plan(self, plan: Any, **_: object) -> Any:
        raise AssertionError(plan)


def test_there_are_twenty_five_and_each_is_another() -> None:
    assert len({(one.question, *one.price, *map(str, one.narrowed.values())) for one in TASKS}) == len(TASKS) == 25
    assert {one.question.verb for one in TASKS} == {"top_k", "union", "choose", "quantile", "histogram", "users"}


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.wish)
def test_python(task: Task) -> None:
    question, payment, narrowed = eval(python(task), {"dps": dps, data_of(task): Heard(None)})
    assert (question, payment) == (task.question, task.payment)
    assert {name: value if name == "where" else list(value) for name, value in narrowed.items()} == {
        name: value if name == "where" or isinstance(value, list) else [value] for name, value in task.narrowed.items()
    }


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.wish)
def test_command(task: Task) -> None:
    args = build_parser().parse_args(shlex.split(command(task))[1:])
    one = COMMAND_VERBS[args.command]
    assert question_from_flat(one.verb, options.read_values(args, one.fields, item_columns(args))) == (
        task.question,
        task.payment,
    )
    item = {} if one.verb == "users" else {"item": [task.of[1]]}
    said = {name: value for name, value in vars(args).items() if name in ("files", "user", "item")}
    assert said == {"files": [f"{task.of[0]}.parquet"], "user": ["user"], **item}
    for name, value in task.narrowed.items():
        found = options.read_domain(args, name, has_tuples=False) if name == "exclude" else getattr(args, name)
        assert found in (value, [value]) or list(getattr(found, "items", ())) == value


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.wish)
def test_json(task: Task) -> None:
    said = body(task)
    price = {name: said.pop(name) for name in Payment.flat_names() if name in said}
    beside = {name: said.pop(name) for name in BESIDE if name in said}
    assert dps.Question.from_dict(said) == task.question
    assert Payment.from_flat(price, as_json=True) == task.payment
    assert set(beside) <= {"data", "item", *task.narrowed}


@pytest.mark.parametrize("question", [dps.TopK, dps.Union, dps.Choose, dps.Quantile, dps.Histogram, dps.Users])
def test_no_question_has_a_parameter_of_a_name_that_stands_beside_it(question: type[dps.Question]) -> None:
    assert not set(question.flat_names()) & (BESIDE | set(Payment.flat_names()))


def test_the_page_has_the_data_that_the_tasks_ask() -> None:
    page = (ROOT / "docs" / "tasks.md").read_text("utf-8")
    assert {data_of(one) for one in TASKS} == set(re.findall(r"^(\w+) = dps.Dataset", page, re.MULTILINE))
