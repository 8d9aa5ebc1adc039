"""Do features fail alone, or a sensor at a time?
==============================================

A sensor with ten readings rarely loses a single one: it dies, and all ten are lost. A
model that was trained for features that fail one by one may rely on one sensor alone.
When does it pay to tell the model which features fail together?
"""

# %%
# Three sensors with ten readings each measure the same state. A common disturbance
# affects all of them, to different degrees. A plain model cancels the disturbance by
# taking differences between sensors. That fails as soon as one of them is lost.

import matplotlib.pyplot as plt
import numpy as np

from noiseproof import DropoutLogisticRegression
from noiseproof.evaluation import feature_fragility, robustness_curve
from noiseproof.noise import Dropout

sensors = {"A": range(10), "B": range(10, 20), "C": range(20, 30)}


def make(n, rng):
    y = rng.integers(0, 2, n)
    common = np.outer(rng.normal(size=n), [0.5, 1.0, 1.5])
    whole = common + 0.5 * rng.normal(size=(n, 3))
    X = (2 * y - 1)[:, None] + np.repeat(whole, 10, axis=1)
    return X + 0.5 * rng.normal(size=X.shape), y


rng = np.random.default_rng(0)
X, y = make(1000, rng)
X_test, y_test = make(4000, rng)

models = {
    "no noise": DropoutLogisticRegression(noise=None),
    "features fail alone": DropoutLogisticRegression(noise=Dropout(0.3)),
    "sensors fail": DropoutLogisticRegression(noise=Dropout(0.3, groups=sensors)),
}
for model in models.values():
    model.fit(X, y)

# %%
# Accuracy with all sensors working, and with each of them dead:

figure, ax = plt.subplots()
for i, (name, model) in enumerate(models.items()):
    lost = feature_fragility(model, X_test, y_test, groups=sensors)
    costs = dict(zip(lost.names, lost.cost, strict=True))
    scores = [lost.score, *(lost.score - costs[s] for s in sensors)]
    ax.bar(np.arange(4) + 0.27 * (i - 1), scores, 0.25, label=name)
ax.set_xticks(range(4), ["all alive", *(f"{s} dead" for s in sensors)])
ax.set(ylim=(0.5, 1), ylabel="accuracy")
ax.grid(axis="x", visible=False)
ax.legend()
plt.show()

# %%
# The weights explain why. Here is the total weight of each sensor's readings:

for name, model in models.items():
    print(f"{name:20}", model.coef_.reshape(3, 10).sum(axis=1).round(2))

# %%
# `robustness_curve` can also let whole sensors die. Noise with groups does not always
# pay: if sensors share no disturbance, independent noise of the same rate is as good or
# better, because it regularises more.

curve = robustness_curve(
    models,
    X_test,
    y_test,
    "delete_groups",
    [0, 0.2, 0.4],
    groups=sensors,
    random_state=0,
)
print(curve)
