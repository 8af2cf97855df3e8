"""SPOILERS. Answers to the exercises in tests/exercises, and common wrong answers.

test_exercises.py tries them all. An answer is what replaces the blanks: it is run after the
student's file, in the same namespace.
"""
RIGHT = {
    "ex01_predict": """
BOOTSTRAP_SAYS_A_IS_0 = 0.13     # 0.95 ** 40
BOOTSTRAP_SHOWS_B = 0.06         # half of it: Ad_B's estimate is always 0, a coin decides a tie
GUIDEBOOT_SHOWS_B = "more often"
GUIDED_MEAN_B = "below"          # by Jensen's inequality
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
    K, c = agent.bag.K, len(r)
    agent.density.update(X)                                              # line 12
    order = agent.rng.permuted(np.tile(np.arange(c), (K, 1)), axis=1)    # lines 13-14
    X, r = X[order], r[order]
    g = guidance(agent.density(X), agent.alpha)                          # lines 15-20
    w, y = fake_samples(r, g, agent.rng)                                 # line 21
    for rows in np.split(np.arange(c), n):
        agent.bag.update(X[:, rows], w[:, rows], y[:, rows])             # line 22
    agent.bag.publish()                                                  # line 23
""",
    "ex06_ties": """
def first_largest(scores, rng):
    return int(np.argmax(scores))

BY_INDEX_IS = "worse"            # while all estimates are 0 it pulls the first arm, again and again
""",
    "ex07_prior": """
CLICKS_A, IMPRESSIONS_A = 10, 50
CLICKS_B, IMPRESSIONS_B = 0, 1   # one unlucky impression is enough: the estimate is 0 for ever
""",
    "ex08_density": """
class MyDensity(Harmonic):
    '''The true harmonic mean: Eq. 7 counts an input as J times rarer.'''

    def __call__(self, X):
        return X.shape[-1] * super().__call__(X)
""",
    "ex09_environment": """
class MyEnvironment:
    '''A kiosk puts one of four papers in front.

    Whether it sells depends on the paper and on its headline of the day.
    '''
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


def changed(answer, *pairs):
    """An answer with other text in some places: pairs (old, new)."""
    for old, new in pairs:
        assert answer.count(old) == 1, old
        answer = answer.replace(old, new)
    return answer


def gradient(expression):
    return f"def gradient(z, r, F1, F0):\n    return {expression}\n"


def density(expression, seeds):
    """A density that returns this, on the first few seeds alone, to be quick."""
    return (f"SEEDS = SEEDS[:{seeds}]\n"
            "class MyDensity(Harmonic):\n"
            "    def __call__(self, X):\n"
            f"        return {expression}\n")


def prior(clicks_A, impressions_A, clicks_B, impressions_B):
    return (f"CLICKS_A, IMPRESSIONS_A = {clicks_A}, {impressions_A}\n"
            f"CLICKS_B, IMPRESSIONS_B = {clicks_B}, {impressions_B}\n")


PREDICT = RIGHT["ex01_predict"]
MOMENTS = RIGHT["ex02_moments"]
HARMONIC = RIGHT["ex04_harmonic"]
LEARN = RIGHT["ex05_learning"]
TIES = RIGHT["ex06_ties"]
KIOSK = RIGHT["ex09_environment"]
RECENT = RIGHT["ex10_forgetting"]

# Pieces of LEARN.
SHUFFLE = "agent.rng.permuted(np.tile(np.arange(c), (K, 1)), axis=1)"
RHO = "agent.density(X), agent.alpha"
FAKES = "fake_samples(r, g, agent.rng)"
LOOP = "    for rows"

WRONG = {                              # what it gets wrong -> the answer
    "ex01_predict": {
        "no guess at all": "",
        "the paper's 'always recommend Ad_A'": PREDICT + "BOOTSTRAP_SHOWS_B = 0.0",
        "forgets the coin": PREDICT + "BOOTSTRAP_SHOWS_B = 0.13",
        "takes the guided bootstrap for Beta": PREDICT + 'GUIDED_MEAN_B = "equal to"',
        "and its decisions too": PREDICT + 'GUIDEBOOT_SHOWS_B = "as often"',
    },
    "ex02_moments": {
        "Beta's variance without the + 1": changed(MOMENTS, ("(a + b + 1)", "(a + b)")),
        "variance of a click, not of the mean":
            changed(MOMENTS, ("(1 - s / n) / n", "(1 - s / n)")),
        "a prior in one number only": changed(MOMENTS, ("alpha + n - s", "n - s")),
        "fakes do not add rows": changed(MOMENTS, ("n + 2 * alpha", "n")),
    },
    "ex03_fused": {
        "the mean instead of the sum": gradient("sigmoid(z) - (r + F1) / (1 + F1 + F0)"),
        "fakes with the real label": gradient("(1 + F1 + F0) * (sigmoid(z) - r)"),
        "no fake non-clicks": gradient("(1 + F1) * sigmoid(z) - (r + F1)"),
    },
    "ex04_harmonic": {
        "drops repeated ids":
            changed(HARMONIC, ("np.add.at(self.count, X, 1)", "self.count[X] += 1")),
        "the scaled harmonic mean": changed(HARMONIC, ("return 1 /", "return X.shape[-1] /")),
        "the arithmetic mean":
            changed(HARMONIC, ("1 / (1 / self.count[X]).sum(axis=-1)",
                               "self.count[X].mean(axis=-1)")),
        "a warning": changed(HARMONIC, ('np.errstate(divide="ignore")', "np.errstate()")),
        "never seen counts as once":
            changed(HARMONIC, ("1 / self.count[X]", "1 / np.maximum(self.count[X], 1)")),
        "sums over all axes": changed(HARMONIC, ("axis=-1", "")),
    },
    "ex05_learning": {
        "density after the fakes":
            changed(LEARN, ("    agent.density.update(X)   ", "    "),
                    (LOOP, "    agent.density.update(X[0])\n" + LOOP)),
        "one order for all models":
            changed(LEARN, (SHUFFLE, "np.tile(agent.rng.permutation(c), (K, 1))")),
        "no shuffling": changed(LEARN, (SHUFFLE, "np.tile(np.arange(c), (K, 1))")),
        "rewards not shuffled":
            changed(LEARN, ("X, r = X[order], r[order]",
                            "X, r = X[order], np.tile(r, (K, 1))")),
        "one batch only": changed(LEARN, ("np.split(np.arange(c), n)", "[np.arange(c)]")),
        "publishes after each batch":
            changed(LEARN, ("    agent.bag.publish()", "        agent.bag.publish()")),
        "never publishes": changed(LEARN, ("    agent.bag.publish()", "    ")),
        "no fakes": changed(LEARN, (FAKES, "np.ones(r.shape), r")),
        "bootstrap resamples": changed(LEARN, (SHUFFLE, "agent.rng.integers(0, c, (K, c))")),
        "rho of other rows":
            changed(LEARN, (RHO, "np.tile(agent.density(X[0][order[0].argsort()]), (K, 1)), "
                                 "agent.alpha")),
        "one coin for both fakes":
            changed(LEARN, (LOOP, "    both = agent.rng.random(r.shape) < g\n"
                                  "    w, y = 1 + 2 * both, r + both\n" + LOOP)),
        "the same fakes for all":
            changed(LEARN, (LOOP, "    j = order[0].argsort()[order]\n"
                                  "    w, y = w[0][j], y[0][j]\n" + LOOP)),
    },
    "ex06_ties": {
        "the last of the largest":
            changed(TIES, ("int(np.argmax(scores))",
                           "len(scores) - 1 - int(np.argmax(scores[::-1]))")),
        "no guess": TIES + "BY_INDEX_IS = None",
        "a wrong guess": TIES + 'BY_INDEX_IS = "the same"',
    },
    "ex07_prior": {
        "the paper's example, which ties": prior(1, 50, 0, 50),
        "too much known of Ad_B": prior(25, 50, 0, 50),
        "no such data": prior(60, 50, 0, 1),
    },
    "ex08_density": {
        "fakes for every sample, for ever": density("0 * super().__call__(X)", seeds=3),
        "noise": density("1.001 * super().__call__(X)", seeds=6),
        "Eq. 7 itself": density("super().__call__(X)", seeds=3),
    },
    "ex09_environment": {
        "rewards are not 0 or 1":
            changed(KIOSK, ("int(self.rng.random() < self._expected()[a])", "self._expected()[a]")),
        "ids out of range": changed(KIOSK, ("4 + 3 ", "4 + 2 ")),
        "another reward than promised":
            changed(KIOSK, ("< self._expected()[a]", "< 0.9 * self._expected()[a]")),
        "nothing to learn":
            changed(KIOSK, ("0.1 * self.X[:, 0] + 0.3 *", "0.01 * self.X[:, 0] + 0.01 *")),
        "ids that say nothing":
            changed(KIOSK, ("np.arange(4), 4", "np.zeros(4, int), 4"),
                    ("0.1 * self.X[:, 0] + 0.3", "0.2 * np.arange(4) + 0.0")),
        "one field": ("class MyEnvironment:\n"
                      "    fields, features = 1, 3\n"
                      "    def __init__(self, rng): pass\n"),
    },
    "ex10_forgetting": {
        "forgets nothing": changed(RECENT, ("max(0, self.size - self.window)", "0")),
        "the oldest instead of the newest":
            changed(RECENT, ("(first, self.size, shape)",
                             "(0, min(self.size, self.window), shape)")),
        "never the newest row":
            changed(RECENT, ("(first, self.size, shape)",
                             "(first, max(1, self.size - 1), shape)")),
        "one row too few":
            changed(RECENT, ("self.size - self.window",
                             "self.size - self.window + (self.size > 500)")),
        "one row too many":
            changed(RECENT, ("self.size - self.window", "self.size - self.window - 1")),
        "rewards of other rows": changed(RECENT, ("self.r[rows]", "self.r[rows[..., ::-1]]")),
        "a negative start":
            changed(RECENT, ("max(0, self.size - self.window)", "self.size - self.window")),
    },
}
