"""What every mechanism is: a frozen value, called with counts or scores."""

from __future__ import annotations

from typing import Protocol

from dpselect import parameters
from dpselect.draws import Draws, SecureDraws
from dpselect.errors import ParameterError, came
from dpselect.mechanisms.candidates import Answer, Input
from dpselect.privacy import Privacy


class Mechanism(Protocol):
    """Parameters in; `.privacy` from the parameters alone; the call follows the paper's algorithm."""

    @property
    def k(self) -> int:
        """How many candidates are selected at most."""
        ...

    @property
    def privacy(self) -> Privacy:
        """What a call promises and costs, known before any data is touched."""
        ...

    def __call__(self, counts: Input, *, draws: Draws | None = None) -> Answer:
        """Selected candidates, best first: indices for an array, labels for a mapping or a Histogram."""
        ...


def check_call(draws: object, progress: object = None) -> None:
    """Refuse, before anything is paid or read, what would fail in the middle: a callback or draws that are none."""
    parameters.called("progress", progress)
    if draws is not None and not isinstance(getattr(draws, "secure", None), bool):
        raise ParameterError("draws", "be left out, or draws such as those of dpselect.testing", came(draws))


def secure(draws: Draws | None) -> Draws:
    """The draws given, or new ones over the operating system's randomness."""
    check_call(draws)
    return SecureDraws() if draws is None else draws
