"""Numbers of users: drawn once, when a user is new, and kept as long as the folder.

A question keeps some of a user's items by a hash of its own key, the user's number and the item. A place among all
users would move when somebody comes, and so would what others keep. Numbers that are drawn have one joint distribution
whoever else is there, as names have, and the proofs may fix them as they fix the key (docs/prepared.md).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpselect.draws import distinct
from dpselect.errors import DataError

MOST = 2**30  # half of all numbers, so that drawing ends soon


def numbers_of(new: int, taken: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The numbers of so many new users, none of which anybody has."""
    if new + len(taken) > MOST:
        raise DataError("there are more than 2^30 users", "prepare the rows of fewer users, or ask the source itself")
    return distinct(new, taken)
