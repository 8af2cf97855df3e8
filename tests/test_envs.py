"""The tasks: statements of Section 5.1, pairing of random streams, the protocol's example."""
import math
import textwrap

import numpy as np
import pytest

import baselines
import envs
import guideboot as gb


def test_synthetic_task_is_the_papers():
    """Actions 0-24 in order, attributes uniform on 5 values each, fresh per action and step, y by the formula."""
    env = envs.Synthetic(7)
    X = np.stack([env.observe().copy() for _ in range(2500)])                     # crosses two blocks
    assert X.shape == (2500, 25, 3) and (X[:, :, 0] == np.arange(25)).all()
    for j, start in ((1, 25), (2, 30)):
        counts = np.bincount(X[:, :, j].ravel() - start, minlength=5)
        assert len(counts) == 5 and (abs(counts - 12_500) < 5 * math.sqrt(62_500 * 0.16)).all()
    assert len({x.tobytes() for x in X}) == 2500
    w = env._w
    pairs = np.bincount(((X[:, :, 1] - 25) * 5 + X[:, :, 2] - 30).ravel(), minlength=25)
    assert (abs(pairs - 2500) < 5 * math.sqrt(62_500 * 0.04 * 0.96)).all()               # x1 and x2 are independent
    y = [1 / (1 + math.exp(-(w[a] + w[x1] + w[x2] - 1))) for a, x1, x2 in X[-1]]
    np.testing.assert_allclose(env._expected(), y, rtol=1e-14)
    assert abs(w).max() <= 0.25 and np.ptp(np.concatenate([envs.Synthetic(s)._w for s in range(20)])) > 0.49


def test_rewards_are_bernoulli_with_the_expected_reward():
    env, total, expected, variance = envs.Synthetic(0), 0, 0.0, 0.0
    for _ in range(20_000):
        env.observe()
        y = env._expected()[3]
        total, expected, variance = total + env.pull(3), expected + y, variance + y * (1 - y)
    assert abs(total - expected) < 5 * math.sqrt(variance)


@pytest.mark.parametrize("task", [envs.Synthetic, envs.BernoulliArms])
def test_every_method_faces_the_same_contexts_and_reward_uniforms(task):
    """Two environments with one seed, one asked for candidate 0 and one for the last: equal X, coupled rewards."""
    first, second = task(5), task(5)
    for _ in range(1500):
        X, Y = first.observe(), second.observe()
        assert (X == Y).all()
        y, a, b = first._expected(), 0, len(X) - 1
        r, q = first.pull(a), second.pull(b)
        assert r == q or (r > q) == (y[a] > y[b])                                 # one uniform decides both
    other = task(6)
    other.observe()
    assert not (other._expected() == y).any()


def test_streams_differ_by_purpose_model_and_seed_and_repeat_exactly():
    draws = [envs.stream(seed, name, k).random() for seed in range(6) for name in envs.STREAMS for k in range(6)]
    assert len(set(draws)) == len(draws) and envs.stream(1, "agent").random() == envs.stream(1, "agent").random()


def test_weights_contexts_and_rewards_come_from_their_own_streams():
    env = envs.Synthetic(3)
    X = env.observe()
    assert (env._w == envs.stream(3, "weights").uniform(-0.25, 0.25, 35)).all()
    assert (X[:, 1:] - [25, 30] == envs.stream(3, "contexts").integers(0, 5, (1024, 25, 2))[0]).all()
    u = envs.stream(3, "rewards").random(1024)
    for i in range(200):
        assert env.pull(4) == (u[i] < env._expected()[4])
        env.observe()


def test_scored_keeps_pseudo_regret_and_reward_and_reports_progress():
    ticks = []
    scored = envs.Scored(envs.BernoulliArms(0, y=[0.0, 0.3, 1.0]), 40, ticks.append)
    for t in range(40):
        scored.observe()
        assert scored.pull((0, 2)[t % 2]) == (0, 1)[t % 2]
    assert scored.regret.tolist() == [1.0, 0.0] * 20 and scored.rewards.tolist() == [0, 1] * 20
    assert ticks[-1] == 1.0 and len(ticks) == 20


def test_bernoulli_arms_are_drawn_within_their_bounds():
    arms = envs.BernoulliArms(3, m=50, low=0.02, high=0.08)
    assert arms.features == 50 and 0.02 <= arms._y.min() < 0.03 and 0.07 < arms._y.max() <= 0.08
    assert (arms.observe() == np.arange(50)[:, None]).all()


def test_the_example_in_the_docstring_runs_and_learns(capsys):
    """The text of the module's docstring, executed. GuideBoot must have less than a third of random's regret."""
    text = envs.__doc__
    shelf = text[text.index("    import numpy"):text.index("and GuideBoot on it")]
    assert len([line for line in shelf.splitlines() if line.strip()]) <= 20
    scope = {}
    exec(textwrap.dedent(shelf), scope)
    exec(textwrap.dedent(text[text.index("    from envs"):text.index("Randomness comes")]), scope)
    random = envs.Scored(scope["Shelf"](np.random.default_rng(0)), 1000)
    gb.online(baselines.RandomPolicy(np.random.default_rng(1)), random, 1000, 50)
    assert float(capsys.readouterr().out) == scope["env"].regret.sum() < random.regret.sum() / 3
