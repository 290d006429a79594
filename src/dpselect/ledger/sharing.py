"""What a share of a budget is: of its limits, whatever was used of them. So the same share is the same question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpselect._ground.parameters import LEAST, rounded_down, rounded_up
from dpselect.accounting.limits import Limits
from dpselect.accounting.two_prices import Spent
from dpselect.errors import ParameterError

SMALL = 25  # a small question of divergence r has an epsilon of about sqrt(25 r / order), give or take a factor of 2


@dataclass(frozen=True)
class Sharing:
    """Shares of an account of this order: of the tightest of its limits."""

    order: int | None
    limits: Sequence[Limits]

    def part(self, query: Any) -> Fraction:
        """The part that any answer to a question takes at most, but for failures."""
        price = query.price_at(self.order)
        return max(one.part(Spent(price.epsilon, price.renyi)) for one in self.limits)

    def delta(self, share: Fraction) -> Fraction:
        """The share of what is for failures."""
        return min(one.failure for one in self.limits) * share

    def start(self, share: Fraction) -> Fraction:
        """About the epsilon of a question of this share, where a search shall begin."""
        return max(LEAST, min(self._start(one, share) for one in self.limits))

    def _start(self, limits: Limits, share: Fraction) -> Fraction:
        renyi = 0 if limits.renyi is None or self.order is None else SMALL * limits.renyi * share / self.order
        return max(limits.epsilon * share, Fraction(math.sqrt(renyi)))

    def check_failure(self, query: Any, share: Fraction) -> None:
        """ParameterError where a question may fail with more than the share of what is for failures."""
        most, delta = self.delta(share), query.price.delta
        if delta > most:
            raise ParameterError("delta", f"be at most {rounded_down(most)} for this share", rounded_up(delta))
