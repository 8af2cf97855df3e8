# /// script
# requires-python = ">=3.10"
# dependencies = ["numpy>=1.24"]
# ///
"""Tables 3 and 4 and Figure 4 of the GuideBoot paper on stand-ins for its advertising simulators (Section 5.2).

  python run_ads.py                                       task A at 1/50 of its size: some minutes on two cores
  python run_ads.py --methods guideboot,obb,online-guideboot --runs 10
  python run_ads.py --task B --setting online
  python run_ads.py --scale 1 --runs 1 --methods online-guideboot       the paper's size, 4.5 million steps

The paper's simulators were built from Tencent's logs, which are not public: the worlds here are invented, with the
statistics of Table 2 times the scale. Compare the order of the methods, not the numbers. The reward of a run is the
expected CTR of the ads it showed, averaged over its steps (the clicks would only add noise). Higher is better.
"""
import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ[variable] = "1"         # one BLAS thread per process; processes run in parallel instead

import argparse
import time
from pathlib import Path

import numpy as np

import baselines
import report
from envs import AD_ID, Ads, Scored, stream
from guideboot import AdCount, GuideBoot, online, replay
from nn import LogisticBag, MLPBag

DEFAULTS = dict(
    runs=2,                 # ours   (paper: 10; the default is a quick look)
    scale=0.02,             # ours   (paper: 1) shrinks steps, ads, features and candidates together
    steps=0,                # ours   stop after so many steps; 0: all of the five days (paper)
    seed=0,                 # ours   runs use the seeds seed, seed + 1, ...
    world=0,                # ours   which invented world
    drift=1.0,              # ours   strength of the drift of tastes over the five days; 0: none
    models=5,               # paper  K
    buffer=512,             # paper  c, its example; times the scale, at least 32
    batch=128,              # ours   rows per mini-batch: n = c / batch, rounded up; replay: b, and n batches every c steps
    learning_rate=0.001,    # ours   Adam's, the same for all methods
    alpha=0.1,              # ours   strength of GuideBoot's guidance (the paper does not say)
    epsilon=0.1,            # paper  epsilon-greedy; decays linearly to zero in the decay variant
    giro_alpha=0.01,        # paper  probability of a pseudo pair
    ucb_strength=0.1,       # paper  Deep-UCB1
    shaping=0.25,           # paper  Deep-TS-Beta
    dropout=0.1,            # paper  MC-Dropout
    model="mlp",            # paper  the embedding network; "logistic" is a generalized linear model
)


def count(env):
    """The ad-count density of Eq. 6, for GuideBoot's guidance and the count-based methods alike."""
    return AdCount(env.features, AD_ID)


# method -> models, agent(bag, rng, o, env)
AGENTS = {
    "e-greedy": (1, lambda bag, rng, o, env: baselines.EpsilonGreedy(bag, rng, o["epsilon"])),
    "e-greedy (decay)": (1, lambda bag, rng, o, env: baselines.EpsilonGreedy(bag, rng, o["epsilon"], len(env.promised))),
    "Deep-TS-Beta": (1, lambda bag, rng, o, env: baselines.DeepTSBeta(bag, rng, count(env), o["shaping"])),
    "Deep-UCB1": (1, lambda bag, rng, o, env: baselines.DeepUCB1(bag, rng, count(env), o["ucb_strength"])),
    "MC-Dropout": (1, lambda bag, rng, o, env: baselines.MCDropout(bag, rng)),
    "Bootstrap": (None, lambda bag, rng, o, env: baselines.Bootstrap(bag, rng)),
    "OBB": (None, lambda bag, rng, o, env: baselines.OBB(bag, rng)),
    "Giro": (None, lambda bag, rng, o, env: baselines.Giro(bag, rng, o["giro_alpha"])),
    "GuideBoot": (None, lambda bag, rng, o, env: GuideBoot(bag, rng, count(env), o["alpha"])),
}
AGENTS["Online GuideBoot"] = AGENTS["GuideBoot"]
# The paper's results: setting -> method -> (reward, std) on A, (reward, std) on B.
PAPER = {
    "replay": {"e-greedy": ((0.0248, 0.0010), (0.0225, 0.0003)), "e-greedy (decay)": ((0.0260, 0.0009), (0.0231, 0.0006)),
               "Deep-TS-Beta": ((0.0262, 0.0007), (0.0238, 0.0002)), "Deep-UCB1": ((0.0222, 0.0005), (0.0220, 0.0002)),
               "MC-Dropout": ((0.0245, 0.0010), (0.0221, 0.0006)), "Bootstrap": ((0.0264, 0.0010), (0.0239, 0.0003)),
               "Giro": ((0.0249, 0.0012), (0.0230, 0.0003)), "GuideBoot": ((0.0280, 0.0006), (0.0248, 0.0003))},
    "online": {"e-greedy": ((0.0289, 0.0006), (0.0254, 0.0002)), "e-greedy (decay)": ((0.0293, 0.0012), (0.0261, 0.0002)),
               "Deep-TS-Beta": ((0.0295, 0.0004), (0.0266, 0.0001)), "Deep-UCB1": ((0.0243, 0.0004), (0.0237, 0.0001)),
               "MC-Dropout": ((0.0297, 0.0010), (0.0258, 0.0002)), "OBB": ((0.0302, 0.0009), (0.0262, 0.0002)),
               "Online GuideBoot": ((0.0317, 0.0004), (0.0270, 0.0002))},
}
YARDSTICKS = {     # policies to compare with; all but Random look where an agent cannot
    "Random": lambda env: lambda X, t: int(len(X) * env.yard.random()),
    "Best ranking": lambda env: lambda X, t: int(env._appeal[env.items].argmax()),       # the candidate liked best by all
    "Oracle": lambda env: lambda X, t: int(env._expected().argmax()),
}
ORDER = [f"{setting}: {m}" for setting in PAPER for m in PAPER[setting]] + [f"yardstick: {m}" for m in YARDSTICKS]


def learning_sizes(o):
    """c, b, n: a learning phase every c steps, by n mini-batches (replay: of b rows each)."""
    c = max(32, round(o["buffer"] * o["scale"]))
    return c, min(o["batch"], c), -(-c // o["batch"])


class Yardstick:
    """A policy that looks behind the scenes and learns nothing."""

    def __init__(self, choose):
        self.choose = choose

    def learn(self, X, r, n):
        pass


def run(job, tick=lambda fraction: None):
    """One run of one row: the mean expected CTR of the shown ads, and the share of clicks."""
    (setting, method), seed, o = job[0].split(": "), *job[1:]
    ads = Ads(o["task"], seed, o["scale"], o["world"], o["drift"])
    steps = min(o["steps"] or ads.steps, ads.steps)
    env, rng = Scored(ads, steps, tick, regret=False), stream(seed, "agent")
    c, b, n = learning_sizes(o)
    try:
        if setting == "yardstick":
            ads.yard = rng
            online(Yardstick(YARDSTICKS[method](ads)), env, steps, c)
        else:
            K, agent = AGENTS[method]
            rngs = [stream(seed, "models", k) for k in range(K or o["models"])]
            if o["model"] == "mlp":
                bag = MLPBag(ads.fields, ads.features, rngs, o["learning_rate"], items=ads.table, rng=stream(seed, "dropout"),
                             dropout=o["dropout"] if method == "MC-Dropout" else 0.0)
            else:
                bag = LogisticBag(ads.features, rngs, o["learning_rate"])
            if setting == "replay":
                replay(agent(bag, rng, o, env), env, steps, b, every=c, updates=n)
            else:
                online(agent(bag, rng, o, env), env, steps, c, n)
    except FloatingPointError as error:
        raise FloatingPointError(f"at step {env.t + 1:,} {error}")
    return [env.promised.mean(dtype=float), env.rewards.mean()]


def options(argv):
    p = report.Parser(prog="run_ads.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = list(AGENTS)
    add = p.usual(DEFAULTS, ", ".join(names))
    whole, positive, share = report.number(int, 1, high=10 ** 9), report.number(float, 0, above=True), report.number(float, 0, high=1)
    p.add_argument("--task", choices=("A", "B"), default="A", help="which simulator to stand in for (default %(default)s)")
    p.add_argument("--setting", choices=("replay", "online", "both"), default="both", help="Table 3, Table 4 or both (default %(default)s)")
    add("scale", report.number(float, 0.01, high=1), "size of the task, 1 is the paper's; steps, ads, features and candidates shrink together")
    add("steps", report.number(int, 0, high=10 ** 9), "only the first N steps, so the first hours, whose CTR differs; 0: the five days")
    add("world", report.number(int, 0, high=10 ** 9), "another number, another invented world; seeds never change it")
    add("drift", report.number(float, 0, high=10), "how fast tastes drift; 0: not at all")
    add("models", report.number(int, 1, high=100), "K, the number of models in a bag")
    add("buffer", whole, "c, steps between two learning phases, at scale 1; times the scale, at least 32")
    add("batch", whole, "rows of a mini-batch")
    add("learning_rate", positive, "Adam's learning rate")
    add("alpha", positive, "strength of GuideBoot's guidance")
    add("epsilon", share, "of epsilon-greedy")
    add("giro_alpha", share, "Giro's probability of a pseudo pair")
    add("ucb_strength", report.number(float, 0), "factor of Deep-UCB1's bonus")
    add("shaping", positive, "Deep-TS-Beta's posterior reshaping")
    add("dropout", report.number(float, 0, high=0.99), "MC-Dropout's rate")
    p.add_argument("--model", choices=("mlp", "logistic"), default=DEFAULTS["model"], help="reward model (default %(default)s)")
    args = p.parse_args(argv)
    wanted = p.methods(args.methods, names) if args.methods is not None else names
    if args.model == "logistic" and args.methods is None:
        wanted = [m for m in wanted if m != "MC-Dropout"]
    elif args.model == "logistic" and "MC-Dropout" in wanted:
        p.error("argument --methods: MC-Dropout needs --model mlp, got logistic")
    settings = ("replay", "online") if args.setting == "both" else (args.setting,)
    args.rows = [f"{s}: {m}" for s in settings for m in PAPER[s] if m in wanted]
    for s in settings:
        if len(settings) == 1 and args.methods is not None and (others := [m for m in wanted if m not in PAPER[s]]):
            p.error(f"argument --methods: must be in the {s} table ({', '.join(PAPER[s])}), got {', '.join(others)}")
    args.out = p.folder(args.out)
    return args


def main(argv=None):
    args = options(argv)
    o = dict({name: getattr(args, name) for name in DEFAULTS if name not in ("runs", "seed")}, task=args.task)
    here = Path(__file__).parent
    header = dict(options=o, code=report.fingerprint(*(here / f"{m}.py" for m in ("guideboot", "baselines", "envs", "nn", "run_ads"))))
    ads = Ads(args.task, 0, args.scale, args.world)
    steps, sizes = min(args.steps or ads.steps, ads.steps), learning_sizes(o)
    print(f"Ads {args.task}, a stand-in for Tencent's simulator {args.task}, which is not public; scale {args.scale:g}: {steps:,} steps,\n"
          f"{len(ads.table):,} ads, {ads.low} to {ads.high} candidates, {ads.features:,} features (the paper: scale 1, 10 runs); "
          f"c = {sizes[0]}, b = {sizes[1]}, n = {sizes[2]};\n{len(args.rows)} rows, runs per row: {args.runs}, workers: {args.workers}", flush=True)
    seeds, started = range(args.seed, args.seed + args.runs), time.monotonic()
    results = report.Results(args.out / f"ads_{args.task}.csv", header, ["reward", "clicks"], ORDER, args.fresh)
    wanted = args.rows + [row for row in ORDER if row.startswith("yardstick")]
    code = report.experiment(results, run, [(row, seed, o) for seed in seeds for row in wanted], args.workers)
    rows = {row: {s: results.rows[row, s][0] for s in seeds if (row, s) in results.rows} for row in wanted}
    if any(rows.values()):
        drawn = show(args.task, title(o), results.path, rows)
        print(f"\n{report.duration(time.monotonic() - started)}. The results are in {results.path}" + (f", the figure is {drawn}" if drawn else ""))
    return code


def title(o):
    return f"Ads {o['task']} (a stand-in), scale {o['scale']:g}" + report.unusual(o, {k: v for k, v in DEFAULTS.items() if k != "scale"})


def show(task, title, path, rows):
    """Print Tables 3 and 4 in the paper's layout, its figures beside ours, and draw Figure 4; returns its path, if drawn."""
    panels = []
    for setting, table, heading in (("replay", "Table 3: ", "Experience Replay"), ("online", "Table 4: ", "Online"), ("yardstick", "", "Yardsticks")):
        lines, dots = [], {}
        for row, by_seed in rows.items():
            if row.startswith(setting) and by_seed:
                method, values = row.split(": ")[1], [v for v in by_seed.values() if np.isfinite(v)]
                lines.append([method, f"{np.mean(values):.4f}" if values else "", f"({np.std(values, ddof=1):.4f})" if len(values) > 1 else ""])
                if table:
                    reward, std = PAPER[setting][method]["AB".index(task)]
                    lines[-1] += [f"{reward:.4f}", f"({std:.4f})"]
                lines[-1].append(f"{len(values)}" + (f", {len(by_seed) - len(values)} diverged" if len(values) < len(by_seed) else ""))
                dots.update({method: values} if values else {})
        if lines:
            print(f"\n{table}{title} ({heading})" + (": the paper's columns are on Tencent's logs" if table else "") + "\n")
            print(report.text_table(["Method", "reward", "std"] + (["paper's reward", "std"] if table else []) + ["runs"], lines))
        if table and dots:
            panels.append((heading, dots))
    print("\nBest ranking shows the candidate that is liked best on average over contexts, Oracle the best for this context;\n"
          "both know the user model and its drift, which no agent does.")
    if panels:
        report.box_chart(path.with_suffix(".svg"), f"{title}: every run is a dot", "average reward (expected CTR of the shown ads)", panels)
        return path.with_suffix(".svg")


if __name__ == "__main__":
    report.call(main)
