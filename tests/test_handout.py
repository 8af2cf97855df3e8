"""Hand-outs: every cut is noticed, nothing is given away, the lines fit back, marks are fair."""
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "exercises"))

import handout
from silent_bug import bug
from solutions import RIGHT


def cuts(week):
    """The names of a set and their twins."""
    return [cut for name in handout.SETS[week] for cut in (name, handout.TWINS.get(name)) if cut]


def source(name):
    return (handout.ROOT / f"{name.split('.')[0]}.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*(name for week in handout.SETS for name in cuts(week)),
                                  "nn.MLPBag", "guideboot.replay", "envs.Synthetic"])
def test_putting_the_lines_back_gives_the_original(name):
    text, removed = handout.cut(source(name), name)
    assert "NotImplementedError" in text
    lines = text.splitlines(keepends=True)
    for start, length, body in reversed(removed):
        lines[start:start + length] = body
    assert "".join(lines) == source(name)


def checked(folder):
    """What the tests of a hand-out say, by the command of its README without -x: all failures."""
    command, = re.findall("^    .*python (-m pytest .*)", (folder / "README.md").read_text(), re.M)
    words = [word for word in shlex.split(command) if word != "-x"]
    words += ["--tb=line", "--hypothesis-profile=any-example"]
    done = subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True)
    return done.stdout


@pytest.mark.parametrize("week", list(handout.SETS)[1:])
def test_each_cut_makes_a_test_fail_with_its_name(week, tmp_path):
    """One cut may hide another, so what was named is put back and the rest must be named then."""
    left = cuts(week)
    while left:
        folder = tmp_path / str(len(left))
        handout.main([*left, "--out", str(folder)])
        said = checked(folder)
        missing = [name for name in left if f", {name}: " not in said]
        assert len(missing) < len(left), missing
        left = missing


@pytest.mark.parametrize("week", list(handout.SETS)[1:])
def test_no_distinctive_line_of_a_cut_is_anywhere_in_the_hand_out(week, tmp_path):
    """Shorter lines, such as `X = env.observe()`, are in many places."""
    handout.main([week, "--out", str(tmp_path / "new")])
    given = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.*")}
    assert given.keys() > {"guideboot.py", "test_nn.py", "README.md", "ex01_predict.py"}
    assert not given.keys() & {"solutions.py", "silent_bug_spoilers.py", "PAPER.md", "handout.py"}
    for name in cuts(week):
        for _, _, body in handout.cut(source(name), name)[1]:
            for code in (line.split("  #")[0].strip() for line in body):
                if len(code) > 34:
                    assert not [path for path, text in given.items() if code in text], code


def test_the_lab_lacks_nothing_but_answers_and_its_bug_hunt_has_no_spoilers_to_read(tmp_path):
    handout.main(["lab", "--out", str(tmp_path / "lab")])
    given = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.*")}
    assert given.keys() > {"PAPER.md", "tour.py"} and "solutions.py" not in given
    assert not [name for name, text in given.items() if "NotImplementedError(\"1 of" in text]
    answer = bug(3)[0]
    assert not [name for name, text in given.items() if answer[:30] in text]
    words = [sys.executable, str(tmp_path / "lab/tests/silent_bug.py"), "3", "--answer"]
    assert answer in subprocess.run(words, capture_output=True, text=True).stdout


WEIGHED = """def weighed(rng, r):
    w = np.array([rng.poisson(1, len(row)) for row in r])
    return w, np.where(r == 1, w, 0)


"""


def test_marks_are_for_functions_alone_and_for_exercises_by_their_own_check(tmp_path, capsys):
    """OBB written in another way, Giro wrong, exercise 4 solved, in exercise 5 the check edited."""
    student, names = tmp_path / "student", ["baselines.OBB.samples", "baselines.Giro.remember"]
    handout.main([*names, "--out", str(student)])
    exercises = student / "tests/exercises"
    for path, pattern, new in (
            (student / "baselines.py", 'raise .*"1 of 2.*', "return weighed(self.rng, r)"),
            (student / "baselines.py", 'raise .*"2 of 2.*', "history.append(x, r)"),
            (student / "baselines.py", "^class OBB", WEIGHED + "class OBB"),
            (exercises / "ex04_fused.py", "^if __name__", RIGHT["ex04_fused"] + "if __name__"),
            (exercises / "ex05_moments.py", "^def check.*", "def check():\n    return")):
        text, edits = re.subn(pattern, new, path.read_text(encoding="utf-8"), flags=re.M)
        assert edits == 1, pattern
        path.write_text(text, encoding="utf-8")
    capsys.readouterr()
    handout.main([*names, "--mark", str(student)])
    obb, giro, _, functions, *lines, score = capsys.readouterr().out.splitlines()
    assert obb.split() == ["baselines.OBB.samples", "right"]
    assert giro.startswith("baselines.Giro.remember") and " wrong: assert " in giro
    assert functions == "1 of 2 functions right"
    assert [line.split()[0] for line in lines if line.endswith(" solved")] == ["04"]
    assert score == "1 of 12 solved"


@pytest.mark.parametrize("name, out", [
    ("guideboot.nothing", "new"), ("nothing.at.all", "new"), ("guideboot", "new"),
    ("run_arms.example", "new"), ("guideboot.Agent.update_density", "new"), ("week1", "")])
def test_a_wrong_name_or_a_folder_that_exists_is_one_line_and_nothing_is_written(
        name, out, tmp_path, capsys):
    with pytest.raises(SystemExit) as end:
        handout.main([name, "--out", str(tmp_path / out)])
    assert end.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not list(tmp_path.iterdir())
