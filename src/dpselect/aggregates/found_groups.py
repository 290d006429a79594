"""FoundGroups: groups that a set union found, as the engine keeps them. Nothing is lost that a label cannot hold."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, repr=False)
class FoundGroups:
    """A list of groups that were released, to be asked for in the engine that made it and in no other."""

    place: str  # where that engine keeps it

    def __repr__(self) -> str:
        return "FoundGroups"
