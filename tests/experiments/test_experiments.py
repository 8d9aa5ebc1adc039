"""Every experiment, in its tiny size: none may rot."""

import csv
import dataclasses

import numpy as np
import pytest
from experiments import EXPERIMENTS, run
from experiments.data import READERS
from experiments.images import CODES, PatchFeatures
from experiments.made import MADE

pytestmark = pytest.mark.whole


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_tiny_version_writes_table_page_and_plot(name, tmp_path, monkeypatch):
    monkeypatch.delenv("NOISEPROOF_DATA", raising=False)
    lines = []
    report = run(name, "tiny", tmp_path, progress=lines.append)
    experiment = EXPERIMENTS[name]
    with_ranks = experiment.ranks(report.rows) is not None
    assert [path.name for path in report.files] == [
        f"{name}.csv",
        f"{name}.md",
        f"{name}.png",
        *[f"{name}-ranks.png"] * with_ranks,
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        path.name for path in report.files
    )
    with (tmp_path / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(report.rows) > 1
    assert lines[-1].startswith(f"{name}: {len(lines)} of {len(lines)} parts")
    assert "about 0 s left" in lines[-1]
    values = np.array([float(row[experiment.layout.value]) for row in rows])
    assert np.isfinite(values).all()
    page = (tmp_path / f"{name}.md").read_text(encoding="utf-8")
    assert report.claims
    for claim in report.claims:
        assert f"{claim.text} ({claim.numbers})." in page
    assert experiment.notes(report.rows) in page
    assert f'run("{name}", "tiny")' in page
    # a misspelt key would hide a number of the paper
    curves = {row[experiment.layout.curve] for row in report.rows}
    assert {key[-1] for key in experiment.printed} <= curves


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_settings_are_frozen_and_complete(name):
    experiment = EXPERIMENTS[name]
    assert experiment.name == name
    assert list(experiment.sizes) == ["tiny", "quick", "full"]
    for settings in experiment.sizes.values():
        assert set(settings.data) <= set(READERS)
        with pytest.raises(dataclasses.FrozenInstanceError):
            settings.seed = 1


def test_made_data_has_every_name():
    assert list(MADE) == list(READERS)


def test_missing_data_is_told_before_any_work(monkeypatch, tmp_path):
    monkeypatch.delenv("NOISEPROOF_DATA", raising=False)
    name = next(n for n in EXPERIMENTS if EXPERIMENTS[n].sizes["quick"].data)
    with pytest.raises(FileNotFoundError, match="NOISEPROOF_DATA"):
        run(name, "quick", tmp_path)
    assert not list(tmp_path.iterdir())


def test_unknown_names_are_refused_in_one_sentence():
    with pytest.raises(ValueError, match="There is no experiment 'nothing'; use one"):
        run("nothing")
    with pytest.raises(ValueError, match="size='huge' is not known"):
        run(next(iter(EXPERIMENTS)), "huge")


@pytest.mark.parametrize("code", CODES)
def test_features_of_images_are_the_same_in_torch(rng, code):
    torch = pytest.importorskip("torch")
    images = rng.random((30, 12, 12, 3)).astype(np.float32)
    features = PatchFeatures(5, 200).fit(images)
    expected = features.transform(images, code)
    assert expected.shape == (30, 20)
    found = features.transform(torch.asarray(images), code)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-3, atol=1e-4)


def test_each_patch_counts_once_for_its_nearest_centre(rng):
    images = rng.random((30, 12, 12, 3)).astype(np.float32)
    features = PatchFeatures(5, 200).fit(images)
    counts = features.transform(images, "nearest centre")
    np.testing.assert_array_equal(counts, np.round(counts))
    np.testing.assert_array_equal(counts.sum(axis=1), 7 * 7)


def test_processes_give_the_same_rows():
    alone, shared = (run("teo-table1", "tiny", None, n_jobs=n) for n in (1, 2))
    assert alone.rows == shared.rows


def test_a_run_repeats_itself():
    first, second = (run("dekel-sanity", "tiny", out=None) for _ in range(2))
    assert first.rows == second.rows
