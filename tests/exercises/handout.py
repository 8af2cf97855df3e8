"""Hand-outs cut from the real modules: a copy of the project without the bodies of some functions.

  python tests/exercises/handout.py week1                     writes the folder out/week1
  python tests/exercises/handout.py guideboot.learn nn.MLPBag.gradient --out week1

Signatures, docstrings and the marks of the listings stay; a body raises NotImplementedError with
the place in the paper. The project's own tests are the check. Answers, spoilers and history are
left out. The project itself is never changed.
"""
import argparse
import ast
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SETS = {
    "week1": ("guideboot.guidance", "guideboot.Harmonic", "guideboot.fake_samples",
              "guideboot.beta_moments", "guideboot.guided_distribution"),
    "week2": ("nn.log_loss_gradient", "nn.LogisticBag.gradient", "guideboot.History.resample",
              "guideboot.argmax", "guideboot.Agent.choose"),
    "week3": ("guideboot.serve", "guideboot.learn", "baselines.OBB.samples",
              "baselines.Giro.remember", "baselines.DeepUCB1.choose"),
    "week4": ("nn.Adam.move", "nn.network", "nn.MLPBag.gradient", "baselines.TSBLR.draw",
              "baselines.GLMUCB.bounds"),
}
TWINS = {"guideboot.Harmonic": ("guideboot.FastHarmonic",),      # what would give it away
         "nn.network": ("nn.ServedAds.scores",)}
FILES = ("guideboot.py", "baselines.py", "envs.py", "nn.py", "run_arms.py", "run_synthetic.py",
         "run_ads.py", "pytest.ini", "requirements.txt", "results/tuned.json")
LEFT_OUT = ("__pycache__", "*.json", "solutions.py", "silent_bug*.py", "test_silent_bug.py",
            "test_exercises.py", "test_readme.py", "test_choices.py", "test_study.py",
            "test_handout.py", "handout.py", "tour.py")


def found(text, path):
    """The syntax tree of a function or class, by the parts of its name; None if there is none."""
    node = ast.parse(text)
    for part in path:
        inner = [n for n in node.body if getattr(n, "name", None) == part]
        if not inner:
            return None
        node = inner[0]
    return node


def bodies(node):
    """(first line, last line) of the body of a function, or of a class's methods; no docstrings."""
    if isinstance(node, ast.ClassDef):
        functions = [inner for inner in node.body if isinstance(inner, ast.FunctionDef)]
    else:
        functions = [node]
    for function in functions:
        first = function.body[1 if ast.get_docstring(function) is not None else 0:]
        if first:
            yield first[0].lineno, function.end_lineno


def place(lines, node):
    """Where in the paper the lines belong: by their marks, else by what the docstring says."""
    marks = re.findall(r"Alg(\d):(\d+)(?:-(\d+))?", "\n".join(lines))
    if marks:
        algorithm = max(mark[0] for mark in marks)
        numbers = [int(n) for a, *both in marks if a == algorithm for n in both if n]
        return f"Algorithm {algorithm}, lines {min(numbers)} to {max(numbers)}"
    named = re.search(r"Eq\. \d|Section [\d.]+\d|Algorithm \d", ast.get_docstring(node) or "")
    return named.group() if named else "Section 5"


def cut(text, name):
    """The text of a module without the bodies of a name; and what was cut: [(line, lines)]."""
    node = found(text, name.split(".")[1:])
    lines = text.splitlines(keepends=True)
    removed = []
    for first, last in sorted(bodies(node), reverse=True):
        body = lines[first - 1:last]
        indent = " " * (len(body[0]) - len(body[0].lstrip()))
        found_marks = re.findall(r"# (Alg\d:.*)", "".join(body))
        marks = [f"{indent}# {mark}\n" for mark in found_marks]
        error = f'{indent}raise NotImplementedError("{name}: {place(body, node)}")\n'
        removed.append((first, len(marks) + 1, body))
        lines[first - 1:last] = [*marks, error]
    return "".join(lines), removed


def page(names):
    """The hand-out's own README."""
    listed = "\n".join(f"{i}. `{name}`" for i, name in enumerate(names, 1))
    modules = dict.fromkeys(name.split(".")[0] for name in names)
    checks = "\n".join(f'    .venv/bin/python -m pytest -x -q -k "not listing" tests/test_{m}.py'
                       for m in modules)
    return ("# Hand-out\n\nWrite the bodies of these functions, in this order, beside the paper. "
            "The docstrings say what is wanted, and the marks `# Alg3:12` which line of which "
            f"listing a statement belongs to.\n\n{listed}\n\nSet up once:\n\n"
            "    python3 -m venv .venv && .venv/bin/pip install -q -r requirements.txt\n\n"
            f"Check; the first failure says what is missing or wrong:\n\n{checks}\n")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.error = lambda message: parser.exit(2, f"handout.py: {message}\n")
    parser.add_argument("names", nargs="+", help=f"functions, classes, or a set: {', '.join(SETS)}")
    parser.add_argument("--out", metavar="DIR", help="a new folder (default: out/NAME)")
    args = parser.parse_args(argv)
    names = [name for word in args.names for name in SETS.get(word, (word,))]
    for name in names:
        module = ROOT / f"{name.split('.')[0]}.py"
        node = found(module.read_text(), name.split(".")[1:]) if module.exists() else None
        if node is None or "." not in name or not list(bodies(node)):
            parser.error(f"names must be functions or classes of the modules, got {name!r}")
    out = Path(args.out or f"out/{args.names[0]}")
    if out.exists():
        parser.error(f"argument --out: must be a new folder, got {str(out)!r}")
    for folder in ("lab", "tests"):
        shutil.copytree(ROOT / folder, out / folder, ignore=shutil.ignore_patterns(*LEFT_OUT))
    (out / "results").mkdir()
    for name in FILES:
        shutil.copy(ROOT / name, out / name)
    for name in [*names, *(twin for name in names for twin in TWINS.get(name, ()))]:
        path = out / f"{name.split('.')[0]}.py"
        path.write_text(cut(path.read_text(encoding="utf-8"), name)[0], encoding="utf-8")
    (out / "README.md").write_text(page(names), encoding="utf-8")
    print(f"{out}: {len(names)} to write; start with its README.md")


if __name__ == "__main__":
    sys.exit(main())
