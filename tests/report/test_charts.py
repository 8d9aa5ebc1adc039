"""Scales and charts put numbers where they belong."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reading import Reader

from noiseproof.report.summary import Series
from noiseproof.report.svg import Curve, dot_strip, line_chart, nice_ticks, scale

numbers = st.floats(-1e6, 1e6)


@given(numbers, st.floats(1e-6, 1e6), st.integers(2, 10))
def test_ticks_are_round_even_and_cover_the_range(low, width, n):
    high = low + width
    ticks = nice_ticks(low, high, n)
    step = ticks[1] - ticks[0]
    slack = 1e-6 * (abs(low) + width)
    assert ticks[0] <= low + slack
    assert ticks[-1] >= high - slack
    assert 2 <= len(ticks) <= n + 3
    for a, b in pairwise(ticks):
        assert b - a == pytest.approx(step, rel=1e-3)


@given(numbers, st.floats(1e-3, 1e6))
def test_a_scale_maps_ends_to_ends_and_cuts_the_rest(low, width):
    place = scale(low, low + width, 10.0, 110.0)
    assert place(low) == 10
    assert place(low + width) == pytest.approx(110)
    assert place(low - width) == 10
    assert place(low + 3 * width) == 110


def test_points_lie_at_their_numbers():
    series = Series((0.0, 1.0, 2.0), (0.0, 1.0, 0.5), (0.0, 0.9, 0.4), (0.1, 1.0, 0.6))
    svg = line_chart([Curve(0, "one", series)], "a chart", "x", "y")
    Reader(svg)
    places = re.search('data-x="([^"]+)"', svg)[1].split()
    path = re.search('d="(M[^"]+)" class="line"', svg)[1]
    points = [tuple(map(float, p.split(","))) for p in re.split("[ML]", path)[1:]]
    assert [f"{x:.1f}" for x, _ in points] == places
    (x0, bottom), (x1, top), (x2, middle) = points
    assert x2 - x1 == pytest.approx(x1 - x0)
    assert middle == pytest.approx((bottom + top) / 2)  # y grows downwards
    assert "one at 1: 1.000 (0.900 to 1.000)" in svg
    assert 'class="band"' in svg


def test_steps_hold_their_height_until_the_next_x():
    series = Series((0, 1), (1.0, 0.0))
    svg = line_chart([Curve(0, "one", series)], "a chart", "x", "y", steps=True)
    assert re.search(r'd="M[\d.,]+H[\d.]+V[\d.]+" class="line"', svg)


def test_names_at_the_ends_do_not_overlap():
    curves = [Curve(i, f"model {i}", Series((0, 1), (1.0, 0.5))) for i in range(6)]
    svg = line_chart(curves, "a chart", "x", "y")
    heights = [float(y) for y in re.findall(r'<text x="597" y="([\d.]+)"', svg)]
    assert len(heights) == 6
    heights.sort()
    assert min(b - a for a, b in pairwise(heights)) >= 16.9


def test_dots_lie_at_their_share_of_the_width():
    svg = dot_strip({0: 0.0, 1: 0.5, 2: 1.0}, ["a", "b", "c"], 0.0, 1.0)
    Reader(svg)
    places = re.findall(r'<svg x="([\d.]+)%"', svg)
    assert places == ["3.00", "50.00", "97.00"]
