"""The exercises can be solved, and their checks reject the common wrong answers.

The answers, right and wrong, are in solutions.py.
"""
import re
import runpy
import subprocess
import sys
import types
from pathlib import Path

import pytest

from solutions import RIGHT, WRONG

FOLDER = Path(__file__).parent / "exercises"
ROOT = FOLDER.parents[1]
CHECKS = runpy.run_path(str(FOLDER / "check_exercises.py"))


def source(name):
    """A student's file."""
    return (FOLDER / f"{name}.py").read_text(encoding="utf-8")


def judge(name, answer, monkeypatch):
    """Run the check of an exercise on the student's file with this answer for its blanks."""
    student = types.ModuleType(name)
    exec(source(name) + "\n" + answer, student.__dict__)
    monkeypatch.setitem(sys.modules, name, student)
    CHECKS[f"test_{name[2:]}"]()


def run(*words):
    """Python with these arguments, started in the project's folder."""
    return subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True)


def test_every_exercise_has_a_check_an_answer_and_wrong_answers():
    names = sorted(path.stem for path in FOLDER.glob("ex*.py"))
    assert len(names) == 10
    assert sorted(RIGHT) == sorted(WRONG) == names
    assert min(len(answers) for answers in WRONG.values()) >= 2
    checks = sorted(name for name in CHECKS if name.startswith("test_"))
    assert checks == [f"test_{name[2:]}" for name in names]


@pytest.mark.parametrize("name", RIGHT)
def test_the_right_answer_is_accepted(name, monkeypatch):
    judge(name, RIGHT[name], monkeypatch)


@pytest.mark.parametrize("name, mistake",
                         [(name, mistake) for name in WRONG for mistake in WRONG[name]])
def test_a_wrong_answer_is_rejected_with_a_hint(name, mistake, monkeypatch):
    with pytest.raises((AssertionError, ValueError, RuntimeWarning)) as error:
        judge(name, WRONG[name][mistake], monkeypatch)
    assert len(str(error.value).splitlines()[0]) > 20


@pytest.mark.parametrize("name", ("ex06_ties", "ex08_density", "ex10_forgetting"))
def test_an_exercise_with_something_to_measure_can_be_run(name):
    if "NotImplementedError" not in source(name):
        pytest.skip("this exercise has been solved")
    done = run("-m", f"tests.exercises.{name}")
    assert done.stderr.splitlines()[-1].startswith("NotImplementedError: ")


def test_a_student_sees_what_is_solved_and_a_hint_for_the_rest():
    """A hint for each exercise that still has its blanks."""
    done = run("-m", "pytest", str(FOLDER))
    lines = [line for line in done.stdout.splitlines()
             if re.match(r"\d\d ", line) and " failed in" not in line]
    assert [int(line[:2]) for line in lines] == list(range(1, 11))
    for line, path in zip(lines, sorted(FOLDER.glob("ex*.py"))):
        if re.search("NotImplementedError|= None", source(path.stem)):
            assert len(line) > 40
            assert not line.endswith("solved")
