"""Forecasts of answers at several budgets, before anything is spent: no data is read here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpselect._ground.first_use import lazy_attributes
from dpselect.forecast.forecast import Forecast, ForecastRow
from dpselect.forecast.population import Population

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpselect.forecast.plan_forecast import compare_prices
    from dpselect.forecast.planted import fewest_people
    from dpselect.forecast.work import BYTES_OF_A_ROW, WorkBound, bound_work

_HOMES = {
    "BYTES_OF_A_ROW": "work",
    "WorkBound": "work",
    "bound_work": "work",
    "compare_prices": "plan_forecast",
    "fewest_people": "planted",
}

__all__ = [
    "BYTES_OF_A_ROW",
    "Forecast",
    "ForecastRow",
    "Population",
    "WorkBound",
    "bound_work",
    "compare_prices",
    "fewest_people",
]

__getattr__: Callable[[str], object] = lazy_attributes(__name__, _HOMES)
