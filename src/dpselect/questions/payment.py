"""The payment of an answer: epsilon, a share of the budget, or whatever an accuracy costs."""

from __future__ import annotations

from dataclasses import KW_ONLY
from fractions import Fraction
from typing import ClassVar

from dpselect._ground.parameters import Number
from dpselect.errors import ParameterError, came
from dpselect.questions.kinds import DELTA, EPSILON, SHARE, whole_number_kind
from dpselect.questions.value import ParameterSet, frozen, param

AMOUNTS = ("epsilon", "within", "threshold", "share")
ACCURACIES = ("within", "threshold")


@frozen
class Payment(ParameterSet):
    """The price of an answer. Of epsilon, an accuracy and a share one is given; a delta may go with each."""

    error_noun: ClassVar[str] = "a price"

    _: KW_ONLY
    epsilon: Number | None = param(
        EPSILON, default=None, help="one person changes the odds of any answer by a factor of at most e^epsilon"
    )
    delta: Number | None = param(
        DELTA,
        default=None,
        help="bounds the chance that this fails (at most 1e-6 to find items or groups, else 0)",
    )
    within: int | None = param(
        whole_number_kind(),
        default=None,
        help="instead of epsilon: the accuracy, in [users or ranks](plan.md#accuracy-first)",
    )
    threshold: int | None = param(
        whole_number_kind(),
        default=None,
        help="instead of epsilon: an item [is found](plan.md#accuracy-first) if this many users have only it",
    )
    share: Number | None = param(SHARE, default=None, help='instead of epsilon: a share of the budget, such as "1%"')

    def check(self) -> None:
        """Refuse more than one amount."""
        given_name, *more_names = [name for name in AMOUNTS if getattr(self, name) is not None] or [""]
        for name in more_names:
            hint = f"each is a price of its own: give {given_name} or {name}"
            raise ParameterError(name, f"be left out if {given_name} is given", came(getattr(self, name)), hint)

    @property
    def accuracy(self) -> str | None:
        """Name of the accuracy that is asked for, if one is."""
        return next((name for name in ACCURACIES if getattr(self, name) is not None), None)

    @property
    def exact_delta(self) -> Fraction | None:
        """The delta that is given, or None."""
        return self.delta  # type: ignore[return-value] # its kind has read it
