"""Hand-outs: every cut is noticed, nothing is given away, and the lines fit back."""
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "exercises"))

import handout

NAMES = [name for names in handout.SETS.values() for name in names]


def source(name):
    return (handout.ROOT / f"{name.split('.')[0]}.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*NAMES, "nn.MLPBag", "guideboot.replay", "envs.Synthetic"])
def test_putting_the_lines_back_gives_the_original(name):
    text, removed = handout.cut(source(name), name)
    assert "NotImplementedError" in text
    lines = text.splitlines(keepends=True)
    for first, length, body in reversed(removed):
        lines[first - 1:first - 1 + length] = body
    assert "".join(lines) == source(name)


@pytest.fixture(scope="module")
def handed_out(tmp_path_factory):
    """{set: its folder}"""
    folders = {week: tmp_path_factory.mktemp(week) / "handout" for week in handout.SETS}
    for week, folder in folders.items():
        assert handout.main([week, "--out", str(folder)]) is None
    return folders


@pytest.mark.parametrize("week", handout.SETS)
def test_each_cut_makes_a_test_fail_with_its_name(week, handed_out):
    """By the commands of the hand-out's own README, without -x so that all failures are seen."""
    names = handout.SETS[week]
    readme = (handed_out[week] / "README.md").read_text(encoding="utf-8")
    files = re.findall(r"tests/test_\w+\.py", readme)
    modules = dict.fromkeys(name.split(".")[0] for name in names)
    assert files == [f"tests/test_{module}.py" for module in modules]
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "--tb=line", "-k", "not listing",
                           "--hypothesis-profile", "any-example", *files],
                          cwd=handed_out[week], capture_output=True, text=True)
    for name in names:
        assert f"NotImplementedError: {name}: " in done.stdout, name


@pytest.mark.parametrize("week", handout.SETS)
def test_no_distinctive_line_of_a_cut_is_anywhere_in_the_hand_out(week, handed_out):
    given = {path: path.read_text(encoding="utf-8") for path in handed_out[week].rglob("*.*")
             if path.suffix in (".py", ".md")}
    assert {path.name for path in given} >= {"guideboot.py", "test_nn.py", "README.md"}
    for name in handout.SETS[week]:
        for _, _, body in handout.cut(source(name), name)[1]:
            for line in body:
                code = line.split("  #")[0].strip()
                if len(code) > 40:
                    assert not [path.name for path, text in given.items() if code in text], code


@pytest.mark.parametrize("name", ["guideboot.nothing", "nothing.at.all", "guideboot", "week9"])
def test_a_wrong_name_is_one_line_and_writes_nothing(name, tmp_path, capsys):
    with pytest.raises(SystemExit) as end:
        handout.main([name, "--out", str(tmp_path / "new")])
    assert end.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_folder_that_exists_is_not_touched(tmp_path):
    with pytest.raises(SystemExit):
        handout.main(["week1", "--out", str(tmp_path)])
    assert not list(tmp_path.iterdir())
