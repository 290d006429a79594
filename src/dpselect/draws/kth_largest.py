"""The k-th largest number, in about two passes whatever the numbers are.

NumPy's partition takes twenty times longer than usual where nearly all numbers are equal, which slows the answer
and leaks the shape of the data through the running time. A sorted sample gives a value that about k numbers exceed.
If at least k do, only those are partitioned; if the numbers equal to the value fill the gap, it is the answer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

SAMPLE = 4096
MARGIN = 64  # sampled numbers below the place where the k-th largest is expected


def kth_largest(values: npt.NDArray[Any], k: int) -> Any:
    """Find the k-th largest of at least k numbers."""
    n = len(values)
    if n > 4 * SAMPLE:
        sample = np.sort(values[:: n // SAMPLE])
        expected = len(sample) - 1 - k * len(sample) // n
        guess = sample[max(0, expected - MARGIN)]
        above = values[values > guess]
        if len(above) >= k:
            return np.partition(above, len(above) - k)[len(above) - k]
        if len(above) + np.count_nonzero(values == guess) >= k:
            return guess
    return np.partition(values, n - k)[n - k]
