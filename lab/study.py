"""The study: tune every method alike, vary one thing at a time, judge the paper's claims, report.

  python -m lab.study tune synthetic --runs 12       half an hour; writes results/tuned.json
  python -m lab.study sweep synthetic alpha          what one option does; some minutes
  python -m lab.study claims                         which claims hold, from the result files
  python -m lab.study report                         tables and figures of results/ from its files

All runs are compare()'s: stored, resumed and shared with the scripts. --runs, --seed, --workers and
--out are as in the scripts. """
import argparse
import contextlib
import io
import itertools
import json
import re
import sys
from functools import partial
from pathlib import Path

import numpy as np

from lab import charts, runs, tables
from lab.command import call, number, parameters
from lab.tables import label, parts

import run_ads
import run_synthetic
from envs import Ads, Synthetic
from guideboot import AdCount, FastHarmonic
from lab.variants import SHUFFLE, Unguided, ads_no_fakes, no_fakes

RESULTS = runs.TUNED.parent
README = RESULTS / "README.md"


# ---------------------------------------------------------------- what is run

# Tuning: as many configurations for every method of an experiment, on seeds (and, for the ads, in a
# world) that no reported figure uses: learning rates (of models without one: prior precisions) times
# values of the exploration strength, or as many values of the one if a method has no other.
RATES = (0.0003, 0.001, 0.003, 0.01, 0.03)
MANY_RATES = tuple((0.0003 * 10 ** (np.arange(-2, 18) / 7)).round(5).tolist())
MANY_PRECISIONS = tuple((0.1 * 10 ** (np.arange(-2, 18) / 3.5)).round(3).tolist())
ADS_RATES = (0.0003, 0.001, 0.003)
MANY_ADS_RATES = tuple(np.geomspace(0.0003, 0.003, 9).round(5).tolist())
GRIDS = {
    "synthetic": {
        "GuideBoot": dict(learning_rate=RATES, alpha=(0.3, 1.0, 3.0, 10.0)),
        "Online GuideBoot": dict(learning_rate=RATES, alpha=(0.3, 1.0, 3.0, 10.0)),
        "GLM-UCB": dict(precision=(1.0, 3.0, 10.0, 30.0, 100.0), ucb_strength=(0.03, 0.1, 0.3, 1.0)),
        "TS-BLR": dict(precision=MANY_PRECISIONS),
        "Bootstrap": dict(learning_rate=MANY_RATES),
        "OBB": dict(learning_rate=MANY_RATES),
        "Giro": dict(learning_rate=RATES, giro_alpha=(0.015, 0.05, 0.15, 0.5)),
        "e-greedy": dict(learning_rate=RATES, epsilon=(0.01, 0.03, 0.1, 0.3)),
        "e-greedy (decay)": dict(learning_rate=RATES, epsilon=(0.01, 0.03, 0.1, 0.3)),
    },
    "ads": {
        "e-greedy": dict(learning_rate=ADS_RATES, epsilon=(0.03, 0.1, 0.2)),
        "e-greedy (decay)": dict(learning_rate=ADS_RATES, epsilon=(0.05, 0.1, 0.3)),
        "Deep-TS-Beta": dict(learning_rate=ADS_RATES, shaping=(0.1, 0.25, 1.0)),
        "Deep-UCB1": dict(learning_rate=ADS_RATES, ucb_strength=(0.001, 0.01, 0.1)),
        "MC-Dropout": dict(learning_rate=ADS_RATES, dropout=(0.05, 0.1, 0.3)),
        "Giro": dict(learning_rate=ADS_RATES, giro_alpha=(0.003, 0.01, 0.1)),
        "GuideBoot": dict(learning_rate=ADS_RATES, alpha=(0.03, 0.1, 0.3)),
        "Online GuideBoot": dict(learning_rate=ADS_RATES, alpha=(0.03, 0.1, 0.3)),
        "Bootstrap": dict(learning_rate=MANY_ADS_RATES),
        "OBB": dict(learning_rate=MANY_ADS_RATES),
    },
}
METHODS = {"synthetic": run_synthetic.METHODS,
           "ads": {row: run_ads.METHODS[row] for row in run_ads.PAPER}}
COLUMNS = {"synthetic": ("method",), "ads": ("setting", "method")}
TUNING_SEED = 1000
TUNING = {"synthetic": (Synthetic, run_synthetic.STEPS),
          "ads": (partial(Ads, task="A", scale=0.05, world=1000), None)}
SWEEPING = {"synthetic": (Synthetic, run_synthetic.STEPS),
            "ads": (partial(Ads, task="A", scale=run_ads.SCALE), None)}

# Sweeps: what is varied on top of the tuned values, and for which methods.
GUIDED = ("GuideBoot", "Online GuideBoot")
BAGS = (*GUIDED, "Bootstrap", "OBB", "Giro")
DENSITIES = ("none", "unguided", "count", "harmonic")
SWEEPS = {
    "synthetic": {
        "alpha": (GUIDED, (0.1, 0.3, 1.0, 3.0, 10.0)),
        "models": (BAGS, (1, 2, 5, 10, 20)),
        "learning_rate": (tuple(GRIDS["synthetic"]), RATES),
        "density": (GUIDED, DENSITIES),
        "batch": (("GuideBoot", "Bootstrap", "Giro", "e-greedy"), (16, 64, 256, 1024)),
        "ucb_strength": (("GLM-UCB",), (0.001, 0.01, 0.1, 0.3, 1.0)),
        "shuffle": (tuple(SHUFFLE), RATES),
    },
    "ads": {
        "alpha": (GUIDED, (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)),
        "models": (BAGS, (1, 2, 5, 10, 20)),
        "learning_rate": (BAGS, (0.0001, 0.0003, 0.001, 0.003, 0.01)),
        "density": (GUIDED, DENSITIES),
    },
}
WORDS = {"models": "number of models K", "batch": "b, rows resampled per model and step",
         "shuffle": "learning rate"}


# ---------------------------------------------------------------- tuning

def configurations(grid):
    """All combinations of a grid {option: values}, as dictionaries."""
    return [dict(zip(grid, values)) for values in itertools.product(*grid.values())]


def named(options):
    """A configuration as text, for the tables."""
    return ", ".join(f"{name} {value}" for name, value in options.items())


def tune(experiment, args):
    """Try every configuration of every method; print the best, and write them into tuned.json."""
    task, steps = TUNING[experiment]
    tried = {}
    for row, method in METHODS[experiment].items():
        for options in configurations(GRIDS[experiment].get(parts(row)[-1], {})):
            tried[(*parts(row), named(options))] = partial(method, **options)
    seed = TUNING_SEED if args.seed is None else args.seed
    runs.compare(tried, task, steps, args.runs or 1, seed, args.out, f"tune_{experiment}",
                 args.workers, columns=(*COLUMNS[experiment], "values"),
                 show=partial(show_tuning, experiment))
    values = runs.tuned_values()
    best = best_values(experiment, tables.read_csv(Path(args.out) / f"tune_{experiment}.csv"))
    values[experiment] = {label(row): {"method": method_text(METHODS[experiment][row]), "options": options}
                          for row, (options, _) in best.items()}
    write_tuned(Path(args.out) / "tuned.json", values)


def method_text(method):
    return runs.identity.name_of(runs.identity.taken_apart(method)[0])


def write_tuned(path, values):
    """One line a method."""
    texts = []
    for experiment, rows in values.items():
        lines = ",\n".join(f"  {json.dumps(row)}: {json.dumps(found)}" for row, found in rows.items())
        texts.append(f" {json.dumps(experiment)}: {{\n{lines}\n }}")
    runs.write_text(path, "{\n" + ",\n".join(texts) + "\n}\n")


def best_values(experiment, results):
    """{row: (options, means)}: of every method its best configuration, and the means of all.

    A run that diverged is as bad as can be.
    """
    regret = results.score == "regret"
    best = {}
    for row in METHODS[experiment]:
        tried = configurations(GRIDS[experiment].get(parts(row)[-1], {}))
        finals = [results.values().get((*parts(row), named(options))) for options in tried]
        if not tried or None in finals:
            continue
        means = np.array([np.mean(list(by_seed.values())) for by_seed in finals])
        means[np.isnan(means)] = np.inf if regret else -np.inf
        chosen = tried[int(means.argmin() if regret else means.argmax())]
        if len(parts(row)) == 2:
            chosen = {"setting": row[0], **chosen}
        best[row] = chosen, np.sort(means) if regret else np.sort(means)[::-1]
    return best


def show_tuning(experiment, results):
    lines = []
    for row, (options, means) in best_values(experiment, results).items():
        grid = GRIDS[experiment][parts(row)[-1]]
        edges = [name for name in grid if options[name] in (min(grid[name]), max(grid[name]))]
        lines.append([label(row), f"{len(means)}", f"{means[0]:.4g}", f"{means[len(means) // 2]:.4g}",
                      f"{means[-1]:.4g}", named({name: options[name] for name in grid}),
                      ", ".join(edges)])
    heads = ["Method", "tried", f"best {results.score}", "median", "worst", "best values", "at an edge"]
    print("\n" + tables.text_table(heads, lines))


# ---------------------------------------------------------------- sweeps

def sweep(experiment, option, args):
    """Vary one option of the tuned methods and draw what comes of it."""
    task, steps = SWEEPING[experiment]
    names, values = SWEEPS[experiment][option]
    methods = SHUFFLE if option == "shuffle" else runs.tuned(METHODS[experiment], experiment)
    varied = {(*parts(row), value): with_value(method, "learning_rate" if option == "shuffle" else option, value)
              for row, method in methods.items() if parts(row)[-1] in names for value in values}
    steps = steps if args.steps is None else args.steps
    name = f"sweep_{option}" if experiment == "synthetic" else f"sweep_ads_A_{option}"
    name += f"_{args.steps}" if args.steps else ""
    runs.compare(varied, task, steps, args.runs or 10, args.seed or 0, args.out, name, args.workers,
                 columns=(*COLUMNS[experiment], option), show=show_sweep)


def with_value(method, option, value):
    """The method with this value of an option; itself if it does not have the option."""
    if option == "density":
        return with_density(method, value)
    return partial(method, **{option: value}) if option in parameters(method) else method


def with_density(method, kind):
    """GuideBoot without fakes, with as many that are not guided, or guided by one of two densities."""
    function, options = runs.identity.taken_apart(method)
    ads = function is run_ads.guideboot
    if kind == "none":
        rest = {name: value for name, value in options.items() if name != "alpha"}
        if function is run_synthetic.guideboot:
            return partial(run_synthetic.bootstrap, **rest)
        if options.get("setting") == "replay":
            return partial(run_ads.bootstrap, **rest)
        return partial(ads_no_fakes if ads else no_fakes, **rest)
    own = run_ads.ad_count if ads else FastHarmonic
    alpha = parameters(method)["alpha"].default if "alpha" not in options else options["alpha"]
    return partial(method, density={
        "unguided": partial(Unguided, density=own, alpha=alpha),
        "count": run_ads.ad_count if ads else AdCount, "harmonic": FastHarmonic}[kind])


def reference(results, row):
    """The row whose values on the same seeds are subtracted, and what to call it."""
    option, (*method, value) = results.columns[-1], row
    if option in ("models", "learning_rate"):
        best = "Online GuideBoot" if row[0] == "online" else "GuideBoot"
        return (*method[:-1], best, value), "GuideBoot's at the same value"
    if option == "shuffle":
        return ("weights (OBB)", value), "the weights' (OBB) at the same value"
    usual = {"density": "count" if len(row) == 3 else "harmonic", "batch": run_synthetic.BATCH}
    if option in usual:
        return (*method, usual[option]), "the method's own at its usual value"
    experiment = "ads" if len(row) == 3 else "synthetic"
    tuned_to = runs.tuned_values()[experiment][label(tuple(method))]["options"]
    return (*method, tuned_to[option]), "the method's own at its tuned value"


def show_sweep(results):
    """Print the two tables of a sweep; return its figure: lines over numbers, boxes for words."""
    finals = {row: tables.finite(by_seed) for row, by_seed in results.values().items()}
    methods = list(dict.fromkeys(row[:-1] for row in finals))
    values = list(dict.fromkeys(row[-1] for row in finals))
    option = results.columns[-1]
    words = WORDS.get(option, option.replace("_", " "))
    regret = results.score == "regret"
    form = ".1f" if regret else ".4f"
    score = (f"cumulative regret after {results.steps:,} steps" if regret
             else "average reward (expected CTR of the shown ads)")
    means = {row: tables.mean_and_error(list(by_seed.values())) for row, by_seed in finals.items()}
    print(f"\n{score}: mean +- standard error over runs, by {words}\n")
    print(tables.text_table(["Method", *map(str, values)], [
        [label(m), *(tables.plus_minus(*means[(*m, v)], form) for v in values)] for m in methods]))
    print("\nDifferences on the same seeds, mean +- half-width of the 95 % interval: minus "
          f"{reference(results, next(iter(finals)))[1]}\n")
    lines = []
    for m in methods:
        cells = []
        for v in values:
            other, _ = reference(results, (*m, v))
            gap = tables.paired(finals[(*m, v)], finals.get(other, {}))
            cells.append("" if other == (*m, v) else tables.plus_minus(*gap, "+" + form))
        if any(cells):
            lines.append([label(m), *cells])
    print(tables.text_table(["Method", *map(str, values)], lines))
    task = "Synthetic task" if regret else run_ads.title(results)[0]
    return sweep_chart(f"{task}, by {words}", words, score, methods, values, finals)


def sweep_chart(title, words, score, methods, values, finals):
    title += f": {max(map(len, finals.values()))} runs"
    if isinstance(values[0], str):
        panels = [(m[-1], {v: list(finals[(*m, v)].values()) for v in values}) for m in methods]
        return charts.box_chart(f"{title}, every run is a dot", score, panels)
    series = []
    for m in methods:
        points = [tables.mean_and_error(list(finals[(*m, v)].values())) for v in values]
        mean, error = np.array(points).T
        series.append((m[-1], np.array(values, float), mean, None if np.isnan(error).any() else error))
    return charts.line_chart(f"{title}, band: one standard error", words, score, series, log=True)


# ---------------------------------------------------------------- claims

BEST = {"replay": "GuideBoot", "online": "Online GuideBoot"}


def synthetic_claims(final):
    """Claims of Section 5.1: (text, the paper's words, {against: interval of a difference above 0})."""
    def more_regret(*others):
        return {other: tables.paired(final[other], final["GuideBoot"], share=len(others))
                for other in others}

    def one(a, b):
        return {"": tables.paired(final[a], final[b])}
    obb_loses = tables.minus(final["OBB"], final["Bootstrap"])
    online_loses = tables.minus(final["Online GuideBoot"], final["GuideBoot"])
    others = [method for method in GRIDS["synthetic"] if method != "GuideBoot"]
    return [
        ("GuideBoot is the best of all", "performs the best", more_regret(*others)),
        ("GuideBoot beats the Bayesian methods", "significantly outperforms",
         more_regret("GLM-UCB", "TS-BLR")),
        ("GuideBoot beats the other bootstraps", "significantly outperforms",
         more_regret("Bootstrap", "Giro", "OBB")),
        ("Giro beats Bootstrap", "outperforms", one("Bootstrap", "Giro")),
        ("OBB loses against Bootstrap", "a huge loss", one("OBB", "Bootstrap")),
        ("Online GuideBoot loses less against GuideBoot than OBB against Bootstrap",
         "relative loss is small", {"": tables.interval(tables.minus(obb_loses, online_loses))}),
        ("Online GuideBoot beats OBB", "works fairly well", one("OBB", "Online GuideBoot")),
    ]


def guidance_claims(final, synthetic):
    """Q3 on the synthetic task: guided fakes against none and as many unguided ones."""
    table = []
    for method, paper in (("GuideBoot", "guidance helps"), ("Online GuideBoot", "")):
        others = {kind: final[method, kind] for kind in ("none", "unguided")}
        text = (f"Q3: {method}'s guided fakes are better than none and than as many unguided ones at "
                "its learning rate")
        if paper:
            others["Bootstrap"] = synthetic["Bootstrap"]
            text += ", and than none at Bootstrap's own"
        table.append((text, paper, {
            kind: tables.paired(other, final[method, "harmonic"], share=len(others))
            for kind, other in others.items()}))
    return table


def shuffle_claim(final):
    rate = runs.tuned_values()["synthetic"]["Online GuideBoot"]["options"]["learning_rate"]
    pairs = {"without weights": ("neither", "shuffle"), "with weights": ("weights (OBB)", "both")}
    return [("Shuffle-and-split: without fakes, at Online GuideBoot's learning rate, the shuffle lowers "
             "the regret without and with Poisson weights", "effectiveness of the shuffle-and-split step",
             {name: tables.paired(final[a, rate], final[b, rate], share=2)
              for name, (a, b) in pairs.items()})]


def ads_claims(task, final):
    """Claims of Section 5.2, the paper's least difference beside each."""
    paper = {row: values["AB".index(task)] for row, values in run_ads.PAPER.items()}

    def better(text, pairs):
        least = min(paper[a][0] - paper[b][0] for a, b in pairs.values())
        return text, f"{least:+.4f}", {name: tables.paired(final[a], final[b], share=len(pairs))
                                       for name, (a, b) in pairs.items()}
    table = []
    for setting, best in BEST.items():
        number = 3 if setting == "replay" else 4
        rivals = [row for row in paper if row[0] == setting and row[1] != best]
        table.append(better(f"{best} is the best of Table {number}",
                            {row[1]: ((setting, best), row) for row in rivals}))
    table.append(better("Every method is better online than with replay", online_pairs(paper)))
    table.append(better("Deep-UCB1 is worse than Deep-TS-Beta", {
        s: ((s, "Deep-TS-Beta"), (s, "Deep-UCB1")) for s in BEST}))
    table.append(better("e-greedy (decay) is better than MC-Dropout (the paper: often)", {
        s: ((s, "e-greedy (decay)"), (s, "MC-Dropout")) for s in BEST}))
    return [*table, small_std(paper, final)]


def online_pairs(rows):
    """{method: (its online row, its replay row)} of the methods in both tables."""
    pairs = {}
    for setting, method in rows:
        other = ("replay", method.replace("Online ", ""))
        if setting == "online" and other in rows:
            pairs[method] = ("online", method), other
    return pairs


def small_std(paper, final):
    """GuideBoot's runs lie nearer to their mean than other rows' do on average.

    A run's distance from its row's mean, times sqrt(pi/2 n/(n-1)), has the std as its mean if runs
    are normal; unlike a std it comes per run, so that it has an interval. """
    distance = {}
    for row in paper:
        mean, n = np.mean(list(final[row].values())), len(final[row])
        factor = np.sqrt(np.pi / 2 * n / max(n - 1, 1))
        distance[row] = {seed: abs(value - mean) * factor for seed, value in final[row].items()}
    gaps, intervals = [], {}
    for setting, best in BEST.items():
        others = [row for row in paper if row[0] == setting and row[1] != best]
        seeds = [s for s in distance[setting, best] if all(s in distance[row] for row in others)]
        average = {s: np.mean([distance[row][s] for row in others]) for s in seeds}
        gaps.append(np.mean([paper[row][1] for row in others]) - paper[setting, best][1])
        intervals[setting] = tables.paired(average, distance[setting, best], share=2)
    return "GuideBoot's std is small", f"{min(gaps):+.5f}", intervals


def verdict(intervals):
    """Of a claim that all differences {name: (mean, half-width)} are above 0."""
    above = sum(mean > half for mean, half in intervals.values())
    below = sum(mean < -half for mean, half in intervals.values())
    if not all(np.isfinite(half) for _, half in intervals.values()):
        return "open, too few runs"
    if below:
        return "not reproduced"
    if above == len(intervals):
        return "reproduced"
    return "partly" if above else "not reproduced (undecided)"


def verdicts(table):
    """Of every claim; one that contains a refuted claim is refuted with it, though its intervals,
    being more, are wider."""
    alone = [verdict(intervals) for _, _, intervals in table]
    means = [{name: mean for name, (mean, _) in intervals.items()}.items()
             for _, _, intervals in table]
    refuted = [part for own, part in zip(alone, means) if own == "not reproduced"]
    return ["not reproduced" if any(part <= whole for part in refuted) else own
            for own, whole in zip(alone, means)]


def evidence(intervals, form):
    """The least difference of a claim, against whom, and how many intervals are above 0."""
    name, (mean, half) = min(intervals.items(), key=lambda item: item[1][0])
    least = tables.plus_minus(mean, half, form).replace("+-", "\u00b1")
    above = sum(m > h for m, h in intervals.values())
    return least + (f" ({name}); {above} of {len(intervals)} above 0" if name else "")


def claims():
    """All claims, as lines of a Markdown table, from the result files."""
    unclaimed = {"reproduced": "shown", "partly": "partly shown", "not reproduced": "refuted",
                 "not reproduced (undecided)": "undecided"}
    final = {path.stem: tables.read_csv(path).values() for path in RESULTS.glob("*.csv")}
    table = (synthetic_claims(final["synthetic"])
             + guidance_claims(final["sweep_density"], final["synthetic"])
             + shuffle_claim(final["sweep_shuffle"]))
    for (text, paper, intervals), found in zip(table, verdicts(table)):
        words, found = (f'"{paper}"', found) if paper else ("not claimed", unclaimed[found])
        yield f"| {text} | {words} | {evidence(intervals, '+.1f')} | {found} |"
    both = [ads_claims(task, final[f"ads_{task}"]) for task in "AB"]
    found = [verdicts(table) for table in both]
    for i, (a, b) in enumerate(zip(*both)):
        yield (f"| {a[0]} | A {a[1]}; B {b[1]} | A {evidence(a[2], '+.5f')}; B {evidence(b[2], '+.5f')} "
               f"| A {found[0][i]}; B {found[1][i]} |")
    final["no_drift"] = tables.read_csv(RESULTS / "no_drift" / "ads_A.csv").values()
    for text, intervals in ads_extras(final["sweep_ads_A_density"], final["no_drift"]):
        yield (f"| {text} | no such experiment | {evidence(intervals, '+.5f')} "
               f"| {unclaimed[verdict(intervals)]} |")


def ads_extras(density, still):
    """What the paper does not ask: guidance on the ads, and online against replay without drift."""
    for setting, best in BEST.items():
        guided = density[setting, best, "count"]
        yield (f"Q3 on Ads A (scale 0.02): {best}'s guided fakes are better than none and than as many "
               "unguided ones at its learning rate",
               {kind: tables.paired(guided, density[setting, best, kind], share=2)
                for kind in ("none", "unguided")})
    pairs = online_pairs(still)
    yield ("Every method is better online than with replay, without drift too (A, scale 0.05)",
           {name: tables.paired(still[a], still[b], share=len(pairs)) for name, (a, b) in pairs.items()})


# ---------------------------------------------------------------- the report

def shower(path):
    """What prints the tables of a result file and returns its figure."""
    if path.stem.startswith("tune_"):
        return partial(show_tuning, path.stem.split("_")[1])
    if path.stem.startswith("sweep_"):
        return show_sweep
    return run_ads.show if path.stem.startswith("ads_") else runs.shown


def tables_of(path):
    """The tables that a result file's command printed, and its figure."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        figure = shower(path)(tables.read_csv(path))
    blocks = re.split(r"\n\n+", text.getvalue().strip())
    kept = [block for i, block in enumerate(blocks)
            if "\n---" in block or (i + 1 < len(blocks) and "\n---" in blocks[i + 1])]
    return "\n\n".join(kept), figure


def report():
    """Write every figure of results/ and every table between markers of its README from the files."""
    text = README.read_text(encoding="utf-8")
    for path in sorted(RESULTS.glob("**/*.csv")):
        table, figure = tables_of(path)
        if figure is not None:
            runs.write_text(path.with_suffix(".svg"), figure)
        text = between(text, path.relative_to(RESULTS).as_posix(), f"```\n{table}\n```")
    text = between(text, "claims", "\n".join(["| claim of Section 5 | the paper | ours | verdict |",
                                              "|---|---|---|---|", *claims()]))
    runs.write_text(README, text)


def between(text, name, table):
    """The text with this between its markers for `name`, if it has any."""
    marks = re.escape(f"<!-- {name} -->"), re.escape(f"<!-- end {name} -->")
    return re.sub(f"({marks[0]}\n).*?({marks[1]})", lambda m: f"{m[1]}{table}\n{m[2]}", text, flags=re.S)


# ---------------------------------------------------------------- the command

def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m lab.study", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.error = lambda message: parser.exit(2, f"lab.study: {message}\n")
    parser.add_argument("what", choices=("tune", "sweep", "claims", "report"))
    parser.add_argument("experiment", nargs="?", choices=tuple(GRIDS))
    parser.add_argument("option", nargs="?", help="what to sweep")
    for name in ("runs", "seed", "workers", "steps"):
        parser.add_argument(f"--{name}", type=number(int), metavar="N")
    parser.add_argument("--out", default=str(RESULTS), metavar="DIR")
    args = parser.parse_args(argv)
    if args.what in ("tune", "sweep") and args.experiment is None:
        parser.error(f"{args.what}: say of which experiment, {' or '.join(GRIDS)}")
    if args.what == "tune":
        tune(args.experiment, args)
    elif args.what == "sweep":
        option = (args.option or "").replace("-", "_")
        if option not in SWEEPS[args.experiment]:
            parser.error(f"sweep {args.experiment}: must be one of "
                         f"{', '.join(SWEEPS[args.experiment])}, got {args.option!r}")
        sweep(args.experiment, option, args)
    elif args.what == "claims":
        print("\n".join(claims()))
    else:
        report()


if __name__ == "__main__":
    call(main)
