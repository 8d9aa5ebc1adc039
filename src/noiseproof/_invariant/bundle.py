"""Bundle method: a cutting-plane model of the risk, refined until it is accurate.

BMRM (Teo et al. 2007) bounds the mean loss from below by the maximum of affine
functions, one per round. Here the rows are first divided into parts, and the mean loss
of each part has a model of its own. With one part, this is BMRM as published; with one
part per row, the model is the same as in column generation. More parts take far fewer
rounds, each of which runs the attack on every row. Fewer parts take less memory, which
limits their number if there are many rows.

The model is kept small: a cut that had no weight for a whole round is dropped. It is
found again if it matters after all. The lower bound does not change, as only cuts with
weight contribute to it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from noiseproof._invariant.column_generation import generate
from noiseproof._invariant.duals import LinearDual
from noiseproof._invariant.loss import Index
from noiseproof._invariant.risk import Cuts, InvariantResult, LinearRisk
from noiseproof._rows import Array
from noiseproof._stop import Stop

_PARTS = 4096


def bundle(
    risk: LinearRisk, stop: Stop, rng: Any = None, *, n_parts: int = _PARTS
) -> InvariantResult:
    """Minimise R; an iteration is a pass over the rows, and `rng` is not used."""
    if len(risk.mass) <= n_parts:
        return generate(LeanDual(risk), stop)
    result = generate(LeanDual(PartitionedRisk(risk, n_parts)), stop)
    cuts = risk.worst(result.function)
    result.weights = risk.mass * (cuts.value >= risk.floor)
    return result


class LeanDual(LinearDual):
    """The dual restricted to cuts that have weight, or had weight a round ago."""

    def extend(self, margin: float) -> int:
        self.kernels.drop_idle(
            self.size, self.beta, self.delta, self.age, self.cut, self.Q
        )
        return super().extend(margin)


class PartitionedRisk(LinearRisk):
    """The same risk with rows divided into `n_parts` parts, which count as rows."""

    def __init__(self, risk: LinearRisk, n_parts: int):
        self.risk = risk
        n = len(risk.mass)
        part = np.arange(n) % n_parts
        mass: Any = np.bincount(part, risk.mass, minlength=n_parts)
        shares = risk.mass / mass[part]
        self._means = sp.csr_array((shares, (part, np.arange(n))), (n_parts, n))
        super().__init__(mass, self._means @ risk.floor, risk.alpha, risk.n_weights)

    def worst(self, w: Array, rows: Index | None = None) -> Cuts:
        cuts = self.risk.worst(w)
        active = cuts.value > self.risk.floor
        psi = self._means @ sp.diags_array(active.astype(float)) @ cuts.psi
        delta = self._means @ np.where(active, cuts.delta, self.risk.floor)
        value = self._means @ np.maximum(cuts.value, self.risk.floor)
        return Cuts(sp.csr_array(psi), delta, value)
