"""Each of the silent bugs is caught by the project's own tests."""
import re

import pytest

import silent_bug
from silent_bug import BUGS, bug, copy_with_bug

NUMBERS = range(1, len(BUGS) + 1)
PAGE = (silent_bug.ROOT / "tests/exercises/README.md").read_text(encoding="utf-8")
ADS_ALONE = re.findall(r"\d+", re.search(r"([\d, ]+ and \d+) in\s+`run_ads.py` alone", PAGE)[1])
TASKS = {"run_synthetic": "envs.Synthetic, 60", "run_ads": "partial(envs.Ads, scale=0.01), 150"}
PROBE = """
import pytest
for test in {tests}:
    pytest.main(["-q", "-x", "--assert=plain", "--hypothesis-profile=any-example", test])
import envs, {script}
from functools import partial
from lab.store import make
task, steps = {task}
print("--", [make(method, task, steps, 0, dict(), dict())["numbers"]
            for method in {script}.METHODS.values()])
"""


@pytest.fixture(scope="module")
def probed(python):
    """What these tests say in a folder, and what the methods of a script come to there."""
    def run(folder, script, *tests):
        code = PROBE.format(tests=tests, script=script, task=TASKS[script])
        return python(folder, "-c", code).stdout.split("\n--" if tests else "--")
    return run


@pytest.fixture(scope="module")
def right(probed):
    """Both tables without a bug."""
    return {script: probed(silent_bug.ROOT, script)[1] for script in TASKS}


@pytest.mark.parametrize("number", NUMBERS)
def test_the_test_of_its_answer_catches_the_bug_which_shows_in_the_table_that_the_page_names(
        number, right, probed, tmp_path):
    """In a copy, where nothing crashes; without the bug the test passes in this very run."""
    copy_with_bug(number, tmp_path)
    script = "run_ads" if str(number) in ADS_ALONE else "run_synthetic"
    said, table = probed(tmp_path, script, f"tests/{bug(number)[1]}")
    assert "1 failed" in said
    assert re.search("^E +AssertionError", said, re.M), said[-2000:]
    assert table != right[script]


def test_a_probe_imports_the_bug_wherever_its_file_is(tmp_path, python):
    """Bug 5: the first of equal scores. Also from the project's folder, where `-c` looks first."""
    code = "import guideboot, numpy; print({guideboot.argmax(numpy.ones(9), numpy.random)})"
    (tmp_path / "mine.py").write_text(code)
    for folder, words in ((tmp_path, ["mine.py"]), (silent_bug.ROOT, ["-c", code])):
        assert python(folder, silent_bug.__file__, "5", "python", *words).stdout == "{0}\n"


def test_a_run_of_tests_shows_where_they_fail_but_not_their_names(tmp_path, python):
    file, name = bug(5)[1].split("::")
    words = (silent_bug.__file__, "5", "pytest", f"tests/{file}::{name}")
    shown = python(tmp_path, *words, code=1).stdout
    assert re.search(rf"^tests.{file} F", shown, re.M)
    assert name not in shown
    assert name in python(tmp_path, *words, "-rf", code=1).stdout


def test_an_answer_is_told_in_words_and_each_number_has_another(capsys):
    assert len({bug(number)[0] for number in NUMBERS}) == len(BUGS)
    for words in (["--answer", "1"], ["1", "--answer"]):
        assert silent_bug.main(words) == 0
        assert capsys.readouterr().out == "{}\nGuarded by tests/{}\n".format(*bug(1))


@pytest.mark.parametrize("words", ["99 pytest", "1", "1 nothing.py", "--answers 1", "--answer",
                                   "1 pytest -xvv", "1 pytest --verbose"])
def test_a_wrong_call_is_one_line(words, capsys):
    with pytest.raises(SystemExit) as end:
        silent_bug.main(words.split())
    assert end.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
