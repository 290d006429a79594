"""The methods by group of an SQL engine; the queries themselves are in by_group.py and values_by_group.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpselect._ground.domain import MAX_COUNTED_ITEMS, Column, Domain, Listed, NamedDomain, Span, refuse_other_width
from dpselect._ground.keys import typed_label
from dpselect._ground.parameters import Progress
from dpselect.engines.port import PerUser
from dpselect.engines.sql import questions
from dpselect.engines.sql.engine import SqlEngine
from dpselect.engines.sql.port import Int64, int64
from dpselect.errors import ParameterError, came, naming_parameter

if TYPE_CHECKING:
    from dpselect.aggregates.groups import FoundGroups, GroupedCounts, GroupedValues
    from dpselect.aggregates.unbounded import Points
    from dpselect.aggregates.user_sets import Sets


SECRET_KEY_BYTES = 16


class Engine(SqlEngine):
    """An engine that may have been opened with columns of groups."""

    def check_groups(self, groups: Domain) -> None:
        """Refuse listed groups that do not fit the columns of groups, before a row is read or anything is paid.

        A list is read here, and only here.
        """
        if groups not in self._stored_group_lists:
            with naming_parameter("groups"):
                refuse_other_width(groups, len(self._group_column_types))
                if not isinstance(groups, (Listed, Column)):
                    raise ParameterError("domain", "be a list, or a Column of a public source", came(groups))
                self._stored_group_lists[groups], _ = self._database.put_domain(groups, self._group_column_types)

    def group_names(self, groups: Domain) -> Sequence[object]:
        """Return listed groups in their order, by the labels that those of rows have."""
        group = self._group_type
        assert group is not None
        self.check_groups(groups)
        sql = f"SELECT {group.label_form} AS name, i FROM {self._stored_group_lists[groups]} AS l ORDER BY i"
        return [group.to_label(row[0]) for row in self._database.rows(sql)]

    def top_by(
        self,
        rows: int,
        max_groups_per_user: int,
        groups: Domain | None = None,
        *,
        users: bool = False,
        progress: Progress | None = None,
    ) -> GroupedCounts:
        """Return the `rows` items with the most distinct users of every group, as `Engine.top` would have them there.

        Opened with `Totals`, what users give, in each group by itself; in a group where they give no unit they are not.
        A group is a value, or a combination of values, of the columns `by` with which the engine was opened; a row that
        has a null (or NaN) there does not count. Every user keeps at most `max_groups_per_user` of their groups, those
        with the smallest keyed hash of (key, user, group), with all of their items there. Where groups are listed only
        they count, and each of them is there, with no rows if it has none. `users` says whether numbers of users will
        be asked for.
        """
        from dpselect.engines.sql.by_group import COUNT, SUM, read_grouped_counts, top_items_by_group

        assert self._group_type is not None
        group_list = None if groups is None else self._group_list(groups)
        kept_rows = self._kept_rows(max_groups_per_user, group_list, progress)
        score = COUNT if self._totals is None else SUM
        sql = top_items_by_group(
            kept_rows, rows, group_list, self._group_type, self._item_type, users=users, score=score
        )
        return read_grouped_counts(self._database, sql, self._group_type, self._item_type, progress)

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
        from dpselect.engines.sql.by_group import COUNT, SUM, scores_of_winners

        if not pairs:
            return []
        group_list = None if groups is None else self._group_list(groups)
        kept_rows = self._kept_rows(max_groups_per_user, group_list, progress)
        group_labels = [group if len(self._group_column_types) > 1 else group[0] for group, _ in pairs]
        group_indices, distinct_groups = _distinct_indices(group_labels)
        item_indices, distinct_items = _distinct_indices([item for _, item in pairs])
        width, put_items = len(distinct_items), self._database.put_items
        codes = [group * width + item for group, item in zip(group_indices, item_indices, strict=True)]
        bound = (
            None
            if self._max_items_per_user is None
            else (self._max_items_per_user, self._database.secret_key_sql(derive_value_key(self._secret_key)))
        )
        sql = scores_of_winners(
            kept_rows,
            put_items(distinct_groups, self._group_column_types),
            put_items(distinct_items, self._item_column_types),
            self._database.put({"x": int64(codes)}),
            width,
            bound,
            COUNT if self._totals is None else SUM,
            self._dialect,
        )
        scores = {int(x): int(n) for x, n in self._database.rows(sql, progress=progress)}
        return [scores.pop(code, 0) for code in codes]  # each score is returned once, even if a pair is asked for twice

    def groups_of_users(self, groups: Domain | None = None, *, progress: Progress | None = None) -> tuple[Int64, Int64]:
        """Numbers of groups, and how many users have so many groups, of all or of those that are listed.

        The groups are those among which `top_by` and `contributions_by` would choose the ones that a user keeps.
        """
        from dpselect.engines.sql.by_group import users_per_group_number

        group_list = None if groups is None else self._group_list(groups)
        _, pairs = self._stored_contributions(group_list, progress)
        columns = self._database.columns(users_per_group_number(pairs), ("n", "users"), progress=progress)
        return int64(columns["n"]), int64(columns["users"])

    def contributions_by(
        self, max_groups_per_user: int, groups: Domain | None = None, *, progress: Progress | None = None
    ) -> Sets:
        """Return the distinct items of every user, as `contributions`, in the groups that `top_by` would keep.

        An item is here the values of a group and then those of an item. No other bound is applied.
        """
        group_list = None if groups is None else self._group_list(groups)
        rows, item_type = self._with_groups_in_items(self._kept_rows(max_groups_per_user, group_list, progress))
        return self._database.read_sets(rows, item_type, of_all_rows=False, progress=progress)

    def group_sets(self, *, progress: Progress | None = None) -> Sets:
        """Return the distinct groups of every user, as `contributions` has items, for a set union that finds groups.

        The rows are kept, where that is possible, so that the next question about these groups is of the very same
        rows.
        """
        assert self._group_type is not None
        self._rows = self._rows_of_values = self._database.make_rereadable(self._rows, progress=progress)
        groups = f"(SELECT DISTINCT u, g AS i FROM {self._rows} AS t)"
        self._numbered_groups = self._database.number_sets(groups, self._group_type, progress=progress)
        return self._numbered_groups[0]

    def keep_groups(self, codes: Int64) -> FoundGroups:
        """Store groups that a union released, by their codes in `group_sets`, as a list to ask this engine for.

        They stay what they are in the engine: a label may not hold all of a value.
        """
        from dpselect.aggregates.groups import FoundGroups

        assert self._numbered_groups is not None
        return FoundGroups(self._numbered_groups[1](codes))

    def users_at_by(
        self,
        grid: Points,
        per_user: PerUser,
        max_groups_per_user: int,
        groups: Domain | FoundGroups,
        *,
        progress: Progress | None = None,
    ) -> GroupedValues:
        """Count the users of every listed group with their value at each point of a grid, as `Engine.users_at` would.

        Of a user with several values in a group `per_user` picks one, in each group by itself; then every user keeps at
        most `max_groups_per_user` of the listed groups in which they have a value, as in `top_by`. Each listed group is
        there.
        """
        from dpselect.engines.sql.by_group import rows_of_groups
        from dpselect.engines.sql.values import read_grouped_values, users_per_group_and_grid_index

        assert self._group_type is not None
        if per_user is PerUser.MEAN:
            self._database.keep_duplicates()
        group_list, secret_key_sql = self._group_list(groups), self._database.secret_key_sql
        secret_keys = secret_key_sql(self._secret_key), secret_key_sql(derive_value_key(self._secret_key))
        types, rows = (self._group_type, self._item_type), rows_of_groups(self._rows_of_values, group_list)
        sql = users_per_group_and_grid_index(
            rows, grid, per_user, max_groups_per_user, group_list, secret_keys, types, self._dialect
        )
        return read_grouped_values(self._database, sql, self._group_type, progress)

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
        from dataclasses import replace

        from dpselect.engines.sql.by_group import (
            read_grouped_counts,
            rows_in_kept_groups,
            rows_of_groups,
            top_items_by_group,
        )

        assert self._group_type is not None
        self.check(domain)
        group_list, item = self._group_list(groups), self._item_type
        if isinstance(domain, Span):
            item = replace(item, label_form="i", to_label=int)
            rows = questions.rows_in_span(self._rows, domain, self._item_type, ", g")
        else:
            rows = questions.rows_in_domain(self._rows, self._stored_domains[domain][0], ", g")
        contributions = f"(SELECT DISTINCT u, g, i FROM {rows_of_groups(rows, group_list)} AS t)"
        bound = self._group_bound(max_groups_per_user)
        kept_rows = rows_in_kept_groups(contributions, "u, g, i", bound, self._dialect)
        sql = top_items_by_group(kept_rows, MAX_COUNTED_ITEMS, group_list, self._group_type, item, users=False)
        return read_grouped_counts(self._database, sql, self._group_type, item, progress)

    def item_names(self, domain: NamedDomain) -> Sequence[object]:
        """Return the items of a domain, which are public, in an order of their own, by the labels of rows."""
        self.check(domain)
        if isinstance(domain, Span):
            return range(domain.start, domain.stop)
        sql = f"SELECT {self._item_type.label_form} AS name, i FROM {self._stored_domains[domain][0]} AS l ORDER BY i"
        return [self._item_type.to_label(row[0]) for row in self._database.rows(sql)]

    def check_pairs(self) -> None:
        """Refuse a group and an item that cannot be one value together. No row is read.

        Opened with `by`, `contributions` and `pairs` have a group and an item together as an item, too.
        """
        self._database.pair(self._group_columns, self._item_columns, plain=self._is_split)

    def _group_list(self, groups: Domain | FoundGroups) -> str:
        """Return the requested groups as SQL."""
        from dpselect.aggregates.groups import FoundGroups

        if isinstance(groups, FoundGroups):
            return groups.stored_at
        self.check_groups(groups)
        return self._stored_group_lists[groups]

    def _group_bound(self, max_groups: int) -> tuple[int, str]:
        return max_groups, self._database.secret_key_sql(self._secret_key)

    def _kept_rows(self, max_groups: int, group_list: str | None, progress: Progress | None) -> str:
        """Return u, g and i, and the units s if there are weights, in the groups that users keep."""
        from dpselect.engines.sql.by_group import rows_in_kept_groups

        contributions, pairs = self._stored_contributions(group_list, progress)
        columns = "u, g, i" if self._totals is None else "u, g, i, s"
        return rows_in_kept_groups(contributions, columns, self._group_bound(max_groups), self._dialect, pairs)

    def _stored_contributions(self, group_list: str | None, progress: Progress | None) -> tuple[str, str]:
        """Return the same stored rows for every question, so that all answers are about the same rows."""
        if group_list not in self._contributions:
            self._contributions[group_list] = self._store_contributions(group_list, progress)
        return self._contributions[group_list]

    def _store_contributions(self, group_list: str | None, progress: Progress | None) -> tuple[str, str]:
        """Store what users have in groups, or in listed ones, with the units that they give if there are weights.

        Return this and its distinct users and groups. Whatever is asked later is asked of the same rows.
        """
        from dpselect.engines.sql.by_group import rows_of_groups

        database = self._database
        rows = self._rows if group_list is None else rows_of_groups(self._rows, group_list, self._number_suffix)
        if self._totals is None:
            return database.keep_distinct(rows, ("u", "g", "i"), 2, progress=progress)
        from dpselect.engines.sql.numbers import group_units

        units = database.make_rereadable(group_units(self._totals, self._dialect, rows), progress=progress)
        pairs = f"(SELECT DISTINCT u, g FROM {units} AS d)"
        return units, database.make_rereadable(pairs, progress=progress)


def _distinct_indices(labels: Sequence[object]) -> tuple[list[int], list[object]]:
    """Return for each label its index among the distinct ones, and the distinct ones."""
    index_of_label: dict[object, int] = {}
    indices = [index_of_label.setdefault(typed_label(label), len(index_of_label)) for label in labels]
    distinct_labels = dict(zip(indices, labels, strict=True))
    return indices, [distinct_labels[index] for index in range(len(index_of_label))]


def derive_value_key(key: bytes) -> bytes:
    """Return a second secret key, by which the items or the value that a user keeps are chosen independently of groups.

    With one key for both, a user of the groups 1 and 2 who has the values 1 and 2 would keep the same of each.
    """
    import hashlib  # it loads OpenSSL

    return hashlib.blake2b(key, digest_size=SECRET_KEY_BYTES, person=b"value").digest()
