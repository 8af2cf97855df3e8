"""Find the silent bug: run the project with a bug chosen by its number, without being told which.

  python tests/silent_bug.py 3 pytest                      the tests; which fail, and what do they
                                                           have in common?
  python tests/silent_bug.py 3 pytest tests/test_nn.py
  python tests/silent_bug.py 3 run_synthetic.py --runs 2   a script; do table and figure look as
                                                           they should?
  python tests/silent_bug.py 0 run_synthetic.py --runs 2   number 0 has no bug, to compare with

A script writes into out/bug3, so that results with and without the bug lie side by side. Some bugs
are in the methods of run_synthetic.py, some in the network of run_ads.py, some in both. Nothing
crashes: each bug is one that people make and that a plot does not shout about. When you know what
is wrong, find the line in the code that you would have got wrong, and read the test that guards it.
The bugs are written into a copy of the project that is thrown away afterwards; the files you see
have none. (They are in silent_bug_spoilers.py. Do not look.)
"""
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from silent_bug_spoilers import BUGS

ROOT = Path(__file__).resolve().parent.parent
USAGE = ("usage: python tests/silent_bug.py NUMBER pytest|SCRIPT ..., "
         f"NUMBER from 1 to {len(BUGS)}, or 0 for none")
LEFT_OUT = (".*", "__pycache__", "out", "test_silent_bug.py", "silent_bug_spoilers.py",
            "test_exercises.py", "test_readme.py", "mine.py")


def place(number):
    """Where in BUGS a number's bug stands: not in their order."""
    return (5 * number + 2) % len(BUGS)


def copy_with_bug(number, folder):
    """A copy of the project in `folder`, with this bug."""
    shutil.copytree(ROOT, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
    if number == 0:
        return
    for name, right, wrong in BUGS[place(number)]:
        path = Path(folder) / name
        text = path.read_text(encoding="utf-8")
        if text.count(right) != 1:
            sys.exit(f"bug {number} no longer fits the code of {name}")
        path.write_text(text.replace(right, wrong), encoding="utf-8")


def understood(words):
    """Is it a number and something to run?"""
    if len(words) < 2 or not words[0].isdigit() or int(words[0]) > len(BUGS):
        return False
    return words[1] == "pytest" or (ROOT / words[1]).is_file()


def main():
    words = sys.argv[1:]
    if not understood(words):
        sys.exit(f"{__doc__.splitlines()[0]}\n{USAGE}")
    number, what, *options = words
    with tempfile.TemporaryDirectory() as folder:
        copy_with_bug(int(number), folder)
        if what == "pytest":
            command = [sys.executable, "-m", "pytest", "-q", "--tb=line", *options]
            return subprocess.call(command, cwd=folder)
        if what.startswith("run_") and not any(word.startswith("--out") for word in options):
            options += ["--out", f"out/bug{number}"]
        return subprocess.call([sys.executable, str(Path(folder) / what), *options])


if __name__ == "__main__":
    sys.exit(main())
