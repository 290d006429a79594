"""Certified quantiles for several shares of epsilon, against quantiles alone: what is missed, what is stated, coverage.

Stated is, for each value, the larger of too_many_below and too_many_above; of quantiles alone the bound that holds for
any data. Values: lognormal ones, ages, stars, and where they are at hand numbers of plays (lastfm) and times (ml100k).
"""

from __future__ import annotations

import argparse
from fractions import Fraction
from unittest.mock import patch

import numpy as np
from inputs import Floats
from measure import single_threaded, table
from quantile_bounds import values

from dpselect.aggregates.value_counts import UsersAt
from dpselect.mechanisms import CertifiedQuantiles, certified_quantiles
from dpselect.testing import SeededDraws

BETA = 0.05
Misses = list[tuple[float, float]]


def missed(ordered: Floats, answer: list[float], q: list[Fraction]) -> Misses:
    """How many too many lie below each value, and above."""
    n, wanted = len(ordered), np.array([float(one) for one in q]) * len(ordered)
    low, high = ordered.searchsorted(answer, "left"), n - ordered.searchsorted(answer, "right")
    return list(zip((low - wanted).tolist(), (high - (n - wanted)).tolist(), strict=True))


def row(name: str, ordered: Floats, m: int, share: Fraction, options: argparse.Namespace) -> list[str]:
    """What one share comes to; a share of 0 is quantiles alone."""
    q = [Fraction(i, m + 1) for i in range(1, m + 1)]
    bounds, step = options.bounds
    with patch.object(certified_quantiles, "SHARE", share or Fraction(1, 10)):
        made = CertifiedQuantiles(q=q, bounds=bounds, step=step, epsilon=options.epsilon)
    alone = made.kind(q=q, bounds=bounds, step=step, epsilon=options.epsilon) if made.kind else None
    users = UsersAt.counted(np.sort(made.grid.indices_of(ordered)))
    far, stated, worst, held = [], [], [], 0
    for seed in range(options.repeats):
        draws = SeededDraws(seed)
        if not share and alone is not None:
            most = float(alone.gap(BETA))
            true, bound = missed(ordered, alone(users, draws=draws), q), [(most, most)] * m
        else:
            answer = made(users, draws=draws)
            true, bound = missed(ordered, list(answer.values), q), made.too_many(answer, BETA)
        far += [max(0.0, *one) for one in true]
        stated += [max(one) for one in bound]
        worst.append(max(max(one) for one in bound))
        held += all(a <= b and c <= d for (a, c), (b, d) in zip(true, bound, strict=True))
    numbers = (np.mean(far), np.mean(stated), np.median(worst))
    return [name, f"{m}", f"{float(share):g}", *(f"{one:.3g}" for one in numbers), f"{held / options.repeats:.3g}"]


def main() -> None:
    """One table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=20_000)
    parser.add_argument("--m", type=int, nargs="+", default=[1, 3, 9])
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--repeats", type=int, default=100)
    options, lines = parser.parse_args(), []
    for name, (x, bounds, step) in values(options.n).items():
        options.bounds = bounds, step
        for m in options.m:
            for share in (Fraction(0), Fraction(1, 20), Fraction(1, 10), Fraction(1, 5)):
                lines.append(row(name, np.sort(x), m, share, options))
    table(["values", "quantiles", "share", "mean miss", "mean stated", "largest stated", "held"], lines)


if __name__ == "__main__":
    single_threaded()
    main()
