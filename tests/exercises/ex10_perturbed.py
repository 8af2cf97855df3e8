"""10. Perturbed-history exploration, and what guidance adds to it (Section 5.1, beside Giro).

PHE (Kveton et al. 2019, arXiv 1902.10089) puts `a` pseudo-rewards beside every real reward, each a
fair coin. As a method here it is one hook, `samples`, of about three lines: the weights w and the
clicks y that rows train with (look at GuideBoot's, and at OBB's). Then guide it: each pseudo-reward
joins with probability g only. With a = 2 that is almost GuideBoot; what is still different?
"""
import helper

import numpy as np

from guideboot import AdCount, Agent, GuideBoot, beta_moments, guidance


class PHE(Agent):
    loops = ("online",)
    a = 1

    def samples(self, X, r):
        raise NotImplementedError("a rewards join each row, Bi(a, 1/2) of them are clicks; use "
                                  "self.rng.binomial")


class GuidedPHE(GuideBoot):
    a = 1

    def samples(self, X, r):
        raise NotImplementedError("first g = guidance(self.density(X), self.alpha), then how many "
                                  "join each row, then how many of these are clicks")


# An ad has 20 clicks in 1,000 impressions, a = 1, alpha = 1. How many pseudo-rewards does a model
# train with in all, on average, with PHE and with GuidedPHE?
PSEUDO_PHE = None
PSEUDO_GUIDED = None

# PHE's estimates vary between models. Scaled back by 1 + a, how many times wider are they than the
# posterior Beta(21, 981)? (One decimal.) So what does PHE do where clicks are rare?
WIDER = None


def drawn(agent, a, n, r, models=500):
    """Weights and clicks (models, n) of an ad shown n times."""
    agent.a = a
    return agent.samples(np.zeros((models, n, 1), int), np.tile(r, (models, n // len(r))))


def expect_coins(name, w, y, r, a):
    pseudo = np.asarray(w) - 1
    clicks = np.asarray(y) - r
    assert np.shape(w) == np.shape(y) == np.shape(r), f"{name}: w and y have the shape of r"
    assert (clicks >= 0).all() and (clicks <= pseudo).all(), (
        f"{name}: w is 1 and the pseudo-rewards, y is r and those of them that are clicks")
    coin = clicks[pseudo == a]                               # Bi(a, 1/2): 4.5 standard errors
    assert abs(coin.mean() / a - 0.5) < 4.5 * 0.5 / (a * coin.size) ** 0.5, (
        f"{name}: half of the pseudo-rewards are clicks")
    assert abs(coin.var() - a / 4) < 0.1 * a, f"{name}: each pseudo-reward has a coin of its own"


def check():
    rng = np.random.default_rng(0)
    r = np.tile([0, 1], (500, 20))
    w, y = drawn(PHE(None, rng), 3, 40, [0, 1])
    assert (np.asarray(w) == 4).all(), "PHE: with a = 3 every row weighs 4"
    expect_coins("PHE", w, y, r, 3)
    counts = AdCount(1)
    for n, expected in ((4, 3.0), (8, 1.5), (400, 0.03)):    # a min(alpha / n, 1), alpha = 4
        counts.count[0] = n
        w, y = drawn(GuidedPHE(None, rng, counts, 4.0), 3, 40, [0, 1])
        joined = np.mean(w) - 1                              # 60,000 coins: within 5 errors
        assert abs(joined - expected) < 5 * (expected / 20_000) ** 0.5, (
            f"GuidedPHE: {joined:.2f} pseudo-rewards a row for a = 3 and an ad shown {n} times, "
            "alpha = 4: each of a joins with probability g")
        expect_coins("GuidedPHE", w, y, r, 3 if n < 400 else 1)
    hint = "per row a, or a g, on average"
    helper.expect_number("PSEUDO_PHE", PSEUDO_PHE, 1000, 0, hint)
    counts.count[0] = 1000
    w, _ = drawn(GuidedPHE(None, rng, counts, 1.0), 1, 1000, [0])
    helper.expect_number("PSEUDO_GUIDED", PSEUDO_GUIDED, (w - 1).sum(axis=1).mean(), 0.3, hint)
    w, y = drawn(PHE(None, rng), 1, 1000, [0])
    spread = 2 * (y.sum(axis=1) / w.sum(axis=1)).std() / beta_moments(20, 1000, 1)[1] ** 0.5
    helper.expect_number("WIDER", WIDER, spread, 0.4, "a fair coin varies by 1/4, a click of CTR "
                         "p by p (1 - p), and both are averaged over the same rows")


if __name__ == "__main__":
    helper.main(check)
