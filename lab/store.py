"""One run: made from its description, and stored under its hash."""
import functools
import json
import math
import os
import platform
import sys
import time
import traceback
from pathlib import Path
from typing import NamedTuple

import numpy as np

from envs import Scored
from lab import identity, tables
from lab.identity import Refused


class Job(NamedTuple):
    """One run to be made; `row` is its name in the table."""
    row: object
    method: object        # a partial with all its options
    task: object          # likewise
    steps: int
    seed: int
    modules: dict         # {module: hash} of the code behind method and task
    files: dict           # {path: hash} of the files among their options
    description: dict     # call, task, steps, seed and code, as text and numbers

    @property
    def typed(self):
        """Typed in at a prompt: no file holds the code, so it cannot be stored."""
        return not self.modules

    @property
    def arguments(self):
        """What make() needs."""
        return self.method, self.task, self.steps, self.seed, self.modules, self.files

    @property
    def key(self):
        """The hash of the description, under which the run is stored."""
        return identity.checksum(json.dumps(self.description))


def make(method, task, steps, seed, modules, files, tick=lambda fraction: None):
    """Make one run: its numbers and where it was made."""
    identity.verify(modules, files)
    started = time.monotonic()
    env = Scored(task(seed), steps, tick)
    made = {}
    try:
        with np.errstate(all="ignore"):              # what overflows is an error once it is a score
            returned = method(env, steps, seed)
        if env.t < steps:
            raise Refused(f"the method ended after {env.t:,} of {steps:,} steps")
        numbers = env.numbers()
        made["numbers"] = {**numbers, **own_numbers(returned, numbers)}
        if env.score == "regret":
            made["curve"] = np.cumsum(env.regret)[tables.checkpoints(steps) - 1].tolist()
    except FloatingPointError as error:
        made["diverged"] = f"at step {env.t + 1:,} {error}"
        made["numbers"] = {name: math.nan for name in env.numbers()}
    return {**made, "seconds": round(time.monotonic() - started, 1), **where()}


def own_numbers(returned, taken):
    """What a method returned: nothing, numbers by name, or (a class) an object with `numbers`."""
    if not isinstance(returned, dict):
        returned = getattr(returned, "numbers", {})
    reserved = {*taken, *tables.KNOWN, "method", "seed", "setting"}
    if not isinstance(returned, dict) or any(name in reserved or "@" in name for name in returned):
        raise Refused(f"a method may return numbers by name, other names than "
                      f"{', '.join(sorted(reserved))}; got {returned!r}")
    return {str(name): float(value) for name, value in returned.items()}


@functools.lru_cache(maxsize=None)
def where():
    """Versions, and a few digits of a fixed computation, for processors round differently.

    The products are so small that no BLAS library shares them out among threads.
    """
    rng = np.random.default_rng(0)
    a, b, c = (rng.standard_normal(shape).astype(np.float32)
               for shape in ((5, 8, 200), (5, 200, 128), (128, 128)))
    numbers = [a @ b @ c, np.exp(a), np.exp(a.astype(float)), np.log(np.abs(b) + 1.0)]
    digits = identity.checksum(b"".join(array.tobytes() for array in numbers))
    return {"python": platform.python_version(), "numpy": np.__version__, "arithmetic": digits[:6]}


def line_of(error, *functions):
    """An error as one line: what, and the last line of the user's own file that led to it."""
    files = {identity.own_file(part.__module__)
             for function in functions for part in identity.functions_of(function)}
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)
              if Path(frame.filename).resolve() in files]
    text = " ".join(str(error).split())
    if not isinstance(error, ValueError):
        text = f"{type(error).__name__}: {text}"
    if not frames:
        return text
    frame = frames[-1]
    told = isinstance(error, ValueError) and frame.line.startswith("raise ")
    line = "" if told else f": {frame.line}"
    return f"{text} ({Path(frame.filename).name}, line {frame.lineno}{line})"


# ---------------------------------------------------------------- the store

class Store:
    """OUT/runs.jsonl: one line of JSON per finished run, appended as it ends and never changed."""

    def __init__(self, folder):
        self.path = Path(folder) / "runs.jsonl"
        self.records, damaged = {}, 0
        lines = self.path.read_bytes().split(b"\n") if self.path.exists() else []
        for line in filter(None, lines):
            record = whole_record(line)
            if record is None:
                damaged += 1
            else:
                self.records.setdefault(record["key"], record)
        if damaged:
            aside(f"{self.path}: {tables.plural(damaged, 'damaged line')} skipped; "
                  "what is missing is run again")

    def append(self, job, made):
        """Add a run at the end of the file, in one piece."""
        record = {"key": job.key, **job.description, **made}
        self.records[job.key] = record               # to be shown even if it cannot be written
        check = identity.checksum(json.dumps(record))
        line = "\n" + json.dumps({**record, "check": check}) + "\n"  # the line before may be torn
        with open(self.path, "ab", buffering=0) as file:
            if file.write(line.encode()) < len(line.encode()):
                raise OSError(28, "No space left on device", str(self.path))
            os.fsync(file.fileno())


def aside(text, end="\n"):
    """Print to standard error; the runs go on if it is closed, full or a broken pipe."""
    try:
        if sys.stderr is not None:                   # closed: `2>&-`
            print(text, end=end, file=sys.stderr, flush=True)
    except OSError:
        sys.stderr = open(os.devnull, "w")


def whole_record(line):
    """The record of a line of the store, or None if the line is torn or was changed."""
    try:
        record = json.loads(line)
        check = record.pop("check")
        return record if check == identity.checksum(json.dumps(record)) else None
    except (ValueError, KeyError, AttributeError, TypeError):
        return None
