"""Methods of the study's own, to tell what fakes, guidance, shuffle and weights add."""
from functools import partial

import numpy as np

import run_ads
import run_synthetic
from baselines import OBB
from envs import stream
from guideboot import (Agent, FastHarmonic, GuideBoot, fake_samples, guidance, online,
                       replay)
from nn import check


class Unguided:
    """As many fakes on average as with `density`, but one probability for all samples of a call."""

    def __init__(self, features, density, alpha):
        self.density, self.alpha = density(features), alpha

    def update(self, X):
        self.density.update(X)

    def __call__(self, X):
        rho = self.density(X)
        return np.full(rho.shape, self.alpha / guidance(rho, self.alpha).mean())


def no_fakes(env, steps, seed, shuffle=True, weights=False, models=run_synthetic.MODELS,
             buffer=run_synthetic.BUFFER, minibatches=run_synthetic.MINIBATCHES,
             learning_rate=run_synthetic.LEARNING_RATE):
    """Algorithm 3 on the synthetic task without fakes: Online GuideBoot's shuffle, OBB's Poisson
    weights, both, or neither, where the K models differ by their first weights alone."""
    bag = run_synthetic.bag_of(env, seed, models, learning_rate)
    agent = (OBB if weights else Agent)(bag, stream(seed, "agent"))
    agent.shuffle = shuffle
    online(agent, env, steps, buffer, minibatches)


def ads_no_fakes(env, steps, seed, setting="online", models=run_ads.MODELS, buffer=run_ads.BUFFER,
                 minibatches=run_ads.MINIBATCHES, learning_rate=run_ads.LEARNING_RATE):
    """Online GuideBoot on the ads without its fakes."""
    bag = run_ads.networks(env, seed, models, learning_rate)
    agent = Agent(bag, stream(seed, "agent"))
    agent.shuffle = True
    return run_ads.run(agent, env, steps, setting, buffer, minibatches)


class Apart(GuideBoot):
    """GuideBoot with one of the two effects of its fakes (lab/why.py): their pull, or their noise.

    The pull is their mean; the noise is their draw minus their mean.
    """

    def __init__(self, bag, rng, density, alpha, part):
        super().__init__(bag, rng, density, alpha)
        self.part = check("part", part, part in ("pull", "noise"), "pull or noise")

    def samples(self, X, r):
        g = guidance(self.density(X), self.alpha)
        if self.part == "pull":
            return 1.0 + 2.0 * g, r + g
        w, y = fake_samples(r, g, self.rng)
        return w - 2.0 * g, y - g


def ads_apart(env, steps, seed, part, setting="online", alpha=run_ads.ALPHA, models=run_ads.MODELS,
              buffer=run_ads.BUFFER, minibatches=run_ads.MINIBATCHES,
              learning_rate=run_ads.LEARNING_RATE):
    """GuideBoot or Online GuideBoot on the ads with the pull or the noise of its fakes alone."""
    bag = run_ads.networks(env, seed, models, learning_rate)
    density = run_ads.ad_count(env.features)
    agent = Apart(bag, stream(seed, "agent"), density, alpha, part)
    return run_ads.run(agent, env, steps, setting, buffer, minibatches)


class CentredFakes(GuideBoot):
    """GuideBoot whose fakes are clicks as often as real samples were so far, not half the time."""
    clicks, seen = 0, 0

    def remember(self, history, x, r):
        super().remember(history, x, r)
        self.clicks, self.seen = self.clicks + r, self.seen + 1

    def samples(self, X, r):
        w, _ = super().samples(X, r)
        return w, r + self.rng.binomial(w - 1, self.clicks / self.seen)


def centred_fakes(env, steps, seed, alpha=run_synthetic.ALPHA, models=run_synthetic.MODELS,
                  batch=run_synthetic.BATCH, learning_rate=run_synthetic.LEARNING_RATE):
    bag = run_synthetic.bag_of(env, seed, models, learning_rate)
    agent = CentredFakes(bag, stream(seed, "agent"), FastHarmonic(env.features), alpha)
    replay(agent, env, steps, batch)
    return {"fakes": agent.fakes()}


def unguided_fakes(env, steps, seed, alpha=run_synthetic.ALPHA, models=run_synthetic.MODELS,
                   batch=run_synthetic.BATCH, learning_rate=run_synthetic.LEARNING_RATE):
    density = partial(Unguided, density=FastHarmonic, alpha=alpha)
    return run_synthetic.guideboot(env, steps, seed, alpha, density, models, batch, learning_rate)


SHUFFLE = {"neither": partial(no_fakes, shuffle=False),
           "weights (OBB)": partial(no_fakes, shuffle=False, weights=True),
           "shuffle": partial(no_fakes, shuffle=True),
           "both": partial(no_fakes, shuffle=True, weights=True)}
