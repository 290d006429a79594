"""Releases about keys of several columns: what their statement says of the unit, and what the columns are called."""

from __future__ import annotations

from dataclasses import replace

from dpselect._ground.keys import Key, unit_of
from dpselect.release.item_columns import COLUMNS
from dpselect.release.release import Release


def of_keys(release: Release, user: Key, columns: tuple[str, ...] | None) -> Release:
    """The release with a statement about one combination of the columns of users, and with the columns of items."""
    said = release.privacy
    if columns is not None:
        said = replace(said, parameters={**said.parameters, COLUMNS: columns})
    if isinstance(user, tuple):
        unit = unit_of(user)
        said = replace(said, unit=unit, sentences=(*said.sentences, *_whose(unit)))
    return replace(release, privacy=said)


def _whose(unit: str) -> tuple[str, ...]:
    """What a user is, and what is promised to whoever is several of them."""
    return (
        f"A user is one {unit}: every bound and every number of users is one of those.",
        f"The promise is for one such {unit.rpartition(' ')[2]}, not for a whole user: who has m of them is promised "
        "(m epsilon, delta (1 + e^epsilon + ... + e^((m-1) epsilon)))-DP.",
    )
