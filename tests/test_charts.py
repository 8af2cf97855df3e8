"""The figures: a method has a style of its own, axes say what they are, nothing is made up."""
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import run_ads
import run_arms
import run_synthetic
from lab import charts
from lab.tables import parts

SVG = "{http://www.w3.org/2000/svg}"
T = np.arange(1.0, 31.0)


def elements(svg, tag):
    return list(ET.fromstring(svg).iter(SVG + tag))


def test_every_method_has_a_style_of_its_own():
    every = [*charts.STYLES.values(), *charts.SPARE]
    assert len({(colour, dashes) for colour, dashes, _ in every}) == len(every)
    assert [*charts.styles_of("abcdefg").values()] == charts.SPARE
    assert all(charts.known_style(parts(row)[-1])
               for module in (run_arms, run_synthetic, run_ads) for row in module.METHODS)
    assert charts.known_style("weights (OBB)") == charts.STYLES["OBB"]


def test_logarithmic_axes_say_so_and_numbers_not_above_0_stay_linear():
    def labels(y, log):
        texts = elements(charts.line_chart("t", "rate", "regret", [("a", T, y, None)], log), "text")
        return [one.text for one in texts if one.text.startswith(("rate", "regret"))]
    assert labels(T, False) == labels(T - 1, True) == ["rate", "regret"]
    assert labels(T, True) == ["rate (log scale)", "regret (log scale)"]


@pytest.mark.parametrize("low, high", [(0.001, 0.001), (1.8, 5.3), (90, 1100), (0.003, 5)])
def test_ticks_cover_the_numbers(low, high):
    for ticks in charts.nice_ticks(low, high), charts.log_ticks(low, high):
        assert ticks[0] <= low * (1 + 1e-9) and high <= ticks[-1] * (1 + 1e-9)
        assert 2 <= len(ticks) <= 20


def test_a_point_without_a_finite_value_is_left_out_and_a_single_one_is_a_dot():
    """A sweep has no mean where all runs diverged."""
    x = np.array([1.0, 5.0])
    series = [("a", x, np.array([2.0, np.nan]), None), ("gone", x, np.full(2, np.nan), None)]
    for log in (False, True):
        svg = charts.line_chart("t", "x", "y", series, log)
        assert len(elements(svg, "circle")) == 1
        assert "nan" not in svg and "gone" not in svg


def test_a_box_shows_the_quartiles_of_five_values_and_none_of_four():
    """Values 1 to 5: the box from 2 to 4, so from the second dot to the fourth, up to rounding."""
    svg = charts.box_chart("t", "x", [("p", {"m": [5.0, 1.0, 2.0, 3.0, 4.0]})])
    x = sorted(float(dot.get("cx")) for dot in elements(svg, "circle"))
    _, box = elements(svg, "rect")                           # the first is the white ground
    assert float(box.get("x")) == pytest.approx(x[1], abs=0.11)
    assert float(box.get("width")) == pytest.approx(x[3] - x[1], abs=0.21)
    four = charts.box_chart("t", "x", [("p", {"m": [1.0, 2.0, 3.0, 4.0], "diverged": []})])
    assert len(elements(four, "rect")) == 1


def test_names_are_escaped():
    bad = "<&> \"it's\""
    for svg in (charts.line_chart(bad, bad, bad, [(bad, T, T, None)]),
                charts.box_chart(bad, bad, [(bad, {bad: [1, 2]})]),
                charts.panel_chart(bad, bad, [(bad, [(bad, T, T / 30)])], 1)):
        assert sum(bad in element.text for element in elements(svg, "text")) >= 4
