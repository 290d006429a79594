"""The seeded inputs of the benchmarks: the same numbers on every machine with the same NumPy.

Label and rank are unrelated in all of them (a label that told the rank would help a top-k by chance).
`DATA` is the folder of public data sets: `DPSELECT_DATA`, or `shared/data` beside the checkout.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
DATA = Path(os.environ.get("DPSELECT_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")


def zipf_counts(d: int, exponent: float = 1.1, draws: int = 10**7, seed: int = 0) -> Integers:
    """How often each of d items occurs in so many draws of P(rank r) in proportion to r^-exponent."""
    random = np.random.default_rng(seed)
    by_rank = random.multinomial(draws, _zipf(d, exponent))
    return by_rank[random.permutation(d)].astype(np.int64)


def uniform_counts(d: int, seed: int = 0) -> Integers:
    """d independent uniform integers between 0 and 10 d, both included."""
    return np.random.default_rng([seed, d, 2]).integers(10 * d, size=d, endpoint=True)


def distinct_counts(d: int, seed: int = 0) -> Integers:
    """0, 1, ..., d - 1 in random order: every count once."""
    return np.random.default_rng(seed).permutation(d)


def spread_counts(d: int, largest: int = 10**12, seed: int = 0) -> Integers:
    """d different counts spread over 0 ... largest, in random order."""
    random = np.random.default_rng(seed)
    counts = np.unique(random.integers(largest, size=d + d // 100 + 100, endpoint=True))
    return random.permutation(counts)[:d]


def raw_rows(users: int, mean: float, d: int, exponent: float = 1.1, seed: int = 0) -> tuple[Integers, Integers]:
    """Rows (user, item) in random order: each user has 1 or more rows, Poisson(mean), of Zipf items with repeats."""
    random = np.random.default_rng(seed)
    rows_of = np.maximum(random.poisson(mean, users), 1)
    user = np.repeat(np.arange(users, dtype=np.int64), rows_of)
    rank = _ranks(random.random(len(user)), np.cumsum(_zipf(d, exponent)))
    item = random.permutation(d)[rank]
    shuffled = random.permutation(len(user))
    return user[shuffled], item[shuffled].astype(np.int64)


def user_sets(
    users: int = 10**5,
    mean: int = 10,
    d: int = 10**6,
    exponent: float = 1.05,
    *,
    heavy: bool = False,
    seed: int = 0,
) -> tuple[Integers, Integers]:
    """Each user's distinct items as (starts, items): user u holds items[starts[u] : starts[u + 1]], ascending.

    Users draw 1 + Poisson(mean - 1) items, or a log-normal number with a heavy tail.
    """
    random = np.random.default_rng([seed, users, mean, d, int(heavy)])
    if heavy:
        drawn = np.ceil(random.lognormal(np.log(mean / 2), 1.25, size=users)).astype(np.int64)
    else:
        drawn = random.poisson(mean - 1, size=users) + 1
    weights = np.arange(1, d + 1, dtype=np.float64) ** -exponent
    cumulated = np.cumsum(weights)
    rank = np.searchsorted(cumulated / cumulated[-1], random.random(drawn.sum()))
    pairs = np.unique(np.repeat(np.arange(users), drawn) * d + rank)
    user, rank = np.divmod(pairs, d)
    item = random.permutation(d)[rank]
    in_order = np.lexsort((item, user))
    return np.searchsorted(user[in_order], np.arange(users + 1)), item[in_order]


def _zipf(d: int, exponent: float) -> Floats:
    """P(rank 1), ..., P(rank d)."""
    weights = np.arange(1, d + 1, dtype=np.float64) ** -exponent
    return np.asarray(weights / weights.sum())


def _ranks(uniforms: Floats, cumulated: Floats) -> npt.NDArray[np.intp]:
    """The rank that each uniform number stands for, 0 for the most likely."""
    cumulated[-1] = 1.0
    return np.searchsorted(cumulated, uniforms, side="right").clip(max=len(cumulated) - 1)
