"""The logistic bag, the log-loss and the optimizers."""
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nn

SEEDS = st.integers(0, 2 ** 32 - 1)


def bag(K, seed=0, features=8, **kw):
    return nn.LogisticBag(features, [np.random.default_rng([seed, k]) for k in range(K)], **kw)


def batch(rng, K, B, features=8, J=3):
    """Ids with many repeats, weights with zeros, clicks within the weights."""
    w = rng.integers(0, 4, (K, B))
    return rng.integers(0, features, (K, B, J)), w, rng.binomial(w, 0.4)


def mean_loss(model, theta, X, w, y):
    """Log-loss of every model divided by the B real samples, summed over models: written without the bag's code."""
    total = 0.0
    for k in range(len(X)):
        for x, wi, yi in zip(X[k], w[k], y[k]):
            z = theta[k, -1] + sum(theta[k, i] for i in x)
            total += (wi * math.log1p(math.exp(z)) - yi * z) / len(X[k])
    return total


@given(SEEDS, st.integers(1, 3), st.integers(1, 6))
def test_gradient_equals_finite_differences_along_a_random_direction(seed, K, B):
    rng = np.random.default_rng(seed)
    model = bag(K, seed, init=1.0)
    X, w, y = batch(rng, K, B, features=4)
    direction = rng.standard_normal(model.theta.shape)
    step = 1e-5
    numeric = (mean_loss(model, model.theta + step * direction, X, w, y)
               - mean_loss(model, model.theta - step * direction, X, w, y)) / (2 * step)
    analytic = (model.gradient(X, w, y) * direction).sum()
    assert abs(numeric - analytic) < 1e-7 * (1 + abs(analytic)), (numeric, analytic)


def test_gradient_adds_up_repeated_ids_worked_by_hand():
    """One model at theta = 0, so sigmoid = 1/2. Rows [0,1], [0,2] with r = 1, 0: errors -1/2, +1/2, halved by B = 2.

    id 0: -1/4 + 1/4 = 0; id 1: -1/4; id 2: +1/4; bias: 0. A row [0, 0] counts id 0 twice: error -1/2 gives -1.
    """
    model = bag(1, features=3, init=0.0)
    gradient = model.gradient(np.array([[[0, 1], [0, 2]]]), np.ones((1, 2)), np.array([[1, 0]]))
    np.testing.assert_allclose(gradient, [[0, -0.25, 0.25, 0]], atol=1e-15)
    gradient = model.gradient(np.array([[[0, 0]]]), np.ones((1, 1)), np.array([[1]]))
    np.testing.assert_allclose(gradient, [[-1, 0, 0, -0.5]], atol=1e-15)


@pytest.mark.parametrize("optimizer", [nn.Adam, nn.SGD])
@given(seed=SEEDS)
def test_a_batched_update_equals_separate_updates_of_single_models(optimizer, seed):
    rng = np.random.default_rng(seed)
    together = bag(3, seed, optimizer=optimizer)
    alone = [nn.LogisticBag(8, [np.random.default_rng([seed, k])], optimizer=optimizer) for k in range(3)]
    for _ in range(4):
        X, w, y = batch(rng, 3, 5)
        together.update(X, w, y)
        for k in range(3):
            alone[k].update(X[k:k + 1], w[k:k + 1], y[k:k + 1])
    for k in range(3):
        np.testing.assert_allclose(together.theta[k], alone[k].theta[0], rtol=1e-12, atol=1e-15)


@given(SEEDS)
def test_a_weight_equals_repeated_rows(seed):
    """Poisson's duplicates (OBB): a row with weight w and w r clicks is the row w times; weight 0 is no row."""
    rng = np.random.default_rng(seed)
    X, r, w = rng.integers(0, 8, (1, 6, 3)), rng.integers(0, 2, (1, 6)), rng.poisson(1.0, (1, 6))
    w[0, 0] += 1
    model = bag(1, seed, init=1.0)
    X_long, r_long = X[0].repeat(w[0], axis=0)[None], r[0].repeat(w[0])[None]
    weighted = model.gradient(X, w, w * r) * 6
    repeated = model.gradient(X_long, np.ones(r_long.shape), r_long) * r_long.shape[1]
    np.testing.assert_allclose(weighted, repeated, rtol=1e-12, atol=1e-13)


@given(st.floats(-700, 700), st.integers(0, 3), st.integers(0, 3))
def test_log_loss_is_safe_and_right_at_any_logit(z, w, y):
    """Against -y log s(z) - (w-y) log s(-z), with log s(z) = -log(1 + exp(-z)) in extended steps."""
    log_s = -math.log1p(math.exp(-z)) if z > -700 else z
    log_1_s = log_s - z
    expected = -y * log_s - (w - y) * log_1_s
    assert nn.log_loss(np.array(z), w, y) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extreme_logits_raise_no_warning_and_stay_finite(dtype):
    z = np.array([-1e30, -1000, -100, 0, 100, 1000, 1e30], dtype)
    with np.errstate(all="raise", under="ignore"):
        s = nn.sigmoid(z)
        loss = nn.log_loss(z, 1.0, 1.0)
    assert s.dtype == dtype and (np.diff(s) >= 0).all() and s[3] == 0.5 and s[0] < 1e-34 and s[-1] == 1
    assert np.isfinite(loss).all() and loss[-1] == 0 and loss[0] == pytest.approx(1e30)
    assert np.isnan(nn.sigmoid(np.array([np.nan], dtype))).all()                  # not hidden: the argmax refuses it


def test_adam_first_two_steps_worked_by_hand():
    """learning rate 0.1, gradients 1 then -2. Step 1: m_hat = 1, v_hat = 1, move 0.1.

    Step 2: m = 0.9*0.1 + 0.1*(-2) = -0.11, m_hat = -0.11/0.19; v = 0.999*0.001 + 0.001*4 = 0.004999,
    v_hat = 0.004999/0.001999; move 0.1 * m_hat / sqrt(v_hat) = -0.036610..., eps = 1e-8 each time.
    """
    theta = np.array([0.0])
    adam = nn.Adam(theta, 0.1)
    adam.step(np.array([1.0]))
    assert theta[0] == pytest.approx(-0.1 / (1 + 1e-8), rel=1e-14)
    adam.step(np.array([-2.0]))
    second = 0.1 * (-0.11 / 0.19) / (math.sqrt(0.004999 / 0.001999) + 1e-8)
    assert theta[0] == pytest.approx(-0.1 / (1 + 1e-8) - second, rel=1e-12)
    assert second == pytest.approx(-0.036610, abs=1e-6)


def test_sgd_step_by_hand():
    theta = np.array([1.0, 2.0])
    nn.SGD(theta, 0.5).step(np.array([4.0, -1.0]))
    assert theta.tolist() == [-1.0, 2.5]


def test_models_start_independently_and_depend_on_their_own_generator_alone():
    five, two = bag(5, 3), bag(2, 3)
    assert (five.theta[:2] == two.theta).all() and len(np.unique(five.theta)) == five.theta.size


def test_scores_are_the_published_logits():
    model = bag(2, 1, init=1.0)
    X = np.array([[0, 3, 5], [1, 1, 7]])
    expected = [model.theta[1, -1] + model.theta[1, x].sum() for x in X]
    np.testing.assert_allclose(model.scores(1, X), expected, rtol=1e-14)
    model.update(X[None].repeat(2, axis=0), np.ones((2, 2)), np.ones((2, 2)))
    np.testing.assert_allclose(model.scores(1, X), expected, rtol=1e-14)          # not yet published
    model.publish()
    assert (model.scores(1, X) > expected).all()                                  # clicks raise the logits


def test_a_bag_learns_the_frequencies_of_its_data():
    """Id 0 clicks 3 of 4 times, id 1 once in 4: at the optimum the logits are +-log 3 (no penalty, plenty of steps)."""
    model = bag(1, features=2, learning_rate=0.05, init=0.0)
    X, y = np.array([[[0]] * 4 + [[1]] * 4]).reshape(1, 8, 1), np.array([[1, 1, 1, 0, 1, 0, 0, 0]])
    for _ in range(2000):
        model.update(X, np.ones((1, 8)), y)
    model.publish()
    np.testing.assert_allclose(model.scores(0, np.array([[0], [1]])), [math.log(3), -math.log(3)], atol=1e-3)
