"""Which process this is, what a forked child must leave alone, and what no signal may break into.

A fork is noticed by more than its process id.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn, SupportsIndex
from weakref import WeakSet

from dpselect.errors import BudgetError

_forks = [0]  # as many forks lie between this process and the one that loaded this module
_left_to_parent: WeakSet[object] = WeakSet()


def process_identity() -> tuple[int, int]:
    """Return the id of this process, and the forks since this module was loaded.

    In a new namespace of process ids, as containers have them, a child can have the id of its parent.
    """
    return os.getpid(), _forks[0]


def leave_to_parent(resource: object) -> None:
    """Keep a forked child from ever freeing `resource`.

    SQLite's locks belong to a process and a socket's other end knows one client: a child that closes them, were it only
    because nobody refers to them any more, breaks them for its parent.
    """
    import ctypes  # noqa: F401 - so that a child, which may hold anybody's locks, finds it loaded

    _left_to_parent.add(resource)


def refuse_copy(instance: object, _protocol: SupportsIndex) -> NoReturn:
    """Refuse to pickle or copy an instance, as `__reduce_ex__` of its class."""
    name = type(instance).__name__
    raise BudgetError(f"a {name} cannot be copied or pickled: it could be spent twice", "make one where it is needed")


@contextmanager
def unsignalled() -> Iterator[None]:
    """Delay Ctrl-C, SIGTERM and SIGHUP until after the block, in a process of one thread.

    A compiled module calls Python while it is loaded, and most abort the process where such a call raises, which is how
    a signal stops the work: nothing would be tidied up.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    blocked_before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked_before)


def _keep_for_parent() -> None:
    _forks[0] += 1
    resources = list(_left_to_parent)
    if resources:
        import ctypes

        for resource in resources:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(resource))


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_keep_for_parent)
