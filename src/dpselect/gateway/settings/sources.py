"""Do the sources have the columns that the settings speak of? Their schemas are opened, and no row is read.

Where the settings declare types, the values of these columns are read too, for the owner alone.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from dpselect._ground.domain import Listed
from dpselect._ground.keys import key_columns
from dpselect._ground.periods import periods_between
from dpselect.aggregates.totals import Totals
from dpselect.engines.identity import file_bytes
from dpselect.engines.port import Engine
from dpselect.errors import DataError, DpselectError, ParameterError
from dpselect.flat import dataset_of
from dpselect.gateway import filters
from dpselect.gateway.settings.kinds import plain
from dpselect.gateway.settings.values import DataSettings, Key, Settings

_OF_ALL = ("source", "table", "user", "time")  # what is wrong with these is wrong whatever is asked
_SOME_DAY = datetime.date(2000, 1, 1)  # any will do: only the column is looked at


def check_sources(settings: Settings) -> list[str]:
    """What is wrong with them, one sentence each; none where every declared column is there and of its kind."""
    return [said for data in settings.data.values() for said in _mistakes(data)]


def missing_in_sources(settings: Settings) -> list[str]:
    """How many values of each column whose type is declared are missing, one sentence each; rows are read for these."""
    from dpselect.engines.inspection import missing_as_declared
    from dpselect.rows import parse_types

    return [
        f"[data.{data.name}] types.{said}"
        for data in settings.data.values()
        if data.types
        for said in missing_as_declared(plain(data.source), parse_types(data.types), table=data.table)
    ]


def _mistakes(data: DataSettings) -> list[str]:
    """What is wrong with one. Where not even the first question could be asked, nothing more."""
    first, *others = _attempts(data)
    found = [*_of_size(data), *_tried(data, *first)]
    return found or [said for one in others for said in _tried(data, *one)]


def _of_size(data: DataSettings) -> Iterator[str]:
    """Files that are larger than what is declared, by which answers leave."""
    if file_bytes(plain(data.source)) > data.sizes.all_bytes:
        yield (
            f"[data.{data.name}] sizes.bytes must be at least the size of the files\n"
            "  hint: they decide when answers leave, so declare them with room to grow"
        )


def _tried(data: DataSettings, what: str, attempt: Callable[[], None]) -> list[str]:
    """The mistake of one attempt, if it has one."""
    try:
        attempt()
    except DpselectError as error:
        whole = isinstance(error, (ParameterError, DataError)) and str(error).partition(" must ")[0] in _OF_ALL
        return [f"[data.{data.name}] {error}" if whole else f"[data.{data.name}] {what}: {error}"]
    return []


def _attempts(data: DataSettings) -> Iterator[tuple[str, Callable[[], None]]]:
    """Where each column is declared, and what opens an engine that looks at it and at its type."""
    first = data.items[0]
    for key in data.items:
        yield "items", partial(_opened, data, key)
    for column in data.groups:
        other = next((key for key in data.items if column not in key_columns(key)), None)  # items that it is no part of
        yield "groups", partial(_opened, data, column) if other is None else partial(_opened, data, other, (column,))
    for column, allowed in data.filters.items():
        named = filters.column(column)
        listed = "" if allowed is None else f" AND {named} IN ({', '.join(map(filters.literal, allowed))})"
        yield f"filters.{column}", partial(_opened, data, first, where=f"{named} IS NOT NULL{listed}")
    for column, weight in data.weights.items():
        totals = Totals.parse(column, weight.at_most, weight.unit)
        yield f"weights.{column}", partial(_opened, data, first, (), totals, split=None)
    for column in data.values:
        yield f"values.{column}", partial(_opened, data, column, check=lambda engine: engine.check_values(), split=None)
    for column, items in data.domains.items():
        check = partial(_check, Listed(items))
        yield f"domains.{column}", partial(_opened, data, column, check=check)


def _check(items: Listed, engine: Engine) -> None:
    engine.check(items)


def _opened(
    data: DataSettings, item: Key, *asked: Any, check: Callable[[Engine], object] | None = None, **given: Any
) -> None:
    """Open an engine as a question about these items would, and check more of it."""
    given = {"user": plain(data.user), "table": data.table, "split": data.split, **given}
    given |= {"types": data.types} if data.types else {}
    if data.time is not None and data.period is not None:
        during = data.since or next(periods_between(data.period, _SOME_DAY, _SOME_DAY)).name
        given |= {"time": data.time, "period": data.period, "during": during, "timezone": data.timezone}
    with dataset_of(plain(data.source), item=plain(item), **given).engine(*asked) as engine:
        if check is not None:
            check(engine)
