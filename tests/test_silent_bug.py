"""Each of the silent bugs is caught by the project's own tests."""
import json
import re
import subprocess
import sys

import pytest

import silent_bug
from lab import tables
from silent_bug import BUGS, place

NUMBERS = range(1, len(BUGS) + 1)
CAUGHT_BY = [                          # in the order of BUGS: one of the tests that fail
    "test_nn.py::test_gradient_of_every_parameter_equals_finite_differences",
    "test_nn.py::test_gradient_of_every_parameter_equals_finite_differences",
    "test_guideboot.py::test_density_is_updated_before_it_is_used",
    "test_guideboot.py::test_density_is_updated_before_it_is_used",
    "test_guideboot.py::test_resampling_is_uniform_over_the_whole_history_with_replacement",
    "test_nn.py::test_fast_serving_equals_the_plain_forward_pass_also_right_after_learning",
    "test_baselines.py::test_glm_ucb_bound_equals_the_formula_with_a_plain_inverse",
    "test_guideboot.py::test_ties_are_broken_at_random",
    "test_baselines.py::test_obb_weights_are_poisson_one_per_model_and_sample",
]


def run(folder, *words):
    """Python with these arguments, started in a folder."""
    return subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True)


def test_no_bug_gives_itself_away_by_a_comment():
    """The listing's line numbers stay, so that the test that looks for them says nothing."""
    for bug in BUGS:
        before = {mark for _, right, _ in bug for mark in re.findall(r"Alg\d:\d+", right)}
        after = {mark for _, _, wrong in bug for mark in re.findall(r"Alg\d:\d+", wrong)}
        assert before == after


def test_there_are_at_least_six_and_every_number_is_another_one():
    assert len(BUGS) >= 6
    assert len(CAUGHT_BY) == len(BUGS)
    assert {place(number) for number in NUMBERS} == set(range(len(BUGS)))


@pytest.mark.parametrize("number", NUMBERS)
def test_the_bug_is_caught(number, tmp_path):
    """In a copy of the project the named test fails; without the bug it passes in this very run."""
    silent_bug.copy_with_bug(number, tmp_path)
    test = f"tests/{CAUGHT_BY[place(number)]}"
    done = run(tmp_path, "-m", "pytest", "-q", "-x", "--hypothesis-profile=any-example", test)
    assert done.returncode == 1, done.stdout
    assert "1 failed" in done.stdout
    assert re.search(r"^E +(AssertionError|assert )", done.stdout, re.M), done.stdout[-2000:]


# Runs of a script's methods in one process, without the workers that the script would start.
PROBES = {
    "run_synthetic": """
import json, envs, run_synthetic
from functools import partial
from lab.store import make
names = {"GuideBoot": True, "Online GuideBoot": True, "Bootstrap": True, "OBB": True,
         "GLM-UCB": False}
numbers = []
for name, learns in names.items():
    method = partial(run_synthetic.METHODS[name], **({"learning_rate": 0.03} if learns else {}))
    numbers.append(make(method, envs.Synthetic, 150, 0, {}, {})["numbers"])
print(json.dumps(numbers))
""",
    "run_ads": """
import json, envs, run_ads
from functools import partial
from lab.store import make
numbers = []
for name in ("MC-Dropout", "Bootstrap"):
    method = partial(run_ads.METHODS["replay", name], buffer=64)
    numbers.append(make(method, partial(envs.Ads, scale=0.01), 400, 0, {}, {})["numbers"])
print(json.dumps(numbers))
""",
}


def probe(script, folder):
    done = run(folder, "-c", PROBES[script])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def right():
    """What the probes give without a bug."""
    return {script: probe(script, silent_bug.ROOT) for script in PROBES}


@pytest.mark.parametrize("script", PROBES)
def test_number_0_has_no_bug_and_a_probe_gives_the_same_again(script, tmp_path, right):
    silent_bug.copy_with_bug(0, tmp_path)
    assert probe(script, tmp_path) == right[script]


@pytest.mark.parametrize("number", NUMBERS)
def test_it_does_not_crash_and_changes_the_results_of_a_script(number, tmp_path, right):
    network = all(name == "nn.py" for name, _, _ in BUGS[place(number)])
    script = "run_ads" if network else "run_synthetic"
    silent_bug.copy_with_bug(number, tmp_path)
    assert probe(script, tmp_path) != right[script]


def test_a_script_with_a_bug_writes_beside_one_without_and_the_files_stay_as_they_are(tmp_path):
    before = {path: path.read_bytes() for path in silent_bug.ROOT.glob("*.py")}
    regret = []
    for number in ("0", "1"):
        done = run(tmp_path, silent_bug.__file__, number, "run_synthetic.py", "--runs", "1",
                   "--steps", "100", "--methods", "glm-ucb,online-guideboot", "--workers", "1")
        assert done.returncode == 0, done.stderr
        results = tables.read_csv(tmp_path / "out" / f"bug{number}" / "synthetic.csv")
        regret.append(results.values())
    assert regret[0] != regret[1]
    assert {path: path.read_bytes() for path in silent_bug.ROOT.glob("*.py")} == before


@pytest.mark.parametrize("words", [
    [], ["3"], ["x", "pytest"], ["99", "pytest"], ["1", "nothing.py"]])
def test_a_wrong_call_is_told_in_a_line_or_two(words, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["silent_bug.py", *words])
    with pytest.raises(SystemExit) as end:
        silent_bug.main()
    told = end.value.code                                    # text, for which the exit code is 1
    assert "NUMBER from 1 to" in told
    assert told.count("\n") <= 1
