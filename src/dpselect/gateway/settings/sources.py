"""Do the sources have the columns that the settings speak of? Their schemas are opened, and no row is read."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dpselect._ground.domain import Listed
from dpselect._ground.keys import names
from dpselect._ground.periods import between
from dpselect.aggregates.totals import Totals
from dpselect.dataset import Dataset, dataset_of
from dpselect.engines.identity import sizes_of
from dpselect.errors import DpselectError, ParameterError
from dpselect.gateway.settings.values import DataSettings, Key, Scalar, Settings, WeightColumn

_OF_ALL = ("source", "table", "user", "time")  # what is wrong with these is wrong whatever is asked
_SOME_DAY = datetime.date(2000, 1, 1)  # any will do: only the column is looked at


def check_sources(settings: Settings) -> list[str]:
    """What is wrong with them, one sentence each; none where every declared column is there and of its kind."""
    return [said for data in settings.data.values() for said in _Source(data).mistakes()]


@dataclass(frozen=True)
class _Source:
    """One data set, whose declared columns are tried one after the other."""

    data: DataSettings

    def mistakes(self) -> list[str]:
        """What is wrong. Where not even the first question could be asked, nothing more."""
        first, *others = self.data.items
        found = [*self.of_size(), *self.tried("items", self.check_item, first)]
        return found or [*self.of_keys(others), *self.of_columns()]

    def of_size(self) -> Iterator[str]:
        """Files that are larger than what is declared, by which answers leave."""
        if (
            sizes_of(list(self.data.source) if isinstance(self.data.source, tuple) else self.data.source)
            > self.data.sizes.all_bytes
        ):
            yield (
                f"[data.{self.data.name}] sizes.bytes must be at least the size of the files\n"
                "  hint: they decide when answers leave, so declare them with room to grow"
            )

    def of_keys(self, keys: Sequence[Key]) -> Iterator[str]:
        """Items and groups."""
        for key in keys:
            yield from self.tried("items", self.check_item, key)
        for column in self.data.groups:
            yield from self.tried("groups", self.check_group, column)

    def of_columns(self) -> Iterator[str]:
        """Columns of which more than the name is declared."""
        data = self.data
        for column, allowed in data.filters.items():
            yield from self.tried(f"filters.{column}", self.check_filter, column, allowed)
        for column, weight in data.weights.items():
            yield from self.tried(f"weights.{column}", self.check_weight, column, weight)
        for column in data.values:
            yield from self.tried(f"values.{column}", self.check_values, column)
        for column, items in data.domains.items():
            yield from self.tried(f"domains.{column}", self.check_domain, column, items)

    def tried(self, what: str, attempt: Callable[..., None], *given: object) -> list[str]:
        """The mistake of one attempt, if it has one."""
        try:
            attempt(*given)
        except DpselectError as error:
            whole = isinstance(error, ParameterError) and error.parameter in _OF_ALL
            return [f"[data.{self.data.name}] {error}" if whole else f"[data.{self.data.name}] {what}: {error}"]
        return []

    # ---- attempts: an engine that is opened looks at columns and their types -----------------------------------

    def check_item(self, key: Key) -> None:
        """Can it be counted?"""
        self.dataset(key).engine().close()

    def check_group(self, column: str) -> None:
        """Can it be a group, of items that it is no part of?"""
        other = next((key for key in self.data.items if column not in names(key)), None)
        if other is None:
            self.check_item(column)
        else:
            self.dataset(other).engine((column,)).close()

    def check_filter(self, column: str, allowed: tuple[Scalar, ...] | None) -> None:
        """May a condition name it, and be about these values?"""
        named = '"' + column.replace('"', '""') + '"'
        listed = "" if allowed is None else f" AND {named} IN ({', '.join(map(_literal, allowed))})"
        self.dataset(self.data.items[0], where=f"{named} IS NOT NULL{listed}").engine().close()

    def check_weight(self, column: str, weight: WeightColumn) -> None:
        """Is it a column of numbers that can be added up?"""
        totals = Totals.of(column, weight.at_most, weight.unit)
        self.dataset(self.data.items[0], split=None).engine((), totals).close()

    def check_values(self, column: str) -> None:
        """Is it a column of numbers?"""
        with self.dataset(column, split=None).engine() as engine:
            engine.check_values()

    def check_domain(self, column: str, items: tuple[Scalar, ...]) -> None:
        """Do listed items fit the column?"""
        with self.dataset(column).engine() as engine:
            engine.check(Listed(items))

    def dataset(self, item: Key, **given: Any) -> Dataset:
        """The data set, asked for some items."""
        data = self.data
        given = {"user": _column(data.user), "table": data.table, "split": data.split, **given}
        if data.time is not None and data.period is not None:
            during = data.since or next(between(data.period, _SOME_DAY, _SOME_DAY)).name
            given |= {"time": data.time, "period": data.period, "during": during, "timezone": data.timezone}
        source = list(data.source) if isinstance(data.source, tuple) else data.source
        return dataset_of(source, item=_column(item), **given)


def _column(key: Key | None) -> str | list[str] | None:
    return list(key) if isinstance(key, tuple) else key


def _literal(value: Scalar) -> str:
    """A value as filters write it."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, datetime.datetime):
        return f"TIMESTAMP '{value.isoformat(' ')}'"
    if isinstance(value, datetime.date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return f"{value:f}" if not isinstance(value, int) else str(value)
