"""The machine room, by doing: own methods, edits, kills, Ctrl-C, full disks, other executors."""
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import run_synthetic
from lab import compare, identity, processes, runs, store, tables

ROOT = Path(run_synthetic.__file__).parent
UNIX = pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
MINE = '''
import os, time, warnings
import numpy as np
from functools import partial
from lab import compare
from guideboot import Agent, replay
from envs import BernoulliArms, stream
from nn import LogisticBag

RATE = 0.05

class Shelf(BernoulliArms):
    """Four products."""
    def __init__(self, seed, low=0.1):
        super().__init__(seed, y=low + 0.2 * np.arange(4))

def mine(env, steps, seed, b=4, rate=RATE, slow=0.0, dies=False, fails=None, number="size"):
    """Nothing special."""
    if steps > 2:                                  # not in the rehearsal
        time.sleep(slow)
        if dies:
            os._exit(9)
        if seed == fails:
            raise RuntimeError("a bug")            # this line
    bag = LogisticBag(env.features, [stream(seed, "models", k) for k in range(2)], rate)
    replay(Agent(bag, stream(seed, "agent")), env, steps, b)
    return {number: np.abs(bag.theta).sum()}

def unseeded(seed):
    return Shelf(np.random.randint(10 ** 9))

def warns(env, steps, seed, b=4):
    if steps == 2:                                 # the rehearsal; later it is no one's
        warnings.warn("this takes long")
    mine(env, steps, seed)

def idle(env, steps, seed):
    """Plays no step."""

def on(env, steps, seed):
    mine(env, steps + 1, seed)

def last(env, steps, seed):
    """A loop of its own, with an index that Python would take."""
    for _ in range(steps):
        env.observe()
        env.pull(-1)
'''


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A module of one's own, in a folder of its own, the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("mine.py").write_text(MINE)
    import mine
    yield mine
    sys.modules.pop("mine")                                  # to be imported anew
    identity._imported.pop("mine", None)


def compare_here(*arguments, threads=1, **options):
    """compare() on threads: for what does not depend on where runs are made, and no wait."""
    with ThreadPoolExecutor(threads) as executor:
        return compare(*arguments, executor=executor, **options)


def to_be_made(text):
    """How many runs a command found missing, by its first line."""
    return int(re.search(r"(\d+) to be made", text).group(1))


def stored():
    """How many runs the store holds."""
    path = Path("out/runs.jsonl")
    return path.read_bytes().count(b'"check"') if path.exists() else 0


# ---------------------------------------------------------------- other processes

START = """from mine import *
if __name__ == '__main__':
    import signal
    signal.signal(signal.SIGINT, signal.default_int_handler)    # as a terminal has it
"""


def script(call, name="job.py"):
    """Write a script that makes this call; returns its name."""
    Path(name).write_text(START + textwrap.indent(call, "    "))
    return name


def start(*words):
    """Start Python with these words, in a session of its own."""
    return subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, start_new_session=True)


def finish(process):
    """Wait for its end: exit code, output, errors."""
    text, errors = process.communicate(timeout=60)
    return process.returncode, text, errors


def processes_of(session, kind=""):
    """Ids of processes not yet gone, of a session (one group) and with this in their command."""
    listed = subprocess.check_output(["ps", "-A", "-ww", "-o", "pid=,pgid=,stat=,args="], text=True)
    found = [line.split(maxsplit=3) for line in listed.splitlines()]
    return [int(pid) for pid, group, state, args in found
            if int(group) == session and "Z" not in state and kind in args]


def wait_for(condition):
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("waited in vain")


# ---------------------------------------------------------------- what a run is

def test_a_description_holds_all_options_in_one_form():
    def description(method):
        return identity.describe(identity.complete(method, ("env", "steps", "seed")))
    guideboot = run_synthetic.guideboot
    usual = description(guideboot)
    assert usual == ("run_synthetic.guideboot(alpha=1.0, batch=256, "
                     "density=guideboot.FastHarmonic, learning_rate=0.002, models=5)")
    assert description(partial(guideboot, alpha=1, models=np.int64(5))) == usual
    nested = partial(partial(guideboot, alpha=3.0), alpha=0.5)
    assert description(nested) == usual.replace("alpha=1.0", "alpha=0.5")


def test_a_file_counts_by_its_content_which_must_not_change_meanwhile(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a")
    first, files = identity.describe(path), {str(path): identity.content(path)}
    identity.verify({}, files)
    path.write_text("b")
    assert identity.describe(path) != first
    with pytest.raises(identity.Refused):
        identity.verify({}, files)
    path.write_text("a")
    moved = path.rename(tmp_path.parent / "table.csv")
    assert identity.describe(moved) == first


def test_imports_are_followed_wherever_they_stand(tmp_path, monkeypatch):
    """But not into the standard library, installed packages and lab."""
    (tmp_path / "pack").mkdir()
    for name, text in (("pack/__init__", ""), ("pack/three", "x = 1\n"),
                       ("pack/one", "from . import two\ndef method(env):\n    import late\n"),
                       ("pack/two", "from .three import x\n"),
                       ("late", "import json, numpy, notthere, lab.study\n")):
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    from pack.one import method
    assert set(identity.modules_behind(method)) == {"late", "pack", "pack.one", "pack.two",
                                                    "pack.three"}


# ---------------------------------------------------------------- compare

def test_own_method_and_task_are_compared_stored_and_found_again(mine, capsys, monkeypatch):
    """Runs that were made elsewhere are used, and the output says so."""
    methods = {"GuideBoot": run_synthetic.guideboot, "Mine": mine.mine}
    found = compare(methods, mine.Shelf, 60, 5, workers=2)
    assert "minus GuideBoot" in capsys.readouterr().out
    assert list(found["Mine"]) == [0, 1, 2, 3, 4]
    assert set(found["Mine"][0]) == {"regret", "reward", "size"}
    assert Path("out/shelf.svg").exists()
    regret = {seed: numbers["regret"] for seed, numbers in found["Mine"].items()}
    assert tables.read_csv("out/shelf.csv").values()["Mine"] == regret

    elsewhere = dict(store.where(), numpy="1.0")
    monkeypatch.setattr(runs, "where", lambda: elsewhere)
    again = compare({"Mine": mine.mine}, mine.Shelf, 60, 5)
    text = capsys.readouterr().out
    assert to_be_made(text) == 0
    assert re.search("^5 runs made on Python .*; this is .*NumPy 1.0", text, re.M)
    assert again["Mine"] == found["Mine"]


def test_an_edit_makes_runs_anew_and_an_edit_taken_back_finds_the_old_ones(mine):
    """Comments, docstrings and layout do not count. A script that is run and one that imports it
    agree on what a run is."""
    call = "compare({'Mine': mine}, Shelf, 20, 1)"
    source = MINE + f"\nif __name__ == '__main__':\n    {call}\n"
    words = source.replace("Nothing", "Something").replace("# this", "# that")
    words = words.replace("b=4, rate", "b=4,\n         rate")
    edit = source.replace("range(2)", "range(3)")
    script(call)
    numbers = []
    for name, code, missing in (("mine.py", source, 1), ("job.py", words, 0), ("job.py", edit, 1),
                                ("mine.py", source, 0)):
        Path("mine.py").write_text(code)
        code, text, errors = finish(start(name))
        assert code == 0, errors
        assert to_be_made(text) == missing
        numbers.append(Path("out/shelf.csv").read_text())
    assert numbers[0] == numbers[1] == numbers[3] != numbers[2]


@pytest.mark.parametrize("old, new", [("0.05", "0.07"), ("range(2)", "range(3)")])
def test_a_constant_or_function_that_is_edited_during_a_run_is_refused(mine, capsys, old, new):
    """A process that has the old code goes on with it; one that starts after the edit has the new
    code, and refuses. What is asked for after the edit is refused by a process with the old one."""
    behind = identity.modules_behind(mine.mine, mine.Shelf)
    arguments = (0, mine.mine, mine.Shelf, 5, 0, behind, {})
    assert processes.work(*arguments)[0] == "done"
    Path("mine.py").write_text(MINE.replace(old, new))
    assert processes.work(*arguments)[0] == "done"
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        kind, why = pool.submit(processes.work, *arguments).result()
    assert kind == "failed" and "mine.py" in why
    for _ in range(2):
        with pytest.raises(SystemExit, match="^2$"):
            compare_here({"M": mine.mine}, mine.Shelf, 9, 1)
        assert "mine.py" in capsys.readouterr().err
        identity._imported.pop("mine")                       # as if it had never been looked at


@pytest.mark.parametrize("call, named", [
    ("compare({'L': lambda env, steps, seed: 0}, Shelf, 9)", "<lambda>"),
    ("compare({'M': partial(mine, b=[1])}, Shelf, 9)", r"\[1\]"),
    ("compare({'M': partial(mine, q=1)}, Shelf, 9)", "option 'q'"),
    ("compare({'M': partial(mine, b=0)}, Shelf, 9)", r"\bb .* 0\b"),
    ("compare({'M': partial(mine, number='regret')}, Shelf, 9)", "regret"),
    ("compare({'M': idle}, Shelf, 9)", "0 of 2"),
    ("compare({'M': on}, Shelf, 9)", "must end after 2 steps"),
    ("compare({'M': last}, Shelf, 9)", "index .* 0 to 3, got -1"),
    ("compare({}, Shelf, 9)", "methods .*{}"),
    ("compare({'M': mine}, Shelf)", "steps"),
    ("compare({'M': mine}, unseeded, 200)", "two environments of seed 0 differ"),
    ("compare({'M': mine}, partial(Shelf, low='x'), 9)", r"\(mine.py, line \d+: .*low \+"),
    ("compare({'M': mine}, Shelf, 9, out='mine.py/x')", "out .*'mine.py/x'"),
    ("compare({'M': mine}, Shelf, 9, against='nothing.csv')", "nothing.csv")])
def test_what_cannot_run_is_one_line_and_exit_code_2_before_anything_starts(mine, capsys, call,
                                                                            named):
    with pytest.raises(SystemExit, match="^2$"):
        eval(call, vars(mine))
    errors = capsys.readouterr().err
    assert errors.count("\n") == 1, errors
    assert re.search(named, errors), errors
    assert stored() == 0


def test_a_warning_is_one_line_and_said_once(mine, capsys):
    compare_here({"one": mine.warns, "other": partial(mine.warns, b=5)}, mine.Shelf, 9, 2)
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if "long" in line] == ["warning: this takes long"]


def test_a_script_without_a_main_guard_gets_one_line(mine):
    Path("bare.py").write_text("from mine import *\ncompare({'M': mine}, Shelf, 9, 2)\n")
    code, _, errors = finish(start("bare.py"))
    assert code == 2
    assert re.fullmatch(".*__main__.*\n", errors)


@UNIX
def test_a_reader_who_has_enough_ends_a_script_of_ones_own_without_a_traceback(mine):
    process = start(script("compare({'M': mine}, Shelf, 9, 2)"))
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait() == 1


@pytest.mark.parametrize("stderr", ["2>&-", "2>/dev/full", "2>&1 >/dev/null | true"])
@UNIX
def test_runs_go_on_without_standard_error(mine, stderr):
    """What there is to say of every run: it diverged."""
    script("compare({'N': partial(mine, rate=1e308)}, Shelf, 20, 3)")
    subprocess.run(f"{sys.executable} job.py {stderr}", shell=True, stdout=subprocess.PIPE,
                   env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert stored() == 3
    assert Path("out/shelf.csv").exists()


def test_functions_typed_in_run_in_the_same_process_and_are_not_stored(mine):
    typed = ("from mine import *\n"
             "def own(env, steps, seed):\n"
             "    mine(env, steps, seed)\n"
             "print(compare({'own': own, 'mine': mine}, Shelf, 20, 2))")
    _, text, errors = finish(start("-c", typed))
    assert "'own': {0: {'regret'" in text, errors
    assert stored() == 0


def test_a_run_that_raises_dies_or_diverges_is_named_and_the_others_finish(mine, capsys):
    """Every run of D kills its process, while others are being started. What failed is tried
    again by a command that asks for it; what diverged is a result, and kept."""
    live = "{'M': mine, 'F': partial(mine, fails=1), 'N': partial(mine, rate=1e308)}"
    call = f"compare({{'D': partial(mine, dies=True), **{live}}}, Shelf, 20, 2, workers=2)"
    code, *first = finish(start(script(call)))
    assert (code, stored()) == (1, 5)
    assert set(re.findall(r"D, seed (\d)", first[1])) == {"0", "1"}
    with pytest.raises(SystemExit, match="^1$"):
        compare_here(eval(live, vars(mine)), mine.Shelf, 20, 2)
    for (text, errors), missing, told in ((first, 8, 2), (capsys.readouterr(), 1, 0)):
        assert to_be_made(text) == missing
        place = r"\(mine.py, line \d+: raise .* this line\)"
        assert re.search(rf"F, seed 1: RuntimeError: a bug {place}", errors), errors
        assert errors.count("N, seed") == told
        assert re.search("^N +0, 2 diverged$", text, re.M)
        assert "nan" not in text


def test_another_files_rows_stand_beside_ones_own(mine, capsys):
    methods = {"Mine": mine.mine, "GuideBoot": run_synthetic.guideboot}
    compare_here(methods, mine.Shelf, 30, 5, seed=7, name="low0.1")
    other = {"Mine": partial(mine.mine, b=9)}
    found = compare_here(other, mine.Shelf, 30, out="new", against="out/low0.1.csv")
    assert list(found) == ["Mine"]
    assert list(found["Mine"]) == [7, 8, 9, 10, 11]
    text = capsys.readouterr().out.split("out/low0.1.csv: 10 runs on Python")[1]
    assert re.search(r"^Mine \(low0.1.csv\) ", text, re.M)
    assert re.search(r"^GuideBoot ", text, re.M)
    for task, steps, runs in ((mine.Shelf, 31, None), (partial(mine.Shelf, low=0.2), 30, None),
                              (mine.Shelf, 30, 2)):                # seeds 0 and 1
        with pytest.raises(SystemExit, match="^2$"):
            compare_here(other, task, steps, runs, against="out/low0.1.csv")


# ---------------------------------------------------------------- kills, Ctrl-C, damage

SLOW = "{'A': partial(mine, slow=0.1), 'B': partial(mine, slow=0.1, b=3)}"
COMMAND = f"compare({SLOW}, Shelf, 20, 8, workers=%d)"       # 16 runs


@pytest.fixture
def whole(mine):
    """The CSV of the slow command, made on threads without any disturbance."""
    compare_here(eval(SLOW, vars(mine)), mine.Shelf, 20, 8, out="whole", threads=16)
    return Path("whole/shelf.csv").read_bytes()


@UNIX
def test_killed_in_any_way_and_resumed_it_ends_byte_identical_and_leaves_no_process(whole):
    """The command alone, then all its processes, each time after at least one run. At last the
    worker alone gets Ctrl-C, which it ignores from the start, and is killed: that costs nothing."""
    for how, kill, workers in ((signal.SIGKILL, os.kill, 2), (signal.SIGTERM, os.killpg, 1)):
        before = stored()
        process = start(script(COMMAND % workers))
        wait_for(lambda: stored() > before)
        kill(process.pid, how)
        finish(process)
        wait_for(lambda: not processes_of(process.pid))
    done = stored()
    assert 2 <= done < 16
    process = start(script(COMMAND % 1))
    while stored() == done and process.poll() is None:
        for worker in processes_of(process.pid, "spawn_main"):
            os.kill(worker, signal.SIGINT)
        time.sleep(0.02)
    os.kill(worker, signal.SIGKILL)
    code, text, errors = finish(process)
    assert (code, errors) == (0, "")
    assert to_be_made(text) == 16 - done
    assert Path("out/shelf.csv").read_bytes() == whole


OWN = "compare({'A': mine, 'B': partial(mine, slow=60)}, Shelf, 20, 60, workers=2)"
FOREIGN = ("from concurrent.futures import ThreadPoolExecutor\n"
           "with ThreadPoolExecutor(1) as pool:\n"
           "    compare({'A': partial(mine, slow=0.3)}, Shelf, 20, 60, executor=pool)")


@UNIX
@pytest.mark.parametrize("call, after", [(OWN, 0), (OWN, 1), (FOREIGN, 1)])
def test_ctrl_c_ends_at_once_and_shows_what_is_finished(mine, call, after):
    """While workers start, and later; our own are killed, a foreign executor begins no more."""
    process = start(script(call))
    wait_for(lambda: stored() >= after and (after or len(processes_of(process.pid)) > 1))
    os.killpg(process.pid, signal.SIGINT)
    code, text, errors = finish(process)
    assert code == 130
    assert stored() < 60                                     # the foreign executor would make all
    assert "interrupted" in errors and "Traceback" not in errors, errors
    assert ("Cumulative regret" in text) == (stored() > 0)
    wait_for(lambda: not processes_of(process.pid))


def test_two_commands_in_one_folder_both_end_right(whole):
    both = [start(script(COMMAND % 1, name)) for name in ("job.py", "two.py")]
    assert [finish(process)[0] for process in both] == [0, 0]
    assert Path("out/shelf.csv").read_bytes() == whole


@UNIX
def test_a_full_disk_and_a_damaged_store_cost_only_the_runs_that_they_hit(mine, capsys):
    """A limit on the size of files lets in a part of the third run. Then a digit is changed."""
    import resource
    methods, path, csv = {"Mine": mine.mine}, Path("out/runs.jsonl"), Path("out/shelf.csv")
    compare_here(methods, mine.Shelf, 20, 4, out="whole")
    compare_here(methods, mine.Shelf, 20, 2)
    before = path.read_bytes()
    capsys.readouterr()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 100, hard))
    try:
        with pytest.raises(SystemExit, match="^1$"):
            compare_here(methods, mine.Shelf, 20, 4)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    text, errors = capsys.readouterr()
    assert re.fullmatch("cannot save out/runs.jsonl: .*\n", errors), errors
    assert re.search("^Mine .* 3$", text, re.M)              # shown, though it is not saved
    torn = path.read_bytes()
    assert torn.startswith(before) and len(torn) == len(before) + 100

    path.write_bytes(torn.replace(b'"regret": ', b'"regret": 1', 1))
    for missing in (3, 0):                                   # nothing is glued to the torn line
        compare_here(methods, mine.Shelf, 20, 4)
        text, errors = capsys.readouterr()
        assert to_be_made(text) == missing
        assert re.fullmatch("out/runs.jsonl: 2 .*\n", errors)
        assert csv.read_bytes() == Path("whole/shelf.csv").read_bytes()
