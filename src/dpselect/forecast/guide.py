"""`dps.plan`: every parameter checked, a population imagined, and each mechanism tried on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from fractions import Fraction
from typing import Any

import numpy as np

from dpselect._ground import parameters
from dpselect._ground.methods import names
from dpselect._ground.parameters import Number, Progress
from dpselect.draws import Draws
from dpselect.errors import ParameterError, came
from dpselect.forecast import by_group, top_k, union
from dpselect.forecast.by_group import ByGroupForecast
from dpselect.forecast.forecast import Forecast
from dpselect.forecast.population import MOST_EVENTS, Floats, Population, Released, Zipf
from dpselect.forecast.top_k import TopKForecast
from dpselect.forecast.union import UnionForecast
from dpselect.mechanisms.port import check_call, secure
from dpselect.release import formatting
from dpselect.release.release import Release

EPSILONS = ("0.1", "0.3", "1", "3")
USERS, ITEMS = 10_000, 2_000
ITEMS_PER_USER = 10
MOST_ITEMS = 10**7
MOST_USERS = 10**12
STEEPEST = 10
LEAST_EPSILON, LARGEST_EPSILON = Fraction(1, 10_000), Fraction(100)


def plan(
    question: str,
    *,
    k: int | None = None,
    users: int | None = None,
    items: int | None = None,
    items_per_user: Number | None = None,
    skew: Number | None = None,
    like: object = None,
    max_items_per_user: int | None = None,
    epsilon: Number | Iterable[Number] | None = None,
    within: int | None = None,
    users_for: int | None = None,
    delta: Number | None = None,
    methods: str | Iterable[str] | None = None,
    domain_known: bool = False,
    k_bar: int | None = None,
    counts: bool = False,
    groups: int | Iterable[int] | None = None,
    groups_per_user: Number | None = None,
    max_groups_per_user: int | Iterable[int] | None = None,
    progress: Progress | None = None,
    draws: Draws | None = None,
) -> Forecast:
    """What to expect of "top_k" or "union" at each epsilon, by each mechanism, before any budget is spent.

    No data is read. Imagined are `users` (10,000) with `items_per_user` (10) of `items` (2,000) items on average, of
    which the r-th is liked as r^-skew (1.1); or give `like`, a Release with counts or the counts of users that an
    earlier release published. `max_items_per_user` bounds users as in a Dataset, `epsilon` is one value or
    several (0.1, 0.3, 1 and 3), `methods` all that apply unless named. In place of epsilon a top k takes `within` and a
    union `users_for`, as in a Dataset: each mechanism is then shown at the price that follows (docs/within.md).

    A top k (10) takes `k`, `k_bar`, `domain_known`, which is `domain=` of the real question with `items` items, and
    `counts`. Each mechanism is run some times on the imagined counts, planned and priced as for
    real data. The error is the part of the k largest counts' sum that the answer lacks.

    With `groups`, the numbers of users of groups, it is a top k by group: in each group there are so many of the users
    above, who are in `groups_per_user` (1) groups each, and `max_groups_per_user` (1, 2 and 5) are compared.

    A union adds up the release probabilities over the invented users; its error is the part of all (user, item) pairs
    whose item is missing. Counts alone do not tell who shares which items, so policies and rounds need invented
    users, and no more of them than a few hundred thousand uses of items; the others are shown by formula beyond.

        >>> found = plan("union", users=2000, items=100, max_items_per_user=5, epsilon=1, methods="count-laplace")
        >>> [(row.method, 5 < row.items < 50) for row in found]
        [('count-laplace', True)]
    """
    check_call(draws, progress)
    asked = _question(question)
    near = _accuracy(asked, epsilon, within, users_for)
    epsilons: list[Fraction | None] = [None] if near else [*_epsilons(EPSILONS if epsilon is None else epsilon)]
    share = parameters.delta_or_default(delta, needed=asked == "union" or domain_known is not True)
    most = None if max_items_per_user is None else parameters.whole("max_items_per_user", max_items_per_user, least=1)
    if asked == "top_k":
        refused = {"users": users, "like": like, "within": within, "methods": methods, "domain_known": domain_known}
        by_group.alone(
            groups, {"groups_per_user": groups_per_user, "max_groups_per_user": max_groups_per_user}, refused
        )
    population = _population(users, items, items_per_user, skew, like, most)
    tell = progress or (lambda _: None)
    if asked == "top_k" and groups is not None:
        of_groups = by_group.wanted(
            groups,
            groups_per_user,
            max_groups_per_user,
            k=parameters.listed("k", 10 if k is None else k),
            delta=share,
            max_items_per_user=most,
            k_bar=k_bar,
            counts=parameters.flag("counts", counts),
        )
        found = _top_by_group(of_groups, population, epsilons, secure(draws), tell)
    elif asked == "top_k":
        terms = TopKForecast(
            k=parameters.listed("k", 10 if k is None else k),
            delta=share,
            known=parameters.flag("domain_known", domain_known),
            max_items_per_user=most,
            k_bar=k_bar,
            counts=parameters.flag("counts", counts),
            within=within,
        )
        found = _top(terms, population, methods, epsilons, secure(draws), tell)
    else:
        _only_of_a_top_k(k=k, k_bar=k_bar, domain_known=domain_known or None, counts=counts or None)
        _only_of_a_top_k(groups=groups, groups_per_user=groups_per_user, max_groups_per_user=max_groups_per_user)
        wanted = UnionForecast(delta=share, max_items_per_user=most, users_for=users_for)
        found = _union(wanted, population, methods, epsilons, secure(draws), tell)
    tell(1.0)
    return found


def _top(
    terms: TopKForecast,
    population: Population,
    methods: object,
    epsilons: Sequence[Fraction | None],
    draws: Draws,
    tell: Callable[[float], None],
) -> Forecast:
    chosen = _methods(methods, top_k.applying(known=terms.known, bounded=terms.max_items_per_user is not None))
    said: list[str] = []
    rows = tuple(top_k.top_k_rows(terms, population, chosen, epsilons, draws, tell, said))
    if not rows:
        raise ParameterError("within", f"be larger for {', '.join(chosen)}", terms.within)
    sentences = [
        *said,
        population.sentence(),
        *_bound(terms.max_items_per_user),
        f"Each mechanism was run {_runs(chosen)}, planned and priced as for real data; ± is the standard "
        "deviation from one answer to the next.",
        "Smallest count: how many users an item needs to have half a chance to come back. Lost: by how much the "
        f"users of the items fall short of those of the best {terms.k}.",
    ]
    if any(row.threshold is not None for row in rows):
        sentences.append("Threshold: where bottom stands; items that are not above it are rarely told.")
    if any(row.within is not None for row in rows):
        sentences.append("Within: 95 times of 100 no item has over so many users fewer than the k-th best.")
    return Forecast(question="top_k", rows=rows, assumed=_assumed(vars(terms), population), sentences=tuple(sentences))


def _top_by_group(
    terms: ByGroupForecast,
    crowd: Population,
    epsilons: Sequence[Fraction | None],
    draws: Draws,
    tell: Callable[[float], None],
) -> Forecast:
    said: list[str] = []
    assert isinstance(crowd, Zipf)
    rows = tuple(by_group.by_group_rows(terms, crowd, [one for one in epsilons if one], draws, tell, said))
    sentences = [*said, *terms.sentences(crowd), *_bound(terms.max_items_per_user), *by_group.HOW_TO_READ]
    sentences += [by_group.WIDTH] if terms.counts else []
    assumed = _assumed(terms.assumed, crowd)
    del assumed["users"]
    return Forecast(question="top_k", rows=rows, assumed=assumed, sentences=tuple(sentences))


def _union(
    terms: UnionForecast,
    population: Population,
    methods: object,
    epsilons: Sequence[Fraction | None],
    draws: Draws,
    tell: Callable[[float], None],
) -> Forecast:
    most = terms.max_items_per_user
    sets = population.sets(draws)
    chosen = _methods(methods, union.applying(most, users=sets is not None), _why(most, sets is not None))
    world = union.Averages(population) if sets is None else union.Sample(sets, draws)
    refused: dict[str, list[Fraction]] = {}
    said: list[str] = []
    rows = tuple(union.union_rows(terms, world, chosen, epsilons, tell, refused, said))
    if not rows and said:
        raise ParameterError("users_for", f"be larger for {', '.join(chosen)}", terms.users_for)
    if not rows:
        raise ParameterError("epsilon", f"be large enough for {', '.join(chosen)}", "smaller values")
    if terms.users_for is not None:
        near = f"{terms.users_for:,} users have it and no other item"
        said.insert(0, f"Epsilon is what it costs to find an item, 95 times of 100, if {near}.")
    by = "for one draw of invented users" if sets else "at the expected weights"
    if any(name in union.POLICIES for name in chosen):
        by += f" (policies: in {union.ORDERS} orders of users and items)"
    sentences = [
        *said,
        population.sentence(),
        *_bound(most),
        f"Items are sums of exact release probabilities {by}; ± is the standard deviation from one answer to the next.",
        "Smallest count: how many users an item needs to have half a chance to come back. Lost: the part of all (user, "
        "item) pairs whose item is missing. Threshold: the weight that is released with probability one half.",
    ]
    if any(row.method in union.ROUNDS for row in rows):
        sentences.append(f"Mechanisms with rounds ({', '.join(union.ROUNDS)}) were run {union.RUNS} times instead.")
    left_out = [name for name in names("union") if name not in chosen] if methods is None else []
    if left_out:
        sentences.append(f"Left out: {', '.join(left_out)}; {_why(most, sets is not None)}.")
    for method, at in refused.items():
        sentences.append(f"{method} is left out at epsilon {', '.join(map(formatting.short, at))}, too small for it.")
    return Forecast(question="union", rows=rows, assumed=_assumed(vars(terms), population), sentences=tuple(sentences))


# ---- parameters -------------------------------------------------------------------------------------------------


def _question(question: object) -> str:
    return parameters.one_of("question", question, ("top_k", "union"))


def _accuracy(asked: str, epsilon: object, within: object, users_for: object) -> bool:
    """Is an accuracy named in place of epsilons? Each is for one question, and stands alone."""
    name, other = ("within", "users_for") if asked == "top_k" else ("users_for", "within")
    named = {"within": within, "users_for": users_for}
    if named[other] is not None:
        raise ParameterError(other, f"be left out for {asked}", came(named[other]), f"it takes {name}")
    if named[name] is None:
        return False
    if epsilon is not None:
        raise ParameterError(name, "be left out where epsilon is given", came(named[name]))
    parameters.whole(name, named[name], least=1)
    return True


@parameters.unquoted("epsilon", "be a positive number or several")
def _epsilons(epsilon: Any) -> list[Fraction]:
    """One or several, ascending, each once."""
    given = parameters.several("epsilon", epsilon, "be a positive number or several")
    if not given:
        raise ParameterError("epsilon", "be a positive number or several", "none")
    found = sorted({parameters.positive("epsilon", one) for one in given})
    for one in found:
        if not LEAST_EPSILON <= one <= LARGEST_EPSILON:
            raise ParameterError("epsilon", "be between 0.0001 and 100 for a forecast", formatting.short(one))
    return found


@parameters.unquoted("methods", "be names of methods")
def _methods(methods: Any, known: Sequence[str], hint: str | None = None) -> list[str]:
    if methods is None:
        return list(known)
    named = [methods] if isinstance(methods, str) else list(methods) if isinstance(methods, Iterable) else []
    if not named:
        raise ParameterError("methods", "name at least one method", came(methods))
    for name in named:
        if not isinstance(name, str) or name not in known:
            raise ParameterError("methods", f"be among {', '.join(known)} here", came(name), hint)
    return list(dict.fromkeys(named))


def _population(
    users: object, items: object, per_user: object, skew: object, like: object, most: int | None
) -> Population:
    if like is None:
        return _invented(users, items, per_user, skew)
    for name, value in (("users", users), ("skew", skew)):
        if value is not None:
            raise ParameterError(name, "be left out where `like` is given", came(value))
    known = _released(like)
    size = len(known) if items is None else _items(items)
    if size < len(known):
        raise ParameterError("items", "be at least the number of counts", size)
    has = (most or 1) if per_user is None else parameters.whole("items_per_user", per_user, least=1)
    return Released(counts=known, items=size, items_per_user=has)


def _invented(users: object, items: object, per_user: object, skew: object) -> Zipf:
    people = parameters.whole("users", USERS if users is None else users, least=1)
    if people > MOST_USERS:
        raise ParameterError("users", "be at most 10^12", people)
    size = ITEMS if items is None else _items(items)
    usual = min(Fraction(ITEMS_PER_USER), Fraction(size, 2))
    has = usual if per_user is None else parameters.positive("items_per_user", per_user)
    if has > Fraction(9, 10) * size:
        raise ParameterError("items_per_user", "be at most nine tenths of items", came(per_user))
    must = f"be a number from 0 to {STEEPEST}"
    falls = parameters.rational("skew", "1.1" if skew is None else skew, must)
    if not 0 <= falls <= STEEPEST:
        raise ParameterError("skew", must, came(skew))
    return Zipf(users=people, items=size, items_per_user=float(has), skew=float(falls))


def _items(items: object) -> int:
    size = parameters.whole("items", items, least=1)
    if size > MOST_ITEMS:
        raise ParameterError("items", "be at most 10^7 for a forecast", size)
    return size


def _released(like: Any) -> Floats:
    """Counts of an earlier release, the largest first; noise may have taken some below 0, which says none."""
    must = "be a Release with counts, or whole numbers of users that were released before"
    if isinstance(like, Release):
        if not like.counted:
            raise ParameterError("like", must, "a Release without", "ask for them with counts=True")
        like = [item.count for item in like]
    if isinstance(like, (str, bytes, dict)) or not isinstance(like, Iterable):
        raise ParameterError("like", must, came(like))
    whole = [parameters.whole("like", one, least=-(2**53)) for one in like]
    if not any(one > 0 for one in whole):
        raise ParameterError("like", must, "none above 0")
    if max(whole) > 2**53:
        raise ParameterError("like", "be at most 2^53", "a larger one")
    return -np.sort(-np.maximum(np.array(whole, dtype=np.float64), 0))


def _only_of_a_top_k(**given: object) -> None:
    for name, value in given.items():
        if value is not None:
            raise ParameterError(name, "be left out for a union", came(value))


# ---- sentences --------------------------------------------------------------------------------------------------


def _bound(most: int | None) -> list[str]:
    return [] if most is None else [f"Every user keeps at most {most} items, chosen at random."]


def _runs(methods: Sequence[str]) -> str:
    """How often: less where every count is noised, which takes longer."""
    fewer = [name for name in methods if top_k.runs_of(name) != top_k.RUNS]
    if len(fewer) == len(methods):
        return f"{top_k.RUNS_OF_NOISE} times"
    return f"{top_k.RUNS} times" + (f" ({' and '.join(fewer)} {top_k.RUNS_OF_NOISE} times)" if fewer else "")


def _why(most: int | None, users: bool) -> str:
    """Why a method of a union may not apply."""
    reasons = [] if most is not None else ["most need max_items_per_user"]
    if not users:
        reasons.append(
            "policies and rounds depend on who shares which items, so they need invented users, with at most about "
            f"{MOST_EVENTS:,} uses of items in all"
        )
    return "; ".join(reasons)


def _assumed(terms: dict[str, object], population: Population) -> dict[str, object]:
    given = {one.name: getattr(population, one.name) for one in fields(population)}  # type: ignore[arg-type]
    if isinstance(population, Released):
        given["like"] = len(population.counts)
    return {**given, **terms}
