"""Dataset: the rows, the columns of users and items, and a budget. It holds no rows and no connection."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeGuard

from dpselect._ground.keys import Key, composite_columns, key_columns, parse_key, refuse_shared
from dpselect._ground.parameters import Progress, check_keywords, whole_number
from dpselect.engines.address import Address
from dpselect.engines.identity import display_name
from dpselect.engines.port import Tally
from dpselect.errors import ParameterError, came, naming_parameter
from dpselect.verbs import Verbs, check_question

if TYPE_CHECKING:
    from fractions import Fraction

    from dpselect._ground.parameters import Number
    from dpselect._ground.periods import Periods
    from dpselect.aggregates.measures import Measure
    from dpselect.aggregates.totals import Totals
    from dpselect.asked_rows import AskedRows
    from dpselect.engines import Engine
    from dpselect.engines.preparation import Prepared
    from dpselect.engines.sources.scans.declarations import Types
    from dpselect.inspection.report import Inspection
    from dpselect.ledger import Budget, LedgerSource
    from dpselect.queries.plan import Plan
    from dpselect.questions.parts import Payment
    from dpselect.questions.questions import Question
    from dpselect.release.release import Release
    from dpselect.rows import CSV, NumberText, Split, Table, Time, TimeText
    from dpselect.texts.text import NgramRange, Text


@check_keywords
class Dataset(Verbs):
    """Rows of users and items, wherever they are.

    The guarantee protects all rows of one user. Rows without a user or an item do not count; `users` alone needs no
    item. Nothing is opened before a question is asked. Then the schema is checked before anything is charged, and rows
    are read after that. `where`, `during` and `exclude` return the same data with fewer rows.

    Text files are read as text, so cast to compare numbers: `where="age::INT > 30"`. One line is one record, and
    malformed lines are left out (docs/data.md).

    Args:
        source: A Parquet, CSV, TSV or JSON lines file (text files may be .gz), or a folder, glob or list of them; a
            `.prepared` file (docs/prepared.md); a `Table` in DuckDB, PostgreSQL or Spark; a DuckDB relation; a pandas,
            polars, PyArrow, Spark or Ibis table; anything else that narwhals reads or that streams Arrow data; a dict
            of arrays.
        user: The column that identifies the user of a row. With several columns the guarantee is for one combination:
            `user=["user", "day"]` protects one user on one day (docs/keys.md). A prepared file knows its own.
        item: The column whose values are counted, or whose quantiles are computed. With several columns items are
            tuples. A `Split` makes the parts of a text the items; a `Text` makes its words the items of a `union`.
        where: Only rows for which this SQL condition holds; it looks at one row at a time (docs/filters.md).
        time: A `Time`: the column with the time of a row, and the kind of period. The guarantee is then for one user in
            one period, and `during` names the periods of a question (docs/periods.md).
        types: The types of columns, such as `{"price": "DECIMAL(18,2)", "at": TimeText(zone="Europe/Berlin")}`. A
            value that is not exactly one of the declared type is missing (docs/types.md).
        max_items_per_user: The most items that a user counts for, chosen at random for every question; for prepared
            data without `where`, once.
        budget: A `Budget`, or the path of a ledger, which means your quota for the data called "default". Questions
            that do not fit are refused before a row is read. Repeating a question about the same files or Arrow table
            is free.
    """

    def __init__(
        self,
        source: object,
        *,
        user: str | Sequence[str] | None = None,
        item: str | Sequence[str] | Text | Split | None = None,
        where: str | None = None,
        time: Time | None = None,
        types: Mapping[str, str | NumberText | TimeText] | None = None,
        max_items_per_user: int | None = None,
        budget: Budget | LedgerSource | None = None,
    ) -> None:
        self._original_source = source
        self._original_types, self._address = types, _parse_source(source).with_types(_parse_types(types))
        if user is None or item is None:
            user, item = self._default_columns(user, item)
        self.user_columns: Key = parse_key("user", user)
        self._set_item(() if item is None else _parse_item(item))
        refuse_shared(self.user_columns, self.column)
        super().__init__(where)
        self._time = None if time is None else _parse_time(time)
        self._named_periods: Periods | None = None
        self.max_items_per_user: int | None = None
        if max_items_per_user is not None:
            self.max_items_per_user = whole_number("max_items_per_user", max_items_per_user, minimum=1)
        self.budget: Budget | None = _parse_budget(budget)

    def _default_columns(self, user: Any, item: Any) -> tuple[Any, Any]:
        """Return the columns of users and items, those that prepared data have if none are given."""
        path = self._address.prepared
        if path is None:
            if user is None:
                raise _unnamed_error("user")
            return user, None
        from dpselect.engines.prepared.file import read_state

        rules = read_state(path).rules
        return list(rules.user) if user is None else user, list(rules.item) if item is None else item

    def check_items(self) -> None:
        """Refuse data without items, whose only question is the number of users."""
        if self._item == ():
            raise _unnamed_error("item")

    def _set_item(self, item: Key | Text | Split) -> None:
        """Set what the items are; without any name, `()`, only users can be counted."""
        self._item = item
        self.split: str | None = None  # the separator between items in one text
        self.words: NgramRange | None = None  # the n-grams of the text
        self.level_shares: tuple[Fraction, ...] | None = None  # of the price, for the levels of a text
        if isinstance(item, (str, tuple)):
            self.column: Key = item
        else:
            from dpselect.rows import Split

            self.column = item.column
            if isinstance(item, Split):
                self.split = item.separator
            else:
                self.words, self.level_shares = item.words, item.level_shares  # type: ignore[assignment] # Text read them
        self.columns: tuple[str, ...] | None = composite_columns(self.column)

    @property
    def periods(self) -> tuple[str, ...]:
        """Names of the periods that are asked for, in their order; none if time does not matter."""
        return () if self._named_periods is None else self._named_periods.names

    @property
    def _periods(self) -> Periods | None:
        """Periods of a question. Data with a time have no rows without them: the promise is for each period."""
        if self._time is not None and self._named_periods is None:
            hint = 'data.during("2026-10"), --during: the promise is for one user in each period separately'
            raise ParameterError("during", "be given for data with a time", "nothing", hint)
        return self._named_periods

    def _set_periods(self, names: Sequence[str]) -> None:
        if self._time is None:
            hint = 'give the time of rows: time=dps.Time("at", period="month"), --time and --period'
            raise ParameterError("during", "be left out of data without a time", came(names[0]), hint)
        self._named_periods = self._time.periods(names)

    def __repr__(self) -> str:
        source = self._original_source
        arguments = [repr(source) if _is_described(source) else display_name(source)]
        first_condition, *more_conditions = self._conditions or (None,)
        options: dict[str, object] = {
            "user": self.user_columns,
            "item": self._item or None,
            "where": first_condition,
            "time": self._time,
        }
        options |= {"types": self._original_types or None, "max_items_per_user": self.max_items_per_user}
        arguments += [f"{name}={value!r}" for name, value in options.items() if value is not None]
        text = f"Dataset({', '.join(arguments)})" + "".join(f".where({condition!r})" for condition in more_conditions)
        if self._named_periods is not None:
            runs = self._named_periods.current.text.split(", ")
            text += f".during({runs[0] if len(runs) == 1 else runs!r})"
        return text + self._excluded_repr

    # ---- for the owner of the data ---------------------------------------------------------------------------

    def inspect(self) -> Inspection:
        """Report what is in the rows, which types to declare, what is left out, and what makes a question fail.

        This is for the owner of the data: the report is not private and costs no budget. It shows which lines of files
        are left out and why; what each column is, which type fits a column of text, and how many values would be
        missing under it; how many rows have no user or no item, how many `where` leaves out, and how many items users
        have. For data with a time it shows how many rows are outside all periods, and a user is one user in one period.
        For a prepared file it shows whether the file is intact. It ends in the command that asks a question under the
        types that it proposes.
        """
        from dpselect.engines.row_filter import parse
        from dpselect.inspection.report import IntendedUse, inspect

        self.check_items()
        condition = self._condition
        condition_columns = () if condition is None else parse(condition).columns
        time = {} if self._time is None else self._time.flat()
        has_text = self.split is not None or self.words is not None
        wanted = IntendedUse(
            key_columns(self.user_columns),
            key_columns(self.column),
            condition_columns,
            time.get("time"),
            has_text,
            self._address.types,
        )
        items = {"item": key_columns(self.column)} if self.words is None else {"item": None, "text": self.column}
        options: dict[str, object] = {
            "user": key_columns(self.user_columns),
            **items,
            "split": self.split,
            "where": condition,
            **time,
        }
        options |= {"during": self._during, "max_items_per_user": self.max_items_per_user}

        def open_with_types(types: Types) -> Engine:
            return replace(self._rows, address=self._address.with_types(types)).open_engine()

        address = self._address
        return inspect(
            address.source, open_with_types, table=address.table, csv=address.csv, intended_use=wanted, options=options
        )

    def prepare(
        self,
        to: str | os.PathLike[str],
        *,
        keep: str | Sequence[str] = (),
        weights: str | Sequence[str] = (),
        max_rows_per_user: int | None = None,
        add: bool = False,
        memory: str | None = None,
        progress: Progress | None = None,
    ) -> Dataset:
        """Write the sorted rows to a file, once, and return data that give the same answers faster.

        For the owner of the data: the file is as private as the rows. Only your own user may open it, and a folder in
        which others may write is refused. The file has the columns of users and items, the period of each row if the
        data have a time, and the columns that you name. Questions about other columns are refused.

        A question sees the file before or after a change, never a mixture, even if a process dies.

        Args:
            to: The path of the file, which ends in `.prepared`.
            keep: Other columns that questions may use, in `where`, in `by` or as items; the column of time, if whole
                times are needed.
            weights: Columns of numbers for sums and means.
            max_rows_per_user: Keep at most this many rows of a user (in a period, if there are periods), drawn among
                the distinct ones. This bounds the work that one user causes; sums and means count only these rows.
            add: Add the rows to those in the file, by its own rules, without reading the earlier sources again.
                Duplicate rows count twice in sums and means; a file with the contents of an earlier one is refused.
            memory: How much memory to use, such as "4GiB"; the rest goes to temporary files.
            progress: Called with the finished part, or None if it is unknown, about five times a second.

        Raises: ParameterError for a bad parameter, DataError if the source cannot be read, OutputError if the file
            cannot be written.
        """
        options: dict[str, Any] = {"keep": keep, "weights": weights, "max_rows_per_user": max_rows_per_user}
        self._prepare(to, **options, add=add, memory=memory, progress=progress)
        return Dataset(to, user=self.user_columns, item=self._item, time=self._time)

    def _prepare(
        self, to: object, *, keep: Any = (), weights: Any = (), max_rows_per_user: Any = None, **options: Any
    ) -> Prepared:
        """Prepare the rows, and return how much there is, which is not private."""
        from dpselect.engines.preparation import prepare, rules_of

        self.check_items()
        self._refuse_prepared()
        max_rows = max_rows_per_user
        if max_rows is not None:
            max_rows = whole_number("max_rows_per_user", max_rows, minimum=1)
        time = {} if self._time is None else self._time.flat()
        with naming_parameter("weights", "weight"):
            rules = rules_of(self.user_columns, self.column, keep, weights, max_rows_per_user=max_rows, **time)
            address = self._address
            return prepare(
                address.source, rules, to, **options, table=address.table, csv=address.csv, types=address.types
            )

    def _refuse_prepared(self) -> None:
        """Refuse options that choose rows: all rows are prepared, and a question chooses among them."""
        options: dict[str, object] = {"where": self._condition, "during": self._during, "exclude": self.excluded}
        options |= {"max_items_per_user": self.max_items_per_user, "budget": self.budget}
        for name, value in options.items():
            if value is not None:
                hint = "all rows are prepared: use it on the prepared data"
                raise ParameterError(name, "be left out if data are prepared", "a value", hint)

    # ---- questions -------------------------------------------------------------------------------------------

    def plan(
        self,
        question: Question,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        share: Number | None = None,
        within: int | None = None,
        threshold: int | None = None,
    ) -> Plan:
        """Return the question with its price, method and accuracy; no row is read and nothing is charged.

        `ask` takes the plan as it is. Its `accuracy` states how good the answer will be, where that is known
        beforehand.

        Args:
            question: The question, such as `TopK(10)`.
            epsilon: One person changes the odds of any answer by a factor of at most e^epsilon.
            delta: Bounds the chance that this fails (at most 1e-6 to find items or groups, else 0).
            share: Instead of epsilon: a share of the budget, such as "1%".
            within: Instead of epsilon: the accuracy, in users or ranks.
            threshold: Instead of epsilon: an item is found if this many users have only it.
        """
        from dpselect.questions.parts import Payment

        payment = Payment(epsilon=epsilon, delta=delta, share=share, within=within, threshold=threshold)
        plan = self._plan_question(question, payment)
        return self.with_rows(plan)

    def with_rows(self, plan: Plan) -> Plan:
        """Return the plan that knows which users of these rows count; of a prepared file only the rules are read."""
        return plan.for_rows(self._rows_for(plan).described_with_bound)

    def _plan_question(self, question: Question, payment: Payment, *, is_asked_now: bool = False) -> Plan:
        """Return the plan; where no account is kept, one that is asked now may be of a method that none pays for."""
        from dpselect.queries.planning import plan_class, plan_question

        check_question(question)
        plan_type = plan_class(question.verb)
        facts = plan_type.facts_of(self, question)
        if is_asked_now and self.budget is None:
            question = plan_type.for_no_account(question, facts)
        plan = plan_question(question, payment, facts, self.budget)
        plan.refuse_own_values()
        return plan

    def _answer_question(
        self, question: Question, payment: Payment, *, fresh: bool, progress: Progress | None
    ) -> Release[Any]:
        plan = self._plan_question(question, payment, is_asked_now=True)
        return self._rows_for(plan).answer(plan, self.budget, fresh=fresh, progress=progress)

    def _answer_plan(self, plan: Plan, *, fresh: bool, progress: Progress | None) -> Release:
        plan = plan.for_data_set(self)
        return self._rows_for(plan).answer(plan, self.budget, fresh=fresh, progress=progress)

    def _rows_for(self, plan: Plan) -> AskedRows:
        """Return the rows that a question is about, with the items that it counts."""
        if plan.items is not None:
            with naming_parameter("by", "item"):
                refuse_shared(self.user_columns, plan.items)
            bound = plan.max_counted_per_user
            return replace(self._rows, item_columns=plan.items, separator=None, words=None, max_items_per_user=bound)
        self.check_items()
        rows = self._rows
        if not plan.compared_periods:
            return rows
        if rows.periods is None:
            hint = "a user is then one user in one period, who can only raise gains or only lower them"
            raise ParameterError("compared_with", "go with data that have a time", "none", hint)
        periods = rows.periods.compared_with(plan.compared_periods, lost=plan.counts_lost_users)
        return replace(rows, periods=periods)

    @property
    def _rows(self) -> AskedRows:
        """The rows as most questions take them."""
        from dpselect.asked_rows import AskedRows

        return AskedRows(
            address=self._address,
            user_columns=self.user_columns,
            item_columns=self.column,
            separator=self.split,
            words=self.words,
            condition=self._condition,
            periods=self._periods,
            max_items_per_user=self.max_items_per_user,
        )

    def engine(
        self,
        by: Sequence[str] = (),
        totals: Totals | None = None,
        *,
        measures: Sequence[Measure] = (),
    ) -> Engine:
        """Open an engine for one question, as `AskedRows.open_engine` does."""
        return self._rows.open_engine(Tally(tuple(by), totals, tuple(measures)))


def _unnamed_error(name: str) -> ParameterError:
    """Return the error of data for which nobody named the columns of users, or of items."""
    hint = "only prepared data have their own: dpselect prepare"
    return ParameterError(name, "be the name of a column, or a list of several", "nothing", hint)


def _parse_item(item: Any) -> Key | Text | Split:
    """Return what the items are; most are columns, for which nothing is imported."""
    if not isinstance(item, (str, list, tuple)):
        from dpselect.rows import Split
        from dpselect.texts.text import Text

        if isinstance(item, (Split, Text)):
            return item
    return parse_key("item", item)


def _parse_time(value: object) -> Time:
    from dpselect.rows import Time

    if not isinstance(value, Time):
        hint = 'time=dps.Time("at", period="month")'
        raise ParameterError("time", "be a Time, which also gives the kind of period", came(value), hint)
    return value


def _parse_types(types: Mapping[str, str | NumberText | TimeText] | None) -> Types:
    """Return the declared types of columns; nothing is imported if none are declared."""
    if types is None:
        return {}
    from dpselect.rows import parse_types

    return parse_types(types)


def _parse_source(source: object) -> Address:
    """Return where the rows are."""
    if _is_described(source):
        from dpselect.rows import Table

        if isinstance(source, Table):
            return Address.parse(source.database, source.name, untested=source.untested)
        files = list(source.files) if isinstance(source.files, tuple) else source.files
        return Address.parse(files, csv=source.form)
    return Address.parse(source)


def _is_described(source: object) -> TypeGuard[Table | CSV]:
    """Return whether a source is a Table or a CSV; a path, as most are, is none."""
    if isinstance(source, (str, os.PathLike, list, tuple)):
        return False
    from dpselect.rows import CSV, Table

    return isinstance(source, (Table, CSV))


def _parse_budget(value: Budget | LedgerSource | None) -> Budget | None:
    """Return the budget that is meant. No ledger is imported if nobody pays."""
    if value is None:
        return None
    from dpselect.ledger import parse_budget

    return parse_budget(value)
