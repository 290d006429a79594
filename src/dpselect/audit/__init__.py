"""Reports on a whole ledger: is it intact, the record of a data set, how budgets were spent. Import from here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpselect._ground.first_use import lazy_attributes

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpselect.audit.report import STATE_SENTENCES
    from dpselect.audit.report import report as report_on_data
    from dpselect.audit.spending import SpentSoFar, draw_picture

_HOMES = {
    "STATE_SENTENCES": "report",
    "SpentSoFar": "spending",
    "draw_picture": "spending",
    "report_on_data": "report:report",
}

__all__ = [
    "STATE_SENTENCES",
    "SpentSoFar",
    "draw_picture",
    "report_on_data",
]

__getattr__: Callable[[str], object] = lazy_attributes(__name__, _HOMES)
