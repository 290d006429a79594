"""What leaves a database for a set union in memory: who has which item, as numbers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Progress
from dpselect.aggregates.user_sets import CODE_LIMIT, MAX_ROWS, Int64, UserSets, inverse, sets_of
from dpselect.engines.memory import available_bytes, does_not_fit
from dpselect.engines.sql import questions
from dpselect.engines.sql.database import Database
from dpselect.engines.sql.port import SqlType, int64

if TYPE_CHECKING:
    import pyarrow as pa

BYTES_PER_PAIR = 64  # at the peak: as fetched, as one number, sorted, and in the sets themselves
PEAK_OVER_FETCHED = 8  # at the peak, over the bytes of the columns: with their numbers, sorted, and the values in order


def read_user_sets(database: Database, rows: str, item_type: SqlType, progress: Progress | None) -> UserSets:
    """Return every user's distinct items: built from the rows if they are fetched, else numbered by the database."""
    if item_type.label_form == "i":
        memory = available_bytes()
        max_bytes = sys.maxsize if memory is None else memory // PEAK_OVER_FETCHED
        fetched = database.fetch_if_small(f"SELECT u, i FROM {rows} AS t", max_bytes, progress=progress)
        if fetched is not None:
            return sets_of_rows(fetched, item_type)
    return number_user_sets(database, rows, item_type, progress)[0]


def sets_of_rows(fetched: pa.Table, item_type: SqlType) -> UserSets:
    """Return the sets of rows of users u and items i, numbered here: text in the order of its bytes, as elsewhere."""
    users, _ = _number_values(fetched["u"])
    items, names = _number_values(fetched["i"])
    offsets, codes = sets_of(users << 32 | items)
    labels = FetchedLabels(lambda codes: names.take(codes).to_pylist(), len(names), item_type.to_label)
    return UserSets(offsets=offsets, codes=codes, size=len(names), label=labels, label_many=labels.many)


def _number_values(column: pa.ChunkedArray) -> tuple[Int64, pa.Array]:
    """Return the index of every value among the distinct ones in their order, and the distinct ones."""
    import pyarrow as pa

    encoded = column.combine_chunks().dictionary_encode()
    values = encoded.dictionary
    sorted_values = pa.table({"value": values, "position": np.arange(len(values))}).sort_by("value")
    return inverse(int64(sorted_values["position"]))[encoded.indices.to_numpy()], sorted_values[
        "value"
    ].combine_chunks()


def number_user_sets(
    database: Database, rows: str, item_type: SqlType, progress: Progress | None
) -> tuple[UserSets, Callable[[Int64], str]]:
    """Return the sets with users and items numbered by the database, and a function that lists items by their codes."""
    pairs = database.keep(questions.distinct_pairs(rows, database.dialect), progress=progress)
    memory = available_bytes()
    max_pairs = MAX_ROWS if memory is None else min(memory // BYTES_PER_PAIR, MAX_ROWS)
    coded = database.columns(questions.coded_pairs(pairs, CODE_LIMIT, max_pairs + 1), ("pair",), progress=progress)
    numbers = int64(coded["pair"])
    if len(numbers) > max_pairs:
        pair_count = database.rows(questions.number_of_pairs(pairs), progress=progress)[0][0]
        raise does_not_fit(int(pair_count) * BYTES_PER_PAIR)
    size = _count_items(numbers)
    offsets, codes = sets_of(numbers)
    names = questions.item_names(pairs, item_type.label_form)
    labels = FetchedLabels(lambda codes: database.names_at(*names, codes), size, item_type.to_label)
    sets = UserSets(offsets=offsets, codes=codes, size=size, label=labels, label_many=labels.many)
    return sets, lambda codes: questions.items_by_code(pairs, database.put({"x": codes}))


def _count_items(pairs: Int64) -> int:
    """Return the number of items, which are numbered from 0 without a gap."""
    return int((pairs & (CODE_LIMIT - 1)).max()) + 1 if len(pairs) else 0


@dataclass(frozen=True, repr=False)
class FetchedLabels:
    """The labels of codes, whose values are fetched when they are released and not before."""

    fetch: Callable[[Int64], Sequence[Any]]
    """The values of distinct codes, ascending."""
    size: int
    label: Callable[[Any], object]

    def __call__(self, code: int) -> object:
        """Return the label of one code."""
        return self.many(int64([code]))[0]

    def many(self, codes: Int64) -> list[object]:
        """Return the labels of many codes at once, in the order of the codes."""
        if not len(codes):
            return []
        if not (codes.min() >= 0 and codes.max() < self.size):
            raise IndexError("there is no item with such a code")
        distinct_codes, positions = np.unique(codes, return_inverse=True)
        labels = [self.label(value) for value in self.fetch(distinct_codes)]
        return [labels[position] for position in positions]
