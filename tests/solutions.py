"""SPOILERS. Answers to the exercises in tests/exercises, and likely wrong ones.

test_exercises.py tries them all. An answer is what replaces the blanks: it is run after the
student's file, in the same namespace.
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

BY_INDEX_IS = "worse"             # while all estimates are 0, only the first arm is pulled
""",
    "ex04_moments": """
def ratio(n, alpha):
    return 1 + 1 / (n + 2 * alpha)
""",
    "ex05_pull": """
MEAN_IS = "above"                 # an estimate is raised exactly if it is below 1/2
NO_PULL_AT = 0.5

def pull(s, n, alpha):
    F = np.arange(2 * n + 1)
    g = guideboot.guidance(n, alpha)
    return (1 / 2 - s / n) * (guideboot.binomial(2 * n, g) @ (F / (n + F)))

WITH_3_CLICKS = 0.5               # alpha / sqrt(s + alpha): alpha / n over sqrt(s + alpha) / n
ALPHA_FOR_2 = 4                   # a bonus of sqrt(alpha) deviations for an ad without clicks
""",
    "ex06_density": """
class MyDensity:
    def __init__(self, features):
        self.eq_7 = Harmonic(features)

    def update(self, X):
        self.eq_7.update(X)

    def __call__(self, X):
        return self.eq_7(X[..., :2])    # of ids that come back: a visitor's keeps it below 1
""",
    "ex07_staleness": """
def as_many_steps(c):
    return c // 8

SYNTHETIC_WITH_4 = "higher"       # 16 steps of Adam instead of 1,024
SYNTHETIC_AS_MANY = "the same"    # so it was not the age of the models
ARMS_AS_MANY = "higher"           # models that know nothing show an arm each, most likely a bad one
""",
    "ex08_weights": """
WORTH = 0.5                       # E w^2 = 2; a sample with weight 0 is lost for ever

def giro_share(a):
    return 2 * a / (1 + 2 * a)    # whatever the number of impressions

def giro_mean(ctr, a):
    return (ctr + a) / (1 + 2 * a)

def guided_share(n, alpha):
    g = min(alpha / n, 1)
    return 2 * g / (1 + 2 * g)    # fades
""",
    "ex09_perturbed": """
class PHE(Agent):
    loops = ("online",)
    a = 1

    def samples(self, X, r):
        clicks = self.rng.binomial(self.a, 0.5, r.shape)
        return np.full(r.shape, 1 + self.a), r + clicks

class GuidedPHE(GuideBoot):
    a = 1

    def samples(self, X, r):
        # GuideBoot's two fakes are a click and a non-click, no coins.
        g = guidance(self.density(X), self.alpha)
        joined = self.rng.binomial(self.a, g)
        return 1 + joined, r + self.rng.binomial(joined, 0.5)

PSEUDO_GUIDED = 1                 # a alpha, however often the ad is shown
WIDER = 3.5                       # sqrt(0.25 / (0.021 * 0.979)): more than the data ask for
""",
    "ex10_paired": """
def runs_needed(x, y, paired):
    variance = np.var(x - y, ddof=1) if paired else np.var(x, ddof=1) + np.var(y, ddof=1)
    return (1.96 + 0.84) ** 2 * variance / np.mean(x - y) ** 2

SAVES_MORE_FOR = "clicks"         # regret is a paired difference already: to the best arm
""",
    "ex11_table": """
def common(theta, X):
    return theta[X[0, 1:]].sum() + theta[-1]

BEST_WITHOUT = 0.6                # always the same class: the most frequent

def widened(sky, trip):
    return [sky, trip, sky + trip]
""",
}

# Other seeds than those that an exercise shows: marks are given by these.
SEEDS = {"ex06_density": range(1000, 1016)}

# Mistake -> what a wrong answer has in place of what, and words of the hint that it must get.
WRONG = {
    "ex01_predict": {
        "no guess": ("0.13 ", "None", "write down a guess"),
        "the paper's 'always recommend Ad_A'": ("0.06", "0.0", "it can only tie"),
        "takes the guided bootstrap for Beta": ('"below"', '"equal to"', "Jensen"),
    },
    "ex02_prior": {
        "an ad that ties": ("10, 50", "1, 50", "when can Ad_A's be 0"),
        "too much known of Ad_B": ("0, 1 ", "0, 50 ", "g = alpha / n"),
        "no such data": ("10, 50", "60, 50", "clicks <= impressions"),
    },
    "ex03_ties": {
        "the last of the largest": ("int(np.argmax(scores))", "np.flatnonzero(scores == "
                                    "scores.max())[-1]", "take the first"),
        "a wrong guess": ('"worse"', '"the same"', "which arms"),
    },
    "ex04_moments": {
        "the variances are the same": ("1 + 1 / (n + 2 * alpha)", "1", "not the same"),
        "fakes add no rewards": ("(n + 2 * alpha)", "n", "how many rewards"),
        "the ratio upside down": ("1 + 1 / (n + 2 * alpha)", "1 - 1 / (n + 2 * alpha + 1)",
                                  "which of them is above"),
    },
    "ex05_pull": {
        "a prior that pulls down": ('"above"', '"below"', "mean of a fake click"),
        "the mean number of fakes": ("(guideboot.binomial(2 * n, g) @ (F / (n + F)))",
                                     "2 * g / (1 + 2 * g)", "F varies"),
        "twice alpha for twice the pull": ("ALPHA_FOR_2 = 4", "ALPHA_FOR_2 = 2", "not by 2"),
    },
    "ex06_density": {
        "no fakes": ("self.eq_7(X[..., :2])", "np.full(X.shape[:-1], 1e12)", "Eq. 7's"),
        "half of Eq. 7's fakes": ("self.eq_7(X[..., :2])", "2 * self.eq_7(X)", "counts of which"),
        "the count of one id": ("X[..., :2]", "X[..., :1]", "the counts of which ids"),
        "one number for all": ("(X[..., :2])", "(X[..., :2]).sum()", "one number for each"),
    },
    "ex07_staleness": {
        "as many mini-batches": ("c // 8", "4", "not 256"),
        "old models are bad models": ('"the same"', '"higher"', "teach little"),
        "they never are": ('ARMS_AS_MANY = "higher"', 'ARMS_AS_MANY = "the same"', "who serves"),
    },
    "ex08_weights": {
        "weights average out": ("0.5 ", "1.0 ", "E w^2"),
        "pairs that add no rewards": ("(ctr + a) / (1 + 2 * a)", "ctr + a", "both with the pairs"),
        "a pair is one reward": ("2 * a / (1 + 2 * a)", "a / (1 + a)", "two rewards"),
    },
    "ex09_perturbed": {
        "the mean instead of coins": ("r + clicks", "r + self.a / 2", "a coin of its own"),
        "one coin for all rows": ("binomial(self.a, 0.5, r.shape)", "binomial(self.a, 0.5)",
                                  "a coin of its own"),
        "all or none join": ("binomial(self.a, g)", "binomial(1, g) * self.a", "joins by itself"),
        "fakes that never fade": ("PSEUDO_GUIDED = 1 ", "PSEUDO_GUIDED = 1000 ", "probability g ="),
    },
    "ex10_paired": {
        "seen in every second experiment": ("1.96 + 0.84", "1.96", "not in 80 %"),
        "paired where it is not": ("if paired else", "if True else", "(not paired)"),
        "a wrong guess": ('"clicks"', '"regret"', "how good the arms"),
    },
    "ex11_table": {
        "forgets the bias": (" + theta[-1]", "", "the bias"),
        "one in three classes": ("0.6 ", "0.33 ", "the same for every row"),
        "trusts the columns": (", sky + trip", ", trip", "at once"),
    },
}
