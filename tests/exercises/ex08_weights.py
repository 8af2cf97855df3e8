"""8. What the weights of OBB and the pairs of Giro cost (Section 5.1).

OBB gives every sample of the stream a weight from Poisson(1), drawn once for each model. Giro
puts, with probability a, a pseudo pair (x, 0), (x, 1) into the history beside a real sample. How
much of the information is left to a model, and what fades with the number of impressions? (A
resample of n from n has such weights too. Why does it cost less in replay, which draws again and
again?)
"""
import helper

import numpy as np

from baselines import OBB, Giro
from guideboot import AdCount, GuideBoot, History

# A mean with weights w varies as much as a plain mean of (sum w)^2 / (sum w^2) rewards. This number
# over that of all rewards, for Poisson(1) and many of them:
WORTH = None


def giro_share(a):
    """The share of pseudo rewards in Giro's history."""
    raise NotImplementedError("how many pseudo rewards come with one real reward on average?")


def giro_mean(ctr, a):
    """The mean reward in Giro's history of an ad with this CTR. How far apart are two ads' now?"""
    raise NotImplementedError("a pair adds one click and two rewards")


def guided_share(n, alpha):
    """The share of fakes in what GuideBoot trains with on an ad shown n times, on average."""
    raise NotImplementedError("each of n samples has two fakes, with probability g each; g <= 1")


def check():
    rng = np.random.default_rng(0)                           # tolerances: 5 standard errors or more
    w, _ = OBB(None, rng).samples(None, np.zeros((5, 20_000)))
    helper.expect_number("WORTH", WORTH, w.mean() ** 2 / (w ** 2).mean(), 0.015,
                         "it is (E w)^2 / E w^2; E w^2 is the variance plus (E w)^2")
    for ctr, a in ((0.02, 0.5), (0.5, 0.1), (0.9, 1.0)):
        history, giro = History(1, 2), Giro(None, rng, a)
        for clicked in rng.random(20_000) < ctr:
            giro.remember(history, [0], clicked)
        pseudo = 1 - 20_000 / history.size
        assert abs(giro_share(a) - pseudo) < 0.015, f"giro_share({a}): is a pair two rewards?"
        assert abs(giro_mean(ctr, a) - history.r[:history.size].mean()) < 0.015, (
            f"giro_mean({ctr}, {a}): clicks over rewards, both with the pairs")
    for n, alpha in ((1, 0.5), (1000, 1.0), (4, 10.0)):
        counts = AdCount(1, field=0)
        counts.count[0] = n
        agent = GuideBoot(None, rng, counts, alpha)
        agent.samples(np.zeros((100_000 // n, n, 1), int), np.zeros((100_000 // n, n)))
        share = agent.fakes() / (1 + agent.fakes())
        assert abs(guided_share(n, alpha) - share) < 0.015, (
            f"guided_share({n}, {alpha}): 2 n g fakes beside n samples, and g is at most 1")


if __name__ == "__main__":
    helper.main(check)
