"""What somebody asks, from the body of a request: checked against what the owner declared, before data are touched."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from dpselect._ground import parameters
from dpselect._ground.domain import Span
from dpselect._ground.keys import composite_columns, format_key
from dpselect._ground.parameters import suggest, suggest_parameter
from dpselect.engines import row_filter
from dpselect.errors import ParameterError, came
from dpselect.gateway import filters
from dpselect.gateway.recent import PLANNED, Recent
from dpselect.gateway.settings.kinds import plain
from dpselect.gateway.settings.values import DataSettings, Key
from dpselect.queries.facts import Facts
from dpselect.queries.plan import Paying, Plan, parse_parts, plan_class, plan_question
from dpselect.questions import schemas
from dpselect.questions.kinds import domain_from_json
from dpselect.questions.payment import Payment
from dpselect.questions.questions import QUESTIONS, Question
from dpselect.release.formatting import Json

if TYPE_CHECKING:
    from dpselect import Budget, Dataset
    from dpselect._ground.periods import Periods

BESIDE = ("data", "item", "where", "during", "share", "fresh")
"""What a body holds beside the parameters of its plan."""
_PLANS = Recent[Plan](PLANNED)
OF_TEXTS = ("shares", "ngrams", "tokenizer", "lower")
"""Parameters of questions about the words of texts, which no data of a gateway are."""
BOUND = ("max_items_per_user",)
MOST_ITEMS = 10**6
"""Items of a domain that a question may list or count up, and those with most users that it may look at."""


@dataclass(frozen=True)
class AskedQuestion:
    """One question about one data set, checked. It holds no rows and no connection."""

    settings: DataSettings
    plan: Plan
    item: Key
    where: str | None = None
    during: tuple[str, ...] | None = None
    fresh: bool = False

    @property
    def body(self) -> dict[str, Json]:
        """The same question as a body: what it was asked with, in one form."""
        beside: dict[str, Json] = {"data": self.settings.name} | ({"item": plain(self.item)} if self.item else {})
        if self.where is not None:
            beside["where"] = self.where
        if self.during is not None:
            beside["during"] = [*self.during]
        return {**beside, **self.plan.to_dict()}

    @property
    def periods(self) -> Periods | None:
        """Those of the question, in each of which it is paid: also those with which others are compared."""
        if self.during is None:
            return None
        if self.plan.others:
            return _compared(self.during, list(self.plan.others), self.settings)
        from dpselect._ground.periods import parse_periods

        return parse_periods(self.settings.time, self.settings.period, self.during, self.settings.timezone)

    @cached_property
    def key(self) -> str:
        """By what two askings are the same, of data in one state: what was asked, and what the settings add to it."""
        data = self.settings
        rows: list[Any] = [data.user, data.table, data.split, data.time, data.period, data.timezone]
        rows += [data.types] if data.types else []
        body = self.body
        if self.where is not None:  # what it means, however it is written; its columns have one spelling each
            body["where"] = row_filter.parse(self.where).meaning
        text = json.dumps([body, rows], sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def dataset(self, source: object, *, prepared: bool = False, budget: Budget | None = None) -> Dataset:
        """The rows that are meant, at the place where they lie now."""
        from dpselect.flat import dataset_of

        data = self.settings
        most = self.plan.facts.max_items_per_user
        when: dict[str, Any] = {}
        if data.period is not None:
            when = {"time": data.time, "period": data.period, "during": self.during, "timezone": data.timezone}
        return dataset_of(
            source,
            user=None if prepared else plain(data.user),
            item=plain(self.item) or None,
            where=self.where,
            max_items_per_user=most,
            split=data.split,
            table=None if prepared else data.table,
            types=data.types or None,
            budget=budget,
            **when,
        )


@dataclass(frozen=True)
class _Rows:
    """What the settings say of data that a plan must know; their bound is in the question by now."""

    split: str | None
    columns: tuple[str, ...] | None
    max_items_per_user: int | None = None
    words: None = None
    level_shares: None = None
    excluded: None = None


def asked(body: object, data: Mapping[str, DataSettings], paying: Callable[[DataSettings], Paying]) -> AskedQuestion:
    """The question of a body, about one of these data sets. ParameterError where it is none, or may not be asked."""
    if not isinstance(body, Mapping):
        raise ParameterError("body", "be an object", came(body))
    given = {name: value for name, value in body.items() if value is not None}  # null was left out
    settings = open_data(given.pop("data", None), data)
    where, fresh = given.pop("where", None), parameters.flag("fresh", given.pop("fresh", False))
    when, share = given.pop("during", None), given.pop("share", None)
    verb = parameters.one_of("verb", given.get("verb"), QUESTIONS)
    item = _item(verb, given.pop("item", None), settings)
    unknown = next((name for name in given if name != "verb" and name not in plan_class(verb).fields()), None)
    if unknown is not None:
        known = [*plan_class(verb).fields(), *BESIDE]
        raise ParameterError("body", f"hold parameters of {verb}", came(unknown), suggest_parameter(unknown, known))
    for name, field in plan_class(verb).fields().items():
        if name in given:
            given[name] = schemas.as_integer(
                given[name], schemas.types_of(getattr(schemas, field.metadata["kind"].shape))
            )
    for name in OF_TEXTS:
        if given.get(name) is not None:
            raise ParameterError(name, "be left out if items are no words of texts", came(given[name]))
    if where is not None:
        if not isinstance(where, str):
            raise ParameterError("where", "be a text, a condition on one row", came(where))
        where = filters.resolve(where, settings.filters)
    _fill(verb, given, item, settings)
    _check_sizes(given, settings)
    during = _during(when, settings)
    if given.get("compared_with") is not None:
        given["compared_with"] = [*_compared(during, given["compared_with"], settings).baseline.names]
    plan = _priced(given, share, partial(paying, settings)).of(_Rows(settings.split, composite_columns(item)), BOUND)
    _check(plan, settings)
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


def _item(verb: str, given: object, settings: DataSettings) -> Key:
    """The column, or columns, of items; of a quantile, that of values; of users none."""
    if verb == "users":
        if given is not None:
            raise ParameterError("item", "be left out for users", came(given), "a user counts by any row that is kept")
        return ()
    of_values = verb == "quantile"
    allowed: list[Key] = [*settings.values] if of_values else [*settings.items]
    what = "values" if of_values else "items"
    if given is None:
        if not allowed:
            raise ParameterError("item", f"be a column of {what}", "nothing", f"these data have no column of {what}")
        return allowed[0]
    wanted = tuple(given) if isinstance(given, (list, tuple)) else given
    wanted = wanted[0] if isinstance(wanted, tuple) and len(wanted) == 1 else wanted
    if wanted not in allowed:
        known = [one if isinstance(one, str) else format_key(one) for one in allowed]
        hint = suggest(wanted, known) if isinstance(wanted, str) and known else f"known: {', '.join(known)}"
        raise ParameterError("item", f"be one of the columns of {what} that the owner opened", came(given), hint)
    return wanted


def _during(given: object, settings: DataSettings) -> tuple[str, ...] | None:
    """The names of the periods that are meant, each once, in order."""
    if settings.period is None:
        if given is not None:
            raise ParameterError("during", "be left out, because the data have no periods", came(given))
        return None
    from dpselect._ground.periods import MAX_PERIODS, parse_periods

    if isinstance(given, list) and len(given) > MAX_PERIODS:
        raise ParameterError("during", f"name at most {MAX_PERIODS} periods", "more", "ask by longer periods")
    if given is None:
        raise ParameterError("during", f"name a {settings.period}, as the promise is for each by itself", "nothing")
    return parse_periods(settings.time, settings.period, given, settings.timezone).names


def _compared(during: tuple[str, ...] | None, given: object, settings: DataSettings) -> Periods:
    """The periods that are meant, and those with which they are compared."""
    if during is None:
        raise ParameterError("compared_with", "be left out, because the data have no periods", came(given))
    from dpselect._ground.periods import MAX_PERIODS, parse_periods

    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list) or len(names) > MAX_PERIODS:
        raise ParameterError("compared_with", f"be a list of at most {MAX_PERIODS} names of periods", came(given))
    return parse_periods(settings.time, settings.period, during, settings.timezone).compared_with(names)


def _fill(verb: str, given: dict[str, Any], item: Key, settings: DataSettings) -> None:
    """What is left out and the owner declared."""
    if verb in ("choose", "histogram") and given.get("domain") is None and isinstance(item, str):
        known = settings.domains.get(item)
        if known is not None:
            from dpselect.release import typed

            given["domain"] = [typed.label_to_json(one) for one in known]
    if verb == "quantile":
        bounds = settings.values[str(item)]
        if given.get("bounds") is None:
            given["bounds"] = [str(bounds.low), str(bounds.high)]
        if bounds.step is not None:
            given.setdefault("step", str(bounds.step))
    weight = given.get("by_weight")
    if isinstance(weight, str) and weight in settings.weights:
        declared = settings.weights[weight]
        given.setdefault("at_most", str(declared.at_most))
        if declared.unit is not None:
            given.setdefault("weight_unit", str(declared.unit))
    if "max_items_per_user" in plan_class(verb).takes and settings.max_items_per_user is not None:
        given.setdefault("max_items_per_user", settings.max_items_per_user)


def _check_sizes(given: Mapping[str, Any], settings: DataSettings) -> None:
    """Before the query is made, which may count up what is asked for."""
    domain = given.get("domain")
    size = len(domain) if isinstance(domain, list) else 0
    if isinstance(domain, Mapping):
        span = domain_from_json("domain", dict(domain))
        size = span.stop - span.start if isinstance(span, Span) else 0
    for name, found, most, where in (
        ("k", given.get("k"), settings.max_k, " for these data"),
        ("k_bar", given.get("k_bar"), MOST_ITEMS, ""),
        ("domain", size, MOST_ITEMS, " items"),
    ):
        if isinstance(found, int) and found > most:
            raise ParameterError(name, f"{'have' if name == 'domain' else 'be'} at most {most:,}{where}", found)


def _priced(given: dict[str, Any], share: object, paying: Callable[[], Paying]) -> Plan:
    """The plan at the price that was named: that of a budget where it is a share, or lacks a delta that it needs.

    Its calibration is the same for everybody who asks it, of whichever rows.
    """
    question, payment, facts = parse_parts(given | ({} if share is None else {"share": share}))
    asks = payment.share is not None or (payment.delta is None and plan_class(question.verb).needs_delta(question))
    return plan_question(question, payment, facts, paying() if asks else None, make=_known)


def _known(question: Question, payment: Payment, facts: Facts) -> Plan:
    """The plan of these, which may be known."""
    said = {**question.to_dict(), **payment.flat_json(), **facts.flat_json()}
    text = json.dumps(said, sort_keys=True)
    found = _PLANS.get(text)
    if found is None:
        found = plan_class(question.verb)(question=question, payment=payment, facts=facts)
        _PLANS.put(text, found, 2 * len(text))  # its name is as long
    return found


def _check(plan: Plan, settings: DataSettings) -> None:
    """What only the owner can open: columns of groups, of weights and of values."""
    for name in plan.by:
        _opened("by", name, settings.groups)
    if plan.totals is not None:
        _opened("by_weight", plan.totals.column, list(settings.weights))
    for measure in plan.measuring:
        _opened("measures", measure.column, list(settings.values))


def _opened(parameter: str, name: str, allowed: Sequence[str]) -> None:
    if name not in allowed:
        hint = suggest(name, list(allowed)) if allowed else "these data have none"
        raise ParameterError(parameter, "name columns that the owner opened for it", came(name), hint)
