"""Run anything: methods on a task with paired seeds, each run stored under what it is.

    from lab import compare

    if __name__ == "__main__":
        compare({"GuideBoot": guideboot, "Mine": mine}, task=Shelf, steps=2000, runs=10,
                out="out/mine")

A method is `method(env, steps, seed, **options)`, a task `task(seed, **options)` that returns an
environment (envs.py); both are functions or classes of a module, or a functools.partial of one. A
run is a function of its description: method, task, their options, steps, seed, and the code behind
them (identity.py). Its numbers are stored in OUT/runs.jsonl under the hash of that: a run that is
there is not made again, and numbers of different code or options are not mixed. (`against` shows
rows of a file beside them, made by whatever code it names.)
"""
import contextlib
import functools
import json
import math
import os
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np

from envs import Scored, checked
from lab import charts, identity, tables
from lab.identity import Refused
from lab.processes import Runner, cores
from lab.store import Job, Store, aside, line_of, make, where

TUNED = Path(__file__).resolve().parent.parent / "results" / "tuned.json"


# ---------------------------------------------------------------- compare

def compare(methods, task, steps=None, runs=None, seed=0, out="out", name=None, workers=None,
            executor=None, against=None, columns=("method",), show=None):
    """Run every method on the task with the same seeds, and compare them.

    methods     {name: method}; differences are to the first of them; a name may be a tuple, whose
                parts `columns` names
    task        task(seed) gives an environment (envs.py), which says what is scored
    steps       time steps of a run; by default the environment's own `steps`
    runs, seed  run i has the seed `seed` + i; by default ten runs, or with `against` its seeds
    out, name   OUT/runs.jsonl is the store; OUT/NAME.csv and OUT/NAME.svg are of this command; NAME
                is by default the task's
    workers     number of worker processes, one per core by default; results do not depend on it
    executor    any concurrent.futures.Executor instead of processes of our own
    against     a result file whose rows are shown beside: of the same task and number of steps
    show        show(results) returns a table as text and a figure as SVG text, or None

    Returns {name: {seed: {number: value}}}. Exits with 2 if something is refused before the first
    run, with 1 if a run failed (the others are stored and shown), with 130 after Ctrl-C.
    """
    started = time.monotonic()
    try:
        found = tuned_values()
        others = None if against is None else tables.read_csv(against)
        workers = cores() if workers is None else whole("workers", workers)
        seeds = run_seeds(runs, seed, others)
        with warnings_as_lines():
            jobs = planned(methods, task, steps, seeds, columns)
            name = file_name(name or jobs[0].task.func.__name__.lower())
            refuse_other(others, against, jobs[0], seeds)
            store = Store(writable(out))
            missing = {job.key: job for job in jobs if job.key not in store.records}
            rehearse([*missing.values()])
        found = {name: found.get(name, {}), **found}     # this one first: tuned_on takes the first
        if missing and not jobs[0].typed and executor is None:
            require_main_guard()
    except (ValueError, OSError) as error:
        aside(f"{Path(sys.argv[0]).name}: {error}")
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    announce(name, jobs, len(methods), len(missing))
    runner = Runner(list(missing.values()), store)
    with runner.ctrl_c():
        code = run_missing(runner, workers, executor)
        results = gathered(store, jobs, columns, found)
        if results.records:
            text, figure = (show or shown)(beside(results, others, against))
            written = write_files(store.path.parent, name, results, figure)
            spent = tables.duration(time.monotonic() - started)
            say(f"{notes(results, others, against)}\n{text}\n\n{spent}. {written}")
            code = code or int(not written.startswith("Written"))
    if code:
        raise SystemExit(code)
    return {row: {seed: record["numbers"] for seed, record in by_seed.items()}
            for row, by_seed in results.records.items()}


def announce(name, jobs, methods, missing):
    """Say what is asked for, before it takes time."""
    runs = tables.plural(len(jobs) // methods, "run")
    say(f"{name}: {tables.plural(methods, 'method')}, {runs} of {jobs[0].steps:,} steps each; "
        f"{missing} to be made")


def say(text):
    """Print to any terminal; an output that takes no more (`| head`) ends without a traceback."""
    try:
        if sys.stdout is not None:                               # closed: `>&-`
            encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
            text = text.encode(encoding, "backslashreplace").decode(encoding)
        print(text, flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):               # the disk is full
            print(f"output: {error.strerror}", file=sys.stderr)
        raise SystemExit(1) from None


def run_missing(runner, workers, executor):
    """Make the runs that the store lacks; returns the exit code."""
    if runner.typed:
        runner.here()
    elif executor is None:
        runner.in_processes(workers)
    else:
        runner.on(executor)
    runner.progress.clear()
    if runner.pressed:
        aside("interrupted: finished runs are kept and shown, the same command makes the rest")
        return 130
    return int(runner.failed)


def file_name(name):
    if not name or name != Path(name).name:
        raise Refused(f"name must be the name of a file without a folder, got {name!r}")
    return name


def run_seeds(runs, seed, others):
    """The seeds of a command."""
    seed = whole("seed", seed, 0)
    if runs is None and others is not None:
        return sorted({seed for by_seed in others.records.values() for seed in by_seed})
    return range(seed, seed + whole("runs", 10 if runs is None else runs))


def whole(name, value, least=1):
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise Refused(f"{name} must be a whole number, {least} or more, got {value!r}")
    return int(value)


def planned(methods, task, steps, seeds, columns):
    """All jobs: for each seed every method, so that pairs end together."""
    if not isinstance(methods, dict) or not methods:
        raise Refused(f"methods must be a dictionary {{name: method}} with one or more, "
                      f"got {methods!r}")
    task = identity.complete(task, ("seed",))
    steps = steps_of(task, steps, seeds[0])
    typed = identity.typed((task, *methods.values()))
    rows = []
    for row, method in methods.items():
        if len(tables.parts(row)) != len(columns) or not tables.label(row).isprintable():
            raise Refused(f"a name must be text, with the parts {', '.join(columns)}; got {row!r}")
        method = identity.complete(method, identity.HANDED)
        modules = {} if typed else identity.modules_behind(method, task, Scored)
        files = {str(path): identity.content(path)
                 for path in identity.parts_of((method, task), Path)}
        code = identity.checksum(json.dumps([identity.FORMAT, modules]))
        called = {"call": identity.describe(method), "task": identity.describe(task)}
        rows.append([Job(row, method, task, steps, seed, modules, files,
                         {**called, "steps": steps, "seed": seed, "code": code})
                     for seed in seeds])
    return [job for same_seed in zip(*rows) for job in same_seed]


def steps_of(task, steps, seed):
    """The number of steps of a run: as given, or all that the environment has."""
    try:
        env = task(seed)
    except Exception as error:
        raise Refused(f"the task: {line_of(error, task)}") from error
    most = getattr(env, "steps", None)
    if steps is None and most is None:
        raise Refused("steps must be given: the task has no number of its own")
    steps = whole("steps", most if steps is None else steps)
    if most is not None and steps > most:
        raise Refused(f"steps must be at most {most:,}, all that the task has, got {steps:,}")
    return steps


def refuse_other(others, against, job, seeds):
    """Rows of another task or length, or of other seeds, say nothing beside these."""
    for name in ("task", "steps"):
        theirs = {record[name] for record in others.all()} if others else set()
        if theirs - {str(job.description[name])}:
            raise Refused(f"against={str(against)!r} has {name} {', '.join(sorted(theirs))}, "
                          f"and this command {job.description[name]}")
    if others and not any(seed in by_seed for by_seed in others.records.values() for seed in seeds):
        raise Refused(f"against={str(against)!r} has none of the seeds of this command: leave "
                      "`runs` out, and it takes the file's")


def writable(folder):
    """A folder that exists now and can be written to."""
    try:
        path = Path(folder).expanduser()
        path.mkdir(parents=True, exist_ok=True)
        open(path / "runs.jsonl", "ab").close()
    except (OSError, RuntimeError) as error:         # RuntimeError: ~nobody
        raise Refused(f"out must be a folder that can be written to, got {str(folder)!r} "
                      f"({getattr(error, 'strerror', None) or error})") from None
    return path


@contextlib.contextmanager
def warnings_as_lines():
    """Say every warning of the rehearsal once, and not where in our files it comes from."""
    if threading.current_thread() is not threading.main_thread():    # they are the process's
        yield
        return
    caught = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            yield
    finally:
        for text in dict.fromkeys(str(warning.message) for warning in caught):
            aside(f"warning: {text}")


def rehearse(jobs):
    """Two steps of every method in this process: what is wrong shows before anything is started."""
    if jobs:
        try:
            first, second = (seen(jobs[0]) for _ in range(2))
        except Exception as error:
            raise Refused(f"the task: {line_of(error, jobs[0].task)}") from error
        if first != second:
            raise Refused(f"the task: two environments of seed {jobs[0].seed} differ; all that is "
                          "random must be drawn from the seed, or runs are not paired")
    for job in {job.row: job for job in jobs}.values():
        try:
            method, task, steps, *others = job.arguments
            make(method, task, min(2, steps), *others)
        except (Exception, SystemExit) as error:
            text = line_of(error, job.method, job.task)
            raise Refused(f"{tables.label(job.row)}: {text}") from error


def seen(job):
    """The requests of a run's first steps, what is expected, and what the first candidate gives."""
    with np.errstate(all="ignore"):
        env, shown = checked(job.task(job.seed)), []
        for _ in range(min(100, job.steps)):
            shown.append(np.asarray(env.observe()).tolist())
            if hasattr(env.env, "_expected"):
                shown.append(np.asarray(env.env._expected()).tolist())
            shown.append(env.pull(0))
    return shown


def require_main_guard():
    """A script that calls compare() when it is imported would do so in every worker process too."""
    path = identity.own_file("__main__")
    file = getattr(sys.modules["__main__"], "__file__", None)
    if path is None and file is not None and not Path(file).exists():
        raise Refused("a script from standard input: save it as a file, which every worker process "
                      "can import")
    if path is not None and "__main__" not in path.read_text(encoding="utf-8"):
        raise Refused(f'{path.name}: write `if __name__ == "__main__":` before the call of '
                      "compare(), for every worker process imports this file")


# ---------------------------------------------------------------- what is shown and written

def gathered(store, jobs, columns, found):
    """The Results of this command's jobs, as far as they are finished, in the methods' order."""
    results = tables.Results(columns)
    order = list(dict.fromkeys(job.row for job in jobs))
    for job in sorted(jobs, key=lambda job: (order.index(job.row), job.seed)):
        if job.key in store.records:
            known = {"tuned": tuned_on(job.method, found), "steps": str(job.steps)}
            made = {**store.records[job.key], **job.description, **known}
            results.add(job.row, job.seed, made)
    return results


def beside(results, others, against):
    """Our results with the rows of another file after them, on the seeds that we have."""
    if others is None:
        return results
    both = tables.Results(results.columns)
    both.records.update(results.records)
    seeds = {seed for by_seed in results.records.values() for seed in by_seed}
    for row, by_seed in others.records.items():
        name = f"{tables.label(row)} ({Path(against).name})" if row in both.records else row
        common = {seed: record for seed, record in by_seed.items() if seed in seeds}
        if common:
            both.records[name] = common
    return both


def notes(results, others, against):
    """What made the runs, where that is not this very computer and code."""
    lines = []
    here = tables.made_on_text(where())
    for made_on, number in results.made_on().items():
        if made_on != here:
            lines.append(f"{tables.plural(number, 'run')} made on {made_on}; this is {here}")
    if others is not None:
        made = [f"{tables.plural(n, 'run')} on {text}" for text, n in others.made_on().items()]
        codes = sorted({record["code"] or "unknown" for record in others.all()})
        lines.append(f"{against}: {' and '.join(made)}, code {', '.join(codes)}")
    return "".join(line + "\n" for line in lines)


def shown(results):
    """The table of a command, and its figure."""
    first = next(iter(results.records))
    table = tables.score_table(results, first)
    score, better = "Reward per step over", "higher"
    if results.score == "regret":
        score, better = "Cumulative regret after", "lower"
    mean = "mean +- standard error" if "+-" in table else "mean over runs"
    note = f"Errors and differences need {tables.ENOUGH} runs or more."
    if "minus " in table:
        note = (f"minus {tables.label(first)}: mean difference on the same seeds +- half-width of "
                "its 95 % interval.")
    if any(record["tuned"] == "changed" for record in results.all()):
        note += "\nchanged: other values than the tuned ones or the defaults; the CSV has them."
    head = f"{score} {results.steps:,} steps, {better} is better: {mean}."
    return f"{head}\n{note}\n\n{table}", drawn(results)


def drawn(results):
    """The figure of a command: the regret over time, or every run's reward as a dot."""
    runs = max(len(by_seed) for by_seed in results.records.values())
    task = results.one["task"].split("(")[0].rpartition(".")[-1]     # its options are in the CSV
    title = f"{task}, {results.steps:,} steps: {tables.plural(runs, 'run')}"
    if "no" in (values := {record["tuned"] for record in results.all()}) and values <= {"no", "-"}:
        title += ", nothing tuned"
    series = []
    at = tables.checkpoints(results.steps)
    for row, by_seed in results.records.items():
        curves = [record["curve"] for record in by_seed.values() if record.get("curve")]
        if curves:
            average = np.array(curves) / at                              # (runs, checkpoints)
            error = None
            if len(curves) >= tables.ENOUGH:
                error = average.std(axis=0, ddof=1) / math.sqrt(len(curves))
            series.append((tables.label(row), at, average.mean(axis=0), error))
    if series:
        title += ", band: one standard error" if runs >= tables.ENOUGH else ""
        return charts.line_chart(title, "step t", "average regret per step up to t", series)
    finals = {tables.label(row): list(tables.finite(by_seed).values())
              for row, by_seed in results.values().items()}
    finals = {row: values for row, values in finals.items() if values}
    if results.score == "regret" or not finals:
        return None
    return charts.box_chart(title, "reward per step", [("", finals)])


def write_text(path, text):
    """The file appears whole or not at all: written beside its place, then moved there."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_files(folder, name, results, figure):
    """Write the CSV and the figure; returns what to say of it."""
    files = {folder / f"{name}.csv": tables.csv_text(results)}
    if figure is not None:
        files[folder / f"{name}.svg"] = figure
    for path, text in files.items():
        try:
            write_text(path, text)
            if figure is None:
                (folder / f"{name}.svg").unlink(missing_ok=True)     # one of another command
        except OSError as error:
            return (f"cannot write {path}: {error.strerror}; the runs that were saved are in "
                    f"{folder / 'runs.jsonl'}")
    return f"Written: {' and '.join(path.as_posix() for path in files)}"


# ---------------------------------------------------------------- tuned values

def tuned_values():
    """{experiment: {row's label: {"method": its function, "options": the values found for it}}}"""
    try:
        return json.loads(TUNED.read_text(encoding="utf-8")) if TUNED.exists() else {}
    except ValueError as error:
        raise Refused(f"{TUNED}: {error}") from None


def tuned(methods, experiment):
    """The methods with the values that the study found for them on this experiment."""
    experiments = tuned_values()
    if not experiments:
        aside(f"{TUNED} is not there: nothing is tuned")
    elif experiment not in experiments:
        raise ValueError(f"experiment must be {' or '.join(experiments)} (of {TUNED.name}), got "
                         f"{experiment!r}")
    found = experiments.get(experiment, {})
    result = {}
    for row, method in methods.items():
        values = found.get(tables.label(row))
        same = values and values["method"] == function_name(method)
        result[row] = functools.partial(method, **values["options"]) if same else method
    return result


def function_name(method):
    """The name of a method's function, without options."""
    while isinstance(method, functools.partial):
        method = method.func
    return identity.name_of(method)


def tuned_on(method, found):
    """The experiment whose tuned values a method has; "no" if it has its defaults, "changed" if it
    has others, "-" if nothing was ever tuned for it."""
    entries = [(experiment, values["options"]) for experiment, rows in found.items()
               for values in rows.values() if values["method"] == function_name(method)]
    if not entries:
        return "-"
    defaults = identity.complete(method.func, identity.HANDED).keywords
    for experiment, options in entries:
        if method.keywords == {**defaults, **options}:
            return experiment
    setting = {"setting": method.keywords.get("setting")}     # replay or online is not tuned
    return "no" if {**method.keywords, **setting} == {**defaults, **setting} else "changed"
