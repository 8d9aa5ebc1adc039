"""Index arrays that lead out of a matrix are noticed."""

import numpy as np
import pytest
import scipy.sparse as sp

from noiseproof._rows import check_indices


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array, sp.csr_matrix])
def test_indices_out_of_bounds_are_refused(form):
    X = form(np.eye(3))
    check_indices(X)
    X.indices[1] = 7
    with pytest.raises(ValueError, match="index outside 0 to 2"):
        check_indices(X)


def test_coordinates_out_of_bounds_are_refused():
    X = sp.coo_array(np.eye(3))
    check_indices(X)
    for axis in (0, 1):
        forged = X.copy()
        forged.coords[axis][2] = -1
        with pytest.raises(ValueError, match="index outside 0 to 2"):
            check_indices(forged)


def test_ends_of_rows_that_make_no_sense_are_refused():
    X = sp.csr_array(np.eye(3))
    X.indptr[1] = 9
    with pytest.raises(ValueError, match="do not fit"):
        check_indices(X)


def test_other_things_pass():
    for thing in (np.eye(2), None, "text", sp.lil_array(np.eye(2))):
        check_indices(thing)
