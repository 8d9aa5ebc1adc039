"""The arithmetic of four classes in one register against NumPy's."""

import numba
import numpy as np
import pytest

from noiseproof._rows.lanes import column, lanes, put_column, put_lanes, zero

WIDTHS = ((0.0,) * 4, (0.0,))


@numba.njit
def _along_a_row(table, width, x, out):
    a = lanes(table, 2, width)
    b = lanes(table, 1, width)
    put_lanes(out, 3, zero(width) + x * (a * b) + b)


@numba.njit
def _down_a_column(table, width, x, out):
    a = column(table, 1, 2, 6, width)
    b = column(table, 0, 1, 6, width)
    put_column(out, 1, 1, 6, zero(width) + x * (a * b) + b)


@numba.njit
def _past_the_end(table, width, out):
    a = column(table, 0, 4, 6, width)
    put_lanes(out, 0, a)
    put_column(out, 3, 4, 6, a)


@pytest.mark.parametrize("width", WIDTHS, ids=len)
def test_lanes_add_and_multiply_like_floats(width, rng):
    n = len(width)
    table, out, expected = rng.normal(size=(6, n)), np.zeros((6, n)), np.zeros((6, n))
    expected[3] = 1.5 * table[2] * table[1] + table[1]
    _along_a_row(table, width, 1.5, out)
    np.testing.assert_allclose(out, expected, rtol=1e-14)
    rows, out, expected = rng.normal(size=(6, 3)), np.zeros((6, 3)), np.zeros((6, 3))
    a, b = rows[2 : 2 + n, 1], rows[1 : 1 + n, 0]
    expected[1 : 1 + n, 1] = 1.5 * a * b + b
    _down_a_column(rows, width, 1.5, out)
    np.testing.assert_allclose(out, expected, rtol=1e-14)


def test_where_rows_end_the_last_one_is_repeated_and_nothing_is_written(rng):
    table, out = rng.normal(size=(6, 6)), np.zeros((7, 4))
    _past_the_end(table, WIDTHS[0], out)
    np.testing.assert_array_equal(out[0], table[[4, 5, 5, 5], 0])
    np.testing.assert_array_equal(out[4:, 3], [*table[4:, 0], 0])


def test_a_table_whose_rows_are_not_in_one_piece_is_refused(rng):
    table = rng.normal(size=(6, 8))[:, ::2]
    with pytest.raises(numba.TypingError):
        _along_a_row(table, WIDTHS[0], 1.5, np.zeros((6, 4)))
