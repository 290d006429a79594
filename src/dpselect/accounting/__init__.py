"""Accounting: pure functions over privacy values. It never sees data."""

from dpselect.accounting.composition import Total
from dpselect.accounting.entry import (
    compose,
    every_bound,
    frugal,
    largest_epsilon,
    largest_under_each,
    zcdp_to_epsilon,
)

__all__ = ["Total", "compose", "every_bound", "frugal", "largest_epsilon", "largest_under_each", "zcdp_to_epsilon"]
