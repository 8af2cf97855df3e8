# /// script
# requires-python = ">=3.10"
# dependencies = ["numpy>=1.24"]
# ///
"""Tables 3 and 4 and Figure 4 of the GuideBoot paper, on stand-ins for its ads (Section 5.2).

  python run_ads.py                     task A at 1/50 of its size: one to three minutes
  python run_ads.py --methods guideboot,obb,online-guideboot --runs 10
  python run_ads.py --task B --setting online
  python run_ads.py --scale 1 --runs 1 --methods online-guideboot
                                        the paper's size, 4.5 million steps: half an hour

The paper's simulators were built from Tencent's logs, which are not public: the worlds here are
invented, with the statistics of Table 2 times the scale. Compare the order of the methods, not the
numbers. The reward of a run is the expected CTR of the ads it showed, averaged over its steps (the
clicks would only add noise). Higher is better. The same command again only adds what is missing.
"""
from lab.command import Command, call  # first: lab sets one BLAS thread, before NumPy is there
from lab.paper import ads_tables

import math
from functools import partial

import numpy as np

import baselines
from envs import AD_ID, Ads, stream
from guideboot import AdCount, GuideBoot, online, replay
from nn import ServedAds, whole

# The defaults. What is typed goes first, then results/tuned.json (not with --untuned), then these.
RUNS = 2                 # ours   (paper: 10; the default is a quick look)
SCALE = 0.02             # ours   (paper: 1) shrinks steps, ads, features and candidates together
MODELS = 5               # paper  K
BUFFER = 512             # paper  c, its example; times the scale, but not less than 128
MINIBATCHES = 4          # ours   n; replay: n resamples of b = c / n rows every c steps
LEARNING_RATE = 0.001    # ours   Adam's
ALPHA = 0.1              # ours   strength of GuideBoot's guidance (the paper does not say)
EPSILON = 0.1            # paper  epsilon-greedy; decays linearly to zero in the decay variant
GIRO_ALPHA = 0.01        # paper  probability of a pseudo pair
UCB_STRENGTH = 0.1       # paper  Deep-UCB1
SHAPING = 0.25           # paper  Deep-TS-Beta
DROPOUT = 0.1            # paper  MC-Dropout
PRECISION = 1.0          # ours   ridge penalty of Ridge
KNOWN_CTR = 0.5          # ours   what networks predict before the first sample; 0.5 is bias 0


# ---------------------------------------------------------------- the methods: what each is made of

def networks(env, seed, models, learning_rate, dropout=0.0, kind=ServedAds):
    """K embedding networks with initial weights of their own."""
    rngs = [stream(seed, "models", k) for k in range(whole("models", models))]
    bias = math.log(env.known_ctr / (1.0 - env.known_ctr))
    return kind(env.fields, env.features, rngs, env.table, learning_rate=learning_rate,
                dropout=dropout, rng=stream(seed, "dropout"), bias=bias)


def ad_count(features):
    """The density of Eq. 6, for GuideBoot's guidance and for the count-based methods alike."""
    return AdCount(features, AD_ID)


def buffer_size(buffer, scale):
    """c: the buffer at scale 1 times the scale, but not less than 128 (or than the buffer)."""
    return max(min(buffer, 128), round(buffer * scale))


def run(agent, env, steps, setting, buffer, minibatches):
    """Learn every c steps: from the whole history (replay) or from the last c samples (online).

    Both see as many rows: replay makes n updates for each model, with b = c / n resampled rows,
    rounded up.
    Returns measures of the networks by twenty requests after the last step.
    """
    c = buffer_size(whole("buffer", buffer), env.scale)
    minibatches = whole("minibatches", minibatches)
    if setting == "replay":
        replay(agent, env, steps, -(-c // minibatches), every=c, updates=minibatches)
    else:
        online(agent, env, steps, c, minibatches)
    return measures(agent.bag, [env.observe() for _ in range(20)])


def measures(bag, requests):
    """What became of the networks.

        dead       share of the last layer's units that are 0 for all candidates of the requests
        spread     standard deviation of a candidate's logit over the K networks (root mean square)
        disagree   how often two of the K networks choose differently
    """
    numbers = {"dead": bag.dead_units(np.concatenate([np.asarray(X) for X in requests]))}
    if bag.K > 1:
        logits = [np.array([bag.scores(k, X) for k in range(bag.K)]) for X in requests]   # (K, m)
        variance = np.concatenate([z.var(axis=0, ddof=1) for z in logits])
        chosen = np.array([z.argmax(axis=1) for z in logits])                             # (20, K)
        different = (chosen[:, :, None] != chosen[:, None, :]).mean()    # over ordered pairs, k = k
        numbers["spread"] = float(np.sqrt(variance.mean()))
        numbers["disagree"] = float(different * bag.K / (bag.K - 1))     # ... which never differ
    return numbers


def e_greedy(env, steps, seed, setting="replay", epsilon=EPSILON, buffer=BUFFER,
             minibatches=MINIBATCHES, learning_rate=LEARNING_RATE):
    bag = networks(env, seed, 1, learning_rate)
    agent = baselines.EpsilonGreedy(bag, stream(seed, "agent"), epsilon)
    return run(agent, env, steps, setting, buffer, minibatches)


def e_greedy_decay(env, steps, seed, setting="replay", epsilon=EPSILON, buffer=BUFFER,
                   minibatches=MINIBATCHES, learning_rate=LEARNING_RATE):
    bag = networks(env, seed, 1, learning_rate)
    agent = baselines.EpsilonGreedy(bag, stream(seed, "agent"), epsilon, decay=steps)
    return run(agent, env, steps, setting, buffer, minibatches)


def deep_ts_beta(env, steps, seed, setting="replay", shaping=SHAPING, buffer=BUFFER,
                 minibatches=MINIBATCHES, learning_rate=LEARNING_RATE):
    bag = networks(env, seed, 1, learning_rate)
    agent = baselines.DeepTSBeta(bag, stream(seed, "agent"), ad_count(env.features), shaping)
    return run(agent, env, steps, setting, buffer, minibatches)


def deep_ucb1(env, steps, seed, setting="replay", ucb_strength=UCB_STRENGTH, buffer=BUFFER,
              minibatches=MINIBATCHES, learning_rate=LEARNING_RATE):
    bag = networks(env, seed, 1, learning_rate)
    agent = baselines.DeepUCB1(bag, stream(seed, "agent"), ad_count(env.features), ucb_strength)
    return run(agent, env, steps, setting, buffer, minibatches)


def mc_dropout(env, steps, seed, setting="replay", dropout=DROPOUT, buffer=BUFFER,
               minibatches=MINIBATCHES, learning_rate=LEARNING_RATE):
    bag = networks(env, seed, 1, learning_rate, dropout)
    agent = baselines.MCDropout(bag, stream(seed, "agent"))
    return run(agent, env, steps, setting, buffer, minibatches)


def bootstrap(env, steps, seed, setting="replay", models=MODELS, buffer=BUFFER,
              minibatches=MINIBATCHES, learning_rate=LEARNING_RATE):
    agent = baselines.Bootstrap(networks(env, seed, models, learning_rate), stream(seed, "agent"))
    return run(agent, env, steps, setting, buffer, minibatches)


def obb(env, steps, seed, setting="online", models=MODELS, buffer=BUFFER,
        minibatches=MINIBATCHES, learning_rate=LEARNING_RATE):
    agent = baselines.OBB(networks(env, seed, models, learning_rate), stream(seed, "agent"))
    return run(agent, env, steps, setting, buffer, minibatches)


def giro(env, steps, seed, setting="replay", giro_alpha=GIRO_ALPHA, models=MODELS, buffer=BUFFER,
         minibatches=MINIBATCHES, learning_rate=LEARNING_RATE):
    bag = networks(env, seed, models, learning_rate)
    agent = baselines.Giro(bag, stream(seed, "agent"), giro_alpha)
    return run(agent, env, steps, setting, buffer, minibatches)


def guideboot(env, steps, seed, setting="replay", alpha=ALPHA, density=ad_count, models=MODELS,
              buffer=BUFFER, minibatches=MINIBATCHES, learning_rate=LEARNING_RATE):
    bag = networks(env, seed, models, learning_rate)
    agent = GuideBoot(bag, stream(seed, "agent"), density(env.features), alpha)
    numbers = run(agent, env, steps, setting, buffer, minibatches)
    return {**numbers, "fakes": agent.fakes()}


def greedy(env, steps, seed, setting="replay", buffer=BUFFER, minibatches=MINIBATCHES,
           learning_rate=LEARNING_RATE):
    agent = baselines.Bootstrap(networks(env, seed, 1, learning_rate), stream(seed, "agent"))
    return run(agent, env, steps, setting, buffer, minibatches)


def ridge(env, steps, seed, setting="replay", precision=PRECISION, buffer=BUFFER,
          minibatches=MINIBATCHES, learning_rate=LEARNING_RATE):
    bag = networks(env, seed, 1, learning_rate, kind=baselines.RidgeAds)
    agent = baselines.Ridge(bag, stream(seed, "agent"), precision)
    return run(agent, env, steps, setting, buffer, minibatches)


def random(env, steps, seed):
    online(baselines.RandomPolicy(stream(seed, "agent")), env, steps, 128)


class Oracle:
    """Shows the best candidate: it looks where an agent cannot, and learns nothing."""

    def __init__(self, env):
        self.env = env

    def choose(self, X, t):
        return int(self.env._expected().argmax())

    def learn_from(self, X, r, n=1):
        """Nothing to learn."""


def oracle(env, steps, seed):
    online(Oracle(env), env, steps, 128)


BOTH = {"e-greedy": e_greedy, "e-greedy (decay)": e_greedy_decay, "Deep-TS-Beta": deep_ts_beta,
        "Deep-UCB1": deep_ucb1, "MC-Dropout": mc_dropout, "Greedy": greedy, "Ridge": ridge}
REPLAY = {**BOTH, "Bootstrap": bootstrap, "Giro": giro, "GuideBoot": guideboot}
ONLINE = {**BOTH, "OBB": obb, "Online GuideBoot": guideboot}
YARDSTICKS = {"Random": random, "Oracle": oracle}
METHODS = {
    **{("replay", name): partial(method, setting="replay") for name, method in REPLAY.items()},
    **{("online", name): partial(method, setting="online") for name, method in ONLINE.items()},
    **{("yardstick", name): method for name, method in YARDSTICKS.items()},
}


# ---------------------------------------------------------------- the command

OPTIONS = {
    "models": "K, the number of models in a bag",
    "buffer": "c, steps between two learning phases, at scale 1; below that multiplied by "
              "the scale, but not less than 128 (or N)",
    "minibatches": "n, mini-batches per learning phase",
    "learning_rate": "Adam's learning rate",
    "alpha": "strength of GuideBoot's guidance; what it comes to is the number `fakes` of a run",
    "epsilon": "epsilon-greedy's chance of a random choice",
    "giro_alpha": "Giro's probability of a pseudo pair",
    "ucb_strength": "factor of Deep-UCB1's bonus",
    "shaping": "Deep-TS-Beta's posterior reshaping",
    "dropout": "MC-Dropout's rate",
    "precision": "ridge penalty of Ridge",
}


def main(argv=None):
    command = Command(__doc__, METHODS, OPTIONS, "ads", RUNS)
    command.add_argument("--task", choices=("A", "B"), default="A",
                         help="which simulator to stand in for (default %(default)s)")
    command.add_argument("--setting", choices=("replay", "online", "both"), default="both",
                         help="Table 3, Table 4 or both (default %(default)s)")
    command.add("scale", float, SCALE, "size of the task, 0.01 to 1, which is the paper's")
    command.add("steps", int, 0, "only the first N steps, so the first hours; 0: the five days")
    command.add("world", int, -1, "the same invented world for all runs; -1: each has its own")
    command.add("drift", float, 1.0, "how fast tastes drift; 0: not at all")
    command.add("known_ctr", float, KNOWN_CTR, "what networks predict before the first sample")
    args = command.parse_args(argv)
    methods = {row: method for row, method in command.wanted(args).items()
               if args.setting in ("both", row[0]) or (row[0] == "yardstick" and not args.methods)}
    if not methods:
        command.error(f"argument --methods: none of {args.methods} is in the {args.setting} table")
    if not 0.01 <= args.scale <= 1.0:
        command.error(f"argument --scale: must be 0.01 to 1, got {args.scale}")
    c = buffer_size(args.buffer or BUFFER, args.scale)
    if 0 < args.steps <= c:
        command.error(f"argument --steps: must be above {c}, for models learn every {c} steps; "
                      f"got {args.steps}")
    task = partial(Ads, task=args.task, scale=args.scale, drift=args.drift,
                   world=None if args.world == -1 else args.world, known_ctr=args.known_ctr)
    print(f"Ads {args.task}: a stand-in for Tencent's simulator, which is not public; "
          f"scale {args.scale:g} (the paper: 1, 10 runs)", flush=True)
    command.run(args, methods, task, args.steps or None, f"ads_{args.task}", show=ads_tables,
                    columns=("setting", "method"))


if __name__ == "__main__":
    call(main)
