"""Limited domain with a cut-off that is chosen privately."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpselect._ground.dataclass import dataclass
from dpselect.draws import Draws, Weights
from dpselect.errors import ParameterError
from dpselect.mechanisms.candidates import Picks
from dpselect.mechanisms.top_k.limited_domain import PeelingWithBottom, parse, until_bottom
from dpselect.mechanisms.top_k.top_rows import TopRows

_MOST_CUTS = 2 * 10**5  # each is weighed, in about 20 microseconds


@dataclass(frozen=True, kw_only=True)
class ChosenKBar(PeelingWithBottom):
    """Limited domain whose k_bar, between k and `k_bar`, is first chosen by an exponential mechanism.

    The choice prefers a low threshold: j has the score -(h_(j+1) + ln(min(max_items_per_user, j)) / rate), and rate is
    epsilon_per_pick / sensitivity.

    Guarantee: (epsilon, delta)-DP as LimitedDomain, for k + 1 picks in place of k.
    Neighbors: add-remove.
    Sensitivity: h_(j+1) moves by at most `sensitivity`, the same way for all j: monotonic.
    Exactness: the law is exact; j weighs exp(-rate h_(j+1)) / min(max_items_per_user, j).
    Cost: one pass to find k_bar + 1 rows, then k + 1 draws.
    Source: Durfee and Rogers 2019, Section 3 after Theorem 1; proof on the page of
        limited domain.
    Example:
        >>> ChosenKBar(k=2, k_bar=4, epsilon=4, delta="1e-6")([900, 600, 5, 2, 1]).tolist()
        [0, 1]
    """

    def __post_init__(self) -> None:
        parse(self, more_picks=1)
        if self.terms.k_bar > _MOST_CUTS:
            raise ParameterError("k_bar", f"be at most {_MOST_CUTS} if it is chosen", self.terms.k_bar, "lower k")

    def picks(self, rows: TopRows, draws: Draws) -> Picks:
        """Pick rows as (row, 0), best first."""
        cuts = range(self.terms.k, self.terms.k_bar + 1)
        heights = np.array([-rows.after(j) for j in cuts], dtype=np.int64)
        shares = [Fraction(1, self.terms.swaps(j)) for j in cuts]
        chosen, _ = draws.categorical(Weights(heights, self.terms.rate, factors=shares))
        return until_bottom(rows, draws, self.terms, cuts[chosen])
