"""SVG figures as text; all it knows of bandits is which colour each method wears.

Inside, x and y in pixels grow to the right and downwards, as in SVG.
"""
import itertools
import math
from html import escape

import numpy as np

# ---------------------------------------------------------------- styles

# Okabe and Ito's colours, which colour-blind readers tell apart; their yellow is too pale on white.
BLACK = "#000000"
BLUE = "#0072B2"
VERMILION = "#D55E00"
GREEN = "#009E73"
PURPLE = "#CC79A7"
SKY = "#56B4E9"
ORANGE = "#E69F00"
GREY = "#888888"

# Colour, lengths of dashes and gaps, width. Where two methods share the dashes, one is much darker
# or wider, so they differ in grey as well.
STYLES = {
    "GuideBoot": (BLACK, "", 2.6),
    "Online GuideBoot": (BLUE, "", 2.6),
    "GLM-UCB": (VERMILION, "", 1.7),
    "TS-BLR": (GREEN, "12 3 2 3 2 3", 1.7),
    "Bootstrap": (PURPLE, "7 3", 1.7),
    "OBB": (SKY, "14 3", 1.7),
    "Giro": (ORANGE, "2 3", 1.7),
    "e-greedy": (BLUE, "2 3", 1.7),
    "e-greedy (decay)": (VERMILION, "9 3 2 3", 1.7),
    "Random": (GREY, "2 5", 1.7),
    "Deep-UCB1": (ORANGE, "", 1.7),
    "Deep-TS-Beta": (SKY, "12 3 2 3 2 3", 1.7),
    "MC-Dropout": (BLACK, "7 3", 1.7),
    "Oracle": (BLACK, "2 5", 1.7),
    "Thompson (Beta)": (VERMILION, "14 3", 1.7),
    "Greedy": (BLACK, "2 3", 1.7),
    "Ridge": (GREEN, "2 3", 1.7),
    "pull alone": (VERMILION, "7 3", 1.7),
    "pull to the average": (SKY, "", 1.7),
    "ridge": (GREEN, "9 3 2 3", 1.7),
}
ALIASES = {"Beta": "Thompson (Beta)", "weights": "OBB", "no fakes": "Bootstrap",
           "one model: no fakes": "Greedy", "one model: ridge": "Ridge"}
# For other names, in this order; no method has one of these.
SPARE = [(PURPLE, "", 2.6), (GREEN, "7 3", 1.7), (PURPLE, "14 3", 1.7), (ORANGE, "9 3 2 3", 1.7),
         (BLACK, "12 3 2 3 2 3", 1.7), (SKY, "2 5", 1.7), (GREY, "", 1.7)]


def known_style(name):
    """A method's style, also under another name, or with a remark: "Bootstrap (Eq. 3)"; or None."""
    short = name.split(" (")[0]
    return STYLES.get(name) or STYLES.get(ALIASES.get(short, short))


def styles_of(names):
    """{name: style} for the different names of one figure."""
    spare = itertools.cycle(SPARE)
    return {name: known_style(name) or next(spare) for name in names}


# ---------------------------------------------------------------- pieces of SVG

LETTER = 7.8                           # usual width of a letter of size 13, in pixels
GRID = ("#dddddd", "", 1)


def svg_text(x, y, words, anchor="start", size=13, room=math.inf, more=""):
    """One line of text, in a smaller font if it is too long for `room` pixels."""
    size = min(size, 13 * room / (LETTER * max(len(words), 1)))
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size:.3g}"'
    return f'<text {place} {more}>{escape(words)}</text>'


def svg_line(x, y, style, fill="none"):
    """A line through the points x, y (n,) in pixels; what it encloses may be filled faintly."""
    colour, dashes, width = style
    points = "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y))
    look = f'stroke="{colour}" stroke-dasharray="{dashes}" stroke-width="{width}"'
    return f'<path d="M{points}" {look} fill="{fill}" fill-opacity="0.13"/>'


def svg_sample(x, y, name, style):
    """A piece of a line and its name."""
    return [svg_line([x, x + 36], [y, y], style), svg_text(x + 46, y + 4, name)]


def svg_dots(x, y, radius, colour, opacity):
    look = f'r="{radius:.1f}" fill="{colour}" fill-opacity="{opacity}"'
    return [f'<circle cx="{a:.1f}" cy="{b:.2f}" {look}/>' for a, b in zip(x, y)]


def document(width, height, title, parts):
    """The whole figure: white ground, title, then the parts."""
    size = f'viewBox="0 0 {width:.0f} {height:.0f}"'
    start = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">'
    ground = '<rect width="100%" height="100%" fill="white"/>'
    heading = svg_text(12, 24, title, size=15, room=width - 24, more='font-weight="bold"')
    return "\n".join([start, ground, heading, *parts, "</svg>\n"])


# ---------------------------------------------------------------- axes

def nice_ticks(low, high, about=7):
    """Round numbers at equal distances that cover low to high, roughly `about` of them."""
    if low == high:
        high = low + (abs(low) / 10 or 1)
    least = (high - low) / about
    power = 10.0 ** math.floor(math.log10(least))
    step = next(m * power for m in (1, 2, 5, 10) if m * power > 0.999 * least)
    first = math.floor(round(low / step, 9))             # 1.1 / 0.1 is a little above 11
    last = math.ceil(round(high / step, 9))
    return np.arange(first, last + 1) * step


def log_ticks(low, high):
    """Round numbers that cover low to high, both above 0, on a logarithmic scale."""
    if high < 3 * low:
        return nice_ticks(low, high)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = np.array([m * 10.0 ** power for power in powers for m in (1, 2, 3, 5, 7)])
    first = np.searchsorted(ticks, low, "right") - 1
    return ticks[first:np.searchsorted(ticks, high) + 1]


def to_pixels(ticks, start, end, log=False):
    """A function from numbers to pixels: the first tick lies at `start`, the last at `end`."""
    measure = np.log10 if log else np.asarray
    first, last = measure(ticks[0]), measure(ticks[-1])
    return lambda numbers: start + (measure(numbers) - first) / (last - first) * (end - start)


def x_axis(ticks, to_x, top, bottom):
    """A grid line at every tick and below it the number, small enough that no two touch."""
    parts = []
    room = np.diff(to_x(ticks)).min() - 6
    for tick, x in zip(ticks, to_x(ticks)):
        parts.append(svg_line([x, x], [top, bottom + 5], GRID))
        parts.append(svg_text(x, bottom + 19, f"{tick:,.7g}", "middle", room=room))
    return parts


def axes(place, x_ticks, y_ticks, log=False):
    """Both axes in the place (left, right, top, bottom): their SVG and the functions to pixels."""
    left, right, top, bottom = place
    to_x = to_pixels(x_ticks, left, right, log)
    to_y = to_pixels(y_ticks, bottom, top, log)
    parts = x_axis(x_ticks, to_x, top, bottom)
    for tick, y in zip(y_ticks, to_y(y_ticks)):
        parts.append(svg_line([left, right], [y, y], GRID))
        parts.append(svg_text(left - 8, y + 4, f"{tick:,.7g}", "end", room=60))
    parts.append(svg_line([left, left, right], [top, bottom, bottom], (BLACK, "", 1)))
    return parts, to_x, to_y


# ---------------------------------------------------------------- figures

PLOT = 600                             # width of the plots side by side together, in pixels
PITCH = 18                             # from one name to the next
ROW = 34                               # height of a row of dots


def line_chart(title, x_label, y_label, series, log=False):
    """Lines, each with its name at the right.

    series: (name, x, y, band) with arrays x and y (n,); band: half-widths (n,), or None.
    log: both axes are logarithmic, x with ticks at its own values, if all numbers are above 0.
    """
    lines = [finite_points(*line) for line in series if np.isfinite(line[2]).any()]
    all_x = np.concatenate([x for _, x, _, _ in lines])
    all_y = np.concatenate([np.append(y - half, y + half) for _, _, y, half in lines])
    x_ticks = nice_ticks(min(0, all_x.min()), all_x.max())
    y_ticks = nice_ticks(min(0, all_y.min()), all_y.max())
    log = log and 0 < all_x.min() < all_x.max() and 0 < all_y.min()
    if log:
        x_ticks = np.unique(all_x)
        y_ticks = log_ticks(all_y.min(), all_y.max())
        x_label += " (log scale)"
        y_label += " (log scale)"

    left, top = 100, 44
    height = max(370, PITCH * len(lines))
    right, bottom, middle = left + PLOT, top + height, top + height / 2
    parts, to_x, to_y = axes((left, right, top, bottom), x_ticks, y_ticks, log)
    turned = f'transform="rotate(-90 18 {middle})"'
    parts.append(svg_text(left + PLOT / 2, bottom + 44, x_label, "middle", room=PLOT))
    parts.append(svg_text(18, middle, y_label, "middle", room=height, more=turned))
    styles = styles_of([name for name, *_ in lines])
    parts += curves(lines, styles, to_x, to_y)
    parts += names_at_right(lines, styles, to_x, to_y, right, middle)
    width = right + 90 + LETTER * max(map(len, styles))
    return document(width, bottom + 58, title, parts)


def finite_points(name, x, y, band=None):
    """(name, x, y, half) of a line; it has no point where all runs diverged."""
    known = np.isfinite(y)
    half = np.zeros(len(y)) if band is None else band
    return name, x[known], y[known], half[known]


def curves(lines, styles, to_x, to_y):
    """Bands, then lines, the wide first, so that none is hidden; up to 12 points are marked."""
    bands = []
    parts = []
    for name, x, y, half in sorted(lines, key=lambda line: -styles[line[0]][2]):
        colour, _, width = styles[name]
        if half.any():
            there_and_back = to_x(np.append(x, x[::-1]))
            around = to_y(np.append(y - half, (y + half)[::-1]))
            bands.append(svg_line(there_and_back, around, ("none", "", 0), fill=colour))
        parts.append(svg_line(to_x(x), to_y(y), styles[name]))
        if len(x) <= 12:
            parts += svg_dots(to_x(x), to_y(y), 1.4 * width, colour, opacity=1)
    return bands + parts


def names_at_right(lines, styles, to_x, to_y, right, middle):
    """Names in the order of the lines' last values, with a thin guide from the end of each line."""
    parts = []
    height = middle - PITCH * (len(lines) - 1) / 2
    for name, x, y, _ in sorted(lines, key=lambda line: -line[2][-1]):
        guide = styles[name][0], "", 0.6
        parts.append(svg_line([to_x(x[-1]) + 4, right + 30], [to_y(y[-1]), height], guide))
        parts += svg_sample(right + 34, height, name, styles[name])
        height += PITCH
    return parts


def box_chart(title, x_label, panels):
    """Panels side by side on one scale: a dot per value, the median, a box of five or more values.

    panels: (heading, {name: values}), values of any number. The box spans the quartiles.
    A row has its method's colour, or else that of its panel's method, or grey.
    """
    margin = 20 + LETTER * max(len(name) for _, rows in panels for name in rows)
    plot = max(200, PLOT / len(panels))
    panel_width = margin + plot + 30
    width = panel_width * len(panels)
    top = 58
    bottom = top + ROW * max(len(rows) for _, rows in panels)
    every_value = np.concatenate([values for _, rows in panels for values in rows.values()])
    ticks = nice_ticks(every_value.min(), every_value.max(), about=plot // 45)
    legend = f"{x_label} (a dot: one run; box: quartiles; bar: median)"
    parts = [svg_text(width / 2, bottom + 42, legend, "middle", room=width)]
    for i, (heading, rows) in enumerate(panels):
        left = margin + i * panel_width
        to_x = to_pixels(ticks, left, left + plot)
        parts.append(svg_text(left, 48, heading, room=plot, more='font-weight="bold"'))
        parts += x_axis(ticks, to_x, top, bottom)
        for k, (name, values) in enumerate(rows.items()):
            y = top + ROW * (k + 0.5)
            colour, *_ = known_style(name) or known_style(heading) or [GREY]
            parts.append(svg_text(left - 10, y + 4, name, "end"))
            parts += box_row(to_x(np.sort(values)), y, colour)
    return document(width, bottom + 54, title, parts)


def box_row(x, y, colour):
    """The box, the median and the dots of one row; x (n,): its values in pixels, ascending."""
    parts = []
    if len(x) >= 5:                                      # quartiles of fewer would be guesses
        start, end = np.quantile(x, [0.25, 0.75])
        place = f'x="{start:.1f}" y="{y - 12}" width="{end - start:.1f}" height="24"'
        parts.append(f'<rect {place} fill="{colour}" fill-opacity="0.1" stroke="black"/>')
    if len(x) > 1:
        parts.append(svg_line([np.median(x)] * 2, [y - 12, y + 12], (BLACK, "", 2.5)))
    # Multiples of the golden ratio, modulo 1, keep equal values apart, neighbours most of all.
    heights = y - 10 + 20 * ((0.5 + 0.618034 * np.arange(len(x))) % 1)
    return parts + svg_dots(x, heights, max(1.5, 2.8 - 0.03 * len(x)), colour, opacity=0.6)


def panel_chart(title, x_label, panels, columns):
    """Small panels `columns` in a row, y from 0 to 1, with one legend below.

    panels: (heading, [(name, x, y)]) with arrays x and y (n,). All panels of a row share one x
    axis, from 0 to the row's largest x, so that curves can be compared along the row.
    """
    across, down = 290, 196                              # from one panel to the next
    styles = styles_of(dict.fromkeys(name for _, lines in panels for name, _, _ in lines))
    parts = []
    for i, (heading, lines) in enumerate(panels):
        row, column = divmod(i, columns)
        left, top = 50 + across * column, 74 + down * row
        in_row = panels[row * columns:(row + 1) * columns]
        largest = max(x.max() for _, others in in_row for _, x, _ in others)
        place = left, left + across - 66, top, top + down - 74
        drawn, to_x, to_y = axes(place, nice_ticks(0, largest, about=4), nice_ticks(0, 1, about=5))
        parts += drawn + curves([finite_points(*line) for line in lines], styles, to_x, to_y)
        parts.append(svg_text(left, top - 12, heading, room=across - 66))
    below = top + down - 22
    parts.append(svg_text(columns * across / 2, below, x_label, "middle", room=columns * across))
    for i, (name, style) in enumerate(styles.items()):
        row, column = divmod(i, columns)
        y = below + 26 + PITCH * row
        parts += svg_sample(50 + across * column, y, name, style)
    return document(columns * across, y + 20, title, parts)
