"""Limited domain in every group at once: at most k items of each, of groups and items that nobody has to know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from fractions import Fraction

from dpselect._ground import parameters
from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Number
from dpselect._ground.privacy import Neighbors, Privacy, StepsOfPick
from dpselect.accounting.calibration import DeltaSplit, one_price, plan_of, price, priced, split_delta
from dpselect.aggregates.groups import GroupedCounts
from dpselect.draws import Draws, secure
from dpselect.errors import ParameterError, came
from dpselect.mechanisms.port import set_fields
from dpselect.mechanisms.top_k.group_draws import Picked, picked
from dpselect.mechanisms.top_k.limited_domain import LimitedDomain, parse_k_bar
from dpselect.mechanisms.top_k.top_rows import whole_counts

LEAST_K_BAR, PER_K = 100, 10


@dataclass(frozen=True, kw_only=True)
class LimitedDomainByGroup:
    """Select at most k items of every group, each user counting in at most `max_groups_per_user` groups.

    Every group runs LimitedDomain by itself, with fresh randomness. A group without users, or with too few to tell,
    has an empty answer, so nobody has to know which groups there are.

    Guarantee: (epsilon, delta)-DP for the answers of all groups together, however many there are: the price is that of
        `max_groups_per_user` groups, k epsilon_per_pick-bounded-range steps and `delta_threshold` each.
    Neighbors: add-remove.
    Sensitivity: one user moves counts in at most `max_groups_per_user` groups, all the same way and by at most
        `sensitivity` each, of at most `max_items_per_user` items in each of these groups where that is given. The data
        must have been bounded so, for every user by a rule that looks at that user's own rows only.
    Exactness: the law is exact: the product of the laws of LimitedDomain.
    Cost: one pass to find k_bar + 1 rows of each group; groups whose lists are certainly short are decided together.
    Source: ours, on Durfee and Rogers 2019, Algorithm 1; proof on its page.
    Example:
        >>> found = LimitedDomainByGroup(k=1, max_groups_per_user=1, epsilon=4, delta="1e-6")
        >>> found({"DE": {"a": 900, "b": 20}, "FR": {"b": 700}, "LI": {"c": 1}})
        {'DE': ['a'], 'FR': ['b']}
    """

    k: int
    max_groups_per_user: int
    delta: Number
    k_bar: int | None = None
    epsilon: Number | None = None
    epsilon_per_pick: Number | None = None
    delta_threshold: Number | None = None
    max_items_per_user: int | None = None
    sensitivity: int = 1
    each: LimitedDomain = field(init=False, repr=False)
    privacy: Privacy = field(init=False, repr=False)

    def __post_init__(self) -> None:
        k, groups, k_bar, bound = parse_sizes(self.k, self.max_groups_per_user, self.k_bar, self.max_items_per_user)
        delta, plan = parameters.probability("delta", self.delta), plan_of(groups * k)
        threshold, composition, pick = self._split(plan, delta, groups, swaps=min(bound or k_bar, k_bar))
        failure, related = groups * threshold, Neighbors.ADD_REMOVE
        if pick is None:
            privacy, pick = price(
                plan, self.epsilon, self.epsilon_per_pick, composition, failure=failure, neighbors=related
            )
        else:
            requested = parameters.epsilon("epsilon", self.epsilon)
            privacy = priced(plan(pick), requested, composition, failure=failure, neighbors=related)
        one_group = LimitedDomain(
            k=k,
            k_bar=k_bar,
            delta=threshold,
            delta_threshold=threshold,
            epsilon_per_pick=pick,
            max_items_per_user=self.max_items_per_user,
            sensitivity=self.sensitivity,
        )
        set_fields(self, k=k, max_groups_per_user=groups, delta=delta, epsilon=privacy.epsilon, epsilon_per_pick=pick)
        set_fields(
            self, k_bar=one_group.k_bar, delta_threshold=threshold, max_items_per_user=one_group.max_items_per_user
        )
        set_fields(self, each=one_group, privacy=privacy, sensitivity=one_group.sensitivity)

    def _split(
        self, plan: StepsOfPick, delta: Fraction, groups: int, swaps: int
    ) -> tuple[Fraction, Fraction, Fraction | None]:
        """Return the delta of a group's threshold, that of composing picks, and a pick's epsilon if found with it."""
        one_price(self.epsilon, self.epsilon_per_pick)
        if self.delta_threshold is not None:
            threshold = parameters.probability("delta_threshold", self.delta_threshold)
            if threshold * groups > delta:
                raise ParameterError("delta_threshold", "be at most delta / max_groups_per_user", self.delta_threshold)
            return threshold, delta - threshold * groups, None
        if self.epsilon is None:
            return delta / (2 * groups), delta / 2, None
        split = split_by_group(plan, parameters.epsilon("epsilon", self.epsilon), delta, groups, swaps)
        return split.threshold, split.composition, split.epsilon_per_pick

    def __call__(
        self, counts: Mapping[object, Mapping[object, int]], *, draws: Draws | None = None
    ) -> dict[object, list[object]]:
        """Return the items picked, best first, of every group that has any, for {group: {item: count}}."""
        grouped_counts = GroupedCounts.from_counts(
            {group: _checked(item_counts) for group, item_counts in _groups(counts).items()}
        )
        answers = self.picks(grouped_counts, secure(draws))
        return {
            group: list(grouped_counts.items(group_picks.rows))
            for group_picks in answers
            for group in grouped_counts.groups(group_picks.groups)
        }

    def picks(self, counts: GroupedCounts, draws: Draws) -> list[Picked]:
        """Return the picked rows of every group that has any."""
        return picked(counts, self.each.terms, draws)


MOST_GROUPS = 10**4
MUST = "be a mapping of groups to mappings of items to whole numbers of users"


def _groups(counts: object) -> Mapping[object, object]:
    if not isinstance(counts, Mapping):
        raise ParameterError("counts", MUST, came(counts))
    return counts


def _checked(counts: object) -> dict[object, int]:
    """Return the counts of one group, as Python's whole numbers."""
    if not isinstance(counts, Mapping):
        raise ParameterError("counts", MUST, came(counts))
    return dict(zip(counts, whole_counts(list(counts.values())).tolist(), strict=True))


def split_by_group(plan: StepsOfPick, epsilon: Fraction, delta: Fraction, groups: int, swaps: int) -> DeltaSplit:
    """Return the split of delta that makes the threshold of each group lowest; `threshold` is that of one group."""
    split = split_delta(plan, epsilon, delta, swaps * groups)
    return replace(split, threshold=split.threshold / groups)


def parse_sizes(k: int, groups: int, k_bar: int | None, max_items: int | None) -> tuple[int, int, int, int | None]:
    """Parse the sizes of a question: k, max_groups_per_user, k_bar and max_items_per_user."""
    k = parameters.listed_size("k", k)
    groups = parameters.whole_number("max_groups_per_user", groups, minimum=1, maximum=MOST_GROUPS)
    k_bar = parse_k_bar(k, default_k_bar(k) if k_bar is None else k_bar)
    if max_items is not None:
        max_items = parameters.whole_number("max_items_per_user", max_items, minimum=1)
    return k, groups, k_bar, max_items


def default_k_bar(k: int) -> int:
    """Return ten times k and at least 100, since groups are smaller than all data; measured: docs/results.md."""
    return max(PER_K * k, LEAST_K_BAR)
