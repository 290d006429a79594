"""Names that a room offers, each fetched from its file at its first use: one mechanism does not load the others."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def fetched(room: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """The `__getattr__` of a room, from its names and the files in it that hold them."""

    def fetch(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        value: object = getattr(import_module(f"{room}.{homes[name]}"), name)
        setattr(sys.modules[room], name, value)
        return value

    return fetch
