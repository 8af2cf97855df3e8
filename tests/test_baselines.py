"""Every compared method of Section 5 against an independent computation."""
import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import baselines
import envs
import guideboot as gb
from nn import LogisticBag


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


def candidates(m):
    return np.arange(m)[:, None]


def generator(seed=0):
    return np.random.default_rng(seed)


def shares(agent, m, t=1, decisions=8000):
    """How often each of m candidates is chosen at step t."""
    chosen = [agent.choose(candidates(m), t) for _ in range(decisions)]
    return np.bincount(chosen, minlength=m) / decisions


def close(share, p, n=8000):
    """Within five standard errors of a probability estimated by n decisions."""
    return np.all(abs(share - p) <= 5 * np.sqrt(p * (1 - p) / n))


def test_random_policy_is_uniform():
    assert close(shares(baselines.RandomPolicy(generator()), 5), 0.2)


# ---------------------------------------------------------------- variants of the bootstrap

@pytest.mark.parametrize("decay, t, explores", [
    (None, 500, 0.5), (4, 1, 0.5), (4, 2, 0.375), (4, 4, 0.125), (4, 5, 0), (4, 500, 0)])
def test_epsilon_greedy_explores_with_probability_epsilon_or_one_that_decays(decay, t, explores):
    """epsilon = 0.5, over 4 steps 0.5 (1 - (t - 1) / 4): a quarter of it for each of 4 candidates,
    of which the first is best."""
    agent = baselines.EpsilonGreedy(Scores(1.0, 0.0, 0.0, 0.0), generator(), 0.5, decay)
    assert close(shares(agent, 4, t)[1:], explores / 4)


def test_obb_weights_are_poisson_one_per_model_and_sample():
    """Mean and variance 1 within five standard errors; the variance's is sqrt((mu4 - 1) / N), with
    mu4 = 4. A sample of weight w stands for w copies, of which w r are clicks."""
    agent = baselines.OBB(Scores(), generator())
    r = generator(1).integers(0, 2, (4, 25_000))
    w, y = agent.samples(None, r)
    assert abs(w.mean() - 1) < 5 * math.sqrt(1 / 1e5)
    assert abs(w.var() - 1) < 5 * math.sqrt(3 / 1e5)
    assert not (w[0] == w[1]).all()
    assert (y == w * r).all()


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_giro_adds_pseudo_pairs_to_the_history(alpha):
    """Of 2000 samples (x, 1) the share alpha brings a pair (x, 0), (x, 1), within 5 sigma."""
    agent, history = baselines.Giro(Scores(), generator(), alpha), gb.History(3, 9)
    for _ in range(2000):
        agent.remember(history, [1, 5, 8], 1)
    pairs, clicks = np.bincount(history.r[:history.size])
    assert abs(pairs - 2000 * alpha) <= 5 * math.sqrt(2000 * alpha * (1 - alpha))
    assert clicks == 2000 + pairs
    assert (history.X[:history.size] == [1, 5, 8]).all()


def test_giro_arms_adds_whole_pairs_to_the_arms_that_were_pulled():
    """1000 pulls of arm 1 without a click: n = 1000 + 2 pairs, and the s clicks are the pairs'."""
    agent = baselines.GiroArms(3, generator(), alpha=0.5)
    agent.learn_from(np.ones((1000, 1), int), np.zeros(1000, int))
    pairs = agent.s[1]
    assert abs(pairs - 500) < 5 * math.sqrt(250)
    assert agent.n.tolist() == [0, 1000 + 2 * pairs, 0]
    assert agent.s.tolist() == [0, pairs, 0]
    assert agent.draw is gb.bootstrap_mean


# ---------------------------------------------------------------- deep methods: Section 5.2

def counts(*shown):
    density = gb.AdCount(10)
    density.count[:len(shown)] = shown
    return density


def test_deep_ucb1_adds_the_stated_bonus_with_its_square_root():
    """CTRs 0.5, 0.4 with counts 100, 4: at the strength `edge` both bounds are equal at t = 50."""
    edge = 0.1 / (math.sqrt(2 * math.log(50) / 4) - math.sqrt(2 * math.log(50) / 100))
    bag = Scores(math.log(0.5 / 0.5), math.log(0.4 / 0.6))
    for strength, winner in ((0.0, 0), (0.999 * edge, 0), (1.001 * edge, 1)):
        agent = baselines.DeepUCB1(bag, generator(), counts(100, 4), strength)
        assert agent.choose(candidates(2), 50) == winner


def test_deep_ucb1_shows_unseen_ads_first_and_at_random():
    agent = baselines.DeepUCB1(Scores(9.0, 0.0, 0.0), generator(), counts(5, 0, 0))
    assert close(shares(agent, 3, t=3), np.array([0.0, 0.5, 0.5]))


@pytest.mark.parametrize("count, shaping", [(50, 0.25), (0, 0.25), (1, 0.5), (2, 0.3)])
def test_deep_ts_beta_draws_from_the_stated_distribution(count, shaping):
    """Beta(0.3 total, 0.7 total) with mean f(x) = 0.3 and total = max(count, 1) / shaping."""
    class Spy:
        def beta(self, *parameters):
            self.parameters = parameters
            return np.array([0.1, 0.9])

    logit, spy = math.log(0.3 / 0.7), Spy()
    agent = baselines.DeepTSBeta(Scores(logit, logit), spy, counts(count, count), shaping)
    assert agent.choose(candidates(2), 1) == 1                   # follows the larger draw
    total = max(count, 1) / shaping
    np.testing.assert_allclose(spy.parameters, [[0.3 * total] * 2, [0.7 * total] * 2], rtol=1e-12)


def test_deep_ts_beta_survives_logits_far_out():
    bag = Scores(*np.array([-900, 900, -800], np.float32))
    agent = baselines.DeepTSBeta(bag, generator(), counts(3, 3, 3))
    assert agent.choose(candidates(3), 1) == 1


@pytest.mark.parametrize("method", [baselines.DeepUCB1, baselines.DeepTSBeta])
def test_deep_methods_count_what_was_shown_and_hide_no_logit_that_is_not_finite(method):
    agent = method(Scores(math.inf, 0.0), generator(), counts(3, 3))
    agent.update_density(np.array([[0], [1], [1]]))
    assert agent.density.count[:3].tolist() == [4, 5, 0]
    for logit in (math.inf, math.nan):
        agent.bag = Scores(logit, 0.0)
        with pytest.raises(FloatingPointError, match="learning rate"):
            agent.choose(candidates(2), 5)


def test_mc_dropout_draws_one_scaled_mask_per_decision():
    """Of 400 x 50 units 0.2 are dropped, give or take 5 standard errors; the others weigh 1.25."""
    bag = Scores(0.0, 1.0)
    agent = baselines.MCDropout(bag, generator())
    assert shares(agent, 2, decisions=400).tolist() == [0, 1]
    masks = np.array(bag.masks)
    assert masks.dtype == np.float32
    assert set(np.unique(masks)) == {0.0, 1.25}
    assert close((masks == 0).mean(), 0.2, 20_000)
    assert len(np.unique(masks, axis=0)) > 390


# ---------------------------------------------------------------- Bayesian logistic regression

def rows(rng, c):
    """c random inputs of three fields: ids 0-5, 6-10, 11-14. The bias is 15."""
    return rng.integers([0, 6, 11], [6, 11, 15], (c, 3))


def one_hot(X):
    return np.eye(16)[X].sum(axis=1) + np.eye(16)[15]


def learned(method, X, r, **options):
    """The method after these samples, one by one, as the loop does with c = 1."""
    posterior = method(3, 15, generator(), **options)
    for i in range(len(X)):
        posterior.learn_from(X[i:i + 1], r[i:i + 1])
    return posterior


def newton_solve(X, r, precision):
    """Mode and Hessian by damped Newton from zero on the full data, one row per sample."""
    phi, theta = one_hot(X), np.zeros(16)

    def objective(theta):
        z = phi @ theta
        return np.logaddexp(0, z).sum() - r @ z + precision / 2 * theta @ theta

    for _ in range(50):
        p = 1 / (1 + np.exp(-phi @ theta))
        gradient = phi.T @ (p - r) + precision * theta
        H = phi.T @ np.diag(p * (1 - p)) @ phi + precision * np.eye(16)
        step = np.linalg.solve(H, gradient)
        while objective(theta - step) > objective(theta) and np.abs(step).max() > 1e-9:
            step = step / 2
        theta = theta - step
    return theta, H


@settings(max_examples=25)
@given(st.integers(0, 2 ** 32 - 1), st.integers(1, 80), st.sampled_from([0.1, 1.0, 10.0]))
@example(0, 140, 1.0)                  # more distinct inputs than the first storage holds
def test_posterior_mode_and_covariance_equal_an_independent_newton_solve(seed, c, precision):
    """The gradient is below 1e-6 in each of 16 entries and the Hessian at least `precision`, so
    |mode - exact| <= sqrt(16) 1e-6 / precision."""
    X, r = rows(generator(seed), c), generator([seed, 1]).integers(0, 2, c)
    posterior = learned(baselines.LogisticPosterior, X, r, precision=precision)
    theta, H = newton_solve(X, r, precision)
    assert np.linalg.norm(posterior.mode - theta) <= 4e-6 / precision
    np.testing.assert_allclose(posterior.H, H, atol=c * 1e-5 / precision)
    distinct = len({tuple(x) for x in X})
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


def test_newtons_method_halves_a_step_that_is_too_long():
    """99 clicks in 100 trials of one input with 40 ids, from weights of 1: the logit is 41, the
    slope 100 - 99 and the curvature the prior's, 0.01. A full step of -101 for each weight ends
    where the slope is -99; one of about -1/2 is right. No weight is tried beyond the full step."""
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


def test_newtons_method_says_when_it_does_not_arrive():
    posterior = baselines.LogisticPosterior(1, 1, None)
    posterior.learn_from(np.array([[0]]), np.array([1]))
    with pytest.raises(FloatingPointError, match="left a gradient of"):
        posterior.newton(tolerance=0.0)


def test_an_id_that_would_be_the_bias_is_refused():
    posterior = baselines.LogisticPosterior(2, 9, None)
    assert posterior.active(np.array([[0, 8]])).tolist() == [[0, 8, 9]]
    for wrong in (9, 10):
        with pytest.raises(ValueError, match=f"ids must be below 9, .*got {wrong}"):
            posterior.active(np.array([[0, 8], [wrong, 8]]))


def test_ts_blr_follows_a_draw_with_mean_mode_and_covariance_inverse_hessian():
    """With unit vectors for the normal draw, draw - mode are the columns of an A with A A' = H^-1;
    with the zero vector it is the mode."""
    class Given:
        def standard_normal(self, d):
            return self.e

    agent = learned(baselines.TSBLR, rows(generator(1), 60), generator(2).integers(0, 2, 60))
    X, agent.rng, deviations = rows(generator(3), 6), Given(), []
    for e in [*np.eye(16), np.zeros(16)]:
        agent.rng.e = e
        theta = agent.draw()
        deviations.append(theta - agent.mode)
        assert agent.choose(X, 1) == (one_hot(X) @ theta).argmax()
    A = np.column_stack(deviations[:16])
    assert not deviations[16].any()
    np.testing.assert_allclose(A @ A.T, np.linalg.inv(agent.H), atol=1e-12)


def test_glm_ucb_bound_equals_the_formula_with_a_plain_inverse():
    """sigmoid(phi mode) + 0.5 sqrt(log(t + 1)) sqrt(phi' M^-1 phi), M = 2 I + sum of phi phi'."""
    X, r, C = rows(generator(1), 50), generator(2).integers(0, 2, 50), rows(generator(3), 7)
    agent = learned(baselines.GLMUCB, X, r, precision=2.0, strength=0.5)
    M = 2.0 * np.eye(16) + one_hot(X).T @ one_hot(X)
    np.testing.assert_allclose(agent.inverse, np.linalg.inv(M), atol=1e-12)
    alpha_t = 0.5 * math.sqrt(math.log(51 + 1))
    bounds = [1 / (1 + math.exp(-phi @ agent.mode))
              + alpha_t * math.sqrt(phi @ np.linalg.solve(M, phi)) for phi in one_hot(C)]
    np.testing.assert_allclose(agent.bounds(C, 51), bounds, rtol=1e-10)
    assert agent.choose(C, 51) == np.argmax(bounds)


def test_a_posterior_over_many_ids_says_what_a_step_costs(monkeypatch, recwarn):
    """By this clock 400 equations take half a second; 800 take four. 500 are not worth a word."""
    ticks = itertools.count(10, 0.5)
    monkeypatch.setattr(baselines, "time", SimpleNamespace(perf_counter=lambda: next(ticks)))
    baselines.TSBLR(1, 499, None)
    assert not recwarn
    with pytest.warns(UserWarning, match="TSBLR solves 800 equations at every step, about 4 s"):
        baselines.TSBLR(1, 799, None)


# ---------------------------------------------------------------- arguments

def test_the_defaults_are_those_of_section_5():
    """And ours: a prior N(0, I)."""
    bag, rng = Scores(0.0), generator()
    assert baselines.EpsilonGreedy(bag, rng).epsilon == 0.1
    assert baselines.Giro(bag, rng).alpha == baselines.GiroArms(3, rng).alpha == 0.5
    assert baselines.DeepUCB1(bag, rng, None).strength == 0.1
    assert baselines.DeepTSBeta(bag, rng, None).shaping == 0.25
    assert baselines.GLMUCB(2, 8, rng).strength == 1.0
    assert (baselines.GLMUCB(2, 8, rng).H == np.eye(9)).all()
    assert (baselines.TSBLR(2, 8, rng).H == np.eye(9)).all()


@pytest.mark.parametrize("call, message", [
    (lambda: baselines.EpsilonGreedy(None, None, 1.5), "epsilon must be 0 to 1, got 1.5"),
    (lambda: baselines.DeepTSBeta(None, None, None, 0.0), "shaping must be a finite number above"),
    (lambda: baselines.TSBLR(2, 8, None, 0.0), "precision must be a finite number above 0, got"),
])
def test_wrong_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("method, loop", [(baselines.OBB, gb.replay), (baselines.Giro, gb.online)])
def test_a_method_is_refused_by_the_loop_where_it_makes_no_sense(method, loop):
    """OBB would weight what replay resamples already; Giro has no history to add pairs to."""
    bag = LogisticBag(35, [generator()])
    with pytest.raises(ValueError, match=f"agent must be one for .*, got '{method.__name__}'"):
        loop(method(bag, generator()), envs.Synthetic(0), 5, 2)


@pytest.mark.parametrize("rho", [np.nan, -1.0])
def test_a_density_that_gives_no_number_from_0_on_is_refused(rho):
    """nan would mean no fakes at all, and a negative number fakes for certain, without a word."""
    class Bad(gb.AdCount):
        def __call__(self, X):
            return np.full(X.shape[:-1], rho)
    bag = LogisticBag(35, [np.random.default_rng(0)])
    agent = gb.GuideBoot(bag, np.random.default_rng(0), Bad(35))
    with pytest.raises(ValueError, match="a density must be 0 or more, got"):
        gb.replay(agent, envs.Synthetic(0), 3, 4)
