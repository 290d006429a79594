"""`Question.forecast`: users are imagined, and each mechanism that may answer is tried on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpselect._ground import parameters
from dpselect._ground.domain import Domain, max_domain_size
from dpselect._ground.methods import method_row, names
from dpselect._ground.parameters import Number, Progress
from dpselect.draws import Draws, secure
from dpselect.errors import ParameterError, came
from dpselect.forecast import by_group, top_k, union
from dpselect.forecast.by_group import ByGroupForecast
from dpselect.forecast.crowds import MOST_EVENTS, Crowd, Floats, Released, Zipf
from dpselect.forecast.forecast import Forecast
from dpselect.forecast.population import MOST_ITEMS, Population
from dpselect.forecast.top_k import TopKForecast
from dpselect.forecast.union import UnionForecast
from dpselect.queries.top.groups import METHOD
from dpselect.questions.parts import SET, Method
from dpselect.questions.questions import Question, TopK, Union
from dpselect.release import formatting
from dpselect.release.release import Release

EPSILONS = ("0.1", "0.3", "1", "3")
LEAST_EPSILON, LARGEST_EPSILON = Fraction(1, 10_000), Fraction(100)
LIKE = "be a Population, a Release with counts, or whole numbers of users that were released before"
ACCURACIES = {"top_k": "within", "union": "threshold"}  # what stands in place of epsilon

Epsilons = Sequence[Fraction | None]
"""The prices that are compared; None is the one that follows from an accuracy."""


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
    """`Question.forecast`, with draws that a test may give."""
    parameters.check_callable("progress", progress)
    asked = _known(question)
    near = _accuracy(asked.verb, epsilon, within=within, threshold=threshold)
    epsilons: Epsilons = _epsilons(EPSILONS if epsilon is None else epsilon) if near is None else [None]
    share = parameters.delta_or_default(delta, needed=getattr(asked, "domain", None) is None)
    most = (
        None
        if max_items_per_user is None
        else parameters.whole_number("max_items_per_user", max_items_per_user, minimum=1)
    )
    trial = Trial(asked, methods, epsilons, secure(), progress or (lambda _: None))
    if asked.verb == "union":
        crowd = _crowd(like, None, most)
        if asked.counts and most is None:
            raise ParameterError("max_items_per_user", "be given for a forecast of counts", "nothing")
        terms = UnionForecast(delta=share, max_items_per_user=most, threshold=near, counts=asked.counts)
        found = _union(terms, crowd, trial)
    else:
        k_bar = None if asked.method is None else asked.method.k_bar
        bounds = {"delta": share, "max_items_per_user": most, "k_bar": k_bar}
        of_top = {"k": parameters.listed_size("k", asked.k), "counts": asked.counts, **bounds}
        if asked.by is None:
            crowd = _crowd(like, asked.domain, most)
            found = _top(TopKForecast(known=asked.domain is not None, within=near, **of_top), crowd, trial)
        else:
            people = _in_groups(like, near)
            of_groups = ByGroupForecast(**_groups(people, asked.by.max_groups_per_user), **of_top)
            found = _top_by_group(of_groups, _imagined(people), trial)
    trial.tell(1.0)
    return found


@dataclass(frozen=True)
class Trial:
    """What is tried: a question that has a forecast, by which methods, at which epsilons."""

    question: Any
    methods: Any
    epsilons: Epsilons
    draws: Draws
    tell: Callable[[float], None]

    @property
    def any_method(self) -> bool:
        """Is no method named?"""
        return self.methods is None and (self.question.method is None or self.question.method.name is None)

    def chosen(self, known: Sequence[str], hint: str | None = None) -> list[str]:
        """The methods that are tried, of those that apply."""
        if self.any_method:
            return list(known)
        if self.methods is not None:
            return _methods(self.methods, known, hint)
        name, verb = self.question.method.name, self.question.verb
        found = [one for one in known if name in (one, None if method_row(verb, one).ordered else SET)]
        if not found:
            raise ParameterError("method", f"be among {', '.join(known)} here", came(name), hint)
        return found


def _top(terms: TopKForecast, crowd: Crowd, trial: Trial) -> Forecast:
    chosen = trial.chosen(top_k.applying(known=terms.known))
    said: list[str] = []
    rows = tuple(top_k.top_k_rows(terms, crowd, chosen, trial.epsilons, trial.draws, trial.tell, said))
    if not rows:
        raise ParameterError("within", f"be larger for {', '.join(chosen)}", terms.within)
    sentences = [
        *said,
        crowd.sentence(),
        f"Each mechanism was run {top_k.RUNS} times, planned and priced as for real data; ± is the standard "
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
    return Forecast(question="top_k", rows=rows, assumed=_assumed(vars(terms), crowd), sentences=tuple(sentences))


def _top_by_group(terms: ByGroupForecast, crowd: Zipf, trial: Trial) -> Forecast:
    trial.chosen([METHOD])
    said: list[str] = []
    epsilons = [one for one in trial.epsilons if one]
    rows = tuple(by_group.by_group_rows(terms, crowd, epsilons, trial.draws, trial.tell, said))
    sentences = [*said, *terms.sentences(crowd), *by_group.HOW_TO_READ]
    sentences += [by_group.WIDTH] if terms.counts else []
    assumed = _assumed(terms.assumed, crowd)
    del assumed["users"]
    return Forecast(question="top_k", rows=rows, assumed=assumed, sentences=tuple(sentences))


def _union(terms: UnionForecast, crowd: Crowd, trial: Trial) -> Forecast:
    most = terms.max_items_per_user
    sets = crowd.sets(trial.draws)
    chosen = trial.chosen(union.applying(most, users=sets is not None), _why(most, sets is not None))
    world = union.Averages(crowd) if sets is None else union.Sample(sets, trial.draws)
    refused: dict[str, list[Fraction]] = {}
    said: list[str] = []
    rows = tuple(union.union_rows(terms, world, chosen, trial.epsilons, trial.tell, refused, said))
    if not rows and said:
        raise ParameterError("threshold", f"be larger for {', '.join(chosen)}", terms.threshold)
    if not rows:
        raise ParameterError("epsilon", f"be large enough for {', '.join(chosen)}", "smaller values")
    if terms.threshold is not None:
        near = f"{terms.threshold:,} users have it and no other item"
        said.insert(0, f"Epsilon: the cost of finding an item, with 95 % confidence, if {near}.")
    by = "for one draw of invented users" if sets else "at the expected weights"
    if any(name in union.POLICIES for name in chosen):
        by += f" (policies: in {union.ORDERS} orders of users and items)"
    sentences = [
        *said,
        crowd.sentence(),
        *_bound(most),
        f"Items are sums of exact release probabilities {by}; ± is the standard deviation from one answer to the next.",
        "Smallest count: how many users an item needs to be returned with probability 1/2. Lost: the share of all "
        "(user, item) pairs whose item is missing. Threshold: the weight that is released with probability one half.",
    ]
    if any(row.method in union.ROUNDS for row in rows):
        sentences.append(f"Mechanisms with rounds ({', '.join(union.ROUNDS)}) were run {union.RUNS} times instead.")
    if terms.counts:
        sentences.append("Width: counts are within this many users, with 95 % confidence.")
    left_out = [name for name in names("union") if name not in chosen] if trial.any_method else []
    if left_out:
        sentences.append(f"Left out: {', '.join(left_out)}; {_why(most, sets is not None)}.")
    for method, at in refused.items():
        sentences.append(f"{method} is left out at epsilon {', '.join(map(formatting.short, at))}, too small for it.")
    return Forecast(question="union", rows=rows, assumed=_assumed(vars(terms), crowd), sentences=tuple(sentences))


# ---- parameters -------------------------------------------------------------------------------------------------


def _known(question: Question) -> Any:
    """A question whose parts all have a forecast; its fields are what their kinds made of them."""
    if not isinstance(question, (TopK, Union)):
        hint = "the accuracy of other questions does not depend on data: question.at(epsilon=1).accuracy"
        raise ParameterError("question", "be a TopK or a Union for a forecast", type(question).__name__, hint)
    asked: Any = question
    method = asked.method or Method()
    others = {"in_engine": method.in_engine, "popular": method.popular}
    if isinstance(question, Union):
        others |= {"by": asked.by}
    else:
        others |= {"score": asked.score, "measures": asked.measures}
        if asked.by is not None:
            others |= {"domain": asked.domain, "groups": asked.by.groups, "sizes": asked.by.sizes}
    for name, value in others.items():
        if value not in (None, False):
            hint = f"of the question without {name} there is one"
            raise ParameterError(name, "be left out for a forecast", type(value).__name__, hint)
    return asked


def _accuracy(verb: str, epsilon: object, **given: object) -> int | None:
    """The accuracy that is named in place of epsilons, if one is. Each is for one question."""
    name = ACCURACIES[verb]
    for other, value in given.items():
        if other != name and value is not None:
            raise ParameterError(other, f"be left out for {verb}", came(value), f"it takes {name}")
    if given[name] is None:
        return None
    if epsilon is not None:
        raise ParameterError(name, "be left out if epsilon is given", came(given[name]))
    return parameters.whole_number(name, given[name], minimum=1)


@parameters.hide_elements("epsilon", "be a positive number or several")
def _epsilons(epsilon: Any) -> list[Fraction]:
    """One or several, ascending, each once."""
    given = parameters.as_list("epsilon", epsilon, "be a positive number or several")
    if not given:
        raise ParameterError("epsilon", "be a positive number or several", "none")
    found = sorted({parameters.positive("epsilon", one) for one in given})
    for one in found:
        if not LEAST_EPSILON <= one <= LARGEST_EPSILON:
            raise ParameterError("epsilon", "be between 0.0001 and 100 for a forecast", formatting.short(one))
    return found


@parameters.hide_elements("methods", "be names of methods")
def _methods(methods: Any, known: Sequence[str], hint: str | None) -> list[str]:
    given: list[Any] = parameters.as_list("methods", methods, "be names of methods")
    if not given:
        raise ParameterError("methods", "name at least one method", came(methods))
    for name in given:
        if not isinstance(name, str) or name not in known:
            raise ParameterError("methods", f"be among {', '.join(known)} here", came(name), hint)
    return list(dict.fromkeys(given))


# ---- who is imagined --------------------------------------------------------------------------------------------


def _crowd(like: object, domain: Domain | None, most: int | None) -> Crowd:
    """The users of a question without groups, with the items of its domain where it has one."""
    size = None if domain is None else _size(domain)
    if like is None or isinstance(like, Population):
        given = Population() if like is None else like
        if given.groups is not None:
            raise ParameterError("groups", "be left out if the question has no by", came(given.groups))
        return _imagined(given if size is None else replace(given, items=size))
    counts = _released(like)
    if size is not None and size < len(counts):
        raise ParameterError("domain", "have at least as many items as there are counts", size)
    return Released(counts=counts, items=size or len(counts), items_per_user=most or 1)


def _size(domain: Domain) -> int:
    """How many items a domain has."""
    size = max_domain_size(domain)
    if size is None or size > MOST_ITEMS:
        must = f"be a list, a range or a number, of {MOST_ITEMS:,} items at most"
        raise ParameterError("domain", must, "a Column" if size is None else f"{size:,}")
    return size


def _imagined(given: Population) -> Zipf:
    """The users as numbers that are computed with."""
    mean, skew = float(given.mean_items), float(Fraction(given.skew))
    return Zipf(users=given.users, items=given.items, items_per_user=mean, skew=skew)


def _in_groups(like: object, within: int | None) -> Population:
    """The users of a question by group."""
    if within is not None:
        raise ParameterError("within", "be left out if the question has by", within)
    if not isinstance(like, Population) or like.groups is None:
        hint = "numbers of users of groups: Population(groups=[20_000, 800])"
        raise ParameterError("groups", "be given in a Population where the question has by", "nothing", hint)
    return like


def _groups(people: Population, most: int | None) -> dict[str, Any]:
    """The groups, in how many of them users are, and in how many they count: several numbers where none is said."""
    groups: Any = people.groups
    compared = tuple(one for one in by_group.COMPARED if one <= len(groups)) if most is None else (most,)
    return {"groups": groups, "groups_per_user": people.groups_per_user, "max_groups_per_user": compared}


def _released(like: object) -> Floats:
    """Counts of an earlier release."""
    if not isinstance(like, Release):
        return _counts(like)
    if not like.counted:
        raise ParameterError("like", LIKE, "a Release without", "ask for them with counts=True")
    return _counts([item.count for item in like])


@parameters.hide_elements("like", LIKE)
def _counts(like: Any) -> Floats:
    """The largest first; noise may have taken some below 0, which says none."""
    if isinstance(like, (str, bytes, dict)) or not isinstance(like, Iterable):
        raise ParameterError("like", LIKE, came(like))
    whole = [parameters.whole_number("like", one, minimum=-(2**53)) for one in parameters.as_list("like", like, LIKE)]
    if not any(one > 0 for one in whole):
        raise ParameterError("like", LIKE, "none above 0")
    if max(whole) > 2**53:
        raise ParameterError("like", "be at most 2^53", "a larger one")
    return -np.sort(-np.maximum(np.array(whole, dtype=np.float64), 0))


# ---- sentences --------------------------------------------------------------------------------------------------


def _bound(most: int | None) -> list[str]:
    return [] if most is None else [f"Every user keeps at most {most} items, chosen at random."]


def _why(most: int | None, users: bool) -> str:
    """Why a method of a union may not apply."""
    reasons = [] if most is not None else ["most need max_items_per_user"]
    if not users:
        reasons.append(
            "policies and rounds depend on who shares which items, so they need simulated users, with at most about "
            f"{MOST_EVENTS:,} uses of items in all"
        )
    return "; ".join(reasons)


def _assumed(terms: dict[str, object], crowd: Crowd) -> dict[str, object]:
    given = {one.name: getattr(crowd, one.name) for one in fields(crowd)}  # type: ignore[arg-type]
    if isinstance(crowd, Released):
        given["like"] = len(crowd.counts)
    return {**given, **terms}
