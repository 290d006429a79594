"""How likely each item is to come back, as floats: forecasts decide nothing, so they need no exactness."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpselect.draws import MonotoneProbability
from dpselect.forecast.population import Floats

FEW = 64  # different weights up to which the law is asked at each
CLOSE = 1e-5  # of the items, or a hundredth of one: lines between two weights where the law is asked are nearer


def chances(law: MonotoneProbability, weights: npt.ArrayLike, unit: int = 1) -> Floats:
    """The release probability at each weight / unit; 0 where nobody has the item.

    The law rises, so between two weights of nearly the same probability a straight line is near enough.
    """
    given = np.asarray(weights)
    values, which, sizes = np.unique(given, return_inverse=True, return_counts=True)
    found = np.zeros(len(values))
    first = int(np.searchsorted(values, 0, side="right"))
    if first == len(values):
        return found[which]
    before = np.concatenate([[0], np.cumsum(sizes)])

    def ask(place: int) -> None:
        found[place] = float(law.at(Fraction(values[place].item()) / unit).ball(64).mid())

    ask(first)
    ask(len(values) - 1)
    close = max(0.01, CLOSE * len(which))
    cells = [(first, len(values) - 1)]
    while cells:
        low, high = cells.pop()
        if high - low < 2:
            continue
        if len(values) > FEW and (found[high] - found[low]) * (before[high] - before[low + 1]) <= close:
            inner = slice(low + 1, high)
            found[inner] = np.interp(values[inner], values[[low, high]], found[[low, high]])
            continue
        middle = (low + high) // 2
        ask(middle)
        cells += [(low, middle), (middle, high)]
    return found[which]


def smallest_likely(counts: npt.ArrayLike, likely: Floats) -> int | None:
    """The count that best separates items that are likely to be released from the others; None if none is high enough.

    It is the c with the largest sum of (chance - 1/2) over all items of c users or more. If chances rise with counts,
    they pass one half at c.
    """
    users = np.asarray(counts)
    falling = np.argsort(-users, kind="stable")
    sums = np.cumsum(likely[falling] - 0.5)
    last = np.flatnonzero(np.diff(users[falling], append=-1))  # equal counts stay together
    if not len(last) or sums[last].max() <= 0:
        return None
    return int(users[falling][last[np.argmax(sums[last])]])
