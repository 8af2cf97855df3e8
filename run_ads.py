# /// script
# requires-python = ">=3.10"
# dependencies = ["numpy>=1.24"]
# ///
"""Tables 3 and 4 and Figure 4 of the GuideBoot paper on stand-ins for its advertising simulators (Section 5.2).

  python run_ads.py                                       task A at 1/50 of its size: some minutes on two cores
  python run_ads.py --methods guideboot,obb,online-guideboot --runs 10
  python run_ads.py --task B --setting online
  python run_ads.py --scale 1 --runs 1 --methods online-guideboot       the paper's size, 4.5 million steps

  python run_ads.py --tune --scale 0.05 --runs 1          find the values of the table TUNED: half an hour
  python run_ads.py --sweep density                       what guidance adds: some minutes

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
from guideboot import AdCount, Harmonic, online, replay
from nn import LogisticBag, ServedAds

DEFAULTS = dict(
    runs=2,                 # ours   (paper: 10; the default is a quick look)
    scale=0.02,             # ours   (paper: 1) shrinks steps, ads, features and candidates together
    steps=0,                # ours   stop after so many steps; 0: all of the five days (paper)
    seed=0,                 # ours   runs use the seeds seed, seed + 1, ...
    world=0,                # ours   which invented world
    drift=1.0,              # ours   strength of the drift of tastes over the five days; 0: none
    models=5,               # paper  K
    buffer=512,             # paper  c, its example; times the scale, but not less than 128
    minibatches=4,          # ours   n, mini-batches per learning phase; replay: n resamples of b = c / n rows every c steps
    passes=1,               # ours   replay: so many times n
    learning_rate=0.001,    # ours   Adam's
    alpha=0.1,              # ours   strength of GuideBoot's guidance (the paper does not say)
    density="count",        # paper  GuideBoot's; for the ablation also harmonic, unguided, none (no fakes)
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


def guideboot(bag, rng, o, env):
    density = Harmonic(env.features) if o["density"] == "harmonic" else count(env)
    return baselines.ablated(o["density"], bag, rng, density, o["alpha"])


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
    "GuideBoot": (None, guideboot),
    "Online GuideBoot": (None, guideboot),
}
YARDSTICKS = {     # policies to compare with; all but Random look where an agent cannot
    "Random": lambda env: lambda X, t: int(len(X) * env.yard.random()),
    "Best ranking": lambda env: lambda X, t: int(env._appeal[env.items].argmax()),       # the candidate liked best by all
    "Oracle": lambda env: lambda X, t: int(env._expected().argmax()),
}


def learning_sizes(o):
    """c, b, n: a learning phase every c steps, by n mini-batches (replay: of b rows each)."""
    c = max(min(o["buffer"], 128), round(o["buffer"] * o["scale"]))
    return c, -(-c // o["minibatches"]), o["minibatches"]


class Yardstick:
    """A policy that looks behind the scenes and learns nothing."""

    def __init__(self, choose):
        self.choose = choose

    def learn(self, X, r, n):
        pass


def run(job, tick=lambda fraction: None):
    """One run of one row: the mean expected CTR of the shown ads, and the share of clicks."""
    row, seed, o = job
    setting, method = (row := o.get("row", row)).split(": ")
    o = {**DEFAULTS, **o.get("tuned", {}).get(row, {}), **o}
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
                bag = ServedAds(ads.fields, ads.features, rngs, ads.table, learning_rate=o["learning_rate"],
                                dropout=o["dropout"] if method == "MC-Dropout" else 0.0, rng=stream(seed, "dropout"))
            else:
                bag = LogisticBag(ads.features, rngs, o["learning_rate"])
            if setting == "replay":
                replay(agent(bag, rng, o, env), env, steps, b, every=c, updates=n * o["passes"])
            else:
                online(agent(bag, rng, o, env), env, steps, c, n)
    except FloatingPointError as error:
        raise FloatingPointError(f"at step {env.t + 1:,} {error}")
    return [env.promised.mean(dtype=float), env.rewards.mean()]


# ---------------------------------------------------------------- what to run, and what is shown of it

TUNED = {                   # found by: python run_ads.py --tune --scale 0.05 --runs 1; on A, for both tasks
    "replay: e-greedy": dict(learning_rate=0.003, epsilon=0.1),
    "replay: e-greedy (decay)": dict(learning_rate=0.003, epsilon=0.1),
    "replay: Deep-TS-Beta": dict(learning_rate=0.003, shaping=0.25),
    "replay: Deep-UCB1": dict(learning_rate=0.001, ucb_strength=0.001),
    "replay: MC-Dropout": dict(learning_rate=0.001, dropout=0.1),
    "replay: Bootstrap": dict(learning_rate=0.00169),
    "replay: Giro": dict(learning_rate=0.001, giro_alpha=0.003),
    "replay: GuideBoot": dict(learning_rate=0.003, alpha=0.03),
    "online: e-greedy": dict(learning_rate=0.003, epsilon=0.03),
    "online: e-greedy (decay)": dict(learning_rate=0.003, epsilon=0.05),
    "online: Deep-TS-Beta": dict(learning_rate=0.001, shaping=0.1),
    "online: Deep-UCB1": dict(learning_rate=0.003, ucb_strength=0.001),
    "online: MC-Dropout": dict(learning_rate=0.001, dropout=0.3),
    "online: OBB": dict(learning_rate=0.003),
    "online: Online GuideBoot": dict(learning_rate=0.001, alpha=0.03),
}
RATES = dict(learning_rate=(0.0003, 0.001, 0.003))
# What --tune tries, nine configurations for every row: three learning rates times three values of its exploration
# strength, or nine learning rates.
GRID = {
    "e-greedy": dict(RATES, epsilon=(0.03, 0.1, 0.2)), "e-greedy (decay)": dict(RATES, epsilon=(0.05, 0.1, 0.3)),
    "Deep-TS-Beta": dict(RATES, shaping=(0.1, 0.25, 1.0)), "Deep-UCB1": dict(RATES, ucb_strength=(0.001, 0.01, 0.1)),
    "MC-Dropout": dict(RATES, dropout=(0.05, 0.1, 0.3)), "Giro": dict(RATES, giro_alpha=(0.003, 0.01, 0.1)),
    "GuideBoot": dict(RATES, alpha=(0.03, 0.1, 0.3)), "Online GuideBoot": dict(RATES, alpha=(0.03, 0.1, 0.3)),
    "Bootstrap": dict(learning_rate=tuple(np.geomspace(0.0003, 0.003, 9).round(5))),
    "OBB": dict(learning_rate=tuple(np.geomspace(0.0003, 0.003, 9).round(5))),
}
TUNABLE = sorted({name for grid in GRID.values() for name in grid})
BAGS = ("GuideBoot", "Online GuideBoot", "Bootstrap", "OBB", "Giro")
SWEEPS = {                  # --sweep: what is varied, on top of the tuned values, and for which methods
    "alpha": (("GuideBoot", "Online GuideBoot"), (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)),
    "models": (BAGS, (1, 2, 5, 10, 20)),
    "learning_rate": (BAGS, (0.0001, 0.0003, 0.001, 0.003, 0.01)),
    "density": (("GuideBoot", "Online GuideBoot"), ("none", "unguided", "harmonic", "count")),
}
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
BEST = {"replay": "GuideBoot", "online": "Online GuideBoot"}
CLAIMS = (                  # of Section 5.2: the first row of every comparison has a higher reward than the second
    *((f"{BEST[s]} is the best of Table {3 + (s == 'online')}", {m: (f"{s}: {BEST[s]}", f"{s}: {m}") for m in PAPER[s] if m != BEST[s]}) for s in PAPER),
    ("Every method is better online than with replay", {
        m: (f"online: {m}", f"replay: {m.replace('Online ', '')}") for m in PAPER["online"] if m.replace("Online ", "") in PAPER["replay"]}),
    ("Deep-UCB1 is worse than Deep-TS-Beta", {s: (f"{s}: Deep-TS-Beta", f"{s}: Deep-UCB1") for s in PAPER}),
    ("e-greedy (decay) is better than MC-Dropout (the paper: often)", {s: (f"{s}: e-greedy (decay)", f"{s}: MC-Dropout") for s in PAPER}),
)
ORDER = [f"{setting}: {m}" for setting in PAPER for m in PAPER[setting]] + [f"yardstick: {m}" for m in YARDSTICKS]


def options(argv):
    p = report.Parser(prog="run_ads.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = list(AGENTS)
    add = p.usual(DEFAULTS, ", ".join(names), TUNABLE, [name.replace("_", "-") for name in SWEEPS])
    whole, positive, share = report.number(int, 1, high=10 ** 9), report.number(float, 0, above=True), report.number(float, 0, high=1)
    p.add_argument("--task", choices=("A", "B"), default="A", help="which simulator to stand in for (default %(default)s)")
    p.add_argument("--setting", choices=("replay", "online", "both"), default="both", help="Table 3, Table 4 or both (default %(default)s)")
    add("scale", report.number(float, 0.01, high=1), "size of the task, 0.01 to 1, which is the paper's; steps, ads, features and candidates shrink together")
    add("steps", report.number(int, 0, high=10 ** 9), "only the first N steps, so the first hours, whose CTR differs; 0: the five days")
    add("world", report.number(int, 0, high=10 ** 9), "another number, another invented world; seeds never change it")
    add("drift", report.number(float, 0, high=10), "how fast tastes drift; 0: not at all")
    add("models", report.number(int, 1, high=100), "K, the number of models in a bag")
    add("buffer", whole, "c, steps between two learning phases, at scale 1; times the scale, but not less than 128 (or N)")
    add("minibatches", report.number(int, 1, high=1000), "n, mini-batches per learning phase")
    add("passes", report.number(int, 1, high=1000), "replay methods learn from so many times the rows that were served")
    add("learning_rate", positive, "Adam's learning rate")
    add("alpha", positive, "strength of GuideBoot's guidance")
    add("epsilon", share, "of epsilon-greedy")
    add("giro_alpha", share, "Giro's probability of a pseudo pair")
    add("ucb_strength", report.number(float, 0), "factor of Deep-UCB1's bonus")
    add("shaping", positive, "Deep-TS-Beta's posterior reshaping")
    add("dropout", report.number(float, 0, high=0.99), "MC-Dropout's rate")
    p.add_argument("--model", choices=("mlp", "logistic"), default=DEFAULTS["model"], help="reward model (default %(default)s)")
    args = p.parse_args(argv)
    names = SWEEPS[args.sweep][0] if args.sweep else names
    wanted = p.methods(args.methods, list(names)) if args.methods is not None else names
    if args.model == "logistic" and args.methods is None:
        wanted = [m for m in wanted if m != "MC-Dropout"]
    elif args.model == "logistic" and "MC-Dropout" in wanted:
        p.error("argument --methods: MC-Dropout needs --model mlp, got logistic")
    settings = ("replay", "online") if args.setting == "both" else (args.setting,)
    args.rows = [f"{s}: {m}" for s in settings for m in PAPER[s] if m in wanted]
    for s in settings:
        if len(settings) == 1 and args.methods is not None and (others := [m for m in wanted if m not in PAPER[s]]):
            p.error(f"argument --methods: must be in the {s} table ({', '.join(PAPER[s])}), got {', '.join(others)}")
    if args.minibatches > (c := learning_sizes(vars(args))[0]):
        p.error(f"argument --minibatches: must be at most c (--buffer), {c}, got {args.minibatches}")
    args.out = p.folder(args.out)
    return args


def main(argv=None):
    args = options(argv)
    if args.tune:                      # on other seeds and in another world than the reported ones
        args.seed, args.world = args.seed + 1000, args.world + 1000
    o = dict(report.given(args, DEFAULTS, TUNABLE), task=args.task, tuned={} if args.untuned or args.tune else TUNED)
    here = Path(__file__).parent
    header = dict(options=o, code=report.fingerprint(*(here / f"{m}.py" for m in ("guideboot", "baselines", "envs", "nn", "run_ads"))))
    learners = [row for row in ORDER if not row.startswith("yardstick")]
    if args.tune:
        name, every = f"tune_ads_{args.task}", {row: report.product(GRID[row.split(": ")[1]]) for row in learners}
    elif args.sweep:
        name = f"sweep_ads_{args.task}_{args.sweep}"
        every = {row: report.sweep_grid(args.sweep, SWEEPS, GRID[m]) for row in learners if (m := row.split(": ")[1]) in SWEEPS[args.sweep][0]}
    else:
        name, every = f"ads_{args.task}", {row: [{}] for row in ORDER}
    grid = {row: every[row] for row in every if row in args.rows or (args.methods is None and row.startswith("yardstick"))}
    order = [report.label(row, c) for row in every for c in every[row]]
    ads = Ads(args.task, 0, args.scale, args.world)
    steps, sizes = min(args.steps or ads.steps, ads.steps), learning_sizes({**DEFAULTS, **o})
    print(f"Ads {args.task}, a stand-in for Tencent's simulator {args.task}, which is not public; scale {args.scale:g}: {steps:,} steps,\n"
          f"{len(ads.table):,} ads, {ads.low} to {ads.high} candidates, {ads.features:,} features (the paper: scale 1, 10 runs); "
          f"c = {sizes[0]}, b = {sizes[1]}, n = {sizes[2]};\n{report.count(len(args.rows), 'row')}, runs per row: {args.runs}, workers: {args.workers}", flush=True)
    seeds, started = range(args.seed, args.seed + args.runs), time.monotonic()
    jobs = [(report.label(row, c), seed, dict(o, row=row, **c)) for seed in seeds for row in grid for c in grid[row]
            if seed < args.seed + 2 or not row.startswith("yardstick")]             # the yardsticks hardly vary
    results = report.Results(args.out / f"{name}.csv", header, ["reward", "clicks"], order, args.fresh)
    code = report.experiment(results, run, jobs, args.workers)
    rows = {row: {s: results.rows[row, s][0] for s in seeds if (row, s) in results.rows} for row in dict.fromkeys(job[0] for job in jobs)}
    if any(rows.values()):
        results.path.with_suffix(".svg").unlink(missing_ok=True)          # no figure of another command is left
        drawn = (report.tuning_table("reward", grid, rows, max) if args.tune else
                 show_sweep(o, args.sweep, results.path, grid, rows) if args.sweep else show(args.task, title(o), results.path, rows))
        print(f"\n{report.duration(time.monotonic() - started)}. The results are in {results.path}" + (f", the figure is {drawn}" if drawn else ""))
    return code


def title(o):
    return f"Ads {o['task']} (a stand-in), scale {o['scale']:g}" + (f", first {o['steps']:,} steps" if o["steps"] else "") + report.unusual(o, DEFAULTS, TUNABLE)


def show_sweep(o, sweep, path, grid, rows):
    """The table and figure of --sweep; returns the figure's path."""
    style = {row: i for i, row in enumerate(sorted(grid, key=lambda row: "GuideBoot" not in row))}

    def against(row, value):
        if sweep in ("alpha", "density"):
            return "the row's own at its usual value" if row is None else report.label(row, {sweep: {**DEFAULTS, **o.get("tuned", {}).get(row, {}), **o}[sweep]})
        return "GuideBoot's of the setting at the same value" if row is None else report.label(f"{(s := row.split(': ')[0])}: {BEST[s]}", {sweep: value})
    return report.sweep_chart(path.with_suffix(".svg"), title(o), sweep, SWEEPS[sweep][1], "average reward (expected CTR of the shown ads)",
                              grid, rows, style, against)


def claims(task, rows):
    """The claims of Section 5.2 as report.claims takes them. Small std: the distance of a run from its row's mean, times
    what makes its average the std if runs are normal, is less for GuideBoot than for the other rows on average."""
    paper = {f"{s}: {m}": PAPER[s][m]["AB".index(task)] for s in PAPER for m in PAPER[s]}
    table = [(text, f"{min(paper[a][0] - paper[b][0] for a, b in pairs.values()):+.4f}",
              {name: report.paired(rows[a], rows[b], share=len(pairs)) for name, (a, b) in pairs.items()}) for text, pairs in CLAIMS]
    stray = {row: {seed: abs(v - np.mean(list(rows[row].values()))) * np.sqrt(np.pi / 2 * (n := len(rows[row])) / max(n - 1, 1))
                   for seed, v in rows[row].items()} for row in paper}
    gaps, pairs = [], {}
    for s in PAPER:
        own, others = f"{s}: {BEST[s]}", [f"{s}: {m}" for m in PAPER[s] if m != BEST[s]]
        average = {seed: np.mean([stray[row][seed] for row in others]) for seed in stray[own] if all(seed in stray[row] for row in others)}
        gaps.append(np.mean([paper[row][1] for row in others]) - paper[own][1])
        mean, half = report.paired(average, stray[own], share=len(PAPER))
        pairs[s] = mean, half if len(average) > 2 else np.nan                  # two runs are equally far from their mean
    return table + [("GuideBoot's std is small", f"{min(gaps):+.5f}", pairs)]


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
    finite = {row: {seed: v for seed, v in rows.get(row, {}).items() if np.isfinite(v)} for row in ORDER if not row.startswith("yardstick")}
    if all(finite.values()):
        print(report.claims("Section 5.2", claims(task, finite), "+.5f"))
    if rows.get("yardstick: Oracle"):
        print("\nBest ranking shows the candidate that is liked best on average over contexts, Oracle the best for this context;\n"
              "both know the user model and its drift, which no agent does.")
    if panels:
        report.box_chart(path.with_suffix(".svg"), f"{title}: every run is a dot", "average reward (expected CTR of the shown ads)", panels)
        return path.with_suffix(".svg")


if __name__ == "__main__":
    report.call(main)
