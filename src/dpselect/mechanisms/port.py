"""What every mechanism is: a frozen value, called with counts or scores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from typing import Protocol

from dpselect._ground.privacy import Neighbors, Privacy, PureDP, Steps
from dpselect.draws import Draws, SecureDraws
from dpselect.errors import ParameterError, came
from dpselect.mechanisms.candidates import Answer, Input


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
        """Selected candidates, best first: indices for an array, labels for a mapping or count groups."""
        ...


_FOR_TESTS: ContextVar[Draws | None] = ContextVar("draws for tests", default=None)


@contextmanager
def drawing(draws: Draws) -> Iterator[None]:
    """All that is drawn inside, in this thread, is drawn by these: for tests, whose releases say that it was so."""
    check_draws(draws)
    before = _FOR_TESTS.set(draws)
    try:
        yield
    finally:
        _FOR_TESTS.reset(before)


def check_draws(draws: object) -> None:
    """Refuse what are no draws before anything is paid or read."""
    try:
        sound = draws is None or isinstance(getattr(draws, "secure", None), bool)
    except Exception:  # an object whose attributes fail
        sound = False
    if not sound:
        raise ParameterError("draws", "be draws such as those of dpselect.testing", came(draws))


def secure(draws: Draws | None = None) -> Draws:
    """The draws given, those of a test around it, or new ones over the operating system's randomness."""
    check_draws(draws)
    return draws or _FOR_TESTS.get() or SecureDraws()


def settle(frozen: object, /, **values: object) -> None:
    """Give a frozen mechanism, or a query, its parsed parameters and derived fields, once."""
    for name, value in values.items():
        object.__setattr__(frozen, name, value)


def promise(epsilon: Fraction, delta: Fraction, bound: str, related: Neighbors = Neighbors.ADD_REMOVE) -> Privacy:
    """(epsilon, delta): one step that is pure but for a failure of delta (Kairouz, Oh and Viswanath 2015)."""
    steps = (Steps(PureDP(epsilon), 1),)
    return Privacy(epsilon=epsilon, delta=delta, neighbors=related, steps=steps, failure=delta, bound=bound)
