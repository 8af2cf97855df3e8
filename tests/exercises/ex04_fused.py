"""4. Fake samples cost nothing (Sections 3.2 and 3.3).

The log-loss of one sample is  l(z, r) = log(1 + exp(z)) - r z  at the logit z. A real sample (x, r)
has F1 fakes (x, 1) and F0 fakes (x, 0) beside it, all with the same x and so the same z. What is
the derivative with respect to z of the sum of the 1 + F1 + F0 losses? One expression, for arrays of
any shape, with one call of `sigmoid`.
"""
import helper

import numpy as np

from nn import log_loss, sigmoid


def gradient(z, r, F1, F0):
    raise NotImplementedError("the derivative of one loss is sigmoid(z) - r; add them up and "
                              "collect the terms")


def check():
    rng = np.random.default_rng(0)
    z = 2 * rng.standard_normal((3, 7))
    r, F1, F0 = rng.integers(0, 2, (3, 3, 7))

    def total(z):
        return log_loss(z, 1, r) + F1 * log_loss(z, 1, 1) + F0 * log_loss(z, 1, 0)
    wanted = (total(z + 1e-5) - total(z - 1e-5)) / 2e-5
    got = np.asarray(gradient(z, r, F1, F0))
    assert got.shape == z.shape, f"one number for each sample, {z.shape}, not {got.shape}"
    plain = (F1 == 0) & (F0 == 0)
    assert np.allclose(got[plain], wanted[plain], atol=1e-6), "without fakes: sigmoid(z) - r"
    assert np.allclose(got, wanted, atol=1e-6), (
        "with fakes it is not yet the sum: is each fake's own label in it, and is it the sum, not "
        "the mean?")


if __name__ == "__main__":
    helper.main(check)
