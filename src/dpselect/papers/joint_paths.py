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
    """A block of ranks from `start` on; at its end at least `min_held` ranks are held."""

    start: int
    size: int
    min_held: int


@dataclass(frozen=True)
class Paths:
    """The k-sets of ranks with at least i of them below reach[i - 1]."""

    certain: int  # so many first ranks belong to every such set
    blocks: Sequence[Block]
    k: int

    @classmethod
    def from_reach(cls, reach: Sequence[int]) -> Paths:
        """Return the paths as blocks between the ranks where reach grows, after the last i with t_i = i."""
        k = len(reach)
        certain = max((i for i, t in enumerate(reach, 1) if t == i), default=0)
        blocks: list[Block] = []
        start = certain
        for i in range(certain + 1, k + 1):
            if i == k or reach[i] > reach[i - 1]:
                blocks.append(Block(start, reach[i - 1] - start, i))
                start = reach[i - 1]
        return cls(certain, blocks, k)

    @cached_property
    def walk(self) -> Walk | None:
        """A walk with these counts in floats, where that is faster and close enough."""
        left = [self.k - self.offset(j) for j in range(len(self.blocks))]
        if sum(n * min(b.size, n) for n, b in zip(left, self.blocks, strict=True)) < WORTH:
            return None
        return walk([b.size for b in self.blocks], [self.certain, *(b.min_held for b in self.blocks)])

    def tables(self, bits: int) -> list[arb_poly]:
        """P_0, ..., P_(last - 1), the coefficient s of P_j being P_j(s + must_j)."""
        tables, offset = [arb_poly([1])], self.certain
        with ctx.workprec(bits):
            for block in self.blocks[:-1]:
                grown = tables[-1] * _row(block.size, min(block.size, self.k - offset), bits)
                tables.append(grown.truncate(self.k - offset + 1).right_shift(block.min_held - offset))
                offset = block.min_held
        return tables

    def ways(self, tables: Sequence[arb_poly], j: int, s: int, bits: int) -> list[arb]:
        """Return by r the number of ways to hold s ranks after block j of which r are in it."""
        offset = self.offset(j)
        largest = min(self.blocks[j].size, s - offset)
        with ctx.workprec(bits):
            previous, row = tables[j].coeffs(), _row(self.blocks[j].size, largest, bits)
            return [
                previous[s - offset - r] * row[r] if s - offset - r < len(previous) else arb(0)
                for r in range(largest + 1)
            ]

    def offset(self, j: int) -> int:
        """Return the number of ranks that must be held before block j."""
        return self.blocks[j - 1].min_held if j else self.certain

    def count(self, bits: int) -> arb:
        """Return the ball of the number of sets."""
        if not self.blocks:
            return arb(1)
        last = len(self.blocks) - 1
        if bits <= BITS and self.walk:
            return self.walk.ways(last, self.k).sum()
        with ctx.workprec(bits):
            return sum(self.ways(self.tables(bits), last, self.k, bits), arb(0))

    def draw(self, draws: Draws) -> list[int]:
        """Draw one of the sets uniformly: the number in each block, from the last to the first, then which."""
        tables = lru_cache(maxsize=2)(self.tables)
        ranks, s = list(range(self.certain)), self.k
        for j in reversed(range(len(self.blocks))):
            block = self.blocks[j]
            least, greatest = max(0, s - block.start), min(block.size, s - self.offset(j))

            @lru_cache(maxsize=2)
            def ways(bits: int, j: int = j, s: int = s) -> list[arb]:
                return self.ways(tables(max(bits, EXACT_BITS)), j, s, bits)

            r = Halving.from_counts(ways, self.walk.ways(j, s) if self.walk else None, least, greatest).draw(draws)
            ranks += [block.start + rank for rank in subset(draws, block.size, r)]
            s -= r
        return ranks


@lru_cache(maxsize=4096)
def _row(n: int, largest: int, bits: int) -> arb_poly:
    """Return C(n, 0), ..., C(n, largest) as coefficients."""
    with ctx.workprec(bits):
        row = [arb(1)]
        for r in range(largest):
            row.append(row[-1] * (n - r) / (r + 1))
        return arb_poly(row)


@dataclass(frozen=True, eq=False)
class Halving:
    """Positive, log-concave numbers for r = least ... greatest: those that rise to `core`, each of it, those that fall.

    Both tails are families of `sample_product` whose numbers do not fall, the second one from its far end.
    """

    exact: Callable[[int], Sequence[arb]]
    close: Ways | None
    least: int
    greatest: int
    core: range

    @classmethod
    def from_counts(
        cls, exact: Callable[[int], Sequence[arb]], close: Ways | None, least: int, greatest: int
    ) -> Halving:
        """Return the numbers with all as core but for light tails, each certainly on one side of a larger number."""
        core = range(least, greatest + 1)
        if close and len(close.products) and greatest > least:
            first, best, last = close.core()
            first, last = max(first, least), min(last, greatest)
            if not (least < first and close.ball(first - 1) < close.ball(best)):
                first = least
            if not (last < greatest and close.ball(last + 1) < close.ball(best)):
                last = greatest
            core = range(first, last + 1)
        return cls(exact, close, least, greatest, core)

    @cached_property
    def families(self) -> list[range]:
        """The numbers of each family, in an order in which they do not fall."""
        rising, falling = range(self.least, self.core.start), range(self.greatest, self.core.stop - 1, -1)
        return [r for r in (rising, *(range(r, r + 1) for r in self.core), falling) if r]

    @cached_property
    def sizes(self) -> list[int]:
        """The number of candidates in each family."""
        return [len(r) for r in self.families]

    def fall(self, family: int, x: int, bits: int) -> arb:
        """Constant 1: only the rising factor varies."""
        return arb(1)

    def rise(self, family: int, x: int, bits: int) -> arb:
        """Return the number of a candidate."""
        r = self.families[family][x]
        return self.close.ball(r) if self.close and bits <= BITS else self.exact(bits)[r]

    def draw(self, draws: Draws) -> int:
        """Draw an r in proportion to its number."""
        if self.least == self.greatest:
            return self.least
        family, x = draws.sample_product(self)
        return self.families[family][x]
