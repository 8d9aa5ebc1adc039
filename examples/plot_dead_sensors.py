"""Which model survives dead sensors?
==================================

A machine is monitored by 64 sensors. Some of them will fail. A failed sensor reads
zero, and nothing tells the model which ones have failed. Here the sensors are the
pixels of scikit-learn's handwritten digits. How much accuracy do models lose that were
trained while all sensors worked?
"""

# %%
# Four models are trained on the same rows: a plain linear SVM, boosted trees, and two
# models that expect features to be lost. `DropoutSVC` minimises its expected loss over
# *all* ways in which pixels may be lost. It does so in closed form, which takes about
# as long as one plain fit.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

from noiseproof import DropoutLogisticRegression, DropoutSVC
from noiseproof.evaluation import RobustnessCurveDisplay, robustness_curve

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, random_state=0)

models = {
    "linear SVM": LinearSVC(C=0.1),
    "boosted trees": HistGradientBoostingClassifier(max_iter=30, random_state=0),
    "DropoutSVC": DropoutSVC(noise=0.3),
    "DropoutLogisticRegression": DropoutLogisticRegression(noise=0.3),
}
for model in models.values():
    model.fit(X_train, y_train)

# %%
# `robustness_curve` deletes pixels of the test rows at random, the same ones for every
# model, and scores the predictions. It works for any model with `predict`, and does not
# fit it again.

levels = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
curve = robustness_curve(
    models, X_test, y_test, "delete", levels, n_repeats=5, random_state=0
)
RobustnessCurveDisplay.from_curve(curve)
plt.show()

# %%
# The same as numbers:

print(curve)

# %%
# Robustness costs accuracy on clean rows, and gains accuracy as sensors fail. If you do
# not know how many will fail, compare the mean scores over all levels:

print({name: round(area, 3) for name, area in curve.area().items()})
