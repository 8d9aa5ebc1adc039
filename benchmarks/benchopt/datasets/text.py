"""Word counts of product reviews, from the folder NOISEPROOF_DATA."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from benchopt import BaseDataset

sys.path.insert(0, str(Path(__file__).parents[2]))

from common import TEXT


class Dataset(BaseDataset):
    name = "text"
    parameters = {"source": ["books", "kitchen"]}

    def get_data(self):
        X, y, *_ = TEXT[self.source]()
        return dict(X=X, y=np.where(y == 1, 1, -1))
