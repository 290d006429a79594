"""The verbs of data, here or behind a gateway: each makes its question and asks it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Self

from dpselect._ground.parameters import check_callable, check_keywords, flag
from dpselect.errors import ParameterError, came

if TYPE_CHECKING:
    from dpselect._ground.domain import Column, Listed
    from dpselect._ground.parameters import Number, Progress
    from dpselect.aggregates.measures import Measure
    from dpselect.queries.plan import Plan
    from dpselect.questions.parts import By, Gain, Method, Payment, Total
    from dpselect.questions.questions import Question
    from dpselect.release.release import Release


@check_keywords
class Verbs(ABC):
    """The questions that data can answer, wherever they are.

    Each verb makes its question (`TopK`, `Union`, ...) and asks it. The price is `epsilon`, or a `share` of the budget,
    such as "1%". If `delta` is left out and the question needs one, it is 1e-6, or the budget's. `ask` takes any
    question, and also accuracies from which the price follows.

    Guarantee: everything that a release shows is (epsilon, delta)-DP for adding or removing all rows of one unit: one
        user, or with `time` one user in one period, or with several user columns one combination of them.
        `choose`, `histogram`, `users` and `quantile` are epsilon-DP (delta = 0) unless delta is given or groups are
        found.
    Returns: a `Release`. Data without matching rows give an answer too: no items, items drawn at random from a known
        domain, or noise.
    Raises: ParameterError for a bad parameter, before any row is read; DataError if the source cannot be read;
        BudgetError if the budget is too small, before any row is read.
    """

    def __init__(self, where: str | None) -> None:
        self._conditions: tuple[str, ...] = () if where is None else _add_condition((), where)
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
        """Return the k items with the most distinct users, best first.

        With `domain` (a list, a range, a number of items, or a `Column` of a public source) exactly k items are
        returned. Without it, dpselect finds the items: by limited domain, which considers only the items with most
        users, or, if k is large for epsilon, by a set union and peeling. This needs delta > 0 and may return fewer than
        k items.

        `Dataset.exclude(["..."])` leaves items out. To name an accuracy instead of a price, use `data.ask(TopK(10),
        within=50)`.

        Args:
            k: The most items to return.
            epsilon: One person changes the odds of any answer by a factor of at most e^epsilon.
            delta: Bounds the chance that this fails (at most 1e-6 to find items or groups, else 0).
            share: Instead of epsilon: a share of the budget, such as "1%".
            by: Answer in every group: a column, several columns, or By(...).
            score: What to rank by; default: distinct users.
            counts: Also return noisy counts; they use epsilon too, so the choice is less accurate.
            measures: Numbers for each item: users, 'sum(COLUMN, LOW, HIGH)', 'mean(COLUMN, LOW, HIGH)'.
            domain: All possible items; found privately if left out.
            method: The method, if dpselect should not choose it: a name, or Method(...).

        Example:
            >>> from dpselect import Dataset
            >>> plays = {"user": [*range(300), *range(200)], "artist": ["Ada"] * 300 + ["Bo"] * 200}
            >>> Dataset(plays, user="user", item="artist").top_k(1, epsilon=1).labels
            ['Ada']
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
        """Return all items that enough distinct users share, unranked: a vocabulary, or the keys of a GROUP BY.

        Each user contributes at most `max_items_per_user` random items of the data. If the data have no such bound, a
        method that needs one chooses it privately, with 1/20 of epsilon; where no budget pays, a bound of 2 to 6 then
        takes a method that looks at all items of users and finds more ("by-bound"). Noisy counts are those that
        selected the items ("count-laplace", "count-gaussian"), take half of the Rényi budget of the items
        ("renyi-shaped"), or cost a quarter of the price. If the items are those of a `Text`, n-grams are released
        level by level (docs/set-union.md).

        Args:
            epsilon: One person changes the odds of any answer by a factor of at most e^epsilon.
            delta: Bounds the chance that this fails (at most 1e-6 to find items or groups, else 0).
            share: Instead of epsilon: a share of the budget, such as "1%".
            by: Find items in every group of a column, or of several.
            counts: Also return noisy counts; they use epsilon too, so the choice is less accurate.
            method: The method, if dpselect should not choose it: a name, or Method(...).

        Example:
            >>> from dpselect import Dataset
            >>> words = {"user": range(300), "word": ["tea"] * 299 + ["rare"]}
            >>> Dataset(words, user="user", item="word").union(epsilon=1).labels
            ['tea']
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
        """Return the item of a known domain that most distinct users share.

        With `by`, part of the price finds the groups that enough users are in, which needs a delta; groups that `By`
        lists need none (docs/by-group.md).

        Args:
            domain: All possible items.
            epsilon: One person changes the odds of any answer by a factor of at most e^epsilon.
            delta: Bounds the chance that this fails (at most 1e-6 to find items or groups, else 0).
            share: Instead of epsilon: a share of the budget, such as "1%".
            by: Answer in every group: a column, several columns, or By(...).
            method: The method, if dpselect should not choose it: a name, or Method(...).

        Example:
            >>> from dpselect import Dataset
            >>> votes = {"user": range(500), "vote": ["yes"] * 400 + ["no"] * 100}
            >>> Dataset(votes, user="user", item="vote").choose(["yes", "no"], epsilon=1).labels
            ['yes']
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
        """Return a noisy count of distinct users for each item of a known domain, in the domain's order.

        No budget is spent on selection, and items without users are counted too. One user affects at most
        `max_items_per_user` counts (all of them if unset), and the counts share epsilon. With delta > 0, dpselect uses
        noise that grows with the square root of that number if it is smaller, and otherwise spends no delta. With 95 %
        confidence, all counted numbers are within their intervals at once. A count may be negative (docs/counts.md).

        Args:
            domain: All possible items.
            epsilon: One person changes the odds of any answer by a factor of at most e^epsilon.
            delta: Bounds the chance that this fails (at most 1e-6 to find items or groups, else 0).
            share: Instead of epsilon: a share of the budget, such as "1%".
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
        """Return the noisy number of distinct users.

        Any selected row makes its user count, even a row without an item, and bounds on items play no part. With `by`,
        a user counts in all listed groups, or in at most `max_groups_per_user` of them; the numbers of these groups
        share epsilon. No number is negative, and with 95 % confidence the numbers of counted users are in all intervals
        at once (docs/counts.md).

        Args:
            epsilon: One person changes the odds of any answer by a factor of at most e^epsilon.
            delta: Bounds the chance that this fails (at most 1e-6 to find items or groups, else 0).
            share: Instead of epsilon: a share of the budget, such as "1%".
            by: Answer in each listed group: By(COLUMNS, groups=...).
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
        """Return the value of the `item` column below which a share q of all users lies, or several such values.

        Each user counts with one value: `per_user` is "random" (one of the user's distinct values), "min", "max" or
        "mean". Values outside the bounds count as the bound. Several q share the price; a small delta makes them more
        accurate. With `by`, part of the price finds the groups that enough users are in, which needs a delta; groups
        that `By` lists need none (docs/by-group.md).

        Args:
            q: A share between 0 and 1, or several in ascending order.
            epsilon: One person changes the odds of any answer by a factor of at most e^epsilon.
            delta: Bounds the chance that this fails (at most 1e-6 to find items or groups, else 0).
            share: Instead of epsilon: a share of the budget, such as "1%".
            bounds: The range of values, chosen without looking at the data; if left out, answers have six digits.
            step: Answers are low + i step; if left out, a very fine grid.
            per_user: Which of a user's values counts.
            by: Answer in every group: a column, several columns, or By(...).

        Example:
            >>> from dpselect import Dataset
            >>> ages = {"user": range(500), "age": [20 + n % 41 for n in range(500)]}
            >>> Dataset(ages, user="user", item="age").quantile(0.5, epsilon=9, bounds=(0, 120), step=10).labels
            [40]
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
        """Return the median of all users' values: `quantile` at 1/2, which needs a delta only to find groups.

        Args:
            epsilon: One person changes the odds of any answer by a factor of at most e^epsilon.
            delta: Bounds the chance that this fails (at most 1e-6 to find items or groups, else 0).
            share: Instead of epsilon: a share of the budget, such as "1%".
            bounds: The range of values, chosen without looking at the data; if left out, answers have six digits.
            step: Answers are low + i step; if left out, a very fine grid.
            per_user: Which of a user's values counts.
            by: Answer in every group: a column, several columns, or By(...).
        """
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

        Give one of `epsilon`, `share`, `within` and `threshold`; the last two are accuracies from which the price
        follows (docs/plan.md). A `Plan` includes its price, so none is given. A question that does not fit the data is
        refused before a row is read and before anything is charged.

        Args:
            question: The question, or a plan of it.
            epsilon: One person changes the odds of any answer by a factor of at most e^epsilon.
            delta: Bounds the chance that this fails (at most 1e-6 to find items or groups, else 0).
            share: Instead of epsilon: a share of the budget, such as "1%".
            within: Instead of epsilon: the accuracy, in users or ranks.
            threshold: Instead of epsilon: an item is found if this many users have only it.
            fresh: Draw a new answer and pay again, even if the ledger has an answer to this question.
            progress: Called with the finished part, or None if it is unknown, about five times a second.
        """
        from dpselect.queries.plan import Plan
        from dpselect.questions.parts import Payment

        check_callable("progress", progress)
        flag("fresh", fresh)
        any_question: Any = question
        price: dict[str, Any] = {
            "epsilon": epsilon,
            "delta": delta,
            "share": share,
            "within": within,
            "threshold": threshold,
        }
        if not isinstance(any_question, Plan):
            return self._answer_question(any_question, Payment(**price), fresh=fresh, progress=progress)
        for name, value in price.items():
            if value is not None:
                raise ParameterError(name, "be left out for a Plan, which has a price", came(value))
        return self._answer_plan(any_question, fresh=fresh, progress=progress)

    def where(self, condition: str) -> Self:
        """Return the same data with only the rows for which an SQL condition also holds (docs/filters.md)."""
        narrowed = copy(self)
        narrowed._conditions = _add_condition(self._conditions, condition)
        return narrowed

    def during(self, periods: str | Sequence[str]) -> Self:
        """Return the same data with only the rows of some periods: "2026-10", "2026-09..2026-11", or a list of them."""
        from dpselect.questions.kinds import PERIODS

        if self._during is not None:
            raise ParameterError("during", "be given once only", "more periods", "put all of them in one list")
        narrowed = copy(self)
        narrowed._during = PERIODS.read("during", periods)
        narrowed._set_periods(narrowed._during)
        return narrowed

    def exclude(self, items: object) -> Self:
        """Return the same data without the rows of these items, for a union, or for a top k that has no domain.

        The list is public, and the answer states its length.

        Args:
            items: A list of items, or a `Column` of a public source.
        """
        from dpselect.questions.kinds import LISTED

        if self.excluded is not None:
            raise ParameterError("exclude", "be given once only", "a second list", "join the lists")
        narrowed = copy(self)
        narrowed.excluded = LISTED.read("exclude", items)
        return narrowed

    @abstractmethod
    def _set_periods(self, names: Sequence[str]) -> None:
        """Store these periods; refuse names that are no periods of these data."""

    @property
    def _condition(self) -> str | None:
        """All conditions as one. Each is a complete expression, so brackets separate it from the others."""
        if len(self._conditions) < 2:
            return next(iter(self._conditions), None)
        return " AND ".join(f"({condition})" for condition in self._conditions)

    @property
    def _excluded_repr(self) -> str:
        """Part of a repr about excluded items."""
        if self.excluded is None:
            return ""
        from dpselect.questions.kinds import LISTED

        return f".exclude({LISTED.python(self.excluded)})"

    @abstractmethod
    def _answer_question(
        self, question: Question, payment: Payment, *, fresh: bool, progress: Progress | None
    ) -> Release[Any]:
        """Answer a question at this price."""

    @abstractmethod
    def _answer_plan(self, plan: Plan, *, fresh: bool, progress: Progress | None) -> Release:
        """Answer a question that was planned beforehand."""


def check_question(question: object) -> None:
    """Refuse anything that is not a question."""
    from dpselect.questions.questions import Question

    if not isinstance(question, Question):
        hint = "dps.TopK(10), dps.Question.from_dict(...), or a Plan, which includes its price"
        raise ParameterError("question", "be a question", came(question), hint)


def _add_condition(conditions: tuple[str, ...], condition: object) -> tuple[str, ...]:
    """Return the conditions and one more, parsed alone: a bracket in it cannot let out rows that another keeps back."""
    from dpselect.engines.filters import grammar

    if not isinstance(condition, str) or not condition.strip():
        raise ParameterError("where", "be an SQL condition on one row", came(condition))
    grammar.parse(condition)
    return (*conditions, condition)
