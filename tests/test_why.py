"""GuideBoot taken apart: the statements of lab/why.py, enumerated, and its cells and measures."""
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab import why              # first: lab sets one BLAS thread

import envs
import guideboot as gb
import nn
import run_synthetic
from baselines import RidgeBag


def filled(fakes="none", data="afresh", steps=40, K=1, **options):
    """Samples after some steps of random choices."""
    given = dict(alpha=2.0, centre=0.5, guided=True, batch=6)
    samples = why.Samples(K, steps, np.random.default_rng(0), fakes=fakes, data=data,
                          **{**given, **options})
    env, rng = envs.Synthetic(3), np.random.default_rng(1)
    for _ in range(steps):
        X = env.observe()
        a = int(rng.integers(5))
        samples.add(X[a], env.pull(a))
    return samples


def all_rows(history):
    """The history as one batch of one model."""
    t = history.size
    return history.X[None, :t].astype(int), history.r[None, :t].astype(float)


def one_hot(X):
    """Rows of three ids as 36 numbers, of which the last is the bias."""
    phi = np.zeros((len(X), 36))
    for x, row in zip(X, phi):
        row[[*x, 35]] = 1.0
    return phi


# ---------------------------------------------------------------- the two statements

def test_the_expected_gradient_is_that_of_one_objective_which_the_full_data_has():
    """Enumerated: each row with probability 1/t, each of its four pairs (F1, F0) with its own."""
    samples = filled("pull", "full")
    bag = RidgeBag(35, [np.random.default_rng(0)], init=0.5)
    X, r = all_rows(samples.history)
    g = gb.guidance(samples.density(X), 2.0)
    expected = 0.0
    for i, F1, F0 in itertools.product(range(X.shape[1]), (0, 1), (0, 1)):
        p = (g[0, i] if F1 else 1 - g[0, i]) * (g[0, i] if F0 else 1 - g[0, i]) / X.shape[1]
        w, y = np.array([[1.0 + F1 + F0]]), np.array([[r[0, i] + F1]])
        expected = expected + p * bag.gradient(X[:, i:i + 1], w, y)
    np.testing.assert_allclose(bag.gradient(X, 1 + 2 * g, r + g), expected, atol=1e-14)
    np.testing.assert_allclose(bag.gradient(*samples()), expected, atol=1e-14)


@given(st.integers(1, 25), st.floats(0, 1), st.floats(0.01, 40))
def test_the_lift_of_an_arm_is_what_enumeration_gives(n, share, alpha):
    s = round(share * n)
    mean, _ = gb.moments(*gb.guided_distribution(s, n, alpha))
    raised, in_stds = why.lift(s, n, alpha)
    assert raised == pytest.approx(mean - s / n, abs=1e-12)
    assert np.sign(round(raised, 12)) == np.sign(n - 2 * s)
    assert in_stds == pytest.approx(raised / math.sqrt(gb.beta_moments(s, n, alpha)[1]))


# ---------------------------------------------------------------- the cells

@pytest.mark.parametrize("s, alpha", [(0, 0.03), (0, 4.0), (3, 1.0), (12, 4.0), (11, 4.0)])
def test_the_lift_in_standard_deviations_tends_to_its_limit(s, alpha):
    """alpha / sqrt(s + alpha): with alpha = 4 it is 1 at s = 12 = alpha (alpha - 1). E[F/(n+F)] and
    the standard deviation have errors of order 1/n: ten times smaller ones for n ten times larger.
    """
    limit = alpha / math.sqrt(s + alpha)
    error = [why.lift(s, n, alpha)[1] / limit - 1 for n in (1000, 10_000)]
    assert abs(error[1]) < 0.01
    assert error[0] / error[1] == pytest.approx(10, rel=0.1)


@pytest.mark.parametrize("method, options", [
    (run_synthetic.guideboot, {}), (run_synthetic.bootstrap, dict(fakes="none")),
    (run_synthetic.greedy, dict(fakes="none", models=1)),
    (run_synthetic.ridge, dict(fakes="none", models=1, precision=1.0))])
def test_a_cell_with_the_parts_of_a_method_is_that_method(method, options):
    """To the last digit: the same draws in the same order."""
    regrets = []
    for run in (method, lambda *args: why.cell(*args, **options)):
        env = envs.Scored(envs.Synthetic(0), 150)
        run(env, 150, 0)
        regrets.append(env.regret)
    assert (regrets[0] == regrets[1]).all()


@pytest.mark.parametrize("data", ["afresh", "kept"])
def test_fakes_are_their_pull_plus_their_noise(data):
    """On the same draws: what is pulled and what is noise add up to the drawn, the real sample
    counted twice. So the noise has the mean of no fakes, whatever the model."""
    X, w, y = {}, {}, {}
    for fakes in ("drawn", "pull", "noise", "none"):
        X[fakes], w[fakes], y[fakes] = filled(fakes, data)()
        assert (X[fakes] == X["drawn"]).all()
    np.testing.assert_allclose(w["pull"] + w["noise"], w["drawn"] + w["none"])
    np.testing.assert_allclose(y["pull"] + y["noise"], y["drawn"] + y["none"])
    assert np.ptp(w["drawn"] - w["pull"]) > 0


@pytest.mark.parametrize("centre", [0.5, 1.0, 0.27, None])
def test_fakes_pull_to_their_centre(centre):
    """Where every fake is certain (g = 1) a sample of reward r becomes r + 2 centre clicks in 3.
    Without a centre it is the average reward."""
    samples = filled("pull", alpha=1e9, centre=centre)
    X, w, y = samples()
    _, r = filled("pull").history.resample((1, 6), np.random.default_rng(0))
    np.testing.assert_allclose(w, 3.0)
    share = samples.s.sum() / 40 if centre is None else centre
    np.testing.assert_allclose(y, r + 2 * share)


def test_a_kept_resample_gives_a_sample_the_same_weight_every_time():
    """Poisson(1) weights: of 2 x 10,000 the mean and variance are 1, within five standard errors
    of 0.007 and (the fourth central moment is 4) 0.0125."""
    weights = filled(data="kept", K=2, steps=10_000).kept
    assert abs(weights.mean() - 1) < 5 * 0.0071
    assert abs(weights.var() - 1) < 5 * 0.0125
    samples = filled(data="kept", K=2, batch=500)
    samples.kept = np.stack([np.arange(40), 100 + np.arange(40)])
    X, w, y = samples()
    for k in range(2):
        rows = w[k] - 100 * k
        assert len(set(rows.tolist())) == 40
        assert (X[k] == samples.history.X[rows]).all()
        assert (y[k] == w[k] * samples.history.r[rows]).all()


def test_unguided_cells_have_as_many_fakes_the_same_for_all_rows():
    guided, unguided = filled("pull", "full"), filled("pull", "full", guided=False)
    w, v = guided()[1], guided.rows()[1]
    other = unguided()[1]
    assert other.sum() == pytest.approx(w.sum())
    np.testing.assert_allclose(other / v, (other / v)[0, 0])
    assert np.ptp(w / v) > 0.1


def test_the_exact_fit_is_at_the_minimum_of_the_objective_with_a_ridge():
    env = envs.Scored(envs.Synthetic(0), 60)
    agent = why.ExactPull(3, 35, np.random.default_rng(0), 0.5, 2.0)
    gb.online(agent, env, 60, 1)
    (X,), (r,) = all_rows(agent.history)
    g, phi = gb.guidance(agent.density(X), 2.0), one_hot(X)
    slope = phi.T @ ((1 + 2 * g) * nn.sigmoid(phi @ agent.mode) - (r + g)) + 0.5 * agent.mode
    assert np.abs(slope).max() < 1e-6                            # Newton's tolerance
    assert agent.n.sum() == 60                                   # the real counts are back


# ---------------------------------------------------------------- the measures

def test_measures_worked_by_hand():
    """Actions 0 to 4 are shown, 400 times. The posterior is worked out sample by sample: a mean
    model at the truth + 0.7 std has an optimism of 0.7, one at the truth none. Five models at -1,
    -1, 0, 1 and 1 std have a variance of (1 + 1 + 1 + 1) / 4 posterior variances.
    """
    samples, env = filled(steps=400), envs.Synthetic(3, base=-0.4)
    (X,), _ = all_rows(samples.history)
    inputs = one_hot(why.INPUTS)
    truth = inputs @ np.append(env._w, -0.4)
    H = np.diag([48.0] * 35 + [0.0])                             # the bias has no prior
    for phi in one_hot(X):
        p = nn.sigmoid(phi @ np.append(env._w, -0.4))
        H += p * (1 - p) * np.outer(phi, phi)
    std = np.sqrt(np.diag(inputs @ np.linalg.inv(H) @ inputs.T))
    z = truth + np.array([[-1], [-1], [0], [1], [1]]) * std
    numbers = why.measures(env, z, samples.history)
    assert numbers["of_posterior"] == pytest.approx(1)
    assert numbers["spread"] == pytest.approx(math.sqrt((std ** 2).mean()))
    for c in (0.0, 0.7):
        bound = why.measures(env, (truth + c * std)[None], samples.history)
        assert bound["optimism"] == pytest.approx(c, abs=1e-6)
        assert "spread" not in bound
    raised = why.measures(env, truth[None] + 0.5 * (why.INPUTS[:, :1].T == 9), samples.history)
    assert raised["rare"] == pytest.approx(0.5 / 5)              # least shown: 5 to 9, in order


def test_disagreement_is_the_share_of_pairs():
    """Of three models two like action 24 best and one action 0: two of the three pairs differ."""
    liking = why.INPUTS[:, 0].astype(float)
    assert why.disagreement(envs.Synthetic(0), np.stack([liking, liking, -liking])) \
        == pytest.approx(2 / 3)


@pytest.mark.parametrize("options", [dict(fakes="typo"), dict(data="typo"), dict(alpha=-1.0),
                                     dict(precision=-5.0)])
def test_a_cell_of_no_known_kind_is_refused(options):
    with pytest.raises(ValueError, match=f"{[*options][0]} must be "):
        why.cell(envs.Synthetic(0), 2, 0, **options)
