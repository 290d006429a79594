"""Choosing one: every parameter checked, a mechanism and its price fixed, and the verb for scores of the caller's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from dpselect._ground import methods, parameters
from dpselect._ground.domain import MOST_COUNTED, Domain, Known, Size, domain_of, most_items, refuse_many
from dpselect._ground.parameters import Number, Progress
from dpselect._ground.privacy import Neighbors, Privacy
from dpselect._ground.privacy import neighbors as related
from dpselect.aggregates.count_groups import CountGroups
from dpselect.aggregates.grouped_counts import GroupedCounts
from dpselect.draws import Draws
from dpselect.engines.port import Engine
from dpselect.errors import ParameterError, came
from dpselect.ledger.budget import Budget, Where, budget_of
from dpselect.mechanisms.candidates import Input
from dpselect.mechanisms.port import settle
from dpselect.queries.at_price import at_price
from dpselect.queries.choose_by import chosen_by_group
from dpselect.queries.likeness import likeness
from dpselect.queries.of_groups import FIELDS, settle_groups
from dpselect.queries.paid import OfValues, paid
from dpselect.queries.query import INNER, OF_VALUES, Ready, cut_by, sampled
from dpselect.release import accuracy
from dpselect.release.accuracy import BETA, Accuracy
from dpselect.release.release import Item, Release, Statement
from dpselect.release.scale import USERS, Scale

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import TypeVar

    from dpselect.queries.in_groups import InGroups

    Label = TypeVar("Label", default=Any)  # of a mapping; of other scores it cannot be known

EXPONENTIAL = "exponential"

COUNTS = " If each is a number of users, say monotonic=True: the answer is as good at half the epsilon."


@dataclass(frozen=True, kw_only=True)
class ChooseQuery(OfValues):
    """The best of a known domain by its users; or, without a domain, of candidates by scores of the caller's.

    `monotonic` is about scores: one more user moves all of them the same way. Counts of users are monotonic.
    """

    verb: ClassVar[str] = "choose"

    domain: object = None
    epsilon: Number
    method: str = EXPONENTIAL
    neighbors: Neighbors | str = Neighbors.ADD_REMOVE
    max_items_per_user: int | None = None
    delta: Number | None = None
    by: Sequence[str] | str | None = None
    groups: object = None
    max_groups_per_user: int | None = None
    sensitivity: Number = field(default=1, metadata=INNER)
    monotonic: bool = field(default=False, metadata=INNER)
    of_scores: bool = field(default=False, repr=False, metadata=OF_VALUES)
    mechanism: Any = field(init=False, repr=False, compare=False)
    table: InGroups | None = field(init=False, repr=False, compare=False, default=None)

    def __post_init__(self) -> None:
        if self.max_items_per_user is not None:
            settle(self, max_items_per_user=parameters.whole("max_items_per_user", self.max_items_per_user, least=1))
        known = None if self.of_scores else domain_of(self.domain)
        if not self.of_scores and (self.sensitivity != 1 or self.monotonic is not False):
            raise ParameterError("sensitivity", "be left out for counts of users, which one user moves by 1", "another")
        method = methods.checked("choose", self.method)
        which = related(self.neighbors)
        monotonic = parameters.flag("monotonic", self.monotonic) if self.of_scores else which is Neighbors.ADD_REMOVE
        make = methods.named("choose", method).make
        settle_groups(self)
        if self.by is not None:
            mechanism = self._by_group(method, known, which)
        elif self.delta is not None:
            must = "be left out where by is not given: a choice of one needs none"
            raise ParameterError("delta", must, came(self.delta), "its promise is that of epsilon alone")
        else:
            mechanism = make(epsilon=self.epsilon, sensitivity=self.sensitivity, monotonic=monotonic, neighbors=which)
        settle(self, domain=known, method=method, neighbors=which, mechanism=mechanism)
        settle(self, epsilon=self.price.epsilon, sensitivity=Fraction(mechanism.sensitivity))

    def _by_group(self, method: str, domain: Domain | None, which: Neighbors) -> Any:
        """The mechanism of one group, at the price of the groups that one user counts in."""
        from dpselect.mechanisms.choose.by_group import ChoiceByGroup
        from dpselect.queries.in_groups import in_groups

        if self.of_scores:
            raise ParameterError("by", "be left out for scores of the caller's", came(self.by))
        if which is not Neighbors.ADD_REMOVE:
            raise ParameterError("neighbors", "be add-remove where by is given", str(which))
        if isinstance(domain, Size):
            hint = "list the items, or give a range or a Column"
            raise ParameterError("domain", "say which items there are where by is given", "only how many", hint)
        refuse_many(0 if domain is None else most_items(domain) or 0, MOST_COUNTED)
        table, mechanism = in_groups(self, partial(ChoiceByGroup, method=method))
        settle(self, table=table, delta=table.delta)
        return mechanism.each

    @property
    def price(self) -> Privacy:
        """What any answer promises, and costs at most."""
        return cast(Privacy, self.mechanism.privacy) if self.table is None else self.table.privacy

    @property
    def key(self) -> Mapping[str, object]:
        """What a ledger knows the question by."""
        of: dict[str, object] = {"sensitivity": self.sensitivity, "monotonic": self.monotonic}
        of = of if self.of_scores else {"domain": self.domain}
        of |= {} if self.by is None else {name: getattr(self, name) for name in ("delta", *FIELDS)}
        return {"epsilon": self.epsilon, "method": self.method, "neighbors": str(self.neighbors), **of}

    def ready(self, engine: Engine) -> Ready:
        """By how many users have each item of the domain, which the column of items must be able to hold."""
        domain = cast(Domain, self.domain)
        if self.table is not None:
            return self._ready_by(engine, self.table, cast(Known, domain))
        engine.check(domain)
        return lambda draws, progress: self.select(engine.grouped(domain, progress=progress), draws)

    def _ready_by(self, engine: Engine, table: InGroups, domain: Known) -> Ready:
        """By how many users of each group have each item of the domain."""
        engine.check(domain, most=MOST_COUNTED)
        which = table.which(engine)

        def answer(draws: Draws, progress: Progress | None) -> Release:
            groups, names = which(draws, progress), engine.item_names(domain)
            if groups is None:
                return self.select_by(None, names, draws)
            return self.select_by(engine.counts_by(domain, table.most, groups, progress=progress), names, draws)

        return answer

    def select_by(self, found: GroupedCounts | None, names: Sequence[object], draws: Draws) -> Release:
        """The answers for the counts of every group over a domain of these items; None where there are no groups."""
        assert self.table is not None
        groups: Sequence[object] = ()
        chosen: list[object] = []
        if found is not None:
            groups = found.groups(np.arange(len(found.sizes)))
            chosen = chosen_by_group(self.mechanism, found, names, draws)
        return self.table.released(
            groups,
            [(label,) for label in chosen],
            statement=self.statement(),
            accuracy=self.near(len(names)),
            secure=draws.secure,
        )

    def select(self, values: Input, draws: Draws) -> Release:
        """The answer for scores."""
        label = next(iter(self.mechanism(values, draws=draws)))
        label = int(label) if isinstance(label, np.integer) else label
        among = sum(values.sizes) if isinstance(values, CountGroups) else len(values)  # type: ignore[arg-type]
        items, good = (Item(label, 1, None),), self.near(int(among))
        return Release(items=items, privacy=self.statement(), secure=draws.secure, accuracy=good)

    def like(self, release: Release) -> Release:
        """An answer with what is planned of it; where scores, or a column, say how many candidates, it does not."""
        domain = cast("Domain | None", self.domain)
        candidates, good = None if domain is None else most_items(domain), release.accuracy
        if candidates is not None:
            good = self.near(candidates) if self.table is None else self.table.near(self.near(candidates))
        return likeness(release, self.statement(), good)

    def statement(self) -> Statement:
        """What is promised, in numbers and in sentences."""
        name = type(self.mechanism).__name__
        if self.table is not None:
            used = {"k": 1, "choice": name, "epsilon_per_pick": self.mechanism.epsilon}
            return self.table.statement("ChoiceByGroup", used, (self.sentence,), self.scale)
        return Statement.of(self.price, name, {"k": 1, **self.scale.parameters}, (self.sentence, *self.scale.sentences))

    def near(self, candidates: int) -> Accuracy:
        """How good the one is that is chosen of so many."""
        return accuracy.best_of(self.mechanism.gap(BETA, candidates), None if self.of_scores else self.scale)

    @property
    def scale(self) -> Scale:
        """Which users count."""
        if self.of_scores:
            return USERS
        groups = None if self.table is None else cut_by(self.table.most, self.table.listed)
        items = cut_by(self.max_items_per_user, cast(Domain, self.domain))
        return Scale(groups=groups, items=items, period=self.period)

    @property
    def sentence(self) -> str:
        """What was assumed of the scores."""
        alike = self.mechanism.monotonic
        scores = "Scores are the caller's" if self.of_scores else "Scores are counts of distinct users"
        how = "all scores the same way (monotonic)" if alike else "scores in either direction (factor 2)"
        moved = float(Fraction(self.sensitivity))
        said = f"{scores}; one user moves each by at most {moved:g}, and {how}.{sampled(self.max_items_per_user)}"
        if self.of_scores and not alike and self.neighbors is Neighbors.ADD_REMOVE:
            said += COUNTS
        return said if self.by is None else f"In each group: {said[0].lower()}{said[1:]}"


def choose(
    scores: Mapping[Label, Any] | CountGroups | npt.ArrayLike,
    *,
    epsilon: Number | None = None,
    share: Number | None = None,
    sensitivity: Number = 1,
    monotonic: bool = False,
    neighbors: Neighbors | str = Neighbors.ADD_REMOVE,
    method: str = "exponential",
    budget: Budget | Where | None = None,
    fresh: bool = False,
    draws: Draws | None = None,
) -> Release[Label]:
    """Choose the best of some candidates by a private score; one item comes back.

    Guarantee: epsilon-DP for one user against `neighbors`. `sensitivity` is how far one user can move any score;
    `monotonic=True` says that one more user moves all scores the same way (add-remove only) and halves the price.
    `scores` is an array (an index is chosen), a mapping from label to score, a pandas Series (a label of its index is
    chosen), or count groups. `method` is "exponential" or "permute-and-flip" (never worse in expectation at this
    epsilon, dearer in composition). With `budget` it is paid, as for a Dataset, also by `share`; scores have no
    fingerprint, so a stored answer is found again only where the budget's `snapshot` names their state. Raises
    ParameterError before any score is looked at.

        >>> choose({"left": 3, "right": 90}, epsilon=1, monotonic=True).labels
        ['right']
    """
    paying = budget_of(budget)
    query = at_price(
        ChooseQuery,
        paying,
        epsilon=epsilon,
        share=share,
        sensitivity=sensitivity,
        monotonic=monotonic,
        neighbors=neighbors,
        method=method,
        of_scores=True,
    )
    return paid(query, "scores", scores, budget=paying, fresh=fresh, draws=draws)
