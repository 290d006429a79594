"""Quantiles without bounds: the mean error in ranks beside bounds that somebody knows, good ones and too wide ones.

Beside them two ways to find bounds: a quarter of epsilon for each of two extreme quantiles between which the rest is
then spent, and for one quantile the search of Durfee (2023) in floats, not private as it stands: thresholds 1.001^i in
growing order with exponential noise, of which the first is taken that enough values lie below.
Values: lognormal ones, ages, ratings of 0 to 4 stars, and where they are at hand numbers of plays (lastfm) and times in
seconds since 1970 (ml100k), drawn from all rows.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import duckdb
import numpy as np
from inputs import DATA, Floats
from measure import single_threaded, table

from dpselect.mechanisms import Quantile
from dpselect.mechanisms.recursive_quantiles import better_for
from dpselect.testing import SeededDraws

STARS = (0.08, 0.05, 0.12, 0.25, 0.5)
BASE, ENDS = 1.001, (Fraction(1, 50), Fraction(49, 50))
Bounds = tuple[Fraction, Fraction]
Contender = Callable[[Floats, list[Fraction], float, int], list[float]]


def rows(name: str, column: str, n: int, random: np.random.Generator) -> Floats | None:
    """Some rows of a public data set."""
    path = DATA / f"{name}.parquet"
    if not path.exists():
        return None
    all_of = duckdb.sql(f"SELECT {column} AS v FROM '{path}' ORDER BY v").fetchnumpy()["v"]
    return random.choice(all_of, n).astype(np.float64)


def values(n: int) -> dict[str, tuple[Floats, tuple[int, int], int | None]]:
    """Values, good bounds and the step."""
    random = np.random.default_rng(1)
    found = {
        "lognormal": (random.lognormal(3, 0.7, n), (0, 1000), None),
        "ages": (random.normal(42, 20, n).clip(0, 120).round(), (0, 120), 1),
        "stars": (random.choice(5, n, p=STARS).astype(np.float64), (0, 4), 1),
        "plays": (rows("lastfm", "plays", n, random), (0, 400_000), 1),
        "times": (rows("ml100k", '"timestamp"', n, random), (873_000_000, 894_000_000), 1),
    }
    return {name: (x, bounds, step) for name, (x, bounds, step) in found.items() if x is not None}


def wider(bounds: tuple[int, int], times: int) -> Bounds:
    """Bounds so many times as far apart, from 0 on where the good ones are."""
    low, high = map(Fraction, bounds)
    if low == 0:
        return low, high * times
    middle, half = (low + high) / 2, (high - low) / 2
    return middle - half * times, middle + half * times


def given(
    bounds: Bounds | None, step: int | None, x: Floats, q: list[Fraction], epsilon: float, seed: int
) -> list[float]:
    """Ours between these bounds, or without any."""
    made = better_for(q, bounds, step)(q=q, bounds=bounds, step=step, epsilon=epsilon)
    return made(x, draws=SeededDraws(seed))


def found_first(step: int | None, x: Floats, q: list[Fraction], epsilon: float, seed: int) -> list[float]:
    """Half of epsilon finds the values at 2 and 98 per cent, and twice their distance is searched with the rest."""
    low, high = Quantile(q=ENDS, step=step, epsilon=epsilon / 2)(x, draws=SeededDraws(seed))
    width = max(Fraction(high) - Fraction(low), Fraction(step or Fraction(1, 1000)))
    bounds = Fraction(low) - width / 2, Fraction(high) + width / 2
    fine = step if step is not None and width < 2**33 * step else None  # where the ends are far off
    made = better_for(q, bounds, fine)(q=q, bounds=bounds, step=fine, epsilon=epsilon / 2)
    return made(x, draws=SeededDraws(seed + 10**6))


def growing(step: int | None, x: Floats, q: list[Fraction], epsilon: float, seed: int) -> list[float]:
    """Durfee's search, for one q of values that are not negative: half of epsilon for the threshold's noise."""
    random, (share,) = np.random.default_rng(seed), map(float, q)
    moved = max(share, 1 - share)
    thresholds = BASE ** np.arange(int(np.log(1e20) / np.log(BASE)))
    below = np.sort(x + 1).searchsorted(thresholds, "left") - share * len(x)
    noisy = below + random.exponential(4 * moved / epsilon, len(thresholds))
    first = np.flatnonzero(noisy >= random.exponential(2 * moved / epsilon))
    found = float(thresholds[first[0] if len(first) else -1] - 1)
    return [found if step is None else float(np.floor(found / step) * step)]


def misses(ordered: Floats, answer: list[float], q: list[Fraction]) -> float:
    """The mean over the ranks of how many values lie between an answer and its rank."""
    n, wanted = len(ordered), np.array([float(one) for one in q]) * len(ordered)
    low, high = ordered.searchsorted(answer, "left"), n - ordered.searchsorted(answer, "right")
    return float(np.maximum(0, np.maximum(low - wanted, high - (n - wanted))).mean())


def main() -> None:
    """One table for each number of quantiles."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, nargs="+", default=[2_000, 20_000])
    parser.add_argument("--m", type=int, nargs="+", default=[1, 9])
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.3, 1.0, 3.0])
    parser.add_argument("--repeats", type=int, default=50)
    options = parser.parse_args()
    for m in options.m:
        print("the median\n" if m == 1 else f"\n{m} quantiles\n")
        compare(m, options)


def compare(m: int, options: argparse.Namespace) -> None:
    """A row for each kind of values, number of them and epsilon."""
    q, lines = [Fraction(i, m + 1) for i in range(1, m + 1)], []
    for n in options.n:
        for name, (x, bounds, step) in values(n).items():
            contenders: list[Contender] = [partial(given, wider(bounds, times), step) for times in (1, 10, 1000)]
            contenders += [
                partial(given, None, step),
                partial(found_first, step),
                *([partial(growing, step)] if m == 1 else []),
            ]
            ordered = np.sort(x)
            for epsilon in options.epsilon:
                errors = [
                    np.mean([misses(ordered, one(x, q, epsilon, seed), q) for seed in range(options.repeats)])
                    for one in contenders
                ]
                lines.append([name, f"{n:,}", f"{epsilon:g}", *(f"{error:.3g}" for error in errors)])
    searched = ["searched"] if m == 1 else []
    heads = ["values", "n", "epsilon", "good bounds", "10 times", "1000 times", "none", "found first", *searched]
    table(heads, lines)


if __name__ == "__main__":
    single_threaded()
    main()
