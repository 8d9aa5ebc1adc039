"""From numbers to places on a chart, with ticks at round numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Scale", "nice_ticks", "short"]

_STEPS = (1, 2, 2.5, 5, 10)


def nice_ticks(low: float, high: float, n: int = 5) -> list[float]:
    """About n round numbers from at most `low` to at least `high`.

    Examples
    --------
    >>> from noiseproof.report.scales import nice_ticks
    >>> nice_ticks(0.37, 0.96)
    [0.2, 0.4, 0.6, 0.8, 1.0]
    >>> nice_ticks(3, 3, n=1)
    [3.0, 4.0]
    """
    if high <= low:
        high = low + max(1.0, abs(low) * 1e-6)
    rough = (high - low) / n
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(s for s in _STEPS if s * power >= rough * (1 - 1e-9))
    first = math.floor(low / step + 1e-9)
    last = math.ceil(high / step - 1e-9)
    digits = max(0, 1 - math.floor(math.log10(step)))
    return [round(i * step, digits) + 0.0 for i in range(first, last + 1)]


def short(number: float) -> str:
    """A number as an axis shows it.

    Examples
    --------
    >>> from noiseproof.report.scales import short
    >>> [short(x) for x in (0.30000000000000004, 20.0, 12000.0)]
    ['0.3', '20', '12,000']
    """
    whole = abs(number) >= 1000 and number == round(number)
    return (f"{number:,.0f}" if whole else f"{number:.4g}").replace("-", "−")


@dataclass(frozen=True)
class Scale:
    """A linear map of [low, high] to [start, end]; what lies beyond is cut."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, number: float) -> float:
        share = (number - self.low) / ((self.high - self.low) or 1.0)
        return self.start + min(max(share, 0.0), 1.0) * (self.end - self.start)
