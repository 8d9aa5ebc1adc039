"""What each constant of the solvers is worth: passes over the data at other values.

    python benchmarks/constants.py            # newton, by conjugate gradients, on text
    python benchmarks/constants.py kitchen    # on other data

Counts passes, which do not depend on the machine, over fits of both losses at rates 0.5
and 0.9 and C of 0.1 and 1. Below 1 the other value is better. A Hessian product counts
1 and everything else what it costs beside one.
"""

from __future__ import annotations

import sys
import warnings
from itertools import product

from common import TEXT

from noiseproof import DropoutLogisticRegression, DropoutSVC
from noiseproof._marginal import conjugate_gradient, moment, newton, solving
from noiseproof._rows.csr import CSRDesign

COSTS = {"curvature_product": 1.0, "curvature_diagonal": 0.9, "directions": 0.8,
         "moments": 0.6, "pullback": 0.7}  # fmt: skip
CONSTANTS = {
    newton: [
        "_ACCURACY",
        "_CAREFUL_ACCURACY",
        "_DECISIVE",
        "_TARGET",
        "_NEAR",
        "_SAFE",
        "_LONGER",
        "_CHANGE",
    ],
    conjugate_gradient: ["_COMPACT", "_STALLED", "_REACH", "_PATIENCE"],
    solving: ["_SHRINK", "_ROUGH", "_SLACK", "_SHARE"],
    moment: ["_STIFF"],
}
FACTORS = (0.25, 0.5, 2.0, 4.0)
SETTINGS = list(
    product((DropoutSVC, DropoutLogisticRegression), (0.5, 0.9), (0.1, 1.0))
)


def count_passes() -> dict[str, float]:
    """Wrap the verbs of the design; the sum of their costs is in the answer."""
    passes = {"sum": 0.0}
    for verb, cost in COSTS.items():
        plain = getattr(CSRDesign, verb)

        def counted(self, *arguments, plain=plain, cost=cost):
            passes["sum"] += cost
            return plain(self, *arguments)

        setattr(CSRDesign, verb, counted)
    return passes


def main(name: str = "books") -> None:
    X, y, *_ = TEXT[name]()
    passes = count_passes()

    def cost() -> float:
        passes["sum"] = 0.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for model, rate, C in SETTINGS:
                model(rate, C=C).fit(X, y)
        return passes["sum"]

    base = cost()
    print(f"{name}: {base:.0f} passes in {len(SETTINGS)} fits\n")
    print("| constant | value |" + "".join(f" x {f:g} |" for f in FACTORS))
    print("|---|---|" + "---|" * len(FACTORS))
    for module, names in CONSTANTS.items():
        for constant in names:
            value = getattr(module, constant)
            shown = ""
            for factor in FACTORS:
                setattr(module, constant, type(value)(factor * value))
                shown += f" {cost() / base:.2f} |"
            setattr(module, constant, value)
            where = module.__name__.rsplit(".", 1)[1]
            print(f"| {where}.{constant} | {value:g} |{shown}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
