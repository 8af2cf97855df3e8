"""The figures: one style per method, labels that do not overlap, every value drawn."""
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from lab import charts

SVG = "{http://www.w3.org/2000/svg}"
T = np.arange(1.0, 31.0)


def elements(svg, tag):
    return list(ET.fromstring(svg).iter(SVG + tag))


def size_of(svg):
    _, _, width, height = map(float, ET.fromstring(svg).get("viewBox").split())
    return width, height


def sample_style(svg, name):
    """(colour, dashes) of the line drawn just before the label `name`: its sample."""
    everything = list(ET.fromstring(svg))
    label = next(i for i, element in enumerate(everything) if element.text == name)
    sample = everything[label - 1]
    return sample.get("stroke"), sample.get("stroke-dasharray")


# ---------------------------------------------------------------- styles

def test_no_two_methods_have_the_same_colour_and_dash_and_spare_ones_are_others():
    every = [one for name, one in charts.STYLES.items() if name != "Beta"] + charts.SPARE
    assert len({(colour, dashes) for colour, dashes, _ in every}) == len(every)
    styles = charts.styles_of(["GuideBoot", *"abcdefg"])
    assert [styles[name] for name in "abcdefg"] == charts.SPARE + charts.SPARE[:1]


def test_a_method_looks_the_same_in_every_figure():
    names = ["mine", "GuideBoot", "Bootstrap"]
    one = charts.line_chart("t", "x", "y", [(name, T, T, None) for name in names])
    lines = [(name, T, T / 30) for name in ["Beta (Eq. 2)", "Bootstrap (Eq. 3)", "GuideBoot"]]
    other = charts.panel_chart("t", "x", [("p", lines), ("q", lines)], 1)
    assert sample_style(one, "GuideBoot") == sample_style(other, "GuideBoot")
    assert sample_style(one, "Bootstrap") == sample_style(other, "Bootstrap (Eq. 3)")
    assert sample_style(other, "Beta (Eq. 2)") == charts.STYLES["Thompson (Beta)"][:2]
    assert charts.known_style("e-greedy (decay)") != charts.known_style("e-greedy")


# ---------------------------------------------------------------- lines

@pytest.mark.parametrize("count", [1, 2, 16, 40])
def test_names_at_the_right_are_apart_inside_and_in_the_order_of_the_last_values(count):
    names = [f"a method with the number {i}" for i in range(count)]
    series = [(name, T, T + i / 9, None) for i, name in enumerate(names)]
    svg = charts.line_chart("t", "x", "y", series)
    labels = [element for element in elements(svg, "text") if element.text in names]
    heights = [float(element.get("y")) for element in labels]
    assert [element.text for element in labels] == names[::-1]
    assert all(np.diff(heights) >= 14)
    assert heights[0] > 30 and heights[-1] < size_of(svg)[1]
    assert all(float(label.get("x")) + 7 * len(label.text) < size_of(svg)[0] for label in labels)


def test_logarithmic_axes_say_so_and_numbers_not_above_0_stay_linear():
    def labels(y, log):
        texts = elements(charts.line_chart("t", "rate", "regret", [("a", T, y, None)], log), "text")
        return [one.text for one in texts if one.text.startswith(("rate", "regret"))]
    assert labels(T, False) == labels(T - 1, True) == ["rate", "regret"]
    assert labels(T, True) == ["rate (log scale)", "regret (log scale)"]


def test_ticks_cover_the_numbers():
    for low, high in [(0.001, 0.001), (1, 2), (1.8, 5.3), (90, 1100), (0.003, 5), (0.1, 0.7)]:
        for ticks in [charts.nice_ticks(low, high), charts.log_ticks(low, high)]:
            assert ticks[0] <= low * (1 + 1e-9) and high <= ticks[-1] * (1 + 1e-9)
            assert 2 <= len(ticks) <= 20
        assert ticks[0] > 0


def test_a_point_without_a_finite_value_is_left_out_and_a_single_one_is_a_dot():
    """A sweep has no mean where all runs diverged."""
    x = np.array([1.0, 5.0])
    series = [("a", x, np.array([2.0, np.nan]), None), ("gone", x, np.full(2, np.nan), None)]
    for svg in [charts.line_chart("t", "x", "y", series, log) for log in (False, True)]:
        assert len(elements(svg, "circle")) == 1
        assert "nan" not in svg and "gone" not in svg


# ---------------------------------------------------------------- boxes and panels

def test_a_box_shows_the_quartiles_of_five_values_and_none_of_four():
    """Values 1 to 5: the box from 2 to 4, so from the second dot to the fourth."""
    svg = charts.box_chart("t", "x", [("p", {"m": [5.0, 1.0, 2.0, 3.0, 4.0]})])
    x = sorted(float(dot.get("cx")) for dot in elements(svg, "circle"))
    _, box = elements(svg, "rect")                       # the first is the white ground
    assert float(box.get("x")) == pytest.approx(x[1], abs=0.11)
    assert float(box.get("width")) == pytest.approx(x[3] - x[1], abs=0.21)
    four = charts.box_chart("t", "x", [("p", {"m": [1.0, 2.0, 3.0, 4.0], "diverged": []})])
    assert len(elements(four, "rect")) == 1


def test_fifty_equal_values_are_fifty_dots_in_their_row():
    svg = charts.box_chart("t", "x", [("p", {"m": [3.0] * 50}), ("q", {"n": [1.0], "o": [2.0]})])
    heights = [float(dot.get("cy")) for dot in elements(svg, "circle")]
    assert len(heights) == 52 and len(set(heights[:50])) == 50
    assert 10 < max(heights[:50]) - min(heights[:50]) < charts.ROW


def test_a_row_of_panels_has_one_x_range_and_rows_have_their_own():
    panels = [(f"to {end}", [("a", end * T / 30, T / 30)]) for end in (1, 4, 100, 40)]
    svg = charts.panel_chart("t", "x", panels, 2)
    by_height = {}
    for element in elements(svg, "text"):
        if element.get("text-anchor") == "middle" and element.text != "x":
            by_height.setdefault(element.get("y"), []).append(float(element.text))
    assert list(by_height.values()) == [[0, 1, 2, 3, 4] * 2, [0, 50, 100] * 2]


def test_names_are_escaped_and_long_titles_shrink():
    bad = "<&> \"it's\""
    long = "word " * 40
    for svg in [charts.line_chart(bad + long, bad, bad, [(bad, T, T, None)]),
                charts.box_chart(bad + long, bad, [(bad, {bad: [1, 2]})]),
                charts.panel_chart(bad + long, bad, [(bad, [(bad, T, T / 30)])], 1)]:
        title, *others = elements(svg, "text")
        assert bad in [element.text for element in others]
        assert float(title.get("font-size")) * 0.5 * len(title.text) < size_of(svg)[0]
