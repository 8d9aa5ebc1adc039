"""Accuracy estimated by NannyML's CBPE, in a Python of its own.

NannyML asks for an older LightGBM than this project, so it is run as
`python cbpe.py tables.npz estimates.json`, by the Python that has it. For each case i
the tables are `reference_i` and `probabilities_i`, (n, classes) each, and `labels_i` of
the reference.
"""

import json
import sys
from typing import Any

import numpy as np


def estimated(reference: Any, labels: Any, probabilities: Any) -> float:
    """Estimated accuracy of the largest probabilities, calibrated by the reference."""
    import nannyml
    import pandas as pd

    k = reference.shape[1]
    names = [f"p{c}" for c in range(k)]

    def table(p: Any) -> Any:
        frame = pd.DataFrame(p, columns=names)
        frame["answer"] = p.argmax(axis=1)
        return frame

    binary = k == 2
    estimator = nannyml.CBPE(
        y_pred_proba=names[1] if binary else dict(enumerate(names)),
        y_pred="answer",
        y_true="label",
        problem_type="classification_binary" if binary else "classification_multiclass",
        metrics=["accuracy"],
        chunk_number=1,
    )
    estimator.fit(table(reference).assign(label=labels))
    found = estimator.estimate(table(probabilities)).to_df()
    values = found[("accuracy", "value")][found[("chunk", "period")] == "analysis"]
    return float(values.iloc[0])


def main(source: str, target: str) -> None:
    """Estimate all cases of a file."""
    with np.load(source) as tables:
        n = sum(name.startswith("labels_") for name in tables)
        cases = [
            [tables[f"{part}_{i}"] for part in ("reference", "labels", "probabilities")]
            for i in range(n)
        ]
    with open(target, "w", encoding="utf-8") as file:
        json.dump([estimated(*case) for case in cases], file)


if __name__ == "__main__":
    main(*sys.argv[1:])
