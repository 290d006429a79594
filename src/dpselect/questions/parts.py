"""Parts of questions: groups, what ranks items, methods with parameters of their own; and the price of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, ClassVar

from dpselect._ground import methods, parameters
from dpselect._ground.dataclass import dataclass
from dpselect._ground.domain import Column, Domain, max_domain_size
from dpselect._ground.methods import AUTO
from dpselect._ground.parameters import Number
from dpselect.errors import ParameterError, came
from dpselect.questions.kinds import (
    COLUMN,
    COLUMNS,
    DELTA,
    EPSILON,
    FLAG,
    LISTED,
    NUMBER,
    PERIODS,
    SHARE,
    ParameterKind,
    domain_from_json,
    items_to_json,
    whole_number_kind,
)
from dpselect.questions.value import ParameterSet, frozen, param

if TYPE_CHECKING:
    from dpselect.release.release import Release


SET = "set"
BY_BOUND = "by-bound"
_WISHES = {"top_k": (SET,), "union": (BY_BOUND,)}  # names of the best method of a kind
METHOD_OPTIONS = ("k_bar", "in_engine", "popular")
METHODS_WITH_K_BAR = ("limited-domain", "limited-domain-sparse")


@frozen
class By(ParameterSet):
    """Answer in every group, such as every country, at the price of the groups in which one user counts.

    Groups are found unless `groups` lists them. A user in more than `max_groups_per_user` groups counts in only that
    many, chosen at random. If the number is left out, a user counts in all listed groups; where groups are found, a
    top k chooses it privately with a twentieth of epsilon, and other questions use 1. `sizes=True` is for a top k only.
    """

    error_noun: ClassVar[str] = "groups"

    columns: str | Sequence[str] = param(
        COLUMNS, help="repeat the question in every group of these columns, such as country", flat="by"
    )
    _: KW_ONLY
    groups: Sequence[Any] | Column | None = param(
        LISTED, default=None, help="only these groups, each returned even if empty"
    )
    max_groups_per_user: int | None = param(
        whole_number_kind(),
        default=None,
        help="the most groups per user (default: all listed, or chosen privately, or 1)",
    )
    sizes: bool = param(
        FLAG, default=False, help="also the noisy number of users of each group", flat="users", rare=True
    )


@dataclass(frozen=True)
class ResolvedGroups:
    """The groups of a question, with the bound that is meant where none is given."""

    by: tuple[str, ...]
    listed_groups: Domain | None
    max_groups_per_user: int | None  # None if it is to be chosen
    sizes: bool

    @classmethod
    def from_by(cls, by: By, *, chooses: bool = False) -> ResolvedGroups:
        """Return the groups of `by`; `chooses`: a bound that is not given can be chosen privately.

        Without a bound a user counts in all listed groups, so that their number is the sensitivity. A column lists an
        unknown number.
        """
        columns: Any = by.columns
        listed_groups: Any = by.groups
        max_groups_per_user = by.max_groups_per_user
        if max_groups_per_user is None and listed_groups is not None:
            max_groups_per_user = max_domain_size(listed_groups)
            if max_groups_per_user is None and not chooses:
                requirement = "be given if only reading the list tells how many groups there are"
                hint = "By(..., max_groups_per_user=1), --max-groups-per-user; or list the groups"
                raise ParameterError("max_groups_per_user", requirement, "nothing", hint)
        elif max_groups_per_user is None and not chooses:
            max_groups_per_user = 1
        return cls(columns, listed_groups, max_groups_per_user, by.sizes)

    @property
    def key_fields(self) -> dict[str, object]:
        """Fields by which a ledger knows the groups."""
        return {"by": self.by, "groups": self.listed_groups, "max_groups_per_user": self.max_groups_per_user}

    @property
    def groups_per_user(self) -> int:
        """Largest number of groups in which one user counts: no more than are listed."""
        listed_size = None if self.listed_groups is None else max_domain_size(self.listed_groups)
        assert self.max_groups_per_user is not None
        return self.max_groups_per_user if listed_size is None else min(self.max_groups_per_user, listed_size)

    @property
    def bound(self) -> int | None:
        """Number of groups of a user where it keeps some from counting; None where no more groups are listed."""
        listed_size = None if self.listed_groups is None else max_domain_size(self.listed_groups)
        return None if self.groups_per_user == listed_size else self.groups_per_user


@frozen
class Total(ParameterSet):
    """Rank by the sum over users of a column of numbers, of which one user adds at most `at_most` to an item.

    A user's total in their rows of the item is rounded to `unit` and capped at `at_most`. The cap is in the column's
    own unit and must not be chosen by these data; leave it out if the owner of a gateway declares it.
    """

    error_noun: ClassVar[str] = "weights"

    column: str = param(COLUMN, help="rank by sums over users of this column of numbers", flat="by_weight")
    _: KW_ONLY
    at_most: Number | None = param(NUMBER, default=None, help="the most that one user adds to an item's sum")
    unit: Number | None = param(
        NUMBER, default=None, help="the unit to which a user's total is rounded (1)", flat="weight_unit", rare=True
    )


@frozen
class Gain(ParameterSet):
    """Rank by how many users an item gained, or lost, since other periods, such as the month before."""

    error_noun: ClassVar[str] = "gains"

    over: str | Sequence[str] = param(
        PERIODS,
        help="rank by the users gained since these periods, such as 2026-09; as many as are asked about",
        flat="compared_with",
        rare=True,
    )
    _: KW_ONLY
    lost: bool = param(FLAG, default=False, help="rank by the users lost since then, instead of gained", rare=True)


def _parse_popular(name: str, value: Any) -> tuple[Any, ...]:
    from dpselect.release.release import Release

    labels = value.labels if isinstance(value, Release) else value
    if isinstance(labels, (str, bytes)) or not isinstance(labels, Sequence):
        raise ParameterError(name, "be a list of items, best first, or a release", type(value).__name__)
    try:
        items = tuple(dict.fromkeys(labels))
    except TypeError:
        raise ParameterError(name, "hold items that can be looked up", "others") from None
    if any(isinstance(item, int) and item.bit_length() > parameters.MAX_BITS for item in items):
        raise ParameterError(name, "hold integers of a thousand digits at most", "a longer one")
    return items


def _parse_name(name: str, value: object) -> str:
    known_names = [AUTO, SET, BY_BOUND, *dict.fromkeys(row.name for row in methods.METHODS)]
    if not isinstance(value, str) or value not in known_names:
        raise ParameterError(name, "be the name of a method", came(value), parameters.suggest(value, known_names))
    return value


POPULAR_ITEMS = ParameterKind(
    _parse_popular, "POPULAR", items_to_json, domain_from_json, lambda value: repr(list(value))
)


@frozen
class Method(ParameterSet):
    """A method and its parameters, if dpselect should not choose. A method's name alone may be given instead.

    `name` may also be "set": the best method for a top k without an order; or "by-bound": the best one for a union by a
    bound that it chooses, where no account composes.
    """

    error_noun: ClassVar[str] = "a method"

    name: str | None = param(
        ParameterKind(_parse_name, "TEXT"),
        default=None,
        help="the method, if dpselect should not choose it",
        flat="method",
        rare=True,
    )
    _: KW_ONLY
    k_bar: int | None = param(
        whole_number_kind(), default=None, help="how many of the items with the most users to consider", rare=True
    )
    in_engine: bool = param(FLAG, default=False, help="leave users and their items in the engine", rare=True)
    popular: Sequence[Any] | Release | None = param(
        POPULAR_ITEMS,
        default=None,
        help="a public list of items that many users are likely to have, best first",
        rare=True,
    )

    def check(self) -> None:
        """Read "auto" as no name; refuse `popular` in an engine, where no user sees what others gave."""
        if self.name == AUTO:
            object.__setattr__(self, "name", None)
        if self.in_engine and self.popular:
            raise ParameterError("in_engine", "be left out if popular is given", True, _HINTS["in_engine"])


def check_method(verb: str, method: Method) -> Method | None:
    """Return the method as a question of this verb takes it, a method of the verb with options that it has, or None."""
    if method.name is not None:
        check_method_name(verb, method.name)
    for option in METHOD_OPTIONS:
        if getattr(method, option) and not _takes(verb, method.name, option):
            requirement = f"be left out for {method.name or verb}"
            raise ParameterError(option, requirement, came(getattr(method, option)), _HINTS[option])
    return method if any(True for _ in method.non_default_fields()) else None


def _takes(verb: str, name: str | None, option: str) -> bool:
    if option == "k_bar":
        return verb == "top_k" and (name is None or name in METHODS_WITH_K_BAR)
    if option == "in_engine":
        able_names = ["discover"] if verb == "top_k" else [row.name for row in methods.methods(verb) if row.in_engine]
        return bool(able_names) and (name is None or name in able_names)
    able_names = [row.name for row in methods.methods(verb) if row.popular]
    return bool(able_names) and (name is None or name in able_names)


def method_names(verb: str) -> list[str]:
    """Return the names that the method of a verb may have."""
    return [*([] if verb == "choose" else [AUTO]), *methods.names(verb), *_WISHES.get(verb, ())]


def check_method_name(verb: str, name: object) -> None:
    """Refuse a name that is no method of this verb."""
    parameters.one_of("method", name, method_names(verb))


_HINTS = {
    "k_bar": "limited domain alone looks at the items with the most users",
    "in_engine": "the others need the items of users in memory",
    "popular": "users who give all to one item choose popular ones first: greedy-geometric",
}


AMOUNTS = ("epsilon", "within", "threshold", "share")
ACCURACIES = ("within", "threshold")


@frozen
class Payment(ParameterSet):
    """The price of an answer. Of epsilon, an accuracy and a share one is given; a delta may go with each."""

    error_noun: ClassVar[str] = "a price"

    _: KW_ONLY
    epsilon: Number | None = param(
        EPSILON, default=None, help="one person changes the odds of any answer by a factor of at most e^epsilon"
    )
    delta: Number | None = param(
        DELTA,
        default=None,
        help="bounds the chance that this fails (at most 1e-6 to find items or groups, else 0)",
    )
    within: int | None = param(
        whole_number_kind(),
        default=None,
        help="instead of epsilon: the accuracy, in [users or ranks](plan.md#accuracy-first)",
    )
    threshold: int | None = param(
        whole_number_kind(),
        default=None,
        help="instead of epsilon: an item [is found](plan.md#accuracy-first) if this many users have only it",
    )
    share: Number | None = param(SHARE, default=None, help='instead of epsilon: a share of the budget, such as "1%"')

    def check(self) -> None:
        """Refuse more than one amount."""
        given_name, *more_names = [name for name in AMOUNTS if getattr(self, name) is not None] or [""]
        for name in more_names:
            hint = f"each is a price of its own: give {given_name} or {name}"
            raise ParameterError(name, f"be left out if {given_name} is given", came(getattr(self, name)), hint)

    @property
    def accuracy(self) -> str | None:
        """Name of the accuracy that is asked for, if one is."""
        return next((name for name in ACCURACIES if getattr(self, name) is not None), None)
