"""What every verb by group says of groups: by which columns, which of them, and in how many one user counts."""

from __future__ import annotations

from typing import Any

from dpselect._ground import parameters
from dpselect._ground.domain import Domain, most_items
from dpselect._ground.keys import key_of, names
from dpselect.errors import ParameterError
from dpselect.mechanisms.port import settle
from dpselect.questions.kinds import LISTED

FIELDS = ("by", "groups", "max_groups_per_user")


def settle_groups(query: Any) -> None:
    """The fields of a query that are about groups, checked and parsed; nothing but `by` makes sense by itself."""
    if query.by is None:
        for name in FIELDS[1:]:
            if getattr(query, name) is not None:
                raise ParameterError("by", f"be given where {name} is", "nothing")
        return
    if getattr(query, "within", None) is not None:
        raise ParameterError("within", "be left out where by is given", "both", "give epsilon")
    settle(query, by=names(key_of("by", query.by)))
    if query.groups is not None:
        settle(query, groups=LISTED.read("groups", query.groups))
    most = query.max_groups_per_user
    if most is not None:
        settle(query, max_groups_per_user=parameters.whole("max_groups_per_user", most, least=1))
    elif query.verb != "top_k" or (query.groups is not None and most_items(query.groups) == 1):
        settle(query, max_groups_per_user=1)  # nothing to choose, or nothing that chooses it


def groups_each(query: Any) -> int:
    """In how many groups one user counts at most: no more than are listed."""
    listed: Domain | None = query.groups
    known = None if listed is None else most_items(listed)
    asked: int = query.max_groups_per_user
    return asked if known is None else min(asked, known)
