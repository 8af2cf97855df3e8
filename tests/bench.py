"""Speed, as ratios measured in one run: python tests/bench.py   (by hand; no test asserts a time).

Machines differ and are shared, so times are given in units of a yardstick measured beside them: the product of a
350 x 128 by a 128 x 128 matrix in float32, one BLAS thread (78 us on the machine that the targets were set on).
Every ratio is the median over rounds in which both sides are measured in turn.
"""
import conftest  # noqa: F401  one BLAS thread, before NumPy

import resource
import sys
import time

import numpy as np

import baselines
import envs
import guideboot as gb
import nn

YARDSTICK_US = 78.0


def timed(function, calls):
    started = time.perf_counter()
    for _ in range(calls):
        function()
    return (time.perf_counter() - started) / calls


def ratio(numerator, denominator, calls, rounds=41):
    """Median of numerator time / denominator time; the order within a round alternates."""
    values = []
    for i in range(rounds):
        sides = [timed(f, calls) for f in ((numerator, denominator) if i % 2 else (denominator, numerator))]
        values.append(sides[0] / sides[1] if i % 2 else sides[1] / sides[0])
    return float(np.median(values))


def product():
    a, b = np.ones((350, 128), np.float32), np.ones((128, 128), np.float32)
    out = np.empty((350, 128), np.float32)
    return lambda: np.matmul(a, b, out=out)


def bag(K=5):
    return nn.LogisticBag(35, [envs.stream(0, "models", k) for k in range(K)])


def guideboot():
    return gb.GuideBoot(bag(), envs.stream(0, "agent"), gb.Harmonic(35))


class Stopwatch:
    """An environment that times the loop around it: every so many steps, in units of the yardstick measured right after."""

    def __init__(self, env, yard, every=100):
        self.env, self.fields, self.features, self.pull, self.every = env, env.fields, env.features, env.pull, every
        self.yard, self.t, self.started, self.ratios = yard, 0, time.perf_counter(), []

    def observe(self):
        if self.t % self.every == 0:
            step = (time.perf_counter() - self.started) / self.every
            self.ratios.append(step / timed(self.yard, 40))
            self.started = time.perf_counter()
        self.t += 1
        return self.env.observe()


def report(name, value, target):
    print(f"{name:62} {value:6.2f} x   {target}", flush=True)


def steps_against_the_yardstick():
    for name, loop, agent, size, target in (
            ("replay GuideBoot, K=5, b=64, a step", gb.replay, guideboot(), 64, "at most 1.03, aim 0.77"),
            ("replay Bootstrap, K=5, b=64, a step", gb.replay, gb.Agent(bag(), envs.stream(0, "agent")), 64, ""),
            ("Online GuideBoot, K=5, c=32, a step", gb.online, guideboot(), 32, "at most 1.03")):
        watch = Stopwatch(envs.Synthetic(0), product())
        loop(agent, watch, 6000, size)
        value = float(np.median(watch.ratios[10:]))
        report(name + " / yardstick product", value, f"{target}  ({value * YARDSTICK_US:.0f} us there)")


def updates():
    agent, rng = guideboot(), envs.stream(1, "agent")
    gb.replay(agent, envs.Synthetic(0), 3000, 64)
    history = gb.History(3, 35)
    env = envs.Synthetic(1)
    for _ in range(3000):
        history.append(env.observe()[int(25 * rng.random())], 1)
    X, r = history.resample((5, 64), rng)
    w, y = agent.samples(X, r)
    ones = np.ones(w.shape)
    report("gradient step with fakes / without", ratio(lambda: agent.bag.update(X, w, y), lambda: agent.bag.update(X, ones, r), 200),
           "at most 1.10")
    vanilla = gb.Agent(agent.bag, rng)

    def learning(agent):
        X, r = history.resample((5, 64), rng)
        agent.bag.update(X, *agent.samples(X, r))
    report("resample, draw fakes, gradient step / without fakes", ratio(lambda: learning(agent), lambda: learning(vanilla), 200), "")


def decisions():
    X = envs.Synthetic(0).observe()
    many, greedy = gb.Agent(bag(5), envs.stream(0, "agent")), gb.Agent(bag(1), envs.stream(0, "agent"))
    report("a GuideBoot decision / a greedy decision", ratio(lambda: many.choose(X, 1), lambda: greedy.choose(X, 1), 500), "at most 1.05")
    model, rng = bag(1), envs.stream(0, "agent")
    report("a GuideBoot decision / a greedy one that draws no model index",
           ratio(lambda: many.choose(X, 1), lambda: gb.argmax(model.scores(0, X), rng), 500), "")


def growth():
    """All of a replay step that meets the history, at two sizes of it, measured in turn (a run's early and late steps
    lie too far apart in time for a shared machine)."""
    def learner(size):
        agent, history, env, rng = guideboot(), gb.History(3, 35), envs.Synthetic(1), envs.stream(2, "agent")
        for _ in range(size):
            history.append(env.observe()[int(25 * rng.random())], 0)
            agent.update_density(history.X[history.size - 1].astype(int))
        x = env.observe()[3]

        def step():
            agent.remember(history, x, 0)
            agent.update_density(x)
            X, r = history.resample((5, 64), agent.rng)
            agent.bag.update(X, *agent.samples(X, r))
            agent.bag.publish()
        return step
    report("replay: learning at t = 100,000 / at t = 1,000", ratio(learner(100_000), learner(1_000), 20, rounds=61), "at most 1.20")


def network(ads, K=5):
    return nn.ServedAds(ads.fields, ads.features, [envs.stream(0, "models", k) for k in range(K)], ads.table)


def serving_the_ads():
    """Deciding at the paper's shape A: 350 candidates, K = 5; the whole loop with c = 512, n = 4, at scale 1."""
    ads = envs.Ads(0, "A")
    requests = []
    while len(requests) < 40:
        request = ads.observe()
        if len(request) >= 350:
            requests.append(envs.Request(request.context, request.items[:350], request.table))
    agent = gb.GuideBoot(network(ads), envs.stream(0, "agent"), gb.AdCount(ads.features, envs.AD_ID), 0.1)
    turn = iter(requests * 10 ** 5)
    report("ads: a decision, 350 candidates, K=5 / yardstick product", ratio(lambda: agent.choose(next(turn), 1), product(), 60), "at most 2.00")
    request_turn = ads.observe
    report("ads: making a request / yardstick product", ratio(request_turn, product(), 512), "a small part of a decision")
    for name, loop, arguments in (("Online GuideBoot", gb.online, (512, 4)), ("replay GuideBoot", gb.replay, (128, 512, 4))):
        ads = envs.Ads(0, "A")
        agent = gb.GuideBoot(network(ads), envs.stream(0, "agent"), gb.AdCount(ads.features, envs.AD_ID), 0.1)
        watch = Stopwatch(ads, product(), every=512)
        loop(agent, watch, 512 * 24, *arguments)
        value = float(np.median(watch.ratios[3:]))
        report(f"ads: {name}, everything, a step / yardstick product", value, f"at most 2.80  ({value * YARDSTICK_US:.0f} us there)")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 if sys.platform == "darwin" else 1024)
    print(f"{'memory so far, without the history':62} {memory:6.0f} MB  at most 1500; 4.5 million steps of replay add 430 MB, 640 while doubling")


def learning_the_ads():
    ads = envs.Ads(0, "A")
    bag, rng = network(ads), envs.stream(0, "agent")
    guided, obb = gb.GuideBoot(bag, rng, gb.AdCount(ads.features, envs.AD_ID), 0.1), baselines.OBB(bag, rng)
    X = np.array([ads.observe()[0] for _ in range(512)])
    r = (rng.random(512) < 0.02).astype(int)
    report("ads: a guided learning phase / OBB's", ratio(lambda: gb.learn(guided, X, r, 4), lambda: gb.learn(obb, X, r, 4), 1, rounds=31), "at most 1.05")


def last_tenth():
    """A whole run at 1/50 of the size: do dead units or growing counts slow it down?"""
    ads = envs.Ads(0, "A", 0.02)
    agent = gb.GuideBoot(network(ads), envs.stream(0, "agent"), gb.AdCount(ads.features, envs.AD_ID), 0.1)
    watch = Stopwatch(ads, product(), every=512)
    gb.online(agent, watch, ads.steps, 32, 1)
    tenth = len(watch.ratios) // 10
    report("ads: a step in the last tenth of a run / in the first", float(np.median(watch.ratios[-tenth:]) / np.median(watch.ratios[1:tenth])), "about 1")


if __name__ == "__main__":
    here = 1e6 * min(timed(product(), 50) for _ in range(40))
    print(f"NumPy {np.__version__}. The yardstick, a 350 x 128 by 128 x 128 product in float32, takes {here:.0f} us here at best and\n"
          f"{YARDSTICK_US:.0f} us on the reference machine; 'there' is a time on that machine. Repeat on a quiet machine.\n")
    steps_against_the_yardstick()
    updates()
    decisions()
    growth()
    learning_the_ads()
    serving_the_ads()
    last_tenth()
