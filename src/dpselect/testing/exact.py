"""Exact distributions: follow every branch of the random decisions that real code makes.

`law(run)` calls `run(draws)` once for every branch and adds up the probabilities of its answers as balls, so
tests compare whole distributions, not samples. The code that runs is the real code; only the outcomes of the `Draws`
port are followed one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import partial
from hashlib import shake_256
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import numpy as np
from flint import arb, ctx

from dpselect._ground.dataclass import dataclass
from dpselect._ground.reals import Exp, Real
from dpselect.draws.bernoullis import refuse_non_weights
from dpselect.draws.certified import CertifiedDraws
from dpselect.draws.core import SLACK_BITS
from dpselect.draws.gaussian_tails import Tail
from dpselect.draws.port import Masses, MonotoneProbability
from dpselect.draws.weights import Weights

if TYPE_CHECKING:
    import numpy.typing as npt

PRECISION = 192
SMALLEST = Fraction(1, 2**60)  # an unbounded draw is followed until less than this is left

Law = dict[Hashable, arb]


@dataclass
class _Decision:
    """A decision on the current branch: the probabilities of its outcomes, and which outcome is being followed."""

    shares: Sequence[arb]
    outcome: int = 0


class ExactDraws:
    """Follows one branch at a time; `law` makes it visit them all."""

    secure = False

    def __init__(self) -> None:
        self._path: list[_Decision] = []
        self._depth = 0

    def _follow(self, shares: Callable[[], Sequence[arb]]) -> int:
        if self._depth == len(self._path):
            with ctx.workprec(PRECISION):
                self._path.append(_Decision(shares()))
            self._skip_impossible()
        decision = self._path[self._depth]
        self._depth += 1
        return decision.outcome

    def _skip_impossible(self) -> None:
        last = self._path[-1]
        while last.outcome < len(last.shares) and last.shares[last.outcome] == 0:
            last.outcome += 1

    def _advance(self) -> bool:
        """Go to the next branch; return False when all have been followed."""
        while self._path:
            self._path[-1].outcome += 1
            self._skip_impossible()
            if self._path[-1].outcome < len(self._path[-1].shares):
                self._depth = 0
                return True
            self._path.pop()
        return False

    def _probability(self) -> arb:
        with ctx.workprec(PRECISION):
            product = arb(1)
            for decision in self._path:
                product *= decision.shares[decision.outcome]
            return product

    def below(self, n: int) -> int:
        """Follow n equally likely outcomes."""
        return self._follow(lambda: [arb(1) / n] * n)

    def bernoulli(self, probability: Real) -> bool:
        """Follow both outcomes."""
        return self._follow(lambda: _two_shares(probability)) == 1

    def peel(self, weights: Weights, k: int, *, until: int | None = None) -> list[tuple[int, int]]:
        """Follow k times a group in proportion to what it has left, then one of its remaining members."""
        members = [list(range(weights.size(g))) for g in range(len(weights))]
        picks = []
        for _ in range(k):
            group = self._follow(lambda: _shares(weights, [len(m) for m in members]))
            picks.append((group, members[group].pop(self.below(len(members[group])))))
            if until is not None and group >= until:
                break
        return picks

    def categorical(self, weights: Weights) -> tuple[int, int]:
        """Follow `peel` with k = 1."""
        return self.peel(weights, 1)[0]

    def group_bernoullis(self, weights: Weights) -> list[tuple[int, int]]:
        """Follow one binomial for each group."""
        best = max(weights.score(g) for g in range(len(weights)))
        counts = [(g, self.binomial(weights.size(g), weights.ratio(g, best))) for g in range(len(weights))]
        return [(g, count) for g, count in counts if count]

    def sample_product(self, masses: Masses) -> tuple[int, int]:
        """Follow every candidate of every family."""
        candidates = [(f, x) for f, size in enumerate(masses.sizes) for x in range(size)]

        def shares() -> list[arb]:
            masses_of_all = [masses.fall(f, x, PRECISION) * masses.rise(f, x, PRECISION) for f, x in candidates]
            total = sum(masses_of_all, arb(0))
            return [mass / total for mass in masses_of_all]

        return candidates[self._follow(shares)]

    def binomial(self, n: int, probability: Real) -> int:
        """Follow n + 1 outcomes."""

        def shares() -> list[arb]:
            p = probability.ball(PRECISION)
            return [arb(n).fac() / (arb(x).fac() * arb(n - x).fac()) * p**x * (1 - p) ** (n - x) for x in range(n + 1)]

        return self._follow(shares)

    def geometric(self, rate: Fraction) -> int:
        """Follow 0, 1, 2, ... until less than SMALLEST is left; that rest is not part of the distribution."""

        def shares() -> list[arb]:
            q = Exp(-rate).ball(PRECISION)
            probabilities = [1 - q]
            while not probabilities[-1] * q / (1 - q) < float(SMALLEST):
                probabilities.append(probabilities[-1] * q)
            return probabilities

        return self._follow(shares)

    def laplace(self, rate: Fraction) -> int:
        """Follow 0, 1, -1, 2, -2, ... until less than SMALLEST is left; the kept part is scaled to 1."""
        return self._two_sided(lambda z: Exp(-rate * z))

    def gaussian(self, variance: Fraction) -> int:
        """Follow 0, 1, -1, 2, -2, ... until less than SMALLEST is left; the kept part is scaled to 1."""
        return self._two_sided(lambda z: Exp(-Fraction(z * z) / (2 * variance)))

    def laplaces(self, rate: Fraction, n: int) -> list[int]:
        """Follow one after another."""
        return [self.laplace(rate) for _ in range(n)]

    def gaussians(self, variance: Fraction, n: int) -> list[int]:
        """Follow one after another."""
        return [self.gaussian(variance) for _ in range(n)]

    def gaussians_above(
        self, deviation: Fraction, threshold: Fraction, weights: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Follow 0, 1, 2, ... steps for each, until less than SMALLEST is left; the kept part is scaled to 1."""
        tail = Tail(threshold, deviation)

        def shares(weight: int) -> list[arb]:
            left = [tail.at(weight, PRECISION)]
            while not left[-1] < float(SMALLEST) * left[0]:
                left.append(tail.at(weight - len(left), PRECISION))
            return [(larger - smaller) / (left[0] - left[-1]) for larger, smaller in pairwise(left)]

        return np.array([self._follow(partial(shares, w)) for w in weights.tolist()], dtype=np.int64)

    def laplaces_above(self, rate: Fraction, threshold: int, weights: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Follow every lower number, then those above one after another as `geometric` does.

        P(Z = -m), ..., P(Z = -1) are in proportion to q^m, ..., q, those of 0, 1, 2, ... to 1, q, q^2, ...
        """
        q = Exp(-rate)

        def shares(below: int) -> list[arb]:
            ratio = q.ball(PRECISION)
            masses = [ratio**m for m in range(below, 0, -1)] + [1 / (1 - ratio)]
            return [mass / sum(masses, arb(0)) for mass in masses]

        steps = []
        for weight in weights.tolist():
            below = max(weight - threshold, 0)
            outcome = self._follow(partial(shares, below))
            steps.append(outcome if outcome < below else below + self.geometric(rate))
        return np.array(steps, dtype=np.int64)

    def order(self, n: int) -> npt.NDArray[np.int64]:
        """Follow all n! orders, one place after another."""
        left = list(range(n))
        return np.array([left.pop(self.below(len(left))) for _ in range(n)], dtype=np.int64)

    def sample(self, offsets: npt.NDArray[np.int64], most: int) -> npt.NDArray[np.int64]:
        """Follow all subsets of `most` places of each block that has more, each once."""
        chosen: list[int] = []
        for start, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
            subsets = list(combinations(range(start, end), min(most, end - start)))
            chosen += subsets[self.below(len(subsets))]
        return np.array(chosen, dtype=np.int64)

    def bernoullis(
        self, weights: npt.NDArray[np.int64] | npt.NDArray[np.float64], unit: int, probability: MonotoneProbability
    ) -> npt.NDArray[np.bool_]:
        """Follow one Bernoulli draw for each positive weight."""
        refuse_non_weights(weights)
        exact = [Fraction(w) / unit for w in weights.tolist()]
        return np.array([w > 0 and self.bernoulli(probability.at(w)) for w in exact], dtype=bool)

    def _two_sided(self, weight: Callable[[int], Exp]) -> int:
        def shares() -> list[arb]:
            masses, z = [weight(0).ball(PRECISION)], 0
            while True:  # ratios of neighbours fall, so the mass beyond z is at most a geometric series
                z += 1
                mass, ratio = weight(z).ball(PRECISION), (weight(z + 1).ball(PRECISION) / weight(z).ball(PRECISION))
                masses += [mass, mass]
                if mass * ratio / (1 - ratio) < float(SMALLEST):
                    total = sum(masses, arb(0))
                    return [m / total for m in masses]

        outcome = self._follow(shares)
        return (outcome + 1) // 2 * (1 if outcome % 2 else -1)


def _two_shares(probability: Real) -> list[arb]:
    p = probability.ball(PRECISION)
    return [1 - p, p]


def _shares(weights: Weights, left: Sequence[int]) -> list[arb]:
    reference = max(weights.score(g) for g in range(len(weights)))
    masses = [weights.ratio(g, reference).ball(PRECISION) * n for g, n in enumerate(left)]
    total = sum(masses, arb(0))
    return [m / total for m in masses]


def law(run: Callable[[ExactDraws], Hashable], kind: type[ExactDraws] = ExactDraws) -> Law:
    """Compute the exact distribution of `run(draws)`: every answer with its probability as a ball.

    The draws are of this kind, which may follow more draws than those of the port.
    """
    draws = kind()
    distribution: Law = {}
    while True:
        answer = run(draws)
        with ctx.workprec(PRECISION):
            distribution[answer] = distribution.get(answer, arb(0)) + draws._probability()
        if not draws._advance():
            return distribution


def hockey_stick(law: Law, other: Law, epsilon: Fraction) -> arb:
    """Compute the supremum of law(S) - e^epsilon other(S) over sets S: the least delta, in this direction."""
    with ctx.workprec(PRECISION):
        factor = Exp(epsilon).ball(PRECISION)
        gaps = [p - factor * other.get(answer, arb(0)) for answer, p in law.items()]
        return sum((g for g in gaps if not g <= 0), arb(0))


class SeededBits:
    """Words repeat for a seed: they are SHAKE-256 of seed and counter."""

    def __init__(self, seed: int) -> None:
        self._seed, self._used = seed, 0

    def word(self) -> int:
        """Return one word."""
        return int(self.words(1)[0])

    def words(self, n: int) -> npt.NDArray[np.uint64]:
        """Return n words."""
        self._used += 1
        return np.frombuffer(shake_256(f"{self._seed}:{self._used}".encode()).digest(8 * n), dtype="<u8")


class SeededDraws(CertifiedDraws):
    """The real draws over bits that repeat: for tests and examples only."""

    def __init__(self, seed: int, *, slack_bits: int = SLACK_BITS) -> None:
        super().__init__(SeededBits(seed), secure=False, slack_bits=slack_bits)
