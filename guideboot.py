"""GuideBoot: guided bootstrap for contextual bandits (Pan et al., WWW 2021, Sections 3 and 4).

Read it with the paper open. `# Alg1:16` is line 16 of Algorithm 1; a range `Alg1:20-22` covers a loop that
runs as one array operation over all K models. The parts, in the paper's order:

    guidance and densities    Eq. 4-7
    fake samples              Section 3.2
    Agent, GuideBoot          what a method is: how it chooses, what it learns from
    replay                    Algorithm 1, learning from the whole history
    online, serve, learn      Algorithm 3, learning from a stream (Algorithm 2: one model, no fakes)
    the multi-armed case      Section 3.4, exactly: Eq. 2, Eq. 3 and the guided bootstrap's distribution

`python guideboot.py` works the paper's example of Ad_A and Ad_B. An input is a row x of J categorical ids;
X is a stack of such rows. Models come from a bag (nn.py), tasks from an environment (envs.py).
"""
import math

import numpy as np

from nn import sum_last


# ---------------------------------------------------------------- guidance: Eq. 4-7

def guidance(rho, alpha):
    """Probability of each fake sample: g = min(alpha / rho, 1)  (Eq. 4 and 5, Alg. 1 line 15).

    Written alpha / max(rho, alpha): the same number, and an input never seen (rho = 0) gets g = 1.
    """
    return alpha / np.maximum(rho, alpha)                                      # Alg1:15 Alg3:17


class AdCount:
    """Density of Eq. 6: how often the id in one field (the ad_ID) was shown.

    A density of your own needs these two methods: update with the rows just shown, rho of any rows.
    """

    def __init__(self, features, field=0):
        self.count, self.field = np.zeros(features), field

    def update(self, X):
        """Count the shown rows: one row (J,) or a buffer (c, J), in which an id may occur many times."""
        ids = X[..., self.field]
        self.count += np.bincount(np.atleast_1d(ids), minlength=len(self.count))

    def __call__(self, X):
        return self.count.take(X[..., self.field])                             # (..., J) -> (...)


class Harmonic:
    """Density of Eq. 7: rho(x) = 1 / sum_j 1 / Count(x_j), an unscaled harmonic mean over the J fields.

    It is below 1 while a field's count is below J, although Section 3.4 assumes rho >= 1; g is then 1.
    """

    def __init__(self, features):
        self.count = np.zeros(features)
        self.inverse = np.full(features, np.inf)                               # 1 / Count; an id never seen makes rho 0

    def update(self, X):
        """Count every id of the shown rows, (J,) or (c, J); fields have id ranges of their own."""
        if X.ndim == 1:
            self.count[X] = count = self.count[X] + 1.0
        else:
            self.count += np.bincount(X.ravel(), minlength=len(self.count))
            X = np.unique(X)
            count = self.count[X]
        self.inverse[X] = 1.0 / count

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

def argmax(scores, rng):
    """Index of the largest score, ties broken at random; a score that is not a number is an error."""
    a = int(scores.argmax())
    ties = (scores == scores[a]).nonzero()[0]
    if len(ties) == 1:
        return a
    if len(ties) == 0 or not np.isfinite(scores[a]):
        raise FloatingPointError(f"scores must be finite, got {scores[a]}: is the learning rate too large?")
    return int(ties[int(len(ties) * rng.random())])


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
        scores = self.bag.scores(k, X)                                         # Alg1:7 Alg3:8
        return argmax(scores, self.rng)                                        # Alg1:8 Alg3:9

    def remember(self, history, x, r):
        """Replay: what a shown row and its reward leave in the history."""
        history.append(x, r)                                                   # Alg1:9

    def update_density(self, X):
        """Count the rows just shown, before anything is learned from them."""

    def samples(self, X, r):
        """Weights and clicks of the samples X (K, B, J) with rewards r (K, B) that the models train on."""
        return np.ones(r.shape), r                                             # Alg1:13


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
    """The replay buffer H: rows appended one by one, storage doubled when full, so a step never copies it."""

    def __init__(self, fields, features):
        ids = np.intp if features < 1000 else np.uint16 if features <= 2 ** 16 else np.int32   # fast, or compact
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
        return self.X.take(rows, axis=0), self.r.take(rows)                    # (K, b, J), (K, b)


def replay(agent, env, steps, b):
    """Algorithm 1, GuideBoot with experience replay (or any other Agent with a bag of models).

    Lines 2 and 3, K models initialized independently and an empty density, are the agent's constructor.
    """
    history = History(env.fields, env.features)                                # Alg1:1
    bag, size = agent.bag, (agent.bag.K, whole("b", b))                        # Alg1:2-3
    for t in range(1, whole("steps", steps) + 1):                              # Alg1:4
        # Part 1. Decision-making
        X = observe(env)                                                       # Alg1:5     (m, J)
        a = agent.choose(X, t)                                                 # Alg1:6-8
        r = reward(env, a)                                                     # Alg1:8
        x = X[a]
        agent.remember(history, x, r)                                          # Alg1:9
        # Part 2. Prepare bootstrap data, for all K models at once
        agent.update_density(x)                                                # Alg1:10
        X_b, r_b = history.resample(size, agent.rng)                           # Alg1:11-12 (K, b, J), (K, b)
        w, y = agent.samples(X_b, r_b)                                         # Alg1:13-19 (K, b), (K, b)
        # Part 3. Update the models
        bag.update(X_b, w, y)                                                  # Alg1:20-22
        bag.publish()                                                          # Alg1:23


# ---------------------------------------------------------------- Algorithm 3: online

def online(agent, env, steps, c, n=1):
    """Algorithm 3, Online GuideBoot (or any other Agent), on a buffer of c requests at a time.

    c is a number, or a function that returns the size of the next buffer, such as `next` of a generator.
    The models that serve change only when a learning phase is complete.
    """
    size = c if callable(c) else (lambda: c)                                   # Alg3:1-2 are the agent's constructor
    t, steps, n = 0, whole("steps", steps), whole("n", n)
    while t < steps:                                                           # Alg3:3
        X, r = serve(agent, env, t, min(whole("c", size()), steps - t))        # Alg3:4-11
        agent.learn(X, r, n)                                                   # Alg3:12-23
        t += len(r)                                                            # Alg3:24


def serve(agent, env, t, c):
    """Algorithm 3, part 1: answer the c requests after step t with the published models; return the buffer."""
    X_on, r_on = [], []                                                        # Alg3:4
    for t in range(t + 1, t + c + 1):                                          # Alg3:5
        X = observe(env)                                                       # Alg3:6    (m, J)
        a = agent.choose(X, t)                                                 # Alg3:7-9
        r_on.append(reward(env, a))                                            # Alg3:9
        X_on.append(X[a])                                                      # Alg3:10
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
    agent.bag.publish()                                                        # Alg3:23


Agent.learn = learn                    # the hook that `online` calls; methods without a bag bring their own


# ---------------------------------------------------------------- what may go wrong, said in one line

def positive(name, value):
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be a finite number above 0, got {value!r}")
    return value


def whole(name, value):
    if value != int(value) or value < 1:
        raise ValueError(f"{name} must be a whole number, 1 or more, got {value!r}")
    return int(value)


def observe(env):
    """The candidates of the next request, checked: at least one row of ids within the environment's range."""
    X = env.observe()
    if len(X) == 0:
        raise ValueError("candidates must be at least one row of ids, got an empty set")
    if isinstance(X, np.ndarray) and np.maximum.reduce(X.astype(np.uint64), None) >= env.features:  # a negative id becomes huge
        bad = X[(X < 0) | (X >= env.features)][0]
        raise ValueError(f"ids must be 0 to {env.features - 1} (env.features - 1), got {bad}")
    return X


def reward(env, a):
    r = env.pull(a)
    if r not in (0, 1):
        raise ValueError(f"rewards must be 0 or 1, got {r!r}")
    return r


# ---------------------------------------------------------------- the multi-armed case, exactly: Section 3.4

def beta_moments(s, n, alpha):
    """Mean and variance of the posterior Beta(alpha + s, alpha + n - s) after s clicks in n  (Eq. 2)."""
    total = 2 * alpha + n
    return (alpha + s) / total, (alpha + s) * (alpha + n - s) / (total ** 2 * (total + 1))


def guided_before_moments(s, n, alpha):
    """Mean and variance when the fakes, 0 and 1 with weight alpha each, join the data before n + 2 alpha rewards
    are resampled: the paper's formulas, exact here, and the mean is Beta's."""
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
    clicks, fakes = binomial(n, s / n), binomial(n, guidance(n, alpha))        # g = alpha / n, Eq. 4
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


def guided_mean(s, n, rng, alpha=1.0):
    """One draw of every arm's guided-bootstrap mean, distributed as `guided_distribution`."""
    g = guidance(n, alpha)
    S, F1, F0 = rng.binomial(n, s / n), rng.binomial(n, g), rng.binomial(n, g)
    return (S + F1) / (n + F1 + F0)


def example(alpha=1, n=50):
    """The paper's Section 3.2: after 50 impressions each, Ad_A has 1 click and Ad_B none. Who shows Ad_B?"""
    boot = {ad: bootstrap_distribution(s, n) for ad, s in (("A", 1), ("B", 0))}
    guided = {ad: guided_distribution(s, n, alpha) for ad, s in (("A", 1), ("B", 0))}
    print(f"Ad_A: 1 click in {n} impressions, Ad_B: 0 clicks in {n}; prior and fakes with alpha = {alpha}.\n"
          f"Exact distribution of the estimated CTR, in bins of 0.02 (one # is 2 %):\n")
    edges = np.arange(8) / 50 - 1e-9
    columns = [np.histogram(d[0], np.append(edges, 9), weights=d[1])[0]
               for d in (boot["A"], boot["B"], guided["A"], guided["B"])]
    heads = ("Bootstrap Ad_A", "Bootstrap Ad_B", "GuideBoot Ad_A", "GuideBoot Ad_B")
    print("   CTR      " + "".join(f"{head:25}" for head in heads).rstrip())
    for i, row in enumerate(zip(*columns)):
        bars = "".join(f"{p:6.1%} {'#' * round(50 * p):18}"[:25] for p in row)
        print(f"{i * 0.02:.2f}{'-' + format(i * 0.02 + 0.02, '.2f') if i < 7 else ' and up'}  {bars}".rstrip())
    print("\n                    mean A   std A    mean B   std B    P(Ad_B is shown)")
    rows = [("Bootstrap (Eq. 3)", [moments(*boot[ad]) for ad in "AB"], chance_to_win(boot["B"], boot["A"])),
            ("GuideBoot", [moments(*guided[ad]) for ad in "AB"], chance_to_win(guided["B"], guided["A"])),
            ("Beta (Eq. 2)", [beta_moments(s, n, alpha) for s in (1, 0)],
             beta_chance_to_win(alpha, alpha + n, alpha + 1, alpha + n - 1))]
    for name, ((mA, vA), (mB, vB)), p in rows:
        print(f"{name:20}{mA:.4f}   {vA ** 0.5:.4f}   {mB:.4f}   {vB ** 0.5:.4f}   {p:.4f}")
    print("\nThe bootstrap's estimate for Ad_B is always 0: it wins only by a tie, when Ad_A's one click is not resampled.")


if __name__ == "__main__":
    example()
