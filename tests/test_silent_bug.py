"""Each of the silent bugs is caught by the project's own tests."""
import re
import subprocess
import sys

import pytest

import silent_bug
from lab import tables
from silent_bug import BUGS, copy_with_bug, place

NUMBERS = range(1, len(BUGS) + 1)
CAUGHT_BY = [                          # in the order of BUGS: one of the tests that fail
    "test_nn.py::test_gradient_of_every_parameter_equals_finite_differences",
    "test_nn.py::test_gradient_of_every_parameter_equals_finite_differences",
    "test_guideboot.py::test_replay_learns_after_every_step_or_every_so_many_steps",
    "test_guideboot.py::test_guideboot_gives_every_record_the_fakes_of_its_own_density",
    "test_guideboot.py::test_resampling_is_uniform_over_the_whole_history_with_replacement",
    "test_nn.py::test_fast_serving_equals_the_plain_forward_pass_also_right_after_learning",
    "test_baselines.py::test_glm_ucb_bound_equals_the_formula_with_a_plain_inverse",
    "test_guideboot.py::test_ties_are_broken_at_random",
    "test_baselines.py::test_obb_weights_are_poisson_one_per_model_and_sample",
]


def run(folder, *words):
    """Python with these arguments, started in a folder."""
    return subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True)


def test_every_number_is_another_bug_which_a_test_is_named_for():
    assert {place(number) for number in NUMBERS} == set(range(len(CAUGHT_BY)))


@pytest.mark.parametrize("number", NUMBERS)
def test_the_bug_is_caught(number, tmp_path):
    """In a copy of the project the named test fails; without the bug it passes in this very run."""
    copy_with_bug(number, tmp_path)
    test = f"tests/{CAUGHT_BY[place(number)]}"
    done = run(tmp_path, "-m", "pytest", "-q", "-x", "--hypothesis-profile=any-example", test)
    assert done.returncode == 1, done.stdout
    assert "1 failed" in done.stdout
    assert re.search(r"^E +(AssertionError|assert )", done.stdout, re.M), done.stdout[-2000:]


PROBE = """
import envs, run_ads, run_synthetic
from functools import partial
from lab.store import make

runs = [(run_synthetic.glm_ucb, envs.Synthetic, 150)]
for name in ("GuideBoot", "Online GuideBoot", "Bootstrap", "OBB"):
    runs.append((partial(run_synthetic.METHODS[name], learning_rate=0.03), envs.Synthetic, 150))
dropout = partial(run_ads.METHODS["replay", "MC-Dropout"], buffer=64)
runs.append((dropout, partial(envs.Ads, scale=0.01), 400))
print([make(*run, 0, {}, {})["numbers"] for run in runs])
"""


def probe(number, folder):
    """What methods of both scripts give, made with a bug in one process."""
    copy_with_bug(number, folder)
    done = run(folder, "-c", PROBE)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def right(tmp_path_factory):
    return probe(0, tmp_path_factory.mktemp("right"))


@pytest.mark.parametrize("number", NUMBERS)
def test_it_does_not_crash_and_changes_the_results_of_a_script(number, tmp_path, right):
    assert probe(number, tmp_path) != right


def test_a_script_with_a_bug_writes_beside_one_without_and_the_files_stay_as_they_are(tmp_path):
    before = {path: path.read_bytes() for path in silent_bug.ROOT.glob("*.py")}
    regret = []
    for number in ("0", "1"):
        done = run(tmp_path, silent_bug.__file__, number, "run_synthetic.py", "--runs", "1",
                   "--steps", "100", "--methods", "glm-ucb,online-guideboot", "--workers", "1")
        assert done.returncode == 0, done.stderr
        regret.append(tables.read_csv(tmp_path / f"out/bug{number}/synthetic.csv").values())
    assert regret[0] != regret[1]
    assert {path: path.read_bytes() for path in silent_bug.ROOT.glob("*.py")} == before


@pytest.mark.parametrize("words", [[], ["x", "pytest"], ["99", "pytest"], ["1", "nothing.py"]])
def test_a_wrong_call_is_told(words, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["silent_bug.py", *words])
    with pytest.raises(SystemExit, match="NUMBER from 1 to"):
        silent_bug.main()
