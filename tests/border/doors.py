"""Every public door that takes a number, and the numbers that somebody may push through it.

Run as a module with parts of the doors: every number at each door and at each name of a parameter, under a limit of
processor time. It is answered or refused by a ParameterError; the line before the end says which one was not.
"""

from __future__ import annotations

import inspect
import resource
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np

import dpselect as dps
from dpselect import mechanisms
from dpselect._ground.domain import Size, Span
from dpselect._ground.privacy import ZCDP, AnySteps, ApproxDP, BoundedRange, PureDP, Steps
from dpselect.testing import SeededDraws
from tests.by_names import by_names, drawn
from tests.covering import covering_of
from tests.one_duckdb import shared

SECONDS = 20  # of processor time for one call
LONGEST = 1200  # characters of a message: what came takes at most 300 of them


class Named(float):
    """A float with a `repr` of its own."""

    def __repr__(self) -> str:
        return "alice" * 100_000


HOSTILE: dict[str, object] = {
    "nan": float("nan"), "inf": float("inf"), "-inf": float("-inf"), "1e300": 1e300, "5e-324": 5e-324,
    "1e-300": 1e-300, "-0.0": -0.0, "0": 0, "-1": -1, "0.5": 0.5, "2.5": 2.5, "7": 7, "2^31": 2**31, "2^53": 2**53,
    "2^53 + 1": 2**53 + 1, "2^63": 2**63, "2^64": 2**64, "10^18": 10**18, "10^400": 10**400, "10^5000": 10**5000,
    "-10^5000": -(10**5000), "2^(10^7)": 2**10**7,
    "Decimal NaN": Decimal("NaN"), "Decimal sNaN": Decimal("sNaN"), "Decimal inf": Decimal("Infinity"),
    "Decimal 1e999999999": Decimal("1e999999999"), "Decimal 1e-999999999": Decimal("1e-999999999"),
    "Decimal 0e-999999999": Decimal("0e-999999999"), "Decimal of many digits": Decimal("0." + "1" * 100_000),
    "'1e999999999'": "1e999999999", "'-1e-999999999'": "-1e-999999999",
    "'1e99999999999999999999'": "1e99999999999999999999",
    "'0e999999999'": "0e999999999", "many nines": "9" * 100_000, "many ones": "0." + "1" * 100_000,
    "a long fraction": "1/" + "7" * 100_000, "'1/0'": "1/0", "'1/3'": "1/3", "'nan'": "nan", "'inf'": "inf", "''": "",
    "'0x10'": "0x10", "'1_000'": "1_000", "'0,5'": "0,5", "a long text": "x" * 100_000, "a surrogate": "\ud800",
    "a huge fraction": Fraction(10**5000 + 1, 10**5000), "a tiny fraction": Fraction(1, 10**5000),
    "a small fraction": Fraction(1, 10**300), "Fraction 10^300": Fraction(10**300),
    "True": True, "numpy True": np.True_, "complex": 1j, "None": None, "bytes": b"1", "an array": np.array([1, 2]),
    "an array of none": np.array(1), "a list": [1], "a tuple": (1,), "a dict": {}, "an object": object(),
    "a class": int, "float16 inf": np.float16("inf"), "float32 0.1": np.float32(0.1),
    "longdouble 0.1": np.longdouble("0.1"),
    "longdouble 1e4000": np.longdouble("1e4000"), "uint8": np.uint8(200), "int64 min": np.int64(-(2**63)),
    "uint64 max": np.uint64(2**64 - 1), "complex128": np.complex128(1), "a date": np.datetime64("2024-01-01"),
    "a named float": Named(0.5),
}  # fmt: skip


@dataclass(frozen=True)
class Door:
    """A callable, what is given to it usually, and which of that are numbers."""

    name: str
    call: Callable[..., object]
    usual: dict[str, Any]
    numbers: tuple[str, ...] = field(default=())

    def knock(self, **other: object) -> object:
        """The answer with something else in the place of what is usual."""
        return self.call(**{**self.usual, **other})


# ---- the doors ----------------------------------------------------------------------------------------------

NOT_NUMBERS = {"neighbors", "monotonic", "loss", "noise", "popular", "kind"}
USUAL: dict[str, Any] = {
    "epsilon": 1, "delta": Fraction(1, 10**6), "k": 2, "k_bar": 5, "max_items_per_user": 3, "epsilon_per_count": 1,
    "max_groups_per_user": 2, "q": ("0.2", "0.5", "0.7"),
    "bounds": (0, 10), "rounds": 3, "items": 5,
}  # fmt: skip
TWO_WAYS = {"epsilon_per_pick", "delta_threshold"}  # beside epsilon, or in its place


def of_mechanisms() -> Iterator[Door]:
    """Every mechanism, every field."""
    for name in mechanisms.__all__:
        made = getattr(mechanisms, name)
        if getattr(made, "_is_protocol", False) or inspect.isabstract(made):
            continue
        parameters = inspect.signature(made).parameters
        needed = {p for p, one in parameters.items() if one.default is inspect.Parameter.empty}
        usual = {p: USUAL[p] for p in needed | ({"epsilon"} & set(parameters))}
        numbers = tuple(p for p in parameters if p not in NOT_NUMBERS and p != "epsilon_per_pick")
        yield Door(name, made, usual, numbers)
        if "epsilon_per_pick" in parameters:
            per_pick = {**usual, "epsilon": None, "epsilon_per_pick": 1}
            yield Door(f"{name} by the pick", made, per_pick, ("epsilon_per_pick", *sorted(needed - {"bounds"})))


def of_accounting() -> Iterator[Door]:
    """Every function, and every number inside its steps."""
    from dpselect import accounting

    delta = Fraction(1, 10**6)

    def steps(epsilon: Any = 1, rho: Any = 1, failure: Any = delta, times: Any = 2) -> list[AnySteps]:
        pure = [Steps(BoundedRange(epsilon), times), Steps(PureDP(epsilon), 3)]
        return [*pure, AnySteps(ApproxDP(epsilon, failure), times), AnySteps(ZCDP(rho), times)]

    inside = ("epsilon", "rho", "failure", "times", "delta")
    for name in ("compose", "every_bound", "frugal"):
        function = getattr(accounting, name)

        def call(delta: Any = delta, function: Any = function, **step: Any) -> object:
            return function(steps(**step), delta)

        yield Door(name, call, {}, inside)

        def picks(epsilon: Any = 1, times: Any = 2, delta: Any = delta, function: Any = function) -> object:
            return function([Steps(BoundedRange(epsilon), times), Steps(PureDP(epsilon), 1)], delta)

        yield Door(f"{name} of picks", picks, {}, ("epsilon", "times", "delta"))
    yield Door("zcdp_to_epsilon", accounting.zcdp_to_epsilon, {"rho": 1, "delta": delta}, ("rho", "delta"))

    def largest(epsilon: Any = 1, delta: Any = delta, times: Any = 5) -> object:
        return accounting.largest_epsilon(lambda x: [Steps(BoundedRange(x), times)], epsilon, delta)

    yield Door("largest_epsilon", largest, {}, ("epsilon", "delta", "times"))
    usual = {"epsilon": 1, "delta": delta, "k": 5, "queries": 2}
    yield Door("largest_under_each", accounting.largest_under_each, usual, tuple(usual))


def draws() -> SeededDraws:
    """The same for every call."""
    return SeededDraws(1)


def rows() -> dict[str, list[Any]]:
    """Twenty users of three items."""
    return {"user": [f"u{i}" for i in range(20)] * 3, "item": [1] * 20 + [2] * 20 + [3] * 20}


def of_verbs() -> Iterator[Door]:
    """choose, quantile, median, and the verbs of a Dataset."""
    scores = {"a": 3, "b": 90}

    def fresh(function: Callable[..., object], *first: object) -> Callable[..., object]:
        return lambda **given: drawn(draws(), lambda: function(*first, **given))

    yield Door("choose", fresh(dps.choose, scores), {"epsilon": 1}, ("epsilon", "sensitivity"))
    ends = {"bounds": (0, 10), "epsilon": 1}
    values = [1, 2, 3, 4]
    yield Door("quantile", fresh(dps.quantile, values), ends, ("q", "epsilon", "delta", "step", "bounds"))

    def low(low: Any = 0, high: Any = 10, step: Any = None, q: Any = 0.5) -> object:
        return drawn(draws(), lambda: dps.quantile(values, [q], bounds=(low, high), step=step, epsilon=1))

    yield Door("quantile bounds", low, {}, ("low", "high", "step", "q"))
    data = dps.Dataset(rows(), user="user", item="item")
    few = dps.Dataset(rows(), user="user", item="item", max_items_per_user=2)
    usual = {"epsilon": 1, "delta": "1e-6"}
    more = ("k", "epsilon", "delta")
    yield Door("top_k", fresh(by_names(data).top_k), usual, (*more, "k_bar"))
    for method in (
        "limited-domain",
        "limited-domain-sparse",
        "discover",
    ):
        yield Door(f"top_k {method}", fresh(by_names(few).top_k), {**usual, "method": method}, more)
    known = {**usual, "k": 2, "domain": [1, 2, 3, 4]}
    yield Door("top_k known", fresh(by_names(data).top_k), known, (*more, "domain"))
    yield Door("top_k known, counts", fresh(by_names(data).top_k), {**known, "counts": True}, more)
    for method in ("canonical-set", "peeling"):
        yield Door(f"top_k {method}", fresh(by_names(data).top_k), {**known, "method": method}, more)
    weights = dps.Dataset(rows() | {"w": [0.5, 2, 3] * 20}, user="user", item="item")
    caps = ("by_weight", "at_most", "weight_unit")
    yield Door("top_k by weights", fresh(by_names(weights).top_k), {**usual, "by_weight": "w", "at_most": 2}, caps)
    noisy = {**known, "by_weight": "w", "at_most": 2, "weight_unit": 1, "counts": True}
    yield Door("top_k known, by weights", fresh(by_names(weights).top_k), noisy, (*caps, "epsilon"))

    def measured(low: Any = 0, high: Any = 4, unit: Any = 1, epsilon: Any = 1) -> object:
        measures = [dps.Sum("w", low, high, unit=unit), dps.Mean("w", low, high)]
        return by_names(weights).top_k(2, epsilon=epsilon, domain=[1, 2, 3], measures=measures, draws=draws())

    yield Door("measures", measured, {}, ("low", "high", "unit", "epsilon"))
    yield Door("top_k of a size", fresh(by_names(data).top_k), {**known, "domain": 100}, ("domain", "k"))
    yield Door("Dataset.choose", fresh(by_names(data).choose), {"epsilon": 1, "domain": [1, 2]}, ("epsilon", "domain"))
    listed = {"epsilon": 1, "delta": "1e-6", "domain": [1, 2]}
    yield Door("Dataset.histogram", fresh(by_names(data).histogram), listed, ("epsilon", "delta", "domain"))
    yield Door("Dataset.users", fresh(by_names(data).users), {"epsilon": 1}, ("epsilon", "delta"))
    yield Door("Dataset.quantile", fresh(by_names(data).quantile), ends, ("q", "epsilon", "delta", "step"))
    yield Door(
        "Dataset.union",
        fresh(by_names(data).union),
        {**usual, "method": "weighted-gaussian"},
        ("epsilon", "delta", "max_items_per_user"),
    )
    yield Door("Dataset.union auto", fresh(by_names(data).union), usual, ("epsilon", "delta", "max_items_per_user"))

    def bounded(most: Any) -> object:
        return by_names(dps.Dataset(rows(), user="user", item="item", max_items_per_user=most)).top_k(
            2, draws=draws(), **usual
        )

    yield Door("Dataset", bounded, {"most": 2}, ("most",))

    def words(ngrams: Any = 2, longest: Any = None, share: Any = None) -> object:
        text = {"user": ["a", "b"] * 20, "text": ["so it goes"] * 40}
        grams = ngrams if longest is None else (1, longest)
        one = dps.Dataset(text, user="user", item=dps.Text("text", ngrams=grams))
        shares = None if share is None else [share, "0.1"]
        return by_names(one).union(max_items_per_user=2, shares=shares, draws=draws(), **usual)

    yield Door("text", words, {}, ("ngrams", "longest", "share"))


def of_budgets() -> Iterator[Door]:
    """A Ledger's grants; domains; forecasts."""

    def promised(epsilon: Any = 1, delta: Any = "1e-6", keep: Any = "0.1") -> object:
        with TemporaryDirectory() as folder, dps.Ledger.create(str(Path(folder, "budget.db"))) as ledger:
            return ledger.data("rows", epsilon, delta, keep=keep)

    def granted(epsilon: Any = 1, delta: Any = "1e-6") -> object:
        with TemporaryDirectory() as folder, dps.Ledger.create(str(Path(folder, "budget.db"))) as ledger:
            ledger.data("rows", 1000, "0.1")
            return ledger.grant(dps.Account(dataset="rows", analyst="ada"), epsilon, delta)

    yield Door("Ledger.data", promised, {}, ("epsilon", "delta", "keep"))
    yield Door("Ledger.grant", granted, {}, ("epsilon", "delta"))
    yield Door("Size", Size, {"items": 3}, ("items",))
    yield Door("Span", Span, {"start": 0, "stop": 10}, ("start", "stop"))


def of_plans() -> Iterator[Door]:
    """Forecasts."""

    def of_top(k: Any = 3, k_bar: Any = None, like: Any = None, **given: Any) -> object:
        people = {name: given.pop(name) for name in dps.Population.flat_names() if name in given}
        question = dps.TopK(k, method=dps.Method("limited-domain", k_bar=k_bar))
        crowd = dps.Population(**people) if like is None else like
        return drawn(draws(), lambda: question.forecast(crowd, **given))

    def of_union(**given: Any) -> object:
        people = {name: given.pop(name) for name in dps.Population.flat_names() if name in given}
        question = dps.Union(method="count-laplace")
        return drawn(draws(), lambda: question.forecast(dps.Population(**people), **given))

    def counts(count: Any) -> object:
        return drawn(draws(), lambda: dps.TopK(method="limited-domain").forecast([count, 5, 3], epsilon=1))

    usual = {"epsilon": 1, "users": 1000, "items": 50}
    every = ("users", "items", "items_per_user", "skew", "epsilon", "delta", "max_items_per_user")
    yield Door("forecast top_k", of_top, usual, (*every, "k", "k_bar", "like"))
    yield Door("forecast union", of_union, {**usual, "max_items_per_user": 3}, every)
    yield Door("forecast by group", dps.Population, {"groups": [50, 20]}, ("groups", "groups_per_user"))
    yield Door("forecast counts", counts, {"count": 100}, ("count",))


PARTS: dict[str, Callable[[], Iterator[Door]]] = {
    "mechanisms": of_mechanisms,
    "accounting": of_accounting,
    "verbs": of_verbs,
    "budgets": of_budgets,
    "plans": of_plans,
}


# ---- the walk -----------------------------------------------------------------------------------------------


def limit() -> None:
    """The system ends this process when the next call takes longer than it may."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    most = int(used.ru_utime + used.ru_stime) + SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def tell(what: str) -> None:
    """At once, for the system may end this process."""
    sys.stdout.write(what)
    sys.stdout.flush()


Knock = tuple[Door, str, str]
"""A door, one of its parameters, and the name of a hostile number."""


def knocks(part: str) -> list[Knock]:
    """Every number at every door, and at every name of a parameter; every parameter of every door."""
    every = [(door, name, label) for door in PARTS[part]() for name in door.numbers for label in HOSTILE]
    return covering_of(every, pairs_of)


def pairs_of(knock: Knock) -> frozenset[tuple[str, str]]:
    """What a knock meets."""
    door, name, label = knock
    return frozenset({(door.name, name), (door.name, label), (name, label)})


def walk(parts: list[str]) -> int:
    """Push numbers through every door of these parts; how many were wrongly received."""
    wrong = 0
    for door, name, label in [knock for part in parts for knock in knocks(part)]:
        limit()
        tell(f"{door.name}({name}={label}) ")
        try:
            door.knock(**{name: HOSTILE[label]})
        except dps.ParameterError as error:
            long = len(str(error)) > LONGEST or "alice" in str(error)
            wrong += long
            tell("TOO LONG\n" if long else "refused\n")
        except dps.BudgetError:
            tell("too dear\n")
        except Exception as error:
            wrong += 1
            tell(f"RAISED {type(error).__name__}: {str(error)[:100]}\n")
        else:
            tell("answered\n")
    return wrong


if __name__ == "__main__":
    with shared(duckdb.connect()):
        sys.exit(1 if walk(sys.argv[1:]) else 0)
