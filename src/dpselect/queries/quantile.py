"""Quantiles of values: every parameter checked, the price fixed, and the verbs for an array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from dpselect._ground.parameters import Number, Progress
from dpselect._ground.privacy import Privacy
from dpselect.aggregates.groups import GroupedValues
from dpselect.aggregates.unbounded import DIGITS, Points, Unbounded
from dpselect.draws import Draws
from dpselect.engines.port import Engine, PerUser
from dpselect.errors import ParameterError
from dpselect.ledger.budget import Budget, Where
from dpselect.mechanisms.port import set_fields
from dpselect.mechanisms.quantile import Quantile as OneQuantile
from dpselect.mechanisms.recursive_quantiles import RecursiveQuantiles, better_for, levels
from dpselect.queries.answer import likeness
from dpselect.queries.facts import cut_by
from dpselect.queries.plan import Ready
from dpselect.queries.price import AskedAccuracy, price_for
from dpselect.queries.values import OfValues, paid
from dpselect.questions.parts import AskedGroups, By
from dpselect.questions.payment import Payment
from dpselect.questions.questions import OneEach, Quantile
from dpselect.release import accuracy, formatting
from dpselect.release.accuracy import BETA, Accuracy
from dpselect.release.release import Item, Kind, Release, Statement
from dpselect.release.scale import Scale

if TYPE_CHECKING:
    from dpselect.queries.groups import InGroups

Bounds = tuple[Number, Number]
MEDIAN = Fraction(1, 2)
OneOrSeveral = OneQuantile | RecursiveQuantiles

ONE_EACH = {
    PerUser.RANDOM: "Of a user's distinct values, one counts, chosen at random.",
    PerUser.MIN: "Of a user's values, the smallest counts.",
    PerUser.MAX: "Of a user's values, the largest counts.",
    PerUser.MEAN: "Of a user's values, the mean counts, after each value is rounded to the grid.",
}
COUNTED_VALUE = {
    PerUser.RANDOM: "one of each user's distinct values, chosen at random",
    PerUser.MIN: "the smallest of each user",
    PerUser.MAX: "the largest of each user",
    PerUser.MEAN: "the mean of each user",
}
BY_LEVELS = (
    "They were found in {levels} levels: first the middle one, then those on either side of it, among the users there. "
    "Users who share a value are split evenly."
)
EVEN_OF_NOTHING = "A number is returned even if no row matches."
CALLERS = "Every value is the one value of one user."


@dataclass(frozen=True, kw_only=True, repr=False)
class QuantilePlan(OfValues):
    """The values below which shares q of all users' values lie.

    The price is (epsilon, delta) for all of them; or what follows from `within`, the most users by which a rank may be
    missed.
    """

    verb: ClassVar[str] = "quantile"
    unfit: ClassVar[Mapping[str, str]] = {
        "columns": "name the one that holds the values",
        "split": "a value is all that its column holds",
        "max_items_per_user": "a user takes part with one value: per_user says with which",
    }

    accuracies: ClassVar[tuple[str, ...]] = ("within",)

    question: Quantile
    mechanism: OneOrSeveral = field(init=False, repr=False, compare=False)
    table: InGroups | None = field(init=False, repr=False, compare=False, default=None)

    def settle(self) -> None:
        """The mechanism: of one question, or of one in every group."""
        if self.question.bounds is None and self.per_user is PerUser.MEAN:
            hint = "give bounds, between which means are taken"
            raise ParameterError("per_user", "be random, min or max if there are no bounds", "mean", hint)
        if isinstance(self.question.by, By):
            mechanism = self._by_group(AskedGroups.of(self.question.by))
        elif self.payment.within is None:
            mechanism = self._mechanism(self.given_epsilon)
        else:
            mechanism = self._near_enough(self.payment.within)
        set_fields(self, mechanism=mechanism)

    @property
    def per_user(self) -> PerUser | None:
        """Which value of a user with several takes part; None where each user has one value."""
        which: str | None = self.question.per_user
        return None if which is None else PerUser(which)

    @property
    def _asked(self) -> dict[str, Any]:
        return {"q": self.question.q, "bounds": self.question.bounds, "step": self.question.step}

    def _mechanism(self, epsilon: Fraction, kind: type[OneOrSeveral] | None = None) -> OneOrSeveral:
        kind = better_for(*self._asked.values()) if kind is None else kind
        return kind(**self._asked, delta=self.delta, epsilon=epsilon)

    def _by_group(self, groups: AskedGroups) -> OneOrSeveral:
        """The mechanism of one group, at the price of the groups that one user counts in."""
        from dpselect.mechanisms.quantile_by_group import QuantileByGroup
        from dpselect.queries.groups import in_groups

        if self.payment.within is not None:
            raise ParameterError("within", "be left out if by is given", "both", "give epsilon")
        make = partial(QuantileByGroup, **self._asked)
        table, mechanism = in_groups(groups, self.given_epsilon, self.delta, make)
        set_fields(self, table=table)
        return mechanism.each

    def _nearest(self, epsilon: Fraction) -> OneOrSeveral:
        """At one price, the mechanism that promises most."""
        kinds = dict.fromkeys((OneQuantile, better_for(*self._asked.values())))
        return min((self._mechanism(epsilon, kind) for kind in kinds), key=lambda one: one.gap(BETA))

    def _near_enough(self, wanted: int) -> OneOrSeveral:
        """The mechanism whose price follows from what was asked of it: the cheaper one, where there are two."""
        cheaper = "; so is a coarser step" + ("" if self.delta else ", and a small delta for several quantiles")
        epsilon = price_for("within", wanted, lambda one: self._nearest(one).gap(BETA), cheaper)
        mechanism = self._nearest(epsilon)
        rank = "rank" if len(mechanism.shares) == 1 else "ranks"
        whereof = f"within {accuracy.said_users(wanted)} of the {rank}"
        set_fields(self, asked=AskedAccuracy(name="within", wanted=wanted, epsilon=epsilon, whereof=whereof))
        return mechanism

    @property
    def method(self) -> str:
        """What answers."""
        return type(self.mechanism).__name__

    @property
    def price(self) -> Privacy:
        """What any answer promises, and costs at most."""
        return self.mechanism.privacy if self.table is None else self.table.privacy

    @property
    def accuracy(self) -> Accuracy:
        """What holds of an answer whatever the data are."""
        return self.near if self.table is None else self.table.near(self.near)

    @property
    def key(self) -> Mapping[str, object]:
        """What a ledger knows the question by."""
        m, within, by = self.mechanism, self.payment.within, self.question.by
        return {
            "q": m.shares,
            "bounds": m.grid.bounds,
            "step": m.grid.step,
            "epsilon": self.price.epsilon,
            "delta": self.delta if self.table is None else self.table.delta,
            "per_user": None if self.per_user is None else str(self.per_user),
            **({} if within is None else {"within": within}),
            **(AskedGroups.of(by).said if isinstance(by, By) else {}),
        }

    def ready(self, engine: Engine) -> Ready:
        """By how many users have their value where. Somebody must have said which value of a user that is."""
        per_user, grid = self.per_user, self.mechanism.grid
        assert per_user is not None  # of a data set
        engine.check_values()
        table = self.table
        if table is None:
            return lambda draws, progress: self.select(engine.users_at(grid, per_user, progress=progress), draws)
        which, most = table.which(engine), table.most

        def answer(draws: Draws, progress: Progress | None) -> Release:
            groups = which(draws, progress)
            if groups is None:
                return self.select_by(GroupedValues((), ()), draws)
            return self.select_by(engine.users_at_by(grid, per_user, most, groups, progress=progress), draws)

        return answer

    def select(self, values: object, draws: Draws) -> Release:
        """The answer for one value of each user, or for their numbers at the points of the grid."""
        found = self.mechanism(values, draws=draws)
        items = tuple(Item(value, i + 1, None) for i, value in enumerate(found))
        privacy, secure = self.statement(), draws.secure
        release = Release(items=items, kind=Kind.VALUES, privacy=privacy, secure=secure, accuracy=self.near)
        return release if self.asked is None else self.asked.told(release)

    def select_by(self, values: GroupedValues, draws: Draws) -> Release:
        """The answers for the values of every group."""
        assert self.table is not None
        found = [self.mechanism(users, draws=draws) for users in values.users]
        return self.table.released(
            values.groups,
            found,
            statement=self.statement(),
            accuracy=self.near,
            secure=draws.secure,
            kind=Kind.VALUES,
        )

    def like(self, release: Release) -> Release:
        """An answer with what is planned of it."""
        told = likeness(release, self.statement(), self.accuracy, kind=Kind.VALUES)
        return told if self.asked is None else self.asked.told(told)

    @property
    def near(self) -> Accuracy:
        """How far answers may be from their ranks."""
        m = self.mechanism
        shared = m.SHARED if isinstance(m, RecursiveQuantiles) else None
        value = "those given" if self.per_user is None else COUNTED_VALUE[self.per_user]
        where = "to six digits" if m.grid.bounds is None else "into the bounds, in steps"
        return accuracy.ranks(m.gap(BETA), len(m.shares) > 1, f"{value}, moved {where}", self.scale, shared=shared)

    @property
    def scale(self) -> Scale:
        """Which users count."""
        groups = None if self.table is None else cut_by(self.table.most, self.table.listed)
        return Scale(groups=groups, period=self.period)

    @property
    def sentence(self) -> str:
        """Which value a user has."""
        said = CALLERS if self.per_user is None else ONE_EACH[self.per_user]
        return said if self.table is None else f"In each group: {said[0].lower()}{said[1:]}"

    def statement(self) -> Statement:
        """What is promised, in numbers and in sentences."""
        m = self.mechanism
        ranks = ", ".join(formatting.short(q) for q in m.shares)
        sentences: tuple[str, ...] = (
            f"The quantile {ranks}." if len(m.shares) == 1 else f"The quantiles {ranks}, in this order.",
            self.sentence,
            points_said(m.grid),
        )
        where = {"digits": DIGITS} if m.grid.bounds is None else {"bounds": m.grid.bounds}
        used: dict[str, object] = {"q": m.shares, **where, "step": m.grid.step, "epsilon_per_pick": m.epsilon_per_pick}
        if isinstance(m, RecursiveQuantiles):
            used["levels"] = levels(len(m.shares))
            sentences += (BY_LEVELS.format(levels=used["levels"]),)
        if self.table is not None:
            return self.table.statement("QuantileByGroup", used, sentences, self.scale)
        used |= self.scale.parameters
        sentences += (*self.scale.sentences, EVEN_OF_NOTHING)
        return Statement.of(m.privacy, type(m).__name__, used, sentences)


def points_said(points: Points) -> str:
    """Where every value moves to."""
    step = formatting.of_column(points.step)
    if isinstance(points, Unbounded):
        return (
            f"No bounds were given. Every value is rounded to the nearest number of {DIGITS} digits that is a multiple "
            f"of {step}, at most {points.value(points.points - 1):g} from 0, and so is the answer."
        )
    low, high = formatting.of_column(points.low), formatting.of_column(points.high)
    return (
        f"Values below {low} count as {low} and values above {high} as {high}. Every value is rounded to a grid of "
        f"step {step} that starts at {low}, and so is the answer."
    )


def quantile(
    values: object,
    q: Number | Sequence[Number] = "1/2",
    *,
    bounds: Bounds | None = None,
    epsilon: Number | None = None,
    share: Number | None = None,
    delta: Number | None = None,
    step: Number | None = None,
    budget: Budget | Where | None = None,
    fresh: bool = False,
) -> Release[int | float]:
    """Return the value below which a share q of all users' values lies, or several such values.

    Guarantee: (epsilon, delta)-DP for adding or removing one user, if every user has one value in `values`.

    Args:
        values: One number for each user; missing ones do not count.
        q: A share between 0 and 1, or several in ascending order, which share the price.
        bounds: The range of values, chosen without looking at the data; if left out, answers have six digits.
        epsilon: One person changes the odds of any answer by a factor of at most e^epsilon.
        share: Instead of epsilon: a share of the budget, such as "1%".
        delta: The probability that this fails; a small one makes several q more accurate.
        step: Answers are low + i step; if left out, a very fine grid.
        budget: The budget that pays, as for a Dataset. A stored answer is found only if its `snapshot` names the state
            of the values.
        fresh: Draw a new answer and pay again, even if the ledger has an answer to this question.

    Raises: ParameterError before any value is looked at.

    Example:
        >>> quantile([30] * 50 + [40] * 60, bounds=(0, 120), step=1, epsilon=9).labels
        [40]
    """
    question = OneEach(q, bounds=bounds, step=step)
    payment = Payment(epsilon=epsilon, delta=delta, share=share)
    return paid(question, payment, values, budget=budget, fresh=fresh)
