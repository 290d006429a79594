"""Items in a table: one column, or, if an item has several columns, each under its own name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpselect._ground.domain import UNSEEN
from dpselect.release.measures import measure_columns
from dpselect.release.measures import parse_measure_names as measures_in
from dpselect.release.scale import CERTAIN_PLACE, COUNTED_COLUMNS, GROUP_USERS, USERS_BY, score_name

ITEM_COLUMNS = "item"
"""The parameter of a statement that names the columns of items, where they have several."""

_TABLE_COLUMNS = frozenset({"rank", "count", "sum", "low", "high", CERTAIN_PLACE, GROUP_USERS, *COUNTED_COLUMNS})


def item_column_names(parameters: Mapping[str, object]) -> tuple[str, ...]:
    """Return the names of the columns of items: as in the source, with `item_` before what the table itself has.

    >>> item_column_names({"item": ("country", "rank")})
    ('country', 'item_rank')
    """
    columns = parameters.get(ITEM_COLUMNS, parameters.get(USERS_BY))
    if not isinstance(columns, tuple):
        return ("item",)
    names: list[str] = []
    table_columns = {*_TABLE_COLUMNS, score_name(parameters)}
    taken_names = {
        *table_columns,
        *(head.casefold() for name in measures_in(parameters) for head in measure_columns(name)),
    }
    for name in map(str, columns):
        while name.casefold() in taken_names:  # many tables do not see letter case
            name = f"item_{name}"  # noqa: PLW2901 - until it is free
        names.append(name)
        taken_names.add(name.casefold())
    return tuple(names)


def item_cells(labels: Sequence[object], names: Sequence[str]) -> dict[str, list[object]]:
    """Return the values of each column. An item that was never seen is so in all of them."""
    if len(names) == 1:
        return {names[0]: list(labels)}
    return {
        name: [label[index] if isinstance(label, tuple) else UNSEEN for label in labels]
        for index, name in enumerate(names)
    }


def check_labels(parameters: Mapping[str, object], labels: Sequence[object]) -> None:
    """Raise ValueError if items have other columns than the statement names."""
    columns = parameters.get(ITEM_COLUMNS)
    if columns is None:
        return
    if not isinstance(columns, tuple) or len(columns) < 2 or not all(isinstance(name, str) for name in columns):
        raise ValueError("no names of columns")
    if not all(label is UNSEEN or (isinstance(label, tuple) and len(label) == len(columns)) for label in labels):
        raise ValueError("an item has other columns")
