"""Compiled upkeep of lean working sets."""

from __future__ import annotations

from typing import Any

from noiseproof._rows.compiling import compiled


@compiled
def drop_idle(size: Any, beta: Any, delta: Any, age: Any, cut: Any, Q: Any) -> None:
    """Drop cuts that had no weight for a round; the last of a block fills the gap."""
    for i in range(len(size)):
        for z in range(size[i] - 1, 0, -1):
            if beta[i, z] > 0 or age[i, z] == 0:
                continue
            last = size[i] - 1
            beta[i, z], delta[i, z] = beta[i, last], delta[i, last]
            age[i, z], cut[i, z] = age[i, last], cut[i, last]
            for other in range(last):
                Q[i, z, other] = Q[i, other, z] = Q[i, last, other]
            Q[i, z, z] = Q[i, last, last]
            beta[i, last], cut[i, last] = 0.0, 0
            size[i] = last
