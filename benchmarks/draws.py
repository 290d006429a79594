"""What single random questions cost, how often exactness needs a second look, and what the running time reveals.

Laws are exact, running times are not constant: time is measured here on data sets that differ much, and on
neighbouring ones, where it says how often an observer who knows both and sees one CPU time guesses right.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import opendp.prelude as dp
from inputs import Integers, distinct_counts, spread_counts, uniform_counts, zipf_counts
from measure import seconds, single_threaded, table

from dpselect._ground.reals import Exp
from dpselect.draws import SecureDraws, Weights
from dpselect.mechanisms import ExponentialMechanism, LimitedDomain, Peeling, PermuteAndFlip
from dpselect.papers import ReportNoisyMax

Mechanism = Callable[[Integers], object]
CACHES = 64 * 2**20  # bytes


# ---- single questions -------------------------------------------------------------------------------------


def questions() -> None:
    """CPU of one answer, beside NumPy's float generator answering the same."""
    draws, random = SecureDraws(), np.random.default_rng()
    rate, p = Fraction(1, 100), Exp(Fraction(-1))
    small, large = falling(10**3, rate), falling(10**6, rate)
    pairs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "below(10)": (lambda: draws.below(10), lambda: random.integers(10)),
        "below(10^12)": (lambda: draws.below(10**12), lambda: random.integers(10**12)),
        "bernoulli(1/e)": (lambda: draws.bernoulli(p), lambda: random.random() < 0.367879),
        "categorical, 10^3 counts": (lambda: draws.categorical(small), float_categorical(small, random)),
        "categorical, 10^6 counts": (lambda: draws.categorical(large), float_categorical(large, random)),
        "peel 100 of 10^6 counts": (lambda: draws.peel(large, 100), float_categorical(large, random, 100)),
        "binomial(10, 1/e)": (lambda: draws.binomial(10, p), lambda: random.binomial(10, 0.367879)),
        "binomial(10^6, 1/e)": (lambda: draws.binomial(10**6, p), lambda: random.binomial(10**6, 0.367879)),
        "binomial(10^12, 1/e)": (
            lambda: draws.binomial(10**12, p),
            lambda: random.binomial(10**12, 0.367879),
        ),
        "geometric(1/10)": (lambda: draws.geometric(Fraction(1, 10)), lambda: random.geometric(0.0952)),
        "geometric(1/1000)": (lambda: draws.geometric(rate / 10), lambda: random.geometric(0.0009995)),
    }
    print("CPU of one answer\n")
    rows = []
    for name, (exact, floats) in pairs.items():
        mine, theirs = each(exact), each(floats)
        rows.append([name, seconds(mine), seconds(theirs), f"{mine / theirs:.3g}"])
    table(["question", "exact", "NumPy floats", "ratio"], rows)


def falling(n: int, rate: Fraction) -> Weights:
    """n different scores in descending order."""
    return Weights(np.arange(n, dtype=np.int64)[::-1], rate)


def float_categorical(weights: Weights, random: np.random.Generator, k: int = 1) -> Callable[[], object]:
    """The Gumbel trick in floats."""
    scores, scale = weights.scores, 1 / float(weights.rate)

    def draw() -> object:
        noisy = scores + random.gumbel(scale=scale, size=len(scores))
        if k == 1:
            return noisy.argmax()
        top = np.argpartition(noisy, -k)[-k:]
        return top[np.argsort(-noisy[top])]

    return draw


def each(question: Callable[[], object], spend: float = 0.5) -> float:
    """CPU of one answer, a mean over as many as fit into half a second."""
    question()
    asked, start = 0, time.process_time()
    while (spent := time.process_time() - start) < spend:
        question()
        asked += 1
    return spent / asked


# ---- second looks -----------------------------------------------------------------------------------------


def refinements(draws_wanted: int) -> None:
    """How often ball arithmetic had to decide, by million draws."""
    cases: dict[str, tuple[Weights, int]] = {
        "10^3 counts, one at a time": (falling(10**3, Fraction(1, 100)), 1),
        "10^6 different counts, 100 at a time": (falling(10**6, Fraction(1, 100)), 100),
        "10^6 counts nearly alike, 10^4 at a time": (falling(10**6, Fraction(1, 10**7)), 10**4),
        "one group of 10^12, 10^4 at a time": (
            Weights(np.zeros(1, dtype=np.int64), Fraction(1), np.array([10**12])),
            10**4,
        ),
        "10^7 counts nearly alike, 10^4 at a time": (falling(10**7, Fraction(1, 10**9)), 10**4),
    }
    print(f"Second looks in ball arithmetic by million draws, counted over {draws_wanted:.0e} draws each\n")
    rows = []
    for name, (weights, k) in cases.items():
        draws, start = SecureDraws(), time.process_time()
        for _ in range(draws_wanted // k):
            draws.peel(weights, k)
        spent = (time.process_time() - start) / draws_wanted
        rows.append([name, f"{draws.refined / draws_wanted * 1e6:.3g}", seconds(spent)])
    table(["weights", "second looks", "CPU of a draw"], rows)


# ---- running time -----------------------------------------------------------------------------------------


def data_sets(d: int) -> dict[str, Integers]:
    """Counts that differ as much as counts can."""
    return {
        "flat": np.full(d, 1000),
        "one large count": one_large(d, d),
        "one huge count": one_large(d, 10**12),
        "ten values": np.random.default_rng(0).integers(990, 1000, size=d),
        "heavy tail, Zipf(1.1)": zipf_counts(d),
        "all distinct, 0 to d - 1": distinct_counts(d),
        "uniform, up to 10 d": uniform_counts(d),
        "all distinct, up to 1e12": spread_counts(d),
    }


def one_large(d: int, largest: int) -> Integers:
    """Nobody has anything, but for one item."""
    counts = np.zeros(d, dtype=np.int64)
    counts[d // 3] = largest
    return counts


def mechanisms() -> dict[str, Mechanism]:
    """What is timed."""
    return {
        "ExponentialMechanism": ExponentialMechanism(epsilon=1, monotonic=True),
        "PermuteAndFlip": PermuteAndFlip(epsilon=1, monotonic=True),
        "ReportNoisyMax, laplace": ReportNoisyMax(epsilon=1, monotonic=True),
        "Peeling, k = 100": Peeling(k=100, epsilon=1, delta="1e-6"),
        "LimitedDomain, k = 10": LimitedDomain(k=10, epsilon=1, delta="1e-6"),
    }


def peers_beside_ours() -> dict[str, Mechanism]:
    """OpenDP's noisy max and ours of the same law."""
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64", monotonic=True)
    ours = mechanisms()
    return {
        "OpenDP, permute-and-flip": dp.m.make_noisy_max(*space, dp.max_divergence(), scale=1.0),
        "PermuteAndFlip": ours["PermuteAndFlip"],
        "OpenDP, exponential": dp.m.make_noisy_max(*space, dp.zero_concentrated_divergence(), scale=1.0),
        "ExponentialMechanism": ours["ExponentialMechanism"],
    }


def across_data_sets(d: int, timed: Mapping[str, Mechanism], runs: int) -> None:
    """Median CPU by data set, and the spread of single runs on the same data set."""
    sets = data_sets(d)
    print(f"d = {d:.0e}: median CPU of {runs} runs by data set\n")
    rows: list[list[str]] = [[name] for name in sets]
    medians, spreads = ["slowest / fastest data set"], ["slowest / fastest run, same data set"]
    for mechanism in timed.values():
        found = times(mechanism, list(sets.values()), runs)
        for row, value in zip(rows, np.median(found, axis=1), strict=True):
            row.append(seconds(value))
        middle = np.median(found, axis=1)
        medians.append(f"**{middle.max() / middle.min():.3g}**")
        # The extreme tenths are left out: they are the other users of the machine.
        low, high = np.quantile(found, [0.1, 0.9], axis=1)
        spreads.append(f"{(high / low).max():.3g}")
    table(["data", *timed], [*rows, medians, spreads])


def neighbours(d: int) -> dict[str, tuple[Integers, Integers]]:
    """Pairs that differ by one user: any the code might treat differently."""
    random = np.random.default_rng(0)
    zipf, distinct, wide = zipf_counts(d), distinct_counts(d), spread_counts(d)
    flat = np.full(d, 1000)
    positive = zipf_counts(d) + 1
    border = random.integers(0, 4 * d, size=d)
    border[[d // 3, d // 2]] = 4 * d, 0
    falling = np.sort(wide)[::-1].copy()
    falling[d // 2] = falling[d // 2 + 1]
    return {
        "control: the same counts twice": (zipf, zipf),
        "Zipf / a user with 10 items": (zipf, plus_one(zipf, random.choice(d, 10, replace=False))),
        "flat / a user with one item": (flat, plus_one(flat, np.array([d // 2]))),
        "flat / a user with half the items": (flat, plus_one(flat, random.permutation(d)[: d // 2])),
        "all distinct / a user with half the items": (
            distinct,
            plus_one(distinct, random.permutation(d)[: d // 2]),
        ),
        "everything has a user / one thing loses its only one": (
            minus_one(positive, np.array([int(positive.argmin())])),
            positive,
        ),
        "range 4 d / 4 d + 1": (border, plus_one(border, np.array([d // 3]))),
        "in descending order / no longer": (falling, plus_one(falling, np.array([d // 2 + 1]))),
    }


def plus_one(counts: Integers, items: npt.NDArray[np.int64]) -> Integers:
    """A user comes."""
    more = counts.copy()
    more[items] += 1
    return more


def minus_one(counts: Integers, items: npt.NDArray[np.int64]) -> Integers:
    """A user goes."""
    fewer = counts.copy()
    fewer[items] -= 1
    return fewer


def across_neighbours(d: int, timed: Mapping[str, Mechanism], runs: int) -> None:
    """Ratio of medians, and how often the best guess from one time is right (50 % is blind)."""
    print(f"d = {d:.0e}: neighbours, {runs} runs each: ratio of medians / right guesses from one CPU time\n")
    rows = []
    for name, pair in neighbours(d).items():
        cells = []
        for mechanism in timed.values():
            a, b = times(mechanism, pair, runs)
            cells.append(f"{np.median(b) / np.median(a):.3f} / {100 * right_guesses(a, b):.0f} %")
        rows.append([name, *cells])
    table(["neighbours", *timed], rows)


def times(mechanism: Mechanism, data: Sequence[Integers], runs: int) -> npt.NDArray[np.float64]:
    """CPU seconds, a row for each counts; taken in turns of random order.

    Every call gets a fresh copy and empty caches, so that times tell data apart and not places in memory.
    """
    found, order = np.zeros((len(data), runs)), np.random.default_rng()
    other = np.zeros(CACHES, dtype=np.int8)
    for run in range(runs):
        for index in order.permutation(len(data)):
            counts = data[index].copy()
            other += 1
            start = time.process_time()
            mechanism(counts)
            found[index, run] = time.process_time() - start
    return found


def right_guesses(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> float:
    """Share of right guesses by a threshold on the time, learnt on one half of the runs and tried on the other."""
    shares = []
    for learn, tried in ((0, 1), (1, 0)):
        known, unknown = (a[learn::2], b[learn::2]), (a[tried::2], b[tried::2])
        cuts = np.sort(np.concatenate(known))
        below = np.searchsorted(np.sort(known[0]), cuts) - np.searchsorted(np.sort(known[1]), cuts)
        best = int(np.abs(below).argmax())
        right = np.mean(unknown[0] < cuts[best]) + np.mean(unknown[1] >= cuts[best])
        shares.append(right / 2 if below[best] > 0 else 1 - right / 2)
    return float(np.mean(shares))


def main() -> None:
    """All tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--only", choices=["questions", "second-looks", "time", "neighbours", "peers"])
    options = parser.parse_args()
    parts: dict[str, Callable[[], None]] = {
        "questions": questions,
        "second-looks": lambda: refinements(10**6),
        "time": lambda: across_data_sets(10**6, mechanisms(), max(3, options.runs // 10)),
        "neighbours": lambda: across_neighbours(10**6, mechanisms(), options.runs),
        "peers": lambda: across_data_sets(10**5, peers_beside_ours(), max(3, options.runs // 20)),
    }
    for name, part in parts.items():
        if options.only in (None, name):
            part()


if __name__ == "__main__":
    single_threaded()
    main()
