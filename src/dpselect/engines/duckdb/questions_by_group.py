"""What the DuckDB engine is asked by group; what it asks of the workspace is in by_group.py and values_by_group.py."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING

from dpselect._ground.domain import MOST_COUNTED, Domain, Known, Span
from dpselect._ground.parameters import Progress
from dpselect.engines.duckdb import questions
from dpselect.engines.duckdb.keys import DuckDBKey
from dpselect.engines.duckdb.scans import Scan
from dpselect.engines.duckdb.types import is_text
from dpselect.engines.duckdb.workspace import Label, Rows, Workspace
from dpselect.engines.port import PerUser

if TYPE_CHECKING:
    from dpselect.aggregates.groups import FoundGroups, GroupedCounts, GroupedValues
    from dpselect.aggregates.totals import Totals
    from dpselect.aggregates.unbounded import Points
    from dpselect.aggregates.user_sets import Int64, Sets


class DuckDBQuestionsByGroup(ABC):
    """The part of the engine that was opened with columns of groups."""

    _workspace: Workspace
    _scan: Scan
    _domains: dict[Domain, str]
    _group: DuckDBKey | None
    _keys: tuple[DuckDBKey, DuckDBKey]
    _item_type: str
    _most: int | None
    _totals: Totals | None
    _key: bytes
    _kept_rows: str | None  # a table of the rows that count, where they are asked for again
    _pairs: dict[str | None, str]  # tables of what users have in groups, by the list of these
    _found: Sets | None  # the groups of every user, where they are to be found

    @abstractmethod
    def check(self, domain: Domain, *, k: int = 1, most: int | None = None) -> None:
        """Refuse a domain that does not fit the item column."""

    @abstractmethod
    def _rows(self) -> AbstractContextManager[str]:
        """The rows that count."""

    @abstractmethod
    def _sets(self, rows: Rows, progress: Progress | None, label: Label | None = None) -> Sets:
        """The distinct items of every user."""

    def check_groups(self, groups: Domain) -> None:
        """Refuse listed groups that do not fit the columns of groups; they are read here, and only here."""
        from dpselect.engines.duckdb.by_group import keep_groups

        assert self._group is not None
        if groups not in self._domains:
            self._domains[groups] = keep_groups(self._workspace, groups, self._group.types, untyped=self._scan.untyped)

    def group_names(self, groups: Domain) -> Sequence[object]:
        """Listed groups in their order, by the labels that those of rows have."""
        assert self._group is not None
        self.check_groups(groups)
        found = self._workspace.fetch(f"SELECT i FROM {self._domains[groups]} ORDER BY i")
        return [self._group.label(value) for (value,) in found]

    def top_by(
        self,
        rows: int,
        max_groups_per_user: int,
        groups: Domain | None = None,
        *,
        users: bool = False,  # noqa: ARG002 - they can be counted later
        progress: Progress | None = None,
    ) -> GroupedCounts:
        """The `rows` items with most users of every group, or of listed ones; a user keeps so many groups."""
        from dpselect.engines.duckdb.by_group import DuckDBGroupBounds, grouped_counts

        assert self._group is not None
        of_group, of_item = self._group.label, self._keys[1].label
        bounds = DuckDBGroupBounds(groups=max_groups_per_user, items=self._most, key=self._key)
        listed = None if groups is None else self._listed(groups)

        def ask() -> GroupedCounts:
            pairs, totals = self._had(listed), self._totals
            return grouped_counts(self._workspace, pairs, bounds, totals, rows, listed, of_group, of_item)

        return self._workspace.guarded(ask, progress=progress)

    def groups_of_users(self, groups: Domain | None = None, *, progress: Progress | None = None) -> tuple[Int64, Int64]:
        """Numbers of groups, and how many users have so many; the pairs are kept, so the next question is of them."""
        from dpselect.engines.duckdb.by_group import groups_of_users

        listed = None if groups is None else self._listed(groups)

        def ask() -> tuple[Int64, Int64]:
            self._pairs[listed] = self._had(listed)
            return groups_of_users(self._workspace, self._pairs[listed])

        return self._workspace.guarded(ask, progress=progress)

    def _had(self, listed: str | None) -> str:
        """The table of what users have in groups, made now, or kept from the question before."""
        from dpselect.engines.duckdb.by_group import had

        return self._pairs.get(listed) or had(self._workspace, self._rows, self._totals, listed)

    def group_sets(self, *, progress: Progress | None = None) -> Sets:
        """The distinct groups of every user; the rows are kept, so that the next step sees the same ones."""
        from dpselect.engines.duckdb.values_by_group import keep_rows

        assert self._group is not None
        kept = self._workspace.guarded(lambda: keep_rows(self._workspace, self._rows), progress=progress)
        self._kept_rows = kept
        pairs = f"(SELECT DISTINCT u, g AS i FROM {kept})"
        self._found = self._sets(lambda: nullcontext(pairs), progress, self._group.label)
        return self._found

    def keep_groups(self, codes: Int64) -> FoundGroups:
        """Released groups, by their numbers in `group_sets`, as a list to ask for."""
        from dpselect.aggregates.groups import FoundGroups
        from dpselect.engines.duckdb.pairs import keep_found

        sets = self._found
        assert sets is not None
        return FoundGroups(self._workspace.guarded(lambda: keep_found(self._workspace, sets, codes)))

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
        from dpselect.engines.duckdb.by_group import DuckDBGroupBounds
        from dpselect.engines.duckdb.values_by_group import grouped_values, users_at_by

        assert self._group is not None
        bounds, label = DuckDBGroupBounds(groups=max_groups_per_user, items=None, key=self._key), self._group.label
        listed, item_type = self._listed(groups), self._item_type
        if per_user is PerUser.MEAN:
            self._scan = self._scan.each()

        def question(rows: str) -> str:
            return users_at_by(rows, grid, per_user, bounds, listed, item_type)

        return self._workspace.guarded(
            lambda: grouped_values(self._workspace, self._rows, question, label), progress=progress
        )

    def counts_by(
        self,
        domain: Known,
        max_groups_per_user: int,
        groups: Domain | FoundGroups,
        *,
        progress: Progress | None = None,
    ) -> GroupedCounts:
        """The items of a domain that have users, and how many, of every group; a user keeps so many groups."""
        from dpselect.engines.count_groups import number_of
        from dpselect.engines.duckdb.by_group import DuckDBGroupBounds, grouped_counts, had
        from dpselect.engines.duckdb.values_by_group import of_domain

        assert self._group is not None
        self.check(domain)
        of_group, listed = self._group.label, self._listed(groups)
        bounds = DuckDBGroupBounds(groups=max_groups_per_user, items=self._most, key=self._key)
        spans = isinstance(domain, Span)
        of_item: Label = number_of(text=is_text(self._item_type)) if spans else self._keys[1].label

        def ask() -> GroupedCounts:
            rows = partial(of_domain, self._rows, self._among(domain))
            pairs = had(self._workspace, rows, None, listed)
            return grouped_counts(self._workspace, pairs, bounds, None, MOST_COUNTED, listed, of_group, of_item)

        return self._workspace.guarded(ask, progress=progress)

    def item_names(self, domain: Known) -> Sequence[object]:
        """The items of a domain, by the labels that those of rows have."""
        self.check(domain)
        if isinstance(domain, Span):
            from dpselect.engines.count_groups import numbers_of

            return numbers_of(domain, text=is_text(self._item_type))
        found = self._workspace.fetch(f"SELECT i FROM {self._domains[domain]} ORDER BY i")
        return [self._keys[1].label(item) for (item,) in found]

    def contributions_by(
        self, max_groups_per_user: int, groups: Domain | None = None, *, progress: Progress | None = None
    ) -> Sets:
        """The distinct pairs of group and item of every user, in the groups that they keep."""
        from dpselect.engines.duckdb.by_group import DuckDBGroupBounds, keep

        bounds = DuckDBGroupBounds(groups=max_groups_per_user, items=None, key=self._key)
        listed = None if groups is None else self._listed(groups)
        return self._sets(lambda: nullcontext(keep(self._workspace, self._had(listed), bounds)), progress)

    def _among(self, domain: Known) -> Callable[[str], str]:
        """From rows to those of a domain's items, with their groups."""
        if isinstance(domain, Span):
            return lambda source: questions.in_span(source, domain, self._item_type, ", g")
        kept = self._domains[domain]
        return lambda source: questions.in_domain(source, kept, ", g")

    def _listed(self, groups: Domain | FoundGroups) -> str:
        """The table of groups that are asked for."""
        from dpselect.aggregates.groups import FoundGroups

        if isinstance(groups, FoundGroups):
            return groups.place
        self.check_groups(groups)
        return self._domains[groups]
