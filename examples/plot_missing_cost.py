"""What do today's missing values cost?
====================================

A model is in production, and no labels come in. Values go missing, more of them each
day. How good are the answers now, how good would they be with nothing missing, and
which column should be repaired first?
"""

# %%
# A forest learns from complete patients. Averaged over missing values, its
# probabilities say how often it is right.

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
# Five days, on which more and more is missing. The estimate does not see the labels.
# Here they are known, so that it can be compared with the truth.

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
# On the last day, the holes of some columns cost more than those of others.

last = series.batches["day 5"]
print(last)
MissingCostDisplay(last).plot()
plt.show()

# %%
# Values that are missing because of what they are cannot be estimated for what they
# are: a warning says so.

by_value = Missing({"mean area": 0.9, "mean texture": 0.9}, mechanism="mnar")
found = missing_cost(model, by_value.sample(X_new, rng=0))
print(*found.warnings, sep="\n")
print("estimated", np.round(found.score, 3))
