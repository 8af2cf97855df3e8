"""The exercises can be solved, and their checks reject the common wrong answers (answers: solutions.py)."""
import importlib.util
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

from solutions import RIGHT, WRONG

FOLDER = Path(__file__).parent / "exercises"


def load_checks():
    spec = importlib.util.spec_from_file_location("check_exercises", FOLDER / "check_exercises.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CHECKS = load_checks()


def judge(name, answer, monkeypatch):
    """Run the check of an exercise on the student's file with this answer in place of its blanks."""
    student = types.ModuleType(name)
    exec((FOLDER / f"{name}.py").read_text(encoding="utf-8") + "\n" + answer, student.__dict__)
    monkeypatch.setitem(sys.modules, name, student)
    getattr(CHECKS, f"test_{name[2:]}")()


def test_every_exercise_has_a_check_an_answer_and_wrong_answers():
    names = sorted(path.stem for path in FOLDER.glob("ex*.py"))
    assert len(names) == 10 and names == sorted(RIGHT) == sorted(WRONG) and all(len(WRONG[name]) >= 2 for name in names)
    assert sorted(name for name in dir(CHECKS) if name.startswith("test_")) == [f"test_{name[2:]}" for name in names]


@pytest.mark.parametrize("name", RIGHT)
def test_the_right_answer_is_accepted(name, monkeypatch):
    judge(name, RIGHT[name], monkeypatch)


@pytest.mark.parametrize("name, mistake", [(name, mistake) for name in WRONG for mistake in WRONG[name]])
def test_a_wrong_answer_is_rejected_with_a_hint(name, mistake, monkeypatch):
    assert WRONG[name][mistake] != RIGHT[name]
    with pytest.raises((AssertionError, ValueError, RuntimeWarning)) as error:
        judge(name, WRONG[name][mistake], monkeypatch)
    assert len(str(error.value).splitlines()[0]) > 20


@pytest.mark.parametrize("name", ("ex06_ties", "ex08_density", "ex10_forgetting"))
def test_an_exercise_with_something_to_measure_can_be_run(name):
    if "NotImplementedError" not in (FOLDER / f"{name}.py").read_text(encoding="utf-8"):
        pytest.skip("this exercise has been solved")
    done = subprocess.run([sys.executable, "-m", f"tests.exercises.{name}"], capture_output=True, text=True, cwd=FOLDER.parents[1])
    assert done.stderr.splitlines()[-1].startswith("NotImplementedError: ")


def test_a_student_sees_what_is_solved_and_a_hint_for_the_rest():
    """A hint for each exercise that still has its blanks; and the project's own run does not look there."""
    done = subprocess.run([sys.executable, "-m", "pytest", str(FOLDER)], capture_output=True, text=True, cwd=FOLDER.parents[1])
    lines = [line for line in done.stdout.splitlines() if line[:2].isdigit() and line[2:3] == " " and " failed in" not in line]
    assert [int(line[:2]) for line in lines] == list(range(1, 11))
    for line, path in zip(lines, sorted(FOLDER.glob("ex*.py"))):
        if re.search("NotImplementedError|= None", path.read_text(encoding="utf-8")):
            assert len(line) > 40 and not line.endswith("solved") and done.returncode == 1
    own = subprocess.run([sys.executable, "-m", "pytest", "-v", "-k", "quantile_equals or predict"], capture_output=True, text=True, cwd=FOLDER.parents[1]).stdout
    assert "check_exercises" not in own and "solved" not in own and "test_the_quantile_equals" in own
