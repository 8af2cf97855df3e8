"""4. Fakes as a posterior: the variances of Section 3.4, on paper first, then here.

An ad has s clicks in n impressions. Eq. 2 has the posterior Beta(alpha + s, alpha + n - s). Beside
it, let alpha fake clicks and alpha fake non-clicks join the data, and then resample n + 2 alpha of
them: the bootstrap's estimate, clicks over rewards, is Eq. 3 with other numbers for s and n. It has
the posterior's mean, and the paper calls the variances asymptotically the same. How far apart are
they exactly? After how many impressions is that less than one percent?
"""
import helper

import numpy as np

import guideboot


def ratio(n, alpha):
    """The variance of that bootstrap's estimate over the posterior's; s cancels."""
    raise NotImplementedError("write down both variances, then divide; that of Bi(m, p) / m is "
                              "p (1 - p) / m")


def check():
    for s, n, alpha in ((1, 50, 1), (0, 4, 2), (7, 7, 3)):
        before = guideboot.guided_before_moments(s, n, alpha)
        beta = guideboot.beta_moments(s, n, alpha)
        found = ratio(n, alpha)
        assert found != 1, "asymptotically the same is not the same: divide the two variances"
        assert np.isclose(found, before[1] / beta[1], atol=1e-9), (
            f"ratio({n}, {alpha}) is not {found}: which factors of the two denominators in Section "
            "3.4 are left, which of them is above, and how many rewards are there with the fakes?")


if __name__ == "__main__":
    helper.main(check)
