"""Hand-outs cut from the real modules: a copy of the project without the bodies of some functions.

  python tests/exercises/handout.py week1                     writes the folder out/week1
  python tests/exercises/handout.py guideboot.learn nn.MLPBag.gradient --out mine
  python tests/exercises/handout.py lab                       the whole project, without answers
  python tests/exercises/handout.py week1 --mark FOLDER       which functions of it are right?

Signatures, docstrings and the marks of the listings stay; a body raises NotImplementedError with
the place in the paper. The project's own tests are the check. Answers, spoilers and history are
left out. The project itself is never changed.

To mark, each function is tested alone: in the student's module, but with the project's own bodies
of the others of the set, and with the project's other files and tests. Exercises get the project's
own check, too. It runs what students wrote, with your rights.
"""
import argparse
import ast
import base64
import re
import shutil
import subprocess
import sys
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
SETS = {
    "lab": (),
    "week1": ("guideboot.guidance", "guideboot.Harmonic", "guideboot.fake_samples",
              "guideboot.guided_distribution", "guideboot.beta_moments"),
    "week2": ("nn.log_loss_gradient", "nn.LogisticBag.gradient", "guideboot.argmax",
              "guideboot.Agent.choose", "guideboot.History.resample"),
    "week3": ("guideboot.serve", "guideboot.learn", "baselines.OBB.samples",
              "baselines.Giro.remember", "baselines.DeepUCB1.choose"),
    "week4": ("nn.network", "nn.MLPBag.gradient", "baselines.TSBLR.draw",
              "baselines.GLMUCB.bounds"),
}
TWINS = {"guideboot.Harmonic": "guideboot.FastHarmonic"}         # either gives the other away
MODULES = ("guideboot", "nn", "baselines", "envs")
FILES = ("run_*.py", "lab/*.py", "results/tuned.json", "pytest.ini", "requirements.txt",
         "tests/conftest.py", "tests/exercises/*.*",
         *(f"{module}.py" for module in MODULES),
         *(f"tests/test_{module}.py" for module in MODULES))
LAB_FILES = (*FILES, "PAPER.md", "tests/silent_bug.py")
LEFT_OUT = ("handout.py", "solutions.py", "README.md")
PLACE = r"Eq\. \d|Alg\. \d line \d+|Sections? \d(?:\.\d)?(?: and \d)?|Alg(?:orithm )?\d(?::\d+)?"
SPOILERS = "tests/silent_bug_spoilers.py"
SETUP = r"    python3 -m venv .*?requirements\.txt"                      # a line of the README
PAGE = """# Hand-out

Write the bodies of these functions, in this order, beside the paper (Pan et al., WWW 2021, doi
10.1145/3442381.3449987). The docstrings say what is wanted; a mark such as `# Alg3:12` is line
12 of Algorithm 3, at the statement that does it. Names that a docstring mentions are there to be
called. (PAPER.md and the results, which some comments mention, are in the whole project only.)

{names}

Set up, once; then check, as often as you like (on Windows write `.venv\\Scripts` for `.venv/bin`;
where a hint says `python`, it is this one).
It stops at the first test that fails, and a line with `E` says what is missing or wrong. (`not
listing` leaves out a test of the marks, which says nothing about your code.)

{setup}

    .venv/bin/python -m pytest -x -q --tb=short -k "not listing" {tests}

When it passes, `.venv/bin/python tests/exercises/tour.py` runs on what you wrote. The exercises,
`.venv/bin/python -m pytest tests/exercises`, need some of these functions too.
"""
LAB_PAGE = """# Lab

The project to be read beside the paper (Pan et al., WWW 2021, doi 10.1145/3442381.3449987), line by
line in PAPER.md, without the answers to its exercises. Set up, once; then take the tour, see which
exercises (the files `ex01_predict.py` and so on) are solved, and how the bug hunt goes:

{setup}
    .venv/bin/python tests/exercises/tour.py
    .venv/bin/python -m pytest tests/exercises
    .venv/bin/python tests/silent_bug.py

On Windows write `.venv\\Scripts` for `.venv/bin`.
"""


def named(text, name):
    """The syntax tree of a function or class, by its name; and the functions with a body in it."""
    node = ast.parse(text)
    for part in name.split(".")[1:]:
        inner = [n for n in getattr(node, "body", ()) if getattr(n, "name", None) == part]
        node = inner[0] if inner else None
    nodes = node.body if isinstance(node, ast.ClassDef) else [node]
    functions = [n for n in nodes if isinstance(n, ast.FunctionDef)]
    return node, [n for n in functions if len(n.body) > (ast.get_docstring(n) is not None)]


def place(text, node):
    """The place in the paper that is named first: in the lines, the heading above, the module."""
    lines = ast.get_source_segment(text, node)
    headings = re.findall("^# ---.*", text.partition(lines)[0], re.M)
    first = re.search(PLACE, "".join([lines, *headings[-1:], text])).group()
    return re.sub(r"Alg(\d):", r"Algorithm \1, line ", first)


def cut(text, name, number="1 of 1"):
    """The text of a module without the bodies of a name; what was cut: [(start, length, lines)].

    The lines stood where now, from line `start` (the first is 0), there are `length` others.
    """
    node, functions = named(text, name)
    error = f'raise NotImplementedError("{number}, {name}: {place(text, node)}")'
    lines = text.splitlines(keepends=True)
    removed = []
    for function in reversed(functions):
        start, end = function.body[0].lineno - 1, function.end_lineno
        if ast.get_docstring(function) is not None:
            start = function.body[0].end_lineno
        body = lines[start:end]
        left = [*re.findall("# Alg.*", "".join(body)), error]
        lines[start:end] = [" " * (function.col_offset + 4) + line + "\n" for line in left]
        removed.append((start, len(left), body))
    return "".join(lines), removed


def copy_project(out, patterns=FILES):
    """Copy these files of the project, but no answers, to a folder."""
    for path in (path for pattern in patterns for path in ROOT.glob(pattern)):
        if path.name not in LEFT_OUT:
            copy = out / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)


def write_lab(out):
    """The project with nothing cut; the bugs of the hunt are packed, so that nobody reads them."""
    copy_project(out, LAB_FILES)
    packed = base64.b64encode(zlib.compress((ROOT / SPOILERS).read_bytes()))
    code = f"import base64\nimport zlib\n\nexec(zlib.decompress(base64.b64decode({packed})))\n"
    (out / SPOILERS).write_text(code)
    (out / "README.md").write_text(LAB_PAGE.format(setup=setup_line()))


def setup_line():
    return re.search(SETUP, (ROOT / "README.md").read_text(encoding="utf-8")).group()


def write(names, out):
    """Copy the project to a new folder, cut the names there, and write its README."""
    copy_project(out)
    for i, name in enumerate(names, 1):
        path = out / f"{name.split('.')[0]}.py"
        text, _ = cut(path.read_text(encoding="utf-8"), name, f"{i} of {len(names)}")
        path.write_text(text, encoding="utf-8")
    listed = "\n".join(f"{i}. `{name}`" for i, name in enumerate(names, 1))
    modules = dict.fromkeys(name.split(".")[0] for name in names)
    tests = " ".join(f"tests/test_{module}.py" for module in modules)
    (out / "README.md").write_text(PAGE.format(names=listed, setup=setup_line(), tests=tests))


# ---------------------------------------------------------------- marking

def put(text, name, original):
    """The text of a student's module, with this function or class as the original has it."""
    theirs, ours = named(text, name)[0], named(original, name)[0]
    if theirs is None:
        return text
    lines, body = text.splitlines(), original.splitlines()[ours.lineno - 1:ours.end_lineno]
    return "\n".join([*lines[:theirs.lineno - 1], *body, *lines[theirs.end_lineno:]]) + "\n"


def pytest(folder, *words):
    return subprocess.run([sys.executable, "-m", "pytest", *words], cwd=folder, text=True,
                          capture_output=True, timeout=600)


def verdict(name, names, student):
    """Of one function of a student: "right", or "wrong" and what the first test to fail says."""
    module = name.split(".")[0]
    text = (student / f"{module}.py").read_text(encoding="utf-8")
    original = (ROOT / f"{module}.py").read_text(encoding="utf-8")
    with TemporaryDirectory() as desk:
        copy_project(Path(desk))
        try:
            for other in names:
                if other != name and other.split(".")[0] == module:
                    text = put(text, other, original)
            Path(desk, f"{module}.py").write_text(text, encoding="utf-8")
            done = pytest(desk, "-x", "-q", "--tb=short", "-k", "not listing",
                          f"tests/test_{module}.py")
        except (SyntaxError, subprocess.TimeoutExpired) as error:
            return f"wrong: {error}"
    said = re.findall("^E +(.*)", done.stdout, re.M) or ["see its tests"]
    return "right" if done.returncode == 0 else f"wrong: {said[0]}"


def not_theirs(text):
    """The parts of an exercise that are no blanks: imports, what measures, the check."""
    parts = [ast.get_source_segment(text, node) for node in ast.parse(text).body]
    blank = re.compile(r'""".*|if __name__.*|.* = None(, None)?|.*NotImplementedError.*', re.S)
    return "\n\n\n" + "\n\n\n".join(part for part in parts if not blank.fullmatch(part)) + "\n"


def mark(names, student):
    """Print which of the functions are right, then which of the exercises are solved."""
    verdicts = {name: verdict(name, names, student) for name in names}
    for name, said in verdicts.items():
        print(f"{name:30} {said}")
    if names:
        print(f"\n{list(verdicts.values()).count('right')} of {len(names)} functions right\n")
    with TemporaryDirectory() as desk:
        copy_project(Path(desk))
        for path in Path(desk).glob("tests/exercises/ex*.py"):
            theirs = student / path.relative_to(desk)
            if theirs.is_file():
                text = theirs.read_text(encoding="utf-8") + not_theirs(path.read_text("utf-8"))
                path.write_text(text, encoding="utf-8")
        print(pytest(desk, "tests/exercises").stdout.strip())


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.error = lambda message: parser.exit(2, f"handout.py: {message}\n")
    parser.add_argument("names", nargs="+", help=f"functions, classes, or a set: {', '.join(SETS)}")
    parser.add_argument("--out", metavar="DIR", help="a new folder (default: out/NAME)")
    parser.add_argument("--mark", metavar="DIR", help="a student's folder; nothing is written")
    args = parser.parse_args(argv)
    names = {}                                                   # in their order, each once
    for name in (name for word in args.names for name in SETS.get(word, (word,))):
        module = name.split(".")[0]
        if module not in MODULES or not named((ROOT / f"{module}.py").read_text("utf-8"), name)[1]:
            parser.error(f"names must be functions of {', '.join(MODULES)}, got {name!r}")
        names |= dict.fromkeys([name, TWINS.get(name, name)])
    if args.mark:
        if not Path(args.mark, "guideboot.py").is_file():
            parser.error(f"argument --mark: must be a folder with guideboot.py, got {args.mark!r}")
        mark(names, Path(args.mark))
        return
    out = Path(args.out or f"out/{args.names[0]}")
    if out.exists():
        parser.error(f"argument --out: must be a new folder, got {str(out)!r}")
    if names:
        write(names, out)
    else:
        write_lab(out)
    print(f"{out}: {len(names)} to write; start with its README.md")


if __name__ == "__main__":
    main()
