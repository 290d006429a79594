"""The loops compiled by numba where that is worth its start: the same source, the same bits.

Without `fastmath` no operation is reordered or fused, so integers and floats are those of the interpreter. Machine
code is kept on disk, beside this package or, where nobody may write there, in the user's folder for caches: each
loop is compiled once on a machine, in about a second.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from dpselect.aggregates.user_sets import Int64
from dpselect.errors import ParameterError
from dpselect.mechanisms.set_union.kernels import loops, plain
from dpselect.mechanisms.set_union.kernels.plain import Loop, Weights

# Items of all users together from which on a loop is faster compiled, numba's start included (benchmarks/README.md)
WORTH = {"greedy": 5_000_000, "l1_descent": 1_000_000, "l2_descent": 1_250_000}
PARTS = 20  # words of progress, however many users there are: their number is private
USERS = 1 << 16  # users between two moments at which Ctrl-C is heard

Compiled = Callable[..., None]


def run(
    name: Loop,
    offsets: Int64,
    codes: Int64,
    size: int,
    *terms: float,
    progress: Callable[[float | None], None] | None = None,
) -> Weights:
    """`plain.run`, compiled where numba is installed and there are many items."""
    if progress is not None:
        progress(None)  # what follows first, compiling, is as long as it is
    loop = compiled(name) if len(codes) >= WORTH[name] else None
    if loop is None:
        return plain.run(name, offsets, codes, size, *terms)
    offsets, codes = _contiguous(offsets), _contiguous(codes)
    _check(offsets, codes, size)
    weights: Weights = np.zeros(size) if name == "l2_descent" else np.zeros(size, dtype=np.int64)
    users = len(offsets) - 1
    for part in range(PARTS):
        if progress is not None:
            progress(part / PARTS)
        end = users * (part + 1) // PARTS
        for first in range(users * part // PARTS, end, USERS):
            loop(offsets[first : min(first + USERS, end) + 1], codes, weights, *terms)
    return weights


@cache
def compiled(name: Loop) -> Compiled | None:
    """The machine code of a loop; nothing where numba is not installed or does not fit the installed NumPy."""
    try:
        import numba
    except ImportError:
        return None
    return jit(numba, getattr(loops, name), _signature(numba, name))


def jit(numba: Any, loop: Compiled, signature: Any) -> Compiled:
    """Compiled now, from disk if it can be; a machine on which no folder can be written compiles every time."""
    try:
        return numba.njit(signature, nogil=True, cache=True)(loop)  # type: ignore[no-any-return]
    except (RuntimeError, OSError):
        return numba.njit(signature, nogil=True)(loop)  # type: ignore[no-any-return]


def _signature(numba: Any, name: Loop) -> Any:
    """Fixed types: a number that does not fit 64 bits is an error, and nothing is ever turned into a float."""
    given = numba.types.Array(numba.int64, 1, "C", readonly=True)
    if name == "l2_descent":
        return numba.void(given, given, numba.float64[::1], numba.float64)
    return numba.void(given, given, numba.int64[::1], numba.int64, numba.int64)


def _contiguous(values: Int64) -> npt.NDArray[np.int64]:
    return np.ascontiguousarray(values, dtype=np.int64)


def _check(offsets: Int64, codes: Int64, size: int) -> None:
    """Machine code looks at no bounds."""
    if not (offsets[0] >= 0 and offsets[-1] <= len(codes) and (np.diff(offsets) >= 0).all()):
        raise ParameterError("offsets", "rise from 0 to the number of codes", "others")
    if len(codes) and not (codes.min() >= 0 and codes.max() < size):
        raise ParameterError("codes", "be from 0 to size - 1", "others")
