"""The loops compiled by numba where that is worth its start: the same source, the same bits.

Without `fastmath` no operation is reordered or fused, so integers and floats are those of the interpreter. Machine
code is kept on disk, beside this package or, where nobody may write there, in the user's folder for caches: each
loop is compiled once on a machine, in about a second. The loops: docs/mechanisms/set-union-policies.md.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from dpselect.aggregates.user_sets import Int64, Sets, UserSets
from dpselect.errors import ParameterError
from dpselect.mechanisms.set_union.kernels import loops
from dpselect.mechanisms.set_union.kernels.plain import Loop, Weights

# Items of all users together from which on a loop is faster compiled, numba's start included (docs/results.md)
WORTH = {"greedy": 5_000_000, "l1_descent": 1_000_000, "l2_descent": 1_250_000}
PARTS = 20  # words of progress, however many users there are: their number is private
USERS = 1 << 16  # users between two moments at which Ctrl-C is heard

Compiled = Callable[..., None]


def over(name: Loop, sets: Sets, *terms: float, progress: Callable[[float | None], None] | None = None) -> Weights:
    """The weights after the loop over all users: `plain.run`, compiled where numba is installed and items are many."""
    tell = _Words(sets.users, progress)
    machine = compiled(name) if sets.pairs >= WORTH[name] else None
    loop: Compiled = machine or getattr(loops, name)
    kind: Any = np.float64 if name == "l2_descent" else np.int64
    found: Any = np.zeros(sets.size, dtype=kind) if machine else np.zeros(sets.size, dtype=kind).tolist()
    first, most = 0, max(1, min(USERS, sets.users // PARTS))
    for block in sets.blocks():
        _check(block.offsets, block.codes, sets.size)
        arrays = _contiguous(block.offsets), _contiguous(block.codes)
        offsets, codes = arrays if machine else (one.tolist() for one in arrays)
        for start in range(0, block.users, most):
            tell.before(first + start)
            loop(offsets[start : start + most + 1], codes, found, *terms)
        first += block.users
    tell.before(first)
    return np.asarray(found, dtype=kind)


def run(
    name: Loop,
    offsets: Int64,
    codes: Int64,
    size: int,
    *terms: float,
    progress: Callable[[float | None], None] | None = None,
) -> Weights:
    """The same of the users of two arrays."""
    _check(offsets, codes, size)
    return over(name, UserSets(offsets=offsets, codes=codes, size=size, label=int), *terms, progress=progress)


class _Words:
    """Of progress, always the same: how many users and blocks there are is private, and so what is worth compiling."""

    def __init__(self, users: int, progress: Callable[[float | None], None] | None) -> None:
        self._users, self._progress, self._next = users, progress, 0
        if progress is not None:
            progress(None)  # what may follow first, compiling, is as long as it is

    def before(self, user: int) -> None:
        """Say the parts that begin at this user or before."""
        while self._progress is not None and self._next < PARTS and self._users * self._next <= user * PARTS:
            self._progress(self._next / PARTS)
            self._next += 1


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
