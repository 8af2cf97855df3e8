"""Statistics of paired runs, the results of a command, and tables of them as text and as CSV."""
import csv
import io
import math
import re
from collections import Counter
from functools import lru_cache

import numpy as np

ENOUGH = 5            # runs: with fewer, an interval or a verdict says nothing


# ---------------------------------------------------------------- statistics

@lru_cache
def t_quantile(df, intervals=1):
    """Half-width of a 95 % interval in standard errors: the 97.5 % quantile of Student's t.

    If several intervals are to hold together with 95 %, each may miss with 5 % / intervals
    (Bonferroni). With t = sqrt(df) tan(angle) the density of the angle is proportional to
    cos(angle)^(df - 1); its distribution function is summed up on a grid.
    """
    if df < 1:
        return math.inf
    angle = (np.arange(200_000) + 0.5) * (math.pi / 2 / 200_000)
    area = np.cumsum(np.cos(angle) ** (df - 1))
    return math.sqrt(df) * math.tan(np.interp(1.0 - 0.05 / intervals, area / area[-1], angle))


def mean_and_error(values):
    """Mean and standard error; the error is not known (inf) of fewer than five values."""
    values = np.asarray(values, float)
    if len(values) == 0:
        return math.nan, math.inf
    if len(values) < ENOUGH:
        return values.mean(), math.inf
    return values.mean(), values.std(ddof=1) / math.sqrt(len(values))


def minus(a, b):
    """The differences {seed: a - b} on the seeds that both have."""
    return {seed: a[seed] - b[seed] for seed in a if seed in b}


def interval(differences, intervals=1):
    """Mean of {seed: difference} and the half-width of its 95 % interval (see t_quantile)."""
    mean, error = mean_and_error(list(differences.values()))
    return mean, t_quantile(len(differences) - 1, intervals) * error


def detectable(differences, intervals=1):
    """The true difference whose interval would lie above 0 with a chance of about 80 %: half-width
    + 0.84 standard errors (a normal variable exceeds -0.84 with 80 %; few runs have less)."""
    _, error = mean_and_error(list(differences.values()))
    return (t_quantile(len(differences) - 1, intervals) + 0.8416) * error


def paired(a, b, intervals=1):
    """Mean of a - b over the seeds that both {seed: value} have, and the interval's half-width."""
    return interval(minus(a, b), intervals)


def finite(by_seed):
    """{seed: value} without the runs that diverged."""
    return {seed: value for seed, value in by_seed.items() if math.isfinite(value)}


# ---------------------------------------------------------------- text

def plus_minus(mean, error, form=".1f"):
    """A number and its uncertainty, if that is known."""
    if math.isnan(mean):
        return ""
    text = format(mean, form)
    return f"{text} +- {error:{form.lstrip('+')}}" if math.isfinite(error) else text


def text_table(heads, rows):
    """Columns as wide as they need to be; the first is left aligned, the others right."""
    lines = [heads, [""] * len(heads), *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(heads))]
    lines[1] = ["-" * width for width in widths]
    text = []
    for first, *others in lines:
        cells = [first.ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(others, widths[1:])]
        text.append("  ".join(cells).rstrip())
    return "\n".join(text)


def plural(n, thing):
    """3 runs, 1 run."""
    return f"{n:,} {thing}" + "s" * (n != 1)


def duration(seconds):
    """Seconds in words: s, min or h."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def runs_text(by_seed):
    """How many runs ended with a number, and how many diverged."""
    ended = len(finite(by_seed))
    return f"{ended}" + f", {len(by_seed) - ended} diverged" * (ended < len(by_seed))


# ---------------------------------------------------------------- the results of a command

KNOWN = ("tuned", "call", "task", "steps", "code", "python", "numpy", "arithmetic")


class Results:
    """The runs of one command: records[row][seed] is a dictionary with

        numbers    what came of the run by name; the first is the score, "regret" or "reward"
        curve      the cumulative regret at the checkpoints, where there is a regret
        and what is KNOWN of it: text, empty if it is not known

    A row is a method's name, or a tuple of it and what else tells rows apart, named by `columns`.
    """

    def __init__(self, columns=("method",)):
        self.columns, self.records = columns, {}

    def add(self, row, seed, record):
        self.records.setdefault(row, {})[seed] = record

    def all(self):
        return [record for by_seed in self.records.values() for record in by_seed.values()]

    @property
    def one(self):
        """Any of the records, for what they have in common."""
        return self.all()[0]

    @property
    def score(self):
        return next(iter(self.one["numbers"]))

    @property
    def steps(self):
        return int(self.one["steps"])

    def known(self, row, name):
        """What is known of a row's first run."""
        return next(iter(self.records[row].values()))[name]

    def values(self, name=None):
        """{row: {seed: number}} of the score, or of another number that runs have."""
        name = name or self.score
        return {row: {seed: record["numbers"][name] for seed, record in by_seed.items()
                      if name in record["numbers"]}
                for row, by_seed in self.records.items()}

    def names(self):
        """The names of all numbers that any run has, the score first."""
        return list(dict.fromkeys(name for record in self.all() for name in record["numbers"]))

    def made_on(self):
        """How many runs were made on which Python, NumPy and arithmetic: {text: number}."""
        return Counter(made_on_text(record) for record in self.all())


def made_on_text(record):
    python, numpy, arithmetic = (record[name] or "unknown" for name in KNOWN[-3:])
    return f"Python {python}, NumPy {numpy}, arithmetic {arithmetic}"


def parts(row):
    """A row's name as a tuple."""
    return row if isinstance(row, tuple) else (row,)


def label(row):
    """A row's name as text."""
    return ", ".join(map(str, parts(row)))


def checkpoints(steps):
    """The steps at which a curve is recorded: 50 of them, or every step of a shorter run."""
    return np.unique(-(-steps * np.arange(1, 51) // 50))         # steps * i / 50, rounded up


def csv_text(results):
    """The results as CSV: method, seed, what else names rows, numbers, what is known, the curve."""
    others = [name for name in results.columns if name != "method"]
    names = results.names()
    curves = any("curve" in record for record in results.all())
    at = checkpoints(results.steps) if curves else []
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["method", "seed", *others, *names, *KNOWN, *(f"regret@{t}" for t in at)])
    for row, by_seed in results.records.items():
        named = dict(zip(results.columns, parts(row)))
        for seed, record in sorted(by_seed.items()):
            numbers = [record["numbers"].get(name, "") for name in names]
            curve = record.get("curve") or [""] * len(at)
            table.writerow([named["method"], seed, *(named[name] for name in others), *numbers,
                            *(record[name] for name in KNOWN), *curve])
    return text.getvalue()


def read_csv(path):
    """The Results of a file that csv_text wrote."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            heads, *lines = [line for line in csv.reader(file) if line] or [[]]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"cannot read {path}: {error}") from None
    score = next((name for name in heads if name in ("regret", "reward")), None)
    complete = heads[:2] == ["method", "seed"] and score is not None and set(KNOWN) <= set(heads)
    if not complete or not lines:
        raise ValueError(f"{path} is not a result file: it must have rows, and the columns method, "
                         f"seed, regret or reward, {', '.join(KNOWN)}")
    others = heads[2:heads.index(score)]
    numbers = heads[heads.index(score):heads.index("tuned")]
    curve = [name for name in heads if re.fullmatch(r"regret@\d+", name)]
    first = [name for name in others if name == "setting"]
    results = Results((*first, "method", *(name for name in others if name not in first)))
    for number, line in enumerate(lines, 2):
        if len(line) != len(heads):
            raise ValueError(f"{path} is torn: line {number} has {len(line)} cells, the first one "
                             f"{len(heads)}")
        cells = dict(zip(heads, line))
        record = {name: cells[name] for name in KNOWN}
        try:
            seed = int(cells["seed"])
            record["numbers"] = {name: float(cells[name]) for name in numbers
                                 if cells[name] or name == score}
            if curve and cells[curve[0]]:
                record["curve"] = [float(cells[name]) for name in curve]
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}") from None
        row = tuple(cells[name] if name in ("setting", "method") else as_number(cells[name])
                    for name in results.columns)
        row = row if others else row[0]
        if seed in results.records.get(row, {}):
            raise ValueError(f"{path}, line {number}: {label(row)}, seed {seed}, once more")
        results.add(row, seed, record)
    return results


def as_number(text):
    """A whole number, a number, or the text itself."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def score_table(results, first):
    """The table of a command: rows sorted by score, and the differences to the row `first`."""
    finals = {row: finite(by_seed) for row, by_seed in results.values().items()}
    regret = results.score == "regret"
    means = {row: np.mean(list(by_seed.values())) for row, by_seed in finals.items() if by_seed}
    order = sorted(means, key=means.get, reverse=not regret)
    order += [row for row in finals if row not in means]
    tuned = any(record["tuned"] not in ("no", "-", "") for record in results.all())
    others = results.names()[1:]
    heads = ["Method", results.score, f"minus {label(first)}", *others, "tuned on", "runs"]
    lines = []
    for row in order:
        form = ".1f" if regret else ".4f"
        cells = [label(row), plus_minus(*mean_and_error(list(finals[row].values())), form)]
        difference = paired(finals[row], finals[first])
        known = row != first and math.isfinite(difference[1])
        cells.append(plus_minus(*difference, "+" + form) if known else "")
        for name in others:
            values = list(finite(results.values(name)[row]).values())
            form = ".4f" if name in ("reward", "clicks") else ".4g"
            cells.append(format(np.mean(values), form) if values else "")
        lines.append([*cells, results.known(row, "tuned"), runs_text(results.values()[row])])
    keep = [i for i, head in enumerate(heads)
            if not (head.startswith("minus ") and not any(line[i] for line in lines))
            and (head != "tuned on" or tuned)]
    return text_table([heads[i] for i in keep], [[line[i] for i in keep] for line in lines])
