"""The rows that a question is about: how an engine opens them, how a budget recognises them, how they are asked."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpselect._ground.dataclass import dataclass
from dpselect._ground.keys import Key, composite_columns, key_columns, key_to_text
from dpselect._ground.parameters import Progress
from dpselect._ground.privacy import warn_if_weak
from dpselect.draws import fresh_key, secure
from dpselect.engines.address import Address
from dpselect.engines.identity import identify_source
from dpselect.engines.port import Tally
from dpselect.engines.registry import open_engine
from dpselect.errors import ParameterError, came, naming_parameter
from dpselect.queries.outline import log_question, outline, with_question
from dpselect.release.rows import OfRows

if TYPE_CHECKING:
    from dpselect._ground.periods import Periods
    from dpselect.engines import Engine
    from dpselect.ledger import Budget, Fingerprint
    from dpselect.queries.plan import Plan
    from dpselect.release.release import Release
    from dpselect.texts.text import NgramRange


@dataclass(frozen=True, kw_only=True)
class AskedRows:
    """The rows of a data set as a question takes them. It holds no rows and no connection."""

    address: Address
    user_columns: Key
    item_columns: Key
    separator: str | None  # between items in one text
    words: NgramRange | None  # the n-grams that are the items of a text
    condition: str | None
    periods: Periods | None  # with those that they are compared with
    max_items_per_user: int | None

    @property
    def described(self) -> OfRows:
        """The rows as a release states them, as far as they are known without opening the source."""
        return OfRows(self.user_columns, composite_columns(self.item_columns), self.periods)

    @property
    def described_with_bound(self) -> OfRows:
        """The same; of prepared data also the bound on rows that the file has now."""
        path = self.address.prepared
        if path is None:
            return self.described
        from dpselect.engines.prepared.file import read_state

        return replace(self.described, bound=read_state(path).rules.row_bound)

    def answer(self, plan: Plan, budget: Budget | None, *, fresh: bool, progress: Progress | None) -> Release:
        """Return the answer to the question of these rows, in all of its periods, paid if there is a budget."""
        rows = self.described
        warn_if_weak(plan.ceiling)
        draws = secure()
        if budget is not None:
            budget.check(plan.price.neighbors)
        log_question(plan, budget)
        source_before = None if budget is None else identify_source(self.address, is_named=budget.snapshot is not None)
        with ExitStack() as opened:
            engine = opened.enter_context(self._open_for(plan))
            source = engine.source  # the open file, which may be another than before
            rows = replace(rows, keys=source.undeclared, bound=source.row_bound, outside=engine.outside)
            plan = plan.for_rows(rows)
            answer_plan, outlined = plan.bind(engine), outline(plan, rows)

            def draw_answer() -> Release:
                return with_question(outlined, rows.describe_rows(answer_plan(draws, progress)))

            if budget is None:
                return draw_answer()
            key = {**plan.key, "secure": draws.secure}
            engine.check_unchanged()
            fingerprint = self.fingerprint(plan.verb, key, engine, budget.snapshot, source_before)

            def draw_and_close() -> Release:
                with opened.pop_all():  # clearing up takes as long as rows make it: it ends before anything is settled
                    return draw_answer()

            return fingerprint.with_repeat_price(budget.pay(plan, fingerprint, draw_and_close, fresh=fresh))

    def _open_for(self, plan: Plan) -> Engine:
        """Open an engine for a plan; no column of its groups is one of users or items."""
        if plan.items is not None:
            with naming_parameter("by", "item"):
                return self.open_engine()
        for name in plan.by:
            if name in (*key_columns(self.user_columns), *key_columns(self.item_columns)):
                hint = "with several item columns, each is one part of the item"
                raise ParameterError("by", "be columns other than user and item", came(name), hint)
        return self.open_engine(Tally(plan.by, plan.totals, plan.measures))

    def open_engine(self, tally: Tally | None = None) -> Engine:
        """Open an engine for one question, with a key of its own. Opening it reads the schema, never a row.

        The tally has the columns of groups, if the question is asked in each of them, the weights to add up, and the
        measures of items that are returned.
        """
        tally = Tally() if tally is None else tally
        for name, numbers in (("by_weight", tally.totals), ("measures", tally.measures)):
            if numbers and self.separator is not None:
                hint = "a number belongs to a row: give each item a row of its own"
                raise ParameterError("split", f"be left out if {name} is given", came(self.separator), hint)
        return open_engine(
            self.address,
            user=self.user_columns,
            item=self.item_columns,
            where=self.condition,
            max_items_per_user=self.max_items_per_user,
            split=self.separator,
            periods=self.periods,
            tally=tally,
            key=fresh_key(),
        )

    def fingerprint(
        self, verb: str, key: Mapping[str, object], engine: Engine, snapshot: str | None, source_before: object = None
    ) -> Fingerprint:
        """Return the question and its rows, by which a budget recognises a repeat; the engine is open for it.

        `source_before` is the identity of the source before it was opened. Opening finds the files to read; an answer
        about those is not kept under the identity of others.
        """
        from dpselect.ledger import fingerprint

        source, pinned, changed = ["prepared", engine.source.state], True, False
        if engine.source.state is None:
            source, pinned = identify_source(self.address, is_named=snapshot is not None)
            changed = pinned and source_before != (source, pinned)
        row_fields: dict[str, Any] = {
            "source": source,
            "snapshot": snapshot,
            "where": engine.condition,
            "user": self.user_columns,
            "split": self.separator,
            "table": self.address.table,
            "max_items_per_user": self.max_items_per_user,
            **self.address.csv.unusual_options,
            **engine.source.declared,
        }
        if engine.outside is not None:
            row_fields["outside"] = engine.outside
        if self.words is None:
            row_fields["item"] = self.item_columns
        else:
            tokenizer, ngrams = self.words.tokenizer, [self.words.shortest, self.words.longest]
            row_fields["text"] = self.item_columns
            row_fields |= {"tokenizer": tokenizer.name, "lower": tokenizer.lower, "ngrams": ngrams}
        if self.periods is not None:
            row_fields |= self.periods.question_fields
            if self.periods.compared:
                key = {**key, "compared_with": self.periods.baseline.text}
        is_fixed = ((pinned and engine.source.fixed) or snapshot is not None) and not changed
        return fingerprint(verb, key, row_fields, is_fixed, user=key_to_text(self.user_columns), periods=self.periods)
