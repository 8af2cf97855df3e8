"""Hand-outs: every cut is noticed, nothing is given away, the lines fit back, marks are fair."""
import difflib
import re
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "exercises"))

import handout
from silent_bug import bug
from solutions import RIGHT, SEEDS

WEEKS = list(handout.SETS)[1:]
EXERCISES = handout.ROOT / "tests/exercises"
GIVEN = {                                                    # lines that may be elsewhere
    "self.count = np.zeros(features)": "AdCount, the pattern of a density, has it too",
    "flat = X + self.offset": "the other bag has it too",
    "a = agent.choose(X, t)": "replay, Algorithm 1, has it too",
    "check_choice(a, len(X))": "likewise",
    "count = self.density(X)": "DeepUCB1 and DeepTSBeta both have it",
    "check_density(count, (len(X),))": "likewise"}


def cuts(week):
    """The names of a set and their twins."""
    return list(dict.fromkeys(cut for name in handout.SETS[week] for cut in handout.twins(name)))


def source(name):
    return (handout.ROOT / f"{name.split('.')[0]}.py").read_text(encoding="utf-8")


def code(name):
    """The lines of code that are cut with a name."""
    lines = difflib.ndiff(source(name).splitlines(), handout.cut(source(name), name).splitlines())
    return [line[1:].split("  #")[0].strip() for line in lines if re.match(r"- +[^ #]", line)]


@pytest.mark.parametrize("name", [*(name for week in WEEKS for name in cuts(week)),
                                  "nn.MLPBag", "guideboot.replay", "envs.Synthetic"])
def test_nothing_but_what_is_named_is_cut(name):
    text = handout.cut(source(name), name)
    assert "NotImplementedError" in text
    assert handout.put(text, name, source(name)) == source(name)


def test_each_cut_makes_a_test_of_its_module_fail_with_its_name(tmp_path, python, monkeypatch):
    """By the command of the hand-out, without -x. One cut may hide another, so what was named is
    put back and the rest must be named then."""
    monkeypatch.setenv("COLUMNS", "400")
    left = [name for week in WEEKS for name in cuts(week)]
    while left:
        folder = tmp_path / str(len(left))
        handout.write(left, folder)                          # without their twins
        command, = re.findall(" .*python (-m pytest.*)", (folder / "README.md").read_text())
        words = [*command.replace(" -x", "").split(), "--tb=no", "--assert=plain"]
        said = python(folder, *words, "--hypothesis-profile=one-example", code=1).stdout
        missing = [name for name in left if not re.search(
            rf"^FAILED tests/test_{name.split('.')[0]}\.py.*, {name}: ", said, re.M)]
        assert len(missing) < len(left), missing
        left = missing


@pytest.mark.parametrize("week", WEEKS)
def test_no_distinctive_line_of_a_cut_is_anywhere_in_the_hand_out(week, tmp_path):
    """Shorter lines, such as `X = env.observe()`, are in many places."""
    handout.main([week, "--out", str(tmp_path / "new")])
    given = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.*")}
    assert given.keys() > {"guideboot.py", "test_nn.py", "README.md", "ex01_predict.py"}
    assert not given.keys() & {"solutions.py", "silent_bug_spoilers.py", "PAPER.md", "handout.py"}
    for line in (line for name in cuts(week) for line in code(name)):
        if len(line) >= 22 and line not in GIVEN:
            assert not [path for path, text in given.items() if line in text], line


def test_what_gives_a_cut_away_is_cut_with_it_and_the_lecturers_page_has_both():
    for name, with_it in (("nn.ServedAds.scores", "nn.network"),
                          ("guideboot.Harmonic.__call__", "guideboot.FastHarmonic")):
        assert handout.twins(name) == [name, with_it]
    page = (EXERCISES / "README.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(week\d)` \| (.*?) \|", page, re.M))
    assert list(rows) == WEEKS
    for week in WEEKS:
        assert re.findall("`(.*?)`", rows[week]) == [cut.partition(".")[2] for cut in cuts(week)]


def test_the_lab_lacks_nothing_but_answers_and_its_bug_hunt_has_no_spoilers_to_read(
        tmp_path, python):
    handout.main(["lab", "--out", str(tmp_path / "lab")])
    given = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.*")}
    assert given.keys() > {"PAPER.md", "tour.py"}
    assert not given.keys() & {"solutions.py", "why.py"}     # the latter tells exercise 5
    assert not [name for name, text in given.items() if "NotImplementedError(\"1 of" in text]
    answer = bug(3)[0]
    assert not [name for name, text in given.items() if answer[:30] in text]
    assert answer in python(tmp_path, "lab/tests/silent_bug.py", "3", "--answer").stdout


def test_an_answer_in_place_of_a_blank_is_taken_out_and_a_hint_stays(monkeypatch):
    monkeypatch.setitem(RIGHT, "mine", "A = 1\nB = 2\nclass C:\n    pass")
    hint = "    def f(self):\n        raise NotImplementedError('a '\n 'hint')\n"
    text = "# What?\nA, B = {}\n\nclass C:\n" + hint + "    def g(self):\n        {}\n"
    blank = text.format("None, None", handout.BLANK)
    filled = text.format("1, 2    # why", "x = 1    # how\n\n        return x")
    assert handout.emptied(filled, "mine") == handout.emptied(blank, "mine") == blank


def test_marks_are_for_functions_alone_and_for_exercises_by_their_own_check(
        tmp_path, capsys, monkeypatch):
    """OBB written in another way, Giro wrong, exercise 4 solved, in exercise 5 the check edited.
    Of a second student there is one file. The lecturer's own answers, here in place, are nobody's.
    """
    handout.copy_project(root := tmp_path / "project")
    shutil.copy(handout.ROOT / "README.md", root)
    for path in root.glob("tests/exercises/ex*.py"):
        path.write_text(path.read_text(encoding="utf-8") + RIGHT[path.stem], encoding="utf-8")
    monkeypatch.setattr(handout, "ROOT", root)
    student, names = tmp_path / "student", ["baselines.OBB.samples", "baselines.Giro.remember"]
    handout.main([*names, "--out", str(student)])
    for file, pattern, new in (
            ("baselines.py", 'raise .*"1 of 2.*', "return mine(self.rng.poisson(1, r.shape), r)"),
            ("baselines.py", 'raise .*"2 of 2.*', "history.append(x, r)"),
            ("baselines.py", "^class OBB", "def mine(w, r):\n    return w, w * r\n\n\nclass OBB"),
            ("tests/exercises/ex04_moments.py", "^if", RIGHT["ex04_moments"] + "if"),
            ("tests/exercises/ex05_pull.py", "^MEAN_IS = None", "MEAN_IS = 'above'"),
            ("tests/exercises/ex05_pull.py", "^def check.*", "def check():\n    return")):
        text, edits = re.subn(pattern, new, (student / file).read_text("utf-8"), flags=re.M)
        assert edits == 1, pattern
        (student / file).write_text(text, encoding="utf-8")
    (other := tmp_path / "other").mkdir()
    shutil.copy(student / "guideboot.py", other)
    capsys.readouterr()
    handout.main([*names, "--mark", str(student), str(other)])
    printed = capsys.readouterr().out.splitlines()
    said = dict(line.split(maxsplit=1) for line in printed[2:15])
    assert said.pop("baselines.OBB.samples") == "right"
    assert said.pop("baselines.Giro.remember").startswith("wrong: assert ")
    assert said.pop("ex04_moments") == "solved"
    assert said.pop("ex05_pull").startswith("write down a guess for NO_PULL_AT")
    assert [*said.values()] == ["nothing filled in"] * 9
    assert printed[-2:] == [f"{student}: 1 of 2 functions right, 1 of 11 exercises solved",
                            f"{other}: 0 of 2 functions right, 0 of 11 exercises solved"]
    text = handout.not_theirs((EXERCISES / "ex06_density.py").read_text("utf-8"), "ex06_density")
    assert text.endswith(f"check.__defaults__ = ({SEEDS['ex06_density']},)\n")


def test_a_file_that_ends_python_or_never_ends_costs_itself_alone(tmp_path, monkeypatch):
    handout.main(["lab", "--out", str(tmp_path / "student")])
    (tmp_path / "student/baselines.py").write_text("import os\nos._exit(0)\n")
    assert handout.NO_END in handout.verdict(
        handout.of_function, tmp_path / "student", "baselines.Giro", ["baselines.Giro"])
    for line, seconds, said in (("exit(0)", 99, handout.NO_END), ("x = (", 99, "SyntaxError"),
                                ("__import__('time').sleep(99)", 1, "no end after 1 s")):
        monkeypatch.setattr(handout, "SECONDS", seconds)
        path = tmp_path / "student/tests/exercises/ex04_moments.py"
        path.write_text(f"{RIGHT['ex04_moments']}\n{line}\n", encoding="utf-8")
        assert said in handout.verdict(handout.of_exercise, tmp_path / "student", path.stem)


@pytest.mark.parametrize("words, out, says", [
    ("guideboot.nothing", "new", "got 'guideboot.nothing'"), ("guideboot", "new", "functions of"),
    ("guideboot.Agent.update_density", "new", "got"), ("run_arms.example", "new", "got"),
    ("week5", "new", "week3, week4, got 'week5'"), ("week1", "", "must be a new folder"),
    ("lab week1", "new", "no other names"), ("week1 --mark nobody", "new", "got 'nobody'")])
def test_a_wrong_name_or_a_folder_that_exists_is_one_line_and_nothing_is_written(
        words, out, says, tmp_path, capsys):
    with pytest.raises(SystemExit) as end:
        handout.main([*words.split(), "--out", str(tmp_path / out)])
    assert end.value.code == 2
    said = capsys.readouterr().err
    assert says in said and said.count("\n") == 1
    assert not list(tmp_path.iterdir())
