"""Each of the silent bugs is caught by the project's own tests."""
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

import silent_bug
from silent_bug import BUGS, bug, copy_with_bug

NUMBERS = range(1, len(BUGS) + 1)
PAGE = (silent_bug.ROOT / "tests/exercises/README.md").read_text(encoding="utf-8")
ADS_ALONE = re.findall(r"\d+", re.search(r"([\d, ]+ and \d+) in\s+`run_ads.py` alone", PAGE)[1])


def run(folder, *words):
    """Python with these arguments, started in a folder."""
    return subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True)


def hunt(folder):
    """Print of each number what its test says, and the table in which it shows.

    All in one process, which starts but once. Last comes 0, in which all these tests are to pass,
    so that nothing of a bug was left behind; it has both tables.
    """
    for number in (*NUMBERS, 0):
        print("==", number, flush=True)
        copy = Path(folder, str(number))
        copy_with_bug(number, copy)
        tests = [bug(number)[1]] if number else dict.fromkeys(test for _, test, _ in BUGS)
        pytest.main(["-q", "-x", "--assert=plain", "--hypothesis-profile=any-example",
                     *(f"{copy}/tests/{test}" for test in tests)])
        import envs
        import run_ads
        import run_synthetic
        from lab.store import make
        tasks = ((run_ads, partial(envs.Ads, scale=0.01), 150), (run_synthetic, envs.Synthetic, 60))
        for script, task, steps in tasks:
            if number == 0 or (str(number) in ADS_ALONE) == (script is run_ads):
                print("--", {row: make(method, task, steps, 0, {}, {})["numbers"]
                             for row, method in script.METHODS.items()})
        for name, module in [*sys.modules.items()]:
            if (getattr(module, "__file__", None) or "").startswith(str(copy)):
                del sys.modules[name]                        # the next copy has its own


@pytest.fixture(scope="module")
def hunted(tmp_path_factory):
    """{number: [what its test says, *tables]}"""
    before = {path: path.read_bytes() for path in silent_bug.ROOT.glob("*.py")}
    done = run(None, __file__, str(tmp_path_factory.mktemp("hunt")))
    assert done.returncode == 0, done.stderr
    assert {path: path.read_bytes() for path in silent_bug.ROOT.glob("*.py")} == before
    parts = re.split(r"^== (\d+)", done.stdout, flags=re.M)
    return {int(number): re.split("^-- ", text, flags=re.M)
            for number, text in zip(parts[1::2], parts[2::2])}


@pytest.mark.parametrize("number", NUMBERS)
def test_the_bug_is_caught_by_the_test_of_its_answer(number, hunted):
    said = hunted[number][0]
    assert "1 failed" in said
    assert re.search(r"^E +(AssertionError|assert )", said, re.M), said[-2000:]


def test_without_a_bug_all_of_these_tests_pass(hunted):
    assert re.search(r"^\d+ passed in", hunted[0][0], re.M)


@pytest.mark.parametrize("number", NUMBERS)
def test_it_does_not_crash_and_changes_the_table_that_the_lecturers_page_names(number, hunted):
    _, table = hunted[number]
    assert table not in hunted[0]


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


@pytest.mark.parametrize("words", ["99 pytest", "1", "1 nothing.py", "--answers 1", "--answer",
                                   "1 pytest -xvv", "1 pytest --verbose"])
def test_a_wrong_call_is_one_line(words, capsys):
    with pytest.raises(SystemExit) as end:
        silent_bug.main(words.split())
    assert end.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


if __name__ == "__main__":
    hunt(sys.argv[1])
