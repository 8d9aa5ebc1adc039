"""How do I read a certificate?
============================

A robustness curve shows what happened in some random draws. A certificate says what
*cannot* happen: for each row, the smallest number of features whose deletion changes
the prediction. For linear models it is exact, and takes a moment for thousands of rows.
"""

# %%
# Two models that are nearly equally good on clean digits.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from noiseproof import DropoutSVC
from noiseproof.evaluation import CertificateDisplay, certify

X, y = load_digits(return_X_y=True)
X = X / 16
X_train, X_test, y_train, y_test = X[:900], X[900:], y[:900], y[900:]
models = {
    "logistic regression": LogisticRegression(max_iter=1000).fit(X_train, y_train),
    "DropoutSVC": DropoutSVC(0.1).fit(X_train, y_train),
}
CertificateDisplay.from_estimators(models, X_test, y_test)
plt.show()

# %%
# At budget 0 a curve is the plain accuracy. At budget 3 it is the share of digits that
# are right and stay right *whichever* three pixels are deleted. Nothing was tried out:
# it is a proof about this model and these rows.

certificates = certify(models["DropoutSVC"], X_test, y_test)
print("certified at 0, 1, 3, 5:", certificates.accuracy_at([0, 1, 3, 5]).round(3))

# %%
# For each row the certificate also names pixels that would do it. The digits that take
# the fewest pixels, and the ones that take the most:

right = np.flatnonzero(models["DropoutSVC"].predict(X_test) == y_test)
order = right[np.argsort(certificates.budget[right], kind="stable")]
figure, axes = plt.subplots(2, 5, figsize=(8, 3.6))
for ax, row in zip(axes.flat, np.r_[order[:5], order[-5:]], strict=True):
    ax.imshow(X_test[row].reshape(8, 8), cmap="gray_r")
    pixels = certificates.deletion(row)
    ax.plot(pixels % 8, pixels // 8, "x", color="C1", markersize=7, markeredgewidth=2)
    ax.set(title=f"{certificates.budget[row]:.0f} pixel(s)", xticks=[], yticks=[])
plt.show()

# %%
# What it does not say: nothing about new rows (`risk_bound` does, with a confidence),
# nothing about pixels that get *other values* (certify with `NormBall` or
# `FeatureScaling` for that), and nothing about whether a prediction is right in the
# first place (`accuracy_at` counts those that are).

print(f"risk under 3 deletions, at 95 % confidence: {certificates.risk_bound(3):.3f}")
