"""The DuckDB engine: one source, one filter, one bound, and the questions, answered by SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import TracebackType
from typing import TYPE_CHECKING

from dpselect._ground.domain import Column, Domain, Known, Listed, Span, refuse_many, refuse_more, refuse_width
from dpselect._ground.keys import Key as Names
from dpselect._ground.keys import named, names
from dpselect._ground.parameters import Progress, whole
from dpselect.aggregates.count_groups import CountGroups
from dpselect.engines.duckdb import questions
from dpselect.engines.duckdb.keys import STRUCT, DuckDBKey
from dpselect.engines.duckdb.questions_by_group import DuckDBQuestionsByGroup
from dpselect.engines.duckdb.scans import Counting, Scan, missing_column
from dpselect.engines.duckdb.sources import open_scan
from dpselect.engines.duckdb.types import (
    OBJECT,
    filter_form,
    filter_type,
    has_text,
    is_text,
    item_form,
    kind,
    number_form,
    plain_form,
    plain_type,
    refuse_no_numbers,
)
from dpselect.engines.duckdb.workspace import Label, Row, Rows, Workspace, quoted
from dpselect.engines.port import PerUser
from dpselect.engines.sources.object_marks import MARK
from dpselect.errors import SourceError, naming

if TYPE_CHECKING:
    from dpselect._ground.periods import Periods
    from dpselect.aggregates.measures import Measure, Measured
    from dpselect.aggregates.totals import Totals
    from dpselect.aggregates.unbounded import Points
    from dpselect.aggregates.user_sets import Sets
    from dpselect.aggregates.value_counts import UsersAt
    from dpselect.engines.duckdb.weights import DuckDBPairs
    from dpselect.engines.row_filter import RowFilter
    from dpselect.engines.row_periods import RowPeriods
    from dpselect.engines.sql.port import SqlType
    from dpselect.texts.token_stream import TokenStream
    from dpselect.texts.tokenizer import Tokenizer


class DuckDBEngine(DuckDBQuestionsByGroup):
    """Distinct users per item of one source. Opening it reads the schema and refuses what does not fit.

    With `totals` the score of an item is the sum of its users' totals, in place of their number;
    `measures` can be asked of items that came back.
    `key` is the secret key of the contribution bound, fresh for every question (`dpselect.draws.fresh_key`).
    """

    def __init__(
        self,
        source: object,
        *,
        user: Names,
        item: Names,
        where: str | None = None,
        max_items_per_user: int | None = None,
        split: str | None = None,
        table: str | None = None,
        newlines_in_values: bool = False,
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
        self._workspace = Workspace()
        self._domains: dict[Domain, str] = {}
        self._key = key
        self._bound = None if max_items_per_user is None else questions.UserBound(max_items_per_user, key)
        try:
            self._scan = open_scan(self._workspace, source, table, newlines_in_values=newlines_in_values)
            self._user, self._item, self._split, self._by = names(user), names(item), split, tuple(by)
            self._totals, self._measures = totals, tuple(measures)
            asked = named(user, item, self._by)
            asked += [] if periods is None else [("time", periods.column)]
            asked += [] if totals is None else [("by_weight", totals.column)]
            asked += [("measures", one.column) for one in self._measures]
            self._condition = condition
            known = () if condition is None else self._scan.names or condition.columns
            self._filtered = () if condition is None else tuple(condition.needs(known, self._scan.hint))
            self._scan.refuse(self._user, asked, self._filtered, periods)
            self._columns, self._types = _schema(self._workspace, self._scan, asked, self._item, self._filtered)
            for column in self._numbers:
                refuse_no_numbers(self._types[column], untyped=self._scan.untyped)
            self._periods = periods
            self._time = None if periods is None else self._row_time(periods)
            self._where = "true" if condition is None else _written(condition, self._types)
            self._inside = "true" if self._time is None else self._time.inside
            self._keys = self._users(), self._named(self._item, plain=split is not None)
            self._group = self._named(self._by) if self._by else None
            self._forms = f"{self._keys[0].user} AS u, {self._keys[1].item} AS i"
            self._forms += f", {self._group.item} AS g" if self._group else ""
            self._forms += "" if totals is None else f", {self._number(totals.column)} AS w"
            self._forms += "".join(f", {self._number(one.column)} AS m{at}" for at, one in enumerate(self._measures))
            if split is not None and not has_text(self._keys[1].type):
                must, came = "go with an item column of text", f"a column of {kind(self._keys[1].type)}"
                raise SourceError("split", must, came)
            self._item_type = self._keys[1].type
        except BaseException:
            self._workspace.close()
            raise
        self._most = max_items_per_user
        self._kept_rows: str | None = None  # a table of the rows that count, where they are asked for again
        self._pairs: dict[str | None, str] = {}  # tables of what users have in groups, by the list of these
        self._found: Sets | None = None  # the groups of every user, where they are to be found
        self._left_out: str | None = None  # the SQL condition on items whose rows count, where not all do
        if totals is not None or measures:
            self._scan = self._scan.each()
        self._every_item = split is None and bool(self._item)  # are items those of rows, each of them?
        self._gains = periods is not None and bool(periods.compared)
        self._plain = self._every_item and max_items_per_user is None and totals is None and not self._gains

    def __enter__(self) -> DuckDBEngine:
        return self

    def __exit__(self, sort: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Forget everything. Labels cannot be asked for any more."""
        self._workspace.close()

    @property
    def fixed(self) -> bool:
        """Does the source alone decide what it says?"""
        return self._scan.fixed

    @property
    def condition(self) -> str | None:
        """The canonical text of the filter, with the declared types of its columns."""
        return None if self._condition is None else self._condition.canonical(_filter_types(self._types))

    @property
    def state(self) -> str | None:
        """What names the state of the rows, where the source has a name for each."""
        return self._scan.state

    def top(self, rows: int, *, progress: Progress | None = None) -> CountGroups:
        """The `rows` items with the most distinct users, most first, one group each. Nothing else leaves."""
        most = whole("rows", rows, least=0)
        found = self._ask_counts(None, lambda counted: questions.top(counted, most), progress, most)
        items = [self._keys[1].label(item) for item, _ in found]
        return CountGroups.from_items(items, [count for _, count in found])

    def check(self, domain: Domain, *, k: int = 1, most: int | None = None) -> None:
        """Refuse a domain that does not fit the item column; a listed one is read here, and only here."""
        types = self._keys[1].types
        refuse_width(domain, len(types))
        if isinstance(domain, Span):
            questions.in_span("", domain, self._item_type)
        elif isinstance(domain, (Listed, Column)):
            from dpselect.engines.duckdb.tuples import keep_items

            if domain not in self._domains:
                self._domains[domain] = keep_items(self._workspace, domain, types, untyped=self._scan.untyped)
            items = self._workspace.fetch(f"SELECT count(*) FROM {self._domains[domain]}")[0][0]
            refuse_more(k, items)
            refuse_many(items, most)

    def leave_out(self, items: Listed | Column) -> None:
        """From now on the rows of these items do not exist; groups at the head of an item are no part of it."""
        from dpselect.engines.duckdb.keys import together
        from dpselect.engines.duckdb.tuples import keep_items

        groups = len(self._by) if self._by == self._item[: len(self._by)] else 0
        with naming("exclude"):
            refuse_width(items, len(self._item) - groups)
            types = self._keys[1].types[groups:]
            kept = keep_items(self._workspace, items, types, untyped=self._scan.untyped)
        own = together([f"i.k{place}" for place in range(groups, len(self._item))]) if groups else "i"
        self._left_out, self._plain = f"{own} NOT IN (SELECT i FROM {kept})", False
        self._every_item = False

    def grouped(self, domain: Domain | None = None, *, progress: Progress | None = None) -> CountGroups:
        """All items, or those of a domain, equal counts in one group; `label(group, r)` until the engine is closed."""
        from dpselect.engines.count_groups import histogram_of

        if domain is not None:
            self.check(domain)
        table = self._workspace.fresh()
        self._ask_counts(domain, lambda counted: questions.keep_counts(table, counted), progress)
        found = self._workspace.fetch(questions.groups(table))
        item_type = self._item_type

        def item(place: int) -> object:
            return self._keys[1].label(self._workspace.fetch(questions.item_at(table), [place])[0][0])

        def seen_before(start: int, unseen: int) -> int:
            gaps = f"{table}_gaps"
            self._workspace.fetch(questions.keep_gaps(gaps, table, start))
            return int(self._workspace.fetch(questions.seen_before(gaps), [unseen])[0][0])

        return histogram_of(found, domain, text=is_text(item_type), item=item, seen_before=seen_before)

    def counts_of(self, domain: Known, *, progress: Progress | None = None) -> CountGroups:
        """All items of a domain, those without a row too, one group each, in the domain's own order."""
        self.check(domain)
        kept = None if isinstance(domain, Span) else self._domains[domain]
        found = self._ask_counts(domain, lambda counted: questions.in_order(counted, kept), progress)
        if isinstance(domain, Span):
            from dpselect.engines.count_groups import spanned

            return spanned(domain, found, text=is_text(self._item_type))
        items = [self._keys[1].label(item) for item, _ in found]
        return CountGroups.from_items(items, [count for _, count in found])

    def measured(
        self,
        items: Sequence[object],
        domain: Domain | None = None,
        *,
        bounded: bool = True,
        progress: Progress | None = None,
    ) -> Sequence[Sequence[Measured]]:
        """The measures of each of some items that came back. Nothing else leaves."""
        from dpselect.engines.duckdb.measures import measured, number_types

        @contextmanager
        def rows() -> Iterator[str]:
            with self._rows() as source:
                yield self._in(domain, source)

        types = number_types(self._item_type) if isinstance(domain, Span) else self._keys[1].types
        labels = [int(str(one)) for one in items] if isinstance(domain, Span) else items
        bound = self._bound if bounded else None
        return self._workspace.guarded(
            lambda: measured(self._workspace, rows, self._measures, labels, types, bound), progress=progress
        )

    def check_values(self) -> None:
        """Refuse an item column that holds no numbers; text may hold some only where the source has no types."""
        refuse_no_numbers(self._item_type, untyped=self._scan.untyped)

    def users_at(self, grid: Points, per_user: PerUser, *, progress: Progress | None = None) -> UsersAt:
        """How many users have their value at which place of a grid: one value a user, and nothing else leaves."""
        from dpselect.aggregates.value_counts import UsersAt

        item_type = self._item_type
        if per_user is PerUser.MEAN:
            self._scan = self._scan.each()

        def ask() -> UsersAt:
            with self._scan.rows(self._workspace, self._columns, self._select) as source:
                sql = questions.users_at(source, grid, per_user, self._key, item_type)
                found = self._workspace.columns(sql)
                return UsersAt(found["p"].astype("int64"), found["n"].astype("int64"))

        return self._workspace.guarded(ask, progress=progress)

    def findings(self) -> Iterator[str]:
        """What the owner of the rows should know of them. Nothing of it is private."""
        from dpselect.engines.duckdb.inspect import row_findings

        user, item = (
            DuckDBKey(tuple(map(quoted, key)), self._types_of(key)).present for key in (self._user, self._item)
        )
        conditions = {} if self._scan.user_code else {"without a user": user}  # prepared rows have one
        conditions |= {"without an item": item, "that where leaves out": self._where}
        conditions |= {} if self._time is None else {"in none of the periods": self._time.all}
        return row_findings(self._workspace, self._scan.each(), self._columns, self._select, conditions)

    def check_sets(self) -> None:
        """Nothing to refuse: sets of users come from every source."""

    def contributions(self, *, progress: Progress | None = None) -> Sets:
        """The distinct items of every user, all of them: a bound is the mechanism's own affair, `draws.sample`."""
        coded = self._scan.coded(self._counting(None)) if self._every_item else None
        if coded is None:
            return self._sets(self._rows, progress)
        from dpselect.engines.duckdb.pairs import coded_sets

        rows, names = coded
        return self._workspace.guarded(
            lambda: coded_sets(self._workspace, lambda: nullcontext(rows), names, self._keys[1].label),
            progress=progress,
        )

    def _rows(self) -> AbstractContextManager[str]:
        """The rows that count, read anew, or as they were kept."""
        if self._kept_rows is not None:
            return nullcontext(self._kept_rows)
        return self._scan.rows(self._workspace, self._columns, self._select)

    def _sets(self, rows: Rows, progress: Progress | None, label: Label | None = None) -> Sets:
        from dpselect.engines.duckdb.pairs import user_sets

        pairs = self._time is not None and self._time.several
        user_type = STRUCT if pairs else self._keys[0].type
        return self._workspace.guarded(
            lambda: user_sets(self._workspace, rows, user_type, label or self._keys[1].label), progress=progress
        )

    def pairs(self, *, progress: Progress | None = None) -> DuckDBPairs:
        """The distinct items of every user, kept in the workspace: weights are added up there."""
        from dpselect.engines.duckdb.weights import DuckDBPairs

        return DuckDBPairs(
            self._workspace,
            lambda: self._scan.rows(self._workspace, self._columns, self._select),
            self._keys[1].label,
            progress,
            gains=self._gains,
        )

    def check_text(self, tokenizer: Tokenizer) -> None:
        """Refuse an item column that holds no text, and a pattern that cannot be read."""
        from dpselect.engines.duckdb.text import check_text

        check_text(self._workspace, self._item_type, tokenizer)

    def tokens(self, tokenizer: Tokenizer, *, progress: Progress | None = None) -> TokenStream:
        """The tokens of every text, whose words can be named until the engine is closed."""
        from dpselect.engines.duckdb.text import token_stream

        self.check_text(tokenizer)

        @contextmanager
        def rows() -> Iterator[str]:
            with self._scan.rows(self._workspace, self._columns, self._select) as source:
                yield f"(SELECT u, {plain_form('i')} AS i FROM {source})" if self._item_type == OBJECT else source

        return self._workspace.guarded(lambda: token_stream(self._workspace, rows, tokenizer), progress=progress)

    def _counted(self, domain: Domain | None) -> Callable[[str], str]:
        """From the source to the counts of what the domain asks for."""
        if isinstance(domain, (Listed, Column)):
            kept = self._domains[domain]
            return lambda source: questions.of_domain(self._scored(self._in(domain, source)), kept)
        return lambda source: self._scored(self._in(domain, source))

    def _in(self, domain: Domain | None, source: str) -> str:
        """The rows whose item is in the domain."""
        if isinstance(domain, Span):
            return questions.in_span(source, domain, self._item_type, self._weight)
        if isinstance(domain, (Listed, Column)):
            return questions.in_domain(source, self._domains[domain], self._weight)
        return source

    def _scored(self, rows: str) -> str:
        """The items and how many users have them, or what these give to them."""
        if self._gains:
            return questions.gains(rows, self._bound)
        if self._totals is None:
            return questions.counts(rows, self._bound)
        from dpselect.engines.duckdb import totals

        return totals.scores(rows, self._totals, self._bound)

    @property
    def _weight(self) -> str:
        """The columns of weights, or of what is gained, and of measures, where rows have some, behind u and i."""
        return (", w" if self._gains or self._totals is not None else "") + "".join(
            f", m{at}" for at in range(len(self._measures))
        )

    @property
    def _numbers(self) -> list[str]:
        """The columns that must hold numbers."""
        return [*([] if self._totals is None else [self._totals.column]), *(one.column for one in self._measures)]

    def _number(self, column: str) -> str:
        """The number of a row, as `_select` reads it."""
        sql_type = self._types[column]
        return number_form(quoted(MARK + column if sql_type == OBJECT else column), sql_type)

    def _ask_counts(
        self, domain: Domain | None, question: Callable[[str], str], progress: Progress | None, most: int | None = None
    ) -> list[Row]:
        """Run one question over the counts of what the domain asks for, or over those of `most` items or more."""
        counting = None if isinstance(domain, Span) or not self._plain else self._counting(most)

        def ask() -> list[Row]:
            if counting is not None:
                with self._scan.counts(self._workspace, counting) as counted:
                    if counted is not None:
                        listed = self._domains[domain] if isinstance(domain, (Listed, Column)) else None
                        return self._workspace.rows(
                            question(counted if listed is None else questions.of_domain(counted, listed))
                        )
            with self._scan.rows(self._workspace, self._columns, self._select) as source:
                return self._workspace.rows(question(self._counted(domain)(source)))

        return self._workspace.guarded(ask, progress=progress)

    def _counting(self, most: int | None) -> Counting:
        """What is asked of a source that counts for itself."""
        where = None if self._condition is None else self._where
        return Counting(self._user, self._item, self._keys[1].item, where, self._filtered, self._periods, most)

    def _users(self) -> DuckDBKey:
        """Users by a number of their own where the source has one, which is quicker to tell apart; else by columns."""
        code = self._scan.user_code
        if code is None:
            return self._named(self._user)
        times = [] if self._periods is None else [self._periods.column]
        others = {*self._item, *self._by, *times, *self._numbers, *self._filtered}
        self._columns = [one for one in self._columns if one not in self._user or one in others]
        return DuckDBKey((quoted(code),), ("BIGINT",))

    def _named(self, columns: tuple[str, ...], *, plain: bool = False) -> DuckDBKey:
        """Columns as `_select` reads them; those without a declared type by their values, or as plain text.

        The filter sees objects as plain text, so what stands for the value itself has a name that nothing else has.
        """
        own = [MARK + name if self._types[name] == OBJECT and not plain else name for name in columns]
        types = self._types_of(columns)
        return DuckDBKey(tuple(map(quoted, own)), tuple(map(plain_type, types)) if plain else types)

    def _row_time(self, periods: Periods) -> RowPeriods:
        from dpselect.engines.duckdb.times import row_time

        return row_time(periods, self._types)

    def _types_of(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self._types[name] for name in columns)

    def _select(self, source: str) -> str:
        """The users and items of the rows that count."""
        columns = [filter_form(column, self._types[column]) for column in self._columns]
        code = self._scan.user_code
        columns += [] if code is None else [quoted(code)]
        users = self._user if code is None else ()
        read = dict.fromkeys((*users, *self._item, *self._by, *self._numbers))
        objects = [name for name in read if self._types[name] == OBJECT]
        columns += [f"{quoted(name)} AS {quoted(MARK + name)}" for name in objects]
        user, item = self._keys
        several = self._time if self._time is not None and self._time.several else None
        forms = self._forms if several is None else f"{self._forms}, {several.column}"
        there = f" AND {self._group.nameable}" if self._group else ""
        more = (", g" if self._group else "") + self._weight
        inner = more.removesuffix(", w") if self._gains else more  # which has no periods yet
        rows = (
            f"SELECT {forms} FROM (SELECT {', '.join(columns)} FROM {source}) "
            f"WHERE ({self._where}) AND ({self._inside}) AND {user.present} AND {item.nameable}{there}"
        )
        rows = rows if several is None else questions.in_periods(rows, several, inner)
        rows = rows if self._split is None else questions.split(rows, self._split, more)
        return rows if self._left_out is None else f"SELECT * FROM ({rows}) WHERE {self._left_out}"


def _schema(
    workspace: Workspace,
    scan: Scan,
    asked: Sequence[tuple[str, str]],
    item: tuple[str, ...],
    filtered: Sequence[str],
) -> tuple[list[str], Mapping[str, str]]:
    """The columns that are read and their types; whatever the caller named must be there and fit."""
    for parameter, name in asked:
        if scan.names and name not in scan.names:
            raise missing_column(parameter, name, scan)
    columns = list(dict.fromkeys([*(name for _, name in asked), *filtered]))
    types = scan.types(workspace, columns)
    for name in item:
        item_form(quoted(name), types[name])
    return columns, types


def _written(condition: RowFilter, types: Mapping[str, str]) -> str:
    """The filter as DuckDB's SQL."""
    from dpselect.engines.filters.engines import DUCKDB

    return condition.sql(_filter_types(types), quoted, DUCKDB)


def _filter_types(types: Mapping[str, str]) -> dict[str, SqlType]:
    """The columns as filters see them, which is without the members of an ENUM: those may be of rows."""
    return {column: filter_type(types[column]) for column in types}
