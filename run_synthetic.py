# /// script
# requires-python = ">=3.10"
# dependencies = ["numpy>=1.24"]
# ///
"""Reproduce Figure 3 of the GuideBoot paper: its methods on the synthetic task of Section 5.1.

  python run_synthetic.py                              a quick look, one to two minutes
  python run_synthetic.py --methods guideboot,ts-blr   two methods only
  python run_synthetic.py --runs 50                    the paper's number of runs

It prints a table sorted by regret (lower is better) and writes synthetic.csv and a figure, an SVG
that any browser opens, into the folder --out. Regret is pseudo-regret: the expected reward of the
best candidate minus that of the one shown, summed over the steps. Run number i of every method
faces the same environment, contexts and reward draws, so differences between methods are paired.
Methods have tuned values, unless --untuned is given. Runs are kept in DIR/runs.jsonl and made again
only if options or code have changed; CSV and figure are the last command's.
"""
from lab.command import Command, call, parameters  # first: one BLAS thread, before NumPy

import baselines
from envs import Synthetic, stream
from guideboot import FastHarmonic, GuideBoot, online, replay
from nn import LogisticBag, whole

# The defaults. What is typed goes first, then results/tuned.json (not with --untuned), then these.
RUNS = 10                # ours   (paper: 50; the default is a quick look)
STEPS = 10_000           # ours   (the paper does not say)
ALPHA = 1.0              # paper  strength of GuideBoot's guidance
MODELS = 5               # paper  K
BATCH = 256              # ours   b, rows resampled per model and step
BUFFER = 32              # ours   c, steps between two online learning phases
MINIBATCHES = 4          # ours   n, mini-batches per online learning phase
LEARNING_RATE = 0.002    # ours   Adam's
INIT = 0.1               # ours   standard deviation of the models' initial weights
EPSILON = 0.1            # paper  epsilon-greedy; decays linearly to zero in the decay variant
GIRO_ALPHA = 0.5         # paper  probability of a pseudo pair
UCB_STRENGTH = 1.0       # paper  factor of sqrt(log(t + 1)) in GLM-UCB
TS_STRENGTH = 1.0        # paper  factor of TS-BLR's draws
PRECISION = 1.0          # ours   prior precision of GLM-UCB and TS-BLR, ridge penalty of Ridge


# ---------------------------------------------------------------- the methods: what each is made of

# A method plays `steps` steps of env, and may return numbers of its own. The regret is added up by
# envs.Scored, which compare() puts around every environment.

def bag_of(env, seed, models, learning_rate, kind=LogisticBag):
    """K logistic regressions with initial weights of their own."""
    rngs = [stream(seed, "models", k) for k in range(whole("models", models))]
    return kind(env.features, rngs, learning_rate, init=INIT)


def guideboot(env, steps, seed, alpha=ALPHA, density=FastHarmonic, models=MODELS, batch=BATCH,
              learning_rate=LEARNING_RATE):
    bag = bag_of(env, seed, models, learning_rate)
    agent = GuideBoot(bag, stream(seed, "agent"), density(env.features), alpha)
    replay(agent, env, steps, batch)
    return {"fakes": agent.fakes()}


def online_guideboot(env, steps, seed, alpha=ALPHA, density=FastHarmonic, models=MODELS,
                     buffer=BUFFER, minibatches=MINIBATCHES, learning_rate=LEARNING_RATE):
    bag = bag_of(env, seed, models, learning_rate)
    agent = GuideBoot(bag, stream(seed, "agent"), density(env.features), alpha)
    online(agent, env, steps, buffer, minibatches)
    return {"fakes": agent.fakes()}


def glm_ucb(env, steps, seed, precision=PRECISION, ucb_strength=UCB_STRENGTH):
    agent = baselines.GLMUCB(env.fields, env.features, stream(seed, "agent"), precision,
                             ucb_strength)
    online(agent, env, steps, 1)


def ts_blr(env, steps, seed, precision=PRECISION, ts_strength=TS_STRENGTH):
    agent = baselines.TSBLR(env.fields, env.features, stream(seed, "agent"), precision, ts_strength)
    online(agent, env, steps, 1)


def bootstrap(env, steps, seed, models=MODELS, batch=BATCH, learning_rate=LEARNING_RATE):
    agent = baselines.Bootstrap(bag_of(env, seed, models, learning_rate), stream(seed, "agent"))
    replay(agent, env, steps, batch)


def obb(env, steps, seed, models=MODELS, buffer=BUFFER, minibatches=MINIBATCHES,
        learning_rate=LEARNING_RATE):
    agent = baselines.OBB(bag_of(env, seed, models, learning_rate), stream(seed, "agent"))
    online(agent, env, steps, buffer, minibatches)


def giro(env, steps, seed, giro_alpha=GIRO_ALPHA, models=MODELS, batch=BATCH,
         learning_rate=LEARNING_RATE):
    bag = bag_of(env, seed, models, learning_rate)
    agent = baselines.Giro(bag, stream(seed, "agent"), giro_alpha)
    replay(agent, env, steps, batch)


def e_greedy(env, steps, seed, epsilon=EPSILON, batch=BATCH, learning_rate=LEARNING_RATE):
    bag = bag_of(env, seed, 1, learning_rate)
    agent = baselines.EpsilonGreedy(bag, stream(seed, "agent"), epsilon)
    replay(agent, env, steps, batch)


def e_greedy_decay(env, steps, seed, epsilon=EPSILON, batch=BATCH, learning_rate=LEARNING_RATE):
    bag = bag_of(env, seed, 1, learning_rate)
    agent = baselines.EpsilonGreedy(bag, stream(seed, "agent"), epsilon, decay=steps)
    replay(agent, env, steps, batch)


def greedy(env, steps, seed, batch=BATCH, learning_rate=LEARNING_RATE):
    agent = baselines.Bootstrap(bag_of(env, seed, 1, learning_rate), stream(seed, "agent"))
    replay(agent, env, steps, batch)


def ridge(env, steps, seed, precision=PRECISION, batch=BATCH, learning_rate=LEARNING_RATE):
    bag = bag_of(env, seed, 1, learning_rate, baselines.RidgeBag)
    replay(baselines.Ridge(bag, stream(seed, "agent"), precision), env, steps, batch)


def random(env, steps, seed):
    online(baselines.RandomPolicy(stream(seed, "agent")), env, steps, 1)


METHODS = {
    "GuideBoot": guideboot,
    "Online GuideBoot": online_guideboot,
    "GLM-UCB": glm_ucb,
    "TS-BLR": ts_blr,
    "Bootstrap": bootstrap,
    "OBB": obb,
    "Giro": giro,
    "e-greedy": e_greedy,
    "e-greedy (decay)": e_greedy_decay,
    "Greedy": greedy,                  # these two: controls of ours
    "Ridge": ridge,
    "Random": random,
}


# ---------------------------------------------------------------- the command

OPTIONS = {                            # --alpha sets `alpha` of every method above that has it
    "alpha": "strength of GuideBoot's guidance; what it comes to is the column fakes (see README)",
    "models": "K, the number of models in a bag",
    "batch": "b, rows that each model resamples per step (replay methods)",
    "buffer": "c, steps between two learning phases (online methods)",
    "minibatches": "n, mini-batches per learning phase (online methods)",
    "learning_rate": "Adam's learning rate",
    "epsilon": "epsilon-greedy's chance of a random choice",
    "giro_alpha": "Giro's probability of a pseudo pair",
    "ucb_strength": "factor of GLM-UCB's bonus",
    "ts_strength": "factor of TS-BLR's draws",
    "precision": "prior precision of GLM-UCB and TS-BLR, ridge penalty of Ridge",
}


def main(argv=None):
    command = Command(__doc__, METHODS, OPTIONS, "synthetic", RUNS)
    command.add("steps", int, STEPS, "time steps of a run")
    args = command.parse_args(argv)
    methods = command.wanted(args)
    buffer = BUFFER if args.buffer is None else args.buffer
    if args.steps <= buffer and any("buffer" in parameters(method) for method in methods.values()):
        command.error(f"argument --steps: must be above {buffer}, for online methods learn every "
                      f"{buffer} steps; got {args.steps}")
    command.run(args, methods, Synthetic, args.steps, "synthetic")


if __name__ == "__main__":
    call(main)
