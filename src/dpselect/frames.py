"""`frame.dps(...)`: the rows of a data frame as a Dataset. `dpselect.pandas` and `dpselect.polars` register it."""

from __future__ import annotations

from functools import partial
from typing import Self

from dpselect.dataset import Dataset


class OfFrame(partial[Dataset]):
    """The method `frame.dps(user=, item=, ...)`: the rows of this frame as a Dataset, with the parameters of one.

    A frame that was filtered before is taken as it is: nothing checks that its rows were kept one by one (`where` is
    checked). A change of the frame is a change of the data, also where a budget with a `snapshot` says otherwise.
    """

    def __new__(cls, frame: object) -> Self:
        """Return the function that makes a Dataset of this frame, which is read anew for each question."""
        return super().__new__(cls, Dataset, frame)

    def __repr__(self) -> str:
        kind = type(self.args[0])
        return f"<dpselect for a {kind.__module__.partition('.')[0]} {kind.__name__}: call it with user= and item=>"
