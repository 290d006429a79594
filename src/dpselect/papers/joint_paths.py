"""Sets of ranks within a loss: counted, and drawn uniformly.

A set of k ranks has loss at most m exactly when at least i of its ranks are below t_i, for every i. Only the places
where t_i grows matter: between two of them lies a block of ranks, and at its end the set must hold at least so many.
P_j(s) is the number of ways to hold s ranks up to the end of block j while keeping all that must be held there, a
recursion of positive terms only, which a draw walks back:

    P_j(s) = sum over r of P_(j-1)(s - r) x C(b_j, r) for must_j <= s <= k.

The first look at these numbers is in floats between proved bounds (walk.py), the next at any precision (here). Proof:
docs/mechanisms/joint.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from flint import arb, arb_poly, ctx

from dpselect.draws import Draws
from dpselect.mechanisms.joint.ranked import subset
from dpselect.papers.joint_walk import BITS, Walk, Ways, walk

EXACT_BITS = 128  # at least, where floats do not suffice
WORTH = 10**5  # products of balls that cost more than the walk


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

    @cached_property
    def walk(self) -> Walk | None:
        """The same in floats, where that is faster and close enough."""
        left = [self.k - self.offset(j) for j in range(len(self.blocks))]
        if sum(n * min(b.size, n) for n, b in zip(left, self.blocks, strict=True)) < WORTH:
            return None
        return walk([b.size for b in self.blocks], [self.held, *(b.must for b in self.blocks)])

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
        last = len(self.blocks) - 1
        if bits <= BITS and self.walk:
            return self.walk.ways(last, self.k).sum()
        with ctx.workprec(bits):
            return sum(self.ways(self.tables(bits), last, self.k, bits), arb(0))

    def draw(self, draws: Draws) -> list[int]:
        """One of them, uniformly: how many in each block, from the last to the first, then which."""
        tables = lru_cache(maxsize=2)(self.tables)
        ranks, s = list(range(self.held)), self.k
        for j in reversed(range(len(self.blocks))):
            block = self.blocks[j]
            least, most = max(0, s - block.start), min(block.size, s - self.offset(j))

            @lru_cache(maxsize=2)
            def ways(bits: int, j: int = j, s: int = s) -> list[arb]:
                return self.ways(tables(max(bits, EXACT_BITS)), j, s, bits)

            r = Halving.of(ways, self.walk.ways(j, s) if self.walk else None, least, most).draw(draws)
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
class Halving:
    """Positive numbers for r = least ... most, log-concave: those that rise to `core`, each of it, those that fall.

    Both tails are families of `sample_product` whose numbers do not fall, the second one from its far end.
    """

    exact: Callable[[int], Sequence[arb]]
    close: Ways | None
    least: int
    most: int
    core: range

    @classmethod
    def of(cls, exact: Callable[[int], Sequence[arb]], close: Ways | None, least: int, most: int) -> Halving:
        """The core is all, but for tails that certainly lie on one side of a larger number, and are light."""
        core = range(least, most + 1)
        if close and len(close.products) and most > least:
            first, best, last = close.core()
            first, last = max(first, least), min(last, most)
            if not (least < first and close.ball(first - 1) < close.ball(best)):
                first = least
            if not (last < most and close.ball(last + 1) < close.ball(best)):
                last = most
            core = range(first, last + 1)
        return cls(exact, close, least, most, core)

    @cached_property
    def families(self) -> list[range]:
        """The numbers of each family, in an order in which they do not fall."""
        rising, falling = range(self.least, self.core.start), range(self.most, self.core.stop - 1, -1)
        return [r for r in (rising, *(range(r, r + 1) for r in self.core), falling) if r]

    @cached_property
    def sizes(self) -> list[int]:
        """How many there are in each."""
        return [len(r) for r in self.families]

    def fall(self, family: int, x: int, bits: int) -> arb:
        """Constant 1: only the rising factor varies."""
        return arb(1)

    def rise(self, family: int, x: int, bits: int) -> arb:
        """The number itself."""
        r = self.families[family][x]
        return self.close.ball(r) if self.close and bits <= BITS else self.exact(bits)[r]

    def draw(self, draws: Draws) -> int:
        """An r in proportion to its number."""
        if self.least == self.most:
            return self.least
        family, x = draws.sample_product(self)
        return self.families[family][x]
