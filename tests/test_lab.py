"""The machine room, by doing: own methods, edits, kills, Ctrl-C, full disks, other executors."""
import functools
import io
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import envs
import run_synthetic
from run_synthetic import random
from lab import compare, identity, processes, runs, store, tables, tuned
from lab.command import Command

ROOT = Path(run_synthetic.__file__).parent
UNIX = pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
MINE = '''
import os, signal, sys, time
import numpy as np
from lab import compare
from guideboot import Agent, replay
from envs import stream
from nn import LogisticBag

class Shelf:
    """Four products, and discounts drawn afresh."""
    fields, features = 2, 7

    def __init__(self, seed, low=0.1):
        self.rng, self.low = stream(seed, "rewards"), low

    def observe(self):
        self.X = np.column_stack([np.arange(4), 4 + self.rng.integers(0, 3, 4)])
        return self.X

    def _expected(self):
        return self.low + 0.1 * self.X[:, 0] + 0.2 * (self.X[:, 1] - 4)

    def pull(self, a):
        return int(self.rng.random() < self._expected()[a])

def mine(env, steps, seed, b=4, slow=0.0, dies=None, fails=None):
    """Nothing special."""
    if steps > 2:
        time.sleep(slow)
        if seed == dies:
            os._exit(9)
        if seed == fails:
            raise RuntimeError("a bug")            # this line
    bag = LogisticBag(env.features, [stream(seed, "models", k) for k in range(2)], 0.05)
    replay(Agent(bag, stream(seed, "agent")), env, steps, b)
    return {"size": np.abs(bag.theta).sum()}
'''


# ---------------------------------------------------------------- in this process

@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A module of one's own in a folder of its own; returns its path."""
    yield own_module(tmp_path, monkeypatch)
    forget("mine")


def own_module(folder, monkeypatch):
    """Write mine.py into a folder and make that the current one; returns the file's path."""
    forget("mine")                                               # one of the reader's own
    path = folder / "mine.py"
    path.write_text(MINE)
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    return path


def forget(name):
    """Import this module anew the next time."""
    sys.modules.pop(name, None)
    identity._imported.pop(name, None)


def compare_here(*arguments, **options):
    """compare() on a thread: for what does not depend on where runs are made, and no wait."""
    with ThreadPoolExecutor(1) as executor:
        return compare(*arguments, executor=executor, **options)


def to_be_made(text):
    """How many runs a command found missing, by its first line."""
    return int(re.search(r"(\d+) to be made", text).group(1))


# ---------------------------------------------------------------- in other processes

def script(folder, call, name="job.py"):
    """A script that makes this call; returns how to start it."""
    lines = ["from functools import partial", "from mine import *", "if __name__ == '__main__':",
             textwrap.indent(call, "    "), ""]
    (folder / name).write_text("\n".join(lines))
    return [sys.executable, name]


def start(command, folder):
    """Start a command in a process group of its own, with Ctrl-C as a terminal has it."""
    return subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))


def finish(command, folder):
    """Run a command to its end: exit code, output, errors."""
    process = start(command, folder)
    text, errors = process.communicate(timeout=100)
    return process.returncode, text, errors


def stored(folder):
    """How many runs the store holds."""
    path = folder / "out" / "runs.jsonl"
    return path.read_bytes().count(b'"check"') if path.exists() else 0


def wait_for(condition):
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("waited in vain")


# ---------------------------------------------------------------- what a run is

def description(method):
    return identity.describe(identity.complete(method, ("env", "steps", "seed")))


def test_a_description_holds_all_options_in_one_form():
    guideboot = run_synthetic.guideboot
    usual = description(guideboot)
    assert usual == ("run_synthetic.guideboot(alpha=1.0, batch=256, "
                     "density=guideboot.FastHarmonic, learning_rate=0.002, models=5)")
    assert description(functools.partial(guideboot, alpha=1.0)) == usual
    assert description(functools.partial(guideboot, models=np.int64(5))) == usual
    nested = functools.partial(functools.partial(guideboot, alpha=3.0), alpha=0.5)
    assert "alpha=0.5" in description(nested)


def test_a_path_counts_by_its_content(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a")
    first = identity.describe(path)
    path.write_text("b")
    assert identity.describe(path) != first
    path.write_text("a")
    (tmp_path / "below").mkdir()
    moved = path.rename(tmp_path / "below" / "table.csv")
    assert identity.describe(moved) == first


@pytest.mark.parametrize("value", [[1], {1: 2}, lambda: 0, object(), 1j])
def test_what_no_hash_sees_is_no_option(value):
    with pytest.raises(identity.Refused):
        identity.describe(value)


def test_the_code_behind_a_method_is_all_of_ours_that_it_imports():
    behind = identity.modules_behind(run_synthetic.guideboot, envs.Synthetic)
    assert set(behind) == {"run_synthetic", "baselines", "envs", "guideboot", "nn"}
    assert set(identity.modules_behind(envs.Synthetic)) == {"envs", "nn"}


@pytest.mark.parametrize("old, new, same", [
    ('"""Nothing special."""', '"""Something."""', True),
    ("# this line", "# that line", True),
    ("b=4, slow", "b=4,\n         slow", True),
    ("0.05)", "0.050)", True),
    ("0.05)", "0.06)", False),
    ("b=4", "b=5", False),
    ('"a bug"', '"an error"', False),
])
def test_comments_docstrings_and_layout_do_not_count_and_all_else_does(mine, old, new, same):
    import mine as module
    before = identity.modules_behind(module.mine)
    assert MINE.count(old) == 1
    mine.write_text(MINE.replace(old, new))
    after = identity.modules_behind(module.mine)
    assert (after == before) == same


def test_imports_are_followed_wherever_they_stand(tmp_path, monkeypatch):
    files = {
        "pack/__init__.py": "",
        "pack/one.py": "from . import two\ndef method(env, steps, seed):\n    import late\n",
        "pack/two.py": "from .three import x\n",
        "pack/three.py": "x = 1\n",
        "late.py": "import json, numpy, notthere\n",
    }
    (tmp_path / "pack").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    from pack.one import method
    found = identity.modules_behind(method)
    assert set(found) == {"late", "pack", "pack.one", "pack.two", "pack.three"}
    for name in ("pack", "pack.one", "pack.two", "pack.three"):
        sys.modules.pop(name)


def test_a_script_and_an_import_agree_on_what_a_run_is(mine):
    """The store of a script that is run is found by one that imports it."""
    call = "compare({'Mine': mine}, Shelf, 20, 1)"
    mine.write_text(MINE + f"\nif __name__ == '__main__':\n    {call}\n")
    code, text, errors = finish([sys.executable, "mine.py"], mine.parent)
    assert code == 0, errors
    assert to_be_made(text) == 1
    code, text, errors = finish(script(mine.parent, call), mine.parent)
    assert code == 0, errors
    assert to_be_made(text) == 0


# ---------------------------------------------------------------- compare

def test_own_method_and_task_are_compared_stored_and_found_again(mine, capsys):
    import mine as module
    methods = {"GuideBoot": run_synthetic.guideboot, "Mine": module.mine}
    found = compare(methods, module.Shelf, 60, 5, workers=2)
    text = capsys.readouterr().out
    assert set(found) == {"GuideBoot", "Mine"}
    assert list(found["Mine"]) == [0, 1, 2, 3, 4]
    assert set(found["Mine"][0]) == {"regret", "reward", "size"}
    assert "minus GuideBoot" in text
    files = sorted(path.name for path in Path("out").iterdir())
    assert files == ["runs.jsonl", "shelf.csv", "shelf.svg"]

    again = compare({"Mine": module.mine}, module.Shelf, 60, 5)
    assert to_be_made(capsys.readouterr().out) == 0
    assert again["Mine"] == found["Mine"]
    regret = {seed: numbers["regret"] for seed, numbers in again["Mine"].items()}
    assert tables.read_csv("out/shelf.csv").values() == {"Mine": regret}
    for line in filter(None, Path("out/runs.jsonl").read_text().split("\n")):
        record = json.loads(line)
        assert record["task"] == "mine.Shelf(low=0.1)"
        assert record["steps"] == 60
        assert record["arithmetic"]


def test_numbers_depend_on_nothing_but_the_description(mine):
    import mine as module
    methods = {"Mine": module.mine, "Other": functools.partial(module.mine, b=9)}
    backwards = dict(reversed(methods.items()))
    alone = compare(methods, module.Shelf, 40, 2, out="a", workers=1)
    assert compare(backwards, module.Shelf, 40, 2, out="b", workers=3) == alone
    assert compare_here(methods, module.Shelf, 40, 2, out="c") == alone
    low = functools.partial(module.Shelf, low=0.2)
    assert compare_here(methods, low, 40, 2, out="a") != alone


def test_an_edit_makes_runs_anew_and_an_edit_taken_back_finds_the_old_ones(mine):
    command = script(mine.parent, "compare({'Mine': mine}, Shelf, 30, 1)")
    numbers = []
    for source, missing in ((MINE, 1), (MINE.replace("b=4", "b=7"), 1), (MINE, 0)):
        mine.write_text(source)
        code, text, errors = finish(command, mine.parent)
        assert code == 0, errors
        assert to_be_made(text) == missing
        numbers.append((mine.parent / "out" / "shelf.csv").read_text())
    assert numbers[0] == numbers[2] != numbers[1]


def test_code_that_is_edited_during_a_run_is_refused_by_a_worker_that_starts_later(mine):
    """One worker of a foreign pool has the old code, one that starts after the edit the new one."""
    import mine as module
    behind = identity.modules_behind(module.mine, module.Shelf)
    arguments = (module.mine, module.Shelf, 5, 0, behind, {})
    assert processes.work(0, *arguments)[0] == "done"
    mine.write_text(MINE.replace("b=4", "b=7"))
    assert processes.work(0, *arguments)[0] == "done"        # this process has the old code
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        kind, why = pool.submit(processes.work, 0, *arguments).result()
    assert kind == "failed"
    assert "mine.py" in why
    with pytest.raises(identity.Refused):                    # and it has not the new one
        identity.verify(identity.modules_behind(module.mine, module.Shelf), {})


@pytest.mark.parametrize("call, named", [
    ("compare({'L': lambda env, steps, seed: 0}, Shelf, 9)", "<lambda>"),
    ("compare({'M': partial(mine, q=1)}, Shelf, 9)", "'q'"),
    ("compare({'M': mine}, Shelf)", "steps"),
    ("compare({'M': mine}, Shelf, 9, runs=0)", "runs .* 0$"),
    ("compare({}, Shelf, 9)", "methods .*{}"),
    ("compare({'M': mine}, partial(Shelf, low='x'), 9)", r"\(mine.py, line \d+: .*self.low"),
    ("compare({'M': partial(mine, b=0)}, Shelf, 9)", r"\bb .* 0\b"),
    ("compare({'M': mine}, Shelf, 9, out='mine.py/x')", "out .*'mine.py/x'"),
    ("compare({'M': mine}, Shelf, 9, against='nothing.csv')", "nothing.csv"),
])
def test_what_cannot_run_is_one_line_and_exit_code_2_before_anything_starts(mine, capsys, call,
                                                                            named):
    import mine as module
    with pytest.raises(SystemExit) as end:
        eval(call, {**vars(module), "partial": functools.partial})
    text, errors = capsys.readouterr()
    assert end.value.code == 2
    assert errors.count("\n") == 1
    assert re.search(named, errors), errors
    assert text == ""
    assert stored(mine.parent) == 0


def test_a_script_without_a_main_guard_gets_one_line(mine):
    (mine.parent / "bare.py").write_text("from mine import *\ncompare({'M': mine}, Shelf, 9, 2)\n")
    code, _, errors = finish([sys.executable, "bare.py"], mine.parent)
    assert code == 2
    assert errors.count("\n") == 1
    assert "__main__" in errors


def test_functions_typed_in_run_in_the_same_process_and_are_not_stored(mine):
    typed = ("from lab import compare\n"
             "from mine import Shelf, mine\n"
             "def own(env, steps, seed):\n"
             "    mine(env, steps, seed)\n"
             "print(compare({'own': own, 'mine': mine}, Shelf, 20, 2))")
    code, text, errors = finish([sys.executable, "-c", typed], mine.parent)
    assert code == 0, errors
    assert "'own': {0: {'regret'" in text
    assert stored(mine.parent) == 0


def test_a_run_that_raises_or_dies_is_named_and_the_others_finish(mine):
    call = ("compare({'M': mine, 'F': partial(mine, fails=1), 'D': partial(mine, dies=2)},\n"
            "        Shelf, 30, 3)")
    code, _, errors = finish(script(mine.parent, call), mine.parent)
    assert code == 1
    assert stored(mine.parent) == 9 - 2
    place = r"\(mine.py, line \d+: raise .* this line\)"
    assert re.search(rf"F, seed 1: RuntimeError: a bug {place}", errors), errors
    assert "D, seed 2" in errors
    assert errors.count("\n") == 2, errors


def test_a_run_that_diverges_is_named_kept_and_shown_as_diverged(tmp_path, capsys):
    methods = {"Bootstrap": functools.partial(run_synthetic.bootstrap, learning_rate=1e308),
               "Random": run_synthetic.random}
    for missing in (4, 0):
        compare_here(methods, envs.Synthetic, 100, 2, out=tmp_path)
        text, errors = capsys.readouterr()
        assert to_be_made(text) == missing
        assert re.search(r"^Bootstrap +0, 2 diverged", text, re.M)
        assert "nan" not in text
        assert errors.count("Bootstrap, seed") == missing / 2


def test_a_method_that_stops_early_or_returns_no_numbers_is_told(mine):
    import mine as module
    kind, why = processes.work(0, stops_early, module.Shelf, 9, 0, {}, {})
    assert kind == "failed"
    assert "3 of 9" in why
    for returned in ({"regret": 1.0}, {"steps": 1.0}, {"tuned": 1.0}):
        with pytest.raises(identity.Refused):
            store.own_numbers(returned, {"regret": 0.0})
    assert store.own_numbers(None, {}) == {}
    assert store.own_numbers({"a": np.float32(1)}, {}) == {"a": 1.0}


def stops_early(env, steps, seed):
    for _ in range(3):
        env.observe()
        env.pull(0)


class Looper:
    """A class as a method, with a number of its own."""

    def __init__(self, env, steps, seed):
        random(env, steps, seed)
        self.numbers = {"own": 7}


def test_a_class_may_be_a_method_and_its_module_counts_with_the_scorer(tmp_path):
    found = compare({"Looper": Looper}, envs.BernoulliArms, 20, 1, out=tmp_path)
    assert found["Looper"][0]["own"] == 7
    record = json.loads((tmp_path / "runs.jsonl").read_text())
    assert record["call"] == "test_lab.Looper()"
    assert "envs" in identity.modules_behind(functools.partial(stops_early), envs.Scored)


def test_a_data_file_that_is_changed_meanwhile_is_refused(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("old")
    files = {str(path): identity.content(path)}
    identity.verify({}, files)
    path.write_text("new")
    with pytest.raises(identity.Refused):
        identity.verify({}, files)


def test_a_module_that_was_edited_after_its_import_is_refused_by_threads_too(mine, capsys):
    import mine as module
    mine.write_text(MINE.replace("0.05)", "0.07)"))
    with pytest.raises(SystemExit) as end:
        compare_here({"M": module.mine}, module.Shelf, 9, 1)
    assert end.value.code == 2
    assert "mine.py" in capsys.readouterr().err


def test_files_are_named_as_asked_also_with_a_dot(tmp_path):
    for name in ("low0.1", "low0.2"):
        compare_here({"Random": run_synthetic.random}, envs.Synthetic, 5, 1, out=tmp_path,
                     name=name)
    assert {path.name for path in tmp_path.glob("*.csv")} == {"low0.1.csv", "low0.2.csv"}


def test_an_environment_without_expected_rewards_is_scored_by_its_rewards(mine, capsys):
    text = MINE.replace("_expected", "_hidden").replace("class Shelf", "class Blind")
    (mine.parent / "blind.py").write_text(text)
    import blind
    found = compare_here({"Mine": blind.mine}, blind.Blind, 30, 5)
    assert set(found["Mine"][0]) == {"reward", "size"}
    assert "higher is better" in capsys.readouterr().out
    forget("blind")


def test_another_files_rows_stand_beside_ones_own(mine, capsys):
    import mine as module
    methods = {"Mine": module.mine, "GuideBoot": run_synthetic.guideboot}
    compare_here(methods, module.Shelf, 30, 5, seed=7)
    capsys.readouterr()
    other = {"Mine": functools.partial(module.mine, b=9)}
    found = compare_here(other, module.Shelf, 30, out="new", against="out/shelf.csv")
    text = capsys.readouterr().out
    assert list(found) == ["Mine"]
    assert list(found["Mine"]) == [7, 8, 9, 10, 11]
    assert re.search(r"^Mine \(shelf.csv\) ", text, re.M)
    assert re.search(r"^GuideBoot ", text, re.M)
    assert "out/shelf.csv: 10 runs on Python" in text
    for task, steps in ((module.Shelf, 31), (functools.partial(module.Shelf, low=0.2), 30)):
        with pytest.raises(SystemExit) as end:
            compare_here({"Mine": module.mine}, task, steps, against="out/shelf.csv")
        assert end.value.code == 2


def test_runs_made_elsewhere_are_used_and_told(mine, capsys, monkeypatch):
    import mine as module
    compare_here({"Mine": module.mine}, module.Shelf, 30, 2)
    elsewhere = dict(store.where(), numpy="1.0")
    monkeypatch.setattr(runs, "where", lambda: elsewhere)
    capsys.readouterr()
    compare_here({"Mine": module.mine}, module.Shelf, 30, 2)
    text = capsys.readouterr().out
    assert to_be_made(text) == 0
    assert re.search("^2 runs made on Python .*; this is .*NumPy 1.0", text, re.M)


# ---------------------------------------------------------------- kills, Ctrl-C, damage

SLOW = ("compare({'A': partial(mine, slow=0.1), 'B': partial(mine, slow=0.1, b=3)}, "
        "Shelf, 20, 6, workers=%d)")                         # 12 runs


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The CSV of the slow command, made in one process without any disturbance."""
    with pytest.MonkeyPatch.context() as patch:
        folder = own_module(tmp_path_factory.mktemp("whole"), patch).parent
        import mine as module
        methods = {"A": functools.partial(module.mine, slow=0.1),
                   "B": functools.partial(module.mine, slow=0.1, b=3)}
        with ThreadPoolExecutor(12) as executor:
            compare(methods, module.Shelf, 20, 6, executor=executor)
    forget("mine")
    return (folder / "out" / "shelf.csv").read_bytes()


def processes_of(session):
    """Processes of a session that are not yet gone: {id: its command line}."""
    listed = subprocess.run(["ps", "-ww", "-s", str(session), "-o", "pid=,stat=,args="],
                            capture_output=True, text=True)
    found = [line.split(maxsplit=2) for line in listed.stdout.splitlines()]
    return {int(pid): args for pid, state, args in found if "Z" not in state}


@UNIX
def test_killed_in_any_way_and_resumed_it_ends_byte_identical_and_leaves_no_process(mine, whole):
    """Four kills, with several numbers of workers, and every time at least one run is added."""
    folder = mine.parent
    kills = ((signal.SIGKILL, os.kill, 3), (signal.SIGTERM, os.kill, 1),
             (signal.SIGHUP, os.killpg, 2), (signal.SIGKILL, os.killpg, 1))
    for how, kill, workers in kills:
        before = stored(folder)
        process = start(script(folder, SLOW % workers), folder)
        wait_for(lambda: stored(folder) > before)
        kill(process.pid, how)
        process.wait()
        process.communicate()
        wait_for(lambda: not processes_of(process.pid))
    done = stored(folder)
    assert 4 <= done < 12
    code, text, errors = finish(script(folder, SLOW % 2), folder)
    assert code == 0, errors
    assert to_be_made(text) == 12 - done
    assert (folder / "out" / "shelf.csv").read_bytes() == whole


@UNIX
def test_a_killed_worker_costs_nothing(mine, whole):
    process = start(script(mine.parent, SLOW % 2), mine.parent)
    wait_for(lambda: stored(mine.parent) >= 2)
    found = processes_of(process.pid)
    worker = next(pid for pid, args in found.items() if "spawn_main" in args)
    os.kill(worker, signal.SIGKILL)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert errors == ""
    assert (mine.parent / "out" / "shelf.csv").read_bytes() == whole


@UNIX
def test_workers_that_die_at_once_are_told_and_do_not_stop_the_command(mine):
    """Every run of one method kills its process, while others are being started."""
    mine.write_text(MINE.replace("if seed == dies:", "if dies is not None:"))
    call = "compare({'D': partial(mine, dies=0), 'M': mine}, Shelf, 20, 2, workers=3)"
    code, _, errors = finish(script(mine.parent, call), mine.parent)
    assert code == 1
    assert errors.count("\n") == 2, errors
    for seed in (0, 1):
        assert f"D, seed {seed}" in errors
    assert stored(mine.parent) == 2


@UNIX
def test_ctrl_c_on_a_foreign_executor_cancels_what_has_not_begun(mine):
    call = ("from concurrent.futures import ThreadPoolExecutor\n"
            "with ThreadPoolExecutor(1) as pool:\n"
            "    compare({'A': partial(mine, slow=0.3)}, Shelf, 20, 60, executor=pool)")
    process = start(script(mine.parent, call), mine.parent)
    wait_for(lambda: stored(mine.parent) >= 1)
    os.killpg(process.pid, signal.SIGINT)
    started = time.monotonic()
    text, errors = process.communicate(timeout=30)
    assert time.monotonic() - started < 10                   # of the 17 s that all would take
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert "Cumulative" in text


@UNIX
@pytest.mark.parametrize("after", [0, 3])
def test_ctrl_c_keeps_what_is_finished_shows_it_and_exits_with_130(mine, whole, after):
    folder = mine.parent
    process = start(script(folder, SLOW % 2), folder)
    wait_for(lambda: len(processes_of(process.pid)) > 1 and stored(folder) >= after)
    os.killpg(process.pid, signal.SIGINT)
    text, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "interrupted" in errors
    assert "Traceback" not in errors, errors
    assert stored(folder) < 12
    assert ("Cumulative regret" in text) == (stored(folder) > 0)
    wait_for(lambda: not processes_of(process.pid))
    assert finish(script(folder, SLOW % 2), folder)[0] == 0
    assert (folder / "out" / "shelf.csv").read_bytes() == whole


def test_damaged_and_torn_lines_are_skipped_told_and_made_again(mine, capsys):
    import mine as module
    compare_here({"Mine": module.mine}, module.Shelf, 20, 4)
    before = Path("out/shelf.csv").read_bytes()
    lines = [*filter(None, Path("out/runs.jsonl").read_bytes().split(b"\n"))]
    lines[1] = lines[1].replace(b'"regret": ', b'"regret": 1')
    Path("out/runs.jsonl").write_bytes(b"\n".join(lines)[:-40])      # the last one is torn
    capsys.readouterr()
    compare_here({"Mine": module.mine}, module.Shelf, 20, 4)
    text, errors = capsys.readouterr()
    assert to_be_made(text) == 2
    assert re.fullmatch(r"out/runs.jsonl: 2 .*\n", errors)
    assert Path("out/shelf.csv").read_bytes() == before
    compare_here({"Mine": module.mine}, module.Shelf, 20, 4)
    assert to_be_made(capsys.readouterr().out) == 0          # nothing was glued to the torn line


def test_two_commands_in_one_folder_both_end_right(mine, whole):
    both = [start(script(mine.parent, SLOW % 2, name), mine.parent)
            for name in ("job.py", "two.py")]
    for process in both:
        process.communicate(timeout=60)
        assert process.returncode == 0
    assert (mine.parent / "out" / "shelf.csv").read_bytes() == whole


def test_a_disk_that_is_full_is_told_in_one_line_and_nothing_finished_is_lost(mine, monkeypatch,
                                                                              capsys):
    """Neither the record nor the table reaches the disk."""
    import mine as module
    compare_here({"Mine": module.mine}, module.Shelf, 20, 2)
    before = Path("out/runs.jsonl").read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device", "out/runs.jsonl")
    monkeypatch.setattr(store.os, "fsync", full)
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        compare_here({"Mine": module.mine}, module.Shelf, 20, 3)
    text, errors = capsys.readouterr()
    assert end.value.code == 1
    assert errors.count("\n") == 1
    assert "No space left on device" in errors
    assert re.search("^Mine .* 3$", text, re.M)              # shown, though it is not saved
    assert Path("out/runs.jsonl").read_bytes().startswith(before)


class HalfWritten(io.FileIO):
    """A file on a disk that has room for one half of what is written, and says so."""

    def write(self, data):
        return super().write(data[:len(data) // 2])


def test_a_record_that_is_half_written_is_told_as_not_saved_and_made_again(mine, monkeypatch,
                                                                           capsys):
    import mine as module
    compare_here({"Mine": module.mine}, module.Shelf, 20, 2)
    before = Path("out/runs.jsonl").read_bytes()

    def half(path, mode, buffering):
        return HalfWritten(path, mode)
    capsys.readouterr()
    with monkeypatch.context() as patch, pytest.raises(SystemExit) as end:
        patch.setattr(store, "open", half, raising=False)
        compare_here({"Mine": module.mine}, module.Shelf, 20, 3)
    text, errors = capsys.readouterr()
    assert end.value.code == 1
    assert re.fullmatch(r".* out/runs.jsonl: .*\n", errors)
    shown = Path("out/shelf.csv").read_bytes()               # with the run that was not saved
    torn = Path("out/runs.jsonl").read_bytes()
    assert torn.startswith(before)
    assert len(torn) > len(before)

    compare_here({"Mine": module.mine}, module.Shelf, 20, 3)
    text, errors = capsys.readouterr()
    assert to_be_made(text) == 1
    assert re.fullmatch(r"out/runs.jsonl: 1 .*\n", errors)
    assert Path("out/shelf.csv").read_bytes() == shown
    compare_here({"Mine": module.mine}, module.Shelf, 20, 3)
    assert to_be_made(capsys.readouterr().out) == 0


# ---------------------------------------------------------------- tuned values, the command line

def test_tuned_values_come_from_the_file_at_every_call(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(runs, "TUNED", tmp_path / "tuned.json")
    methods = {"Giro": run_synthetic.giro, "OBB": run_synthetic.obb}
    for alpha in (0.25, 0.75):
        giro = {"method": "run_synthetic.giro", "options": {"giro_alpha": alpha}}
        runs.TUNED.write_text(json.dumps({"synthetic": {"Giro": giro}}))
        compare_here(tuned(methods, "synthetic"), envs.Synthetic, 20, 1, out=tmp_path)
        text = capsys.readouterr().out
        assert re.search(r"^Giro .* synthetic +1$", text, re.M)
        assert "Not with tuned values, unlike others: OBB" in text
    lines = filter(str.strip, (tmp_path / "runs.jsonl").read_text().split("\n"))
    calls = {json.loads(line)["call"] for line in lines}
    assert len(calls) == 3                                   # Giro with two values, and OBB


def command():
    methods = {("online", "Online GuideBoot"): run_synthetic.online_guideboot,
               ("replay", "Giro"): run_synthetic.giro,
               ("replay", "e-greedy"): run_synthetic.e_greedy}
    texts = {"alpha": "a", "giro_alpha": "g", "learning_rate": "r"}
    return Command("doc", methods, texts, "synthetic", 3)


@pytest.mark.parametrize("argv, alpha, rate", [
    ([], 0.25, 0.5),
    (["--learning-rate", "0.125"], 0.25, 0.125),
    (["--untuned", "--giro-alpha", "0.75"], 0.75, None),
])
def test_an_option_reaches_the_methods_that_have_it_over_the_tuned_value_over_the_default(
        monkeypatch, argv, alpha, rate):
    found = {"method": "run_synthetic.giro", "options": {"giro_alpha": 0.25, "learning_rate": 0.5}}
    monkeypatch.setattr(runs, "tuned_values", lambda: {"synthetic": {"replay, Giro": found}})
    parser = command()
    rows = parser.wanted(parser.parse_args(argv))
    giro = rows["replay", "Giro"].keywords
    assert giro.get("giro_alpha") == alpha
    assert giro.get("learning_rate") == rate
    assert "alpha" not in giro
    given = {"learning_rate": 0.125} if "--learning-rate" in argv else {}
    assert rows["online", "Online GuideBoot"].keywords == given


def test_methods_are_named_as_the_paper_writes_them_or_refused(capsys):
    parser = command()
    rows = parser.wanted(parser.parse_args(["--methods", "\u03b5-greedy, ONLINE-guideboot"]))
    assert list(rows) == [("online", "Online GuideBoot"), ("replay", "e-greedy")]
    for argv in (["--methods", "linucb"], ["--methods", ""], ["--runs", "1e4"], ["--alpha", "x"],
                 ["--q"]):
        with pytest.raises(SystemExit) as end:
            parser.wanted(parser.parse_args(argv))
        assert end.value.code == 2
        assert capsys.readouterr().err.count("\n") == 1
