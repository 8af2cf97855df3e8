"""Around an experiment: options, process pool, progress line, result file, statistics, table, SVG figure.

Knows nothing of bandits. An experiment is a function job -> numbers, called for every job (method, seed).
"""
import argparse
import ast
import csv
import hashlib
import io
import itertools
import json
import math
import multiprocessing
import multiprocessing.connection
import os
import platform
import re
import shutil
import signal
import sys
import time
from html import escape
from pathlib import Path

import numpy as np

try:
    import fcntl
except ImportError:                    # Windows: two commands at once in one folder are not noticed
    fcntl = None


# ---------------------------------------------------------------- options

class Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line: the argument, the value, what is allowed. Exit code 2."""

    def error(self, message):
        self.exit(2, f"{self.prog}: {message}\n")

    def usual(self, defaults, methods, tunable, sweeps):
        """Add the options that every script has; returns add(name, type, help) for its own, with defaults from the table."""
        self.defaults, self.tunable = defaults, tunable

        def add(name, kind, text):
            default = (None, "tuned for each method") if name in tunable else (defaults[name], defaults[name])
            self.add_argument("--" + name.replace("_", "-"), type=kind, default=default[0], metavar=kind.metavar, help=f"{text} (default {default[1]})")
        add("runs", number(int, 1, high=10_000), "runs per method, each with a seed of its own")
        add("seed", number(int, 0, high=10 ** 9), "seed of the first run; run i uses seed + i")
        self.add_argument("--methods", metavar="A,B", help=f"only these, separated by commas; of: {methods}")
        self.add_argument("--workers", type=number(int, 1, high=60), default=cores(), metavar="N",
                          help="processes; results do not depend on it (default: one per core)")
        self.add_argument("--out", default="out", metavar="DIR", help="folder for the results and the figure (default %(default)s)")
        self.add_argument("--untuned", action="store_true", help="the paper's values and ours for all methods alike, not the tuned ones")
        self.add_argument("--tune", action="store_true", help="look for the best values of every method, on seeds from 1000 on")
        self.add_argument("--sweep", choices=sweeps, help="vary one thing for the methods that have it, and draw what comes of it")
        self.add_argument("--fresh", action="store_true", help="start over; the earlier results are moved aside")
        return add

    def parse_args(self, argv=None):
        args = super().parse_args(argv)
        if args.tune and args.sweep:
            self.error(f"argument --sweep: not with --tune, got {args.sweep}")
        args.sweep = args.sweep and args.sweep.replace("-", "_")
        given = [name for name in self.tunable if getattr(args, name, None) is not None] + ["untuned"] * args.untuned
        if args.tune and given:
            self.error(f"argument --tune: looks for the values itself, got --{given[0].replace('_', '-')}")
        if args.sweep and getattr(args, args.sweep, None) not in (None, self.defaults[args.sweep]):
            self.error(f"argument --sweep: varies {args.sweep.replace('_', ' ')} itself, got --{args.sweep.replace('_', '-')} too")
        return args

    def methods(self, text, names):
        """--methods: some of `names`, by commas, returned in the order of `names`; case, blanks and hyphens do not matter."""
        def plain(name):
            return "".join(c for c in name.lower().replace("epsilon", "e").replace("\u03b5", "e") if c.isalnum())
        wanted = {plain(word): word.strip() for word in text.split(",") if plain(word)}
        unknown = [word for key, word in wanted.items() if key not in map(plain, names)]
        if unknown or not wanted:
            self.error(f"argument --methods: must be some of {', '.join(names)}; got {', '.join(unknown) or repr(text)}")
        return [name for name in names if plain(name) in wanted]

    def folder(self, text):
        """--out: a folder that exists or can be made, and can be written to."""
        folder = Path(text).expanduser()
        try:
            if not text.strip():
                raise OSError(0, "the name is empty")
            folder.mkdir(parents=True, exist_ok=True)
            probe = folder / f".probe-{os.getpid()}"
            probe.touch()
            probe.unlink()
        except OSError as error:
            self.error(f"argument --out: must be a folder that can be written to, got {text!r} ({error.strerror})")
        return folder


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
    parse.metavar = "N" if kind is int else "X"
    return parse


# ---------------------------------------------------------------- processes

def cores():
    """Processors that this process may use, at most 60 (Windows waits for no more pipes at once)."""
    return min(60, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def _work(pipe, function):
    signal.signal(signal.SIGINT, signal.SIG_IGN)         # Ctrl-C is the parent's to handle
    np.seterr(all="ignore")                              # what overflows is an error where it becomes a score
    try:
        while True:
            job = pipe.recv()
            try:
                message = "done", function(job, lambda fraction: pipe.send(("tick", fraction)))
            except Exception as error:
                message = "failed", f"{type(error).__name__}: {error}"
            pipe.send(message)
    except (EOFError, OSError):                          # the parent is gone, or has no more work
        return


def pool(function, jobs, workers):
    """Run function(job, tick) for all jobs in processes of their own; yield (job, kind, value) as things happen.

    kind is "tick" (value: fraction done), "done" (value: result), "failed" or "died" (value: why). A result depends
    on its job alone, so neither the number of workers nor the order matters. Leaving the loop ends all processes.
    """
    todo, busy = list(jobs)[::-1], {}
    context = multiprocessing.get_context("spawn")       # the same start on every system, with its own BLAS

    def give(pipe, process):
        busy[pipe] = process, todo.pop()
        try:
            pipe.send(busy[pipe][1])
        except OSError:                                  # it has just died: the next look at its pipe says so
            pass

    try:
        while todo or busy:
            while todo and len(busy) < workers:
                here, there = context.Pipe()
                process = context.Process(target=_work, args=(there, function), daemon=True)
                handler = signal.signal(signal.SIGINT, signal.SIG_IGN)      # a worker is born deaf to Ctrl-C
                process.start()
                signal.signal(signal.SIGINT, handler)
                there.close()
                give(here, process)
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
                        give(pipe, process)
                yield job, kind, value
    finally:
        for process, _ in busy.values():
            process.terminate()


class Progress:
    """One rewritten line on a terminal, elsewhere a line now and then: what is done and the time left."""

    def __init__(self, total):
        self.total, self.fraction, self.started, self.shown = total, {}, time.monotonic(), 0.0
        self.start, self.end, self.pause = ("\r", "", 0.2) if sys.stderr.isatty() else ("", "\n", 20.0)

    def update(self, job, fraction, label):
        self.fraction[job] = fraction
        now, done = time.monotonic(), sum(self.fraction.values())
        if now - self.shown >= self.pause:
            self.shown, spent = now, now - self.started
            left = f"{duration(spent * (self.total - done) / done)} left" if done > 0.02 * self.total else "time left not yet known"
            self.write(f"{done:.1f} of {self.total} runs, {left}, {label}")

    def write(self, line):
        width = shutil.get_terminal_size().columns - 1
        print(self.start + (line[:width].ljust(width) if self.start else line), end=self.end, file=sys.stderr, flush=True)

    def close(self):
        if self.start:
            self.write("")
            print("\r", end="", file=sys.stderr, flush=True)


def count(n, thing):
    return f"{n} {thing}" + "s" * (n != 1)


def duration(seconds):
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


# ---------------------------------------------------------------- result file

def fingerprint(*modules):
    """A short hash of the code of these files; the Python version counts, comments, docstrings and layout do not.

    Nor does what stands after a script's function `run`: it asks for runs and shows them, but their numbers come from
    `run` and from the options, which the header has in full. Nor does a module's `main`, with all after it.
    """
    trees = [ast.parse(Path(module).read_text(encoding="utf-8")) for module in modules]
    for tree in trees:
        ends = [i + (node.name == "run") for i, node in enumerate(tree.body) if getattr(node, "name", "") in ("run", "main")]
        del tree.body[min(ends, default=len(tree.body)):]
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
                del node.body[0]
    return checksum("\n".join(map(ast.dump, trees)))


class Results:
    """A result file: a comment line with all that made its numbers, then CSV, one line per finished run.

    `header` says what the numbers depend on: options, versions, code. A file with the same header is gone on with; any
    other is moved aside, never mixed with and never overwritten. Every change writes the whole file beside the old
    one and then takes its place, so a crash or a full disk leaves the old file or the new one.
    """

    def __init__(self, path, header, columns, order, fresh=False):
        self.path, self.columns, self.order, self.rows = path, columns, order, {}
        self.lock = open(path.with_name(f".{path.name}.lock"), "w")      # held until this process ends, however it ends
        if fcntl:
            try:
                fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise SystemExit(f"another command is writing {path}: wait for it, or choose another --out")
        self.header = dict(header, python=platform.python_version(), numpy=np.__version__)
        if not path.exists():
            return
        try:
            header, old_columns, rows = read_results(path)
        except (ValueError, OSError) as error:
            self.aside("unreadable", f"{path} is not a whole result file, {error}")
        else:
            different = differences(header, self.header) or ([] if old_columns == columns else ["columns"])
            if fresh:
                self.aside("before-fresh", "starting over, as asked")
            elif different:
                self.aside("other-" + "-".join(re.findall(r"\w+", different[0].split(":")[0])), "; ".join(different))
            else:
                self.rows = rows

    def aside(self, word, why):
        """Move the file and its figure to names that say so, and tell."""
        paths, n = (self.path, self.path.with_suffix(".svg")), 1
        while any(path.with_name(f"{path.stem}.{word}-{n}{path.suffix}").exists() for path in paths):
            n += 1
        for path in paths:
            if path.exists():
                os.replace(path, path.with_name(f"{path.stem}.{word}-{n}{path.suffix}"))
        print(f"{why}: the earlier results are now {self.path.stem}.{word}-{n}{self.path.suffix}, starting anew")

    def add(self, key, values):
        self.rows[key] = np.array(values, float)
        self.rows = {key: self.rows[key] for key in sorted(self.rows, key=lambda key: (self.order.index(key[0]), key[1]))}
        text = io.StringIO()
        text.write("# " + json.dumps(self.header) + "\n")
        table = csv.writer(text, lineterminator="\n")
        table.writerow(["method", "seed", *self.columns])
        table.writerows([method, seed, *map(repr, values.tolist())] for (method, seed), values in self.rows.items())
        write_text(self.path, text.getvalue() + f"# end {checksum(text.getvalue())}\n")


def checksum(text):
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def read_results(path):
    """Header, columns and rows {(method, seed): numbers} of a result file; ValueError if it is not a whole one."""
    with open(path, encoding="utf-8", newline="") as file:
        text, found, end = file.read().rpartition("# end ")
    if not found or end.strip() != checksum(text):
        raise ValueError("it is cut off, damaged, edited by hand or of another version")
    header, *lines = text.splitlines()
    columns, *table = csv.reader(lines)
    return json.loads(header[2:]), columns[2:], {(method, int(seed)): np.array(values, float) for method, seed, *values in table}


def differences(old, new, name=""):
    """What differs between two headers, one short text each."""
    if name == "tuned" and old != new:
        return [f"tuned: the file has {'other tuned values' if old and new else 'nothing tuned' if new else 'tuned values'}, now {'the tuned values' if new else 'nothing is tuned'}"]
    if isinstance(old, dict) and isinstance(new, dict):
        return [text for key in {**old, **new} for text in differences(old.get(key), new.get(key), key)]
    return [] if old == new else [f"{name}: the file has {'none given' if old is None else old}, now {'none given' if new is None else new}"]


def experiment(results, run, jobs, workers):
    """Run every job whose (method, seed) the results lack, saving each as it ends; returns the exit code.

    A job is (method, seed, options); run(job, tick) returns its row of numbers. A FloatingPointError is a run that
    diverged: its row is all nan. Whatever fails, the others go on and what is finished is kept.
    """
    todo, code = [job for job in jobs if job[:2] not in results.rows], 0
    if len(todo) < len(jobs):
        print(f"{len(jobs) - len(todo)} of {len(jobs)} already done" + ("" if todo else ": nothing to run, the table is from the file"))
    progress = Progress(len(todo))
    try:
        for (method, seed, _), kind, value in pool(run, todo, workers):
            progress.update((method, seed), value if kind == "tick" else 1.0, f"{method}, seed {seed}")
            if kind == "failed" and value.startswith("FloatingPointError"):
                progress.close()
                print(f"diverged: {method}, seed {seed}: {value.split(': ', 1)[1]}", file=sys.stderr)
                kind, value = "done", np.full(len(results.columns), math.nan)
            if kind == "done":
                try:
                    results.add((method, seed), value)
                except OSError as error:
                    progress.close()
                    print(f"cannot save {results.path}: {error.strerror}; it holds what was saved before, the same command goes on", file=sys.stderr)
                    return 1
            elif kind != "tick":
                progress.close()
                print(f"{kind}: {method}, seed {seed}: {value}; the same command tries it again", file=sys.stderr)
                code = 1
    except KeyboardInterrupt:
        progress.close()
        print("interrupted: finished runs are kept, the same command goes on", file=sys.stderr)
        return 130
    progress.close()
    return code


def given(args, defaults, tunable):
    """The options that numbers depend on; a tunable one only if it was given, else every method has its own."""
    return {name: getattr(args, name, value) for name, value in defaults.items()
            if name not in ("runs", "seed") and not (name in tunable and getattr(args, name, None) is None)}


def unusual(options, defaults, tunable, but=("steps", "scale")):
    """The options that were changed, or given instead of tuned values, as a piece of a title."""
    changed = [(name, value) for name, value in options.items() if name in defaults and name not in but and (name in tunable or value != defaults[name])]
    return "".join(f", {name.replace('_', ' ')} {value:g}" if isinstance(value, float) else f", {name.replace('_', ' ')} {value}"
                   for name, value in changed) + ("" if options.get("tuned", True) else ", untuned")


# ---------------------------------------------------------------- tuning, sweeps, claims

def product(grid):
    """All configurations of a grid {name: values}."""
    return [dict(zip(grid, values)) for values in itertools.product(*grid.values())]


def sweep_grid(name, sweeps, own):
    """The configurations of a sweep; the one and usual configuration of a method whose `own` grid does not have what is swept."""
    return [{name: value} for value in sweeps[name][1]] if name in own or name in ("models", "density", "batch") else [{}]


def label(method, configuration):
    """The name of a row of results: a method, and what is special about this configuration."""
    return method + "".join(f" | {name} {value}" for name, value in configuration.items())


def tuning_table(score, grid, final, best):
    """Print, for every method, its best configuration by the mean of final[row][seed], and them all as a table to copy.

    A diverged run is as bad as can be. An edge is a best value at an end of what was tried. A method of which runs are
    missing is left out: means over different seeds say nothing.
    """
    lines, table, runs = [], [], max(map(len, final.values()))
    missing = [method for method, cs in grid.items() if any(len(final.get(label(method, c), ())) < runs for c in cs)]
    if missing:
        print(f"\nnot yet tuned, runs are missing: {', '.join(missing)}")
    for method, configurations in ((m, cs) for m, cs in grid.items() if m not in missing):
        means = {i: np.mean(list(final[label(method, c)].values())) for i, c in enumerate(configurations)}
        worst = -math.inf if best is max else math.inf
        ranked = sorted(means, key=lambda i: worst if math.isnan(means[i]) else means[i], reverse=best is max)
        chosen = configurations[ranked[0]]
        edges = [name for name, value in chosen.items() if value in (min(v := [c[name] for c in configurations]), max(v))]
        lines.append([method, f"{len(means)}", *(f"{means[ranked[i]]:.4g}" for i in (0, len(ranked) // 2, -1)),
                      ", ".join(f"{name} {value:g}" for name, value in chosen.items()), ", ".join(edges)])
        table.append(f'    "{method}": dict(' + ", ".join(f"{name}={value}" for name, value in chosen.items()) + "),")
    if not lines:
        return
    print("\n" + text_table(["Method", "tried", f"best {score}", "median", "worst", "best configuration", "at an edge"], lines))
    print("\nTUNED = {\n" + "\n".join(table) + "\n}")


def sweep_chart(path, title, name, values, score, grid, final, style, against):
    """Print the tables of a sweep of one option and draw it: lines over numbers, boxes for words; returns the figure's path.

    against(method, value) names the row whose values on the same seeds are subtracted in the second table.
    """
    final = {row: {s: x for s, x in by_seed.items() if math.isfinite(x)} for row, by_seed in final.items()}
    rows = {m: [label(m, c) for c in grid[m]] * (len(values) if len(grid[m]) == 1 else 1) for m in grid}     # flat for a method without this option
    cells = {m: [list(final.get(row, {}).values()) for row in rows[m]] for m in grid}
    if not any(cell for row in cells.values() for cell in row):
        print("\nno run ended with a number")
        return None
    words = {"models": "number of models K", "batch": "b, rows resampled per model and step"}.get(name, name.replace("_", " "))
    form = ".1f" if max(x for row in cells.values() for cell in row for x in cell) > 1 else ".4f"
    runs = max(len(cell) for row in cells.values() for cell in row)
    print(f"\n{score}: mean +- standard error over runs, by {words}\n")
    print(text_table(["Method", *map(str, values)], [[m, *(plus_minus(*mean_and_error(c), form) if c else "" for c in row)] for m, row in cells.items()]))
    gaps = {m: ["" if row == (other := against(m, v)) else plus_minus(*paired(final.get(row, {}), final.get(other, {})), "+" + form)
                for v, row in zip(values, rows[m])] for m in grid}
    if any(any(row) for row in gaps.values()):
        print("\nDifferences on the same seeds, mean +- half-width of the 95 % interval: minus " + against(None, None) + "\n")
        print(text_table(["Method", *map(str, values)], [[m, *row] for m, row in gaps.items() if any(row)]))
    if isinstance(values[0], str):
        box_chart(path, f"{title}, by {words}: {runs} runs, every run is a dot", score,
                  [(m, {v: c for v, c in zip(values, row) if c}) for m, row in cells.items() if any(row)])
        return path
    series = []
    for m, row in cells.items():
        points = [(v, *mean_and_error(c)) for v, c in zip(values, row) if c]
        if points:
            x, y, error = np.array(points).T
            series.append((m, style[m], x, y, None if np.isnan(error).any() else error))
    line_chart(path, f"{title}, by {words}: " + (f"{runs} runs, band: one standard error" if runs > 1 else "one run"), words, score, series, log=values)
    return path


def verdict(pairs):
    """Of a claim that all differences {name: (mean, half-width)} are above 0."""
    above, below = sum(mean > half for mean, half in pairs.values()), sum(mean < -half for mean, half in pairs.values())
    if not all(math.isfinite(half) for _, half in pairs.values()):
        return "open, too few runs"
    return "not reproduced" if below else "reproduced" if above == len(pairs) else "partly" if above else "not reproduced (undecided)"


def verdicts(table):
    """Of every claim of a table. One that contains a claim which is refuted is refuted with it, though its own more intervals are wider."""
    alone, means = [verdict(pairs) for _, _, pairs in table], [{name: mean for name, (mean, _) in pairs.items()}.items() for _, _, pairs in table]
    return ["not reproduced" if any(v == "not reproduced" and part <= whole for v, part in zip(alone, means)) else own for own, whole in zip(alone, means)]


def evidence(pairs, form):
    """The least difference of a claim, against whom, and how many intervals are above 0."""
    name, (mean, half) = min(pairs.items(), key=lambda item: item[1][0])
    return plus_minus(mean, half, form), name, f"{sum(m > h for m, h in pairs.values())} of {len(pairs)}"


def claims(where, table, form="+.1f"):
    """Text of a table of claims: (claim, the paper's evidence, {comparison: (mean, half-width) of a difference that it says is above 0})."""
    lines = [[text, paper, *evidence(pairs, form), result] for (text, paper, pairs), result in zip(table, verdicts(table))]
    return (f"\nClaims of {where}: the least of the differences on the same seeds, above 0 if as claimed, mean +- half-width of\n"
            "an interval (all those of a claim hold together with 95 %), and how many of the intervals are above 0.\n\n"
            + text_table(["Claim", "paper", "least difference", "against or in", "above 0", "verdict"], lines))


def call(main):
    """Run a script's main and exit with its code; what the system refuses is told in one line."""
    try:
        code = main()
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:                              # the reader of the output has gone, as in `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except OSError as error:
        print(f"{error.filename or 'output'}: {error.strerror}", file=sys.stderr)
        code = 1
    sys.exit(code)


# ---------------------------------------------------------------- statistics

def t95(df, share=1):
    """The 97.5 % quantile of Student's t: half-width of a 95 % interval in standard errors.

    With `share` of them, for as many intervals that hold together with 95 %: each may miss with 5 % / share (Bonferroni).
    With t = sqrt(df) tan(angle) the density of the angle is proportional to cos(angle)^(df - 1); summed on a grid.
    """
    if df < 1:
        return math.inf
    angle = (np.arange(200_000) + 0.5) * (math.pi / 2 / 200_000)
    area = np.cumsum(np.cos(angle) ** (df - 1))
    return math.sqrt(df) * math.tan(np.interp(1.0 - 0.05 / share, area / area[-1], angle))


def mean_and_error(values):
    """Mean and standard error; the error of a single run is unknown, nan."""
    values = np.asarray(values, float)
    return values.mean(), values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def paired(a, b, c=None, d=None, share=1):
    """Mean of a - b (or a - b - (c - d)) over the seeds that all {seed: value} have, and the half-width of its 95 % interval (see t95)."""
    terms = [x for x in (a, b, c, d) if x is not None]
    gaps = [sum(sign * x[seed] for sign, x in zip((1, -1, -1, 1), terms)) for seed in a if all(seed in x for x in terms)]
    mean, error = mean_and_error(gaps) if gaps else (math.nan, math.nan)
    return mean, t95(len(gaps) - 1, share) * error


def plus_minus(mean, error, form=".1f"):
    """Text for a number and its uncertainty, which one run alone does not have."""
    return "" if math.isnan(mean) else format(mean, form) + (f" +- {error:{form.lstrip('+')}}" if math.isfinite(error) else "")


# ---------------------------------------------------------------- text table

def text_table(heads, rows):
    """Columns as wide as they need, the first left and the others right aligned."""
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    lines = ["  ".join(cell.rjust(w) if i else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths))).rstrip()
             for row in [heads, ["-" * w for w in widths], *rows]]
    return "\n".join(lines)


# ---------------------------------------------------------------- SVG figure

# Told apart by colour-blind readers (Okabe and Ito's colours, darkest first) and, in grey, by dash and lightness.
# Style 0 and 1, thick lines, are for GuideBoot and Online GuideBoot.
STYLES = [("#000000", ""), ("#0072B2", ""), ("#D55E00", ""), ("#009E73", "7 3"), ("#CC79A7", "7 3"), ("#56B4E9", "14 3"),
          ("#E69F00", "2 3"), ("#0072B2", "2 3"), ("#D55E00", "9 3 2 3"), ("#888888", "2 5")]
LEGEND = [0, 4, 2]                     # styles of the lines of a panel


def nice_ticks(low, high, about=7):
    """Round numbers that cover low to high."""
    if high <= low:                                      # one value alone: some room around it
        low, high = (low - 0.1 * abs(low), low + 0.1 * abs(low)) if low else (0.0, 1.0)
    power = 10.0 ** math.floor(math.log10((high - low) / about))
    step = power * next(m for m in (1, 2, 5, 10) if m * power * about >= high - low)
    return np.arange(math.floor(low / step), math.ceil(high / step) + 1) * step


def spread(positions, gap, low, high):
    """Move label positions apart until neighbours are `gap` apart, in the same order, between low and high if they fit."""
    order, moved = np.argsort(positions, kind="stable"), np.array(positions, float)
    for _ in range(200):
        for i, j in zip(order, order[1:]):
            overlap = max(0.0, gap - (moved[j] - moved[i]))
            moved[i], moved[j] = moved[i] - overlap / 2, moved[j] + overlap / 2
        moved[order[0]], moved[order[-1]] = max(moved[order[0]], low), min(moved[order[-1]], high)
    return moved


def svg(width, height, title):
    """The first lines of a figure: white ground, title."""
    return [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">',
            f'<rect width="{width}" height="{height}" fill="white"/>',
            f'<text x="12" y="24" font-size="{min(15, 1.7 * width / len(title)):.3g}" font-weight="bold">{escape(title)}</text>']


def log_ticks(low, high):
    """Round numbers for a logarithmic scale that cover low to high, which are above 0."""
    if high < 2.5 * low:
        return nice_ticks(low, high)
    power = 10.0 ** math.floor(math.log10(low))
    ticks = [round(m * p, 12) for p in (power, 10 * power) for m in (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8)] + [100 * power]
    first, last = max(t for t in ticks if t <= low), min((t for t in ticks if t >= high), default=ticks[-1])
    return np.array([t for t in ticks if first <= t <= last])


def axes(out, box, xt, yt, x_labels=None, y_labels=None):
    """Draw axes with ticks xt, yt in the box (left, right, top, bottom); returns sx, sy, which map numbers into it."""
    left, right, top, bottom = box

    def sx(x):
        return left + (np.asarray(x, float) - xt[0]) / (xt[-1] - xt[0]) * (right - left)

    def sy(y):
        return bottom - (np.asarray(y, float) - yt[0]) / (yt[-1] - yt[0]) * (bottom - top)
    for v, text in zip(yt, y_labels or [f"{v:g}" for v in yt]):
        out.append(f'<path d="M{left:.1f} {sy(v):.1f}H{right:.1f}" stroke="#dddddd"/>'
                   f'<text x="{left - 8:.1f}" y="{sy(v) + 4:.1f}" text-anchor="end">{text}</text>')
    for v, text in zip(xt, x_labels or [f"{v:,.7g}" for v in xt]):
        out.append(f'<path d="M{sx(v):.1f} {bottom}v5" stroke="black"/>'
                   f'<text x="{sx(v):.1f}" y="{bottom + 20}" text-anchor="middle">{text}</text>')
    out.append(f'<path d="M{left:.1f} {top}V{bottom}H{right:.1f}" stroke="black" fill="none"/>')
    return sx, sy


def stroke(style):
    colour, dash = STYLES[style % len(STYLES)]
    return f'fill="none" stroke="{colour}" stroke-width="{2.6 if style < 2 else 1.7}" stroke-dasharray="{dash}"'


def points(x, y):
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y))


def line_chart(path, title, x_label, y_label, series, log=None, width=860, height=470):
    """series: (name, style, x, y, half-width of the band or None); lines are labelled at their right end.

    `log`: the values of x, if both scales are to be logarithmic.
    """
    box = left, right, top, bottom = 74, width - 70 - 8 * max(len(s[0]) for s in series), 44, height - 58
    series = [(name, style, np.asarray(x), y, y - (0.0 if band is None else band), y + (0.0 if band is None else band)) for name, style, x, y, band in series]
    low, high, out = min(s[4].min() for s in series), max(s[5].max() for s in series), svg(width, height, title)
    if log is not None and low > 0 < len(yt := log_ticks(low, high)) and yt[0] > 0:
        series = [(name, style, *map(np.log10, lines)) for name, style, *lines in series]
        sx, sy = axes(out, box, np.log10(log), np.log10(yt), [f"{v:g}" for v in log], [f"{v:g}" for v in yt])
    else:
        sx, sy = axes(out, box, nice_ticks(0, max(s[2][-1] for s in series)), nice_ticks(min(0.0, low), high))
    out.append(f'<text x="{(left + right) / 2}" y="{height - 14}" text-anchor="middle">{escape(x_label)}</text>'
               f'<text transform="translate(18 {(top + bottom) / 2}) rotate(-90)" text-anchor="middle">{escape(y_label)}</text>')
    labels = spread([float(sy(y[-1])) for _, _, _, y, _, _ in series], 17, top, bottom)
    for label, (name, style, x, y, lower, upper) in zip(labels, series):
        if (lower < upper).any():
            outline = points(sx(np.append(x, x[::-1])), sy(np.append(upper, lower[::-1])))
            out.append(f'<polygon points="{outline}" fill="{STYLES[style % len(STYLES)][0]}" fill-opacity="0.13"/>')
        out.append(f'<polyline points="{points(sx(x), sy(y))}" {stroke(style)}/>'
                   f'<path d="M{float(sx(x[-1])) + 3:.1f} {float(sy(y[-1])):.1f}L{right + 20} {label:.1f}h22" {stroke(style)}/>'
                   f'<text x="{right + 47}" y="{label + 4:.1f}">{escape(name)}</text>')
    write_text(path, "\n".join(out) + "\n</svg>\n")


def panel_chart(path, title, x_label, panels, columns, width=860, row=200):
    """panels: (heading, [(name, x, y)]) in rows of so many columns, y from 0 to 1; the names are a legend below."""
    height = 44 + row * -(-len(panels) // columns) + 34
    out, wide = svg(width, height, title), (width - 20) / columns
    for i, (heading, series) in enumerate(panels):
        left, top = i % columns * wide + 50, 74 + i // columns * row
        sx, sy = axes(out, (left, left + wide - 66, top, top + row - 78), nice_ticks(0, series[0][1][-1], about=4), nice_ticks(0, 1, about=5))
        out.append(f'<text x="{left:.1f}" y="{top - 12}">{escape(heading)}</text>')
        for k, (_, x, y) in enumerate(series):
            out.append(f'<polyline points="{points(sx(x), sy(y))}" {stroke(LEGEND[k])}/>')
    for k, (name, _, _) in enumerate(panels[0][1]):
        x = 50 + k * 190
        out.append(f'<path d="M{x} {height - 18}h34" {stroke(LEGEND[k])}/><text x="{x + 42}" y="{height - 14}">{escape(name)}</text>')
    out.append(f'<text x="{width - 20}" y="{height - 14}" text-anchor="end">{escape(x_label)}</text>')
    write_text(path, "\n".join(out) + "\n</svg>\n")


def box_chart(path, title, x_label, panels, width=860):
    """panels: (heading, {name: values}): side by side on one scale, a dot per value, the median, and a box (quartiles, extremes) of five or more."""
    left, gap, row = 132, 30, 30
    names = [len(values) for _, values in panels]
    height, panel = 100 + row * max(names), (width - 20) / len(panels)
    xt = nice_ticks(min(min(map(min, v.values())) for _, v in panels), max(max(map(max, v.values())) for _, v in panels), about=5)
    out = svg(width, height, title)
    for p, (heading, values) in enumerate(panels):
        x0, x1, bottom = p * panel + left, (p + 1) * panel - gap, 58 + row * max(names)

        def sx(v):
            return x0 + (v - xt[0]) / (xt[-1] - xt[0]) * (x1 - x0)
        out.append(f'<text x="{x0:.0f}" y="48" font-weight="bold">{escape(heading)}</text>')
        for v in xt:
            out.append(f'<path d="M{sx(v):.1f} 54V{bottom}" stroke="#dddddd"/>'
                       f'<text x="{sx(v):.1f}" y="{bottom + 17}" text-anchor="middle" font-size="12">{v:g}</text>')
        for i, (name, v) in enumerate(values.items()):
            y, (low, q1, median, q3, high) = 58 + row * (i + 0.5), map(sx, np.quantile(v, [0, 0.25, 0.5, 0.75, 1]))
            fill = "#9ecae1" if "GuideBoot" in name else "#eeeeee"
            out.append(f'<text x="{x0 - 8:.0f}" y="{y + 4:.1f}" text-anchor="end">{escape(name)}</text>')
            if len(v) > 4:                               # quartiles of fewer would be guesses
                out.append(f'<path d="M{low:.1f} {y:.1f}H{high:.1f}" stroke="black"/><rect x="{q1:.1f}" y="{y - 8:.1f}" '
                           f'width="{max(q3 - q1, 0.5):.1f}" height="16" stroke="black" fill="{fill}"/>')
            if len(v) > 1:
                out.append(f'<path d="M{median:.1f} {y - 8:.1f}v16" stroke="black" stroke-width="2.5"/>')
            out += [f'<circle cx="{sx(value):.1f}" cy="{y:.1f}" r="2.6" fill="#D55E00" fill-opacity="0.6"/>' for value in v]
    out.append(f'<text x="{width / 2}" y="{height - 8}" text-anchor="middle">{escape(x_label)}</text>')
    write_text(path, "\n".join(out) + "\n</svg>\n")


def write_text(path, text):
    """The file appears whole or not at all: written beside its place, then moved there."""
    temporary = path.with_name(path.name + ".partial")
    with open(temporary, "w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
