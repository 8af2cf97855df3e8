"""Each of the silent bugs is caught by the project's own tests."""
import re
import subprocess
import sys

import pytest

import silent_bug
from lab import tables
from silent_bug import BUGS, bug, copy_with_bug

NUMBERS = range(1, len(BUGS) + 1)


def run(folder, *words):
    """Python with these arguments, started in a folder."""
    return subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True)


def test_every_number_is_another_bug():
    assert len({bug(number)[0] for number in NUMBERS}) == len(BUGS)


@pytest.mark.parametrize("number", NUMBERS)
def test_the_bug_is_caught_by_the_test_of_its_answer(number, tmp_path):
    """In a copy of the project; without the bug the test passes in this very run."""
    copy_with_bug(number, tmp_path)
    test = f"tests/{bug(number)[1]}"
    done = run(tmp_path, "-m", "pytest", "-q", "-x", "--hypothesis-profile=any-example", test)
    assert "1 failed" in done.stdout
    assert re.search(r"^E +(AssertionError|assert )", done.stdout, re.M), done.stdout[-2000:]


PROBE = """
import envs, run_ads, run_synthetic
from functools import partial
from lab.store import make

runs = [(run_synthetic.glm_ucb, envs.Synthetic, 150)]
for name in ("GuideBoot", "Bootstrap", "OBB", "Giro"):
    runs.append((partial(run_synthetic.METHODS[name], learning_rate=0.03), envs.Synthetic, 150))
dropout = partial(run_ads.METHODS["replay", "MC-Dropout"], buffer=64)
runs.append((dropout, partial(envs.Ads, scale=0.01), 400))
print([make(*run, 0, {}, {})["numbers"] for run in runs])
"""


def probe(number, folder):
    """What methods of both scripts give with a bug, as a probe of a student's own."""
    done = run(folder, silent_bug.__file__, str(number), "python", "-c", PROBE)
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
    for number, out, options in ((0, "out/bug0", []), (1, "mine", ["--out=mine"])):
        done = run(tmp_path, silent_bug.__file__, str(number), "run_synthetic.py", "--runs", "1",
                   "--steps", "100", "--methods", "giro", "--workers", "1", *options)
        assert done.returncode == 0, done.stderr
        regret.append(tables.read_csv(tmp_path / out / "synthetic.csv").values())
    assert regret[0] != regret[1]
    assert {path: path.read_bytes() for path in silent_bug.ROOT.glob("*.py")} == before


def test_a_run_of_tests_shows_where_they_fail_but_not_their_names(tmp_path):
    file, name = bug(5)[1].split("::")
    words = (silent_bug.__file__, "5", "pytest", f"tests/{file}::{name}")
    shown = run(tmp_path, *words).stdout
    assert re.search(rf"^tests.{file} F", shown, re.M)
    assert name not in shown
    assert name in run(tmp_path, *words, "-rf").stdout


def test_an_answer_is_told_in_words(capsys):
    assert silent_bug.main(["--answer", "1"]) == 0
    assert capsys.readouterr().out == "{}\nGuarded by tests/{}\n".format(*bug(1))


@pytest.mark.parametrize("words", [[], ["x", "pytest"], ["99", "pytest"], ["1"],
                                   ["1", "nothing.py"], ["--answers", "1"], ["--answer"]])
def test_a_wrong_call_is_one_line(words, capsys):
    with pytest.raises(SystemExit) as end:
        silent_bug.main(words)
    assert end.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
