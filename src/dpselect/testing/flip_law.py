"""The distribution of permute-and-flip over layers in closed form: integrals of polynomials.

Where n(L) answers have the loss L, each of them is chosen with probability p(L) x integral over [0, 1] of
Phi(u) / (1 - p(L) u), Phi(u) being the product of all (1 - p(L) u)^n(L): a polynomial, since n(L) > 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flint import arb, arb_poly, ctx

from dpselect.draws.loss_levels import power
from dpselect.draws.port import Layers

PRECISION = 256


def flip_law(layers: Layers, every: Sequence[tuple[int, int]]) -> list[arb]:
    """Compute the probability of each layer.

    Layers that hold the same answers may divide their probability in any way: it is given to the first of them.
    """
    with ctx.workprec(PRECISION):
        edges = [layers.layer(f, x) for f, x in every]
        rises = [_integer(layers.rise(f, x, PRECISION)) for f, x in every]
        numbers: dict[int, int] = {}
        for (start, end), n in zip(edges, rises, strict=True):
            numbers[start] = numbers.get(start, 0) + n
            if end is not None:
                numbers[end] = numbers.get(end, 0) - n
        losses = sorted(loss for loss, n in numbers.items() if n)
        single = {loss: _single(loss, losses, numbers, layers.rate) for loss in losses}

        def at(loss: int | None) -> arb:
            later = [x for x in losses if loss is not None and x >= loss]
            return single[later[0]] if later else arb(0)

        return [n * (at(start) - at(end)) for (start, end), n in zip(edges, rises, strict=True)]


def _single(loss: int, losses: Sequence[int], numbers: dict[int, int], rate: Fraction) -> arb:
    product = arb_poly([1])
    for other in losses:
        product *= arb_poly([1, -power(-rate * other, PRECISION)]) ** (numbers[other] - (other == loss))
    return power(-rate * loss, PRECISION) * product.integral()(arb(1))


def _integer(ball: arb) -> int:
    number = ball.unique_fmpz()
    if number is None:
        raise ValueError("a number of answers must be exact here")
    return int(number)
