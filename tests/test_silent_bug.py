"""Each of the silent bugs is caught by the project's own tests."""
import re
import subprocess
import sys

import pytest

import silent_bug
from lab import tables

CAUGHT_BY = [                          # in the order of silent_bug.BUGS: one of the tests that fail
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


def test_no_bug_gives_itself_away_by_a_comment():
    """The listing's line numbers stay, so that the test that looks for them says nothing."""
    for bug in silent_bug.BUGS:
        right, wrong = ({mark for _, *texts in bug for mark in re.findall(r"Alg\d:\d+", texts[side])} for side in (0, 1))
        assert right == wrong


def test_there_are_at_least_six_and_every_number_is_another_one():
    numbers = range(1, len(silent_bug.BUGS) + 1)
    assert len(CAUGHT_BY) == len(silent_bug.BUGS) >= 6 and len({(5 * n + 2) % len(silent_bug.BUGS) for n in numbers}) == len(numbers)


@pytest.mark.parametrize("number", range(1, len(silent_bug.BUGS) + 1))
def test_the_bug_is_caught(number, tmp_path):
    """In a copy of the project the named tests fail; they pass without the bug, in this very run of the suite."""
    silent_bug.copy_with_bug(number, tmp_path)
    name = CAUGHT_BY[(5 * number + 2) % len(silent_bug.BUGS)]
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-x", f"tests/{name}"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and "1 failed" in done.stdout and re.search(r"^E +(AssertionError|assert )", done.stdout, re.M), done.stdout[-2000:]


SCRIPTS = [("run_synthetic.py", "--runs", "1", "--steps", "150", "--methods", "guideboot,online-guideboot,bootstrap,obb,glm-ucb", "--learning-rate", "0.03"),
           ("run_ads.py", "--scale", "0.01", "--steps", "1500", "--runs", "1", "--methods", "mc-dropout,bootstrap", "--setting", "replay")]


def results(number, script, out):
    done = subprocess.run([sys.executable, silent_bug.__file__, str(number), *script], capture_output=True, text=True, cwd=out)
    assert done.returncode == 0, done.stderr
    return tables.read_csv(out / "out" / f"bug{number}" / ("synthetic.csv" if "synthetic" in script[0] else "ads_A.csv")).values()


def test_nothing_crashes_and_each_bug_changes_the_results_of_a_script(tmp_path):
    before = {path: path.read_bytes() for path in silent_bug.ROOT.glob("*.py")}
    right = [results(0, script, tmp_path) for script in SCRIPTS]
    for number in range(1, len(silent_bug.BUGS) + 1):
        network = all(name == "nn.py" for name, _, _ in silent_bug.BUGS[(5 * number + 2) % len(silent_bug.BUGS)])
        assert results(number, SCRIPTS[network], tmp_path) != right[network], number
    assert before == {path: path.read_bytes() for path in silent_bug.ROOT.glob("*.py")}


def test_a_wrong_call_is_told_in_a_line_or_two(tmp_path):
    for wrong in ([], ["3"], ["x", "pytest"], ["99", "pytest"], ["1", "nothing.py"]):
        done = subprocess.run([sys.executable, silent_bug.__file__, *wrong], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 1 and "NUMBER from 1 to" in done.stderr and done.stderr.count("\n") <= 2
