"""Scales and charts put numbers where they belong."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reading import Reader

from noiseproof._charts import (
    COLOURS,
    Chart,
    Line,
    Series,
    dot_strip,
    nice_ticks,
    scale,
    swatch,
    to_svg,
)

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


def _path(svg):
    return re.search('d="(M[^"]+)" class="line"', svg)[1]


def test_points_lie_at_their_numbers():
    series = Series((0, 1, 2), (0.0, 1.0, 0.5), (0.0, 0.9, 0.4), (0.1, 1.0, 0.6))
    svg = to_svg(Chart([Line("one", series)], "x", "y", reference=("chance", 0.5)))
    Reader(svg)
    places = re.search('data-x="([^"]+)"', svg)[1].split()
    points = [tuple(map(float, p.split(","))) for p in re.split("[ML]", _path(svg))[1:]]
    assert [f"{x:.1f}" for x, _ in points] == places
    (x0, bottom), (x1, top), (x2, middle) = points
    assert x2 - x1 == pytest.approx(x1 - x0)
    assert middle == pytest.approx((bottom + top) / 2)  # y grows downwards
    chance = re.search('class="reference".*?y1="([^"]+)"', svg)[1]
    assert float(chance) == pytest.approx(middle, abs=0.1)
    assert "one at 1: 1.000 (0.900 to 1.000)" in svg
    assert 'class="band"' in svg


def test_steps_hold_their_height_until_the_next_x():
    line = Line("one", Series((0, 1), (1.0, 0.0)))
    svg = to_svg(Chart([line], "x", "y", steps=True))
    assert re.fullmatch(r"M[\d.,]+H[\d.]+V[\d.]+", _path(svg))


def test_names_stay_text_in_charts():
    evil = '"><script>alert(1)</script>&'
    line = Line(evil, Series((0, 1), (1.0, 0.0)))
    svg = to_svg(Chart([line], evil, evil, reference=(evil, 0)))
    svg += dot_strip({0: 0.5}, 0.0, 1.0, [evil])
    read = Reader(svg)
    assert not [tag for tag, _ in read.elements if tag == "script"]
    assert f"{evil}, of {evil}." in read.attributes("aria-label")[0]
    assert evil in read.text


def test_dots_lie_at_their_share_of_the_width():
    svg = dot_strip({0: 0.0, 1: 0.5, 2: 1.0}, 0.0, 1.0, ["a", "b", "c"])
    Reader(svg)
    places = re.findall(r'<svg [^>]*x="([\d.]+)%"', svg)
    assert places == ["3.00", "50.00", "97.00"]
    assert "b: 0.500" in svg


def test_a_spread_lies_on_both_sides_of_the_first_dot():
    svg = dot_strip({0: 0.5, 1: 0.9}, 0.0, 1.0, spread=0.25)
    assert 'x1="26.50%" x2="73.50%"' in svg
    assert "26.50%" not in dot_strip({0: 0.5}, 0.0, 1.0)


def test_lines_differ_by_colour_and_mark():
    seen = [swatch(i) for i in range(8)]
    assert len({re.search('color="([^"]+)"', one)[1] for one in seen}) == 8
    assert len({re.search(' d="([^"]+)"', one)[1] for one in seen}) == 8


def _luminance(colour):
    """That of sRGB, as WCAG defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [
        p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("ground", ["#ffffff", "#12171e"])
@pytest.mark.parametrize("colour", COLOURS)
def test_colours_stand_out_on_light_and_dark_ground(colour, ground):
    """A contrast of 3:1, which WCAG asks of graphics."""
    dark, light = sorted([_luminance(colour), _luminance(ground)])
    assert (light + 0.05) / (dark + 0.05) >= 3
