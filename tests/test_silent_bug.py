"""Each of the silent bugs is caught by the project's own tests."""
import re
import subprocess
import sys

import pytest

import silent_bug
from silent_bug import BUGS, bug, copy_with_bug

NUMBERS = range(1, len(BUGS) + 1)


def run(folder, *words):
    """Python with these arguments, started in a folder."""
    return subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize("number", NUMBERS)
def test_the_bug_is_caught_by_the_test_of_its_answer(number, tmp_path):
    """In a copy of the project; without the bug the test passes in this very run."""
    copy_with_bug(number, tmp_path)
    test = f"tests/{bug(number)[1]}"
    done = run(tmp_path, "-m", "pytest", "-q", "-x", "--hypothesis-profile=any-example", test)
    assert "1 failed" in done.stdout
    assert re.search(r"^E +(AssertionError|assert )", done.stdout, re.M), done.stdout[-2000:]


PROBES = {
    "run_synthetic": "task, steps = envs.Synthetic, 150",
    "run_ads": "task, steps = functools.partial(envs.Ads, scale=0.02), 300",
}


def table(number, script):
    """What the methods of a script come to with a bug, as text."""
    code = (f"import envs, functools, {script}; from lab.store import make; {PROBES[script]};"
            "print({row: make(method, task, steps, 0, {}, {})['numbers'] "
            f"for row, method in {script}.METHODS.items()}})")
    done = run(silent_bug.ROOT, silent_bug.__file__, str(number), "python", "-c", code)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def right():
    """Both tables without a bug."""
    return {script: table(0, script) for script in PROBES}


@pytest.mark.parametrize("number", NUMBERS)
def test_it_does_not_crash_and_changes_the_table_that_the_lecturers_page_names(number, right):
    before = {path: path.read_bytes() for path in silent_bug.ROOT.glob("*.py")}
    page = (silent_bug.ROOT / "tests/exercises/README.md").read_text(encoding="utf-8")
    ads_alone = re.search(r"([\d, ]+ and \d+) in\s+`run_ads.py` alone", page).group(1)
    script = "run_ads" if str(number) in re.findall(r"\d+", ads_alone) else "run_synthetic"
    assert table(number, script) != right[script]
    assert {path: path.read_bytes() for path in silent_bug.ROOT.glob("*.py")} == before


def test_a_probe_imports_the_bug_wherever_its_file_is(tmp_path):
    """Bug 5: the first of equal scores. Also from the project's folder, where `-c` looks first."""
    code = "import guideboot, numpy; print({guideboot.argmax(numpy.ones(9), numpy.random)})"
    (tmp_path / "mine.py").write_text(code)
    for folder, words in ((tmp_path, ["mine.py"]), (silent_bug.ROOT, ["-c", code])):
        assert run(folder, silent_bug.__file__, "5", "python", *words).stdout == "{0}\n"


def test_a_run_of_tests_shows_where_they_fail_but_not_their_names(tmp_path):
    file, name = bug(5)[1].split("::")
    words = (silent_bug.__file__, "5", "pytest", f"tests/{file}::{name}")
    shown = run(tmp_path, *words).stdout
    assert re.search(rf"^tests.{file} F", shown, re.M)
    assert name not in shown
    assert name in run(tmp_path, *words, "-rf").stdout


def test_an_answer_is_told_in_words_each_number_has_another_and_nothing_asks_for_help(capsys):
    assert len({bug(number)[0] for number in NUMBERS}) == len(BUGS)
    for words in (["--answer", "1"], ["1", "--answer"]):
        assert silent_bug.main(words) == 0
        assert capsys.readouterr().out == "{}\nGuarded by tests/{}\n".format(*bug(1))
    with pytest.raises(SystemExit):
        silent_bug.main([])
    assert "Begin with the tables" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["x", "pytest"], ["99", "pytest"], ["1"],
                                   ["1", "nothing.py"], ["--answers", "1"], ["--answer"],
                                   ["1", "pytest", "-v"], ["1", "pytest", "-xvv"],
                                   ["1", "pytest", "--verbose"]])
def test_a_wrong_call_is_one_line(words, capsys):
    with pytest.raises(SystemExit) as end:
        silent_bug.main(words)
    assert end.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
