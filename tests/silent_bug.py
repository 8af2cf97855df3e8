"""Find the silent bug: run the project with a bug chosen by its number, without being told which.

  python tests/silent_bug.py 0 run_synthetic.py --untuned --runs 2 --steps 1000    0 has no bug
  python tests/silent_bug.py 3 run_synthetic.py --untuned --runs 2 --steps 1000    what differs now?
  python tests/silent_bug.py 3 run_ads.py --untuned --runs 2 --steps 3000          and here?
  python tests/silent_bug.py 3 python -c "import nn; ..."  a probe of your own, or a file of yours
  python tests/silent_bug.py 3 pytest                      in which modules' tests does it show?
  python tests/silent_bug.py 3 pytest -rf                  a hint: the names of those that fail
  python tests/silent_bug.py 3 --answer                    what is wrong, where, and the test

Begin with the tables. Nothing crashes: each bug is one that people make and that a plot does not
shout about. Some are in the methods of run_synthetic.py, some in the network of run_ads.py, some in
both. A script writes into out/bug3. Without -rf the tests are dots and F's by file, as a name tells
where to look; -v, which tells all names, is refused. The bugs are written into a copy of the
project that is thrown away; the files you see have none. Call its functions, but to read the copy,
or silent_bug_spoilers.py, is to read the answer.
"""
import argparse
import os
import re
import signal
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from silent_bug_spoilers import BUGS

ROOT = Path(__file__).resolve().parent.parent
MODULE_TESTS = [f"tests/test_{name}.py" for name in ("guideboot", "nn", "baselines", "envs")]
LEFT_OUT = (".*", "__pycache__", "out", "test_silent_bug.py", "silent_bug_spoilers.py",
            "test_exercises.py", "test_handout.py", "test_readme.py")


def bug(number):
    """The answer, the test that guards it and the edits of a number; BUGS has another order."""
    if number == 0:
        return "There is no bug.", "test_*.py", []
    return BUGS[(7 * number + 2) % len(BUGS)]


def copy_with_bug(number, folder):
    """A copy of the project in `folder`, with this bug."""
    shutil.copytree(ROOT, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
    for name, right, wrong in bug(number)[2]:
        path = Path(folder) / name
        text = path.read_text(encoding="utf-8")
        if text.count(right) != 1:
            sys.exit(f"bug {number} no longer fits the code of {name}")
        path.write_text(text.replace(right, wrong), encoding="utf-8")


def command(number, what, options, folder):
    """What to call, and where, for tests, a probe or a script of the copy in `folder`."""
    if what == "pytest":
        names_hidden = ("--tb=no", "-rN", "--no-header", "--disable-warnings")
        tests = () if any("test" in word for word in options) else MODULE_TESTS
        return [sys.executable, "-m", "pytest", *names_hidden, *options, *tests], folder
    if what == "python":
        if options and os.path.isfile(options[0]):
            probe = Path(options[0]).resolve()               # beside the modules: that of the copy,
            beside = Path(folder) / probe.name               # or it would import those without bug
            options = [str(beside if probe.parent == ROOT else probe), *options[1:]]
        return [sys.executable, *options], folder
    has_out = what in ("run_synthetic.py", "run_ads.py") or "--compare" in options
    if has_out and not any(word.split("=")[0] == "--out" for word in options):
        options = [*options, "--out", f"out/bug{number}"]
    return [sys.executable, str(Path(folder) / what), *options], None


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.error = lambda message: parser.exit(2, f"silent_bug.py: {message}\n")
    parser.add_argument("--answer", action="store_true", help="tell what the bug is")
    parser.add_argument("number", type=int, choices=range(len(BUGS) + 1), help="0 has no bug")
    parser.add_argument("what", nargs="...", help="pytest, python or a script, with its options")
    words = sys.argv[1:] if argv is None else argv
    args = parser.parse_args(words or ["--help"])
    if args.answer or args.what == ["--answer"]:
        answer, test, _ = bug(args.number)
        print(f"{answer}\nGuarded by tests/{test}")
        return 0
    what, *options = args.what or [""]
    if what not in ("pytest", "python"):
        script = (ROOT / what).resolve()
        if ROOT not in script.parents or not script.is_file() or script.suffix != ".py":
            parser.error("what to run must be pytest, python or a script of the project, "
                         f"got {what!r}")
        what = script.relative_to(ROOT).as_posix()
    if what == "pytest" and any(re.match("-[a-z]*v|--v", word) for word in options):
        parser.error("pytest -v tells the names of all tests: those that fail are told by -rf")
    with tempfile.TemporaryDirectory() as folder:
        copy_with_bug(args.number, folder)
        words, where = command(args.number, what, options, folder)
        called = subprocess.Popen(words, cwd=where, env={**os.environ, "PYTHONPATH": folder})
        while True:
            try:
                return called.wait()
            except KeyboardInterrupt:                        # what was called has it too, and ends
                pass


if __name__ == "__main__":
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)        # `| head` is no error
    sys.exit(main())
