"""Quantiles in every group of a list at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from fractions import Fraction

from dpselect._ground import parameters
from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Number
from dpselect._ground.privacy import Neighbors, Privacy
from dpselect.accounting.calibration import price
from dpselect.draws import Draws, secure
from dpselect.errors import ParameterError, came
from dpselect.mechanisms.certified_quantiles import CertifiedQuantiles, CertifiedValues, certified_plan, picks_of
from dpselect.mechanisms.port import set_fields
from dpselect.mechanisms.recursive_quantiles import better_for

MOST_GROUPS = 10**4  # that one user counts in


@dataclass(frozen=True, kw_only=True)
class QuantileByGroup:
    """One or several quantiles of each group of a list, each user counting in at most `max_groups_per_user` groups.

    Every group runs CertifiedQuantiles by itself, with fresh randomness, also one without users: which groups there are
    must not hang on the data.

    Guarantee: (epsilon, delta)-DP for the answers of all groups together, however many there are: the price is that of
        `max_groups_per_user` groups, one epsilon_per_pick-bounded-range step for each quantile, or level, in each, and
        one pure step for its cells.
    Neighbors: add-remove.
    Sensitivity: one user has one value in each of at most `max_groups_per_user` groups, and counts there as in
        CertifiedQuantiles. The data must have been bounded so, for every user by a rule that looks at
        that user's own rows only.
    Exactness: the law is exact: the product of the laws of the groups.
    Cost: that of the quantiles for each group.
    Source: ours, on Smith 2011; proof on its page, docs/mechanisms/by-group.md.
    Example:
        >>> ages = QuantileByGroup(bounds=(0, 120), step=1, max_groups_per_user=1, epsilon=9)
        >>> found = ages({"DE": [30] * 40 + [40] * 60, "FR": [20] * 80})
        >>> found["DE"].values, found["FR"].values
        ([40], [20])
    """

    q: Number | Sequence[Number] = Fraction(1, 2)
    bounds: tuple[Number, Number] | None = None
    step: Number | None = None
    max_groups_per_user: int
    epsilon: Number | None = None
    delta: Number = 0
    epsilon_per_pick: Number | None = None
    each: CertifiedQuantiles = field(init=False, repr=False)
    privacy: Privacy = field(init=False, repr=False)

    def __post_init__(self) -> None:
        groups = parameters.whole_number(
            "max_groups_per_user", self.max_groups_per_user, minimum=1, maximum=MOST_GROUPS
        )
        delta, related = parameters.probability("delta", self.delta, zero=True), Neighbors.ADD_REMOVE
        picks = picks_of(better_for(self.q, self.bounds, self.step), self.q)
        plan = certified_plan(picks, delta, groups)
        privacy, pick = price(plan, self.epsilon, self.epsilon_per_pick, delta, neighbors=related)
        one_group = CertifiedQuantiles(q=self.q, bounds=self.bounds, step=self.step, delta=delta, epsilon_per_pick=pick)
        set_fields(
            self, q=one_group.q, bounds=one_group.bounds, step=one_group.step, max_groups_per_user=groups, delta=delta
        )
        set_fields(self, epsilon=privacy.epsilon, epsilon_per_pick=pick, each=one_group, privacy=privacy)

    def __call__(self, values: Mapping[object, object], *, draws: Draws | None = None) -> dict[object, CertifiedValues]:
        """Return the quantiles of every group, in the order of q, for {group: one value of each user in it}."""
        if not isinstance(values, Mapping):
            raise ParameterError("values", "be a mapping of groups to arrays of values", came(values))
        source = secure(draws)
        return {group: self.each(users, draws=source) for group, users in values.items()}
