"""The verbs of data, here or behind a gateway: each makes its question, and asks it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Self

from dpselect.errors import ParameterError, came

if TYPE_CHECKING:
    from dpselect._ground.domain import Column, Listed
    from dpselect._ground.parameters import Number, Progress
    from dpselect.aggregates.measures import Measure
    from dpselect.queries.plan import Plan
    from dpselect.questions.parts import By, Gain, Method, Total
    from dpselect.questions.payment import Payment
    from dpselect.questions.questions import Question
    from dpselect.release.release import Release


class Verbs(ABC):
    """What can be asked of data, wherever they are.

    Every verb makes its question (`TopK`, `Union`, ...) and asks it. The price is `epsilon`, or a `share` of the
    budget, such as "1%"; a `delta` that is left out is 1e-6, or the budget's, where the question needs one, and else 0.
    `ask` takes any question, also at a price that follows from how good the answer must be.

    Guarantee of all: (epsilon, delta)-DP for one whole user coming or going, for all that the release shows. All raise
    ParameterError for a bad parameter, before any row is read, and DataError where the source cannot be read. No data,
    or none that fit, are an outcome: a release without items.
    """

    def __init__(self, where: str | None) -> None:
        self._conditions: tuple[str, ...] = () if where is None else _narrowed((), where)
        self._during: tuple[str, ...] | None = None
        self.excluded: Listed | Column | None = None

    def top_k(
        self,
        k: int = 10,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        share: Number | None = None,
        by: By | str | Sequence[str] | None = None,
        score: Total | Gain | None = None,
        counts: bool = False,
        measures: Sequence[Measure | str] | Measure | str | None = None,
        domain: object = None,
        method: Method | str | None = None,
    ) -> Release:
        """The k items that most distinct users share, best first.

        `score=Total("minutes", at_most=60)` ranks by sums over users of a column, `score=Gain("2026-09")` by the users
        that items gained (docs/weights.md, docs/periods.md). `by="country"` asks for the k items of every group, at the
        price of the groups that one user counts in: `By(...)` says more of them (docs/by-group.md).
        `counts=True` adds noisy counts and `measures` other numbers of the items that come back, such as
        `Mean("rating", 1, 5)`, at the same total price (docs/weights.md).

        Without `domain` the items are found: by limited domain, which looks only at the items with most users, or, for
        a k that is large for epsilon, by a set union and peeling. That needs delta > 0 and may return fewer than k.
        With `domain` (a list, a range, a number of items, a `Column` of another source) exactly k come back, by
        peeling. `method` names another, such as "discover", or "set" for the best that leaves the items of a domain in
        no order; `Method` says more (docs/reference/methods.md).

        `data.exclude(["..."])` leaves items out; `data.ask(TopK(10), within=50)` names an accuracy, not a price.
        """
        from dpselect.questions.questions import TopK

        question = TopK(k, by=by, score=score, counts=counts, measures=measures, domain=domain, method=method)
        return self.ask(question, epsilon=epsilon, delta=delta, share=share)

    def union(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        share: Number | None = None,
        by: str | Sequence[str] | None = None,
        counts: bool = False,
        method: Method | str | None = None,
    ) -> Release:
        """All items that enough distinct users share: a vocabulary, or the keys of a GROUP BY. They have no ranks.

        Every user takes part with `max_items_per_user` random items of the data; where those have no such bound, a
        method that needs one chooses it privately, for 1/20 of epsilon. `counts=True` adds noisy numbers of users, for
        a quarter of the price, or by "count-gaussian" those that decided, for nothing more. `by` asks for the items of
        every group, such as every country: for all pairs of group and item that enough users share. `method` is the
        name of a mechanism, such as "renyi-shaped" or "greedy-geometric", or a `Method` (docs/set-union.md). Where the
        items are those of a `Text`, n-grams are released level by level.
        """
        from dpselect.questions.questions import Union

        return self.ask(Union(by=by, counts=counts, method=method), epsilon=epsilon, delta=delta, share=share)

    def choose(
        self,
        domain: object = None,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        share: Number | None = None,
        by: By | str | Sequence[str] | None = None,
        method: Method | str | None = None,
    ) -> Release:
        """The item of a known domain that most distinct users share: epsilon-DP for one whole user.

        `method` is "exponential" or "permute-and-flip". `by` asks for the item of every group, such as every country,
        at the price of the groups that one user counts in; unless `By` lists them, part of the price finds groups that
        enough users are in, which takes a delta (docs/by-group.md).
        """
        from dpselect.questions.questions import Choose

        return self.ask(Choose(domain, by=by, method=method), epsilon=epsilon, delta=delta, share=share)

    def histogram(
        self,
        domain: object = None,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        share: Number | None = None,
    ) -> Release:
        """How many distinct users have each item of a known domain: all noisy counts at once, in the domain's order.

        Nothing is paid for choosing items. `domain` is a list, a range or a `Column` of a public source, and items that
        nobody has are counted too. A user counts for `max_items_per_user` items of it, or for all of them: so many
        counts share epsilon. With delta > 0 noise that grows with the root of that number is taken where it is nearer,
        and no delta is spent where it is not. With 95 % confidence what was counted lies within all intervals at once.
        A count may lie below 0 (docs/counts.md).
        """
        from dpselect.questions.questions import Histogram

        return self.ask(Histogram(domain), epsilon=epsilon, delta=delta, share=share)

    def users(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        share: Number | None = None,
        by: By | None = None,
    ) -> Release:
        """How many distinct users there are: epsilon-DP for one whole user.

        A user counts by any row that is kept, also by one without an item; bounds on items play no part. `by` asks for
        the number in each of some listed groups, such as `By("country", groups=["DE", "FR"])`, in
        `max_groups_per_user` of which a user counts: so many numbers share epsilon. No number is below 0, and the true
        ones lie within all intervals at once, with 95 % confidence (docs/counts.md).
        """
        from dpselect.questions.questions import Users

        return self.ask(Users(by=by), epsilon=epsilon, delta=delta, share=share)

    def quantile(
        self,
        q: Number | Sequence[Number] = "1/2",
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        share: Number | None = None,
        bounds: tuple[Number, Number] | None = None,
        step: Number | None = None,
        per_user: str = "random",
        by: By | str | Sequence[str] | None = None,
    ) -> Release[int | float]:
        """The value in the `item` column below which a share q of all users lies, or several such values, ascending.

        Every user takes part with one value: with `per_user` a "random" one of their distinct values, their "min",
        "max" or "mean". `bounds` are two numbers chosen without looking at the data; what lies beyond counts as the
        bound. The answer is a point low + i `step`; without a step the points are very dense. Without bounds it is a
        number of six digits, wherever the values lie. Several q share the price; a small delta makes them more
        accurate. `by` asks for the quantiles of every group, such as every country, at the price of the groups that one
        user counts in; unless `By` lists them, part of the price finds groups that enough users are in, which takes a
        delta (docs/by-group.md).
        """
        from dpselect.questions.questions import Quantile

        question = Quantile(q, bounds=bounds, step=step, per_user=per_user, by=by)
        return self.ask(question, epsilon=epsilon, delta=delta, share=share)

    def median(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        share: Number | None = None,
        bounds: tuple[Number, Number] | None = None,
        step: Number | None = None,
        per_user: str = "random",
        by: By | str | Sequence[str] | None = None,
    ) -> Release[int | float]:
        """The middle one of all users' values: `quantile` at 1/2, which needs no delta but to find groups."""
        from dpselect.questions.questions import Quantile

        question = Quantile(bounds=bounds, step=step, per_user=per_user, by=by)
        return self.ask(question, epsilon=epsilon, delta=delta, share=share)

    def ask(
        self,
        question: Question | Plan,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        share: Number | None = None,
        within: int | None = None,
        threshold: int | None = None,
        fresh: bool = False,
        progress: Progress | None = None,
    ) -> Release[Any]:
        """Ask any question, such as `TopK(10, by="country")`, at a price.

        The price is epsilon, a `share` of the budget, or what follows from how good the answer must be: `within` so
        many users of the truth, for a top k or a quantile, and for a union `threshold`, the number of users of an item
        that is found (docs/plan.md). `fresh=True` pays again for a question whose answer the ledger holds. What does
        not fit the data is refused before a row is read and before anything is paid. A `Plan` has a price of its
        own, and takes no other.
        """
        from dpselect.queries.plan import Plan
        from dpselect.questions.payment import Payment

        given: Any = question
        price: dict[str, Any] = {
            "epsilon": epsilon,
            "delta": delta,
            "share": share,
            "within": within,
            "threshold": threshold,
        }
        if not isinstance(given, Plan):
            return self._answered(given, Payment(**price), fresh=fresh, progress=progress)
        for name, value in price.items():
            if value is not None:
                raise ParameterError(name, "be left out for a Plan, which has a price", came(value))
        return self._made(given, fresh=fresh, progress=progress)

    def where(self, condition: str) -> Self:
        """The same data with only the rows for which a condition holds too, as SQL writes it (docs/filters.md)."""
        found = copy(self)
        found._conditions = _narrowed(self._conditions, condition)
        return found

    def during(self, periods: str | Sequence[str]) -> Self:
        """The same data with only the rows of some periods: "2026-10", "2026-09..2026-11", or a list of such."""
        from dpselect.questions.kinds import PERIODS

        if self._during is not None:
            raise ParameterError("during", "be said once", "more periods", "put all of them in one list")
        found = copy(self)
        found._during = PERIODS.read("during", periods)
        found._settle_during(found._during)
        return found

    def exclude(self, items: object) -> Self:
        """The same data without the rows of these items, a list or a `Column`: they do not count for anything.

        The list is public, and the answer says how many it names. For a top k without a domain, and for a union.
        """
        from dpselect.questions.kinds import LISTED

        if self.excluded is not None:
            raise ParameterError("exclude", "be said once", "a second list", "join the lists")
        found = copy(self)
        found.excluded = LISTED.read("exclude", items)
        return found

    @abstractmethod
    def _settle_during(self, names: Sequence[str]) -> None:
        """Keep the periods that are meant; refuse what names none of these data."""

    @property
    def _condition(self) -> str | None:
        """All conditions as one. Each is whole by itself, so brackets keep it apart from the others."""
        if len(self._conditions) < 2:
            return next(iter(self._conditions), None)
        return " AND ".join(f"({one})" for one in self._conditions)

    @property
    def _less(self) -> str:
        """What a repr says of items that do not count."""
        if self.excluded is None:
            return ""
        from dpselect.questions.kinds import LISTED

        return f".exclude({LISTED.python(self.excluded)})"

    @abstractmethod
    def _answered(
        self, question: Question, payment: Payment, *, fresh: bool, progress: Progress | None
    ) -> Release[Any]:
        """The answer to a question, paid so."""

    @abstractmethod
    def _made(self, plan: Plan, *, fresh: bool, progress: Progress | None) -> Release:
        """The answer to a question that was planned beforehand."""


def check_question(given: object) -> None:
    """Refuse what is no question."""
    from dpselect.questions.questions import Question

    if not isinstance(given, Question):
        hint = "dps.TopK(10), dps.Question.from_dict(...), or a Plan, which includes its price"
        raise ParameterError("question", "be a question", came(given), hint)


def _narrowed(conditions: tuple[str, ...], condition: object) -> tuple[str, ...]:
    """One more condition, which is read alone: a bracket in it cannot let out rows that another one keeps back."""
    from dpselect.engines.filters import grammar

    if not isinstance(condition, str) or not condition.strip():
        raise ParameterError("where", "be an SQL condition on one row", came(condition))
    grammar.parse(condition)
    return (*conditions, condition)
