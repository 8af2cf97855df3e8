"""The models and their training: log-loss, Adam, both bags, their gradients, fast serving."""
import copy
import math
import pickle
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

import envs
import nn

SEEDS = st.integers(0, 2 ** 32 - 1)
FEATURES = 9                                    # few ids, so that they repeat in every batch
ITEMS = np.array([[4, 7], [5, 8], [6, 7], [4, 8], [6, 8]])       # the last two of three fields


def generators(K, seed=0):
    return [default_rng([seed, k]) for k in range(K)]


def logistic(K=2, seed=0, **options):
    return nn.LogisticBag(FEATURES, generators(K, seed), **options)


def mlp(K=2, seed=0, dtype=np.float64, hidden=16, **options):
    return nn.MLPBag(3, FEATURES, generators(K, seed), dtype=dtype, hidden=hidden, **options)


def served(dtype=np.float64, **options):
    return nn.ServedAds(3, FEATURES, generators(2), ITEMS, dtype=dtype, hidden=16, **options)


def parameters(bag):
    return [bag.theta] if isinstance(bag, nn.LogisticBag) else [bag.E, *bag.weights]


def gradients(bag, X, w, y):
    """The gradients of all parameters, copies in their shapes."""
    if isinstance(bag, nn.LogisticBag):
        return [bag.gradient(X, w, y)]
    rows, row_gradients = bag.gradient(X, w, y)
    dE = np.zeros_like(bag.E_rows)
    dE[rows] = row_gradients
    return [dE.reshape(bag.E.shape), *(g.copy() for g in bag.gradients)]


def plain_logit(bag, k, x, mask=1.0):
    """Model k on one row x, straight from the docstrings."""
    if isinstance(bag, nn.LogisticBag):
        return bag.theta[k, -1] + sum(bag.theta[k, i] for i in x)
    E, W1, b1, W2, b2, w3, b3 = [p[k] for p in parameters(bag)]
    e = np.concatenate([E[i] for i in x])
    h1 = np.maximum(e @ W1 + b1[0], 0)
    h2 = np.maximum(h1 @ W2 + b2[0], 0) * mask
    return h2 @ w3[0] + b3[0, 0]


def batch(rng, K, B):
    """Ids that repeat within rows and batch, weights with zeros, clicks within the weights."""
    X = rng.integers(0, FEATURES, (K, B, 3))
    w = rng.integers(0, 4, (K, B))
    return X, w, rng.binomial(w, 0.4)


# ---------------------------------------------------------------- the log-loss

@given(st.floats(-700, 700), st.integers(0, 3), st.integers(0, 3))
def test_log_loss_is_the_likelihood_of_clicks_and_non_clicks_at_any_logit(z, clicks, others):
    """-y log s(z) - (w - y) log s(-z), where log s(z) = -log(1 + exp(-z)) and s(-z) = 1 - s(z)."""
    log_s = -math.log1p(math.exp(-z))
    expected = -clicks * log_s - others * (log_s - z)
    loss = nn.log_loss(np.array(z), clicks + others, clicks)
    assert loss == pytest.approx(expected, rel=1e-12, abs=1e-12)


@given(st.floats(-30, 30), st.integers(0, 3), st.integers(0, 3))
def test_the_gradient_of_the_log_loss_is_its_slope_and_leaves_z_as_it_is(z, clicks, others):
    """Of log_loss, by a central difference: off by less than w h^2 / 60, and rounding by 1e-9."""
    h, given = 1e-5, np.array([z])
    ends = nn.log_loss(given + [-h, h], clicks + others, clicks)
    slope = nn.log_loss_gradient(given, clicks + others, clicks)
    assert slope == pytest.approx((ends[1] - ends[0]) / (2 * h), abs=1e-8)
    assert given == z


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extreme_logits_raise_no_warning_and_stay_finite_but_nan_is_not_hidden(dtype):
    z = np.array([-1e30, -1000, -100, 0, 100, 1000, 1e30], dtype)
    with np.errstate(all="raise", under="ignore"):
        s = nn.sigmoid(z)
        loss = nn.log_loss(z, 1.0, 1.0)
    assert s.dtype == dtype
    assert (np.diff(s) >= 0).all()
    assert 0 < s[0] < 1e-34 and s[3] == 0.5 and s[-1] == 1
    assert np.isfinite(loss).all()
    assert loss[0] == pytest.approx(1e30) and loss[-1] == 0
    assert np.isnan(nn.sigmoid(dtype(np.nan)))


# ---------------------------------------------------------------- Adam

def textbook_adam(parameter, steps, learning_rate, beta1=0.9, beta2=0.999, eps=1e-8):
    """The four lines of the class's docstring, for the steps (t, g)."""
    m = v = 0.0
    for t, g in steps:
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g ** 2
        m_hat = m / (1 - beta1 ** t)
        v_hat = v / (1 - beta2 ** t)
        parameter = parameter - learning_rate * m_hat / (np.sqrt(v_hat) + eps)
    return parameter


@pytest.mark.parametrize("lazy", [False, True])
@given(SEEDS, st.sampled_from([{}, dict(beta1=0.5, beta2=0.8, eps=0.1)]))
def test_adam_equals_the_textbook_on_all_rows_or_on_those_given(lazy, seed, options):
    """A row that is given at some steps alone meets these, with t the number of all steps."""
    rng = default_rng(seed)
    start = rng.standard_normal((3, 4))
    gradients = rng.standard_normal((30, 3, 4)) * rng.choice([1e-6, 1.0, 1e3], (3, 4))
    given = rng.random((30, 3)) < (0.5 if lazy else 1)
    parameter = start.copy()
    adam = nn.Adam(parameter, 0.1, **options)
    for gradient, rows in zip(gradients, given):
        if lazy:
            adam.step(parameter, gradient[rows], np.flatnonzero(rows))
        else:
            adam.step(parameter, gradient)
    for row in range(3):
        steps = [(1 + i, gradients[i, row]) for i in np.flatnonzero(given[:, row])]
        expected = textbook_adam(start[row], steps, 0.1, **options)
        np.testing.assert_allclose(parameter[row], expected, rtol=1e-10, atol=1e-12)


def test_moments_of_dead_units_do_not_become_subnormal_and_move_nothing():
    """One gradient of 1e-4, then zeros: 0.9^2000 is far below float32's smallest normal number,
    1.2e-38, and with beta2 = 0.9 the second moment decays as far."""
    parameter = np.zeros(4, np.float32)
    adam = nn.Adam(parameter, 0.001, beta2=0.9)
    adam.step(parameter, np.full(4, 1e-4, np.float32))
    for i in range(2000):
        if i == 1500:
            before = parameter.copy()
        adam.step(parameter, np.zeros(4, np.float32))
    assert (adam.m > 1.2e-38).all() and (adam.v > 1.2e-38).all()
    assert (parameter == before).all()


# ---------------------------------------------------------------- gradients and updates

@given(SEEDS)
def test_what_is_written_for_speed_equals_the_plain_forms(seed):
    """sum_rows lists only the ids that occur; np.add.at, unlike `+=`, adds up repeated ids."""
    rng = default_rng(seed)
    ids = rng.integers(0, FEATURES, rng.integers(1, 20))
    a = rng.standard_normal((len(ids), 4))
    np.testing.assert_allclose(nn.sum_last(a), a.sum(axis=-1), rtol=1e-12, atol=1e-14)
    plain = np.zeros((FEATURES, 4))
    np.add.at(plain, ids, a)
    distinct, sums = nn.sum_rows(ids, a)
    assert distinct.tolist() == sorted(set(ids.tolist()))
    np.testing.assert_allclose(sums, plain[distinct], rtol=1e-12, atol=1e-14)
    c = rng.standard_normal((1, 4))
    plain = nn.relu(a + c)
    np.testing.assert_allclose(nn.shifted_relu(a, c) + c, plain, rtol=0, atol=1e-14)


def plain_loss(bag, X, w, y, masks):
    """Log-loss of all models divided by the B real samples, row by row."""
    total = 0.0
    for k, i in np.ndindex(w.shape):
        z = plain_logit(bag, k, X[k, i], masks[k, i])
        total += nn.log_loss(z, w[k, i], y[k, i]) / w.shape[1]
    return total


@pytest.mark.parametrize("make, dropout", [(logistic, 0), (mlp, 0), (mlp, 0.4)])
@settings(max_examples=20)
@given(SEEDS)
def test_gradient_of_every_parameter_equals_finite_differences(make, dropout, seed):
    """Along a random direction of one parameter at a time, dropout's masks being the same.

    A step of 1e-8 all but never crosses a kink of a ReLU. The losses, below 10, are rounded by some
    1e-15, so that their difference divided by 2e-8 is off by some 1e-7."""
    rng = default_rng(seed)
    options = dict(dropout=dropout, rng=default_rng([seed, 9])) if dropout else {}
    masks = (default_rng([seed, 9]).random((3, 4, 16)) >= dropout) / (1 - dropout)
    bag = make(3, seed, **options)
    for p in parameters(bag):
        p += 0.1 * rng.standard_normal(p.shape)                              # biases, too
    X, w, y = batch(rng, 3, 4)
    names = ["theta"] if make is logistic else ["E", "W1", "b1", "W2", "b2", "w3", "b3"]
    for name, p, gradient in zip(names, parameters(bag), gradients(bag, X, w, y)):
        direction = rng.standard_normal(p.shape)
        start = p.copy()
        p[...] = start + 1e-8 * direction
        above = plain_loss(bag, X, w, y, masks)
        p[...] = start - 1e-8 * direction
        numeric = (above - plain_loss(bag, X, w, y, masks)) / 2e-8
        p[...] = start
        given = (gradient * direction).sum()
        assert given == pytest.approx(numeric, rel=1e-6, abs=1e-6), (
            f"{name}: by your gradient {given:.7g}, by finite differences {numeric:.7g}")


@pytest.mark.parametrize("make", [logistic, mlp])
@given(SEEDS)
def test_what_a_weight_means(make, seed):
    """Fakes (weight 1 + F1 + F0, clicks r + F1) and OBB's repeated samples (w, w r) are such:
    y rows with a click and w - y without one. Weight 0 is no row."""
    rng = default_rng(seed)
    bag = make(1, seed)
    X, w, y = batch(rng, 1, 6)
    w[0, 0] += 1
    rows = np.repeat(X[0], w[0], axis=0)[None]
    clicks = np.concatenate([np.arange(n) < ones for n, ones in zip(w[0], y[0])])[None]
    fused = gradients(bag, X, w, y)
    literal = gradients(bag, rows, np.ones(clicks.shape), clicks)
    for short, long in zip(fused, literal):
        np.testing.assert_allclose(6 * short, clicks.size * long, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("make, rate", [
    (logistic, 0.01), (mlp, 0.001), (partial(mlp, learning_rate=0.3), 0.3)])
def test_an_update_is_a_step_of_adam_on_every_parameter(make, rate):
    """Three updates against the textbook; every id is in every batch."""
    bag, rng = make(), default_rng(0)
    ids = np.arange(FEATURES).reshape(3, 3)
    X = np.stack([ids, ids.T])
    start = [p.copy() for p in parameters(bag)]
    steps = []
    for _ in range(3):
        _, w, y = batch(rng, 2, 3)
        steps.append(gradients(bag, X, w, y))
        bag.update(X, w, y)
    for old, new, *of_each_step in zip(start, parameters(bag), *steps):
        expected = textbook_adam(old, enumerate(of_each_step, 1), rate)
        np.testing.assert_allclose(new, expected, rtol=0, atol=1e-12)


def test_embeddings_that_a_batch_does_not_touch_stay_as_they_are():
    """Lazy Adam: rows 0 to 4 are trained, then row 7 alone; rows 0 to 4 keep their values."""
    bag = mlp(1)
    ones = np.ones((1, 5))
    bag.update(np.arange(15).reshape(1, 5, 3) % 5, ones, ones)
    before = bag.E.copy()
    bag.update(np.full((1, 5, 3), 7), ones, ones)
    moved = (bag.E != before).any(axis=2)[0]
    assert np.flatnonzero(moved).tolist() == [7]


def test_every_batch_has_dropout_masks_of_its_own():
    """How they are drawn is in the finite differences above."""
    bag = mlp(dropout=0.4, rng=default_rng(0))
    assert (bag.draw_mask(3) != bag.draw_mask(3)).any()


def test_running_stays_in_float32_whatever_the_types_of_numbers_weights_and_clicks():
    bag = served(np.float32, learning_rate=np.float64(0.01), dropout=np.float64(0.1),
                 rng=default_rng(0))
    X, w, y = batch(default_rng(0), 2, 5)
    arrays = []
    for weights in (w, w.astype(float), w.astype(np.int8)):
        arrays.append(nn.log_loss_gradient(np.zeros((2, 5), np.float32), weights, y))
        arrays.extend(gradients(bag, X, weights, y))
    bag.update(X, w, y)
    bag.publish()
    adam = bag.optimizers[0]
    arrays += [*parameters(bag), adam.move(adam.m, adam.v, adam.m),
               bag.scores(0, request([4, 0])), nn.MLPBag.scores(bag, 0, X[0])]
    assert {a.dtype for a in arrays} == {np.dtype(np.float32)}


@pytest.mark.parametrize("make", [logistic, mlp, served])
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda bag: pickle.loads(pickle.dumps(bag))])
def test_a_copy_of_a_bag_learns_like_the_bag_and_alone(make, copied):
    """Saved and loaded in the middle, it goes on to the same numbers; a view of an array would be
    cut off from it in the copy."""
    bag, rng = make(), default_rng(0)
    bag.update(*batch(rng, 2, 5))
    other = copied(bag)
    before = [p.copy() for p in parameters(bag)]
    batches = [batch(rng, 2, 5) for _ in range(3)]
    for one in (other, bag):
        assert all((p == q).all() for p, q in zip(parameters(one), before))
        for X, w, y in batches:
            one.update(X, w, y)
        one.publish()
    assert all((p == q).all() for p, q in zip(parameters(bag), parameters(other)))
    X = request([0, 4]) if make is served else np.array([[0, 1, 2]])
    assert all((bag.scores(k, X) == other.scores(k, X)).all() for k in range(2))


# ---------------------------------------------------------------- how bags begin

@pytest.mark.parametrize("make", [logistic, mlp])
def test_models_start_differently_each_from_its_own_generator(make):
    for few, many in zip(parameters(make(2)), parameters(make(5))):
        assert (few == many[:2]).all()
        assert len(np.unique(many)) in (1, many.size)                        # biases are all one


def test_bags_begin_with_the_papers_sizes_and_hes_spread():
    """Section 5.2: an 8-vector for each id, 25 of them joined, two layers of 128. Five standard
    errors of a standard deviation are 5 / sqrt(2 n) of it. Biases have none."""
    regression, network = nn.LogisticBag(500, generators(3)), nn.MLPBag(25, 500, generators(3))
    expected = [((501,), 0.1), ((500, 8), 0.1),
                ((200, 128), (2 / 200) ** 0.5), ((1, 128), 0),
                ((128, 128), (2 / 128) ** 0.5), ((1, 128), 0),
                ((1, 128), (1 / 128) ** 0.5), ((1, 1), 0)]
    for p, (shape, std) in zip(parameters(regression) + parameters(network), expected):
        assert p.shape == (3, *shape)
        assert abs(p.std() - std) <= std * 5 / (2 * p.size) ** 0.5
        assert std > 0 or (p == 0).all()


def test_the_first_output_is_around_the_given_bias_and_serves_at_once():
    plain, biased = served(), served(bias=-4.5)
    r = request([4, 0, 3])
    np.testing.assert_allclose(biased.scores(1, r), plain.scores(1, r) - 4.5, atol=1e-12)


def test_units_that_are_zero_in_all_rows_are_dead():
    """Of 16 units nine are not above 0 in model 0: a share of 9/16, over both models half of it."""
    bag = mlp()
    bag.weights[2][:], bag.weights[3][:] = 0.0, 0.1                          # W2, b2
    bag.weights[3][0, 0, :9] = 0.0
    bag.publish()
    assert bag.dead_units(np.array([[0, 3, 5], [1, 4, 8]])) == pytest.approx(9 / 16 / 2)


# ---------------------------------------------------------------- serving

def request(items):
    return envs.Request(np.array([2]), np.array(items), ITEMS)


@pytest.mark.parametrize("whole", [0, 4000])
@pytest.mark.parametrize("make, tolerance", [
    (logistic, 1e-12), (mlp, 1e-12), (served, 1e-12), (partial(served, np.float32), 2e-6)])
def test_the_scores_of_every_bag_are_those_of_its_published_parameters(
        make, tolerance, whole, monkeypatch):
    """A stale table of projected items is the bug to fear: compare before and after publishing,
    with items projected all at once and (whole = 0) when they are first asked for."""
    monkeypatch.setattr(nn, "MANY_ADS", whole)
    bag, rng = make(learning_rate=0.1), default_rng(0)
    assert getattr(bag, "many", whole == 0) == (whole == 0)
    for items in ([4, 0, 3], [1], [0, 1, 2, 3, 4], [2, 2]):
        r = request(items)
        earlier = bag.scores(1, r)
        bag.update(*batch(rng, 2, 6))
        assert (bag.scores(1, r) == earlier).all()                           # not yet published
        bag.publish()
        exact = [plain_logit(bag, 1, x) for x in np.asarray(r)]
        np.testing.assert_allclose(bag.scores(1, r), exact, rtol=0, atol=tolerance)
        assert abs(exact - earlier).max() > 1e-3


@pytest.mark.parametrize("make", [mlp, served])
def test_a_mask_multiplies_the_units_of_the_last_layer(make):
    bag, rng = make(learning_rate=0.1), default_rng(0)
    bag.update(*batch(rng, 2, 6))
    bag.publish()
    r, mask = request([4, 0, 3]), rng.integers(0, 2, 16) / 0.5
    exact = [plain_logit(bag, 0, x, mask) for x in np.asarray(r)]
    np.testing.assert_allclose(bag.scores(0, r, mask), exact, rtol=0, atol=1e-12)


# ---------------------------------------------------------------- bad arguments

@pytest.mark.parametrize("check, good, bad", [
    (nn.positive, (1e-300, 1, 1e300), (0, -1, float("inf"), math.nan, None)),
    (nn.not_negative, (0, 0.5, 1e300), (-1e-9, float("inf"), math.nan, None)),
    (nn.probability, (0, 0.5, 1), (-1e-9, 1.0001, math.nan, None)),
    (nn.whole, (1, 2.0, np.int64(3)), (0, 1.5, -1, math.nan, math.inf, None))])
def test_an_argument_is_passed_on_or_refused_with_its_name_and_value(check, good, bad):
    assert [check("x", value) for value in good] == list(good)
    for value in bad:
        with pytest.raises(ValueError, match=f"^x must be .*, got {value}"):
            check("x", value)


@pytest.mark.parametrize("name, options", [
    ("learning_rate", {"learning_rate": 0}), ("rng", {"dropout": 0.1}), ("rngs", {"K": 0}),
    ("dropout", {"dropout": -0.1, "rng": default_rng(0)}),
    ("dropout", {"dropout": 1, "rng": default_rng(0)}),
    ("dropout", {"dropout": 1.5, "rng": default_rng(0)})])
def test_a_bag_that_cannot_be_is_refused(name, options):
    with pytest.raises(ValueError, match=f"^{name} must be "):
        mlp(**options)


def test_models_that_begin_alike_are_refused():
    with pytest.raises(ValueError, match="^rngs must be generators that differ"):
        nn.LogisticBag(8, [default_rng(0), default_rng(1), default_rng(0)])
    assert nn.LogisticBag(8, [default_rng(0), default_rng(0)], init=0.0).K == 2
