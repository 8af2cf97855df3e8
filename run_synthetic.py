# /// script
# requires-python = ">=3.10"
# dependencies = ["numpy>=1.24"]
# ///
"""Reproduce Figure 3 of the GuideBoot paper: ten methods on the synthetic Bernoulli bandit of Section 5.1.

  python run_synthetic.py                                 the default: one to two minutes on two cores
  python run_synthetic.py --methods guideboot,ts-blr      two methods only
  python run_synthetic.py --runs 50 --steps 10000         the paper's number of runs
  python run_synthetic.py --arms                          the multi-armed case of Section 3.4: no context
  python run_synthetic.py --tune --runs 12                find the values of the table TUNED: half an hour
  python run_synthetic.py --sweep alpha                   GuideBoot's regret against alpha: some minutes

It prints a table sorted by regret (lower is better) and writes synthetic.csv (arms.csv) and a figure, an SVG that
any browser opens, into the folder --out. Regret is pseudo-regret: the expected reward of the best candidate minus
that of the one shown, summed over the steps. Run number i of every method faces the same environment, contexts and
reward uniforms, so differences between methods are paired.
"""
import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ[variable] = "1"         # one BLAS thread per process; processes run in parallel instead

import argparse
import functools
import time
from pathlib import Path

import numpy as np

import baselines
import report
from envs import BernoulliArms, Scored, Synthetic, stream
from guideboot import AdCount, Arms, Harmonic, bootstrap_mean, guided_mean, online, replay, thompson_mean
from nn import LogisticBag

DEFAULTS = dict(
    runs=10,                # ours   (paper: 50; the default is a quick look)
    steps=10_000,           # ours   (the paper does not say)
    seed=0,                 # ours   runs use the seeds seed, seed + 1, ...
    alpha=1.0,              # paper  strength of GuideBoot's guidance
    density="harmonic",     # paper  GuideBoot's; for the ablation also count (of the action), unguided, none (no fakes)
    models=5,               # paper  K
    batch=256,              # ours   b, rows resampled per model and step
    buffer=32,              # ours   c, steps between two online learning phases
    minibatches=4,          # ours   n, mini-batches per online learning phase
    learning_rate=0.002,    # ours   Adam's
    epsilon=0.1,            # paper  epsilon-greedy; decays linearly to zero in the decay variant
    giro_alpha=0.5,         # paper  probability of a pseudo pair
    ucb_strength=1.0,       # paper  factor of sqrt(log(t + 1)) in GLM-UCB
    precision=1.0,          # ours   prior precision of GLM-UCB and TS-BLR
    init=0.1,               # ours   standard deviation of the models' initial weights
    arms=10,                # ours   --arms: number of arms, CTRs uniform in 0 to 0.1
)


def bag(o, seed, K):
    return LogisticBag(Synthetic.features, [stream(seed, "models", k) for k in range(K)], o["learning_rate"], init=o["init"])


def by_replay(agent, K=None):
    """A method that learns from the whole history: agent(bag, rng, o) in Algorithm 1."""
    return lambda o, seed, rng, env: replay(agent(bag(o, seed, K or o["models"]), rng, o), env,
                                            o["steps"], o["batch"])


def by_stream(agent):
    """A method that learns from the stream: agent(bag, rng, o) in Algorithm 3."""
    return lambda o, seed, rng, env: online(agent(bag(o, seed, o["models"]), rng, o), env,
                                            o["steps"], o["buffer"], o["minibatches"])


def step_by_step(agent):
    """A method without a bag, which learns after every step: agent(rng, o)."""
    return lambda o, seed, rng, env: online(agent(rng, o), env, o["steps"], 1)


def guideboot(bag, rng, o):
    density = AdCount(D) if o["density"] == "count" else Harmonic(D)
    return baselines.ablated(o["density"], bag, rng, density, o["alpha"])


J, D = Synthetic.fields, Synthetic.features
METHODS = {
    "GuideBoot": by_replay(guideboot),
    "Online GuideBoot": by_stream(guideboot),
    "GLM-UCB": step_by_step(lambda rng, o: baselines.GLMUCB(J, D, rng, o["precision"], o["ucb_strength"])),
    "TS-BLR": step_by_step(lambda rng, o: baselines.TSBLR(J, D, rng, o["precision"])),
    "Bootstrap": by_replay(lambda bag, rng, o: baselines.Bootstrap(bag, rng)),
    "OBB": by_stream(lambda bag, rng, o: baselines.OBB(bag, rng)),
    "Giro": by_replay(lambda bag, rng, o: baselines.Giro(bag, rng, o["giro_alpha"])),
    "e-greedy": by_replay(lambda bag, rng, o: baselines.EpsilonGreedy(bag, rng, o["epsilon"]), K=1),
    "e-greedy (decay)": by_replay(lambda bag, rng, o: baselines.EpsilonGreedy(bag, rng, o["epsilon"], o["steps"]), K=1),
    "Random": step_by_step(lambda rng, o: baselines.RandomPolicy(rng)),
}
ARMS = {
    "GuideBoot": step_by_step(lambda rng, o: Arms(o["arms"], functools.partial(guided_mean, alpha=o["alpha"]), rng)),
    "Thompson (Beta)": step_by_step(lambda rng, o: Arms(o["arms"], functools.partial(thompson_mean, alpha=o["alpha"]), rng)),
    "Bootstrap": step_by_step(lambda rng, o: Arms(o["arms"], bootstrap_mean, rng)),
    "Giro": step_by_step(lambda rng, o: baselines.GiroArms(o["arms"], rng, o["giro_alpha"])),
    "Random": step_by_step(lambda rng, o: baselines.RandomPolicy(rng)),
}
STYLE = {method: i for i, method in enumerate(METHODS)} | {"Thompson (Beta)": 3}      # of the lines in the figure


def checkpoints(steps, curve=True):
    """The steps at which the regret is recorded: 50, or every step of a shorter run; without a curve the last alone."""
    return np.unique(-(-steps * np.arange(1, 51) // 50))[0 if curve else -1:]       # steps * i / 50, rounded up


def settings(o, method):
    """The values that a method runs with: the defaults, then its tuned ones, then those given on the command line."""
    return {**DEFAULTS, **o.get("tuned", {}).get(method, {}), **o}


def run(job, tick=lambda fraction: None):
    """One run of one method: cumulative regret at the checkpoints, then the average reward."""
    (method, seed), o = job[:2], job[2]
    method = o.get("method", method)
    o = settings(o, method)
    env = Scored(BernoulliArms(seed, o["arms"]) if o["task"] == "arms" else Synthetic(seed), o["steps"], tick)
    try:
        (ARMS if o["task"] == "arms" else METHODS)[method](o, seed, stream(seed, "agent"), env)
    except FloatingPointError as error:
        raise FloatingPointError(f"at step {env.t + 1:,} {error}")
    return [*np.cumsum(env.regret)[checkpoints(o["steps"], o.get("curve", True)) - 1], env.rewards.mean()]


# ---------------------------------------------------------------- what to run, and what is shown of it

TUNED = {                   # found by: python run_synthetic.py --tune --runs 12
    "GuideBoot": dict(learning_rate=0.003, alpha=10.0),
    "Online GuideBoot": dict(learning_rate=0.01, alpha=1.0),
    "GLM-UCB": dict(precision=30.0, ucb_strength=0.1),
    "TS-BLR": dict(precision=0.052),
    "Bootstrap": dict(learning_rate=0.0008),
    "OBB": dict(learning_rate=0.01118),
    "Giro": dict(learning_rate=0.001, giro_alpha=0.015),
    "e-greedy": dict(learning_rate=0.003, epsilon=0.03),
    "e-greedy (decay)": dict(learning_rate=0.003, epsilon=0.03),
}
RATES = (0.0003, 0.001, 0.003, 0.01, 0.03)
# What --tune tries, 20 configurations for every method: five learning rates (of models without one: prior precisions)
# times four values of its exploration strength, or 20 of the one if it has no other.
MANY = tuple((0.0003 * 10 ** (np.arange(-2, 18) / 7)).round(5))             # 20 learning rates, seven to a decade, 0.00016 to 0.08
GRID = {
    "GuideBoot": dict(learning_rate=RATES, alpha=(0.3, 1.0, 3.0, 10.0)),
    "Online GuideBoot": dict(learning_rate=RATES, alpha=(0.3, 1.0, 3.0, 10.0)),
    "GLM-UCB": dict(precision=(1.0, 3.0, 10.0, 30.0, 100.0), ucb_strength=(0.03, 0.1, 0.3, 1.0)),
    "TS-BLR": dict(precision=tuple((0.1 * 10 ** (np.arange(-2, 18) / 3.5)).round(3))),
    "Bootstrap": dict(learning_rate=MANY),
    "OBB": dict(learning_rate=MANY),
    "Giro": dict(learning_rate=RATES, giro_alpha=(0.015, 0.05, 0.15, 0.5)),
    "e-greedy": dict(learning_rate=RATES, epsilon=(0.01, 0.03, 0.1, 0.3)),
    "e-greedy (decay)": dict(learning_rate=RATES, epsilon=(0.01, 0.03, 0.1, 0.3)),
}
TUNABLE = sorted({name for grid in GRID.values() for name in grid})
BAGS = ("GuideBoot", "Online GuideBoot", "Bootstrap", "OBB", "Giro")
SWEEPS = {                  # --sweep: what is varied, on top of the tuned values, and for which methods
    "alpha": (("GuideBoot", "Online GuideBoot"), (0.1, 0.3, 1.0, 3.0, 10.0)),
    "models": (BAGS, (1, 2, 5, 10, 20)),
    "learning_rate": (tuple(GRID), RATES),
    "density": (("GuideBoot", "Online GuideBoot"), ("none", "unguided", "count", "harmonic")),
    "batch": (("GuideBoot", "Bootstrap", "Giro", "e-greedy"), (16, 64, 256, 1024)),
    "ucb_strength": (("GLM-UCB",), (0.001, 0.01, 0.1, 0.3, 1.0)),
}
OTHERS = [m for m in GRID if m != "GuideBoot"]
CLAIMS = (                  # of Section 5.1, the paper's words; a - b > 0 for every comparison (a, b), a - b > c - d for (a, b, c, d)
    ("GuideBoot is the best of all", "performs the best", {m: (m, "GuideBoot") for m in OTHERS}),
    ("GuideBoot beats the Bayesian methods", "significantly outperforms", {m: (m, "GuideBoot") for m in ("GLM-UCB", "TS-BLR")}),
    ("GuideBoot beats the other bootstraps", "significantly outperforms", {m: (m, "GuideBoot") for m in ("Bootstrap", "Giro", "OBB")}),
    ("Giro beats Bootstrap", "outperforms", {"": ("Bootstrap", "Giro")}),
    ("OBB loses against Bootstrap", "a huge loss", {"": ("OBB", "Bootstrap")}),
    ("Online GuideBoot loses less against GuideBoot than OBB against Bootstrap", "relative loss is small",
     {"": ("OBB", "Bootstrap", "Online GuideBoot", "GuideBoot")}),
    ("Online GuideBoot beats OBB", "works fairly well", {"": ("OBB", "Online GuideBoot")}),
)


def options(argv):
    p = report.Parser(prog="run_synthetic.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = p.usual(DEFAULTS, f"{', '.join(METHODS)}; with --arms of: {', '.join(ARMS)}", TUNABLE, [name.replace("_", "-") for name in SWEEPS])
    whole, positive = report.number(int, 1, high=10 ** 9), report.number(float, 0, above=True)
    add("steps", whole, "time steps of a run")
    add("alpha", positive, "strength of GuideBoot's guidance, and, with --arms (default 1), the prior of Thompson sampling")
    add("models", report.number(int, 1, high=1000), "K, the number of models in a bag")
    add("batch", report.number(int, 1, high=10 ** 6), "b, rows that each model resamples per step (replay methods)")
    add("buffer", whole, "c, steps between two learning phases (online methods)")
    add("minibatches", whole, "n, mini-batches per learning phase (online methods)")
    add("learning_rate", positive, "Adam's learning rate")
    add("epsilon", report.number(float, 0, high=1), "of epsilon-greedy")
    add("giro_alpha", report.number(float, 0, high=1), "Giro's probability of a pseudo pair")
    add("ucb_strength", report.number(float, 0), "factor of GLM-UCB's bonus")
    add("precision", positive, "prior precision of GLM-UCB and TS-BLR")
    p.add_argument("--arms", action="store_true", dest="arms_task",
                   help="the multi-armed comparison instead: ten arms, no context; uses alpha, runs, steps and seed alone")
    args = p.parse_args(argv)
    if args.arms_task and (args.tune or args.sweep):
        p.error(f"argument --arms: not with --tune or --sweep, got --{'tune' if args.tune else 'sweep'} too")
    if args.minibatches > args.buffer:
        p.error(f"argument --minibatches: must be at most c (--buffer), {args.buffer}, got {args.minibatches}")
    names = ARMS if args.arms_task else GRID if args.tune else SWEEPS[args.sweep][0] if args.sweep else METHODS
    args.methods = p.methods(args.methods, list(names)) if args.methods is not None else list(names)
    args.out = p.folder(args.out)
    return args


def main(argv=None):
    args = options(argv)
    task = "arms" if args.arms_task else "synthetic"
    o = dict(report.given(args, DEFAULTS, TUNABLE), task=task, tuned={} if args.arms_task or args.untuned or args.tune else TUNED,
             curve=not (args.tune or args.sweep))
    if args.arms_task:                 # all else is without effect there
        o = {name: o[name] for name in ("task", "steps", "arms", "alpha", "giro_alpha", "curve") if name in o}
    here = Path(__file__).parent
    header = dict(options=o, code=report.fingerprint(*(here / f"{m}.py" for m in ("guideboot", "baselines", "envs", "nn", "run_synthetic"))))
    if args.tune:
        name, every = "tune_synthetic", {m: report.product(GRID[m]) for m in GRID}
    elif args.sweep:
        name = f"sweep_{args.sweep}" + (f"_{args.steps}" if args.steps != DEFAULTS["steps"] else "")
        every = {m: report.sweep_grid(args.sweep, SWEEPS, GRID[m]) for m in SWEEPS[args.sweep][0]}
    else:
        name, every = task, {m: [{}] for m in (ARMS if args.arms_task else METHODS)}
    grid, order = {m: every[m] for m in args.methods}, [report.label(m, c) for m in every for c in every[m]]
    seeds = range(args.seed + 1000 * args.tune, args.seed + 1000 * args.tune + args.runs)     # none to tune is one to report
    print(f"{name}: {report.count(len(grid), 'method')}, {report.count(args.runs, 'run')} of {args.steps:,} steps, {report.count(args.workers, 'worker')}"
          + (" (the paper's Figure 3: 50 runs, the number of steps is not given)" if name == "synthetic" else ""), flush=True)
    started = time.monotonic()
    jobs = [(report.label(m, c), seed, dict(o, method=m, **c)) for seed in seeds for m in grid for c in grid[m]]
    results = report.Results(args.out / f"{name}.csv", header, [*(f"regret@{t}" for t in checkpoints(args.steps, o["curve"])), "reward"], order, args.fresh)
    code = report.experiment(results, run, jobs, args.workers)
    rows = {row: by_seed for row in dict.fromkeys(job[0] for job in jobs)
            if (by_seed := {s: results.rows[row, s] for s in seeds if (row, s) in results.rows})}
    if rows:
        final = {row: {s: v[-2] for s, v in by_seed.items()} for row, by_seed in rows.items()}
        results.path.with_suffix(".svg").unlink(missing_ok=True)          # no figure of another command is left
        drawn = (report.tuning_table("regret", grid, final, min) if args.tune else
                 show_sweep(o, args.sweep, results.path, grid, final) if args.sweep else show(o, results.path, rows))
        print(f"\n{report.duration(time.monotonic() - started)}. The results are in {results.path}" + (f", the figure is {drawn}" if drawn else ""))
    return code


def claims(final):
    """The claims of Section 5.1 as report.claims takes them; the paper's evidence is a figure without numbers and its words."""
    return [(text, paper, {name: report.paired(*(final[m] for m in rows), share=len(pairs)) for name, rows in pairs.items()}) for text, paper, pairs in CLAIMS]


def show_sweep(o, sweep, path, grid, final):
    """The table and figure of --sweep; returns the figure's path."""
    def against(method, value):
        if sweep not in ("models", "learning_rate"):
            return "the method's own at its usual value" if method is None else report.label(method, {sweep: settings(o, method)[sweep]})
        return "GuideBoot's at the same value" if method is None else report.label("GuideBoot", {sweep: value})
    return report.sweep_chart(path.with_suffix(".svg"), "Synthetic task" + report.unusual(o, DEFAULTS, TUNABLE), sweep, SWEEPS[sweep][1],
                              f"cumulative regret after {o['steps']:,} steps", grid, final, STYLE, against)


def show(o, path, rows):
    """Print the table and draw the figure of rows[method][seed]; returns the figure's path, if drawn."""
    steps = checkpoints(o["steps"])
    final = {m: {s: v[-2] for s, v in by_seed.items() if np.isfinite(v[-2])} for m, by_seed in rows.items()}
    lines, reference = [], final.get("GuideBoot", {})
    for m in sorted(final, key=lambda m: np.mean(list(final[m].values())) if final[m] else np.inf):
        diverged = len(rows[m]) - len(final[m])
        numbers = ["", "", ""] if not final[m] else [
            report.plus_minus(*report.mean_and_error(list(final[m].values()))),
            "" if m == "GuideBoot" else report.plus_minus(*report.paired(final[m], reference), "+.1f"),
            f"{np.nanmean([v[-1] for v in rows[m].values()]):.4f}"]
        lines.append([m, *numbers, f"{len(final[m])}" + (f", {diverged} diverged" if diverged else "")])
    print(f"\nCumulative regret after {steps[-1]:,} steps: mean +- standard error over runs; minus GuideBoot's on the same\n"
          "seeds: mean +- half-width of the 95 % interval.\n")
    print(report.text_table(["Method", "regret", "minus GuideBoot", "reward per step", "runs"], lines))
    if all(final.get(m) for m in GRID):
        print(report.claims("Section 5.1", claims(final)))
    series = []
    for m in rows:
        average = np.array([v[:-1] / steps for v in rows[m].values() if np.isfinite(v[-2])])      # (runs, checkpoints)
        if len(average):
            band = average.std(axis=0, ddof=1) / np.sqrt(len(average)) if len(average) > 1 else None
            series.append((m, STYLE[m], steps, average.mean(axis=0), band))
    if series:
        runs = max(map(len, rows.values()))
        title = ("Synthetic task (Fig. 3)" if o["task"] == "synthetic" else f"{DEFAULTS['arms']} Bernoulli arms") + report.unusual(o, DEFAULTS, TUNABLE)
        report.line_chart(path.with_suffix(".svg"), f"{title}: " + (f"{runs} runs, band: one standard error" if runs > 1 else "one run"),
                          "step t", "average regret per step up to t", series)
        return path.with_suffix(".svg")


if __name__ == "__main__":
    report.call(main)
