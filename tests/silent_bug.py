"""Find the silent bug: run the project with one bug in it, chosen by its number, without being told which.

  python tests/silent_bug.py 3 pytest                      the tests; which fail, and what do they have in common?
  python tests/silent_bug.py 3 pytest tests/test_nn.py
  python tests/silent_bug.py 3 run_synthetic.py --runs 2   a script; do table and figure look as they should?
  python tests/silent_bug.py 0 run_synthetic.py --runs 2   number 0 has no bug, to compare with

A script writes into out/bug3, so that results with and without the bug lie side by side. Some bugs are in the methods of
run_synthetic.py, some in the network of run_ads.py, some in both. Nothing crashes: each bug is one that people make and that a plot does not shout about. When you know what is wrong, find the
line in the code that you would have got wrong, and read the test that guards it. The bugs are written into a copy of the
project that is thrown away afterwards; the files you see have none. (They are at the end of this file. Do not look.)
"""
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def copy_with_bug(number, folder):
    """A copy of the project in `folder`, with this bug."""
    shutil.copytree(ROOT, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(
        ".*", "__pycache__", "out", "test_silent_bug.py", "test_exercises.py", "test_readme.py"))
    if number:
        for name, right, wrong in BUGS[(5 * number + 2) % len(BUGS)]:
            path = Path(folder) / name
            text = path.read_text(encoding="utf-8")
            if text.count(right) != 1:
                sys.exit(f"bug {number} no longer fits the code of {name}")
            path.write_text(text.replace(right, wrong), encoding="utf-8")


def main():
    words = sys.argv[1:]
    if len(words) < 2 or not words[0].isdigit() or int(words[0]) > len(BUGS) or not (words[1] == "pytest" or (ROOT / words[1]).is_file()):
        sys.exit(f"{__doc__.splitlines()[0]}\nusage: python tests/silent_bug.py NUMBER pytest|SCRIPT ..., NUMBER from 1 to {len(BUGS)}, or 0 for none")
    with tempfile.TemporaryDirectory() as folder:
        copy_with_bug(int(words[0]), folder)
        if words[1] == "pytest":
            return subprocess.call([sys.executable, "-m", "pytest", "-q", "--tb=line", *words[2:]], cwd=folder)
        out = ["--out", f"out/bug{words[0]}"] if words[1].startswith("run_") and "--out" not in words else []
        return subprocess.call([sys.executable, str(Path(folder) / words[1]), *words[2:], *out])


BUGS = [       # each a list of (file, right, wrong)
    [("nn.py", "    return ids[first], np.add.reduceat(values.take(order, axis=0), first, axis=0)",
      "    return ids[first], values.take(order[first], axis=0)")],
    [("nn.py", "        if mask is not None:\n            d2 *= mask\n", ""),
     ("nn.py", "        if mask is not None:\n            h2 *= mask\n        z = np.matmul(h2, self", "        z = np.matmul(h2 if mask is None else h2 * mask, self")],
    [("guideboot.py", "        agent.update_density(x)                                                # Alg1:10\n", ""),
     ("guideboot.py", "            bag.publish()                                                      # Alg1:23\n",
      "            bag.publish()                                                      # Alg1:23\n        agent.update_density(x)\n"),
     ("guideboot.py", "    agent.update_density(X)                                                    # Alg3:12\n", ""),
     ("guideboot.py", "    agent.bag.publish()                                                        # Alg3:23\n",
      "    agent.bag.publish()                                                        # Alg3:23\n    agent.update_density(X[0])\n")],
    [("guideboot.py", """        g = guidance(self.density(X), self.alpha)                              # Alg1:14-18 Alg3:16-20  every record at once
        return fake_samples(r, g, self.rng)
""", """        return np.ones(r.shape), r

    def remember(self, history, x, r):
        history.append(x, r)
        g = guidance(self.density(x), self.alpha)
        if self.rng.random() < g:
            history.append(x, 1)
        if self.rng.random() < g:
            history.append(x, 0)
""")],
    [("guideboot.py", "        rows = (self.size * rng.random(shape)).astype(np.intp)\n",
      "        rows = np.tile((self.size * rng.random(shape[1:])).astype(np.intp), (shape[0], 1))\n")],
    [("nn.py", "        if self.items is not None:\n            for k in range(self.K):\n                e =",
      "        if self.items is not None and self.dense_optimizer.t == 0:\n            for k in range(self.K):\n                e =")],
    [("baselines.py", "self.strength * np.sqrt(2.0 * math.log(t) / count)", "self.strength * 2.0 * math.log(t) / count"),
     ("baselines.py", "self.strength * math.sqrt(math.log(t + 1)) * np.sqrt(norm2)", "self.strength * math.log(t + 1) * norm2")],
    [("guideboot.py", "    return a if len(ties) == 1 else int(ties[int(len(ties) * rng.random())])", "    return a if len(ties) == 1 else int(ties[0])")],
    [("baselines.py", "        return w, w * r\n", "        return w, r\n")],
]

if __name__ == "__main__":
    sys.exit(main())
