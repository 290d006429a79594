"""What an engine of SQL is asked by group; the queries themselves are in by_group.py and values_by_group.py."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from dpselect._ground.domain import MAX_COUNTED_ITEMS, Column, Domain, Listed, NamedDomain, Span, refuse_other_width
from dpselect._ground.keys import typed_label
from dpselect._ground.parameters import Progress
from dpselect.engines.port import PerUser
from dpselect.engines.sql import questions
from dpselect.engines.sql.port import Dialect, Int64, SqlType, int64
from dpselect.errors import ParameterError, came, naming_parameter

if TYPE_CHECKING:
    from dpselect.aggregates.groups import FoundGroups, GroupedCounts, GroupedValues
    from dpselect.aggregates.totals import Totals
    from dpselect.aggregates.unbounded import Points
    from dpselect.aggregates.user_sets import Sets
    from dpselect.engines.sql.by_group import GroupBounds
    from dpselect.engines.sql.database import Database


KEY_BYTES = 16


class QuestionsByGroup(ABC):
    """The part of the engine that was opened with columns of groups."""

    _database: Database
    _dialect: Dialect
    _domains: dict[Domain, tuple[str, int]]
    _group_lists: dict[Domain, str]
    _had: dict[str | None, tuple[str, str]]
    _by: tuple[SqlType, ...]
    _group: SqlType | None
    _item: SqlType
    _types: Sequence[SqlType]
    _names: tuple[str, ...]
    _by_names: tuple[str, ...]
    _parts: bool
    _rows: str
    _rows_of_values: str
    _most: int | None
    _totals: Totals | None
    _key: bytes
    _numbered: tuple[Sets, Callable[[Int64], str]] | None

    @abstractmethod
    def check(self, domain: Domain, *, k: int = 1, most: int | None = None) -> None:
        """Refuse a domain that does not fit the item column."""

    @property
    @abstractmethod
    def _numbers(self) -> str:
        """The columns of numbers behind u and i."""

    def check_groups(self, groups: Domain) -> None:
        """Refuse listed groups that do not fit the columns of groups; they are read here, and only here."""
        if groups not in self._group_lists:
            with naming_parameter("groups"):
                refuse_other_width(groups, len(self._by))
                if not isinstance(groups, (Listed, Column)):
                    raise ParameterError("domain", "be a list, or a Column of a public source", came(groups))
                self._group_lists[groups], _ = self._database.listed(groups, self._by)

    def group_names(self, groups: Domain) -> Sequence[object]:
        """Listed groups in their order, by the labels that those of rows have."""
        group = self._group
        assert group is not None
        self.check_groups(groups)
        named = f"SELECT {group.named} AS name, i FROM {self._group_lists[groups]} AS l ORDER BY i"
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
        """The `rows` items with the most users of every group, or of listed ones; a user keeps so many groups."""
        from dpselect.engines.sql.by_group import COUNT, SUM, grouped_counts, question

        assert self._group is not None
        listed = None if groups is None else self._listed(groups)
        kept = self._kept(max_groups_per_user, listed, progress)
        score = COUNT if self._totals is None else SUM
        sql = question(kept, rows, listed, self._group, self._item, users=users, score=score)
        return grouped_counts(self._database, sql, self._group, self._item, progress)

    def scores_by(
        self,
        pairs: Sequence[tuple[tuple[object, ...], object]],
        max_groups_per_user: int,
        groups: Domain | None = None,
        *,
        progress: Progress | None = None,
    ) -> Sequence[int]:
        """The scores of some items that came back, each of a group; a bound keeps of every user some of each group."""
        from dpselect.engines.sql.by_group import COUNT, SUM, scores_of_winners

        if not pairs:
            return []
        listed = None if groups is None else self._listed(groups)
        kept = self._kept(max_groups_per_user, listed, progress)
        of_groups = [group if len(self._by) > 1 else group[0] for group, _ in pairs]
        group_places, some_groups = _places(of_groups)
        item_places, some_items = _places([item for _, item in pairs])
        width, put = len(some_items), self._database.put_items
        places = [group * width + item for group, item in zip(group_places, item_places, strict=True)]
        bound = None if self._most is None else (self._most, self._database.secret(value_key(self._key)))
        sql = scores_of_winners(
            kept,
            put(some_groups, self._by),
            put(some_items, self._types),
            self._database.put({"x": int64(places)}),
            width,
            bound,
            COUNT if self._totals is None else SUM,
            self._dialect,
        )
        found = {int(x): int(n) for x, n in self._database.rows(sql, progress=progress)}
        return [found.pop(place, 0) for place in places]  # each is told once, whatever is asked

    def groups_of_users(self, groups: Domain | None = None, *, progress: Progress | None = None) -> tuple[Int64, Int64]:
        """Numbers of groups, and how many users have so many; the next question is of the same rows."""
        from dpselect.engines.sql.by_group import groups_of_users

        listed = None if groups is None else self._listed(groups)
        _, pairs = self._had_of(listed, progress)
        found = self._database.columns(groups_of_users(pairs), ("n", "users"), progress=progress)
        return int64(found["n"]), int64(found["users"])

    def contributions_by(
        self, max_groups_per_user: int, groups: Domain | None = None, *, progress: Progress | None = None
    ) -> Sets:
        """The distinct pairs of group and item of every user, in the groups that they keep."""
        listed = None if groups is None else self._listed(groups)
        rows, kind = self._with_groups(self._kept(max_groups_per_user, listed, progress))
        return self._database.sets(rows, kind, every=False, progress=progress)

    def group_sets(self, *, progress: Progress | None = None) -> Sets:
        """The distinct groups of every user; the rows are kept, so that the next step sees the same ones."""
        assert self._group is not None
        self._rows = self._rows_of_values = self._database.once(self._rows, progress=progress)
        groups = f"(SELECT u, g AS i FROM {self._rows} AS t)"
        self._numbered = self._database.numbered(groups, self._group, progress=progress)
        return self._numbered[0]

    def keep_groups(self, codes: Int64) -> FoundGroups:
        """Released groups, by their numbers in `group_sets`, as a list to ask for."""
        from dpselect.aggregates.groups import FoundGroups

        assert self._numbered is not None
        return FoundGroups(self._numbered[1](codes))

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

        assert self._group is not None
        if per_user is PerUser.MEAN:
            self._database.each()
        listed, secret = self._listed(groups), self._database.secret
        keys = secret(self._key), secret(value_key(self._key))
        types, rows = (self._group, self._item), of_groups(self._rows_of_values, listed)
        sql = users_at_by(rows, grid, per_user, max_groups_per_user, listed, keys, types, self._dialect)
        return grouped_values(self._database, sql, self._group, progress)

    def counts_by(
        self,
        domain: NamedDomain,
        max_groups_per_user: int,
        groups: Domain | FoundGroups,
        *,
        progress: Progress | None = None,
    ) -> GroupedCounts:
        """The items of a domain that have users, and how many, of every group; a user keeps so many groups."""
        from dataclasses import replace

        from dpselect.engines.sql.by_group import grouped_counts, had_of, of_groups, question

        assert self._group is not None
        self.check(domain)
        listed, item = self._listed(groups), self._item
        if isinstance(domain, Span):
            item = replace(item, named="i", label=int)
            rows = questions.in_span(self._rows, domain, self._item, ", g")
        else:
            rows = questions.in_domain(self._rows, self._domains[domain][0], ", g")
        kept = self._bounds(max_groups_per_user).kept(had_of(of_groups(rows, listed), None), "u, g, i")
        sql = question(kept, MAX_COUNTED_ITEMS, listed, self._group, item, users=False)
        return grouped_counts(self._database, sql, self._group, item, progress)

    def item_names(self, domain: NamedDomain) -> Sequence[object]:
        """The items of a domain, by the labels that those of rows have."""
        self.check(domain)
        if isinstance(domain, Span):
            from dpselect.engines.count_groups import numbers_of

            return numbers_of(domain)
        named = f"SELECT {self._item.named} AS name, i FROM {self._domains[domain][0]} AS l ORDER BY i"
        return [self._item.label(row[0]) for row in self._database.rows(named)]

    def check_pairs(self) -> None:
        """Refuse a group and an item that cannot be one value together."""
        self._database.pair(self._by_names, self._names, plain=self._parts)

    def _with_groups(self, rows: str, more: str = "") -> tuple[str, SqlType]:
        """The rows with a group and an item together in the place of the item, where there are groups; its type."""
        if self._group is None:
            return rows, self._item
        pair, kind = self._database.pair(self._by_names, self._names, plain=self._parts)
        return f"(SELECT u, {pair} AS i{more} FROM {rows} AS p)", kind

    def _listed(self, groups: Domain | FoundGroups) -> str:
        """The groups that are asked for, as SQL."""
        from dpselect.aggregates.groups import FoundGroups

        if isinstance(groups, FoundGroups):
            return groups.place
        self.check_groups(groups)
        return self._group_lists[groups]

    def _bounds(self, groups: int) -> GroupBounds:
        from dpselect.engines.sql.by_group import GroupBounds

        return GroupBounds(groups=groups, key=self._database.secret(self._key), dialect=self._dialect)

    def _kept(self, most: int, listed: str | None, progress: Progress | None) -> str:
        """u, g and i, and the units s where there are weights, in the groups that users keep."""
        had, pairs = self._had_of(listed, progress)
        return self._bounds(most).kept(had, "u, g, i" if self._totals is None else "u, g, i, s", pairs)

    def _had_of(self, listed: str | None, progress: Progress | None) -> tuple[str, str]:
        """The same for every question: what it says of users is then of the same rows."""
        if listed not in self._had:
            self._had[listed] = self._had_in(listed, progress)
        return self._had[listed]

    def _had_in(self, listed: str | None, progress: Progress | None) -> tuple[str, str]:
        """What users have in groups, or in those that are listed, and the units that they give where they have weights.

        The second are the distinct users and groups of it. Whatever is asked of it is asked of the same rows.
        """
        from dpselect.engines.sql.by_group import had_of, of_groups

        given = None
        if self._totals is not None:
            from dpselect.engines.sql import totals

            given = partial(totals.of_groups, self._totals, self._dialect)
        rows = self._rows if listed is None else of_groups(self._rows, listed, self._numbers)
        had = self._database.once(had_of(rows, given), progress=progress)
        return had, self._database.once(f"(SELECT DISTINCT u, g FROM {had} AS d)", progress=progress)


def _places(labels: Sequence[object]) -> tuple[list[int], list[object]]:
    """Of each label its place among the distinct ones, and these."""
    known: dict[object, int] = {}
    places = [known.setdefault(typed_label(label), len(known)) for label in labels]
    distinct = dict(zip(places, labels, strict=True))
    return places, [distinct[place] for place in range(len(known))]


def value_key(key: bytes) -> bytes:
    """A second secret key: which items a user keeps, or which value, is told apart from which groups.

    With one key for both, a user of the groups 1 and 2 who has the values 1 and 2 would keep the same of each.
    """
    return hashlib.blake2b(key, digest_size=KEY_BYTES, person=b"value").digest()
