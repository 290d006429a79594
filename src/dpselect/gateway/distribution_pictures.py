"""The picture of many quantiles as SVG: steps of the share of users up to each value, and below them bars of shares."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from dpselect.gateway.shapes import BAR, LINE, TOP, WIDTH, Drawing, n, text
from dpselect.release.distribution import Bin, Distribution, percent

STEPS, BARS, SIDE = 130, 80, 40  # heights, and room for the scale
APART = 14
Across = Callable[[Fraction], str]
LINES = tuple(Fraction(share, 4) for share in range(5))


def steps(drawn: Distribution, wide: int = WIDTH) -> Drawing:
    """Both panels, on one scale of values."""
    bins = drawn.bins()
    low, high = bins[0].low, bins[-1].high
    scale = Fraction(wide - SIDE - 6) / (high - low)

    def across(value: Fraction) -> str:
        return n(SIDE + float((value - low) * scale))

    shapes = _steps(drawn, across, wide)
    top = TOP + STEPS + APART
    shapes += _bars(bins, across, top, wide)
    bottom = top + BARS + 16
    shapes += text(SIDE, bottom, f"{float(low):,g}") + text(wide, bottom, f"{float(high):,g}", "end")
    title = f"Shares of users up to {len(drawn.values):,} values, and within bars"
    return Drawing(title, drawn.words, shapes, bottom + 8, wide)


def _steps(drawn: Distribution, across: Across, wide: int) -> str:
    def up(share: Fraction) -> str:
        return n(TOP + STEPS * float(1 - share))

    shapes = "".join(_line(up(share), percent(share), wide) for share in LINES)
    path = f"M{across(drawn.values[0])} {up(drawn.shares[0])}"
    path += "".join(
        f"H{across(value)}V{up(share)}" for value, share in zip(drawn.values[1:], drawn.shares[1:], strict=True)
    )
    return shapes + f'<path class="path" d="{path}" fill="none" stroke="{BAR}" stroke-width="2.5"/>'


def _bars(bins: list[Bin], across: Across, top: int, wide: int) -> str:
    most = max(one.share for one in bins)
    shapes = _line(n(top), percent(most), wide) + _line(n(top + BARS), "0 %", wide)
    for one in bins:
        tall, left = BARS * float(one.share / most), float(across(one.low))
        size = f'width="{n(max(0.5, float(across(one.high)) - left - 1))}" height="{n(tall)}"'
        shapes += f'<rect class="bar" x="{n(left)}" y="{n(top + BARS - tall)}" {size} fill="{BAR}"/>'
    return shapes


def _line(y: str, said: str, wide: int) -> str:
    rule = f'<path class="rule" d="M{SIDE} {y}H{wide}" stroke="{LINE}"/>'
    return rule + text(SIDE - 6, float(y) + 4, said, "end", 11)
