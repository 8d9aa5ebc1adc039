"""What are reviews without labels worth?
======================================

Labels need people, but texts are free. For generalised linear models, noise acts as a
penalty that does not depend on labels (Wager, Wang and Liang 2013), so rows without
labels help to estimate it. How many labelled rows do the unlabelled ones replace?
"""

# %%
# The texts are synthetic. Each text is about one of ten topics, each topic has its own
# words, and half of the topics are liked. This generator was chosen because unlabelled
# rows help here: they show which words occur together, namely those of a topic. They
# help less, or not at all, if the words of a text have little to do with each other.

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from noiseproof import DropoutLogisticRegression

WORDS, TOPICS, LENGTH = 1000, 10, 40
lean = np.random.default_rng(1).normal(size=(TOPICS, WORDS))
laws = np.exp(lean) / np.arange(1, WORDS + 1) ** 0.8
laws /= laws.sum(axis=1, keepdims=True)


def make_texts(n, rng):
    topics = rng.integers(0, TOPICS, n)
    counts = np.array([rng.multinomial(LENGTH, laws[topic]) for topic in topics])
    return sp.csr_array((counts > 0) * 1.0), topics % 2


# %%
# Unlabelled rows are passed to `fit` as `X_unlabeled`. The plain model has the `C` that
# is best on the test rows, which is an unfair advantage. The dropout rate is fixed.

sizes = [50, 100, 200, 400]
names = ("no noise, best C", "dropout", "dropout, 2,000 unlabelled texts")
scores = np.zeros((len(names), len(sizes), 2))
for seed in range(2):
    rng = np.random.default_rng(seed)
    X, y = make_texts(max(sizes), rng)
    X_unlabelled, _ = make_texts(2000, rng)
    X_test, y_test = make_texts(1000, rng)
    for j, n in enumerate(sizes):
        plain = [LogisticRegression(C=C).fit(X[:n], y[:n]) for C in (0.1, 1, 10)]
        model = DropoutLogisticRegression(0.3, C=10, expectation="gaussian")
        scores[0, j, seed] = max(m.score(X_test, y_test) for m in plain)
        scores[1, j, seed] = model.fit(X[:n], y[:n]).score(X_test, y_test)
        model.fit(X[:n], y[:n], X_unlabeled=X_unlabelled)
        scores[2, j, seed] = model.score(X_test, y_test)

figure, ax = plt.subplots()
for name, found in zip(names, scores, strict=True):
    ax.plot(sizes, found.mean(axis=1), "o-", label=name)
ax.set(xlabel="labelled texts", ylabel="accuracy on new texts", xscale="log")
ax.set_xticks(sizes, sizes)
ax.minorticks_off()
ax.legend()
plt.show()

# %%
# With 200 labelled texts, unlabelled texts help about as much as twice as many labels.
# With 50 they do harm, because the model's predictions for them are not yet good
# enough.

for name, found in zip(names, scores, strict=True):
    print(f"{name:32}", found.mean(axis=1).round(3))
