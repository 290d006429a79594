"""`Question.forecast`: each mechanism that may answer is tried on imagined users."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpselect._ground import parameters
from dpselect._ground.dataclass import dataclass
from dpselect._ground.domain import Domain, max_domain_size
from dpselect._ground.methods import method_row, names
from dpselect._ground.parameters import Number, Progress
from dpselect.draws import Draws, secure
from dpselect.errors import ParameterError, came
from dpselect.forecast import by_group, top_k, union
from dpselect.forecast.by_group import ByGroupForecast
from dpselect.forecast.crowds import MAX_EVENTS, Crowd, Floats, Released, Zipf
from dpselect.forecast.forecast import Forecast
from dpselect.forecast.population import MAX_ITEMS, Population
from dpselect.forecast.top_k import TopKForecast
from dpselect.forecast.union import UnionForecastTerms
from dpselect.queries.top.groups import LIMITED_BY_GROUP
from dpselect.questions.parts import BY_BOUND, SET, Method
from dpselect.questions.questions import Question, TopK, Union
from dpselect.release import formatting
from dpselect.release.release import Release

_EPSILONS = ("0.1", "0.3", "1", "3")
_MIN_EPSILON, _MAX_EPSILON = Fraction(1, 10_000), Fraction(100)
_MUST_BE_LIKE = "be a Population, a Release with counts, or whole numbers of users that were released before"
_ACCURACY_OF_VERB = {"top_k": "within", "union": "threshold"}  # the accuracy that may replace epsilon

Epsilons = Sequence[Fraction | None]
"""The epsilons that are compared; None follows from an accuracy."""


def forecast(
    question: Question,
    like: object = None,
    *,
    epsilon: Number | Iterable[Number] | None = None,
    delta: Number | None = None,
    within: int | None = None,
    threshold: int | None = None,
    max_items_per_user: int | None = None,
    methods: str | Iterable[str] | None = None,
    progress: Progress | None = None,
) -> Forecast:
    """Make the forecast of `Question.forecast`."""
    parameters.check_callable("progress", progress)
    checked_question = _check_question(question)
    accuracy = _parse_accuracy(checked_question.verb, epsilon, within=within, threshold=threshold)
    epsilons: Epsilons = _parse_epsilons(_EPSILONS if epsilon is None else epsilon) if accuracy is None else [None]
    delta_value = parameters.delta_or_default(delta, needed=getattr(checked_question, "domain", None) is None)
    max_items = (
        None
        if max_items_per_user is None
        else parameters.whole_number("max_items_per_user", max_items_per_user, minimum=1)
    )
    trial = Trial(checked_question, methods, epsilons, secure(), progress or (lambda _: None))
    if checked_question.verb == "union":
        crowd = _imagine_crowd(like, None, max_items)
        if checked_question.counts and max_items is None:
            raise ParameterError("max_items_per_user", "be given for a forecast of counts", "nothing")
        terms = UnionForecastTerms(
            delta=delta_value, max_items_per_user=max_items, threshold=accuracy, counts=checked_question.counts
        )
        made_forecast = _forecast_union(terms, crowd, trial)
    else:
        k_bar = None if checked_question.method is None else checked_question.method.k_bar
        shared_parameters = {"delta": delta_value, "max_items_per_user": max_items, "k_bar": k_bar}
        top_parameters = {
            "k": parameters.listed_size("k", checked_question.k),
            "counts": checked_question.counts,
            **shared_parameters,
        }
        if checked_question.by is None:
            crowd = _imagine_crowd(like, checked_question.domain, max_items)
            made_forecast = _forecast_top(
                TopKForecast(known=checked_question.domain is not None, within=accuracy, **top_parameters), crowd, trial
            )
        else:
            population = _parse_groups(like, accuracy)
            group_terms = ByGroupForecast(
                **_group_parameters(population, checked_question.by.max_groups_per_user), **top_parameters
            )
            made_forecast = _forecast_top_by_group(group_terms, _imagine_users(population), trial)
    trial.report_progress(1.0)
    return made_forecast


@dataclass(frozen=True)
class Trial:
    """The question of a forecast, and the methods and epsilons that are tried."""

    question: Any
    methods: Any
    epsilons: Epsilons
    draws: Draws
    report_progress: Callable[[float], None]

    @property
    def any_method(self) -> bool:
        """True if no method is named."""
        method = self.question.method
        return self.methods is None and (method is None or method.name in (None, BY_BOUND))

    def choose_methods(self, applicable: Sequence[str], hint: str | None = None) -> list[str]:
        """Return the methods that are tried, of those that apply."""
        if self.any_method:
            return list(applicable)
        if self.methods is not None:
            return _parse_methods(self.methods, applicable, hint)
        name, verb = self.question.method.name, self.question.verb
        matching = [
            method for method in applicable if name in (method, None if method_row(verb, method).ordered else SET)
        ]
        if not matching:
            raise ParameterError("method", f"be among {', '.join(applicable)} here", came(name), hint)
        return matching


def _forecast_top(terms: TopKForecast, crowd: Crowd, trial: Trial) -> Forecast:
    method_names = trial.choose_methods(top_k.applicable_methods(has_domain=terms.known))
    notes: list[str] = []
    rows = tuple(
        top_k.top_k_rows(terms, crowd, method_names, trial.epsilons, trial.draws, trial.report_progress, notes)
    )
    if not rows:
        raise ParameterError("within", f"be larger for {', '.join(method_names)}", terms.within)
    sentences = [
        *notes,
        crowd.describe(),
        f"Each mechanism was run {top_k.RANKINGS_DRAWN} times, planned and priced as for real data; ± is the standard "
        "deviation from one answer to the next.",
        "Smallest count: how many users an item needs to be returned with probability 1/2. Lost: by how much the "
        f"users of the items fall short of those of the best {terms.k}.",
    ]
    if any(row.threshold is not None for row in rows):
        sentences.append("Threshold: what an item must exceed; items below it are rarely returned.")
    if any(row.within is not None for row in rows):
        sentences.append(
            "Within: with 95 % confidence no returned item has more than this many users fewer than the k-th best."
        )
    return Forecast(
        question="top_k", rows=rows, assumed=_list_assumptions(vars(terms), crowd), sentences=tuple(sentences)
    )


def _forecast_top_by_group(terms: ByGroupForecast, crowd: Zipf, trial: Trial) -> Forecast:
    trial.choose_methods([LIMITED_BY_GROUP])
    notes: list[str] = []
    epsilons = [epsilon for epsilon in trial.epsilons if epsilon]
    rows = tuple(by_group.by_group_rows(terms, crowd, epsilons, trial.draws, trial.report_progress, notes))
    sentences = [*notes, *terms.sentences(crowd), *by_group.HOW_TO_READ]
    sentences += [by_group.WIDTH_SENTENCE] if terms.counts else []
    assumed = _list_assumptions(terms.assumed, crowd)
    del assumed["users"]
    return Forecast(question="top_k", rows=rows, assumed=assumed, sentences=tuple(sentences))


def _forecast_union(terms: UnionForecastTerms, crowd: Crowd, trial: Trial) -> Forecast:
    max_items = terms.max_items_per_user
    sets = crowd.sets(trial.draws)
    method_names = trial.choose_methods(
        union.applicable_methods(max_items, users=sets is not None), _explain_omission(max_items, sets is not None)
    )
    crowd_data = union.Averages(crowd) if sets is None else union.Sample(sets, trial.draws)
    refused: dict[str, list[Fraction]] = {}
    notes: list[str] = []
    rows = tuple(
        union.union_rows(terms, crowd_data, method_names, trial.epsilons, trial.report_progress, refused, notes)
    )
    if not rows and notes and terms.threshold is not None:
        raise ParameterError("threshold", f"be larger for {', '.join(method_names)}", terms.threshold)
    if not rows:
        raise ParameterError("epsilon", f"be large enough for {', '.join(method_names)}", "smaller values")
    if terms.threshold is not None:
        condition = f"{terms.threshold:,} users have it and no other item"
        notes.insert(0, f"Epsilon: the cost of finding an item, with 95 % confidence, if {condition}.")
    basis = "for one draw of invented users" if sets else "at the expected weights"
    if any(name in union.POLICY_METHODS for name in method_names):
        basis += f" (policies: in {union.ORDERS_DRAWN} orders of users and items)"
    sentences = [
        *notes,
        crowd.describe(),
        *_describe_bound(max_items),
        f"Items are sums of exact release probabilities {basis}; ± is the standard deviation from one answer to the "
        "next.",
        "Smallest count: how many users an item needs to be returned with probability 1/2. Lost: the share of all "
        "(user, item) pairs whose item is missing. Threshold: the weight that is released with probability one half.",
    ]
    if any(row.method in union.ROUND_METHODS for row in rows):
        sentences.append(
            f"Mechanisms with rounds ({', '.join(union.ROUND_METHODS)}) were run {union.UNIONS_DRAWN} times instead."
        )
    if terms.counts:
        sentences.append("Width: counts are within this many users, with 95 % confidence.")
    left_out = [name for name in names("union") if name not in method_names] if trial.any_method else []
    if left_out:
        sentences.append(f"Left out: {', '.join(left_out)}; {_explain_omission(max_items, sets is not None)}.")
    for method, epsilons in refused.items():
        sentences.append(
            f"{method} is left out at epsilon {', '.join(map(formatting.short, epsilons))}, too small for it."
        )
    return Forecast(
        question="union", rows=rows, assumed=_list_assumptions(vars(terms), crowd), sentences=tuple(sentences)
    )


# ---- parameters -------------------------------------------------------------------------------------------------


def _check_question(question: Question) -> Any:
    """Return the question if all its parts have a forecast, else raise ParameterError; its fields are parsed."""
    if not isinstance(question, (TopK, Union)):
        hint = "the accuracy of other questions does not depend on data: question.at(epsilon=1).accuracy"
        raise ParameterError("question", "be a TopK or a Union for a forecast", type(question).__name__, hint)
    checked_question: Any = question
    method = checked_question.method or Method()
    unsupported = {"in_engine": method.in_engine, "popular": method.popular}
    if isinstance(question, Union):
        unsupported |= {"by": checked_question.by}
    else:
        unsupported |= {"score": checked_question.score, "measures": checked_question.measures}
        if checked_question.by is not None:
            unsupported |= {
                "domain": checked_question.domain,
                "groups": checked_question.by.groups,
                "sizes": checked_question.by.sizes,
            }
    for name, value in unsupported.items():
        if value not in (None, False):
            hint = f"of the question without {name} there is one"
            raise ParameterError(name, "be left out for a forecast", type(value).__name__, hint)
    return checked_question


def _parse_accuracy(verb: str, epsilon: object, **accuracies: object) -> int | None:
    """Return the accuracy that replaces epsilon, or None. Each accuracy belongs to one question."""
    name = _ACCURACY_OF_VERB[verb]
    for parameter, value in accuracies.items():
        if parameter != name and value is not None:
            raise ParameterError(parameter, f"be left out for {verb}", came(value), f"it takes {name}")
    if accuracies[name] is None:
        return None
    if epsilon is not None:
        raise ParameterError(name, "be left out if epsilon is given", came(accuracies[name]))
    return parameters.whole_number(name, accuracies[name], minimum=1)


@parameters.hide_elements("epsilon", "be a positive number or several")
def _parse_epsilons(epsilon: Any) -> list[Fraction]:
    """Return one or several epsilons, ascending and without duplicates."""
    values = parameters.as_list("epsilon", epsilon, "be a positive number or several")
    if not values:
        raise ParameterError("epsilon", "be a positive number or several", "none")
    parsed = sorted({parameters.positive("epsilon", value) for value in values})
    for value in parsed:
        if not _MIN_EPSILON <= value <= _MAX_EPSILON:
            raise ParameterError("epsilon", "be between 0.0001 and 100 for a forecast", formatting.short(value))
    return parsed


@parameters.hide_elements("methods", "be names of methods")
def _parse_methods(methods: Any, applicable: Sequence[str], hint: str | None) -> list[str]:
    names: list[Any] = parameters.as_list("methods", methods, "be names of methods")
    if not names:
        raise ParameterError("methods", "name at least one method", came(methods))
    for name in names:
        if not isinstance(name, str) or name not in applicable:
            raise ParameterError("methods", f"be among {', '.join(applicable)} here", came(name), hint)
    return list(dict.fromkeys(names))


# ---- imagined users ---------------------------------------------------------------------------------------------


def _imagine_crowd(like: object, domain: Domain | None, max_items: int | None) -> Crowd:
    """Return the users of a question without groups, with the items of its domain if it has one."""
    size = None if domain is None else _domain_size(domain)
    if like is None or isinstance(like, Population):
        population = Population() if like is None else like
        if population.groups is not None:
            raise ParameterError("groups", "be left out if the question has no by", came(population.groups))
        return _imagine_users(population if size is None else replace(population, items=size))
    counts = _parse_released(like)
    if size is not None and size < len(counts):
        raise ParameterError("domain", "have at least as many items as there are counts", size)
    return Released(counts=counts, items=size or len(counts), items_per_user=max_items or 1)


def _domain_size(domain: Domain) -> int:
    """Return the number of items of a domain."""
    size = max_domain_size(domain)
    if size is None or size > MAX_ITEMS:
        must = f"be a list, a range or a number, of {MAX_ITEMS:,} items at most"
        raise ParameterError("domain", must, "a Column" if size is None else f"{size:,}")
    return size


def _imagine_users(population: Population) -> Zipf:
    """Return the users of a population."""
    mean_items, skew = float(population.mean_items), float(Fraction(population.skew))
    return Zipf(users=population.users, items=population.items, items_per_user=mean_items, skew=skew)


def _parse_groups(like: object, within: int | None) -> Population:
    """Return the population of a question by group."""
    if within is not None:
        raise ParameterError("within", "be left out if the question has by", within)
    if not isinstance(like, Population) or like.groups is None:
        hint = "numbers of users of groups: Population(groups=[20_000, 800])"
        raise ParameterError("groups", "be given in a Population where the question has by", "nothing", hint)
    return like


def _group_parameters(population: Population, max_groups: int | None) -> dict[str, Any]:
    """Return the groups, groups per user, and bounds on groups per user.

    Several bounds are compared if the question has none.
    """
    groups: Any = population.groups
    bounds = (
        tuple(bound for bound in by_group.COMPARED_BOUNDS if bound <= len(groups))
        if max_groups is None
        else (max_groups,)
    )
    return {"groups": groups, "groups_per_user": population.groups_per_user, "max_groups_per_user": bounds}


def _parse_released(like: object) -> Floats:
    """Return the counts of an earlier release, or counts that are given as numbers."""
    if not isinstance(like, Release):
        return _parse_counts(like)
    if not like.counted:
        raise ParameterError("like", _MUST_BE_LIKE, "a Release without", "ask for them with counts=True")
    return _parse_counts([item.count for item in like])


@parameters.hide_elements("like", _MUST_BE_LIKE)
def _parse_counts(like: Any) -> Floats:
    """Return counts, the largest first; negative ones, which noise may make, become 0."""
    if isinstance(like, (str, bytes, dict)) or not isinstance(like, Iterable):
        raise ParameterError("like", _MUST_BE_LIKE, came(like))
    counts = [
        parameters.whole_number("like", count, minimum=-(2**53))
        for count in parameters.as_list("like", like, _MUST_BE_LIKE)
    ]
    if not any(count > 0 for count in counts):
        raise ParameterError("like", _MUST_BE_LIKE, "none above 0")
    if max(counts) > 2**53:
        raise ParameterError("like", "be at most 2^53", "a larger one")
    return -np.sort(-np.maximum(np.array(counts, dtype=np.float64), 0))


# ---- sentences --------------------------------------------------------------------------------------------------


def _describe_bound(max_items: int | None) -> list[str]:
    return [] if max_items is None else [f"Every user keeps at most {max_items} items, chosen at random."]


def _explain_omission(max_items: int | None, has_users: bool) -> str:
    """Return why some methods of a union do not apply."""
    reasons = [] if max_items is not None else ["most need max_items_per_user"]
    if not has_users:
        reasons.append(
            "policies and rounds depend on who shares which items, so they need simulated users, with at most about "
            f"{MAX_EVENTS:,} uses of items in all"
        )
    return "; ".join(reasons)


def _list_assumptions(terms: dict[str, object], crowd: Crowd) -> dict[str, object]:
    assumptions = {field.name: getattr(crowd, field.name) for field in fields(crowd)}  # type: ignore[arg-type]
    if isinstance(crowd, Released):
        assumptions["like"] = len(crowd.counts)
    return {**assumptions, **terms}
