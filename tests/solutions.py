"""SPOILERS. Answers to the exercises in tests/exercises, and common wrong answers; test_exercises.py tries them all.

An answer is what replaces the blanks: it is run after the student's file, in the same namespace.
"""
RIGHT = {
    "ex01_predict": """
BOOTSTRAP_SAYS_A_IS_0 = 0.13          # 0.95 ** 40
BOOTSTRAP_SHOWS_B = 0.06              # half of it: Ad_B's estimate is always 0, and a tie is decided by a coin
GUIDEBOOT_SHOWS_B = "more often"
GUIDED_MEAN_B = "below"               # by Jensen's inequality
""",
    "ex02_moments": """
def beta(s, n, alpha):
    a, b = alpha + s, alpha + n - s
    return a / (a + b), a * b / ((a + b) ** 2 * (a + b + 1))

def bootstrap(s, n):
    return s / n, s / n * (1 - s / n) / n

def fakes_before(s, n, alpha):
    return bootstrap(s + alpha, n + 2 * alpha)
""",
    "ex03_fused": """
def gradient(z, r, F1, F0):
    return (1 + F1 + F0) * sigmoid(z) - (r + F1)
""",
    "ex04_harmonic": """
class Harmonic:
    def __init__(self, features):
        self.count = np.zeros(features)

    def update(self, X):
        np.add.at(self.count, X, 1)

    def __call__(self, X):
        with np.errstate(divide="ignore"):
            return 1 / (1 / self.count[X]).sum(axis=-1)
""",
    "ex05_learning": """
def learn(agent, X, r, n):
    agent.density.update(X)                                            # line 12
    K, c = agent.bag.K, len(r)
    order = agent.rng.permuted(np.tile(np.arange(c), (K, 1)), axis=1)    # lines 13-14
    X, r = X[order], r[order]
    w, y = fake_samples(r, guidance(agent.density(X), agent.alpha), agent.rng)      # lines 15-21
    for rows in np.split(np.arange(c), n):
        agent.bag.update(X[:, rows], w[:, rows], y[:, rows])           # line 22
    agent.bag.publish()                                                # line 23
""",
    "ex06_ties": """
def first_largest(scores, rng):
    return int(np.argmax(scores))

BY_INDEX_IS = "worse"                 # while all estimates are 0 it pulls the first arm, again and again
""",
    "ex07_prior": """
CLICKS_A, IMPRESSIONS_A = 10, 50
CLICKS_B, IMPRESSIONS_B = 0, 1        # one unlucky impression is enough: the estimate is 0 for ever
""",
    "ex08_density": """
class MyDensity(Harmonic):
    def __call__(self, X):
        return X.shape[-1] * super().__call__(X)      # the true harmonic mean: Eq. 7 counts an input as J times rarer
""",
    "ex09_environment": """
class MyEnvironment:
    '''A kiosk puts one of four papers in front; whether it sells depends on the paper and on its headline of the day.'''
    fields, features = 2, 4 + 3       # papers 0-3, kinds of headline 4-6

    def __init__(self, rng):
        self.rng = rng

    def observe(self):
        self.X = np.column_stack([np.arange(4), 4 + self.rng.integers(0, 3, 4)])
        return self.X

    def _expected(self):
        return 0.1 + 0.1 * self.X[:, 0] + 0.3 * (self.X[:, 1] == 4)

    def pull(self, a):
        return int(self.rng.random() < self._expected()[a])
""",
    "ex10_forgetting": """
class Recent(guideboot.History):
    window = 500

    def resample(self, shape, rng):
        first = max(0, self.size - self.window)
        rows = rng.integers(first, self.size, shape)
        return self.X[rows].astype(int), self.r[rows]
""",
}

KIOSK = RIGHT["ex09_environment"]
LEARN = RIGHT["ex05_learning"]
WRONG = {                              # what it gets wrong -> the answer
    "ex01_predict": {
        "no guess at all": "",
        "the paper's 'always recommend Ad_A'": RIGHT["ex01_predict"] + "BOOTSTRAP_SHOWS_B = 0.0",
        "forgets the coin": RIGHT["ex01_predict"] + "BOOTSTRAP_SHOWS_B = 0.13",
        "takes the guided bootstrap for Beta": RIGHT["ex01_predict"] + 'GUIDED_MEAN_B = "equal to"',
        "and its decisions too": RIGHT["ex01_predict"] + 'GUIDEBOOT_SHOWS_B = "as often"',
    },
    "ex02_moments": {
        "Beta's variance without the + 1": RIGHT["ex02_moments"].replace("(a + b + 1)", "(a + b)"),
        "variance of a click, not of the mean": RIGHT["ex02_moments"].replace("(1 - s / n) / n", "(1 - s / n)"),
        "a prior in one number only": RIGHT["ex02_moments"].replace("alpha + n - s", "n - s"),
        "fakes do not add rows": RIGHT["ex02_moments"].replace("n + 2 * alpha", "n"),
    },
    "ex03_fused": {
        "the mean instead of the sum": "def gradient(z, r, F1, F0):\n    return sigmoid(z) - (r + F1) / (1 + F1 + F0)",
        "fakes with the real label": "def gradient(z, r, F1, F0):\n    return (1 + F1 + F0) * (sigmoid(z) - r)",
        "no fake non-clicks": "def gradient(z, r, F1, F0):\n    return (1 + F1) * sigmoid(z) - (r + F1)",
    },
    "ex04_harmonic": {
        "drops repeated ids": RIGHT["ex04_harmonic"].replace("np.add.at(self.count, X, 1)", "self.count[X] += 1"),
        "the scaled harmonic mean": RIGHT["ex04_harmonic"].replace("return 1 /", "return X.shape[-1] /"),
        "the arithmetic mean": RIGHT["ex04_harmonic"].replace("1 / (1 / self.count[X]).sum(axis=-1)", "self.count[X].mean(axis=-1)"),
        "a warning": RIGHT["ex04_harmonic"].replace('np.errstate(divide="ignore")', "np.errstate()"),
        "never seen counts as once": RIGHT["ex04_harmonic"].replace("1 / self.count[X]", "1 / np.maximum(self.count[X], 1)"),
        "sums over all axes": RIGHT["ex04_harmonic"].replace("axis=-1", ""),
    },
    "ex05_learning": {
        "density after the fakes": LEARN.replace("    agent.density.update(X)   ", "    pass  ").replace("    for rows", "    agent.density.update(X[0])\n    for rows"),
        "one order for all models": LEARN.replace("agent.rng.permuted(np.tile(np.arange(c), (K, 1)), axis=1)", "np.tile(agent.rng.permutation(c), (K, 1))"),
        "no shuffling": LEARN.replace("agent.rng.permuted(np.tile(np.arange(c), (K, 1)), axis=1)", "np.tile(np.arange(c), (K, 1))"),
        "rewards not shuffled": LEARN.replace("X, r = X[order], r[order]", "X, r = X[order], np.tile(r, (K, 1))"),
        "one batch only": LEARN.replace("np.split(np.arange(c), n)", "[np.arange(c)]"),
        "publishes after each batch": LEARN.replace("    agent.bag.publish()", "        agent.bag.publish()"),
        "never publishes": LEARN.replace("    agent.bag.publish()", "    "),
        "no fakes": LEARN.replace("fake_samples(r, guidance(agent.density(X), agent.alpha), agent.rng)", "np.ones(r.shape), r"),
        "bootstrap resamples": LEARN.replace("agent.rng.permuted(np.tile(np.arange(c), (K, 1)), axis=1)", "agent.rng.integers(0, c, (K, c))"),
        "rho of other rows": LEARN.replace("guidance(agent.density(X), agent.alpha)", "guidance(np.tile(agent.density(X[0][order[0].argsort()]), (K, 1)), agent.alpha)"),
        "one coin for both fakes": LEARN.replace("    for rows", "    both = agent.rng.random(r.shape) < guidance(agent.density(X), agent.alpha)\n    w, y = 1 + 2 * both, r + both\n    for rows"),
        "the same fakes for all": LEARN.replace("    for rows", "    j = order[0].argsort()[order]\n    w, y = w[0][j], y[0][j]\n    for rows"),
    },
    "ex06_ties": {
        "the last of the largest": RIGHT["ex06_ties"].replace("int(np.argmax(scores))", "len(scores) - 1 - int(np.argmax(scores[::-1]))"),
        "no guess": RIGHT["ex06_ties"] + "BY_INDEX_IS = None",
        "a wrong guess": RIGHT["ex06_ties"] + 'BY_INDEX_IS = "the same"',
    },
    "ex07_prior": {
        "the paper's example, which ties": "CLICKS_A, IMPRESSIONS_A, CLICKS_B, IMPRESSIONS_B = 1, 50, 0, 50",
        "too much known of Ad_B": "CLICKS_A, IMPRESSIONS_A, CLICKS_B, IMPRESSIONS_B = 25, 50, 0, 50",
        "no such data": "CLICKS_A, IMPRESSIONS_A, CLICKS_B, IMPRESSIONS_B = 60, 50, 0, 1",
    },
    "ex08_density": {
        "fakes for every sample, for ever": "SEEDS = SEEDS[:3]\nclass MyDensity(Harmonic):\n    def __call__(self, X):\n        return 0 * super().__call__(X)",
        "noise": "SEEDS = SEEDS[:6]\nclass MyDensity(Harmonic):\n    def __call__(self, X):\n        return 1.001 * super().__call__(X)",
        "Eq. 7 itself": "SEEDS = SEEDS[:3]\nclass MyDensity(Harmonic):\n    pass",
    },
    "ex09_environment": {
        "rewards are not 0 or 1": KIOSK.replace("int(self.rng.random() < self._expected()[a])", "self._expected()[a]"),
        "ids out of range": KIOSK.replace("4 + 3 ", "4 + 2 "),
        "another reward than promised": KIOSK.replace("< self._expected()[a]", "< 0.9 * self._expected()[a]"),
        "nothing to learn": KIOSK.replace("0.1 * self.X[:, 0] + 0.3 *", "0.01 * self.X[:, 0] + 0.01 *"),
        "ids that say nothing": KIOSK.replace("np.arange(4), 4", "np.zeros(4, int), 4").replace("0.1 * self.X[:, 0] + 0.3", "0.2 * np.arange(4) + 0.0"),
        "one field": "class MyEnvironment:\n    fields, features = 1, 3\n    def __init__(self, rng): pass",
    },
    "ex10_forgetting": {
        "forgets nothing": RIGHT["ex10_forgetting"].replace("max(0, self.size - self.window)", "0"),
        "the oldest instead of the newest": RIGHT["ex10_forgetting"].replace("(first, self.size, shape)", "(0, min(self.size, self.window), shape)"),
        "never the newest row": RIGHT["ex10_forgetting"].replace("(first, self.size, shape)", "(first, max(1, self.size - 1), shape)"),
        "one row too few": RIGHT["ex10_forgetting"].replace("self.size - self.window", "self.size - self.window + (self.size > 500)"),
        "one row too many": RIGHT["ex10_forgetting"].replace("self.size - self.window", "self.size - self.window - 1"),
        "rewards of other rows": RIGHT["ex10_forgetting"].replace("self.r[rows]", "self.r[rows[..., ::-1]]"),
        "a negative start": RIGHT["ex10_forgetting"].replace("max(0, self.size - self.window)", "self.size - self.window"),
    },
}
