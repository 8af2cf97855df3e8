"""Run anything: methods on a task with paired seeds, each run stored under what it is.

    from lab import compare

    if __name__ == "__main__":
        compare({"GuideBoot": guideboot, "Mine": mine}, task=Shelf, steps=2000, runs=10,
                out="out/mine")

A method is `method(env, steps, seed, **options)`, a task `task(seed, **options)` that returns an
environment (see envs.py); both are functions or classes of a module, or a functools.partial of one.
A run is a function of its description: method, task, their options, steps, seed, and the code
behind them (identity.py). Its numbers are stored in OUT/runs.jsonl under the hash of that, so a run
that is there is not made again, and numbers of different code or options cannot be mixed. """
import ast
import functools
import inspect
import json
import math
import multiprocessing
import multiprocessing.connection
import os
import platform
import queue
import shutil
import signal
import sys
import threading
import time
import traceback
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from envs import Scored
from lab import charts, identity, tables
from lab.identity import Refused

TUNED = Path(__file__).resolve().parent.parent / "results" / "tuned.json"


def stop(message):
    """End with one line for the user and exit code 2: nothing was started."""
    print(f"{Path(sys.argv[0]).name}: {message}", file=sys.stderr)
    raise SystemExit(2)


# ---------------------------------------------------------------- one run

class Job(NamedTuple):
    """One run to be made. `row` is its name in the table: a word, or a tuple of words and numbers."""
    row: object
    method: object
    task: object
    steps: int
    seed: int
    modules: dict         # {module: hash} of the code behind method and task
    call: str             # the method with its options, as text
    world: str            # the task with its options, as text

    @property
    def code(self):
        return identity.checksum(json.dumps([identity.FORMAT, self.modules]))

    @property
    def key(self):
        """The hash of the description, under which the run is stored."""
        return identity.checksum(json.dumps([self.call, self.world, self.steps, self.seed, self.code]))


def make(method, task, steps, seed, modules, tick=lambda fraction: None):
    """Make one run: {"numbers": ..., "curve": ...}, or {"diverged": why}, and where it was made."""
    identity.verify(modules)
    started = time.monotonic()
    env = Scored(task(seed), steps, tick)
    record = {}
    try:
        with np.errstate(all="ignore"):              # what overflows is an error once it is a score
            own = method(env, steps, seed)
        if env.t < steps:
            raise Refused(f"the method ended after {env.t:,} of {steps:,} steps")
        record["numbers"] = {**env.numbers(), **checked_numbers(own, env.numbers())}
        if env.score == "regret":
            record["curve"] = np.cumsum(env.regret)[tables.checkpoints(steps) - 1].tolist()
    except FloatingPointError as error:
        record["diverged"] = f"at step {env.t + 1:,} {error}"
        record["numbers"] = {name: math.nan for name in env.numbers()}
    record["seconds"] = round(time.monotonic() - started, 1)
    return {**record, **where()}


def checked_numbers(own, taken):
    """What a method returned: nothing, or numbers of its own by name."""
    if own is None:
        return {}
    if not isinstance(own, dict) or set(own) & set(taken):
        raise Refused(f"a method returns None or a dictionary of numbers with names other than "
                      f"{', '.join(taken)}, got {own!r}")
    return {str(name): float(value) for name, value in own.items()}


@functools.lru_cache(maxsize=None)
def where():
    """Versions, and a few digits of a fixed computation: processors and libraries round differently.

    The products are too small for a BLAS library to share out among threads.
    """
    rng = np.random.default_rng(0)
    a, b, c = (rng.standard_normal(shape).astype(np.float32)
               for shape in ((5, 8, 200), (5, 200, 128), (128, 128)))
    product = np.matmul(np.matmul(a, b), c)
    digits = [product, np.exp(a), np.exp(a.astype(float)), np.log(np.abs(b) + 1.0)]
    arithmetic = identity.checksum(b"".join(array.tobytes() for array in digits))[:6]
    return {"python": platform.python_version(), "numpy": np.__version__, "arithmetic": arithmetic}


def line_of(error, *functions):
    """An error as one line of text: what, and the last line of the user's own file that led to it."""
    files = {path for function in functions for part in identity.functions_in(function)
             if (path := identity.own_file(part.__module__)) is not None}
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).resolve() in files]
    text = " ".join(str(error).split())
    text = text if isinstance(error, (Refused, ValueError)) else f"{type(error).__name__}: {text}"
    if not own:
        return text
    return f"{text} ({Path(own[-1].filename).name}, line {own[-1].lineno}: {own[-1].line})"


# ---------------------------------------------------------------- the store

class Store:
    """OUT/runs.jsonl: one line of JSON per finished run, appended as it ends and never changed."""

    def __init__(self, folder):
        self.path = Path(folder) / "runs.jsonl"
        self.records = {}
        damaged = 0
        lines = self.path.read_bytes().split(b"\n") if self.path.exists() else []
        for line in filter(None, lines):
            record = self.parsed(line)
            if record is None:
                damaged += 1
            else:
                self.records.setdefault(record["key"], record)
        if damaged:
            print(f"{self.path}: {tables.count(damaged, 'damaged line')} skipped; "
                  "what is missing is run again", file=sys.stderr)

    @staticmethod
    def parsed(line):
        """The record of a line, or None if the line is torn or was changed."""
        try:
            record = json.loads(line)
            check = record.pop("check")
            return record if check == identity.checksum(json.dumps(record)) else None
        except (ValueError, KeyError, AttributeError, TypeError):
            return None

    def append(self, job, made):
        """Write the run at the end of the file, in one piece."""
        record = {"key": job.key, "method": job.call, "task": job.world, "steps": job.steps,
                  "seed": job.seed, "code": job.code, **made}
        text = json.dumps({**record, "check": identity.checksum(json.dumps(record))}) + "\n"
        self.records[job.key] = record               # even if it cannot be written, it can be shown
        with open(self.path, "ab", buffering=0) as file:
            if file.tell() and not self.ends_with_newline():
                text = "\n" + text                   # after a line that a crash has torn
            written = file.write(text.encode())
            os.fsync(file.fileno())
        if written < len(text.encode()):
            raise OSError(28, "No space left on device", str(self.path))

    def ends_with_newline(self):
        with open(self.path, "rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read() == b"\n"


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


# ---------------------------------------------------------------- processes

_fractions = None         # in a worker: how far each job is, shared with the parent


def start_worker(fractions):
    """First of all in a worker: leave Ctrl-C to the parent, and end when the parent is gone."""
    global _fractions
    _fractions = fractions
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, daemon=True).start()


def end_with_parent():
    multiprocessing.connection.wait([multiprocessing.parent_process().sentinel])
    os._exit(1)


def work(i, method, task, steps, seed, modules):
    """One run in a worker: ("done", what make() returns) or ("failed", why)."""
    def tick(fraction):
        if _fractions is not None:
            _fractions[i] = fraction
    tick(1e-9)                                       # begun
    try:
        return "done", make(method, task, steps, seed, modules, tick)
    except Exception as error:
        return "failed", line_of(error, method, task)


@contextmanager
def ctrl_c():
    """A list that is no longer empty once Ctrl-C was pressed: it is looked at between two outcomes."""
    pressed = []
    if threading.current_thread() is not threading.main_thread():
        yield pressed
        return
    handler = signal.signal(signal.SIGINT, lambda *_: pressed.append(True))
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, handler)


@contextmanager
def sigint_blocked():
    """Processes that start in here are deaf to Ctrl-C from their first moment."""
    if not hasattr(signal, "pthread_sigmask"):       # Windows: start_worker has to do
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Runner:
    """Makes runs in processes and hands every outcome to `outcome(job, kind, value)` as it comes."""

    def __init__(self, jobs, outcome, pressed):
        self.jobs, self.outcome, self.pressed = jobs, outcome, pressed
        self.fractions = multiprocessing.get_context("spawn").RawArray("d", len(jobs))
        self.progress = Progress(len(jobs))

    def collect(self, executor, left):
        """Run the jobs with the indices `left`; returns those that were lost with their process."""
        ended = queue.SimpleQueue()
        with sigint_blocked():
            for i in left:
                job = self.jobs[i]
                future = executor.submit(work, i, *job[1:6])
                future.add_done_callback(lambda future, i=i: ended.put((i, future)))
        lost, missing = [], len(left)
        while missing and not self.pressed:
            try:
                i, future = ended.get(timeout=0.2)
            except queue.Empty:
                self.progress.show(sum(self.fractions))
                continue
            missing -= 1
            if isinstance(future.exception(), BrokenExecutor):
                lost.append(i)
                continue
            self.fractions[i] = 1.0
            error = future.exception()
            kind, value = future.result() if error is None else ("failed", line_of(error))
            self.progress.clear()
            self.outcome(self.jobs[i], kind, value)
            self.progress.show(sum(self.fractions))
        return lost

    def on(self, executor):
        """All jobs on a foreign executor, which is left running."""
        for i in self.collect(executor, range(len(self.jobs))):
            self.outcome(self.jobs[i], "died", "its process ended")

    def in_processes(self, workers):
        """All jobs in a pool of our own. A pool that broke is made anew for what is left, twice.

        Nobody tells which run killed its process, so every run that had begun when a pool broke is
        made again at the end, in a process of its own.
        """
        left, suspects = list(range(len(self.jobs))), []
        for _ in range(3):
            lost = self.in_pool(left, min(workers, len(left)))
            suspects += [i for i in lost if self.fractions[i] > 0]
            left = [i for i in lost if self.fractions[i] == 0]
            if not left or self.pressed:
                break
        for i in left + suspects:
            if not self.pressed and self.in_pool([i], 1):
                self.outcome(self.jobs[i], "died", "its process was killed or crashed")

    def in_pool(self, left, workers):
        """One pool, ended with all its processes; returns the jobs that were lost when it broke."""
        before = set(multiprocessing.active_children())
        pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), start_worker,
                                   (self.fractions,))
        lost = left
        try:
            lost = self.collect(pool, left)
        finally:
            if lost or self.pressed:                 # no cancel(): the pool's thread would complain
                pool.shutdown(wait=False)
                for process in set(multiprocessing.active_children()) - before:
                    process.kill()
            else:
                pool.shutdown()
        return lost


class Progress:
    """One rewritten line on a terminal, elsewhere a line now and then: what is done, the time left."""

    def __init__(self, total):
        self.total, self.started, self.shown = total, time.monotonic(), time.monotonic()
        self.terminal = sys.stderr.isatty()

    def show(self, done):
        now = time.monotonic()
        if now - self.shown < (0.2 if self.terminal else 20.0):
            return
        self.shown = now
        text = f"{done:.1f} of {tables.count(self.total, 'run')}"
        if done > 0.02 * self.total:
            left = (now - self.started) * (self.total - done) / done
            text += f", {tables.duration(left)} left"
        if self.terminal:
            width = shutil.get_terminal_size().columns - 1
            text = "\r" + text[:width].ljust(width)
        print(text, end="" if self.terminal else "\n", file=sys.stderr, flush=True)

    def clear(self):
        if self.terminal:
            width = shutil.get_terminal_size().columns - 1
            print("\r" + " " * width + "\r", end="", file=sys.stderr, flush=True)


def cores():
    """Processors that this process may use; 60 at most, as Windows cannot wait for more."""
    if hasattr(os, "sched_getaffinity"):
        return min(60, len(os.sched_getaffinity(0)))
    return min(60, os.cpu_count() or 1)


# ---------------------------------------------------------------- compare

def compare(methods, task, steps=None, runs=None, seed=0, out="out", name=None, workers=None,
            executor=None, against=None, columns=("method",), show=None):
    """Run every method on the task with the same seeds, and compare them.

    methods     {name: method}; a name may be a tuple, whose parts `columns` names
    task        task(seed) gives an environment (envs.py), which says what is scored
    steps       time steps of a run; by default the environment's own `steps`
    runs, seed  run i has the seed `seed` + i; ten runs, or with `against` those of its file
    out, name   OUT/runs.jsonl is the store; OUT/NAME.csv and OUT/NAME.svg are of this command alone
    workers     processes, one per core by default; no result depends on their number
    executor    any concurrent.futures.Executor instead of processes of our own
    against     a result file whose rows are shown beside: of the same task and number of steps
    show        show(results) prints a table and returns a figure as SVG text, or None

    Returns {name: {seed: {number: value}}}. Ends the program with exit code 2 before anything
    starts, 1 if a run failed (the others are stored and shown), 130 after Ctrl-C.
    """
    try:
        others = None if against is None else tables.read_csv(against)
        seeds = run_seeds(runs, seed, others)
        workers = cores() if workers is None else whole("workers", workers)
        steps, jobs = planned(methods, task, steps, seeds)
        refuse_other(others, against, jobs[0])
        out = writable(out)
        store = Store(out)
        missing = list({job.key: job for job in jobs if job.key not in store.records}.values())
        rehearse(missing, typed := identity.typed((task, *methods.values())))
        if not (executor or typed or not missing):
            require_main_guard()
    except (Refused, ValueError, OSError) as error:
        stop(error)
    name = name or identity.taken_apart(task)[0].__name__.lower()
    print(f"{name}: {tables.count(len(methods), 'method')}, {tables.count(len(seeds), 'run')} of "
          f"{steps:,} steps each; {len(missing)} to be made", flush=True)
    started = time.monotonic()
    code = run_missing(store, missing, workers, executor, typed)
    results = gathered(store, jobs, columns)
    if results.records:
        code = present(results, others, against, out / name, show, started) or code
    if code:
        raise SystemExit(code)
    return {row: {seed: record["numbers"] for seed, record in by_seed.items()}
            for row, by_seed in results.records.items()}


def run_seeds(runs, seed, others):
    """The seeds of a command."""
    whole("seed", seed, 0)
    if runs is None and others is not None:
        return sorted({seed for by_seed in others.records.values() for seed in by_seed})
    return range(seed, seed + whole("runs", 10 if runs is None else runs))


def whole(name, value, least=1):
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise Refused(f"{name} must be a whole number, {least} or more, got {value!r}")
    return int(value)


def planned(methods, task, steps, seeds):
    """The number of steps and all jobs: for each seed every method, so that pairs end together."""
    if not methods:
        raise Refused("methods must be a dictionary {name: method} with at least one, got none")
    world = identity.describe_call(task, ("seed",))
    try:
        env = task(seeds[0])
    except Exception as error:
        raise Refused(f"the task: {line_of(error, task)}") from error
    if steps is None and not hasattr(env, "steps"):
        raise Refused("steps must be given: the task has no number of its own")
    steps = whole("steps", env.steps if steps is None else steps)
    if steps > getattr(env, "steps", math.inf):
        raise Refused(f"steps must be at most {env.steps:,}, all that the task has, got {steps:,}")
    jobs = {}
    for row, method in methods.items():
        call = identity.describe_call(method, ("env", "steps", "seed"))
        modules = identity.modules_behind(method, task)
        jobs[row] = [Job(row, method, task, steps, seed, modules, call, world) for seed in seeds]
    return steps, [job for same_seed in zip(*jobs.values()) for job in same_seed]


def refuse_other(others, against, job):
    """Rows of another task or length say nothing beside these."""
    if others is None:
        return
    for name, ours in (("task", job.world), ("steps", str(job.steps))):
        theirs = {record[name] for record in others.all()}
        if theirs != {ours}:
            raise Refused(f"against={str(against)!r} has {name} {', '.join(sorted(theirs))}, "
                          f"and this command {ours}")


def writable(folder):
    """A folder that exists now and can be written to."""
    try:
        path = Path(folder).expanduser()
        path.mkdir(parents=True, exist_ok=True)
        probe = path / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except (OSError, RuntimeError) as error:         # RuntimeError: ~nobody
        raise Refused(f"out must be a folder that can be written to, got {str(folder)!r} "
                      f"({getattr(error, 'strerror', None) or error})") from None
    return path


def rehearse(jobs, typed):
    """Two steps of every method in this process: what is wrong shows before anything is started."""
    for row, job in {job.row: job for job in jobs}.items():
        steps = min(2, job.steps)
        try:
            make(job.method, job.task, steps, job.seed, {} if typed else job.modules)
        except Exception as error:
            raise Refused(f"{tables.label(row)}: {line_of(error, job.method, job.task)}") from error


def require_main_guard():
    """A script that calls compare() when it is imported would do so in every worker process too."""
    main = sys.modules["__main__"]
    path = identity.own_file("__main__")
    frame = sys._getframe()
    while frame is not None and not (frame.f_globals is vars(main) and frame.f_code.co_name == "<module>"):
        frame = frame.f_back
    if path is None or frame is None:
        return
    for node in ast.parse(path.read_bytes()).body:
        if node.lineno <= frame.f_lineno <= node.end_lineno and isinstance(node, ast.If):
            return
    raise Refused(f'{path.name}, line {frame.f_lineno}: write `if __name__ == "__main__":` before '
                  "this call, for every worker process imports this file")


def run_missing(store, jobs, workers, executor, typed):
    """Make the runs that the store lacks and append each as it ends; returns the exit code."""
    codes = [0]

    def outcome(job, kind, value):
        run = f"{tables.label(job.row)}, seed {job.seed}"
        if kind != "done":
            codes.append(1)
            print(f"{kind}: {run}: {value}; the same command tries it again", file=sys.stderr)
            return
        if "diverged" in value:
            print(f"diverged: {run}: {value['diverged']}", file=sys.stderr)
        if typed:
            store.records[job.key] = value
            return
        try:
            store.append(job, value)
        except OSError as error:
            codes.append(1)
            pressed.append("full")
            print(f"cannot save {store.path}: {error.strerror}; it holds what was saved before, the "
                  "same command goes on from there", file=sys.stderr)

    with ctrl_c() as pressed:
        runner = Runner(jobs, outcome, pressed)
        if typed:
            for i, job in enumerate(jobs):
                if not pressed:
                    outcome(job, *work(i, *job[1:5], {}))
        elif executor is not None:
            runner.on(executor)
        elif jobs:
            runner.in_processes(workers)
        runner.progress.clear()
    if True in pressed:
        print("interrupted: finished runs are kept, the same command goes on", file=sys.stderr)
        return 130
    return max(codes)


def gathered(store, jobs, columns):
    """The Results of this command's jobs, as far as they are finished, in the order of the methods."""
    results = tables.Results(columns)
    values = tuned_values()
    order = list(dict.fromkeys(job.row for job in jobs))
    for job in sorted(jobs, key=lambda job: (order.index(job.row), job.seed)):
        made = store.records.get(job.key)
        if made is not None:
            known = {"call": job.call, "task": job.world, "steps": str(job.steps), "code": job.code,
                     "tuned": tuned_on(job.method, values)}
            results.add(job.row, job.seed, {**made, **known})
    return results


def present(results, others, against, path, show, started):
    """Print the table, write the CSV and the figure; returns 1 if something cannot be written."""
    here = "Python {python}, NumPy {numpy}, arithmetic {arithmetic}".format(**where())
    for made, number in results.made_by().items():
        if made != here:
            print(f"{tables.count(number, 'run')} made on {made}; this is {here}")
    figure = (show or shown)(beside(results, others, against))
    files = {path.with_suffix(".csv"): tables.csv_text(results)}
    if figure is None:
        path.with_suffix(".svg").unlink(missing_ok=True)         # one of another command
    else:
        files[path.with_suffix(".svg")] = figure
    try:
        for file, text in files.items():
            write_text(file, text)
    except OSError as error:
        print(f"cannot write {path}: {error.strerror}; all runs that were saved are in "
              f"{path.parent / 'runs.jsonl'}", file=sys.stderr)
        return 1
    print(f"\n{tables.duration(time.monotonic() - started)}. Written: {' and '.join(map(str, files))}")
    return 0


def beside(results, others, against):
    """Our results with the rows of another file after them, which keep their own provenance."""
    if others is None:
        return results
    both = tables.Results(results.columns)
    both.records.update(results.records)
    for row, by_seed in others.records.items():
        same = row in both.records
        both.records[f"{tables.label(row)} ({Path(against).name})" if same else row] = by_seed
    made = " and ".join(f"{tables.count(n, 'run')} on {text}" for text, n in others.made_by().items())
    codes = sorted({record["code"] or "unknown" for record in others.all()})
    print(f"{against}: {made}, code {', '.join(codes)}")
    return both


def shown(results):
    """Print the table of a command and return its figure."""
    first = next(iter(results.records))
    steps = f"{results.steps:,} steps"
    if results.score == "regret":
        print(f"\nCumulative regret after {steps}, lower is better: mean +- standard error over runs.")
    else:
        print(f"\nReward per step over {steps}, higher is better: mean +- standard error over runs.")
    runs = min(len(by_seed) for by_seed in results.records.values())
    if runs >= tables.ENOUGH:
        print(f"minus {tables.label(first)}: on the same seeds, mean +- half-width of the 95 % interval.")
    else:
        print(f"Too few runs for errors and differences: {tables.ENOUGH} or more of every method.")
    print("\n" + tables.score_table(results, first))
    tuned = {tables.label(row): next(iter(by_seed.values()))["tuned"]
             for row, by_seed in results.records.items()}
    untuned = [row for row, word in tuned.items() if word == "no"]
    if untuned and set(tuned.values()) - {"no", "-", ""}:
        print(f"\nNot tuned: {', '.join(untuned)}. The other rows have values that the study found.")
    return drawn(results)


def drawn(results):
    """The figure of a command: the regret over time, or every run's reward as a dot."""
    task = results.all()[0]["task"].split(".", 1)[-1].removesuffix("()")
    title = f"{task}, {results.steps:,} steps"
    runs = max(len(by_seed) for by_seed in results.records.values())
    title += f": {runs} runs, band: one standard error" if runs > 1 else ": one run"
    series = []
    at = tables.checkpoints(results.steps)
    for row, by_seed in results.records.items():
        curves = [record["curve"] for record in by_seed.values() if record.get("curve")]
        if curves:
            average = np.array(curves) / at                                  # (runs, checkpoints)
            error = average.std(axis=0, ddof=1) / math.sqrt(len(curves)) if len(curves) > 1 else None
            series.append((tables.label(row), at, average.mean(axis=0), error))
    if series:
        return charts.line_chart(title, "step t", "average regret per step up to t", series)
    finals = {row: list(tables.finite(by_seed).values()) for row, by_seed in results.values().items()}
    finals = {tables.label(row): values for row, values in finals.items() if values}
    return charts.box_chart(title, "reward per step", [("", finals)]) if finals else None


# ---------------------------------------------------------------- tuned values

def tuned_values():
    """{experiment: {row: {option: value}}} as the study found them; a row is "setting: method" or a
    method's name, and "method" among its values names the function that they are for."""
    return json.loads(TUNED.read_text(encoding="utf-8")) if TUNED.exists() else {}


def tuned(methods, experiment):
    """The methods with the values that the study found for them on this experiment."""
    values = tuned_values().get(experiment, {})
    return {row: functools.partial(method, **values[tables.label(row)]["options"])
            if tables.label(row) in values else method for row, method in methods.items()}


def tuned_on(method, values):
    """The experiment whose tuned values a method has, "no", or "-" if it has no options at all."""
    function, options = identity.taken_apart(method)
    if not list(inspect.signature(function).parameters)[3:]:
        return "-"
    name = identity.name_of(function)
    for experiment, rows in values.items():
        if any(found["method"] == name and found["options"].items() <= options.items()
               for found in rows.values()):
            return experiment
    return "no"
