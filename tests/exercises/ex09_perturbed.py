"""9. Perturbed-history exploration, and what guidance adds to it (Section 5.1, beside Giro).

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


# An ad has 20 clicks in 1,000 impressions; a = 1, alpha = 1. With PHE a model trains on 1,000
# pseudo-rewards of it. On how many with GuidedPHE, on average?
PSEUDO_GUIDED = None

# PHE's estimates differ between models. Multiplied by 1 + a, how many times wider is their spread
# than that of the posterior Beta(21, 981), to one decimal? What will it do where clicks are rare?
WIDER = None


def drawn(method, a, n, alpha=1.0, models=500):
    """Pseudo-rewards, and clicks among them, beside n impressions of an ad: two (models, n)."""
    counts = AdCount(1, field=0)
    counts.count[0] = n
    rng = np.random.default_rng(0)
    agent = method(None, rng) if method is PHE else method(None, rng, counts, alpha)
    agent.a = a
    r = np.tile([0, 1], (models, n // 2))
    w, y = agent.samples(np.zeros((models, n, 1), int), r)
    name = method.__name__
    assert np.shape(w) == np.shape(y) == r.shape, f"{name}: w and y have the shape of r"
    pseudo, clicks = w - 1, y - r
    assert (clicks >= 0).all() and (clicks <= pseudo).all(), (
        f"{name}: w is 1 and the pseudo-rewards, y is r and those of them that are clicks")
    return pseudo, clicks


def check():
    for method, n, g in ((PHE, 40, 1.0), (GuidedPHE, 4, 1.0), (GuidedPHE, 8, 0.5)):
        name = method.__name__
        pseudo, clicks = drawn(method, 3, n, alpha=4.0)      # 2,000 rows or more, 3 coins each
        right = abs(pseudo.mean() - 3 * g) < 0.07 and abs(pseudo.var() - 3 * g * (1 - g)) < 0.1
        assert right, (                                      # 5 standard errors
            f"{name}: with a = 3, n = {n}, alpha = 4 each of three pseudo-rewards beside a row "
            f"joins by itself, with probability {g}; here {pseudo.mean():.2f} join on average")
        coins = clicks[pseudo == 3]                          # Bi(3, 1/2), some 500 or more
        own = abs(coins.var() - 0.75) < 0.25 and (clicks[0] != clicks[1:]).any()
        assert own, f"{name}: each pseudo-reward of each row and model has a coin of its own"
        assert abs(coins.mean() - 1.5) < 0.2, f"{name}: half of the pseudo-rewards are clicks"
    pseudo, _ = drawn(GuidedPHE, 1, 1000)
    helper.expect_number("PSEUDO_GUIDED", PSEUDO_GUIDED, pseudo.sum(axis=1).mean(), 0.25,
                         "each of n rows has a pseudo-reward with probability g = alpha / n")
    _, clicks = drawn(PHE, 1, 1000)
    spread = clicks.mean(axis=1).std() / beta_moments(20, 1000, 1)[1] ** 0.5
    helper.expect_number("WIDER", WIDER, spread, 0.4, "a fair coin has the variance 1/4, a click p "
                         "(1 - p), and the estimate has 1 + a rewards for each impression")


if __name__ == "__main__":
    helper.main(check)
