"""The law of permute-and-flip over layers in closed form: integrals of polynomials.

Where n(L) answers have the loss L, one of them is the answer with probability p(L) x integral over [0, 1] of
Phi(u) / (1 - p(L) u), Phi(u) being the product of all (1 - p(L) u)^n(L): a polynomial, since n(L) > 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb, arb_poly, ctx

from dpselect.draws.flip import Coins
from dpselect.draws.levels import power

PRECISION = 256


def flip_law(coins: Coins, layers: Sequence[tuple[int, int]]) -> list[arb]:
    """The probability of each layer.

    Layers that hold the same answers may share their probability in any way: it is given to the first of them.
    """
    with ctx.workprec(PRECISION):
        edges = [coins.layer(f, x) for f, x in layers]
        rises = [_whole(coins.rise(f, x, PRECISION)) for f, x in layers]
        numbers: dict[int, int] = {}
        for (start, end), n in zip(edges, rises, strict=True):
            numbers[start] = numbers.get(start, 0) + n
            if end is not None:
                numbers[end] = numbers.get(end, 0) - n
        losses = sorted(loss for loss, n in numbers.items() if n)
        single = {loss: _single(loss, losses, numbers, coins) for loss in losses}

        def at(loss: int | None) -> arb:
            later = [x for x in losses if loss is not None and x >= loss]
            return single[later[0]] if later else arb(0)

        return [n * (at(start) - at(end)) for (start, end), n in zip(edges, rises, strict=True)]


def _single(loss: int, losses: Sequence[int], numbers: dict[int, int], coins: Coins) -> arb:
    product = arb_poly([1])
    for other in losses:
        product *= arb_poly([1, -power(-coins.rate * other, PRECISION)]) ** (numbers[other] - (other == loss))
    return power(-coins.rate * loss, PRECISION) * product.integral()(arb(1))


def _whole(ball: arb) -> int:
    number = ball.unique_fmpz()
    if number is None:
        raise ValueError("a number of answers must be known to the last digit here")
    return int(number)
