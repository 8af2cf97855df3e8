"""Runs that survive: resume, interruption, divergence, damaged files, full disks, extremes. By doing, where it can be done."""
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import baselines
import envs
import guideboot as gb
import nn
import report
import run_synthetic

ROOT = Path(run_synthetic.__file__).parent
COMMAND = ("--runs", "4", "--steps", "1500", "--methods", "OBB,Random,Online GuideBoot", "--workers", "2")


def start(out, *arguments):
    return subprocess.Popen([sys.executable, str(ROOT / "run_synthetic.py"), *arguments, "--out", str(out)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, start_new_session=True,
                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))     # even if we run in the background


def finish(out, *arguments):
    process = start(out, *arguments)
    text, errors = process.communicate(timeout=100)
    return process.returncode, text, errors


def wait_for_rows(out, rows):
    """Until the result file has at least so many finished runs."""
    for _ in range(3000):
        try:
            if len(report.read_results(out / "synthetic.csv")[2]) >= rows:
                return
        except FileNotFoundError:
            pass
        time.sleep(0.01)
    raise AssertionError("no rows")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    out = tmp_path_factory.mktemp("whole")
    code, text, errors = finish(out, *COMMAND)
    assert code == 0, errors
    return out


def table(text):
    return (text + "\n\n")[text.index("Method "):].split("\n\n")[0]


def test_killed_again_and_again_the_resumed_result_is_the_same_byte_for_byte(whole, tmp_path):
    for rows in (1, 4, 9):
        process = start(tmp_path, *COMMAND)
        wait_for_rows(tmp_path, rows)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        done = len(report.read_results(tmp_path / "synthetic.csv")[2])
    code, text, errors = finish(tmp_path, *COMMAND)
    assert code == 0 and f"{done} of 12 already done" in text
    for name in ("synthetic.csv", "synthetic.svg"):
        assert (tmp_path / name).read_bytes() == (whole / name).read_bytes()


def test_a_finished_command_prints_its_table_from_the_file_at_once(whole):
    before = (whole / "synthetic.csv").stat().st_mtime_ns
    code, text, _ = finish(whole, *COMMAND)
    assert code == 0 and "12 of 12 already done: nothing to run" in text and (whole / "synthetic.csv").stat().st_mtime_ns == before
    assert len(table(text).splitlines()) == 5


def test_more_runs_or_methods_go_on_from_what_is_there(whole, tmp_path):
    (tmp_path / "synthetic.csv").write_bytes((whole / "synthetic.csv").read_bytes())
    code, text, _ = finish(tmp_path, "--runs", "5", "--steps", "1500", "--methods", "Random")
    assert code == 0 and "4 of 5 already done" in text and "  5" in table(text)
    assert len(report.read_results(tmp_path / "synthetic.csv")[2]) == 13           # nothing finished is dropped


def test_ctrl_c_ends_the_workers_prints_what_is_finished_and_exits_with_130(whole, tmp_path):
    process = start(tmp_path, *COMMAND)
    wait_for_rows(tmp_path, 3)
    workers = subprocess.run(["ps", "--ppid", str(process.pid), "-o", "pid="], capture_output=True, text=True).stdout.split()
    os.killpg(process.pid, signal.SIGINT)
    text, errors = process.communicate(timeout=20)
    assert process.returncode == 130 and "interrupted: finished runs are kept" in errors and "Traceback" not in errors
    assert len(table(text).splitlines()) >= 3
    for _ in range(200):
        if not any(Path(f"/proc/{pid}").exists() for pid in workers):
            break
        time.sleep(0.05)
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
    assert finish(tmp_path, *COMMAND)[0] == 0
    assert (tmp_path / "synthetic.csv").read_bytes() == (whole / "synthetic.csv").read_bytes()


# ---------------------------------------------------------------- the result file

HEADER = dict(options=dict(alpha=1.0, steps=10), code="abc")


def results(path, header=HEADER, fresh=False, columns=("x", "y")):
    """As a process of its own would have it: the lock is given back at once."""
    file = report.Results(path, header, list(columns), ["A, the first", "B"], fresh)
    file.lock.close()
    return file


def names(folder):
    return sorted(p.name for p in folder.iterdir() if not p.name.endswith(".lock"))


def filled(path):
    file = results(path)
    file.add(("B", 2), [1 / 3, float("nan")])
    file.add(("A, the first", 10), [1e-300, -0.0])
    file.add(("A, the first", 9), [float("inf"), 2.0])
    return file


def test_a_result_file_keeps_every_number_exactly_and_in_order(tmp_path):
    filled(tmp_path / "r.csv")
    header, columns, rows = report.read_results(tmp_path / "r.csv")
    assert header == dict(HEADER, python=header["python"], numpy=np.__version__) and columns == ["x", "y"]
    assert list(rows) == [("A, the first", 9), ("A, the first", 10), ("B", 2)]
    assert rows["B", 2][0] == 1 / 3 and np.isnan(rows["B", 2][1]) and rows["A, the first", 10].tolist() == [1e-300, -0.0]
    assert names(tmp_path) == ["r.csv"] and len(results(tmp_path / "r.csv").rows) == 3


def test_two_commands_at_once_cannot_write_one_file(tmp_path):
    holder = report.Results(tmp_path / "r.csv", HEADER, ["x", "y"], ["B"])
    with pytest.raises(SystemExit, match="another command is writing .*r.csv: wait for it, or choose another --out"):
        report.Results(tmp_path / "r.csv", HEADER, ["x", "y"], ["B"])
    report.Results(tmp_path / "other.csv", HEADER, ["x", "y"], ["B"]).lock.close()
    holder.lock.close()
    report.Results(tmp_path / "r.csv", HEADER, ["x", "y"], ["B"]).lock.close()


def test_a_second_command_is_refused_while_the_first_one_runs(tmp_path):
    long = ("--runs", "50", "--steps", "20000", "--methods", "Random", "--workers", "1")
    first = start(tmp_path, *long)
    wait_for_rows(tmp_path, 1)
    code, text, errors = finish(tmp_path, *long)
    assert first.poll() is None and code == 1 and "another command is writing" in errors
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate(timeout=20)


@pytest.mark.parametrize("header, name, words", [
    (dict(HEADER, options=dict(alpha=2.0, steps=10)), "r.other-alpha-1.csv", "alpha: the file has 1.0, now 2.0"),
    (dict(HEADER, options=dict(alpha=1.0, steps=20)), "r.other-steps-1.csv", "steps: the file has 10, now 20"),
    (dict(HEADER, code="xyz"), "r.other-code-1.csv", "code: the file has abc, now xyz"),
    (dict(HEADER, options=dict(alpha=1.0, steps=10, world=3)), "r.other-world-1.csv", "world: the file has none given, now 3"),
    (dict(HEADER, options=dict(alpha=1.0)), "r.other-steps-1.csv", "steps: the file has 10, now none given")])
def test_other_options_or_code_move_the_file_aside_and_say_what_differs(tmp_path, capsys, header, name, words):
    filled(tmp_path / "r.csv")
    old = (tmp_path / "r.csv").read_bytes()
    (tmp_path / "r.svg").write_text("figure")
    file = results(tmp_path / "r.csv", header)
    text = capsys.readouterr().out
    assert file.rows == {} and (tmp_path / name).read_bytes() == old and words in text and name in text and text.count("\n") == 1
    assert (tmp_path / name.replace("csv", "svg")).read_text() == "figure" and not (tmp_path / "r.svg").exists()


def test_other_columns_move_the_file_aside(tmp_path):
    filled(tmp_path / "r.csv")
    assert results(tmp_path / "r.csv", columns=("x", "z")).rows == {} and (tmp_path / "r.other-columns-1.csv").exists()


def test_fresh_starts_over_and_keeps_every_earlier_file(tmp_path):
    for n in (1, 2):
        filled(tmp_path / "r.csv")
        assert results(tmp_path / "r.csv", fresh=True).rows == {}
        assert len(report.read_results(tmp_path / f"r.before-fresh-{n}.csv")[2]) == 3


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_cut_or_damaged_file_is_noticed_kept_and_replaced(tmp_path, data):
    path = tmp_path / "r.csv"
    for old in tmp_path.iterdir():
        old.unlink()
    filled(path)
    good = path.read_bytes()
    if data.draw(st.booleans()):
        bad = good[:data.draw(st.integers(0, len(good) - 2))]
    else:
        i = data.draw(st.integers(0, len(good) - 2))
        bad = good[:i] + bytes([data.draw(st.integers(0, 255).filter(lambda b: b != good[i]))]) + good[i + 1:]
    path.write_bytes(bad)
    file = results(path)
    assert file.rows == {} and (tmp_path / "r.unreadable-1.csv").read_bytes() == bad
    file.add(("B", 1), [1, 2])
    assert list(report.read_results(path)[2]) == [("B", 1)]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_leaves_the_old_file_and_says_so(tmp_path):
    arguments = ("--runs", "1", "--steps", "50", "--methods")
    assert finish(tmp_path, *arguments, "Random")[0] == 0
    old = (tmp_path / "synthetic.csv").read_bytes()
    for name in ("synthetic.csv.partial", "synthetic.svg.partial"):
        (tmp_path / name).symlink_to("/dev/full")
    code, text, errors = finish(tmp_path, *arguments, "Random,OBB")
    assert code == 1 and re.search(r"cannot save .*synthetic.csv: No space left on device; .*the same command goes on", errors)
    assert (tmp_path / "synthetic.csv").read_bytes() == old and "OBB" in table(text) and "Traceback" not in errors
    for name in ("synthetic.csv.partial", "synthetic.svg.partial"):
        (tmp_path / name).unlink()
    assert "1 of 2 already done" in finish(tmp_path, *arguments, "Random,OBB")[1]


# ---------------------------------------------------------------- runs that fail

def fragile(job, tick):
    """B dies on seed 1 and raises on seed 2 as long as its flag file is there."""
    method, seed, flag = job
    if method == "B" and Path(flag).exists():
        if seed == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        if seed == 2:
            raise RuntimeError("a bug")
    return [seed, 2.0 * seed]


def test_a_worker_that_dies_is_named_the_others_are_kept_and_the_same_command_goes_on(tmp_path, capsys):
    flag = tmp_path / "flag"
    flag.touch()
    jobs = [(m, s, str(flag)) for s in range(4) for m in ("A, the first", "B")]
    file = results(tmp_path / "r.csv")
    assert report.experiment(file, fragile, jobs, 2) == 1
    errors = capsys.readouterr().err
    assert "died: B, seed 1: its process ended with exit code -9; the same command tries it again" in errors
    assert "failed: B, seed 2: RuntimeError: a bug; the same command tries it again" in errors
    assert set(results(tmp_path / "r.csv").rows) == {job[:2] for job in jobs} - {("B", 1), ("B", 2)}
    flag.unlink()
    file = results(tmp_path / "r.csv")
    assert report.experiment(file, fragile, jobs, 2) == 0 and len(file.rows) == 8 and file.rows["B", 1].tolist() == [1, 2]
    assert "6 of 8 already done" in capsys.readouterr().out


def test_a_diverging_run_is_named_with_its_step_and_shown_as_diverged(tmp_path):
    arguments = ("--runs", "2", "--steps", "300", "--methods", "Bootstrap,Random", "--learning-rate", "1e308")
    code, text, errors = finish(tmp_path, *arguments)
    assert code == 0 and re.search(r"diverged: Bootstrap, seed 1: at step \d+ a score is .*learning rate", errors)
    line, = [line for line in table(text).splitlines() if line.startswith("Bootstrap")]
    assert "0, 2 diverged" in line and not re.search(r"nan|inf|\d\.\d", line)
    assert re.search(r"^Random +\d+\.\d \+- ", table(text), re.M)
    code, text, errors = finish(tmp_path, *arguments)
    assert code == 0 and "4 of 4 already done" in text and "0, 2 diverged" in text


# ---------------------------------------------------------------- extremes

class Constant:
    """m candidates, always the same reward."""
    fields, features = 2, 8

    def __init__(self, m, r):
        self.X, self.r = np.array([[i % 4, 4 + i % 4] for i in range(m)]), r

    def observe(self):
        return self.X

    def pull(self, a):
        return self.r


@pytest.mark.parametrize("kind", ["logistic", "mlp"])
@pytest.mark.parametrize("m, K, b, c, steps, alpha, r", [
    (1, 5, 8, 4, 20, 1.0, 0), (5, 1, 8, 4, 20, 1.0, 1), (5, 9, 2, 4, 20, 1.0, 0), (5, 2, 8, 4, 20, 1e-9, 0), (5, 2, 8, 4, 20, 1e9, 1),
    (5, 2, 8, 4, 1, 1.0, 0), (5, 2, 500, 4, 20, 1.0, 1), (5, 2, 8, 1000, 20, 1.0, 0), (4, 3, 8, 4, 300, 1.0, 0), (4, 3, 8, 4, 300, 1.0, 1)])
def test_extremes_work(kind, m, K, b, c, steps, alpha, r):
    """One candidate, one model, more models than rows, tiny and huge alpha, one step, more rows than history, buffers
    larger than the run, rewards all 0 and all 1: finite parameters, and a fitted level on the right side of one half."""
    for setting in ("replay", "online"):
        rngs = [np.random.default_rng([0, k]) for k in range(K)]
        bag = nn.LogisticBag(8, rngs, 0.05) if kind == "logistic" else nn.MLPBag(2, 8, rngs, 0.01, hidden=16)
        agent = gb.GuideBoot(bag, np.random.default_rng(0), gb.Harmonic(8), alpha)
        env = Constant(m, r)
        gb.replay(agent, env, steps, b) if setting == "replay" else gb.online(agent, env, steps, c, 2)
        scores = [bag.scores(k, env.X) for k in range(K)]
        assert np.isfinite(scores).all()
        if steps == 300:
            assert all(((s.max() if r == 0 else -s.min()) < 0) for s in scores)


@pytest.mark.parametrize("r", [0, 1])
def test_bayesian_and_arm_methods_survive_rewards_that_are_all_equal(r):
    for agent in (baselines.TSBLR(2, 8, np.random.default_rng(0)), baselines.GLMUCB(2, 8, np.random.default_rng(0))):
        gb.online(agent, Constant(4, r), 200, 1)
        assert np.isfinite(agent.mode).all() and (agent.mode[8] > 0) == (r == 1)
    for draw in (gb.guided_mean, gb.thompson_mean, gb.bootstrap_mean):
        agent = gb.Arms(3, draw, np.random.default_rng(0))
        gb.online(agent, envs.BernoulliArms(0, y=[float(r)] * 3), 50, 1)
        assert agent.n.sum() == 50 and agent.s.sum() == 50 * r


def test_extreme_guidance_is_no_fakes_or_both_fakes_for_a_well_known_input():
    rho = np.full((1, 4000), 1000.0)
    w, _ = gb.fake_samples(np.zeros((1, 4000)), gb.guidance(rho, 1e-9), np.random.default_rng(0))
    assert (w == 1).all()
    w, _ = gb.fake_samples(np.zeros((1, 4000)), gb.guidance(rho, 1e9), np.random.default_rng(0))
    assert (w == 3).all()
