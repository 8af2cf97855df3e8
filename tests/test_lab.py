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
from lab import compare, identity, processes, runs, store, tables, tuned
from lab.command import Command

ROOT = Path(run_synthetic.__file__).parent
UNIX = pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
MINE = '''
import os, time
import numpy as np
from lab import compare
from guideboot import Agent, replay
from envs import BernoulliArms, stream
from nn import LogisticBag

class Shelf(BernoulliArms):
    """Four products."""
    def __init__(self, seed, low=0.1):
        super().__init__(seed, y=low + 0.2 * np.arange(4))

def mine(env, steps, seed, b=4, slow=0.0, dies=False, fails=None):
    """Nothing special."""
    if steps > 2:
        time.sleep(slow)
        if dies:
            os._exit(9)
        if seed == fails:
            raise RuntimeError("a bug")            # this line
    bag = LogisticBag(env.features, [stream(seed, "models", k) for k in range(2)], 0.05)
    replay(Agent(bag, stream(seed, "agent")), env, steps, b)
    return {"size": np.abs(bag.theta).sum()}

class Mine:
    def __init__(self, env, steps, seed):
        self.numbers = mine(env, steps, seed)
'''


# ---------------------------------------------------------------- in this process

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


def compare_here(*arguments, **options):
    """compare() on a thread: for what does not depend on where runs are made, and no wait."""
    with ThreadPoolExecutor(1) as executor:
        return compare(*arguments, executor=executor, **options)


def to_be_made(text):
    """How many runs a command found missing, by its first line."""
    return int(re.search(r"(\d+) to be made", text).group(1))


def one_line(capsys, end, code=2):
    """What was told, in one line, before the command ended with this exit code."""
    errors = capsys.readouterr().err
    assert end.value.code == code
    assert errors.count("\n") == 1, errors
    return errors


# ---------------------------------------------------------------- in other processes

def script(call, name="job.py"):
    """A script that makes this call; returns how to start it."""
    lines = ["from functools import partial", "from mine import *", "if __name__ == '__main__':",
             textwrap.indent(call, "    "), ""]
    Path(name).write_text("\n".join(lines))
    return [sys.executable, name]


def start(command):
    """Start a command in a process group of its own, with Ctrl-C as a terminal has it."""
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))


def finish(process):
    """Wait for its end: exit code, output, errors."""
    text, errors = process.communicate(timeout=100)
    return process.returncode, text, errors


def stored():
    """How many runs the store holds."""
    path = Path("out/runs.jsonl")
    return path.read_bytes().count(b'"check"') if path.exists() else 0


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
    assert description(functools.partial(guideboot, alpha=1, models=np.int64(5))) == usual
    nested = functools.partial(functools.partial(guideboot, alpha=3.0), alpha=0.5)
    assert "alpha=0.5" in description(nested)


def test_a_path_counts_by_its_content_and_is_refused_if_that_changes_meanwhile(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a")
    first, files = identity.describe(path), {str(path): identity.content(path)}
    identity.verify({}, files)
    path.write_text("b")
    assert identity.describe(path) != first
    with pytest.raises(identity.Refused):
        identity.verify({}, files)
    (tmp_path / "below").mkdir()
    path.write_text("a")
    moved = path.rename(tmp_path / "below" / "table.csv")
    assert identity.describe(moved) == first


@pytest.mark.parametrize("value", [[1], {1: 2}, lambda: 0, object(), 1j])
def test_what_no_hash_sees_is_no_option(value):
    with pytest.raises(identity.Refused):
        identity.describe(value)


@pytest.mark.parametrize("old, new, same", [
    ('"""Nothing special."""', '"""Something."""', True),
    ("# this line", "# that line", True),
    ("b=4, slow", "b=4,\n         slow", True),
    ("0.05)", "0.050)", True),
    ("b=4", "b=5", False),
    ('"a bug"', '"an error"', False),
])
def test_comments_docstrings_and_layout_do_not_count_and_all_else_does(mine, old, new, same):
    before = identity.modules_behind(mine.mine)
    assert MINE.count(old) == 1
    Path("mine.py").write_text(MINE.replace(old, new))
    after = identity.modules_behind(mine.mine)
    assert (after == before) == same


def test_imports_are_followed_wherever_they_stand(tmp_path, monkeypatch):
    """But not into the standard library, installed packages and lab."""
    files = {
        "pack/__init__.py": "",
        "pack/one.py": "from . import two\ndef method(env, steps, seed):\n    import late\n",
        "pack/two.py": "from .three import x\n",
        "pack/three.py": "x = 1\n",
        "late.py": "import json, numpy, notthere, lab.study\n",
    }
    (tmp_path / "pack").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    from pack.one import method
    found = identity.modules_behind(method)
    assert set(found) == {"late", "pack", "pack.one", "pack.two", "pack.three"}


# ---------------------------------------------------------------- compare

def test_own_method_and_task_are_compared_stored_and_found_again(mine, capsys, monkeypatch):
    """A class may be a method. Runs that were made elsewhere are used, and told."""
    methods = {"GuideBoot": run_synthetic.guideboot, "Mine": mine.mine, "Class": mine.Mine}
    found = compare(methods, mine.Shelf, 60, 5, workers=2)
    assert "minus GuideBoot" in capsys.readouterr().out
    assert set(found) == set(methods)
    assert list(found["Mine"]) == [0, 1, 2, 3, 4]
    assert set(found["Mine"][0]) == {"regret", "reward", "size"}
    assert found["Class"] == found["Mine"]
    files = sorted(path.name for path in Path("out").iterdir())
    assert files == ["runs.jsonl", "shelf.csv", "shelf.svg"]

    elsewhere = dict(store.where(), numpy="1.0")
    monkeypatch.setattr(runs, "where", lambda: elsewhere)
    again = compare({"Mine": mine.mine}, mine.Shelf, 60, 5)
    text = capsys.readouterr().out
    assert to_be_made(text) == 0
    assert re.search("^5 runs made on Python .*; this is .*NumPy 1.0", text, re.M)
    assert again["Mine"] == found["Mine"]
    regret = {seed: numbers["regret"] for seed, numbers in again["Mine"].items()}
    assert tables.read_csv("out/shelf.csv").values() == {"Mine": regret}
    for line in filter(None, Path("out/runs.jsonl").read_text().split("\n")):
        record = json.loads(line)
        assert record["task"] == "mine.Shelf(low=0.1)"
        assert record["steps"] == 60
        assert record["arithmetic"]


def test_an_edit_makes_runs_anew_and_an_edit_taken_back_finds_the_old_ones(mine):
    """A script that is run and one that imports it agree on what a run is."""
    call = "compare({'Mine': mine}, Shelf, 20, 1)"
    source = MINE + f"\nif __name__ == '__main__':\n    {call}\n"
    run, imported = [sys.executable, "mine.py"], script(call)
    numbers = []
    for command, rate, missing in ((run, 0.05, 1), (imported, 0.05, 0), (imported, 0.125, 1),
                                   (run, 0.05, 0)):
        Path("mine.py").write_text(source.replace("0.05)", f"{rate})"))
        code, text, errors = finish(start(command))
        assert code == 0, errors
        assert to_be_made(text) == missing
        numbers.append(Path("out/shelf.csv").read_text())
    assert numbers[0] == numbers[1] == numbers[3] != numbers[2]


def test_code_that_is_edited_during_a_run_is_refused_by_a_worker_that_starts_later(mine, capsys):
    """One worker of a foreign pool has the old code, one that starts after the edit the new one."""
    behind = identity.modules_behind(mine.mine, mine.Shelf)
    arguments = (mine.mine, mine.Shelf, 5, 0, behind, {})
    assert processes.work(0, *arguments)[0] == "done"
    Path("mine.py").write_text(MINE.replace("0.05)", "0.07)"))
    assert processes.work(0, *arguments)[0] == "done"        # this process has the old code
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        kind, why = pool.submit(processes.work, 0, *arguments).result()
    assert kind == "failed"
    assert "mine.py" in why
    for _ in range(2):                                       # and it has not the new one
        with pytest.raises(SystemExit) as end:
            compare_here({"M": mine.mine}, mine.Shelf, 9, 1)
        assert "mine.py" in one_line(capsys, end)
        identity._imported.pop("mine")                       # as if it had never been looked at


def test_a_constant_that_is_edited_after_its_import_is_noticed(mine):
    path = Path("mine.py").resolve()
    assert identity.is_current(sys.modules["mine"], path)
    path.write_text(MINE.replace("import numpy as np", "import numpy as np\nRATE = 0.5"))
    assert not identity.is_current(sys.modules["mine"], path)


@pytest.mark.parametrize("call, named", [
    ("compare({'L': lambda env, steps, seed: 0}, Shelf, 9)", "<lambda>"),
    ("compare({'M': partial(mine, q=1)}, Shelf, 9)", "option 'q'"),
    ("compare({'M': mine}, Shelf)", "steps"),
    ("compare({}, Shelf, 9)", "methods .*{}"),
    ("compare({'M': mine}, partial(Shelf, low='x'), 9)", r"\(mine.py, line \d+: .*low \+"),
    ("compare({'M': partial(mine, b=0)}, Shelf, 9)", r"\bb .* 0\b"),
    ("compare({'M': mine}, Shelf, 9, out='mine.py/x')", "out .*'mine.py/x'"),
    ("compare({'M': mine}, Shelf, 9, against='nothing.csv')", "nothing.csv"),
])
def test_what_cannot_run_is_one_line_and_exit_code_2_before_anything_starts(mine, capsys, call,
                                                                            named):
    with pytest.raises(SystemExit) as end:
        eval(call, {**vars(mine), "partial": functools.partial})
    errors = one_line(capsys, end)
    assert re.search(named, errors), errors
    assert stored() == 0


def test_a_script_without_a_main_guard_gets_one_line(mine):
    Path("bare.py").write_text("from mine import *\ncompare({'M': mine}, Shelf, 9, 2)\n")
    code, _, errors = finish(start([sys.executable, "bare.py"]))
    assert code == 2
    assert errors.count("\n") == 1
    assert "__main__" in errors


def test_functions_typed_in_run_in_the_same_process_and_are_not_stored(mine):
    typed = ("from lab import compare\n"
             "from mine import Shelf, mine\n"
             "def own(env, steps, seed):\n"
             "    mine(env, steps, seed)\n"
             "print(compare({'own': own, 'mine': mine}, Shelf, 20, 2))")
    code, text, errors = finish(start([sys.executable, "-c", typed]))
    assert code == 0, errors
    assert "'own': {0: {'regret'" in text
    assert stored() == 0


def test_a_run_that_raises_or_dies_is_named_and_the_others_finish(mine):
    """Every run of D kills its process, while others are being started."""
    call = ("compare({'D': partial(mine, dies=True), 'M': mine, 'F': partial(mine, fails=1)},\n"
            "        Shelf, 20, 2, workers=3)")
    code, _, errors = finish(start(script(call)))
    assert code == 1
    assert stored() == 3
    place = r"\(mine.py, line \d+: raise .* this line\)"
    assert re.search(rf"F, seed 1: RuntimeError: a bug {place}", errors), errors
    assert set(re.findall(r"D, seed (\d)", errors)) == {"0", "1"}
    assert errors.count("\n") == 3, errors


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


def test_a_method_that_stops_early_or_returns_no_numbers_is_told():
    kind, why = processes.work(0, lambda env, steps, seed: None, envs.Synthetic, 9, 0, {}, {})
    assert kind == "failed"
    assert "0 of 9" in why
    for returned in ({"regret": 1.0}, {"tuned": 1.0}):
        with pytest.raises(identity.Refused):
            store.own_numbers(returned, {"regret": 0.0})
    assert store.own_numbers({"a": np.float32(1)}, {}) == {"a": 1.0}


def test_another_files_rows_stand_beside_ones_own(mine, capsys):
    methods = {"Mine": mine.mine, "GuideBoot": run_synthetic.guideboot}
    compare_here(methods, mine.Shelf, 30, 5, seed=7, name="low0.1")
    other = {"Mine": functools.partial(mine.mine, b=9)}
    capsys.readouterr()
    found = compare_here(other, mine.Shelf, 30, out="new", against="out/low0.1.csv")
    text = capsys.readouterr().out
    assert list(found) == ["Mine"]
    assert list(found["Mine"]) == [7, 8, 9, 10, 11]
    assert re.search(r"^Mine \(low0.1.csv\) ", text, re.M)
    assert re.search(r"^GuideBoot ", text, re.M)
    assert "out/low0.1.csv: 10 runs on Python" in text
    for task, steps in ((mine.Shelf, 31), (functools.partial(mine.Shelf, low=0.2), 30)):
        with pytest.raises(SystemExit) as end:
            compare_here(other, task, steps, against="out/low0.1.csv")
        one_line(capsys, end)


# ---------------------------------------------------------------- kills, Ctrl-C, damage

SLOW = ("compare({'A': partial(mine, slow=0.1), 'B': partial(mine, slow=0.1, b=3)}, "
        "Shelf, 20, 6, workers=%d)")                         # 12 runs


@pytest.fixture
def whole(mine):
    """The CSV of the slow command, made on threads without any disturbance."""
    methods = {"A": functools.partial(mine.mine, slow=0.1),
               "B": functools.partial(mine.mine, slow=0.1, b=3)}
    with ThreadPoolExecutor(12) as executor:
        compare(methods, mine.Shelf, 20, 6, out="whole", executor=executor)
    return Path("whole/shelf.csv").read_bytes()


def processes_of(session):
    """Processes of a session that are not yet gone: {id: its command line}."""
    listed = subprocess.run(["ps", "-ww", "-s", str(session), "-o", "pid=,stat=,args="],
                            capture_output=True, text=True)
    found = [line.split(maxsplit=2) for line in listed.stdout.splitlines()]
    return {int(pid): args for pid, state, args in found if "Z" not in state}


@UNIX
def test_killed_in_any_way_and_resumed_it_ends_byte_identical_and_leaves_no_process(whole):
    """Four kills, with several numbers of workers, and every time at least one run is added.

    At last only a worker is killed, which costs nothing.
    """
    kills = ((signal.SIGKILL, os.kill, 3), (signal.SIGTERM, os.kill, 1),
             (signal.SIGHUP, os.killpg, 2), (signal.SIGKILL, os.killpg, 1))
    for how, kill, workers in kills:
        before = stored()
        process = start(script(SLOW % workers))
        wait_for(lambda: stored() > before)
        kill(process.pid, how)
        finish(process)
        wait_for(lambda: not processes_of(process.pid))
    done = stored()
    assert 4 <= done < 12
    process = start(script(SLOW % 2))
    wait_for(lambda: stored() > done)
    worker = next(pid for pid, args in processes_of(process.pid).items() if "spawn_main" in args)
    os.kill(worker, signal.SIGKILL)
    code, text, errors = finish(process)
    assert (code, errors) == (0, "")
    assert to_be_made(text) == 12 - done
    assert Path("out/shelf.csv").read_bytes() == whole


@UNIX
@pytest.mark.parametrize("call", [
    "compare({'A': mine, 'B': partial(mine, slow=60)}, Shelf, 20, 60, workers=2)",
    "from concurrent.futures import ThreadPoolExecutor\n"
    "with ThreadPoolExecutor(1) as pool:\n"
    "    compare({'A': partial(mine, slow=0.3)}, Shelf, 20, 60, executor=pool)"])
def test_ctrl_c_kills_our_workers_and_on_a_foreign_executor_cancels_what_has_not_begun(mine, call):
    process = start(script(call))
    wait_for(lambda: stored() >= 1)
    os.killpg(process.pid, signal.SIGINT)
    started = time.monotonic()
    code, text, errors = finish(process)
    assert time.monotonic() - started < 10                   # all would take 17 s or more
    assert code == 130
    assert "Traceback" not in errors
    assert "Cumulative" in text


@UNIX
@pytest.mark.parametrize("after", [0, 3])
def test_ctrl_c_keeps_what_is_finished_shows_it_and_exits_with_130(whole, after):
    process = start(script(SLOW % 2))
    wait_for(lambda: len(processes_of(process.pid)) > 1 and stored() >= after)
    os.killpg(process.pid, signal.SIGINT)
    code, text, errors = finish(process)
    assert code == 130
    assert "interrupted" in errors
    assert "Traceback" not in errors, errors
    assert stored() < 12
    assert ("Cumulative regret" in text) == (stored() > 0)
    wait_for(lambda: not processes_of(process.pid))
    assert finish(start(script(SLOW % 2)))[0] == 0
    assert Path("out/shelf.csv").read_bytes() == whole


def test_two_commands_in_one_folder_both_end_right(whole):
    both = [start(script(SLOW % 2, name)) for name in ("job.py", "two.py")]
    assert [finish(process)[0] for process in both] == [0, 0]
    assert Path("out/shelf.csv").read_bytes() == whole


def test_damaged_and_torn_lines_are_skipped_told_and_made_again(mine, capsys):
    compare_here({"Mine": mine.mine}, mine.Shelf, 20, 4)
    before = Path("out/shelf.csv").read_bytes()
    lines = [*filter(None, Path("out/runs.jsonl").read_bytes().split(b"\n"))]
    lines[1] = lines[1].replace(b'"regret": ', b'"regret": 1')
    Path("out/runs.jsonl").write_bytes(b"\n".join(lines)[:-40])      # the last one is torn
    for missing in (2, 0):                                   # nothing is glued to the torn line
        capsys.readouterr()
        compare_here({"Mine": mine.mine}, mine.Shelf, 20, 4)
        text, errors = capsys.readouterr()
        assert to_be_made(text) == missing
        assert re.fullmatch(r"out/runs.jsonl: 2 .*\n", errors)
        assert Path("out/shelf.csv").read_bytes() == before


class HalfWritten(io.FileIO):
    """A file on a disk that has room for one half of what is written, and says so."""

    def __init__(self, path, mode, buffering):
        super().__init__(path, mode)

    def write(self, data):
        return super().write(data[:len(data) // 2])


def no_space(*_):
    raise OSError(28, "No space left on device", "out/runs.jsonl")


@pytest.mark.parametrize("module_of, name, fails", [(store.os, "fsync", no_space),
                                                    (store, "open", HalfWritten)])
def test_a_disk_that_is_full_is_told_in_one_line_and_nothing_finished_is_lost(
        mine, monkeypatch, capsys, module_of, name, fails):
    compare_here({"Mine": mine.mine}, mine.Shelf, 20, 2)
    before = Path("out/runs.jsonl").read_bytes()
    capsys.readouterr()
    monkeypatch.setattr(module_of, name, fails, raising=False)
    with pytest.raises(SystemExit) as end:
        compare_here({"Mine": mine.mine}, mine.Shelf, 20, 3)
    text, errors = capsys.readouterr()
    assert end.value.code == 1
    assert re.fullmatch(".* out/runs.jsonl: No space left on device.*\n", errors)
    assert re.search("^Mine .* 3$", text, re.M)              # shown, though it is not saved
    assert Path("out/runs.jsonl").read_bytes().startswith(before)


# ---------------------------------------------------------------- tuned values, the command line

def test_tuned_values_come_from_the_file_at_every_call(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(runs, "TUNED", tmp_path / "tuned.json")
    methods = {"Giro": run_synthetic.giro, "OBB": run_synthetic.obb}
    for alpha in (0.25, 0.75):
        giro = {"method": "run_synthetic.giro", "options": {"giro_alpha": alpha}}
        other = {"method": "mine.obb", "options": {"learning_rate": alpha}}     # of this name
        runs.TUNED.write_text(json.dumps({"synthetic": {"Giro": giro, "OBB": other}}))
        compare_here(tuned(methods, "synthetic"), envs.Synthetic, 20, 1, out=tmp_path)
        text = capsys.readouterr().out
        assert re.search(r"^Giro .* synthetic +1$", text, re.M)
        assert "Not with tuned values, unlike others: OBB" in text
    calls = re.findall(r'"call": "(.*?)"', (tmp_path / "runs.jsonl").read_text())
    assert len(set(calls)) == len(calls) == 3                # Giro with two values, and OBB


@pytest.mark.parametrize("argv, alpha, rate", [
    ([], 0.25, 0.5),
    (["--learning-rate", "0.125"], 0.25, 0.125),
    (["--untuned", "--giro-alpha", "0.75"], 0.75, None),
])
def test_an_option_reaches_the_methods_that_have_it_over_the_tuned_value_over_the_default(
        monkeypatch, argv, alpha, rate):
    found = {"method": "run_synthetic.giro", "options": {"giro_alpha": 0.25, "learning_rate": 0.5}}
    monkeypatch.setattr(runs, "tuned_values", lambda: {"synthetic": {"replay, Giro": found}})
    methods = {("online", "Online GuideBoot"): run_synthetic.online_guideboot,
               ("replay", "Giro"): run_synthetic.giro,
               ("replay", "e-greedy"): run_synthetic.e_greedy}
    command = Command("", methods, {"giro_alpha": "", "learning_rate": ""}, "synthetic", 3)
    rows = command.wanted(command.parse_args(argv))
    giro = rows["replay", "Giro"].keywords
    assert giro.get("giro_alpha") == alpha
    assert giro.get("learning_rate") == rate
    given = {"learning_rate": 0.125} if "--learning-rate" in argv else {}
    assert rows["online", "Online GuideBoot"].keywords == given

    named = ["--methods", "\u03b5-greedy, ONLINE-guideboot"]     # as the paper writes them
    rows = command.wanted(command.parse_args(named))
    assert list(rows) == [("online", "Online GuideBoot"), ("replay", "e-greedy")]
