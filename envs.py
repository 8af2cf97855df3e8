"""The tasks: Bernoulli arms, the synthetic task of Section 5.1, stand-ins for the ad simulators of Section 5.2.

An environment is any object with two numbers and two methods:

    env.fields      J, how many ids make up an input
    env.features    ids run from 0 to features - 1; each field has a range of its own
    env.observe()   the candidates of the next request, an integer array (m, J), m >= 1
    env.pull(a)     show candidate a of that request; returns the reward, 0 or 1

and that is all an agent ever meets: the loops of guideboot.py hand it candidates and rewards. To measure regret
the environment also has `_expected()`, the expected rewards (m,) of the current candidates, for the scorer
below; no agent gets to it. An environment of your own, complete:

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

and GuideBoot on it, with its regret:

    from envs import Scored
    from guideboot import GuideBoot, Harmonic, replay
    from nn import LogisticBag

    env = Scored(Shelf(np.random.default_rng(0)), steps=1000)
    bag = LogisticBag(env.features, [np.random.default_rng([1, k]) for k in range(5)], learning_rate=0.01)
    replay(GuideBoot(bag, np.random.default_rng(2), Harmonic(env.features)), env, steps=1000, b=32)
    print(env.regret.sum())

Randomness comes from named streams of one seed, so every method that runs with a seed faces the same weights,
the same contexts and the same reward uniforms, whatever it does itself: differences between methods are paired.
"""
from statistics import NormalDist

import numpy as np

from nn import sigmoid

STREAMS = ("weights", "contexts", "rewards", "agent", "models", "dropout")


def stream(seed, name, k=0):
    """Random generator for one purpose: a pure function of the seed, the purpose and, for models, the index k."""
    return np.random.default_rng([seed, STREAMS.index(name), k])


class Scored:
    """An environment with its books. A loop sees observe and pull; what they bring is kept here.

    What is scored is the environment's `score`: "regret" (the default if it has expected rewards: the
    pseudo-regret, best expected reward minus that of the one shown), "expected" (the expected reward of
    the one shown, for tasks with many candidates), or "reward" (what was received).
    """

    def __init__(self, env, steps, tick=lambda fraction: None):
        self.env, self.fields, self.features = env, env.fields, env.features
        self.observe = env.observe
        self.score = getattr(env, "score", "regret" if hasattr(env, "_expected") else "reward")
        self.t, self.rewards = 0, np.zeros(steps, np.int8)
        self.regret = np.zeros(steps if self.score == "regret" else 0)
        self.expected = np.zeros(steps if self.score == "expected" else 0, np.float32)
        self.tick, self.twentieth = tick, max(1, steps // 20)

    def __getattr__(self, name):
        """All else that the environment has: its table of ads, its scale."""
        if name == "env":                                            # not there yet: a copy in the making
            raise AttributeError(name)
        return getattr(self.env, name)

    def pull(self, a):
        self.rewards[self.t] = r = self.env.pull(a)
        if self.score == "regret":
            y = self.env._expected()                                 # (m,)
            self.regret[self.t] = np.maximum.reduce(y) - y[a]
        elif self.score == "expected":
            self.expected[self.t] = self.env._shown
        self.t += 1
        if self.t % self.twentieth == 0:
            self.tick(self.t / len(self.rewards))                    # for the progress line
        return r

    def numbers(self):
        """What came of it, the score first: "regret" is a sum over steps, all else is per step."""
        clicks = float(self.rewards.mean())
        if self.score == "regret":
            return {"regret": float(np.cumsum(self.regret)[-1]), "reward": clicks}
        if self.score == "expected":
            return {"reward": float(self.expected.mean(dtype=float)), "clicks": clicks}
        return {"reward": clicks}


class BernoulliArms:
    """m arms without context (Section 3.4): the candidates are the arms themselves, J = 1. CTRs may be given."""
    fields = 1

    def __init__(self, seed, m=10, low=0.0, high=0.1, y=None):
        self._y = np.asarray(y, float) if y is not None else stream(seed, "weights").uniform(low, high, m)
        self.features = len(self._y)
        self.rewards = stream(seed, "rewards")
        self.X = np.arange(self.features)[:, None]                   # (m, 1)

    def observe(self):
        self._u = self.rewards.random()                               # one uniform per step, whichever arm is pulled
        return self.X

    def _expected(self):
        return self._y

    def pull(self, a):
        return int(self._u < self._y[a])


class Synthetic:
    """The Bernoulli bandit of Section 5.1: m = 25 actions with ids [a, x1, x2], x1, x2 ~ U{1, 5} afresh every step.

        y_a = sigmoid(w0[a] + w1[x1] + w2[x2] - 1),   all weights ~ U(-0.25, 0.25)

    One id space: actions 0-24, values of x1 25-29, values of x2 30-34. Steps are made in blocks for speed.
    """
    fields, features, m, block = 3, 35, 25, 1024

    def __init__(self, seed):
        self._w = stream(seed, "weights").uniform(-0.25, 0.25, self.features)    # w0, w1, w2 in id order
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
        self._y = sigmoid(self._w.take(self.X).sum(axis=-1) - 1.0)     # (n, m)
        self._u = self.rewards.random(n)

    def _expected(self):
        return self._y[self.i]

    def pull(self, a):
        return int(self._u[self.i] < self._y[self.i, a])


# ---------------------------------------------------------------- advertising: stand-ins for Tencent's logs

TABLE_2 = {     # the paper's statistics of its two simulators, and what the stand-ins are calibrated to (see Ads)
    "A": dict(steps=4_500_000, ads=8_900, candidates=(250, 450), context_features=4_200, ad_features=12_000, lift=1.93),
    "B": dict(steps=14_700_000, ads=6_500, candidates=(100, 200), context_features=4_300, ad_features=9_400, lift=1.5),
}
CONTEXT_FIELDS, AD_FIELDS, DAYS = 13, 12, 5.0
AD_ID = CONTEXT_FIELDS                 # a row is 13 context ids, then the ad_ID and 11 other ids of the ad
RANDOM_CTR = 0.01                      # what a random policy gets, at any scale


class Request:
    """One request: 13 context ids and the m candidate ads, by their index. Reads like the array (m, 25) of ids."""

    def __init__(self, context, items, table):
        self.context, self.items, self.table = context, items, table

    def __len__(self):
        return len(self.items)

    def __array__(self, dtype=None, copy=None):
        context = np.broadcast_to(self.context, (len(self.items), len(self.context)))
        return np.concatenate([context, self.table[self.items]], axis=1)

    def __getitem__(self, key):
        if isinstance(key, int):
            return np.concatenate([self.context, self.table[self.items[key]]])       # the row x of one candidate
        return np.asarray(self)[key]


def field_sizes(total, fields, smallest=2):
    """`fields` sizes, each about 0.7 of the one before it, that add up to `total`."""
    share = 0.7 ** np.arange(fields)
    sizes = smallest + np.floor((total - smallest * fields) * share / share.sum()).astype(int)
    sizes[0] += total - sizes.sum()
    return sizes


class Ads:
    """A stand-in for the simulators Tencent Ads A and B, whose logs are not public. Its world is invented.

    At scale 1 it has Table 2's statistics; `scale` shrinks steps, ads, candidates and features together, so that
    impressions per ad stay the paper's; at least 5 to 9 candidates are kept, for with three the best gets at most three times
    the average CTR, and there is little to learn. Over five days ads are launched and retired, the mix of contexts follows the
    hour, and tastes drift. The user model, hidden from agents, gives the logit of a click as

        base + context effect + spread * (ad's own appeal + its features' appeal + tanh(taste) + sin(3 whim))

    with taste = u.v and whim = u'.v' inner products of hidden context and ad vectors, which the agents' network can only
    approximate. The features' appeal and the contexts' vectors turn over the days. At any scale
    `base` is set so that a random policy gets a CTR of 0.01, and `spread` is `lift` divided by the expected maximum of
    m standard normals (Blom's formula), so that the best candidate is about `lift` logits above the average one. `lift`
    was chosen by epsilon-greedy's row in Table 3 alone, so that it lands near it.
    (task, world, scale) fix the world; `seed` draws requests, rewards and agents.
    """
    fields, score = CONTEXT_FIELDS + AD_FIELDS, "expected"
    block, segments, d = 512, 16, 4

    def __init__(self, seed, task="A", scale=1.0, world=0, drift=1.0):
        if task not in TABLE_2:
            raise ValueError(f"task must be one of {', '.join(TABLE_2)}, got {task!r}")
        if not 0.01 <= scale <= 1.0:
            raise ValueError(f"scale must be 0.01 to 1, got {scale!r}")
        if not 0.0 <= drift <= 10.0:
            raise ValueError(f"drift must be 0 to 10, got {drift!r}")
        if world < 0 or world % 1:
            raise ValueError(f"world must be a whole number, 0 or more, got {world!r}")
        stats = TABLE_2[task]
        self.steps, n = round(stats["steps"] * scale), round(stats["ads"] * scale)
        self.low = max(5, round(stats["candidates"][0] * scale))
        self.high = max(self.low + 4, round(stats["candidates"][1] * scale))
        context_features = round(stats["context_features"] * scale)
        self.features = context_features + round(stats["ad_features"] * scale)
        hours = max(2, min(24, context_features // 20))
        self.context_sizes = np.array([hours, *field_sizes(context_features - hours, CONTEXT_FIELDS - 1)])
        self.ad_sizes = np.array([n, *field_sizes(self.features - context_features - n, AD_FIELDS - 1)])
        starts = np.cumsum([0, *self.context_sizes, *self.ad_sizes[:-1]])
        self.context_starts, self.ad_starts = starts[:CONTEXT_FIELDS], starts[CONTEXT_FIELDS:]
        self.scale, self.drift = scale, drift
        self._make_world(np.random.default_rng(["AB".index(task), world, round(1e6 * scale)]), stats["lift"])
        self.contexts, self.rewards = stream(seed, "contexts"), stream(seed, "rewards")
        self.done, self.i = 0, self.block - 1

    def _make_world(self, rng, lift):
        n, d = self.ad_sizes[0], self.d
        # Ads: attribute values are Zipf-popular; launch up to two days before the logs begin, live for days.
        values = np.column_stack([np.arange(n), *(rng.choice(size, n, p=zipf(size)) for size in self.ad_sizes[1:])])
        self.table = (values + self.ad_starts).astype(np.intp)                       # (n, 12) ids of every ad
        self.launch = rng.uniform(-2.0, DAYS - 0.25, n)
        self.retire = np.maximum(self.launch, 0.0) + 0.25 + rng.exponential(2.0, n)
        # Hidden effects of ad features, now and as the drift will make them; of contexts; hidden vectors of both.
        others = self.table[:, 1:] - self.ad_starts[1]
        effects = rng.standard_normal((2, others.max() + 1))
        self._feature_appeal = standard(effects[:, others].sum(axis=2), axis=1)       # (2, n)
        self._own_appeal = rng.standard_normal(n)
        self._v = standard(rng.standard_normal((others.max() + 1, 2 * d))[others].sum(axis=1)
                          + 2.0 * rng.standard_normal((n, 2 * d)))                   # (n, 2 d)
        total = self.context_sizes.sum()
        self._context_effect, self._u = rng.standard_normal(total), rng.standard_normal((total, 2 * d))
        self._phase = rng.random(CONTEXT_FIELDS)
        self._cumulative = [np.cumsum(zipf(size)) for size in self.context_sizes]
        # Calibration, by marginal statistics of the requests alone: 20 of them in each of the 120 hours.
        m, effect, liking = (self.low + self.high) // 2, [], []
        for day in (np.arange(120) + 0.5) / 24.0:
            (_, e), sides = self._draw_contexts(rng, day, 20)
            items = rng.choice(self._live(day).nonzero()[0], (20, m))
            effect.append(e[:, None])
            liking.append(self._liking(self._appeal_at(day)[items], self._v[items] @ sides))
        effect, liking = np.concatenate(effect), np.concatenate(liking)              # (2400, 1), (2400, m)
        self._base, self._spread = 0.0, lift / NormalDist().inv_cdf((m - 0.375) / (m + 0.25))
        for _ in range(50):
            self._base += np.log(RANDOM_CTR / sigmoid(self._base + effect + self._spread * liking).mean())

    def _live(self, day):
        return (self.launch <= day) & (day < self.retire)

    def _angle(self, day):
        """How far tastes have turned: an eighth of a circle in five days, a correlation of 0.7 between first and last."""
        return self.drift * np.pi / 4 * day / DAYS

    def _appeal_at(self, day):
        """What every ad has of its own, whoever sees it, at this time, (n,)."""
        angle = self._angle(day)
        return np.sqrt(0.3) * self._own_appeal + np.sqrt(0.3) * (
            np.cos(angle) * self._feature_appeal[0] + np.sin(angle) * self._feature_appeal[1])

    def _draw_contexts(self, rng, day, count):
        """Ids (count, 13) and hidden sides of contexts at this time; the popular values move with the hour."""
        wave = 0.5 + 0.5 * np.sin(2 * np.pi * (day % 1.0 + self._phase))
        shift = (0.3 * wave * self.context_sizes).astype(int)
        rank = np.column_stack([np.searchsorted(c, rng.random(count) * c[-1]) for c in self._cumulative])
        values = (rank + shift) % self.context_sizes
        values[:, 0] = int((day % 1.0) * self.context_sizes[0])                      # the first field is the hour
        ids = values + self.context_starts
        effect = self._context_effect[ids].sum(axis=1) * 0.5 / np.sqrt(CONTEXT_FIELDS)
        u = self._u[ids].sum(axis=1) / np.sqrt(CONTEXT_FIELDS * self.d)               # (count, 2 d): u.v has variance 1
        angle = self._angle(day)
        pairs = u.reshape(count, -1, 2)
        turned = pairs * np.cos(angle) + pairs[:, :, ::-1] * np.array([-1.0, 1.0]) * np.sin(angle)
        sides = np.zeros((count, 2 * self.d, 2))                                     # v @ sides = (taste, whim)
        sides[:, :self.d, 0] = turned.reshape(count, -1)[:, :self.d]
        sides[:, self.d:, 1] = turned.reshape(count, -1)[:, self.d:]
        return (ids, effect), sides

    def _liking(self, appeal, sides):
        """What is liked of an ad by a context: `sides` ends in (taste, whim); its variance is about 1."""
        return appeal + np.sqrt(0.6) * np.tanh(sides[..., 0]) + np.sqrt(0.3) * np.sin(3.0 * sides[..., 1])

    def observe(self):
        self.i += 1
        if self.i == self.block:
            self._next_block()
        self.items = self.lists[self.segment[self.i]][self.offset[self.i]:self.offset[self.i] + self.m[self.i]]
        return Request(self.ids[self.i], self.items, self.table)

    def _next_block(self):
        """Requests are made in blocks: time stands still in one, and retrieval goes by prepared lists.

        As in a retrieval index, each segment of contexts has its list of live ads in random order, and the candidates
        of a request are a run of consecutive entries from a random place: distinct, and as cheap as a slice.
        """
        day = DAYS * min(self.done + self.block / 2, self.steps) / self.steps
        self.day, self.i, n = day, 0, self.block
        self.done += n
        (self.ids, self._effect), self._sides = self._draw_contexts(self.contexts, day, n)
        self._appeal, live = self._appeal_at(day), self._live(day).nonzero()[0]
        self.lists = []
        for _ in range(self.segments):
            order = self.contexts.permutation(live)
            self.lists.append(np.concatenate([order, order[:self.high]]))            # a run may go round the end
        self.segment = self.ids[:, 2] % self.segments
        self.m = self.contexts.integers(self.low, self.high + 1, n)
        self.offset = self.contexts.integers(0, len(live), n)
        self._uniform = self.rewards.random(n)

    def _expected(self, which=slice(None)):
        items, i = self.items[which], self.i
        return sigmoid(self._base + self._effect[i] + self._spread * self._liking(self._appeal[items], self._v[items] @ self._sides[i]))

    def pull(self, a):
        self._shown = self._expected(a)
        return int(self._uniform[self.i] < self._shown)


def zipf(size):
    """Popularity of `size` values: the k-th most popular has a share proportional to 1 / k."""
    p = 1.0 / np.arange(1, size + 1)
    return p / p.sum()


def standard(a, axis=0):
    """Shifted and scaled to mean 0 and variance 1 along an axis."""
    return (a - a.mean(axis=axis, keepdims=True)) / a.std(axis=axis, keepdims=True)
