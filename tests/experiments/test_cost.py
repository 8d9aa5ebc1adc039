"""The experiment on estimated costs: runs with and without NannyML, and its page."""

import sys

import pytest
from experiments import EXPERIMENTS

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
