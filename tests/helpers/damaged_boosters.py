"""Read texts of boosters after random damage, in a process that may die of it.

    python damaged_boosters.py LIBRARY COUNT

Prints how many were read and answer, and how many were refused.
"""

import contextlib
import io
import re
import sys
import warnings

import numpy as np

from noiseproof.io.carried import FORMATS, carry

_ODD = (b"-1", b"0", b"2", b"100", b"2147483647", b"-2147483648", b"1e30", b"nan")


def damaged(text, dice):
    """Other bytes, other numbers, a part left out, or a part twice."""
    how, size = dice.integers(4), len(text)
    if how == 0:
        bytes_ = bytearray(text)
        for place in dice.integers(size, size=3):
            bytes_[place] = dice.integers(256)
        return bytes(bytes_)
    if how == 1:
        numbers = list(re.finditer(rb"-?\d+(\.\d+)?([eE][-+]?\d+)?", text))
        found = numbers[dice.integers(len(numbers))]
        return text[: found.start()] + dice.choice(_ODD) + text[found.end() :]
    start = dice.integers(size)
    end = start + dice.integers(1, 200)
    return text[:start] + (text[end:] if how == 2 else text[start:end] + text[start:])


def main(library, count):
    """Damage one text in many ways."""
    module = __import__(library)
    prefix = {"lightgbm": "LGBM", "xgboost": "XGB", "catboost": "CatBoost"}[library]
    kind = f"{library}.{prefix}Classifier"
    quiet = {"verbose": -1, "num_leaves": 5} if library == "lightgbm" else {}
    if library == "catboost":
        quiet = {"verbose": 0, "allow_writing_files": False, "depth": 3}
    dice = np.random.default_rng(0)
    X = dice.normal(size=(150, 4))
    y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2], [-0.5, 0.5])
    model = getattr(module, f"{prefix}Classifier")(n_estimators=3, **quiet).fit(X, y)
    state, answered = carry(model).state, 0
    for _ in range(count):
        text = damaged(state["text"], dice)
        with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
            again = FORMATS[kind].read(kind.split(".")[1], state | {"text": text})
            again.predict(X)
            answered += 1
    print(answered, count - answered)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1], int(sys.argv[2]))
