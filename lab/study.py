"""The study: tune every method alike, vary one thing at a time, judge the paper's claims, report.

  python -m lab.study tune synthetic          half an hour; writes tune_synthetic.csv, tuned.json
                                              (results/tuned.json if --out is there: it is read)
  python -m lab.study again b64               the tuned methods on other seeds
  python -m lab.study sweep synthetic alpha   what one option does; some minutes
  python -m lab.study claims                  which claims hold, from the result files
  python -m lab.study report                  tables and figures of results/ from its files

All runs are compare()'s: stored, resumed and shared with the scripts.
"""
import argparse
import itertools
import json
import re
from functools import partial
from pathlib import Path

import numpy as np

from lab import alpha, charts, real, runs, tables, why
from lab.command import call, number, parameters
from lab.paper import BEST, PAPER, SCORE, ads_tables, world_of
from lab.tables import label, parts

import run_ads
import run_synthetic
from envs import Ads, Synthetic
from guideboot import FastHarmonic
from lab.variants import SHUFFLE, Unguided, ads_apart, ads_no_fakes

METHODS = {"synthetic": run_synthetic.METHODS,
           "b64": {name: partial(run_synthetic.METHODS[name], batch=64)
                   for name in ("GuideBoot", "Bootstrap", "Giro")},
           "alpha1": {"GuideBoot": partial(run_synthetic.guideboot, alpha=1.0),
                      "Bootstrap": run_synthetic.bootstrap,
                      "GuideBoot (b = 64)": partial(run_synthetic.guideboot, alpha=1.0, batch=64),
                      "Bootstrap (b = 64)": partial(run_synthetic.bootstrap, batch=64)},
           "ads": {row: method for row, method in run_ads.METHODS.items()
                   if row[0] != "yardstick"},
           **{name: why.TASKS[name][0] for name in why.TUNED},
           **{name: real.METHODS for name in real.TASKS}}


# ---------------------------------------------------------------- tuning

# As many configurations for every method of an experiment, on seeds (and, for the ads, in worlds)
# that are never reported: learning rates (of models without one: prior precisions) times values of
# the exploration strength, or as many values of the one if a method has no other.
RATES = (0.001, 0.003, 0.01, 0.03)
MANY_RATES = tuple((0.0003 * 10 ** (np.arange(-2, 18) / 7)).round(5).tolist())
PRECISIONS = (3.0, 10.0, 30.0, 100.0, 300.0)
ADS_RATES = (0.0003, 0.001, 0.003, 0.01)
MANY_ADS_RATES = tuple((0.0003 * (100 / 3) ** (np.arange(-2, 14) / 11)).round(5).tolist())
EPSILONS = (0.0, 0.01, 0.03, 0.1, 0.3)
GRIDS = {
    "synthetic": {
        "GuideBoot": dict(learning_rate=RATES, alpha=(0.3, 1.0, 3.0, 10.0, 30.0)),
        "Online GuideBoot": dict(learning_rate=(0.003, 0.01, 0.03, 0.1),
                                 alpha=(0.03, 0.1, 0.3, 1.0, 3.0)),
        "GLM-UCB": dict(precision=PRECISIONS, ucb_strength=(0.0, 0.03, 0.1, 0.3)),
        "TS-BLR": dict(precision=PRECISIONS, ts_strength=(0.0, 0.1, 0.3, 1.0)),
        "Bootstrap": dict(learning_rate=MANY_RATES),
        "OBB": dict(learning_rate=MANY_RATES),
        "Giro": dict(learning_rate=(0.0003, 0.001, 0.003, 0.01),
                     giro_alpha=(0.0, 0.005, 0.015, 0.05, 0.15)),
        "e-greedy": dict(learning_rate=RATES, epsilon=EPSILONS),
        "e-greedy (decay)": dict(learning_rate=RATES, epsilon=EPSILONS),
        "Greedy": dict(learning_rate=MANY_RATES),
        "Ridge": dict(learning_rate=RATES, precision=PRECISIONS),
    },
    "ads": {
        "e-greedy": dict(learning_rate=ADS_RATES, epsilon=(0.0, 0.01, 0.05, 0.2)),
        "e-greedy (decay)": dict(learning_rate=ADS_RATES, epsilon=(0.0, 0.02, 0.1, 0.4)),
        "Deep-TS-Beta": dict(learning_rate=ADS_RATES, shaping=(0.0008, 0.004, 0.02, 0.1)),
        "Deep-UCB1": dict(learning_rate=(0.001, 0.003, 0.01, 0.03),
                          ucb_strength=(0.0, 0.0003, 0.001, 0.01)),
        "MC-Dropout": dict(learning_rate=ADS_RATES, dropout=(0.0, 0.2, 0.5, 0.8)),
        "Giro": dict(learning_rate=ADS_RATES, giro_alpha=(0.0, 0.001, 0.003, 0.03)),
        "GuideBoot": dict(learning_rate=ADS_RATES, alpha=(0.0003, 0.003, 0.03, 0.3)),
        "Online GuideBoot": dict(learning_rate=ADS_RATES, alpha=(0.0003, 0.003, 0.03, 0.3)),
        "Bootstrap": dict(learning_rate=MANY_ADS_RATES),
        "OBB": dict(learning_rate=MANY_ADS_RATES),
        "Greedy": dict(learning_rate=MANY_ADS_RATES),
        "Ridge": dict(learning_rate=ADS_RATES, precision=(0.1, 1.0, 10.0, 100.0)),
    },
}
GRIDS["b64"] = {**{name: GRIDS["synthetic"][name] for name in METHODS["b64"]},
                "GuideBoot": dict(GRIDS["synthetic"]["GuideBoot"],
                                  learning_rate=(0.0003, 0.001, 0.003, 0.01))}
GRIDS["alpha1"] = {name: dict(learning_rate=MANY_RATES) for name in METHODS["alpha1"]}
GRIDS |= {name: {cell: why.grid(cell) for cell in METHODS[name]} for name in why.TUNED}
GRIDS |= real.GRIDS
TUNING_SEED = 1000
TUNING = {"synthetic": (Synthetic, run_synthetic.STEPS, 12),               # task, steps, runs
          "b64": (Synthetic, run_synthetic.STEPS, 12),
          "alpha1": (Synthetic, run_synthetic.STEPS, 12),
          "ads": (partial(Ads, task="A", scale=0.05, known_ctr=run_ads.KNOWN_CTR), None, 3),
          **{name: (*why.TASKS[name][1:3], 8) for name in why.TUNED},
          **{name: (task, real.STEPS, 3) for name, task in real.TASKS.items()}}


def columns(experiment):
    return ("setting", "method") if experiment == "ads" else ("method",)


def configurations(experiment, row):
    """All that is tried for a row, as dictionaries of options."""
    grid = GRIDS[experiment].get(parts(row)[-1], {})
    found = [dict(zip(grid, values)) for values in itertools.product(*grid.values())]
    return found if grid else []


def in_words(options):
    return ", ".join(f"{name} {value}" for name, value in options.items())


def tune(experiment, args):
    """Try every configuration of every method; the best go into tuned.json."""
    task, steps, usual_runs = TUNING[experiment]
    tried = {(*parts(row), in_words(options)): partial(method, **options)
             for row, method in METHODS[experiment].items()
             for options in configurations(experiment, row)}
    seed = TUNING_SEED if args.seed is None else args.seed
    name = f"tune_{experiment}"
    number_of_runs = usual_runs if args.runs is None else args.runs
    runs.compare(tried, task, steps, number_of_runs, seed, args.out, name, args.workers,
                 columns=(*columns(experiment), "values"), show=partial(show_tuning, experiment))
    results = tables.read_csv(Path(args.out) / f"{name}.csv")
    for record in results.all():                     # what else was measured is of no use here
        record.pop("curve", None)
        record["numbers"] = {results.score: record["numbers"][results.score]}
    runs.write_text(Path(args.out) / f"{name}.csv", tables.csv_text(results))
    best = best_values(experiment, results)
    values = runs.tuned_values()
    values[experiment] = {}
    for row, (options, _) in best.items():
        method = METHODS[experiment][row]
        options = {**getattr(method, "keywords", {}), **options}         # what makes it this row
        values[experiment][label(row)] = {"method": runs.function_name(method), "options": options}
    within = runs.TUNED.parent in (args.out.resolve(), *args.out.resolve().parents)
    path = runs.TUNED if within else args.out / "tuned.json"
    runs.write_text(path, tuned_text(values))
    print(f"Tuned values: {path}" + ("" if within else f"; what is read is {runs.TUNED}"))


def again(experiment, args):
    """The tuned methods of an experiment on other seeds, to be reported."""
    task, steps, _ = TUNING[experiment]
    runs.compare(runs.tuned(METHODS[experiment], experiment), task, steps, args.runs,
                 args.seed or 0, args.out, experiment, args.workers, columns=columns(experiment))


def tuned_text(values):
    """JSON with a line for each method."""
    parts = []
    for experiment, rows in values.items():
        lines = [f"  {json.dumps(row)}: {json.dumps(found)}" for row, found in rows.items()]
        parts.append(f" {json.dumps(experiment)}: {{\n" + ",\n".join(lines) + "\n }")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def best_values(experiment, results):
    """{row: (options, means)}: of every method its best configuration, and all means, sorted.

    A run that diverged is as bad as can be. A method of which runs are missing is left out.
    """
    sign = 1.0 if results.score == "regret" else -1.0
    finals = results.values()
    best = {}
    for row in METHODS[experiment]:
        tried = configurations(experiment, row)
        names = [(*parts(row), in_words(options)) for options in tried]
        if not tried or not set(names) <= set(finals):
            continue
        means = sign * np.array([np.mean(list(finals[name].values())) for name in names])
        means[np.isnan(means)] = np.inf
        best[row] = tried[int(means.argmin())], sign * np.sort(means)
    return best


def show_tuning(experiment, results):
    """The table of a tuning; it has no figure."""
    lines = []
    for row, (options, means) in best_values(experiment, results).items():
        grid = GRIDS[experiment][parts(row)[-1]]
        edges = [name for name in grid if len(grid[name]) > 1
                 and options[name] in (min(grid[name]), max(grid[name]))]
        edges = ["strength 0" if options[name] == 0.0 else name for name in edges]
        scores = [f"{means[i]:.4g}" for i in (0, len(means) // 2, -1)]
        lines.append([label(row), f"{len(means)}", *scores, in_words(options), ", ".join(edges)])
    score = f"best {results.score}"
    heads = ["Method", "tried", score, "median", "worst", "best values", "at an edge"]
    return tables.text_table(heads, lines), None


# ---------------------------------------------------------------- sweeps

# What is varied on top of the tuned values: for which methods, over which values, and minus what:
# the method's own at its tuned or usual value, or another's at the same value.
GUIDED = ("GuideBoot", "Online GuideBoot")
BAGS = (*GUIDED, "Bootstrap", "OBB", "Giro")
SWEEPS = {
    "synthetic": {
        "alpha": (GUIDED, (0.1, 0.3, 1.0, 3.0, 10.0), "its own"),
        "models": (BAGS, (1, 2, 5, 10, 20), "GuideBoot"),
        "learning_rate": (tuple(GRIDS["synthetic"]), (0.0003, *RATES), "GuideBoot"),
        "batch": (("GuideBoot", "Bootstrap", "Giro", "e-greedy"), (16, 64, 256, 1024), "its own"),
        "ucb_strength": (("GLM-UCB",), (0.001, 0.01, 0.1, 0.3, 1.0), "its own"),
        "shuffle": (tuple(SHUFFLE), (0.0003, *RATES), "weights (OBB)"),
    },
    "ads": {
        "alpha": (GUIDED, (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0), "its own"),
        "models": (BAGS, (1, 2, 5, 10, 20), "GuideBoot"),
        "learning_rate": (BAGS, (0.0001, 0.0003, 0.001, 0.003, 0.01), "GuideBoot"),
        "density": (GUIDED, ("pull", "noise", "none", "unguided", "count", "harmonic"),
                    "its own"),
        "giro_alpha": (("Giro",), (0.01, 0.05, 0.2), "its own"),
    },
}
SWEEPING = {"synthetic": (Synthetic, run_synthetic.STEPS),
            "ads": (partial(Ads, task="A", scale=run_ads.SCALE, known_ctr=run_ads.KNOWN_CTR), None)}
WORDS = {"models": "number of models K", "batch": "b, rows resampled per model and step",
         "shuffle": "learning rate"}


def sweep(experiment, option, args):
    """Vary one option of the tuned methods and draw what comes of it."""
    names, values, _ = SWEEPS[experiment][option]
    methods = runs.tuned(METHODS[experiment], experiment)
    if option in ("alpha", "giro_alpha", "ucb_strength"):
        values = sorted({*values, *tuned_values_of(experiment, option, names)})
    varied_option = option
    if option == "shuffle":
        methods, varied_option = SHUFFLE, "learning_rate"
    varied = {(*parts(row), value): with_value(method, varied_option, value)
              for row, method in methods.items() if parts(row)[-1] in names for value in values}
    task, steps = SWEEPING[experiment]
    name = f"sweep_{option}" if experiment == "synthetic" else f"sweep_ads_A_{option}"
    if args.steps is not None:
        steps, name = args.steps, f"{name}_{args.steps}"
    runs.compare(varied, task, steps, args.runs, args.seed or 0, args.out, name, args.workers,
                 columns=(*columns(experiment), option), show=show_sweep)


def tuned_values_of(experiment, option, names):
    """The values of an option that were tuned for these methods: what others are compared with."""
    return [found["options"][option] for row, found in runs.tuned_values()[experiment].items()
            if row.split(", ")[-1] in names]


def with_value(method, option, value):
    """The method with this value of an option; itself if it does not have the option."""
    if option == "density":
        return with_density(method, value)
    return partial(method, **{option: value}) if option in parameters(method) else method


def with_density(method, kind):
    """GuideBoot on the ads without fakes, with their pull or noise alone, with as many unguided
    ones, or guided by one of two densities."""
    options = dict(runs.identity.complete(method, runs.identity.HANDED).keywords)
    if kind in ("unguided", "count", "harmonic"):
        unguided = partial(Unguided, density=run_ads.ad_count, alpha=options["alpha"])
        kinds = {"unguided": unguided, "count": run_ads.ad_count, "harmonic": FastHarmonic}
        return partial(method, density=kinds[kind])
    del options["density"]
    if kind in ("pull", "noise"):
        return partial(ads_apart, part=kind, **options)
    del options["alpha"]
    return partial(run_ads.bootstrap if options["setting"] == "replay" else ads_no_fakes, **options)


def reference(results, row):
    """The row whose values on the same seeds are subtracted from this one's.

    It is another method's at the same value, or the method's own at the value that was tuned for it
    when the file was made.
    """
    *name, value = row
    experiment = "ads" if "setting" in results.columns else "synthetic"
    minus = SWEEPS[experiment][results.columns[-1]][2]
    if minus != "its own":
        best = f"Online {minus}" if row[0] == "online" else minus
        return (*name[:-1], best, value)
    own = [other for other in results.records if other[:-1] == tuple(name)
           and results.known(other, "tuned") == experiment]
    return own[0] if own else row


def show_sweep(results):
    """The two tables of a sweep, and its figure: lines over numbers, boxes for words."""
    finals = {row: tables.finite(by_seed) for row, by_seed in results.values().items()}
    methods = list(dict.fromkeys(row[:-1] for row in finals))
    values = list(dict.fromkeys(row[-1] for row in finals))
    words = WORDS.get(results.columns[-1], results.columns[-1].replace("_", " "))
    regret = results.score == "regret"
    form = ".1f" if regret else ".4f"
    score = f"cumulative regret after {results.steps:,} steps" if regret else SCORE

    def cell(row):
        return tables.plus_minus(*tables.mean_and_error(list(finals[row].values())), form)

    def gap(row):
        other = reference(results, row)
        difference = tables.paired(finals[row], finals.get(other, {}))
        return "" if other == row else tables.plus_minus(*difference, "+" + form)
    heads = ["Method", *map(str, values)]
    means = [[label(m), *(cell((*m, v)) for v in values)] for m in methods]
    gaps = [[label(m), *(gap((*m, v)) for v in values)] for m in methods]
    minus = SWEEPS["synthetic" if regret else "ads"][results.columns[-1]][2]
    minus = ("each method's own at its tuned or usual value" if minus == "its own"
             else f"{minus}'s at the same value")
    text = "\n\n".join([
        f"{score}: mean +- standard error over runs, by {words}", tables.text_table(heads, means),
        f"Differences on the same seeds, mean +- half-width of the 95 % interval: minus {minus}",
        tables.text_table(heads, [line for line in gaps if any(line[1:])])])
    task = "Synthetic task" if regret else world_of(results)[1]
    title = f"{task}, by {words}: {max(map(len, finals.values()))} runs"
    return text, sweep_chart(title, words, score, methods, values, finals)


def sweep_chart(title, words, score, methods, values, finals):
    if isinstance(values[0], str):
        panels = [(m[-1], {v: list(finals[(*m, v)].values()) for v in values}) for m in methods]
        return charts.box_chart(title, score, panels)
    series = []
    for m in methods:
        points = [tables.mean_and_error(list(finals[(*m, v)].values())) for v in values]
        mean, error = np.array(points).T
        known = np.isfinite(error).all()
        series.append((m[-1], np.array(values, float), mean, error if known else None))
    return charts.line_chart(f"{title}, band: one standard error", words, score, series, log=True)


# ---------------------------------------------------------------- claims

# A claim is (text, the paper's words, {against: differences by seed}, number format), every
# difference signed so that the claim says it is above 0.
CONTROLS = ("Greedy", "Ridge", "Random")
IN_SHORT = ("GuideBoot is the best", "GuideBoot beats the other", "OBB loses", "Q3", "With context",
            "Online GuideBoot beats", "The shuffle alone", "Online GuideBoot is the best",
            "Every method is better online")
REGRET, RATIO, REWARD = "+.1f", "+.3f", "+.5f"


def synthetic_claims(final):
    """Section 5.1, from the final regrets {method: {seed: regret}}."""
    def more(*others, than="GuideBoot"):
        return {other: tables.minus(final[other], final[than]) for other in others}

    def logarithm(method):
        return {seed: np.log(value) for seed, value in final[method].items()}
    loss = {a: tables.minus(logarithm(a), logarithm(b))          # log of the ratio of two regrets
            for a, b in (("OBB", "Bootstrap"), ("Online GuideBoot", "GuideBoot"))}
    compared = [name for name in final if name not in ("GuideBoot", *CONTROLS)]
    return [
        ("GuideBoot is the best of all", "performs the best", more(*compared), REGRET),
        ("GuideBoot beats the Bayesian methods", "significantly outperforms",
         more("GLM-UCB", "TS-BLR"), REGRET),
        ("GuideBoot beats the other bootstraps", "significantly outperforms",
         more("Bootstrap", "Giro", "OBB"), REGRET),
        ("Bootstrap loses against e-greedy with decay (our reading)", "runs poorly",
         more("Bootstrap", than="e-greedy (decay)"), REGRET),
        ("Giro beats Bootstrap", "outperforms", more("Bootstrap", than="Giro"), REGRET),
        ("OBB loses against Bootstrap", "a huge loss", more("OBB", than="Bootstrap"), REGRET),
        ("Online GuideBoot's regret over GuideBoot's is less than OBB's over Bootstrap's (in logs)",
         "relative loss from GuideBoot is small",
         {"": tables.minus(loss["OBB"], loss["Online GuideBoot"])}, RATIO),
        ("Online GuideBoot beats OBB", "works fairly well", more("OBB", than="Online GuideBoot"),
         REGRET),
        ("GuideBoot beats regularised greedy (Ridge, ours)", "", more("Ridge"), REGRET),
    ]


def apart_claims(results):
    """Q3 and Thompson sampling, from GuideBoot taken apart (lab/why.py), every cell tuned."""
    others, final = ("no fakes", "unguided fakes"), results.values()
    of_posterior = results.values("of_posterior")["GuideBoot"]
    above_half = {seed: value - 0.5 for seed, value in of_posterior.items()}
    return [
        ("Q3, what contributes: guided fakes beat none and unguided ones",
         "guidance helps",
         {other: tables.minus(final[other], final["GuideBoot"]) for other in others}, REGRET),
        ("With context it is near Thompson sampling: the K models spread at least half as much as "
         "the posterior", "non-Bayesian approximation of Thompson sampling",
         {"": above_half}, RATIO),
    ]


def shuffle_claim(final):
    rate = runs.tuned_values()["synthetic"]["Online GuideBoot"]["options"]["learning_rate"]
    pairs = {"without weights": ("neither", "shuffle"), "with weights": ("weights (OBB)", "both")}
    text = "The shuffle alone lowers the regret, without and with Poisson weights"
    return [(text, "effectiveness of the shuffle-and-split step",
             {name: tables.minus(final[a, rate], final[b, rate])
              for name, (a, b) in pairs.items()}, REGRET)]


def giro_claim(results):
    """The paper searched Giro's alpha on the ads from 0.2 down, and took 0.01."""
    final, large = results.values(), ("replay", "Giro", 0.2)
    return [("Giro with alpha 0.003 beats Giro with 0.2 (A, scale 0.02)",
             "large alpha led to unacceptable performance",
             {"": tables.minus(final[reference(results, large)], final[large])}, REWARD)]


def ads_claims(task, final):
    """Section 5.2; the paper's words are its least difference."""
    paper = {row: values["AB".index(task)] for row, values in PAPER.items()}

    def better(text, pairs):
        least = min(paper[a][0] - paper[b][0] for a, b in pairs.values())
        return text, f"{least:+.4f}", {name: tables.minus(final[a], final[b])
                                       for name, (a, b) in pairs.items()}, REWARD
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
    table.append(small_std(paper, final))
    if ("replay", "Ridge") in final:
        pairs = {f"{setting}, {name}": ((setting, best), (setting, name))
                 for setting, best in BEST.items() for name in ("Greedy", "Ridge")}
        table.append(("GuideBoot beats Greedy and Ridge (ours)", "not claimed", {
            name: tables.minus(final[a], final[b]) for name, (a, b) in pairs.items()}, REWARD))
    return table


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
    are normal; unlike a std it comes per run, so that it has an interval.
    """
    distance = {}
    for row in paper:
        mean, n = np.mean(list(final[row].values())), len(final[row])
        factor = np.sqrt(np.pi / 2 * n / max(n - 1, 1))
        distance[row] = {seed: abs(value - mean) * factor for seed, value in final[row].items()}
    gaps, differences = [], {}
    for setting, best in BEST.items():
        others = [row for row in paper if row[0] == setting and row[1] != best]
        seeds = [s for s in distance[setting, best] if all(s in distance[row] for row in others)]
        average = {s: np.mean([distance[row][s] for row in others]) for s in seeds}
        gaps.append(np.mean([paper[row][1] for row in others]) - paper[setting, best][1])
        differences[setting] = tables.minus(average, distance[setting, best])
    text = "GuideBoot's std is small (more stable)"
    return text, f"{min(gaps):+.5f}", differences, REWARD


def intervals_of(differences):
    """{against: (mean, half-width)}; the intervals of a claim hold together with 95 %."""
    return {name: tables.interval(by_seed, len(differences))
            for name, by_seed in differences.items()}


def verdict(differences, form):
    """One of four words, of a claim that all differences are above 0.

    Not reproduced: an interval lies below 0, so one rival that is better refutes a superlative.
    Undecided tells the largest difference that one of the open comparisons would have missed with
    a chance of one in five.
    """
    intervals = intervals_of(differences)
    if not all(np.isfinite(half) for _, half in intervals.values()):
        return "not tested (too few runs)"
    if any(mean < -half for mean, half in intervals.values()):
        return "not reproduced"
    if all(mean > half for mean, half in intervals.values()):
        return "reproduced"
    unseen = max(tables.detectable(differences[name], len(differences))
                 for name, (mean, half) in intervals.items() if mean <= half)
    return f"undecided (could have missed {format(unseen, form).lstrip('+')})"


def verdicts(table):
    """Of every claim; one that contains a refuted claim is refuted with it, though its intervals,
    being more, are wider."""
    alone = [verdict(differences, form) for _, _, differences, form in table]
    refuted = [differences.items() for word, (_, _, differences, _) in zip(alone, table)
               if word == "not reproduced"]
    return ["not reproduced" if any(part <= differences.items() for part in refuted) else word
            for word, (_, _, differences, _) in zip(alone, table)]


def evidence(differences, form):
    """The least difference of a claim, against whom, and how many intervals are above 0."""
    intervals = intervals_of(differences)
    name, (mean, half) = min(intervals.items(), key=lambda item: item[1][0])
    least = tables.plus_minus(mean, half, form).replace("+-", "\u00b1")
    above = sum(m > h for m, h in intervals.values())
    return least + (f" ({name}); {above} of {len(intervals)} above 0" if name else "")


def claims(folder):
    """All claims, as lines of a Markdown table, from the result files of a folder."""
    def final(name):
        return {row: tables.finite(by_seed)
                for row, by_seed in tables.read_csv(folder / f"{name}.csv").values().items()}

    def apart(name):
        return apart_claims(tables.read_csv(folder / f"{name}.csv"))

    table = (synthetic_claims(final("synthetic")) + apart("why/why")
             + shuffle_claim(final("sweep_shuffle")))
    if (folder / "sweep_ads_A_giro_alpha.csv").exists():
        table += giro_claim(tables.read_csv(folder / "sweep_ads_A_giro_alpha.csv"))
    untuned = synthetic_claims(final("untuned/synthetic")) + apart("why/why_paper")
    with_papers_values = {text: word for (text, *_), word in zip(untuned, verdicts(untuned))}
    if (folder / "untuned/ads_A.csv").exists():
        untuned = ads_claims("A", final("untuned/ads_A"))
        with_papers_values |= {text: f"A {word}" for (text, *_), word in zip(untuned,
                                                                            verdicts(untuned))}
    for (text, paper, differences, form), word in zip(table, verdicts(table)):
        words = f'"{paper}"' if paper else "not claimed"
        other = with_papers_values.get(text, "")
        yield f"| {text} | {words} | {evidence(differences, form)} | {word} | {other} |"
    both = [ads_claims(task, final(f"ads_{task}")) for task in "AB"]
    words = [verdicts(table) for table in both]
    for i, (a, b) in enumerate(zip(*both)):
        ours = f"A {evidence(*a[2:])}; B {evidence(*b[2:])}"
        word, other = f"A {words[0][i]}; B {words[1][i]}", with_papers_values.get(a[0], "")
        yield f"| {a[0]} | A {a[1]}; B {b[1]} | {ours} | {word} | {other} |"
    still = final("no_drift/ads_A")
    pairs = {name: tables.minus(still[a], still[b]) for name, (a, b) in online_pairs(still).items()}
    text = "Without drift, too, every method is better online than with replay (A, scale 0.02)"
    yield f"| {text} | not claimed | {evidence(pairs, REWARD)} | {verdict(pairs, REWARD)} | |"


# ---------------------------------------------------------------- the report

def shown(path):
    """The table and the figure of a result file."""
    results = tables.read_csv(path)
    if path.stem.startswith("tune_"):
        return show_tuning(path.stem.split("_")[1], results)
    if path.stem.startswith("sweep_"):
        return show_sweep(results)
    if path.stem.startswith("alpha_"):
        return alpha.show(results)
    if path.stem.startswith("why"):
        return why.show(results)
    if path.stem in real.TASKS:
        return real.show(results)
    return ads_tables(results) if path.stem.startswith("ads_") else runs.shown(results)


def report(folder):
    """Write every figure of a folder, and every table between markers of its README, anew."""
    text = (folder / "README.md").read_text(encoding="utf-8")
    for path in sorted(folder.glob("**/*.csv")):
        table, figure = shown(path)
        if figure is not None:
            runs.write_text(path.with_suffix(".svg"), figure)
        text = between(text, path.relative_to(folder).as_posix(), f"```\n{table}\n```")
    heads = ["| claim of Section 5 | the paper | ours | verdict | with the paper's values |",
             "|---|---|---|---|---|"]
    lines = [*claims(folder)]
    text = between(text, "claims", "\n".join([*heads, *lines]))
    runs.write_text(folder / "README.md", text)
    front = folder.parent / "README.md"
    text = between(front.read_text(encoding="utf-8"), "claims", claims_in_short(lines))
    table, _ = shown(folder / "quick/synthetic.csv")
    text = between(text, "quick/synthetic.csv", f"```\n{table}\n```")
    runs.write_text(front, text)


def claims_in_short(lines):
    """The claims that the project's README has, with their verdicts alone."""
    cells = [line.split("|") for line in lines]
    short = [f"|{text}|{word}|" for _, text, _, _, word, *_ in cells
             if text.strip().startswith(IN_SHORT)]
    return "\n".join(["| claim | here |", "|---|---|", *short])


def between(text, name, table):
    """The text with this between its markers for `name`, if it has any."""
    first, last = re.escape(f"<!-- {name} -->"), re.escape(f"<!-- end {name} -->")
    return re.sub(f"({first}\n).*?({last})", lambda found: f"{found[1]}{table}\n{found[2]}", text,
                  flags=re.S)


# ---------------------------------------------------------------- the command

def main(argv=None):
    parser = argparse.ArgumentParser(prog="lab.study", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.error = lambda message: parser.exit(2, f"lab.study: {message}\n")
    parser.add_argument("what", choices=("tune", "again", "sweep", "claims", "report"))
    parser.add_argument("experiment", nargs="?", choices=tuple(GRIDS), help="of which task")
    parser.add_argument("option", nargs="?", help="sweep: what to vary")
    usual = ", ".join(f"{name} {number_of_runs}" for name, (_, _, number_of_runs) in TUNING.items())
    for name, text in (("runs", f"runs of each configuration (default: tune {usual}; else 10)"),
                       ("seed", "of the first run (default: tune 1000, else 0)"),
                       ("steps", "sweep: time steps of a run (default: the task's)"),
                       ("workers", "worker processes (default: one per core)")):
        parser.add_argument(f"--{name}", type=number(int), metavar="N", help=text)
    parser.add_argument("--out", metavar="DIR", help="folder of the result files (default: results "
                        "for claims and report, else out)")
    args = parser.parse_args(argv)
    if args.out is None:
        args.out = str(runs.TUNED.parent) if args.what in ("claims", "report") else "out"
    option = (args.option or "").replace("-", "_")
    if args.what in ("tune", "again", "sweep") and args.experiment is None:
        parser.error(f"{args.what}: say of which experiment, {' or '.join(GRIDS)}")
    if args.what == "sweep" and option not in SWEEPS.get(args.experiment, ()):
        parser.error(f"sweep {args.experiment}: must be one of "
                     f"{', '.join(SWEEPS.get(args.experiment, ()))}, got {args.option!r}")
    if args.what not in ("claims", "report"):
        args.out = runs.writable(args.out)           # a Path, also of "~/results"
    if args.what == "tune":
        tune(args.experiment, args)
    elif args.what == "again":
        again(args.experiment, args)
    elif args.what == "sweep":
        sweep(args.experiment, option, args)
    else:
        try:
            if args.what == "report":
                report(Path(args.out))
            else:
                print("\n".join(claims(Path(args.out))))
        except ValueError as error:
            parser.error(str(error))


if __name__ == "__main__":
    call(main)
