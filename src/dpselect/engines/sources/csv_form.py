"""The form of CSV files, as their owner declares it."""

from __future__ import annotations

from dataclasses import dataclass, fields

UTF_8 = "utf-8"


@dataclass(frozen=True)
class CsvForm:
    """What the owner says of the form of CSV files."""

    newlines_in_values: bool = False
    columns: tuple[str, ...] | None = None  # of files without a header
    delimiter: str | None = None
    skip: int = 0
    encoding: str = UTF_8

    @property
    def said(self) -> dict[str, object]:
        """What is not as usual, as a ledger knows it."""
        every = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: value for name, value in every.items() if value != getattr(USUAL_CSV, name)}


USUAL_CSV = CsvForm()
