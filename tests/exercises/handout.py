"""Hand-outs cut from the real modules: a copy of the project without the bodies of some functions.

  python tests/exercises/handout.py week1                     writes the folder out/week1
  python tests/exercises/handout.py guideboot.learn nn.MLPBag.gradient --out mine
  python tests/exercises/handout.py lab                       the whole project, without answers
  python tests/exercises/handout.py week1 --mark A B C        what is right in these folders?

Signatures, docstrings and the marks of the listings stay; a body raises NotImplementedError with
the place in the paper. The project's own tests are the check. Answers, spoilers and history are
left out, also those of exercises that were solved in the project: their blanks are the names that
tests/solutions.py defines. The project itself is never changed.

To mark, each function is tested alone: in the student's module, but with the project's own bodies
of the others of the set, and with the project's other files and tests. Each exercise is run alone,
too, by the project's check. It runs what students wrote, with your rights.
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
sys.path.append(str(ROOT / "tests"))

from solutions import RIGHT, SEEDS

SETS = {
    "lab": (),
    "week1": ("guideboot.guidance", "guideboot.Harmonic", "guideboot.fake_samples",
              "guideboot.guided_distribution", "guideboot.beta_moments",
              "guideboot.guided_before_moments"),
    "week2": ("nn.log_loss_gradient", "nn.LogisticBag.gradient", "guideboot.argmax",
              "guideboot.Agent.choose", "guideboot.History.resample"),
    "week3": ("guideboot.serve", "guideboot.learn", "baselines.OBB.samples",
              "baselines.Giro.remember", "baselines.DeepUCB1.choose"),
    "week4": ("nn.network", "nn.MLPBag.gradient", "baselines.TSBLR.draw",
              "baselines.GLMUCB.bounds"),
}
TWINS = (("guideboot.Harmonic", "guideboot.FastHarmonic"),       # either gives the other away
         ("guideboot.beta_moments", "guideboot.guided_before_moments"),
         ("nn.network", "nn.ServedAds.scores"))
MODULES = ("guideboot", "nn", "baselines", "envs")
FILES = ("run_*.py", "lab/*.py", "results/tuned.json", "pytest.ini", "requirements.txt",
         "tests/conftest.py", "tests/exercises/pytest.ini",
         *(f"tests/exercises/{name}.py" for name in ("conftest", "helper", "tour", *RIGHT)),
         *(f"{module}.py" for module in MODULES),
         *(f"tests/test_{module}.py" for module in MODULES))
LAB_FILES = (*FILES, "PAPER.md", "tests/silent_bug.py")
LEFT_OUT = ("why.py", "study.py")                # the first tells exercise 5, the second imports it
BLANK = 'raise NotImplementedError("this is for you to write")'
SECONDS = 120                                    # for the tests of one function, or one exercise
NO_END = "it ends Python before its tests are done"
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
It stops at the first test that fails, and a line with `E` says what is missing or wrong.

{setup}

    .venv/bin/python -m pytest -x -q --tb=short {tests}

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
    """The syntax tree of a function or class, by its name; None if there is none."""
    node = ast.parse(text)
    for part in name.split(".")[1:]:
        inner = [n for n in getattr(node, "body", ()) if getattr(n, "name", None) == part]
        node = inner[0] if inner else None
    return node


def functions(node):
    """The functions with a body: this one, or those of this class."""
    nodes = node.body if isinstance(node, ast.ClassDef) else [node]
    return [n for n in nodes if isinstance(n, ast.FunctionDef)
            and len(n.body) > (ast.get_docstring(n) is not None)]


def twins(name):
    """What has to be cut with a name: itself, and the twin of what it is, or is a part of."""
    pairs = [pair for pair in TWINS if any(f"{name}.".startswith(f"{one}.") for one in pair)]
    return [name, *(one for pair in pairs for one in pair if not f"{name}.".startswith(f"{one}."))]


def place(text, node):
    """The place in the paper that is named first: in the lines, the heading above, the module."""
    lines = ast.get_source_segment(text, node)
    headings = re.findall("^# ---.*", text.partition(lines)[0], re.M)
    first = re.search(PLACE, "".join([lines, *headings[-1:], text])).group()
    return re.sub(r"Alg(\d):", r"Algorithm \1, line ", first)


def cut(text, name, number="1 of 1"):
    """The text of a module without the bodies of a name."""
    node = named(text, name)
    error = f'raise NotImplementedError("{number}, {name}: {place(text, node)}")'
    return without_bodies(text, functions(node), error)


def without_bodies(text, cut, error):
    """The text with this error in place of the bodies of some functions."""
    lines = text.splitlines(keepends=True)
    for function in reversed(cut):
        start, end = function.body[0].lineno - 1, function.end_lineno
        if ast.get_docstring(function) is not None:
            start = function.body[0].end_lineno
        left = [*re.findall("# Alg.*", "".join(lines[start:end])), error]
        lines[start:end] = [" " * (function.col_offset + 4) + line + "\n" for line in left]
    return "".join(lines)


def defined(node):
    """The names that a statement defines."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    return [n.id for n in ast.walk(node)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]


def parts(text, exercise):
    """The statements of an exercise: those that fill in its blanks, and the others."""
    blanks = {name for node in ast.parse(RIGHT[exercise]).body for name in defined(node)}
    nodes = ast.parse(text).body
    filled = [node for node in nodes if blanks.intersection(defined(node))]
    return filled, [node for node in nodes if node not in filled]


def is_blank(function):
    return ast.unparse(function.body[-1]).startswith("raise NotImplementedError(") and (
        len(function.body) == 1 + (ast.get_docstring(function) is not None))


def emptied(text, exercise):
    """The text of an exercise with its blanks blank, as it was if nothing is filled in."""
    filled, _ = parts(text, exercise)
    for i, node in reversed([*enumerate(filled)]):
        names = defined(node)
        if {*names} <= {name for earlier in filled[:i] for name in defined(earlier)}:
            new = []                                         # an answer after the blank
        elif functions(node):
            solved = [function for function in functions(node) if not is_blank(function)]
            text = without_bodies(text, solved, BLANK)
            continue
        else:
            new = [f"{', '.join(names)} = {', '.join(['None'] * len(names))}\n"]
        lines = text.splitlines(keepends=True)
        lines[node.lineno - 1:node.end_lineno] = new
        text = "".join(lines)
    return text


def copy_project(out, patterns=FILES):
    """Copy these files of the project, but no answers, to a folder."""
    for path in (path for pattern in patterns for path in ROOT.glob(pattern)):
        if path.name not in LEFT_OUT:
            copy = out / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
            text = path.read_text(encoding="utf-8")
            if path.stem in RIGHT and emptied(text, path.stem) != text:
                copy.write_text(emptied(text, path.stem), encoding="utf-8")


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
        text = cut(path.read_text(encoding="utf-8"), name, f"{i} of {len(names)}")
        path.write_text(text, encoding="utf-8")
    listed = "\n".join(f"{i}. `{name}`" for i, name in enumerate(names, 1))
    modules = dict.fromkeys(name.split(".")[0] for name in names)
    tests = " ".join(f"tests/test_{module}.py" for module in modules)
    (out / "README.md").write_text(PAGE.format(names=listed, setup=setup_line(), tests=tests))


# ---------------------------------------------------------------- marking

def put(text, name, original):
    """The text of a student's module, with this function or class as the original has it."""
    theirs, ours = named(text, name), named(original, name)
    if theirs is None:
        return text
    lines, body = text.splitlines(), original.splitlines()[ours.lineno - 1:ours.end_lineno]
    return "\n".join([*lines[:theirs.lineno - 1], *body, *lines[theirs.end_lineno:]]) + "\n"


def pytest(file, text, *words):
    """Its return code, and what it prints, at a desk of its own: the project with this file."""
    with TemporaryDirectory() as desk:
        copy_project(Path(desk))
        Path(desk, file).write_text(text, encoding="utf-8")
        try:
            done = subprocess.run([sys.executable, "-m", "pytest", *words], cwd=desk, text=True,
                                  capture_output=True, stdin=subprocess.DEVNULL, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"no end after {SECONDS} s")
    return done.returncode, done.stdout


def of_function(student, name, names):
    """Of one function of a student: "right", or what the first test to fail says."""
    module = name.split(".")[0]
    text = (student / f"{module}.py").read_text(encoding="utf-8")
    original = (ROOT / f"{module}.py").read_text(encoding="utf-8")
    for other in names:
        if other != name and other.split(".")[0] == module:
            text = put(text, other, original)
    words = ("-x", "-q", "--tb=short", f"tests/test_{module}.py")
    code, printed = pytest(f"{module}.py", text, *words)
    if code == 0 and " passed" in printed:
        return "right"
    return "wrong: " + (re.findall("^E +(.*)", printed, re.M) or [NO_END])[0]


def not_theirs(text, exercise):
    """The parts of an exercise that are no blanks: imports, what measures, the check."""
    _, others = parts(text, exercise)
    ours = [ast.get_source_segment(text, node) for node in others
            if not isinstance(node, (ast.Expr, ast.If))]     # the statement, and `if __name__ ...`
    if exercise in SEEDS:
        ours.append(f"check.__defaults__ = ({SEEDS[exercise]},)")
    return "\n\n\n" + "\n\n\n".join(ours) + "\n"


def of_exercise(student, exercise):
    """Of one exercise of a student: "solved", or a hint."""
    file = f"tests/exercises/{exercise}.py"
    text = (student / file).read_text(encoding="utf-8")
    if emptied(text, exercise) == text:
        return "nothing filled in"
    original = (ROOT / file).read_text(encoding="utf-8")
    _, printed = pytest(file, text + not_theirs(original, exercise), file)
    return (re.findall(f"^{exercise[2:4]} {exercise[5:]} +(.*)", printed, re.M) or [NO_END])[-1]


def verdict(judge, *arguments):
    """What `judge` says; no error goes further."""
    try:
        return judge(*arguments)
    except (OSError, SyntaxError, ValueError) as error:
        return f"{type(error).__name__}: {error}".splitlines()[0]


def mark(names, student):
    """Print of each function and each exercise what it is; return both totals in one line."""
    print(f"\n{student}")
    right = solved = 0
    for name in names:
        said = verdict(of_function, student, name, names)
        right += said == "right"
        print(f"  {name:34} {said}")
    for exercise in RIGHT:
        said = verdict(of_exercise, student, exercise)
        solved += said == "solved"
        print(f"  {exercise:34} {said}")
    totals = f"{solved} of {len(RIGHT)} exercises solved"
    return f"{right} of {len(names)} functions right, {totals}" if names else totals


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.error = lambda message: parser.exit(2, f"handout.py: {message}\n")
    parser.add_argument("names", nargs="+", help=f"functions, classes, or a set: {', '.join(SETS)}")
    parser.add_argument("--out", metavar="DIR", help="a new folder (default: out/NAME)")
    parser.add_argument("--mark", metavar="DIR", nargs="+", default=(),
                        help="students' folders; nothing is written")
    args = parser.parse_args(argv)
    if "lab" in args.names and len(args.names) > 1:
        parser.error("lab is the whole project, nothing is cut: no other names, please")
    names = {}                                                   # in their order, each once
    for name in (name for word in args.names for name in SETS.get(word, (word,))):
        module = name.split(".")[0]
        if module not in MODULES or not functions(
                named((ROOT / f"{module}.py").read_text("utf-8"), name)):
            parser.error(f"names must be functions of {', '.join(MODULES)}, or one of the sets "
                         f"{', '.join(SETS)}, got {name!r}")
        names |= dict.fromkeys(twins(name))
    for folder in args.mark:
        if not Path(folder, "guideboot.py").is_file():
            parser.error(f"argument --mark: must be folders with guideboot.py, got {folder!r}")
    if args.mark:
        totals = [f"{folder}: {mark(names, Path(folder))}" for folder in args.mark]
        print("", *totals, sep="\n")
        return
    out = Path(args.out or f"out/{args.names[0]}")
    if out.exists() or out.parts[0].startswith("~"):
        parser.error(f"argument --out: must be a new folder, got {str(out)!r}")
    try:
        if names:
            write(names, out)
        else:
            write_lab(out)
    except OSError as error:
        parser.error(f"argument --out: cannot write {error.filename}: {error.strerror}")
    print(f"{out}: {len(names)} to write; start with its README.md")


if __name__ == "__main__":
    main()
