"""Dataset: which rows are meant, who a user is and what an item is. It holds no rows and no connection."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from copy import copy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeGuard

from dpselect._ground import parameters
from dpselect._ground.keys import Key, columns_of, key_of, names, refuse_shared, text_of
from dpselect._ground.parameters import Progress, names_checked, whole
from dpselect._ground.privacy import warn_if_weak
from dpselect.draws import fresh_key, secure
from dpselect.engines.address import Address
from dpselect.engines.identity import shown, source_of
from dpselect.engines.port import Tally
from dpselect.engines.registry import Engine, open_engine
from dpselect.errors import ParameterError, came, naming
from dpselect.verbs import Verbs, check_question

if TYPE_CHECKING:
    from fractions import Fraction

    from dpselect._ground.parameters import Number
    from dpselect._ground.periods import Periods
    from dpselect.aggregates.measures import Measure
    from dpselect.aggregates.totals import Totals
    from dpselect.engines.inspection import Inspection
    from dpselect.engines.preparation import Prepared
    from dpselect.engines.sources.scans.declarations import Types
    from dpselect.ledger.budget import Budget, LedgerSource
    from dpselect.ledger.question import Fingerprint
    from dpselect.queries.plan import BoundPlan, Plan
    from dpselect.questions.payment import Payment
    from dpselect.questions.questions import Question
    from dpselect.release.release import Release
    from dpselect.release.rows import OfRows
    from dpselect.rows import CSV, NumberText, Split, Table, Time, TimeText
    from dpselect.texts.text import NgramRange, Text


@names_checked
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
            polars, PyArrow or Spark table; anything else that narwhals reads or that streams Arrow data; a dict of
            arrays.
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
        self._given = source
        self._given_types, self._address = types, _place(source).with_types(_types(types))
        if user is None or item is None:
            user, item = self._prepared_for(user, item)
        self.whose: Key = key_of("user", user)
        self._item: Key | Text | Split = ()  # where nobody names any
        if item is not None:
            self._item = item if _is_split(item) or _is_text(item) else key_of("item", item)
        refuse_shared(self.whose, self.column)
        super().__init__(where)
        self._time = None if time is None else _time(time)
        self._meant: Periods | None = None
        most = max_items_per_user
        self.max_items_per_user: int | None = None if most is None else whole("max_items_per_user", most, least=1)
        self.paying: Budget | None = _budget(budget)

    def _prepared_for(self, user: Any, item: Any) -> tuple[Any, Any]:
        """The columns of users and items that prepared data name. Others have no items where nobody names them."""
        path = self._address.prepared
        if path is None:
            if user is None:
                raise _unnamed("user")
            return user, None
        from dpselect.engines.prepared.file import state_of

        rules = state_of(path).rules
        return list(rules.user) if user is None else user, list(rules.item) if item is None else item

    def check_items(self) -> None:
        """Refuse data without items, of which only the number of users can be asked."""
        if self._item == ():
            raise _unnamed("item")

    @property
    def column(self) -> Key:
        """The column of items, or of texts; or the columns that say together what an item is."""
        return self._item if isinstance(self._item, (str, tuple)) else self._item.column

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The columns of items, where they have several."""
        return columns_of(self.column)

    @property
    def split(self) -> str | None:
        """What stands between items in one text."""
        return self._item.separator if _is_split(self._item) else None

    @property
    def words(self) -> NgramRange | None:
        """Which n-grams of the text are meant; None where items are."""
        return self._item.words if _is_text(self._item) else None

    @property
    def level_shares(self) -> tuple[Fraction, ...] | None:
        """How the levels of a text share the price, where that was said."""
        return self._item.level_shares if _is_text(self._item) else None  # type: ignore[return-value] # Text has read it

    @property
    def periods(self) -> tuple[str, ...]:
        """The names of the periods that are asked for, in their order; none where time does not matter."""
        return () if self._meant is None else self._meant.names

    @property
    def _periods(self) -> Periods | None:
        """The periods of a question. Data with a time have no rows without them: the promise is for each period."""
        if self._time is not None and self._meant is None:
            hint = 'data.during("2026-10"), --during: the promise is for one user in each period separately'
            raise ParameterError("during", "be given for data with a time", "nothing", hint)
        return self._meant

    def _settle_during(self, names: Sequence[str]) -> None:
        if self._time is None:
            hint = 'give the time of rows: time=dps.Time("at", period="month"), --time and --period'
            raise ParameterError("during", "be left out of data without a time", came(names[0]), hint)
        self._meant = self._time.periods(names)

    def __repr__(self) -> str:
        given = [repr(self._given) if _is_described(self._given) else shown(self._given)]
        first, *others = self._conditions or (None,)
        said: dict[str, object] = {"user": self.whose, "item": self._item or None, "where": first, "time": self._time}
        said |= {"types": self._given_types or None, "max_items_per_user": self.max_items_per_user}
        given += [f"{name}={value!r}" for name, value in said.items() if value is not None]
        found = f"Dataset({', '.join(given)})" + "".join(f".where({one!r})" for one in others)
        if self._meant is not None:
            runs = self._meant.asked.text.split(", ")
            found += f".during({runs[0] if len(runs) == 1 else runs!r})"
        return found + self._less

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
        from dpselect.engines.inspection import Wanted, inspect
        from dpselect.engines.row_filter import parse

        self.check_items()
        condition = self._condition
        others = () if condition is None else parse(condition).columns
        time = {} if self._time is None else self._time.flat()
        parts = self.split is not None or self.words is not None
        wanted = Wanted(names(self.whose), names(self.column), others, time.get("time"), parts, self._address.types)
        items = {"item": names(self.column)} if self.words is None else {"item": None, "text": self.column}
        options: dict[str, object] = {
            "user": names(self.whose),
            **items,
            "split": self.split,
            "where": condition,
            **time,
        }
        options |= {"during": self._during, "max_items_per_user": self.max_items_per_user}

        def opened(types: Types) -> Engine:
            found = copy(self)
            found._address = self._address.with_types(types)
            return found.engine()

        at = self._address
        return inspect(at.source, opened, table=at.table, csv=at.csv, wanted=wanted, options=options)

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
        given: dict[str, Any] = {"keep": keep, "weights": weights, "max_rows_per_user": max_rows_per_user}
        self._prepare(to, **given, add=add, memory=memory, progress=progress)
        return Dataset(to, user=self.whose, item=self._item, time=self._time)

    def _prepare(
        self, to: object, *, keep: Any = (), weights: Any = (), max_rows_per_user: Any = None, **given: Any
    ) -> Prepared:
        """The same; how much there is, which is not private."""
        from dpselect.engines.preparation import prepare, rules_of

        self.check_items()
        self._refuse_prepared()
        most = max_rows_per_user
        most = None if most is None else whole("max_rows_per_user", most, least=1)
        time = {} if self._time is None else self._time.flat()
        with naming("weights", "weight"):
            rules = rules_of(self.whose, self.column, keep, weights, max_rows_per_user=most, **time)
            at = self._address
            return prepare(at.source, rules, to, **given, table=at.table, csv=at.csv, types=at.types)

    def _refuse_prepared(self) -> None:
        """All rows are prepared; which of them count is said when they are asked."""
        said: dict[str, object] = {"where": self._condition, "during": self._during, "exclude": self.excluded}
        said |= {"max_items_per_user": self.max_items_per_user, "budget": self.paying}
        for name, value in said.items():
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
        from dpselect.questions.payment import Payment

        payment = Payment(epsilon=epsilon, delta=delta, share=share, within=within, threshold=threshold)
        plan = self._planned(question, payment)
        return self.with_rows(plan)

    def with_rows(self, plan: Plan) -> Plan:
        """Return the plan that knows which users of these rows count; of a prepared file only the rules are read."""
        return plan.for_rows(self._counted(plan)._rows_to_plan)

    def _planned(self, question: Question, payment: Payment) -> Plan:
        from dpselect.queries.plan import kind, planned

        check_question(question)
        facts = kind(question.verb).facts_of(self, question)
        return planned(question, payment, facts, self.paying).of(self)

    def _answered(
        self, question: Question, payment: Payment, *, fresh: bool, progress: Progress | None
    ) -> Release[Any]:
        return self._ask(self._planned(question, payment), fresh=fresh, progress=progress)

    def _made(self, plan: Plan, *, fresh: bool, progress: Progress | None) -> Release:
        return self._ask(plan.of(self), fresh=fresh, progress=progress)

    def _ask(self, plan: Plan, *, fresh: bool, progress: Progress | None) -> Release:
        """The answer as it was planned for these rows, paid if there is a budget."""
        parameters.called("progress", progress)
        parameters.flag("fresh", fresh)
        return self._counted(plan)._asked(plan, fresh=fresh, progress=progress)

    def _counted(self, plan: Plan) -> Dataset:
        """The rows that a question is about, with the items that it counts."""
        if plan.items is None:
            self.check_items()
            return self._compared(plan.others, lost=plan.lost) if plan.others else self
        with naming("by", "item"):
            refuse_shared(self.whose, plan.items)
        found = copy(self)
        found._item, found.max_items_per_user = plan.items, plan.kept
        return found

    def _compared(self, others: Sequence[str], *, lost: bool) -> Dataset:
        """The same rows, and those of the periods with which these are compared: read, charged and said as any."""
        if self._periods is None:
            hint = "a user is then one user in one period, who can only raise gains or only lower them"
            raise ParameterError("compared_with", "go with data that have a time", "none", hint)
        both = copy(self)
        both._meant = self._periods.compared_with(others, lost=lost)
        return both

    def _asked(self, plan: Plan, *, fresh: bool, progress: Progress | None) -> Release:
        """The answer to the question of these rows, in all of its periods."""
        from dpselect.queries.outline import asked_with, log_question, outline
        from dpselect.release.rows import OfRows

        rows = OfRows(self.whose, self.columns, self._periods)
        warn_if_weak(plan.ceiling)
        budget, draws = self.paying, secure()
        if budget is not None:
            budget.check(plan.price.neighbors)
        log_question(plan, budget)
        before = None if budget is None else source_of(self._address, named=budget.snapshot is not None)
        with ExitStack() as opened:
            engine = opened.enter_context(self._opened(plan))
            rows = replace(rows, keys=engine.undeclared, bound=engine.row_bound)  # those of the file that is open
            plan = plan.for_rows(rows)
            answer = _then(_then(plan.bind(engine), rows.told), partial(asked_with, outline(plan, rows)))
            if budget is None:
                return answer(draws, progress)
            asked = {**plan.key, "secure": draws.secure}
            engine.check_unchanged()
            what = self.question(plan.verb, asked, engine, budget.snapshot, before)

            def ask() -> Release:
                with opened.pop_all():  # clearing up takes as long as rows make it: it ends before anything is settled
                    return answer(draws, progress)

            return what.with_repeat_price(budget.pay(plan, what, ask, fresh=fresh))

    def _opened(self, plan: Plan) -> Engine:
        """An engine for what is planned."""
        if plan.items is None:
            return self.engine(self._groups(plan), plan.totals, measures=plan.measuring)
        with naming("by", "item"):
            return self.engine()

    @property
    def _rows_to_plan(self) -> OfRows:
        """Whose rows a question is about; of prepared data also how many of a user the file has now."""
        from dpselect.release.rows import OfRows

        rows, path = OfRows(self.whose, self.columns, self._periods), self._address.prepared
        if path is None:
            return rows
        from dpselect.engines.prepared.file import state_of

        return replace(rows, bound=state_of(path).rules.row_bound)

    def question(
        self, verb: str, asked: Mapping[str, object], engine: Engine, snapshot: str | None, before: object = None
    ) -> Fingerprint:
        """The question and its rows, in the form by which a budget recognises a repeat; the engine is open for it.

        `before` is what the source was before it was opened: which files are read is found then, and an answer about
        those is not kept under the name of others.
        """
        from dpselect.ledger.question import fingerprint

        source, pinned, changed = ["prepared", engine.state], True, False
        if engine.state is None:
            source, pinned = source_of(self._address, named=snapshot is not None)
            changed = pinned and before != (source, pinned)
        data: dict[str, Any] = {"source": source, "snapshot": snapshot, "where": engine.condition, "user": self.whose}
        data |= {"split": self.split, "table": self._address.table, "max_items_per_user": self.max_items_per_user}
        data |= self._address.csv.said
        data |= engine.declared
        if _is_text(self._item):
            data |= {"text": self._item.column} | {name: getattr(self._item, name) for name in ("tokenizer", "lower")}
            data["ngrams"] = [self._item.words.shortest, self._item.words.longest]
        else:
            data["item"] = self.column
        if self._periods is not None:
            data |= self._periods.said
            if self._periods.compared:
                asked = {**asked, "compared_with": self._periods.base.text}
        found = ((pinned and engine.fixed) or snapshot is not None) and not changed
        return fingerprint(verb, asked, data, found, user=text_of(self.whose), periods=self._periods)

    def _groups(self, plan: Plan) -> tuple[str, ...]:
        """The columns of groups that a question asks for; none is a column of users or items."""
        for name in plan.by:
            if name in (*names(self.whose), *names(self.column)):
                hint = "with several item columns, each is one part of the item"
                raise ParameterError("by", "be columns other than user and item", came(name), hint)
        return plan.by

    def engine(
        self,
        by: Sequence[str] = (),
        totals: Totals | None = None,
        *,
        measures: Sequence[Measure] = (),
    ) -> Engine:
        """An engine for one question, with a key of its own. Opening it reads the schema, never a row.

        `by` are the columns of groups, where the question is asked in each of them. `totals` are the weights that are
        added up, `measures` what can be asked of items that came back.
        """
        for name, numbers in (("by_weight", totals), ("measures", measures)):
            if numbers and self.split is not None:
                hint = "a number belongs to a row: give each item a row of its own"
                raise ParameterError("split", f"be left out if {name} is given", came(self.split), hint)
        return open_engine(
            self._address,
            user=self.whose,
            item=self.column,
            where=self._condition,
            max_items_per_user=self.max_items_per_user,
            split=self.split,
            periods=self._periods,
            tally=Tally(tuple(by), totals, tuple(measures)),
            key=fresh_key(),
        )


def _then(answer: BoundPlan, told: Callable[[Release], Release]) -> BoundPlan:
    return lambda draws, progress: told(answer(draws, progress))


def _unnamed(name: str) -> ParameterError:
    """What to say where nobody named the columns of users, or of items."""
    hint = "only prepared data have their own: dpselect prepare"
    return ParameterError(name, "be the name of a column, or a list of several", "nothing", hint)


def _is_text(item: object) -> TypeGuard[Text]:
    """Is it a Text? A name is none, and most items are names."""
    if isinstance(item, (str, list, tuple)):
        return False
    from dpselect.texts.text import Text

    return isinstance(item, Text)


def _is_split(item: object) -> TypeGuard[Split]:
    """Is it a Split?"""
    if isinstance(item, (str, list, tuple)):
        return False
    from dpselect.rows import Split

    return isinstance(item, Split)


def _time(given: object) -> Time:
    from dpselect.rows import Time

    if not isinstance(given, Time):
        hint = 'time=dps.Time("at", period="month")'
        raise ParameterError("time", "be a Time, which also gives the kind of period", came(given), hint)
    return given


def _types(given: Mapping[str, str | NumberText | TimeText] | None) -> Types:
    """What is declared of columns; nothing is imported where nobody declares."""
    if given is None:
        return {}
    from dpselect.rows import types_of

    return types_of(given)


def _place(source: object) -> Address:
    """Return where the rows are."""
    if _is_described(source):
        from dpselect.rows import Table

        if isinstance(source, Table):
            return Address.parse(source.database, source.name)
        files = list(source.files) if isinstance(source.files, tuple) else source.files
        return Address.parse(files, csv=source.form)
    return Address.parse(source)


def _is_described(source: object) -> TypeGuard[Table | CSV]:
    """Is it a Table or a CSV? A path is none, and most sources are paths."""
    if isinstance(source, (str, os.PathLike, list, tuple)):
        return False
    from dpselect.rows import CSV, Table

    return isinstance(source, (Table, CSV))


def _budget(given: Budget | LedgerSource | None) -> Budget | None:
    """The budget that is meant. No ledger is imported where nobody pays."""
    if given is None:
        return None
    from dpselect.ledger.budget import parse_budget

    return parse_budget(given)
