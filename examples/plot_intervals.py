"""How far off may a predicted quantity be?
========================================

A prediction of a quantity is of little use without a range. Which range is right
depends on what is missing: without its best sensors a model knows less. The intervals
of `predict_interval` hold the target as often as promised for every pattern of missing
values. The standard deviation of `predict(..., return_std=True)` answers another
question, and is no such range.
"""

# %%
# Boosted trees that predict a quantity from eight columns, and are averaged over what
# missing values may have been. Nothing has to be set up for the intervals: `fit` keeps
# some of the rows aside.

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
# One row, of which more and more is missing. The interval grows with what is not known:

row = X[test][:1].copy()
for column in (3, 1, 0):
    low, high = model.predict_interval(row, coverage=0.9)[0]
    missing = int(np.isnan(row).sum())
    mean = model.predict(row)[0]
    print(f"{missing} missing: {mean:5.1f}, from {low:5.1f} to {high:5.1f}")
    row[0, column] = np.nan

# %%
# How often do intervals hold the target? Three ways, with more and more columns gone:
# intervals of `predict_interval`; one width for all rows, which is right for complete
# rows; and the prediction ± 1.645 times the standard deviation of `return_std`.

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
# `return_std` is the standard deviation of the *prediction* over what the missing
# values may have been: zero for a complete row, though its target is noisy.

for i, label in enumerate(labels):
    print(f"{label:24}", covered[i].round(2))
