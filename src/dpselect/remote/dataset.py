"""RemoteDataset: rows that a gateway keeps, with the verbs of a Dataset. It holds no rows and runs no question."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dpselect._ground.keys import Key, composite_columns, parse_key
from dpselect._ground.parameters import Progress, check_keywords, whole_number
from dpselect._ground.privacy import warn_if_weak
from dpselect.errors import ParameterError, came
from dpselect.queries.plan import Plan, missing_price
from dpselect.queries.planning import plan_class
from dpselect.questions.kinds import PERIODS
from dpselect.questions.parts import Payment, Total
from dpselect.questions.questions import Choose, Histogram, Quantile, Question, TopK, Users
from dpselect.remote.waiting import ask_question
from dpselect.remote.wire import Wire
from dpselect.verbs import Verbs, check_question

if TYPE_CHECKING:
    from dpselect.release.release import Release

Body = dict[str, Any]
_TRIAL_EPSILONS = (1, 100, 10_000)  # epsilons at which a question for a share is looked at
_FACTS_OF_QUESTION = ("max_items_per_user",)


@check_keywords
class RemoteDataset(Verbs):
    """Data behind a gateway, by name. `Remote.data(...)` makes it.

    Its verbs have the same parameters, errors and releases as those of a `Dataset`. The gateway's owner declares what a
    user is, which columns may be items, groups, filters, weights and values, and whose budget pays. If the owner
    declared a domain, bounds or the most that one user adds to an item, leave the parameter out to use them.
    """

    def __init__(
        self,
        wire: Wire,
        name: str | None = None,
        *,
        item: str | Sequence[str] | None = None,
        max_items_per_user: int | None = None,
    ) -> None:
        super().__init__(None)
        checked_name: object = name
        if checked_name is not None and not (isinstance(checked_name, str) and checked_name.strip()):
            raise ParameterError("data", "be the name of data that the gateway keeps", came(name))
        if item is not None and not isinstance(item, (str, list, tuple)):
            hint = "a gateway counts values of columns, not words of texts"
            raise ParameterError("item", "be the name of a column, or a list of several", came(item), hint)
        self.wire: Wire = wire
        self.name: str | None = name
        self.item: Key | None = None if item is None else parse_key("item", item)
        bound = max_items_per_user
        self.max_items_per_user: int | None = (
            None if bound is None else whole_number("max_items_per_user", bound, minimum=1)
        )

    def __repr__(self) -> str:
        options = {"item": self.item, "max_items_per_user": self.max_items_per_user}
        arguments = [repr(self.name), *(f"{name}={value!r}" for name, value in options.items() if value is not None)]
        filters = "".join(f".where({condition!r})" for condition in self._conditions)
        if self._during is not None:
            filters += f".during({PERIODS.python(self._during)})"
        return f"RemoteDataset({', '.join(arguments)}){filters}{self._excluded_repr} at {self.wire.address}"

    def _set_periods(self, names: Sequence[str]) -> None:
        """Accept any periods: the gateway knows which there are."""

    @property
    def split(self) -> None:
        """The separator of items in one text: None, because the owner declares it."""

    @property
    def words(self) -> None:
        """The n-grams of texts: None, because the items of a gateway are columns."""

    @property
    def level_shares(self) -> None:
        """The shares of levels: None, because columns have no levels."""

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The columns of items, where they have several."""
        return composite_columns(self.item)

    def _answer_question(
        self, question: Question, payment: Payment, *, fresh: bool, progress: Progress | None
    ) -> Release[Any]:
        check_question(question)
        return self._answer(question.verb, question_body(question, payment, self) | _fresh_field(fresh=fresh), progress)

    def _answer_plan(self, plan: Plan, *, fresh: bool, progress: Progress | None) -> Release:
        return self._answer(plan.verb, plan_body(plan, self) | _fresh_field(fresh=fresh), progress)

    def _answer(self, verb: str, body: Body, progress: Progress | None) -> Release:
        if "logging" in sys.modules:
            from dpselect._ground.logs import LOG

            LOG.debug("%s, asked of %s", verb, self.wire.address)
        return ask_question(self.wire, body, progress)


def _fresh_field(*, fresh: bool) -> Body:
    return {"fresh": True} if fresh else {}


# ---- questions as bodies of requests, planned here first, so that a mistake costs no round trip -----------------


def plan_body(plan: Plan, rows: RemoteDataset) -> Body:
    """Return the body of a question that was planned beforehand, with all it holds."""
    plan = plan.for_data_set(rows, _FACTS_OF_QUESTION)
    warn_if_weak(plan.ceiling)
    return plan.to_dict() | _row_fields(plan.question, rows)


def question_body(question: Question, payment: Payment, rows: RemoteDataset) -> Body:
    """Return the body of a question at a price. What was left out stays so: the owner may have declared it."""
    verb_plan, filled_question = plan_class(question.verb), _fill_undeclared(question)
    facts = verb_plan.facts_of(rows, question)
    if payment.share is not None:
        _plan_at_any_epsilon(verb_plan, filled_question, payment, facts).for_data_set(rows)
    elif payment.epsilon is None and payment.accuracy is None:
        raise missing_price(verb_plan.verb, verb_plan.accuracies)
    else:
        warn_if_weak(verb_plan(question=filled_question, payment=payment, facts=facts).for_data_set(rows).ceiling)
    return {**question.to_dict(), **payment.flat_json(), **facts.flat_json(), **_row_fields(question, rows)}


def _row_fields(question: Question, rows: RemoteDataset) -> Body:
    """Return the rows as fields of a body; what an item is does not matter to a number of users."""
    item = None if isinstance(question, Users) else rows.item
    values = {"data": rows.name, "item": item, "where": rows._condition, "during": rows._during}
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in values.items() if value is not None
    }


def _fill_undeclared(question: Question) -> Question:
    """Fill in what the owner may have declared, so that all else can be checked."""
    if isinstance(question, (Choose, Histogram)) and question.domain is None:
        return question.replace(domain=("a", "b"))
    if isinstance(question, Quantile) and question.bounds is None:
        return question.replace(bounds=(0, 1 if question.step is None else question.step))
    if isinstance(question, TopK) and isinstance(question.score, Total) and question.score.at_most is None:
        at_most = 1 if question.score.unit is None else question.score.unit
        return question.replace(score=question.score.replace(at_most=at_most))
    return question


def _plan_at_any_epsilon(plan_class: type[Plan], question: Question, payment: Payment, facts: Any) -> Plan:
    """Plan a question at some epsilon, because only the gateway knows the epsilon of the share."""
    for epsilon in _TRIAL_EPSILONS[:-1]:
        try:
            return plan_class(question=question, payment=Payment(epsilon=epsilon, delta=payment.delta), facts=facts)
        except ParameterError as error:
            if not error.parameter.startswith("epsilon"):
                raise
    return plan_class(question=question, payment=Payment(epsilon=_TRIAL_EPSILONS[-1], delta=payment.delta), facts=facts)
