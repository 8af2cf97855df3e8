"""3. Fake samples cost nothing (Section 3.2, Section 3.3).

The log-loss of one sample is  l(z, r) = log(1 + exp(z)) - r z  at the logit z. A real sample (x, r)
has F1 fakes (x, 1) and F0 fakes (x, 0) beside it, all with the same x and so the same z. What is
the derivative with respect to z of the sum of the 1 + F1 + F0 losses? One expression, for arrays of
any shape, with one call of `sigmoid`.
"""
from nn import sigmoid


def gradient(z, r, F1, F0):
    raise NotImplementedError("the derivative of one loss is sigmoid(z) - r; add them up and "
                              "collect the terms")
