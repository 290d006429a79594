"""A top k: a mechanism and its price, fixed by what is asked, the price and public facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dpselect._ground import methods
from dpselect._ground.dataclass import dataclass
from dpselect._ground.domain import Column, Domain, max_domain_size
from dpselect._ground.methods import AUTO
from dpselect._ground.privacy import Privacy, SpentSteps
from dpselect.accounting.prices import Price
from dpselect.errors import ParameterError, came
from dpselect.mechanisms.port import set_fields
from dpselect.queries.plan import BoundDraw, Plan
from dpselect.queries.top.method import DISCOVER, select_method
from dpselect.queries.top.picks import LIMITED, PEELING
from dpselect.queries.top.selection import Selection, TopRequest
from dpselect.questions.parts import SET, By, Gain, ResolvedGroups, Total
from dpselect.questions.questions import TopK
from dpselect.release.accuracy import NO_ACCURACY, Accuracy
from dpselect.release.release import Release

if TYPE_CHECKING:
    from dpselect._ground.row_bound import RowBound
    from dpselect.aggregates.measures import Measure
    from dpselect.aggregates.totals import Totals
    from dpselect.engines import Engine
    from dpselect.queries.top.group_bound import ChosenGroups
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
    used_facts: ClassVar[tuple[str, ...]] = ("max_items_per_user", "exclude")
    question_facts: ClassVar[tuple[str, ...]] = ("exclude",)
    accuracies: ClassVar[tuple[str, ...]] = ("within",)

    question: TopK
    requested_name: str = field(init=False, repr=False, compare=False)  # of a method; auto leaves it to the plan
    request: TopRequest = field(init=False, repr=False, compare=False)
    selection: Selection | ChosenGroups = field(init=False, repr=False, compare=False)

    def derive_fields(self) -> None:
        """Set the selection, with its price."""
        if self.domain is not None and self.facts.exclude is not None:
            hint = "leave the items out of the domain"
            raise ParameterError("exclude", "be left out if a domain is given", came(self.facts.exclude), hint)
        name = self.requested_method.name
        set_fields(self, requested_name=AUTO if name in (None, SET) else name)
        self._refuse_what_does_not_go_together()
        set_fields(self, request=self._make_request())
        set_fields(self, totals=self.request.totals)
        groups = self.request.groups
        if self.payment.within is not None:
            selection: Selection | ChosenGroups = self._near_enough(self.payment.within)
        elif groups is not None and groups.max_groups_per_user is None:
            selection = self._choose_groups(groups)
            set_fields(self, chooses_bound=True)
        else:
            selection = select_method(self.request, self.requested_name, self.requested_epsilon, self.delta)
        set_fields(self, selection=selection)

    def _refuse_what_does_not_go_together(self) -> None:
        q, within = self.question, self.payment.within
        domain_phrase = " without a domain" if q.domain is None else " with a domain"
        methods.parse_method_name("top_k", self.requested_name, domain=q.domain is not None, context=domain_phrase)
        if self.requested_method.in_engine and q.by is not None:
            raise ParameterError("in_engine", "be left out if by is given", came(True), "groups are found here")
        if q.by is not None and not self._is_ranked:
            requirement = "be one that ranks if by is given: the items of a group come in order"
            raise ParameterError(
                "method", requirement, came(self.requested_method.name), "the order costs nothing more there"
            )
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

    def _make_request(self) -> TopRequest:
        """Return what is asked; refuse weights for a method that selects by numbers of users."""
        q, counts_users = self.question, False
        measures: tuple[Measure, ...] = ()
        if q.measures is not None:
            from dpselect.aggregates.measures import measures_of

            measures, counts_users = measures_of(q.measures)
        return TopRequest(
            k=q.k,
            domain=q.domain,
            counts=q.counts or counts_users,
            measures=measures,
            k_bar=self.requested_method.k_bar,
            is_ranked=self._is_ranked,
            in_engine=self.requested_method.in_engine,
            max_items_per_user=self.facts.max_items_per_user,
            totals=_parse_totals(q.score, self.requested_name) if isinstance(q.score, Total) else None,
            scores_are_gains=isinstance(q.score, Gain),
            gains_are_losses=isinstance(q.score, Gain) and q.score.lost,
            groups=ResolvedGroups.from_by(q.by, chooses=True) if isinstance(q.by, By) else None,
        )

    @property
    def _is_ranked(self) -> bool:
        """The items are to come in order."""
        name = self.requested_method.name
        return name != SET and (name is None or methods.method_row("top_k", name).ordered)

    @classmethod
    def needs_delta(cls, question: Any) -> bool:
        """Return whether items are to be found."""
        return question.domain is None

    @property
    def items_are_pairs(self) -> bool:
        """Pairs of group and item are found by a union first."""
        return self.request.groups is not None and self.selection.needs_user_sets

    @property
    def price(self) -> Privacy:
        """The price that any answer promises, and costs at most."""
        return self.selection.privacy

    @property
    def method(self) -> str:
        """The method that answers; auto where a bound that is chosen first decides."""
        return self.selection.method

    @property
    def reason(self) -> str:
        """The reason for this method; nothing where a bound that is chosen first decides which it is."""
        return self.selection.reason

    @property
    def accuracy(self) -> Accuracy:
        """The accuracy for any data; nothing where a bound is to be chosen first."""
        if isinstance(self.domain, Column):
            return NO_ACCURACY
        candidates = None if self.domain is None else max_domain_size(self.domain)
        accuracy = self.selection.planned_accuracy(candidates) + (
            NO_ACCURACY if self.target_accuracy is None else self.target_accuracy.accuracy
        )
        if self.facts.exclude is None:
            return accuracy
        from dpselect.release.answers.items_left_out import but_excluded

        return but_excluded(accuracy)

    @property
    def _larger_union(self) -> dict[str, object]:
        """The items of a user in the union of a discovery, where the method takes more than the data's bound."""
        if self.method != DISCOVER or self.request.groups is not None:
            return {}
        from dpselect.queries.top.discovery import FoundTop

        assert isinstance(self.selection, FoundTop)
        max_items = self.selection.selector.max_items_per_user
        return {} if max_items == self.request.max_items_per_user else {"max_items_of_union": max_items}

    @property
    def key(self) -> Mapping[str, object]:
        """The key of the question in a ledger."""
        request, within = self.request, self.payment.within
        weights: dict[str, object] = {} if self.totals is None else self.totals.question_parameters
        groups = request.groups
        return {
            "k": request.k,
            "epsilon": self.price.epsilon,
            "delta": self.delta,
            "domain": request.domain,
            "counts": request.counts,
            "k_bar": self.selection.k_bar,
            "method": self.method,
            **self._larger_union,
            **({} if within is None else {"within": within}),
            **({} if self.facts.exclude is None else {"exclude": self.facts.exclude}),
            **({"compared_with": self.compared_periods} if self.compared_periods else {}),
            **({"lost": True} if request.gains_are_losses else {}),
            **({"in_engine": True} if request.in_engine and self.selection.needs_user_sets else {}),
            **weights,
            **({"measures": [str(measure) for measure in request.measures]} if request.measures else {}),
            **({} if groups is None else groups.key_fields | {"users": groups.sizes}),
        }

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures of items that come back."""
        return self.request.measures

    @property
    def compared_periods(self) -> tuple[str, ...]:
        """The periods with which those of the data are compared."""
        return self.question.score.over if isinstance(self.question.score, Gain) else ()  # type: ignore[return-value]

    @property
    def counts_lost_users(self) -> bool:
        """Users that an item lost are counted, in place of those that it gained."""
        return self.request.gains_are_losses

    def bind_draw(self, engine: Engine) -> BoundDraw:
        """Bind to all items but those that shall not come back, and to the measures of those that do."""
        if self.facts.exclude is not None:
            engine.leave_out(self.facts.exclude)
        draw = self.selection.bind_draw(engine, self.domain)
        if not self.request.measures:
            return draw
        from dpselect.queries.top.measures import bind_measures

        return bind_measures(draw, self.fixed_selection, engine, self.domain)

    def answer(self, outcome: Outcome) -> Release:
        """Write the release, with what was left out, the measures, and what accuracy was asked for."""
        release = self.selection.answer(outcome)
        if self.target_accuracy is not None:
            release = self.target_accuracy.added_to(release)
        if self.facts.exclude is not None:
            from dpselect.release.answers.items_left_out import add_left_out

            release = add_left_out(release, self.facts.exclude)
        if not self.request.measures:
            return release
        from dpselect.queries.top.measures import add_measures

        return add_measures(release, self.fixed_selection, outcome)

    @property
    def fixed_selection(self) -> Selection:
        """The selection, of a question whose bound on groups is not to be chosen first."""
        assert isinstance(self.selection, Selection)
        return self.selection

    def outcome_of(self, release: Release) -> Outcome:
        """Read the outcome of a release; a bound that was chosen is a part of it."""
        return self.selection.nearest_possible(super().outcome_of(release))

    @property
    def needs_candidates(self) -> bool:
        """True for a known domain: the more items it has, the further one may be below another."""
        return self.domain is not None

    def steps(self, release: Release) -> tuple[SpentSteps, ...]:
        """Return the steps that an answer took."""
        return self.selection.steps(release)

    def price_at(self, order: int | None) -> Price:
        """Return what any answer costs at most an account of this Rényi order."""
        return self.selection.price_at(order)

    def cost_at(self, release: Release, order: int | None) -> Price:
        """Return what an answer cost it: picks that were not made may be saved."""
        return self.selection.cost_at(release, order)

    def with_counted_users(self, period: str | None, bound: RowBound | None) -> Self:
        """Return the same question about users who count once in each period, and by a bounded number of rows."""
        counting = super().with_counted_users(period, bound)
        set_fields(counting, selection=self.selection.with_counted_users(period, bound))
        if self.target_accuracy is not None:
            target = describe_target(
                self.target_accuracy.target, self.target_accuracy.epsilon, counting.fixed_selection
            )
            set_fields(counting, target_accuracy=self._but_excluded(target))
        return counting

    def _choose_groups(self, groups: ResolvedGroups) -> ChosenGroups:
        """Return what chooses max_groups_per_user."""
        from dpselect.queries.top.group_bound import ChosenGroups

        name, total_epsilon = self.requested_name, self.requested_epsilon
        chosen = ChosenGroups(
            request=self.request, groups=groups, requested_name=name, total_epsilon=total_epsilon, delta=self.delta
        )
        chosen.selection_with(1)  # refuses what no bound makes possible
        return chosen

    def _near_enough(self, within: int) -> Selection:
        """Return the selection whose price follows from what was asked of it; of several the one that costs least."""
        names = [self.requested_name]
        if self.requested_name == AUTO:
            candidates_for_domain = [PEELING] if self.request.is_ranked else [PEELING, "canonical-set"]
            names = [LIMITED] if self.domain is None else candidates_for_domain

        def plan_method(name: str) -> tuple[TargetAccuracy, Selection]:
            return cheapest_plan(
                within, self.domain, lambda epsilon: select_method(self.request, name, epsilon, self.delta)
            )

        target, selection = min(map(plan_method, names), key=lambda plan: plan[0].epsilon)
        set_fields(self, target_accuracy=self._but_excluded(target))
        return selection

    def _but_excluded(self, target: TargetAccuracy) -> TargetAccuracy:
        """Return the accuracy that was asked for, which is not about items that a list leaves out."""
        return target if self.facts.exclude is None else target.but_excluded


def _parse_totals(score: Total, method: str) -> Totals:
    """Return the weights that are to be added up; refuse a method that selects by numbers of users."""
    from dpselect.aggregates.totals import Totals

    if method != AUTO and methods.method_row("top_k", method).of_users:
        names = ", ".join(entry.name for entry in methods.methods("top_k") if not entry.of_users)
        hint = "the others select by numbers of users alone"
        raise ParameterError("method", f"be one of {names} if by_weight is given", came(method), hint)
    return Totals.parse(score.column, score.at_most, score.unit)


def _flat_name(name: str, value: object) -> str:
    """Return the name of a parameter that a command and JSON have."""
    if name != "score":
        return name
    return "by_weight" if isinstance(value, Total) else "compared_with"


def cheapest_plan(
    within: int, domain: Domain | None, plan_at: Callable[[Fraction], Selection]
) -> tuple[TargetAccuracy, Selection]:
    """Return the cheapest plan that is near: no item has over `within` users fewer than the k-th best.

    What it says of items and what it says of all counts at once hold with 95 % confidence each.
    """
    from dpselect.utility.price import price_for

    candidates = None if domain is None else max_domain_size(domain)
    if domain is not None and candidates is None:
        hint = "the price depends on it and is said before anything is read: list the items, or say how many"
        raise ParameterError("domain", "be of a known size if within is given", "a Column", hint)

    def miss(epsilon: Fraction) -> int:
        plan = plan_at(epsilon)
        _refuse_what_is_certain(plan, candidates)
        short = plan.shortfall(candidates)
        if short is None:
            requirement = "know how near items will be if within is given"
            raise ParameterError("method", requirement, plan.method, "auto takes one that does; or give epsilon")
        return max(short, plan.width_of_all_counts())

    epsilon = price_for("within", within, miss, "; so is a smaller k")
    plan = plan_at(epsilon)
    return describe_target(within, epsilon, plan), plan


def _refuse_what_is_certain(plan: Selection, candidates: int | None) -> None:
    """Refuse a question in which no other item can come back, since any price would do."""
    k = plan.selector.k
    if candidates is not None and candidates <= k:
        raise ParameterError("k", f"be below {candidates:,}, the number of items, if within is given", k)
    if plan.k_bar is not None and plan.k_bar <= k:
        raise ParameterError("k_bar", f"be above k = {k:,} if within is given", plan.k_bar)


def describe_target(within: int, epsilon: Fraction, plan: Selection) -> TargetAccuracy:
    """Describe the accuracy that was asked for, before and with the answer."""
    from dpselect.release.answers.target_accuracy import describe_target_ranking

    return describe_target_ranking(
        within,
        epsilon,
        k=plan.selector.k,
        k_bar=plan.k_bar,
        reach=plan.reach(),
        with_counts=plan.width_of_all_counts() > 0,
        scale=plan.scale,
    )
