"""Accounting: pure functions over privacy values. It never sees data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpselect._ground.first_use import lazy_attributes
from dpselect._ground.privacy import ZCDP, AnySteps, ApproxDP, BoundedRange, PureDP, Steps

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpselect.accounting.composition import Composed
    from dpselect.accounting.entry import (
        compose,
        every_bound,
        frugal,
        largest_epsilon,
        largest_under_each,
        zcdp_to_epsilon,
    )

_HOMES = {
    "Composed": "composition",
    "compose": "entry",
    "every_bound": "entry",
    "frugal": "entry",
    "largest_epsilon": "entry",
    "largest_under_each": "entry",
    "zcdp_to_epsilon": "entry",
}

__all__ = [
    "ZCDP",
    "AnySteps",
    "ApproxDP",
    "BoundedRange",
    "Composed",
    "PureDP",
    "Steps",
    "compose",
    "every_bound",
    "frugal",
    "largest_epsilon",
    "largest_under_each",
    "zcdp_to_epsilon",
]

__getattr__: Callable[[str], object] = lazy_attributes(__name__, _HOMES)
