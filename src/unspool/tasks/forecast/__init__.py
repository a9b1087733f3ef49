"""Forecast: the next steps of series, with intervals."""
