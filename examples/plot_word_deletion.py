"""Does dropout help even if no word is missing?
=============================================

In text most words are rare, and a classifier that learns from few reviews relies too
much on the words that happen to be in them. Training with dropout averages over all
ways in which words could have been left out, at the price of one fit. Which dropout
rate is best on clean reviews, and on reviews from which half of the words are deleted?
"""

# %%
# The reviews are synthetic. Their 2,000 words follow Zipf's law: a few are frequent,
# and most are rare. Each word is more frequent in one of the two classes.

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from noiseproof import DropoutLogisticRegression
from noiseproof.evaluation import robustness_curve


def make_reviews(n, rng, words=2000, length=60):
    """Counts of words as CSR, and labels; half of the words lean to either side."""
    frequency = 1 / np.arange(1, words + 1)
    lean = np.random.default_rng(1).normal(scale=0.5, size=words)
    y = rng.integers(0, 2, n)
    rows = []
    for label in y:
        law = frequency * np.exp(lean if label else -lean)
        rows.append(rng.multinomial(rng.poisson(length), law / law.sum()))
    return sp.csr_array(np.array(rows, dtype=float)), y


rng = np.random.default_rng(0)
X_train, y_train = make_reviews(300, rng)
X_test, y_test = make_reviews(2000, rng)

# %%
# The plain model has the `C` that is best on the test rows, an unfair advantage.

strengths = [0.01, 0.1, 1.0, 10.0, 100.0]
plain = [LogisticRegression(C=C, max_iter=500).fit(X_train, y_train) for C in strengths]
rates = [0.1, 0.3, 0.5, 0.7, 0.9, 0.95]
noisy = [DropoutLogisticRegression(rate, C=1.0).fit(X_train, y_train) for rate in rates]

levels = [0, 0.5]
options = {"n_repeats": 5, "random_state": 0}
by_rate = robustness_curve(
    {f"{r}": m for r, m in zip(rates, noisy, strict=True)},
    X_test,
    y_test,
    "delete",
    levels,
    **options,
)
by_strength = robustness_curve(
    {f"{C}": m for C, m in zip(strengths, plain, strict=True)},
    *(X_test, y_test, "delete", levels),
    **options,
)

figure, ax = plt.subplots()
for j, (title, colour) in enumerate((("clean", "C0"), ("half deleted", "C1"))):
    best = by_strength.mean[:, j].max()
    ax.plot(rates, by_rate.mean[:, j], "o-", color=colour, label=f"{title}, dropout")
    ax.axhline(best, color=colour, linestyle="--", label=f"{title}, best plain model")
ax.set(xlabel="rate of dropout in training", ylabel="accuracy on new reviews")
ax.legend()
plt.show()

# %%

print("plain, by C")
print(by_strength)
print("dropout, by rate")
print(by_rate)
