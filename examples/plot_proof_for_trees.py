"""What can be proven about boosted trees?
=======================================

For linear models certificates are exact. For all other models there is
`PartitionEnsemble`: it splits the features into parts, trains a model on each part, and
lets these models vote. Whatever happens to one feature can change one vote only, so the
votes prove how many features must change. What does that cost in accuracy?
"""

# %%
# Boosted trees are trained on the breast cancer data, alone and in ensembles of 5, 9
# and 15 parts.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier

from noiseproof import PartitionEnsemble
from noiseproof.evaluation import certify

X, y = load_breast_cancer(return_X_y=True)
X_train, y_train, X_test, y_test = X[::2], y[::2], X[1::2], y[1::2]
trees = HistGradientBoostingClassifier(max_iter=30, random_state=0)
plain = trees.fit(X_train, y_train).score(X_test, y_test)

figure, ax = plt.subplots()
ax.axhline(plain, color="grey", linestyle="--", label="plain trees, nothing proven")
budgets = np.arange(0, 8)
for parts in (5, 9, 15):
    ensemble = PartitionEnsemble(trees, n_parts=parts).fit(X_train, y_train)
    certificates = certify(ensemble, X_test, y_test)
    ax.step(
        budgets, certificates.accuracy_at(budgets), where="post", label=f"{parts} parts"
    )
ax.set(
    xlabel="features that may take any value",
    ylabel="certified accuracy",
    ylim=(0, 1.02),
)
ax.legend()
plt.show()

# %%
# With more parts, predictions withstand more changes, but each part has fewer features
# to learn from. If features go *missing* (NaN), a part abstains instead of voting for
# another class, so predictions withstand nearly twice as many losses. For 15 parts:

print("median number of features that must change:   ", np.median(certificates.budget))
print("median number of features that must be deleted:",
      np.median(certificates.deletion_budget))  # fmt: skip
