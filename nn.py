"""Bags of K reward models, trained by hand-written gradients (Pan et al. 2021, Sections 3.3 and 5).

A *bag* holds K models f(1), ..., f(K) with a leading axis K on every parameter, so that all K are trained
by one batched operation. A loop sees only this of a bag:

    bag.K, bag.features    number of models, number of ids
    bag.scores(k, X)       logits of the *published* model k for m candidates        (m, J) ids -> (m,)
    bag.update(X, w, y)    one gradient step of every model on its own mini-batch    (K, B, J), (K, B), (K, B)
    bag.publish()          the learned parameters become the ones that `scores` uses

An input x is a row of J categorical ids in one shared id space 0 .. features-1. A sample carries a weight w
(how many log-losses it stands for) and y clicks among them. The plain sample (x, r) is w=1, y=r; a sample
drawn twice is w=2, y=2r; a sample with fake clicks and fake non-clicks beside it is w=1+F1+F0, y=r+F1.
"""
from functools import lru_cache

import numpy as np


TINY = 1e-30
_ones = lru_cache(np.ones)
_zeros = lru_cache(np.zeros)


def sum_last(a):
    """Sum over the last axis: a product with ones is several times faster than a.sum(-1) when that axis is short."""
    return a @ _ones(a.shape[-1])


def sigmoid(z):
    """1 / (1 + exp(-z)); the exponent is capped so that no z overflows (exp(-80) is far below float32's rounding)."""
    return 1.0 / (1.0 + np.exp(np.minimum(-z, 80.0)))


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

    def step(self, gradient, rows=None):
        self.parameter[... if rows is None else rows] -= self.learning_rate * gradient


class Adam:
    """Adam (Kingma & Ba 2015, Algorithm 1) on one parameter array, in place."""

    def __init__(self, parameter, learning_rate, beta1=0.9, beta2=0.999, eps=1e-8):
        self.parameter, self.learning_rate = parameter, learning_rate
        self.beta1, self.beta2, self.eps = beta1, beta2, eps
        self.m = np.zeros_like(parameter)     # first moment: mean of the gradients
        self.v = np.zeros_like(parameter)     # second moment: mean of their squares
        self.t, self.scratch = 0, np.empty_like(parameter)

    def step(self, gradient, rows=None):
        """parameter -= learning_rate * m_hat / (sqrt(v_hat) + eps), on all rows or only on those given (lazy Adam).

        m_hat = m / c1 and v_hat = v / c2, with the root of c2 taken out. A row that is not given stays as it is,
        its moments too; the bias is corrected by the number of all steps, so a row's first steps are larger than plain
        Adam's. The tiny addend keeps the moments of units that died out of the subnormal numbers, which are slow.
        """
        self.t += 1
        c1, root_c2 = 1.0 - self.beta1 ** self.t, (1.0 - self.beta2 ** self.t) ** 0.5
        m, v = (self.m, self.v) if rows is None else (self.m.take(rows, axis=0), self.v.take(rows, axis=0))
        move = self.scratch[:len(m)]                          # one array for all that follows: no large temporaries
        np.subtract(gradient, m, out=move)
        move *= 1.0 - self.beta1
        m += move                                             # m = beta1 m + (1 - beta1) gradient
        m += TINY
        np.multiply(gradient, gradient, out=move)
        move -= v
        move *= 1.0 - self.beta2
        v += move                                             # v = beta2 v + (1 - beta2) gradient^2
        v += TINY
        np.sqrt(v, out=move)
        move += self.eps * root_c2
        np.divide(m, move, out=move)
        move *= self.learning_rate * root_c2 / c1
        if rows is None:
            self.parameter -= move
        else:
            self.parameter[rows] -= move
            self.m[rows], self.v[rows] = m, v


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


class MLPBag:
    """K embedding networks (Section 5.2): an 8-vector per id, concatenated, two ReLU layers of 128, one logit.

        e = [E[x_1], ..., E[x_J]]     h1 = relu(e W1 + b1)     h2 = relu(h1 W2 + b2)     z = h2 w3 + b3

    With `dropout` each unit of h2 is dropped in training with that probability, drawn from `rng`. `items` (n, I)
    holds the ids of the last I fields for each of n items (ads): a request that names its candidates by item, an
    object with `context` ids and `items` indices, is then served fast, with the context's half of the first layer
    computed once and the items' half looked up in a table that `publish` refreshes. Embedding rows that a batch
    does not touch stay untouched (lazy Adam). float32 for running, float64 for checking.
    """

    def __init__(self, fields, features, rngs, learning_rate=0.001, optimizer=Adam, dropout=0.0, rng=None, items=None,
                 dtype=np.float32, embedding=8, hidden=128):
        K, H, width = len(rngs), hidden, fields * embedding
        if dropout and rng is None:
            raise ValueError(f"rng must be a random generator when dropout is above 0, got dropout {dropout}")
        self.K, self.features, self.hidden, self.dropout, self.rng, self.items, self.dtype = K, features, H, dropout, rng, items, dtype
        shapes = dict(W1=(width, H), b1=(H,), W2=(H, H), b2=(H,), w3=(H,), b3=(1,))
        spread = dict(W1=(2 / width) ** 0.5, W2=(2 / H) ** 0.5, w3=(1 / H) ** 0.5)        # He's for ReLU layers, biases 0
        self.E = np.concatenate([0.1 * rng.standard_normal((features, embedding)) for rng in rngs]).astype(dtype)
        self.dense = np.stack([np.concatenate([(spread.get(name, 0.0) * rng.standard_normal(shape)).ravel()
                                               for name, shape in shapes.items()]) for rng in rngs]).astype(dtype)
        self.gradients = np.zeros_like(self.dense)                          # (K, all weights and biases of a network)
        ends = np.cumsum([np.prod(shape) for shape in shapes.values()])[:-1]

        def views(flat):                                                    # W1, b1, ... by name, as parts of one array
            return {name: part.reshape(K, *shape) for (name, shape), part in zip(shapes.items(), np.split(flat, ends, axis=1))}
        self.p, self.g = views(self.dense), views(self.gradients)
        self.dense_optimizer, self.row_optimizer = optimizer(self.dense, learning_rate), optimizer(self.E, learning_rate)
        self.offset = np.arange(K)[:, None, None] * features                # (K, 1, 1): model k's rows of E
        self.published_E, self.published_dense = np.empty_like(self.E), np.empty_like(self.dense)
        self.served = [[part[k] for part in views(self.published_dense).values()] for k in range(K)]     # W1 to b3 of model k
        if items is not None:
            self.split = width - items.shape[1] * embedding                 # rows of W1 for the context, then for the item
            self.projected = np.empty((K, len(items), H), dtype)            # every item's half of layer one
            self.rows = np.empty((2, 0, H), dtype)
        self.publish()

    def publish(self):
        np.copyto(self.published_E, self.E)
        np.copyto(self.published_dense, self.dense)
        if self.items is not None:
            for k in range(self.K):
                e = self.published_E.take(self.items + k * self.features, axis=0).reshape(len(self.items), -1)
                np.matmul(e, self.served[k][0][self.split:], out=self.projected[k])

    def scores(self, k, X, mask=None):
        """Logits of the published model k; `mask` (128,) multiplies the units of h2 (MC-Dropout).

        As relu(a + c) = max(a, -c) + c for a row c, what is the same for all candidates is added to their sums at
        the end instead of to all their units: two passes over the (m, 128) numbers instead of four.
        """
        W1, b1, W2, b2, w3, b3 = self.served[k]
        if self.items is not None and hasattr(X, "items"):
            if len(X) > self.rows.shape[1]:
                self.rows = np.empty((2, len(X), W2.shape[0]), self.dtype)
            a, h = self.rows[:, :len(X)]                                    # (m, 128) twice, memory used again and again
            self.projected[k].take(X.items, axis=0, out=a, mode="clip")
            c1 = self.published_E.take(X.context + k * self.features, axis=0).ravel() @ W1[:self.split] + b1
        else:
            X = np.asarray(X)
            a, c1 = self.published_E.take(X + k * self.features, axis=0).reshape(len(X), -1) @ W1, b1
            h = np.empty_like(a)
        np.matmul(np.maximum(a, -c1, out=a), W2, out=h)
        c2 = c1 @ W2 + b2
        w3 = w3 if mask is None else w3 * mask
        return np.maximum(h, -c2, out=h) @ w3 + (c2 @ w3 + b3)              # (m,)

    def forward(self, flat, mask=None):
        """Training pass: embeddings, hidden layers, logits; `flat` (K, B, J) indexes the rows of E."""
        K, B, _ = flat.shape
        e = self.E.take(flat, axis=0).reshape(K, B, -1)                     # (K, B, 8 J)
        h1 = relu(np.matmul(e, self.p["W1"]) + self.p["b1"][:, None])       # (K, B, 128)
        h2 = relu(np.matmul(h1, self.p["W2"]) + self.p["b2"][:, None])
        if mask is not None:
            h2 *= mask
        z = np.matmul(h2, self.p["w3"][:, :, None])[:, :, 0] + self.p["b3"] # (K, B)
        return e, h1, h2, z

    def gradient(self, X, w, y):
        """Backpropagation of the log-loss summed over a batch and divided by its B real samples (see LogisticBag).

        Fills self.g; returns the touched rows of E and their gradients (rows, 8).
        """
        K, B, J = X.shape
        flat, mask = X + self.offset, None
        if self.dropout:
            mask = (self.rng.random((K, B, self.hidden)) >= self.dropout).astype(self.dtype)
            mask /= 1.0 - self.dropout
        e, h1, h2, z = self.forward(flat, mask)
        error = log_loss_gradient(z, w, y)                                  # (K, B)
        error *= 1.0 / B
        np.matmul(error[:, None], h2, out=self.g["w3"][:, None])            # d z / d w3 = h2, masked as in the forward pass
        self.g["b3"][:, 0] = error.sum(axis=1)
        d2 = error[:, :, None] * self.p["w3"][:, None]                      # (K, B, 128), d loss / d h2
        d2 *= h2 > 0
        if mask is not None:
            d2 *= mask
        np.matmul(h1.transpose(0, 2, 1), d2, out=self.g["W2"])
        d2.sum(axis=1, out=self.g["b2"])
        d1 = np.matmul(d2, self.p["W2"].transpose(0, 2, 1))
        d1 *= h1 > 0
        np.matmul(e.transpose(0, 2, 1), d1, out=self.g["W1"])
        d1.sum(axis=1, out=self.g["b1"])
        d0 = np.matmul(d1, self.p["W1"].transpose(0, 2, 1)).reshape(K * B * J, -1)
        return sum_rows(flat.ravel(), d0)

    def update(self, X, w, y):
        rows, row_gradients = self.gradient(X, w, y)
        self.dense_optimizer.step(self.gradients)
        self.row_optimizer.step(row_gradients, rows)


def relu(h):
    """max(h, 0) in place; a row of zeros is faster than the number 0 here."""
    return np.maximum(h, _zeros(h.shape[-1], h.dtype), out=h)


def sum_rows(ids, values):
    """The distinct ids and, for each, the sum of its rows of values: repeated ids add up, nothing is dropped."""
    order = ids.astype(np.int32).argsort()                                  # twice as fast as on int64
    ids = ids[order]
    first = np.flatnonzero(np.append(True, ids[1:] != ids[:-1]))
    return ids[first], np.add.reduceat(values.take(order, axis=0), first, axis=0)
