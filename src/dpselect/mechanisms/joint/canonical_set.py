"""The canonical set mechanism."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from math import ceil

from flint import arb

from dpselect._ground.dataclass import dataclass
from dpselect.draws import Draws
from dpselect.mechanisms.joint.port import JointMechanism
from dpselect.mechanisms.joint.ranked import NEGLIGIBLE, RankedCounts, choose, power, subset


@dataclass(frozen=True, kw_only=True)
class CanonicalSet(JointMechanism):
    """Select a set of k with probability in proportion to exp(-epsilon loss / (2 sensitivity)); it comes in no order.

    The loss of a set is how far its smallest count lies below the largest count outside, 0 if it does not.

    Guarantee: epsilon-DP; as one epsilon-bounded-range step it is also epsilon^2/8-zCDP.
    Neighbors: add-remove, or replace-one (which halves the rate, since one count may rise and another fall).
    Sensitivity: one user adds at most `sensitivity` to every count, as many of them as they like, and moves the loss
        by at most as much; not always the same way, so the 2 stays.
    Exactness: the distribution is exact, ties included; counts are integers up to 2^53.
    Cost: one sort of the counts, then about k draws.
    Source: Shekelyan and Loukides 2022 (canonical Lipschitz mechanism). Ours: the partition of the sets into
        classes (h, t) and its proof (its page).
    Example:
        >>> CanonicalSet(k=2, epsilon=4)([900, 5, 600, 7]).tolist()
        [0, 2]
    """

    def ranks(self, ranked: RankedCounts, draws: Draws) -> list[int]:
        """Draw the chosen ranks: a class, then a set of it."""
        classes = Classes.for_ranked(ranked, self.rate)
        return classes.draw(*draws.sample_product(classes), draws)


@dataclass(frozen=True, eq=False)
class Classes:
    """Class (h, t): ranks 1 .. h in, h + 1 out, t > k the last one in; the last family is the top set itself.

    Family h has the t up to `window`, family k + h those beyond, where little is left (a hint for the draws).
    """

    ranked: RankedCounts
    rate: Fraction
    window: int

    @classmethod
    def for_ranked(cls, ranked: RankedCounts, rate: Fraction) -> Classes:
        """Return the classes with the window that ends where all sets together weigh less than about e^-45."""
        log_sets = float(choose(ranked.items, ranked.k, 64).log())
        reach = ceil((log_sets + NEGLIGIBLE) / float(rate))
        kth = int(ranked.top[-1])
        return cls(ranked, rate, max(ranked.k, min(ranked.items, ranked.within(kth - reach))))

    @cached_property
    def sizes(self) -> list[int]:
        """The sizes of k families of each kind (none where it would be empty), then that of the top set."""
        near_size, far_size = self.window - self.ranked.k, self.ranked.items - self.window
        return [size for size in (near_size, far_size) if size for _ in range(self.ranked.k)] + [1]

    def ranks_of_class(self, family: int, x: int) -> tuple[int, int]:
        """Return (h, t) of a class."""
        beyond = family >= self.ranked.k or self.window == self.ranked.k
        return family % self.ranked.k, (self.window if beyond else self.ranked.k) + 1 + x

    def draw(self, family: int, x: int, draws: Draws) -> list[int]:
        """Draw the ranks of a uniform set of a class."""
        if family == len(self.sizes) - 1:
            return list(range(self.ranked.k))
        fixed, last = self.ranks_of_class(family, x)
        free = subset(draws, last - fixed - 2, self.ranked.k - fixed - 1)
        return [*range(fixed), *(fixed + 1 + r for r in free), last - 1]

    def loss(self, family: int, x: int) -> int:
        """Return the loss c_(h + 1) - c_t of a class, 0 for the top set."""
        if family == len(self.sizes) - 1:
            return 0
        fixed, last = self.ranks_of_class(family, x)
        return int(self.ranked.top[fixed]) - self.ranked.count(last - 1)

    def fall(self, family: int, x: int, bits: int) -> arb:
        """Return the ball of exp(-rate loss)."""
        return power(-self.rate * self.loss(family, x), bits)

    def rise(self, family: int, x: int, bits: int) -> arb:
        """Return the number of sets of the class: the k - h - 1 others are any of the t - h - 2 ranks between."""
        if family == len(self.sizes) - 1:
            return arb(1)
        fixed, last = self.ranks_of_class(family, x)
        return choose(last - fixed - 2, self.ranked.k - fixed - 1, bits)
