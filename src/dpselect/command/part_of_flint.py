"""Lets the command's own process load of python-flint what it uses, in a third of the time.

`import flint` loads forty libraries of matrices, polynomials and finite fields. The names here are taken from the
modules that define them; for any other name, and where a version has its modules elsewhere, the package is loaded
whole. The library itself imports python-flint as everybody does, because a program may use it, too.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from threading import RLock
from types import ModuleType
from typing import Any

__all__ = ["load_flint_in_parts"]

_PARTS = {
    "arb": lambda: import_module("flint.types.arb").arb,
    "ctx": lambda: import_module("flint.pyflint").ctx,
    "fmpq": lambda: import_module("flint.types.fmpq").fmpq,
}


_one_thread = RLock()


class _WaitingPackage(ModuleType):
    """A package whose own code runs when it is asked for a name that is none of these.

    Meanwhile other threads get these names as before, and wait for all others.
    """

    def __getattr__(self, name: str) -> Any:
        if name in _PARTS:
            with suppress(ImportError, AttributeError):  # of a version with other modules
                return _PARTS[name]()
        with _one_thread:
            if isinstance(self, _LoadingPackage):
                raise AttributeError(f"module {self.__name__!r} has no attribute {name!r} yet")
            if isinstance(self, _WaitingPackage):
                self._load()
        return getattr(self, name)

    def _load(self) -> None:
        spec: Any = self.__spec__
        self.__class__ = _LoadingPackage
        try:
            spec.loader.exec_module(self)
        except BaseException:
            self.__class__ = _WaitingPackage
            raise
        self.__class__ = ModuleType  # type: ignore[assignment] # mypy wants a class that is no base


class _LoadingPackage(_WaitingPackage):
    """The package while its code runs, in the thread that has the lock."""


def load_flint_in_parts() -> None:
    """Let python-flint wait, unless it has been imported."""
    spec = find_spec("flint") if "flint" not in sys.modules else None
    if spec is not None:
        waiting = module_from_spec(spec)
        waiting.__class__ = _WaitingPackage
        sys.modules["flint"] = waiting
