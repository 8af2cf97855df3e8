"""GuideBoot and its rivals on two public tables as bandits, one candidate for each class.

  python -m lab.study tune mushroom    also noisy and adult; nine configurations of each method
  python -m lab.real mushroom          the tuned methods on 20 orders of the rows

The tables are of the UCI Machine Learning Repository (CC BY 4.0) and are to be put into the folder
data/, as CSV with a header line: agaricus-lepiota.data (mushroom, Schlimmer 1987: 8,124 rows, the
label is edibility) and adult.data (census income, Becker and Kohavi 1996: the label is occupation,
known of 30,718 rows). In `noisy`, mushroom's rewards are flipped with probability 0.1. A seed is an
order of the rows, so tuning sees other orders of the same rows. GLM-UCB and TS-BLR are left out:
they solve as many equations as there are ids at every step.
"""
import argparse
import re
from functools import partial
from pathlib import Path

from lab import charts, runs, tables
from lab.command import call, number

import numpy as np

from envs import Labelled
from lab.variants import centred_fakes, unguided_fakes
from run_synthetic import METHODS as SYNTHETIC

DATA = Path("data")
mushroom = partial(Labelled, table=DATA / "agaricus-lepiota.data", label="edibility")
TASKS = {"mushroom": mushroom, "noisy": partial(mushroom, noise=0.1),
         "adult": partial(Labelled, table=DATA / "adult.data", label="occupation")}
STEPS, RUNS, SEED = 8_000, 20, 0

METHODS = {name: method for name, method in SYNTHETIC.items() if name not in ("GLM-UCB", "TS-BLR")}
METHODS |= {"unguided fakes": unguided_fakes, "fakes at the average": centred_fakes}

RATES = (0.001, 0.003, 0.01)
MANY_RATES = (0.0003, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.02, 0.03)
ALPHAS = dict(learning_rate=RATES, alpha=(0.01, 0.1, 1.0))
GRID = {
    "GuideBoot": ALPHAS, "Online GuideBoot": ALPHAS, "unguided fakes": ALPHAS,
    "fakes at the average": ALPHAS,
    "Bootstrap": dict(learning_rate=MANY_RATES), "OBB": dict(learning_rate=MANY_RATES),
    "Greedy": dict(learning_rate=MANY_RATES),
    "Giro": dict(learning_rate=RATES, giro_alpha=(0.0, 0.01, 0.1)),
    "e-greedy": dict(learning_rate=RATES, epsilon=(0.0, 0.01, 0.1)),
    "e-greedy (decay)": dict(learning_rate=RATES, epsilon=(0.0, 0.01, 0.1)),
    "Ridge": dict(learning_rate=RATES, precision=(0.1, 1.0, 10.0)),
}


def show(results):
    """The usual table; every run's regret as a dot, without Random's, which is far away."""
    regret = {row: list(tables.finite(by_seed).values())
              for row, by_seed in results.values().items() if row != "Random"}
    order = sorted((row for row in regret if regret[row]), key=lambda row: np.mean(regret[row]))
    panel = "", {row: regret[row] for row in order}
    table = re.search(r"Path\('(.+?)'", results.one["task"])[1]
    noise = re.search(r"noise=([\d.]+)", results.one["task"])[1]
    title = f"{table}, noise {noise}, {results.steps:,} steps: every run is a dot"
    return runs.shown(results)[0], charts.box_chart(title, "cumulative regret", [panel])


def main(argv=None):
    parser = argparse.ArgumentParser(prog="lab.real", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.error = lambda message: parser.exit(2, f"lab.real: {message}\n")
    parser.add_argument("task", choices=tuple(TASKS))
    parser.add_argument("--runs", type=number(int), default=RUNS, metavar="N",
                        help="(default %(default)s)")
    parser.add_argument("--out", default="out", metavar="DIR", help="(default %(default)s)")
    args = parser.parse_args(argv)
    runs.compare(runs.tuned(METHODS, args.task), TASKS[args.task], STEPS, args.runs, SEED, args.out,
                 args.task, show=show)


if __name__ == "__main__":
    call(main)
