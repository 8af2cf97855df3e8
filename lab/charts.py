"""SVG figures as text: lines, boxes with dots, small panels. Knows nothing of bandits or files.

Every figure comes back as one string. A method looks the same in all of them, see STYLES.
Inside, x and y in pixels grow to the right and downwards, as in SVG.
"""
import math
import re
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
COLOURS = [VERMILION, GREEN, BLUE, PURPLE, ORANGE, BLACK, SKY, GREY]

SOLID = ""
DASHED = "7 3"
LONG = "14 3"
DOTTED = "2 3"
SPARSE = "2 5"
DASH_DOT = "9 3 2 3"
DASH_DOT_DOT = "12 3 2 3 2 3"
DASHES = [SOLID, DASHED, DOTTED, LONG, DASH_DOT, DASH_DOT_DOT, SPARSE]

THICK = 2.6
THIN = 1.7

# Where two methods share a dash, one is much darker or thicker, so they differ in grey as well.
STYLES = {
    "GuideBoot": (BLACK, SOLID, THICK),
    "Online GuideBoot": (BLUE, SOLID, THICK),
    "GLM-UCB": (VERMILION, SOLID, THIN),
    "TS-BLR": (GREEN, DASH_DOT_DOT, THIN),
    "Bootstrap": (PURPLE, DASHED, THIN),
    "OBB": (SKY, LONG, THIN),
    "Giro": (ORANGE, DOTTED, THIN),
    "e-greedy": (BLUE, DOTTED, THIN),
    "e-greedy (decay)": (VERMILION, DASH_DOT, THIN),
    "Random": (GREY, SPARSE, THIN),
    "Deep-UCB1": (ORANGE, SOLID, THIN),
    "Deep-TS-Beta": (SKY, DASH_DOT_DOT, THIN),
    "MC-Dropout": (BLACK, DASHED, THIN),
    "Oracle": (BLACK, SPARSE, THIN),
    "Thompson (Beta)": (VERMILION, LONG, THIN),
    "Beta": (VERMILION, LONG, THIN),                     # the posterior that Thompson draws from
    "Greedy": (BLACK, DOTTED, THIN),
}


def spare_styles():
    """The styles that no method has; each differs from the one before in colour and in dash."""
    taken = {(colour, dash) for colour, dash, _ in STYLES.values()}
    spare = []
    for shift in range(len(DASHES)):
        for i, colour in enumerate(COLOURS):
            dash = DASHES[(i + shift) % len(DASHES)]
            if (colour, dash) not in taken:
                spare.append((colour, dash, THIN))
    return spare


def known_style(name):
    """The style of a method, also under its name with a remark: "Bootstrap (Eq. 3)"; or None."""
    without_remark = re.sub(r" \([^()]*\)$", "", name)
    return STYLES.get(name) or STYLES.get(without_remark)


def style(name, others):
    """(colour, dash, width) of the line `name` in a figure that has the lines `others`, in order.

    A known method has its style in every figure. An unknown name gets a spare style; when the
    spare ones are used up, that of a method which is not in the figure; after that they repeat.
    """
    own = known_style(name)
    if own is not None:
        return own
    names = list(dict.fromkeys([*others, name]))         # each once, in order
    unknown = [other for other in names if known_style(other) is None]
    in_figure = [known_style(other) for other in names]
    every_style = dict.fromkeys(spare_styles() + list(STYLES.values()))
    free = [one for one in every_style if one not in in_figure]
    return free[unknown.index(name) % len(free)]


# ---------------------------------------------------------------- pieces of SVG

WIDTH = 860                            # pixels; wider only where long names need it
FONT = 13
LETTER = 0.6                           # usual width of a letter, in units of the font size


def text_width(words):
    return LETTER * FONT * len(words)


def text(x, y, words, anchor="start", size=FONT, room=math.inf, more=""):
    """One line of text, in a smaller font if it is too long for `room` pixels."""
    size = min(size, room / (LETTER * max(len(words), 1)))
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size:.3g}"'
    return f'<text {place} {more}>{escape(words)}</text>'


def path(d, colour="black", more=""):
    return f'<path d="{d}" stroke="{colour}" fill="none" {more}/>'


def curve(x, y, line_style):
    """A line through the points x, y (n,) in pixels; a dot if there is only one point."""
    colour, dash, width = line_style
    if len(x) == 1:
        return f'<circle cx="{x[0]:.1f}" cy="{y[0]:.1f}" r="{2 * width:.1f}" fill="{colour}"/>'
    steps = [f"{a:.1f} {b:.1f}" for a, b in zip(x, y)]
    return path("M" + "L".join(steps), colour, f'stroke-width="{width}" stroke-dasharray="{dash}"')


def document(width, height, title, parts):
    """The whole figure: white ground, title, then the parts."""
    size = f'viewBox="0 0 {width:.0f} {height:.0f}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>',
        text(12, 24, title, size=15, room=width - 24, more='font-weight="bold"'),
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


# ---------------------------------------------------------------- scales and axes

def nice_ticks(low, high, about=7):
    """Round numbers at equal distances that cover low to high, roughly `about` of them."""
    if high <= low:                                      # one value alone: some room around it
        room = 0.1 * abs(low)
        low, high = low - room, low + room
    if high == low:                                      # zero alone
        high = 1.0
    power = 10.0 ** math.floor(math.log10((high - low) / about))
    step = next((m * power for m in (1, 2, 5) if m * power * about >= high - low), 10 * power)
    first = math.floor(round(low / step, 9))             # 1.1 / 0.1 is a little above 11
    last = math.ceil(round(high / step, 9))
    return np.arange(first, last + 1) * step


def log_ticks(low, high):
    """Round numbers that cover low to high, both above 0, on a logarithmic scale."""
    if high < 2.5 * low:
        return nice_ticks(low, high)
    multiples = [1]
    if high < 1000 * low:
        multiples = [1, 2, 5]
    if high < 30 * low:
        multiples = [1, 1.5, 2, 3, 4, 5, 6, 8]
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    ticks = [float(f"{m}e{power}") for power in powers for m in multiples]
    first = max(tick for tick in ticks if tick <= low)
    last = min(tick for tick in ticks if tick >= high)
    return np.array([tick for tick in ticks if first <= tick <= last])


def number(tick):
    return f"{tick:,.7g}"


def scale(ticks, start, end, log=False):
    """A function from numbers to pixels: the first tick lies at `start`, the last at `end`."""
    def plain(numbers):
        return np.log10(numbers) if log else np.asarray(numbers, float)

    first, last = plain(ticks[0]), plain(ticks[-1])
    if first == last:                                    # a single tick lies in the middle
        first, last = first - 1, last + 1
    return lambda numbers: start + (plain(numbers) - first) / (last - first) * (end - start)


def x_axis(ticks, to_x, bottom):
    """Ticks with all their numbers, or every second, or third, ..., so that no two touch."""
    x = to_x(ticks)
    needed = 6 + max(text_width(number(tick)) for tick in ticks)
    strides = range(1, len(x))
    every = next((k for k in strides if np.diff(x[::k]).min() >= needed), len(x))
    marks = [path(f"M{a:.1f} {bottom:.1f}v5") for a in x]
    labelled = zip(x[::every], ticks[::every])
    return marks + [text(a, bottom + 19, number(tick), "middle") for a, tick in labelled]


def axes(place, x_ticks, y_ticks, log_x=False, log_y=False):
    """Both axes in the place (left, right, top, bottom): their SVG and the scales to_x, to_y."""
    left, right, top, bottom = place
    to_x = scale(x_ticks, left, right, log_x)
    to_y = scale(y_ticks, bottom, top, log_y)
    parts = [path(f"M{left:.1f} {y:.1f}H{right:.1f}", "#dddddd") for y in to_y(y_ticks)]
    parts += [text(left - 8, to_y(tick) + 4, number(tick), "end") for tick in y_ticks]
    parts += x_axis(x_ticks, to_x, bottom)
    parts.append(path(f"M{left:.1f} {top:.1f}V{bottom:.1f}H{right:.1f}"))
    return parts, to_x, to_y


# ---------------------------------------------------------------- lines

LABEL_GAP = 17                         # from one name at the right end to the next, in pixels


def finite_lines(series):
    """The series (name, x, y, band) as (name, x, y, half), without points whose y is not finite."""
    lines = []
    for name, x, y, band in series:
        x = np.asarray(x, float)
        y = np.asarray(y, float)
        half = np.zeros(len(y)) if band is None else np.asarray(band, float)
        keep = np.isfinite(y)
        if keep.any():
            lines.append((name, x[keep], y[keep], half[keep]))
    return lines


def curves(lines, to_x, to_y, names):
    """All lines; the thick ones first, so that none is hidden where two coincide."""
    thick_first = sorted(lines, key=lambda line: -style(line[0], names)[2])
    return [curve(to_x(x), to_y(y), style(name, names)) for name, x, y, _ in thick_first]


def spread(positions, gap, low, high):
    """Positions (n,) moved until neighbours are `gap` apart, in the same order, from low to high.

    With i gaps taken off the i-th, the positions must not fall. Raising each to its highest
    forerunner does that, lowering each to its lowest follower too; the mean moves both alike.
    """
    order = np.argsort(positions, kind="stable")
    gaps = gap * np.arange(len(order))
    tight = np.asarray(positions, float)[order] - gaps
    raised = np.maximum.accumulate(tight)
    lowered = np.minimum.accumulate(tight[::-1])[::-1]
    moved = np.empty(len(order))
    moved[order] = np.clip((raised + lowered) / 2, low, high - gaps[-1]) + gaps
    return moved


def line_chart(title, x_label, y_label, series, log=False):
    """Lines, each with its name at the right end.

    series: (name, x, y, band) with x and y (n,); band: half-widths (n,), or None.
    log: both scales are logarithmic, x with ticks at its own values; but a scale stays linear
    if some of its numbers are not above 0.
    """
    lines = finite_lines(series)
    if not lines:
        raise ValueError("a figure needs a line with at least one finite point, got none")
    all_x = np.concatenate([x for _, x, _, _ in lines])
    all_y = np.concatenate([np.append(y - half, y + half) for _, _, y, half in lines])
    log_x = log and all_x.min() > 0
    log_y = log and all_y.min() > 0
    x_ticks = nice_ticks(min(0.0, all_x.min()), max(0.0, all_x.max()))
    y_ticks = nice_ticks(min(0.0, all_y.min()), max(0.0, all_y.max()))
    if log_x:
        x_ticks = np.unique(all_x)
        x_label += " (log scale)"
    if log_y:
        y_ticks = log_ticks(all_y.min(), all_y.max())
        y_label += " (log scale)"

    left = 42 + max(text_width(number(tick)) for tick in y_ticks)
    names_width = 80 + max(text_width(name) for name, *_ in lines)
    width = max(WIDTH, left + 300 + names_width)         # a plot of 300 pixels at least
    height = max(470, 102 + LABEL_GAP * len(lines))
    right, top, bottom = width - names_width, 44, height - 58
    place = left, right, top, bottom
    parts, to_x, to_y = axes(place, x_ticks, y_ticks, log_x, log_y)
    middle = (top + bottom) / 2
    turned = f'transform="rotate(-90 18 {middle:.1f})"'
    parts.append(text((left + right) / 2, height - 14, x_label, "middle", room=right - left))
    parts.append(text(18, middle, y_label, "middle", room=bottom - top + 30, more=turned))
    parts += labelled_lines(lines, to_x, to_y, place)
    return document(width, height, title, parts)


def labelled_lines(lines, to_x, to_y, place):
    """Bands, lines, and at the right of each line a thin guide to a sample of it and its name."""
    _, right, top, bottom = place
    names = [name for name, *_ in lines]
    parts = []
    for name, x, y, half in lines:                       # all bands lie below all lines
        if half.any():
            parts.append(area(to_x(x), to_y(y - half), to_y(y + half), style(name, names)[0]))
    parts += curves(lines, to_x, to_y, names)
    heights = spread([to_y(y[-1]) for _, _, y, _ in lines], LABEL_GAP, top, bottom)
    for (name, x, y, _), height in zip(lines, heights):
        own = style(name, names)
        guide = f"M{to_x(x[-1]) + 3:.1f} {to_y(y[-1]):.1f}L{right + 22:.1f} {height:.1f}"
        parts.append(path(guide, own[0], 'stroke-width="0.8" stroke-opacity="0.6"'))
        parts.append(curve([right + 26, right + 58], [height, height], own))
        parts.append(text(right + 64, height + 4, name))
    return parts


def area(x, lower, upper, colour):
    """The faint area between two curves, in pixels (n,); around a single x it is a narrow bar."""
    if len(x) == 1:
        x = np.append(x - 3, x + 3)
        lower, upper = np.repeat(lower, 2), np.repeat(upper, 2)
    around = zip(np.append(x, x[::-1]), np.append(lower, upper[::-1]))
    corners = " ".join(f"{a:.1f},{b:.1f}" for a, b in around)
    return f'<polygon points="{corners}" fill="{colour}" fill-opacity="0.13"/>'


# ---------------------------------------------------------------- boxes

ROW = 34                               # height of a row of dots, in pixels
ENOUGH_FOR_BOX = 5                     # quartiles of fewer values would be guesses
MANY_DOTS = 12                         # more than these are drawn smaller and fainter


def box_chart(title, x_label, panels):
    """Panels side by side on one scale: a dot per value, the median, a box of five or more values.

    panels: (heading, {name: values}), values of any number. The box spans the quartiles, its
    whiskers reach the extremes. A row has its method's colour, or else its panel's, or grey.
    """
    panels = [(heading, rows) for heading, rows in panels if rows]
    if not panels:
        raise ValueError("a figure needs a panel with at least one row, got none")
    margins = [20 + max(text_width(name) for name in rows) for _, rows in panels]
    gap = 30                                             # right of every panel
    plot = max(200, (WIDTH - sum(margins)) / len(panels) - gap)
    width = sum(margins) + (plot + gap) * len(panels)
    top = 58
    bottom = top + ROW * max(len(rows) for _, rows in panels)
    every_value = [value for _, rows in panels for values in rows.values() for value in values]
    ticks = nice_ticks(min(every_value), max(every_value), about=plot // 45)

    parts = [text(width / 2, bottom + 42, x_label, "middle", room=width - 20)]
    left = 0
    for (heading, rows), margin in zip(panels, margins):
        left += margin
        to_x = scale(ticks, left, left + plot)
        parts.append(text(left, 48, heading, room=plot + gap, more='font-weight="bold"'))
        parts += [path(f"M{x:.1f} {top}V{bottom}", "#dddddd") for x in to_x(ticks)]
        parts += x_axis(ticks, to_x, bottom)
        for i, (name, values) in enumerate(rows.items()):
            y = top + ROW * (i + 0.5)
            known = known_style(name) or known_style(heading)
            colour = known[0] if known else "#555555"
            parts.append(text(left - 10, y + 4, name, "end"))
            parts += box_row(to_x(np.sort(values)), y, colour)
        left += plot + gap
    return document(width, bottom + 54, title, parts)


def box_row(x, y, colour):
    """The box, the median and the dots of one row; x (n,): its values in pixels, ascending."""
    parts = []
    low, start, median, end, high = np.quantile(x, [0, 0.25, 0.5, 0.75, 1])
    if len(x) >= ENOUGH_FOR_BOX:
        parts.append(path(f"M{low:.1f} {y:.1f}H{start:.1f}M{end:.1f} {y:.1f}H{high:.1f}"))
        across = max(end - start, 0.5)
        place = f'x="{start:.1f}" y="{y - 12:.1f}" width="{across:.1f}" height="24"'
        parts.append(f'<rect {place} fill="{colour}" fill-opacity="0.1" stroke="black"/>')
    if len(x) > 1:
        parts.append(path(f"M{median:.1f} {y - 12:.1f}v24", more='stroke-width="2.5"'))
    return parts + dots(x, y, colour)


def dots(x, y, colour):
    """A dot per value, at heights around y that keep equal values apart, the same every time.

    Multiples of the golden ratio, modulo 1, fill an interval evenly, with neighbours far apart.
    """
    fractions = np.arange(len(x)) * 0.618034 % 1 - 0.5   # (n,) from -1/2 to 1/2
    heights = y + min(20, len(x)) * fractions
    radius, opacity = 2.6, 0.7
    if len(x) > MANY_DOTS:
        radius, opacity = 1.5, 0.55
    look = f'r="{radius}" fill="{colour}" fill-opacity="{opacity}"'
    return [f'<circle cx="{a:.1f}" cy="{b:.2f}" {look}/>' for a, b in zip(x, heights)]


# ---------------------------------------------------------------- small panels

def panel_chart(title, x_label, panels, columns):
    """Small panels in rows of so many columns, y from 0 to 1, with one legend below.

    panels: (heading, [(name, x, y)]) with x and y (n,). All panels of a row share one x scale,
    from 0 to the row's largest x, so that curves can be compared along the row.
    """
    headings = [heading for heading, _ in panels]
    contents = [finite_lines([(*line, None) for line in lines]) for _, lines in panels]
    names = list(dict.fromkeys(name for lines in contents for name, *_ in lines))
    if not names:
        raise ValueError("a figure needs a line with at least one finite point, got none")
    row_height = 196
    panel_width = (WIDTH - 20) / columns
    parts = []
    for i, (heading, lines) in enumerate(zip(headings, contents)):
        row, column = divmod(i, columns)
        left = 50 + column * panel_width
        top = 74 + row * row_height
        place = left, left + panel_width - 66, top, top + row_height - 74
        in_row = contents[row * columns:(row + 1) * columns]
        largest = max((x.max() for others in in_row for _, x, _, _ in others), default=1.0)
        drawn, to_x, to_y = axes(place, nice_ticks(0, largest, about=4), nice_ticks(0, 1, about=5))
        parts += drawn + curves(lines, to_x, to_y, names)
        parts.append(text(left, top - 12, heading, room=panel_width - 50))
    below = 52 + row_height * math.ceil(len(panels) / columns)
    parts.append(text(WIDTH / 2, below, x_label, "middle", room=WIDTH - 20))
    legend, height = legend_from(below + 26, names)
    return document(WIDTH, height, title, parts + legend)


def legend_from(y, names):
    """Samples with their names, in lines from y on, and the height at which the figure ends."""
    parts = []
    x = 50
    for name in names:
        needed = 46 + text_width(name)
        if x > 50 and x + needed > WIDTH:                # on to the next line
            x = 50
            y += 20
        parts.append(curve([x, x + 38], [y, y], style(name, names)))
        parts.append(text(x + 46, y + 4, name))
        x += needed + 28
    return parts, y + 20
