"""The README agrees with the code."""
import importlib
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lab import tables

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    \$ (.*)\n((?:    .*\n|\n(?=    [^$]))*)", README, re.M)


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The project without its history and results, but with the tuned values."""
    folder = tmp_path_factory.mktemp("copy")
    for path in ROOT.glob("*.py"):
        shutil.copy(path, folder)
    shutil.copytree(ROOT / "lab", folder / "lab", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "results").mkdir()
    shutil.copy(ROOT / "results" / "tuned.json", folder / "results")
    return folder


def test_every_function_and_class_that_the_readme_names_exists():
    names = set(re.findall(r"`(guideboot|baselines|envs|nn|run_arms)\.(\w+(?:\.\w+)?)`", README))
    names = {(module, path) for module, path in names if path != "py"}
    assert len(names) > 30
    for module, path in names:
        thing = importlib.import_module(module)
        for part in path.split("."):
            thing = getattr(thing, part)


def test_every_file_that_the_readme_links_is_there():
    for link in re.findall(r"\]\(([\w/.]+)\)", README):
        assert (ROOT / link).exists(), link


def test_no_placeholder_is_left():
    assert not re.findall(r"\b[A-Z]{8,}\b|\b(?:TODO|TBD|FIXME|XXX)\b|@|\{\{|\?\?", README)


def test_ci_runs_the_readmes_test_command():
    command, = [line.strip() for line in README.splitlines()
                if line.startswith("    python3 -m venv") and "pytest" in line]
    assert command in (ROOT / ".ci" / "run").read_text().splitlines()


@pytest.mark.parametrize("name", ["run_arms", "run_synthetic", "run_ads"])
def test_the_inline_script_metadata_names_numpy_alone(name):
    head = (ROOT / f"{name}.py").read_text().split("# ///\n")[0]
    assert head == '# /// script\n# requires-python = ">=3.10"\n# dependencies = ["numpy>=1.24"]\n'


def comparable(text, exact):
    """Without times, and without the digits of runs if they may differ."""
    text = re.sub(r"^ *\d+ (s|min)\. ", "", text, flags=re.M)
    if not exact:
        text = re.sub(r"[-+]?\d+\.\d+", "", text)
    return [" ".join(line.split()) for line in text.strip().splitlines()]


@pytest.mark.parametrize("command, output", COMMANDS, ids=[" ".join(c.split()[1:4]) for c, _ in COMMANDS])
def test_every_command_prints_what_the_readme_shows(command, output, copy):
    """Under another NumPy than that of the results the digits of runs may differ."""
    done = subprocess.run([sys.executable, *shlex.split(command)[1:]], cwd=copy, capture_output=True, text=True)
    assert command.startswith("python ") and done.returncode == 0, done.stderr
    record = tables.read_csv(ROOT / "results" / "synthetic.csv").all()[0]
    exact = record["numpy"] == np.__version__ or not re.search("run_.*(--runs|--compare)", command)
    assert comparable(done.stdout, exact) == comparable(output, exact)


def test_the_readmes_own_script_runs(copy):
    text, = re.findall(r"```python\n(import numpy.*?)```", README, re.S)
    (copy / "mine.py").write_text(text.replace("steps=2000, runs=10", "steps=20, runs=2"))
    done = subprocess.run([sys.executable, "mine.py"], cwd=copy, capture_output=True, text=True)
    assert done.returncode == 0 and "Mine" in done.stdout and (copy / "out" / "mine" / "shelf.svg").exists()
