"""Names that are fetched from their files at first use: those that a room offers, and those behind a door."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_attributes(package: str, module_of_name: Mapping[str, str]) -> Callable[[str], object]:
    """Return the `__getattr__` of a package that imports each of these names from its module at first use.

    A module is one of the package, or one of a lower room by its whole path; `module:name` has another name there.
    """

    def fetch(name: str) -> object:
        if name not in module_of_name:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, name_there = module_of_name[name].partition(":")
        path = module if module.startswith("dpselect.") else f"{package}.{module}"
        value: object = getattr(import_module(path), name_there or name)
        setattr(sys.modules[package], name, value)
        return value

    return fetch


def door(module: str, name: str) -> Any:
    """Return a name of a room above the caller's in the import order, by which a one-line method hands on its work.

    The import test lists every door, so that no other arrow leads upwards.
    """
    return getattr(import_module(f"dpselect.{module}"), name)
