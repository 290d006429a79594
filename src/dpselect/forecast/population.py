"""Population: the imagined users of a forecast, as a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, replace
from fractions import Fraction
from typing import Any, ClassVar

from dpselect._ground import parameters
from dpselect._ground.parameters import Number
from dpselect.errors import ParameterError, came
from dpselect.questions.kinds import COLUMNS, NUMBER, whole_number_kind
from dpselect.questions.value import ParameterSet, frozen, param

DEFAULT_USERS, DEFAULT_ITEMS, _ITEMS_PER_USER = 10_000, 2_000, 10
_MAX_USERS, MAX_ITEMS, _MAX_GROUPS = 10**12, 10**7, 1000
_MAX_SKEW = 10
_MUST_BE_GROUP_SIZES = "be numbers of users of groups, one for each"


def _parse_skew(name: str, value: Any) -> Fraction:
    must = f"be a number from 0 to {_MAX_SKEW}"
    skew = parameters.rational(name, value, must)
    if not 0 <= skew <= _MAX_SKEW:
        raise ParameterError(name, must, came(value))
    return skew


@parameters.hide_elements("groups", _MUST_BE_GROUP_SIZES)
def _parse_sizes(value: Any) -> tuple[int, ...]:
    if isinstance(value, (str, bytes, dict)):
        raise ParameterError("groups", _MUST_BE_GROUP_SIZES, came(value))
    sizes = [
        parameters.whole_number("groups", size, minimum=1)
        for size in parameters.as_list("groups", value, _MUST_BE_GROUP_SIZES)
    ]
    if not 1 <= len(sizes) <= _MAX_GROUPS:
        raise ParameterError("groups", f"{_MUST_BE_GROUP_SIZES}, and at most {_MAX_GROUPS:,}", f"{len(sizes):,}")
    return tuple(sizes)


_SKEW = replace(NUMBER, read=_parse_skew)
GROUP_SIZES = replace(COLUMNS, shape="SIZES", read=lambda _, value: _parse_sizes(value))


@frozen
class Population(ParameterSet):
    """Simulated users for a forecast: how many there are, and how they use items.

    The popularity of the r-th item is r^-skew. For a question by group, `groups` are the numbers of users of the
    groups, instead of `users`; all groups use items alike.

    Example:
        >>> Population(5_000, items=300, skew="1.5")
        Population(5000, items=300, skew=1.5)
    """

    error_noun: ClassVar[str] = "a population"

    users: int = param(whole_number_kind(1, _MAX_USERS), default=DEFAULT_USERS, help="how many there are")
    _: KW_ONLY
    items: int = param(whole_number_kind(1, MAX_ITEMS), default=DEFAULT_ITEMS, help="how many items there are")
    items_per_user: Number | None = param(
        NUMBER, default=None, help="how many of them a user has on average; default: 10, or half of fewer than 20 items"
    )
    skew: Number = param(
        _SKEW, default=1.1, help="the popularity of the r-th item is r^-skew; with 0 all are equally popular"
    )
    groups: int | Sequence[int] | None = param(GROUP_SIZES, default=None, help="how many users each group has")
    groups_per_user: Number = param(NUMBER, default=1, help="how many of them a user is in, on average")

    def check(self) -> None:
        """Refuse users who have nearly all items, and group parameters that do not fit the groups."""
        if self.mean_items > Fraction(9, 10) * self.items:
            raise ParameterError("items_per_user", "be at most nine tenths of items", f"{float(self.mean_items):g}")
        groups: Any = self.groups
        if groups is None and self.groups_per_user != 1:
            raise ParameterError("groups", "be given if groups_per_user is", "nothing")
        if groups is not None and not 1 <= Fraction(self.groups_per_user) <= len(groups):
            must = f"be from 1 to the {len(groups):,} groups"
            raise ParameterError("groups_per_user", must, f"{float(self.groups_per_user):g}")
        if groups is not None and self.users != DEFAULT_USERS:
            raise ParameterError("users", "be left out if groups are given", came(self.users))

    @property
    def mean_items(self) -> Fraction:
        """The mean number of items per user."""
        default = min(Fraction(_ITEMS_PER_USER), Fraction(self.items, 2))
        return default if self.items_per_user is None else Fraction(self.items_per_user)
