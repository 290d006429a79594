"""What somebody asks, from the body of a request: checked against what the owner declared, before data are touched."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from dpselect import filter_texts
from dpselect._ground import parameters
from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import suggest, suggest_parameter
from dpselect.engines import Address, parse_filter
from dpselect.errors import ParameterError, came
from dpselect.gateway.recent import PLANNED, Recent
from dpselect.gateway.settings.kinds import Key, plain
from dpselect.gateway.settings.values import DataSettings
from dpselect.gateway.sources import dataset_of
from dpselect.queries import Facts, Paying, Plan, parse_parts, plan_class, plan_question, with_integers
from dpselect.questions import QUESTIONS, Payment, Question, Span, domain_from_json, format_key
from dpselect.release import Json

if TYPE_CHECKING:
    from dpselect import Budget, Dataset
    from dpselect.ledger import Periods

_DATA_PARAMETERS = ("data", "item", "where", "during", "share", "fresh")
"""What a body holds beside the parameters of its plan."""
_RECENT_PLANS = Recent[Plan](PLANNED)
TEXT_PARAMETERS = ("shares", "ngrams", "tokenizer", "lower")
"""Parameters of questions about the words of texts, which no data of a gateway are."""
FACTS_OF_QUESTION = ("max_items_per_user",)
MAX_DOMAIN_ITEMS = 10**6
"""Items of a domain that a question may list or count up, and those with most users that it may look at."""


@dataclass(frozen=True)
class AskedQuestion:
    """A checked question about one data set; it holds no rows and no connection."""

    settings: DataSettings
    plan: Plan
    item: Key
    where: str | None = None
    during: tuple[str, ...] | None = None
    fresh: bool = False

    @property
    def body(self) -> dict[str, Json]:
        """The question as a request body, in one canonical form."""
        data_fields: dict[str, Json] = {"data": self.settings.name} | ({"item": plain(self.item)} if self.item else {})
        if self.where is not None:
            data_fields["where"] = self.where
        if self.during is not None:
            data_fields["during"] = [*self.during]
        return {**data_fields, **self.plan.to_dict()}

    @property
    def periods(self) -> Periods | None:
        """The periods of the question, each of which pays for it, and those that they are compared with."""
        if self.during is None:
            return None
        periods = self.settings.parse_periods(self.during)
        return periods.compared_with(self.plan.compared_periods) if self.plan.compared_periods else periods

    @cached_property
    def key(self) -> str:
        """The digest of the question and of the settings it depends on: equal for equal questions about equal data."""
        data = self.settings
        row_settings: list[Any] = [data.user, data.table, data.split, data.time, data.period, data.timezone]
        row_settings += [data.types] if data.types else []
        row_settings += [data.outside] if data.outside else []
        body = self.body
        if self.where is not None:  # what it means, however it is written; its columns have one spelling each
            body["where"] = parse_filter(self.where).meaning
        text = json.dumps([body, row_settings], sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def dataset(self, budget: Budget | None = None) -> Dataset:
        """Return the data set with the rows of this question; prepared data say themselves who their users are."""
        data = self.settings
        is_prepared = Address.parse(plain(data.source)).prepared is not None
        return dataset_of(
            data,
            self.item,
            user=None if is_prepared else plain(data.user),
            table=None if is_prepared else data.table,
            split=data.split,
            where=self.where,
            during=self.during,
            max_items_per_user=self.plan.facts.max_items_per_user,
            budget=budget,
        )


@dataclass(frozen=True)
class _DeclaredFacts:
    """The facts in the settings that a plan needs; the contribution bound is in the question by now."""

    split: str | None
    columns: tuple[str, ...] | None
    max_items_per_user: int | None = None
    words: None = None
    level_shares: None = None
    excluded: None = None


def parse_question(
    body: object, data: Mapping[str, DataSettings], paying: Callable[[DataSettings], Paying]
) -> AskedQuestion:
    """Parse a request body into a question about one of these data sets.

    Raises ParameterError if the body is no question, or one that may not be asked.
    """
    if not isinstance(body, Mapping):
        raise ParameterError("body", "be an object", came(body))
    arguments = {name: value for name, value in body.items() if value is not None}  # null was left out
    settings = open_data(arguments.pop("data", None), data)
    where, fresh = arguments.pop("where", None), parameters.flag("fresh", arguments.pop("fresh", False))
    during_argument, share = arguments.pop("during", None), arguments.pop("share", None)
    verb = parameters.one_of("verb", arguments.get("verb"), QUESTIONS)
    item = _parse_item(verb, arguments.pop("item", None), settings)
    known_names = [*plan_class(verb).fields(), *_DATA_PARAMETERS]
    unknown = next((name for name in arguments if name not in ("verb", *known_names)), None)
    if unknown is not None:
        hint = suggest_parameter(unknown, known_names)
        raise ParameterError("body", f"hold parameters of {verb}", came(unknown), hint)
    arguments = with_integers(verb, arguments)
    for name in TEXT_PARAMETERS:
        if arguments.get(name) is not None:
            raise ParameterError(name, "be left out if items are no words of texts", came(arguments[name]))
    if where is not None:
        if not isinstance(where, str):
            raise ParameterError("where", "be a text, a condition on one row", came(where))
        where = filter_texts.resolve(where, settings.filters)
    _fill_declared(verb, arguments, item, settings)
    _check_sizes(arguments, settings)
    during = _parse_during(during_argument, settings)
    if "compared_with" in arguments:
        arguments["compared_with"] = _parse_compared(during, arguments["compared_with"], settings)
    plan = _plan_at_price(arguments, share, partial(paying, settings)).for_data_set(
        _DeclaredFacts(settings.split, item if isinstance(item, tuple) and item else None), FACTS_OF_QUESTION
    )
    _check_columns(plan, settings)
    return AskedQuestion(settings, plan, item, where, during, fresh)


def open_data(name: object, data: Mapping[str, DataSettings]) -> DataSettings:
    """Return the data of this name, or the only ones; ParameterError where they are not open."""
    if name is None and len(data) == 1:
        return next(iter(data.values()))
    if not isinstance(name, str) or name not in data:
        hint = "no data are open to you" if not data else None
        if isinstance(name, str) and data:
            hint = suggest(name, list(data))
        raise ParameterError("data", "be the name of data that are open to you", came(name), hint)
    return data[name]


def _parse_item(verb: str, argument: object, settings: DataSettings) -> Key:
    """Return the column or columns of items, the column of values of a quantile, or () for users."""
    if verb == "users":
        if argument is not None:
            raise ParameterError(
                "item", "be left out for users", came(argument), "a user counts by any row that is kept"
            )
        return ()
    is_quantile = verb == "quantile"
    allowed: list[Key] = [*settings.values] if is_quantile else [*settings.items]
    noun = "values" if is_quantile else "items"
    if argument is None:
        if not allowed:
            raise ParameterError("item", f"be a column of {noun}", "nothing", f"these data have no column of {noun}")
        return allowed[0]
    item = tuple(argument) if isinstance(argument, (list, tuple)) else argument
    item = item[0] if isinstance(item, tuple) and len(item) == 1 else item
    if item not in allowed:
        known_items = [key if isinstance(key, str) else format_key(key) for key in allowed]
        hint = (
            suggest(item, known_items) if isinstance(item, str) and known_items else f"known: {', '.join(known_items)}"
        )
        raise ParameterError("item", f"be one of the columns of {noun} that the owner opened", came(argument), hint)
    return item


def _parse_during(argument: object, settings: DataSettings) -> tuple[str, ...] | None:
    """Return the names of the periods, each once and in order."""
    if settings.period is None:
        if argument is not None:
            raise ParameterError("during", "be left out, because the data have no periods", came(argument))
        return None
    from dpselect.ledger import MAX_PERIODS

    if isinstance(argument, list) and len(argument) > MAX_PERIODS:
        raise ParameterError("during", f"name at most {MAX_PERIODS} periods", "more", "ask by longer periods")
    if argument is None:
        raise ParameterError("during", f"name a {settings.period}, as the promise is for each by itself", "nothing")
    return settings.parse_periods(argument).names


def _parse_compared(during: tuple[str, ...] | None, argument: object, settings: DataSettings) -> list[str]:
    """Return the names of the periods with which those of the question are compared."""
    if during is None:
        raise ParameterError("compared_with", "be left out, because the data have no periods", came(argument))
    from dpselect.ledger import MAX_PERIODS

    names = [argument] if isinstance(argument, str) else argument
    if not isinstance(names, list) or len(names) > MAX_PERIODS:
        raise ParameterError("compared_with", f"be a list of at most {MAX_PERIODS} names of periods", came(argument))
    return [*settings.parse_periods(during).compared_with(names).baseline.names]


def _fill_declared(verb: str, arguments: dict[str, Any], item: Key, settings: DataSettings) -> None:
    """Fill in what the body leaves out and the owner declared."""
    if verb in ("choose", "histogram") and arguments.get("domain") is None and isinstance(item, str):
        labels = settings.domains.get(item)
        if labels is not None:
            from dpselect.release import label_to_json

            arguments["domain"] = [label_to_json(label) for label in labels]
    if verb == "quantile":
        bounds = settings.values[str(item)]
        if arguments.get("bounds") is None:
            arguments["bounds"] = [str(bounds.low), str(bounds.high)]
        if bounds.step is not None:
            arguments.setdefault("step", str(bounds.step))
    weight = arguments.get("by_weight")
    if isinstance(weight, str) and weight in settings.weights:
        declared = settings.weights[weight]
        arguments.setdefault("at_most", str(declared.at_most))
        if declared.unit is not None:
            arguments.setdefault("weight_unit", str(declared.unit))
    if "max_items_per_user" in plan_class(verb).used_facts and settings.max_items_per_user is not None:
        arguments.setdefault("max_items_per_user", settings.max_items_per_user)


def _check_sizes(arguments: Mapping[str, Any], settings: DataSettings) -> None:
    """Refuse sizes above the limits, before a query is made that may enumerate them."""
    domain = arguments.get("domain")
    size = len(domain) if isinstance(domain, list) else 0
    if isinstance(domain, Mapping):
        span = domain_from_json("domain", dict(domain))
        size = span.stop - span.start if isinstance(span, Span) else 0
    for name, number, maximum, suffix in (
        ("k", arguments.get("k"), settings.max_k, " for these data"),
        ("k_bar", arguments.get("k_bar"), MAX_DOMAIN_ITEMS, ""),
        ("domain", size, MAX_DOMAIN_ITEMS, " items"),
    ):
        if isinstance(number, int) and number > maximum:
            raise ParameterError(name, f"{'have' if name == 'domain' else 'be'} at most {maximum:,}{suffix}", number)


def _plan_at_price(arguments: dict[str, Any], share: object, paying: Callable[[], Paying]) -> Plan:
    """Plan a question at its price; a budget fixes the price of a share, and a delta that is needed and missing.

    The calibration is the same for everybody who asks it, of whichever rows.
    """
    question, payment, facts = parse_parts(arguments | ({} if share is None else {"share": share}))
    needs_budget = payment.share is not None or (
        payment.delta is None and plan_class(question.verb).needs_delta(question)
    )
    return plan_question(question, payment, facts, paying() if needs_budget else None, make=_plan_from_cache)


def _plan_from_cache(question: Question, payment: Payment, facts: Facts) -> Plan:
    """Return the plan of a question, from the cache if it is there."""
    fields = {**question.to_dict(), **payment.flat_json(), **facts.flat_json()}
    text = json.dumps(fields, sort_keys=True)
    plan = _RECENT_PLANS.get(text)
    if plan is None:
        plan = plan_class(question.verb)(question=question, payment=payment, facts=facts)
        _RECENT_PLANS.put(text, plan, 2 * len(text))  # its name is as long
    return plan


def _check_columns(plan: Plan, settings: DataSettings) -> None:
    """Refuse columns of groups, weights and values that the owner did not open."""
    for name in plan.by:
        _check_opened("by", name, settings.groups)
    if plan.totals is not None:
        _check_opened("by_weight", plan.totals.column, list(settings.weights))
    for measure in plan.measures:
        _check_opened("measures", measure.column, list(settings.values))


def _check_opened(parameter: str, name: str, allowed: Sequence[str]) -> None:
    if name not in allowed:
        hint = suggest(name, list(allowed)) if allowed else "these data have none"
        raise ParameterError(parameter, "name columns that the owner opened for it", came(name), hint)
