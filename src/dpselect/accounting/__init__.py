"""Accounting: pure functions over privacy values. It never sees data."""

from dpselect.accounting.calibration import largest_epsilon, largest_under_each
from dpselect.accounting.composition import Total, compose, every_bound, frugal, zcdp_to_epsilon

__all__ = ["Total", "compose", "every_bound", "frugal", "largest_epsilon", "largest_under_each", "zcdp_to_epsilon"]
