"""Around an experiment: options, process pool, progress line, result file, statistics, table, SVG figure.

Knows nothing of bandits. An experiment is a function job -> numbers, called for every job (method, seed).
"""
import argparse
import ast
import csv
import hashlib
import json
import math
import multiprocessing
import multiprocessing.connection
import os
import platform
import signal
import sys
import time
from pathlib import Path

import numpy as np


# ---------------------------------------------------------------- options

class Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line: the argument, the value, what is allowed. Exit code 2."""

    def error(self, message):
        self.exit(2, f"{self.prog}: {message}\n")

    def check(self, name, parse, *values):
        """An option whose check needs more than its text: parse(*values), its complaint said as argparse says it."""
        try:
            return parse(*values)
        except argparse.ArgumentTypeError as error:
            self.error(f"argument {name}: {error}")


def number(kind, low, above=False, high=math.inf):
    """Type of an option: a finite int or float that is `low` or more (or above it), and at most `high`."""
    allowed = f"{'a whole number' if kind is int else 'a number'}, {'above ' if above else ''}{low}" + (
        "" if above and high == math.inf else " or more" if high == math.inf else f" to {high}")

    def parse(text):
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or value < low or value > high or (above and value == low):
            raise argparse.ArgumentTypeError(f"must be {allowed}, got {text!r}")
        return value
    return parse


def some_of(text, names):
    """Some of `names`, separated by commas, in any case; returned in the order of `names`."""
    wanted = {word.strip().lower() for word in text.split(",") if word.strip()}
    unknown = sorted(wanted - {name.lower() for name in names})
    if unknown or not wanted:
        raise argparse.ArgumentTypeError(f"must be some of {', '.join(names)}; got {', '.join(unknown) or repr(text)}")
    return [name for name in names if name.lower() in wanted]


def writable_folder(text):
    """A folder that exists or can be made, and can be written to."""
    folder = Path(text)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise argparse.ArgumentTypeError(f"must be a folder that can be written to, got {text!r} ({error.strerror})")
    return folder


# ---------------------------------------------------------------- processes

def _work(pipe, function):
    signal.signal(signal.SIGINT, signal.SIG_IGN)         # Ctrl-C is the parent's to handle
    while True:
        try:
            job = pipe.recv()
        except EOFError:
            return
        try:
            message = "done", function(job, lambda fraction: pipe.send(("tick", fraction)))
        except Exception as error:
            message = "failed", f"{type(error).__name__}: {error}"
        pipe.send(message)


def pool(function, jobs, workers):
    """Run function(job, tick) for all jobs in processes of their own; yield (job, kind, value) as things happen.

    kind is "tick" (value: fraction done), "done" (value: result), "failed" or "died" (value: why). A result depends
    on its job alone, so neither the number of workers nor the order matters. Leaving the loop ends all processes.
    """
    todo, busy = list(jobs)[::-1], {}
    context = multiprocessing.get_context("spawn")       # the same start on every system, with its own BLAS

    def start():
        here, there = context.Pipe()
        process = context.Process(target=_work, args=(there, function), daemon=True)
        process.start()
        there.close()
        busy[here] = process, todo.pop()
        here.send(busy[here][1])

    try:
        while todo or busy:
            while todo and len(busy) < workers:
                start()
            for pipe in multiprocessing.connection.wait(list(busy)):
                process, job = busy[pipe]
                try:
                    kind, value = pipe.recv()
                except (EOFError, OSError):
                    process.join()
                    kind, value = "died", f"its process ended with exit code {process.exitcode}"
                if kind != "tick":
                    del busy[pipe]
                    if kind != "died" and todo:
                        busy[pipe] = process, todo.pop()
                        pipe.send(busy[pipe][1])
                yield job, kind, value
    finally:
        for pipe, (process, _) in busy.items():
            process.terminate()


class Progress:
    """One rewritten line on a terminal (a line now and then elsewhere): what is done and the time left."""

    def __init__(self, total):
        self.total, self.fraction, self.started, self.shown = total, {}, time.monotonic(), 0.0

    def update(self, job, fraction, label):
        self.fraction[job] = fraction
        now, done = time.monotonic(), sum(self.fraction.values())
        if now - self.shown < (0.2 if sys.stderr.isatty() else 20) and done < self.total:
            return
        self.shown = now
        left = (now - self.started) * (self.total - done) / max(done, 1e-9)
        line = f"{done:.1f} of {self.total} runs, {duration(left)} left, {label}"
        print(f"\r{line:79.79}" if sys.stderr.isatty() else line, end="" if sys.stderr.isatty() else "\n",
              file=sys.stderr, flush=True)

    def close(self):
        if sys.stderr.isatty():
            print("\r" + " " * 79 + "\r", end="", file=sys.stderr, flush=True)


def duration(seconds):
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


# ---------------------------------------------------------------- result file

def fingerprint(*modules):
    """A short hash of the code of these files; comments and layout do not count."""
    trees = [ast.dump(ast.parse(Path(module).read_text(encoding="utf-8"))) for module in modules]
    return hashlib.sha256("\n".join(trees).encode()).hexdigest()[:12]


def versions():
    return {"python": platform.python_version(), "numpy": np.__version__}


def write_results(path, header, columns, rows):
    """A comment line with all that made the numbers, then CSV, one line per run; the file appears whole or not at all."""
    temporary = path.with_name(path.name + ".partial")
    with open(temporary, "w", newline="", encoding="utf-8") as file:
        file.write("# " + json.dumps(header) + "\n")
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["method", "seed", *columns])
        for (method, seed), values in rows.items():
            table.writerow([method, seed, *map(repr, map(float, values))])
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def read_results(path):
    """Header, columns and rows {(method, seed): numbers} of a file that `write_results` wrote."""
    with open(path, newline="", encoding="utf-8") as file:
        header = json.loads(file.readline()[2:])
        _, _, *columns = next(table := csv.reader(file))
        rows = {(method, int(seed)): np.array(values, float) for method, seed, *values in table}
    return header, columns, rows


def keep_aside(path):
    """Rename an existing file so that nothing is overwritten; returns the new name, or None."""
    if not path.exists():
        return None
    n = 1
    while (aside := path.with_name(f"{path.stem}.old-{n}{path.suffix}")).exists():
        n += 1
    os.replace(path, aside)
    return aside


# ---------------------------------------------------------------- statistics

def t95(df):
    """The 97.5 % quantile of Student's t: half-width of a 95 % interval in standard errors.

    With t = sqrt(df) tan(angle) the density of |t| is proportional to cos(angle)^(df - 1); integrated on a grid.
    """
    if df < 1:
        return math.inf
    angle = (np.arange(200_000) + 0.5) * (math.pi / 2 / 200_000)
    area = np.cumsum(np.cos(angle) ** (df - 1))
    return math.sqrt(df) * math.tan(np.interp(0.95, area / area[-1], angle))


def mean_and_error(values):
    """Mean and standard error; the error of a single run is unknown, nan."""
    values = np.asarray(values, float)
    return values.mean(), values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def paired(a, b):
    """Mean of a - b over runs with the same seed and the half-width of its 95 % interval."""
    mean, error = mean_and_error(np.asarray(a) - np.asarray(b))
    return mean, t95(len(a) - 1) * error


# ---------------------------------------------------------------- text table

def text_table(heads, rows):
    """Columns as wide as they need, the first left and the others right aligned."""
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    lines = ["  ".join(cell.rjust(w) if i else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths))).rstrip()
             for row in [heads, ["-" * w for w in widths], *rows]]
    return "\n".join(lines)


# ---------------------------------------------------------------- SVG figure

# Told apart by colour-blind readers (Okabe and Ito's colours, darkest first) and, in grey, by dash and lightness.
STYLES = [("#000000", ""), ("#0072B2", ""), ("#D55E00", ""), ("#009E73", "7 3"), ("#CC79A7", "7 3"), ("#56B4E9", "7 3"),
          ("#E69F00", "2 3"), ("#0072B2", "2 3"), ("#D55E00", "9 3 2 3"), ("#888888", "2 5")]


def nice_ticks(low, high, about=7):
    """Round numbers that cover low to high."""
    high = high if high > low else low + 1.0
    power = 10.0 ** math.floor(math.log10((high - low) / about))
    step = power * next(m for m in (1, 2, 5, 10) if m * power * about >= high - low)
    return np.arange(math.floor(low / step), math.ceil(high / step) + 1) * step


def spread(positions, gap):
    """Move label positions apart until neighbours are `gap` apart, keeping their order and centre as far as possible."""
    order, moved = np.argsort(positions, kind="stable"), np.array(positions, float)
    for _ in range(200):
        for i, j in zip(order, order[1:]):
            overlap = gap - (moved[j] - moved[i])
            if overlap > 0:
                moved[i], moved[j] = moved[i] - overlap / 2, moved[j] + overlap / 2
    return moved


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def line_chart(path, title, x_label, y_label, series, width=860, height=470):
    """series: (name, x, y, half-width of the band) each; labelled at the right end of the lines."""
    left, right, top, bottom = 74, width - 190, 44, height - 58
    finite = [np.concatenate([y - np.nan_to_num(band), y + np.nan_to_num(band)]) for _, _, y, band in series]
    xt = nice_ticks(0, max(x[-1] for _, x, _, _ in series))
    yt = nice_ticks(min(0.0, min(map(np.min, finite))), max(map(np.max, finite)))

    def sx(x):
        return left + (np.asarray(x, float) - xt[0]) / (xt[-1] - xt[0]) * (right - left)

    def sy(y):
        return bottom - (np.asarray(y, float) - yt[0]) / (yt[-1] - yt[0]) * (bottom - top)

    def points(x, y):
        return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(sx(x), sy(y)))

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">',
           f'<rect width="{width}" height="{height}" fill="white"/>',
           f'<text x="{left}" y="24" font-size="15" font-weight="bold">{escape(title)}</text>']
    for v in yt:
        out.append(f'<path d="M{left} {sy(v):.1f}H{right}" stroke="#dddddd"/>'
                   f'<text x="{left - 8}" y="{sy(v) + 4:.1f}" text-anchor="end">{v:g}</text>')
    for v in xt:
        out.append(f'<path d="M{sx(v):.1f} {bottom}v5" stroke="black"/>'
                   f'<text x="{sx(v):.1f}" y="{bottom + 20}" text-anchor="middle">{v:,.0f}</text>')
    out.append(f'<path d="M{left} {top}V{bottom}H{right}" stroke="black" fill="none"/>'
               f'<text x="{(left + right) / 2}" y="{height - 14}" text-anchor="middle">{escape(x_label)}</text>'
               f'<text transform="translate(18 {(top + bottom) / 2}) rotate(-90)" text-anchor="middle">{escape(y_label)}</text>')
    labels = spread([float(sy(y[-1])) for _, _, y, _ in series], 17)
    for i, (name, x, y, band) in enumerate(series):
        colour, dash = STYLES[i % len(STYLES)]
        if np.isfinite(band).all():
            outline = points(np.append(x, x[::-1]), np.append(y + band, (y - band)[::-1]))
            out.append(f'<polygon points="{outline}" fill="{colour}" fill-opacity="0.13"/>')
        stroke = f'stroke="{colour}" stroke-width="{2.6 if i < 2 else 1.7}" stroke-dasharray="{dash}"'
        end = float(sx(x[-1]))
        out.append(f'<polyline points="{points(x, y)}" fill="none" {stroke}/>'
                   f'<path d="M{end + 3:.1f} {float(sy(y[-1])):.1f}L{right + 20} {labels[i]:.1f}h22" fill="none" {stroke}/>'
                   f'<text x="{right + 47}" y="{labels[i] + 4:.1f}">{escape(name)}</text>')
    path.write_text("\n".join(out) + "\n</svg>\n", encoding="utf-8")
