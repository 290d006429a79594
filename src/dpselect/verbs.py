"""The verbs of data, here or behind a gateway: each makes its question, and asks it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dpselect._ground.methods import AUTO
from dpselect._ground.privacy import Neighbors
from dpselect.engines.port import PerUser
from dpselect.errors import ParameterError, came

if TYPE_CHECKING:
    from dpselect._ground.parameters import Number, Progress
    from dpselect.aggregates.measures import Measure
    from dpselect.draws import Draws
    from dpselect.queries.quantile import Bounds
    from dpselect.queries.query import Query
    from dpselect.questions.questions import Question
    from dpselect.release.release import Release

_OF_ASKING = ("fresh", "progress", "draws")


class Verbs(ABC):
    """What can be asked of data, wherever they are."""

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
        """The k items that most distinct users share, best first.

        Guarantee: (epsilon, delta)-DP for one whole user coming or going, for all that the release shows. Without
        `domain` the items are found by limited domain, which looks only at the `k_bar` + 1 items with most users; for a
        k that is large for epsilon in its sparse form, where one noisy threshold decides which picks come out; and for
        a larger k by "discover": a set union finds items that enough users share, peeling ranks the best of them by all
        of their users. All need delta > 0 and may return fewer than k. With `domain` (a list, a range, a number of
        items, a `Column` of another source) exactly k come back, by peeling. A delta that is left out is 1e-6 where it
        is needed, which is without a domain, and else 0. `counts=True` adds noisy counts at the same total price.
        `method` is "auto", "limited-domain", "limited-domain-sparse", "discover", or, for users of few items,
        "limited-domain-laplace"; with a domain "peeling", "joint-sequence", or
        "joint-set" and "canonical-set". These two choose a set in no order, which is often nearer to the true one; they
        need `ranked=False`, which also lets "auto" take one.
        `within`, in place of epsilon, is how near the answer must be: no item comes back that has more than so many
        users fewer than the k-th best, and all counts are that near, 95 times of 100. The price follows from it
        (docs/within.md).
        `by_weight` names a column of numbers: the best items are then those of the largest sums over users, to which
        every user gives the total of that column in their rows of the item, rounded to `weight_unit` (1) and cut to
        `at_most`, which is in the column's own unit and must not be chosen by these data (docs/weights.md).
        `measures` lists other numbers of the items that come back, at the same total price: "users", which is
        `counts=True`, `Sum(column, low, high)`, the sum over users of their totals, and `Mean(column, low, high)`, the
        mean of their means; or texts such as "mean(rating, 1, 5)". The bounds must not be chosen by these data
        (docs/measures.md).
        `compared_with` names as many other periods as `during` does, and the best items are then those that gained most
        distinct users from these to those: what rose most. The price is that of any top k, and is paid in all of the
        periods (docs/periods.md).
        `by`, a column or several, asks for the k items of every group, such as every country, at the price of
        `max_groups_per_user` groups however many there are: a user who is in more counts in so many, chosen at random.
        Left out, it is chosen privately for a twentieth of epsilon: about as many groups as nine of ten users are in at
        most. Nobody has to know the groups; a group without an item is not shown. `groups` lists those that count and
        are shown in any case. `users=True` adds a noisy number of users of each group that is shown (docs/by-group.md).
        With `by_weight` a user's total is of the rows in the group.
        `exclude` lists items that must not come back: their rows do not count at all. Of a domain leave them out.
        `in_engine=True` leaves users and their items in the engine also for "discover", which else reads them all into
        memory; the engine spills to disk what does not fit.
        `fresh=True` pays again for a question whose answer the ledger holds.

        Raises ParameterError for a bad parameter, before any row is read, and DataError where the source cannot be
        read. No data, or none that fit, are an outcome: a release without items.
        """
        return self._verb("top_k", locals())

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
        """All items that enough distinct users share: a vocabulary, or the keys of a GROUP BY. They have no ranks.

        Guarantee: (epsilon, delta)-DP for one whole user coming or going, for all that the release shows. Every user
        takes part with `max_items_per_user` random items; without that (here or in the Dataset), or with "auto", the
        number is chosen privately, for 1/20 of epsilon. `counts=True` adds noisy numbers of users, for a quarter of the
        price, or by "count-gaussian" those that decided, for nothing more. `method` is "auto" or the name of a
        mechanism, such as "renyi-shaped", "greedy-geometric" or "policy-gaussian" (docs/set-union.md).
        Where the items are those of a `Text`, n-grams are released level by level, and `shares` says how the levels
        share the budget: by default three levels 1/2, 1/3 and 1/6.
        `popular` is a public list of items that are likely to be shared, or an earlier release: users who give to one
        item each ("greedy-geometric") then choose those first. `users_for`, in place of epsilon, says
        of how many users an item is to be found; the price follows (docs/within.md). `by` asks for the items of every
        group, such as every country: for all pairs of group and item that enough users share (docs/by-group.md).
        `in_engine=True` leaves users and their items in the engine, which spills to disk what does not fit into memory
        (docs/set-union.md). `exclude` lists items that must not come back: their rows do not count at all.

        Raises ParameterError for a bad parameter, before any row is read, and DataError where the source cannot be
        read or is too large for this machine. No data are an outcome: a release without items.
        """
        return self._verb("union", locals())

    def choose(
        self,
        domain: object = None,
        *,
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
        """The item of a known domain that most distinct users share: epsilon-DP for one whole user.

        Counts are monotonic when a user comes or goes, so the 2 of general scores is paid only for
        `neighbors="replace-one"`. `method` is "exponential" or "permute-and-flip".
        `by`, a column or several, asks for the item of every group, such as every country, at the price of
        `max_groups_per_user` groups (here 1 where it is left out). `groups` lists those that are answered;
        without it part of the price finds groups that enough users are in, which takes a delta (docs/by-group.md).
        """
        return self._verb("choose", locals())

    def histogram(
        self,
        domain: object = None,
        *,
        epsilon: Number | None = None,
        share: Number | None = None,
        delta: Number | None = None,
        fresh: bool = False,
        progress: Progress | None = None,
        draws: Draws | None = None,
    ) -> Release:
        """How many distinct users have each item of a known domain: all noisy counts at once, in the domain's order.

        Guarantee: (epsilon, delta)-DP for one whole user coming or going. Nothing is paid for choosing items. `domain`
        is a list, a range or a `Column` of a public source, and items that nobody has are counted too. A user counts
        for `max_items_per_user` items of it, or for all of them: so many counts share epsilon. With delta > 0 noise
        that grows with the root of that number is taken where it is nearer, and no delta is spent where it is not.
        What was counted lies within all intervals at once, 95 times of 100. A count may lie below 0
        (docs/histogram.md).
        """
        return self._verb("histogram", locals())

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
        """The value in the `item` column below which a share q of all users lies, or several such values, ascending.

        Guarantee: (epsilon, delta)-DP for one whole user coming or going. Every user takes part with one value: with
        `per_user` a "random" one of their distinct values, their "min", "max" or "mean". `bounds` are two numbers
        chosen without looking at the data; what lies beyond counts as the bound. The answer is a point low + i `step`;
        without a step the points are very dense. Without bounds it is a number of six digits, wherever the values lie.
        Several q share the price; a small delta makes them more accurate.
        `within`, in place of epsilon, is the most users by which a rank may be missed, 95 times of 100; the price
        follows (docs/within.md).
        `by`, a column or several, asks for the quantiles of every group, such as every country, at the price of
        `max_groups_per_user` groups (here 1 where it is left out); a user takes part with one value in each.
        `groups` lists those that are answered; without it part of the price finds groups that enough users are in,
        which takes a delta (docs/by-group.md).
        """
        return self._verb("quantile", locals())

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
        """The middle one of all users' values: `quantile` with q = 1/2, which needs no delta but to find groups."""
        return self._verb("quantile", {**locals(), "q": "1/2"})

    def ask(
        self,
        question: Question | Query,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        share: Number | None = None,
        within: int | None = None,
        threshold: int | None = None,
        fresh: bool = False,
        progress: Progress | None = None,
        draws: Draws | None = None,
    ) -> Release:
        """Ask any question, such as `TopK(10, by="country")`, at a price.

        The price is epsilon, a `share` of the budget, or what follows from how good the answer must be: `within` so
        many users of the truth, for a top k or a quantile, and for a union `threshold`, the number of users of an item
        that is found (docs/within.md). A delta that is left out is the usual one where the question needs one. What
        does not fit the data is refused before a row is read and before anything is paid. A `Query`, which came as JSON
        with a price of its own, takes no other.
        """
        from dpselect.queries.query import Query
        from dpselect.questions.questions import Question

        given: object = question
        price = {"epsilon": epsilon, "delta": delta, "share": share, "within": within, "threshold": threshold}
        if isinstance(given, Question):
            asked = given.flat() | _priced(given.verb, price)
            return self._named(given.verb, asked, fresh=fresh, progress=progress, draws=draws)
        if not isinstance(given, Query):
            hint = "dps.TopK(10), dps.Question.from_dict(...), or a Query, which has its price"
            raise ParameterError("question", "be a question", came(given), hint)
        for name, value in price.items():
            if value is not None:
                raise ParameterError(name, "be left out for a Query, which has a price", came(value))
        return self._made(given, fresh=fresh, progress=progress, draws=draws)

    def _verb(self, verb: str, given: Mapping[str, Any]) -> Release[Any]:
        """The answer to the question of these arguments of a verb."""
        asked = {name: value for name, value in given.items() if name not in ("self", *_OF_ASKING)}
        return self._named(verb, asked, **{name: given[name] for name in _OF_ASKING})

    @abstractmethod
    def _named(
        self, verb: str, given: dict[str, Any], *, fresh: bool, progress: Progress | None, draws: Draws | None
    ) -> Release[Any]:
        """The answer to a question of which the parameters and the price are given, as they were written."""

    @abstractmethod
    def _made(self, query: Query, *, fresh: bool, progress: Progress | None, draws: Draws | None) -> Release:
        """The answer to a question that was made beforehand."""


def _priced(verb: str, price: Mapping[str, Any]) -> dict[str, Any]:
    """The price as a query of this verb has it; an accuracy that it does not know is refused."""
    from dpselect.queries.query import kind

    known, found = kind(verb).parameters(), dict(price)
    for name, own in (("within", "within"), ("threshold", "users_for")):
        value = found.pop(name)
        if own in known:
            found[own] = value
        elif value is not None:
            raise ParameterError(name, f"be left out for {verb}", came(value), "give epsilon")
    return found
