"""Forecasts of answers at several budgets, before anything is spent: no data is read here."""

from dpselect.forecast.forecast import Forecast, ForecastRow
from dpselect.forecast.population import Population

__all__ = ["Forecast", "ForecastRow", "Population"]
