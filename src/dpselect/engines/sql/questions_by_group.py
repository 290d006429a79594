"""What an engine of SQL is asked by group; the queries themselves are in by_group.py and values_by_group.py."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dpselect._ground.domain import MOST_COUNTED, Column, Domain, Known, Listed, Span, refuse_width
from dpselect._ground.parameters import Progress
from dpselect.aggregates.totals import Totals
from dpselect.aggregates.unbounded import Points
from dpselect.aggregates.user_sets import Int64, UserSets
from dpselect.engines.count_groups import number_of, numbers_of
from dpselect.engines.port import PerUser
from dpselect.engines.sql import questions, sets
from dpselect.engines.sql import totals as weighing
from dpselect.engines.sql.domains import domain_values
from dpselect.engines.sql.port import Database, Dialect, SqlType, int64
from dpselect.errors import ParameterError, came, naming

if TYPE_CHECKING:
    from dpselect.aggregates.groups import FoundGroups, GroupedCounts, GroupedValues


class QuestionsByGroup(ABC):
    """The part of the engine that was opened with columns of groups."""

    _database: Database
    _dialect: Dialect
    _domains: dict[Domain, tuple[str, int]]
    _by: list[SqlType]
    _group: SqlType | None
    _item: SqlType
    _rows: str
    _most: int | None
    _totals: Totals | None
    _key: bytes
    _found: UserSets | None  # the groups of every user, where they are to be found

    @abstractmethod
    def check(self, domain: Domain, *, k: int = 1, most: int | None = None) -> None:
        """Refuse a domain that does not fit the item column."""

    @abstractmethod
    def _put(self, values: Sequence[Any], types: Sequence[SqlType]) -> str:
        """A public list, as SQL."""

    @property
    @abstractmethod
    def _numbers(self) -> str:
        """The columns of numbers behind u and i."""

    def check_groups(self, groups: Domain) -> None:
        """Refuse listed groups that do not fit the columns of groups; they are read here, and only here."""
        if groups not in self._domains:
            with naming("groups"):
                refuse_width(groups, len(self._by))
                if not isinstance(groups, (Listed, Column)):
                    raise ParameterError("domain", "be a list, or a Column of a public source", came(groups))
                values = domain_values(groups, self._by)
                self._domains[groups] = self._put(values, self._by), len(values)

    def group_names(self, groups: Domain) -> Sequence[object]:
        """Listed groups in their order, by the labels that those of rows have."""
        group = self._group
        assert group is not None
        self.check_groups(groups)
        named = f"SELECT {group.named} AS name, i FROM {self._domains[groups][0]} AS l ORDER BY i"
        return [group.label(row[0]) for row in self._database.rows(named)]

    def top_by(
        self,
        rows: int,
        max_groups_per_user: int,
        groups: Domain | None = None,
        *,
        users: bool = False,
        progress: Progress | None = None,
    ) -> GroupedCounts:
        """The `rows` items with most users of every group, or of listed ones; a user keeps so many groups."""
        from dpselect.engines.sql.by_group import grouped_counts, question

        assert self._group is not None
        kept = self._kept(max_groups_per_user, groups, self._most)
        listed = None if groups is None else self._domains[groups][0]
        score = weighing.score(self._totals)
        sql = question(kept, rows, listed, self._group, self._item, users=users, score=score)
        return grouped_counts(self._database.rows(sql, progress=progress), self._group, self._item)

    def groups_of_users(self, groups: Domain | None = None, *, progress: Progress | None = None) -> tuple[Int64, Int64]:
        """Numbers of groups, and how many users have so many."""
        from dpselect.engines.sql.by_group import groups_of_users, had_of

        rows, given = self._in_groups(groups)
        found = self._database.rows(groups_of_users(had_of(rows, given)), progress=progress)
        return int64([row[0] for row in found]), int64([row[1] for row in found])

    def contributions_by(
        self, max_groups_per_user: int, groups: Domain | None = None, *, progress: Progress | None = None
    ) -> UserSets:
        """The distinct pairs of group and item of every user, in the groups that they keep."""
        return sets.user_sets(self._database, self._kept(max_groups_per_user, groups, None), self._item, progress)

    def group_sets(self, *, progress: Progress | None = None) -> UserSets:
        """The distinct groups of every user."""
        from dpselect.engines.sql.values_by_group import groups_of

        assert self._group is not None
        self._found = sets.numbered_sets(self._database, groups_of(self._rows), self._group, progress)
        return self._found

    def keep_groups(self, codes: Int64) -> FoundGroups:
        """Released groups, by their numbers in `group_sets`, as a list to ask for."""
        from dpselect.aggregates.groups import FoundGroups
        from dpselect.engines.sql.values_by_group import found_groups

        assert self._found is not None
        names = self._found.label
        assert isinstance(names, sets.Names)
        return FoundGroups(found_groups(names.pairs, self._database.put({"x": codes})))

    def users_at_by(
        self,
        grid: Points,
        per_user: PerUser,
        max_groups_per_user: int,
        groups: Domain | FoundGroups,
        *,
        progress: Progress | None = None,
    ) -> GroupedValues:
        """How many users of every group have their value at which place of a grid; a user keeps so many groups."""
        from dpselect.engines.sql.by_group import of_groups
        from dpselect.engines.sql.values_by_group import grouped_values, users_at_by
        from dpselect.engines.value_key import value_key

        assert self._group is not None
        listed = self._listed(groups)
        keyed = self._keyed(self._key), self._keyed(value_key(self._key))
        types, rows = (self._group, self._item), of_groups(self._rows, listed)
        sql = users_at_by(rows, grid, per_user, max_groups_per_user, listed, keyed, types, self._dialect)
        return grouped_values(self._database.rows(sql, progress=progress), self._group)

    def counts_by(
        self,
        domain: Known,
        max_groups_per_user: int,
        groups: Domain | FoundGroups,
        *,
        progress: Progress | None = None,
    ) -> GroupedCounts:
        """The items of a domain that have users, and how many, of every group; a user keeps so many groups."""
        from dpselect.engines.sql.by_group import GroupBounds, grouped_counts, of_groups, question

        assert self._group is not None
        self.check(domain)
        listed, item = self._listed(groups), self._item
        if isinstance(domain, Span):
            item = replace(item, named="i", label=number_of(text=item.is_text))
            rows = questions.in_span(self._rows, domain, self._item, self._dialect, ", g")
        else:
            rows = questions.in_domain(self._rows, self._domains[domain][0], ", g")
        bounds = GroupBounds(groups=max_groups_per_user, items=self._most, keyed=self._keyed(self._key))
        kept = bounds.kept(of_groups(rows, listed))
        sql = question(kept, MOST_COUNTED, listed, self._group, item, users=False)
        return grouped_counts(self._database.rows(sql, progress=progress), self._group, item)

    def item_names(self, domain: Known) -> Sequence[object]:
        """The items of a domain, by the labels that those of rows have."""
        self.check(domain)
        if isinstance(domain, Span):
            return numbers_of(domain, text=self._item.is_text)
        named = f"SELECT {self._item.named} AS name, i FROM {self._domains[domain][0]} AS l ORDER BY i"
        return [self._item.label(row[0]) for row in self._database.rows(named)]

    def _listed(self, groups: Domain | FoundGroups) -> str:
        """The groups that are asked for, as SQL."""
        from dpselect.aggregates.groups import FoundGroups

        if isinstance(groups, FoundGroups):
            return groups.place
        self.check_groups(groups)
        return self._domains[groups][0]

    def _keyed(self, secret: bytes) -> Callable[[str, str], str]:
        """The hash by which a bound keeps what a user has."""
        key = self._database.secret(secret)
        return lambda u, x: self._dialect.keyed(key, u, x)

    def _kept(self, most: int, groups: Domain | None, items: int | None) -> str:
        """The rows u, g and i in the groups that users keep."""
        from dpselect.engines.sql.by_group import GroupBounds

        rows, given = self._in_groups(groups)
        return GroupBounds(groups=most, items=items, keyed=self._keyed(self._key), given=given).kept(rows)

    def _in_groups(self, groups: Domain | None) -> tuple[str, Callable[[str], str] | None]:
        """The rows, or those of listed groups, and what makes units of them where they have weights."""
        from dpselect.engines.sql.by_group import of_groups

        given = None if self._totals is None else partial(weighing.of_groups, self._totals, self._dialect)
        return (self._rows if groups is None else of_groups(self._rows, self._listed(groups), self._numbers)), given
