"""The port: all that is ever asked of an engine. It counts distinct users per item, or per point of a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from dpselect._ground.parameters import Progress
from dpselect._ground.row_bound import RowBound

if TYPE_CHECKING:
    from dpselect._ground.domain import Column, Domain, Listed, NamedDomain
    from dpselect.aggregates.count_groups import CountGroups
    from dpselect.aggregates.groups import FoundGroups, GroupedCounts, GroupedValues
    from dpselect.aggregates.measures import Measure, Measured
    from dpselect.aggregates.totals import Totals
    from dpselect.aggregates.unbounded import Points
    from dpselect.aggregates.user_sets import Int64, Sets
    from dpselect.aggregates.value_counts import UsersAt
    from dpselect.aggregates.weight_groups import PairsElsewhere
    from dpselect.texts.token_stream import TokenStream
    from dpselect.texts.tokenizer import Tokenizer


class PerUser(StrEnum):
    """The value with which a user who has several takes part. Each rule reads that user's own rows only."""

    RANDOM = "random"  # of the distinct places the one with the smallest keyed hash
    MIN = "min"
    MAX = "max"
    MEAN = "mean"  # of the places of all rows, rounded to a place


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


class Engine(Protocol):
    """Counts distinct users per item over one source, with one filter and one contribution bound.

    An engine is opened for one question. Opening it reads the schema only: whatever the caller got wrong (a
    missing file, a column that is not there, a filter that is not a condition on one row) is refused before a row
    is counted. What every engine promises:

    - A row whose user or item is null (or NaN) does not exist. Opened with no columns of items, there is one item, (),
      and every row of a user has it.
    - A user is one user however many rows or files hold them, and counts once per item.
    - Where a contribution bound D applies, every user keeps at most D of their distinct items: those with the smallest
      keyed hash of (key, user, item), so which ones depends on the key and on that user's own rows only.
    - Equal counts are ordered by the item itself, never by where its rows stood.
    - Opened with `Totals`, it counts what users give in place of users (docs/weights.md): every row is read by itself,
      every user's total is rounded and cut by itself, and who gives an item nothing does not have it.
    - Items come back as plain Python values: str, int, bool, float, Decimal, date, datetime, time, bytes.
    - No message, label order, type or failure depends on a row, as far as the source's format allows it.
    - Nothing is written to disk but what the query itself spills, and that is deleted with the engine.
    """

    def __enter__(self) -> Engine:
        """Return the engine itself, which is closed at the end of a with block."""
        ...

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the engine."""
        ...

    @property
    def source(self) -> OpenSource:
        """What is known of the source that is open."""
        ...

    @property
    def condition(self) -> str | None:
        """The canonical text of the filter, with the declared types of its columns; None where all rows count."""
        ...

    def check_unchanged(self) -> None:
        """Refuse a source whose schema may have changed since it was read."""
        ...

    @property
    def outside(self) -> str | None:
        """The package that reads the rows, with its version, where it is not this one."""
        ...

    def top(self, rows: int, *, progress: Progress | None = None) -> CountGroups:
        """Return the `rows` items with the most distinct users, most first, one group each. Nothing else leaves.

        There are fewer where the data hold fewer items; no data, no groups. No bound applies to a
        ranking: a user counts for all items that they have.
        """
        ...

    def check_groups(self, groups: Domain) -> None:
        """Refuse listed groups that do not fit the columns of groups, before a row is read or anything is paid."""
        ...

    def group_names(self, groups: Domain) -> Sequence[object]:
        """Return listed groups in their order, by the labels that those of rows have."""
        ...

    def top_by(
        self,
        rows: int,
        max_groups_per_user: int,
        groups: Domain | None = None,
        *,
        users: bool = False,
        progress: Progress | None = None,
    ) -> GroupedCounts:
        """Return the `rows` items with the most distinct users of every group, as `top` would have them there.

        Opened with `Totals`, what users give, in each group by itself; in a group where they give no unit they are not.
        A group is a value, or a combination of values, of the columns `by` with which the engine was opened; a row that
        has a null (or NaN) there does not count. Every user keeps at most so many of their groups, those with the
        smallest keyed hash of (key, user, group), with all of their items there. Where groups are listed only they
        count, and each of them is there, with no rows if it has none. `users` says whether numbers of users will be
        asked for.
        """
        ...

    def scores_by(
        self,
        pairs: Sequence[tuple[tuple[object, ...], object]],
        max_groups_per_user: int,
        groups: Domain | None = None,
        *,
        progress: Progress | None = None,
    ) -> Sequence[int]:
        """Return the score of each of some items that came back, with the values of its group. Nothing else leaves.

        Users count in the groups that they keep in `top_by`, asked with the same bound and list. With a contribution
        bound D every user keeps in each of these groups at most D of its items here.
        """
        ...

    def groups_of_users(self, groups: Domain | None = None, *, progress: Progress | None = None) -> tuple[Int64, Int64]:
        """Numbers of groups, and how many users have so many groups, of all or of those that are listed.

        The groups are those among which `top_by` and `contributions_by` would choose the ones that a user keeps.
        """
        ...

    def contributions_by(
        self, max_groups_per_user: int, groups: Domain | None = None, *, progress: Progress | None = None
    ) -> Sets:
        """Return the distinct items of every user, as `contributions`, in the groups that `top_by` would keep.

        An item is here the values of a group and then those of an item. No other bound is applied.
        """
        ...

    def check_pairs(self) -> None:
        """Refuse a group and an item that cannot be one value together. No row is read.

        Opened with `by`, `contributions` and `pairs` have a group and an item in the place of an item, too.
        """
        ...

    def group_sets(self, *, progress: Progress | None = None) -> Sets:
        """Return the distinct groups of every user, as `contributions` has items, for a set union that finds groups.

        Groups that were found are asked for next, where it can be helped of the very same rows.
        """
        ...

    def keep_groups(self, codes: Int64) -> FoundGroups:
        """Keep groups that a union released, by their numbers in `group_sets`, as a list to ask this engine for.

        They stay what they are in the engine: a label may not hold all of a value.
        """
        ...

    def users_at_by(
        self,
        grid: Points,
        per_user: PerUser,
        max_groups_per_user: int,
        groups: Domain | FoundGroups,
        *,
        progress: Progress | None = None,
    ) -> GroupedValues:
        """Count the users of every listed group with their value at each place of a grid, as `users_at` would.

        Of a user with several values in a group `per_user` picks one, in each group by itself; then every user keeps at
        most so many of the listed groups in which they have a value, as in `top_by`. Each listed group is there.
        """
        ...

    def counts_by(
        self,
        domain: NamedDomain,
        max_groups_per_user: int,
        groups: Domain | FoundGroups,
        *,
        progress: Progress | None = None,
    ) -> GroupedCounts:
        """Count the distinct users of each item of a domain in every listed group; items without users are left out.

        Only rows of these items and groups count, before groups are kept as in `top_by`; no bound on items applies.
        Each listed group is there.
        """
        ...

    def item_names(self, domain: NamedDomain) -> Sequence[object]:
        """Return the items of a domain, which are public, in an order of their own, by the labels of rows."""
        ...

    def check(self, domain: Domain, *, k: int = 1, max_items: int | None = None) -> None:
        """Refuse a domain that does not fit the item column, or has fewer than k items there, or more than `max_items`.

        That is before a row is read and before anything is paid.

        `grouped` does so too; who reserves a budget in between asks first.
        """
        ...

    def leave_out(self, items: Listed | Column) -> None:
        """Leave the rows of these items out from now on: before any bound, for every question.

        Items that do not fit the item column are refused. No row is read.
        """
        ...

    def grouped(self, domain: Domain | None = None, *, progress: Progress | None = None) -> CountGroups:
        """Return all items, those with equal counts in one group, most first: the number of each count leaves, no more.

        `label(group, r)` asks for the r-th item of a group in item order, until the engine is closed. With a
        domain only its items count, and those without a row form the group with count 0. No bound applies, as in `top`.
        """
        ...

    def counts_of(self, domain: NamedDomain, *, progress: Progress | None = None) -> CountGroups:
        """Return all items of a domain, those without a row too, one group each, in the domain's own order.

        That of a list is as it was given, that of numbers ascends, and that of a column is the order of items. All
        names are here when it returns: they are public.
        """
        ...

    def measured(
        self,
        items: Sequence[object],
        domain: Domain | None = None,
        *,
        bounded: bool = True,
        progress: Progress | None = None,
    ) -> Sequence[Sequence[Measured]]:
        """Return the measures of the engine for each of some items that came back. Nothing else leaves.

        `items` are labels, as `top`, `grouped` and `contributions` gave them; an item that was never seen has no users.
        With a contribution bound D every user keeps at most D of *these* items, and each is measured over the users
        who keep it. `bounded=False` takes all users.
        """
        ...

    def scores_of(
        self, items: Sequence[object], domain: Domain | None = None, *, progress: Progress | None = None
    ) -> Sequence[int]:
        """Return the score of each of some items that came back. Nothing else leaves.

        With a contribution bound D every user keeps at most D of these items, the same as in `measured`.
        """
        ...

    def check_values(self) -> None:
        """Refuse an item column that holds no numbers, or is declared as text, before a row is read or paid for."""
        ...

    def users_at(self, grid: Points, per_user: PerUser, *, progress: Progress | None = None) -> UsersAt:
        """Count the users with their value at each place of a grid: one value a user, and nothing else leaves.

        The item column holds the values, in numbers or in text that is written as a number; other text, null and NaN
        are missing. Every value moves to its place first, alone, as `Grid.nearest_places` says; then `per_user` picks
        one.
        """
        ...

    def contributions(self, *, progress: Progress | None = None) -> Sets:
        """Return the distinct items of every user, as numbers; labels can be asked for until the engine is closed.

        Users are those with at least one row that counts. A contribution bound is not applied: a set union samples
        by itself. Users and items come in their own order (users of prepared data in that of their numbers), so where
        their rows stood changes nothing. An engine keeps them on disk where they are many, or refuses those that memory
        does not hold with roughly what they would need.
        """
        ...

    def pairs(self, *, progress: Progress | None = None) -> PairsElsewhere:
        """Return the distinct items of every user, kept by the engine, which adds up their weights and spills to disk.

        For set unions whose users do not look at what others gave. A contribution bound is not applied: each question
        for weights brings a bound and a fresh key. Nothing leaves but how many items have which weight, and the names
        of released items.
        """
        ...

    def check_text(self, tokenizer: Tokenizer) -> None:
        """Refuse an item column that holds no text, before a row is read and before anything is paid."""
        ...

    def tokens(self, tokenizer: Tokenizer, *, progress: Progress | None = None) -> TokenStream:
        """Return the tokens of every row's text as numbers, one row after the other; the item column holds the text.

        A row is cut by itself, so a token depends on that row alone; a row that cannot be cut has no tokens. No
        contribution bound is applied: who releases n-grams bounds each level. Only words whose code is asked for
        come back as text, and only released ones may be asked for, until the engine is closed.
        """
        ...

    def close(self) -> None:
        """Forget everything. Labels cannot be asked for any more."""
        ...
