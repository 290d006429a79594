"""RemoteDataset: rows that a gateway keeps, with the verbs of a Dataset. It holds no rows and runs no question."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from dpselect._ground import parameters
from dpselect._ground.keys import Key, columns_of, key_of
from dpselect._ground.methods import AUTO
from dpselect._ground.parameters import Number, Progress, whole
from dpselect._ground.privacy import Neighbors
from dpselect.engines.port import PerUser
from dpselect.errors import ParameterError, came
from dpselect.remote.body import Body, body_of, body_of_verb
from dpselect.remote.waiting import answer
from dpselect.remote.wire import Wire

if TYPE_CHECKING:
    from dpselect.aggregates.measures import Measure
    from dpselect.draws import Draws
    from dpselect.queries.quantile import Bounds
    from dpselect.queries.query import Query
    from dpselect.release.release import Release


@dataclass(frozen=True, eq=False, repr=False)
class RemoteDataset:
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
        if self.max_items_per_user is not None:
            whole("max_items_per_user", self.max_items_per_user, least=1)

    def __repr__(self) -> str:
        names = ("item", "where", "during", "max_items_per_user")
        given = [f"{name}={getattr(self, name)!r}" for name in names if getattr(self, name) is not None]
        return f"RemoteDataset({', '.join([repr(self.name), *given])}) at {self.wire.address}"

    @property
    def split(self) -> None:
        """What stands between items in one text is the owner's to say."""

    @property
    def words(self) -> None:
        """The items are no n-grams: a gateway's items are columns."""

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

    def top_k(
        self,
        k: int = 10,
        *,
        epsilon: Number | None = None,
        share: Number | None = None,
        within: int | None = None,
        delta: Number | None = None,
        domain: object = None,
        counts: bool = False,
        k_bar: int | None = None,
        method: str = "auto",
        ranked: bool = True,
        by_weight: str | None = None,
        at_most: Number | None = None,
        weight_unit: Number | None = None,
        measures: Sequence[Measure | str] | Measure | str | None = None,
        compared_with: Sequence[str] | str | None = None,
        by: Sequence[str] | str | None = None,
        groups: object = None,
        max_groups_per_user: int | None = None,
        users: bool = False,
        exclude: object = None,
        in_engine: bool = False,
        fresh: bool = False,
        progress: Progress | None = None,
        draws: Draws | None = None,
    ) -> Release:
        """The k items that most distinct users share, best first: `Dataset.top_k` has the parameters."""
        given: dict[str, Any] = {"k": k, "epsilon": epsilon, "within": within, "delta": delta, "domain": domain}
        given |= {"counts": counts, "k_bar": k_bar, "method": method, "ranked": ranked, "by_weight": by_weight}
        given |= {"at_most": at_most, "weight_unit": weight_unit, "measures": measures, "by": by, "groups": groups}
        given |= {
            "compared_with": compared_with,
            "max_groups_per_user": max_groups_per_user,
            "users": users,
            "exclude": exclude,
            "in_engine": in_engine,
        }
        return self._verb("top_k", given, share, fresh=fresh, progress=progress, draws=draws)

    def union(
        self,
        *,
        epsilon: Number | None = None,
        share: Number | None = None,
        users_for: int | None = None,
        delta: Number | None = None,
        max_items_per_user: int | str | None = None,
        method: str = AUTO,
        counts: bool = False,
        shares: Sequence[Number] | None = None,
        popular: Sequence[object] | Release | None = None,
        in_engine: bool = False,
        by: Sequence[str] | str | None = None,
        exclude: object = None,
        fresh: bool = False,
        progress: Progress | None = None,
        draws: Draws | None = None,
    ) -> Release:
        """All items that enough distinct users share: `Dataset.union` has the parameters."""
        given: dict[str, Any] = {"epsilon": epsilon, "users_for": users_for, "delta": delta, "method": method}
        given |= {"max_items_per_user": max_items_per_user, "counts": counts, "shares": shares, "popular": popular}
        given |= {"in_engine": in_engine, "by": by, "exclude": exclude}
        return self._verb("union", given, share, fresh=fresh, progress=progress, draws=draws)

    def choose(
        self,
        *,
        domain: object,
        epsilon: Number | None = None,
        share: Number | None = None,
        method: str = "exponential",
        neighbors: Neighbors | str = Neighbors.ADD_REMOVE,
        delta: Number | None = None,
        by: Sequence[str] | str | None = None,
        groups: object = None,
        max_groups_per_user: int | None = None,
        fresh: bool = False,
        progress: Progress | None = None,
        draws: Draws | None = None,
    ) -> Release:
        """The item of a known domain that most distinct users share: `Dataset.choose` has the parameters."""
        given: dict[str, Any] = {"domain": domain, "epsilon": epsilon, "method": method, "neighbors": neighbors}
        given |= {"delta": delta, "by": by, "groups": groups, "max_groups_per_user": max_groups_per_user}
        return self._verb("choose", given, share, fresh=fresh, progress=progress, draws=draws)

    def histogram(
        self,
        *,
        domain: object,
        epsilon: Number | None = None,
        share: Number | None = None,
        delta: Number = 0,
        fresh: bool = False,
        progress: Progress | None = None,
        draws: Draws | None = None,
    ) -> Release:
        """How many distinct users have each item of a known domain: `Dataset.histogram` has the parameters."""
        given: dict[str, Any] = {"domain": domain, "epsilon": epsilon, "delta": delta}
        return self._verb("histogram", given, share, fresh=fresh, progress=progress, draws=draws)

    def quantile(
        self,
        q: Number | Sequence[Number] = 0.5,
        *,
        bounds: Bounds | None = None,
        epsilon: Number | None = None,
        share: Number | None = None,
        within: int | None = None,
        delta: Number | None = None,
        step: Number | None = None,
        per_user: PerUser | str = PerUser.RANDOM,
        by: Sequence[str] | str | None = None,
        groups: object = None,
        max_groups_per_user: int | None = None,
        fresh: bool = False,
        progress: Progress | None = None,
        draws: Draws | None = None,
    ) -> Release[int | float]:
        """The value in the `item` column below which a share q of all users lies: `Dataset.quantile` tells more."""
        given: dict[str, Any] = {"q": q, "bounds": bounds, "epsilon": epsilon, "within": within, "delta": delta}
        given |= {"step": step, "per_user": per_user, "by": by, "groups": groups}
        given |= {"max_groups_per_user": max_groups_per_user}
        return self._verb("quantile", given, share, fresh=fresh, progress=progress, draws=draws)

    def median(
        self,
        *,
        bounds: Bounds | None = None,
        epsilon: Number | None = None,
        share: Number | None = None,
        within: int | None = None,
        delta: Number | None = None,
        step: Number | None = None,
        per_user: PerUser | str = PerUser.RANDOM,
        by: Sequence[str] | str | None = None,
        groups: object = None,
        max_groups_per_user: int | None = None,
        fresh: bool = False,
        progress: Progress | None = None,
        draws: Draws | None = None,
    ) -> Release[int | float]:
        """The middle one of all users' values: `quantile` with q = 1/2."""
        given: dict[str, Any] = {"bounds": bounds, "epsilon": epsilon, "within": within, "delta": delta}
        given |= {"step": step, "per_user": per_user, "by": by, "groups": groups}
        given |= {"max_groups_per_user": max_groups_per_user}
        return self._verb("quantile", given, share, fresh=fresh, progress=progress, draws=draws)

    def ask(
        self,
        query: Query,
        *,
        fresh: bool = False,
        progress: Progress | None = None,
        draws: Draws | None = None,
    ) -> Release:
        """Ask a question that was made beforehand. It has a delta of its own, and all else that it was made with."""
        _check(progress, draws, fresh=fresh)
        _check_query(query)
        return self._answer(query.verb, body_of(query, self) | _again(fresh=fresh), progress)

    def _verb(
        self,
        verb: str,
        given: dict[str, Any],
        share: Number | None,
        *,
        fresh: bool,
        progress: Progress | None,
        draws: object,
    ) -> Release:
        _check(progress, draws, fresh=fresh)
        body = body_of_verb(verb, given, self, share=share) | _again(fresh=fresh)
        return self._answer(verb, body, progress)

    def _answer(self, verb: str, body: Body, progress: Progress | None) -> Release:
        if "logging" in sys.modules:
            from dpselect._ground.logs import LOG

            LOG.debug("%s, asked of %s", verb, self.wire.address)
        return answer(self.wire, body, progress)


def _check(progress: object, draws: object, *, fresh: object) -> None:
    parameters.called("progress", progress)
    parameters.flag("fresh", fresh)
    if draws is not None:
        must = "be left out: the gateway draws, or whoever asks could choose the noise"
        raise ParameterError("draws", must, came(draws))


def _check_query(query: object) -> None:
    from dpselect.queries.query import Query

    if not isinstance(query, Query):
        raise ParameterError("query", "be a Query", came(query), "Query.from_dict makes one of a dict")


def _again(*, fresh: bool) -> Body:
    return {"fresh": True} if fresh else {}


def _text(name: str, value: object, must: str) -> None:
    if not isinstance(value, str) or not value.strip():
        raise ParameterError(name, must, came(value))
