"""What missing values cost, on the page of a report and on one of its own."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from noiseproof import AverageOverMissing
from noiseproof.evaluation import missing_cost
from noiseproof.noise import Missing
from noiseproof.report import Plan, gather, render, render_cost


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(500, 3)), columns=["<iron>", "age", "dose"])
    y = (X["<iron>"] + 0.3 * X["age"] > 0).astype(int).to_numpy()
    model = AverageOverMissing(LogisticRegression(), "donors", random_state=0)
    model.fit(X[:300], y[:300])
    return model, Missing(0.5).sample(X[300:], rng=0), X[300:], y[300:]


def test_a_report_on_incomplete_rows_has_a_section(case):
    model, Z, X, y = case
    plan = Plan(levels=[0.0, 0.5], n_repeats=1)
    summary = gather({"averaged": model}, Z, y, plan)
    holes = summary.models[0].holes
    found = missing_cost(model, Z, random_state=0)
    assert holes.cost == tuple(found.cost)
    assert holes.columns["<iron>"] == (
        found.missing["<iron>"],
        *found.by_column["<iron>"],
    )
    page = render(summary)
    assert "What the missing values of these rows cost" in page
    assert "&lt;iron&gt;, " in page
    assert "<iron>" not in page
    complete = gather({"averaged": model}, X, y, plan)
    assert complete.models[0].holes is None
    assert "What the missing values of these rows cost" not in render(complete)


def test_a_page_of_its_own_escapes_names(case):
    model, Z, *_ = case
    found = missing_cost(model, Z, groups={"<b>": ["<iron>", "age"]})
    page = render_cost(found, title="Costs & holes")
    assert "<title>Costs &amp; holes</title>" in page
    assert "&lt;iron&gt;" in page
    assert "&lt;b&gt;" in page
    assert "<iron>" not in page
    assert "<script" not in page
    assert "worth / price" not in page
    priced = render_cost(found, prices={"<iron>": 1000.0, "age": 0.001})
    lines = priced.split("worth / price")[1].split("</table>")[0]
    assert lines.index("<td>age</td>") < lines.index("<td>&lt;iron&gt;</td>")
    assert f"<td>0.001</td><td>{found.worth['age'] / 0.001:.3g}</td>" in lines
    series = render_cost(missing_cost(model, {"Mon": Z, "Tue": Z}))
    assert "<svg" in series
    assert "Batch by batch" in series
