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
import sys
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
PAPER = dict(runs=50, steps=None)


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


def checkpoints(steps):
    """The steps at which the regret is recorded: 50, or every step of a shorter run."""
    return np.unique(-(-steps * np.arange(1, 51) // 50))             # steps * i / 50, rounded up


def run(job, tick=lambda fraction: None):
    """One run of one method: cumulative regret at the checkpoints, then the average reward."""
    task, method, seed, o = job
    env = BernoulliArms(seed, o["arms"]) if task == "arms" else Synthetic(seed)
    scored = Scored(env, o["steps"], tick)
    (ARMS if task == "arms" else METHODS)[method](o, seed, stream(seed, "agent"), scored)
    return [*np.cumsum(scored.regret)[checkpoints(o["steps"]) - 1], scored.rewards.mean()]


def options(argv):
    p = report.Parser(prog="run_synthetic.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    whole, positive = report.number(int, 1), report.number(float, 0, above=True)

    def add(name, kind, text):
        p.add_argument("--" + name.replace("_", "-"), type=kind, default=DEFAULTS[name], metavar="N", help=f"{text} (default %(default)s)")
    add("runs", whole, "runs per method, each with a seed of its own")
    add("steps", whole, "time steps of a run")
    p.add_argument("--methods", metavar="A,B", help=f"only these, separated by commas; of: {', '.join(METHODS)}")
    add("seed", report.number(int, 0), "seed of the first run; run i uses seed + i")
    p.add_argument("--workers", type=whole, default=os.cpu_count() or 1, metavar="N", help="processes; results do not depend on it (default: one per core)")
    add("alpha", positive, "strength of GuideBoot's guidance, and the prior of --arms' Thompson sampling")
    add("models", whole, "K, the number of models in a bag")
    add("batch", whole, "b, rows that each model resamples per step (replay methods)")
    add("buffer", whole, "c, steps between two learning phases (online methods)")
    add("minibatches", whole, "n, mini-batches per learning phase (online methods)")
    add("learning_rate", positive, "Adam's learning rate of all replay methods")
    add("online_learning_rate", positive, "Adam's learning rate of all online methods")
    p.add_argument("--out", default="out", metavar="DIR", help="folder for the table and the figure (default %(default)s)")
    p.add_argument("--arms", action="store_true", dest="task_arms", help="the multi-armed comparison instead: ten arms, no context")
    args = p.parse_args(argv)
    methods = list(ARMS if args.task_arms else METHODS)
    args.methods = p.check("--methods", report.some_of, args.methods, methods) if args.methods is not None else methods
    args.out = p.check("--out", report.writable_folder, args.out)
    return args


def main(argv=None):
    args = options(argv)
    task = "arms" if args.task_arms else "synthetic"
    o = {name: getattr(args, name, value) for name, value in DEFAULTS.items()}
    o["arms"] = DEFAULTS["arms"]
    here = Path(__file__).parent
    header = dict(experiment=task, options=o, methods=args.methods, **report.versions(),
                  code=report.fingerprint(*(here / f"{m}.py" for m in ("guideboot", "baselines", "envs", "nn", "run_synthetic"))))
    jobs = [(task, method, seed, o) for seed in range(args.seed, args.seed + args.runs) for method in args.methods]
    print(f"{task}: {len(args.methods)} methods, {args.runs} runs of {args.steps:,} steps "
          f"(the paper: 50 runs; it does not say how many steps), {args.workers} workers", flush=True)
    started, progress, rows, failures = time.monotonic(), report.Progress(len(jobs)), {}, []
    for (_, method, seed, _), kind, value in report.pool(run, jobs, args.workers):
        progress.update((method, seed), value if kind == "tick" else 1.0, f"{method}, seed {seed}")
        if kind == "done":
            rows[method, seed] = value
        elif kind != "tick":
            failures.append(f"{method}, seed {seed}: {value}")
    progress.close()
    rows = {(m, s): rows[m, s] for m in args.methods for s in range(args.seed, args.seed + args.runs) if (m, s) in rows}
    if rows:
        show(args, task, header, rows, time.monotonic() - started)
    for failure in failures:
        print(f"failed: {failure}", file=sys.stderr)
    return 1 if failures else 0


def show(args, task, header, rows, seconds):
    """Print the table, write the CSV and the figure."""
    steps = checkpoints(args.steps)
    path = args.out / f"{task}.csv"
    old = report.keep_aside(path)
    report.write_results(path, header, [*(f"regret@{t}" for t in steps), "reward"], rows)
    by_method = {m: np.array([v for (name, _), v in rows.items() if name == m]) for m in args.methods}
    by_method = {m: v for m, v in by_method.items() if len(v)}
    final = {m: v[:, -2] for m, v in by_method.items()}
    lines = []
    for m in sorted(final, key=lambda m: final[m].mean()):
        mean, error = report.mean_and_error(final[m])
        gap = "" if m == "GuideBoot" or len(final.get("GuideBoot", ())) != len(final[m]) else "{:+.1f} +- {:.1f}".format(
            *report.paired(final[m], final["GuideBoot"]))
        lines.append([m, f"{mean:.1f} +- {error:.1f}", gap, f"{by_method[m][:, -1].mean():.4f}"])
    print(f"\nCumulative regret after {args.steps:,} steps: mean +- standard error over {args.runs} runs;\n"
          "minus GuideBoot's, run by run: mean +- half-width of the 95 % interval.\n")
    print(report.text_table(["Method", "regret", "minus GuideBoot", "reward per step"], lines))
    series = []
    for m, v in by_method.items():
        average = v[:, :-1] / steps
        band = average.std(axis=0, ddof=1) / np.sqrt(len(v)) if len(v) > 1 else np.full(len(steps), np.nan)
        series.append((m, steps, average.mean(axis=0), band))
    title = {"synthetic": "Synthetic task (Fig. 3)", "arms": f"{header['options']['arms']} Bernoulli arms"}[task]
    report.line_chart(path.with_suffix(".svg"), f"{title}: {args.runs} runs, band: one standard error",
                      "step t", "average regret per step up to t", series)
    print(f"\n{report.duration(seconds)}. Wrote {path} and {path.with_suffix('.svg')}"
          + (f"; the earlier table is now {old}" if old else ""))


if __name__ == "__main__":
    sys.exit(main())
