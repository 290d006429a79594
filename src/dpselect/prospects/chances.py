"""How likely each item is to come back, as floats: forecasts decide nothing, so they need no exactness."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpselect.draws import Rising
from dpselect.prospects.crowd import Floats

FEW = 64  # different weights up to which the law is asked at each
CLOSE = 0.01  # items; the law is asked at so many weights that lines between them can be wrong by less in each cell


def chances(law: Rising, weights: npt.ArrayLike, unit: int = 1) -> Floats:
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
    cells = [(first, len(values) - 1)]
    while cells:
        low, high = cells.pop()
        if high - low < 2:
            continue
        if len(values) > FEW and (found[high] - found[low]) * (before[high] - before[low + 1]) <= CLOSE:
            inner = slice(low + 1, high)
            found[inner] = np.interp(values[inner], values[[low, high]], found[[low, high]])
            continue
        middle = (low + high) // 2
        ask(middle)
        cells += [(low, middle), (middle, high)]
    return found[which]


def smallest_likely(counts: npt.ArrayLike, likely: Floats) -> int | None:
    """The count that best separates items that come back from others: the c whose sum of (chance - 1/2) over all

    items of c users or more is largest. Where chances rise with counts, they pass one half at c. None where no count
    is high enough.
    """
    users = np.asarray(counts)
    falling = np.argsort(-users, kind="stable")
    sums = np.cumsum(likely[falling] - 0.5)
    last = np.flatnonzero(np.diff(users[falling], append=-1))  # equal counts stay together
    if not len(last) or sums[last].max() <= 0:
        return None
    return int(users[falling][last[np.argmax(sums[last])]])
