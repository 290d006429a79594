"""max_groups_per_user where nobody gives it: chosen privately for a part of epsilon, then asked with what is left."""

from __future__ import annotations

from dataclasses import field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Self

from dpselect._ground.dataclass import dataclass
from dpselect._ground.methods import AUTO
from dpselect._ground.privacy import BoundedRange, Neighbors, Privacy, PureDP, SpentSteps, Steps
from dpselect.accounting.prices import Price, divergence
from dpselect.queries.plan import BoundDraw
from dpselect.queries.top.method import select_method
from dpselect.queries.top.selection import Selection, TopRequest
from dpselect.queries.union.bound import BOUND_SHARE, BoundChoice
from dpselect.release.accuracy import NO_ACCURACY, Accuracy
from dpselect.release.answers.ranking_sentences import describe_chosen_groups
from dpselect.release.release import Release

if TYPE_CHECKING:
    from dpselect._ground.domain import Domain
    from dpselect._ground.parameters import Progress
    from dpselect._ground.row_bound import RowBound
    from dpselect.draws import Draws
    from dpselect.engines import Engine
    from dpselect.questions.parts import ResolvedGroups
    from dpselect.release.answers.outcome import Outcome

GROUP_BOUNDS = (1, 2, 3, 4, 6, 9, 13, 20)  # few, since each is priced before a row is read; docs/mechanisms/by-group.md


@dataclass(frozen=True, kw_only=True, eq=False)
class ChosenGroups:
    """A top k by group that leaves its bound on groups open: about as many groups as 9 of 10 users are in at most.

    The bound is a step of its own, and each bound has a selection: their epsilons add up, whatever the bound
    (docs/mechanisms/by-group.md, "A bound that is chosen").
    """

    request: TopRequest
    groups: ResolvedGroups  # without the bound
    requested_name: str  # the method; "auto" if the bound decides it
    total_epsilon: Fraction  # the epsilon of both
    delta: Fraction
    period: str | None = None
    rows: RowBound | None = None
    _selections: dict[int, Selection] = field(default_factory=dict, repr=False)

    def with_counted_users(self, period: str | None, rows: RowBound | None) -> Self:
        """Return the same about users who count once in each period, and by a bounded number of rows."""
        return replace(self, period=period, rows=rows, _selections={})

    def _plan_selection(self, epsilon: Fraction, max_groups: int) -> Selection:
        """Return what answers for an epsilon, with a bound."""
        request = replace(self.request, groups=replace(self.groups, max_groups_per_user=max_groups))
        return select_method(request, self.requested_name, epsilon, self.delta).with_counted_users(
            self.period, self.rows
        )

    @property
    def epsilon_for_bound(self) -> Fraction:
        """The epsilon that choosing costs."""
        return self.total_epsilon * BOUND_SHARE

    @property
    def _bound_choice(self) -> BoundChoice:
        return BoundChoice(self.epsilon_for_bound, GROUP_BOUNDS)

    def selection_with(self, max_groups: int) -> Selection:
        """Return the selection that answers where this bound was chosen."""
        if max_groups not in self._selections:
            self._selections[max_groups] = self._plan_selection(self.total_epsilon - self.epsilon_for_bound, max_groups)
        return self._selections[max_groups]

    @property
    def needs_user_sets(self) -> bool:
        """Pairs of group and item may be asked for: the more picks, the sooner they are found by a union."""
        return self.selection_with(GROUP_BOUNDS[-1]).needs_user_sets

    @property
    def method(self) -> str:
        """The method that answers; that which was named, or auto, where the bound decides it."""
        return self.requested_name if self.needs_user_sets else self.selection_with(1).method

    @property
    def reason(self) -> str:
        """The reason for this method; nothing where the bound decides it."""
        return "" if self.method == AUTO else self.selection_with(1).reason

    @property
    def k_bar(self) -> int | None:
        """The number of items with the most users that are looked at, by any bound."""
        return self.selection_with(1).k_bar

    def planned_accuracy(self, candidates: int | None) -> Accuracy:  # noqa: ARG002 - of no bound the same
        """Return nothing: the accuracy depends on the bound."""
        return NO_ACCURACY

    @property
    def privacy(self) -> Privacy:
        """The promise of any answer: both steps, whatever the bound."""
        return Privacy(
            epsilon=self.total_epsilon,
            delta=self.delta,
            neighbors=Neighbors.ADD_REMOVE,
            steps=(Steps(PureDP(self.total_epsilon), 1),),
            failure=self.delta,
        )

    def price_at(self, order: int | None) -> Price:
        """Return what any answer costs at most: no less than that of any bound."""
        prices = [self.selection_with(max_groups).price_at(order) for max_groups in GROUP_BOUNDS]
        return self._with_the_choice(max(price.renyi for price in prices), max(map(_added, prices)), order)

    def cost_at(self, release: Release, order: int | None) -> Price:
        """Return what an answer cost: the bound is a part of it."""
        price = self._selection_of(release).cost_at(release, order)
        return self._with_the_choice(price.renyi, _added(price), order)

    def _with_the_choice(self, renyi: Fraction, added: Fraction, order: int | None) -> Price:
        """Return the price with the choice of the bound.

        What may fail is that of the worst bound, so it never depends on the answer.
        """
        failure = max(self.selection_with(max_groups).price_at(None).failure for max_groups in GROUP_BOUNDS)
        step = self.epsilon_for_bound if order is None else divergence(BoundedRange(self.epsilon_for_bound), order)
        added += self.epsilon_for_bound
        return Price(min(self.total_epsilon, added), renyi + step, failure, self.delta - failure, added)

    def steps(self, release: Release) -> tuple[SpentSteps, ...]:
        """Return the choice, and the steps that the answer took."""
        return (Steps(BoundedRange(self.epsilon_for_bound), 1), *self._selection_of(release).steps(release))

    def _selection_of(self, release: Release) -> Selection:
        max_groups = release.privacy.parameters["max_groups_per_user"]
        assert isinstance(max_groups, int)
        return self.selection_with(max_groups)

    def bind_draw(self, engine: Engine, domain: Domain | None) -> BoundDraw:
        """Bind first to the number of groups of users, then to the question; what cannot be asked is refused now.

        So every bound is planned, though one will answer: a small delta is refused for large bounds only, and rows must
        not choose whether a question fails.
        """
        draw_with = {
            max_groups: self.selection_with(max_groups).bind_draw(engine, domain) for max_groups in GROUP_BOUNDS
        }
        choice = self._bound_choice

        def draw(draws: Draws, progress: Progress | None) -> Outcome:
            groups_and_users = engine.groups_of_users(self.groups.listed_groups, progress=progress)
            max_groups = choice.of_lengths(*groups_and_users, draws)
            return replace(draw_with[max_groups](draws, progress), max_groups_per_user=max_groups)

        return draw

    def nearest_possible(self, outcome: Outcome) -> Outcome:
        """Return an outcome that can have been drawn; a bound that cannot be chosen is read as the least."""
        max_groups = self._bound_choice.bound_of_answer(outcome.max_groups_per_user)
        return replace(self.selection_with(max_groups).nearest_possible(outcome), max_groups_per_user=max_groups)

    def answer(self, outcome: Outcome) -> Release:
        """Write the release, with what chose its bound."""
        max_groups = outcome.max_groups_per_user
        assert max_groups is not None
        release = self.selection_with(max_groups).answer(outcome)
        statement = release.privacy
        sentences = (*statement.sentences, describe_chosen_groups(max_groups, GROUP_BOUNDS[-1], BOUND_SHARE))
        parameters = {**statement.parameters, "epsilon_of_max_groups": self.epsilon_for_bound}
        statement = replace(statement, epsilon=self.total_epsilon, parameters=parameters, sentences=sentences)
        return replace(release, privacy=statement)


def _added(price: Price) -> Fraction:
    """Return the sum of the epsilons of the steps; of a union and a ranking, which share a divergence, the whole."""
    return price.epsilon if price.added is None else price.added
