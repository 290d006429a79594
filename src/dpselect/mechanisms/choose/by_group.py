"""A choice of one in every group of a list at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from fractions import Fraction

from dpselect._ground import methods, parameters
from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Number
from dpselect._ground.privacy import Neighbors, Privacy, Steps
from dpselect.accounting.calibration import price
from dpselect.draws import Draws, secure
from dpselect.errors import ParameterError, came
from dpselect.mechanisms.choose.port import Choice
from dpselect.mechanisms.port import set_fields
from dpselect.mechanisms.quantile_by_group import MOST_GROUPS


@dataclass(frozen=True, kw_only=True)
class ChoiceByGroup:
    """Choose one item of a known domain in each group of a list, each user counting in at most `max_groups_per_user`.

    Every group runs the same mechanism by itself, with fresh randomness, over the whole domain, also a group without
    users: neither which groups there are nor which items must hang on the data. `method` is "exponential" or
    "permute-and-flip".

    Guarantee: (epsilon, delta)-DP for the answers of all groups together, however many there are: the price is that of
        `max_groups_per_user` steps of the mechanism.
    Neighbors: add-remove.
    Sensitivity: one user moves counts in at most `max_groups_per_user` groups, each by at most 1 and all the same way.
        The data must have been bounded so, for every user by a rule that looks at that user's own rows only.
    Exactness: the law is exact: the product of the laws of the mechanism.
    Cost: that of the mechanism for each group.
    Source: ours, on McSherry and Talwar 2007; proof on its page, docs/mechanisms/by-group.md.
    Example:
        >>> votes = {"DE": {"red": 90, "blue": 2}, "FR": {"red": 0, "blue": 80}}
        >>> ChoiceByGroup(max_groups_per_user=1, epsilon=2)(votes)
        {'DE': 'red', 'FR': 'blue'}
    """

    method: str = "exponential"
    max_groups_per_user: int
    epsilon: Number | None = None
    delta: Number = 0
    epsilon_per_pick: Number | None = None
    each: Choice = field(init=False, repr=False)
    privacy: Privacy = field(init=False, repr=False)

    def __post_init__(self) -> None:
        groups = parameters.whole_number(
            "max_groups_per_user", self.max_groups_per_user, minimum=1, maximum=MOST_GROUPS
        )
        delta, related = parameters.probability("delta", self.delta, zero=True), Neighbors.ADD_REMOVE
        make = methods.method_row("choose", methods.parse_method_name("choose", self.method)).make
        step = make(epsilon=1, monotonic=True).step

        def plan(x: Fraction) -> tuple[Steps, ...]:
            return (Steps(step(x), groups),)

        privacy, pick = price(plan, self.epsilon, self.epsilon_per_pick, delta, neighbors=related)
        set_fields(self, max_groups_per_user=groups, delta=delta, epsilon=privacy.epsilon, epsilon_per_pick=pick)
        set_fields(self, each=make(epsilon=pick, monotonic=True), privacy=privacy)

    def __call__(
        self, counts: Mapping[object, Mapping[object, int]], *, draws: Draws | None = None
    ) -> dict[object, object]:
        """Return the chosen item of every group, for {group: {item: count}} with all items in each group."""
        if not isinstance(counts, Mapping):
            raise ParameterError("counts", "be a mapping of groups to mappings of items to counts", came(counts))
        source = secure(draws)
        return {group: next(iter(self.each(item_counts, draws=source))) for group, item_counts in counts.items()}
