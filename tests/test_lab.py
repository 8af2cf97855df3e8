"""The machine room, by doing: own methods, edits, kills, Ctrl-C, full disks, other executors."""
import functools
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
import guideboot
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


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A module of one's own in a folder of its own; returns its path."""
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield path
    sys.modules.pop("mine", None)
    identity._imported.pop("mine", None)


def script(folder, call, name="job.py", head="from functools import partial\nfrom mine import *\n"):
    """A script that makes this call; returns how to start it."""
    (folder / name).write_text(f"{head}\nif __name__ == '__main__':\n{textwrap.indent(call, '    ')}\n")
    return [sys.executable, name]


def start(command, folder):
    """Start a command in a process group of its own, with Ctrl-C as a terminal has it."""
    return subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))


def finish(command, folder):
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

def test_a_description_holds_all_options_in_one_form():
    def text(method):
        return identity.describe(identity.complete(method, ("env", "steps", "seed")))
    given = text(functools.partial(run_synthetic.guideboot, alpha=1.0))
    assert given == text(run_synthetic.guideboot)
    assert given == ("run_synthetic.guideboot(alpha=1.0, batch=256, density=guideboot.FastHarmonic, "
                     "learning_rate=0.002, models=5)")
    nested = functools.partial(functools.partial(run_synthetic.guideboot, alpha=3.0), alpha=0.5)
    assert "alpha=0.5" in text(nested)
    assert text(functools.partial(run_synthetic.guideboot, models=np.int64(5))) == given


def test_a_path_counts_by_its_content(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a")
    first = identity.describe(path)
    path.write_text("b")
    assert identity.describe(path) != first
    path.write_text("a")
    (tmp_path / "below").mkdir()
    assert identity.describe(path.rename(tmp_path / "below" / "table.csv")) == first


@pytest.mark.parametrize("value", [[1], {1: 2}, lambda: 0, object(), 1j])
def test_what_no_hash_sees_is_no_option(value):
    with pytest.raises(identity.Refused):
        identity.describe(value)


def test_the_code_behind_a_method_is_all_of_ours_that_it_imports():
    behind = identity.modules_behind(run_synthetic.guideboot, envs.Synthetic)
    assert set(behind) == {"run_synthetic", "baselines", "envs", "guideboot", "nn"}
    assert set(identity.modules_behind(envs.Synthetic)) == {"envs", "nn"}


@pytest.mark.parametrize("old, new, same", [
    ('"""Nothing special."""', '"""Something."""', True), ("# this line", "# that line", True),
    ("b=4, slow", "b=4,\n         slow", True), ("0.05)", "0.050)", True),
    ("0.05)", "0.06)", False), ("b=4", "b=5", False), ('"a bug"', '"an error"', False)])
def test_comments_docstrings_and_layout_do_not_count_and_all_else_does(mine, old, new, same):
    import mine as module
    before = identity.modules_behind(module.mine)
    assert MINE.count(old) == 1
    mine.write_text(MINE.replace(old, new))
    assert (identity.modules_behind(module.mine) == before) == same


def test_imports_are_followed_wherever_they_stand(tmp_path, monkeypatch):
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text("")
    (tmp_path / "pack" / "one.py").write_text("from . import two\ndef method(env, steps, seed):\n    import late\n")
    (tmp_path / "pack" / "two.py").write_text("from .three import x\n")
    (tmp_path / "pack" / "three.py").write_text("x = 1\n")
    (tmp_path / "late.py").write_text("import json, numpy, notthere\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    from pack.one import method
    found = identity.modules_behind(method)
    assert set(found) == {"late", "pack", "pack.one", "pack.two", "pack.three"}
    for name in ("pack", "pack.one", "pack.two", "pack.three"):
        sys.modules.pop(name)


def test_a_script_and_an_import_agree_on_what_a_run_is(mine):
    """The store of a script that is run is found by one that imports it."""
    call = "compare({'Mine': mine}, Shelf, 20, 2)"
    mine.write_text(MINE + f"\nif __name__ == '__main__':\n    {call}\n")
    assert finish([sys.executable, "mine.py"], mine.parent)[0] == 0
    code, text, errors = finish(script(mine.parent, call), mine.parent)
    assert code == 0 and "0 to be made" in text, errors


# ---------------------------------------------------------------- compare

def test_own_method_and_task_are_compared_stored_and_found_again(mine, capsys):
    import mine as module
    found = compare({"GuideBoot": run_synthetic.guideboot, "Mine": module.mine}, module.Shelf, 60, 5,
                    workers=2)
    text = capsys.readouterr().out
    assert set(found) == {"GuideBoot", "Mine"} and list(found["Mine"]) == [0, 1, 2, 3, 4]
    assert set(found["Mine"][0]) == {"regret", "reward", "size"} and "minus GuideBoot" in text
    assert sorted(p.name for p in Path("out").iterdir()) == ["runs.jsonl", "shelf.csv", "shelf.svg"]
    again = compare({"Mine": module.mine}, module.Shelf, 60, 5)
    assert again["Mine"] == found["Mine"] and "0 to be made" in capsys.readouterr().out
    assert tables.read_csv("out/shelf.csv").values() == {"Mine": {s: r["regret"] for s, r in again["Mine"].items()}}
    for record in map(json.loads, filter(None, Path("out/runs.jsonl").read_text().split("\n"))):
        assert record["task"] == "mine.Shelf(low=0.1)" and record["steps"] == 60 and record["arithmetic"]


def test_numbers_depend_on_nothing_but_the_description(mine):
    import mine as module
    methods = {"Mine": module.mine, "Other": functools.partial(module.mine, b=9)}
    here = compare(methods, module.Shelf, 40, 3, out="a", workers=1)
    assert compare(dict(reversed(methods.items())), module.Shelf, 40, 3, out="b", workers=3) == here
    with ThreadPoolExecutor(2) as executor:
        assert compare(methods, module.Shelf, 40, 3, out="c", executor=executor) == here
    low = functools.partial(module.Shelf, low=0.2)
    assert compare(methods, low, 40, 3, out="a") != here


def test_an_edit_makes_runs_anew_and_an_edit_taken_back_finds_the_old_ones(mine):
    command = script(mine.parent, "compare({'Mine': mine}, Shelf, 30, 2)")
    numbers = []
    for text, made in ((MINE, 2), (MINE.replace("b=4", "b=7"), 2), (MINE, 0)):
        mine.write_text(text)
        code, output, errors = finish(command, mine.parent)
        assert code == 0 and f"{made} to be made" in output, errors
        numbers.append((mine.parent / "out" / "shelf.csv").read_text())
    assert numbers[0] == numbers[2] != numbers[1]


def test_code_that_is_edited_during_a_run_is_refused_by_a_worker_that_starts_later(mine):
    """One worker of a foreign pool has the old code, one that starts after the edit the new one."""
    import mine as module
    behind = identity.modules_behind(module.mine, module.Shelf)
    arguments = (module.mine, module.Shelf, 5, 0, behind, {})
    assert processes.work(0, *arguments)[0] == "done"
    mine.write_text(MINE.replace("b=4", "b=7"))
    assert processes.work(0, *arguments)[0] == "done"            # this process has imported the old code
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        kind, why = pool.submit(processes.work, 0, *arguments).result()
    assert kind == "failed" and "mine.py was edited" in why
    with pytest.raises(identity.Refused):                        # and this one has not the new code
        identity.verify(identity.modules_behind(module.mine, module.Shelf), {})


@pytest.mark.parametrize("call, message", [
    ("compare({'L': lambda env, steps, seed: 0}, Shelf, 9)", "functools.partial"),
    ("compare({'M': partial(mine, q=1)}, Shelf, 9)", "mine has no option 'q'"),
    ("compare({'M': mine}, Shelf)", "steps must be given"),
    ("compare({'M': mine}, Shelf, 9, runs=0)", "runs must be a whole number, 1 or more, got 0"),
    ("compare({}, Shelf, 9)", "methods must be a dictionary"),
    ("compare({'M': mine}, partial(Shelf, low='x'), 9)", r"\(mine.py, line \d+: .*self.low"),
    ("compare({'M': partial(mine, b=0)}, Shelf, 9)", r"M: b must be a whole number.*\(mine.py, line"),
    ("compare({'M': mine}, Shelf, 9, out='mine.py/x')", "out must be a folder"),
    ("compare({'M': mine}, Shelf, 9, against='nothing.csv')", "cannot read nothing.csv"),
])
def test_what_cannot_run_is_one_line_and_exit_code_2_before_anything_starts(mine, call, message):
    code, _, errors = finish(script(mine.parent, call), mine.parent)
    assert code == 2 and errors.count("\n") == 1 and re.search(message, errors), errors
    assert stored(mine.parent) == 0


def test_a_script_without_a_main_guard_gets_one_line(mine):
    (mine.parent / "bare.py").write_text("from mine import *\ncompare({'M': mine}, Shelf, 9, 2)\n")
    code, _, errors = finish([sys.executable, "bare.py"], mine.parent)
    assert code == 2 and errors.count("\n") == 1 and "bare.py: write" in errors


def test_functions_typed_in_run_in_the_same_process_and_are_not_stored(mine):
    typed = ("from lab import compare\nfrom mine import Shelf, mine\n"
             "def own(env, steps, seed):\n    mine(env, steps, seed)\n"
             "print(compare({'own': own, 'mine': mine}, Shelf, 20, 2))")
    code, text, errors = finish([sys.executable, "-c", typed], mine.parent)
    assert code == 0 and "'own': {0: {'regret'" in text and stored(mine.parent) == 0, errors


def test_a_run_that_raises_or_dies_is_named_and_the_others_finish(mine):
    call = "compare({'M': mine, 'F': partial(mine, fails=1), 'D': partial(mine, dies=2)}, Shelf, 30, 4)"
    code, text, errors = finish(script(mine.parent, call), mine.parent)
    assert code == 1 and stored(mine.parent) == 10 and "Traceback" not in errors
    assert re.search(r"failed: F, seed 1: RuntimeError: a bug \(mine.py, line \d+: raise .* this line\)", errors)
    assert "died: D, seed 2" in errors and errors.count("\n") == 2, errors


def test_a_run_that_diverges_is_named_kept_and_shown_as_diverged(tmp_path, capsys):
    methods = {"Bootstrap": functools.partial(run_synthetic.bootstrap, learning_rate=1e308),
               "Random": run_synthetic.random}
    for made in (4, 0):
        compare(methods, envs.Synthetic, 100, 2, out=tmp_path)
        text, errors = capsys.readouterr()
        assert f"{made} to be made" in text and re.search(r"^Bootstrap +0, 2 diverged", text, re.M)
        assert errors.count("diverged: Bootstrap, seed") == made / 2 and "nan" not in text


def test_a_method_that_stops_early_or_returns_no_numbers_is_told(mine):
    import mine as module
    early = processes.work(0, stops_early, module.Shelf, 9, 0, {}, {})
    assert early[0] == "failed" and "after 3 of 9 steps" in early[1]
    for returned in ({"regret": 1.0}, {"steps": 1.0}, {"tuned": 1.0}):
        with pytest.raises(identity.Refused):
            store.own_numbers(returned, {"regret": 0.0})
    assert store.own_numbers(None, {}) == {} and store.own_numbers({"a": np.float32(1)}, {}) == {"a": 1.0}


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
    with ThreadPoolExecutor(1) as executor, pytest.raises(SystemExit) as end:
        compare({"M": module.mine}, module.Shelf, 9, 1, executor=executor)
    assert end.value.code == 2 and "mine.py was edited" in capsys.readouterr().err


def test_files_are_named_as_asked_also_with_a_dot(tmp_path):
    for name in ("low0.1", "low0.2"):
        compare({"Random": run_synthetic.random}, envs.Synthetic, 5, 1, out=tmp_path, name=name)
    assert {path.name for path in tmp_path.glob("*.csv")} == {"low0.1.csv", "low0.2.csv"}


def test_an_environment_without_expected_rewards_is_scored_by_its_rewards(mine, capsys):
    text = MINE.replace("_expected", "_hidden").replace("class Shelf", "class Blind")
    (mine.parent / "blind.py").write_text(text)
    import blind
    found = compare({"Mine": blind.mine}, blind.Blind, 30, 5)
    assert set(found["Mine"][0]) == {"reward", "size"} and "higher is better" in capsys.readouterr().out
    sys.modules.pop("blind")


def test_another_files_rows_stand_beside_ones_own(mine, capsys):
    import mine as module
    compare({"Mine": module.mine, "GuideBoot": run_synthetic.guideboot}, module.Shelf, 30, 5, seed=7)
    capsys.readouterr()
    found = compare({"Mine": functools.partial(module.mine, b=9)}, module.Shelf, 30, out="new",
                    against="out/shelf.csv")
    text = capsys.readouterr().out
    assert list(found) == ["Mine"] and list(found["Mine"]) == [7, 8, 9, 10, 11]
    assert re.search(r"^Mine \(shelf.csv\) ", text, re.M) and re.search(r"^GuideBoot ", text, re.M)
    assert "out/shelf.csv: 10 runs on Python" in text
    for task, steps in ((module.Shelf, 31), (functools.partial(module.Shelf, low=0.2), 30)):
        with pytest.raises(SystemExit) as end:
            compare({"Mine": module.mine}, task, steps, against="out/shelf.csv")
        assert end.value.code == 2


def test_runs_made_elsewhere_are_used_and_told(mine, capsys, monkeypatch):
    import mine as module
    compare({"Mine": module.mine}, module.Shelf, 30, 2)
    elsewhere = dict(store.where(), numpy="1.0")
    monkeypatch.setattr(runs, "where", lambda: elsewhere)
    capsys.readouterr()
    compare({"Mine": module.mine}, module.Shelf, 30, 2)
    text = capsys.readouterr().out
    assert "0 to be made" in text and re.search("^2 runs made on Python .*; this is .*NumPy 1.0", text, re.M)


# ---------------------------------------------------------------- kills, Ctrl-C, damage

SLOW = "compare({'A': partial(mine, slow=0.1), 'B': partial(mine, slow=0.1, b=3)}, Shelf, 20, 6, workers=%d)"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The CSV of the slow command, made without any disturbance."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "mine.py").write_text(MINE)
    code, _, errors = finish(script(folder, SLOW % 2), folder)
    assert code == 0, errors
    return (folder / "out" / "shelf.csv").read_bytes()


def running(session):
    """Processes of a session that are not yet gone."""
    found = subprocess.run(["ps", "-s", str(session), "-o", "pid=,stat="], capture_output=True, text=True)
    return [line for line in found.stdout.splitlines() if "Z" not in line]


@UNIX
@pytest.mark.parametrize("workers", [1, 3])
def test_killed_in_any_way_and_resumed_it_ends_byte_identical_and_leaves_no_process(mine, whole, workers):
    folder = mine.parent
    for kill, whom in ((signal.SIGKILL, "parent"), (signal.SIGTERM, "parent"), (signal.SIGHUP, "group"),
                       (signal.SIGKILL, "group")):
        before = stored(folder)
        process = start(script(folder, SLOW % workers), folder)
        wait_for(lambda: stored(folder) > before)
        os.kill(process.pid, kill) if whom == "parent" else os.killpg(process.pid, kill)
        process.wait()
        process.communicate()
        wait_for(lambda: not running(process.pid))
    done = stored(folder)
    code, text, errors = finish(script(folder, SLOW % (4 - workers)), folder)
    assert code == 0 and f"{12 - done} to be made" in text, errors
    assert (folder / "out" / "shelf.csv").read_bytes() == whole and done >= 4


@UNIX
def test_a_killed_worker_costs_nothing(mine, whole):
    process = start(script(mine.parent, SLOW % 2), mine.parent)
    wait_for(lambda: stored(mine.parent) >= 2)
    found = subprocess.run(["ps", "-ww", "-s", str(process.pid), "-o", "pid=,args="], capture_output=True, text=True)
    worker = next(line.split()[0] for line in found.stdout.splitlines() if "spawn_main" in line)
    os.kill(int(worker), signal.SIGKILL)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0 and errors == ""
    assert (mine.parent / "out" / "shelf.csv").read_bytes() == whole


@UNIX
def test_workers_that_die_at_once_are_told_and_do_not_stop_the_command(mine):
    """Every run of one method kills its process, while others are being started."""
    text = MINE.replace("if seed == dies:", "if dies is not None:")
    mine.write_text(text)
    call = "compare({'D': partial(mine, dies=0), 'M': mine}, Shelf, 20, 4, workers=4)"
    code, output, errors = finish(script(mine.parent, call), mine.parent)
    assert code == 1 and "Traceback" not in errors and errors.count("died: D") == 4, errors
    assert stored(mine.parent) == 4


@UNIX
def test_ctrl_c_on_a_foreign_executor_cancels_what_has_not_begun(mine):
    call = ("from concurrent.futures import ThreadPoolExecutor\n"
            "with ThreadPoolExecutor(1) as pool:\n"
            "    compare({'A': partial(mine, slow=0.3)}, Shelf, 20, 60, executor=pool)")
    process = start(script(mine.parent, call), mine.parent)
    wait_for(lambda: stored(mine.parent) >= 2)
    os.killpg(process.pid, signal.SIGINT)
    started = time.monotonic()
    text, errors = process.communicate(timeout=30)
    assert process.returncode == 130 and "Traceback" not in errors and "Cumulative" in text
    assert time.monotonic() - started < 10                       # of the 17 s that all would take


@UNIX
@pytest.mark.parametrize("after", [0, 3])
def test_ctrl_c_keeps_what_is_finished_shows_it_and_exits_with_130(mine, whole, after):
    folder = mine.parent
    process = start(script(folder, SLOW % 2), folder)
    wait_for(lambda: len(running(process.pid)) > 1 and stored(folder) >= after)
    os.killpg(process.pid, signal.SIGINT)
    text, errors = process.communicate(timeout=30)
    assert process.returncode == 130 and "Traceback" not in errors and "interrupted" in errors, errors
    assert ("Cumulative regret" in text) == (stored(folder) > 0) and stored(folder) < 12
    wait_for(lambda: not running(process.pid))
    assert finish(script(folder, SLOW % 2), folder)[0] == 0
    assert (folder / "out" / "shelf.csv").read_bytes() == whole


def test_damaged_and_torn_lines_are_skipped_told_and_made_again(mine, capsys):
    import mine as module
    compare({"Mine": module.mine}, module.Shelf, 20, 4)
    before = Path("out/shelf.csv").read_bytes()
    lines = [*filter(None, Path("out/runs.jsonl").read_bytes().split(b"\n"))]
    lines[1] = lines[1].replace(b'"regret": ', b'"regret": 1')
    Path("out/runs.jsonl").write_bytes(b"\n".join(lines)[:-40])  # the last one is torn
    capsys.readouterr()
    compare({"Mine": module.mine}, module.Shelf, 20, 4)
    text, errors = capsys.readouterr()
    assert "2 to be made" in text and "2 damaged lines skipped" in errors
    assert Path("out/shelf.csv").read_bytes() == before
    compare({"Mine": module.mine}, module.Shelf, 20, 4)
    assert "0 to be made" in capsys.readouterr().out             # nothing was glued to the torn line


def test_two_commands_in_one_folder_both_end_right(mine, whole):
    commands = [start(script(mine.parent, SLOW % 2, name), mine.parent) for name in ("job.py", "two.py")]
    for process in commands:
        process.communicate(timeout=60)
        assert process.returncode == 0
    assert (mine.parent / "out" / "shelf.csv").read_bytes() == whole


def test_a_disk_that_is_full_is_told_in_one_line_and_nothing_finished_is_lost(mine, monkeypatch, capsys):
    import mine as module
    compare({"Mine": module.mine}, module.Shelf, 20, 2)
    before = Path("out/runs.jsonl").read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device", "out/runs.jsonl")
    monkeypatch.setattr(store.os, "fsync", full)
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        compare({"Mine": module.mine}, module.Shelf, 20, 4)
    text, errors = capsys.readouterr()
    assert end.value.code == 1 and "No space left on device" in errors and "Traceback" not in errors
    assert Path("out/runs.jsonl").read_bytes().startswith(before) and "Mine" in text


# ---------------------------------------------------------------- tuned values, the command line

def test_tuned_values_come_from_the_file_at_every_call(tmp_path, monkeypatch, capsys):
    values = {"synthetic": {"Giro": {"method": "run_synthetic.giro", "options": {"giro_alpha": 0.25}}}}
    monkeypatch.setattr(runs, "TUNED", tmp_path / "tuned.json")
    for alpha in (0.25, 0.75):
        values["synthetic"]["Giro"]["options"]["giro_alpha"] = alpha
        runs.TUNED.write_text(json.dumps(values))
        compare(tuned({"Giro": run_synthetic.giro, "OBB": run_synthetic.obb}, "synthetic"),
                envs.Synthetic, 20, 1, out=tmp_path)
        text = capsys.readouterr().out
        assert re.search(r"^Giro .* synthetic +1$", text, re.M) and "Not with tuned values, unlike others: OBB" in text
    lines = filter(str.strip, (tmp_path / "runs.jsonl").open())
    assert len({json.loads(line)["call"] for line in lines}) == 3


def command():
    methods = {("online", "Online GuideBoot"): run_synthetic.online_guideboot,
               ("replay", "Giro"): run_synthetic.giro, ("replay", "e-greedy"): run_synthetic.e_greedy}
    return Command("doc", methods, {"alpha": "a", "giro_alpha": "g", "learning_rate": "r"}, "synthetic", 3)


def test_an_option_reaches_the_methods_that_have_it_over_the_tuned_value_over_the_default(monkeypatch):
    found = {"method": "run_synthetic.giro", "options": {"giro_alpha": 0.25, "learning_rate": 0.5}}
    monkeypatch.setattr(runs, "tuned_values", lambda: {"synthetic": {"replay, Giro": found}})
    for argv, expected in (([], (0.25, 0.5)), (["--learning-rate", "0.125"], (0.25, 0.125)),
                           (["--untuned", "--giro-alpha", "0.75"], (0.75, None))):
        parser = command()
        rows = parser.wanted(parser.parse_args(argv))
        giro = rows["replay", "Giro"].keywords
        assert (giro.get("giro_alpha"), giro.get("learning_rate")) == expected and "alpha" not in giro
    assert rows["online", "Online GuideBoot"].keywords == {}


def test_methods_are_named_as_the_paper_writes_them_or_refused(capsys):
    parser = command()
    rows = parser.wanted(parser.parse_args(["--methods", "\u03b5-greedy, ONLINE-guideboot"]))
    assert list(rows) == [("online", "Online GuideBoot"), ("replay", "e-greedy")]
    for argv in (["--methods", "linucb"], ["--methods", ""], ["--runs", "1e4"], ["--alpha", "x"], ["--q"]):
        with pytest.raises(SystemExit) as end:
            parser.wanted(parser.parse_args(argv))
        assert end.value.code == 2 and capsys.readouterr().err.count("\n") == 1
