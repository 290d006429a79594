"""Permute-and-flip among very many: a height for all coins first, then one exact draw at that height.

Flip a coin of probability p_S for each answer S and take a uniform one of the heads: S comes with probability
the integral over u in [0, 1] of Phi(u) p_S / (1 - p_S u), where Phi(u) is the product of all 1 - p_S u (McKenna and
Sheldon 2020). Since the sum of p_S / (1 - p_S u) is -Phi'(u) / Phi(u), this is: draw u with P(u > v) = Phi(v), then S
with mass p_S / (1 - p_S u). So u = Phi^-1(V) for a uniform V whose bits are drawn as needed, known between bounds that
more bits, and more cells of the staircase, bring together. Most draws need few of either: where many answers
compete, u is small and the masses hardly depend on it. Proof: docs/exact-draws.md, section "Flip".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from flint import arb, ctx

from dpselect.draws.levels import power
from dpselect.draws.staircase import Cell, Masses, first_cells, refined
from dpselect.reals import enclose

if TYPE_CHECKING:
    from dpselect.draws.certified import CertifiedDraws

BITS = 96
AIR_BITS = 1  # the share of air in the staircase that bounds Phi is 2^-1 at first, less where more bits are asked


class Coins(Masses, Protocol):
    """Masses whose candidates are layers: rise(f, x) answers, between two losses L < L' (None: no end).

    With p(L) = e^(-rate L), an answer's coin falls heads with probability the sum of p(L) - p(L') over the layers that
    hold it, where these follow one another. The fall of a layer is p(L) - p(L') times one constant; the loss of
    at least one answer is 0.
    """

    @property
    def rate(self) -> Fraction:
        """What a loss is multiplied with."""
        ...

    def layer(self, family: int, x: int) -> tuple[int, int | None]:
        """L and L'."""
        ...


def flip(draws: CertifiedDraws, coins: Coins) -> tuple[int, int]:
    """The layer of the answer."""
    return draws.among(_AtHeight(coins, _Height(draws, coins)))


@dataclass(frozen=True)
class _Layer:
    """p = p(L), q = p(L') and their gaps to 1 and to each other, without cancellation."""

    p: arb
    under_p: arb
    q: arb
    under_q: arb
    gap: arb

    @classmethod
    def of(cls, coins: Coins, family: int, x: int, bits: int) -> _Layer:
        """The layer of a candidate."""
        start, end = coins.layer(family, x)
        with ctx.workprec(bits):
            at, p = enclose(-coins.rate * start), power(-coins.rate * start, bits)
            if end is None:
                return cls(p, -at.expm1(), arb(0), arb(1), p)
            below = enclose(-coins.rate * end)
            return cls(p, -at.expm1(), below.exp(), -below.expm1(), -p * enclose(-coins.rate * (end - start)).expm1())

    def mass(self, rest: arb) -> arb:
        """p / (1 - p u) - q / (1 - q u) at u = 1 - rest."""
        return self.gap / ((self.under_p + self.p * rest) * (self.under_q + self.q * rest))

    def log(self, s: arb) -> arb:
        """ln((1 - q u) / (1 - p u)) = ln(1 + (p - q) u / (1 - p u)) at u = e^-s."""
        return (self.gap * (-s).exp() / (self.under_p - self.p * (-s).expm1())).log1p()


@dataclass(frozen=True, eq=False)
class _AtHeight:
    """The masses at height u: an answer weighs p / (1 - p u), so a layer the difference at its two ends."""

    coins: Coins
    height: _Height

    @property
    def sizes(self) -> Sequence[int]:
        return self.coins.sizes

    def fall(self, family: int, x: int, bits: int) -> arb:
        """p / (1 - p u) - p' / (1 - p' u). It never rises with the loss, being convex in it, and rises with u."""
        bits = max(bits, BITS)
        low, high = self.height.ends(bits)
        with ctx.workprec(bits):
            layer = _Layer.of(self.coins, family, x, bits)
            return layer.mass(low).union(layer.mass(high))

    def rise(self, family: int, x: int, bits: int) -> arb:
        """As before."""
        return self.coins.rise(family, x, bits)


class _Height:
    """1 - u, where u = Phi^-1(V)."""

    def __init__(self, draws: CertifiedDraws, coins: Coins) -> None:
        self.draws, self.coins = draws, coins
        self.value, self.bits = 0, 0  # V lies between value / 2^bits and (value + 1) / 2^bits
        self.cells = first_cells(coins)
        self.known: dict[int, tuple[arb, arb]] = {}

    def ends(self, bits: int) -> tuple[arb, arb]:
        """Two positive numbers (exact, as tiny balls) between which 1 - u lies."""
        if bits not in self.known:
            while self.bits < bits or self.value in (0, (1 << self.bits) - 1):
                self.value, self.bits = self.value << 64 | self.draws.source.word(), self.bits + 64
            air = max(AIR_BITS, (bits - BITS) // 6)
            self.cells = refined(self.coins, self.cells, 2.0**-air)
            with ctx.workprec(max(bits, self.bits)):
                self.known[bits] = self._solved(bits, air + 8)
        return self.known[bits]

    def _solved(self, bits: int, close: int) -> tuple[arb, arb]:
        """u = e^-s lies between the s where a bound of -ln Phi is certain to be on one side of -ln V."""
        low, high = (-enclose(Fraction(self.value + i, 1 << self.bits)).log() for i in (1, 0))
        walls = [_Wall(self.coins, c, bits) for c in self.cells]
        top = arb(1)
        while not sum((w.most(top) for w in walls), arb(0)) < low:
            top *= 2
        far = _last(top, close, lambda s: not sum((w.most(s) for w in walls), arb(0)) < low)
        near = _last(far[1], close, lambda s: bool(sum((w.least(s) for w in walls), arb(0)) > high))
        return -(-near[0]).expm1(), -(-far[1]).expm1()


def _last(top: arb, close: int, holds: Callable[[arb], bool]) -> tuple[arb, arb]:
    """Halving [0, top] until its ends are within 2^-close: (a place where it holds, a later one where it does not)."""
    low, high = arb(0), top
    for _ in range(2 * ctx.prec):
        if low > 0 and high < low * (1 + arb(2) ** -close):
            break
        middle = ((low + high) / 2).mid()
        if holds(middle):
            low = middle
        else:
            high = middle
    return low, high


class _Wall:
    """What a cell adds to -ln Phi at u = e^-s: rise x ln((1 - p' u) / (1 - p u)) for each layer, between two bounds."""

    def __init__(self, coins: Coins, cell: Cell, bits: int) -> None:
        self.width = cell.width
        self.first = _Layer.of(coins, cell.family, cell.first, bits)
        self.last = self.first if cell.width == 1 else _Layer.of(coins, cell.family, cell.last, bits)
        self.rise = cell.rise if bits <= BITS else coins.rise(cell.family, cell.last, bits)
        before = cell.first - 1 if cell.first else 0
        self.base = cell.base if bits <= BITS else coins.rise(cell.family, before, bits)
        if cell.width == 1:
            self.base = self.rise

    def most(self, s: arb) -> arb:
        """All layers as the first, of as many answers as the last."""
        return self.width * self.rise * self.first.log(s)

    def least(self, s: arb) -> arb:
        """All layers as the last, of as many answers as the first."""
        return self.width * self.base * self.last.log(s)
