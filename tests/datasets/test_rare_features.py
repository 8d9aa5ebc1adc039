"""The simulation has the moments that its paper states."""

import numpy as np

from noiseproof.datasets import make_rare_features


def test_every_feature_has_second_moment_one():
    X = make_rare_features(50_000, n_nuisance=20, cycle=False, random_state=0).X
    np.testing.assert_allclose((X**2).mean(axis=0), 1, atol=0.15)
    assert abs((X**2).mean() - 1) < 0.02


def test_signal_is_as_strong_as_stated():
    X, y, active = make_rare_features(50_000, n_nuisance=1, random_state=0)
    signal = 0.057 * X[:, :50].sum(axis=1)
    assert abs(np.abs(signal[active]).mean() - 2) < 0.05
    assert np.all(signal[~active] == 0)
    assert abs(active.mean() - 0.2) < 1e-9
    # labels follow the logistic law
    p = 1 / (1 + np.exp(-signal))
    assert abs(y.mean() - p.mean()) < 0.01
    assert abs(y[signal > 2].mean() - p[signal > 2].mean()) < 0.02


def test_a_seed_repeats_the_data():
    first, again = (make_rare_features(75, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.X, again.X)
    assert first.X.shape == (75, 1050)
