"""The SQL engine: one source, one filter, one bound, and the questions, which a database answers by its SQL.

Every database counts the same, to the bit; only which items a bounded user keeps hangs on its own hash.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeGuard

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
from dpselect.aggregates.count_groups import CountGroups
from dpselect.engines.port import OpenSource, PerUser, Tally
from dpselect.engines.sql import questions
from dpselect.engines.sql.database import Database, ReadRequest
from dpselect.engines.sql.port import Key, SqlType, int64
from dpselect.errors import SourceError, naming_parameter

if TYPE_CHECKING:
    from dpselect._ground.periods import Periods
    from dpselect.aggregates.measures import Measured
    from dpselect.aggregates.unbounded import Points
    from dpselect.aggregates.user_sets import Sets
    from dpselect.aggregates.value_counts import UsersAt
    from dpselect.engines.address import Address
    from dpselect.engines.row_filter import RowFilter
    from dpselect.engines.sql.pairs import SqlPairs
    from dpselect.texts.token_stream import TokenStream
    from dpselect.texts.tokenizer import Tokenizer


class SqlEngine:
    """Distinct users per item of one source. Opening it reads the schema and refuses what does not fit.

    `tally` says what is counted: with totals the score of an item is the sum of its users' totals, in place of their
    number.
    `key` is the secret key of the contribution bound, fresh for every question (`dpselect.draws.fresh_key`).
    """

    outside: str | None = None
    """The package that reads the rows, with its version, where it is not this one."""

    def __init__(
        self,
        open_database: Callable[[Address, ReadRequest], Database],
        address: Address,
        *,
        user: Names,
        item: Names,
        where: str | None = None,
        max_items_per_user: int | None = None,
        split: str | None = None,
        periods: Periods | None = None,
        tally: Tally | None = None,
        key: bytes,
    ) -> None:
        condition = None
        if where is not None:
            from dpselect.engines import row_filter

            condition = row_filter.parse(where)
        tally = tally or Tally()
        by, totals, measures = tally.by, tally.totals, tally.measures
        numbers = [] if totals is None else [("by_weight", totals.column)]
        numbers += [("measures", measure.column) for measure in measures]
        request = ReadRequest(user, item, by, condition, periods, tuple(numbers))
        self._database = database = open_database(address, request)
        try:
            self._dialect, self._key, self._max_items_per_user = database.dialect, key, max_items_per_user
            self._condition, self._totals, self._measures = condition, totals, measures
            self._names, self._by_names, self._is_split = request.items, request.by, split is not None
            self._gains = periods is not None and bool(periods.compared)
            user_key, item_key = database.user(request.users), database.item(request.items, plain=split is not None)
            self._item, self._types = item_key.type, item_key.types
            group = database.item(request.by) if by else None
            self._group: SqlType | None = None if group is None else group.type
            self._by: tuple[SqlType, ...] = () if group is None else group.types
            self._domains: dict[Domain, tuple[str, int]] = {}  # the items as SQL, and their number
            self._group_lists: dict[Domain, str] = {}  # lists of groups: the same list may be one of items
            self._contributions: dict[str | None, tuple[str, str]] = {}  # of users in groups, by the list of groups
            self._numbered_groups: tuple[Sets, Callable[[Any], str]] | None = None  # groups, if they are to be found
            weight_sql, measure_sqls = None, list[str]()
            if numbers:
                from dpselect.engines.sql.numbers import weight_column

                database.keep_duplicates()
                weight_sql = None if totals is None else weight_column(database, totals.column)
                measure_sqls = [weight_column(database, measure.column) for measure in measures]
            filters = [] if condition is None else [self._compile_filter(condition)]
            if split is not None and not item_key.type.has_text:
                raise SourceError("split", "go with an item column of text", f"a column of {item_key.type.name}")
            time = None if periods is None else database.time(periods)
            carried_columns = (["g"] if by else []) + self._number_columns

            def rows(item: Key) -> str:
                arguments = database.source, user_key, item, filters, time, database.dialect, group
                scanned = questions.scan_rows(*arguments, weight_sql, measure_sqls)
                if split is None:
                    return scanned
                return questions.split_items(scanned, split, database.dialect, carried_columns)

            self._rows, self._rows_of_values = rows(item_key), rows(replace(item_key, nameable=item_key.present))
            self._has_plain_items = split is None and bool(request.items)  # is every item of a row an item, unchanged?
        except BaseException:
            database.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, sort: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Drop all results and close the database. Labels cannot be fetched any more."""
        self._database.close()

    @property
    def source(self) -> OpenSource:
        """What is known of the source that is open."""
        return self._database.facts

    @property
    def condition(self) -> str | None:
        """The canonical text of the filter, with the declared types of its columns."""
        return None if self._condition is None else self._condition.canonical(self._database.filter_types)

    def check_unchanged(self) -> None:
        """Refuse a source whose schema may have changed since it was read."""
        self._database.check_unchanged()

    def try_columns(self) -> None:
        """Ask for the rows of the question, and for none of them: whatever its columns are not is refused now."""
        self._database.rows(f"SELECT * FROM {self._rows} AS t WHERE 1 = 0")

    def top(self, rows: int, *, progress: Progress | None = None) -> CountGroups:
        """Return the `rows` items with the most distinct users, most first, one group each. Nothing else leaves."""
        max_items = whole_number("rows", rows, minimum=0)
        sql = questions.top_items(self._scores_in(None, max_items), self._item, max_items)
        items_and_counts = self._database.rows(sql, progress=progress)
        return CountGroups.from_items(
            [self._item.label(row[0]) for row in items_and_counts], [row[1] for row in items_and_counts]
        )

    def check(self, domain: Domain, *, k: int = 1, max_items: int | None = None) -> None:
        """Refuse a domain that does not fit the item column; a listed one is read here, and only here."""
        refuse_other_width(domain, len(self._types))
        if isinstance(domain, Span):
            questions.rows_in_span("", domain, self._item)
        elif isinstance(domain, (Listed, Column)):
            if domain not in self._domains:
                self._domains[domain] = self._database.put_domain(domain, self._types)
            refuse_k_above_size(k, self._domains[domain][1])
            refuse_large_domain(self._domains[domain][1], max_items)

    def leave_out(self, items: Listed | Column) -> None:
        """Leave the rows of these items out of all questions from now on."""
        with naming_parameter("exclude"):
            refuse_other_width(items, len(self._types))
            excluded, _ = self._database.put_domain(items, self._types)
        columns = "u, i" + (", g" if self._by else "") + self._number_suffix
        self._rows = questions.rows_without_items(self._rows, excluded, columns)
        self._rows_of_values = questions.rows_without_items(self._rows_of_values, excluded, columns)
        self._has_plain_items, self._contributions = False, {}

    def grouped(self, domain: Domain | None = None, *, progress: Progress | None = None) -> CountGroups:
        """Count all items, or those of a domain, equal counts in one group; labels exist until the engine is closed."""
        from dpselect.engines.count_groups import histogram_of

        if domain is not None:
            self.check(domain)
        counts = self._database.keep(self._scores_in(domain), progress=progress)
        counts_and_sizes = self._database.rows(questions.items_per_count(counts), progress=progress)
        span, item_type = isinstance(domain, Span), self._item

        def item(index: int) -> object:
            sql, order = questions.ranked_names(counts, "i" if span else item_type.label_form)
            value = self._database.names_at(sql, order, int64([index]))[0]
            return value if span else item_type.label(value)

        @cache
        def gaps(start: int) -> str:
            return self._database.keep(questions.unseen_before_each(counts, start, self._dialect))

        def seen_before(start: int, unseen: int) -> int:
            return int(self._database.rows(questions.seen_before(gaps(start), unseen))[0][0])

        return histogram_of(counts_and_sizes, domain, item=item, seen_before=seen_before)

    def counts_of(self, domain: NamedDomain, *, progress: Progress | None = None) -> CountGroups:
        """Count all items of a domain, those without a row too, one group each, in the domain's own order."""
        self.check(domain)
        span = isinstance(domain, Span)
        if self._max_items_per_user is None:
            counts = self._scores_in(domain)
        else:
            counts = self._with_unseen(self._compile_scores(self._rows_in(domain), self._bound), domain)
        sql = questions.names_and_counts(counts, "i" if span else self._item.label_form, listed=not span)
        items_and_counts = self._database.rows(sql, progress=progress)
        if isinstance(domain, Span):
            from dpselect.engines.count_groups import span_groups

            return span_groups(domain, items_and_counts)
        return CountGroups.from_items(
            [self._item.label(row[0]) for row in items_and_counts], [row[1] for row in items_and_counts]
        )

    def measured(
        self,
        items: Sequence[object],
        domain: Domain | None = None,
        *,
        bounded: bool = True,
        progress: Progress | None = None,
    ) -> Sequence[Sequence[Measured]]:
        """Return the measures of each of some items that came back. Nothing else leaves."""
        from dpselect.engines.sql import numbers

        bound = self._bound if bounded else None

        def question(rows: str, label_form: str) -> str:
            columns = f"u, i{self._number_suffix}"
            kept_rows = questions.keep_first(rows, columns, bound, self._dialect, rank="dense_rank")
            return numbers.measure_totals(kept_rows, self._measures, label_form, self._dialect)

        rows_of_numbers = self._read_numbers(items, domain, question, 2 * len(self._measures), progress)
        return [numbers.parse_measures(self._measures, row) for row in rows_of_numbers]

    def scores_of(
        self, items: Sequence[object], domain: Domain | None = None, *, progress: Progress | None = None
    ) -> Sequence[int]:
        """Return the scores of some items that came back; a bound keeps some of these for every user."""

        def question(rows: str, label_form: str) -> str:
            return questions.named_scores(self._compile_scores(rows, self._bound), label_form)

        return [row[0] for row in self._read_numbers(items, domain, question, 1, progress)]

    def _read_numbers(
        self,
        items: Sequence[object],
        domain: Domain | None,
        question: Callable[[str, str], str],
        numbers_per_item: int,
        progress: Progress | None,
    ) -> list[Sequence[int]]:
        """Return the numbers that a question computes for each of some items: zeros for an item without rows."""
        from dpselect._ground.domain import UNSEEN

        seen_items, zeros = [item for item in items if item is not UNSEEN], (0,) * numbers_per_item
        if not seen_items:
            return [zeros] * len(items)
        span = isinstance(domain, Span)
        label = _parse_integer if span else self._item.label
        if span:
            seen_items = [_parse_integer(item) for item in seen_items]
            item_list = ", ".join(map(str, seen_items))
        else:
            item_list = f"SELECT i FROM {self._database.put_items(seen_items, self._types)} AS d"
        rows = questions.rows_of_items(self._rows_in(domain), item_list, self._number_suffix)
        answer_rows = self._database.rows(question(rows, "i" if span else self._item.label_form), progress=progress)
        numbers_of_label = {typed_label(label(row[0])): tuple(map(int, row[1:])) for row in answer_rows}
        return [
            zeros
            if item is UNSEEN
            else numbers_of_label.get(typed_label(_parse_integer(item) if span else item), zeros)
            for item in items
        ]

    def check_values(self) -> None:
        """Refuse an item column that holds no numbers, and text that was declared as such, which may hold some.

        From now on the rows are those of values: an infinite one lies beyond every bound, though it names no item.
        """
        from dpselect.engines.sql.numbers import refuse_non_numbers

        refuse_non_numbers(self._item, *self._names)
        self._rows = self._rows_of_values

    def users_at(self, grid: Points, per_user: PerUser, *, progress: Progress | None = None) -> UsersAt:
        """Count the users at each place of a grid: one value a user, and nothing else leaves."""
        from dpselect.aggregates.value_counts import UsersAt
        from dpselect.engines.sql.values import users_per_place

        if per_user is PerUser.MEAN:
            self._database.keep_duplicates()
        key = self._database.secret(self._key)
        sql = users_per_place(self._rows_of_values, grid, per_user, key, self._item, self._dialect)
        columns = self._database.columns(sql, ("p", "n"), progress=progress)
        return UsersAt(int64(columns["p"]), int64(columns["n"]))

    def contributions(self, *, progress: Progress | None = None) -> Sets:
        """Return all distinct items of every user: a bound is the mechanism's task, `draws.sample`."""
        rows, kind = self._with_groups(self._rows)
        return self._database.read_sets(
            rows, kind, of_all_rows=self._has_plain_items and not self._by, progress=progress
        )

    def pairs(self, *, progress: Progress | None = None) -> SqlPairs:
        """Keep the distinct items of every user in the database, where weights are added up."""
        from dpselect.engines.sql.pairs import SqlPairs

        rows, kind = self._with_groups(self._rows, self._number_suffix)
        return SqlPairs(self._database, rows, kind, progress, gains=self._gains)

    def check_text(self, tokenizer: Tokenizer) -> None:
        """Refuse an item column that holds no text, and a pattern that cannot be read."""
        self._database.check_text(self._item, tokenizer)

    def tokens(self, tokenizer: Tokenizer, *, progress: Progress | None = None) -> TokenStream:
        """Return the tokens of every text; words can be named until the engine is closed."""
        self.check_text(tokenizer)
        return self._database.read_tokens(self._rows, self._item, tokenizer, progress)

    def _with_groups(self, rows: str, extra_columns: str = "") -> tuple[str, SqlType]:
        """Put a group and an item together in the place of the item, if there are groups; return rows and type."""
        if self._group is None:
            return rows, self._item
        pair, kind = self._database.pair(self._by_names, self._names, plain=self._is_split)
        return f"(SELECT u, {pair} AS i{extra_columns} FROM {rows} AS p)", kind

    def _compile_filter(self, condition: RowFilter) -> str:
        """Compile the filter to the database's own SQL."""
        database = self._database
        return condition.sql(database.filter_types, self._dialect.quote, database.spelling)

    @property
    def _bound(self) -> tuple[int, str] | None:
        """The most items that a user keeps, and the key as SQL; None without a bound."""
        max_items = self._max_items_per_user
        return None if max_items is None else (max_items, self._database.secret(self._key))

    def _compile_scores(self, rows: str, bound: tuple[int, str] | None) -> str:
        """Compile the score of every item of some rows: i and n."""
        if self._totals is not None:
            from dpselect.engines.sql.numbers import weighted_scores

            return weighted_scores(rows, self._totals, bound, self._dialect)
        compile_counts = questions.gained_users_per_item if self._gains else questions.users_per_item
        return compile_counts(rows, bound, self._dialect)

    def _scores_in(self, domain: Domain | None, max_items: int | None = None) -> str:
        """Compile the scores of all items, or of those of a domain; `max_items` of them may be enough."""
        scores = self._compile_scores(self._rows_in(domain), None)
        if self._totals is None and not self._gains and self._has_plain_items and not isinstance(domain, Span):
            scores = self._database.use_precounted(scores, max_items)
        return self._with_unseen(scores, domain)

    def _with_unseen(self, scores: str, domain: Domain | None) -> str:
        """Add the items of a list that have no users."""
        return questions.with_unseen_items(scores, self._domains[domain][0]) if _is_listed(domain) else scores

    def _rows_in(self, domain: Domain | None) -> str:
        """Compile the rows whose item is in the domain."""
        if isinstance(domain, Span):
            return questions.rows_in_span(self._rows, domain, self._item, self._number_suffix)
        if _is_listed(domain):
            return questions.rows_in_domain(self._rows, self._domains[domain][0], self._number_suffix)
        return self._rows

    @property
    def _number_columns(self) -> list[str]:
        """The columns of weights, or of gains, and of measures that the rows have."""
        weights = ["w"] if self._gains or self._totals is not None else []
        return [*weights, *(f"m{index}" for index in range(len(self._measures)))]

    @property
    def _number_suffix(self) -> str:
        """The same columns as SQL that follows other columns."""
        return "".join(f", {name}" for name in self._number_columns)


def _parse_integer(number: Any) -> object:
    """Return a number of a range, from its label or as it is kept."""
    return int(str(number))


def _is_listed(domain: Domain | None) -> TypeGuard[Listed | Column]:
    """Return whether the items of a domain are listed."""
    return isinstance(domain, (Listed, Column))
