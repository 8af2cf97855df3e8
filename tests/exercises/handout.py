"""Hand-outs cut from the real modules: a copy of the project without the bodies of some functions.

  python tests/exercises/handout.py week1                     writes the folder out/week1
  python tests/exercises/handout.py guideboot.learn nn.MLPBag.gradient --out mine

Signatures, docstrings and the marks of the listings stay; a body raises NotImplementedError with
the place in the paper. The project's own tests are the check. Answers, spoilers and history are
left out. The project itself is never changed.
"""
import argparse
import ast
import re
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SETS = {                               # in the order in which the tests ask for them
    "week1": ("guideboot.guidance", "guideboot.Harmonic", "guideboot.fake_samples",
              "guideboot.guided_distribution", "guideboot.beta_moments"),
    "week2": ("nn.LogisticBag.gradient", "nn.log_loss_gradient", "guideboot.Agent.choose",
              "guideboot.argmax", "guideboot.History.resample"),
    "week3": ("guideboot.serve", "guideboot.learn", "baselines.OBB.samples",
              "baselines.Giro.remember", "baselines.DeepUCB1.choose"),
    "week4": ("nn.Adam.move", "nn.MLPBag.gradient", "nn.network", "baselines.TSBLR.draw",
              "baselines.GLMUCB.bounds"),
}
TWINS = {"guideboot.Harmonic": "guideboot.FastHarmonic",         # either gives the other away
         "nn.network": "nn.ServedAds.scores"}
MODULES = ("guideboot", "nn", "baselines", "envs")
FILES = ("run_*.py", "lab/*.py", "results/tuned.json", "pytest.ini", "requirements.txt",
         "tests/conftest.py", "tests/exercises/*.*",
         *(f"{module}.py" for module in MODULES),
         *(f"tests/test_{module}.py" for module in MODULES))
LEFT_OUT = ("handout.py", "solutions.py", "README.md")
PLACE = r"Eq\. \d|Sections? \d(?:\.\d)?(?: and \d)?|Alg(?:orithm )?\d(?::\d+)?"
SETUP = r"    python3 -m venv .*?requirements\.txt"                      # a line of the README
PAGE = """# Hand-out

Write the bodies of these functions, in this order, beside the paper (Pan et al., WWW 2021, doi
10.1145/3442381.3449987). The docstrings say what is wanted; a mark such as `# Alg3:12` is line
12 of Algorithm 3, at the statement that does it. Draw with `rng.random(shape)`, in the order of the
marks: some tests make the same draws again.

{names}

Set up, once; then check, as often as you like (on Windows write `.venv\\Scripts` for `.venv/bin`).
It stops at the first test that fails, and a line with `E` says what is missing or wrong.

{setup}

    .venv/bin/python -m pytest -x -q --tb=short -k "not listing" {tests}

When it passes, `.venv/bin/python tests/exercises/tour.py` runs on what you wrote. The exercises,
`.venv/bin/python -m pytest tests/exercises`, need some of these functions too.
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


def write(names, out):
    """Copy the project to a new folder, cut the names there, and write its README."""
    for path in (path for pattern in FILES for path in ROOT.glob(pattern)):
        if path.name not in LEFT_OUT:
            copy = out / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
    for i, name in enumerate(names, 1):
        path = out / f"{name.split('.')[0]}.py"
        text, _ = cut(path.read_text(encoding="utf-8"), name, f"{i} of {len(names)}")
        path.write_text(text, encoding="utf-8")
    listed = "\n".join(f"{i}. `{name}`" for i, name in enumerate(names, 1))
    setup = re.search(SETUP, (ROOT / "README.md").read_text(encoding="utf-8")).group()
    modules = dict.fromkeys(name.split(".")[0] for name in names)
    tests = " ".join(f"tests/test_{module}.py" for module in modules)
    (out / "README.md").write_text(PAGE.format(names=listed, setup=setup, tests=tests))


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.error = lambda message: parser.exit(2, f"handout.py: {message}\n")
    parser.add_argument("names", nargs="+", help=f"functions, classes, or a set: {', '.join(SETS)}")
    parser.add_argument("--out", metavar="DIR", help="a new folder (default: out/NAME)")
    args = parser.parse_args(argv)
    names = {}                                                   # in their order, each once
    for name in (name for word in args.names for name in SETS.get(word, (word,))):
        module = name.split(".")[0]
        if module not in MODULES or not named((ROOT / f"{module}.py").read_text("utf-8"), name)[1]:
            parser.error(f"names must be functions of {', '.join(MODULES)}, got {name!r}")
        names |= dict.fromkeys([name, TWINS.get(name, name)])
    out = Path(args.out or f"out/{args.names[0]}")
    if out.exists():
        parser.error(f"argument --out: must be a new folder, got {str(out)!r}")
    write(names, out)
    print(f"{out}: {len(names)} to write; start with its README.md")


if __name__ == "__main__":
    main()
