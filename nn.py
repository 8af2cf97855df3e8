"""Bags of K reward models, trained by hand-written gradients (Pan et al. 2021, Sections 3.3 and 5).

A *bag* holds K models f(1), ..., f(K) with a leading axis K on every parameter, so that all K are trained
by one batched operation. Whoever uses a bag sees four things only:

    bag.K                  number of models
    bag.scores(k, X)       logits of the *published* model k for m candidates        (m, J) ids -> (m,)
    bag.update(X, w, y)    one gradient step of every model on its own mini-batch    (K, B, J), (K, B), (K, B)
    bag.publish()          the learned parameters become the ones that `scores` uses

An input x is a row of J categorical ids in one shared id space 0 .. features-1. A sample carries a weight w
(how many log-losses it stands for) and y clicks among them. The plain sample (x, r) is w=1, y=r; a sample
drawn twice is w=2, y=2r; a sample with fake clicks and fake non-clicks beside it is w=1+F1+F0, y=r+F1.
"""
from functools import lru_cache

import numpy as np


_ones = lru_cache(np.ones)


def sum_last(a):
    """Sum over the last axis: a product with ones is several times faster than a.sum(-1) when that axis is short."""
    return a @ _ones(a.shape[-1])


def sigmoid(z):
    """1 / (1 + exp(-z)); the exponent is capped so that no z overflows (exp(-80) is far below float32's rounding)."""
    e = np.minimum(-z, 80.0)
    np.exp(e, out=e)
    e += 1.0
    return np.reciprocal(e, out=e)


def log_loss(z, w, y):
    """Negative log-likelihood of y clicks in w trials at logit z:  w softplus(z) - y z, safe for any z.

    With w=1, y=r it is the log-loss of Section 5.2. softplus(z) = max(z, 0) + log(1 + exp(-|z|)) never overflows.
    """
    return w * (np.maximum(z, 0.0) + np.log1p(np.exp(-np.abs(z)))) - y * z


def log_loss_gradient(z, w, y):
    """d log_loss / d z = w sigmoid(z) - y: fake samples change two numbers per row and nothing else."""
    error = sigmoid(z)
    error *= w
    error -= y
    return error


class SGD:
    """Plain gradient descent on one parameter array, in place."""

    def __init__(self, parameter, learning_rate):
        self.parameter, self.learning_rate = parameter, learning_rate

    def step(self, gradient):
        self.parameter -= self.learning_rate * gradient


class Adam:
    """Adam (Kingma & Ba 2015, Algorithm 1) on one parameter array, in place."""

    def __init__(self, parameter, learning_rate, beta1=0.9, beta2=0.999, eps=1e-8):
        self.parameter, self.learning_rate = parameter, learning_rate
        self.beta1, self.beta2, self.eps = beta1, beta2, eps
        self.m = np.zeros_like(parameter)     # first moment: mean of the gradients
        self.v = np.zeros_like(parameter)     # second moment: mean of their squares
        self.t = 0

    def step(self, gradient):
        """learning_rate * m_hat / (sqrt(v_hat) + eps), with m_hat = m / c1 and v_hat = v / c2, c2 taken out of the root."""
        self.t += 1
        c1, root_c2 = 1.0 - self.beta1 ** self.t, (1.0 - self.beta2 ** self.t) ** 0.5
        self.m += (1.0 - self.beta1) * (gradient - self.m)
        self.v += (1.0 - self.beta2) * (gradient * gradient - self.v)
        move = np.sqrt(self.v)
        move += self.eps * root_c2
        np.divide(self.m, move, out=move)
        move *= self.learning_rate * root_c2 / c1
        self.parameter -= move


class LogisticBag:
    """K logistic regressions:  f(x) = sigmoid(bias + sum_j weight[x_j])   (the generalized linear model of Section 5.1).

    `rngs` is one random generator per model: their initial weights are drawn independently (Alg. 1 line 2).
    """

    def __init__(self, features, rngs, learning_rate=0.01, optimizer=Adam, init=0.1):
        self.K, self.features = len(rngs), features
        # Column `features` is the bias: one array, so one optimizer step moves everything.
        self.theta = np.stack([init * rng.standard_normal(features + 1) for rng in rngs])   # (K, features + 1)
        self.bias = self.theta[:, -1:]                                      # (K, 1), a view
        self.optimizer = optimizer(self.theta, learning_rate)
        self.offset = np.arange(self.K)[:, None, None] * (features + 1)     # (K, 1, 1): model k's part of theta.ravel()
        self.published = self.theta.copy()

    def publish(self):
        np.copyto(self.published, self.theta)

    def scores(self, k, X):
        theta = self.published[k]
        return sum_last(theta.take(X)) + theta[-1]                       # (m,)

    def logits(self, flat):
        """Logits of the models in training; `flat` (K, B, J) indexes theta.ravel()."""
        z = sum_last(self.theta.take(flat))
        z += self.bias
        return z                                                            # (K, B)

    def gradient(self, X, w, y):
        """Gradient of the log-loss summed over a batch and divided by its B real samples.

        Dividing by B, not by the total weight, lets a fake or repeated sample add to the gradient
        rather than thin out the others: weight 2 is twice the gradient, weight 0 is none.
        """
        flat = X + self.offset                                              # (K, B, J)
        error = log_loss_gradient(self.logits(flat), w, y)                  # (K, B)
        error *= 1.0 / X.shape[1]
        # bincount adds up repeated ids, where `gradient[ids] += error` would keep only the last one.
        gradient = np.bincount(flat.ravel(), error.repeat(X.shape[-1]), self.theta.size)
        gradient = gradient.reshape(self.theta.shape)
        gradient[:, -1] = sum_last(error)
        return gradient                                                     # (K, features + 1)

    def update(self, X, w, y):
        self.optimizer.step(self.gradient(X, w, y))
