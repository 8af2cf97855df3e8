"""The tasks: Bernoulli arms and the synthetic task of Section 5.1.

An environment is any object with two numbers and two methods:

    env.fields      J, how many ids make up an input
    env.features    ids run from 0 to features - 1; each field has a range of its own
    env.observe()   the candidates of the next request, an integer array (m, J), m >= 1
    env.pull(a)     show candidate a of that request; returns the reward, 0 or 1

and that is all an agent ever meets: the loops of guideboot.py hand it candidates and rewards. To measure regret
the environment also has `_expected()`, the expected rewards (m,) of the current candidates; only the scorer
below calls it. An environment of your own, complete:

    import numpy as np

    class Shelf:
        '''Which of four products to put in front? Better products sell, and so do discounts, drawn afresh.'''
        fields, features = 2, 4 + 3                      # product ids 0-3, discount ids 4-6

        def __init__(self, rng):
            self.rng = rng

        def observe(self):
            self.X = np.column_stack([np.arange(4), 4 + self.rng.integers(0, 3, 4)])
            return self.X

        def _expected(self):
            return 0.1 + 0.1 * self.X[:, 0] + 0.2 * (self.X[:, 1] - 4)

        def pull(self, a):
            return int(self.rng.random() < self._expected()[a])

Randomness comes from named streams of one seed, so every method that runs with a seed faces the same weights,
the same contexts and the same reward uniforms, whatever it does itself: differences between methods are paired.
"""
import numpy as np

from nn import sigmoid

STREAMS = ("weights", "contexts", "rewards", "agent", "models")


def stream(seed, name, k=0):
    """Random generator for one purpose: a pure function of the seed, the purpose and, for models, the index k."""
    return np.random.default_rng([seed, STREAMS.index(name), k])


class Scored:
    """An environment with its books: what the loops see is observe and pull, what is kept is reward and pseudo-regret."""

    def __init__(self, env, steps, tick=lambda fraction: None):
        self.env, self.fields, self.features = env, env.fields, env.features
        self.t, self.rewards, self.regret = 0, np.zeros(steps), np.zeros(steps)
        self.observe, self.tick, self.every = env.observe, tick, max(1, steps // 20)

    def pull(self, a):
        y = self.env._expected()                                     # (m,)
        r = self.env.pull(a)
        self.rewards[self.t], self.regret[self.t] = r, np.maximum.reduce(y) - y[a]
        self.t += 1
        if self.t % self.every == 0:
            self.tick(self.t / len(self.regret))                     # for the progress line
        return r


class BernoulliArms:
    """m arms without context (Section 3.4): the candidates are the arms themselves, J = 1. CTRs may be given."""
    fields = 1

    def __init__(self, seed, m=10, low=0.0, high=0.1, y=None):
        self.y = np.asarray(y, float) if y is not None else stream(seed, "weights").uniform(low, high, m)
        self.features = len(self.y)
        self.rewards = stream(seed, "rewards")
        self.X = np.arange(self.features)[:, None]                   # (m, 1)

    def observe(self):
        self.u = self.rewards.random()                               # one uniform per step, whichever arm is pulled
        return self.X

    def _expected(self):
        return self.y

    def pull(self, a):
        return int(self.u < self.y[a])


class Synthetic:
    """The Bernoulli bandit of Section 5.1: m = 25 actions with ids [a, x1, x2], x1, x2 ~ U{1, 5} afresh every step.

        y_a = sigmoid(w0[a] + w1[x1] + w2[x2] - 1),   all weights ~ U(-0.25, 0.25)

    One id space: actions 0-24, values of x1 25-29, values of x2 30-34. Steps are made in blocks for speed.
    """
    fields, features, m, block = 3, 35, 25, 1024

    def __init__(self, seed):
        self.w = stream(seed, "weights").uniform(-0.25, 0.25, self.features)    # w0, w1, w2 in id order
        self.contexts, self.rewards = stream(seed, "contexts"), stream(seed, "rewards")
        self.i = self.block - 1

    def observe(self):
        self.i += 1
        if self.i == self.block:
            self._next_block()
        return self.X[self.i]                                        # (m, J)

    def _next_block(self):
        n, self.i = self.block, 0
        values = self.contexts.integers(0, 5, (n, self.m, 2)) + np.array([25, 30])
        actions = np.broadcast_to(np.arange(self.m)[:, None], (n, self.m, 1))
        self.X = np.concatenate([actions, values], axis=-1)          # (n, m, J)
        self.y = sigmoid(self.w.take(self.X).sum(axis=-1) - 1.0)     # (n, m)
        self.u = self.rewards.random(n)

    def _expected(self):
        return self.y[self.i]

    def pull(self, a):
        return int(self.u[self.i] < self.y[self.i, a])
