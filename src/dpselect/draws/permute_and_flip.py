"""Permute-and-flip among very many answers: first one common height, then one exact draw at that height.

Make a Bernoulli draw of probability p_S for each answer S and take a uniform one of those that succeed: S is chosen
with probability the integral over u in [0, 1] of Phi(u) p_S / (1 - p_S u), where Phi(u) is the product of all
1 - p_S u (McKenna and Sheldon 2020). Since the sum of p_S / (1 - p_S u) is -Phi'(u) / Phi(u), this is: draw u with
P(u > v) = Phi(v), then S with mass p_S / (1 - p_S u). So u = Phi^-1(V) for a uniform V whose bits are drawn as needed,
known between bounds that more bits, and more cells of the envelope, bring together. Most draws need few of either:
where many answers compete, u is small and the masses hardly depend on it: then one envelope serves to find u and to
draw S. Proof: docs/exact-draws.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from flint import arb, ctx

from dpselect._ground.reals import enclose
from dpselect.draws.core import Core
from dpselect.draws.loss_levels import power
from dpselect.draws.monotone_categorical import REJECTION_RATE, FamilyCell, first_cells, log2, refined, sample_product
from dpselect.draws.port import Layers

BITS = 96
LOW = 2.0**-10  # a height below this counts as low
REJECTION_BITS = 1  # the envelope that bounds Phi is as coarse as for a draw at first, finer where more bits are asked


def flip(core: Core, layers: Layers) -> tuple[int, int]:
    """Draw the layer of the answer."""
    height = _Height(core, layers)
    return sample_product(core, _AtHeight(layers, height), height.envelope())


@dataclass(frozen=True)
class _Layer:
    """A layer has p = p(L), q = p(L') and their gaps to 1 and to each other, without cancellation."""

    p: arb
    under_p: arb
    q: arb
    under_q: arb
    gap: arb

    @classmethod
    def of(cls, layers: Layers, family: int, x: int, bits: int) -> _Layer:
        """Make the layer of a candidate."""
        start, end = layers.layer(family, x)
        with ctx.workprec(bits):
            at, p = enclose(-layers.rate * start), power(-layers.rate * start, bits)
            if end is None:
                return cls(p, -at.expm1(), arb(0), arb(1), p)
            below = enclose(-layers.rate * end)
            return cls(p, -at.expm1(), below.exp(), -below.expm1(), -p * enclose(-layers.rate * (end - start)).expm1())

    def mass(self, rest: arb) -> arb:
        """Compute p / (1 - p u) - q / (1 - q u) at u = 1 - rest."""
        return self.gap / ((self.under_p + self.p * rest) * (self.under_q + self.q * rest))

    def log(self, s: arb) -> arb:
        """Compute ln((1 - q u) / (1 - p u)) = ln(1 + (p - q) u / (1 - p u)) at u = e^-s."""
        return (self.gap * (-s).exp() / (self.under_p - self.p * (-s).expm1())).log1p()


@dataclass(frozen=True, eq=False)
class _AtHeight:
    """At height u an answer weighs p / (1 - p u), so a layer weighs the difference at its two ends."""

    layers: Layers
    height: _Height

    @property
    def sizes(self) -> Sequence[int]:
        return self.layers.sizes

    def fall(self, family: int, x: int, bits: int) -> arb:
        """Bound p / (1 - p u) - p' / (1 - p' u), which never rises with the loss, by convexity, and rises with u."""
        bits = max(bits, BITS)
        low, high = self.height.ends(bits)
        with ctx.workprec(bits):
            layer = _Layer.of(self.layers, family, x, bits)
            return layer.mass(low).union(layer.mass(high))

    def rise(self, family: int, x: int, bits: int) -> arb:
        """Return the number of answers in a layer; unchanged by conditioning on the height."""
        return self.layers.rise(family, x, bits)


class _Height:
    """The height u = Phi^-1(V) is held as bounds of 1 - u."""

    def __init__(self, core: Core, layers: Layers) -> None:
        self.core, self.layers = core, layers
        self.value, self.bits = 0, 0  # V lies between value / 2^bits and (value + 1) / 2^bits
        self.cells = first_cells(layers)
        self.known: dict[int, tuple[arb, arb]] = {}

    def envelope(self) -> list[FamilyCell] | None:
        """Return bounds of what layers weigh at this height, from those that they weigh at height 0, where it is low.

        A layer of p - q = unit x fall weighs p / (1 - p u) - q / (1 - q u) = (p - q) / ((1 - p u) (1 - q u)), at most
        (p - q) / (1 - u)^2.
        """
        rest, _ = self.ends(BITS)
        if not 1 - rest < LOW:
            return None
        with ctx.workprec(BITS):
            more = self.unit() / (rest * rest)
            higher = log2(more)
            return [replace(c, bound=c.bound * more, log_area=c.log_area + higher) for c in self.cells]

    def unit(self) -> arb:
        """Return how often the fall of a layer goes into its p - q, which is the same for all."""
        one = self.cells[0]
        return _Layer.of(self.layers, one.family, one.first, BITS).gap / self.layers.fall(one.family, one.first, BITS)

    def ends(self, bits: int) -> tuple[arb, arb]:
        """Return two positive numbers (exact, as tiny balls) between which 1 - u lies."""
        if bits not in self.known:
            while self.bits < bits or self.value in (0, (1 << self.bits) - 1):
                self.value, self.bits = self.value << 64 | self.core.source.word(), self.bits + 64
            rate_bits = max(REJECTION_BITS, (bits - BITS) // 6)
            rate = REJECTION_RATE if rate_bits == REJECTION_BITS else 2.0**-rate_bits
            self.cells = refined(self.layers, self.cells, rate)
            with ctx.workprec(max(bits, self.bits)):
                self.known[bits] = self._solved(bits, rate_bits + 8)
        return self.known[bits]

    def _solved(self, bits: int, close: int) -> tuple[arb, arb]:
        """Find u = e^-s between the two s at which a bound of -ln Phi is certain to be on one side of -ln V."""
        low, high = (-enclose(Fraction(self.value + i, 1 << self.bits)).log() for i in (1, 0))
        if bits <= BITS:
            unit = self.unit()
            most = unit * sum((cell.bound * cell.width for cell in self.cells), arb(0))
            least = unit * sum((cell.least * cell.width for cell in self.cells), arb(0))
            if high / least < LOW:  # and -ln Phi lies between u least and u most / (1 - u)
                return 1 - high / least, 1 - low / (most + low)
        parts = [_Contribution(self.layers, c, bits) for c in self.cells]
        top = arb(1)
        while not sum((part.most(top) for part in parts), arb(0)) < low:
            top *= 2
        far = _last(top, close, lambda s: not sum((part.most(s) for part in parts), arb(0)) < low)
        near = _last(far[1], close, lambda s: bool(sum((part.least(s) for part in parts), arb(0)) > high))
        return -(-near[0]).expm1(), -(-far[1]).expm1()


def _last(top: arb, close: int, holds: Callable[[arb], bool]) -> tuple[arb, arb]:
    """Bisect [0, top] until its ends are within 2^-close: (a place where it holds, a later one where it does not)."""
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


class _Contribution:
    """Bounds on one cell's contribution to -ln Phi(e^-s), which is rise * ln((1 - p' u) / (1 - p u)) for each layer."""

    def __init__(self, layers: Layers, cell: FamilyCell, bits: int) -> None:
        self.width = cell.width
        self.first = _Layer.of(layers, cell.family, cell.first, bits)
        self.last = self.first if cell.width == 1 else _Layer.of(layers, cell.family, cell.last, bits)
        self.rise = cell.rise if bits <= BITS else layers.rise(cell.family, cell.last, bits)
        before = cell.first - 1 if cell.first else 0
        self.base = cell.base if bits <= BITS else layers.rise(cell.family, before, bits)
        if cell.width == 1:
            self.base = self.rise

    def most(self, s: arb) -> arb:
        """Return an upper bound: each layer counted as the first, with as many answers as the last."""
        return self.width * self.rise * self.first.log(s)

    def least(self, s: arb) -> arb:
        """Return a lower bound: each layer counted as the last, with as many answers as the first."""
        return self.width * self.base * self.last.log(s)
