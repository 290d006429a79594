"""A top k: every parameter checked, a mechanism and its price fixed by data-independent facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dpselect._ground import methods, parameters
from dpselect._ground.domain import Column, Domain, domain_of, most_items
from dpselect._ground.methods import AUTO
from dpselect._ground.parameters import Number
from dpselect._ground.privacy import Privacy, Steps
from dpselect.accounting.two_prices import Price
from dpselect.engines.port import Engine
from dpselect.errors import ParameterError, came
from dpselect.mechanisms.port import settle
from dpselect.queries.query import Query, Ready, Rows, cut_by
from dpselect.queries.top_k_plan import Plan
from dpselect.queries.top_k_planning import DISCOVER, LIMITED, PEELING, Wanted, best_by_group
from dpselect.questions.kinds import LISTED as ITEMS
from dpselect.release.release import Release

if TYPE_CHECKING:
    from dpselect.aggregates.measures import Measure
    from dpselect.queries.chosen_groups import ChosenGroups
    from dpselect.queries.within import AskedAccuracy

OF_GROUPS = ("by", "groups", "max_groups_per_user", "users")

BESIDE_MEASURES = ("within", "by", "by_weight")

LARGE_BY_GROUP = " It was taken because k and the groups of a user are large for epsilon."


@dataclass(frozen=True, kw_only=True)
class TopKQuery(Query):
    """The k items that most distinct users share, or, with `by_weight`, those of the largest sums over users.

    The price is (epsilon, delta) for the whole answer; or what follows from `within`, by how many users an item may be
    below the k-th best.
    """

    verb: ClassVar[str] = "top_k"

    k: int = 10
    epsilon: Number | None = None
    delta: Number | None = None
    domain: object = None
    counts: bool = False
    k_bar: int | None = None
    method: str = AUTO
    ranked: bool = True
    max_items_per_user: int | None = None
    within: int | None = None
    by_weight: str | None = None
    at_most: Number | None = None
    weight_unit: Number | None = None
    measures: object = None
    compared_with: Sequence[str] | str | None = None
    by: Sequence[str] | str | None = None
    groups: object = None
    max_groups_per_user: int | None = None
    users: bool = False
    exclude: object = None
    in_engine: bool = False
    plan: Plan = field(init=False, repr=False, compare=False)
    chosen: ChosenGroups[TopKQuery] | None = field(init=False, repr=False, compare=False, default=None)

    def __post_init__(self) -> None:
        parameters.flag("counts", self.counts)
        parameters.flag("ranked", self.ranked)
        parameters.flag("in_engine", self.in_engine)
        self._settle_groups()
        domain = None if self.domain is None else domain_of(self.domain)
        settle(self, domain=domain)
        if self.exclude is not None:
            self._settle_exclude(domain)
        if self.max_items_per_user is not None:
            settle(self, max_items_per_user=parameters.whole("max_items_per_user", self.max_items_per_user, least=1))
        settle(self, delta=self.delta_or_default(needed=domain is None))
        if self.within is None:
            settle(self, epsilon=parameters.epsilon("epsilon", self.epsilon))
        where = " without a domain" if domain is None else " with a domain"
        method = methods.checked("top_k", self.method, domain=domain is not None, where=where)
        if self.in_engine and (self.by is not None or method not in (AUTO, DISCOVER)):
            hint = "the others need no items of users, but for groups, which need them in memory"
            raise ParameterError("in_engine", f"be left out for all but {DISCOVER}", came(self.in_engine), hint)
        weights = {name: getattr(self, name) for name in ("by_weight", "at_most", "weight_unit")}
        if any(value is not None for value in weights.values()):
            from dpselect.queries.top_k_weights import checked

            totals = checked(weights, method=method, within=self.within)
            settle(self, totals=totals, **totals.said)
        if self.measures is not None:
            from dpselect.queries.top_k_measures import checked as checked_measures

            found, users = checked_measures(self.measures, {name: getattr(self, name) for name in BESIDE_MEASURES})
            settle(self, measures=found or None, counts=self.counts or users)
        if self.compared_with is not None:
            from dpselect.queries.top_k_gains import UNFIT
            from dpselect.queries.top_k_gains import checked as checked_gains

            others = {name: getattr(self, name) for name in UNFIT}
            settle(self, compared_with=checked_gains(self.compared_with, method, others))
        if self.by is not None and self.max_groups_per_user is None:
            settle(self, chosen=self._without_bound())
        if self.within is not None:
            plan = self._near_enough(method, domain)
        elif self.chosen is not None:
            plan = self.chosen.given(1).plan
        else:
            plan = self._planned(method, domain, Fraction(self.epsilon))  # type: ignore[arg-type]
        settle(self, plan=plan, k=plan.selector.k, k_bar=None if self.k_bar is None else plan.k_bar)

    @classmethod
    def needs_delta(cls, given: Mapping[str, object]) -> bool:
        """To find items."""
        return given.get("domain") is None

    def _settle_groups(self) -> None:
        """What is asked of groups; nothing where there are none."""
        parameters.flag("users", self.users)
        if any(getattr(self, name) is not None for name in OF_GROUPS[:3]):
            from dpselect.queries.of_groups import settle_groups

            settle_groups(self)
        if self.by is None and self.users:
            raise ParameterError("by", "be given where users is: it is the number of users of a group", "nothing")
        if self.by is not None and not self.ranked:
            must = "be left out where by is given: the items of a group come in order"
            raise ParameterError("ranked", must, False, "the order costs nothing more there")

    def _without_bound(self) -> ChosenGroups[Self]:
        """What chooses max_groups_per_user."""
        from dpselect.queries.chosen_groups import ChosenGroups

        epsilon, delta = Fraction(self.epsilon), Fraction(self.delta)  # type: ignore[arg-type] # both are settled
        return ChosenGroups(epsilon, delta, self.listed_groups, self._bounded)

    def _bounded(self, epsilon: Fraction, most: int) -> Self:
        """The question with a bound; the engine leaves items out before the bound is chosen, and once."""
        return replace(self, epsilon=epsilon, max_groups_per_user=most, exclude=None)

    def of(self, rows: Rows) -> Self:
        """The question of a data set. Where the items are parts of texts nothing is discovered: parts are no pairs."""
        found = super().of(rows)
        if rows.split is None or not found.of_pairs:
            return found
        if self.method == AUTO:
            return replace(found, method=LIMITED)
        raise ParameterError("split", f"be left out for {DISCOVER} where by is given", came(rows.split))

    def _settle_exclude(self, domain: Domain | None) -> None:
        """The items that shall not come back."""
        if domain is not None:
            hint = "leave the items out of the domain"
            raise ParameterError("exclude", "be left out where a domain is given", came(self.exclude), hint)
        settle(self, exclude=ITEMS.read("exclude", self.exclude))

    @property
    def of_pairs(self) -> bool:
        """Are pairs of group and item found by a union first?"""
        return self.by is not None and (self.plan.of_sets if self.chosen is None else self.chosen.of_pairs)

    @property
    def listed_groups(self) -> Domain | None:
        """The groups, where they are listed."""
        return self.groups  # type: ignore[return-value] # __post_init__ has read it

    @property
    def price(self) -> Privacy:
        """What any answer promises, and costs at most."""
        return self.plan.privacy if self.chosen is None else self.chosen.privacy

    @property
    def key(self) -> Mapping[str, object]:
        """What a ledger knows the question by."""
        weights: dict[str, object] = {} if self.totals is None else self.totals.said
        return {
            "k": self.k,
            "epsilon": self.price.epsilon,
            "delta": self.delta,
            "domain": self.domain,
            "counts": self.counts,
            "k_bar": self.plan.k_bar,
            "method": self.method if self.chosen is not None and self.chosen.of_pairs else self.plan.method,
            **({} if self.within is None else {"within": self.within}),
            **({} if self.exclude is None else {"exclude": self.exclude}),
            **({} if self.compared_with is None else {"compared_with": self.compared_with}),
            **({"in_engine": True} if self.in_engine and self.plan.of_sets else {}),
            **weights,
            **self._measured,
            **({} if self.by is None else {name: getattr(self, name) for name in OF_GROUPS}),
        }

    @property
    def measuring(self) -> tuple[Measure, ...]:
        """The measures of items that come back."""
        return self.measures or ()  # type: ignore[return-value] # __post_init__ has read it

    @property
    def others(self) -> tuple[str, ...]:
        """The periods with which those of the data are compared."""
        return self.compared_with or ()  # type: ignore[return-value] # __post_init__ has read it

    @property
    def _measured(self) -> dict[str, object]:
        return {"measures": [str(one) for one in self.measuring]} if self.measuring else {}

    def ready(self, engine: Engine) -> Ready:
        """How the engine answers it, and what accuracy was asked for."""
        answer, asked = self._without(engine), self.asked
        if self.measuring:
            from dpselect.queries.top_k_measures import measured

            answer = measured(answer, self.measuring, engine, self.known, self._most_measured)
        return answer if asked is None else lambda draws, progress: asked.told(answer(draws, progress))

    def like(self, release: Release) -> Release:
        """An answer with what is planned of it."""
        if self.chosen is not None:
            told = self.chosen.like(release)
        else:
            candidates = None if self.known is None else most_items(self.known)
            told = self.plan.like(release, candidates or 1)
            if isinstance(self.known, Column):
                told = replace(told, accuracy=release.accuracy)  # how many candidates there were is not in it
        if self.exclude is not None:
            from dpselect.queries.left_out import left_out_of

            told = left_out_of(told, self.exclude)  # type: ignore[arg-type] # __post_init__ has read it
        if self.measuring and not isinstance(self.known, Column):
            from dpselect.queries.top_k_measures import near_measures

            told = near_measures(told, self.measuring, self._most_measured)
        return told if self.asked is None else self.asked.told(told)

    @property
    def _most_measured(self) -> int | None:
        return None if self.plan.of_sets else self.max_items_per_user

    def _without(self, engine: Engine) -> Ready:
        """Of all items but those that shall not come back."""
        if self.exclude is None:
            return self._ready(engine)
        from dpselect.queries.left_out import without

        return without(self.exclude, engine, self._ready)  # type: ignore[arg-type] # __post_init__ has read it

    def _ready(self, engine: Engine) -> Ready:
        """By the items of every user, by those of k_bar + 1 items with most users, or by all of a domain that fits."""
        if self.chosen is not None:
            return self.chosen.ready(engine)
        plan, domain = self.plan, self.known
        own = plan.asked_of(engine)
        if own is not None:
            return own
        if plan.of_sets:
            engine.check_sets()
            return lambda draws, progress: plan.select(engine.contributions(progress=progress), draws, progress)
        if plan.k_bar is not None:
            rows = plan.k_bar + 1  # no more of them leave the engine
            return lambda draws, progress: plan.select(engine.top(rows, progress=progress), draws)
        if domain is not None:
            engine.check(domain, k=plan.selector.k)
        return lambda draws, progress: plan.select(engine.grouped(domain, progress=progress), draws)

    def steps(self, release: Release) -> tuple[Steps, ...]:
        """The steps that an answer took."""
        if self.chosen is not None:
            return self.chosen.steps(release)
        return self.plan.steps(release.found)

    def price_at(self, order: int | None) -> Price:
        """What any answer costs at most an account of this Rényi order."""
        return self.plan.price_at(order) if self.chosen is None else self.chosen.price_at(order)

    def cost_at(self, release: Release, order: int | None) -> Price:
        """What an answer cost it: picks that were not made may be saved."""
        return self.plan.cost_at(release, order) if self.chosen is None else self.chosen.cost_at(release, order)

    @property
    def known(self) -> Domain | None:
        """The domain, where it is known."""
        return self.domain  # type: ignore[return-value] # __post_init__ has read it

    # ---- planning -------------------------------------------------------------------------------------------

    def _planned(self, method: str, domain: Domain | None, epsilon: Fraction) -> Plan:
        """The mechanism, and the price of all of it."""
        delta = Fraction(self.delta)  # type: ignore[arg-type]
        if self.by is not None:
            return self._scaled(self._by_group(method, domain, epsilon, delta))
        return self._scaled(self._wanted(domain).planned(method, epsilon, delta))

    def _scaled(self, plan: Plan) -> Plan:
        """The plan, which says what it counts: all users, or those whom a bound leaves."""
        if self.by is None and not plan.of_sets:
            plan = replace(plan, scale=plan.scale.kept(items=cut_by(self.max_items_per_user, self.known)))
        if self.totals is not None:
            from dpselect.queries.top_k_weights import by_weights

            plan = by_weights(plan, self.totals)
        if self.compared_with is not None:
            from dpselect.queries.top_k_gains import by_gains

            plan = by_gains(plan)
        return plan

    def once_in_each(self, period: str) -> Self:
        """The same question of several periods, in each of which a user counts once."""
        found = super().once_in_each(period)
        plan = replace(self.plan, scale=replace(self.plan.scale, period=period))
        settle(found, plan=plan, chosen=None if self.chosen is None else self.chosen.once_in_each(period))
        if self.asked is not None and self.within is not None:
            from dpselect.queries.top_k_within import asked_of

            settle(found, asked=asked_of(self.within, self.asked.epsilon, plan))
        return found

    def _wanted(self, domain: Domain | None) -> Wanted:
        return Wanted(
            k=self.k,
            domain=domain,
            counts=self.counts,
            measures=self.measuring,
            k_bar=self.k_bar,
            ranked=self.ranked,
            max_items_per_user=self.max_items_per_user,
            moves=1 if self.totals is None else self.totals.most,
            by_weight=self.totals is not None,
            gains=self.compared_with is not None,
            in_engine=self.in_engine,
        )

    def _by_group(self, method: str, domain: Domain | None, epsilon: Fraction, delta: Fraction) -> Plan:
        """In every group: by limited domain, at the price of the groups that one user counts in."""
        from dpselect.queries.top_k_by import AskedGroups, plan_by_group

        if domain is not None:
            hint = "groups= lists groups; where='item IN (...)' keeps some items"
            raise ParameterError("domain", "be left out where by is given", came(domain), hint)
        if method not in (AUTO, LIMITED, DISCOVER):
            hint = "auto takes the one that is better at this price"
            raise ParameterError("method", f"be auto, {LIMITED} or {DISCOVER} where by is given", came(method), hint)
        asked = AskedGroups(by=tuple(self.by or ()), groups=self.listed_groups, counts=self.counts, users=self.users)
        terms: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "k_bar": self.k_bar}
        terms |= {"max_groups_per_user": self.max_groups_per_user, "max_items_per_user": self.max_items_per_user}
        why = ""
        if method == AUTO and self.k_bar is None and not self.users and self.totals is None:
            picks = parameters.listed("k", self.k) * (self.max_groups_per_user or 1)
            method = best_by_group(picks, epsilon, delta, self.max_items_per_user)
            why = LARGE_BY_GROUP if method == DISCOVER else ""
        if method == DISCOVER:
            from dpselect.queries.top_k_found_by import plan_found_by_group

            return plan_found_by_group(asked, self.k, **terms, why=why)
        return plan_by_group(asked, self.k, **terms, moves=1 if self.totals is None else self.totals.most)

    def _near_enough(self, method: str, domain: Domain | None) -> Plan:
        """The plan whose price follows from what was asked of it; of several the one that costs least."""
        from dpselect.queries.top_k_within import near_enough
        from dpselect.queries.within import asked_for

        wanted = asked_for("within", self.within, epsilon=self.epsilon)
        names = [method]
        if method == AUTO:
            known = [PEELING] if self.ranked else [PEELING, "canonical-set"]
            names = [LIMITED] if domain is None else known

        def named(name: str) -> tuple[AskedAccuracy, Plan]:
            return near_enough(wanted, domain, lambda epsilon: self._planned(name, domain, epsilon))

        asked, plan = min(map(named, names), key=lambda found: found[0].epsilon)
        settle(self, within=wanted, asked=asked)
        return plan
