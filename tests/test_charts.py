"""The figures: one style per method, labels that do not overlap, every value drawn."""
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from lab import charts

SVG = "{http://www.w3.org/2000/svg}"
T = np.arange(1.0, 11.0)


def elements(svg, tag):
    return list(ET.fromstring(svg).iter(SVG + tag))


def texts(svg):
    return [element.text for element in elements(svg, "text")]


def size(svg):
    _, _, width, height = map(float, ET.fromstring(svg).get("viewBox").split())
    return width, height


def sample_style(svg, name):
    """(colour, dash) of the line drawn just before the label `name`: its sample."""
    before = None
    for element in ET.fromstring(svg):
        if element.tag == SVG + "path":
            before = element
        if element.text == name:
            return before.get("stroke"), before.get("stroke-dasharray")
    raise AssertionError(f"no label {name}")


def lines(*names):
    return [(name, T, T + i, None) for i, name in enumerate(names)]


def lightness(colour):
    red, green, blue = (int(colour[i:i + 2], 16) for i in (1, 3, 5))
    return (0.30 * red + 0.59 * green + 0.11 * blue) / 255


# ---------------------------------------------------------------- styles

def test_known_styles_differ_in_colour_or_dash_and_in_grey():
    methods = {name: one for name, one in charts.STYLES.items() if name != "Beta"}
    assert len({(colour, dash) for colour, dash, _ in methods.values()}) == len(methods) == 16
    in_grey = list(methods.values())
    for i, (colour, dash, width) in enumerate(in_grey):
        for other, other_dash, other_width in in_grey[:i]:
            far = abs(lightness(colour) - lightness(other)) > 0.1
            assert dash != other_dash or width != other_width or far


def test_a_method_looks_the_same_in_every_figure():
    one = charts.line_chart("t", "x", "y", lines("GuideBoot", "Bootstrap", "mine"))
    curves = [(name, T, T / 10) for name in ["Beta (Eq. 2)", "Bootstrap (Eq. 3)", "GuideBoot"]]
    other = charts.panel_chart("t", "x", [("p", curves)], 1)
    assert sample_style(one, "GuideBoot") == sample_style(other, "GuideBoot")
    assert sample_style(one, "Bootstrap") == sample_style(other, "Bootstrap (Eq. 3)")
    assert charts.style("Beta (Eq. 2)", []) == charts.STYLES["Thompson (Beta)"]
    assert charts.style("e-greedy (decay)", []) != charts.style("e-greedy", [])


def test_unknown_names_take_styles_of_their_own():
    unknown = [f"mine {i}" for i in range(30)]
    names = ["GuideBoot", *unknown, *charts.STYLES]
    pairs = [charts.style(name, names)[:2] for name in names]
    assert len(set(pairs)) == 30 + 16
    assert charts.style("mine 0", ["GuideBoot"]) == charts.style("mine 0", names)
    many = [f"mine {i}" for i in range(500)]
    assert all(charts.style(name, many) for name in many)


# ---------------------------------------------------------------- lines

@pytest.mark.parametrize("count", [1, 2, 16, 40])
def test_labels_of_a_crowded_chart_are_apart_and_inside(count):
    names = [f"a method with the number {i}" for i in range(count)]
    svg = charts.line_chart("t", "x", "y", [(name, T, T, None) for name in names])
    labels = [element for element in elements(svg, "text") if element.text in names]
    heights = sorted(float(element.get("y")) for element in labels)
    width, height = size(svg)
    assert len(labels) == count
    assert all(np.diff(heights) >= 14)
    assert heights[0] > 14 and heights[-1] < height
    assert all(float(element.get("x")) + 7 * len(element.text) < width for element in labels)


def test_moved_labels_keep_their_order_and_stay_near():
    """5 and 6 are 1 apart, so each moves by 4.5; 40 stays, and 99 too, where the room ends."""
    assert charts.spread([6, 99, 5, 40], 10, 0, 99) == pytest.approx([10.5, 99, 0.5, 40])
    assert charts.spread([98, 99], 10, 0, 99) == pytest.approx([89, 99])


def test_a_logarithmic_axis_says_so_and_numbers_not_above_0_stay_linear():
    def labels(y, log):
        words = texts(charts.line_chart("t", "rate", "regret", [("a", T, y, None)], log))
        return [word for word in words if word.startswith(("rate", "regret"))]
    assert labels(T, False) == ["rate", "regret"]
    assert labels(T, True) == ["rate (log scale)", "regret (log scale)"]
    assert labels(T - 1, True) == ["rate (log scale)", "regret"]


def test_logarithmic_ticks_cover_the_numbers():
    for low, high in [(0.001, 0.001), (1, 2), (90, 1100), (0.003, 5), (1e-7, 1e5)]:
        ticks = charts.log_ticks(low, high)
        assert 0 < ticks[0] <= low and high <= ticks[-1]
        assert 2 <= len(ticks) <= 15


@pytest.mark.parametrize("log", [False, True])
def test_single_points_are_drawn_and_points_that_are_not_finite_left_out(log):
    one = charts.line_chart("t", "x", "y", [("a", [5], [3], [1]), ("b", [1, 5], [2, np.nan], None),
                                            ("gone", [1, 5], [np.nan, np.inf], None)], log)
    assert len(elements(one, "circle")) == 2
    assert "gone" not in texts(one)
    assert not re.search("nan|inf", one)


def test_no_line_at_all_is_an_error():
    empty = [("a", [1], [np.nan], None)]
    for draw in [lambda: charts.line_chart("t", "x", "y", []),
                 lambda: charts.line_chart("t", "x", "y", empty),
                 lambda: charts.box_chart("t", "x", [("p", {})]),
                 lambda: charts.panel_chart("t", "x", [("p", [])], 2)]:
        with pytest.raises(ValueError, match="got none"):
            draw()


# ---------------------------------------------------------------- boxes and panels

def boxes(svg):
    return [rect for rect in elements(svg, "rect") if rect.get("fill-opacity")]


def test_a_box_shows_the_quartiles_of_five_values_and_none_of_four():
    """Values 1 to 5: the box from 2 to 4, so from the second dot to the fourth."""
    svg = charts.box_chart("t", "x", [("p", {"m": [5.0, 1.0, 2.0, 3.0, 4.0]})])
    x = sorted(float(dot.get("cx")) for dot in elements(svg, "circle"))
    box, = boxes(svg)
    assert float(box.get("x")) == pytest.approx(x[1], abs=0.11)
    assert float(box.get("width")) == pytest.approx(x[3] - x[1], abs=0.21)
    assert not boxes(charts.box_chart("t", "x", [("p", {"m": [1.0, 2.0, 3.0, 4.0]})]))


def test_fifty_equal_values_are_fifty_dots_in_their_row():
    svg = charts.box_chart("t", "x", [("p", {"m": np.full(50, 3.0)}), ("q", {"n": [1], "o": [2]})])
    dots = [(dot.get("cx"), float(dot.get("cy"))) for dot in elements(svg, "circle")]
    fifty = dots[:50]
    assert len(dots) == 52 and len(set(fifty)) == 50
    heights = [y for _, y in fifty]
    assert 10 < max(heights) - min(heights) < charts.ROW


def test_long_names_of_rows_are_not_cut():
    name = "a rather long name of a method, with its options"
    svg = charts.box_chart("t", "x", [("p", {name: [1, 2]}), ("q", {name: [1], "o": [2]})])
    ends = [float(element.get("x")) for element in elements(svg, "text") if element.text == name]
    assert ends[0] > 7 * len(name) and ends[1] > ends[0] + 7 * len(name)
    dots = [float(dot.get("cx")) for dot in elements(svg, "circle")]
    assert max(dots) < size(svg)[0]


def test_a_row_of_panels_has_one_x_range_and_rows_have_their_own():
    def panel(end):
        x = np.linspace(0, end, 5)
        return f"to {end}", [("a", x, x / end)]
    svg = charts.panel_chart("t", "x", [panel(1), panel(4), panel(100), panel(40)], 2)
    numbers = [element for element in elements(svg, "text")
               if element.get("text-anchor") == "middle" and element.text != "x"]
    by_height = {}
    for element in numbers:
        by_height.setdefault(element.get("y"), []).append(float(element.text))
    first, second = by_height.values()
    assert first == [0, 1, 2, 3, 4] * 2
    assert second == [0, 50, 100] * 2


def test_names_are_escaped_and_long_titles_shrink():
    bad = "<&> \"it's\""
    long = "word " * 40
    for svg in [charts.line_chart(bad + long, bad, bad, [(bad, T, T, None)]),
                charts.box_chart(bad + long, bad, [(bad, {bad: [1, 2]})]),
                charts.panel_chart(bad + long, bad, [(bad, [(bad, T, T / 10)])], 1)]:
        assert bad in texts(svg)
        title = elements(svg, "text")[0]
        assert float(title.get("font-size")) * 0.5 * len(title.text) < size(svg)[0]
