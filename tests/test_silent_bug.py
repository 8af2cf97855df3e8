"""Each of the silent bugs is caught by the project's own tests."""
import subprocess
import sys
from pathlib import Path

import pytest

import silent_bug

CAUGHT_BY = [                          # in the order of silent_bug.BUGS: one of the tests that fail
    "test_mlp.py::test_gradient_of_every_parameter_equals_finite_differences",
    "test_mlp.py::test_gradient_of_every_parameter_equals_finite_differences",
    "test_guideboot.py::test_density_is_updated_before_it_is_used",
    "test_guideboot.py::test_density_is_updated_before_it_is_used",
    "test_guideboot.py::test_resampling_is_uniform_over_the_whole_history_with_replacement",
    "test_mlp.py::test_fast_serving_equals_the_plain_forward_pass_also_right_after_learning",
    "test_baselines.py::test_glm_ucb_bound_equals_the_formula_with_a_plain_inverse",
    "test_guideboot.py::test_ties_are_broken_at_random",
    "test_baselines.py::test_obb_weights_are_poisson_one_per_model_and_sample",
]


def test_there_are_at_least_six_and_every_number_is_another_one():
    numbers = range(1, len(silent_bug.BUGS) + 1)
    assert len(CAUGHT_BY) == len(silent_bug.BUGS) >= 6 and len({(5 * n + 2) % len(silent_bug.BUGS) for n in numbers}) == len(numbers)


@pytest.mark.parametrize("number", range(1, len(silent_bug.BUGS) + 1))
def test_the_bug_is_caught(number, tmp_path):
    """In a copy of the project the named tests fail; they pass without the bug, in this very run of the suite."""
    silent_bug.copy_with_bug(number, tmp_path)
    name = CAUGHT_BY[(5 * number + 2) % len(silent_bug.BUGS)]
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-x", f"tests/{name}"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and "1 failed" in done.stdout and "Error" in done.stdout, done.stdout[-2000:]


def test_the_command_runs_a_script_with_a_bug_and_leaves_the_project_alone(tmp_path):
    command = [sys.executable, str(Path(silent_bug.__file__))]
    before = {path: path.read_bytes() for path in silent_bug.ROOT.glob("*.py")}
    texts = [subprocess.run([*command, str(n), "guideboot.py"], capture_output=True, text=True, cwd=tmp_path) for n in (0, 2)]
    assert all(done.returncode == 0 and "P(Ad_B is shown)" in done.stdout for done in texts)
    assert before == {path: path.read_bytes() for path in silent_bug.ROOT.glob("*.py")}
    for wrong in ([], ["3"], ["x", "pytest"], ["99", "pytest"], ["1", "nothing.py"]):
        done = subprocess.run([*command, *wrong], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 1 and "NUMBER from 1 to" in done.stderr
