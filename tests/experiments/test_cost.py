"""The experiment on estimated costs: runs with and without NannyML, and its page."""

import sys

import pytest
from experiments import EXPERIMENTS, cost

EXPERIMENT = EXPERIMENTS["cost"]


def names():
    settings = EXPERIMENT.sizes["tiny"]
    parts = EXPERIMENT.parts(settings, dict.fromkeys(settings.data))
    return [part.name for part in parts]


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands for Python")
def test_parts_with_and_without_cbpe_are_not_mixed(monkeypatch, tmp_path):
    monkeypatch.delenv("NOISEPROOF_NANNYML", raising=False)
    plain = names()
    (tmp_path / "nannyml.py").write_text("", encoding="utf-8")
    python = tmp_path / "python"
    script = f'#!/bin/sh\ncd "{tmp_path}" && exec "{sys.executable}" "$@"\n'
    python.write_text(script, encoding="utf-8")
    python.chmod(0o755)
    monkeypatch.setenv("NOISEPROOF_NANNYML", str(python))
    assert not set(plain) & set(names())


@pytest.mark.parametrize("python", [sys.executable, "/no/such/python"])
def test_a_python_without_nannyml_is_refused_at_the_start(python, monkeypatch):
    monkeypatch.setenv("NOISEPROOF_NANNYML", python)
    with pytest.raises(ValueError, match="no Python that can import nannyml"):
        names()


def test_the_page_tells_each_table_and_model():
    keys = ("data", "model", "panel", "missing", "curve", "value")
    rows = [
        dict(zip(keys, (*case, "50 %", curve, value), strict=True))
        for *case, curve, value in (
            ("vehicle", "linear", "mcar", "missing_cost", 0.01),
            ("vehicle", "forest", "mcar", "missing_cost", 0.02),
            ("vehicle", "forest", "mcar", "CBPE, mean fill", 0.5),
            ("vehicle", "boosting", "mean accuracy while buying", "value", 0.9),
            ("vehicle", "boosting", "mean accuracy while buying", "random", 0.8),
        )
    ]
    page = EXPERIMENT.notes(rows)
    assert "| data | linear | forest |" in page
    assert "| vehicle | 0.010 | 0.020 |" in page
    assert "| vehicle | 0.900 | 0.800 |" in page
    assert "0.500" not in page


def test_regressors_have_claims_of_their_own():
    keys = ("data", "model", "panel", "missing", "curve", "value")
    more = {"estimate": 10.0, "low": 9.0, "high": 11.0, "truth": 10.5, "told": 0.5}
    rows = [
        dict(zip(keys, ("bike", "linear", *case), strict=True)) | more
        for case in (
            ("relative error of the RMSE, mcar", "50 %", "missing_cost", 0.04),
            ("relative error of the RMSE, mar", "50 %", "missing_cost", 0.08),
            ("relative error of the RMSE, mnar", "50 %", "missing_cost", 0.9),
            ("ranks of columns, squared error", "50 %", "missing_cost", 0.7),
        )
    ]
    near, inside = cost._of_quantities(rows)
    assert near.holds
    assert near.numbers.startswith("6.0 %")
    assert inside.holds
    assert inside.numbers == "100 % of 2"
    (ranks,) = cost._ranked(rows)
    assert not ranks.holds
    assert ranks.text.startswith("Regression: ")
