"""How do I learn from more rows than fit in memory?
=================================================

`DropoutSGDClassifier` learns from a stream, one chunk at a time. A row updates only the
weights of its non-zero features. Chunks of any size give the same model as a single
call. How much noise is best if each row is seen only once?
"""

# %%
# The data are a file in svmlight format, similar to texts: 20,000 rows over 10,000
# words. The code below never has more than one chunk of it in memory.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_svmlight_file

from noiseproof import DropoutSGDClassifier

ROWS, WORDS, PER_ROW = 20_000, 10_000, 30
rng = np.random.default_rng(0)
truth = rng.normal(size=WORDS)
path = Path(tempfile.mkdtemp()) / "stream.svmlight"
with path.open("w", encoding="ascii") as file:
    for words in rng.zipf(1.3, (ROWS, PER_ROW)) % WORDS:
        words = np.unique(words)
        label = 1 if truth[words].sum() + rng.normal() > 0 else -1
        file.write(f"{label} " + " ".join(f"{word + 1}:1" for word in words) + "\n")
print(f"{path.stat().st_size / 2**20:.1f} MiB on disk")


def pieces(size=2**17):
    """Rows of about `size` bytes of the file at a time, cut at line ends."""
    for offset in range(0, path.stat().st_size, size):
        X, y = load_svmlight_file(
            str(path), n_features=WORDS, zero_based=False, offset=offset, length=size
        )
        if X.shape[0]:
            yield X, y


# %%
# Each chunk is predicted before the models learn from it, so scores are for new rows.

models = {
    "AdaGrad, no noise": DropoutSGDClassifier(rule="adagrad", random_state=0),
    "dropout 0.2": DropoutSGDClassifier(0.2, random_state=0),
    "dropout 0.5": DropoutSGDClassifier(0.5, random_state=0),
    "dropout 0.8": DropoutSGDClassifier(0.8, random_state=0),
}
right = {name: [] for name in models}
seen = []
for X, y in pieces():
    for name, model in models.items():
        if seen:
            right[name].append((model.predict(X) == y).sum())
        model.partial_fit(X, y, classes=[-1, 1])
    seen.append(len(y))

figure, ax = plt.subplots()
for name, counts in right.items():
    share = np.cumsum(counts) / np.cumsum(seen[1:])
    ax.plot(np.cumsum(seen)[1:], share, label=f"{name}, {share[-1]:.3f}")
ax.set(xlabel="rows seen", ylabel="accuracy along the stream")
ax.legend()
plt.show()

# %%
# In these data every word influences the label, so little noise is best. In real
# reviews most words do not, and more noise pays: see the benchmarks.
