"""Forecasts of answers at several budgets, before anything is spent: no data is read here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpselect._ground.first_use import lazy_attributes
from dpselect.forecast.forecast import Forecast, ForecastRow
from dpselect.forecast.population import Population

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpselect.forecast.plan_forecast import forecast_plan

_HOMES = {"forecast_plan": "plan_forecast"}

__all__ = ["Forecast", "ForecastRow", "Population", "forecast_plan"]

__getattr__: Callable[[str], object] = lazy_attributes(__name__, _HOMES)
