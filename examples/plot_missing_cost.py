"""What do today's missing values cost?
====================================

A model is in production, and there are no labels for the new rows. Each day more values
are missing. How good are the predictions now, how good would they be if nothing were
missing, and which column should be repaired first?
"""

# %%
# A forest is trained on patients without missing values. `AverageOverMissing` averages
# its probabilities over the missing values, so they show how often it is right.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from noiseproof import AverageOverMissing
from noiseproof.evaluation import MissingCostDisplay, missing_cost
from noiseproof.noise import Missing

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X.iloc[:, :10]  # the means of ten measurements
X_train, X_new, y_train, y_new = train_test_split(X, y, test_size=0.5, random_state=0)
forest = RandomForestClassifier(random_state=0)
model = AverageOverMissing(forest, random_state=0).fit(X_train, y_train)

# %%
# On each of five days more values are missing. The estimate does not use the labels.
# They are known here, so the plot can also show the true accuracy.

days = {
    f"day {i}": Missing(rate).sample(X_new, rng=i)
    for i, rate in enumerate([0.1, 0.3, 0.5, 0.7, 0.9], start=1)
}
series = missing_cost(model, days)
display = MissingCostDisplay(series).plot()
truth = [model.score(rows, y_new) for rows in days.values()]
display.ax_.plot(range(len(days)), truth, "kx", label="true accuracy")
display.ax_.legend()
plt.show()

# %%
# On the last day, the missing values of some columns cost more than those of others.

last = series.batches["day 5"]
print(last)
MissingCostDisplay(last).plot()
plt.show()

# %%
# If large values are missing more often than small ones, the observed values say too
# little about the missing ones, and the estimate may be wrong. A warning says so.

by_value = Missing({"mean area": 0.9, "mean texture": 0.9}, mechanism="mnar")
found = missing_cost(model, by_value.sample(X_new, rng=0))
print(*found.warnings, sep="\n")
print("estimated", np.round(found.score, 3))
