"""GuideBoot: guided bootstrap for contextual bandits (Pan et al., WWW 2021, Sections 3 and 4).

Read it with the paper open. `# Alg1:16` marks the statement that does line 16 of Algorithm 1, or
the call that leads there (for the END of a loop its last statement or the first after it); a range
such as `Alg1:20-22` marks a call that does those lines, or a loop of the listing that runs as one
array operation. Gradient steps have their marks in nn.py. PAPER.md goes line by line.

An input is a row x of J categorical ids, X is a stack of such rows, r are their rewards, 0 or 1.
With its fakes a row stands for w samples, of which y are clicks (the paper's y is something else,
an expected reward). A task is an environment with `observe()` and `pull(a)` (envs.py; wrap it in
envs.Scored to record what comes of it). Models come in bags of K (nn.py), each in two copies:
`bag.update` trains one, `bag.scores` uses the other, the published one, and `bag.publish` makes it
equal to the trained one. Building a bag is Alg1:2, Alg2:1 and Alg3:1.
"""
import math
from itertools import repeat

import numpy as np

from envs import check_choice, check_density, check_fit, checked, checked_buffer  # refuse nonsense
from nn import check, positive, probability, sum_last, whole


# ---------------------------------------------------------------- guidance: Eq. 4-7

def guidance(rho, alpha):
    """Probability of each fake sample: Eq. 5 (Eq. 4 for arms), capped at 1.

    An input never seen (rho = 0) gets g = 1. The loops count a row before they learn from it.
    """
    return alpha / np.maximum(rho, alpha)                           # Alg1:15 Alg3:17


class AdCount:
    """Density of Eq. 6: how often the id in one field was shown (of the ads: envs.AD_ID).

    A density of your own needs only these two methods. `update` gets the rows just shown: one row
    (J,) in `replay`, a buffer (c, J) in `online`. Called with rows (..., J) it returns rho (...).
    """

    def __init__(self, features, field):
        self.count = np.zeros(features)                             # Alg1:3 Alg3:2
        self.field = field

    def update(self, X):
        np.add.at(self.count, X[..., self.field], 1.0)              # adds up ids that occur twice

    def __call__(self, X):
        return self.count.take(X[..., self.field])                  # (..., J) -> (...)


class Harmonic:
    """Density of Eq. 7: rho(x) = 1 / (sum_j 1 / Count(x_j)), an unscaled harmonic mean of J counts.

    Section 3.4 assumes rho >= 1 for every input seen, but rho is 1 / J when all counts are 1. An id
    never seen makes it 0. Every field has ids of its own, so a row counts each of its ids once.
    """

    def __init__(self, features):
        self.count = np.zeros(features)                             # Alg1:3 Alg3:2

    def update(self, X):
        np.add.at(self.count, X, 1.0)

    def __call__(self, X):
        with np.errstate(divide="ignore"):                          # 1 / 0 is inf, and 1 / inf is 0
            return 1.0 / (1.0 / self.count[X]).sum(axis=-1)         # (..., J) -> (...)


class FastHarmonic(Harmonic):
    """Eq. 7 up to rounding, with 1 / Count kept up to date and not computed for every row."""

    def __init__(self, features):
        super().__init__(features)
        self.inverse = np.full(features, np.inf)

    def update(self, X):
        super().update(X)
        self.inverse[X] = 1.0 / self.count[X]

    def __call__(self, X):
        return 1.0 / sum_last(self.inverse.take(X))


# ---------------------------------------------------------------- fake samples: Section 3.2

def fake_samples(r, g, rng):
    """Draw the fakes (x, 1) and (x, 0) of samples with rewards r, each with probability g.

    A fake repeats the input of a real sample, so no row is appended: at the logit z of x the
    log-losses of (x, r), F1 times (x, 1) and F0 times (x, 0) add up to w softplus(z) - y z, with
    the weight w = 1 + F1 + F0 and the clicks y = r + F1 (nn.log_loss). A bag divides by the number
    of real samples, so that a fake adds to the gradient and thins out nothing. Returns w and y, of
    r's shape. One call of rng.random(g.shape) draws all F1, a second all F0: they are independent.
    """
    F1 = (rng.random(g.shape) < g).view(np.int8)                    # Alg1:16 Alg3:18   as 0 or 1
    F0 = (rng.random(g.shape) < g).view(np.int8)                    # Alg1:17 Alg3:19
    return 1 + F1 + F0, r + F1                                      # Alg1:13, the real sample: 1, r


# ---------------------------------------------------------------- a method: choosing, learning

def largest(scores):
    """Index of the first of the largest scores; raises an error if it is nan or infinite."""
    a = int(scores.argmax())                                        # the first nan, if there is one
    if not math.isfinite(scores[a]):
        raise FloatingPointError(f"a score is {scores[a]}: the learning rate or the exploration "
                                 "strength may be too large")
    return a


def argmax(scores, rng):
    """Index of the largest score; exact ties are broken by one rng.random(), our choice."""
    a = largest(scores)
    ties = (scores == scores[a]).nonzero()[0]
    if len(ties) == 1:
        return a
    return int(ties[int(len(ties) * rng.random())])


class Agent:
    """The base method: it follows a random model of the bag and learns from real samples alone.

    In `replay` it is the vanilla Bootstrap, in `online` with a bag of one model the greedy policy
    of Algorithm 2. Other methods, GuideBoot below and most of baselines.py, override a hook or two:
    `choose`, `remember`, `update_density`, `samples`. `rng` draws, for a request, the model and, if
    scores are tied, the winner; for a learning phase, the rows or their orders, then what `samples`
    draws: GuideBoot all F1, then all F0.
    """
    loops = ("replay", "online")       # where the method makes sense
    shuffle = False                    # online: a different order of the buffer for each model

    def __init__(self, bag, rng):
        self.bag, self.rng = bag, rng

    def choose(self, X, t):
        """Part 1, decision-making (Eq. 1): the candidates X (m, J) of step t -> index of one.

        The `argmax` of a random model's scores. t counts from 1: some methods explore less later.
        The loops check X; in a loop of your own that is up to you.
        """
        k = int(self.bag.K * self.rng.random())                     # Alg1:6 Alg3:7   0 to K - 1
        scores = self.bag.scores(k, X)                              # Alg1:7 Alg2:6 Alg3:8   logits
        return argmax(scores, self.rng)                             # Alg1:8 Alg2:7 Alg3:9

    def remember(self, history, x, r):
        """Replay: store the row x that was shown and its reward."""
        history.append(x, r)                                        # Alg1:9

    def update_density(self, X):
        """Called with the rows just shown, before learning. Here there is nothing to count."""

    def samples(self, X, r):
        """Weights and clicks that the models train with on the rows X (K, B, J), r (K, B).

        B is b in `replay` and c in `online`. Here every row counts once.
        """
        return np.ones(r.shape), r

    def learn_from(self, X, r, n=1):
        """Online: learn from a buffer X (c, J), r (c,) in n mini-batches, at most one for a row.

        `learn`, part 2 of Algorithm 3 below, calls back `update_density` and `samples`.
        """
        learn(self, X, r, n)


class GuideBoot(Agent):
    """The bootstrap guided by fake samples. GuideBoot in `replay`, Online GuideBoot in `online`.

    How many fakes an alpha makes depends on the density and the number of fields: see `fakes()`.
    """
    shuffle = True

    def __init__(self, bag, rng, density, alpha=1.0):
        super().__init__(bag, rng)
        self.density, self.alpha = density, positive("alpha", alpha)
        self.last_w = np.array([np.nan])                            # the last weights, for `fakes`

    def update_density(self, X):
        self.density.update(X)                                      # Alg1:10 Alg3:12   without r

    def samples(self, X, r):
        rho = self.density(X)                                       # (K, B)
        check_density(rho, r.shape)
        # Only real records get fakes. (Alg. 1 line 14 has B_i where it must be B_k; taken
        # literally, Alg. 3 would also run over the fakes that it has just added.)
        g = guidance(rho, self.alpha)                               # Alg1:14-15 Alg3:16-17
        w, y = fake_samples(r, g, self.rng)                         # Alg1:16-18 Alg3:18-20
        self.last_w = w
        return w, y

    def fakes(self):
        """Fakes per real sample in the last batch or buffer: what alpha amounts to by now."""
        return float(self.last_w.mean() - 1.0)


# ---------------------------------------------------------------- Algorithm 1: experience replay

class History:
    """The replay buffer H: rows and rewards, appended one by one.

    The storage is doubled when it is full, so that appending a row takes the same time on average,
    however many there are. Ids are stored in the smallest integer type that holds them all.
    """

    def __init__(self, fields, features):
        self.X = np.empty((1024, fields), np.min_scalar_type(features - 1))
        self.r = np.empty(1024, np.int8)
        self.size = 0

    def append(self, x, r):
        if self.size == len(self.r):
            self.X = np.concatenate([self.X, np.empty_like(self.X)])
            self.r = np.concatenate([self.r, np.empty_like(self.r)])
        self.X[self.size] = x
        self.r[self.size] = r
        self.size += 1

    def resample(self, shape, rng):
        """b-out-of-t bootstrap: rows drawn uniformly, with replacement, from all that is stored.

        For the shape (K, b), Alg. 1 line 12, it returns rows (K, b, J) and their rewards (K, b).
        """
        drawn = (self.size * rng.random(shape)).astype(np.intp)     # Alg1:12   (K, b)
        X = self.X.take(drawn, axis=0).astype(np.intp)              # (K, b, J)
        return X, self.r.take(drawn)


def replay(agent, env, steps, b, every=1, updates=1):
    """Algorithm 1, GuideBoot with experience replay (or any other Agent with a bag of models).

    The paper's loop learns after each step from one batch of b rows for each model: every=1 and
    updates=1. Our addition: it learns at every `every`-th step only, from `updates` batches, one
    after the other, for training K networks after each of millions of steps takes too long.
    """
    b, steps = whole("b", b), whole("steps", steps)
    every, updates = whole("every", every), whole("updates", updates)
    check_fit(agent, env, "replay")
    env = checked(env)                                              # looks at ids and rewards
    bag = agent.bag
    history = History(env.fields, env.features)                     # Alg1:1
    for t in range(1, steps + 1):                                   # Alg1:4
        # Part 1. Decision-making
        X = env.observe()                                           # Alg1:5     (m, J)
        a = agent.choose(X, t)                                      # Alg1:6-8
        check_choice(a, len(X))
        x = np.array(X[a])                                          # a copy: pull may overwrite X
        r = env.pull(a)                                             # Alg1:8
        agent.remember(history, x, r)                               # Alg1:9
        # Part 2. Prepare bootstrap data, for all K models at once
        agent.update_density(x)                                     # Alg1:10
        if t % every == 0:
            for _ in range(updates):
                X_b, r_b = history.resample((bag.K, b), agent.rng)  # Alg1:11-12 (K, b, J), (K, b)
                w, y = agent.samples(X_b, r_b)                      # Alg1:13-19 (K, b), (K, b)
                # Part 3. Update the models
                bag.update(X_b, w, y)                               # Alg1:20-22
            bag.publish()                                           # Alg1:23   now they serve


# ---------------------------------------------------------------- Algorithms 2 and 3: online

def online(agent, env, steps, c, n=1):
    """Algorithm 3, Online GuideBoot (or any agent with `choose` and `learn_from`).

        serve                      part 1, for each request of a buffer
            agent.choose
        agent.learn_from           part 2, with the full buffer
            learn
                agent.update_density
                agent.samples      guidance, fake_samples
                bag.update         n times
                bag.publish        from now on these models serve

    With the plain Agent and a bag of one model it is Algorithm 2. c is the size of a buffer, or an
    iterable of sizes, one for each buffer (Section 4.1: c may vary); the last buffer may be cut
    short. n is the number of mini-batches, at most c; a buffer of fewer than n rows has one for
    each row. With n = 1 shuffling changes nothing in distribution.
    """
    steps, n = whole("steps", steps), whole("n", n)
    check_fit(agent, env, "online")
    env = checked(env)                                              # looks at ids and rewards
    sizes = buffer_sizes(c, n)
    served = 0                                                      # requests so far
    while served < steps:                                           # Alg2:2 Alg3:3   there: True
        size = min(next(sizes), steps - served)
        X, r = serve(agent, env, served, size)                      # Alg2:3-9 Alg3:4-11
        agent.learn_from(X, r, n)                                   # Alg2:10-11 Alg3:12-23
        served += size                                              # Alg2:12 Alg3:24


def buffer_sizes(c, n):
    """The sizes of the buffers: c, repeated, or what the iterable c gives."""
    if not hasattr(c, "__iter__"):
        check("n, of mini-batches,", n, n <= whole("c", c), f"at most c, the buffer's {c}")
        c = repeat(c)
    for size in c:
        yield whole("c", size)
    raise ValueError("c must give a size for every buffer, got too few")


def serve(agent, env, served, c):
    """Part 1: answer the next c requests with the published models; return the buffer.

    t goes on from buffer to buffer, for methods that explore less later; the paper's starts again.
    """
    X_on, r_on = [], []                                             # Alg2:3 Alg3:4
    for t in range(served + 1, served + c + 1):                     # Alg2:4 Alg3:5   ours goes on
        X = env.observe()                                           # Alg2:5 Alg3:6    (m, J)
        a = agent.choose(X, t)                                      # Alg2:6-7 Alg3:7-9
        check_choice(a, len(X))
        X_on.append(np.array(X[a]))                                 # Alg2:8 Alg3:10   a copy
        r_on.append(env.pull(a))                                    # Alg2:7-8 Alg3:9-10
    return np.array(X_on), np.array(r_on)                           # Alg2:9 Alg3:11   (c, J), (c,)


def learn(agent, X, r, n):
    """Part 2: one learning phase on the buffer X (c, J), r (c,); then the models are published.

    A live system reaches it by `learn_from`, so `checked_buffer` refuses rows and rewards that make
    no sense. `samples` is called once, for the whole buffer in the order of each model, (K, c, J)
    and (K, c): the density is fixed by now and fakes are independent, so the split may come after
    them. Mini-batch l has the records from l c // n up to, not including, (l + 1) c // n. Its
    gradient is divided by the number of its records.
    """
    X, r = checked_buffer(X, r, agent.bag.features)
    c, K = len(X), agent.bag.K
    n = min(whole("n", n), c)                                       # a buffer may be shorter
    agent.update_density(X)                                         # Alg3:12
    order = np.arange(c)[None].repeat(K, axis=0)                    # Alg3:13   (K, c)
    if agent.shuffle:
        order = agent.rng.permuted(order, axis=1)                   # Alg3:14   one for each model
    X_k, r_k = X[order], r[order]                                   # (K, c, J), (K, c)
    w, y = agent.samples(X_k, r_k)                                  # Alg3:15-21, all mini-batches
    for l in range(n):
        part = slice(l * c // n, (l + 1) * c // n)                  # Alg2:10 Alg3:14
        agent.bag.update(X_k[:, part], w[:, part], y[:, part])      # Alg2:11 Alg3:22
    agent.bag.publish()                                             # Alg3:23   pushed (Section 4.2)


# ---------------------------------------------------------------- the multi-armed case: Section 3.4

def beta_parameters(s, n, alpha):
    """alpha + s and alpha + n - s, for s clicks in n, numbers or arrays.

    Written alpha + (n - s): with a tiny alpha and s = n, (alpha + n) - s would be 0.
    """
    if not np.all(np.logical_and(0 <= s, s <= n)):
        raise ValueError(f"s must be 0 to n, {n}, got {s}")
    positive("alpha", alpha)
    return alpha + s, alpha + (n - s)


def beta_moments(s, n, alpha):
    """Mean and variance of the posterior Beta(alpha + s, alpha + n - s), s clicks in n  (Eq. 2)."""
    a, b = beta_parameters(s, n, alpha)
    return a / (a + b), a * b / ((a + b) ** 2 * (a + b + 1))


def guided_before_moments(s, n, alpha):
    """Mean and variance when the fakes join before resampling, Section 3.4's first construction.

    Rewards 0 and 1 join with weight alpha each and n + 2 alpha rewards are resampled (2 alpha a
    whole number). The paper's formulas are then exact, and the mean is Beta's.
    """
    a, b = beta_parameters(s, n, alpha)
    return a / (a + b), a * b / (a + b) ** 3


def binomial(n, p):
    """Probabilities of 0, ..., n successes in n trials of probability p, (n + 1,)."""
    probability("p", p)
    i = np.arange(n + 1)
    if p in (0.0, 1.0):
        return (i == n * p).astype(float)
    log_factorial = np.array([math.lgamma(j + 1) for j in i])
    log_choose = log_factorial[n] - log_factorial - log_factorial[::-1]
    return np.exp(log_choose + i * math.log(p) + (n - i) * math.log1p(-p))


def bootstrap_distribution(s, n):
    """Eq. 3: the mean of n resampled rewards is Bi(n, s/n) divided by n: values, probabilities."""
    n = whole("n", n)
    check("s", s, 0 <= s <= n and s % 1 == 0, f"a whole number, 0 to n, {n}")
    return np.arange(n + 1) / n, binomial(n, s / n)


def guided_distribution(s, n, alpha):
    """The guided bootstrap's mean (S + F1) / (n + F1 + F0), with fakes after resampling.

    S ~ Bi(n, s/n), F1, F0 ~ Bi(n, g), g = min(alpha / n, 1). The paper takes its mean to be Beta's.
    Not quite: for s = 0, n = 1, alpha = 1/2 it is 5/24, and Beta's is 1/4. Enumerated, no sampling:
    the values in increasing order, and their probabilities; a value of probability 0 is left out.
    """
    p_S = bootstrap_distribution(s, n)[1]
    p_F = binomial(n, guidance(n, positive("alpha", alpha)))        # of F1, and of F0
    most = np.flatnonzero(p_F)[-1]                                  # beyond it p_F is 0
    p_F = p_F[:most + 1]
    P = np.zeros((n + most + 1, 2 * most + 1))                      # P[S + F1, F1 + F0]
    for f1 in range(most + 1):                                      # a value of F1
        S_plus_F1 = slice(f1, f1 + n + 1)                           # S from 0 to n
        F1_plus_F0 = slice(f1, f1 + most + 1)                       # F0 from 0 to most
        P[S_plus_F1, F1_plus_F0] += p_F[f1] * np.outer(p_S, p_F)
    values = np.arange(n + most + 1)[:, None] / (n + np.arange(2 * most + 1))
    values, index = np.unique(values, return_inverse=True)          # equal fractions are one value
    p = np.bincount(index.ravel(), P.ravel())
    return values[p > 0], p[p > 0]                                  # drops clicks > rewards


def moments(values, p):
    """Mean and variance of a finite distribution."""
    mean = float(values @ p)
    return mean, float((values - mean) ** 2 @ p)
