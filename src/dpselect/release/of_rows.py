"""Releases about rows: what they say of a row, of a user and of columns, and as JSON what decides it."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpselect._ground.keys import Key, columns_of, key_of
from dpselect.errors import ParameterError, came
from dpselect.release.formatting import Json
from dpselect.release.release import Release

if TYPE_CHECKING:
    from dpselect._ground.periods import Periods

UNREADABLE = "Rows that cannot be read do not count; `dpselect inspect` counts them for the owner."
FIELDS = ("user", "item", "time", "period", "during", "timezone", "compared_with")


@dataclass(frozen=True)
class OfRows:
    """Whose rows a question is about: the columns of users, those of items where they are several, and the periods."""

    user: Key = "user"
    columns: tuple[str, ...] | None = None
    periods: Periods | None = None

    @property
    def counted_in_each(self) -> str | None:
        """In each of which periods a user counts once, where a question is about several."""
        several = self.periods is not None and len(self.periods.asked.all) > 1
        return self.periods.sort if several and self.periods is not None else None

    def told(self, release: Release, now: datetime.datetime | None = None) -> Release:
        """The release with a statement about rows, the same whatever they are; one without items says what holds."""
        said = replace(release.privacy, sentences=(*release.privacy.sentences, UNREADABLE))
        good = release.accuracy if release.items else release.accuracy.of_nothing
        release = replace(release, privacy=said, accuracy=good)
        if isinstance(self.user, tuple) or self.columns is not None:
            from dpselect.release.of_keys import of_keys

            release = of_keys(release, self.user, self.columns)
        if self.periods is not None:
            from dpselect.release.in_periods import in_periods

            release = in_periods(release, self.periods, now)
        return release

    def to_dict(self) -> dict[str, Json]:
        """What decides the statement, in JSON types: a single column of users or items has no part in it."""
        found: dict[str, Json] = {}
        if isinstance(self.user, tuple):
            found["user"] = list(self.user)
        if self.columns is not None:
            found["item"] = list(self.columns)
        if self.periods is not None:
            found |= self.periods.said
            if self.periods.compared:
                found["compared_with"] = self.periods.base.text
        return found

    @classmethod
    def from_dict(cls, found: object) -> OfRows:
        """What `to_dict` wrote. Raises ParameterError for anything else."""
        from dpselect._ground.periods import UTC, settled

        if not isinstance(found, Mapping) or not set(found) <= set(FIELDS):
            raise ParameterError("rows", f"have {', '.join(FIELDS)} and nothing else", came(found))
        user = key_of("user", found.get("user", "user"))
        columns = None if "item" not in found else columns_of(key_of("item", found["item"]))
        during = _several(found.get("during"))
        periods = settled(found.get("time"), found.get("period"), during, found.get("timezone", UTC))
        if "compared_with" in found and periods is not None:
            periods = periods.compared_with(_several(found["compared_with"]) or ())
        return cls(user, columns, periods)


def _several(text: object) -> list[str] | None:
    """The periods of a text that names them."""
    return text.split(", ") if isinstance(text, str) else None
