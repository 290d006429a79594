"""Dataset: which rows are meant, who a user is and what an item is. It holds no rows and no connection."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeGuard

from dpselect._ground import parameters
from dpselect._ground.keys import Key, columns_of, key_of, names, refuse_shared, text_of
from dpselect._ground.parameters import Progress, whole
from dpselect._ground.privacy import warn_if_weak
from dpselect.draws import fresh_key, secure
from dpselect.engines.identity import shown, source_of
from dpselect.engines.registry import Engine, open_engine
from dpselect.engines.sources.files import prepared_folder
from dpselect.errors import ParameterError, came
from dpselect.verbs import Verbs, check_question

if TYPE_CHECKING:
    from fractions import Fraction

    from dpselect._ground.domain import Column, Listed
    from dpselect._ground.parameters import Number
    from dpselect._ground.periods import Periods
    from dpselect.aggregates.measures import Measure
    from dpselect.aggregates.totals import Totals
    from dpselect.ledger.budget import Budget, Where
    from dpselect.ledger.question import Fingerprint
    from dpselect.queries.plan import Plan, Ready
    from dpselect.questions.payment import Payment
    from dpselect.questions.questions import Question
    from dpselect.release.release import Release
    from dpselect.texts.text import Text, Words


@dataclass(frozen=True, eq=False, repr=False)
class Dataset(Verbs):
    """Rows of users and items, wherever they are.

    `source` is a Parquet, CSV, TSV or JSON lines file (the texts also .gz), a folder, a glob or a list of such
    files, a DuckDB database file or connection with `table=`, a DuckDB relation, a pandas or polars frame, a
    PyArrow table, what narwhals wraps or reads, an object that streams Arrow data, a dict of arrays, a Spark frame,
    or, with `table=`, a Spark session, a spark: or a postgresql:// address. A folder that `prepare` made
    is quick to ask, and says itself what `user` and `item` are (docs/prepared.md). `user` names the column that says
    whose row it is: the guarantee is for all rows of one user. `item` names the column that is counted, or
    whose quantiles are asked. Rows without a user or an item do not count. It may be a `Text`, for `union`: then
    the tokens of a column of text are the items. Each may be a list of columns that say it together: items are then
    tuples, and with `user=["user", "day"]` the guarantee is for one user on one day (docs/keys.md).

    `where` keeps the rows for which a condition holds, as SQL writes it. It is one small language for every source,
    which looks at one row at a time and fails for none (docs/filters.md). `max_items_per_user` keeps that many
    distinct items of each user, chosen at random anew for every question. `split` makes the parts of a text the
    items: with `split=" "` the words of a message count, each once for a user who wrote it.

    With `time`, the column that holds the time of a row, `period` ("day", "week", "month", "quarter" or "year") and
    `during` the rows of some periods count: "2026-10", "2026-09..2026-11", or a list of such. The guarantee is then for
    one user in one period: where a question is about several, that pair is the user in every bound and number
    (docs/periods.md). `timezone` says when days begin.

    Text files are read as text: `where="age::INT > 30"` makes a number. One line is one record, and a line that does
    not fit is left out. `newlines_in_values=True` is for CSV files in which a value in quotes may run over several
    lines: whoever sets it says that all quotes in the files match, or one row may hide others (docs/data.md).
    Nothing is opened here. When a question is asked, its source is opened anew: the schema is checked before anything
    is paid, and rows are read after.

    The rows of items that are `excluded` do not count: `exclude` says it of data that are there.

    With `budget` every question is paid: a `Budget`, or the path of a ledger, which is then this computer's user's
    budget for the data called "default". What does not fit is refused before a row is read. The same question of the
    same files or Arrow table is answered again for nothing. A budget has its own delta for questions that name none.
    `share="1%"` in place of epsilon asks for as much of the budget: with the largest epsilon, of three digits, whose
    ceiling takes no more of it.
    """

    source: object
    _: KW_ONLY
    user: str | Sequence[str] | None = None
    item: str | Sequence[str] | Text | None = None
    where: str | None = None
    max_items_per_user: int | None = None
    split: str | None = None
    table: str | None = None
    newlines_in_values: bool = False
    budget: Budget | Where | None = None
    time: str | None = None
    period: str | None = None
    during: str | Sequence[str] | None = None
    timezone: str = "UTC"
    excluded: Listed | Column | None = None
    _periods: Periods | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        if self.user is None or self.item is None:
            self._settle_columns()
        object.__setattr__(self, "user", key_of("user", self.user))
        if not _is_text(self.item):
            object.__setattr__(self, "item", key_of("item", self.item))
        elif self.split is not None:
            hint = "the tokens of the text are the items; tokenizer= says how it is cut"
            raise ParameterError("split", "be left out where item is a Text", came(self.split), hint)
        refuse_shared(self.whose, self.column)
        if self.split is not None and self.columns is not None:
            raise ParameterError("split", "be left out where items have several columns", came(self.split))
        if self.where is not None:
            _text("where", self.where, "be an SQL condition on one row")
        if self.split is not None:
            _text("split", self.split, "be the text that stands between items", blank=True)
        if self.table is not None:
            _text("table", self.table, "be the name of a table")
        if self.max_items_per_user is not None:
            most = whole("max_items_per_user", self.max_items_per_user, least=1)
            object.__setattr__(self, "max_items_per_user", most)
        parameters.flag("newlines_in_values", self.newlines_in_values)
        self._settle_excluded()
        self._settle_periods()
        if self.budget is not None:
            self._settle_budget()

    def _settle_columns(self) -> None:
        """The columns of users and items that prepared data name. Nobody else can tell."""
        folder = prepared_folder(self.source)
        if folder is None:
            name = "user" if self.user is None else "item"
            hint = "only prepared data name their own: dpselect prepare"
            raise ParameterError(name, "be the name of a column, or a list of several", "nothing", hint)
        from dpselect.engines.prepared.reading import current

        rules = current(folder).rules
        for name, columns in (("user", rules.user), ("item", rules.item)):
            if getattr(self, name) is None:
                object.__setattr__(self, name, list(columns))

    def _settle_periods(self) -> None:
        """The periods that are meant. No calendar is imported where time does not matter."""
        given = (self.time, self.period, self.during)
        if given != (None, None, None) or self.timezone != "UTC":
            from dpselect._ground.periods import settled

            object.__setattr__(self, "_periods", settled(*given, self.timezone))

    def _settle_budget(self) -> None:
        """The budget that is meant. No ledger is imported where nobody pays."""
        from dpselect.ledger.budget import budget_of

        object.__setattr__(self, "budget", budget_of(self.budget))

    @property
    def whose(self) -> Key:
        """The columns that say whose a row is."""
        return self.user  # type: ignore[return-value] # __post_init__ has read it

    @property
    def column(self) -> Key:
        """The column of items, or of texts; or the columns that say together what an item is."""
        return self.item.column if _is_text(self.item) else self.item  # type: ignore[return-value] # see whose

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The columns of items, where they have several."""
        return columns_of(self.column)

    @property
    def words(self) -> Words | None:
        """Which n-grams of the text are meant; None where items are."""
        return self.item.words if _is_text(self.item) else None

    @property
    def level_shares(self) -> tuple[Fraction, ...] | None:
        """How the levels of a text share the price, where that was said."""
        return self.item.level_shares if _is_text(self.item) else None  # type: ignore[return-value] # Text has read it

    @property
    def periods(self) -> tuple[str, ...]:
        """The names of the periods that are asked for, in their order; none where time does not matter."""
        return () if self._periods is None else self._periods.names

    @property
    def paying(self) -> Budget | None:
        """The budget that pays; None where nobody keeps account."""
        return self.budget  # type: ignore[return-value] # __post_init__ has read it

    def __repr__(self) -> str:
        given = []
        for name in ("user", "item", "where", "max_items_per_user", "split", "table"):
            if getattr(self, name) is not None:
                given.append(f"{name}={getattr(self, name)!r}")
        given += ["newlines_in_values=True"] if self.newlines_in_values else []
        if self._periods is not None:
            given += [f"{name}={value!r}" for name, value in self._periods.said.items()]
        return f"Dataset({shown(self.source)}, {', '.join(given)}){self._less}"

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
        """What would be asked, how, and at what cost: no row is read and nothing is paid.

        The price is said as for `ask`. The plan says its `method`, `epsilon`, `delta` and what is promised of the
        answer (`accuracy`), and `ask` takes it as it is.
        """
        from dpselect.questions.payment import Payment

        return self._planned(
            question, Payment(epsilon=epsilon, delta=delta, share=share, within=within, threshold=threshold)
        )

    def _planned(self, question: Question, payment: Payment) -> Plan:
        from dpselect.queries.at_price import planned
        from dpselect.queries.plan import kind

        check_question(question)
        facts = kind(question.verb).facts_of(self, question)
        return planned(question, payment, facts, self.paying).of(self)

    def _answered(
        self, question: Question, payment: Payment, *, fresh: bool, progress: Progress | None
    ) -> Release[Any]:
        return self._ask(self._planned(question, payment), fresh=fresh, progress=progress)

    def _made(self, plan: Plan, *, fresh: bool, progress: Progress | None) -> Release:
        if self.paying is not None:
            plan = self.paying.at_usual_delta(plan)
        return self._ask(plan.of(self), fresh=fresh, progress=progress)

    def _ask(self, plan: Plan, *, fresh: bool, progress: Progress | None) -> Release:
        """The answer as it was planned for these rows, paid if there is a budget."""
        parameters.called("progress", progress)
        parameters.flag("fresh", fresh)
        rows = self._compared(plan.others) if plan.others else self
        return rows._asked(plan, fresh=fresh, progress=progress)

    def _compared(self, others: Sequence[str]) -> Dataset:
        """The same rows, and those of the periods with which these are compared: read, charged and said as any."""
        if self._periods is None:
            hint = "a user is then one user in one period, who can only add to what items gained, or only take off"
            raise ParameterError("compared_with", "go with data of periods: time, period and during", "none", hint)
        both = copy(self)
        object.__setattr__(both, "_periods", self._periods.compared_with(others))
        return both

    def _asked(self, plan: Plan, *, fresh: bool, progress: Progress | None) -> Release:
        """The answer to the question of these rows, in all of its periods."""
        from dpselect.queries.plan import asked_with
        from dpselect.release.of_rows import OfRows

        rows = OfRows(self.whose, self.columns, self._periods)
        plan = plan if rows.counted_in_each is None else plan.once_in_each(rows.counted_in_each)
        warn_if_weak(plan.ceiling)
        budget, draws = self.paying, secure()
        if budget is not None:
            budget.check(plan.price.neighbors)
        if "logging" in sys.modules:
            from dpselect.queries.logged import log_question

            log_question(plan, budget)
        groups, of_pairs = self._groups(plan), plan.of_pairs
        with self.engine(groups, plan.totals, measures=plan.measuring, of_pairs=of_pairs) as engine:
            answer = _then(_then(plan.ready(engine), rows.told), partial(asked_with, plan.outline(rows)))
            if budget is None:
                return answer(draws, progress)
            asked = {**plan.key, "secure": draws.secure}
            what = self.question(plan.verb, asked, engine, budget.snapshot)
            return what.told(budget.pay(plan, what, lambda: answer(draws, progress), fresh=fresh))

    def question(self, verb: str, asked: Mapping[str, object], engine: Engine, snapshot: str | None) -> Fingerprint:
        """What is asked of which rows, as a budget knows it again; the engine is open for it."""
        from dpselect.ledger.question import question

        source, pinned = ["prepared", engine.state], True
        if engine.state is None:
            source, pinned = source_of(self.source, named=snapshot is not None)
        names = ["user", "split", "table", "max_items_per_user"]
        names += ["newlines_in_values"] if self.newlines_in_values else []
        where = engine.condition
        data = {"source": source, "snapshot": snapshot, "where": where} | {name: getattr(self, name) for name in names}
        if _is_text(self.item):
            data |= {"text": self.item.column} | {name: getattr(self.item, name) for name in ("tokenizer", "lower")}
            data["ngrams"] = [self.item.words.shortest, self.item.words.longest]
        else:
            data["item"] = self.item
        if self._periods is not None:
            data |= self._periods.said
            if self._periods.compared:
                asked = {**asked, "compared_with": self._periods.base.text}
        found = (pinned and engine.fixed) or snapshot is not None
        return question(verb, asked, data, found, user=text_of(self.whose), periods=self._periods)

    def _groups(self, plan: Plan) -> tuple[str, ...]:
        """The columns of groups that a question asks for; none is a column of users or items."""
        for name in plan.by:
            if name in (*names(self.whose), *names(self.column)):
                hint = "of several columns of items, each says a part of what an item is"
                raise ParameterError("by", "be other columns than user and item", came(name), hint)
        return plan.by

    def engine(
        self,
        by: Sequence[str] = (),
        totals: Totals | None = None,
        *,
        measures: Sequence[Measure] = (),
        of_pairs: bool = False,
    ) -> Engine:
        """An engine for one question, with a key of its own. Opening it reads the schema, never a row.

        `by` are the columns of groups, where the question is asked in each of them; `of_pairs` puts them at the head of
        those of items, so that an item is a group and an item. `totals` are the weights that are added up, `measures`
        what can be asked of items that came back.
        """
        for name, numbers in (("by_weight", totals), ("measures", measures)):
            if numbers and self.split is not None:
                hint = "a number belongs to a row: give each item a row of its own"
                raise ParameterError("split", f"be left out where {name} is given", came(self.split), hint)
        return open_engine(
            self.source,
            user=self.whose,
            item=(*by, *names(self.column)) if of_pairs else self.column,
            where=self.where,
            max_items_per_user=self.max_items_per_user,
            split=self.split,
            table=self.table,
            newlines_in_values=self.newlines_in_values,
            periods=self._periods,
            totals=totals,
            measures=measures,
            by=by,
            key=fresh_key(),
        )


def _then(answer: Ready, told: Callable[[Release], Release]) -> Ready:
    return lambda draws, progress: told(answer(draws, progress))


def _is_text(item: object) -> TypeGuard[Text]:
    """Is it a Text? A name is none, and most items are names."""
    if isinstance(item, (str, list, tuple)):
        return False
    from dpselect.texts.text import Text

    return isinstance(item, Text)


def _text(name: str, value: object, must: str, *, blank: bool = False) -> None:
    if not isinstance(value, str) or not (value if blank else value.strip()):
        raise ParameterError(name, must, came(value))
