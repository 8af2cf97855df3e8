"""Every compared method of Section 5.1 against an independent computation."""
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import baselines
import envs
import guideboot as gb
import nn

SEEDS = st.integers(0, 2 ** 32 - 1)
SIZES = (4, 3, 2)                                           # ids 0-3, 4-6, 7-8 and the bias, 9


def bag(K=1, features=9, seed=0, **kw):
    return nn.LogisticBag(features, [np.random.default_rng([seed, k]) for k in range(K)], **kw)


def rows(rng, c):
    return np.column_stack([rng.integers(0, 4, c), 4 + rng.integers(0, 3, c), 7 + rng.integers(0, 2, c)])


def one_hot(X):
    phi = np.zeros((len(X), 10))
    for i, x in enumerate(X):
        phi[i, [*x, 9]] = 1
    return phi


def newton_solve(X, r, precision):
    """Mode and Hessian by damped Newton from zero on the full data, one row per sample."""
    phi, theta = one_hot(X), np.zeros(10)

    def objective(theta):
        z = phi @ theta
        return np.logaddexp(0, z).sum() - r @ z + precision / 2 * theta @ theta
    for _ in range(200):
        p = 1 / (1 + np.exp(-phi @ theta))
        gradient = phi.T @ (p - r) + precision * theta
        H = phi.T @ np.diag(p * (1 - p)) @ phi + precision * np.eye(10)
        step, size = np.linalg.solve(H, gradient), 1.0
        while objective(theta - size * step) > objective(theta) and size > 1e-9:
            size /= 2
        theta = theta - size * step
    return theta, H


@settings(max_examples=25)
@given(SEEDS, st.integers(1, 80), st.sampled_from([0.1, 1.0, 10.0]))
def test_posterior_mode_and_covariance_equal_an_independent_newton_solve(seed, c, precision):
    """The gradient is below 1e-6 per entry and the Hessian at least `precision`, so |mode - exact| <= sqrt(d) 1e-6 / precision."""
    rng = np.random.default_rng(seed)
    X, r = rows(rng, c), rng.integers(0, 2, c)
    posterior = baselines.LogisticPosterior(3, 9, rng, precision)
    for x, r_x in zip(X, r):                                # one by one, as the loop does
        posterior.learn_from(x[None], np.array([r_x]))
    theta, H = newton_solve(X, r, precision)
    assert np.linalg.norm(posterior.mode - theta) <= math.sqrt(10) * 1e-6 / precision
    np.testing.assert_allclose(posterior.H, H, atol=c * 1e-5 / precision)
    assert len(posterior.input) == len(set(map(tuple, X)))


def test_posterior_keeps_more_distinct_inputs_than_its_first_storage_holds():
    """200 inputs, each its own id: every weight then depends on its own n and s and on the bias alone."""
    posterior = baselines.LogisticPosterior(1, 200, None)
    X, r = np.arange(200)[:, None], np.arange(200) % 3 == 0
    for _ in range(2):
        posterior.learn_from(X, r)
    assert len(posterior.input) == 200 and posterior.n.sum() == 400 and posterior.s.sum() == 2 * 67
    weights = posterior.mode[:200]
    assert np.ptp(weights[r]) < 1e-6 and np.ptp(weights[~r]) < 1e-6 and weights[r].min() > 0 > weights[~r].max()


def test_posterior_of_one_input_against_numerical_integration():
    """x always the same: the logit z = theta_0 + bias has prior N(0, 2/precision) and n trials with s clicks.

    The mode is exact; Laplace's variance has a relative error of order 1/n: four times the data, a quarter of the error.
    """
    errors = []
    for n in (400, 1600):
        s = n // 4
        posterior = baselines.LogisticPosterior(1, 1, None, 2.0)
        posterior.learn_from(np.zeros((n, 1), int), np.arange(n) < s)
        z = np.linspace(-3, 1, 400_001)
        log_p = s * z - n * np.logaddexp(0, z) - z ** 2 / 2
        p = np.exp(log_p - log_p.max())
        p /= p.sum()
        variance = p @ z ** 2 - (p @ z) ** 2
        assert posterior.mode.sum() == pytest.approx(z[log_p.argmax()], abs=2e-5)
        errors.append(abs(np.linalg.inv(posterior.H).sum() / variance - 1))      # Var(theta_0 + bias) = 1' H^-1 1
    assert errors[0] < 5 / (400 * 3 / 16) and 3.5 < errors[0] / errors[1] < 4.5


def test_ts_blr_draws_with_mean_mode_and_covariance_inverse_hessian():
    """With unit vectors in place of the normal draw the draws are mode + columns of A, and A A' must be H^-1."""
    rng = np.random.default_rng(0)
    agent = baselines.TSBLR(3, 9, rng)
    agent.learn_from(rows(rng, 60), rng.integers(0, 2, 60))

    class Units:
        def standard_normal(self, d):
            self.i = getattr(self, "i", -1) + 1
            return np.eye(d)[self.i]
    agent.rng = Units()
    A = np.column_stack([agent.draw() - agent.mode for _ in range(10)])
    np.testing.assert_allclose(A @ A.T, np.linalg.inv(agent.H), atol=1e-12)


def test_ts_blr_follows_its_draw():
    agent = baselines.TSBLR(3, 9, np.random.default_rng(0))
    X = rows(np.random.default_rng(1), 6)
    theta = baselines.TSBLR(3, 9, np.random.default_rng(0)).draw()
    assert agent.choose(X, 1) == (one_hot(X) @ theta).argmax()


def test_glm_ucb_bound_equals_the_formula_with_a_plain_inverse():
    rng = np.random.default_rng(4)
    X, r, C = rows(rng, 50), rng.integers(0, 2, 50), rows(rng, 7)
    agent = baselines.GLMUCB(3, 9, rng, precision=2.0, strength=0.5)
    for x, r_x in zip(X, r):
        agent.learn_from(x[None], np.array([r_x]))
    M = 2.0 * np.eye(10) + one_hot(X).T @ one_hot(X)
    np.testing.assert_allclose(agent.inverse, np.linalg.inv(M), atol=1e-12)
    for t in (1, 50):
        expected = [1 / (1 + math.exp(-phi @ agent.mode)) + 0.5 * math.sqrt(math.log(t + 1)) * math.sqrt(phi @ np.linalg.solve(M, phi))
                    for phi in one_hot(C)]
        np.testing.assert_allclose(agent.bounds(C, t), expected, rtol=1e-10)
        assert agent.choose(C, t) == int(np.argmax(expected))


def test_epsilon_greedy_explores_with_probability_epsilon():
    """Candidate 0 has the best score; the other three are shown only by exploration, epsilon / 4 each."""
    agent = baselines.EpsilonGreedy(bag(init=0.0), np.random.default_rng(0), epsilon=0.2)
    agent.bag.published[0, 0] = 1.0
    X = np.array([[0, 4, 7], [1, 4, 7], [2, 4, 7], [3, 4, 7]])
    counts = np.bincount([agent.choose(X, 1) for _ in range(20_000)], minlength=4)
    assert (abs(counts[1:] - 1000) < 5 * math.sqrt(1000)).all()


def test_epsilon_decays_linearly_to_zero():
    """Of 4,000 decisions at the first step 0.5 explore, halfway 0.25, from step decay + 1 on none; half of those hit candidate 1."""
    agent = baselines.EpsilonGreedy(bag(init=0.0), np.random.default_rng(0), epsilon=0.5, decay=100)
    agent.bag.published[0, 0] = 1.0
    X = np.array([[0, 4, 7], [1, 4, 7]])
    agent.epsilon, agent.decay = 1.0, 2
    shares = [np.mean([agent.choose(X, t) for _ in range(4000)]) for t in (1, 2, 3)]       # 1, 1/2, 0 explore; half of them
    assert abs(shares[0] - 0.5) < 5 / math.sqrt(16_000) and abs(shares[1] - 0.25) < 5 / math.sqrt(16_000) and shares[2] == 0
    agent.epsilon, agent.decay = 0.5, 100
    for t, expected in ((1, 0.25), (51, 0.125), (101, 0.0), (500, 0.0)):
        share = np.mean([agent.choose(X, t) for _ in range(4000)])
        assert abs(share - expected) <= 5 * math.sqrt(expected * (1 - expected) / 4000)


def test_obb_weights_are_poisson_one_per_model_and_sample():
    """Mean and variance 1 within 5 standard errors (variance of a Poisson(1) sample variance: (mu4 - 1)/N = 3/N)."""
    agent = baselines.OBB(bag(), np.random.default_rng(0))
    r = np.random.default_rng(1).integers(0, 2, (4, 25_000))
    w, y = agent.samples(None, r)
    assert abs(w.mean() - 1) < 5 * math.sqrt(1 / 1e5) and abs(w.var() - 1) < 5 * math.sqrt(3 / 1e5)
    assert (y == w * r).all() and not (w[0] == w[1]).all()
    assert not baselines.OBB.shuffle and gb.GuideBoot.shuffle


def test_giro_adds_pseudo_pairs_to_the_history():
    agent, history = baselines.Giro(bag(), np.random.default_rng(0), alpha=0.5), gb.History(3, 9)
    for _ in range(2000):
        agent.remember(history, [1, 5, 8], 1)
    pairs = (history.size - 2000) / 2
    assert abs(pairs - 1000) < 5 * math.sqrt(500)
    assert (history.r[:history.size] == 0).sum() == pairs and (history.X[:history.size] == [1, 5, 8]).all()
    for alpha, size in ((0.0, 1), (1.0, 3)):
        agent, history = baselines.Giro(bag(), np.random.default_rng(0), alpha), gb.History(3, 9)
        agent.remember(history, [1, 5, 8], 0)
        assert history.size == size and history.r[:size].tolist() == [0, 0, 1][:size]


def test_giro_arms_adds_whole_pairs():
    """1000 pulls without a click, alpha = 0.5: Bi(1000, 1/2) pairs, of a click and a pull each."""
    agent = baselines.GiroArms(1, np.random.default_rng(0), alpha=0.5)
    agent.learn_from(np.zeros((1000, 1), int), np.zeros(1000, int))
    pairs = agent.s[0]
    assert agent.n[0] == 1000 + 2 * pairs
    assert abs(pairs - 500) < 5 * math.sqrt(250)


def test_probabilities_outside_0_to_1_are_refused():
    with pytest.raises(ValueError, match="^epsilon must be 0 to 1, got 1.5$"):
        baselines.EpsilonGreedy(bag(), None, 1.5)
    with pytest.raises(ValueError, match="^alpha of Giro must be 0 to 1, got -1$"):
        baselines.Giro(bag(), None, -1)
    with pytest.raises(ValueError, match="^alpha of Giro must be 0 to 1, got 2$"):
        baselines.GiroArms(3, None, 2)


def test_random_policy_is_uniform():
    agent = baselines.RandomPolicy(np.random.default_rng(0))
    counts = np.bincount([agent.choose(np.zeros((5, 3)), t) for t in range(10_000)], minlength=5)
    assert (abs(counts - 2000) < 5 * math.sqrt(1600)).all()


def test_bayesian_methods_beat_random_on_the_synthetic_task():
    regret = {}
    for name, agent in (("TS", baselines.TSBLR(3, 35, envs.stream(0, "agent"))),
                        ("UCB", baselines.GLMUCB(3, 35, envs.stream(0, "agent"))),
                        ("Random", baselines.RandomPolicy(envs.stream(0, "agent")))):
        env = envs.Scored(envs.Synthetic(0), 2000)
        gb.online(agent, env, 2000, 1)
        regret[name] = env.regret.sum()
    assert regret["TS"] < 0.8 * regret["Random"] and regret["UCB"] < 0.8 * regret["Random"]


def test_the_defaults_are_those_of_section_5():
    """epsilon 0.1; Giro's alpha 0.5; 0.1 sqrt(2 log t / Count); reshaping 0.25; GLM-UCB's strength 1 and a prior N(0, I)."""
    rng, density = np.random.default_rng(0), gb.AdCount(9)
    assert baselines.EpsilonGreedy(bag(), rng).epsilon == 0.1 and baselines.EpsilonGreedy(bag(), rng).decay is None
    assert baselines.Giro(bag(), rng).alpha == baselines.GiroArms(3, rng).alpha == 0.5
    assert baselines.DeepUCB1(bag(), rng, density).strength == 0.1 and baselines.DeepTSBeta(bag(), rng, density).shaping == 0.25
    glm, blr = baselines.GLMUCB(2, 8, rng), baselines.TSBLR(2, 8, rng)
    assert glm.strength == glm.precision == blr.precision == 1.0 and (glm.inverse == np.eye(9)).all() and (blr.H == np.eye(9)).all()
