"""Which sensor should be doubled?
===============================

A plant has several sensors, each with a few readings, and money for one spare. The one
to double is not the one with the largest weight, but the one whose loss costs most, and
two sensors may stand in for each other, so that only losing both hurts.
"""

# %%
# A synthetic plant: `flow` and `pressure` measure the same thing, `temperature` another
# one that matters nearly as much, and `vibration` hardly anything.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from noiseproof.evaluation import FragilityDisplay, feature_fragility

rng = np.random.default_rng(0)
n = 2000
load, heat, hum = rng.normal(size=(3, n))
sensors = {
    "flow": [0, 1],
    "pressure": [2, 3],
    "temperature": [4, 5, 6],
    "vibration": [7, 8],
}
X = np.column_stack(
    [load, load, load, load, heat, heat, heat, hum, hum]
) + 0.4 * rng.normal(size=(n, 9))
y = (1.2 * load + heat + 0.2 * hum + 0.3 * rng.normal(size=n) > 0).astype(int)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = RandomForestClassifier(100, random_state=0).fit(X_train, y_train)

# %%
# One sensor at a time is missing, and the model knows; nothing is fitted again.

single = feature_fragility(model, X_test, y_test, groups=sensors)
FragilityDisplay(single).plot()
plt.show()
print(single)

# %%
# Two at a time:

double = feature_fragility(model, X_test, y_test, groups=sensors, pairs=True)
FragilityDisplay(double).plot()
plt.show()
print(double)

# %%
# Losing `flow` or `pressure` alone is cheap, as each covers for the other. Losing both
# is the worst pair of all. The single point of failure is `temperature`: double that.
