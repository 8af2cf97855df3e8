"""guideboot.py in its own order: guidance, fake samples, choosing, the two loops, the arms.

What is random is drawn from a fixed seed and compared with its exact distribution by `follows`.
"""
import itertools
import math
import re
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng

import baselines
import envs
import guideboot as gb
import nn
import run_arms

SEEDS = st.integers(0, 2 ** 32 - 1)
EVERY_ROW = np.array(list(itertools.product((0, 1, 2), (3, 4), (5, 6, 7))))     # (18, 3)


def bag(K=3, features=8, seed=0, **options):
    rngs = [default_rng([seed, k]) for k in range(K)]
    return nn.LogisticBag(features, rngs, **options)


def follows(sample, values, p=None):
    """Is the sample's distribution function near the true one? Without p all values are as likely.

    Of N draws it is nowhere further off than sqrt(log(2 / q) / 2N), but with probability q, here
    1e-4 (Dvoretzky, Kiefer, Wolfowitz, Massart). A value that cannot occur must not."""
    sample, values = np.ravel(sample), np.asarray(values)
    p = np.full(len(values), 1 / len(values)) if p is None else np.asarray(p)
    if not np.isin(sample, values[p > 0]).all():
        return False
    found = [(sample <= value).mean() for value in values]
    return np.abs(found - np.cumsum(p)).max() < math.sqrt(math.log(2 / 1e-4) / (2 * len(sample)))


# ---------------------------------------------------------------- guidance: Eq. 4-7

@given(st.floats(0, 1e12), st.floats(1e-9, 1e9))
def test_guidance_is_min_of_alpha_over_rho_and_one_without_a_warning(rho, alpha):
    expected = 1.0 if rho == 0 else min(alpha / rho, 1.0)
    with np.errstate(all="raise"):
        np.testing.assert_allclose(gb.guidance(np.array(rho), alpha), expected, rtol=1e-15)


@given(SEEDS, st.lists(st.integers(0, 5), max_size=8))
def test_densities_equal_brute_force_counts(seed, buffers):
    """Of all inputs, seen or not, after updates with single rows (0) and buffers of 1 to 5 rows."""
    rng = default_rng(seed)
    densities = gb.AdCount(8, 0), gb.AdCount(8, field=1), gb.Harmonic(8), gb.FastHarmonic(8)
    shown = np.empty((0, 3), int)
    for c in buffers:
        X = rng.choice(EVERY_ROW, c or None)            # (c, 3) or (3,)
        for density in densities:
            density.update(X)
        shown = np.vstack([shown, X])
    with pytest.raises(TypeError, match="field"):       # on the ads, field 0 would be the hour
        gb.AdCount(8)
    times = (EVERY_ROW[:, None] == shown).sum(axis=1)   # (18, 3): rows shown that share this id
    harmonic = np.array([0 if 0 in n else 1 / sum(1 / n) for n in times])
    X = EVERY_ROW.reshape(2, 9, 3)                      # (K, B, J), as in the loops
    for density, expected in zip(densities, (times[:, 0], times[:, 1], harmonic, harmonic)):
        with np.errstate(all="raise"):
            np.testing.assert_allclose(density(X), expected.reshape(2, 9), rtol=1e-14)


@given(SEEDS, st.integers(1, 50))
def test_over_a_history_the_inverse_density_is_distinct_ids_per_step_on_average(seed, t):
    """Every id adds Count times 1 / Count: so 2 alpha D / t fakes per sample, until g is capped."""
    X = default_rng(seed).choice(EVERY_ROW, t)
    for density, ids in ((gb.Harmonic(8), X), (gb.AdCount(8, 0), X[:, 0])):
        density.update(X)
        assert (1 / density(X)).mean() == pytest.approx(len(np.unique(ids)) / t)


# ---------------------------------------------------------------- fake samples: Section 3.2

@given(SEEDS, st.integers(1, 9))
def test_fused_fakes_equal_literally_appended_rows(seed, B):
    """The specification: append the row of each fake with its fake label, then plain log-loss."""
    rng = default_rng(seed)
    X = rng.choice(EVERY_ROW, B)
    r = rng.integers(0, 2, B)
    g = rng.random(B)
    w, y = gb.fake_samples(r, g, default_rng([seed, 1]))

    F1, F0 = default_rng([seed, 1]).random((2, B)) < g
    X_all = np.concatenate([X, X[F1], X[F0]])
    r_all = np.concatenate([r, np.ones(F1.sum()), np.zeros(F0.sum())])
    w_all = np.ones(len(r_all))

    model = bag(K=1, seed=seed, init=1.0)
    fused = nn.log_loss(model.scores(0, X), w, y).sum()
    literal = nn.log_loss(model.scores(0, X_all), w_all, r_all).sum()
    assert fused == pytest.approx(literal, rel=1e-12)
    fused = model.gradient(X[None], w[None], y[None]) * B
    literal = model.gradient(X_all[None], w_all[None], r_all[None]) * len(r_all)
    np.testing.assert_allclose(fused, literal, rtol=1e-12, atol=1e-13)


# ---------------------------------------------------------------- a method: choose x learn from

def test_argmax_is_an_index_of_the_largest_score():
    """Ties are broken at random."""
    rng = default_rng(0)
    scores = np.array([1.0, 3.0, 3.0, 0.0, 3.0])
    assert follows([gb.argmax(scores, rng) for _ in range(3000)], [1, 2, 4])
    assert gb.argmax(np.array([0.0, 2.0, 1.0]), None) == 1      # no tie, no random number
    assert gb.argmax(np.array([1.0, 1.0 + 1e-12]), None) == 1   # nor here: near is not equal


def test_agent_follows_a_random_published_model():
    """Three models that each want another candidate: each is followed a third of the time."""
    agent = gb.Agent(bag(K=3), default_rng(0))
    agent.bag.published[:] = 0.0
    agent.bag.published[[0, 1, 2], [0, 1, 2]] = 1.0
    X = np.array([[0, 3, 5], [1, 3, 5], [2, 3, 5]])
    assert follows([agent.choose(X, 1) for _ in range(3000)], [0, 1, 2])
    agent.bag.published[:] = 0.0                        # now every model finds all equal
    assert follows([agent.choose(X, 1) for _ in range(3000)], [0, 1, 2])


@pytest.mark.parametrize("options, alpha", [({}, 1.0), (dict(alpha=0.5), 0.5)])
def test_what_guideboot_trains_with(options, alpha):
    """Two models, 30,000 records with the densities 0, 1 and 10 in turn: g = min(alpha / rho, 1)"""
    def density(X):
        return np.array([0.0, 1.0, 10.0])[X[..., 0]]
    X = np.tile([[0, 3, 5], [1, 3, 5], [2, 3, 5]], (2, 10_000, 1))
    agent = gb.GuideBoot(bag(), default_rng(0), density, **options)
    assert math.isnan(agent.fakes())                    # it has not learned yet
    w, y = agent.samples(X, np.zeros(X.shape[:2], np.int8))
    assert agent.fakes() == w.mean() - 1
    for fakes in (y, w - 1 - y):                        # F1 and F0
        for i, g in enumerate((1.0, alpha, alpha / 10)):
            assert follows(fakes[:, i::3], [0, 1], [1 - g, g])
    assert (y[0] != y[1]).any()                         # every model has fakes of its own


# ---------------------------------------------------------------- Algorithm 1: history and replay

def test_history_takes_the_smallest_type_that_holds_every_id():
    """256 ids are 0 to 255, which fit one byte; one more id does not. A reward takes one byte."""
    types = [gb.History(1, features).X.dtype for features in (256, 257, 65_536, 65_537)]
    assert types == [np.uint8, np.uint16, np.uint16, np.uint32]
    assert gb.History(1, 2).r.dtype == np.int8


def test_what_a_history_of_any_size_gives_back():
    """3,000 rows, for which 1,024 are doubled twice; 150,000 draws find each 50 times or so."""
    history = gb.History(2, 6000)
    for i in range(3000):
        history.append([i, i + 3000], i % 2)
    assert len(history.X) == len(history.r) == 4096
    X, r = history.resample((2, 75_000), default_rng(0))
    assert X.shape == (2, 75_000, 2)
    assert (X[..., 1] == X[..., 0] + 3000).all()
    assert (r == X[..., 0] % 2).all()
    assert len(np.unique(X[..., 0])) == 3000
    assert follows(X[..., 0], np.arange(3000))
    assert (X[0] != X[1]).any()                         # every model has a resample of its own


class Recorder(gb.GuideBoot):
    """GuideBoot that writes down each call of its hooks and of its bag's, when it is done."""

    def __init__(self, features=35):
        super().__init__(bag(features=features), default_rng(0), gb.Harmonic(features))
        self.calls = []                                 # (name, arguments, result)
        for hook in (self.choose, self.remember, self.update_density, self.samples,
                     self.learn_from, self.bag.update, self.bag.publish):
            setattr(hook.__self__, hook.__name__, partial(self.record, hook))

    def record(self, hook, *arguments):
        result = hook(*arguments)
        self.calls.append((hook.__name__, arguments, result))
        return result

    def given(self, name):
        """The arguments of all calls of one hook."""
        return [arguments for called, arguments, _ in self.calls if called == name]


SHOW = ["choose", "remember", "update_density"]
TRAIN = ["samples", "update"]


@pytest.mark.parametrize("steps, options, expected", [
    (30, {}, (SHOW + TRAIN + ["publish"]) * 30),
    (20, dict(every=6, updates=2), (SHOW * 6 + TRAIN * 2 + ["publish"]) * 3 + SHOW * 2)])
def test_replay_learns_after_every_step_or_every_so_many_steps(steps, options, expected):
    agent = Recorder()
    gb.replay(agent, envs.Synthetic(1), steps, 16, **options)
    assert [name for name, *_ in agent.calls] == expected
    assert [t for _, t in agent.given("choose")] == list(range(1, steps + 1))
    shown = {tuple(x) for _, x, _ in agent.given("remember")}
    assert {tuple(x) for x, in agent.given("update_density")} == shown
    assert agent.density.count.sum() == 3 * steps       # three ids a row
    X, w, y = agent.given("update")[-1]
    assert X.shape == (3, 16, 3)
    assert w is agent.last_w                           # the last samples, with their fakes
    learned = set(map(tuple, X.reshape(48, 3)))
    assert learned <= shown
    assert len(learned) > 10                            # of 18 or 30 rows, by 48 draws


# ---------------------------------------------------------------- Algorithms 2 and 3: online

@pytest.mark.parametrize("c, options, batches", [
    (8, dict(n=2), [[4, 4], [4, 4], [4, 4]]),
    (7, dict(n=3), [[2, 2, 3], [2, 2, 3], [1, 1, 1]]),
    (100, dict(n=4), [[7, 8, 7, 8]]),
    (itertools.cycle([5, 1, 3]), dict(n=2), [[2, 3], [1], [1, 2], [2, 3], [1], [1, 1]]),
    ([14, 5], {}, [[14], [5]])])
def test_online_buffers_of_any_size_reach_every_model_whole_shuffled_and_in_mini_batches(
        c, options, batches):
    """Section 4.1: c may vary, by any iterable; a buffer may then be shorter than n. Mini-batches
    differ in size by at most one. The models are published when a learning phase is complete."""
    agent = Recorder()
    steps = sum(map(sum, batches))
    gb.online(agent, envs.Synthetic(1), steps, c, **options)
    expected = []
    for sizes in batches:
        expected += ["choose"] * sum(sizes) + ["update_density", "samples"]
        expected += ["update"] * len(sizes) + ["publish", "learn_from"]
    assert [name for name, *_ in agent.calls] == expected
    assert [t for _, t in agent.given("choose")] == list(range(1, steps + 1))

    for (X_on, r_on, _), (X, r) in zip(agent.given("learn_from"), agent.given("samples")):
        for k in range(3):                              # every row once, with its reward
            assert sorted(zip(X[k].tolist(), r[k])) == sorted(zip(X_on.tolist(), r_on))
    assert [len(w[0]) for _, w, _ in agent.given("update")] == sum(batches, [])
    samples = [(given[0], *result) for name, given, result in agent.calls if name == "samples"]
    assert any((X[0] != X[1]).any() for X, w, y in samples)     # every model has its own order
    for parts, whole in zip(zip(*agent.given("update")), zip(*samples)):        # X, w and y
        assert (np.concatenate(parts, axis=1) == np.concatenate(whole, axis=1)).all()


# ---------------------------------------------------------------- both loops

@pytest.mark.parametrize("loop", [gb.replay, gb.online])
def test_the_row_is_taken_before_pull_which_may_reuse_the_array(loop):
    """Ten arms, of which those with an odd id are always clicked; pull moves all ids on by one."""
    def pull(a):
        pulled.append(env.X[a].tolist())
        env.X[:] = (env.X + 1) % 10
        return pulled[-1][0] % 2

    pulled = []
    env = envs.BernoulliArms(0)
    env.pull = pull
    agent = Recorder(10)
    loop(agent, env, 20, 4)
    shown = np.vstack([X for X, in agent.given("update_density")])
    assert shown.tolist() == pulled
    for X, r in agent.given("samples"):
        assert (r == X[..., 0] % 2).all()


@pytest.mark.parametrize("loop, learning_rate, arguments", [
    (gb.replay, 0.003, (32,)), (gb.online, 0.02, (16, 2))])
def test_guideboot_learns_the_synthetic_task(loop, learning_rate, arguments):
    """Of random's regret eight groups of three seeds had 0.50 to 0.64; who learns nothing has 1."""
    regret = np.zeros(2)
    for seed in range(3):
        tasks = [envs.Scored(envs.Synthetic(seed), 2000) for _ in range(2)]
        model = bag(5, 35, seed, learning_rate=learning_rate)
        loop(gb.GuideBoot(model, default_rng(seed), gb.Harmonic(35)), tasks[0], 2000, *arguments)
        gb.online(baselines.RandomPolicy(default_rng(seed)), tasks[1], 2000, 100)
        regret += [task.regret.sum() for task in tasks]
    assert regret[0] < 0.7 * regret[1]


# ---------------------------------------------------------------- bad arguments

Two = type("Two", (envs.BernoulliArms,), {"pull": lambda env, a: 2})
Beyond = type("Beyond", (gb.Agent,), {"choose": lambda agent, X, t: len(X)})


def run(loop, size=4, env=envs.BernoulliArms, method=gb.Agent, features=10, **options):
    loop(method(bag(features=features), default_rng(0)), env(0), 5, size, **options)


def test_a_mini_batch_may_be_a_single_row():
    run(gb.online, 3, n=3)                                   # 4 of 3 is refused below


def served_ads(seed):
    ads = envs.Ads(seed, scale=0.01)
    return gb.Agent(nn.ServedAds(ads.fields, ads.features, [default_rng(0)], ads.table), None)


def fakes(rho):
    rho = np.atleast_2d(rho if isinstance(rho, list) else [2.0, rho])
    agent = gb.GuideBoot(bag(), default_rng(0), lambda X: rho)
    agent.samples(EVERY_ROW[None, :2], np.zeros((1, 2), int))


@pytest.mark.parametrize("call, message", [
    (lambda: run(gb.replay, 2.5), "b must be a whole number, 1 or more, got 2.5"),
    (lambda: run(gb.replay, every=0), "every must be a whole number, 1 or more, got 0"),
    (lambda: run(gb.online, math.nan), "c must be a whole number, 1 or more, got nan"),
    (lambda: run(gb.online, n=0), "n must be a whole number, 1 or more, got 0"),
    (lambda: run(gb.online, 3, n=4), "n, of mini-batches, must be at most c, the buffer's 3"),
    (lambda: run(gb.online, [3, 0]), "c must be a whole number, 1 or more, got 0"),
    (lambda: run(gb.online, [3, 1]), "c must give a size for every buffer, got too few"),
    (lambda: run(gb.replay, features=8), "bag.features must be env.features, 10, got 8"),
    (lambda: run(gb.replay, env=Two), "rewards must be 0 or 1, got 2"),
    (lambda: run(gb.online, env=Two), "rewards must be 0 or 1, got 2"),
    (lambda: run(gb.replay, method=Beyond), "the chosen index must be whole, 0 to 9, got 10"),
    (lambda: run(gb.online, method=Beyond), "the chosen index must be whole, 0 to 9, got 10"),
    (lambda: gb.replay(baselines.RandomPolicy(None), envs.Synthetic(0), 5, 4),
     "agent must be a method for replay, got 'RandomPolicy'"),
    (lambda: gb.online(served_ads(1), envs.Ads(0, scale=0.01), 5, 4),
     "bag.ads must be env.table, got the ads of another environment"),
    (lambda: gb.learn(gb.Agent(bag(), None), EVERY_ROW[:1], [1], 0), "n must be a whole number"),
    (lambda: run_arms.chance_to_win(*[(np.array([1.0, 0.0]), np.array([0.5, 0.5]))] * 2),
     "values of A must be increasing"),
    (lambda: run(gb.replay, method=baselines.OBB), "agent must be a method for replay, got 'OBB'"),
    (lambda: run(gb.online, method=baselines.Giro), "agent must be a method for online, got 'Gi"),
    (lambda: fakes(math.nan), "a density must be 0 or more, got nan"),      # nan: no fakes at all
    (lambda: fakes(-1.0), "a density must be 0 or more, got -1.0"),
    (lambda: fakes([3.0]), "a density must have the rows' shape, (1, 2), got (1, 1)"),
    (lambda: gb.learn(gb.Agent(bag(), None), EVERY_ROW[:1], [2], 1),
     "rewards must be 0 or 1, got 2 in row 0"),
    (lambda: gb.binomial(3, 1.5), "p must be 0 to 1, got 1.5"),
    (lambda: gb.GuideBoot(bag(), None, None, alpha=0.0), "alpha must be a finite number above 0"),
    (lambda: gb.guided_distribution(1, 3, -1), "alpha must be a finite number above 0, got -1"),
    (lambda: gb.guided_distribution(4, 3, 1.0), "s must be a whole number, 0 to n, 3, got 4"),
    (lambda: gb.guided_distribution(0, 0, 1.0), "n must be a whole number, 1 or more, got 0"),
    (lambda: run_arms.beta_chance_to_win(1.5, 1, 1, 1), "aB must be a whole number, 1 or more"),
    (lambda: gb.beta_moments(4, 3, 1.0), "s must be 0 to n, 3, got 4"),
    (lambda: gb.beta_moments(-1, 3, 1.0), "s must be 0 to n, 3, got -1"),
    (lambda: gb.guided_before_moments(1, 3, 0.0), "alpha must be a finite number above 0, got 0"),
    (lambda: gb.argmax(np.array([0.0, np.nan]), None), "a score is nan: the learning rate or"),
    (lambda: gb.argmax(np.array([0.0, np.inf]), None), "a score is inf: the learning rate or")])
def test_what_makes_no_sense_is_refused_with_its_name_and_value(call, message):
    with pytest.raises((ValueError, FloatingPointError), match=re.escape(message)):
        call()


# ---------------------------------------------------------------- the multi-armed case

@st.composite
def arms(draw, most=40):
    """s clicks in n pulls, and 0 < alpha <= n."""
    n = draw(st.integers(1, most))
    s = draw(st.integers(0, n))
    return s, n, n * draw(st.floats(1e-3, 1.0))


def exact_binomial(n, p):
    """Probabilities by whole binomial coefficients, independent of the code under test."""
    return np.array([math.comb(n, i) * p ** i * (1 - p) ** (n - i) for i in range(n + 1)])


def test_moments_and_draws_worked_by_hand_stay_right_when_alpha_is_tiny():
    """1 click in 50, alpha = 1: Beta(2, 50), mean 2/52, variance 2*50/(52^2 * 53).

    s = n = 5, alpha = 1e-16: Beta(5, alpha), mean 1, variance 5 alpha / (5^2 * 6) = alpha / 30.
    Written alpha + n - s, from the left, the second parameter would be 0: a variance of 0, and no
    Beta distribution to draw from. s = 0 is the mirror image, Beta(alpha, 5). With the fakes before
    resampling the variance is 5 alpha / 5^3 = alpha / 25."""
    expected = 2 / 52, 100 / (52 ** 2 * 53)
    np.testing.assert_allclose(gb.beta_moments(1, 50, 1), expected, rtol=1e-14)
    alpha = 1e-16
    mean, variance = gb.beta_moments(np.array([5, 0]), 5, alpha)
    np.testing.assert_allclose(mean, [1, alpha / 5], rtol=1e-14)
    np.testing.assert_allclose(variance, [alpha / 30, alpha / 30], rtol=1e-14)
    _, variance = gb.guided_before_moments(np.array([5, 0]), 5, alpha)
    np.testing.assert_allclose(variance, [alpha / 25, alpha / 25], rtol=1e-14)
    assert run_arms.thompson_mean(np.array([5, 0]), 5, default_rng(0), alpha).tolist() == [1.0, 0.0]


@given(arms(), st.sampled_from([1, 2, 5]))
def test_bootstrap_alone_and_with_fakes_before_resampling_has_the_papers_moments(case, alpha):
    """N = n + 2 alpha draws from data with s + alpha clicks: Bi(N, p) / N, p = (alpha + s) / N.
    With alpha = 0 it is Eq. 3: Bi(n, s/n) / n."""
    s, n, _ = case
    N = n + 2 * alpha
    expected = gb.moments(np.arange(N + 1) / N, exact_binomial(N, (alpha + s) / N))
    np.testing.assert_allclose(gb.guided_before_moments(s, n, alpha), expected, atol=1e-12)
    assert gb.guided_before_moments(s, n, alpha)[0] == gb.beta_moments(s, n, alpha)[0]
    values, p = gb.bootstrap_distribution(s, n)
    assert (values == np.arange(n + 1) / n).all()
    np.testing.assert_allclose(p, exact_binomial(n, s / n), atol=1e-12)


def test_guided_distribution_of_one_pull_worked_by_hand():
    """No click in one pull, alpha = 1/2: S = 0, and F1, F0 are fair coins. (S + F1) / (1 + F1 + F0)
    is 0/1 or 0/2 without F1, 1/2 with F1 alone, 1/3 with both. With alpha = 2, g = 1: always 1/3.
    """
    values, p = gb.guided_distribution(0, 1, 0.5)
    assert values.tolist() == [0, 1 / 3, 1 / 2]
    np.testing.assert_allclose(p, [1 / 2, 1 / 4, 1 / 4], rtol=1e-14)
    values, p = gb.guided_distribution(0, 1, 2.0)
    assert values.tolist() == [1 / 3]
    assert p.tolist() == [1.0]


@given(arms(most=20))
def test_enumerated_distribution_equals_the_threefold_sum(case):
    """Mean and variance of (S + F1) / (n + F1 + F0), summed over all S, F1, F0."""
    s, n, alpha = case
    clicks, fakes = exact_binomial(n, s / n), exact_binomial(n, min(alpha / n, 1.0))
    P = np.einsum("i,j,k->ijk", clicks, fakes, fakes)
    S, F1, F0 = np.ogrid[:n + 1, :n + 1, :n + 1]
    y = (S + F1) / (n + F1 + F0)
    mean = (P * y).sum()
    variance = (P * (y - mean) ** 2).sum()

    values, p = gb.guided_distribution(s, n, alpha)
    assert abs(p.sum() - 1) < 1e-12
    assert (np.diff(values) > 0).all()
    np.testing.assert_allclose(gb.moments(values, p), (mean, variance), rtol=0, atol=1e-12)


@given(arms())
def test_mean_is_the_beta_posterior_mean_up_to_jensens_gap(case):
    """|E y - (alpha+s)/(2 alpha+n)| <= alpha (1 - alpha/n) / (n + 2 alpha)^2 <= alpha / n^2.

    Given F = F1 + F0 the mean of y is 1/2 + d n/(n+F) with d = s/n - 1/2, |d| <= 1/2, and the
    posterior mean is 1/2 + d n/(n+mu) with mu = E F = 2 alpha. From
        1/(n+F) = 1/(n+mu) - (F-mu)/(n+mu)^2 + (F-mu)^2/((n+F)(n+mu)^2)
    and n + F >= n, the gap is at most |d| Var F / (n+mu)^2, and Var F = 2 alpha (1 - alpha/n)."""
    s, n, alpha = case
    mean, _ = gb.moments(*gb.guided_distribution(s, n, alpha))
    gap = abs(mean - gb.beta_moments(s, n, alpha)[0])
    assert gap <= alpha * (1 - alpha / n) / (n + 2 * alpha) ** 2 + 1e-13
    assert gap <= alpha / n ** 2 + 1e-13


def test_the_constant_in_the_mean_bound_cannot_be_lowered():
    """s = 0, alpha = 1, n large: gap n^2 -> 1, so no constant below 1 holds in alpha / n^2."""
    mean, _ = gb.moments(*gb.guided_distribution(0, 250, 1.0))
    assert 0.95 < abs(mean - gb.beta_moments(0, 250, 1.0)[0]) * 250 ** 2 <= 1


def variance_gap(n, alpha, d2):
    """Var y - Var Beta by conditioning on F ~ Bi(2n, alpha/n), for d2 = (s/n - 1/2)^2 <= 1/4."""
    F = np.arange(2 * n + 1)
    P = gb.binomial(2 * n, alpha / n)
    fakes = F * (2 * n - F) / (4 * (2 * n - 1))         # Var(F1 | F), hypergeometric
    within = (n * (0.25 - d2) + fakes) / (n + F) ** 2
    Y = n / (n + F)
    variance = P @ within + d2 * (P @ Y ** 2 - (P @ Y) ** 2)
    m = 0.25 - d2 * (n / (n + 2 * alpha)) ** 2
    return variance - m / (n + 2 * alpha + 1)


@given(arms())
def test_variance_is_the_beta_posterior_variance_up_to_order_one_over_n_squared(case):
    """|Var y - Var Beta(alpha+s, alpha+n-s)| <= (1 + alpha) / (4 n^2) for all 0 < alpha <= n.

    Proof. Let F = F1 + F0 ~ Bi(2n, x), x = alpha/n, mu = 2 alpha, v = Var F = 2 alpha (1-x),
    d = s/n - 1/2, Y = n/(n+F). Given F, F1 is hypergeometric with mean F/2 and variance
    F(2n-F)/(4(2n-1)), so the difference D of the variances is
        D = E[(n (1/4 - d^2) + F(2n-F)/(4(2n-1))) / (n+F)^2] + d^2 Var Y
            - (1/4 - d^2 n^2/(n+mu)^2)/(n+mu+1),
    linear in d^2: the extremes are at d = 0 and d^2 = 1/4.
    Write F(2n-F)/(2n-1) = F - F(F-1)/(2n-1) and use
      (i)   1/(n+mu) <= E 1/(n+F) <= 1/(n+mu) + v/(n (n+mu)^2)     (Jensen, and as for the mean)
      (ii)  Q := E[F(F-1)/(n+F)^2]/(2n-1) = 2 alpha^2/n E[1/(n+2+F')^2], F' ~ Bi(2n-2, x).
            By 1/(n+2+F') <= 1/n and (i), applied to n+2+F' with mean at least n+mu and variance
            at most v, 0 <= Q <= q alpha/n^2,  q = 2x/(1+2x) (1 + 2x(1-x)/((1+2x) n)) < 0.85
      (iii) v n^2/((n+mu)^2 (n+mu+1)^2) <= Var Y <= v/(n+mu)^2.
            Above: Var Y <= E(Y - n/(n+mu))^2. Below: Var Y >= Cov(F, Y)^2/v,
            Cov(F, Y) = -n/(n+mu) E[(F-mu)^2/(n+F)], and by Cauchy-Schwarz and the third central
            moment v(1-2x) of F, E[(F-mu)^2/(n+F)] >= v^2/E[(F-mu)^2 (n+F)] = v/(n+mu+1-2x)
            >= v/(n+mu+1)
      (iv)  2 alpha/(n+mu+1)^2 <= E[F/(n+F)^2] = 2 alpha E[1/(n+1+F'')^2]
            <= 2 alpha/(n (n+mu)) (1 + 2x(1-x)/((1+2x) n)), F'' ~ Bi(2n-1, x),
            by Jensen below and as in (ii) above
    d = 0:      4D = E 1/(n+F) - Q - 1/(n+mu+1) lies in [-Q, (1 + 2x - 2x^2)/(1+2x)^2/n^2],
                inside [-alpha, 1]/n^2.
    d^2 = 1/4:  4D = E[F/(n+F)^2] - Q + Var Y - 4 alpha (n+alpha)/((n+mu)^2 (n+mu+1)); with
                (ii)-(iv), in units of alpha/n^2, it is at most (6x+4x^2)/(1+2x)^3 and at least
                -G(x), G = 4(1+x)/(1+2x)^3 - 2/(1+2x)^2 + 2x/(1+2x) - 2(1-x)/(1+2x)^4, up to
                terms of order 1/n that add up to less than 1/2 in units of 1/n^2. Both are below
                1, which leaves (1 + alpha)/n^2. The inequalities in x alone are checked by the
                next test on a grid fine enough for their slopes."""
    s, n, alpha = case
    _, variance = gb.moments(*gb.guided_distribution(s, n, alpha))
    gap = variance - gb.beta_moments(s, n, alpha)[1]
    assert abs(gap - variance_gap(n, alpha, (s / n - 0.5) ** 2)) < 1e-12   # D of the proof
    assert abs(gap) <= (1 + alpha) / (4 * n ** 2) + 1e-13


def test_the_one_variable_inequalities_of_the_proof():
    """On 0 <= x <= 1, h = 1 + 2x >= 1, each function stays below its bound.

    Each is a sum of at most four terms c x^i (1-x)^j / h^k with i, j <= 3, k <= 6 and c <= 8, whose
    slope is at most 8 (3 + 3 + 12); so 1e-5 between grid points hides less than 4 * 144 * 1e-5 / 2
    = 0.003, and a margin of 0.01 below the bound proves it. Two of them are plain:
    h^2 > 1+2x-2x^2, h^3 > 6x+4x^2."""
    x = np.linspace(0, 1, 100_001)
    h = 1 + 2 * x
    bend = 2 * x * (1 - x) / h                          # times 1/n, at most this for n = 1
    q = 2 * x / h * (1 + bend)
    upper = (6 * x + 4 * x ** 2) / h ** 3
    G = 4 * (1 + x) / h ** 3 - 2 / h ** 2 + 2 * x / h - 2 * (1 - x) / h ** 4
    above = x * (4 * (1 + x) / h ** 4 + 2 / h * bend)   # the 1/n terms, times alpha = x n
    below = x * (4 / h ** 3 + 4 * (1 - x) / h ** 5 + 2 * x / h * bend)
    for function, bound in ((q, 0.85), (upper, 1), (G, 1), (above, 0.5), (below, 0.5)):
        assert function.max() < bound - 0.01


@given(st.integers(1, 20_000), st.floats(1e-4, 1.0))
def test_variance_bound_at_the_two_extremes_far_beyond_what_can_be_enumerated(n, x):
    """4 n^2 D is within [-alpha, 1] at d = 0, within [-1 - alpha, 1 + alpha] at d^2 = 1/4."""
    alpha = x * n
    rounding = 4 * n ** 2 * 1e-14                       # of variances below 1, times the scale
    assert -alpha - rounding <= 4 * n ** 2 * variance_gap(n, alpha, 0.0) <= 1 + rounding
    assert abs(4 * n ** 2 * variance_gap(n, alpha, 0.25)) <= 1 + alpha + rounding


def test_chance_to_win_and_distribution_function_worked_by_hand():
    """A is 0 or 1, half each; B is 1 with probability 0.2 and else 0.
    B = 1 wins against 0 and half of the ties with 1, B = 0 half of the ties with 0:
    0.2 * (0.5 + 0.25) + 0.8 * 0.25 = 0.35."""
    A = (np.array([0.0, 1.0]), np.array([0.5, 0.5]))
    B = (np.array([0.0, 1.0]), np.array([0.8, 0.2]))
    assert run_arms.chance_to_win(B, A) == pytest.approx(0.35, abs=1e-15)
    assert run_arms.cdf(B, 0.0) == 0.8
    assert run_arms.cdf(B, np.array([-0.1, 0.0, 0.9, 1.0, 2.0])).tolist() == [0, 0.8, 0.8, 1, 1]


def test_beta_distribution_function_and_chance_to_win_against_integration():
    """By midpoints; P(B > A) is the integral of B's density times A's distribution function."""
    x = (np.arange(100_000) + 0.5) / 100_000

    def integral(a, b):
        """Beta's probability of every cell, and of all cells up to its right end."""
        p = x ** (a - 1) * (1 - x) ** (b - 1)
        return p / p.sum(), np.cumsum(p) / p.sum()

    for a, b in ((1, 51), (17, 785), (3, 1)):
        _, F = integral(a, b)
        np.testing.assert_allclose(run_arms.beta_cdf(a, b, x + 0.5e-5), F, atol=1e-6)
        assert run_arms.beta_cdf(a, b, np.array([0.0, 1.0])).tolist() == [0.0, 1.0]
    (p_A, F_A), (p_B, _) = integral(2.5, 50), integral(3, 52)
    chance = run_arms.beta_chance_to_win(3, 52, 2.5, 50)
    assert chance == pytest.approx(p_B @ (F_A - p_A / 2), abs=1e-8)


def test_arms_agent_pulls_every_arm_once_and_then_the_highest_draw_of_those_it_is_offered():
    """Arm 1 is always clicked, arm 3 never. Offered 3 and 1 in this order, it takes the second."""
    agent = run_arms.Arms(5, lambda s, n, rng: s / n, default_rng(0))
    X = np.arange(5)[:, None]
    assert follows([agent.choose(X, 1) for _ in range(3000)], np.arange(5))
    agent.learn_from(X[[1, 3, 0, 2, 1]], np.array([1, 0, 0, 0, 1]))
    assert agent.n.tolist() == [1, 2, 1, 1, 0]
    assert agent.s.tolist() == [0, 2, 0, 0, 0]
    assert agent.choose(X[[3, 1]], 1) == 1
    assert agent.choose(X[[1, 4, 3]], 1) == 1           # arm 4 was never pulled
    assert {agent.choose(X[[0, 2]], 1) for _ in range(30)} == {0, 1}    # a tie


def test_arms_draw_from_eq_2_eq_3_and_the_guided_distribution_with_an_alpha_of_one():
    """Beta's distribution function makes its own draws uniform: twenty cells of 1,000 draws."""
    s, n = np.full(20_000, 3), np.full(20_000, 20)
    sample = run_arms.thompson_mean(s, n, default_rng(3))
    assert follows(np.ceil(20 * run_arms.beta_cdf(1 + 3, 1 + 17, sample)), np.arange(1, 21))
    sample = run_arms.bootstrap_mean(s, n, default_rng(3))
    assert follows(sample, *gb.bootstrap_distribution(3, 20))
    sample = run_arms.guided_mean(s, n, default_rng(3))
    assert follows(sample, *gb.guided_distribution(3, 20, 1.0))


@pytest.mark.parametrize("s, n, alpha", [
    (0, 6, 1.0), (3, 8, 2.0), (1, 50, 1.0), (5, 5, 0.3), (2, 3, 7.0)])
def test_guided_mean_and_the_loops_own_sampling_follow_the_enumerated_distribution(s, n, alpha):
    """The latter are means of resampled and guided batches, by the functions the loops use."""
    expected = gb.guided_distribution(s, n, alpha)
    sample = run_arms.guided_mean(np.full(20_000, s), np.full(20_000, n), default_rng(2), alpha)
    assert follows(sample, *expected)
    history, density, x = gb.History(1, 1), gb.AdCount(1, 0), np.array([0])
    for i in range(n):
        history.append(x, int(i < s))
        density.update(x)
    rng = default_rng(1)
    X, r = history.resample((20_000, n), rng)
    w, y = gb.fake_samples(r, gb.guidance(density(X), alpha), rng)
    assert follows(y.sum(axis=1) / w.sum(axis=1), *expected)
