"""What alpha means: how many fakes per real sample it comes to, and what they do to the regret.

  python -m lab.alpha                                           the synthetic task: some minutes
  python -m lab.alpha --table mushroom.csv --label edibility    a table of one's own

GuideBoot (replay) over alphas, two densities and three learning rates, against Bootstrap, which is
GuideBoot without fakes, at the same rate.
"""
import argparse
from functools import partial
from pathlib import Path

from lab import runs, tables
from lab.command import call, number

from envs import Labelled, Synthetic
from guideboot import AdCount, FastHarmonic
from run_synthetic import bootstrap, guideboot

ALPHAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
RATES = (0.001, 0.003, 0.01)
DENSITIES = {"harmonic": FastHarmonic, "count": partial(AdCount, field=0)}      # the action
STEPS = 3000


def methods():
    """{(density, alpha, learning rate): method}; without fakes alpha is 0."""
    rows = {("none", 0.0, rate): partial(bootstrap, learning_rate=rate) for rate in RATES}
    for name, density in DENSITIES.items():
        for alpha in ALPHAS:
            for rate in RATES:
                rows[name, alpha, rate] = partial(guideboot, alpha=alpha, density=density,
                                                  learning_rate=rate)
    return rows


def show(results):
    """A line for each density and alpha: fakes per sample at the end, and regret at every rate."""
    regret, fakes = results.values(), results.values("fakes")

    def cell(row):
        mean, _ = tables.mean_and_error(list(regret[row].values()))
        if row[0] == "none":
            return f"{mean:.1f}"
        gap = tables.paired(regret[row], regret["none", 0.0, row[2]])
        return f"{mean:.1f} ({tables.plus_minus(*gap, '+.1f')})"
    lines = []
    for name, alpha in dict.fromkeys(row[:2] for row in regret):
        shown = [value for rate in RATES for value in fakes[name, alpha, rate].values()]
        per_sample = f"{sum(shown) / len(shown):.3f}" if shown else ""
        cells = [cell((name, alpha, rate)) for rate in RATES]
        lines.append([name, f"{alpha:g}", per_sample, *cells])
    heads = ["Density", "alpha", "fakes", *(f"learning rate {rate:g}" for rate in RATES)]
    head = (f"Cumulative regret after {results.steps:,} steps (minus that without fakes at the\n"
            "same rate, mean +- half-width of the 95 % interval); fakes per sample at the end.")
    return f"{head}\n\n{tables.text_table(heads, lines)}", None


def main(argv=None):
    parser = argparse.ArgumentParser(prog="lab.alpha", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.error = lambda message: parser.exit(2, f"lab.alpha: {message}\n")
    parser.add_argument("--table", metavar="FILE", help="a CSV file with a header")
    parser.add_argument("--label", metavar="COLUMN", help="its column of classes")
    parser.add_argument("--runs", type=number(int), default=10, metavar="N", help="(default 10)")
    parser.add_argument("--out", default="out", metavar="DIR", help="(default out)")
    args = parser.parse_args(argv)
    if (args.table is None) != (args.label is None):
        parser.error("--table and --label go together")
    task, name = Synthetic, "alpha_synthetic"
    if args.table is not None:
        task = partial(Labelled, table=Path(args.table), label=args.label)
        name = f"alpha_{Path(args.table).stem}"
    runs.compare(methods(), task, STEPS, args.runs, out=args.out, name=name, show=show,
                 columns=("method", "alpha", "rate"))


if __name__ == "__main__":
    call(main)
