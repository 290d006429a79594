"""The SQL engine: one source, one filter, one bound, and the questions, which a database answers by its SQL.

Every database counts the same, to the bit; only which items a bounded user keeps hangs on its own hash.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeGuard

from dpselect._ground.domain import (
    Column,
    Domain,
    Listed,
    NamedDomain,
    Span,
    refuse_k_above_size,
    refuse_large_domain,
    refuse_other_width,
)
from dpselect._ground.keys import Key as Names
from dpselect._ground.keys import typed_label
from dpselect._ground.parameters import Progress, whole_number
from dpselect._ground.row_bound import RowBound
from dpselect.aggregates.count_groups import CountGroups
from dpselect.engines.port import PerUser
from dpselect.engines.sql import questions
from dpselect.engines.sql.database import Asked, Database
from dpselect.engines.sql.port import Key, int64
from dpselect.engines.sql.questions_by_group import QuestionsByGroup
from dpselect.errors import SourceError, naming_parameter

if TYPE_CHECKING:
    from dpselect._ground.periods import Periods
    from dpselect.aggregates.measures import Measure, Measured
    from dpselect.aggregates.totals import Totals
    from dpselect.aggregates.unbounded import Points
    from dpselect.aggregates.user_sets import Sets
    from dpselect.aggregates.value_counts import UsersAt
    from dpselect.engines.row_filter import RowFilter
    from dpselect.engines.sql.pairs import SqlPairs
    from dpselect.texts.token_stream import TokenStream
    from dpselect.texts.tokenizer import Tokenizer


class SqlEngine(QuestionsByGroup):
    """Distinct users per item of one source. Opening it reads the schema and refuses what does not fit.

    With `totals` the score of an item is the sum of its users' totals, in place of their number;
    `measures` can be asked of items that came back.
    `key` is the secret key of the contribution bound, fresh for every question (`dpselect.draws.fresh_key`).
    """

    def __init__(
        self,
        open_database: Callable[[object, str | None, Asked], Database],
        source: object,
        *,
        user: Names,
        item: Names,
        where: str | None = None,
        max_items_per_user: int | None = None,
        split: str | None = None,
        table: str | None = None,
        periods: Periods | None = None,
        totals: Totals | None = None,
        measures: Sequence[Measure] = (),
        by: Sequence[str] = (),
        key: bytes,
    ) -> None:
        condition = None
        if where is not None:
            from dpselect.engines import row_filter

            condition = row_filter.parse(where)
        numbers = [] if totals is None else [("by_weight", totals.column)]
        numbers += [("measures", one.column) for one in measures]
        asked = Asked(user, item, tuple(by), condition, periods, tuple(numbers))
        self._database = database = open_database(source, table, asked)
        try:
            self._dialect, self._key, self._most = database.dialect, key, max_items_per_user
            self._condition, self._totals, self._measures = condition, totals, tuple(measures)
            self._names, self._by_names, self._parts = asked.items, asked.by, split is not None
            self._gains = periods is not None and bool(periods.compared)
            whose, what = database.user(asked.users), database.item(asked.items, plain=split is not None)
            self._item, self._types = what.type, what.types
            group = database.item(asked.by) if by else None
            self._group, self._by = (None, ()) if group is None else (group.type, group.types)
            self._domains: dict[Domain, tuple[str, int]] = {}  # the items as SQL, and how many
            self._group_lists: dict[Domain, str] = {}  # lists of groups: the same list may be one of items
            self._had: dict[str | None, tuple[str, str]] = {}  # what users have in groups, by the list of these
            self._numbered: tuple[Sets, Callable[[Any], str]] | None = None  # groups, where they are to be found
            weight, values = None, list[str]()
            if numbers:
                from dpselect.engines.sql.totals import weight as read

                database.each()
                weight = None if totals is None else read(database, totals.column)
                values = [read(database, one.column) for one in measures]
            kept = [] if condition is None else [self._filter(condition)]
            if split is not None and not what.type.has_text:
                raise SourceError("split", "go with an item column of text", f"a column of {what.type.name}")
            time = None if periods is None else database.time(periods)
            beside = (["g"] if by else []) + self._beside

            def rows(item: Key) -> str:
                every = database.source, whose, item, kept, time, database.dialect, group, weight, values
                found = questions.rows(*every)
                return found if split is None else questions.parts(found, split, database.dialect, beside)

            self._rows, self._rows_of_values = rows(what), rows(replace(what, nameable=what.present))
            self._every = split is None and bool(asked.items)  # are items those of rows, each of them?
        except BaseException:
            database.close()
            raise

    def __enter__(self) -> SqlEngine:
        return self

    def __exit__(self, sort: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Forget everything. Labels cannot be asked for any more."""
        self._database.close()

    @property
    def fixed(self) -> bool:
        """Does the source alone decide what it says?"""
        return self._database.fixed

    @property
    def undeclared(self) -> tuple[str, ...]:
        """The columns that were asked of a source that declares none."""
        return self._database.undeclared

    @property
    def condition(self) -> str | None:
        """The canonical text of the filter, with the declared types of its columns."""
        return None if self._condition is None else self._condition.canonical(self._database.filtered)

    @property
    def declared(self) -> Mapping[str, object]:
        """What a ledger knows of the types of the columns that are read, where an owner has declared some."""
        return self._database.declared

    def check_unchanged(self) -> None:
        """Refuse a source whose schema may have changed since it was read."""
        self._database.check_unchanged()

    @property
    def state(self) -> str | None:
        """What names the state of the rows, where the source has a name for each."""
        return self._database.state

    @property
    def row_bound(self) -> RowBound | None:
        """How many rows of a user were kept, where they were prepared so."""
        return self._database.row_bound

    def top(self, rows: int, *, progress: Progress | None = None) -> CountGroups:
        """The `rows` items with the most distinct users, most first, one group each. Nothing else leaves."""
        most = whole_number("rows", rows, minimum=0)
        sql = questions.top(self._counted(None, most), self._item, most)
        found = self._database.rows(sql, progress=progress)
        return CountGroups.from_items([self._item.label(row[0]) for row in found], [row[1] for row in found])

    def check(self, domain: Domain, *, k: int = 1, most: int | None = None) -> None:
        """Refuse a domain that does not fit the item column; a listed one is read here, and only here."""
        refuse_other_width(domain, len(self._types))
        if isinstance(domain, Span):
            questions.in_span("", domain, self._item)
        elif isinstance(domain, (Listed, Column)):
            if domain not in self._domains:
                self._domains[domain] = self._database.listed(domain, self._types)
            refuse_k_above_size(k, self._domains[domain][1])
            refuse_large_domain(self._domains[domain][1], most)

    def leave_out(self, items: Listed | Column) -> None:
        """From now on the rows of these items do not exist."""
        with naming_parameter("exclude"):
            refuse_other_width(items, len(self._types))
            listed, _ = self._database.listed(items, self._types)
        columns = "u, i" + (", g" if self._by else "") + self._numbers
        self._rows = questions.without(self._rows, listed, columns)
        self._rows_of_values = questions.without(self._rows_of_values, listed, columns)
        self._every, self._had = False, {}

    def grouped(self, domain: Domain | None = None, *, progress: Progress | None = None) -> CountGroups:
        """All items, or those of a domain, equal counts in one group; `label(group, r)` until the engine is closed."""
        from dpselect.engines.count_groups import histogram_of

        if domain is not None:
            self.check(domain)
        counted = self._database.keep(self._counted(domain), progress=progress)
        found = self._database.rows(questions.groups(counted), progress=progress)
        span, item_type = isinstance(domain, Span), self._item

        def item(place: int) -> object:
            sql, order = questions.names(counted, "i" if span else item_type.named)
            value = self._database.at(sql, order, int64([place]))[0]
            return value if span else item_type.label(value)

        @cache
        def gaps(start: int) -> str:
            return self._database.keep(questions.gaps(counted, start, self._dialect))

        def seen_before(start: int, unseen: int) -> int:
            return int(self._database.rows(questions.seen_before(gaps(start), unseen))[0][0])

        return histogram_of(found, domain, item=item, seen_before=seen_before)

    def counts_of(self, domain: NamedDomain, *, progress: Progress | None = None) -> CountGroups:
        """All items of a domain, those without a row too, one group each, in the domain's own order."""
        self.check(domain)
        span = isinstance(domain, Span)
        counted = self._of_domain(self._scores(self._in(domain), self._bound), domain)
        sql = questions.in_order(counted, "i" if span else self._item.named, listed=not span)
        found = self._database.rows(sql, progress=progress)
        if isinstance(domain, Span):
            from dpselect.engines.count_groups import spanned

            return spanned(domain, found)
        return CountGroups.from_items([self._item.label(row[0]) for row in found], [row[1] for row in found])

    def measured(
        self,
        items: Sequence[object],
        domain: Domain | None = None,
        *,
        bounded: bool = True,
        progress: Progress | None = None,
    ) -> Sequence[Sequence[Measured]]:
        """The measures of each of some items that came back. Nothing else leaves."""
        from dpselect.engines.sql import measures

        bound = self._bound if bounded else None

        def question(rows: str, named: str) -> str:
            kept = measures.kept_items(rows, self._numbers, bound, self._dialect)
            return measures.question(kept, self._measures, named, self._dialect)

        found = self._of_items(items, domain, question, 2 * len(self._measures), progress)
        return [measures.measured(self._measures, row) for row in found]

    def scores_of(
        self, items: Sequence[object], domain: Domain | None = None, *, progress: Progress | None = None
    ) -> Sequence[int]:
        """The scores of some items that came back; a bound keeps of every user some of these."""

        def question(rows: str, named: str) -> str:
            return questions.named_scores(self._scores(rows, self._bound), named)

        return [row[0] for row in self._of_items(items, domain, question, 1, progress)]

    def _of_items(
        self,
        items: Sequence[object],
        domain: Domain | None,
        question: Callable[[str, str], str],
        numbers: int,
        progress: Progress | None,
    ) -> list[Sequence[int]]:
        """So many numbers of each of some items: what a question of their rows says, 0 of an item without rows."""
        from dpselect._ground.domain import UNSEEN

        seen, nothing = [one for one in items if one is not UNSEEN], (0,) * numbers
        if not seen:
            return [nothing] * len(items)
        span = isinstance(domain, Span)
        label = _whole if span else self._item.label
        if span:
            seen = [_whole(one) for one in seen]
            listed = ", ".join(map(str, seen))
        else:
            listed = f"SELECT i FROM {self._database.put_items(seen, self._types)} AS d"
        rows = questions.of_items(self._in(domain), listed, self._numbers)
        found = self._database.rows(question(rows, "i" if span else self._item.named), progress=progress)
        of = {typed_label(label(row[0])): tuple(map(int, row[1:])) for row in found}
        return [
            nothing if one is UNSEEN else of.get(typed_label(_whole(one) if span else one), nothing) for one in items
        ]

    def check_values(self) -> None:
        """Refuse an item column that holds no numbers, and text that was declared as such, which may hold some.

        From now on the rows are those of values: an infinite one lies beyond every bound, though it names no item.
        """
        from dpselect.engines.sql.totals import refuse_no_numbers

        refuse_no_numbers(self._item, *self._names)
        self._rows = self._rows_of_values

    def users_at(self, grid: Points, per_user: PerUser, *, progress: Progress | None = None) -> UsersAt:
        """How many users have their value at which place of a grid: one value a user, and nothing else leaves."""
        from dpselect.aggregates.value_counts import UsersAt

        if per_user is PerUser.MEAN:
            self._database.each()
        key = self._database.secret(self._key)
        sql = questions.users_at(self._rows_of_values, grid, per_user, key, self._item, self._dialect)
        found = self._database.columns(sql, ("p", "n"), progress=progress)
        return UsersAt(int64(found["p"]), int64(found["n"]))

    def contributions(self, *, progress: Progress | None = None) -> Sets:
        """The distinct items of every user, all of them: a bound is the mechanism's own affair, `draws.sample`."""
        rows, kind = self._with_groups(self._rows)
        return self._database.sets(rows, kind, every=self._every and not self._by, progress=progress)

    def pairs(self, *, progress: Progress | None = None) -> SqlPairs:
        """The distinct items of every user, kept in the database: weights are added up there."""
        from dpselect.engines.sql.pairs import SqlPairs

        rows, kind = self._with_groups(self._rows, self._numbers)
        return SqlPairs(self._database, rows, kind, progress, gains=self._gains)

    def check_text(self, tokenizer: Tokenizer) -> None:
        """Refuse an item column that holds no text, and a pattern that cannot be read."""
        self._database.check_text(self._item, tokenizer)

    def tokens(self, tokenizer: Tokenizer, *, progress: Progress | None = None) -> TokenStream:
        """The tokens of every text; words can be named until the engine is closed."""
        self.check_text(tokenizer)
        return self._database.tokens(self._rows, self._item, tokenizer, progress)

    def _filter(self, condition: RowFilter) -> str:
        """The filter as the database's own SQL."""
        from dpselect.engines.filters.engines import SPELLINGS

        return condition.sql(self._database.filtered, self._dialect.quote, SPELLINGS[self._dialect.name])

    @property
    def _bound(self) -> tuple[int, str] | None:
        """How many items a user keeps, and the key."""
        return None if self._most is None else (self._most, self._database.secret(self._key))

    def _scores(self, rows: str, bound: tuple[int, str] | None) -> str:
        """The score of every item of some rows as SQL: i and n."""
        if self._totals is not None:
            from dpselect.engines.sql.totals import scores

            return scores(rows, self._totals, bound, self._dialect)
        return (questions.gains if self._gains else questions.counts)(rows, bound, self._dialect)

    def _counted(self, domain: Domain | None, most: int | None = None) -> str:
        """The scores of all items, or of those of a domain, as SQL; `most` of them may be enough."""
        counted = self._scores(self._in(domain), None)
        if self._totals is None and not self._gains and self._every and not isinstance(domain, Span):
            counted = self._database.counted(counted, most)
        return self._of_domain(counted, domain)

    def _of_domain(self, counted: str, domain: Domain | None) -> str:
        """The same with the items of a list that have no users."""
        return questions.of_domain(counted, self._domains[domain][0]) if _in_table(domain) else counted

    def _in(self, domain: Domain | None) -> str:
        """The rows whose item is in the domain."""
        if isinstance(domain, Span):
            return questions.in_span(self._rows, domain, self._item, self._numbers)
        if _in_table(domain):
            return questions.in_domain(self._rows, self._domains[domain][0], self._numbers)
        return self._rows

    @property
    def _beside(self) -> list[str]:
        """The columns of weights, or of what is gained, and of measures, where rows have some."""
        weights = ["w"] if self._gains or self._totals is not None else []
        return [*weights, *(f"m{at}" for at in range(len(self._measures)))]

    @property
    def _numbers(self) -> str:
        """The same as they stand behind other columns."""
        return "".join(f", {name}" for name in self._beside)


def _whole(number: Any) -> object:
    """The number of a range, from its label or as it is kept."""
    return int(str(number))


def _in_table(domain: Domain | None) -> TypeGuard[Listed | Column]:
    """Are its items listed?"""
    return isinstance(domain, (Listed, Column))
