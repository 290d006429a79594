"""The SQL engine: one table of a database, one filter, one bound, and the questions, answered by its SQL.

It counts as the DuckDB engine does, to the bit; only which items a bounded user keeps hangs on the database's own hash.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeGuard

from dpselect._ground.domain import (
    UNSEEN,
    Column,
    Domain,
    Known,
    Listed,
    Span,
    refuse_many,
    refuse_more,
    refuse_width,
)
from dpselect._ground.keys import Key as Names
from dpselect._ground.keys import names
from dpselect._ground.parameters import Progress, near, whole
from dpselect.aggregates.count_groups import CountGroups
from dpselect.aggregates.measures import NOBODY
from dpselect.aggregates.totals import Totals
from dpselect.aggregates.unbounded import Points
from dpselect.aggregates.user_sets import UserSets
from dpselect.aggregates.value_counts import UsersAt
from dpselect.engines import row_filter, row_periods
from dpselect.engines.count_groups import histogram_of, spanned
from dpselect.engines.filters.engines import SPELLINGS
from dpselect.engines.port import PerUser
from dpselect.engines.sql import questions, sets
from dpselect.engines.sql import totals as weighing
from dpselect.engines.sql.domains import domain_values, places_of
from dpselect.engines.sql.keys import Key, key_of, together
from dpselect.engines.sql.pairs import SqlPairs
from dpselect.engines.sql.port import Database, SqlType, int64
from dpselect.engines.sql.questions_by_group import QuestionsByGroup
from dpselect.errors import SourceError, naming
from dpselect.texts.token_stream import TokenStream
from dpselect.texts.tokenizer import Tokenizer

if TYPE_CHECKING:
    from dpselect._ground.periods import Periods
    from dpselect.aggregates.measures import Measure, Measured


class SqlEngine(QuestionsByGroup):
    """Distinct users per item of one table of a database, which is opened for it and closed with it.

    With `totals` the score of an item is the sum of its users' totals, in place of their number;
    `measures` can be asked of items that came back.
    `key` is the secret key of the contribution bound, fresh for every question (`dpselect.draws.fresh_key`).
    """

    def __init__(
        self,
        open_database: Callable[..., Database],
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
        condition = None if where is None else row_filter.parse(where)

        def needs(names: Sequence[str]) -> Sequence[str]:
            more = [*(condition.needs(names) if condition else ()), *row_periods.known(periods, names)]
            weights = () if totals is None else (totals.column,)
            measured = _known("measures", [one.column for one in measures], names)
            return [*more, *_known("by_weight", weights, names), *measured]

        self._database = database = open_database(source, table, user=user, item=item, needs=needs, by=tuple(by))
        try:
            dialect = database.dialect
            whose, what = (self._key_of(key) for key in (user, item))
            self._dialect, self._item, kind = dialect, what.type, what.type
            self._types = [database.types[name] for name in names(item)]
            self._key, self._most, self._condition = key, max_items_per_user, condition
            self._domains: dict[Domain, tuple[str, int]] = {}  # the items as SQL, and how many
            self._texts: sets.Texts | None = None
            self._found: UserSets | None = None  # the groups of every user, where they are to be found
            if split is not None and not kind.is_text:
                raise SourceError("split", "go with an item column of text", f"a column of {kind.name}")
            spelling = SPELLINGS[dialect.name]
            kept = [] if condition is None else [condition.sql(database.types, dialect.quote, spelling)]
            time = None
            if periods is not None:
                time = row_periods.row_periods(
                    periods, dialect.quote(periods.column), database.types[periods.column], spelling
                )
            self._by = [database.types[name] for name in by]
            group = self._key_of(tuple(by)) if by else None
            self._group = None if group is None else group.type
            self._totals = totals
            weight = None if totals is None else weighing.weight(database, totals.column)
            self._names, self._by_names = names(item), tuple(by)
            self._measures = tuple(measures)
            values = [weighing.weight(database, one.column) for one in self._measures]
            self._rows_with = partial(
                questions.rows, database.source, whose, what, kept, time, dialect, group, measures=values
            )
            rows = self._rows_with(weight)
            self._gains = periods is not None and bool(periods.compared)
            beside = (["g"] if by else []) + (["w"] if self._gains else [])
            self._rows = rows if split is None else questions.parts(rows, split, dialect, beside)
        except BaseException:
            database.close()
            raise

    def __enter__(self) -> SqlEngine:
        return self

    def __exit__(self, sort: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Forget everything. Labels cannot be asked for any more."""
        if self._texts is not None:
            self._texts.close()
        self._database.close()

    @property
    def fixed(self) -> bool:
        """Nobody can tell whether a table has changed."""
        return False

    @property
    def condition(self) -> str | None:
        """The canonical text of the filter, with the declared types of its columns."""
        return None if self._condition is None else self._condition.canonical(self._database.types)

    @property
    def state(self) -> str | None:
        """No table has names for its states."""
        return None

    def top(self, rows: int, *, progress: Progress | None = None) -> CountGroups:
        """The `rows` items with the most distinct users, most first, one group each. Nothing else leaves."""
        most = whole("rows", rows, least=0)
        found = self._database.rows(questions.top(self._counts(self._rows), self._item, most), progress=progress)
        return CountGroups.from_items([self._item.label(row[0]) for row in found], [row[1] for row in found])

    def check(self, domain: Domain, *, k: int = 1, most: int | None = None) -> None:
        """Refuse a domain that does not fit the item column; a listed one is read here, and only here."""
        refuse_width(domain, len(self._types))
        if isinstance(domain, Span):
            questions.in_span("", domain, self._item, self._dialect)
        elif isinstance(domain, (Listed, Column)):
            if domain not in self._domains:
                values = domain_values(domain, self._types)
                self._domains[domain] = self._put(values, self._types), len(values)
            refuse_more(k, self._domains[domain][1])
            refuse_many(self._domains[domain][1], most)

    def leave_out(self, items: Listed | Column) -> None:
        """From now on the rows of these items do not exist; groups at the head of an item are no part of it."""
        groups = len(self._by) if self._by_names == self._names[: len(self._by)] else 0
        types = self._types[groups:]
        with naming("exclude"):
            refuse_width(items, len(types))
            listed = self._put(domain_values(items, types), types)
        if groups:  # the rest of the item goes with the rows, where a weight would
            with_rest = self._rows_with(self._key_of(self._names[groups:]).form)
            self._rows = questions.without(with_rest, listed, "u, i, g", own="w")
        else:
            columns = "u, i" + (", g" if self._by else "") + self._numbers
            self._rows = questions.without(self._rows, listed, columns)

    def grouped(self, domain: Domain | None = None, *, progress: Progress | None = None) -> CountGroups:
        """All items, or those of a domain, equal counts in one group; `label(group, r)` until the engine is closed."""
        if domain is not None:
            self.check(domain)
        counted = self._database.keep(self._counted(domain), progress=progress)
        found = self._database.rows(questions.groups(counted), progress=progress)
        span, item_type = isinstance(domain, Span), self._item

        def item(place: int) -> object:
            sql, order = questions.names(counted, "i" if span else item_type.named)
            value = self._database.at(sql, order, int64([place]))[0]
            return value if span else item_type.label(value)

        def seen_before(start: int, unseen: int) -> int:
            return int(self._database.rows(questions.seen_before(counted, start, unseen, self._dialect))[0][0])

        return histogram_of(found, domain, text=item_type.is_text, item=item, seen_before=seen_before)

    def counts_of(self, domain: Known, *, progress: Progress | None = None) -> CountGroups:
        """All items of a domain, those without a row too, one group each, in the domain's own order."""
        self.check(domain)
        span = isinstance(domain, Span)
        sql = questions.in_order(self._counted(domain), "i" if span else self._item.named)
        found = self._database.rows(sql, progress=progress)
        if isinstance(domain, Span):
            return spanned(domain, found, text=self._item.is_text)
        items = [(self._item.label(row[0]), row[1]) for row in found]
        if isinstance(domain, Listed):
            places = places_of(domain, self._types)
            items.sort(key=lambda item: places.get(item[0], len(places)))
        return CountGroups.from_items([item for item, _ in items], [count for _, count in items])

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

        seen = [measures.plain(one) for one in items if one is not UNSEEN]
        if not seen:
            return [[NOBODY] * len(self._measures) for _ in items]
        span, dialect = isinstance(domain, Span), self._dialect
        listed = (
            ", ".join(str(int(str(one))) for one in seen)
            if span
            else f"SELECT i FROM {self._put(seen, self._types)} AS d"
        )
        bound = None if self._most is None or not bounded else (self._most, self._database.secret(self._key))
        rows = measures.of_items(self._in(domain), self._numbers, listed, bound, dialect)
        sql = measures.question(rows, self._measures, "i" if span else self._item.named, dialect)
        found = self._database.rows(sql, progress=progress)
        if span:
            return measures.measured(found, self._measures, [int(str(one)) for one in items], _whole)
        return measures.measured(found, self._measures, items, self._item.label)

    def check_values(self) -> None:
        """Refuse an item column that holds no numbers, and text, which may hold some, but was not declared as such."""
        weighing.refuse_no_numbers(self._item)

    def users_at(self, grid: Points, per_user: PerUser, *, progress: Progress | None = None) -> UsersAt:
        """How many users have their value at which place of a grid: one value a user, and nothing else leaves."""
        key = self._database.secret(self._key)
        sql = questions.users_at(self._rows, grid, per_user, key, self._item, self._dialect)
        found = self._database.columns(sql, ("p", "n"), progress=progress)
        return UsersAt(int64(found["p"]), int64(found["n"]))

    def check_sets(self) -> None:
        """Nothing to refuse: sets of users come from every table."""

    def contributions(self, *, progress: Progress | None = None) -> UserSets:
        """The distinct items of every user, all of them: a bound is the mechanism's own affair, `draws.sample`."""
        return sets.user_sets(self._database, self._rows, self._item, progress)

    def pairs(self, *, progress: Progress | None = None) -> SqlPairs:
        """The distinct items of every user, kept in the database: weights are added up there."""
        return SqlPairs(self._database, self._rows, self._item, progress, gains=self._gains)

    def check_text(self, tokenizer: Tokenizer) -> None:
        """Refuse an item column that holds no text, and a pattern that cannot be read."""
        sets.check_text(self._item, tokenizer)

    def tokens(self, tokenizer: Tokenizer, *, progress: Progress | None = None) -> TokenStream:
        """The tokens of every text, which come here to be cut; words can be named until the engine is closed."""
        self.check_text(tokenizer)
        self._texts = sets.Texts(self._database, self._rows, progress)
        return self._texts.tokens(tokenizer, progress)

    def _key_of(self, key: Names) -> Key:
        database = self._database
        return key_of([(database.dialect.quote(name), database.types[name]) for name in names(key)], database.dialect)

    def _put(self, values: Sequence[Any], types: Sequence[SqlType]) -> str:
        """A public list of items, or of groups, as SQL."""
        if len(types) == 1:
            return self._database.put_items(values, types[0])
        columns = [f"k{at}" for at in range(len(types))]
        listed = self._database.put_tuples(values, types)
        return f"(SELECT DISTINCT {together(columns, types, self._dialect)} AS i FROM {listed} AS d)"

    def _counts(self, rows: str) -> str:
        bound = None if self._most is None else (self._most, self._database.secret(self._key))
        if self._totals is not None:
            return weighing.scores(rows, self._totals, bound, self._dialect)
        if self._gains:
            return questions.gains(rows, bound, self._dialect)
        return questions.counts(rows, bound, self._dialect)

    def _counted(self, domain: Domain | None) -> str:
        """The counts of what the domain asks for, as SQL."""
        counted = self._counts(self._in(domain))
        return questions.of_domain(counted, self._domains[domain][0]) if _in_table(domain) else counted

    def _in(self, domain: Domain | None) -> str:
        """The rows whose item is in the domain."""
        if isinstance(domain, Span):
            return questions.in_span(self._rows, domain, self._item, self._dialect, self._numbers)
        return (
            questions.in_domain(self._rows, self._domains[domain][0], self._numbers)
            if _in_table(domain)
            else self._rows
        )

    @property
    def _numbers(self) -> str:
        """The columns of weights, or of what is gained, and of measures, where rows have some, behind u and i."""
        return (", w" if self._gains or self._totals is not None else "") + "".join(
            f", m{at}" for at in range(len(self._measures))
        )


def _whole(number: Any) -> object:
    """The number of a range."""
    return int(number)


def _in_table(domain: Domain | None) -> TypeGuard[Listed | Column]:
    """Are its items listed?"""
    return isinstance(domain, (Listed, Column))


def _known(parameter: str, columns: Sequence[str], names: Sequence[str]) -> Sequence[str]:
    """The columns of groups, or of weights, which must be some of these."""
    for name in columns:
        if name not in names:
            raise SourceError(parameter, "be a column of the source", repr(name), near(name, tuple(names)))
    return columns
