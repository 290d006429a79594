"""The form of CSV files, as their owner declares it."""

from __future__ import annotations

from dataclasses import fields

from dpselect._ground.dataclass import dataclass

UTF_8 = "utf-8"


@dataclass(frozen=True)
class CsvForm:
    """The form of CSV files, as their owner declares it."""

    newlines_in_values: bool = False
    columns: tuple[str, ...] | None = None  # of files without a header
    delimiter: str | None = None
    skip: int = 0
    encoding: str = UTF_8

    @property
    def unusual_options(self) -> dict[str, object]:
        """The options that are not the usual ones, as a ledger knows them."""
        every = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in every.items() if value != getattr(USUAL_CSV, name)}


USUAL_CSV = CsvForm()
