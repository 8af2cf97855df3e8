"""2. The mean and variance of Eq. 2 and Eq. 3: on paper first, then here.

s clicks in n impressions, prior strength alpha.
"""


def beta(s, n, alpha):
    """Mean and variance of Beta(alpha + s, alpha + n - s)."""
    raise NotImplementedError("the mean of Beta(a, b) is a / (a + b); look its variance up, "
                              "then write a and b out")


def bootstrap(s, n):
    """Mean and variance of the mean of n rewards that are resampled from the n."""
    raise NotImplementedError("the number of clicks in the resample is Bi(n, s/n), the estimate "
                              "is this number over n")


def fakes_before(s, n, alpha):
    """Mean and variance when fakes join the data before the resampling.

    alpha fake clicks and alpha fake non-clicks join them, and n + 2 alpha are resampled.
    """
    raise NotImplementedError("it is Eq. 3 again, with other numbers for s and n")
