"""SPOILERS. Answers to the exercises in tests/exercises, and likely wrong ones.

test_exercises.py tries them all. An answer is what replaces the blanks: it is run after the
student's file, in the same namespace. A wrong one is the right one with a change.
"""
RIGHT = {
    "ex01_predict": """
BOOTSTRAP_SAYS_A_IS_0 = 0.13      # 0.95 ** 40
BOOTSTRAP_SHOWS_B = 0.06          # half of it: Ad_B's estimate is always 0, a coin decides a tie
GUIDEBOOT_SHOWS_B = "more often"
GUIDED_MEAN_B = "below"           # by Jensen's inequality
""",
    "ex02_prior": """
CLICKS_A, IMPRESSIONS_A = 10, 50
CLICKS_B, IMPRESSIONS_B = 0, 1    # one unlucky impression is enough: the estimate is 0 for ever
""",
    "ex03_ties": """
def first_largest(scores, rng):
    return int(np.argmax(scores))

BY_INDEX_IS = "worse"             # while all estimates are 0 it pulls the first arm, again and again
""",
    "ex04_fused": """
def gradient(z, r, F1, F0):
    return (1 + F1 + F0) * sigmoid(z) - (r + F1)
""",
    "ex05_moments": """
def bootstrap(s, n):
    return s / n, s / n * (1 - s / n) / n

def fakes_before(s, n, alpha):
    return bootstrap(s + alpha, n + 2 * alpha)

def ratio(n, alpha):
    return 1 + 1 / (n + 2 * alpha)
""",
    "ex06_pull": """
MEAN_IS = "above"                 # an estimate is raised exactly if it is below 1/2
NO_PULL_AT = 0.5

def pull(s, n, alpha):
    F = np.arange(2 * n + 1)
    g = guideboot.guidance(n, alpha)
    return (1 / 2 - s / n) * (guideboot.binomial(2 * n, g) @ (F / (n + F)))

WITHOUT_CLICKS = 1                # alpha / sqrt(s + alpha): the pull over sqrt(s + alpha) / n
WITH_3_CLICKS = 0.5
ALPHA_FOR_2 = 4                   # alpha is a bonus of sqrt(alpha) deviations for a rare ad
""",
    "ex07_density": """
class MyDensity(Harmonic):
    '''Eq. 6: a new visitor keeps Eq. 7 below 1, so all rows have both fakes for ever.'''

    def __call__(self, X):
        return self.count[X[..., 0]]
""",
    "ex08_staleness": """
def as_many_steps(c):
    return c // 8

SYNTHETIC_WITH_4 = "higher"       # 16 steps of Adam instead of 1,024
SYNTHETIC_AS_MANY = "the same"    # so it was not the age of the models
ARMS_AS_MANY = "higher"           # a model that knows nothing shows one arm, most likely a bad one
""",
    "ex09_weights": """
WORTH = 0.5                       # E w^2 = 2
MISSED = 0.37                     # 1 / e

def missed(n, b, steps):
    return (1 - 1 / n) ** (b * steps)

def giro_share(a):
    return 2 * a / (1 + 2 * a)    # whatever the number of impressions

def giro_mean(ctr, a):
    return (ctr + a) / (1 + 2 * a)

def guided_share(n, alpha):
    g = min(alpha / n, 1)
    return 2 * g / (1 + 2 * g)    # fades
""",
    "ex10_perturbed": """
class PHE(PHE):
    def samples(self, X, r):
        clicks = self.rng.binomial(self.a, 0.5, r.shape)
        return np.full(r.shape, 1 + self.a), r + clicks

class GuidedPHE(GuidedPHE):
    def samples(self, X, r):      # GuideBoot's two fakes are a click and a non-click, no coins
        g = guidance(self.density(X), self.alpha)
        joined = self.rng.binomial(self.a, g)
        return 1 + joined, r + self.rng.binomial(joined, 0.5)

PSEUDO_PHE = 1000
PSEUDO_GUIDED = 1                 # a alpha, however often the ad is shown
WIDER = 3.5                       # sqrt(0.25 / (0.021 * 0.979)): it explores too much
""",
    "ex11_paired": """
def runs_needed(x, y, paired):
    variance = np.var(x - y, ddof=1) if paired else np.var(x, ddof=1) + np.var(y, ddof=1)
    return (1.96 + 0.84) ** 2 * variance / np.mean(x - y) ** 2

SAVES_MORE_FOR = "clicks"         # regret is a paired difference already: to the best arm
""",
    "ex12_table": """
def common(theta, X):
    return theta[X[0, 1:]].sum() + theta[-1]

BEST_WITHOUT = 0.5                # always the same class: the most frequent

def widened(sky, trip):
    return [sky, trip, sky + trip]
""",
}


def changed(name, *pairs):
    """The right answer of an exercise with other text in some places: pairs (old, new)."""
    answer = RIGHT[name]
    for old, new in pairs:
        assert answer.count(old) == 1, old
        answer = answer.replace(old, new)
    return answer


def with_line(name, line):
    return RIGHT[name] + line


WRONG = {                              # what it gets wrong -> (the answer, words of its hint)
    "ex01_predict": {
        "no guess": (with_line("ex01_predict", "GUIDED_MEAN_B = None"), "write down a guess"),
        "the paper's 'always recommend Ad_A'":
            (with_line("ex01_predict", "BOOTSTRAP_SHOWS_B = 0.0"), "it can only tie"),
        "forgets the coin": (with_line("ex01_predict", "BOOTSTRAP_SHOWS_B = 0.13"), "the coin"),
        "takes the guided bootstrap for Beta":
            (with_line("ex01_predict", 'GUIDED_MEAN_B = "equal to"'), "Jensen"),
    },
    "ex02_prior": {
        "the paper's example, which ties":
            (changed("ex02_prior", ("10, 50", "1, 50"), ("0, 1 ", "0, 50 ")), "when can Ad_A's"),
        "too much known of Ad_B": (changed("ex02_prior", ("0, 1 ", "0, 50 ")), "g = alpha / n"),
        "no such data": (changed("ex02_prior", ("10, 50", "60, 50")), "clicks <= impressions"),
    },
    "ex03_ties": {
        "the last of the largest":
            (changed("ex03_ties", ("int(np.argmax(scores))",
                                   "len(scores) - 1 - int(np.argmax(scores[::-1]))")),
             "take the first"),
        "a wrong guess": (with_line("ex03_ties", 'BY_INDEX_IS = "the same"'), "which arms"),
    },
    "ex04_fused": {
        "the mean instead of the sum":
            (changed("ex04_fused", ("(1 + F1 + F0) * sigmoid(z) - (r + F1)",
                                    "sigmoid(z) - (r + F1) / (1 + F1 + F0)")), "not the mean"),
        "fakes with the real label": (changed("ex04_fused", ("(r + F1)", "(1 + F1 + F0) * r")),
                                      "each fake's own label"),
        "a sign": (changed("ex04_fused", ("- (r", "+ (r")), "without fakes"),
    },
    "ex05_moments": {
        "variance of a click, not of the mean":
            (changed("ex05_moments", ("(1 - s / n) / n", "(1 - s / n)")), "nor of one reward"),
        "fakes add no rows": (changed("ex05_moments", ("(s + alpha, n + 2 * alpha)",
                                                       "(s + alpha, n)")), "how many rewards"),
        "the ratio upside down": (changed("ex05_moments", ("1 + 1 / (n + 2 * alpha)",
                                                           "1 - 1 / (n + 2 * alpha + 1)")),
                                  "denominators"),
    },
    "ex06_pull": {
        "a prior that pulls down": (with_line("ex06_pull", 'MEAN_IS = "below"'), "mean of a fake"),
        "the mean number of fakes put in":
            (changed("ex06_pull", ("(guideboot.binomial(2 * n, g) @ (F / (n + F)))",
                                   "2 * n * g / (n + 2 * n * g)")), "F varies"),
        "g above 1": (changed("ex06_pull", ("guideboot.guidance(n, alpha)",
                                            "min(2 * alpha / n, 1.0)")), "g is at most 1"),
        "alpha times as far": (with_line("ex06_pull", "ALPHA_FOR_2 = 2"), "not by 2"),
    },
    "ex07_density": {
        "no fakes": (changed("ex07_density", ("self.count[X[..., 0]]",
                                              "np.full(X.shape[:-1], 1e12)")), "of Eq. 7's regret"),
        "Eq. 7, hardly changed": (changed("ex07_density", ("self.count[X[..., 0]]",
                                                           "1.001 * super().__call__(X)")),
                                  "which id"),
    },
    "ex08_staleness": {
        "mini-batches for each c": (changed("ex08_staleness", ("c // 8", "4")), "not 256"),
        "four steps are enough": (with_line("ex08_staleness", 'SYNTHETIC_WITH_4 = "the same"'),
                                  "how many steps of Adam"),
        "old models are bad models": (with_line("ex08_staleness", 'SYNTHETIC_AS_MANY = "higher"'),
                                      "learn slowly"),
        "never bad models": (with_line("ex08_staleness", 'ARMS_AS_MANY = "the same"'),
                             "who serves"),
    },
    "ex09_weights": {
        "weights average out": (with_line("ex09_weights", "WORTH = 1.0"), "E w^2"),
        "draws of one batch": (changed("ex09_weights", ("b * steps", "b")), "at every step"),
        "a pair is one": (changed("ex09_weights", ("2 * a / (1 + 2 * a)", "a / (1 + a)")),
                          "two rewards"),
        "pairs without clicks": (changed("ex09_weights", ("(ctr + a)", "ctr")), "giro_mean"),
        "g above 1": (changed("ex09_weights", ("min(alpha / n, 1)", "alpha / n")), "at most 1"),
    },
    "ex10_perturbed": {
        "a coin for all": (changed("ex10_perturbed", ("binomial(self.a, 0.5, r.shape)",
                                                      "binomial(1, 0.5, r.shape) * self.a")),
                           "a coin of its own"),
        "pseudo-rewards instead of rewards":
            (changed("ex10_perturbed", ("r + clicks", "clicks")), "y is r and"),
        "all or nothing": (changed("ex10_perturbed", ("binomial(self.a, g)", "binomial(1, g)")),
                           "with probability g"),
        "never fades": (with_line("ex10_perturbed", "PSEUDO_GUIDED = 500"), "a g"),
        "no scaling back": (with_line("ex10_perturbed", "WIDER = 1.8"), "a fair coin"),
    },
    "ex11_paired": {
        "50 % power": (changed("ex11_paired", ("1.96 + 0.84", "1.96")), "not in 80 %"),
        "deviations, not variances": (changed("ex11_paired", ("np.var(x, ddof=1) + np.var(y",
                                                              "np.var(x, ddof=1) - np.var(y")),
                                      "above 1"),
        "regret varies most": (with_line("ex11_paired", 'SAVES_MORE_FOR = "regret"'), "how good"),
    },
    "ex12_table": {
        "forgets the bias": (changed("ex12_table", (" + theta[-1]", "")), "the bias"),
        "one for each class": (with_line("ex12_table", "BEST_WITHOUT = 0.33"), "same for every"),
        "trusts the columns": (changed("ex12_table", (", sky + trip", "")), "at once"),
    },
}
