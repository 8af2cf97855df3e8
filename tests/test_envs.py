"""The tasks: statements of Section 5.1, pairing of random streams, the protocol's example."""
import math
import textwrap

import numpy as np
import pytest

import baselines
import envs
import guideboot as gb
import nn


def test_synthetic_task_is_the_papers():
    """Actions 0-24 in order, attributes uniform on 5 values each, fresh per action and step, y by the formula."""
    env = envs.Synthetic(7)
    X = np.stack([env.observe().copy() for _ in range(2500)])                     # crosses two blocks
    assert X.shape == (2500, 25, 3) and (X[:, :, 0] == np.arange(25)).all()
    for j, start in ((1, 25), (2, 30)):
        counts = np.bincount(X[:, :, j].ravel() - start, minlength=5)
        assert len(counts) == 5 and (abs(counts - 12_500) < 5 * math.sqrt(62_500 * 0.16)).all()
    assert len({x.tobytes() for x in X}) == 2500
    w = env.w
    y = [1 / (1 + math.exp(-(w[a] + w[x1] + w[x2] - 1))) for a, x1, x2 in X[-1]]
    np.testing.assert_allclose(env._expected(), y, rtol=1e-14)
    assert abs(w).max() <= 0.25 and np.ptp(np.concatenate([envs.Synthetic(s).w for s in range(20)])) > 0.49


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
    assert not (task(6)._expected() if task is envs.BernoulliArms else task(6).w).tolist() == (
        first._expected() if task is envs.BernoulliArms else first.w).tolist()


def test_streams_differ_by_purpose_model_and_seed_and_repeat_exactly():
    draws = [envs.stream(seed, name, k).random() for seed in (0, 1) for name in envs.STREAMS for k in (0, 1)]
    assert len(set(draws)) == len(draws) and envs.stream(1, "agent").random() == envs.stream(1, "agent").random()


def test_scored_keeps_pseudo_regret_and_reward_and_reports_progress():
    ticks = []
    scored = envs.Scored(envs.BernoulliArms(0, y=[0.0, 0.3, 1.0]), 40, ticks.append)
    for t in range(40):
        scored.observe()
        assert scored.pull((0, 2)[t % 2]) == (0, 1)[t % 2]
    assert scored.regret.tolist() == [1.0, 0.0] * 20 and scored.rewards.tolist() == [0.0, 1.0] * 20
    assert ticks[-1] == 1.0 and len(ticks) == 20


def test_bernoulli_arms_are_drawn_within_their_bounds():
    arms = envs.BernoulliArms(3, m=50, low=0.02, high=0.08)
    assert arms.features == 50 and 0.02 <= arms.y.min() < 0.03 and 0.07 < arms.y.max() <= 0.08
    assert (arms.observe() == np.arange(50)[:, None]).all()


def test_the_example_environment_in_the_docstring_runs_and_can_be_learnt():
    """The text of the module's docstring, executed. GuideBoot must have less than a third of random's regret."""
    text = envs.__doc__
    code = text[text.index("    import numpy"):text.index("Randomness comes")]
    assert len([line for line in code.splitlines() if line.strip()]) <= 20
    scope = {}
    exec(textwrap.dedent(code), scope)
    regret = {}
    for name in ("GuideBoot", "Random"):
        env = envs.Scored(scope["Shelf"](np.random.default_rng(0)), 1500)
        rng = np.random.default_rng(1)
        if name == "Random":
            gb.online(baselines.RandomPolicy(rng), env, 1500, 50)
        else:
            bag = nn.LogisticBag(7, [np.random.default_rng([2, k]) for k in range(5)], 0.01)
            gb.online(gb.GuideBoot(bag, rng, gb.Harmonic(7)), env, 1500, 10)
        regret[name] = env.regret.sum()
    assert regret["GuideBoot"] < regret["Random"] / 3
