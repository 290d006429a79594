"""What an engine is asked to count, and what it says of its open source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING

from dpselect._ground.dataclass import dataclass
from dpselect._ground.row_bound import RowBound

if TYPE_CHECKING:
    from dpselect.aggregates.measures import Measure
    from dpselect.aggregates.totals import Totals


class PerUser(StrEnum):
    """The value with which a user who has several takes part. Each rule reads that user's own rows only."""

    RANDOM = "random"  # of the distinct grid indices the one with the smallest keyed hash
    MIN = "min"
    MAX = "max"
    MEAN = "mean"  # of the grid indices of all rows, rounded to one


@dataclass(frozen=True)
class Tally:
    """The quantity that an engine is opened to count: users of each item, unless it has more fields."""

    by: tuple[str, ...] = ()  # the columns of groups, in each of which it counts
    totals: Totals | None = None  # the weights that are added up in place of users
    measures: tuple[Measure, ...] = ()  # of items that came back


@dataclass(frozen=True)
class OpenSource:
    """What is known of a source once it is open, before a row is read."""

    fixed: bool = False
    """True if the source alone, once it is known again, decides its domain. A database may have changed.

    A table in a DuckDB file is as fixed as the file; a view there may read any other file, or a clock.
    """
    undeclared: tuple[str, ...] = ()
    """The columns that were asked of a source that declares none: keys of JSON lines, which may be in no line."""
    declared: Mapping[str, object] = field(default_factory=dict)
    """The types of the columns that are read, as a ledger knows them, where an owner has declared some."""
    state: str | None = None
    """The name of the state of the rows, where their source has a name for each."""
    row_bound: RowBound | None = None
    """The number of rows of a user that were kept when the data were prepared; None where all count."""
