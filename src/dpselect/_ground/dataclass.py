"""`dataclass`: the decorator of the standard library, in a third of its time.

The standard library compiles six methods for each class, and for the classes of a small question that takes longer than
the question itself. Here it compiles `__init__` alone; the other methods are these functions, which know the names of
the fields. A field of a frozen class can be set once if `__init__` sets it, which it does; no other field can be.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(
        cls: type | None = None,
        /,
        *,
        eq: bool = True,
        repr: bool = True,
        frozen: bool = False,
        kw_only: bool = False,
    ) -> Any:
        """Decorate a class as `dataclasses.dataclass` does with these options."""

        def decorate(cls: type) -> type:
            own = set(vars(cls))
            dataclasses.dataclass(repr=False, eq=False, kw_only=kw_only)(cls)
            for name, method in _methods(cls, eq=eq, repr=repr, frozen=frozen).items():
                if name not in own:
                    setattr(cls, name, method)
            return cls

        return decorate if cls is None else decorate(cls)


def _methods(cls: Any, *, eq: bool, repr: bool, frozen: bool) -> dict[str, Any]:
    fields = dataclasses.fields(cls)
    methods: dict[str, Any] = {}
    if repr:
        methods["__repr__"] = _repr([field.name for field in fields if field.repr])
    if eq:
        values = _values([field.name for field in fields if field.compare])
        methods["__eq__"] = _eq(values)
        methods["__hash__"] = _hash(values) if frozen else None
    if frozen:
        set_by_init = {field.name for field in fields if field.init or field.default_factory is not dataclasses.MISSING}
        methods["__setattr__"], methods["__delattr__"] = _frozen(set_by_init)
    return methods


def _values(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function from an instance to the tuple of some of its fields."""
    return attrgetter(*names) if len(names) > 1 else lambda self: tuple(getattr(self, name) for name in names)


def _repr(names: Sequence[str]) -> Callable[[Any], str]:
    @recursive_repr()
    def method(self: Any) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{self.__class__.__qualname__}({values})"

    return method


def _eq(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any, object], bool]:
    def method(self: Any, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return method


def _hash(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], int]:
    return lambda self: hash(values(self))


def _frozen(names: set[str]) -> tuple[Callable[[Any, str, object], None], Callable[[Any, str], None]]:
    def set_once(self: Any, name: str, value: object) -> None:
        if name not in names or name in self.__dict__:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        self.__dict__[name] = value

    def refuse_deletion(self: Any, name: str) -> None:  # noqa: ARG001
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")

    return set_once, refuse_deletion
