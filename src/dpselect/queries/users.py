"""How many users there are, or are in each of some listed groups: a count of each, with Laplace noise.

Groups are the items of a histogram whose domain they are. Without groups the domain is one item, which every row has.
No item of the data is looked at: a user counts by any row that is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, cast

from dpselect._ground.dataclass import dataclass
from dpselect._ground.domain import MAX_COUNTED_ITEMS, Domain, NamedDomain, Span, max_domain_size, refuse_large_domain
from dpselect._ground.keys import Key
from dpselect._ground.parameters import Progress
from dpselect._ground.privacy import Privacy
from dpselect.aggregates.count_groups import CountGroups
from dpselect.draws import Draws
from dpselect.errors import ParameterError, came, naming_parameter
from dpselect.mechanisms.histogram import HistogramLaplace
from dpselect.mechanisms.port import set_fields
from dpselect.queries.facts import Facts, Rows
from dpselect.queries.plan import BoundDraw, Plan
from dpselect.questions.questions import Users
from dpselect.release import accuracy
from dpselect.release.accuracy import BETA, Accuracy
from dpselect.release.answers.count_sentences import describe_laplace_exactly, describe_shared, describe_users
from dpselect.release.answers.outcome import DrawnItem, Outcome, write_release
from dpselect.release.answers.target_accuracy import describe_target_users
from dpselect.release.release import Release
from dpselect.release.statement import Kind, Statement
from dpselect.utility.price import price_for

FEWEST_SHARED = 3  # groups of a user from which on numbers can gain by noise that they share
if TYPE_CHECKING:
    from dpselect.engines import Engine
    from dpselect.mechanisms.histogram import HistogramSharedLaplace

ALL_USERS_LABEL = "users"  # the label of the number of all users
ALL_USERS_DOMAIN = Span(0, 1)  # the domain of one item


@dataclass(frozen=True, kw_only=True, repr=False)
class UsersPlan(Plan):
    """Numbers of distinct users of the rows that are kept, in all or in each of some listed groups.

    One user moves the number of all by 1, or at most `max_groups_per_user` numbers of groups by 1 each. The price is
    epsilon alone; or, of all users, what follows from `within`.
    """

    verb: ClassVar[str] = "users"

    accuracies: ClassVar[tuple[str, ...]] = ("within",)

    question: Users
    mechanism: HistogramLaplace | HistogramSharedLaplace = field(init=False, repr=False, compare=False)

    def derive_fields(self) -> None:
        """Set the noise, by how many numbers one user moves."""
        if self.payment.delta:
            requirement = "be left out: numbers of users need none"
            raise ParameterError("delta", requirement, came(self.payment.delta), "the promise is that of epsilon alone")
        self.resolve_groups()
        refuse_large_domain(max_domain_size(self.domain) or 0, MAX_COUNTED_ITEMS)
        within = self.payment.within
        epsilon = self.requested_epsilon if within is None else self._near_enough(within)
        set_fields(self, mechanism=self._noise(epsilon))

    def _noise(self, epsilon: Fraction) -> HistogramLaplace | HistogramSharedLaplace:
        """Return the narrower noise for all numbers at once; both cost every account the same, or less."""
        max_groups, numbers = (
            1 if self.resolved_groups is None else self.resolved_groups.groups_per_user,
            max_domain_size(self.domain),
        )
        plain = HistogramLaplace(epsilon=epsilon, max_items_per_user=max_groups)
        if numbers is None or max_groups < FEWEST_SHARED:
            return plain
        from dpselect.mechanisms.histogram import HistogramSharedLaplace

        shared = HistogramSharedLaplace(epsilon=epsilon, items=numbers, max_items_per_user=max_groups)
        return plain if plain.width(BETA, numbers) <= shared.width(BETA, numbers) else shared

    def _near_enough(self, within: int) -> Fraction:
        """Return the epsilon that follows from how near the number of all users must be."""
        if self.resolved_groups is not None:
            raise ParameterError("within", "be left out if by is given", "both", "give epsilon")
        price = price_for("within", within, lambda epsilon: self._noise(epsilon).width(BETA), "")
        set_fields(self, target_accuracy=describe_target_users(within, price))
        return price

    @property
    def domain(self) -> Domain:
        """The items that are counted: the groups, or one item, which every row has."""
        return ALL_USERS_DOMAIN if self.groups is None else self.groups

    @property
    def items(self) -> Key:
        """The columns that are counted: those of groups, or none."""
        return self.by[0] if len(self.by) == 1 else self.by

    @property
    def max_counted_per_user(self) -> int | None:
        """The bound on the groups that a user counts in."""
        return None if self.resolved_groups is None else self.resolved_groups.groups_per_user

    @property
    def method(self) -> str:
        """The name of the mechanism that answers."""
        return type(self.mechanism).__name__

    @property
    def price(self) -> Privacy:
        """The price that any answer promises, and costs."""
        return self.mechanism.privacy

    @property
    def accuracy(self) -> Accuracy:
        """The accuracy for any data; nothing where only reading tells how many groups there are."""
        numbers = max_domain_size(self.domain)
        return accuracy.NO_ACCURACY if numbers is None else self._accuracy_for(numbers)

    @property
    def key(self) -> Mapping[str, object]:
        """The key of the question in a ledger."""
        within = {} if self.payment.within is None else {"within": self.payment.within}
        group_fields = {} if self.resolved_groups is None else self.resolved_groups.key_fields
        return {"epsilon": self.epsilon, **within, **group_fields}

    @classmethod
    def facts_of(cls, rows: Rows, question: object) -> Facts:  # noqa: ARG003 - of any the same
        """Return no facts: bounds on items, and what the items are, play no part."""
        if rows.excluded is not None:
            hint = "where='item <> ...' keeps the users of other rows"
            raise ParameterError("exclude", "be left out for users", came(rows.excluded), hint)
        return Facts()

    def bind_draw(self, engine: Engine) -> BoundDraw:
        """Bind to the number of all users, or of those of each group; groups that do not fit are refused now."""
        if self.groups is not None:
            with naming_parameter("groups"):
                engine.check(self.groups, max_items=MAX_COUNTED_ITEMS)
        return lambda draws, progress: self.draw(self.count_users(engine, progress), draws)

    def count_users(self, engine: Engine, progress: Progress | None = None) -> CountGroups:
        """Count the users of each group, or of the one item that every row has; without rows that item is absent."""
        if self.groups is not None:
            return engine.counts_of(cast(NamedDomain, self.groups), progress=progress)
        return CountGroups.from_items([ALL_USERS_LABEL], [int(engine.top(1, progress=progress).counts.sum())])

    def noisy(self, counts: CountGroups, draws: Draws) -> list[int]:
        """Return the noisy counts, cut at 0: post-processing, so it costs nothing."""
        return [max(0, number) for number in self.mechanism(counts.counts, draws=draws)]

    def draw(self, counts: CountGroups, draws: Draws) -> Outcome:
        """Draw the noisy numbers of users."""
        noisy = enumerate(self.noisy(counts, draws))
        items = tuple(DrawnItem(counts.label(index, 0), number) for index, number in noisy)
        return Outcome(items=items, secure=draws.secure)

    def answer(self, outcome: Outcome) -> Release:
        """Write the release; it has all groups."""
        numbers = max(1, len(outcome.items))
        statement, good, width = self._statement(numbers), self._accuracy_for(numbers), self._width(numbers)
        release = write_release(outcome, statement, good, kind=Kind.SET, counted=True, width=width)
        return release if self.target_accuracy is None else self.target_accuracy.added_to(release)

    def _width(self, numbers: int) -> int:
        """Return how far any of so many noisy numbers may be off."""
        return self.mechanism.width(BETA, numbers)

    def _accuracy_for(self, numbers: int) -> Accuracy:
        """Return how near so many numbers are."""
        if self.resolved_groups is None:
            return accuracy.count_of_users(self._width(1), self.scale)
        good = accuracy.counts_of_all(self._width(numbers), self._width(1), self.scale, "group")
        return good + accuracy.leads(self.mechanism.lead(BETA, numbers), self.scale, "group") if numbers > 1 else good

    def _statement(self, numbers: int) -> Statement:
        """State the promise for so many numbers."""
        max_groups = self.mechanism.max_items_per_user
        parameters: dict[str, object] = {"items": numbers, "max_items_per_user": max_groups}
        parameters |= {} if self.resolved_groups is None else {"max_groups_per_user": max_groups}
        if isinstance(self.mechanism, HistogramLaplace):
            parameters["epsilon_per_count"] = self.mechanism.rate
            noise = describe_laplace_exactly(self.mechanism.rate)
        else:
            parameters |= self.mechanism.noise.parameters
            noise = describe_shared(self.mechanism.noise.variance, gaussian=False)
        parameters |= {"users_by": self.by, **self.scale.parameters}
        sentences = (*describe_users(noise, in_groups=self.resolved_groups is not None), *self.scale.sentences)
        return Statement.from_privacy(self.price, self.method, parameters, sentences)
