"""Readings of sensors over time: lagged rows, and outages of the sensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from noiseproof.noise import Outages

CALENDAR = "calendar"


class Series(NamedTuple):
    """Readings at equal steps of time; the first column is the one to forecast.

    Parameters
    ----------
    readings : array of shape (n_steps, n_columns)
        NaN in the steps that were not recorded.
    sensors : tuple of str
        The sensor of each column; columns of one sensor fail together.
    calendar : array of shape (n_steps, n_known)
        What is known of each step beforehand, such as its hour. It never fails.
    lags : tuple of tuple of int
        How many steps back each column is looked at.
    """

    readings: Any
    sensors: tuple[str, ...]
    calendar: Any
    lags: tuple[tuple[int, ...], ...]

    @property
    def target(self) -> Any:
        return self.readings[:, 0]

    @property
    def groups(self) -> list[str]:
        """The sensor of each feature, or its own name for a feature of the calendar."""
        known = [f"{CALENDAR} {j}" for j in range(self.calendar.shape[1])]
        lags = zip(self.sensors, self.lags, strict=True)
        return known + [sensor for sensor, own in lags for _ in own]

    def rows(self, readings: Any = None) -> Any:
        """Features of each step: its calendar, and readings of the steps before."""
        readings = self.readings if readings is None else readings
        columns = [self.calendar]
        for column, lags in zip(readings.T, self.lags, strict=True):
            for lag in lags:
                past = np.full(len(column), np.nan)
                past[lag:] = column[:-lag]
                columns.append(past[:, None])
        return np.hstack(columns)

    def complete(self) -> Any:
        """Steps whose target and features were all recorded."""
        known = np.isfinite(self.rows()).all(axis=1) & np.isfinite(self.target)
        return np.flatnonzero(known)

    def with_outages(
        self, share: float, length: float, rng: np.random.Generator
    ) -> Any:
        """Readings, without those of a sensor that is out."""
        return Outages(share, length, list(self.sensors)).sample(self.readings, rng)


def last_values(readings: Any) -> Any:
    """Readings, each missing one replaced by the last one before it."""
    there = np.where(np.isnan(readings), 0, np.arange(len(readings))[:, None])
    return np.take_along_axis(readings, np.maximum.accumulate(there), axis=0)


def waves(phase: Any, n: int) -> Any:
    """Sines and cosines of a phase that runs from 0 to 1, n of each."""
    angles = 2 * np.pi * np.multiply.outer(phase, np.arange(1, n + 1))
    return np.hstack([np.sin(angles), np.cos(angles)])


def days(phase: Any, at_work: Sequence[bool] | Any, n: int = 3) -> Any:
    """A calendar of the time of day, apart for days of work and others."""
    at_work = np.asarray(at_work, dtype=float)[:, None]
    curve = waves(phase, n)
    return np.hstack([curve, at_work, curve * at_work])
