"""5. Where do fakes pull, and what does alpha mean then? (Section 3.4)

A guided estimate is (S + F1) / (n + F1 + F0), where S ~ Bi(n, s/n) clicks are resampled and F1, F0
~ Bi(n, g) are fakes, g = min(alpha / n, 1). Half of the fakes are clicks: no ad is that good.
"""
import math

import helper

import numpy as np

import guideboot

# The mean of the guided estimate of an ad with CTR s/n = 0.02 is "above" or "below" 0.02.
MEAN_IS = None

# The CTR s/n at which the mean of the guided estimate is s/n.
NO_PULL_AT = None


def pull(s, n, alpha):
    """The mean of the guided estimate minus s/n, exactly: a formula that is summed over F alone.

    The number F = F1 + F0 of fakes is Bi(2n, g); `guideboot.binomial(2 * n, g)` has its
    probabilities, of 0, 1, ..., 2n. Given F, what is the mean of the estimate? Where does the
    formula change its sign? (guideboot.guided_distribution enumerates S, too: the check's way.)
    """
    raise NotImplementedError("on average half of the F fakes are clicks, and s of the n rewards; "
                              "take the mean over F last")


# n is large. How far is an ad pulled, in standard deviations of Beta(alpha + s, alpha + n - s)?
# For s = 3, alpha = 1, to one decimal:
WITH_3_CLICKS = None
# Which alpha pulls an ad without clicks by two?
ALPHA_FOR_2 = None


def check():
    def pulled(s, n, alpha):
        return guideboot.moments(*guideboot.guided_distribution(s, n, alpha))[0] - s / n

    def in_deviations(s, alpha, n=400):                      # within 0.01 of the limit
        return pulled(s, n, alpha) / math.sqrt(guideboot.beta_moments(s, n, alpha)[1])

    helper.expect_sign("MEAN_IS", MEAN_IS, pulled(1, 50, 1), ("equal to", "above", "below"),
                       "what is the mean of a fake click and a fake non-click?")
    far = [abs(pulled(s, 20, 1)) for s in range(21)]
    helper.expect_number("NO_PULL_AT", NO_PULL_AT, np.argmin(far) / 20, 1e-9,
                         "clicks and non-clicks are treated alike, so the answer is its own mirror")
    for s, n, alpha in ((1, 50, 1.0), (0, 8, 2.5), (7, 8, 1.0), (2, 3, 5.0)):
        assert np.isclose(pull(s, n, alpha), pulled(s, n, alpha), atol=1e-9), (
            f"pull is not right for s={s}, n={n}, alpha={alpha}: F varies, so do not put in its "
            "mean, and g is at most 1")
    hint = "for large n the pull is alpha / n; what is the posterior's standard deviation times n?"
    helper.expect_number("WITH_3_CLICKS", WITH_3_CLICKS, in_deviations(3, 1), 0.05, hint)
    given = isinstance(ALPHA_FOR_2, (int, float)) and ALPHA_FOR_2 > 0
    assert given, "write down a number above 0 for ALPHA_FOR_2 first"
    found = in_deviations(0, ALPHA_FOR_2)
    assert abs(found - 2) < 0.1, f"ALPHA_FOR_2 pulls by {found:.1f}, not by 2: {hint}"


if __name__ == "__main__":
    helper.main(check)
