"""Are the tests able to fail? Change one operator, number or condition of a module at a time and see whether they notice.

  python tests/mutants.py guideboot                every mutant of guideboot.py: some ten minutes
  python tests/mutants.py nn --sample 40           forty of them, drawn at random
  python tests/mutants.py envs --only 12,40        these two again

Prints the mutants that no test noticed and the share of those that one did. A mutant is put in the module's place in a
forked process (so not on Windows), where the tests named below run until the first failure; one that runs five times as
long as the tests took on the untouched module counts as noticed. Text of messages, of docstrings and of what is printed
is left alone. EQUIVALENT lists mutants that no test could notice, with the reason; they do not count.
"""
import argparse
import ast
import contextlib
import os
import random
import signal
import sys
import time
import types
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ[variable] = "1"
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

TESTS = {      # the tests that are about a module, the quick ones first
    "guideboot": ["test_guideboot", "test_arms", "test_baselines", "test_deep_baselines", "test_nn", "test_survival"],
    "nn": ["test_nn", "test_guideboot", "test_survival"],
    "baselines": ["test_baselines", "test_deep_baselines", "test_arms", "test_survival", "test_ads"],
    "envs": ["test_envs", "test_ads", "test_guideboot"],
}
SKIP = ("command", "resume", "kill", "interrupt", "handed", "alone")          # tests that start processes of their own see no mutant
EQUIVALENT = {
    "guideboot": {
        "rng.random((2,) + g.shape) <= g": "a uniform number equals g with probability 0",
        "rng.random() <= y[a]": "a uniform number equals y with probability 0",
        "1.0  ->  2.0      in  edges": "no estimate is above 1",
        "1e-09  ->  2e-09": "any tiny number does",
        "1024  ->  1025": "how much memory a history begins with",
        "1  ->  2      in  def learn(self, X, r, n=1)": "an argument that is not used",
        "False  ->  True      in  return X.astype": "a copy more",
        "0 <= r <= 1  ->": "the short way out of a check; the long way says the same",
        "0  ->  1      in  return r if type(r) is int and 0 <= r <= 1 else int(check": "the same (a test of its own covers the long way)",
    },
    "baselines": {
        "1  ->  2      in  def learn(self, X, r, n=1)": "an argument that is not used",
        "1e-06  ->  2e-06": "any tiny number does",
        "<= tolerance": "a gradient equals it with probability 0",
        "64  ->  65": "how much memory the posterior begins with",
        "self.rng.random() <= self.epsilon": "a uniform number equals it with probability 0",
        "self.rng.random() <= self.alpha": "the same",
        "> self.bag.dropout": "the same",
    },
    "nn": {
        "> self.dropout": "a uniform number equals the rate with probability 0",
        "1e-30  ->  2e-30": "any tiny number does",
        "1  ->  2      in  e = E.take": "a negative size in reshape means what is left, -2 like -1",
        "1  ->  2      in  e = self.table.take": "the same",
        "1  ->  2      in  self.table = self.E.reshape": "the same",
        "1  ->  2      in  return [piece.reshape": "the same",
        "1  ->  2      in  return sum_rows": "the same",
    },
}
SWAP = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv,
        ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn,
        ast.And: ast.Or, ast.Or: ast.And, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd}


def sites(node):
    """Every (node, change) of a tree, in a fixed order; `change` alters the node in place."""
    if isinstance(node, (ast.JoinedStr, ast.Raise)) or (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print"):
        return
    if isinstance(node, (ast.BinOp, ast.AugAssign, ast.BoolOp)) and type(node.op) in SWAP:
        yield node, lambda: setattr(node, "op", SWAP[type(node.op)]())
    if isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            if type(op) in SWAP:
                yield node, lambda i=i, op=op: node.ops.__setitem__(i, SWAP[type(op)]())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield node, lambda: setattr(node, "op", ast.UAdd())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node, lambda: setattr(node, "operand", ast.UnaryOp(ast.Not(), node.operand))
    if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
        new = not node.value if isinstance(node.value, bool) else node.value + 1 if isinstance(node.value, int) else 2.0 * node.value or 1.0
        yield node, lambda: setattr(node, "value", new)
    for child in ast.iter_child_nodes(node):
        yield from sites(child)


def mutant(source, i):
    """The tree with its i-th change made, and a line that says which."""
    tree = ast.parse(source)
    node, change = list(sites(tree))[i]
    before, line = ast.unparse(node), source.splitlines()[node.lineno - 1].strip()
    change()
    return ast.fix_missing_locations(tree), f"line {node.lineno}: {before}  ->  {ast.unparse(node)}      in  {line[:110]}"


def run_tests(module, tree, path):
    """In a process of its own: the tests, with this tree in the module's place. Never returns."""
    import pytest
    with open(os.devnull, "w") as null, contextlib.redirect_stdout(null), contextlib.redirect_stderr(null):
        os.dup2(null.fileno(), 1)
        os.dup2(null.fileno(), 2)
        try:
            sys.modules[module] = replaced = types.ModuleType(module)
            replaced.__file__ = str(path)
            exec(compile(tree, str(path), "exec"), replaced.__dict__)
            code = pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-k", " and ".join(f"not {word}" for word in SKIP),
                                *(str(HERE / f"{name}.py") for name in TESTS[module])])
        except BaseException:
            code = 1
    os._exit(int(code != 0))


def start(module, tree, path):
    pid = os.fork()
    if pid == 0:
        os.setsid()
        run_tests(module, tree, path)
    return pid


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("module", choices=TESTS)
    p.add_argument("--sample", type=int, help="only so many, drawn at random")
    p.add_argument("--only", help="only these numbers, by commas")
    p.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2)
    args = p.parse_args()
    import hypothesis, numpy, pytest                     # noqa: F401   once, before the forks
    path = HERE.parent / f"{args.module}.py"
    source = path.read_text(encoding="utf-8")
    total = len(list(sites(ast.parse(source))))
    todo = [int(i) for i in args.only.split(",")] if args.only else list(range(total))
    if args.sample:
        todo = sorted(random.Random(0).sample(todo, args.sample))
    started = time.monotonic()
    if os.waitstatus_to_exitcode(os.waitpid(start(args.module, ast.parse(source), path), 0)[1]):
        sys.exit("the tests fail on the untouched module")
    limit = 5 * (time.monotonic() - started) + 20
    print(f"{args.module}.py: {total} mutants, {len(todo)} to try, the tests take {limit / 5 - 4:.0f} s", flush=True)
    caught, survived, excused, busy = 0, [], 0, {}
    todo = todo[::-1]
    while todo or busy:
        while todo and len(busy) < args.workers:
            tree, text = mutant(source, i := todo.pop())
            if any(piece in text for piece in EQUIVALENT.get(args.module, ())):
                excused += 1
            else:
                busy[start(args.module, tree, path)] = i, text, time.monotonic()
        for pid, (i, text, since) in list(busy.items()):
            done, status = os.waitpid(pid, os.WNOHANG)
            if not done and time.monotonic() - since > limit:
                os.killpg(pid, signal.SIGKILL)
                status = os.waitpid(pid, 0)[1]
                done = pid
            if done:
                del busy[pid]
                if status == 0:
                    survived.append(i)
                    print(f"not noticed: {i}, {text}", flush=True)
                else:
                    caught += 1
        time.sleep(0.01)
    print(f"{args.module}.py: {caught} of {caught + len(survived)} mutants noticed, {caught / max(1, caught + len(survived)):.1%}; "
          f"{excused} equivalent ones left out; {(time.monotonic() - started) / 60:.0f} min; not noticed: {','.join(map(str, survived))}")


if __name__ == "__main__":
    main()
