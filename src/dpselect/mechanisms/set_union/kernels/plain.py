"""The loops run by the interpreter, on lists: for small data, and the judge of the compiled ones.

The loops: docs/mechanisms/set-union-policies.md.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from dpselect.aggregates.user_sets import Int64
from dpselect.mechanisms.set_union.kernels import loops

Loop = Literal["greedy", "l1_descent", "l2_descent"]
Weights = Int64 | npt.NDArray[np.float64]


def run(name: Loop, offsets: Int64, codes: Int64, size: int, *terms: float) -> Weights:
    """The weights of items 0 .. size - 1, all 0 before, after this loop over all users. `terms` are its last arguments.

    `greedy` and `l1_descent` take integers (cutoff, unit) and `l2_descent` one float (cutoff).
    """
    weights = [0.0 if name == "l2_descent" else 0] * size
    getattr(loops, name)(offsets.tolist(), codes.tolist(), weights, *terms)
    if name == "l2_descent":
        return np.array(weights, dtype=np.float64)
    return np.array(weights, dtype=np.int64)
