"""Names that are fetched from their files at first use: those that a room offers, and those behind a door."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def fetched(room: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """The `__getattr__` of a room, from its names and the files in it that hold them."""

    def fetch(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        value: object = getattr(import_module(f"{room}.{homes[name]}"), name)
        setattr(sys.modules[room], name, value)
        return value

    return fetch


def door(module: str, name: str) -> Any:
    """Return a name of a room that stands above the caller's: a method of one line hands its work up by it.

    The import test lists every door, so that no other arrow leads upwards.
    """
    return getattr(import_module(f"dpselect.{module}"), name)
