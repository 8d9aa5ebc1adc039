"""What if a lab panel was not ordered?
====================================

A classifier was trained on patients with all measurements. Now a patient comes for whom
a whole panel of measurements is missing, and we know which. Mean imputation ignores
what the other measurements say about the missing ones. How much better is it to average
the predictions over the likely values of the missing measurements?
"""

# %%
# The breast cancer data have three blocks of ten measurements. One block at a time is
# missing from all test rows.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from noiseproof import AverageOverMissing

data = load_breast_cancer(as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(
    data.data, data.target, test_size=0.5, random_state=0, stratify=data.target
)
panels = {"mean": X_train.columns[:10], "worst": X_train.columns[20:]}
panels["mean and worst"] = [*panels["mean"], *panels["worst"]]

scaler, classifier = StandardScaler(), LogisticRegression()
models = {
    "mean imputation": make_pipeline(scaler, SimpleImputer(), classifier),
    "KNNImputer": make_pipeline(scaler, KNNImputer(), classifier),
    "averaged": AverageOverMissing(make_pipeline(scaler, classifier), random_state=0),
}
for model in models.values():
    model.fit(X_train, y_train)

# %%
# Accuracy measures the predicted classes, and log-loss the probabilities. If a panel is
# missing, predictions should be less certain.

accuracy = np.zeros((len(models), len(panels)))
loss = np.zeros_like(accuracy)
for j, columns in enumerate(panels.values()):
    rows = X_test.copy()
    rows[list(columns)] = np.nan
    for i, model in enumerate(models.values()):
        probabilities = model.predict_proba(rows)
        accuracy[i, j] = accuracy_score(y_test, probabilities.argmax(axis=1))
        loss[i, j] = log_loss(y_test, probabilities)

figure, axes = plt.subplots(1, 2, figsize=(9, 4))
places = np.arange(len(panels))
for ax, scores, title in zip(
    axes, (accuracy, loss), ("accuracy", "log-loss"), strict=True
):
    for i, name in enumerate(models):
        ax.bar(places + 0.27 * (i - 1), scores[i], 0.25, label=name)
    ax.set_xticks(places, panels)
    ax.set(title=title, xlabel="panel that is missing")
    ax.grid(axis="x", visible=False)
axes[0].set_ylim(0.5, 1)
axes[1].legend()
plt.show()

# %%
# The accuracies are close to each other, but the log-losses are not. The average has
# the lowest log-loss for each panel, because it is less certain where it should be.
#
# One patient in detail: the probability with all values, and without two panels.

row = X_test.iloc[[7]]
without = row.copy()
without[list(panels["mean and worst"])] = np.nan
for name, model in models.items():
    complete, incomplete = (model.predict_proba(r)[0, 1] for r in (row, without))
    print(f"{name:22} all values {complete:.3f}, without the panels {incomplete:.3f}")
