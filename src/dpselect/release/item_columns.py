"""Items in a table: one column, or, where an item has several columns, each of them under its own name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpselect._ground.domain import UNSEEN
from dpselect.release.measures import measure_columns
from dpselect.release.measures import parse_measure_names as measures_in
from dpselect.release.scale import CERTAIN_PLACE, COUNTED_COLUMNS, GROUP_USERS, USERS_BY, score_name

COLUMNS = "item"
"""The parameter of a statement that names the columns of items, where they have several."""

"""The parameter of a statement that names the columns of groups whose users were counted; none where of all."""
_OWN = frozenset({"rank", "count", "sum", "low", "high", CERTAIN_PLACE, GROUP_USERS, *COUNTED_COLUMNS})


def item_column_names(parameters: Mapping[str, object]) -> tuple[str, ...]:
    """What the columns of items are called: as in the source, with `item_` before what the table itself has.

    >>> names_of({"item": ("country", "rank")})
    ('country', 'item_rank')
    """
    found = parameters.get(COLUMNS, parameters.get(USERS_BY))
    if not isinstance(found, tuple):
        return ("item",)
    names: list[str] = []
    own = {*_OWN, score_name(parameters)}
    taken = {*own, *(head.casefold() for name in measures_in(parameters) for head in measure_columns(name))}
    for name in map(str, found):
        while name.casefold() in taken:  # many tables do not see letter case
            name = f"item_{name}"  # noqa: PLW2901 - until it is free
        names.append(name)
        taken.add(name.casefold())
    return tuple(names)


def item_cells(labels: Sequence[object], names: Sequence[str]) -> dict[str, list[object]]:
    """The values of each column. An item that was never seen is so in all of them."""
    if len(names) == 1:
        return {names[0]: list(labels)}
    return {
        name: [label[place] if isinstance(label, tuple) else UNSEEN for label in labels]
        for place, name in enumerate(names)
    }


def check_labels(parameters: Mapping[str, object], labels: Sequence[object]) -> None:
    """ValueError where items have not the columns that are named."""
    found = parameters.get(COLUMNS)
    if found is None:
        return
    if not isinstance(found, tuple) or len(found) < 2 or not all(isinstance(name, str) for name in found):
        raise ValueError("no names of columns")
    if not all(label is UNSEEN or (isinstance(label, tuple) and len(label) == len(found)) for label in labels):
        raise ValueError("an item has other columns")
