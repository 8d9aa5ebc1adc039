"""Can a spam filter be made hard to rewrite?
==========================================

A spammer who knows the filter leaves out the words that give the mail away. This beats
a filter that relies on a few telling words. A filter that was trained against such
deletions relies on many words. What does that cost on mail that nobody rewrites, and
what is gained on mail that a spammer does rewrite?
"""

# %%
# Synthetic mail, so that the example runs anywhere: 12 telling words occur almost
# only in spam, and 188 others are merely a bit more frequent there. (With the data of
# the papers, `noiseproof.datasets.load_spambase` gives a real collection.)

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

from noiseproof import DropoutSVC, RobustPerceptron
from noiseproof.attacks import FeatureDeletion
from noiseproof.evaluation import RobustnessCurveDisplay, certify, robustness_curve

rng = np.random.default_rng(0)
n, telling, others = 3000, 12, 188
spam = rng.random(n) < 0.4
in_spam = np.r_[np.full(telling, 0.35), rng.uniform(0.05, 0.35, others)]
in_mail = np.r_[np.full(telling, 0.01), rng.uniform(0.05, 0.35, others)]
X = (
    rng.random((n, telling + others)) < np.where(spam[:, None], in_spam, in_mail)
) * 1.0
y = np.where(spam, "spam", "mail")
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

filters = {
    "linear SVM": LinearSVC(C=0.1),
    "DropoutSVC": DropoutSVC(noise=0.7),
    "RobustPerceptron": RobustPerceptron(budget=10, max_iter=5, random_state=0),
}
for model in filters.values():
    model.fit(X_train, y_train)

# %%
# The attack `FeatureDeletion` removes from each mail the words whose loss hurts the
# filter most.

attack = FeatureDeletion()
curve = robustness_curve(filters, X_test, y_test, attack, [0, 1, 2, 3, 4, 5, 6, 8, 10])
RobustnessCurveDisplay.from_curve(curve)
plt.show()

# %%
# How many words must a spammer leave out of a mail that was caught, to get it through?
# For a linear filter `certify` computes the exact number for each mail.

caught = X_test[(y_test == "spam")]
figure, ax = plt.subplots()
for name, model in filters.items():
    found = certify(model, caught[model.predict(caught) == "spam"], None)
    ax.hist(
        np.minimum(found.budget, 25),
        bins=np.arange(0.5, 26.5),
        histtype="step",
        linewidth=2,
        label=f"{name}, median {np.median(found.budget):.0f}",
    )
ax.set(xlabel="words to leave out of a spam mail", ylabel="mails")
ax.legend()
plt.show()

# %%
# Training for *random* deletions does not prepare for an adversary. `DropoutSVC` is the
# weakest of the three here, because the telling words are reliable on average, and it
# relies on them even more. Share of the total weight of the 12 telling words:

for name, model in filters.items():
    weights = np.abs(model.coef_[0])
    print(f"{name:18} {weights[:telling].sum() / weights.sum():.0%}")
