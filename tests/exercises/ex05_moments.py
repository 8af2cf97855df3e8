"""5. Fakes as a posterior: means and variances of Section 3.4, on paper first, then here.

s clicks in n impressions, prior strength alpha. The paper calls the variances of the posterior and
of the bootstrap with fakes asymptotically the same. How far apart are they exactly?
"""
import helper

import numpy as np

import guideboot


def fakes_before(s, n, alpha):
    """Mean and variance of the bootstrap's estimate when the fakes join before the resampling.

    alpha fake clicks and alpha fake non-clicks join the data, and n + 2 alpha are resampled.
    """
    raise NotImplementedError("it is Eq. 3 with other numbers for s and n; the estimate is the "
                              "number of clicks over that of rewards")


def ratio(n, alpha):
    """The variance of `fakes_before` over that of Beta(alpha + s, alpha + n - s) (Eq. 2)."""
    raise NotImplementedError("divide the two variances of Section 3.4; s cancels")


def check():
    for s, n, alpha in ((1, 50, 1), (0, 4, 2), (7, 7, 3)):
        data = f"s={s}, n={n}, alpha={alpha}"
        got = fakes_before(s, n, alpha)
        assert np.shape(got) == (2,), "fakes_before returns the mean and the variance"
        mean, variance = got
        before = guideboot.guided_before_moments(s, n, alpha)
        assert np.isclose(mean, before[0], atol=1e-9), (
            f"the mean for {data}: how many rewards are there now, and how many of them clicks?")
        assert np.isclose(variance, before[1], atol=1e-9), (
            f"the variance for {data}: of Bi(m, p) / m, not of Bi(m, p), nor of one reward")
        beta = guideboot.beta_moments(s, n, alpha)
        assert np.isclose(ratio(n, alpha), before[1] / beta[1], atol=1e-9), (
            f"ratio for {data}: which factors of the two denominators in Section 3.4 are left?")


if __name__ == "__main__":
    helper.main(check)
