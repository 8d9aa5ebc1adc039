"""Equality of models, bit by bit."""

import numpy as np


def assert_same(one, other):
    """Same type, same attributes, same bits, all the way down."""
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        assert_same(one.tolist(), other.tolist())
        if one.dtype != object:
            assert one.tobytes() == other.tobytes()
    elif isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_same(one[key], other[key])
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for parts in zip(one, other, strict=True):
            assert_same(*parts)
    elif hasattr(one, "__dict__") and not isinstance(one, type):
        state = type(one).__getstate__
        assert_same(state(one), state(other))
    else:
        assert one == other or (one != one and other != other)
