"""Evaluation of models whose features go missing, get noisy or are attacked.

Curves, certificates, fragility and costs. All functions take any model with `predict`
unless they say otherwise; some results are exact for linear models, from any library.
"""

from __future__ import annotations

from noiseproof.evaluation.acquisition import AcquisitionCurve, acquisition_curve
from noiseproof.evaluation.blending import BLEND as BLEND
from noiseproof.evaluation.cell_values import value_of_cells
from noiseproof.evaluation.certificates import Certificates, certify
from noiseproof.evaluation.conformal import ConformalSets, conformal_sets
from noiseproof.evaluation.contests import Contest, contest
from noiseproof.evaluation.contests import checked as checked
from noiseproof.evaluation.curves import RobustnessCurve, robustness_curve
from noiseproof.evaluation.fragility import Fragility, feature_fragility
from noiseproof.evaluation.intervals import IntervalCoverage, interval_coverage
from noiseproof.evaluation.linear import LinearView, linear_view
from noiseproof.evaluation.missing_cost import (
    Estimate,
    MissingCost,
    MissingCostSeries,
    missing_cost,
)
from noiseproof.evaluation.models import last_step as last_step
from noiseproof.evaluation.models import read_models as read_models
from noiseproof.evaluation.models import scoring_of as scoring_of
from noiseproof.evaluation.models import try_out as try_out
from noiseproof.evaluation.perturbations import PERTURBATIONS as PERTURBATIONS
from noiseproof.evaluation.perturbations import MissingColumns
from noiseproof.evaluation.perturbations import Perturbation as Perturbation
from noiseproof.evaluation.perturbations import as_perturbation as as_perturbation
from noiseproof.evaluation.plots import (
    AcquisitionDisplay,
    CertificateDisplay,
    FragilityDisplay,
    MissingCostDisplay,
    RobustnessCurveDisplay,
)
from noiseproof.evaluation.progress import progress_bar as progress_bar
from noiseproof.evaluation.results import Result as Result
from noiseproof.evaluation.results import costliest as costliest
from noiseproof.evaluation.results import half_width as half_width
from noiseproof.evaluation.scorers import (
    CertifiedScorer,
    PerturbedScorer,
    certified_scorer,
    perturbed_scorer,
)

__all__ = [
    "AcquisitionCurve",
    "AcquisitionDisplay",
    "CertificateDisplay",
    "Certificates",
    "CertifiedScorer",
    "ConformalSets",
    "Contest",
    "Estimate",
    "Fragility",
    "FragilityDisplay",
    "IntervalCoverage",
    "LinearView",
    "MissingColumns",
    "MissingCost",
    "MissingCostDisplay",
    "MissingCostSeries",
    "PerturbedScorer",
    "RobustnessCurve",
    "RobustnessCurveDisplay",
    "acquisition_curve",
    "certified_scorer",
    "certify",
    "conformal_sets",
    "contest",
    "feature_fragility",
    "interval_coverage",
    "linear_view",
    "missing_cost",
    "perturbed_scorer",
    "robustness_curve",
    "value_of_cells",
]
