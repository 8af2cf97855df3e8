"""The deep methods of Section 5.2, which choose by a network's scores, on scores that are given."""
import numpy as np
import pytest

import baselines
import guideboot as gb


class Scores:
    """A bag of fixed logits; it keeps the masks it is asked with."""
    K, features, hidden, dropout, dtype = 1, 10, 50, 0.2, np.float64

    def __init__(self, logits):
        self.logits = np.array(logits)
        self.masks = []

    def scores(self, k, X, mask=None):
        self.masks.append(mask)
        return self.logits


def counts(values):
    density = gb.AdCount(10)
    density.count[:len(values)] = values
    return density


def ucb(logits, shown, **options):
    return baselines.DeepUCB1(Scores(logits), np.random.default_rng(0), counts(shown), **options)


def ts_beta(logits, shown, rng=None, **options):
    rng = rng or np.random.default_rng(0)
    return baselines.DeepTSBeta(Scores(logits), rng, counts(shown), **options)


def candidates(m):
    return np.arange(m)[:, None]


def test_deep_ucb1_adds_the_stated_bonus():
    """CTRs 0.5, 0.4 with counts 100, 4. At t = 50 and strength 0.1 the bonuses are
    0.1 sqrt(2 log 50 / 100) = 0.028 and 0.140: the second wins. At `edge` both bounds are equal."""
    logits = np.log([0.5 / 0.5, 0.4 / 0.6])
    edge = 0.1 / (np.sqrt(2 * np.log(50) / 4) - np.sqrt(2 * np.log(50) / 100))
    for strength, t, winner in ((0.1, 50, 1), (0.1, 2, 0), (0.0, 50, 0),
                                (0.999 * edge, 50, 0), (1.001 * edge, 50, 1)):
        assert ucb(logits, [100, 4], strength=strength).choose(candidates(2), t) == winner


def test_deep_ucb1_shows_unseen_ads_first_and_at_random():
    agent = ucb([9.0, 0.0, 0.0], [5, 0, 0])
    assert {agent.choose(candidates(3), 3) for _ in range(40)} == {1, 2}


@pytest.mark.parametrize("count, shaping", [(50, 0.25), (50, 1.0), (0, 0.25), (1, 0.5)])
def test_deep_ts_beta_draws_from_the_stated_distribution(count, shaping):
    """Beta(f total, (1 - f) total) with f = 0.3 and total = max(count, 1) / shaping."""
    drawn = []

    class Spy:
        def beta(self, a, b):
            drawn.append((a, b))
            return np.random.default_rng(0).beta(a, b)
    agent = ts_beta(np.full(8, np.log(0.3 / 0.7)), [count] * 8, Spy(), shaping=shaping)
    agent.choose(candidates(8), 1)
    a, b = drawn[0]
    total = max(count, 1) / shaping
    np.testing.assert_allclose(a, 0.3 * total, rtol=1e-12)
    np.testing.assert_allclose(b, 0.7 * total, rtol=1e-12)


def test_deep_ts_beta_follows_the_draw():
    """With counts so high the draws are the CTRs themselves."""
    assert ts_beta([-3.0, 1.0, 0.0], [1e12] * 3).choose(candidates(3), 1) == 1


def test_deep_ts_beta_survives_logits_far_out():
    assert ts_beta(np.array([-200, 200, -150], np.float32), [3] * 3).choose(candidates(3), 1) == 1


def test_deep_ts_betas_shaping_is_the_papers():
    assert ts_beta([0.0], [3]).shaping == 0.25


@pytest.mark.parametrize("method", [ucb, ts_beta])
@pytest.mark.parametrize("logit", [np.inf, np.nan])
def test_logits_that_are_not_finite_are_not_hidden_by_the_sigmoid(method, logit):
    with pytest.raises(FloatingPointError, match="learning rate"):
        method([logit, 0.0], [3, 3]).choose(candidates(2), 5)


def test_mc_dropout_draws_one_scaled_mask_per_decision():
    """Of 400 x 50 units 0.2 are dropped, give or take 5 standard errors; the others weigh 1.25."""
    bag = Scores([0.0, 1.0])
    agent = baselines.MCDropout(bag, np.random.default_rng(0))
    assert all(agent.choose(candidates(2), 1) == 1 for _ in range(400))
    masks = np.array(bag.masks)
    assert set(np.unique(masks)) == {0.0, 1.25}
    assert abs((masks == 0).mean() - 0.2) < 5 * (0.16 / 20_000) ** 0.5
    assert len(np.unique(masks, axis=0)) > 390
