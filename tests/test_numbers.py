"""Printed numbers: the same in tables and in sentences."""

import numpy as np
import pytest

from noiseproof._numbers import as_duration, as_printed, as_score


@pytest.mark.parametrize("score", [0.7875, 0.0005, 0.6245, -0.0015, 1.0])
def test_what_is_compared_is_what_is_printed(score):
    assert as_score(as_printed(score)) == as_score(score)


def test_scores_keep_their_shape():
    scores = np.array([[0.12345, 0.5], [np.nan, 0.7875]])
    np.testing.assert_array_equal(as_printed(scores), [[0.123, 0.5], [np.nan, 0.787]])


@pytest.mark.parametrize(
    ("time", "text"),
    [(0.000312, "0.00031"), (0.0108, "0.011"), (2.74, "2.7"), (331.5, "330"), (0, "0")],
)
def test_durations_have_two_digits_and_no_exponent(time, text):
    assert as_duration(time) == text
