"""The k-th largest against a full sort, over shapes that are awkward for selection."""

from __future__ import annotations

import numpy as np
import pytest

from dpselect.draws.near import SAMPLE_SIZE, kth_largest

N = 5 * SAMPLE_SIZE + 17
RNG = np.random.default_rng(8)
SHAPES = {
    "flat": np.full(N, 5),
    "one above": np.where(np.arange(N) == 77, 6, 5),
    "one below": np.where(np.arange(N) == 77, 4, 5),
    "a thousand above": np.where(np.arange(N) < 1000, np.arange(N) + 6, 5),
    "two values": np.arange(N) % 2,
    "ramp": np.arange(N),
    "descending": np.arange(N)[::-1],
    "wide": RNG.integers(-(2**62), 2**62, N),
    "heavy tail": RNG.zipf(1.3, N).clip(0, 10**9),
    "floats": RNG.normal(size=N),
    "hidden from the sample": np.where(np.arange(N) % (N // SAMPLE_SIZE) == 1, 9, np.arange(N) % 3),
    "short": np.array([3, 1, 2]),
}


@pytest.mark.parametrize("values", SHAPES.values(), ids=SHAPES.keys())
def test_kth_largest_is_what_a_sort_gives(values):
    ordered = np.sort(values)[::-1]
    for k in (1, 2, 3, 10, 1001, N // 2, N - 1, N):
        if k <= len(values):
            assert kth_largest(values, k) == ordered[k - 1]
