"""The multi-armed case of Section 3.4, exactly: the guided bootstrap against the Beta posterior."""
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import baselines
import guideboot as gb

NP = st.integers(1, 40).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.floats(1e-3, 1.0)))


def binomial(n, p):
    """Probabilities by exact integer binomial coefficients, independent of the code under test."""
    return np.array([math.comb(n, i) * p ** i * (1 - p) ** (n - i) for i in range(n + 1)])


def by_hand(s, n, alpha):
    """Mean and variance of (S + F1) / (n + F1 + F0) by summing over all S, F1, F0."""
    g = min(alpha / n, 1.0)
    P = np.einsum("i,j,k->ijk", binomial(n, s / n), binomial(n, g), binomial(n, g))
    S, F1, F0 = np.ogrid[:n + 1, :n + 1, :n + 1]
    y = (S + F1) / (n + F1 + F0)
    mean = (P * y).sum()
    return mean, (P * (y - mean) ** 2).sum()


@given(NP)
def test_enumerated_distribution_equals_the_threefold_sum(case):
    n, s, x = case
    n, s = min(n, 20), min(s, n, 20)
    values, p = gb.guided_distribution(s, n, x * n)
    assert abs(p.sum() - 1) < 1e-12 and (np.diff(values) > 0).all()
    np.testing.assert_allclose(gb.moments(values, p), by_hand(s, n, x * n), rtol=0, atol=1e-12)


@given(NP)
def test_mean_is_the_beta_posterior_mean_up_to_jensens_gap(case):
    """|E y - (alpha+s)/(2 alpha+n)| <= alpha (1 - alpha/n) / (n + 2 alpha)^2, which is at most alpha / n^2.

    Given F = F1 + F0 the mean of y is 1/2 + d n/(n+F) with d = s/n - 1/2, |d| <= 1/2, and the posterior mean is
    1/2 + d n/(n+mu) with mu = E F = 2 alpha. From 1/(n+F) = 1/(n+mu) - (F-mu)/(n+mu)^2 + (F-mu)^2/((n+F)(n+mu)^2)
    and n + F >= n, the gap is at most |d| Var F / (n+mu)^2, and Var F = 2 alpha (1 - alpha/n).
    """
    n, s, x = case
    alpha = x * n
    mean, _ = gb.moments(*gb.guided_distribution(s, n, alpha))
    gap = abs(mean - gb.beta_moments(s, n, alpha)[0])
    assert gap <= alpha * (1 - alpha / n) / (n + 2 * alpha) ** 2 + 1e-13
    assert gap <= alpha / n ** 2 + 1e-13


def test_the_constant_in_the_mean_bound_cannot_be_lowered():
    """s = 0, alpha = 1, n large: gap n^2 -> 1, so no constant below 1 holds in alpha / n^2."""
    mean, _ = gb.moments(*gb.guided_distribution(0, 400, 1.0))
    assert 0.97 < abs(mean - gb.beta_moments(0, 400, 1.0)[0]) * 400 ** 2 <= 1


def variance_gap(n, alpha, d2):
    """Var y - Var Beta by conditioning on F ~ Bi(2n, alpha/n), for any d2 = (s/n - 1/2)^2 in 0 to 1/4."""
    F = np.arange(2 * n + 1)
    P = gb.binomial(2 * n, alpha / n)
    within = (n * (0.25 - d2) + F * (2 * n - F) / (4 * (2 * n - 1))) / (n + F) ** 2     # F1 | F is hypergeometric
    Y = n / (n + F)
    variance = P @ within + d2 * (P @ Y ** 2 - (P @ Y) ** 2)
    m = 0.25 - d2 * (n / (n + 2 * alpha)) ** 2
    return variance - m / (n + 2 * alpha + 1)


@given(NP)
def test_variance_is_the_beta_posterior_variance_up_to_order_one_over_n_squared(case):
    """|Var y - Var Beta(alpha+s, alpha+n-s)| <= (1 + alpha) / (4 n^2) for all 0 < alpha <= n. Proof:

    Let F = F1 + F0 ~ Bi(2n, x), x = alpha/n, mu = 2 alpha, v = Var F = 2 alpha (1-x), d = s/n - 1/2, Y = n/(n+F).
    Given F, F1 is hypergeometric with mean F/2 and variance F(2n-F)/(4(2n-1)), so the difference D of the variances is
        D = E[(n (1/4 - d^2) + F(2n-F)/(4(2n-1))) / (n+F)^2] + d^2 Var Y - (1/4 - d^2 n^2/(n+mu)^2)/(n+mu+1),
    linear in d^2: the extremes are at d = 0 and d^2 = 1/4. Write F(2n-F)/(2n-1) = F - F(F-1)/(2n-1) and use
      (i)   1/(n+mu) <= E 1/(n+F) <= 1/(n+mu) + v/(n (n+mu)^2)                      (Jensen, and as for the mean)
      (ii)  Q := E[F(F-1)/(n+F)^2]/(2n-1) = 2 alpha^2/n E[1/(n+2+F')^2], F' ~ Bi(2n-2, x). By 1/(n+2+F') <= 1/n and
            (i), applied to n+2+F' with mean at least n+mu and variance at most v,
            0 <= Q <= q alpha/n^2,  q = 2x/(1+2x) (1 + 2x(1-x)/((1+2x) n)) < 0.85
      (iii) v n^2/((n+mu)^2 (n+mu+1)^2) <= Var Y <= v/(n+mu)^2. Above: Var Y <= E(Y - n/(n+mu))^2. Below: Var Y >=
            Cov(F, Y)^2/v, Cov(F, Y) = -n/(n+mu) E[(F-mu)^2/(n+F)], and by Cauchy-Schwarz and the third central moment
            v(1-2x) of F, E[(F-mu)^2/(n+F)] >= v^2/E[(F-mu)^2 (n+F)] = v/(n+mu+1-2x) >= v/(n+mu+1)
      (iv)  2 alpha/(n+mu+1)^2 <= E[F/(n+F)^2] = 2 alpha E[1/(n+1+F'')^2] <= 2 alpha/(n (n+mu)) (1 + 2x(1-x)/((1+2x) n)),
            F'' ~ Bi(2n-1, x), by Jensen below and as in (ii) above
    d = 0:      4D = E 1/(n+F) - Q - 1/(n+mu+1) lies in [-Q, (1 + 2x - 2x^2)/(1+2x)^2/n^2], inside [-alpha, 1]/n^2.
    d^2 = 1/4:  4D = E[F/(n+F)^2] - Q + Var Y - 4 alpha (n+alpha)/((n+mu)^2 (n+mu+1)); with (ii)-(iv), in units of
                alpha/n^2, it is at most (6x+4x^2)/(1+2x)^3 and at least -G(x),
                G = 4(1+x)/(1+2x)^3 - 2/(1+2x)^2 + 2x/(1+2x) - 2(1-x)/(1+2x)^4, up to terms of order 1/n that add up
                to less than 1/2 in units of 1/n^2. Both are below 1, which leaves (1 + alpha)/n^2. The inequalities in
                x alone are checked by the next test on a grid fine enough for their slopes.
    """
    n, s, x = case
    alpha = x * n
    _, variance = gb.moments(*gb.guided_distribution(s, n, alpha))
    gap = variance - gb.beta_moments(s, n, alpha)[1]
    assert abs(gap - variance_gap(n, alpha, (s / n - 0.5) ** 2)) < 1e-12          # the first formula of the proof
    assert abs(gap) <= (1 + alpha) / (4 * n ** 2) + 1e-13


def test_the_one_variable_inequalities_of_the_proof():
    """On 0 <= x <= 1, h = 1 + 2x >= 1, each function is a sum of at most four terms c x^i (1-x)^j / h^k with i, j <= 3,
    k <= 6 and c <= 8, whose slope is at most 8 (3 + 3 + 12); so 1e-5 between grid points hides less than 4 * 144 * 1e-5 / 2
    = 0.003, and a margin of 0.01 below the bound proves it. Two of them are plain: h^2 > 1+2x-2x^2, h^3 > 6x+4x^2."""
    x = np.linspace(0, 1, 100_001)
    h = 1 + 2 * x
    bend = 2 * x * (1 - x) / h                                                     # times 1/n, at most this for n = 1
    G = 4 * (1 + x) / h ** 3 - 2 / h ** 2 + 2 * x / h - 2 * (1 - x) / h ** 4
    above = x * (4 * (1 + x) / h ** 4 + 2 / h * bend)                              # the 1/n terms, times alpha = x n
    below = x * (4 / h ** 3 + 4 * (1 - x) / h ** 5 + 2 * x / h * bend)
    for function, bound in ((2 * x / h * (1 + bend), 0.85), ((6 * x + 4 * x ** 2) / h ** 3, 1), (G, 1), (above, 0.5), (below, 0.5)):
        assert function.max() < bound - 0.01


@given(st.integers(1, 20_000), st.floats(1e-4, 1.0), st.sampled_from([0.0, 0.25]))
def test_variance_bound_at_the_two_extremes_far_beyond_what_can_be_enumerated(n, x, d2):
    alpha = x * n
    scaled = 4 * n ** 2 * variance_gap(n, alpha, d2)
    rounding = 4 * n ** 2 * 1e-14                                                  # of variances below 1, times the scale
    assert -alpha - (d2 > 0) - rounding <= scaled <= 1 + alpha * (d2 > 0) + rounding


@given(NP)
def test_fakes_before_resampling_have_the_papers_moments_exactly(case):
    """n + 2 alpha draws from data with s + alpha clicks: Bi(N, p)/N has mean p = (alpha+s)/N, variance p(1-p)/N."""
    n, s, _ = case
    for alpha in (1, 2, 5):
        N, p = n + 2 * alpha, (alpha + s) / (n + 2 * alpha)
        np.testing.assert_allclose(gb.guided_before_moments(s, n, alpha),
                                   gb.moments(np.arange(N + 1) / N, binomial(N, p)), atol=1e-12)
        assert gb.guided_before_moments(s, n, alpha)[0] == gb.beta_moments(s, n, alpha)[0]


def test_beta_moments_worked_by_hand():
    """1 click in 50, alpha = 1: Beta(2, 50), mean 2/52, variance 2*50/(52^2 * 53)."""
    assert gb.beta_moments(1, 50, 1) == pytest.approx((2 / 52, 100 / (52 ** 2 * 53)), abs=1e-15)


@given(NP)
def test_vanilla_bootstrap_has_eq_3s_moments(case):
    n, s, _ = case
    np.testing.assert_allclose(gb.moments(*gb.bootstrap_distribution(s, n)), (s / n, s * (n - s) / n ** 3), atol=1e-12)


# ---------------------------------------------------------------- sampling agrees with the enumeration

def chi_square(sample, values, p):
    """Pearson's statistic with cells merged to an expected count of 20 or more, and its critical value at level 1e-4."""
    counts = np.bincount(np.searchsorted(values, sample - 1e-12), minlength=len(values))
    cells, e_sum, o_sum = [], 0.0, 0
    for e, o in zip(p * len(sample), counts):
        e_sum, o_sum = e_sum + e, o_sum + o
        if e_sum >= 20:
            cells.append((e_sum, o_sum))
            e_sum, o_sum = 0.0, 0
    cells[-1] = cells[-1][0] + e_sum, cells[-1][1] + o_sum
    df = len(cells) - 1
    critical = df * (1 - 2 / (9 * df) + 3.719 * math.sqrt(2 / (9 * df))) ** 3      # Wilson and Hilferty; z of 1e-4
    return sum((o - e) ** 2 / e for e, o in cells), critical


def loop_sample(s, n, alpha, draws, rng):
    """The means of resampled and guided batches, by the functions that the loops use."""
    history = gb.History(1, 1)
    density = gb.AdCount(1)
    for i in range(n):
        history.append(np.array([0]), int(i < s))
        density.update(np.array([0]))
    X, r = history.resample((draws, n), rng)
    w, y = gb.fake_samples(r, gb.guidance(density(X), alpha), rng)
    return y.sum(axis=1) / w.sum(axis=1)


@pytest.mark.parametrize("s, n, alpha", [(0, 6, 1.0), (3, 8, 2.0), (1, 50, 1.0), (5, 5, 0.3), (2, 3, 7.0)])
def test_the_loops_own_sampling_follows_the_enumerated_distribution(s, n, alpha):
    sample = loop_sample(s, n, alpha, 20_000, np.random.default_rng(1))
    statistic, critical = chi_square(sample, *gb.guided_distribution(s, n, alpha))
    assert statistic < critical


@pytest.mark.parametrize("s, n, alpha", [(0, 6, 1.0), (3, 8, 2.0), (1, 50, 1.0)])
def test_the_arms_agent_draws_from_the_enumerated_distribution(s, n, alpha):
    means = gb.guided_mean(np.full(20_000, s), np.full(20_000, n), np.random.default_rng(2), alpha)
    statistic, critical = chi_square(means, *gb.guided_distribution(s, n, alpha))
    assert statistic < critical


def test_the_statistical_test_rejects_a_slightly_wrong_guidance():
    """alpha off by a fifth is noticed with these sample sizes: the tests above can fail."""
    sample = loop_sample(3, 8, 2.4, 20_000, np.random.default_rng(1))
    statistic, critical = chi_square(sample, *gb.guided_distribution(3, 8, 2.0))
    assert statistic > 2 * critical


# ---------------------------------------------------------------- the example of Ad_A and Ad_B

def test_chance_to_win_by_hand():
    """A is 0 or 1 (half each), B is 1 w.p. 0.2 and 0.5 otherwise: B wins 0.2 * (0.5 + 0.25) + 0.8 * 0.5 = 0.55."""
    A, B = (np.array([0.0, 1.0]), np.array([0.5, 0.5])), (np.array([0.5, 1.0]), np.array([0.8, 0.2]))
    assert gb.chance_to_win(B, A) == pytest.approx(0.55, abs=1e-15)


def test_bootstrap_shows_ad_b_only_by_a_tie():
    """The one click in 50 is missed with probability 0.98^50; then both estimates are 0 and a coin decides."""
    B, A = gb.bootstrap_distribution(0, 50), gb.bootstrap_distribution(1, 50)
    assert gb.chance_to_win(B, A) == pytest.approx(0.98 ** 50 / 2, abs=1e-14)


def test_guided_chance_equals_a_sum_over_all_pairs():
    A, B = gb.guided_distribution(1, 9, 1.0), gb.guided_distribution(0, 9, 1.0)
    brute = sum(pb * pa * ((vb > va) + 0.5 * (vb == va)) for va, pa in zip(*A) for vb, pb in zip(*B))
    assert gb.chance_to_win(B, A) == pytest.approx(brute, abs=1e-13)


def test_beta_chance_against_integration():
    """P(B > A) = integral of density of B times distribution function of A, on a fine grid."""
    x = (np.arange(400_000) + 0.5) / 400_000
    fA, fB = x * (1 - x) ** 49, x ** 2 * (1 - x) ** 51                             # Beta(2, 50), Beta(3, 52), unnormalized
    expected = (fB * np.cumsum(fA)).sum() / (fB.sum() * fA.sum())
    assert gb.beta_chance_to_win(3, 52, 2, 50) == pytest.approx(expected, abs=2e-5)


# ---------------------------------------------------------------- agents for arms

def test_arms_agent_pulls_every_arm_once_before_it_compares():
    agent = gb.Arms(4, gb.guided_mean, np.random.default_rng(0))
    X = np.arange(4)[:, None]
    pulled = []
    for _ in range(4):
        pulled.append(agent.choose(X, 1))
        agent.learn_from(X[[pulled[-1]]], np.array([0]))
    assert sorted(pulled) == [0, 1, 2, 3]
    first = {gb.Arms(4, gb.guided_mean, np.random.default_rng(seed)).choose(X, 1) for seed in range(30)}
    assert first == {0, 1, 2, 3}                                                   # in random order


def test_arms_agent_looks_at_the_arms_it_is_offered():
    """Arm 1 always clicked, arm 3 never; the draw is the plain mean. Offered 3 and 1 in this order, it takes the second."""
    agent = gb.Arms(4, lambda s, n, rng: s / n, np.random.default_rng(0))
    agent.learn_from(np.array([[1], [3], [0], [2]]), np.array([1, 0, 0, 0]))
    assert agent.choose(np.array([[3], [1]]), 1) == 1


def test_arms_agent_counts_pulls_and_clicks_of_repeated_arms():
    agent = gb.Arms(3, gb.guided_mean, np.random.default_rng(0))
    agent.learn_from(np.array([[2], [2], [0]]), np.array([1, 1, 0]))
    assert agent.n.tolist() == [1, 0, 2] and agent.s.tolist() == [0, 0, 2]


def test_thompson_and_bootstrap_draws_have_their_moments():
    """Within five standard errors of the mean of 40,000 draws, and the variance within 5 %."""
    s, n, rng = np.full(40_000, 3), np.full(40_000, 20), np.random.default_rng(3)
    for draw, (mean, variance) in ((gb.thompson_mean, gb.beta_moments(3, 20, 1.0)),
                                   (gb.bootstrap_mean, (3 / 20, 3 * 17 / 20 ** 3))):
        sample = draw(s, n, rng)
        assert abs(sample.mean() - mean) < 5 * math.sqrt(variance / 40_000)
        assert abs(sample.var() / variance - 1) < 0.05


def test_giro_arms_adds_whole_pairs():
    agent = baselines.GiroArms(1, np.random.default_rng(0), alpha=0.5)
    agent.learn_from(np.zeros((1000, 1), int), np.zeros(1000, int))
    pairs = (agent.n[0] - 1000) / 2
    assert pairs == agent.s[0] and abs(pairs - 500) < 5 * math.sqrt(250)


# ---------------------------------------------------------------- distribution functions, the figure, the hand-out

def test_the_beta_distribution_function_is_the_integral_of_its_density():
    """By the midpoint rule on 100,000 cells; and Beta(1, 1) is uniform: F(x) = x."""
    x = (np.arange(100_000) + 0.5) / 100_000
    for a, b in ((1, 1), (2, 50), (1, 51), (17, 785), (3, 1)):
        log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
        F = np.cumsum(np.exp((a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - log_beta)) / 100_000
        at = np.arange(1, 100_000, 1999)
        np.testing.assert_allclose(gb.beta_cdf(a, b, (at + 1) / 100_000), F[at], atol=1e-5)
    assert gb.beta_cdf(1, 1, 0.25) == pytest.approx(0.25) and gb.beta_cdf(2, 50, 0.0) == 0 and gb.beta_cdf(2, 50, 1.0) == 1


def test_the_distribution_function_of_a_finite_distribution_worked_by_hand():
    coin = (np.array([0.0, 0.5, 1.0]), np.array([0.25, 0.5, 0.25]))
    assert gb.cdf(coin, 0.0) == 0.25 and gb.cdf(coin, 0.5) == 0.75 and gb.cdf(coin, -0.1) == 0
    assert gb.cdf(coin, np.array([0.49, 0.51, 1.0, 2.0])).tolist() == [0.25, 0.75, 1.0, 1.0]


def test_the_draws_have_the_papers_alpha_of_one_by_default():
    for draw in (gb.guided_mean, gb.thompson_mean):
        s, n = np.array([3, 0, 9]), np.array([20, 7, 9])
        assert (draw(s, n, np.random.default_rng(5)) == draw(s, n, np.random.default_rng(5), 1.0)).all()
        assert (draw(s, n, np.random.default_rng(5)) != draw(s, n, np.random.default_rng(5), 2.0)).any()
