"""Deletion of whole tokens of a sequence."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from noiseproof.attacks import Attack


class TokenDeletion(Attack):
    """Blank out the features of some tokens of each sequence.

    It serves `LinearChain`, which finds the worst deletion; sequences are arrays of
    shape (length, n_features).

    Parameters
    ----------
    budget : int, default=1
        Tokens of each sequence that may be blanked out.

    Examples
    --------
    >>> import numpy as np
    >>> from noiseproof.structured import TokenDeletion
    >>> TokenDeletion(1).sample([np.ones((3, 1))], np.random.default_rng(0))[0].ravel()
    array([1., 1., 0.])
    """

    def __init__(self, budget: int = 1):
        self.budget = budget

    def check(self) -> int:
        """The budget, or one clear sentence about what is wrong."""
        if self.budget < 0 or int(self.budget) != self.budget:
            raise ValueError(
                "TokenDeletion.budget must be a whole number, not negative; got "
                f"{self.budget!r}."
            )
        return int(self.budget)

    def delete(self, x: NDArray[Any], tokens: Any) -> NDArray[Any]:
        """A copy of the sequence x without the features of some tokens."""
        x = np.array(x)
        x[tokens] = 0.0
        return x

    def sample(self, X: Any, rng: np.random.Generator) -> list[NDArray[Any]]:
        """All sequences with as many tokens deleted as may be, chosen at random."""
        budget = self.check()
        return [
            self.delete(x, rng.permutation(len(x))[: min(budget, len(x))]) for x in X
        ]
