"""Many runs at once: in processes of our own, or on any executor of concurrent.futures."""
import multiprocessing
import multiprocessing.connection
import os
import queue
import shutil
import signal
import sys
import threading
import time
import warnings
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import contextmanager

from lab import tables
from lab.store import aside, line_of, make

MOST = 60 if os.name == "nt" else 10_000      # processes; Windows cannot wait for more


# ---------------------------------------------------------------- in a worker process

_fractions = None         # how far each job is, shared with the parent


def start_worker(fractions):
    """First of all: leave Ctrl-C to the parent, and end when the parent is gone."""
    global _fractions
    _fractions = fractions
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")                  # the rehearsal has shown them
    threading.Thread(target=end_with_parent, daemon=True).start()


def end_with_parent():
    multiprocessing.connection.wait([multiprocessing.parent_process().sentinel])
    os._exit(1)


def work(i, method, task, steps, seed, modules, files):
    """Job number i: ("done", what make() returns) or ("failed", why)."""
    def tick(fraction):
        if _fractions is not None:
            _fractions[i] = fraction
    try:
        return "done", make(method, task, steps, seed, modules, files, tick)
    except Exception as error:
        return "failed", line_of(error, method, task)


# ---------------------------------------------------------------- in the parent process

class Runner:
    """Makes the runs of `jobs` and appends each to the store as it ends.

    Ctrl-C sets `pressed`, which is looked at between two outcomes, so that nothing is half saved.
    """

    def __init__(self, jobs, store):
        self.jobs, self.store = jobs, store
        self.pressed = self.full = self.failed = False
        self.typed = any(job.typed for job in jobs)
        self.fractions = multiprocessing.get_context("spawn").RawArray("d", len(jobs))
        self.under_way = {}                          # {index in jobs: future}
        self.progress = Progress(len(jobs))

    @property
    def stopped(self):
        return self.pressed or self.full

    @contextmanager
    def ctrl_c(self):
        """Within, Ctrl-C only sets a flag, if this is the main thread, which gets the signals."""
        if threading.current_thread() is not threading.main_thread() or self.typed:
            yield
            return
        before = signal.signal(signal.SIGINT, lambda *_: setattr(self, "pressed", True))
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def ended(self, i, kind, value):
        """Store or tell what came of a job."""
        job = self.jobs[i]
        name = f"{tables.label(job.row)}, seed {job.seed}"
        self.fractions[i] = 1.0
        if kind != "done":
            self.failed = True
            self.tell(f"{kind}: {name}: {value}; the same command tries it again")
            return
        try:
            if self.typed:                           # there is no code to store it under
                self.store.records[job.key] = value
            else:
                self.store.append(job, value)
        except OSError as error:
            self.full = self.failed = True
            self.tell(f"cannot save {self.store.path}: {error.strerror}; it holds what was saved "
                      "before, the same command makes the rest")
        if "diverged" in value:
            self.tell(f"diverged: {name}: {value['diverged']}")

    def tell(self, line):
        self.progress.clear()
        aside(line)

    def here(self):
        """One job after the other in this process, for functions that no file holds."""
        try:
            for i, job in enumerate(self.jobs):
                self.ended(i, *work(i, *job.arguments))
        except KeyboardInterrupt:
            self.pressed = True

    def on(self, executor):
        """All jobs on a foreign executor, which is left running."""
        left = list(range(len(self.jobs)))
        for i in self.collect(executor, left, len(left)) + left:
            self.ended(i, "died", "its process ended")
        for future in self.under_way.values():       # after Ctrl-C
            future.cancel()

    def in_processes(self, workers):
        """All jobs in a pool of our own, which is made anew for what is left when it breaks.

        Which run killed its process is not known, so those under way when a pool broke are made
        again at the end, each in a process of its own.
        """
        left, lost = list(range(len(self.jobs))), []
        while left and not self.stopped:
            lost += self.in_pool(left, workers)
        for i in lost:
            if not self.stopped and self.in_pool([i], 1):
                self.ended(i, "died", "its process was killed or crashed")

    def in_pool(self, left, workers):
        """One pool, ended with all its processes; returns the jobs that were lost when it broke."""
        before = set(multiprocessing.active_children())
        workers = min(workers, len(left), MOST)
        pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), start_worker,
                                   (self.fractions,))
        lost = None
        try:
            lost = self.collect(pool, left, workers + 1)
        finally:
            if lost == left == [] and not self.stopped:
                pool.shutdown()
            else:                                    # no cancel(): the pool's thread would complain
                pool.shutdown(wait=False)
                for process in set(multiprocessing.active_children()) - before:
                    process.kill()
        return lost

    def collect(self, executor, left, at_once):
        """Take jobs off `left`, so many at once; returns those lost when the executor broke."""
        lost, outcomes, broken = [], queue.SimpleQueue(), False
        self.under_way = {}
        while (self.under_way or (left and not broken)) and not self.stopped:
            while left and not broken and len(self.under_way) < at_once:
                i = left[0]
                try:
                    with sigint_blocked():
                        self.under_way[i] = executor.submit(work, i, *self.jobs[i].arguments)
                except BrokenExecutor:
                    broken = True
                    continue
                left.pop(0)
                self.under_way[i].add_done_callback(lambda f, i=i: outcomes.put((i, f)))
            try:
                lost += self.outcome(*outcomes.get(timeout=0.2))
            except queue.Empty:
                pass
            self.progress.show(sum(self.fractions))
        while not outcomes.empty() and not self.full:            # after Ctrl-C: finished is kept
            lost += self.outcome(*outcomes.get())
        return lost

    def outcome(self, i, future):
        """Take in what came of a job; [i] if it was lost with its process."""
        del self.under_way[i]
        if future.cancelled() or isinstance(future.exception(), BrokenExecutor):
            return [i]
        error = future.exception()
        self.ended(i, *(future.result() if error is None else ("failed", line_of(error))))
        return []


@contextmanager
def sigint_blocked():
    """Processes that start in here ignore Ctrl-C from the start."""
    if not hasattr(signal, "pthread_sigmask"):       # Windows: start_worker has to do
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Progress:
    """One rewritten line on a terminal, elsewhere a line now and then: what is done, time left."""

    def __init__(self, total):
        self.total, self.started, self.shown = total, time.monotonic(), time.monotonic()
        self.terminal = sys.stderr is not None and sys.stderr.isatty()

    def show(self, done):
        now = time.monotonic()
        if now - self.shown < (0.2 if self.terminal else 20.0):
            return
        self.shown = now
        text = f"{done:.1f} of {tables.plural(self.total, 'run')}"
        if done > 0.02 * self.total:
            left = (now - self.started) * (self.total - done) / done
            text += f", {tables.duration(left)} left"
        self.clear()
        aside(text, end="" if self.terminal else "\n")

    def clear(self):
        if self.terminal:
            width = shutil.get_terminal_size().columns - 1
            aside("\r" + " " * width, end="\r")


def cores():
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
