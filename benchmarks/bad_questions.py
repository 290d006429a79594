"""Bad parameters: of the verbs of a data set, of the public functions, of mechanisms, of accounting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from fractions import Fraction

import numpy as np
from bad_numbers import NUMBERS, Given, rows

import dpselect as dps
from dpselect._ground.domain import Listed, Size, Span
from dpselect._ground.privacy import ApproxDP, PureDP, Steps
from dpselect.aggregates.user_sets import UserSets
from dpselect.flat import dataset_of
from dpselect.queries.planning import question_from_flat

OPTIONS: dict[str, dict[str, object]] = {
    "top_k": {
        "k": 2, "epsilon": 1, "delta": "1e-6", "domain": None, "counts": False, "k_bar": None, "method": "auto",
        "fresh": False, "progress": None,
    },
    "union": {
        "epsilon": 1, "delta": "1e-6", "method": "weighted-gaussian", "counts": False,
        "popular": None, "in_engine": False, "fresh": False, "progress": None,
    },
    "choose": {
        "domain": ["a", "b"], "epsilon": 1, "method": "exponential", "fresh": False,
        "progress": None,
    },
    "quantile": {
        "q": 0.5, "bounds": (0, 10), "epsilon": 1, "delta": 0, "step": 1, "per_user": "random", "fresh": False,
        "progress": None,
    },
    "median": {"bounds": (0, 10), "epsilon": 1, "step": None, "per_user": "min"},
}  # fmt: skip
DATA: dict[str, object] = {
    "user": "user", "item": "item", "where": None, "max_items_per_user": None, "split": None, "table": None,
    "budget": None,
}  # fmt: skip


def verbs(given: Given) -> object:
    """A verb with odd parameters, of a data set that may have some too."""
    verb = given.chance.choice(sorted(OPTIONS))
    data = dict(DATA) | ({"item": "size"} if verb in ("quantile", "median") else {})
    options = dict(OPTIONS[verb])
    if given.chance.random() < 0.3:
        data = given.spoilt(data)
    else:
        options = given.spoilt(options)
    bounds = options.get("bounds")
    if isinstance(bounds, tuple) and len(bounds) == 2 and given.chance.random() < 0.5:
        options["bounds"] = (given.chance.choice(NUMBERS), given.chance.choice(NUMBERS))
    asking = {name: options.pop(name) for name in ("fresh", "progress") if name in options}
    question, price = question_from_flat("quantile" if verb == "median" else verb, options)
    amounts = {one.name: getattr(price, one.name) for one in price.parameters()}
    return str(dataset_of(rows(), **data).ask(question, **amounts, **asking))  # type: ignore[arg-type]


FUNCTIONS: dict[str, tuple[Callable[..., object], dict[str, object]]] = {
    "choose": (dps.choose, {"scores": {"a": 3, "b": 9}, "epsilon": 1, "sensitivity": 1, "monotonic": False,
        "neighbors": "add-remove", "method": "exponential"}),
    "quantile": (dps.quantile, {"values": [1, 2, 3], "q": 0.5, "bounds": (0, 9), "epsilon": 1, "delta": 0, "step": 1}),
    "forecast": (dps.TopK(3).forecast, {"like": dps.Population(500, items=50, items_per_user=2), "epsilon": "1",
        "delta": "1e-6", "within": None, "threshold": None, "max_items_per_user": 3, "methods": None}),
    "Population": (dps.Population, {"users": 500, "items": 50, "items_per_user": 2, "skew": 1, "groups": None,
        "groups_per_user": 1}),
    "Budget": (dps.Budget, {"epsilon": 1, "delta": "1e-6"}),
    "TopK": (dps.TopK, {"k": 3, "by": "a", "score": None, "counts": False, "measures": None, "domain": ["a"],
                        "method": "peeling"}),
    "By": (dps.By, {"columns": ["a"], "groups": ["x"], "max_groups_per_user": 2, "sizes": False}),
    "Total": (dps.Total, {"column": "a", "at_most": 60, "unit": 1}),
    "Quantile": (dps.Quantile, {"q": 0.5, "bounds": (0, 9), "step": 1, "per_user": "max", "by": None}),
    "Method": (dps.Method, {"name": "discover", "k_bar": None, "in_engine": False, "popular": None}),
    "Listed": (Listed, {"items": ("a", "b")}),
    "Span": (Span, {"start": 0, "stop": 9}),
    "Size": (Size, {"items": 9}),
    "Column": (dps.Column, {"source": {"item": ["a"]}, "column": "item", "table": None}),
    "Text": (dps.Text, {"column": "item", "ngrams": 1, "tokenizer": "words", "lower": True}),
    "Account": (dps.Account, {"dataset": "d", "analyst": "a"}),
}  # fmt: skip
DOMAINS = ("Listed", "Span", "Size", "Column")


def functions(given: Given) -> object:
    """A public function with odd parameters; a domain is also asked for, and a promise made or a grant given."""
    name = given.chance.choice([*FUNCTIONS, "data", "grant"])
    if name in ("data", "grant"):
        return _of_ledger(given, name)
    function, good = FUNCTIONS[name]
    made = function(**given.spoilt(good))
    if name in DOMAINS:
        return str(dps.Dataset(rows(), user="user", item="item").top_k(1, epsilon=1, domain=made))
    return str(made)


def _of_ledger(given: Given, name: str) -> object:
    path = given.path("budget.sqlite")
    given.expected |= {"budget.sqlite-wal", "budget.sqlite-shm"}
    good: dict[str, object] = {"epsilon": 1, "delta": "1e-6"}
    with dps.Ledger.create(path) as ledger:
        if name == "data":
            good |= {"dataset": "d", "unit": "one user", "keep": "0.1", "period": "month", "timezone": "UTC"}
            return ledger.data(**given.spoilt(good))  # type: ignore[arg-type]
        ledger.data("d", 2, "1e-3")
        good |= {"total": False, "every": None}
        return ledger.grant(dps.Account("d", "a"), **given.spoilt(good))  # type: ignore[arg-type]


SHARED: dict[str, object] = {
    "epsilon": 1, "delta": "1e-6", "k": 2, "max_items_per_user": 3, "bounds": (0, 9), "epsilon_per_count": 1,
    "k_bar": 5, "items": 9, "max_groups_per_user": 2, "q": (0.2, 0.5, 0.8),
}  # fmt: skip
OF_SETS = ("RenyiShaped", "DiscoverThenPeel", "TruncatedGeometric")


def mechanisms(given: Given) -> object:
    """A mechanism with odd parameters, or with odd counts."""
    name = given.chance.choice([one for one in dps.mechanisms.__all__ if one not in ("Mechanism", "SetUnion")])
    make = getattr(dps.mechanisms, name)
    every = {one.name: one.default for one in fields(make) if one.init}
    good = {one: SHARED.get(one, default) for one, default in every.items()}
    good = {one: value for one, value in good.items() if value is not MISSING}
    if name == "Quantile":
        good |= {"epsilon_per_pick": None}
    odd = given.spoilt(good) if given.chance.random() < 0.7 else good
    if name not in ("NoisyHistogram", "ReportNoisyMax", "ExponentialMechanism", "PermuteAndFlip"):
        odd = {one: value for one, value in odd.items() if value is not None or every[one] is MISSING}
    made = make(**odd)
    if hasattr(made, "weigh") or name in OF_SETS:
        return made.privacy, made(UserSets.from_sets(["ab", "abc", "", "a"] * 9))
    if name == "LimitedDomainByGroup":
        return made.privacy, made({"g": _counts(given)})
    return made.privacy, made(_counts(given))


def _counts(given: Given) -> object:
    """Counts by label, an array, or neither."""
    odd = [given.odd() for _ in range(4)]
    dtype = given.chance.choice(("int64", "float64", "uint8", "object", "complex128", "float16"))
    forms: list[Callable[[], object]] = [
        lambda: [5, 3, 2, 9],
        lambda: {"a": 5, "b": 3, "c": 1},
        lambda: np.arange(6).astype(dtype),
        lambda: odd,
        lambda: dict(zip("abcd", odd, strict=True)),
        lambda: np.full(3, np.nan),
        lambda: odd[0],
    ]
    return given.chance.choice(forms)()


def accounting(given: Given) -> object:
    """The public functions of accounting."""
    chance, odd = given.chance, given.odd
    steps = [Steps(PureDP(Fraction(1, 10)), 3), Steps(ApproxDP(Fraction(1, 5), Fraction(1, 10**6)), 1)]
    delta: object = Fraction(1, 10**6)
    calls: list[Callable[[], object]] = [
        lambda: dps.accounting.compose(*_spoilt(given, [steps, delta])),
        lambda: dps.accounting.every_bound(*_spoilt(given, [steps, delta])),
        lambda: dps.accounting.frugal(*_spoilt(given, [steps[:1], delta])),
        lambda: dps.accounting.zcdp_to_epsilon(*_spoilt(given, [Fraction(1, 10), delta])),
        lambda: dps.accounting.largest_under_each(*_spoilt(given, [Fraction(1), delta, 10, 1])),
        lambda: dps.accounting.compose([Steps(PureDP(odd()), chance.choice(NUMBERS))], delta),  # type: ignore[arg-type]
        lambda: PureDP(odd()),  # type: ignore[arg-type]
        lambda: ApproxDP(odd(), odd()),  # type: ignore[arg-type]
    ]
    return chance.choice(calls)()


def _spoilt(given: Given, good: list[object]) -> list[object]:
    """The arguments, of which one is odd."""
    place = given.chance.randrange(len(good))
    return [given.odd() if at == place else value for at, value in enumerate(good)]
