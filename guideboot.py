"""GuideBoot: guided bootstrap for contextual bandits (Pan et al., WWW 2021, Sections 3 and 4).

Read it with the paper open. `# Alg1:16` is line 16 of Algorithm 1. A range such as `Alg1:20-22` is a loop of the
listing that runs as one array operation over all K models, or lines that a function called there holds. Parts:

    guidance and densities    Eq. 4-7
    fake samples              Section 3.2
    Agent, GuideBoot          what a method is: how it chooses, what it learns from
    replay                    Algorithm 1, learning from the whole history
    online, serve, learn      Algorithm 3, learning from a stream (Algorithm 2: one model, no fakes)
    the multi-armed case      Section 3.4, exactly: Eq. 2, Eq. 3 and the guided bootstrap's distribution

`python run_arms.py` works the paper's example of Ad_A and Ad_B. An input is a row x of J categorical ids; X is a
stack of such rows. Models come from a bag (nn.py), tasks from an environment (envs.py).
"""
import math
from itertools import repeat

import numpy as np

from nn import sum_last


# ---------------------------------------------------------------- guidance: Eq. 4-7

def guidance(rho, alpha):
    """Probability of each fake sample: g = min(alpha / rho, 1)  (Eq. 4 and 5, Alg. 1 line 15).

    Written alpha / max(rho, alpha): the same number, and an input never seen (rho = 0) gets g = 1.
    """
    return alpha / np.maximum(rho, alpha)                                      # Alg1:15 Alg3:17


class AdCount:
    """Density of Eq. 6: how often the id in one field (the ad_ID; envs.AD_ID for the ads) was shown.

    A density of your own needs these two methods. `update` gets the rows just shown: one row (J,) in `replay`, a
    buffer (c, J) in `online`. A call gets any stack of rows (..., J), as a rule (K, B, J), and returns rho (...).
    """

    def __init__(self, features, field=0):
        self.count, self.field = np.zeros(features), field

    def update(self, X):
        np.add.at(self.count, X[..., self.field], 1.0)                         # an id may occur many times in a buffer

    def __call__(self, X):
        return self.count.take(X[..., self.field])                             # (..., J) -> (...)


class Harmonic:
    """Density of Eq. 7: rho(x) = 1 / sum_j 1 / Count(x_j), an unscaled harmonic mean over the J fields.

    Section 3.4 assumes rho >= 1 for inputs seen, but it is 1 / J when all counts are 1, and below 1 as long as one
    count is 1 (J > 1); g is then min(alpha / rho, 1) like everywhere. An id belongs to one field: no row repeats one.
    """

    def __init__(self, features):
        self.count = np.zeros(features)
        self.inverse = np.full(features, np.inf)                               # 1 / Count; an id never seen makes rho 0

    def update(self, X):
        np.add.at(self.count, X, 1.0)
        self.inverse[X] = 1.0 / self.count[X]

    def __call__(self, X):
        return 1.0 / sum_last(self.inverse.take(X))                            # (..., J) -> (...)


# ---------------------------------------------------------------- fake samples: Section 3.2

def fake_samples(r, g, rng):
    """Add the fake samples (x, 1) and (x, 0), each with probability g, to samples with rewards r.

    A fake repeats the input of a real sample, so no row is appended: the log-losses of (x, r), F1 times (x, 1)
    and F0 times (x, 0) sum to w softplus(z) - y z with weight w = 1 + F1 + F0 and clicks y = r + F1.
    """
    F1, F0 = (rng.random((2,) + g.shape) < g).view(np.int8)                    # Alg1:16-17 Alg3:18-19
    return 1 + F1 + F0, r + F1                                                 # w, y


# ---------------------------------------------------------------- a method: choose x learn from

def largest(scores):
    """Index of a largest score; a largest score that is not a finite number is an error."""
    a = int(scores.argmax())                       # the first nan, if there is one
    if not math.isfinite(scores[a]):
        raise FloatingPointError(f"a score is {scores[a]}: the learning rate may be too large")
    return a


def argmax(scores, rng):
    """Index of the largest score, ties broken at random."""
    a = largest(scores)
    ties = (scores == scores[a]).nonzero()[0]
    return a if len(ties) == 1 else int(ties[int(len(ties) * rng.random())])


class Agent:
    """A method is how it chooses and what it learns from; this one is the vanilla Bootstrap.

    It follows a random model of the bag greedily and learns from real samples alone. With K = 1 it is the
    greedy policy of Algorithm 2. Subclasses override a hook or two: see GuideBoot below and baselines.py.
    """
    shuffle = False                    # online: does every model get the buffer in an order of its own?

    def __init__(self, bag, rng):
        self.bag, self.rng = bag, rng

    def choose(self, X, t):
        """Part 1, decision-making (Eq. 1): the candidates X (m, J) of step t -> index of one."""
        k = int(self.bag.K * self.rng.random())                                # Alg1:6 Alg3:7   k ~ U{1, K}
        scores = self.bag.scores(k, X)                                         # Alg1:7 Alg3:8   logits: the same argmax
        return argmax(scores, self.rng)                                        # Alg1:8 Alg3:9

    def remember(self, history, x, r):
        """Replay: what a shown row and its reward leave in the history."""
        history.append(x, r)                                                   # Alg1:9

    def update_density(self, X):
        """Count the rows just shown, before anything is learned from them."""

    def samples(self, X, r):
        """Weights and clicks of the samples X (K, B, J) with rewards r (K, B) that the models train on."""
        return np.ones(r.shape), r                                             # Alg1:13

    def learn(self, X, r, n):
        """What `online` calls with each full buffer; methods without a bag have their own."""
        learn(self, X, r, n)


class GuideBoot(Agent):
    """The bootstrap guided by fake samples. GuideBoot in `replay`, Online GuideBoot in `online`."""
    shuffle = True

    def __init__(self, bag, rng, density, alpha=1.0):
        super().__init__(bag, rng)
        self.density, self.alpha = density, positive("alpha", alpha)

    def update_density(self, X):
        self.density.update(X)                                                 # Alg1:10 Alg3:12

    def samples(self, X, r):
        g = guidance(self.density(X), self.alpha)                              # Alg1:14-18 Alg3:16-20  every record at once
        return fake_samples(r, g, self.rng)


# ---------------------------------------------------------------- Algorithm 1: experience replay

class History:
    """The replay buffer H: rows appended one by one, storage doubled when full, so that appending costs O(1) on average."""

    def __init__(self, fields, features):
        ids = np.min_scalar_type(features - 1)                                 # the smallest type that holds every id
        self.X, self.r, self.size = np.empty((1024, fields), ids), np.empty(1024, np.int8), 0

    def append(self, x, r):
        if self.size == len(self.r):
            self.X = np.concatenate([self.X, np.empty_like(self.X)])
            self.r = np.concatenate([self.r, np.empty_like(self.r)])
        self.X[self.size], self.r[self.size] = x, r
        self.size += 1

    def resample(self, shape, rng):
        """b-out-of-t bootstrap: rows drawn uniformly with replacement from all that is stored."""
        rows = (self.size * rng.random(shape)).astype(np.intp)
        return self.X.take(rows, axis=0).astype(np.intp), self.r.take(rows)    # (K, b, J), (K, b)


def replay(agent, env, steps, b, every=1, updates=1):
    """Algorithm 1, GuideBoot with experience replay (or any other Agent with a bag of models).

    Lines 2 and 3, K models initialized independently and an empty density, are the agent's constructor. The paper's
    loop learns after each step; with `every` > 1 it learns after every so many steps, then by `updates` batches (ours,
    for the ads, where K networks cannot learn after each of millions of steps).
    """
    same_ids(agent.bag, env)
    history = History(env.fields, env.features)                                # Alg1:1
    bag, size, every = agent.bag, (agent.bag.K, whole("b", b)), whole("every", every)      # Alg1:2-3
    for t in range(1, whole("steps", steps) + 1):                              # Alg1:4
        # Part 1. Decision-making
        X = observe(env)                                                       # Alg1:5     (m, J)
        a = agent.choose(X, t)                                                 # Alg1:6-8
        r = reward(env, a)                                                     # Alg1:8
        x = X[a]
        agent.remember(history, x, r)                                          # Alg1:9
        # Part 2. Prepare bootstrap data, for all K models at once
        agent.update_density(x)                                                # Alg1:10
        for _ in range(0 if t % every else whole("updates", updates)):
            X_b, r_b = history.resample(size, agent.rng)                       # Alg1:11-12 (K, b, J), (K, b)
            w, y = agent.samples(X_b, r_b)                                     # Alg1:13-19 (K, b), (K, b)
            # Part 3. Update the models
            bag.update(X_b, w, y)                                              # Alg1:20-22
        if t % every == 0:
            bag.publish()                                                      # Alg1:23  (end of the loop: the next step serves these)


# ---------------------------------------------------------------- Algorithm 3: online

def online(agent, env, steps, c, n=1):
    """Algorithm 3, Online GuideBoot (or any other Agent), on a buffer of c requests at a time.

    c is a number, or an iterable that gives the size of each next buffer (Section 4.1: c may vary). The models
    that serve change only when a learning phase is complete.
    """
    if hasattr(agent, "bag"):                                                  # Alg3:1-2 are the agent's constructor
        same_ids(agent.bag, env)
    t, steps, n = 0, whole("steps", steps), whole("n", n)
    if not hasattr(c, "__iter__"):
        check("n", n, n <= whole("c", c), f"at most c, {c}")
        c = repeat(c)
    sizes = iter(c)
    while t < steps:                                                           # Alg3:3
        size = whole("c", next(sizes, None) or 0)                              # 0: no more sizes, refused
        X, r = serve(agent, env, t, min(size, steps - t))                      # Alg3:4-11
        agent.learn(X, r, n)                                                   # Alg3:12-23
        t += len(r)                                                            # Alg3:24


def serve(agent, env, t, c):
    """Algorithm 3, part 1: answer the c requests after step t with the published models; return the buffer."""
    X_on, r_on = [], []                                                        # Alg3:4
    for t in range(t + 1, t + c + 1):                                          # Alg3:5
        X = observe(env)                                                       # Alg3:6    (m, J)
        a = agent.choose(X, t)                                                 # Alg3:7-9
        r_on.append(reward(env, a))                                            # Alg3:9
        X_on.append(np.array(X[a]))                                            # Alg3:10
    return np.array(X_on), np.array(r_on)                                      # Alg3:11   (c, J), (c,)


def learn(agent, X, r, n):
    """Algorithm 3, part 2: one learning phase on the buffer X (c, J), r (c,), then the models are published."""
    agent.update_density(X)                                                    # Alg3:12
    K, c = agent.bag.K, len(r)
    order = np.tile(np.arange(c), (K, 1))                                      # Alg3:13
    if agent.shuffle:
        order = agent.rng.permuted(order, axis=1)                              # Alg3:14
    X, r = X[order], r[order]                                                  #           (K, c, J), (K, c)
    w, y = agent.samples(X, r)                                                 # Alg3:15-21
    ends = np.arange(1, min(n, c) + 1) * c // min(n, c)                        # n mini-batches, at most c, sizes within 1
    for lo, hi in zip(np.append(0, ends), ends):
        agent.bag.update(X[:, lo:hi], w[:, lo:hi], y[:, lo:hi])                # Alg3:22
    agent.bag.publish()                                                        # Alg3:23  (end of the loop; Section 4.2: pushed to serving)


# ---------------------------------------------------------------- what may go wrong, said in one line

def check(name, value, ok, allowed):
    if not ok:
        raise ValueError(f"{name} must be {allowed}, got {value!r}")
    return value


def positive(name, value):
    return check(name, value, 0 < value < math.inf, "a finite number above 0")


def whole(name, value):
    return int(check(name, value, value >= 1 and value % 1 == 0, "a whole number, 1 or more"))


def probability(name, value):
    return check(name, value, 0 <= value <= 1, "0 to 1")


def same_ids(bag, env):
    check("bag.features", bag.features, bag.features == env.features, f"env.features, {env.features}")


def observe(env):
    """The candidates of the next request, checked: rows of J ids within the environment's range, at least one."""
    X = env.observe()
    if len(X) == 0:
        raise ValueError("candidates must be at least one row of ids, got an empty set")
    if hasattr(X, "items"):                        # a request that names candidates by item: valid by its making
        return X
    X = np.asarray(X)
    if X.dtype.kind not in "iu" or X.shape[1:] != (env.fields,):
        raise ValueError(f"candidates must be whole numbers of shape (m, {env.fields}), got {X.dtype} of shape {X.shape}")
    if np.maximum.reduce(X.astype(np.uint64), None) >= env.features:                # as unsigned, a negative id is huge
        bad = X[(X < 0) | (X >= env.features)][0]
        raise ValueError(f"ids must be 0 to {env.features - 1} (env.features - 1), got {bad}")
    return X.astype(np.intp, copy=False)


def reward(env, a):
    r = env.pull(a)
    return r if type(r) is int and 0 <= r <= 1 else int(check("rewards", r, np.ndim(r) == 0 and r in (0, 1), "0 or 1"))


# ---------------------------------------------------------------- the multi-armed case, exactly: Section 3.4

def beta_moments(s, n, alpha):
    """Mean and variance of the posterior Beta(alpha + s, alpha + n - s) after s clicks in n  (Eq. 2)."""
    total = 2 * alpha + n
    return (alpha + s) / total, (alpha + s) * (alpha + n - s) / (total ** 2 * (total + 1))


def guided_before_moments(s, n, alpha):
    """Mean and variance when the fakes, 0 and 1 with weight alpha each, join the data before n + 2 alpha rewards
    are resampled (2 alpha whole): the paper's formulas, exact here, and the mean is Beta's."""
    total = 2 * alpha + n
    return (alpha + s) / total, (alpha + s) * (alpha + n - s) / total ** 3


def binomial(n, p):
    """Probabilities of 0, ..., n successes."""
    i = np.arange(n + 1)
    if p in (0.0, 1.0):
        return (i == n * p).astype(float)
    log_choose = np.array([math.lgamma(n + 1) - math.lgamma(j + 1) - math.lgamma(n - j + 1) for j in i])
    return np.exp(log_choose + i * math.log(p) + (n - i) * math.log1p(-p))


def bootstrap_distribution(s, n):
    """Eq. 3: the vanilla bootstrap's mean is Bi(n, s/n) / n. Returns its values and their probabilities."""
    return np.arange(n + 1) / n, binomial(n, s / n)


def guided_distribution(s, n, alpha):
    """The guided bootstrap's mean (S + F1) / (n + F1 + F0), fakes after resampling: S ~ Bi(n, s/n), F ~ Bi(n, g).

    Enumerated, no sampling: values clicks / rows in increasing order, and their probabilities.
    """
    check("s", s, 0 <= s <= whole("n", n), f"0 to n, {n}")
    clicks, fakes = binomial(n, s / n), binomial(n, guidance(n, positive("alpha", alpha)))        # g = alpha / n, Eq. 4
    P = np.zeros((2 * n + 1, 2 * n + 1))                                       # P[S + F1, F1 + F0]
    for F1 in range(n + 1):
        P[F1:F1 + n + 1, F1:F1 + n + 1] += fakes[F1] * np.outer(clicks, fakes)
    values = np.arange(2 * n + 1)[:, None] / (n + np.arange(2 * n + 1))
    values, index = np.unique(values, return_inverse=True)
    p = np.bincount(index.ravel(), P.ravel())
    return values[p > 0], p[p > 0]


def moments(values, p):
    """Mean and variance of a finite distribution."""
    mean = float(values @ p)
    return mean, float((values - mean) ** 2 @ p)


def chance_to_win(B, A):
    """P(B > A) + P(B = A) / 2 for two independent finite distributions, ties broken by a coin."""
    below = np.append(0.0, np.cumsum(A[1]))
    lower, upper = np.searchsorted(A[0], B[0], "left"), np.searchsorted(A[0], B[0], "right")
    return float(B[1] @ (below[lower] + below[upper]) / 2)


def beta_chance_to_win(aB, bB, aA, bA):
    """P(Beta(aB, bB) > Beta(aA, bA)) for a whole number aB: a finite sum of Beta functions."""
    def log_beta(a, b):
        return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    return sum(math.exp(log_beta(aA + i, bA + bB) - math.log(bB + i) - log_beta(1 + i, bB) - log_beta(aA, bA))
               for i in range(whole("aB", aB)))


def cdf(distribution, x):
    """P(value <= x) of a finite distribution, for a number or an array x."""
    values, p = distribution
    return np.append(0.0, np.cumsum(p))[np.searchsorted(values, x, "right")]


def beta_cdf(a, b, x):
    """P(Beta(a, b) <= x) for whole a and b: as likely as a or more successes in a + b - 1 trials of probability x."""
    return 1.0 - sum(float(math.comb(a + b - 1, i)) * x ** i * (1.0 - x) ** (a + b - 1 - i) for i in range(a))


class Arms:
    """An agent for m Bernoulli arms: draws a mean for each arm and pulls the highest.

    `draw(s, n, rng)` returns the means of the arms with s clicks in n pulls; arms never pulled come first.
    """

    def __init__(self, m, draw, rng):
        self.s, self.n, self.draw, self.rng = np.zeros(m, int), np.zeros(m, int), draw, rng

    def choose(self, X, t):
        n = self.n[X[:, 0]]
        if n.min() == 0:
            return argmax((n == 0).astype(float), self.rng)
        return argmax(self.draw(self.s[X[:, 0]], n, self.rng), self.rng)

    def learn(self, X, r, n=1):
        np.add.at(self.n, X[:, 0], 1)
        np.add.at(self.s, X[:, 0], r)


def thompson_mean(s, n, rng, alpha=1.0):
    """A draw from the posterior Beta(alpha + s, alpha + n - s) of every arm (Eq. 2)."""
    return rng.beta(alpha + s, alpha + n - s)


def bootstrap_mean(s, n, rng):
    """The mean of n rewards resampled from n with s clicks, for every arm (Eq. 3)."""
    return rng.binomial(n, s / n) / n


def guided_mean(s, n, rng, alpha=1.0):
    """One draw of every arm's guided-bootstrap mean, distributed as `guided_distribution`."""
    g = guidance(n, alpha)
    S, F1, F0 = rng.binomial(n, s / n), rng.binomial(n, g), rng.binomial(n, g)
    return (S + F1) / (n + F1 + F0)
