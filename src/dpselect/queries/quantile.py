"""Quantiles of values: every parameter checked, the price fixed, and the verbs for an array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Number, Progress, check_keywords
from dpselect._ground.privacy import Privacy
from dpselect.aggregates.groups import GroupedValues
from dpselect.aggregates.unbounded import POINT_DIGITS, Unbounded
from dpselect.draws import Draws
from dpselect.engines.port import PerUser
from dpselect.errors import ParameterError
from dpselect.ledger import Budget, LedgerSource
from dpselect.mechanisms.certified_quantiles import CertifiedQuantiles, CertifiedValues, OneOrSeveral
from dpselect.mechanisms.port import set_fields
from dpselect.mechanisms.quantile import Quantile as OneQuantile
from dpselect.mechanisms.recursive_quantiles import RecursiveQuantiles, better_for, levels
from dpselect.queries.plan import BoundDraw, Plan
from dpselect.queries.values import answer_from_values
from dpselect.questions.parts import Payment, ResolvedGroups
from dpselect.questions.questions import OneEach, Quantile
from dpselect.release.accuracy import BETA, TOO_MANY, Accuracy, planned_ranks, ranks, ranks_of_groups, users_of_groups
from dpselect.release.answers import quantile_sentences
from dpselect.release.answers.outcome import DrawnItem, Outcome, write_release
from dpselect.release.answers.target_accuracy import describe_target_ranks
from dpselect.release.release import Release
from dpselect.release.statement import Kind, Ranked, Statement
from dpselect.utility.price import price_for

if TYPE_CHECKING:
    from dpselect.engines import Engine
    from dpselect.queries.groups import PricedGroups

Bounds = tuple[Number, Number]


@dataclass(frozen=True, kw_only=True, repr=False)
class QuantilePlan(Plan):
    """The values below which shares q of all users' values lie.

    The price is (epsilon, delta) for all of them; or what follows from `within`, the most users by which a rank may be
    missed.
    """

    verb: ClassVar[str] = "quantile"
    refused_facts: ClassVar[Mapping[str, str]] = {
        "columns": "name the one that holds the values",
        "split": "a value is all that its column holds",
        "max_items_per_user": "a user takes part with one value: per_user says with which",
    }

    accuracies: ClassVar[tuple[str, ...]] = ("within",)

    question: Quantile
    mechanism: CertifiedQuantiles = field(init=False, repr=False, compare=False)
    priced_groups: PricedGroups | None = field(init=False, repr=False, compare=False, default=None)

    def derive_fields(self) -> None:
        """Set the mechanism: of one question, or of one in every group."""
        if self.question.bounds is None and self.per_user is PerUser.MEAN:
            hint = "give bounds, between which means are taken"
            raise ParameterError("per_user", "be random, min or max if there are no bounds", "mean", hint)
        groups = self.resolve_groups()
        if groups is not None:
            mechanism = self._by_group(groups)
        elif self.payment.within is None:
            mechanism = self._mechanism(self.requested_epsilon)
        else:
            mechanism = self._near_enough(self.payment.within)
        set_fields(self, mechanism=mechanism)

    @property
    def per_user(self) -> PerUser | None:
        """The rule for the value of a user who has several; None where each user has one value."""
        which: str | None = self.question.per_user
        return None if which is None else PerUser(which)

    @property
    def _grid_parameters(self) -> dict[str, Any]:
        return {"q": self.question.q, "bounds": self.question.bounds, "step": self.question.step}

    def _mechanism(self, epsilon: Fraction, kind: type[OneOrSeveral] | None = None) -> CertifiedQuantiles:
        return CertifiedQuantiles(**self._grid_parameters, delta=self.delta, epsilon=epsilon, kind=kind)

    def _by_group(self, groups: ResolvedGroups) -> CertifiedQuantiles:
        """Return the mechanism of one group, at the price of the groups that one user counts in."""
        from dpselect.mechanisms.quantile_by_group import QuantileByGroup
        from dpselect.queries.groups import plan_groups

        if self.payment.within is not None:
            raise ParameterError("within", "be left out if by is given", "both", "give epsilon")
        make = partial(QuantileByGroup, **self._grid_parameters)
        priced_groups, mechanism = plan_groups(groups, self.requested_epsilon, self.delta, make)
        set_fields(self, priced_groups=priced_groups)
        return mechanism.each

    def _nearest(self, epsilon: Fraction) -> CertifiedQuantiles:
        """Return, at one price, the mechanism of the smallest gap."""
        kinds = dict.fromkeys((OneQuantile, better_for(*self._grid_parameters.values())))
        return min((self._mechanism(epsilon, kind) for kind in kinds), key=lambda mechanism: mechanism.gap(BETA))

    def _near_enough(self, within: int) -> CertifiedQuantiles:
        """Return the mechanism whose price follows from what was asked of it: the cheaper one, where there are two."""
        cheaper = "; so is a coarser step" + ("" if self.delta else ", and a small delta for several quantiles")
        price = price_for("within", within, lambda epsilon: self._nearest(epsilon).gap(BETA), cheaper)
        mechanism = self._nearest(price)
        set_fields(self, target_accuracy=describe_target_ranks(within, price, quantiles=len(mechanism.shares)))
        return mechanism

    @property
    def method(self) -> str:
        """The name of the mechanism that answers."""
        return type(self.mechanism.quantiles).__name__

    @property
    def price(self) -> Privacy:
        """The price that any answer promises, and costs at most."""
        return self.mechanism.privacy if self.priced_groups is None else self.priced_groups.privacy

    @property
    def accuracy(self) -> Accuracy:
        """The accuracy for any data; each answer adds its own."""
        accuracy, groups = self.planned_accuracy, self.priced_groups
        return accuracy if groups is None else groups.accuracy(accuracy, self.scale)

    @property
    def key(self) -> Mapping[str, object]:
        """The key of the question in a ledger."""
        m, within = self.mechanism, self.payment.within
        return {
            "q": m.shares,
            "bounds": m.grid.bounds,
            "step": m.grid.step,
            "epsilon": self.price.epsilon,
            "delta": self.delta,
            "per_user": None if self.per_user is None else str(self.per_user),
            **({} if within is None else {"within": within}),
            **({} if self.resolved_groups is None else self.resolved_groups.key_fields),
        }

    def bind_draw(self, engine: Engine) -> BoundDraw:
        """Bind to the users at each point. Somebody must have said which value of a user that is."""
        per_user, grid = self.per_user, self.mechanism.grid
        assert per_user is not None  # of a data set
        engine.check_values()
        priced_groups = self.priced_groups
        if priced_groups is None:
            return lambda draws, progress: self.draw(engine.users_at(grid, per_user, progress=progress), draws)
        find_groups, max_groups = priced_groups.bind_groups(engine), priced_groups.groups.groups_per_user

        def draw(draws: Draws, progress: Progress | None) -> Outcome:
            groups = find_groups(draws, progress)
            if groups is None:
                return self.draw_by_group(GroupedValues((), ()), draws)
            return self.draw_by_group(engine.users_at_by(grid, per_user, max_groups, groups, progress=progress), draws)

        return draw

    def draw(self, values: object, draws: Draws) -> Outcome:
        """Draw for one value of each user, or for their numbers at the points of the grid."""
        answer = self.mechanism(values, draws=draws)
        return Outcome(items=_drawn(answer), secure=draws.secure, users=answer.users)

    def draw_by_group(self, values: GroupedValues, draws: Draws) -> Outcome:
        """Draw for the values of every group."""
        answers = [self.mechanism(users, draws=draws) for users in values.users]
        users = [answer.users for answer in answers]
        return Outcome.by_group(values.groups, [*map(_drawn, answers)], secure=draws.secure, users=users)

    def answer(self, outcome: Outcome) -> Release:
        """Write the release: how many users too many lie below and above each value follows from what was drawn."""
        width, priced_groups = self.mechanism.users_width(BETA), self.priced_groups
        users = [outcome.users] if outcome.groups is None else [group.users for group in outcome.groups]
        ranked = [rank for answer in self._answers(outcome, users) for rank in self._ranked(answer)]
        worst = tuple(max((getattr(rank, name) for rank in ranked), default=0) for name in TOO_MANY)
        has_several, scale = len(self.mechanism.shares) > 1, self.scale
        if priced_groups is None:
            good = ranks((worst[0], worst[1]), users[0] or 0, width, has_several, self._counted_values, scale)
        else:
            good = priced_groups.accuracy(
                ranks_of_groups((worst[0], worst[1]), has_several, self._counted_values, scale), scale
            )
            good += users_of_groups(width, scale)
        release = write_release(
            outcome,
            self.statement(),
            good,
            kind=Kind.VALUES,
            columns=self.by,
            ranked=ranked,
            group_width=None if priced_groups is None else width,
        )
        return release if self.target_accuracy is None else self.target_accuracy.added_to(release)

    def _answers(self, outcome: Outcome, users: Sequence[int | None]) -> list[CertifiedValues]:
        """Return what was drawn of each group; a number that an outcome lacks, which none that was drawn does, is 0."""
        size, items = len(self.mechanism.shares), outcome.items
        groups = [items[start : start + size] for start in range(0, len(items), size)]
        return [
            CertifiedValues(
                values=[item.label for item in group],  # type: ignore[misc] # numbers, if they were drawn
                below=[item.users_below or 0 for item in group],
                above=[item.users_above or 0 for item in group],
                users=number or 0,
            )
            for group, number in zip(groups, users, strict=True)
        ]

    def _ranked(self, answer: CertifiedValues) -> list[Ranked]:
        """Return how far each value of an answer is from its rank."""
        distances = zip(self.mechanism.too_many(answer, BETA), answer.below, answer.above, strict=True)
        return [Ranked(*too_many, below, above) for too_many, below, above in distances]

    @property
    def _counted_values(self) -> str:
        """The value of a user that counts, in words."""
        return quantile_sentences.describe_counted(
            self.question.per_user, bounded=self.mechanism.grid.bounds is not None
        )

    @property
    def planned_accuracy(self) -> Accuracy:
        """The distance of answers from their ranks, of one group or of all rows, before there is one."""
        mechanism = self.mechanism
        return planned_ranks(
            mechanism.gap(BETA).__ceil__(),
            mechanism.added(BETA) if mechanism.counts_decide(BETA) else None,
            len(mechanism.shares) > 1,
            self._counted_values,
            self.scale,
            shared=RecursiveQuantiles.SHARED if mechanism.kind is RecursiveQuantiles else None,
        )

    def statement(self) -> Statement:
        """State the promise."""
        mechanism, grid = self.mechanism, self.mechanism.grid
        if isinstance(grid, Unbounded):
            parameters: dict[str, object] = {"q": mechanism.shares, "digits": POINT_DIGITS}
            grid_sentence = quantile_sentences.describe_digits(POINT_DIGITS, grid.value(grid.points - 1), grid.step)
        else:
            parameters = {"q": mechanism.shares, "bounds": grid.bounds}
            grid_sentence = quantile_sentences.describe_grid(*grid.bounds, grid.step)
        parameters |= {"step": grid.step, "epsilon_per_pick": mechanism.epsilon_per_pick}
        parameters["epsilon_of_cells"] = mechanism.rate
        several = levels(len(mechanism.shares)) if mechanism.kind is RecursiveQuantiles else None
        if several is not None:
            parameters["levels"] = several
        per_user, in_groups = self.question.per_user, self.priced_groups is not None
        sentences = quantile_sentences.describe_quantiles(
            mechanism.shares, per_user=per_user, grid=grid_sentence, levels=several, in_groups=in_groups
        )
        cells = quantile_sentences.describe_cells(
            mechanism.rate, several=len(mechanism.shares) > 1, in_groups=in_groups
        )
        sentences = (*sentences, cells)
        if self.priced_groups is not None:
            return self.priced_groups.statement("QuantileByGroup", parameters, sentences, self.scale)
        sentences += (*self.scale.sentences, quantile_sentences.EVEN_OF_NOTHING)
        return Statement.from_privacy(mechanism.privacy, self.method, parameters | self.scale.parameters, sentences)


def _drawn(answer: CertifiedValues) -> tuple[DrawnItem, ...]:
    """Return the quantiles as they were drawn, with the noisy numbers of users on either side."""
    quantiles = zip(answer.values, answer.below, answer.above, strict=True)
    return tuple(DrawnItem(value, users_below=below, users_above=above) for value, below, above in quantiles)


@check_keywords
def quantile(
    values: object,
    q: Number | Sequence[Number] = "1/2",
    *,
    bounds: Bounds | None = None,
    epsilon: Number | None = None,
    share: Number | None = None,
    delta: Number | None = None,
    step: Number | None = None,
    budget: Budget | LedgerSource | None = None,
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
    return answer_from_values(question, payment, values, budget=budget, fresh=fresh)
