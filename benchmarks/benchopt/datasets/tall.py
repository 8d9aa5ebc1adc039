"""Many dense rows with few features."""

from __future__ import annotations

import numpy as np
from benchopt import BaseDataset


class Dataset(BaseDataset):
    name = "tall"
    parameters = {"rows, features": [(1_000_000, 30)]}

    def get_data(self):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((self.rows, self.features))
        w = 2 * rng.standard_normal(self.features) / np.sqrt(self.features)
        y = np.where(X @ w + rng.logistic(size=self.rows) > 0, 1, -1)
        return dict(X=X, y=y)
