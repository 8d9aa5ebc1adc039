"""How far off may a predicted quantity be?
========================================

How far off a prediction may be depends on what is missing: without its best inputs a
model makes larger errors. The intervals of `predict_interval` contain the target with
the probability you ask for, for every pattern of missing values. The standard deviation
of `predict(..., return_std=True)` does not give such intervals.
"""

# %%
# The model is boosted trees in `AverageOverMissing`, which predict a quantity from
# eight columns. Intervals need no preparation: `fit` holds out some rows to calibrate
# them.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.ensemble import HistGradientBoostingRegressor

from noiseproof import AverageOverMissing

X, y = make_friedman1(5000, 8, noise=1.0, random_state=0)
train, test = slice(0, 2000), slice(2000, None)
boosting = HistGradientBoostingRegressor(max_iter=60, random_state=0)
model = AverageOverMissing(boosting, random_state=0).fit(X[train], y[train])

# %%
# As more values of a row are missing, its interval grows:

row = X[test][:1].copy()
for column in (3, 1, 0):
    low, high = model.predict_interval(row, coverage=0.9)[0]
    missing = int(np.isnan(row).sum())
    mean = model.predict(row)[0]
    print(f"{missing} missing: {mean:5.1f}, from {low:5.1f} to {high:5.1f}")
    row[0, column] = np.nan

# %%
# How often do intervals contain the target as more columns are missing? Three kinds of
# intervals are compared: those of `predict_interval`; intervals of one width, which is
# right for complete rows; and the prediction ± 1.645 standard deviations of
# `return_std`.

gone = [[], [3], [3, 1], [3, 1, 0], [3, 1, 0, 4]]
width = np.diff(model.predict_interval(X[test][:1]))[0, 0]  # of a complete row
covered, widths = np.zeros((3, len(gone))), np.zeros((3, len(gone)))
for j, columns in enumerate(gone):
    rows = X[test].copy()
    rows[:, columns] = np.nan
    mean, std = model.predict(rows, return_std=True)
    low, high = model.predict_interval(rows).T
    ways = [(low, high)]
    ways += [(mean - half, mean + half) for half in (width / 2, 1.645 * std)]
    for i, (low, high) in enumerate(ways):
        covered[i, j] = np.mean((low <= y[test]) & (y[test] <= high))
        widths[i, j] = np.mean(high - low)

figure, axes = plt.subplots(1, 2, figsize=(9, 3.8))
labels = ["predict_interval", "one width for all rows", "± 1.645 return_std"]
for i, label in enumerate(labels):
    axes[0].plot(range(len(gone)), covered[i], "o-", label=label)
    axes[1].plot(range(len(gone)), widths[i], "o-", label=label)
axes[0].axhline(0.9, color="grey", linestyle="--", label="promised")
axes[0].set(xlabel="columns missing, of 8", ylabel="target is in the interval")
axes[1].set(xlabel="columns missing, of 8", ylabel="width of the interval, mean")
axes[0].legend()
plt.show()

# %%
# `return_std` gives the standard deviation of the *prediction* over the possible
# missing values. It does not include the noise of the target, so it is zero for a
# complete row.

for i, label in enumerate(labels):
    print(f"{label:24}", covered[i].round(2))
