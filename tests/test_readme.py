"""README.md and PAPER.md agree with the code: names, marks, quoted statements, printed outputs."""
import importlib
import operator
import re
import shlex
import textwrap
from pathlib import Path

import numpy as np
import pytest

import guideboot
from envs import Synthetic
from nn import LogisticBag
from silent_bug import copy_with_bug

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAPER = (ROOT / "PAPER.md").read_text(encoding="utf-8")
FOLD = r"(?:\n<details>.*\n\n)?"                               # what is printed may be in a fold
OUTPUT = r"(?:    .*\n|\n(?=    [^$]))*"
COMMANDS = re.findall(rf"^    \$ (.*)\n{FOLD}({OUTPUT})", README + PAPER, re.M)
LISTING = {1: range(1, 24), 2: range(1, 13), 3: range(1, 25)}  # the lines of every algorithm


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The project without its history, as a newcomer has it."""
    folder = tmp_path_factory.mktemp("copy")
    copy_with_bug(0, folder)
    return folder


def python_block(start):
    """The one block of Python in the README that matches this at its start."""
    block, = re.findall(rf"```python\n({start}.*?)```", README, re.S)
    return block


def test_every_name_and_every_file_that_is_mentioned_exists():
    named = re.findall(r"`(guideboot|baselines|envs|nn|run_arms)\.(\w+(?:\.\w+)?)`", README + PAPER)
    names = {(module, path) for module, path in named if path != "py"}
    assert len(names) > 30
    for module, path in names:
        operator.attrgetter(path)(importlib.import_module(module))
    files = re.findall(r"\]\(([\w/.]+)\)|`([\w/]+\.(?:py|md))`", README + PAPER)
    for linked, written in files:
        name = linked or written
        assert (ROOT / name).exists() or name == "mine.py", name


def comparable(text):
    """Without times and layout."""
    text = re.sub(r"^ *\d+ (s|min)\. ", "", text, flags=re.M)
    return [" ".join(line.split()) for line in text.strip().splitlines()]


@pytest.mark.parametrize("command, output", COMMANDS,
                         ids=[" ".join(command.split()[1:4]) for command, _ in COMMANDS])
def test_every_command_prints_what_is_shown(command, output, copy, python):
    printed = python(copy, *shlex.split(command)[1:]).stdout
    assert comparable(printed) == comparable(output)


def test_ci_runs_the_readmes_test_command_and_uv_has_numpy_alone_to_set_up():
    command, = re.findall(r"^    (python3 -m venv .* pytest -q)$", README, re.M)
    assert command in (ROOT / ".ci" / "run").read_text().splitlines()
    for name in ("run_synthetic.py", "run_ads.py", "run_arms.py"):
        head, _ = (ROOT / name).read_text().split("# ///\n")
        assert head.endswith('>=3.10"\n# dependencies = ["numpy>=1.24"]\n')


def test_algorithm_1_is_shown_as_the_code_has_it():
    block = textwrap.indent(python_block("history = History"), "    ")
    assert block in (ROOT / "guideboot.py").read_text()


@pytest.mark.parametrize("start, method", [("import numpy", "Mine"),
                                           ("from functools", "GuideBoot")])
def test_the_readmes_own_script_and_its_table_as_a_task_run(copy, python, start, method):
    (copy / "mushroom.csv").write_text("cap,edibility\n" + "a,x\nb,y\n" * 15)
    text, changed = re.subn(r"steps=\d+, runs=\d+", "steps=20, runs=1", python_block(start))
    assert changed == 1
    (copy / "mine.py").write_text(text)
    assert method in python(copy, "mine.py").stdout


def test_the_readmes_live_system_learns():
    """The lines as they stand, on requests of the synthetic task."""
    env = Synthetic(0)
    bag = LogisticBag(35, [np.random.default_rng(k) for k in range(5)])
    before = bag.published.copy()
    scope = dict(bag=bag, rng=np.random.default_rng(9), features=35,
                 requests=(env.observe() for _ in range(600)), show=lambda x: int(x[0] == 3))
    exec(python_block("from guideboot import GuideBoot"), scope)
    assert (bag.published != before).any()
    assert len(scope["r_on"]) == 88


def test_the_tour_runs_whole_or_pasted_part_by_part_and_draws_the_posteriors(tmp_path, python):
    tour = ROOT / "tests/exercises/tour.py"
    assert "0.2577" in python(tmp_path, str(tour)).stdout
    assert (tmp_path / "out/posteriors.svg").exists()
    pasted = tour.read_text(encoding="utf-8").split("# %% Section 5.2")[0]
    done = python(ROOT, "-i", input=pasted)
    assert "6. weights of" in done.stdout and "Error" not in done.stderr


# ---------------------------------------------------------------- PAPER.md

def test_algorithm_2_is_the_online_loop_with_one_model_and_no_fakes():
    """Written out, in order of arrival. (Not in test_guideboot.py, which hand-outs have.)"""
    env = Synthetic(3)
    model, same = (LogisticBag(35, [np.random.default_rng(5)]) for _ in range(2))
    for _ in range(5):                                           # lines 2-12
        X_on, r_on = [], []
        for _ in range(6):
            X = env.observe()
            a = int(model.scores(0, X).argmax())
            X_on.append(X[a])
            r_on.append(env.pull(a))
        for half in (slice(0, 3), slice(3, 6)):
            model.update(np.array(X_on)[None, half], np.ones((1, 3)), np.array(r_on)[None, half])
        model.publish()
    agent = guideboot.Agent(same, np.random.default_rng(0))
    guideboot.online(agent, Synthetic(3), 30, 6, 2)
    assert (same.theta == model.theta).all()


def marked(algorithm):
    """{line of the listing: the statements that carry its mark}"""
    found = {}
    for line in [*(ROOT / "guideboot.py").open(), *(ROOT / "nn.py").open()]:
        code, _, comment = line.partition("  # ")
        for first, last in re.findall(rf"Alg{algorithm}:(\d+)(?:-(\d+))?", comment):
            for number in range(int(first), int(last or first) + 1):
                found.setdefault(number, []).append(code.strip())
    return found


@pytest.mark.parametrize("algorithm", LISTING)
def test_every_line_of_a_listing_has_a_row_that_quotes_the_statement_under_its_mark(algorithm):
    section = PAPER.split(f"### Algorithm {algorithm}")[1].split("\n#")[0]
    rows = re.findall(r"^\| (\d+) \| .+? \| `(.+?)` \|", section, re.M)
    assert [int(number) for number, _ in rows] == sorted(LISTING[algorithm])
    found = marked(algorithm)
    assert sorted(found) == sorted(LISTING[algorithm])
    for number, statement in rows:
        assert statement in found[int(number)], (number, statement, found[int(number)])
