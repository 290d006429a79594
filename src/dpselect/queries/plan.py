"""Plan: a question at a price, of data of which some facts are known. Whatever asks makes one, and it is checked once.

A plan knows what it costs at most, what a ledger knows it by, what it needs of an engine, how it is run and what its
answer cost. It holds no data and no connection: making one, or comparing two, reads nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import Field, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dpselect._ground import parameters
from dpselect._ground.dataclass import dataclass
from dpselect._ground.domain import Column, Domain, max_domain_size
from dpselect._ground.first_use import door
from dpselect._ground.keys import Key
from dpselect._ground.parameters import Progress, check_keywords
from dpselect._ground.privacy import ApproxDP, Privacy, SpentSteps
from dpselect.accounting.prices import Price, ceiling, of_outcome
from dpselect.draws import Draws
from dpselect.errors import ParameterError, came
from dpselect.mechanisms.port import set_fields
from dpselect.queries.facts import Facts, Rows
from dpselect.questions.parts import ACCURACIES, By, Method, Payment, ResolvedGroups
from dpselect.questions.questions import QUESTIONS, OneEach, Question, Scores
from dpselect.release import formatting
from dpselect.release.accuracy import CONFIDENCE_PERCENT, Accuracy
from dpselect.release.scale import Scale

if TYPE_CHECKING:
    from dpselect._ground.row_bound import RowBound
    from dpselect.aggregates.measures import Measure
    from dpselect.aggregates.totals import Totals
    from dpselect.engines import Engine
    from dpselect.release.answers.outcome import Outcome
    from dpselect.release.answers.target_accuracy import TargetAccuracy
    from dpselect.release.formatting import Json
    from dpselect.release.release import Release
    from dpselect.release.rows import OfRows

BoundPlan = Callable[[Draws, Progress | None], "Release"]
"""Answers a question. Whoever calls it has seen to the price."""
BoundDraw = Callable[[Draws, Progress | None], "Outcome"]
"""Draws the outcome of a question. Whoever calls it has seen to the price."""
ACCURACY_TITLE = f"how good an answer is (each line with {CONFIDENCE_PERCENT} % confidence):"
_ANY_METHOD = Method()


@check_keywords
@dataclass(frozen=True, kw_only=True)
class Plan(ABC):
    """A question at a price, for data about which only a few facts are known; no row is read to make one.

    Raises ParameterError if question, price and facts do not fit together.
    """

    verb: ClassVar[str]
    used_facts: ClassVar[tuple[str, ...]] = ()  # the facts of data that it looks at
    question_facts: ClassVar[tuple[str, ...]] = ()  # those of them that a question may say by itself
    accuracies: ClassVar[tuple[str, ...]] = ()  # that may stand in place of epsilon
    refused_facts: ClassVar[Mapping[str, str]] = {}  # what the data may not say, and a hint: there is no use for it

    question: Any
    payment: Payment = Payment()
    facts: Facts = Facts()

    target_accuracy: TargetAccuracy | None = field(
        init=False, repr=False, compare=False, default=None
    )  # the accuracy it was priced by
    totals: Totals | None = field(init=False, repr=False, compare=False, default=None)  # the weights that are added up
    delta: Fraction = field(init=False, repr=False, compare=False, default=Fraction(0))
    period: str | None = field(init=False, repr=False, compare=False, default=None)  # in each of which a user counts
    row_bound: RowBound | None = field(init=False, repr=False, compare=False, default=None)  # of prepared data
    resolved_groups: ResolvedGroups | None = field(init=False, repr=False, compare=False, default=None)

    max_items_per_user: int | None = field(init=False, repr=False, compare=False, default=None)  # if known beforehand
    chooses_bound: bool = field(init=False, repr=False, compare=False, default=False)  # privately, from the rows
    requested_method: Method = field(init=False, repr=False, compare=False, default=_ANY_METHOD)

    def __post_init__(self) -> None:
        for name in ACCURACIES:
            if getattr(self.payment, name) is not None and name not in self.accuracies:
                raise ParameterError(name, f"be left out for {self.verb}", getattr(self.payment, name), "give epsilon")
        if self.payment.share is not None:
            raise ParameterError("share", "be given with a budget, which it is a share of", came(self.payment.share))
        for fact, value in self.facts.non_default_fields():
            if fact.name not in self.used_facts:
                raise ParameterError(fact.name, f"be left out for {self.verb}", came(value))
        if self.payment.epsilon is None and self.payment.accuracy is None:
            raise missing_price(self.verb, self.accuracies)
        set_fields(
            self,
            delta=parameters.delta_or_default(self.payment.delta, needed=self.needs_delta(self.question)),
            max_items_per_user=self.facts.max_items_per_user,
            requested_method=getattr(self.question, "method", None) or _ANY_METHOD,
        )
        if self.payment.delta is None:
            set_fields(self, payment=self.payment.replace(delta=self.delta))
        self.derive_fields()

    @abstractmethod
    def derive_fields(self) -> None:
        """Set the mechanism and every other field that is fixed before data are read."""

    def __repr__(self) -> str:
        arguments = {
            parameter.name: parameter.metadata["kind"].python(value)
            for parameter, value in self.payment.non_default_fields()
        }
        facts = {
            parameter.name: parameter.metadata["kind"].python(value)
            for parameter, value in self.facts.non_default_fields()
        }
        arguments |= {name: facts.pop(name) for name in ("max_items_per_user",) if name in facts}
        asked = f"{self.question!r}.at({', '.join(f'{name}={value}' for name, value in arguments.items())})"
        return f"<{asked} of data with other {', '.join(facts)}>" if facts else asked

    @property
    @abstractmethod
    def price(self) -> Privacy:
        """The price that any answer promises, and costs at most."""

    @property
    @abstractmethod
    def key(self) -> Mapping[str, object]:
        """The key of the question in a ledger: what was asked, and which method answers."""

    @property
    @abstractmethod
    def method(self) -> str:
        """The method that answers."""

    @property
    @abstractmethod
    def accuracy(self) -> Accuracy:
        """The accuracy that holds for any data, as far as it is known in advance."""

    @property
    def reason(self) -> str:
        """The reason why this method was chosen, if there was a choice."""
        return ""

    def __str__(self) -> str:
        ceiling = self.ceiling
        amounts = f"epsilon {formatting.price(ceiling.epsilon)}"
        amounts += f", delta {formatting.price(ceiling.delta)}" if ceiling.delta else ""
        lines = [f"{self.question!r}: {self.method}, at most {amounts}.", *([self.reason] if self.reason else [])]
        accuracies = [f"  - {sentence}" for sentence in self.accuracy.sentences]
        return "\n".join([*lines, *([ACCURACY_TITLE, *accuracies] if accuracies else [])])

    @property
    def epsilon(self) -> Fraction:
        """The most epsilon that any answer costs."""
        return self.price.epsilon

    @abstractmethod
    def bind_draw(self, engine: Engine) -> BoundDraw:
        """Return what draws the outcome from the engine. What the schema does not fit is refused now, without a row."""

    @abstractmethod
    def answer(self, outcome: Outcome) -> Release:
        """Write the release of an outcome: the same whether it was just drawn or read from a release."""

    def bind(self, engine: Engine) -> BoundPlan:
        """Return what answers the question from the engine. What the schema does not fit is refused now."""
        draw = self.bind_draw(engine)
        return lambda draws, progress: self.answer(draw(draws, progress))

    def outcome_of(self, release: Release) -> Outcome:
        """Read the outcome of a release. What this plan cannot have drawn is read as something that it can."""
        from dpselect.release.answers.outcome import Outcome

        candidates = None if self.domain is None else max_domain_size(self.domain)
        return Outcome.from_release(release, Scale(totals=self.totals), candidates=candidates)

    @property
    def needs_candidates(self) -> bool:
        """The accuracy depends on the number of candidates, which the data may decide."""
        return False

    @property
    def requested_epsilon(self) -> Fraction:
        """The epsilon that was given, in place of an accuracy."""
        return self.payment.epsilon  # type: ignore[return-value] # its kind has read it

    @property
    def items_are_pairs(self) -> bool:
        """An item is a group and an item together: only possible where groups are asked for."""
        return False

    @property
    def by(self) -> tuple[str, ...]:
        """The columns of groups; none where the question is about all rows together."""
        by = getattr(self.question, "by", None)
        return () if by is None else by if isinstance(by, tuple) else by.columns

    @property
    def items(self) -> Key | None:
        """The columns that are counted in place of the items of the data; of most questions it is those."""
        return None

    @property
    def max_counted_per_user(self) -> int | None:
        """The bound on how many of these a user counts for."""
        return None

    @property
    def groups(self) -> Domain | None:
        """The groups, where they are listed."""
        return getattr(getattr(self.question, "by", None), "groups", None)

    @property
    def domain(self) -> Domain | None:
        """The items there can be, where they are known."""
        return getattr(self.question, "domain", None)

    def resolve_groups(self) -> ResolvedGroups | None:
        """Set and return the groups that are asked for; refuse an absent list before the bound that it would need."""
        by = getattr(self.question, "by", None)
        if not isinstance(by, By):
            return None
        if by.max_groups_per_user is None and isinstance(by.groups, Column):
            from dpselect.engines.sources.files import refuse_absent

            refuse_absent(by.groups.source)
        set_fields(self, resolved_groups=ResolvedGroups.from_by(by))
        return self.resolved_groups

    @property
    def scale(self) -> Scale:
        """The users who count."""
        groups = None if self.resolved_groups is None else self.resolved_groups.bound
        return Scale(groups=groups, period=self.period, rows=self.row_bound)

    def require_domain(self) -> Domain:
        """Return the domain, or refuse a question that has none without."""
        if self.domain is None:
            hint = "the items that there can be: domain=['yes', 'no'], --domain yes,no; a top k finds such items"
            raise ParameterError("domain", f"be given for {self.verb}", "nothing", hint)
        return self.domain

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures of items that come back."""
        return ()

    @property
    def compared_periods(self) -> tuple[str, ...]:
        """The names of periods with which those of the data are compared; the question is about these too."""
        return ()

    @property
    def counts_lost_users(self) -> bool:
        """Users that an item lost are counted, in place of those that it gained."""
        return False

    @property
    def ceiling(self) -> ApproxDP:
        """The most that any answer costs, as one (epsilon, delta)."""
        return self.price.approx

    def steps(self, release: Release) -> Sequence[SpentSteps]:  # noqa: ARG002
        """Return the steps that an answer took, read from the answer alone."""
        return self.price.steps

    def price_at(self, order: int | None) -> Price:
        """Return what any answer costs at most an account of this Rényi order, or one that only adds up."""
        return ceiling(self.price, order)

    def cost_at(self, release: Release, order: int | None) -> Price:
        """Return what an answer cost it, read from the answer alone: no more than `price_at` in any of its sums."""
        return of_outcome(self.price, self.steps(release), order)

    # ---- of data --------------------------------------------------------------------------------------------

    @classmethod
    def facts_of(cls, rows: Rows, question: Question) -> Facts:  # noqa: ARG003 - of some it matters
        """Return what the plan must know of a data set; refuse what the question has no use for."""
        if rows.words is not None and "ngrams" not in cls.used_facts:
            hint = "the words of a message: item=dps.Split(column, ' ')"
            raise ParameterError("item", f"be no Text for {cls.verb}, which counts items", "a Text", hint)
        for name, hint in cls.refused_facts.items():
            fact = getattr(rows, name)
            if fact is not None and name == "columns":
                raise ParameterError("item", f"be one column for a {cls.verb}", f"{len(fact)} of them", hint)
            if fact is not None:
                raise ParameterError(name, f"be left out for a {cls.verb}", came(fact), hint)
        if rows.excluded is not None and "exclude" not in cls.used_facts:
            raise ParameterError("exclude", f"be left out for {cls.verb}", came(rows.excluded), "where='item <> ...'")
        return Facts.from_rows(rows, cls.used_facts)

    def for_data_set(self, rows: Rows, question_facts: Sequence[str] = ()) -> Self:
        """Return the plan for a data set.

        `question_facts` are more of the facts that it may state where the data do not.
        """
        self.refuse_own_values()
        facts = self.facts_of(rows, self.question).with_own(self.facts, (*self.question_facts, *question_facts))
        return self if facts == self.facts else replace(self, facts=facts)

    def refuse_own_values(self) -> None:
        """Refuse a question about values of the caller's where it is asked of a data set."""
        if isinstance(self.question, (Scores, OneEach)):
            name = "scores" if isinstance(self.question, Scores) else "values"
            raise ParameterError("question", "be about a data set", f"one about {name} of the caller's")

    def for_rows(self, rows: OfRows) -> Self:
        """Return the plan that knows which users of these rows count: once in each period, and by the kept rows."""
        period, bound = rows.counting_period, rows.bound
        return self if period is None and bound is None else self.with_counted_users(period, bound)

    def with_counted_users(self, period: str | None, bound: RowBound | None) -> Self:
        """Return the same question about users who count once in each period, and by a bounded number of rows."""
        counting = copy(self)
        target_accuracy = None if self.target_accuracy is None else self.target_accuracy.of_counted_users
        set_fields(counting, period=period, row_bound=bound, target_accuracy=target_accuracy)
        return counting

    @classmethod
    def for_no_account(cls, question: Question, facts: Facts) -> Question:  # noqa: ARG003 - of some it matters
        """Return the question as it is asked where no account is kept, so that none pays more for another method."""
        return question

    @classmethod
    def needs_delta(cls, question: Any) -> bool:
        """Return whether the question needs a delta, named or not: here, to find groups."""
        by = getattr(question, "by", None)
        return by is not None and by.groups is None

    # ---- as JSON --------------------------------------------------------------------------------------------

    @classmethod
    def fields(cls) -> dict[str, Field[Any]]:
        """Return all parameters by their flat names, as JSON has them."""
        price_names = ("epsilon", "delta", *cls.accuracies)
        price, facts = Payment.flat_fields(), Facts.flat_fields()
        parameters = {**QUESTIONS[cls.verb].flat_fields(), **{name: price[name] for name in price_names}}
        return parameters | {name: facts[name] for name in cls.used_facts}

    def to_dict(self) -> dict[str, Json]:
        """Return the plan in JSON types: the verb, the parameters, the price, and facts. Numbers are exact, as text."""
        self.refuse_own_values()
        return {**self.question.to_dict(), **self.payment.flat_json(), **self.facts.flat_json()}

    @staticmethod
    def from_dict(document: Mapping[str, Json]) -> Plan:
        """Return the plan of a dict such as `to_dict` returns (docs/queries.md), checked like any other."""
        plan: Plan = door("queries.planning", "plan_from_dict")(document)
        return plan


def missing_price(verb: str, accuracies: Sequence[str]) -> ParameterError:
    """Return the error for a question with neither an epsilon nor an accuracy that can replace it."""
    requirement = f"be given for {verb}" + (f", or {' or '.join(accuracies)} in its place" if accuracies else "")
    return ParameterError("epsilon", requirement, "nothing", "1 is a common choice; a smaller one reveals less")
