"""Which sensor should be doubled?
===============================

A plant has several sensors, each with a few readings, and money for one spare sensor.
It should double the sensor whose loss costs most accuracy, which need not be the one
with the largest weight. Two sensors may also replace each other, so that only losing
both hurts.
"""

# %%
# In this synthetic plant `flow` and `pressure` measure the same quantity. `temperature`
# measures another one that matters nearly as much, and `vibration` hardly matters.

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
# One sensor at a time is missing. The model is not fitted again.

single = feature_fragility(model, X_test, y_test, groups=sensors)
FragilityDisplay(single).plot()
plt.show()
print(single)

# %%
# Two sensors at a time are missing:

double = feature_fragility(model, X_test, y_test, groups=sensors, pairs=True)
FragilityDisplay(double).plot()
plt.show()
print(double)

# %%
# Losing `flow` or `pressure` alone costs little, because each replaces the other.
# Losing both is the worst pair of all. The single point of failure is `temperature`:
# double it.
