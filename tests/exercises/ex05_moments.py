"""5. Is it the same as a posterior? Means and variances of Section 3.4, on paper first, then here.

s clicks in n impressions, prior strength alpha. The paper calls two of the variances asymptotically
the same. How far apart are they exactly?
"""
import helper

import numpy as np

import guideboot


def bootstrap(s, n):
    """Mean and variance of the mean of n rewards that are resampled from the n (Eq. 3)."""
    raise NotImplementedError("the number of clicks in the resample is Bi(n, s/n), the estimate "
                              "is this number over n")


def fakes_before(s, n, alpha):
    """Mean and variance when fakes join the data before the resampling.

    alpha fake clicks and alpha fake non-clicks join them, and n + 2 alpha are resampled.
    """
    raise NotImplementedError("it is Eq. 3 again, with other numbers for s and n")


def ratio(n, alpha):
    """The variance of `fakes_before` over that of Beta(alpha + s, alpha + n - s) (Eq. 2)."""
    raise NotImplementedError("divide the two variances of Section 3.4; s cancels")


def check():
    for s, n, alpha in ((1, 50, 1), (0, 4, 2), (7, 7, 3)):
        data = f"s={s}, n={n}, alpha={alpha}"
        mean, variance = bootstrap(s, n)
        exact = guideboot.moments(*guideboot.bootstrap_distribution(s, n))
        assert np.isclose(mean, exact[0], atol=1e-9), f"bootstrap's mean, {data}: no prior here"
        assert np.isclose(variance, exact[1], atol=1e-9), (
            f"bootstrap's variance, {data}: of Bi(n, p) / n, not of Bi(n, p), nor of one reward")
        got = fakes_before(s, n, alpha)
        joined = guideboot.bootstrap_distribution(s + alpha, n + 2 * alpha)
        assert np.allclose(got, guideboot.moments(*joined), atol=1e-9), (
            f"fakes_before, {data}: how many rewards are there now, and how many of them clicks?")
        before = guideboot.guided_before_moments(s, n, alpha)
        beta = guideboot.beta_moments(s, n, alpha)
        assert np.isclose(ratio(n, alpha), before[1] / beta[1], atol=1e-9), (
            f"ratio, {data}: the denominators are (2 alpha + n)^3 and (2 alpha + n)^2 "
            "(2 alpha + n + 1)")


if __name__ == "__main__":
    helper.main(check)
