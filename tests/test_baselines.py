"""Every compared method of Section 5 against an independent computation."""
import itertools
import math
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

import baselines
import guideboot as gb
import run_arms
from nn import LogisticBag, ServedAds
from test_guideboot import follows


class Scores:
    """A bag of one model with given logits; it keeps the masks it is asked with."""
    K, features, hidden, dropout, dtype = 1, 10, 50, 0.2, np.float32

    def __init__(self, *logits):
        self.logits = np.array(logits)
        self.masks = []

    def scores(self, k, X, mask=None):
        assert k == 0
        self.masks.append(mask)
        return self.logits


def choices(agent, m, t=1, decisions=8000):
    """What is chosen of m candidates, whose ids are 0, 1, ..., at step t."""
    return [agent.choose(np.arange(m)[:, None], t) for _ in range(decisions)]


def test_random_policy_is_uniform():
    assert follows(choices(baselines.RandomPolicy(default_rng(0)), 5), np.arange(5))


# ---------------------------------------------------------------- variants of the bootstrap

@pytest.mark.parametrize("decay, t, explores", [
    (None, 500, 0.5), (4, 1, 0.5), (4, 2, 0.375), (4, 4, 0.125), (4, 5, 0), (4, 500, 0)])
def test_epsilon_greedy_explores_with_probability_epsilon_or_one_that_decays(decay, t, explores):
    """epsilon = 0.5, over 4 steps 0.5 (1 - (t - 1) / 4): a quarter of it for each of 4 candidates,
    of which the first is best."""
    agent = baselines.EpsilonGreedy(Scores(1.0, 0.0, 0.0, 0.0), default_rng(0), 0.5, decay)
    p = np.full(4, explores / 4)
    p[0] += 1 - explores
    assert follows(choices(agent, 4, t), np.arange(4), p)


def test_what_obb_trains_with():
    """P(w) = exp(-1) / w!. A sample of weight w stands for w copies, of which w r are clicks."""
    agent = baselines.OBB(Scores(), default_rng(0))
    r = default_rng(1).integers(0, 2, (4, 25_000))
    w, y = agent.samples(None, r)
    assert follows(w, np.arange(20), [math.exp(-1) / math.factorial(i) for i in range(20)])
    assert not (w[0] == w[1]).all()
    assert (y == w * r).all()


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_giro_on_rows_and_on_arms(alpha):
    """Of 2000 samples (x, 0) the share alpha brings a pair (x, 0), (x, 1), within 5 sigma. So the
    clicks are the pairs', and for each there is one sample more without a click."""
    agent, history = baselines.Giro(Scores(), default_rng(0), alpha), gb.History(3, 9)
    for _ in range(2000):
        agent.remember(history, [1, 5, 8], 0)
    pairs = history.r[:history.size].sum()
    assert abs(pairs - 2000 * alpha) <= 5 * math.sqrt(2000 * alpha * (1 - alpha))
    assert history.size == 2000 + 2 * pairs
    assert (history.X[:history.size] == [1, 5, 8]).all()

    arms = run_arms.GiroArms(3, default_rng(0), alpha)
    arms.learn_from(np.ones((2000, 1), int), np.zeros(2000, int))
    pairs = arms.s[1]
    assert abs(pairs - 2000 * alpha) <= 5 * math.sqrt(2000 * alpha * (1 - alpha))
    assert arms.n.tolist() == [0, 2000 + 2 * pairs, 0]
    assert arms.s.tolist() == [0, pairs, 0]
    assert arms.draw is run_arms.bootstrap_mean


# ---------------------------------------------------------------- a control: ridge

@pytest.mark.parametrize("shapes, t", [([(2,), (2,)], 2), ([(5, 2), (3, 2)], 8)])
def test_the_ridge_fades_as_samples_come(shapes, t):
    """One row at a time in replay, buffers online: t samples in all, and the factor is 1 / t."""
    agent = baselines.Ridge(baselines.RidgeBag(9, [default_rng(0)]), default_rng(0), 12.0)
    for shape in shapes:
        agent.update_density(np.zeros(shape, int))
    w, y = agent.samples(None, np.array([[0, 1, 1]]))
    assert (w.tolist(), y.tolist()) == ([[1, 1, 1]], [[0, 1, 1]])
    assert agent.bag.ridge == 12 / t


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_a_ridge_adds_its_factor_times_the_weights_but_not_the_biases(ridge):
    """Of embeddings the touched ones. Without it the gradients are those of the plain bags."""
    X, w, y = np.array([[[0, 3], [1, 3]]]), np.ones((1, 2)), np.array([[0, 1]])
    plain, shrunk = LogisticBag(5, [default_rng(0)]), baselines.RidgeBag(5, [default_rng(0)])
    shrunk.ridge = ridge
    extra = shrunk.gradient(X, w, y) - plain.gradient(X, w, y)
    np.testing.assert_allclose(extra[:, :-1], ridge * plain.theta[:, :-1], atol=1e-15)
    assert extra[:, -1] == 0

    items = np.array([[3], [4]])
    plain, shrunk = (kind(2, 5, [default_rng(0)], items, dtype=float)
                     for kind in (ServedAds, baselines.RidgeAds))
    shrunk.ridge = ridge
    (rows, before), (same, after) = plain.gradient(X, w, y), shrunk.gradient(X, w, y)
    assert rows.tolist() == same.tolist() == [0, 1, 3]
    np.testing.assert_allclose(after - before, ridge * plain.E_rows[rows], atol=1e-15)
    for i, (a, b) in enumerate(zip(plain.gradients, shrunk.gradients)):
        penalised = ridge if i % 2 == 0 else 0.0                 # W1, W2, w3
        np.testing.assert_allclose(b - a, penalised * plain.weights[i], atol=1e-15)


# ---------------------------------------------------------------- deep methods: Section 5.2

def counts(*shown):
    density = gb.AdCount(10, 0)
    density.count[:len(shown)] = shown
    return density


def test_deep_ucb1_chooses_as_stated():
    """CTRs 0.5, 0.4 with counts 100, 4: at the strength `edge` both bounds are equal at t = 50."""
    edge = 0.1 / (math.sqrt(2 * math.log(50) / 4) - math.sqrt(2 * math.log(50) / 100))
    bag = Scores(math.log(0.5 / 0.5), math.log(0.4 / 0.6))
    for strength, winner in ((0.0, 0), (0.999 * edge, 0), (1.001 * edge, 1)):
        agent = baselines.DeepUCB1(bag, default_rng(0), counts(100, 4), strength)
        assert choices(agent, 2, t=50, decisions=1) == [winner]
    agent = baselines.DeepUCB1(Scores(9.0, 0.0, 0.0), default_rng(0), counts(5, 0, 0))
    assert follows(choices(agent, 3, t=3), [1, 2])


@pytest.mark.parametrize("count, shaping", [(50, 0.25), (0, 0.25), (1, 0.5), (2, 0.3)])
def test_deep_ts_beta_draws_from_the_stated_distribution(count, shaping):
    """Beta(0.3 total, 0.7 total) with mean f(x) = 0.3 and total = max(count, 1) / shaping."""
    logit, spy = math.log(0.3 / 0.7), Mock(**{"beta.return_value": np.array([0.1, 0.9])})
    agent = baselines.DeepTSBeta(Scores(logit, logit), spy, counts(count, count), shaping)
    assert choices(agent, 2, decisions=1) == [1]                 # follows the larger draw
    total = max(count, 1) / shaping
    given = spy.beta.call_args.args
    np.testing.assert_allclose(given, [[0.3 * total] * 2, [0.7 * total] * 2], rtol=1e-12)


@pytest.mark.parametrize("method", [baselines.DeepUCB1, baselines.DeepTSBeta])
def test_deep_methods_count_what_was_shown_and_bear_any_logit_that_is_finite(method):
    bag = Scores(*np.array([-900, 900], np.float32))
    agent = method(bag, default_rng(0), counts(3, 3))
    agent.update_density(np.array([[0], [1], [1]]))
    assert agent.density.count[:3].tolist() == [4, 5, 0]
    assert choices(agent, 2, t=5, decisions=1) == [1]
    agent.bag = Scores(math.inf, 0.0)
    with pytest.raises(FloatingPointError, match="a score is inf"):
        choices(agent, 2, t=5)


def test_mc_dropout_draws_one_scaled_mask_per_decision():
    """Of 400 x 50 units 0.2 are dropped; the others weigh 1 / 0.8 = 1.25."""
    bag = Scores(0.0, 1.0)
    agent = baselines.MCDropout(bag, default_rng(0))
    assert set(choices(agent, 2, decisions=400)) == {1}
    masks = np.array(bag.masks)
    assert masks.dtype == np.float32
    assert follows(masks, [0.0, 1.25], [0.2, 0.8])
    assert len(np.unique(masks, axis=0)) > 390


# ---------------------------------------------------------------- Bayesian logistic regression

def rows(rng, c):
    """c random inputs of three fields: ids 0-5, 6-10, 11-14. The bias is 15."""
    return rng.integers([0, 6, 11], [6, 11, 15], (c, 3))


def one_hot(X):
    return np.eye(16)[X].sum(axis=1) + np.eye(16)[15]


def learned(method, c, seed=1, **options):
    """The method after c samples, half of them one by one, the others at once; and the samples."""
    rng = default_rng(seed)
    X, r = rows(rng, c), rng.integers(0, 2, c)
    posterior = method(3, 15, default_rng(0), **options)
    for i in range(c - c // 2):
        posterior.learn_from(X[i:i + 1], r[i:i + 1])
    if c > 1:
        posterior.learn_from(X[c - c // 2:], r[c - c // 2:])
    return posterior, X, r


@settings(max_examples=25)
@given(st.integers(0, 2 ** 32 - 1), st.integers(1, 80), st.sampled_from([0.1, 1.0, 10.0]))
@example(0, 140, 1.0)                  # more distinct inputs than the first storage holds
def test_gradient_of_the_log_posterior_is_zero_at_the_mode_and_its_hessian_is_h(seed, c, precision):
    """Written with one row per sample. The posterior is log-concave, so no other point is a mode.
    Newton's tolerance is 1e-6. Entries of H are sums of up to 140 positive terms: rounding is below
    140 eps, 1e-13, of each, and that of the gradient below 1e-12."""
    posterior, X, r = learned(baselines.LogisticPosterior, c, seed, precision=precision)
    phi = one_hot(X)
    p = 1 / (1 + np.exp(-phi @ posterior.mode))
    gradient = phi.T @ (p - r) + precision * posterior.mode
    assert np.abs(gradient).max() < 1e-6 + 1e-12
    H = phi.T @ np.diag(p * (1 - p)) @ phi + precision * np.eye(16)
    np.testing.assert_allclose(posterior.H, H, rtol=1e-12)
    distinct = len(np.unique(X, axis=0))
    assert len(posterior.input) == distinct
    assert c < 140 or distinct > 64


def test_posterior_of_one_input_against_numerical_integration():
    """x always the same: the logit z = theta_0 + bias has prior N(0, 2 / precision) and n trials
    with s clicks. The mode is exact. Laplace's variance, 1' H^-1 1, has a relative error of order
    1 / n: four times the data, a quarter of the error."""
    errors = []
    for n in (400, 1600):
        s = n // 4
        posterior = baselines.LogisticPosterior(1, 1, None, precision=2.0)
        posterior.learn_from(np.zeros((n, 1), int), np.arange(n) < s)
        z = np.linspace(-3, 1, 100_001)
        log_p = s * z - n * np.logaddexp(0, z) - z ** 2 / 2
        p = np.exp(log_p - log_p.max())
        p /= p.sum()
        variance = p @ z ** 2 - (p @ z) ** 2
        assert posterior.mode.sum() == pytest.approx(z[log_p.argmax()], abs=5e-5)
        errors.append(abs(np.linalg.inv(posterior.H).sum() / variance - 1))
    assert errors[0] < 5 / (400 * 3 / 16)
    assert 3.5 < errors[0] / errors[1] < 4.5


@pytest.mark.filterwarnings("ignore:at every step")
def test_newtons_method_halves_a_step_that_is_too_long():
    """99 clicks in 100 trials of one input with 40 ids, from weights of 1: the logit is 41, the
    slope 100 - 99 and the curvature the prior's, 0.01. A full step of -101 for each weight ends
    where the slope is -99; one of about -1/2 is right. No weight is tried beyond the full step.
    Either mode is within sqrt(41) 1e-6 / 0.01 of the exact one: the gradient is below 1e-6 in each
    of 41 entries, the Hessian at least 0.01."""
    tried = []

    class Watched(baselines.LogisticPosterior):
        def derivatives(self):
            tried.extend(self.mode)
            return super().derivatives()

    near, far = (Watched(40, 40, None, precision=0.01) for _ in range(2))
    far.mode = np.ones(41)
    for posterior in (near, far):
        posterior.learn_from(np.tile(np.arange(40), (100, 1)), np.arange(100) < 99)
    np.testing.assert_allclose(far.mode, near.mode, atol=math.sqrt(41) * 2e-6 / 0.01)
    assert -101 < min(tried) < -99


def test_ts_blr_follows_a_draw_with_mean_mode_and_covariance_inverse_hessian():
    """With unit vectors for the normal draw, draw - mode are the columns of an A with A A' = H^-1,
    times the strength squared; with the zero vector it is the mode."""
    agent, _, _ = learned(baselines.TSBLR, 60, strength=0.3)
    X = rows(default_rng(3), 6)
    deviations = []
    for e in [*np.eye(16), np.zeros(16)]:
        agent.rng = SimpleNamespace(standard_normal=lambda d: e)
        theta = agent.draw()
        deviations.append(theta - agent.mode)
        assert agent.choose(X, 1) == (one_hot(X) @ theta).argmax()
    A = np.column_stack(deviations[:16])
    assert not deviations[16].any()
    np.testing.assert_allclose(A @ A.T, 0.09 * np.linalg.inv(agent.H), atol=1e-12)


def test_glm_ucb_chooses_as_stated():
    """sigmoid(phi mode) + 0.5 sqrt(log(t + 1)) sqrt(phi' M^-1 phi), M = 2 I + sum of phi phi'."""
    agent, X, _ = learned(baselines.GLMUCB, 50, precision=2.0, strength=0.5)
    plain, _, _ = learned(baselines.LogisticPosterior, 50, precision=2.0)
    assert (agent.mode == plain.mode).all()
    M = 2.0 * np.eye(16) + one_hot(X).T @ one_hot(X)
    np.testing.assert_allclose(agent.inverse, np.linalg.inv(M), atol=1e-12)
    C = rows(default_rng(3), 7)
    phi = one_hot(C)
    norm2 = np.diag(phi @ np.linalg.inv(M) @ phi.T)
    bounds = 1 / (1 + np.exp(-phi @ agent.mode)) + 0.5 * np.sqrt(np.log(51 + 1)) * np.sqrt(norm2)
    np.testing.assert_allclose(agent.bounds(C, 51), bounds, rtol=1e-10)
    assert agent.choose(C, 51) == bounds.argmax()


def test_a_posterior_over_many_ids_says_what_a_step_costs(monkeypatch, recwarn):
    """By this clock 400 equations take half a second, 800 four, and 50,000 pairs half a second:
    1000 x 32 x 32, a thousand inputs of 31 fields, ten. Neither 500 equations nor 30 fields are
    worth a word."""
    ticks = itertools.count(10, 0.5)
    monkeypatch.setattr(baselines, "time", SimpleNamespace(perf_counter=lambda: next(ticks)))
    baselines.TSBLR(30, 499, None)
    assert not recwarn
    with pytest.warns(UserWarning, match="TSBLR .* 800 equations, 4 s or .*, 0.04 s for every"):
        baselines.TSBLR(1, 799, None)
    with pytest.warns(UserWarning, match="GLMUCB .* 100 equations, 0.008 s or .*, 1e.01 s for"):
        baselines.GLMUCB(31, 99, None)


# ---------------------------------------------------------------- arguments

def test_the_defaults_are_those_of_section_5():
    """And ours: a prior N(0, I)."""
    assert baselines.EpsilonGreedy(None, None).epsilon == 0.1
    assert baselines.Giro(None, None).alpha == run_arms.GiroArms(3, None).alpha == 0.5
    assert baselines.DeepUCB1(None, None, None).strength == 0.1
    assert baselines.DeepTSBeta(None, None, None).shaping == 0.25
    assert baselines.GLMUCB(2, 8, None).strength == baselines.TSBLR(2, 8, None).strength == 1.0
    assert (baselines.GLMUCB(2, 8, None).H == np.eye(9)).all()
    assert (baselines.TSBLR(2, 8, None).H == np.eye(9)).all()


def counted(method, rho):
    choices(method(Scores(0.0, 0.0), default_rng(0), lambda X: np.full(len(X), rho)), 2)


def posterior_after(*x):
    posterior = baselines.LogisticPosterior(2, 9, None)
    posterior.learn_from(np.array([x]), np.array([1]))
    return posterior


@pytest.mark.parametrize("call, message", [
    (lambda: baselines.EpsilonGreedy(None, None, 1.5), "epsilon must be 0 to 1, got 1.5"),
    (lambda: baselines.DeepTSBeta(None, None, None, 0.0), "shaping must be a finite number above"),
    (lambda: baselines.TSBLR(2, 8, None, 0.0), "precision must be 1e-9 to 1e9, got 0.0"),
    (lambda: baselines.TSBLR(2, 8, None, 1.0, -1.0), "strength must be 0 to 1e6, got -1.0"),
    (lambda: baselines.GLMUCB(2, 8, None, 1.0, 1e308), r"strength must be 0 to 1e6, got 1e\+308"),
    (lambda: counted(baselines.DeepUCB1, math.nan), "a density must be 0 or more, got nan"),
    (lambda: counted(baselines.DeepUCB1, -1.0), "a density must be 0 or more, got -1.0"),
    (lambda: counted(baselines.DeepTSBeta, -1.0), "a density must be 0 or more, got -1.0"),
    (lambda: baselines.Ridge(Scores(), None), "bag must be a RidgeBag or RidgeAds"),
    (lambda: posterior_after(0, 9), "rows must be whole numbers"),
    (lambda: posterior_after(0, 8).active(np.array([[0, 9]])), "ids must be .* below 9, which is"),
    (lambda: posterior_after(0, 8).active(np.array([[0, -1]])), "ids must be 0 or more"),
    (lambda: posterior_after(0, 8).newton(tolerance=0.0), "Newton's method left a gradient of")])
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises((ValueError, FloatingPointError), match=message):
        call()
