"""RowBound: the bound on rows of a user that data were prepared with, so that only those count."""

from __future__ import annotations

from dpselect._ground.dataclass import dataclass


@dataclass(frozen=True)
class RowBound:
    """The most rows of a user that were kept, in each `period` if there are periods."""

    max_rows: int
    period: str | None = None

    @property
    def text(self) -> str:
        """Rows by which a user counts, in words."""
        of_period = "" if self.period is None else f" in each {self.period}"
        return f"by at most {self.max_rows:,} prepared row{'' if self.max_rows == 1 else 's'}{of_period}"
