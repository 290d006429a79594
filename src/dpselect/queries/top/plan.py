"""A top k: a mechanism and its price, fixed by what is asked, the price and public facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dpselect._ground import methods
from dpselect._ground.domain import Column, max_domain_size
from dpselect._ground.methods import AUTO
from dpselect._ground.privacy import Privacy, SpentSteps
from dpselect.accounting.prices import Price
from dpselect.engines.port import Engine
from dpselect.errors import ParameterError, came
from dpselect.mechanisms.port import set_fields
from dpselect.queries.plan import BoundDraw, Plan
from dpselect.queries.top.method import DISCOVER, best_by_group, select_method
from dpselect.queries.top.picks import LIMITED, PEELING
from dpselect.queries.top.selection import Selection, TopRequest
from dpselect.questions.parts import SET, By, Gain, ResolvedGroups, Total
from dpselect.questions.questions import TopK
from dpselect.release.accuracy import NOTHING, Accuracy
from dpselect.release.answers.items_left_out import add_left_out, but_excluded
from dpselect.release.answers.method_reasons import LARGE_BY_GROUP
from dpselect.release.release import Release

if TYPE_CHECKING:
    from dpselect._ground.parameters import Progress
    from dpselect._ground.row_bound import RowBound
    from dpselect.aggregates.measures import Measure
    from dpselect.draws import Draws
    from dpselect.queries.top.group_bound import ChosenGroups
    from dpselect.queries.top.measures import MeasuredItems
    from dpselect.release.answers.outcome import Outcome
    from dpselect.release.answers.target_accuracy import TargetAccuracy

ONE_GROUP = "ask of one group after another, with where="


@dataclass(frozen=True, kw_only=True, repr=False)
class TopKPlan(Plan):
    """The k items that most distinct users share, or those of the largest totals or gains.

    The price is (epsilon, delta) for the whole answer; or what follows from `within`, by how many users an item may be
    below the k-th best.
    """

    verb: ClassVar[str] = "top_k"
    takes: ClassVar[tuple[str, ...]] = ("max_items_per_user", "exclude")
    question_facts: ClassVar[tuple[str, ...]] = ("exclude",)
    accuracies: ClassVar[tuple[str, ...]] = ("within",)

    question: TopK
    selection: Selection = field(init=False, repr=False, compare=False)
    chosen: ChosenGroups | None = field(init=False, repr=False, compare=False, default=None)

    def derive_fields(self) -> None:
        """Set the selection, with its price."""
        if self.domain is not None and self.facts.exclude is not None:
            hint = "leave the items out of the domain"
            raise ParameterError("exclude", "be left out if a domain is given", came(self.facts.exclude), hint)
        self._refuse_what_does_not_go_together()
        if isinstance(self.question.score, Total):
            from dpselect.queries.top.scores import totals_of

            set_fields(self, totals=totals_of(self.question.score, self.requested_name))
        groups = self.in_groups
        if groups is not None and groups.max_groups_per_user is None:
            set_fields(self, chosen=self._without_bound(groups))
        if self.payment.within is not None:
            set_fields(self, selection=self._near_enough(self.payment.within))
        elif self.chosen is not None:
            set_fields(self, selection=self.chosen.given(1))
        else:
            set_fields(self, selection=self._selected(self.requested_name, self.requested_epsilon, groups))

    def _refuse_what_does_not_go_together(self) -> None:
        q, within = self.question, self.payment.within
        methods.parse_method_name(
            "top_k", self.requested_name, domain=q.domain is not None, context=self._domain_phrase
        )
        if self._in_engine and q.by is not None:
            raise ParameterError("in_engine", "be left out if by is given", came(True), "groups are found here")
        if q.by is not None and not self.ranked:
            requirement = "be one that ranks if by is given: the items of a group come in order"
            raise ParameterError("method", requirement, came(self.how.name), "the order costs nothing more there")
        for (name, value), (conflict, conflicting_value), (reason, hint) in (
            (("within", within), ("by", q.by), ("both would say how near", "give epsilon")),
            (("by", q.by), ("measures", q.measures), ("only one list is measured", ONE_GROUP)),
            (("within", within), ("measures", q.measures), ("it is about items and counts", "give epsilon")),
            (("within", within), ("score", q.score), ("it is a number of users", "give epsilon")),
            (("measures", q.measures), ("score", q.score), ("users are no score there", "ask in two questions")),
        ):
            if value is not None and conflicting_value is not None:
                raise ParameterError(
                    name,
                    f"be left out if {_flat_name(conflict, conflicting_value)} is given: {reason}",
                    came(value),
                    hint,
                )
        if isinstance(q.score, Gain) and q.by is not None:
            requirement = "be left out if compared_with is given: only one list is compared"
            raise ParameterError("by", requirement, came(self.by), ONE_GROUP)

    @property
    def requested_name(self) -> str:
        """The method that was named; auto where it is left to the plan."""
        name = self.how.name
        return AUTO if name in (None, SET) else str(name)

    @property
    def ranked(self) -> bool:
        """The items are to come in order."""
        name = self.how.name
        return name != SET and (name is None or methods.method_row("top_k", name).ordered)

    @property
    def _in_engine(self) -> bool:
        return self.how.in_engine

    @property
    def _domain_phrase(self) -> str:
        return " without a domain" if self.domain is None else " with a domain"

    @property
    def in_groups(self) -> ResolvedGroups | None:
        """The groups that are asked for, where any are."""
        return ResolvedGroups.from_by(self.question.by, chooses=True) if isinstance(self.question.by, By) else None

    @classmethod
    def needs_delta(cls, question: Any) -> bool:
        """Return whether items are to be found."""
        return question.domain is None

    def _without_bound(self, groups: ResolvedGroups) -> ChosenGroups:
        """Return what chooses max_groups_per_user, and a selection for each that can be chosen."""
        from dpselect.queries.top.group_bound import ChosenGroups

        def select(epsilon: Fraction, max_groups: int) -> Selection:
            return self._selected(self.requested_name, epsilon, replace(groups, max_groups_per_user=max_groups))

        return ChosenGroups(self.requested_epsilon, self.delta, groups.listed_groups, select)

    @property
    def of_pairs(self) -> bool:
        """Pairs of group and item are found by a union first."""
        return bool(self.by) and (self.selection.of_sets if self.chosen is None else self.chosen.of_pairs)

    @property
    def price(self) -> Privacy:
        """The price that any answer promises, and costs at most."""
        return self.selection.privacy if self.chosen is None else self.chosen.privacy

    @property
    def method(self) -> str:
        """The method that answers; auto where a bound that is chosen first decides."""
        return self.requested_name if self.chosen is not None and self.chosen.of_pairs else self.selection.method

    @property
    def reason(self) -> str:
        """The reason for this method; nothing where a bound that is chosen first decides which it is."""
        return "" if self.method == AUTO else self.selection.reason

    @property
    def accuracy(self) -> Accuracy:
        """The accuracy for any data; nothing where a bound is to be chosen first."""
        candidates = None if self.domain is None else max_domain_size(self.domain)
        if self.chosen is not None or isinstance(self.domain, Column):
            return NOTHING
        accuracy = self.selection.planned_accuracy(candidates) + (
            NOTHING if self.asked is None else self.asked.accuracy
        )
        return accuracy if self.facts.exclude is None else but_excluded(accuracy)

    @property
    def key(self) -> Mapping[str, object]:
        """The key of the question in a ledger."""
        weights: dict[str, object] = {} if self.totals is None else self.totals.question_parameters
        within, groups = self.payment.within, self.in_groups
        return {
            "k": self.question.k,
            "epsilon": self.price.epsilon,
            "delta": self.delta,
            "domain": self.domain,
            "counts": self.counted,
            "k_bar": self.selection.k_bar,
            "method": self.method,
            **({} if within is None else {"within": within}),
            **({} if self.facts.exclude is None else {"exclude": self.facts.exclude}),
            **({"compared_with": self.others} if self.others else {}),
            **({"lost": True} if self.lost else {}),
            **({"in_engine": True} if self._in_engine and self.selection.of_sets else {}),
            **weights,
            **({"measures": [str(measure) for measure in self.measuring]} if self.measuring else {}),
            **({} if groups is None else groups.key_fields | {"users": groups.sizes}),
        }

    @property
    def measuring(self) -> tuple[Measure, ...]:
        """The measures of items that come back."""
        return self._measures[0]

    @property
    def counted(self) -> bool:
        """Numbers of users are asked for, as counts or among the measures."""
        return self.question.counts or self._measures[1]

    @property
    def _measures(self) -> tuple[tuple[Measure, ...], bool]:
        """The measures, and whether numbers of users are one."""
        if self.question.measures is None:
            return (), False
        from dpselect.aggregates.measures import measures_of

        return measures_of(self.question.measures)

    @property
    def others(self) -> tuple[str, ...]:
        """The periods with which those of the data are compared."""
        return self.question.score.over if isinstance(self.question.score, Gain) else ()  # type: ignore[return-value]

    @property
    def lost(self) -> bool:
        """Users that an item lost are counted, in place of those that it gained."""
        return isinstance(self.question.score, Gain) and self.question.score.lost

    def bind_draw(self, engine: Engine) -> BoundDraw:
        """Bind to all items but those that shall not come back, and to the measures of those that do."""
        if self.facts.exclude is not None:
            engine.leave_out(self.facts.exclude)
        draw = self._bind_items(engine)
        measured_items = self._measured_items
        return draw if measured_items is None else measured_items.bind_draw(draw, engine, self.domain)

    def _bind_items(self, engine: Engine) -> BoundDraw:
        """Bind to the items of every user, to the k_bar + 1 largest items, or to all of a domain that fits."""
        if self.chosen is not None:
            return self.chosen.bind_draw(engine)
        selection, domain = self.selection, self.domain
        draw = selection.bind_draw(engine)
        if draw is not None:
            return draw
        if selection.of_sets:
            return lambda draws, progress: selection.draw(engine.contributions(progress=progress), draws, progress)
        if selection.k_bar is not None:
            rows = selection.k_bar + 1  # no more of them leave the engine
            return self._counted_again(
                engine, lambda draws, progress: selection.draw(engine.top(rows, progress=progress), draws)
            )
        if domain is not None:
            engine.check(domain, k=selection.selector.k)
        return self._counted_again(
            engine, lambda draws, progress: selection.draw(engine.grouped(domain, progress=progress), draws)
        )

    def _counted_again(self, engine: Engine, draw: BoundDraw) -> BoundDraw:
        """Return what draws items, and then counts them once more where a user counts for few of them."""
        if not self.selection.counts_again:
            return draw

        def drawn(draws: Draws, progress: Progress | None) -> Outcome:
            outcome = draw(draws, progress)
            scores_of = partial(engine.scores_of, domain=self.domain, progress=progress)
            return self.selection.count_again(outcome, scores_of, draws)

        return drawn

    def answer(self, outcome: Outcome) -> Release:
        """Write the release, with what was left out, the measures, and what accuracy was asked for."""
        release = self.selection.answer(outcome) if self.chosen is None else self.chosen.answer(outcome)
        if self.asked is not None:
            release = self.asked.added_to(release)
        if self.facts.exclude is not None:
            release = add_left_out(release, self.facts.exclude)
        return release if self._measured_items is None else self._measured_items.add_to(release, outcome)

    def outcome_of(self, release: Release) -> Outcome:
        """Read the outcome of a release; a bound that was chosen is a part of it."""
        answers = self.selection if self.chosen is None else self.chosen
        return answers.possible(super().outcome_of(release))

    @property
    def needs_candidates(self) -> bool:
        """True for a known domain: the more items it has, the further one may be below another."""
        return self.domain is not None

    @property
    def _measured_items(self) -> MeasuredItems | None:
        """The measures of the items, where any are asked for."""
        if not self.measuring:
            return None
        from dpselect.queries.top.measures import MeasuredItems

        bound = None if self.selection.of_sets else self._request.cut
        return MeasuredItems(selection=self.selection, measures=self.measuring, max_items_per_user=bound)

    def steps(self, release: Release) -> tuple[SpentSteps, ...]:
        """Return the steps that an answer took."""
        if self.chosen is not None:
            return self.chosen.steps(release)
        return self.selection.steps(release.found)

    def price_at(self, order: int | None) -> Price:
        """Return what any answer costs at most an account of this Rényi order."""
        return self.selection.price_at(order) if self.chosen is None else self.chosen.price_at(order)

    def cost_at(self, release: Release, order: int | None) -> Price:
        """Return what an answer cost it: picks that were not made may be saved."""
        return self.selection.cost_at(release, order) if self.chosen is None else self.chosen.cost_at(release, order)

    # ---- planning -------------------------------------------------------------------------------------------

    def _selected(self, method: str, epsilon: Fraction, groups: ResolvedGroups | None = None) -> Selection:
        """Return the mechanism and the price of all of it, and what it counts.

        All users, or those whom a bound leaves.
        """
        if groups is not None:
            selection = self._by_group(method, epsilon, groups)
        else:
            selection = select_method(self._request, method, epsilon, self.delta)
        if self.totals is not None:
            from dpselect.queries.top.scores import by_weights

            selection = by_weights(selection, self.totals)
        if self.others:
            from dpselect.queries.top.scores import by_gains

            selection = by_gains(selection, lost=self.lost)
        return selection

    def counting(self, period: str | None, bound: RowBound | None) -> Self:
        """Return the same question about users who count once in each period, and by a bounded number of rows."""
        counting = super().counting(period, bound)
        selection = self.selection.counting(period, bound)
        chosen = None if self.chosen is None else self.chosen.counting(period, bound)
        set_fields(counting, selection=selection, chosen=chosen)
        if self.asked is not None:
            from dpselect.queries.top.accuracy import describe_target

            set_fields(
                counting, asked=self._but_excluded(describe_target(self.asked.target, self.asked.epsilon, selection))
            )
        return counting

    @property
    def _request(self) -> TopRequest:
        return TopRequest(
            k=self.question.k,
            domain=self.domain,
            counts=self.counted,
            measures=self.measuring,
            k_bar=self.how.k_bar,
            ranked=self.ranked,
            max_items_per_user=self.most,
            moves=1 if self.totals is None else self.totals.max_units,
            by_weight=self.totals is not None,
            gains=bool(self.others),
            in_engine=self._in_engine,
        )

    def _by_group(self, method: str, epsilon: Fraction, groups: ResolvedGroups) -> Selection:
        """Return the selection in every group, at the price of the groups that one user counts in."""
        from dpselect.queries.top.groups import plan_by_group

        if self.domain is not None:
            hint = "groups= lists groups; where='item IN (...)' keeps some items"
            raise ParameterError("domain", "be left out if by is given", came(self.domain), hint)
        if method not in (AUTO, LIMITED, DISCOVER):
            hint = "auto takes the one that is better at this price"
            raise ParameterError("method", f"be auto, {LIMITED} or {DISCOVER} if by is given", came(method), hint)
        options: dict[str, Any] = {"epsilon": epsilon, "delta": self.delta}
        options |= {"counts": self.counted, "max_items_per_user": self.most}
        reason, k = "", self.question.k
        if method == AUTO and self.how.k_bar is None and not groups.sizes and self.totals is None:
            method = best_by_group(k * (groups.max_groups_per_user or 1), epsilon, self.delta, self.most)
            reason = LARGE_BY_GROUP if method == DISCOVER else ""
        if method == DISCOVER:
            from dpselect.queries.top.group_discovery import plan_found_by_group

            return plan_found_by_group(groups, k, **options, reason=reason)
        return plan_by_group(
            groups, k, **options, k_bar=self.how.k_bar, moves=1 if self.totals is None else self.totals.max_units
        )

    def _near_enough(self, within: int) -> Selection:
        """Return the selection whose price follows from what was asked of it; of several the one that costs least."""
        from dpselect.queries.top.accuracy import cheapest_plan

        names = [self.requested_name]
        if self.requested_name == AUTO:
            candidates_for_domain = [PEELING] if self.ranked else [PEELING, "canonical-set"]
            names = [LIMITED] if self.domain is None else candidates_for_domain

        def plan_method(name: str) -> tuple[TargetAccuracy, Selection]:
            return cheapest_plan(within, self.domain, lambda epsilon: self._selected(name, epsilon))

        target, selection = min(map(plan_method, names), key=lambda plan: plan[0].epsilon)
        set_fields(self, asked=self._but_excluded(target))
        return selection

    def _but_excluded(self, target: TargetAccuracy) -> TargetAccuracy:
        """Return the accuracy that was asked for, which is not about items that a list leaves out."""
        return target if self.facts.exclude is None else target.but_excluded


def _flat_name(name: str, value: object) -> str:
    """Return the name of a parameter that a command and JSON have."""
    if name != "score":
        return name
    return "by_weight" if isinstance(value, Total) else "compared_with"
