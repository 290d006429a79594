"""Sets of ranks within a loss: counted, and drawn uniformly.

A set of k ranks has loss at most m exactly when at least i of its ranks are below t_i, for every i. Only the positions
where t_i grows matter: between two of them lies a block of ranks, and at its end the set must hold at least so many.
P_j(s) is the number of ways to hold s ranks up to the end of block j while keeping all that must be held there, a
recursion of positive terms only, which a draw walks back:

    P_j(s) = sum over r of P_(j-1)(s - r) x C(b_j, r) for minimum_j <= s <= k.

The first look at these numbers is in floats between proved bounds (walk.py), the next at any precision (here). Proof:
docs/mechanisms/joint.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache

from flint import arb, arb_poly, ctx

from dpselect._ground.dataclass import dataclass
from dpselect.draws import Draws
from dpselect.mechanisms.joint.ranked import subset
from dpselect.papers.joint_walk import BITS, Walk, Ways, walk

_EXACT_BITS = 128  # at least, where floats do not suffice
WORTH = 10**5  # products of balls that cost more than the walk


@dataclass(frozen=True)
class Block:
    """A block of ranks from `start` on, at the end of which at least `minimum` are held."""

    start: int
    size: int
    minimum: int


@dataclass(frozen=True)
class Paths:
    """The k-sets of ranks with at least i of them below reach[i - 1]."""

    first_rank_count: int  # the number of first ranks that belong to every such set
    blocks: Sequence[Block]
    k: int

    @classmethod
    def from_reach(cls, reach: Sequence[int]) -> Paths:
        """Return the blocks between the positions where reach grows, after the last i with t_i = i."""
        k = len(reach)
        first_rank_count = max((i for i, t in enumerate(reach, 1) if t == i), default=0)
        blocks: list[Block] = []
        start = first_rank_count
        for i in range(first_rank_count + 1, k + 1):
            if i == k or reach[i] > reach[i - 1]:
                blocks.append(Block(start, reach[i - 1] - start, i))
                start = reach[i - 1]
        return cls(first_rank_count, blocks, k)

    @cached_property
    def walk(self) -> Walk | None:
        """A walk in floats over these sets, or None if that is not faster or not close enough."""
        left = [self.k - self.offset(j) for j in range(len(self.blocks))]
        if sum(n * min(b.size, n) for n, b in zip(left, self.blocks, strict=True)) < WORTH:
            return None
        return walk([b.size for b in self.blocks], [self.first_rank_count, *(b.minimum for b in self.blocks)])

    def tables(self, bits: int) -> list[arb_poly]:
        """Return P_0, ..., P_(last - 1), the coefficient s of P_j being P_j(s + minimum_j)."""
        tables, offset = [arb_poly([1])], self.first_rank_count
        with ctx.workprec(bits):
            for block in self.blocks[:-1]:
                grown = tables[-1] * _binomial_row(block.size, min(block.size, self.k - offset), bits)
                tables.append(grown.truncate(self.k - offset + 1).right_shift(block.minimum - offset))
                offset = block.minimum
        return tables

    def ways(self, tables: Sequence[arb_poly], j: int, s: int, bits: int) -> list[arb]:
        """Return for each r the number of ways to hold s ranks after block j of which r lie in it."""
        offset = self.offset(j)
        largest = min(self.blocks[j].size, s - offset)
        with ctx.workprec(bits):
            coefficients, row = tables[j].coeffs(), _binomial_row(self.blocks[j].size, largest, bits)
            return [
                coefficients[s - offset - r] * row[r] if s - offset - r < len(coefficients) else arb(0)
                for r in range(largest + 1)
            ]

    def offset(self, j: int) -> int:
        """Return the number of ranks that must be held before block j."""
        return self.blocks[j - 1].minimum if j else self.first_rank_count

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
        """Draw a set uniformly: the number in each block, from the last to the first, then the members."""
        tables = lru_cache(maxsize=2)(self.tables)
        ranks, s = list(range(self.first_rank_count)), self.k
        for j in reversed(range(len(self.blocks))):
            block = self.blocks[j]
            smallest, largest = max(0, s - block.start), min(block.size, s - self.offset(j))

            @lru_cache(maxsize=2)
            def ways(bits: int, j: int = j, s: int = s) -> list[arb]:
                return self.ways(tables(max(bits, _EXACT_BITS)), j, s, bits)

            r = Halving.with_core(ways, self.walk.ways(j, s) if self.walk else None, smallest, largest).draw(draws)
            ranks += [block.start + member for member in subset(draws, block.size, r)]
            s -= r
        return ranks


@lru_cache(maxsize=4096)
def _binomial_row(n: int, largest: int, bits: int) -> arb_poly:
    """Return C(n, 0), ..., C(n, largest) as coefficients."""
    with ctx.workprec(bits):
        row = [arb(1)]
        for r in range(largest):
            row.append(row[-1] * (n - r) / (r + 1))
        return arb_poly(row)


@dataclass(frozen=True, eq=False)
class Halving:
    """Positive log-concave numbers for r = least ... most: those that rise to `core`, each of it, those that fall.

    Both tails are families of `sample_product` whose numbers do not fall, the second one from its far end.
    """

    exact: Callable[[int], Sequence[arb]]
    close: Ways | None
    smallest: int
    largest: int
    core: range

    @classmethod
    def with_core(
        cls, exact: Callable[[int], Sequence[arb]], close: Ways | None, smallest: int, largest: int
    ) -> Halving:
        """Choose the core: all but tails that certainly lie on one side of a larger number, and are light."""
        core = range(smallest, largest + 1)
        if close and len(close.products) and largest > smallest:
            first, best, last = close.core()
            first, last = max(first, smallest), min(last, largest)
            if not (smallest < first and close.ball(first - 1) < close.ball(best)):
                first = smallest
            if not (last < largest and close.ball(last + 1) < close.ball(best)):
                last = largest
            core = range(first, last + 1)
        return cls(exact, close, smallest, largest, core)

    @cached_property
    def families(self) -> list[range]:
        """The numbers of each family, in an order in which they do not fall."""
        rising, falling = range(self.smallest, self.core.start), range(self.largest, self.core.stop - 1, -1)
        return [r for r in (rising, *(range(r, r + 1) for r in self.core), falling) if r]

    @cached_property
    def sizes(self) -> list[int]:
        """The sizes of the families."""
        return [len(r) for r in self.families]

    def fall(self, family: int, x: int, bits: int) -> arb:
        """Return 1: only the rising factor varies."""
        return arb(1)

    def rise(self, family: int, x: int, bits: int) -> arb:
        """Return the number of a candidate."""
        r = self.families[family][x]
        return self.close.ball(r) if self.close and bits <= BITS else self.exact(bits)[r]

    def draw(self, draws: Draws) -> int:
        """Draw an r in proportion to its number."""
        if self.smallest == self.largest:
            return self.smallest
        family, x = draws.sample_product(self)
        return self.families[family][x]
