"""The joint exponential mechanism over sets, and sets within a loss, counted and drawn uniformly.

A set of k ranks has loss at most m exactly when at least i of its ranks are below t_i, for every i. Only the places
where t_i grows matter: between two of them lies a block of ranks, and at its end the set must hold at least so many.
P_j(s) is the number of ways to hold s ranks up to the end of block j while keeping all that must be held there, a
recursion of positive terms only, which a draw walks back:

    P_j(s) = sum over r of P_(j-1)(s - r) x C(b_j, r) for must_j <= s <= k.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import lgamma
from typing import ClassVar

from flint import arb, arb_poly, ctx

from dpselect.draws import Draws, Levels
from dpselect.draws.loss_levels import cuts
from dpselect.mechanisms.joint.port import JointMechanism
from dpselect.mechanisms.joint.ranked import Ranked, subset
from dpselect.privacy import BoundedRange

BITS = 128


@dataclass(frozen=True, kw_only=True)
class JointSet(JointMechanism):
    """Select a set of k with probability in proportion to exp(-epsilon loss / (2 sensitivity)); it comes in no order.

    The loss of a set is max over i of (i-th largest count of all) - (i-th largest count in the set).

    Guarantee: epsilon-DP; as one epsilon-bounded-range step it is also epsilon^2/8-zCDP.
    Neighbors: add-remove, or replace-one (which halves the rate, since one count may rise and another fall).
    Sensitivity: one user adds at most `sensitivity` to every count, as many of them as they like, and moves the loss
        by at most as much; not always the same way, so the 2 stays.
    Exactness: the distribution is exact, ties included; counts are integers up to 2^53.
    Cost: one sort of the counts; then N(m), the number of sets within loss m, at some dozens of m, each in about
        k^2 steps, or k^3 where many items lie between the first k counts less m.
    Source: Gillenwater et al. 2021, Lemma 5. Ours: levels of loss drawn with positive weights
        only, which removes the obstacle of its section 5; proof on its page.
    Example:
        >>> JointSet(k=2, epsilon=4)([900, 5, 600, 7]).tolist()
        [0, 2]
    """

    step: ClassVar[type[BoundedRange]] = BoundedRange

    def ranks(self, among: Ranked, draws: Draws) -> list[int]:
        """The chosen ranks: a loss level, then a set within it."""
        ways = SetWays(among)
        rate = self.rate
        levels = Levels(rate, among.spread, ways, cuts(rate, among.spread, ways.log))
        loss = levels.loss(*draws.sample_product(levels))
        return ways.within(loss).draw(draws)


@dataclass(frozen=True)
class Block:
    """So many ranks from `start` on; at their end at least `must` are held."""

    start: int
    size: int
    must: int


@dataclass(frozen=True)
class Paths:
    """The k-sets of ranks with at least i of them below reach[i - 1]."""

    held: int  # so many first ranks belong to every such set
    blocks: Sequence[Block]
    k: int

    @classmethod
    def of(cls, reach: Sequence[int]) -> Paths:
        """Blocks between the places where reach grows, after the last i with t_i = i."""
        k = len(reach)
        held = max((i for i, t in enumerate(reach, 1) if t == i), default=0)
        blocks: list[Block] = []
        start = held
        for i in range(held + 1, k + 1):
            if i == k or reach[i] > reach[i - 1]:
                blocks.append(Block(start, reach[i - 1] - start, i))
                start = reach[i - 1]
        return cls(held, blocks, k)

    def tables(self, bits: int) -> list[arb_poly]:
        """P_0, ..., P_(last - 1), the coefficient s of P_j being P_j(s + must_j)."""
        tables, offset = [arb_poly([1])], self.held
        with ctx.workprec(bits):
            for block in self.blocks[:-1]:
                grown = tables[-1] * _row(block.size, min(block.size, self.k - offset), bits)
                tables.append(grown.truncate(self.k - offset + 1).right_shift(block.must - offset))
                offset = block.must
        return tables

    def ways(self, tables: Sequence[arb_poly], j: int, s: int, bits: int) -> list[arb]:
        """By r, the number of ways to hold s ranks after block j of which r lie in it."""
        offset = self.offset(j)
        most = min(self.blocks[j].size, s - offset)
        with ctx.workprec(bits):
            before, row = tables[j].coeffs(), _row(self.blocks[j].size, most, bits)
            return [
                before[s - offset - r] * row[r] if s - offset - r < len(before) else arb(0) for r in range(most + 1)
            ]

    def offset(self, j: int) -> int:
        """What must be held before block j."""
        return self.blocks[j - 1].must if j else self.held

    def count(self, bits: int) -> arb:
        """The ball of their number."""
        if not self.blocks:
            return arb(1)
        with ctx.workprec(bits):
            return sum(self.ways(self.tables(bits), len(self.blocks) - 1, self.k, bits), arb(0))

    def draw(self, draws: Draws) -> list[int]:
        """One of them, uniformly: how many in each block, from the last to the first, then which."""
        tables = lru_cache(maxsize=2)(self.tables)
        ranks, s = list(range(self.held)), self.k
        for j in reversed(range(len(self.blocks))):

            def ways(bits: int, j: int = j, s: int = s) -> list[arb]:
                return self.ways(tables(max(bits, BITS)), j, s, bits)

            block, r = self.blocks[j], _one_of(draws, ways)
            ranks += [block.start + place for place in subset(draws, block.size, r)]
            s -= r
        return ranks


@lru_cache(maxsize=4096)
def _row(n: int, most: int, bits: int) -> arb_poly:
    """C(n, 0), ..., C(n, most) as coefficients."""
    with ctx.workprec(bits):
        row = [arb(1)]
        for r in range(most):
            row.append(row[-1] * (n - r) / (r + 1))
        return arb_poly(row)


@dataclass(frozen=True, eq=False)
class _Listed:
    """The possible ones among a list of numbers, each a family of its own."""

    numbers: Callable[[int], Sequence[arb]]

    @cached_property
    def indices(self) -> list[int]:
        return [i for i, n in enumerate(self.numbers(BITS)) if not n == 0]  # noqa: SIM201 - a ball may be neither

    @property
    def sizes(self) -> list[int]:
        return [1] * len(self.indices)

    def fall(self, family: int, x: int, bits: int) -> arb:
        """Constant 1: only the rising factor varies."""
        return arb(1)

    def rise(self, family: int, x: int, bits: int) -> arb:
        """The number itself."""
        return self.numbers(bits)[self.indices[family]]


def _one_of(draws: Draws, numbers: Callable[[int], Sequence[arb]]) -> int:
    """An index in proportion to its number."""
    listed = _Listed(lru_cache(maxsize=4)(numbers))
    if len(listed.indices) == 1:
        return listed.indices[0]
    return listed.indices[draws.sample_product(listed)[0]]


@dataclass(frozen=True, eq=False)
class SetWays:
    """N(m): how many k-sets have a loss of at most m."""

    among: Ranked

    def __call__(self, loss: int, bits: int) -> arb:
        """The ball of N(loss)."""
        return self.within(loss).count(bits)

    def within(self, loss: int) -> Paths:
        """The sets themselves."""
        return Paths.of(self.among.reach(loss))

    def log(self, loss: int) -> float:
        """A rough upper bound of ln N(loss): all sets within the first t_k."""
        n, k = self.among.reach(loss)[-1], self.among.k
        return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
