"""The methods that a question may name: one row each. Menus, help, forecasts, automatic choices and keys read it.

A row says where the class of its mechanism is, and nothing is imported before it is made. What no verb offers has no
row: a question cannot name it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from enum import StrEnum
from typing import Any

from dpselect._ground import parameters
from dpselect._ground.dataclass import dataclass

AUTO = "auto"


class NeedsBound(StrEnum):
    """The use that a mechanism has for `max_items_per_user`."""

    NONE = "none"
    OPTIONAL = "optional"
    REQUIRED = "required"


class WeightRule(StrEnum):
    """The rule by which users of a set union give weight to their items."""

    SUM = "sum"  # whatever others give
    POLICY = "policy"  # looking at what others have given
    ROUNDS = "rounds"  # sums, in rounds that share one budget


@dataclass(frozen=True, kw_only=True)
class MethodRow:
    """A method that a question may name: its verb, the class of its mechanism, and what that needs."""

    name: str
    verb: str
    home: str  # "mechanisms.choose.exponential:ExponentialMechanism"
    help: str
    domain: bool = False  # does it need a known domain?
    delta: bool = True  # does it need a delta above 0?
    bound: NeedsBound = NeedsBound.OPTIONAL
    ordered: bool = True  # do its items come best first?
    weights: WeightRule | None = None
    popular: bool = False  # does it take a public list of likely items?
    in_engine: bool = False  # can an engine add up its weights?
    of_users: bool = False  # does it select by numbers of users alone, and by no other score?

    @property
    def mechanism(self) -> Callable[..., Any]:
        """Class of the mechanism, imported now."""
        module, _, name = self.home.partition(":")
        mechanism_class: Callable[..., Any] = getattr(importlib.import_module(f"dpselect.{module}"), name)
        return mechanism_class

    def make(self, **fields: object) -> Any:
        """Make the mechanism from its fields."""
        return self.mechanism(**fields)


NONE, OPTIONAL, REQUIRED = NeedsBound.NONE, NeedsBound.OPTIONAL, NeedsBound.REQUIRED
SUM, POLICY, ROUNDS = WeightRule.SUM, WeightRule.POLICY, WeightRule.ROUNDS


def _top_k(name: str, home: str, help: str, **options: Any) -> MethodRow:
    return MethodRow(name=name, verb="top_k", home=f"mechanisms.{home}", help=help, **options)


def _choose(name: str, home: str, help: str) -> MethodRow:
    home = f"mechanisms.choose.{home}"
    return MethodRow(name=name, verb="choose", home=home, help=help, domain=True, delta=False, bound=NONE)


def _union(name: str, home: str, help: str, weights: WeightRule, bound: NeedsBound, **options: Any) -> MethodRow:
    return MethodRow(
        name=name,
        verb="union",
        home=f"mechanisms.{home}",
        help=help,
        weights=weights,
        bound=bound,
        ordered=False,
        **options,
    )


METHODS: tuple[MethodRow, ...] = (
    _top_k("limited-domain", "top_k.limited_domain:LimitedDomain", "picks among the k_bar items with the most users"),
    _top_k(
        "limited-domain-sparse",
        "top_k.sparse_limited_domain:LimitedDomainSparse",
        "picks among the k_bar items with the most users, shown while they pass one noisy threshold",
    ),
    _top_k(
        "discover",
        "top_k.discover:DiscoverThenPeel",
        "a set union finds items, peeling ranks the best of them",
        of_users=True,
    ),
    _top_k("peeling", "top_k.peeling:Peeling", "one pick after the other", domain=True, delta=False),
    _top_k(
        "canonical-set",
        "joint.canonical_set:CanonicalSet",
        "the whole set in one draw, by the canonical loss",
        domain=True,
        delta=False,
        ordered=False,
    ),
    _choose("exponential", "exponential:ExponentialMechanism", "the exponential mechanism"),
    _choose("permute-and-flip", "permute_and_flip:PermuteAndFlip", "never worse in expectation, dearer in composition"),
    _union(
        "count-laplace",
        "set_union.count_laplace:CountLaplace",
        "numbers of users, Laplace noise, which may be shown",
        SUM,
        REQUIRED,
        in_engine=True,
    ),
    _union(
        "count-gaussian",
        "set_union.count_gaussian:CountGaussian",
        "numbers of users, Gaussian noise, which may be shown",
        SUM,
        REQUIRED,
        in_engine=True,
    ),
    _union(
        "weighted-gaussian",
        "set_union.weighted:WeightedGaussian",
        "a user of t items gives each 1/sqrt(t); Gaussian noise",
        SUM,
        REQUIRED,
        in_engine=True,
    ),
    _union(
        "truncated-geometric",
        "set_union.count:TruncatedGeometric",
        "one random item of each user, optimal release",
        SUM,
        NONE,
        in_engine=True,
    ),
    _union(
        "greedy-geometric",
        "set_union.greedy:GreedyGeometric",
        "a user gives all to one item, greedily; optimal release",
        POLICY,
        OPTIONAL,
        popular=True,
    ),
    _union(
        "renyi-shaped",
        "set_union.renyi_shaped:RenyiShaped",
        "rounds of the steepest release curves that one Renyi budget allows",
        ROUNDS,
        REQUIRED,
        in_engine=True,
    ),
)
_BY_NAME = {(method.verb, method.name): method for method in METHODS}


def methods(verb: str, *, domain: bool | None = None) -> list[MethodRow]:
    """Return the rows of a verb; with `domain` only those for a known domain, or only those for an unknown one."""
    return [row for row in METHODS if row.verb == verb and domain in (None, row.domain)]


def method_row(verb: str, name: str) -> MethodRow:
    """Return the row of a method that is known."""
    return _BY_NAME[verb, name]


def names(verb: str, *, domain: bool | None = None) -> list[str]:
    """Return the names of a verb's methods."""
    return [row.name for row in methods(verb, domain=domain)]


def parse_method_name(verb: str, name: object, *, domain: bool | None = None, context: str = "") -> str:
    """Return a name that the caller gave, or "auto" if the verb has that.

    Raises: ParameterError, which lists the names.
    """
    known_names = [*([] if verb == "choose" else [AUTO]), *names(verb, domain=domain)]
    return parameters.one_of("method", name, known_names, context)
