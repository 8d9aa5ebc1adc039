"""How do I read a certificate?
============================

A robustness curve shows what happened in some random draws. A certificate says what
*cannot* happen: for each row, the smallest number of features whose deletion changes
the prediction. For linear models it is exact, and computing it for thousands of rows
takes about a second.
"""

# %%
# The plot compares two models that are nearly equally good on clean digits.

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
# At budget 0 a curve shows the plain accuracy. At budget 3 it shows the share of digits
# that are predicted correctly *whichever* three pixels are deleted. This is not an
# experiment, but a proof about this model and these rows.

certificates = certify(models["DropoutSVC"], X_test, y_test)
print("certified at 0, 1, 3, 5:", certificates.accuracy_at([0, 1, 3, 5]).round(3))

# %%
# For each row the certificate also names pixels whose deletion changes the prediction.
# Here are the digits for which the fewest pixels suffice, and those that need the most:

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
# A certificate has limits:
#
# - It says nothing about new rows. `risk_bound` does, with a stated confidence.
# - It says nothing about pixels that get *other values*. For those, certify against
#   `NormBall` or `FeatureScaling`.
# - It does not say whether a prediction is correct. `accuracy_at` counts those that
#   are.

print(f"risk under 3 deletions, at 95 % confidence: {certificates.risk_bound(3):.3f}")
