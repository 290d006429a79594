"""The one-shot Laplace mechanisms: Laplace noise on every count once, and the k largest noisy counts."""

from __future__ import annotations

import math
from fractions import Fraction

from flint import ctx

from dpselect._ground import parameters
from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Number
from dpselect._ground.privacy import Neighbors, Privacy, PureDP, parse_neighbors, single_step
from dpselect._ground.reals import enclose, upper
from dpselect.draws import Draws, secure
from dpselect.errors import ParameterError, came
from dpselect.mechanisms import gaps
from dpselect.mechanisms.candidates import Answer, Candidates, Input, Picks, parse_counts, refuse_too_few
from dpselect.mechanisms.port import promise, set_fields
from dpselect.papers.noisy_draws import noisy
from dpselect.papers.report_noisy_max import laplace_gap

LARGEST_EPSILON, _LARGEST_DELTA = Fraction(1, 5), Fraction(1, 20)
DIGITS = Fraction(10**12)  # a scale is rounded up to a multiple of 10^-12


@dataclass(frozen=True, kw_only=True)
class OneShotLaplace:
    """Select k of a known domain in rank order: the k largest counts with Laplace noise of scale 2k / epsilon.

    As published; dpselect takes Peeling instead, because its error is a third of this one (docs/methods-compared.md).

    The noisy counts are not part of the answer: with the noise that selected them they are not private at this scale
    (its page). `NoisyCounts` pays for counts with fresh noise.

    Guarantee: epsilon-DP.
    Neighbors: add-remove or replace-one of one user.
    Sensitivity: one user moves every count by at most 1, as many of them as they like. With `monotonic=True` (one more
        user moves all counts the same way; add-remove only) the scale is k / epsilon.
    Exactness: the noise is continuous and never rounded: noisy counts are compared as integers and bits of their
        fractions, drawn until they differ.
    Cost: one pass over the counts, then about 4k noisy counts.
    Source: Gillenwater, Joseph, Munoz Medina and Ribero Diaz 2021, Section 4 (LAPLACE); Qiao, Su and Zhang 2021; proof
        on its page.
    Example:
        >>> OneShotLaplace(k=2, epsilon=4)([900, 5, 600, 7]).tolist()
        [0, 2]
    """

    k: int
    epsilon: Number
    monotonic: bool = False
    neighbors: Neighbors = Neighbors.ADD_REMOVE

    def __post_init__(self) -> None:
        set_fields(
            self,
            k=parameters.listed_size("k", self.k),
            epsilon=parameters.epsilon("epsilon", self.epsilon),
            monotonic=parameters.flag("monotonic", self.monotonic),
            neighbors=parse_neighbors(self.neighbors),
        )
        if self.monotonic and self.neighbors is Neighbors.REPLACE_ONE:
            hint = "replacing a user can raise one count and lower another"
            raise ParameterError("monotonic", "be False for replace-one neighbors", "True", hint)

    @property
    def privacy(self) -> Privacy:
        """The privacy of one pure step."""
        return single_step(PureDP(Fraction(self.epsilon)), self.neighbors)

    @property
    def scale(self) -> Fraction:
        """The scale of the noise: 2k / epsilon, or k / epsilon for counts that all move the same way."""
        return (1 if self.monotonic else 2) * self.k / Fraction(self.epsilon)

    def gap(self, beta: float, candidates: int) -> Fraction:
        """Return the most users by which an item left out exceeds one above it, except with probability beta."""
        return laplace_gap(1 / self.scale, math.log(self.k) + gaps.log_others(candidates), beta)

    def __call__(self, counts: Input, *, draws: Draws | None = None) -> Answer:
        """Return k indices or labels, best first."""
        candidates = parse_counts(counts)
        return candidates.names(self.picks(candidates, secure(draws)))

    def picks(self, candidates: Candidates, draws: Draws) -> Picks:
        """Return k candidates as (group, member), best first."""
        refuse_too_few(self.k, candidates)
        return noisy(draws).noisy_top(candidates.weights(1 / self.scale), self.k)


@dataclass(frozen=True, kw_only=True)
class ApproxOneShotLaplace:
    """Select k of a known domain of size d by Laplace noise of scale 8 sqrt(k ln(d / delta)) / epsilon on every count.

    As published; dpselect takes Peeling instead, because one-shot Gumbel noise is smaller at the same price.

    Below the pure mechanism's noise only where k is above 16 ln(d / delta), and above that of peeling everywhere (its
    page). Kept for comparison. Counts: as in OneShotLaplace.

    Guarantee: (epsilon, delta)-DP, proved for epsilon < 0.2 and delta < 0.05 only: other values are refused.
    Neighbors: add-remove or replace-one of one user.
    Sensitivity: one user moves every count by at most 1, as many of them as they like, either way.
    Exactness: as in OneShotLaplace; the scale is rounded up to twelve decimals.
    Cost: as OneShotLaplace.
    Source: Qiao, Su and Zhang 2021, Theorem 2.2, as Durfee and Rogers 2021 state it (standard deviation
        8 sqrt(2k ln(d / delta)) / epsilon; a Laplace law of scale b has sqrt(2) b).
    Example:
        >>> ApproxOneShotLaplace(k=2, epsilon="0.1", delta="1e-6")([90000, 5, 60000, 7]).tolist()
        [0, 2]
    """

    k: int
    epsilon: Number
    delta: Number
    neighbors: Neighbors = Neighbors.ADD_REMOVE

    def __post_init__(self) -> None:
        k, related = parameters.listed_size("k", self.k), parse_neighbors(self.neighbors)
        epsilon = parameters.epsilon("epsilon", self.epsilon)
        delta = parameters.probability("delta", self.delta)
        hint = "the theorem is proved for epsilon < 0.2 and delta < 0.05; Peeling has no such range, and less noise"
        for name, value, below in (("epsilon", epsilon, LARGEST_EPSILON), ("delta", delta, _LARGEST_DELTA)):
            if value >= below:
                raise ParameterError(name, f"be below {float(below)} here", came(getattr(self, name)), hint)
        set_fields(self, k=k, epsilon=epsilon, delta=delta, neighbors=related)

    @property
    def privacy(self) -> Privacy:
        """The privacy of a step that is pure but for a failure of probability delta (Kairouz et al. 2015)."""
        bound = "one-shot Laplace, Theorem 2.2"
        return promise(Fraction(self.epsilon), Fraction(self.delta), bound, self.neighbors)

    def scale(self, domain_size: int) -> Fraction:
        """Return 8 sqrt(k ln(d / delta)) / epsilon, rounded up: more noise is the theorem's for a smaller epsilon."""
        with ctx.workprec(128):
            root = (self.k * enclose(domain_size / Fraction(self.delta)).log()).sqrt()
            exact = upper(8 * root / enclose(Fraction(self.epsilon)))
        return (exact * DIGITS).__ceil__() / DIGITS

    def __call__(self, counts: Input, *, draws: Draws | None = None) -> Answer:
        """Return k indices or labels, best first."""
        candidates = parse_counts(counts)
        return candidates.names(self.picks(candidates, secure(draws)))

    def picks(self, candidates: Candidates, draws: Draws) -> Picks:
        """Return k candidates as (group, member), best first."""
        refuse_too_few(self.k, candidates)
        return noisy(draws).noisy_top(candidates.weights(1 / self.scale(candidates.count)), self.k)
