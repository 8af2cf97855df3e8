"""Why does Online GuideBoot beat OBB even without fakes: by its shuffle, or because it has no Poisson weights?

  python tests/shuffle.py                   a minute; --runs, --seed, --workers and --out as in run_synthetic.py

The paper credits the shuffle-and-split step, but the two methods differ in both. Here are all four combinations,
without fakes, in Algorithm 3 on the synthetic task, over two decades of learning rates. With neither, the K models
see the same samples in the same order and differ by their first weights alone.
"""
import argparse
import sys
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import run_synthetic                   # first: it sets one BLAS thread
import report
from baselines import OBB
from guideboot import Agent

VARIANTS = {"neither": (Agent, False), "weights (OBB)": (OBB, False), "shuffle": (Agent, True), "both": (OBB, True)}


def variant(name):
    """Algorithm 3 with an agent that is, or is not, shuffled and weighted."""
    def make(bag, rng, o):
        agent = VARIANTS[name][0](bag, rng)
        agent.shuffle = VARIANTS[name][1]
        return agent
    return run_synthetic.by_stream(make)


def run(job, tick=lambda fraction: None):
    """One run of one of the four, as run_synthetic's own."""
    with mock.patch.dict(run_synthetic.METHODS, {name: variant(name) for name in VARIANTS}):
        return run_synthetic.run(job, tick)


CODE = [*(ROOT / f"{m}.py" for m in ("guideboot", "baselines", "envs", "nn", "run_synthetic")), Path(__file__)]
GRID = {name: [{"learning_rate": rate} for rate in run_synthetic.RATES] for name in VARIANTS}


def show(o, path, final):
    """Tables and figure of final[row][seed]; returns the figure's path."""
    def against(name, rate):
        return "the weights' (OBB) at the same value" if name is None else report.label("weights (OBB)", {"learning_rate": rate})
    return report.sweep_chart(path.with_suffix(".svg"), "Online, without fakes", "learning_rate", run_synthetic.RATES, f"cumulative regret after {o['steps']:,} steps",
                              GRID, final, {"shuffle": 1, "both": 2, "weights (OBB)": 5, "neither": 9}, against)


def main(argv=None):
    p = report.Parser(prog="shuffle.py", description=__doc__.splitlines()[0])
    p.add_argument("--runs", type=report.number(int, 1, high=10_000), default=10, metavar="N", help="runs of each, each with a seed of its own (default %(default)s)")
    p.add_argument("--seed", type=report.number(int, 0, high=10 ** 9), default=0, metavar="N", help="seed of the first run; run i uses seed + i (default %(default)s)")
    p.add_argument("--workers", type=report.number(int, 1, high=60), default=report.cores(), metavar="N", help="processes (default: one per core)")
    p.add_argument("--out", default="out", metavar="DIR", help="folder for the results and the figure (default %(default)s)")
    args = argparse.ArgumentParser.parse_args(p, argv)                         # without the checks of a script that tunes
    seeds = range(args.seed, args.seed + args.runs)
    o = dict(run_synthetic.DEFAULTS, task="synthetic", tuned={}, curve=False)
    o = {name: value for name, value in o.items() if name not in ("runs", "seed", "learning_rate")}
    results = report.Results(p.folder(args.out) / "shuffle.csv", dict(options=o, code=report.fingerprint(*CODE)),
                             [f"regret@{o['steps']}", "reward"], [report.label(name, c) for name in GRID for c in GRID[name]])
    code = report.experiment(results, run, [(report.label(name, c), seed, dict(o, method=name, **c))
                                            for seed in seeds for name in GRID for c in GRID[name]], args.workers)
    final = {row: {s: results.rows[row, s][0] for s in seeds if (row, s) in results.rows} for row, _ in results.rows}
    drawn = show(o, results.path, final) if any(final.values()) else None
    print(f"\nThe results are in {results.path}" + (f", the figure is {drawn}" if drawn else ""))
    return code


if __name__ == "__main__":
    report.call(main)
