"""The methods that the paper compares GuideBoot with, Section 5 (Bootstrap is guideboot.Agent).

Methods with a bag are Agents with a hook or two changed, for the loops `replay` and `online`; the
others have `choose` and `learn_from` and run in `online`:

    method                chooses by                                   learns from
    EpsilonGreedy         at random with probability epsilon, or argmax  real samples
    OBB                   argmax of a random model                     samples, Poisson(1) weights
    Giro                  argmax of a random model                     a history with pseudo pairs
    DeepUCB1, DeepTSBeta  one model's score and the ad's count         real samples
    MCDropout             one model with a random dropout mask         real samples, dropout on
    GLMUCB                logistic regression and a width of its own   all samples, exactly
    TSBLR                 a draw of a logistic regression's posterior  all samples, exactly
    RandomPolicy          uniform                                      nothing: the yardstick
    Ridge                 argmax of one model, a control of ours       real samples, shrunk weights
"""
import math
import time
import warnings

import numpy as np

from envs import check_density, checked_buffer
from guideboot import Agent, argmax, largest
from nn import (LogisticBag, ServedAds, check, not_negative, positive, probability, sigmoid,
                sum_last, whole, within)

Bootstrap = Agent


class RandomPolicy:
    """Shows any candidate with the same probability."""

    def __init__(self, rng):
        self.rng = rng

    def choose(self, X, t):
        return int(len(X) * self.rng.random())

    def learn_from(self, X, r, n=1):
        """Nothing to learn."""


class EpsilonGreedy(Agent):
    """Greedy on the model; any candidate at random with probability epsilon.

    With `decay` the probability falls linearly from epsilon at the first step to zero after `decay`
    steps. If the bag has several models, a random one is followed.
    """

    def __init__(self, bag, rng, epsilon=0.1, decay=None):
        super().__init__(bag, rng)
        self.epsilon = probability("epsilon", epsilon)
        self.decay = None if decay is None else whole("decay", decay)

    def choose(self, X, t):
        left = 1.0 if self.decay is None else max(0.0, 1.0 - (t - 1) / self.decay)
        if self.rng.random() < self.epsilon * left:
            return int(len(X) * self.rng.random())
        return super().choose(X, t)


class OBB(Agent):
    """Online Bootstrap Bandit (Tang et al. 2015): each model sees each sample Poisson(1) times."""
    loops = ("online",)                                          # replay resamples already

    def samples(self, X, r):
        """Weights w (K, B) from `rng.poisson`, and clicks; X is not looked at (Section 5.1)."""
        w = self.rng.poisson(1.0, r.shape)                       # (K, B)
        return w, w * r


class Giro(Agent):
    """Giro (Kveton et al. 2019): with probability alpha a pseudo pair joins the history."""
    loops = ("replay",)                                          # online has no history

    def __init__(self, bag, rng, alpha=0.5):
        super().__init__(bag, rng)
        self.alpha = probability("alpha of Giro", alpha)

    def remember(self, history, x, r):
        """The sample, and with probability alpha (x, 0) and (x, 1) after it (Section 5.1)."""
        history.append(x, r)
        if self.rng.random() < self.alpha:
            history.append(x, 0)
            history.append(x, 1)


# ---------------------------------------------------------------- deep methods: Section 5.2

def checked_strength(strength):
    """The strength of an exploration; above 1e6, an arbitrary limit, it is a mistake."""
    return check("strength", strength, within(strength, 0, 1e6), "0 to 1e6")


class DeepUCB1(Agent):
    """Deep-UCB1: predicted CTR + strength sqrt(2 log t / Count(ad_ID)).

    An ad never shown comes before all others. In `online` the counts, like the models, are those of
    the last learning phase; in `replay` they move at every step.
    """

    def __init__(self, bag, rng, density, strength=0.1):
        super().__init__(bag, rng)
        self.density, self.strength = density, checked_strength(strength)

    def update_density(self, X):
        self.density.update(X)

    def choose(self, X, t):
        """The `argmax` of the bounds, or any ad never shown; `predicted_ctr` refuses bad logits."""
        count = self.density(X)                                  # (m,)
        check_density(count, (len(X),))
        if not count.all():
            return argmax((count == 0).astype(float), self.rng)
        bonus = self.strength * np.sqrt(2.0 * math.log(t) / count)
        return argmax(predicted_ctr(self.bag.scores(0, X)) + bonus, self.rng)


class DeepTSBeta(Agent):
    """Deep-TS-Beta: for every candidate a draw from Beta(a, b) with a + b = Count(ad_ID) / shaping.

    Its mean is the prediction f(x). Dividing both parameters by shaping = 0.25 narrows the
    distribution (Chapelle & Li 2011). An ad never shown has no such distribution; it counts as
    shown once. f(x) is kept between 1e-6 and 1 - 1e-6, where both parameters are above 0.
    """

    def __init__(self, bag, rng, density, shaping=0.25):
        super().__init__(bag, rng)
        self.density, self.shaping = density, positive("shaping", shaping)

    def update_density(self, X):
        self.density.update(X)

    def choose(self, X, t):
        count = self.density(X)                                  # (m,)
        check_density(count, (len(X),))
        total = np.maximum(count, 1.0) / self.shaping            # a + b, (m,)
        ctr = predicted_ctr(self.bag.scores(0, X).astype(float))
        ctr = np.clip(ctr, 1e-6, 1.0 - 1e-6)
        return argmax(self.rng.beta(total * ctr, total * (1.0 - ctr)), self.rng)


def predicted_ctr(logits):
    """sigmoid(logits); nan, or an infinite largest logit, is an error: the model diverged."""
    largest(logits)
    return sigmoid(logits)


class MCDropout(Agent):
    """MC-Dropout: one model, trained with dropout on its last hidden layer, that also uses dropout
    when deciding: each decision draws one mask for all candidates."""

    def choose(self, X, t):
        stays = self.rng.random(self.bag.hidden) >= self.bag.dropout
        mask = stays.astype(self.bag.dtype) / (1.0 - self.bag.dropout)
        return argmax(self.bag.scores(0, X, mask), self.rng)


# ---------------------------------------------------------------- a control: ridge, no fakes

class Ridge(Agent):
    """Greedy, with a ridge penalty in the place of fakes: a control of ours, not of the paper.

    With RidgeBag the loss is the sum over the t samples seen so far, plus precision / 2 times the
    sum of squared weights (biases are free): what is rarely shown is estimated near the average. A
    bag learns from mean losses, so its penalty has the factor `ridge` = precision / t.
    """

    def __init__(self, bag, rng, precision=1.0):
        super().__init__(bag, rng)
        check("bag", type(bag).__name__, hasattr(bag, "ridge"), "a RidgeBag or RidgeAds")
        self.precision = not_negative("precision", precision)
        self.seen = 0

    def update_density(self, X):
        self.seen += X.size // X.shape[-1]                       # one row, or the rows of a buffer

    def samples(self, X, r):
        self.bag.ridge = self.precision / max(self.seen, 1)
        return super().samples(X, r)


class RidgeBag(LogisticBag):
    """Logistic regressions whose gradient has a ridge penalty."""
    ridge = 0.0

    def gradient(self, X, w, y):
        gradient = super().gradient(X, w, y)
        gradient[:, :-1] += self.ridge * self.theta[:, :-1]      # not the bias
        return gradient


class RidgeAds(ServedAds):
    """Networks with a ridge penalty on W1, W2, w3 and the embeddings that a batch touches.

    So an id that is in few batches is shrunk less than in RidgeBag, and a network without weights
    predicts b3, not the average of its inputs: a weight decay more than a prior.
    """
    ridge = 0.0

    def gradient(self, X, w, y):
        rows, row_gradients = super().gradient(X, w, y)
        for weights, gradient in zip(self.weights[::2], self.gradients[::2]):
            gradient += self.ridge * weights
        return rows, row_gradients + self.ridge * self.E_rows[rows]


# ---------------------------------------------------------------- Bayesian logistic regression

class LogisticPosterior:
    """Laplace's approximation N(mode, H^-1) of a logistic regression's posterior.

    It is fitted to all samples at every call of `learn_from`, so in `online` with c = 1 after every
    sample. The prior is N(0, I / precision), of the bias too. phi(x) is 1 at the J ids of x and at
    the bias, which is id `features`. Samples with equal inputs are kept together as n trials with s
    clicks, so that the cost of a step grows with the number of distinct inputs, not with that of
    samples. H is a dense matrix over ids: for tasks with tens of ids, not thousands.
    """

    def __init__(self, fields, features, rng, precision=1.0):
        d = features + 1
        warn_of_cost(type(self).__name__, d, (fields + 1) ** 2)
        self.rng = rng
        fine = within(precision, 1e-9, 1e9)                      # else H cannot be solved
        self.precision = check("precision", precision, fine, "1e-9 to 1e9")
        self.bias = features                                     # its id
        self.mode = np.zeros(d)
        self.H = precision * np.eye(d)
        self.input = {}                                          # x -> its place in these arrays:
        self.ids = np.zeros((64, fields + 1), int)               # where phi is 1
        self.pairs = np.zeros((64, (fields + 1) ** 2), int)      # where phi phi' is 1 in H.ravel()
        self.n = np.zeros(64)                                    # trials
        self.s = np.zeros(64)                                    # clicks

    def active(self, X):
        """The ids at which phi(x) is 1: those of x and the bias, (m, J) -> (m, J + 1)."""
        least, most = int(X.min()), int(X.max())
        fine = 0 <= least and most < self.bias
        check("ids", (least, most), fine, f"0 or more and below {self.bias}, which is the bias")
        return np.column_stack([X, np.full(len(X), self.bias)])

    def learn_from(self, X, r, n=1):
        X, r = checked_buffer(X, r, self.bias)
        for x, clicked in zip(self.active(X), r):
            i = self.input.setdefault(tuple(x), len(self.input))
            if i == len(self.n):
                self.double()
            self.ids[i] = x
            self.pairs[i] = (x[:, None] * len(self.mode) + x).ravel()
            self.n[i] += 1.0
            self.s[i] += clicked
        self.newton()

    def double(self):
        """Twice the storage."""
        self.ids = np.concatenate([self.ids, np.zeros_like(self.ids)])
        self.pairs = np.concatenate([self.pairs, np.zeros_like(self.pairs)])
        self.n = np.concatenate([self.n, np.zeros_like(self.n)])
        self.s = np.concatenate([self.s, np.zeros_like(self.s)])

    def newton(self, tolerance=1e-6):
        """Newton's method from the last mode.

        A step is halved until the gradient shrinks, as it must when the step is short enough.
        """
        gradient = self.derivatives()
        for _ in range(100):
            if np.abs(gradient).max() < tolerance:
                return
            start = self.mode
            norm = gradient @ gradient
            step = np.linalg.solve(self.H, gradient)
            for _ in range(60):
                self.mode = start - step
                gradient = self.derivatives()
                step = step / 2.0
                if gradient @ gradient < norm:
                    break
        raise FloatingPointError(f"Newton's method left a gradient of {np.abs(gradient).max():.1e}")

    def derivatives(self):
        """Gradient (d,) of the negative log posterior at the mode; H becomes its Hessian there."""
        u = len(self.input)                                      # distinct inputs
        d = len(self.mode)
        ids, pairs, n, s = self.ids[:u], self.pairs[:u], self.n[:u], self.s[:u]
        p = sigmoid(sum_last(self.mode.take(ids)))               # (u,)
        curvature = (n * p * (1.0 - p)).repeat(pairs.shape[1])
        self.H = np.bincount(pairs.ravel(), curvature, d * d).reshape(d, d)
        self.H.flat[::d + 1] += self.precision                   # on the diagonal
        slope = np.bincount(ids.ravel(), (n * p - s).repeat(ids.shape[1]), d)
        return slope + self.precision * self.mode


def warn_of_cost(name, d, pairs):
    """Say what a step costs, if that is much: d equations, and for each different input so many
    pairs of ids. The time to solve d equations grows as d^3."""
    if d <= 500 and pairs <= 1000:
        return
    solve = shortest(lambda: np.linalg.solve(np.eye(400), np.ones(400))) * (d / 400) ** 3
    add_up = shortest(lambda: np.bincount(np.zeros(50_000, int), np.ones(50_000))) * pairs / 50
    warnings.warn(f"at every step {name} several times solves {d:,} equations, {solve:.1g} s or "
                  f"more, and adds up all different inputs, {add_up:.1g} s for every thousand")


def shortest(function):
    """Seconds that a call takes: the least of four, for the first may load a library."""
    times = []
    for _ in range(4):
        started = time.perf_counter()
        function()
        times.append(time.perf_counter() - started)
    return min(times)


class TSBLR(LogisticPosterior):
    """Thompson sampling with Bayesian logistic regression: greedy on one draw of the posterior.

    `strength`, ours, scales the draw's distance from the mode; the paper's is 1.
    """

    def __init__(self, fields, features, rng, precision=1.0, strength=1.0):
        super().__init__(fields, features, rng, precision)
        self.strength = checked_strength(strength)

    def draw(self):
        """theta ~ N(mode, H^-1): with H = L L' and e ~ N(0, I), L'^-1 e has covariance H^-1.

        e is one call of rng.standard_normal. The distance from the mode is times `strength`.
        """
        L = np.linalg.cholesky(self.H)
        e = self.rng.standard_normal(len(self.mode))
        return self.mode + self.strength * np.linalg.solve(L.T, e)

    def choose(self, X, t):
        return argmax(sum_last(self.draw().take(self.active(X))), self.rng)


class GLMUCB(LogisticPosterior):
    """GLM-UCB (Filippi et al. 2010): mean reward + strength sqrt(log(t + 1)) |phi(x)|_{M^-1}.

    The mean reward is the mode's (theirs has no prior). M = precision I + sum of phi phi' over the
    samples is the design matrix; its inverse follows each sample by the Sherman-Morrison formula.
    """

    def __init__(self, fields, features, rng, precision=1.0, strength=1.0):
        super().__init__(fields, features, rng, precision)
        self.strength = checked_strength(strength)
        self.inverse = np.eye(features + 1) / precision

    def learn_from(self, X, r, n=1):
        super().learn_from(X, r, n)
        for x in self.active(np.asarray(X)):
            v = sum_last(self.inverse[:, x])                     # M^-1 phi
            self.inverse -= np.outer(v, v) / (1.0 + v[x].sum())

    def bounds(self, X, t):
        """Upper confidence bound of every candidate's expected reward, (m,)."""
        ids = self.active(X)                                     # (m, J + 1)
        blocks = self.inverse[ids[:, :, None], ids[:, None, :]]  # (m, J + 1, J + 1)
        norm2 = sum_last(sum_last(blocks))                       # phi' M^-1 phi, (m,)
        bonus = self.strength * math.sqrt(math.log(t + 1)) * np.sqrt(norm2)
        return sigmoid(sum_last(self.mode.take(ids))) + bonus

    def choose(self, X, t):
        return argmax(self.bounds(X, t), self.rng)
