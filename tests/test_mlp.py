"""The embedding network: every gradient, the bag, fast serving, lazy Adam, dropout."""
import textwrap

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import baselines
import envs
import guideboot as gb
import nn

SEEDS = st.integers(0, 2 ** 32 - 1)


def bag(K=2, fields=3, features=9, seed=0, hidden=16, **kw):
    kw.setdefault("dtype", np.float64)
    return nn.MLPBag(fields, features, [np.random.default_rng([seed, k]) for k in range(K)], hidden=hidden, **kw)


def batch(rng, K, B, fields=3, features=9):
    """Few ids, so that they repeat within rows and within the batch; weights with zeros; clicks within the weights."""
    w = rng.integers(0, 4, (K, B))
    return rng.integers(0, features, (K, B, fields)), w, rng.binomial(w, 0.4)


def plain_logit(E, p, k, x, mask=1.0):
    """One network on one row, layer by layer, straight from the docstring."""
    e = np.concatenate([E[i] for i in x])
    h1 = np.maximum(e @ p["W1"][k] + p["b1"][k], 0)
    h2 = np.maximum(h1 @ p["W2"][k] + p["b2"][k], 0) * mask
    return h2 @ p["w3"][k] + p["b3"][k, 0]


def loss(model, X, w, y, mask=None):
    """Log-loss of all models divided by the B real samples, by plain_logit."""
    K, B, _ = X.shape
    E = model.E.reshape(K, model.features, -1)
    return sum(nn.log_loss(plain_logit(E[k], model.p, k, X[k, i], 1.0 if mask is None else mask[k, i]), w[k, i], y[k, i])
               for k in range(K) for i in range(B)) / B


@settings(max_examples=30)
@given(SEEDS, st.sampled_from(["E", "W1", "b1", "W2", "b2", "w3", "b3"]), st.sampled_from([0.0, 0.4]))
def test_gradient_of_every_parameter_equals_finite_differences(seed, name, dropout):
    """Along a random direction of one parameter at a time. A kink of ReLU within the step would spoil the difference
    only if it were hit; with steps of 1e-6 the two agree to 2e-6 of their size."""
    rng = np.random.default_rng(seed)
    model = bag(seed=seed, dropout=dropout, rng=np.random.default_rng([seed, 9]))
    for parameter in (model.p["b1"], model.p["b2"], model.p["b3"], model.E):
        parameter += 0.1 * rng.standard_normal(parameter.shape)
    X, w, y = batch(rng, 2, 5)
    mask = None
    if dropout:
        mask = (np.random.default_rng([seed, 9]).random((2, 5, 16)) >= dropout) / (1 - dropout)
    rows, row_gradients = model.gradient(X, w, y)
    gradient = {"E": np.zeros_like(model.E), **model.g}
    gradient["E"][rows] = row_gradients
    parameter = model.E if name == "E" else model.p[name]
    direction, start, step = rng.standard_normal(parameter.shape), parameter.copy(), 1e-6
    parameter[...] = start + step * direction
    above = loss(model, X, w, y, mask)
    parameter[...] = start - step * direction
    numeric, analytic = (above - loss(model, X, w, y, mask)) / (2 * step), (gradient[name] * direction).sum()
    assert abs(numeric - analytic) < 2e-6 * (1 + abs(analytic)), (numeric, analytic)


@given(SEEDS)
def test_gradient_with_fakes_equals_appended_rows(seed):
    rng = np.random.default_rng(seed)
    model = bag(K=1, seed=seed)
    X, r, g = rng.integers(0, 9, (1, 6, 3)), rng.integers(0, 2, (1, 6)), rng.random((1, 6))
    w, y = gb.fake_samples(r, g, np.random.default_rng([seed, 1]))
    F1, F0 = np.random.default_rng([seed, 1]).random((2, 1, 6)) < g
    rows, fused = model.gradient(X, w, y)
    fused_dense = model.gradients * 6
    X_long = np.concatenate([X[0], X[F1], X[F0]])[None]
    r_long = np.concatenate([r[0], np.ones(F1.sum()), np.zeros(F0.sum())])[None]
    n = r_long.shape[1]
    rows_long, literal = model.gradient(X_long, np.ones((1, n)), r_long)
    assert (rows == rows_long).all()
    np.testing.assert_allclose(fused * 6, literal * n, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(fused_dense, model.gradients * n, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("optimizer", [nn.Adam, nn.SGD])
def test_a_batched_bag_equals_separate_networks(optimizer):
    rng = np.random.default_rng(0)
    together = bag(K=3, optimizer=optimizer)
    alone = [nn.MLPBag(3, 9, [np.random.default_rng([0, k])], dtype=np.float64, hidden=16, optimizer=optimizer) for k in range(3)]
    for _ in range(4):
        X, w, y = batch(rng, 3, 7)
        together.update(X, w, y)
        for k in range(3):
            alone[k].update(X[k:k + 1], w[k:k + 1], y[k:k + 1])
    for k in range(3):
        np.testing.assert_allclose(together.dense[k], alone[k].dense[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(together.E.reshape(3, 9, -1)[k], alone[k].E, rtol=1e-9, atol=1e-12)


def test_sum_rows_adds_up_repeated_ids_by_hand():
    ids, sums = nn.sum_rows(np.array([5, 2, 5, 0, 5]), np.array([[1.0, 10], [2, 20], [3, 30], [4, 40], [5, 50]]))
    assert ids.tolist() == [0, 2, 5] and sums.tolist() == [[4, 40], [2, 20], [9, 90]]


def test_embedding_rows_that_a_batch_does_not_touch_stay_untouched():
    """Their moments too (lazy Adam): rows 0 to 4 are trained, then only row 7; rows 0 to 4 keep the values they had."""
    model, rng = bag(K=1), np.random.default_rng(0)
    for _ in range(3):
        model.update(rng.integers(0, 5, (1, 6, 3)), np.ones((1, 6)), np.ones((1, 6)))
    before = model.E.copy()
    model.update(np.full((1, 6, 3), 7), np.ones((1, 6)), np.ones((1, 6)))
    assert (model.E[:7] == before[:7]).all() and (model.E[8:] == before[8:]).all() and not (model.E[7] == before[7]).any()


def test_adam_on_rows_equals_adam_on_an_array_of_those_rows():
    whole, part = np.arange(8.0).reshape(4, 2), np.array([[2.0, 3.0], [6.0, 7.0]])
    lazy, dense = nn.Adam(whole, 0.1), nn.Adam(part, 0.1)
    for gradient in (np.array([[1.0, -2.0], [0.5, 3.0]]), np.array([[-1.0, 4.0], [0.0, 1.0]])):
        lazy.step(gradient, np.array([1, 3]))
        dense.step(gradient)
    assert (whole[[1, 3]] == part).all() and whole[0].tolist() == [0, 1] and whole[2].tolist() == [4, 5]


def test_moments_of_dead_units_do_not_become_subnormal():
    """A gradient of 1e-4, then 2,000 of zero: 0.9^2000 is far below float32's smallest normal number, 1.2e-38, and so is v
    with the second decay rate at 0.9 as well."""
    parameter = np.zeros(4, np.float32)
    adam = nn.Adam(parameter, 0.001, beta2=0.9)
    adam.step(np.full(4, 1e-4, np.float32))
    moved = None
    for i in range(2000):
        adam.step(np.zeros(4, np.float32))
        moved = parameter.copy() if i == 1500 else moved
    assert (adam.m > 1.2e-38).all() and (adam.v > 1.2e-38).all() and (parameter == moved).all()      # the addend moves nothing


def test_one_step_of_plain_gradient_descent_moves_everything_by_the_learning_rate_times_the_gradient():
    model = bag(optimizer=nn.SGD, learning_rate=0.3)
    X, w, y = batch(np.random.default_rng(0), 2, 5)
    rows, row_gradients = model.gradient(X, w, y)
    E, dense, gradients = model.E.copy(), model.dense.copy(), model.gradients.copy()
    model.update(X, w, y)
    np.testing.assert_allclose(model.dense, dense - 0.3 * gradients, atol=1e-14)
    np.testing.assert_allclose(model.E[rows], E[rows] - 0.3 * row_gradients, atol=1e-14)


def test_initial_weights_have_he_scale_and_biases_are_zero():
    model = bag(K=3, fields=10, features=500, hidden=128)
    for name, std in (("W1", (2 / 80) ** 0.5), ("W2", (2 / 128) ** 0.5), ("w3", (1 / 128) ** 0.5)):
        assert abs(model.p[name].std() / std - 1) < 0.15, name
    assert abs(model.E.std() / 0.1 - 1) < 0.05 and not any(model.p[b].any() for b in ("b1", "b2", "b3"))
    with pytest.raises(ValueError, match="rng must be a random generator when dropout is above 0"):
        bag(dropout=0.1)


def test_running_stays_in_float32():
    model = bag(dtype=np.float32, items=np.array([[5, 6], [7, 8], [5, 8]]), dropout=0.1, rng=np.random.default_rng(0))
    X, w, y = batch(np.random.default_rng(0), 2, 5)
    for weights in (w, w.astype(float), w.astype(np.int8)):
        rows, gradients = model.gradient(X, weights, y)
        assert gradients.dtype == np.float32 and all(a.dtype == np.float32 for a in model.forward(X + model.offset))
    model.update(X, w, y)
    model.publish()
    arrays = [model.E, model.dense, model.gradients, model.projected, model.row_optimizer.m, model.dense_optimizer.v]
    assert all(a.dtype == np.float32 for a in arrays) and model.scores(0, X[0]).dtype == np.float32


# ---------------------------------------------------------------- serving

ITEMS = np.array([[4, 7], [5, 8], [6, 7], [4, 8], [6, 8]])                        # ids of the last two of three fields


def request(context, items):
    return envs.Request(np.array(context), np.array(items), ITEMS)


@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-12), (np.float32, 2e-6)])
def test_fast_serving_equals_the_plain_forward_pass_also_right_after_learning(dtype, tolerance):
    """A stale table of projected items is the bug to fear: compare before learning, during and after publishing."""
    model, rng = bag(K=3, dtype=dtype, items=ITEMS, hidden=128), np.random.default_rng(1)
    r = request([2], [4, 0, 3])
    old = model.scores(1, r)
    for phase in range(3):
        fast, plain = model.scores(1, r), model.scores(1, np.asarray(r))
        E = model.E.reshape(3, 9, -1)[1]
        exact = [plain_logit(E, model.p, 1, x) for x in np.asarray(r)]
        np.testing.assert_allclose(fast, exact, atol=tolerance)
        np.testing.assert_allclose(plain, exact, atol=tolerance)
        for _ in range(5):
            model.update(*batch(rng, 3, 6))
        np.testing.assert_allclose(model.scores(1, r), fast, atol=0)              # not before it is published
        model.publish()
    assert abs(model.scores(1, r) - old).max() > 1e-3


def test_requests_of_different_sizes_may_follow_each_other():
    model = bag(items=ITEMS)
    for items in ([1], [0, 1, 2, 3, 4], [3, 2], [4, 3, 2, 1, 0]):
        np.testing.assert_allclose(model.scores(0, request([1], items)), model.scores(0, np.asarray(request([1], items))), atol=1e-12)


def test_dropout_in_deciding_multiplies_the_last_hidden_layer():
    model = bag()
    X, mask = np.array([[0, 3, 5], [1, 1, 7]]), np.random.default_rng(0).integers(0, 2, 16) / 0.5
    exact = [plain_logit(model.E.reshape(2, 9, -1)[0], model.p, 0, x, mask) for x in X]
    np.testing.assert_allclose(model.scores(0, X, mask), exact, atol=1e-12)


def test_training_with_dropout_uses_fresh_masks_with_the_stated_rate():
    """With w3 the gradient's only path, a unit dropped in all rows of a batch of one has gradient zero: about 40 %."""
    model = bag(K=1, dropout=0.4, rng=np.random.default_rng(0), hidden=2000)
    X = np.array([[[0, 3, 5]]])
    active = nn.MLPBag.forward(model, X)[2][0, 0] > 0
    shares = []
    for _ in range(3):
        model.gradient(X, np.ones((1, 1)), np.ones((1, 1)))
        shares.append((model.g["w3"][0, active] == 0).mean())
    assert all(abs(share - 0.4) < 5 * (0.24 / active.sum()) ** 0.5 for share in shares) and len(set(shares)) > 1


# ---------------------------------------------------------------- either model on either task

def shelf():
    """The stationary example environment of the docstring of envs.py: 0.1 + 0.1 product + 0.2 discount."""
    scope, text = {}, envs.__doc__
    exec(textwrap.dedent(text[text.index("    import numpy"):text.index("and GuideBoot on it")]), scope)
    return envs.Scored(scope["Shelf"](np.random.default_rng(0)), 1500)


def test_both_loops_learn_a_small_stationary_task_with_networks():
    """Less than 0.4 of random's regret, replay and online, K = 3."""
    random = shelf()
    gb.online(baselines.RandomPolicy(np.random.default_rng(0)), random, 1500, 100)
    for setting in ("replay", "online"):
        env = shelf()
        model = bag(3, 2, 7, hidden=32, learning_rate=0.01, dtype=np.float32)
        agent = gb.GuideBoot(model, np.random.default_rng(0), gb.Harmonic(7))
        if setting == "replay":
            gb.replay(agent, env, 1500, 16, every=4)
        else:
            gb.online(agent, env, 1500, 16, 4)
        assert env.regret.sum() < 0.4 * random.regret.sum(), setting


def test_guideboot_runs_with_the_network_on_the_synthetic_task_and_with_the_logistic_bag_on_the_ads():
    model = nn.MLPBag(3, 35, [np.random.default_rng(k) for k in range(2)], hidden=16)
    agent = gb.GuideBoot(model, np.random.default_rng(0), gb.Harmonic(35))
    gb.replay(agent, envs.Synthetic(0), 40, 8)
    gb.online(agent, envs.Synthetic(0), 40, 8)
    ads = envs.Ads("A", 0, scale=0.01)
    logistic = nn.LogisticBag(ads.features, [np.random.default_rng(k) for k in range(2)])
    agent = gb.GuideBoot(logistic, np.random.default_rng(0), gb.AdCount(ads.features, envs.AD_ID))
    start = logistic.theta.copy()
    gb.replay(agent, ads, 40, 8)
    gb.online(agent, ads, 40, 8)
    assert agent.density.count.sum() == 80 and not (logistic.theta == start).all()


def test_the_defaults_are_the_papers_network_and_adams_usual_step():
    """Section 5.2: an 8-vector per id, two layers of 128; 25 fields make a first layer of 200 by 128."""
    model = nn.MLPBag(25, 40, [np.random.default_rng(0)])
    assert model.E.shape == (40, 8) and model.p["W1"].shape == (1, 200, 128) and model.p["W2"].shape == (1, 128, 128) and model.p["w3"].shape == (1, 128)
    assert model.E.dtype == model.dense.dtype == np.float32 and model.dropout == 0
    assert model.dense_optimizer.learning_rate == model.row_optimizer.learning_rate == 0.001
    logistic = nn.LogisticBag(2000, [np.random.default_rng(0)])
    assert logistic.optimizer.learning_rate == 0.01 and abs(logistic.theta.std() - 0.1) < 0.01        # 4 standard errors are 0.0063
