"""Who draws: the operating system's randomness, unless a test says otherwise around a question."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dpselect.draws.certified import SecureDraws
from dpselect.draws.port import Draws
from dpselect.errors import ParameterError, came

_FOR_TESTS: ContextVar[Draws | None] = ContextVar("draws for tests", default=None)


@contextmanager
def drawing(draws: Draws) -> Iterator[None]:
    """All that is drawn inside is drawn by these: for tests, whose releases say that it was so.

    Inside is what runs in this context: also a task or a child process that is made here, and no other thread.
    """
    _check(draws)
    before = _FOR_TESTS.set(draws)
    try:
        yield
    finally:
        _FOR_TESTS.reset(before)


def secure(draws: Draws | None = None) -> Draws:
    """The draws given, those of a test around it, or new ones over the operating system's randomness."""
    if draws is None:
        return _FOR_TESTS.get() or SecureDraws()
    _check(draws)
    return draws


def _check(draws: object) -> None:
    try:
        sound = isinstance(getattr(draws, "secure", None), bool)
    except Exception:  # an object whose attributes fail
        sound = False
    if not sound:
        raise ParameterError("draws", "be draws such as those of dpselect.testing", came(draws))
