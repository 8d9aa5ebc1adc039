"""How sure can I be when values are missing?
==========================================

If half of its inputs are missing, a model should be less certain. A conformal set lists
the classes that cannot be ruled out, and contains the true class for, say, 90 % of the
rows. Usually this holds only on average: rows with missing values may be covered far
less often. `conformal_sets` guarantees it for every pattern of missing values.
"""

# %%
# The model is boosted trees, which accept NaN. Its sets are calibrated in two ways: on
# complete rows, as usual, and by `conformal_sets`.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier

from noiseproof.evaluation import conformal_sets

X, y = make_classification(
    6000, 10, n_informative=8, n_redundant=2, n_classes=4, class_sep=1.5, random_state=0
)
train, calibration, test = slice(0, 2000), slice(2000, 4000), slice(4000, None)
model = HistGradientBoostingClassifier(max_iter=40, random_state=0)
model.fit(X[train], y[train])
sets = conformal_sets(model, X[calibration], y[calibration], coverage=0.9)

strange = 1 - model.predict_proba(X[calibration])[np.arange(2000), y[calibration]]
threshold = np.sort(strange)[int(np.ceil(2001 * 0.9)) - 1]

# %%
# Share of the rows whose set contains the true class, and the size of the sets, as more
# and more columns are missing:

missing = [0, 2, 4, 6, 8]
covered, size = np.zeros((2, 5)), np.zeros((2, 5))
for j, k in enumerate(missing):
    rows = X[test].copy()
    rows[:, :k] = np.nan
    usual = 1 - model.predict_proba(rows) <= threshold
    for i, found in enumerate((usual, sets.predict(rows))):
        covered[i, j] = found[np.arange(len(rows)), y[test]].mean()
        size[i, j] = found.sum(axis=1).mean()

figure, axes = plt.subplots(1, 2, figsize=(9, 3.8))
for i, name in enumerate(("calibrated on complete rows", "conformal_sets")):
    axes[0].plot(missing, covered[i], "o-", label=name)
    axes[1].plot(missing, size[i], "o-", label=name)
axes[0].axhline(0.9, color="grey", linestyle="--", label="promised")
axes[0].set(xlabel="columns missing, of 10", ylabel="true class is in the set")
axes[1].set(xlabel="columns missing, of 10", ylabel="classes in a set, mean")
axes[0].legend()
plt.show()

# %%

print("covered, usual:         ", covered[0].round(3))
print("covered, conformal_sets:", covered[1].round(3))
