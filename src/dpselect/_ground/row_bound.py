"""RowBound: how many rows of a user were kept when data were prepared, so that only those count."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RowBound:
    """The most rows of a user that were kept, in each `period` if there are periods."""

    most: int
    period: str | None = None

    @property
    def text(self) -> str:
        """The rows by which a user counts, in words."""
        where = "" if self.period is None else f" in each {self.period}"
        return f"by at most {self.most:,} prepared row{'' if self.most == 1 else 's'}{where}"
