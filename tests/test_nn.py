"""The models and their training: log-loss, Adam, logistic bag, network, fast serving."""
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import envs
import guideboot as gb
import nn

SEEDS = st.integers(0, 2 ** 32 - 1)
FEATURES = 9                                    # few ids, so that they repeat in every batch
NAMES = ("W1", "b1", "W2", "b2", "w3", "b3")


def generators(K, seed=0):
    return [np.random.default_rng([seed, k]) for k in range(K)]


def logistic(K=2, seed=0, features=FEATURES, **options):
    return nn.LogisticBag(features, generators(K, seed), **options)


def mlp(K=2, seed=0, dtype=np.float64, hidden=16, **options):
    return nn.MLPBag(3, FEATURES, generators(K, seed), dtype=dtype, hidden=hidden, **options)


def batch(rng, K, B):
    """Ids that repeat within rows and batch, weights with zeros, clicks within the weights."""
    X = rng.integers(0, FEATURES, (K, B, 3))
    w = rng.integers(0, 4, (K, B))
    return X, w, rng.binomial(w, 0.4)


# ---------------------------------------------------------------- the log-loss

def test_sum_last_is_the_sum_over_the_last_axis():
    a = np.random.default_rng(0).standard_normal((4, 5, 3))
    np.testing.assert_allclose(nn.sum_last(a), a.sum(axis=-1), rtol=1e-14)


@given(st.floats(-700, 700), st.integers(0, 3), st.integers(0, 3))
def test_log_loss_is_the_likelihood_of_clicks_and_non_clicks_at_any_logit(z, clicks, others):
    """-y log s(z) - (w - y) log s(-z), where log s(z) = -log(1 + exp(-z)) and s(-z) = 1 - s(z)."""
    log_s = -math.log1p(math.exp(-z))
    expected = -clicks * log_s - others * (log_s - z)
    loss = nn.log_loss(np.array(z), clicks + others, clicks)
    assert loss == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_log_loss_gradient_is_the_slope_of_log_loss():
    z = np.linspace(-5, 5, 21)
    for w, y in ((1, 0), (1, 1), (3, 2), (0, 0)):
        slope = (nn.log_loss(z + 1e-6, w, y) - nn.log_loss(z - 1e-6, w, y)) / 2e-6
        np.testing.assert_allclose(nn.log_loss_gradient(z, w, y), slope, atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extreme_logits_raise_no_warning_and_stay_finite(dtype):
    z = np.array([-1e30, -1000, -100, 0, 100, 1000, 1e30], dtype)
    with np.errstate(all="raise", under="ignore"):
        s = nn.sigmoid(z)
        loss = nn.log_loss(z, 1.0, 1.0)
    assert s.dtype == dtype
    assert (np.diff(s) >= 0).all()
    assert 0 < s[0] < 1e-34 and s[3] == 0.5 and s[-1] == 1
    assert np.isfinite(loss).all()
    assert loss[0] == pytest.approx(1e30) and loss[-1] == 0


def test_sigmoid_of_nan_is_nan():
    """A model that diverged is not hidden: whoever takes the largest score has to notice."""
    assert np.isnan(nn.sigmoid(np.array(np.nan)))


# ---------------------------------------------------------------- Adam

def textbook_adam(parameter, gradients, learning_rate, beta1=0.9, beta2=0.999, eps=1e-8):
    """The four lines of the class's docstring."""
    m = v = 0.0
    for t, g in enumerate(gradients, start=1):
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g ** 2
        m_hat, v_hat = m / (1 - beta1 ** t), v / (1 - beta2 ** t)
        parameter = parameter - learning_rate * m_hat / (np.sqrt(v_hat) + eps)
    return parameter


@given(SEEDS, st.sampled_from([{}, dict(beta1=0.5, beta2=0.8, eps=0.1)]))
def test_adam_equals_the_textbook(seed, options):
    rng = np.random.default_rng(seed)
    start = rng.standard_normal((3, 4))
    gradients = rng.standard_normal((30, 3, 4)) * rng.choice([1e-6, 1.0, 1e3], (3, 4))
    parameter = start.copy()
    adam = nn.Adam(parameter, 0.1, **options)
    for gradient in gradients:
        adam.step(gradient)
    np.testing.assert_allclose(parameter, textbook_adam(start, gradients, 0.1, **options),
                               rtol=1e-10, atol=1e-12)


def test_adam_first_two_steps_worked_by_hand():
    """Learning rate 0.1, gradients 1 then -2. Step 1: m_hat = v_hat = 1, so the move is 0.1.

    Step 2: m = 0.9 * 0.1 - 0.1 * 2 = -0.11, m_hat = -0.11 / 0.19; v = 0.999 * 0.001 + 0.001 * 4
    = 0.004999, v_hat = 0.004999 / 0.001999; the move is 0.1 * m_hat / sqrt(v_hat) = -0.036610.
    """
    theta = np.array([0.0])
    adam = nn.Adam(theta, 0.1)
    adam.step(np.array([1.0]))
    assert theta[0] == pytest.approx(-0.1, abs=1e-8)
    adam.step(np.array([-2.0]))
    assert theta[0] == pytest.approx(-0.1 + 0.036610, abs=1e-6)


def test_lazy_adam_equals_adam_on_an_array_of_the_given_rows_alone():
    whole = np.arange(8.0).reshape(4, 2)
    part = whole[[1, 3]]
    lazy, dense = nn.Adam(whole, 0.1), nn.Adam(part, 0.1)
    for gradient in np.random.default_rng(0).standard_normal((3, 2, 2)):
        lazy.step(gradient, np.array([1, 3]))
        dense.step(gradient)
    assert (whole[[1, 3]] == part).all()
    assert whole[0].tolist() == [0, 1] and whole[2].tolist() == [4, 5]


def test_lazy_adam_corrects_by_all_steps_and_keeps_the_moments_of_rows_not_given():
    """Row 1 comes at step 3, with gradient 1: m = 0.1 and v = 0.001, corrected with t = 3. Row 0
    has gradient 1 at steps 1 and 2: m = 0.19 and v = 0.001999 then, and still after step 3.
    """
    theta = np.zeros(2)
    adam = nn.Adam(theta, 0.1)
    adam.step(np.ones(1), np.array([0]))
    adam.step(np.ones(1), np.array([0]))
    adam.step(np.ones(1), np.array([1]))
    m_hat, v_hat = 0.1 / (1 - 0.9 ** 3), 0.001 / (1 - 0.999 ** 3)
    np.testing.assert_allclose(theta, [-0.2, -0.1 * m_hat / v_hat ** 0.5], rtol=1e-6)
    np.testing.assert_allclose(adam.m, [0.19, 0.1], rtol=1e-12)
    np.testing.assert_allclose(adam.v, [0.001999, 0.001], rtol=1e-12)


def test_moments_of_dead_units_do_not_become_subnormal_and_move_nothing():
    """One gradient of 1e-4, then zeros: 0.9^2000 is far below float32's smallest normal number,
    1.2e-38, and with beta2 = 0.9 the second moment decays as far."""
    parameter = np.zeros(4, np.float32)
    adam = nn.Adam(parameter, 0.001, beta2=0.9)
    adam.step(np.full(4, 1e-4, np.float32))
    for _ in range(1500):
        adam.step(np.zeros(4, np.float32))
    before = parameter.copy()
    for _ in range(500):
        adam.step(np.zeros(4, np.float32))
    assert (adam.m > 1.2e-38).all() and (adam.v > 1.2e-38).all()
    assert (parameter == before).all()


@pytest.mark.parametrize("rate", [0, -0.1, math.inf, math.nan])
def test_a_learning_rate_must_be_finite_and_above_zero(rate):
    for make in (logistic, mlp):
        with pytest.raises(ValueError, match=f"learning_rate must be a finite .* got {rate}"):
            make(learning_rate=rate)


# ---------------------------------------------------------------- the logistic bag

def logistic_loss(theta, X, w, y):
    """Log-loss of all models divided by the B real samples, row by row."""
    total = 0.0
    for k, i in np.ndindex(w.shape):
        z = theta[k, -1] + sum(theta[k, j] for j in X[k, i])
        total += nn.log_loss(z, w[k, i], y[k, i]) / w.shape[1]
    return total


@given(SEEDS, st.integers(1, 3), st.integers(1, 6))
def test_logistic_gradient_equals_finite_differences_along_a_random_direction(seed, K, B):
    rng = np.random.default_rng(seed)
    model = logistic(K, seed, init=1.0)
    X, w, y = batch(rng, K, B)
    direction = rng.standard_normal(model.theta.shape)
    step = 1e-5 * direction
    above = logistic_loss(model.theta + step, X, w, y)
    below = logistic_loss(model.theta - step, X, w, y)
    numeric = (above - below) / 2e-5
    analytic = (model.gradient(X, w, y) * direction).sum()
    assert numeric == pytest.approx(analytic, rel=1e-7, abs=1e-7)


def test_logistic_gradient_adds_up_repeated_ids_worked_by_hand():
    """At theta = 0 sigmoid is 1/2. Rows [0, 1], [0, 2] with r = 1, 0 have errors -1/2, +1/2, each
    divided by B = 2. Id 0: -1/4 + 1/4 = 0; id 1: -1/4; id 2: +1/4; bias: 0. A row [0, 0] counts
    id 0 twice: error -1/2 makes -1."""
    model = logistic(1, features=3, init=0.0)
    gradient = model.gradient(np.array([[[0, 1], [0, 2]]]), np.ones((1, 2)), np.array([[1, 0]]))
    np.testing.assert_allclose(gradient, [[0, -0.25, 0.25, 0]], atol=1e-15)
    gradient = model.gradient(np.array([[[0, 0]]]), np.ones((1, 1)), np.array([[1]]))
    np.testing.assert_allclose(gradient, [[-1, 0, 0, -0.5]], atol=1e-15)


@given(SEEDS)
def test_a_weight_equals_repeated_rows(seed):
    """A row with weight w and w r clicks is the row w times (OBB); weight 0 is no row."""
    rng = np.random.default_rng(seed)
    X, r = rng.integers(0, FEATURES, (1, 6, 3)), rng.integers(0, 2, (1, 6))
    w = rng.poisson(1.0, (1, 6))
    w[0, 0] += 1
    model = logistic(1, seed, init=1.0)
    X_long, r_long = X[:, np.repeat(range(6), w[0])], r[:, np.repeat(range(6), w[0])]
    weighted = model.gradient(X, w, w * r) * 6
    repeated = model.gradient(X_long, np.ones(r_long.shape), r_long) * r_long.shape[1]
    np.testing.assert_allclose(weighted, repeated, rtol=1e-12, atol=1e-13)


def test_logistic_scores_are_the_published_logits():
    model = logistic(2, 1, init=1.0)
    X = np.array([[0, 3, 5], [1, 1, 7]])
    expected = [model.theta[1, -1] + model.theta[1, x].sum() for x in X]
    np.testing.assert_allclose(model.scores(1, X), expected, rtol=1e-14)
    model.update(np.stack([X, X]), np.ones((2, 2)), np.ones((2, 2)))
    np.testing.assert_allclose(model.scores(1, X), expected, rtol=1e-14)     # not yet published
    model.publish()
    assert (model.scores(1, X) > expected).all()                             # clicks raise logits


def test_a_bag_learns_the_frequencies_of_its_data():
    """Id 0 clicks 3 times in 4, id 1 once in 4: at the optimum the logits are +-log 3."""
    model = logistic(1, features=2, learning_rate=0.05, init=0.0)
    X = np.repeat([0, 1], 4).reshape(1, 8, 1)
    y = np.array([[1, 1, 1, 0, 1, 0, 0, 0]])
    for _ in range(2000):
        model.update(X, np.ones((1, 8)), y)
    model.publish()
    logits = model.scores(0, np.array([[0], [1]]))
    np.testing.assert_allclose(logits, [math.log(3), -math.log(3)], atol=1e-3)


# ---------------------------------------------------------------- both bags

def parameters(model):
    return [model.theta] if isinstance(model, nn.LogisticBag) else [model.E, *model.weights]


@pytest.mark.parametrize("make", [logistic, mlp])
def test_a_bag_of_three_equals_three_bags_of_one(make):
    rng = np.random.default_rng(0)
    together = make(3)
    alone = [make(1), make(1), make(1)]
    for k in range(3):
        for one, three in zip(parameters(alone[k]), parameters(together)):
            one[0] = three[k]
    for _ in range(4):
        X, w, y = batch(rng, 3, 7)
        together.update(X, w, y)
        for k in range(3):
            alone[k].update(X[[k]], w[[k]], y[[k]])
    for k in range(3):
        for one, three in zip(parameters(alone[k]), parameters(together)):
            np.testing.assert_allclose(one[0], three[k], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("make", [logistic, mlp])
def test_models_start_differently_each_from_its_own_generator(make):
    two, five = make(2), make(5)
    for few, many in zip(parameters(two), parameters(five)):
        assert (few == many[:2]).all()
        assert not many.any() or len(np.unique(many)) == many.size           # biases are all 0


# ---------------------------------------------------------------- the network's gradient

def plain_logit(parameters, x, mask=1.0):
    """One network on one row x, straight from the docstring."""
    E, W1, b1, W2, b2, w3, b3 = parameters
    e = np.concatenate([E[i] for i in x])
    h1 = np.maximum(e @ W1 + b1[0], 0)
    h2 = np.maximum(h1 @ W2 + b2[0], 0) * mask
    return h2 @ w3[0] + b3[0, 0]


def mlp_loss(model, X, w, y, mask):
    """Log-loss of all models divided by the B real samples, row by row."""
    total = 0.0
    for k, i in np.ndindex(w.shape):
        z = plain_logit([p[k] for p in parameters(model)], X[k, i], mask[k, i])
        total += nn.log_loss(z, w[k, i], y[k, i]) / w.shape[1]
    return total


def gradients(model, X, w, y):
    """The gradients of E and all weights, as arrays of the parameters' shapes."""
    rows, row_gradients = model.gradient(X, w, y)
    dE = np.zeros_like(model.table)
    dE[rows] = row_gradients
    return [dE.reshape(model.E.shape), *model.gradients]


@settings(max_examples=70)
@given(SEEDS, st.integers(0, 6), st.sampled_from([0.0, 0.4]))
def test_gradient_of_every_parameter_equals_finite_differences(seed, which, dropout):
    """Along a random direction of one parameter at a time, dropout's mask being the same."""
    rng = np.random.default_rng(seed)
    model = mlp(seed=seed, dropout=dropout, rng=np.random.default_rng([seed, 9]))
    for p in parameters(model):
        p += 0.1 * rng.standard_normal(p.shape)                              # biases, too
    X, w, y = batch(rng, 2, 5)
    mask = (np.random.default_rng([seed, 9]).random((2, 5, 16)) >= dropout) / (1 - dropout)
    analytic = gradients(model, X, w, y)[which]
    parameter = parameters(model)[which]
    direction = rng.standard_normal(parameter.shape)
    start = parameter.copy()
    parameter[...] = start + 1e-6 * direction
    above = mlp_loss(model, X, w, y, mask)
    parameter[...] = start - 1e-6 * direction
    numeric = (above - mlp_loss(model, X, w, y, mask)) / 2e-6
    assert numeric == pytest.approx((analytic * direction).sum(), rel=2e-6, abs=2e-6)


@given(SEEDS)
def test_gradient_with_fakes_equals_appended_rows(seed):
    """The fused fakes (weight 1 + F1 + F0, clicks r + F1) against rows appended one by one."""
    rng = np.random.default_rng(seed)
    model = mlp(1, seed)
    X, r = rng.integers(0, FEATURES, (1, 6, 3)), rng.integers(0, 2, (1, 6))
    F1, F0 = rng.integers(0, 2, (2, 1, 6)).astype(bool)
    fused = [6 * g for g in gradients(model, X, 1 + F1 + F0, r + F1)]
    X_long = np.concatenate([X[0], X[F1], X[F0]])[None]
    r_long = np.concatenate([r[0], np.ones(F1.sum()), np.zeros(F0.sum())])[None]
    literal = gradients(model, X_long, np.ones(r_long.shape), r_long)
    for short, long in zip(fused, literal):
        np.testing.assert_allclose(short, r_long.size * long, rtol=1e-10, atol=1e-13)


def test_sum_rows_adds_up_repeated_ids_worked_by_hand():
    values = np.array([[1.0, 10], [2, 20], [3, 30], [4, 40], [5, 50]])
    ids, sums = nn.sum_rows(np.array([5, 2, 5, 0, 5]), values)
    assert ids.tolist() == [0, 2, 5]
    assert sums.tolist() == [[4, 40], [2, 20], [9, 90]]


@given(SEEDS, st.integers(1, 40))
def test_sum_rows_equals_numpys_add_at(seed, n):
    rng = np.random.default_rng(seed)
    ids, values = rng.integers(0, 12, n), rng.standard_normal((n, 3))
    plain = np.zeros((12, 3))
    np.add.at(plain, ids, values)
    distinct, sums = nn.sum_rows(ids, values)
    assert distinct.tolist() == sorted(set(ids.tolist()))
    np.testing.assert_allclose(sums, plain[distinct], rtol=1e-12, atol=1e-13)


def test_an_update_is_a_step_of_adam_on_every_parameter():
    """Adam's first step is learning_rate g / (|g| + eps), so all but sure by the sign of g."""
    model = mlp(learning_rate=0.3)
    X, w, y = batch(np.random.default_rng(0), 2, 5)
    gradient = [g.copy() for g in gradients(model, X, w, y)]
    before = [p.copy() for p in parameters(model)]
    model.update(X, w, y)
    for old, g, new in zip(before, gradient, parameters(model)):
        np.testing.assert_allclose(new, old - 0.3 * g / (abs(g) + 1e-8), atol=1e-12)


def test_embeddings_that_a_batch_does_not_touch_stay_as_they_are():
    """Lazy Adam: rows 0 to 4 are trained, then row 7 alone; rows 0 to 4 keep their values."""
    model = mlp(1)
    ones = np.ones((1, 6))
    for _ in range(3):
        model.update(np.random.default_rng(0).integers(0, 5, (1, 6, 3)), ones, ones)
    before = model.E.copy()
    model.update(np.full((1, 6, 3), 7), ones, ones)
    moved = (model.E != before).all(axis=2)[0]
    assert moved.tolist() == [i == 7 for i in range(FEATURES)]
    assert (model.E == before)[0, :7].all()


def test_training_with_dropout_draws_fresh_masks_with_the_stated_rate():
    """In a batch of one, the gradient of w3 is zero where a unit is dropped: about 40 %."""
    model = mlp(1, dropout=0.4, rng=np.random.default_rng(0), hidden=2000)
    plain = mlp(1, hidden=2000)
    X, one = np.array([[[0, 3, 5]]]), np.ones((1, 1))
    active = gradients(plain, X, one, one)[5] != 0
    dropped = [gradients(model, X, one, one)[5][active] == 0 for _ in range(3)]
    for mask in dropped:
        assert abs(mask.mean() - 0.4) < 5 * (0.24 / mask.size) ** 0.5
    assert (dropped[0] != dropped[1]).any() and (dropped[1] != dropped[2]).any()


def test_running_stays_in_float32_whatever_the_types_of_numbers_weights_and_clicks():
    model = nn.ServedAds(3, FEATURES, generators(2), ITEMS, learning_rate=np.float64(0.01),
                         dropout=np.float64(0.1), rng=np.random.default_rng(0))
    X, w, y = batch(np.random.default_rng(0), 2, 5)
    for weights in (w, w.astype(float), w.astype(np.int8)):
        rows, row_gradients = model.gradient(X, weights, y)
        assert row_gradients.dtype == np.float32
        assert nn.log_loss_gradient(np.zeros((2, 5), np.float32), weights, y).dtype == np.float32
    model.update(X, w, y)
    model.publish()
    adam = model.optimizers[0]
    arrays = [*parameters(model), *model.gradients, *model.published, model.projected,
              adam.m, adam.v, adam.move(adam.m, adam.v, adam.m),
              model.scores(0, request([2], [4, 0])), nn.MLPBag.scores(model, 0, X[0])]
    assert {a.dtype for a in arrays} == {np.dtype(np.float32)}


# ---------------------------------------------------------------- how a network begins

def test_initial_weights_have_hes_spread_and_biases_are_zero():
    """Five standard errors of a standard deviation are 5 / sqrt(2 n)."""
    model = nn.MLPBag(10, 500, generators(3))
    expected = dict(E=0.1, W1=(2 / 80) ** 0.5, W2=(2 / 128) ** 0.5, w3=(1 / 128) ** 0.5,
                    b1=0, b2=0, b3=0)
    for name, p in zip(("E", *NAMES), parameters(model)):
        assert abs(p.std() - expected[name]) <= expected[name] * 5 / (2 * p.size) ** 0.5, name


def test_the_defaults_are_the_papers_network_and_adams_usual_rate():
    """Section 5.2: an 8-vector per id, two layers of 128. 25 fields make a first layer 200 wide."""
    model = nn.MLPBag(25, 40, generators(1))
    shapes = [p.shape for p in parameters(model)]
    assert shapes == [(1, 40, 8), (1, 200, 128), (1, 1, 128), (1, 128, 128), (1, 1, 128),
                      (1, 1, 128), (1, 1, 1)]
    assert model.dropout == 0 and model.dtype == np.float32
    assert model.optimizers[0].learning_rate == model.table_optimizer.learning_rate == 0.001
    regression = nn.LogisticBag(2000, generators(1))
    assert regression.optimizer.learning_rate == 0.01
    assert abs(regression.theta.std() - 0.1) < 5 * 0.1 / 4000 ** 0.5


@pytest.mark.parametrize("dropout", [-0.1, 1, 1.5, math.nan])
def test_dropout_must_be_a_probability_below_one(dropout):
    with pytest.raises(ValueError, match=f"dropout must be at least 0 and below 1, got {dropout}"):
        mlp(dropout=dropout, rng=np.random.default_rng(0))


def test_dropout_needs_a_generator():
    with pytest.raises(ValueError, match="rng must be a generator if dropout is 0.1, got None"):
        mlp(dropout=0.1)


# ---------------------------------------------------------------- serving

ITEMS = np.array([[4, 7], [5, 8], [6, 7], [4, 8], [6, 8]])       # the last two of three fields


def request(context, items):
    return envs.Request(np.array(context), np.array(items), ITEMS)


def test_scores_are_the_logits_of_the_published_parameters():
    model = mlp()
    X = np.array([[0, 3, 5], [1, 1, 7]])
    exact = [plain_logit([p[1] for p in parameters(model)], x) for x in X]
    model.update(*batch(np.random.default_rng(0), 2, 6))
    np.testing.assert_allclose(model.scores(1, X), exact, atol=1e-12)        # not yet published
    model.publish()
    learned = [plain_logit([p[1] for p in parameters(model)], x) for x in X]
    np.testing.assert_allclose(model.scores(1, X), learned, atol=1e-12)
    assert abs(np.subtract(learned, exact)).max() > 1e-3


@given(SEEDS)
def test_shifted_relu_plus_its_shift_is_relu(seed):
    rng = np.random.default_rng(seed)
    a, c = rng.standard_normal((5, 4)), rng.standard_normal((1, 4))
    plain = nn.relu(a + c)
    np.testing.assert_allclose(nn.shifted_relu(a, c) + c, plain, atol=1e-14)


@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-12), (np.float32, 2e-6)])
def test_fast_serving_equals_the_plain_forward_pass_also_right_after_learning(dtype, tolerance):
    """A stale table of projected items is the bug to fear: compare before and after publishing."""
    model = nn.ServedAds(3, FEATURES, generators(3), ITEMS, dtype=dtype)
    rng = np.random.default_rng(1)
    r = request([2], [4, 0, 3])
    first = model.scores(1, r)
    for _ in range(3):
        fast = model.scores(1, r)
        exact = [plain_logit([p[1] for p in parameters(model)], x) for x in np.asarray(r)]
        np.testing.assert_allclose(fast, exact, atol=tolerance)
        np.testing.assert_allclose(nn.MLPBag.scores(model, 1, r), exact, atol=tolerance)
        for _ in range(5):
            model.update(*batch(rng, 3, 6))
        assert (model.scores(1, r) == fast).all()                            # not yet published
        model.publish()
    assert abs(model.scores(1, r) - first).max() > 1e-3


@pytest.mark.parametrize("items", [[1], [0, 1, 2, 3, 4], [3, 2], [2, 2]])
def test_fast_serving_with_biases_and_a_mask_equals_the_plain_forward_pass(items):
    model = nn.ServedAds(3, FEATURES, generators(2), ITEMS, dtype=np.float64, hidden=16)
    rng = np.random.default_rng(0)
    for p in parameters(model):
        p += rng.standard_normal(p.shape)
    model.publish()
    r = request([1], items)
    for mask in (None, rng.integers(0, 2, 16) / 0.5):
        exact = [plain_logit([p[0] for p in parameters(model)], x, 1 if mask is None else mask)
                 for x in np.asarray(r)]
        np.testing.assert_allclose(model.scores(0, r, mask), exact, rtol=1e-12)
        np.testing.assert_allclose(nn.MLPBag.scores(model, 0, r, mask), exact, rtol=1e-12)


# ---------------------------------------------------------------- in the loops

class Shelf:
    """Four products, three discounts: both sell, with expected rewards 0.1 to 0.8."""
    fields, features = 2, 7

    def __init__(self):
        self.rng = np.random.default_rng(0)

    def observe(self):
        self.X = np.column_stack([np.arange(4), 4 + self.rng.integers(0, 3, 4)])
        return self.X

    def _expected(self):
        return 0.1 + 0.1 * self.X[:, 0] + 0.2 * (self.X[:, 1] - 4)

    def pull(self, a):
        self.regret += self._expected().max() - self._expected()[a]
        self.random += self._expected().max() - self._expected().mean()
        return int(self.rng.random() < self._expected()[a])

    regret = random = 0.0


@pytest.mark.parametrize("loop", ["replay", "online"])
def test_networks_learn_a_small_stationary_task(loop):
    """Less than 0.4 of the regret of choosing at random."""
    model = nn.MLPBag(2, 7, generators(3), 0.01, hidden=32)
    agent = gb.GuideBoot(model, np.random.default_rng(0), gb.Harmonic(7))
    env = Shelf()
    if loop == "replay":
        gb.replay(agent, env, 1500, 16, every=4)
    else:
        gb.online(agent, env, 1500, 16, 4)
    assert env.regret < 0.4 * env.random


def test_either_bag_runs_on_either_task():
    ads = envs.Ads(0, "A", scale=0.01)
    for env, model in ((envs.Synthetic(0), nn.MLPBag(3, 35, generators(2), hidden=16)),
                       (ads, nn.LogisticBag(ads.features, generators(2)))):
        agent = gb.GuideBoot(model, np.random.default_rng(0), gb.Harmonic(env.features))
        start = [p.copy() for p in parameters(model)]
        gb.replay(agent, env, 40, 8)
        gb.online(agent, env, 40, 8)
        assert agent.density.count.sum() == 80 * env.fields
        assert all((p != old).any() for p, old in zip(parameters(model), start))


# ---------------------------------------------------------------- bad arguments

INF = math.inf


@pytest.mark.parametrize("check, good, bad, allowed", [
    (nn.positive, (1e-300, 1, 1e300), (0, -1, INF, math.nan), "a finite number above 0"),
    (nn.finite, (0, 0.5, 1e300), (-1e-9, INF, math.nan), "a finite number, 0 or more"),
    (nn.probability, (0, 0.5, 1), (-1e-9, 1.0001, math.nan), "0 to 1"),
    (nn.whole, (1, 2.0, np.int64(3)), (0, 1.5, -1, math.nan), "a whole number, 1 or more")])
def test_an_argument_is_passed_on_or_refused_with_its_name_value_and_what_is_allowed(
        check, good, bad, allowed):
    for value in good:
        assert check("x", value) == value
    for value in bad:
        with pytest.raises(ValueError) as error:
            check("x", value)
        assert str(error.value) == f"x must be {allowed}, got {value!r}"


def test_a_bag_needs_a_model():
    with pytest.raises(ValueError, match="rngs must be one random generator for each model"):
        nn.LogisticBag(5, [])
