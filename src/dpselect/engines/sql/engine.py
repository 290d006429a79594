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
from dpselect._ground.keys import Key, typed_label
from dpselect._ground.parameters import Progress, whole_number
from dpselect.aggregates.count_groups import CountGroups
from dpselect.engines.port import OpenSource, PerUser, Tally
from dpselect.engines.sql import questions
from dpselect.engines.sql.database import Database, ReadRequest
from dpselect.engines.sql.port import CompiledKey, SqlType, int64
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
    """The engine of one question: it counts distinct users per item over one source, with one filter and one bound.

    Opening it reads the schema only: whatever the caller got wrong (a missing file, a column that is not there, a
    filter that is not a condition on one row) is refused before a row is counted. What every engine promises:

    - A row whose user or item is null (or NaN) does not exist. Opened with no columns of items, there is one item, (),
      and every row of a user has it.
    - A user is one user however many rows or files hold them, and counts once per item.
    - Where a contribution bound D applies, every user keeps at most D of their distinct items: those with the smallest
      keyed hash of (key, user, item), so which ones depends on the key and on that user's own rows only.
    - Equal counts are ordered by the item itself, never by the order of its rows.
    - Opened with `Totals`, it counts what users give in place of users (docs/weights.md): every row is read by itself,
      every user's total is rounded and cut by itself, and who gives an item nothing does not have it.
    - Items come back as plain Python values: str, int, bool, float, Decimal, date, datetime, time, bytes.
    - No message, label order, type or failure depends on a row, as far as the source's format allows it.
    - Nothing is written to disk but what the query itself spills, and that is deleted with the engine.

    Args:
        open_database: Opens the database of an address for a request.
        address: Where the rows are.
        user: The columns of a user.
        item: The columns of an item.
        where: The filter, as text.
        max_items_per_user: The contribution bound D; no bound if None.
        split: The separator at which a text is split into items.
        periods: The periods, in each of which a user is another user.
        tally: What is counted: with totals the score of an item is the sum of its users' totals, in place of their
            number.
        key: The secret key of the contribution bound, fresh for every question (`dpselect.draws.fresh_key`).
    """

    outside: str | None = None
    """The package that reads the rows, with its version, where it is not this one."""

    def __init__(
        self,
        open_database: Callable[[Address, ReadRequest], Database],
        address: Address,
        *,
        user: Key,
        item: Key,
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
            self._dialect, self._secret_key, self._max_items_per_user = database.dialect, key, max_items_per_user
            self._condition, self._totals, self._measures = condition, totals, measures
            self._item_columns, self._group_columns, self._is_split = request.items, request.by, split is not None
            self._counts_gains = periods is not None and bool(periods.compared)
            user_key, item_key = database.user(request.users), database.item(request.items, plain=split is not None)
            self._item_type, self._item_column_types = item_key.type, item_key.column_types
            group = database.item(request.by) if by else None
            self._group_type: SqlType | None = None if group is None else group.type
            self._group_column_types: tuple[SqlType, ...] = () if group is None else group.column_types
            self._stored_domains: dict[Domain, tuple[str, int]] = {}  # the items as SQL, and their number
            self._stored_group_lists: dict[Domain, str] = {}  # lists of groups: the same list may be one of items
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

            def compile_rows(item: CompiledKey) -> str:
                arguments = database.source, user_key, item, filters, time, database.dialect, group
                scanned = questions.scan_rows(*arguments, weight_sql, measure_sqls)
                if split is None:
                    return scanned
                return questions.split_items(scanned, split, database.dialect, carried_columns)

            self._rows, self._rows_of_values = (
                compile_rows(item_key),
                compile_rows(replace(item_key, nameable_condition=item_key.present_condition)),
            )
            self._has_plain_items = split is None and bool(request.items)  # is every item of a row an item, unchanged?
        except BaseException:
            database.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Drop all results and close the database. Labels cannot be fetched any more."""
        self._database.close()

    @property
    def source(self) -> OpenSource:
        """What is known of the source that is open."""
        return self._database.open_source

    @property
    def condition(self) -> str | None:
        """The canonical text of the filter, with the declared types of its columns; None where all rows count."""
        return None if self._condition is None else self._condition.canonical(self._database.filter_types)

    def check_unchanged(self) -> None:
        """Refuse a source whose schema may have changed since it was read."""
        self._database.check_unchanged()

    def try_columns(self) -> None:
        """Ask for the rows of the question, and for none of them: whatever its columns are not is refused now."""
        self._database.rows(f"SELECT * FROM {self._rows} AS t WHERE 1 = 0")

    def top(self, rows: int, *, progress: Progress | None = None) -> CountGroups:
        """Return the `rows` items with the most distinct users, most first, one group each. Nothing else leaves.

        There are fewer where the data hold fewer items; no data, no groups. No bound applies to a
        ranking: a user counts for all items that they have.
        """
        max_items = whole_number("rows", rows, minimum=0)
        sql = questions.top_items(self._scores_in_domain(None, max_items), self._item_type, max_items)
        items_and_counts = self._database.rows(sql, progress=progress)
        return CountGroups.from_items(
            [self._item_type.to_label(row[0]) for row in items_and_counts], [row[1] for row in items_and_counts]
        )

    def check(self, domain: Domain, *, k: int = 1, max_items: int | None = None) -> None:
        """Refuse a domain that does not fit the item column, or has fewer than k items there, or more than `max_items`.

        No row is read. A listed domain is read here, and only here; `grouped` calls this too.
        """
        refuse_other_width(domain, len(self._item_column_types))
        if isinstance(domain, Span):
            questions.rows_in_span("", domain, self._item_type)
        elif isinstance(domain, (Listed, Column)):
            if domain not in self._stored_domains:
                self._stored_domains[domain] = self._database.put_domain(domain, self._item_column_types)
            refuse_k_above_size(k, self._stored_domains[domain][1])
            refuse_large_domain(self._stored_domains[domain][1], max_items)

    def leave_out(self, items: Listed | Column) -> None:
        """Leave the rows of these items out from now on: before any bound, for every question.

        Items that do not fit the item column are refused. No row is read.
        """
        with naming_parameter("exclude"):
            refuse_other_width(items, len(self._item_column_types))
            excluded, _ = self._database.put_domain(items, self._item_column_types)
        columns = "u, i" + (", g" if self._group_column_types else "") + self._number_suffix
        self._rows = questions.rows_without_items(self._rows, excluded, columns)
        self._rows_of_values = questions.rows_without_items(self._rows_of_values, excluded, columns)
        self._has_plain_items, self._contributions = False, {}

    def grouped(self, domain: Domain | None = None, *, progress: Progress | None = None) -> CountGroups:
        """Return all items, those with equal counts in one group, most first: the number of each count leaves, no more.

        `label(group, r)` asks for the r-th item of a group in item order, until the engine is closed. With a
        domain only its items count, and those without a row form the group with count 0. No bound applies, as in `top`.
        """
        from dpselect.engines.count_groups import histogram_of

        if domain is not None:
            self.check(domain)
        counts = self._database.keep(self._scores_in_domain(domain), progress=progress)
        counts_and_sizes = self._database.rows(questions.items_per_count(counts), progress=progress)
        span, item_type = isinstance(domain, Span), self._item_type

        def item(index: int) -> object:
            sql, order = questions.ranked_names(counts, "i" if span else item_type.label_form)
            value = self._database.names_at(sql, order, int64([index]))[0]
            return value if span else item_type.to_label(value)

        @cache
        def gaps(start: int) -> str:
            return self._database.keep(questions.unseen_before_each(counts, start, self._dialect))

        def seen_before(start: int, unseen: int) -> int:
            return int(self._database.rows(questions.seen_before(gaps(start), unseen))[0][0])

        return histogram_of(counts_and_sizes, domain, item=item, seen_before=seen_before)

    def counts_of(self, domain: NamedDomain, *, progress: Progress | None = None) -> CountGroups:
        """Return all items of a domain, those without a row too, one group each, in the domain's own order.

        A list keeps its order, numbers ascend, and a column has the order of items. All names are here when it returns:
        they are public.
        """
        self.check(domain)
        span = isinstance(domain, Span)
        if self._max_items_per_user is None:
            counts = self._scores_in_domain(domain)
        else:
            counts = self._with_unseen_items(
                self._compile_scores(self._rows_in_domain(domain), self._items_bound), domain
            )
        sql = questions.names_and_counts(counts, "i" if span else self._item_type.label_form, listed=not span)
        items_and_counts = self._database.rows(sql, progress=progress)
        if isinstance(domain, Span):
            from dpselect.engines.count_groups import span_groups

            return span_groups(domain, items_and_counts)
        return CountGroups.from_items(
            [self._item_type.to_label(row[0]) for row in items_and_counts], [row[1] for row in items_and_counts]
        )

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
        from dpselect.engines.sql import numbers

        bound = self._items_bound if bounded else None

        def question(rows: str, label_form: str) -> str:
            columns = f"u, i{self._number_suffix}"
            kept_rows = questions.keep_first(rows, columns, bound, self._dialect, rank_function="dense_rank")
            return numbers.measure_totals(kept_rows, self._measures, label_form, self._dialect)

        rows_of_numbers = self._read_numbers(items, domain, question, 2 * len(self._measures), progress)
        return [numbers.parse_measures(self._measures, row) for row in rows_of_numbers]

    def scores_of(
        self, items: Sequence[object], domain: Domain | None = None, *, progress: Progress | None = None
    ) -> Sequence[int]:
        """Return the score of each of some items that came back. Nothing else leaves.

        With a contribution bound D every user keeps at most D of these items, the same as in `measured`.
        """

        def question(rows: str, label_form: str) -> str:
            return questions.named_scores(self._compile_scores(rows, self._items_bound), label_form)

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
        label = _parse_integer if span else self._item_type.to_label
        if span:
            seen_items = [_parse_integer(item) for item in seen_items]
            item_list = ", ".join(map(str, seen_items))
        else:
            item_list = f"SELECT i FROM {self._database.put_items(seen_items, self._item_column_types)} AS d"
        rows = questions.rows_of_items(self._rows_in_domain(domain), item_list, self._number_suffix)
        answer_rows = self._database.rows(
            question(rows, "i" if span else self._item_type.label_form), progress=progress
        )
        numbers_of_label = {typed_label(label(row[0])): tuple(map(int, row[1:])) for row in answer_rows}
        return [
            zeros
            if item is UNSEEN
            else numbers_of_label.get(typed_label(_parse_integer(item) if span else item), zeros)
            for item in items
        ]

    def check_values(self) -> None:
        """Refuse an item column that holds no numbers, and text declared as such, before a row is read or paid for.

        From now on the rows are those of values: an infinite one lies beyond every bound, though it names no item.
        """
        from dpselect.engines.sql.numbers import refuse_non_numbers

        refuse_non_numbers(self._item_type, *self._item_columns)
        self._rows = self._rows_of_values

    def users_at(self, grid: Points, per_user: PerUser, *, progress: Progress | None = None) -> UsersAt:
        """Count the users with their value at each point of a grid: one value a user, and nothing else leaves.

        The item column holds the values, in numbers or in text that is written as a number; other text, null and NaN
        are missing. Every value moves to its point first, alone, as `Grid.nearest_indices` says; then `per_user` picks
        one.
        """
        from dpselect.aggregates.value_counts import UsersAt
        from dpselect.engines.sql.values import users_per_grid_index

        if per_user is PerUser.MEAN:
            self._database.keep_duplicates()
        secret_key_sql = self._database.secret_key_sql(self._secret_key)
        sql = users_per_grid_index(self._rows_of_values, grid, per_user, secret_key_sql, self._item_type, self._dialect)
        columns = self._database.columns(sql, ("grid_index", "users"), progress=progress)
        return UsersAt(int64(columns["grid_index"]), int64(columns["users"]))

    def contributions(self, *, progress: Progress | None = None) -> Sets:
        """Return the distinct items of every user, as numbers; labels can be asked for until the engine is closed.

        Users are those with at least one row that counts. A contribution bound is not applied: a set union samples
        by itself. Users and items come in their own order (users of prepared data in that of their numbers), so where
        their rows stood changes nothing. An engine keeps them on disk where they are many, or refuses those that memory
        does not hold with roughly what they would need.
        """
        rows, item_type = self._with_groups_in_items(self._rows)
        return self._database.read_sets(
            rows, item_type, of_all_rows=self._has_plain_items and not self._group_column_types, progress=progress
        )

    def pairs(self, *, progress: Progress | None = None) -> SqlPairs:
        """Return the distinct items of every user, kept by the engine, which adds up their weights and spills to disk.

        For set unions whose users do not look at what others gave. A contribution bound is not applied: each question
        for weights brings a bound and a fresh key. Nothing leaves but how many items have which weight, and the names
        of released items.
        """
        from dpselect.engines.sql.pairs import SqlPairs

        rows, item_type = self._with_groups_in_items(self._rows, self._number_suffix)
        return SqlPairs(self._database, rows, item_type, progress, compares_periods=self._counts_gains)

    def check_text(self, tokenizer: Tokenizer) -> None:
        """Refuse an item column that holds no text, before a row is read and before anything is paid."""
        self._database.check_text(self._item_type, tokenizer)

    def tokens(self, tokenizer: Tokenizer, *, progress: Progress | None = None) -> TokenStream:
        """Return the tokens of every row's text as numbers, one row after the other; the item column holds the text.

        A row is cut by itself, so a token depends on that row alone; a row that cannot be cut has no tokens. No
        contribution bound is applied: who releases n-grams bounds each level. Only words whose code is asked for
        come back as text, and only released ones may be asked for, until the engine is closed.
        """
        self.check_text(tokenizer)
        return self._database.read_tokens(self._rows, self._item_type, tokenizer, progress)

    def _with_groups_in_items(self, rows: str, extra_columns: str = "") -> tuple[str, SqlType]:
        """Put a group and an item together as one item, if there are groups; return rows and type."""
        if self._group_type is None:
            return rows, self._item_type
        pair, pair_type = self._database.pair(self._group_columns, self._item_columns, plain=self._is_split)
        return f"(SELECT u, {pair} AS i{extra_columns} FROM {rows} AS p)", pair_type

    def _compile_filter(self, condition: RowFilter) -> str:
        """Compile the filter to the database's own SQL."""
        database = self._database
        return condition.sql(database.filter_types, self._dialect.quote, database.spelling)

    @property
    def _items_bound(self) -> tuple[int, str] | None:
        """The most items that a user keeps, and the key as SQL; None without a bound."""
        max_items = self._max_items_per_user
        return None if max_items is None else (max_items, self._database.secret_key_sql(self._secret_key))

    def _compile_scores(self, rows: str, bound: tuple[int, str] | None) -> str:
        """Compile the score of every item of some rows: i and n."""
        if self._totals is not None:
            from dpselect.engines.sql.numbers import weighted_scores

            return weighted_scores(rows, self._totals, bound, self._dialect)
        compile_counts = questions.gained_users_per_item if self._counts_gains else questions.users_per_item
        return compile_counts(rows, bound, self._dialect)

    def _scores_in_domain(self, domain: Domain | None, max_items: int | None = None) -> str:
        """Compile the scores of all items, or of those of a domain; `max_items` of them may be enough."""
        scores = self._compile_scores(self._rows_in_domain(domain), None)
        if self._totals is None and not self._counts_gains and self._has_plain_items and not isinstance(domain, Span):
            scores = self._database.use_precounted(scores, max_items)
        return self._with_unseen_items(scores, domain)

    def _with_unseen_items(self, scores: str, domain: Domain | None) -> str:
        """Add the items of a list that have no users."""
        return questions.with_unseen_items(scores, self._stored_domains[domain][0]) if _is_listed(domain) else scores

    def _rows_in_domain(self, domain: Domain | None) -> str:
        """Compile the rows whose item is in the domain."""
        if isinstance(domain, Span):
            return questions.rows_in_span(self._rows, domain, self._item_type, self._number_suffix)
        if _is_listed(domain):
            return questions.rows_in_domain(self._rows, self._stored_domains[domain][0], self._number_suffix)
        return self._rows

    @property
    def _number_columns(self) -> list[str]:
        """The columns of weights, or of gains, and of measures that the rows have."""
        weights = ["w"] if self._counts_gains or self._totals is not None else []
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
