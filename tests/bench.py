"""Speed, as four ratios: python tests/bench.py, ten seconds. No test asserts a time.

Machines differ and are shared, so steps are timed in units of a yardstick measured beside them: the
product of a 350 x 128 by a 128 x 128 matrix in float32, one BLAS thread. Every ratio is a median
over rounds in which both sides are measured in turn. Repeat on a quiet machine.
"""
import conftest  # noqa: F401  one BLAS thread, before NumPy

import argparse
import signal
import time
from functools import partial

import numpy as np

import envs
import guideboot as gb
import nn

YARDSTICK = partial(np.matmul, np.ones((350, 128), np.float32), np.ones((128, 128), np.float32),
                    out=np.empty((350, 128), np.float32))


def timed(function, calls):
    """Seconds per call."""
    started = time.perf_counter()
    for _ in range(calls):
        function()
    return (time.perf_counter() - started) / calls


def ratio(numerator, denominator, calls):
    """Median of the time of one over the time of the other."""
    return np.median([timed(numerator, calls) / timed(denominator, calls) for _ in range(41)])


def in_yardsticks(loop, agent, env, *sizes):
    """The time of a step: median over twelve loops of 1,024 steps."""
    steps = 1024
    seconds = [timed(lambda: loop(agent, env, steps, *sizes), 1) / timed(YARDSTICK, 200)
               for _ in range(12)]
    return np.median(seconds) / steps


def guideboot(K=5):
    """GuideBoot for the synthetic task."""
    bag = nn.LogisticBag(35, [envs.stream(0, "models", k) for k in range(K)])
    return gb.GuideBoot(bag, envs.stream(0, "agent"), gb.FastHarmonic(35))


def decision():
    X, many, one = envs.Synthetic(0).observe(), guideboot(5), guideboot(1)
    return ratio(lambda: many.choose(X, 1), lambda: one.choose(X, 1), 500)


def gradient_step():
    """Both on the same rows, (K, b) = (5, 64)."""
    agent, env, rng = guideboot(), envs.Synthetic(0), envs.stream(1, "agent")
    X = np.array([[env.observe()[0] for _ in range(64)] for _ in range(5)])
    r = (rng.random((5, 64)) < 0.3).astype(int)
    agent.update_density(X.reshape(-1, 3))
    w, y = agent.samples(X, r)
    ones = np.ones(w.shape)
    return ratio(lambda: agent.bag.update(X, w, y), lambda: agent.bag.update(X, ones, r), 200)


def replay_step():
    return in_yardsticks(gb.replay, guideboot(), envs.Synthetic(0), 64)


def online_step():
    """At the paper's size, with c = 512 and n = 4."""
    ads = envs.Ads(0, "A")
    generators = [envs.stream(0, "models", k) for k in range(5)]
    bag = nn.ServedAds(ads.fields, ads.features, generators, ads.table)
    agent = gb.GuideBoot(bag, envs.stream(0, "agent"), gb.AdCount(ads.features, envs.AD_ID), 0.1)
    return in_yardsticks(gb.online, agent, ads, 512, 4)


if __name__ == "__main__":
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)        # `| head` is no error
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.error = lambda message: parser.exit(2, f"bench.py: {message}\n")
    parser.parse_args()
    print(f"NumPy {np.__version__}")
    for name, measure in (("a GuideBoot decision / a greedy decision", decision),
                          ("a gradient step with fakes / without", gradient_step),
                          ("replay, synthetic task, b = 64: a step / yardstick", replay_step),
                          ("Online GuideBoot, ads A: a step / yardstick", online_step)):
        print(f"{name:52}{measure():6.2f}", flush=True)
