"""RemoteDataset: rows that a gateway keeps, with the verbs of a Dataset. It holds no rows and runs no question."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from dpselect._ground import parameters
from dpselect._ground.keys import Key, columns_of, key_of
from dpselect._ground.parameters import Progress, whole
from dpselect.errors import ParameterError, came
from dpselect.remote.body import Body, body_of, body_of_plan
from dpselect.remote.waiting import answer
from dpselect.remote.wire import Wire
from dpselect.verbs import Verbs, check_question

if TYPE_CHECKING:
    from dpselect._ground.domain import Column, Listed
    from dpselect.queries.plan import Plan
    from dpselect.questions.payment import Payment
    from dpselect.questions.questions import Question
    from dpselect.release.release import Release


@dataclass(frozen=True, eq=False, repr=False)
class RemoteDataset(Verbs):
    """Data that somebody keeps behind a gateway, by name: `Remote.data(...)` makes it.

    Its verbs are those of a `Dataset`, with the same parameters, errors and releases. The gateway's owner says what a
    user is, which columns may be items, groups, filters, weights and values, and whose budget pays. `item` is one of
    the columns of items, or a list of columns; left out it is the first. Where the owner declared a domain, bounds or
    the most that one user gives to an item, None stands for these.
    """

    wire: Wire
    name: str | None = None
    _: KW_ONLY
    item: str | Sequence[str] | None = None
    where: str | None = None
    during: str | Sequence[str] | None = None
    max_items_per_user: int | None = None
    excluded: Listed | Column | None = None

    def __post_init__(self) -> None:
        if self.name is not None:
            _text("data", self.name, "be the name of data that the gateway keeps")
        if self.item is not None:
            if not isinstance(self.item, (str, list, tuple)):
                hint = "a gateway counts the values of columns, and no words of texts"
                raise ParameterError("item", "be the name of a column, or a list of several", came(self.item), hint)
            object.__setattr__(self, "item", key_of("item", self.item))
        if self.where is not None:
            from dpselect.engines.filters import grammar

            _text("where", self.where, "be an SQL condition on one row")
            grammar.parse(self.where)
        if self.during is not None:
            during = [self.during] if isinstance(self.during, str) else list(self.during)
            for one in during:
                _text("during", one, "be the name of a period, such as 2026-10, or a list of such")
            object.__setattr__(self, "during", tuple(during))
        self._settle_excluded()
        if self.max_items_per_user is not None:
            whole("max_items_per_user", self.max_items_per_user, least=1)

    def __repr__(self) -> str:
        names = ("item", "where", "during", "max_items_per_user")
        given = [f"{name}={getattr(self, name)!r}" for name in names if getattr(self, name) is not None]
        return f"RemoteDataset({', '.join([repr(self.name), *given])}){self._less} at {self.wire.address}"

    @property
    def split(self) -> None:
        """What stands between items in one text is the owner's to say."""

    @property
    def words(self) -> None:
        """The items are no n-grams: a gateway's items are columns."""

    @property
    def level_shares(self) -> None:
        """So they have no levels."""

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The columns of items, where they have several."""
        column: Key | None = self.item  # type: ignore[assignment] # __post_init__ has read it
        return columns_of(column)

    @property
    def said(self) -> Body:
        """Which rows are meant, as parts of a body."""
        given = {"data": self.name, "item": self.item, "where": self.where, "during": self.during}
        return {name: list(one) if isinstance(one, tuple) else one for name, one in given.items() if one is not None}

    def _answered(
        self, question: Question, payment: Payment, *, fresh: bool, progress: Progress | None
    ) -> Release[Any]:
        _check(progress, fresh=fresh)
        check_question(question)
        return self._answer(question.verb, body_of(question, payment, self) | _again(fresh=fresh), progress)

    def _made(self, plan: Plan, *, fresh: bool, progress: Progress | None) -> Release:
        _check(progress, fresh=fresh)
        return self._answer(plan.verb, body_of_plan(plan, self) | _again(fresh=fresh), progress)

    def _answer(self, verb: str, body: Body, progress: Progress | None) -> Release:
        if "logging" in sys.modules:
            from dpselect._ground.logs import LOG

            LOG.debug("%s, asked of %s", verb, self.wire.address)
        return answer(self.wire, body, progress)


def _check(progress: object, *, fresh: object) -> None:
    parameters.called("progress", progress)
    parameters.flag("fresh", fresh)


def _again(*, fresh: bool) -> Body:
    return {"fresh": True} if fresh else {}


def _text(name: str, value: object, must: str) -> None:
    if not isinstance(value, str) or not value.strip():
        raise ParameterError(name, must, came(value))
