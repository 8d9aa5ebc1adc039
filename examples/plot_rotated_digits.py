"""Can 20 labelled digits be enough?
=================================

Labels are expensive. It costs nothing to know that a digit that is turned or moved a
little is still the same digit. `InvariantSVC` uses such knowledge: it learns from the
worst version of each row that an attack allows. How many labels is that worth?
"""

# %%
# The training data are one to eight labelled digits of each class. The test digits are
# turned by up to 20 degrees.

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import rotate
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from noiseproof import InvariantSVC, VirtualExamples
from noiseproof.attacks import ImageRotation, ImageShift, Union

X, y = load_digits(return_X_y=True)
X = X / 16
rng = np.random.default_rng(0)
order = rng.permutation(len(y))
X, y = X[order], y[order]
test = slice(1200, 1600)


def turned(rows, degrees):
    images = rows.reshape(-1, 8, 8)
    return rotate(images, degrees, axes=(2, 1), reshape=False, order=1).reshape(-1, 64)


figure, axes = plt.subplots(1, 5, figsize=(8, 1.9))
for ax, degrees in zip(axes, (-20, -10, 0, 10, 20), strict=True):
    ax.imshow(turned(X[test][:1], degrees).reshape(8, 8), cmap="gray_r")
    ax.set(title=f"{degrees}°", xticks=[], yticks=[])
plt.show()

# %%
# The attack describes what may happen to a digit: a rotation by 10 or 20 degrees, or a
# shift by one pixel.

attack = Union([ImageRotation(10), ImageRotation(20), ImageShift(1)])
angles = [-20, -10, 0, 10, 20]


def scores(n_labels):
    """Accuracy on turned digits of three models, trained on so many of each class."""
    chosen = np.concatenate(
        [np.flatnonzero(y[:1000] == c)[:n_labels] for c in range(10)]
    )
    rows, labels = X[chosen], y[chosen]
    models = {
        "SVC": SVC(gamma=0.1, C=10),
        "SVC, all turned copies": VirtualExamples(SVC(gamma=0.1, C=10), attack),
        "InvariantSVC": InvariantSVC(
            attack, kernel="rbf", gamma=0.1, alpha=1 / (10 * len(labels)), tol=1e-2
        ),
    }
    return {
        name: np.mean(
            [model.score(turned(X[test], degrees), y[test]) for degrees in angles]
        )
        for name, model in ((n, m.fit(rows, labels)) for n, m in models.items())
    }


labels = [1, 2, 4, 8]
found = [scores(n) for n in labels]

figure, ax = plt.subplots()
for name in found[0]:
    ax.plot([10 * n for n in labels], [s[name] for s in found], "o-", label=name)
ax.set(xlabel="labelled digits", ylabel="accuracy on turned digits", xscale="log")
ax.set_xticks([10 * n for n in labels], [10 * n for n in labels])
ax.minorticks_off()
ax.legend()
plt.show()

# %%
# With this knowledge twenty labelled digits are worth about eighty without it. Training
# on all turned copies is as good here. The advantages of `InvariantSVC` are a proven
# gap to the optimum, and that it also supports attacks whose versions cannot be listed.

for n, s in zip(labels, found, strict=True):
    print(10 * n, "labels:", {name: round(float(v), 3) for name, v in s.items()})
