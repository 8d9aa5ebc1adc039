"""Facts about a fit, and the plan that follows from them.

All rules that decide how a fit is computed are here, together with the measured
constants that they use. The code that carries out a plan makes no such decisions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from noiseproof._marginal.objective import Problem
from noiseproof._rows import ENTRIES_PER_THREAD, available_threads

# For smooth losses with at most this many parameters per class, the Hessian is formed
# and factorised. With two classes this takes 0.75 of the time of conjugate gradients at
# 200,000 x 30, 1.0 at 10,000 x 50, 1.3 at 10,000 x 100; with the hinge loss 1.6 at
# 200,000 x 30.
FEW_PARAMETERS = 32
# The same limit where the number of passes matters more than the cost of each. A pass
# over blocks is a round trip to a cluster, and matrices save half to three quarters of
# the passes. Losses of the cumulant evaluate the noise of each entry in every pass; on
# dense rows (digits, 64 features) matrices take 0.6 of the time.
FEW_FOR_FEWER_PASSES = 100
# A sample with this fraction of the rows gives a good start if it has at least that
# many rows per parameter: the objective at its minimum is then too high by a fraction
# of about D / (2 rows), for D parameters
SAMPLE = 1 / 16
ROWS_PER_PARAMETER = 50
# Noise below this scale changes the solution so little that the solution without noise
# is a good start: on books a fit takes 0.5 of the time at a rate of 0.001, 0.8 to 1.05
# at 0.01, and at 0.05 up to 1.35 (C = 0.1 and 1)
QUIET = 0.02
# With more rows per feature than this, the dual of the noiseless hinge loss is slower
# than stages of smoothing. It took 0.1 to 1.7 of their time at 10 rows per feature (C
# from 0.01 to 100), 0.13 to 1.2 at 28 (digits), 2 to 4 at 670
TALL = 50
# Classes are solved in groups. A solver keeps about 20 arrays with one number per class
# and row (or feature); together these should not be larger than X, or than 20 MiB.
# Loops handle four classes at a time, so smaller groups would save nothing. On
# newsgroups (20 classes), solving all at once takes no less processor time.
ARRAYS = 20
SMALL = 1 << 17
LANES = 4
# On sparse rows, solving two groups of classes in parallel leaves less work to a single
# thread. This is done if the arrays of one group are small: at most about 32 MiB, or no
# more numbers than X has
PAIR = 2
ROOM = 1 << 22
# Maximum number of entries of an array that a worker keeps for a block
BLOCK_ROOM = 1 << 21

Where = Literal["memory", "blocks", "device"]


@dataclass(frozen=True)
class Facts:
    """What is known about a fit before it begins: numbers and booleans."""

    n_rows: int
    n_features: int
    n_parameters: int  # per class: features, and the intercept
    n_classes: int
    n_stored: int  # number of stored entries
    block_rows: int = 0  # rows of the largest block, if X is in blocks
    where: Where = "memory"
    is_sparse: bool = False
    is_kinked: bool = False
    is_hinge: bool = False  # whether the noiseless loss is a hinge
    is_convex: bool = True
    has_majorizer: bool = False
    needs_moments: bool = True
    noise_scale: float = 1.0  # maximum over features; infinite if additive
    is_mixed: bool = False  # whether there are unlabelled rows
    is_warm: bool = False  # whether there are weights to start from
    is_heard: bool = False  # whether a listener is told of each step
    n_cores: int = 1

    @classmethod
    def of(cls, problem: Problem, *, is_warm: bool, is_heard: bool) -> Facts:
        """Collect the facts of a problem on this machine."""
        design: Any = problem.design
        loss = problem.loss
        law = problem.noise.variance_law()
        scale = np.inf if np.any(law.constant) else float(np.max(law.scale, initial=0))
        k, parameters = problem.shape
        return cls(
            n_rows=design.shape[0],
            n_features=design.shape[1],
            n_parameters=parameters,
            n_classes=k,
            n_stored=design.n_stored,
            block_rows=max(design.rows) if design.where == "blocks" else 0,
            where=design.where,
            is_sparse=design.is_sparse,
            is_kinked=bool(loss.kink_width),
            is_hinge=loss.hinge_margin is not None,
            # a difference of two losses is not convex and has no majoriser
            is_convex=loss.convex and not (problem.is_mixed and loss.needs_moments),
            has_majorizer=loss.has_majorizer and not problem.is_mixed,
            needs_moments=loss.needs_moments,
            noise_scale=scale,
            is_mixed=problem.is_mixed,
            is_warm=is_warm,
            is_heard=is_heard,
            n_cores=available_threads(),
        )


@dataclass(frozen=True)
class Plan:
    """How a fit is computed."""

    algorithm: str  # name of a solver, or "factored": Newton's method with matrices
    start: Literal["given", "constant", "sample"] = "constant"
    # whether the dual of the noiseless hinge solves the problem, or gives a start
    dual: Literal["no", "start", "solve"] = "no"
    in_stages: bool = False  # smooth the kink in stages, less and less
    is_noisy: bool = True  # whether features have noise, which smooths kinks
    is_convex: bool = True  # then only rounding makes curvature negative
    majorize: bool = False  # take steps of the majoriser far from the minimum
    look_again: bool = False  # try another step length: values on a ray are free
    group_size: int = 1  # classes that are solved together
    side_by_side: int = 1  # groups that are solved in parallel
    threads: int | None = None  # threads per group; None: the storage decides
    limit_blas: bool = False  # idle BLAS threads would wait on cores that passes need
    keeps_steps: bool = False  # store each step, in case a cluster fails

    @classmethod
    def of(cls, facts: Facts, solver: str) -> Plan:
        """Make the plan for the solver that the user chose."""
        is_newton, is_noisy = solver == "newton", facts.noise_scale > 0
        group_size = _group_size(facts)
        n_groups = -(-facts.n_classes // group_size)
        pair = _side_by_side(facts, group_size) if n_groups > 1 else 1
        at_once = min(facts.n_classes, group_size)
        shares = facts.is_sparse and facts.n_stored * at_once >= ENTRIES_PER_THREAD
        return cls(
            algorithm="factored" if is_newton and _forms_matrix(facts) else solver,
            start=_start(facts, is_newton),
            dual=_dual(facts) if is_newton else "no",
            in_stages=facts.is_kinked,
            is_noisy=is_noisy,
            is_convex=facts.is_convex,
            majorize=facts.has_majorizer,
            # blocks evaluate every point anew, so that results depend on θ alone
            look_again=facts.needs_moments and facts.where != "blocks",
            group_size=group_size,
            side_by_side=pair,
            threads=facts.n_cores // pair if pair > 1 else None,
            limit_blas=facts.where == "blocks" or (shares and facts.n_cores > 1),
            keeps_steps=facts.where == "blocks",
        )


def _forms_matrix(facts: Facts) -> bool:
    in_blocks = facts.where == "blocks"
    if facts.where == "device" or (facts.is_kinked and not in_blocks):
        return False
    dense_cumulants = not facts.needs_moments and not facts.is_sparse
    fewer = in_blocks or dense_cumulants
    return facts.n_parameters <= (FEW_FOR_FEWER_PASSES if fewer else FEW_PARAMETERS)


def _start(facts: Facts, is_newton: bool) -> Literal["given", "constant", "sample"]:
    if facts.is_warm:
        return "given"
    enough = facts.n_rows * SAMPLE >= ROWS_PER_PARAMETER * facts.n_parameters
    able = facts.where == "memory" and facts.is_convex and not facts.is_mixed
    return "sample" if is_newton and enough and able else "constant"


def _dual(facts: Facts) -> Literal["no", "start", "solve"]:
    wide = facts.n_rows <= TALL * facts.n_features
    if not (facts.is_hinge and wide and facts.where == "memory" and not facts.is_mixed):
        return "no"
    if facts.noise_scale == 0:
        return "solve"
    return "start" if facts.noise_scale <= QUIET and not facts.is_warm else "no"


def _group_size(facts: Facts) -> int:
    """Return how many classes are solved together.

    On a device, all classes are: it has the memory, and needs large products.
    """
    if facts.where == "device":
        return facts.n_classes
    if facts.where == "blocks":
        return max(1, BLOCK_ROOM // max(facts.block_rows, facts.n_features))
    room = max(SMALL, facts.n_stored // ARRAYS)
    return max(LANES, room // max(facts.n_rows, facts.n_features))


def _side_by_side(facts: Facts, group_size: int) -> int:
    """Return how many groups are solved in parallel."""
    if facts.is_heard or not facts.is_sparse:  # listeners expect one step at a time
        return 1
    kept = ARRAYS * group_size * max(facts.n_rows, facts.n_features)
    return min(PAIR, facts.n_cores) if kept <= max(ROOM, facts.n_stored) else 1
