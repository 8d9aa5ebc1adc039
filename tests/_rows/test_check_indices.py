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
    with pytest.raises(ValueError, match="indices"):
        check_indices(X)


def test_other_things_pass_and_other_formats_do_not():
    for thing in (np.eye(2), None, "text"):
        check_indices(thing)
    with pytest.raises(ValueError, match="CSR or CSC; got coo"):
        check_indices(sp.coo_array(np.eye(2)))
