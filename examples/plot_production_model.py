"""How do I protect a model that is already in production?
=======================================================

The model in production cannot be trained again: it is validated, signed off, or belongs
to somebody else. But now it gets rows with missing values. Wrap the *frozen* model in
`AverageOverMissing`, which needs only rows of the past, without labels.
"""

# %%
# The model in production: boosted trees. They accept NaN, but have never seen any.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from noiseproof import AverageOverMissing
from noiseproof.evaluation import RobustnessCurveDisplay, robustness_curve

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
served = HistGradientBoostingClassifier(max_iter=30, random_state=0)
served.fit(X_train, y_train)

# %%
# The wrapper gets the training rows without labels, and does not change the model.

wrapped = AverageOverMissing(FrozenEstimator(served), random_state=0).fit(X_train)
imputed = make_pipeline(KNNImputer(), FrozenEstimator(served)).fit(X_train, y_train)

assert np.array_equal(wrapped.predict(X_test), served.predict(X_test))  # complete rows

models = {"as it is": served, "behind an imputer": imputed, "averaged": wrapped}
levels = [0, 0.2, 0.4, 0.6, 0.8]
curve = robustness_curve(
    models, X_test, y_test, "missing", levels, n_repeats=2, random_state=0
)
RobustnessCurveDisplay.from_curve(curve)
plt.show()

# %%
# The averaged probabilities also show how certain the model still is. Here is one digit
# with more and more of its pixels missing:

row = X_test[:1]
order = np.random.default_rng(1).permutation(64)
figure, axes = plt.subplots(2, 4, figsize=(8.5, 4), height_ratios=(2, 1.4))
for (picture, bars), gone in zip(axes.T, (0, 24, 40, 56), strict=True):
    holes = row.copy()
    holes[0, order[:gone]] = np.nan
    picture.imshow(holes.reshape(8, 8), cmap="gray_r")
    picture.set(
        title=f"{gone} of 64 missing", xticks=[], yticks=[], facecolor="#bcd7e8"
    )
    picture.grid(visible=False)
    bars.bar(range(10), wrapped.predict_proba(holes)[0])
    bars.set(xticks=range(10), ylim=(0, 1), yticks=[])
    bars.grid(visible=False)
axes[1, 0].set_ylabel("probability")
plt.show()
