# /// script
# requires-python = ">=3.10"
# dependencies = ["numpy>=1.24"]
# ///
"""Reproduce Figure 3 of the GuideBoot paper: ten methods on the synthetic Bernoulli bandit of Section 5.1.

  python run_synthetic.py                                 the default: about a minute on two cores
  python run_synthetic.py --methods guideboot,ts-blr      two methods only
  python run_synthetic.py --runs 50 --steps 10000         the paper's number of runs
  python run_synthetic.py --arms                          the multi-armed case of Section 3.4: no context

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
from guideboot import Arms, GuideBoot, Harmonic, guided_mean, online, replay
from nn import LogisticBag

DEFAULTS = dict(
    runs=10,                # ours   (paper: 50; the default is a quick look)
    steps=10_000,           # ours   (the paper does not say)
    seed=0,                 # ours   runs use the seeds seed, seed + 1, ...
    alpha=1.0,              # paper  strength of GuideBoot's guidance
    models=5,               # paper  K
    batch=64,               # ours   b, rows resampled per model and step
    buffer=32,              # ours   c, steps between two online learning phases
    minibatches=4,          # ours   n, mini-batches per online learning phase
    learning_rate=0.002,    # ours   Adam's, the same for all replay methods
    online_learning_rate=0.01,  # ours   Adam's, the same for all online methods, which take eight times fewer steps
    epsilon=0.1,            # paper  epsilon-greedy; decays linearly to zero in the decay variant
    giro_alpha=0.5,         # paper  probability of a pseudo pair
    ucb_strength=1.0,       # paper  factor of sqrt(log(t + 1)) in GLM-UCB
    precision=1.0,          # ours   prior precision of GLM-UCB and TS-BLR
    init=0.1,               # ours   standard deviation of the models' initial weights
    arms=10,                # ours   --arms: number of arms, CTRs uniform in 0 to 0.1
)


def bag(o, seed, K, learning_rate):
    return LogisticBag(Synthetic.features, [stream(seed, "models", k) for k in range(K)], learning_rate, init=o["init"])


def by_replay(agent, K=None):
    """A method that learns from the whole history: agent(bag, rng, o) in Algorithm 1."""
    return lambda o, seed, rng, env: replay(agent(bag(o, seed, K or o["models"], o["learning_rate"]), rng, o), env,
                                            o["steps"], o["batch"])


def by_stream(agent):
    """A method that learns from the stream: agent(bag, rng, o) in Algorithm 3."""
    return lambda o, seed, rng, env: online(agent(bag(o, seed, o["models"], o["online_learning_rate"]), rng, o), env,
                                            o["steps"], o["buffer"], o["minibatches"])


def step_by_step(agent):
    """A method without a bag, which learns after every step: agent(rng, o)."""
    return lambda o, seed, rng, env: online(agent(rng, o), env, o["steps"], 1)


def guideboot(bag, rng, o):
    return GuideBoot(bag, rng, Harmonic(Synthetic.features), o["alpha"])


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
    "Thompson (Beta)": step_by_step(lambda rng, o: Arms(o["arms"], functools.partial(baselines.thompson_mean, alpha=o["alpha"]), rng)),
    "Bootstrap": step_by_step(lambda rng, o: Arms(o["arms"], baselines.bootstrap_mean, rng)),
    "Giro": step_by_step(lambda rng, o: baselines.GiroArms(o["arms"], rng, o["giro_alpha"])),
    "Random": step_by_step(lambda rng, o: baselines.RandomPolicy(rng)),
}
STYLE = {method: i for i, method in enumerate(METHODS)} | {"Thompson (Beta)": 3}      # of the lines in the figure


def checkpoints(steps):
    """The steps at which the regret is recorded: 50, or every step of a shorter run."""
    return np.unique(-(-steps * np.arange(1, 51) // 50))             # steps * i / 50, rounded up


def run(job, tick=lambda fraction: None):
    """One run of one method: cumulative regret at the checkpoints, then the average reward."""
    method, seed, o = job
    env = Scored(BernoulliArms(seed, o["arms"]) if o["task"] == "arms" else Synthetic(seed), o["steps"], tick)
    try:
        (ARMS if o["task"] == "arms" else METHODS)[method](o, seed, stream(seed, "agent"), env)
    except FloatingPointError as error:
        raise FloatingPointError(f"at step {env.t + 1:,} {error}")
    return [*np.cumsum(env.regret)[checkpoints(o["steps"]) - 1], env.rewards.mean()]


def options(argv):
    p = report.Parser(prog="run_synthetic.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = p.usual(DEFAULTS, f"{', '.join(METHODS)}; with --arms of: {', '.join(ARMS)}")
    whole, positive = report.number(int, 1, high=10 ** 9), report.number(float, 0, above=True)
    add("steps", whole, "time steps of a run")
    add("alpha", positive, "strength of GuideBoot's guidance, and the prior of --arms' Thompson sampling")
    add("models", report.number(int, 1, high=1000), "K, the number of models in a bag")
    add("batch", report.number(int, 1, high=10 ** 6), "b, rows that each model resamples per step (replay methods)")
    add("buffer", whole, "c, steps between two learning phases (online methods)")
    add("minibatches", whole, "n, mini-batches per learning phase (online methods)")
    add("learning_rate", positive, "Adam's learning rate of all replay methods")
    add("online_learning_rate", positive, "Adam's learning rate of all online methods")
    p.add_argument("--arms", action="store_true", dest="arms_task",
                   help="the multi-armed comparison instead: ten arms, no context; uses alpha, runs, steps and seed alone")
    args = p.parse_args(argv)
    methods = list(ARMS if args.arms_task else METHODS)
    args.methods = p.methods(args.methods, methods) if args.methods is not None else methods
    args.out = p.folder(args.out)
    return args


def main(argv=None):
    args = options(argv)
    task = "arms" if args.arms_task else "synthetic"
    o = dict({name: getattr(args, name, value) for name, value in DEFAULTS.items() if name not in ("runs", "seed")}, task=task)
    here = Path(__file__).parent
    header = dict(options=o, code=report.fingerprint(*(here / f"{m}.py" for m in ("guideboot", "baselines", "envs", "nn", "run_synthetic"))))
    seeds = range(args.seed, args.seed + args.runs)
    print(f"{task}: {len(args.methods)} methods, {args.runs} runs of {args.steps:,} steps, {args.workers} workers"
          + (" (the paper's Figure 3: 50 runs, the number of steps is not given)" if task == "synthetic" else ""), flush=True)
    started = time.monotonic()
    results = report.Results(args.out / f"{task}.csv", header, [*(f"regret@{t}" for t in checkpoints(args.steps)), "reward"],
                             list(ARMS if args.arms_task else METHODS), args.fresh)
    code = report.experiment(results, run, [(method, seed, o) for seed in seeds for method in args.methods], args.workers)
    rows = {m: {s: results.rows[m, s] for s in seeds if (m, s) in results.rows} for m in args.methods}
    if any(rows.values()):
        drawn = show(o, results.path, {m: by_seed for m, by_seed in rows.items() if by_seed})
        print(f"\n{report.duration(time.monotonic() - started)}. The results are in {results.path}" + (f", the figure is {drawn}" if drawn else ""))
    return code


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
    series = []
    for m in rows:
        average = np.array([v[:-1] / steps for v in rows[m].values() if np.isfinite(v[-2])])      # (runs, checkpoints)
        if len(average):
            band = average.std(axis=0, ddof=1) / np.sqrt(len(average)) if len(average) > 1 else None
            series.append((m, STYLE[m], steps, average.mean(axis=0), band))
    if series:
        runs = max(map(len, rows.values()))
        title = ("Synthetic task (Fig. 3)" if o["task"] == "synthetic" else f"{o['arms']} Bernoulli arms") + report.unusual(
            o, {k: v for k, v in DEFAULTS.items() if k != "steps"})
        report.line_chart(path.with_suffix(".svg"), f"{title}: " + (f"{runs} runs, band: one standard error" if runs > 1 else "one run"),
                          "step t", "average regret per step up to t", series)
        return path.with_suffix(".svg")


if __name__ == "__main__":
    report.call(main)
