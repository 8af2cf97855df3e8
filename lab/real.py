"""GuideBoot and its rivals on two public tables as bandits, one candidate for each class.

  python -m lab.study tune mushroom    also noisy and adult; 25 configurations each
  python -m lab.real mushroom          the tuned methods on 20 orders of the rows

The tables are of the UCI Machine Learning Repository (archive.ics.uci.edu, CC BY 4.0) and are to be
put into the folder data/, each with a first line of its columns' names:

  agaricus-lepiota.data   mushroom (Schlimmer 1987), 8,124 rows; the label, in the first column, is
                          to be called edibility
  adult.data              census income (Becker and Kohavi 1996); the label is occupation, known of
                          30,718 rows

In `noisy`, mushroom's rewards are flipped with probability 0.1. A seed is an order of the rows, so
tuning sees other orders of the same rows. GLM-UCB and TS-BLR are left out: they solve as many
equations as there are ids at every step.
"""
import argparse
import re
from functools import partial
from pathlib import Path

from lab import charts, runs, tables
from lab.command import call, number

import numpy as np

from envs import Labelled
from lab.variants import centred_fakes, no_fakes, unguided_fakes
from run_synthetic import METHODS as SYNTHETIC

DATA = Path("data")
mushroom = partial(Labelled, table=DATA / "agaricus-lepiota.data", label="edibility")
TASKS = {"mushroom": mushroom, "noisy": partial(mushroom, noise=0.1),
         "adult": partial(Labelled, table=DATA / "adult.data", label="occupation")}
STEPS, RUNS, SEED = 8_000, 20, 0

METHODS = {name: method for name, method in SYNTHETIC.items() if name not in ("GLM-UCB", "TS-BLR")}
METHODS |= {"unguided fakes": unguided_fakes, "fakes at the average": centred_fakes,
            "online, no fakes": no_fakes}


def grid(rates, alphas):
    """25 configurations of every method: five rates times five values of its strength, or 25 rates
    of a method that has none."""
    both = dict(learning_rate=rates, alpha=alphas)
    many = np.geomspace(min(rates), max(rates), 25).round(5).tolist()
    epsilons = dict(learning_rate=rates, epsilon=(0.0, 0.003, 0.01, 0.03, 0.1))
    return {
        "GuideBoot": both, "Online GuideBoot": both, "unguided fakes": both,
        "fakes at the average": both,
        "Bootstrap": dict(learning_rate=many), "OBB": dict(learning_rate=many),
        "Greedy": dict(learning_rate=many), "online, no fakes": dict(learning_rate=many),
        "Giro": dict(learning_rate=rates, giro_alpha=(0.0, 0.01, 0.03, 0.1, 0.3)),
        "e-greedy": epsilons, "e-greedy (decay)": epsilons,
        "Ridge": dict(learning_rate=rates, precision=(0.001, 0.01, 0.1, 1.0, 10.0)),
    }


MUSHROOM = grid((0.003, 0.01, 0.03, 0.1, 0.3), (0.01, 0.1, 1.0, 10.0, 100.0))
GRIDS = {"mushroom": MUSHROOM, "noisy": MUSHROOM,
         "adult": grid((0.0003, 0.001, 0.003, 0.01, 0.03), (0.001, 0.01, 0.1, 1.0, 10.0))}


def show(results):
    """The usual table; every run's regret as a dot, without Random's, which is far away."""
    regret = {row: list(tables.finite(by_seed).values())
              for row, by_seed in results.values().items() if row != "Random"}
    order = sorted((row for row in regret if regret[row]), key=lambda row: np.mean(regret[row]))
    panel = "", {row: regret[row] for row in order}
    table = re.search(r"Path\('(.+?)'", results.one["task"])[1]
    noise = re.search(r"noise=([\d.]+)", results.one["task"])[1]
    title = f"{table}, noise {noise}, {results.steps:,} steps"
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
