"""Speed, as ratios measured in one run: python tests/bench.py, a minute. No test asserts a time.

Machines differ and are shared, so times are given in units of a yardstick measured beside them: the
product of a 350 x 128 by a 128 x 128 matrix in float32, one BLAS thread. Every ratio is the median
over rounds in which both sides are measured in turn. Repeat on a quiet machine.
"""
import conftest  # noqa: F401  one BLAS thread, before NumPy

import argparse
import time

import numpy as np

import baselines
import envs
import guideboot as gb
import nn


def timed(function, calls):
    """Seconds per call."""
    started = time.perf_counter()
    for _ in range(calls):
        function()
    return (time.perf_counter() - started) / calls


def ratio(numerator, denominator, calls, rounds=41):
    """Median of the time of one over the time of the other; the order within a round alternates."""
    values = []
    for i in range(rounds):
        if i % 2:
            above, below = timed(numerator, calls), timed(denominator, calls)
        else:
            below, above = timed(denominator, calls), timed(numerator, calls)
        values.append(above / below)
    return float(np.median(values))


def product():
    """The yardstick."""
    a = np.ones((350, 128), np.float32)
    b = np.ones((128, 128), np.float32)
    out = np.empty((350, 128), np.float32)
    return lambda: np.matmul(a, b, out=out)


def told(name, value, target=""):
    print(f"{name:66} {value:6.2f} x   {target}", flush=True)


class Stopwatch:
    """An environment that times the loop around it, in yardsticks measured every so many steps."""

    def __init__(self, env, every):
        self.env, self.fields, self.features = env, env.fields, env.features
        self.pull, self.every, self.yard = env.pull, every, product()
        self.t, self.started, self.ratios = 0, time.perf_counter(), []

    def observe(self):
        if self.t % self.every == 0:
            step = (time.perf_counter() - self.started) / self.every
            self.ratios.append(step / timed(self.yard, 40))
            self.started = time.perf_counter()
        self.t += 1
        return self.env.observe()


# ---------------------------------------------------------------- the synthetic task

def guideboot(K=5):
    bag = nn.LogisticBag(35, [envs.stream(0, "models", k) for k in range(K)])
    return gb.GuideBoot(bag, envs.stream(0, "agent"), gb.FastHarmonic(35))


def steps_of_the_synthetic_task():
    for name, loop, size in (("replay GuideBoot, b=64", gb.replay, 64),
                             ("Online GuideBoot, c=32", gb.online, 32)):
        watch = Stopwatch(envs.Synthetic(0), 100)
        loop(guideboot(), watch, 6000, size)
        told(f"{name}, a step / yardstick", float(np.median(watch.ratios[10:])), "at most 1.03")


def filled_history(size):
    history, env, rng = gb.History(3, 35), envs.Synthetic(1), envs.stream(1, "agent")
    for _ in range(size):
        history.append(env.observe()[int(25 * rng.random())], 1)
    return history


def fakes_cost_nothing():
    agent, rng = guideboot(), envs.stream(1, "agent")
    gb.replay(agent, envs.Synthetic(0), 3000, 64)
    X, r = filled_history(3000).resample((5, 64), rng)
    w, y = agent.samples(X, r)
    ones = np.ones(w.shape)
    value = ratio(lambda: agent.bag.update(X, w, y), lambda: agent.bag.update(X, ones, r), 200)
    told("a gradient step with fakes / without", value, "at most 1.10")


def decisions_cost_what_greedy_ones_cost():
    X, many, one = envs.Synthetic(0).observe(), guideboot(5), guideboot(1)
    told("a GuideBoot decision / a greedy decision", ratio(
        lambda: many.choose(X, 1), lambda: one.choose(X, 1), 500), "at most 1.05")


def steps_do_not_grow():
    """All of a replay step that meets the history, at two sizes of it, measured in turn."""
    def learner(size):
        agent, history = guideboot(), filled_history(size)
        agent.update_density(history.X[:size].astype(int))
        x = envs.Synthetic(2).observe()[3]

        def step():
            agent.remember(history, x, 0)
            agent.update_density(x)
            X, r = history.resample((5, 64), agent.rng)
            agent.bag.update(X, *agent.samples(X, r))
            agent.bag.publish()
        return step
    told("replay: learning at t = 100,000 / at t = 1,000", ratio(
        learner(100_000), learner(1_000), 20, rounds=61), "at most 1.20")


# ---------------------------------------------------------------- the ads at the paper's size

def guided(ads):
    generators = [envs.stream(0, "models", k) for k in range(5)]
    bag = nn.ServedAds(ads.fields, ads.features, generators, ads.table)
    return gb.GuideBoot(bag, envs.stream(0, "agent"), gb.AdCount(ads.features, envs.AD_ID), 0.1)


def serving_the_ads():
    """Deciding at the paper's shape A: 350 candidates, K = 5."""
    ads = envs.Ads(0, "A")
    requests = []
    while len(requests) < 40:
        request = ads.observe()
        if len(request) >= 350:
            requests.append(envs.Request(request.context, request.items[:350], request.table))
    agent, turn = guided(ads), iter(requests * 10 ** 5)
    told("ads: a decision, 350 candidates / yardstick", ratio(
        lambda: agent.choose(next(turn), 1), product(), 60), "at most 2.00")


def steps_of_the_ads():
    """The whole loop with c = 512, n = 4."""
    for name, loop, sizes in (("Online GuideBoot", gb.online, (512, 4)),
                              ("replay GuideBoot", gb.replay, (128, 512, 4))):
        ads = envs.Ads(0, "A")
        watch = Stopwatch(ads, 512)
        loop(guided(ads), watch, 512 * 24, *sizes)
        told(f"ads: {name}, everything, a step / yardstick", float(np.median(watch.ratios[3:])),
             "at most 2.80")


def learning_the_ads():
    ads = envs.Ads(0, "A")
    agent = guided(ads)
    obb = baselines.OBB(agent.bag, agent.rng)
    X = np.array([ads.observe()[0] for _ in range(512)])
    r = (agent.rng.random(512) < 0.02).astype(int)
    told("ads: a guided learning phase / OBB's", ratio(
        lambda: gb.learn(agent, X, r, 4), lambda: gb.learn(obb, X, r, 4), 1, 31), "at most 1.05")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    best = 1e6 * min(timed(product(), 50) for _ in range(40))
    print(f"NumPy {np.__version__}; the yardstick takes {best:.0f} us here at best\n")
    for measure in (steps_of_the_synthetic_task, fakes_cost_nothing,
                    decisions_cost_what_greedy_ones_cost, steps_do_not_grow, learning_the_ads,
                    serving_the_ads, steps_of_the_ads):
        measure()
