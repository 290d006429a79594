"""What a set union asks for: every parameter checked, and the price of each part of it fixed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

from dpselect._ground import methods
from dpselect._ground.dataclass import dataclass
from dpselect._ground.methods import AUTO, NeedsBound, WeightRule
from dpselect._ground.privacy import Neighbors, Privacy, PureDP, Steps
from dpselect.accounting.gaussian_curve import Calibration, calibrations
from dpselect.errors import ParameterError, came
from dpselect.mechanisms.port import set_fields
from dpselect.mechanisms.set_union.renyi_shaped import RenyiShaped, whole_budget
from dpselect.queries.facts import Facts
from dpselect.queries.plan import Plan
from dpselect.queries.union.bound import (
    BOUND_SHARE,
    ITEM_BOUNDS,
    LEAST_LAST_BOUND,
    BoundChoice,
    SharedBudget,
    bounds_with_curve,
    plan_shared_budget,
)
from dpselect.queries.union.method import (
    COUNTS_OF_BUDGET,
    FEW_ITEMS,
    FOR_FEW,
    LEAST_DELTA,
    ROUNDS,
    WITH_COUNTS,
    WITH_POPULAR,
    WITHOUT_CURVE,
    best_method,
    resolve_bound,
    without_curve,
)
from dpselect.questions.parts import BY_BOUND, Method, Payment
from dpselect.questions.questions import Question, Union
from dpselect.release.accuracy import CONFIDENCE_PERCENT
from dpselect.release.answers.target_accuracy import TargetAccuracy, describe_target_threshold
from dpselect.texts.text import NgramRange, level_shares
from dpselect.utility.price import price_for
from dpselect.utility.union_accuracy import looks_at_others, users_for

COUNT_SHARE = Fraction(1, 4)  # of epsilon and of delta, for counts that are a step of their own
# Outside of these a set union says nothing that anybody wants to know, and thresholds leave what floats can search.
LEAST_EPSILON, LARGEST_EPSILON = Fraction(1, 10**6), Fraction(10**6)
MAX_ITEMS_IN_ENGINE = 10**6  # what an engine may be given a table of


@dataclass(frozen=True, kw_only=True, repr=False)
class UnionTerms(Plan):
    """All items that enough distinct users share.

    A user counts for at most `max_items_per_user` items; where the data have no bound and the method needs one, it
    `chooses_bound` privately. `shares_of_levels` are the parts of the price for the levels of a text.
    """

    verb: ClassVar[str] = "union"
    used_facts: ClassVar[tuple[str, ...]] = ("max_items_per_user", "exclude", "ngrams", "tokenizer", "lower", "shares")
    question_facts: ClassVar[tuple[str, ...]] = ("max_items_per_user", "exclude", "shares")
    accuracies: ClassVar[tuple[str, ...]] = ("threshold",)

    question: Union
    requested_name: str = field(init=False, repr=False, compare=False)  # of a method; auto leaves it to the bound
    words: NgramRange | None = field(init=False, repr=False, compare=False)  # the n-grams of a text that are the items
    shares_of_levels: tuple[Fraction, ...] = field(init=False, repr=False, compare=False)
    total_epsilon: Fraction = field(init=False, repr=False, compare=False)

    def derive_fields(self) -> None:
        """Set the bound, the parts of the price, and the price."""
        if self.delta < LEAST_DELTA:
            raise ParameterError("delta", "be at least 1e-100 for a union", "less")
        unnamed = WITH_POPULAR if self.popular else AUTO
        set_fields(self, requested_name=self.requested_method.name or unnamed, words=self.facts.words)
        hint = "ask of one group after another, with where="
        if self.by and self.words is not None:
            raise ParameterError("by", "be left out if the items are n-grams", "both", hint)
        if self.by and self.popular:
            raise ParameterError("by", "be left out if popular is given", "both", hint)
        if self.bound_decides_method:
            self._refuse_what_no_bound_decides()
        bound, chooses_bound = resolve_bound(self.requested_name, self.facts.max_items_per_user, counted=self.counts)
        shares_of_levels = level_shares(1 if self.words is None else self.words.longest, self.facts.shares)
        set_fields(self, max_items_per_user=bound, chooses_bound=chooses_bound, shares_of_levels=shares_of_levels)
        self._settle_epsilon()
        if self.in_engine:
            self._refuse_what_engines_cannot()
        self._refuse_what_cannot_be_made()

    @classmethod
    def for_no_account(cls, question: Question, facts: Facts) -> Question:
        """Return a plain union whose bound is to be chosen as one whose method that bound decides."""
        is_plain = question == Union() and facts.max_items_per_user is None and facts.ngrams is None
        return Union(method=Method(BY_BOUND)) if is_plain else question

    @classmethod
    def needs_delta(cls, question: Any) -> bool:  # noqa: ARG003
        """Return True: items are found."""
        return True

    @property
    def by(self) -> tuple[str, ...]:
        """The columns of groups, where pairs of group and item are meant."""
        return self.question.by or ()  # type: ignore[return-value] # its kind has read it

    @property
    def counts(self) -> bool:
        """Counts are asked for."""
        return self.question.counts

    @property
    def bound_decides_method(self) -> bool:
        """The bound that is chosen decides which method answers, and no account that composes is looked at."""
        return self.requested_method.name == BY_BOUND

    @property
    def may_choose_method(self) -> bool:
        """No method was named."""
        return self.requested_name in (AUTO, BY_BOUND)

    @property
    def method(self) -> str:
        """The method that answers, where the bound is known; where it is to be chosen, that for most bounds."""
        return self.method_for(self.max_items_per_user)

    def method_for(self, max_items: int | None) -> str:
        """Return the name of the method that answers, for users of at most `max_items` items."""
        if not self.may_choose_method:
            return self.requested_name
        max_items = self.bound_choice.bounds[-1] if max_items is None else max_items
        if self.bound_decides_method and 1 < max_items <= FEW_ITEMS:
            return FOR_FEW
        return best_method(*self.price_after_bound, max_items, counted=self.counts, in_engine=self.in_engine)

    @property
    def popular(self) -> tuple[Any, ...]:
        """A public list of likely items."""
        return tuple(self.requested_method.popular or ())

    @property
    def in_engine(self) -> bool:
        """Users and items stay in the engine."""
        return self.requested_method.in_engine

    @property
    def items_are_pairs(self) -> bool:
        """An item is a group and an item together."""
        return bool(self.by)

    def _settle_epsilon(self) -> None:
        """Set the price that was named, or what follows from the accuracy that was."""
        if self.payment.threshold is not None:
            if self.chooses_bound:
                hint = (
                    "its price is said before anything is read: Dataset(max_items_per_user=50), --max-items-per-user 50"
                )
                raise ParameterError("max_items_per_user", "be given if threshold is", "nothing", hint)
            target = _price_for_threshold(self, _digest(self.popular))
            set_fields(self, total_epsilon=target.epsilon, target_accuracy=target)
            return
        epsilon = self.requested_epsilon
        if not LEAST_EPSILON <= epsilon <= LARGEST_EPSILON:
            raise ParameterError("epsilon", "be between 1e-6 and 1e6 for a union", came(epsilon))
        set_fields(self, total_epsilon=epsilon)

    @property
    def price(self) -> Privacy:
        """The price of all of it, by adding up: choosing the bound, the levels, their counts."""
        return Privacy(
            epsilon=self.total_epsilon,
            delta=self.delta,
            neighbors=Neighbors.ADD_REMOVE,
            steps=(Steps(PureDP(self.total_epsilon), 1),),
            failure=self.delta,
            bound="basic",
        )

    @property
    def key(self) -> Mapping[str, object]:
        """The key of the question in a ledger."""
        return {
            "epsilon": self.total_epsilon,
            "delta": self.delta,
            "most": self.max_items_per_user,
            "chosen": self.chooses_bound,
            "counts": self.counts,
            "method": self.requested_name if self.chooses_bound else self.method,
            "shares": self.shares_of_levels,
            "popular": _digest(self.popular) if self.popular else None,
            **({"in_engine": True} if self.in_engine else {}),
            **({} if self.payment.threshold is None else {"threshold": self.payment.threshold}),
            **({"by": self.by} if self.by else {}),
            **({} if self.facts.exclude is None else {"exclude": self.facts.exclude}),
        }

    # ---- parts of the price ---------------------------------------------------------------------------------

    @property
    def first_level(self) -> int:
        """The index of the first level that is released: those before only say which candidates there are."""
        return 0 if self.words is None else self.words.shortest - 1

    @property
    def epsilon_for_bound(self) -> Fraction:
        """The epsilon for choosing max_items_per_user."""
        return self.total_epsilon * BOUND_SHARE if self.chooses_bound else Fraction(0)

    @property
    def price_after_bound(self) -> tuple[Fraction, Fraction]:
        """The (epsilon, delta) for items and counts, once the bound is known."""
        return self.total_epsilon - self.epsilon_for_bound, self.delta

    def counts_decide(self, max_items: int | None) -> bool:
        """Return whether the counts are those that decided which items are released, and so cost nothing more."""
        return self.counts and self.method_for(max_items) in WITH_COUNTS and not self.in_engine

    def uses_rounds(self, max_items: int | None) -> bool:
        """Return whether rounds answer, for users of at most `max_items` items."""
        return methods.method_row("union", self.method_for(max_items)).weights is WeightRule.ROUNDS

    def counts_share(self, max_items: int | None) -> Fraction:
        """Return the part of the Renyi budget of rounds that is left for the counts of what they release."""
        return COUNTS_OF_BUDGET if self.counts and self.uses_rounds(max_items) else Fraction(0)

    @property
    def shared_budget(self) -> SharedBudget | None:
        """The budget that the choice of a bound and all that follows share, where rounds may answer."""
        if not self.chooses_bound or self.by or not self._bounds_with_curve:
            return None
        return plan_shared_budget(
            self.total_epsilon, self.delta, self.epsilon_for_bound, COUNTS_OF_BUDGET if self.counts else Fraction(0)
        )

    @property
    def budget_of_rounds(self) -> Fraction:
        """The part of the one budget that the choice of a bound leaves; 0 where there is none."""
        shared = self.shared_budget
        return (
            Fraction(0) if shared is None else whole_budget(shared.order, self.total_epsilon, self.delta, shared.spent)
        )

    @property
    def _price_outside_shared(self) -> tuple[Fraction, Fraction]:
        """The (epsilon, delta) of what answers without a part in such a budget."""
        epsilon, delta = self.price_after_bound
        return epsilon, delta if self.shared_budget is None else self.shared_budget.delta_of_others

    def price_of_counts(self, max_items: int | None) -> tuple[Fraction, Fraction]:
        """Return the (epsilon, delta) for counts that are a step of their own."""
        if not self.counts or self.counts_decide(max_items) or self.counts_share(max_items):
            return Fraction(0), Fraction(0)
        return self.total_epsilon * COUNT_SHARE, self._price_outside_shared[1] * COUNT_SHARE

    def price_of_union(self, max_items: int | None) -> tuple[Fraction, Fraction]:
        """Return the (epsilon, delta) for the items of all levels, and for all that shares their noise or budget."""
        if self.shared_budget is not None and self.uses_rounds(max_items):
            return self.total_epsilon, self.delta
        (epsilon, delta), (of_counts, delta_of_counts) = self._price_outside_shared, self.price_of_counts(max_items)
        return epsilon - of_counts, delta - delta_of_counts

    @property
    def bound_choice(self) -> BoundChoice:
        """The choice of max_items_per_user: among bounds that have a curve, if rounds may answer."""
        return BoundChoice(self.epsilon_for_bound, self._bounds_with_curve or ITEM_BOUNDS)

    @cached_property
    def _bounds_with_curve(self) -> tuple[int, ...]:
        """The bounds for which rounds have their curve; none where rounds cannot answer."""
        if not self.may_choose_method and self.requested_name != ROUNDS:
            return ()
        return bounds_with_curve(*self.price_after_bound, COUNTS_OF_BUDGET if self.counts else Fraction(0))

    def mechanisms(self, max_items: int | None) -> tuple[Any, ...]:
        """Return the set union of each level, for users of at most `max_items` items."""
        return _mechanisms(self, max_items, _digest(self.popular))

    def rho_of_counts(self, max_items: int | None) -> Fraction:
        """Return the zCDP of the Gaussian noise on the counts of all levels together.

        0 where there is none of its own.
        """
        if not self.counts or self.counts_decide(max_items):
            return Fraction(0)
        if self.counts_share(max_items):
            rho: Fraction = self.mechanisms(max_items)[0].rho_of_counts
            return rho
        return self._calibration_of_counts(max_items).rho

    def _calibration_of_counts(self, max_items: int | None) -> Calibration:
        """Return the narrower calibration of counts that are a step of their own, those of all levels together."""
        moved, shown_levels = max_items or 1, len(self.shares_of_levels) - self.first_level
        candidates = calibrations(*self.price_of_counts(max_items), moved * shown_levels)
        return min(candidates, key=lambda noise: moved / (2 * noise.rho) + noise.wider)

    def noise(self, level: int, max_items: int) -> Fraction:
        """Return the variance of the noise on the counts of a level.

        A user moves at most `max_items` of them by 1 each.
        """
        part = self.shares_of_levels[level] / sum(self.shares_of_levels[self.first_level :])
        variance = Fraction(max_items) / (2 * self.rho_of_counts(max_items) * part)
        is_own_step = self.price_of_counts(max_items)[0] > 0
        return variance + self._calibration_of_counts(max_items).wider if is_own_step else variance

    def _refuse_what_engines_cannot(self) -> None:
        if self.words is not None:
            hint = "texts are cut here, row after row, and what memory does not hold goes to disk"
            raise ParameterError("in_engine", "be left out if the items are those of a text", "True", hint)
        if self.max_items_per_user is not None and self.max_items_per_user > MAX_ITEMS_IN_ENGINE:
            raise ParameterError(
                "max_items_per_user", f"be at most {MAX_ITEMS_IN_ENGINE} if in_engine is given", self.max_items_per_user
            )

    def _refuse_what_no_bound_decides(self) -> None:
        """Refuse what the method of a bound was not measured for; it chooses that bound."""
        unfit = {
            "max_items_per_user": self.facts.max_items_per_user,
            "counts": self.counts or None,
            "by": self.by or None,
            "ngrams": self.words,
        }
        for name, value in unfit.items():
            if value is not None:
                hint = "leave method out: the best one for these is taken"
                raise ParameterError(name, f"be left out for {BY_BOUND}", came(value), hint)

    def _refuse_what_cannot_be_made(self) -> None:
        """Make the mechanisms now, since the ceiling is reserved by the time that the bound is known."""
        if not self.chooses_bound:
            self.mechanisms(self.max_items_per_user)
        elif self.requested_name == ROUNDS:
            if not self._bounds_with_curve:
                hint = f"give max_items_per_user, or take {WITHOUT_CURVE}"
                share = self.counts_share(LEAST_LAST_BOUND)
                raise without_curve(self.total_epsilon, *self.price_after_bound, None, ROUNDS, hint, share)
        elif not self.may_choose_method:
            self.mechanisms(1)
            self.mechanisms(ITEM_BOUNDS[-1])


@lru_cache(maxsize=4)
def _mechanisms(plan: UnionTerms, max_items: int | None, _popular: str) -> tuple[Any, ...]:
    """Make the mechanisms, kept by all that decides them, also by the types of popular items.

    Some take seconds to make, and they are made once to check them and once to run them.
    """
    epsilon, delta = plan.price_of_union(max_items)
    row = methods.method_row("union", plan.method_for(max_items))
    options: dict[str, object] = {}
    needs_bound = row.bound is NeedsBound.REQUIRED or (
        row.bound is NeedsBound.OPTIONAL and not plan.bound_decides_method
    )
    if needs_bound and max_items is not None:
        options["max_items_per_user"] = max_items
    if plan.popular:
        options["popular"] = plan.popular
    if row.weights is WeightRule.ROUNDS:  # parts of one budget add up, which is less than adding (epsilon, delta)
        options["counts_share"] = plan.counts_share(max_items)
        if plan.shared_budget is not None:
            options |= {"at_order": plan.shared_budget.order, "spent": plan.shared_budget.spent}
        return tuple(row.make(epsilon=epsilon, delta=delta, part=part, **options) for part in plan.shares_of_levels)
    return tuple(row.make(epsilon=epsilon * part, delta=delta * part, **options) for part in plan.shares_of_levels)


@lru_cache(maxsize=4)
def _price_for_threshold(plan: UnionTerms, _popular: str) -> TargetAccuracy:
    """Return the price that follows from `threshold`.

    It is kept, since some mechanisms take long to make and several are tried.
    """
    target, max_items = plan.payment.threshold or 1, plan.max_items_per_user

    def mechanism_at(epsilon: Fraction) -> Any:
        union = replace(plan, payment=Payment(epsilon=epsilon, delta=plan.delta)).mechanisms(max_items)[-1]
        # By its first shares, as when it had no others: else what was asked and paid would have another price today.
        return union.of_first_shares() if isinstance(union, RenyiShaped) else union

    def miss(epsilon: Fraction) -> int | None:
        return users_for(mechanism_at(epsilon), CONFIDENCE_PERCENT / 100, 1)

    epsilon = price_for("threshold", target, miss, "; so is a smaller max_items_per_user")
    mechanism = mechanism_at(epsilon)
    users_of_many = (
        None
        if max_items in (None, 1) or looks_at_others(mechanism)
        else users_for(mechanism, CONFIDENCE_PERCENT / 100, max_items or 1)
    )
    return describe_target_threshold(target, epsilon, users_of_many=users_of_many, items_of_many=max_items or 1)


def _digest(popular: tuple[Any, ...]) -> str:
    """Digest a public list: its items, their types, and their order; "" without one."""
    if not popular:
        return ""
    import hashlib  # it loads OpenSSL
    import json

    from dpselect.ledger import typed_name

    return hashlib.sha256(json.dumps(list(map(typed_name, popular))).encode()).hexdigest()
