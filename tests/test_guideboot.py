"""Guidance, fake samples, history and the two loops."""
import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import baselines
import envs
import guideboot as gb
import nn

ROOT = Path(gb.__file__).parent
SEEDS = st.integers(0, 2 ** 32 - 1)


def bag(K=3, features=8, seed=0, **kw):
    return nn.LogisticBag(features, [np.random.default_rng([seed, k]) for k in range(K)], **kw)


def rows(rng, c, sizes=(3, 2, 3)):
    """Rows of ids, one range per field."""
    starts = np.cumsum([0, *sizes[:-1]])
    return np.column_stack([start + rng.integers(0, size, c) for start, size in zip(starts, sizes)])


# ---------------------------------------------------------------- guidance and densities

@given(st.floats(0, 1e12), st.floats(1e-9, 1e9))
def test_guidance_is_min_of_alpha_over_rho_and_one(rho, alpha):
    expected = 1.0 if rho == 0 else min(alpha / rho, 1.0)
    assert gb.guidance(np.array(rho), alpha) == pytest.approx(expected, rel=1e-15)


@given(SEEDS, st.integers(1, 30), st.booleans())
def test_densities_equal_brute_force_counts(seed, c, whole_buffer):
    """Count by looking at every shown row, with a buffer at once or row by row."""
    X = rows(np.random.default_rng(seed), c)
    count, harmonic = gb.AdCount(8, field=1), gb.Harmonic(8)
    for shown in [X] if whole_buffer else X:
        count.update(shown)
        harmonic.update(shown)
    times = lambda j, v: sum(row[j] == v for row in X)
    assert count(X).tolist() == [times(1, x[1]) for x in X]
    np.testing.assert_allclose(harmonic(X), [1 / sum(1 / times(j, x[j]) for j in range(3)) for x in X], rtol=1e-14)
    assert harmonic(X[None]).shape == (1, c)


def test_harmonic_density_of_a_first_sight_is_one_over_J_and_gives_g_one():
    """Section 3.4 assumes rho >= 1 for seen inputs; Eq. 7 gives 1/J when all counts are 1. The min keeps g at 1."""
    density = gb.Harmonic(8)
    x = np.array([0, 3, 5])
    density.update(x)
    assert density(x) == pytest.approx(1 / 3) and gb.guidance(density(x), 1.0) == 1.0
    assert gb.guidance(density(x), 0.1) == pytest.approx(0.3)


@pytest.mark.parametrize("density", [gb.AdCount(8), gb.Harmonic(8)])
def test_an_unseen_input_has_density_zero_and_guidance_one(density):
    assert density(np.array([1, 4, 6])) == 0 and gb.guidance(density(np.array([1, 4, 6])), 0.01) == 1.0


def test_a_density_of_ones_own_takes_a_few_lines():
    class SquareRoot(gb.AdCount):
        def __call__(self, X):
            return np.sqrt(super().__call__(X))
    agent = gb.GuideBoot(bag(features=35), np.random.default_rng(0), SquareRoot(35), alpha=1.0)
    gb.replay(agent, envs.Synthetic(0), 30, 8)
    assert agent.density.count.sum() == 30


def test_density_is_updated_before_it_is_used():
    """Line 10 stands before line 15 (Alg. 3: 12 before 17): at the first use the first sample is already counted."""
    seen = []

    class Spy(gb.AdCount):
        def __call__(self, X):
            seen.append(self.count.sum())
            return super().__call__(X)
    gb.replay(gb.GuideBoot(bag(features=35), np.random.default_rng(0), Spy(35)), envs.Synthetic(0), 3, 4)
    assert seen == [1, 2, 3]
    seen.clear()
    gb.online(gb.GuideBoot(bag(features=35), np.random.default_rng(0), Spy(35)), envs.Synthetic(0), 10, 4)
    assert seen == [4, 8, 10]


# ---------------------------------------------------------------- fake samples

@given(SEEDS, st.integers(1, 9))
def test_fused_fakes_equal_literally_appended_rows(seed, B):
    """The specification: copy the row of each fake to the batch with its fake label, then plain log-loss."""
    rng = np.random.default_rng(seed)
    X, r, g = rows(rng, B), rng.integers(0, 2, B), rng.random(B)
    w, y = gb.fake_samples(r, g, np.random.default_rng([seed, 1]))
    F1, F0 = np.random.default_rng([seed, 1]).random((2, B)) < g
    X_literal = np.concatenate([X, X[F1], X[F0]])
    r_literal = np.concatenate([r, np.ones(F1.sum()), np.zeros(F0.sum())])
    model = bag(K=1, seed=seed, init=1.0)
    z, z_literal = model.scores(0, X), model.scores(0, X_literal)
    assert nn.log_loss(z, w, y).sum() == pytest.approx(nn.log_loss(z_literal, 1.0, r_literal).sum(), rel=1e-12)
    fused = model.gradient(X[None], w[None], y[None]) * B
    literal = model.gradient(X_literal[None], np.ones((1, len(r_literal))), r_literal[None]) * len(r_literal)
    np.testing.assert_allclose(fused, literal, rtol=1e-12, atol=1e-13)


def test_guideboot_gives_every_record_the_fakes_of_its_own_density():
    """A record with rho = 1 always gets both fakes, one with rho = 10 each with probability 0.1; alpha scales both."""
    class Stub:
        def __call__(self, X):
            return np.where(X[..., 0] == 0, 1.0, 10.0)
    agent = gb.GuideBoot(bag(), np.random.default_rng(0), Stub(), alpha=1.0)
    X = np.zeros((2, 20_000, 3), int)
    X[:, ::2, 0] = 1
    w, y = agent.samples(X, np.zeros((2, 20_000), np.int8))
    assert (w[:, 1::2] == 3).all() and (y[:, 1::2] == 1).all()
    for fakes in (y[:, ::2], w[:, ::2] - 1 - y[:, ::2]):
        assert abs(fakes.mean() - 0.1) < 5 * (0.09 / 20_000) ** 0.5
    agent.alpha = 0.5
    w, y = agent.samples(X, np.zeros((2, 20_000), np.int8))
    assert abs(y[:, 1::2].mean() - 0.5) < 5 * (0.25 / 20_000) ** 0.5 and abs(y[:, ::2].mean() - 0.05) < 5 * (0.05 / 20_000) ** 0.5


def test_fakes_are_independent_bernoulli_g():
    """F1 and F0 each have probability g and are independent: their four joint frequencies within 5 standard errors."""
    N, g = 200_000, 0.3
    w, y = gb.fake_samples(np.zeros(N, np.int8), np.full(N, g), np.random.default_rng(0))
    F1, F0 = y, w - 1 - y
    for a, b in itertools.product((0, 1), repeat=2):
        p = (g if a else 1 - g) * (g if b else 1 - g)
        assert abs(((F1 == a) & (F0 == b)).mean() - p) < 5 * (p * (1 - p) / N) ** 0.5
    w, y = gb.fake_samples(np.ones(5, np.int8), np.ones(5), np.random.default_rng(0))
    assert w.tolist() == [3] * 5 and y.tolist() == [2] * 5                   # g = 1: both fakes, always


# ---------------------------------------------------------------- choosing

def test_ties_are_broken_at_random():
    rng, scores = np.random.default_rng(0), np.array([1.0, 3.0, 3.0, 0.0, 3.0])
    counts = np.bincount([gb.argmax(scores, rng) for _ in range(3000)], minlength=5)
    assert counts[0] == counts[3] == 0 and (abs(counts[[1, 2, 4]] - 1000) < 5 * (3000 * 2 / 9) ** 0.5).all()
    assert gb.argmax(np.array([0.0, 2.0, 1.0]), rng) == 1


@pytest.mark.parametrize("scores", [[0.0, np.nan], [np.nan, np.nan], [np.inf, np.inf], [0.0, np.inf], [-np.inf, -np.inf]])
def test_scores_that_are_not_finite_are_refused(scores):
    with pytest.raises(FloatingPointError, match="learning rate"):
        gb.argmax(np.array(scores), np.random.default_rng(0))


def test_agent_follows_a_random_published_model():
    """Three models that each want another candidate: each is followed a third of the time."""
    agent = gb.Agent(bag(K=3), np.random.default_rng(0))
    agent.bag.published[:] = 0
    agent.bag.published[[0, 1, 2], [0, 1, 2]] = 1.0
    X = np.array([[0, 3, 5], [1, 3, 5], [2, 3, 5]])
    counts = np.bincount([agent.choose(X, 1) for _ in range(3000)], minlength=3)
    assert (abs(counts - 1000) < 5 * (3000 * 2 / 9) ** 0.5).all()


# ---------------------------------------------------------------- history

@given(st.integers(1, 5000))
def test_history_keeps_every_row_through_its_growth(c):
    history = gb.History(2, 40)
    for i in range(c):
        history.append([i % 37, (i * 7) % 40], i % 2)
    i = np.arange(c)
    assert history.size == c and (history.X[:c] == np.column_stack([i % 37, i * 7 % 40])).all()
    assert (history.r[:c] == i % 2).all() and len(history.r) < 2 * c + 1024


def test_resampling_is_uniform_over_the_whole_history_with_replacement():
    history = gb.History(1, 50)
    for i in range(50):
        history.append([i], i % 2)
    X, r = history.resample((4, 25_000), np.random.default_rng(0))
    assert X.shape == (4, 25_000, 1) and (r == X[..., 0] % 2).all()
    counts = np.bincount(X.ravel(), minlength=50)
    assert ((counts - 2000) ** 2 / 2000).sum() < 49 + 5 * (2 * 49) ** 0.5    # chi-square, 5 standard deviations
    assert not (X[0] == X[1]).all()                                          # every model its own resample


def test_history_is_compact_when_there_are_many_ids():
    assert gb.History(25, 16_000).X.itemsize * 25 + gb.History(25, 16_000).r.itemsize < 100
    for features in (999, 1000, 2 ** 16, 2 ** 16 + 1, 100_000):
        history = gb.History(1, features)
        history.append([features - 1], 1)
        assert history.X[0, 0] == features - 1


# ---------------------------------------------------------------- loops

class Recorder(gb.GuideBoot):
    """Keeps what the loops hand to every hook, and the published parameters at every decision."""

    def __init__(self, *args, **kw):
        super().__init__(*args, **kw)
        self.calls, self.served = [], []

    def choose(self, X, t):
        self.served.append(self.bag.published.copy())
        self.calls.append(("choose", X, t))
        return super().choose(X, t)

    def update_density(self, X):
        self.calls.append(("update_density", X))
        super().update_density(X)

    def samples(self, X, r):
        self.calls.append(("samples", X.copy(), r.copy()))
        return super().samples(X, r)


def recorder(K=3, seed=0, shuffle=True):
    agent = Recorder(bag(K, 35, seed), np.random.default_rng(seed), gb.Harmonic(35))
    agent.shuffle = shuffle
    return agent


def phases(agent):
    return [call[1:] for call in agent.calls if call[0] == "samples"]


@pytest.mark.parametrize("c, n, steps", [(8, 2, 40), (7, 3, 40), (2, 2, 9), (1, 1, 4), (100, 4, 30)])
def test_online_buffers_of_any_size_reach_every_model_whole_and_shuffled(c, n, steps):
    agent = recorder()
    gb.online(agent, envs.Synthetic(1), steps, c, n)
    sizes = [r.shape[1] for _, r in phases(agent)]
    assert sum(sizes) == steps and set(sizes[:-1]) <= {c} and sizes[-1] <= c
    updates = [call[1] for call in agent.calls if call[0] == "update_density"]
    for (X, _), buffer in zip(phases(agent), updates):
        for k in range(3):
            assert sorted(map(tuple, X[k])) == sorted(map(tuple, buffer))
    if c >= 7:
        assert not (phases(agent)[0][0][0] == phases(agent)[0][0][1]).all()       # different orders
    assert [call[2] for call in agent.calls if call[0] == "choose"] == list(range(1, steps + 1))


def test_a_varying_buffer_size_may_be_any_iterable():
    agent = recorder()
    gb.online(agent, envs.Synthetic(1), 20, itertools.cycle([5, 1, 3]), 2)
    assert [r.shape[1] for _, r in phases(agent)] == [5, 1, 3, 5, 1, 3, 2]
    agent = recorder()
    gb.online(agent, envs.Synthetic(1), 9, [4, 5], 2)
    assert [r.shape[1] for _, r in phases(agent)] == [4, 5]


@pytest.mark.parametrize("c, n, sizes", [(8, 2, [4, 4]), (7, 3, [2, 2, 3]), (2, 5, [1, 1]), (5, 1, [5])])
def test_mini_batches_are_disjoint_cover_the_buffer_and_differ_by_at_most_one(c, n, sizes):
    agent = gb.Agent(bag(features=35), np.random.default_rng(0))
    X, r = rows(np.random.default_rng(0), c), np.zeros(c, int)
    batches = []
    agent.bag.update = lambda X, w, y: batches.append(X.copy())
    gb.learn(agent, X, r, n)
    assert [b.shape[1] for b in batches] == sizes
    assert (np.concatenate(batches, axis=1) == X).all()                           # Agent does not shuffle


def test_models_that_serve_change_only_when_a_learning_phase_is_complete():
    agent = recorder()
    gb.online(agent, envs.Synthetic(1), 40, 8, 4)
    for phase in range(5):
        served = agent.served[phase * 8:(phase + 1) * 8]
        assert all((p == served[0]).all() for p in served)
        assert phase == 0 or not (served[0] == agent.served[phase * 8 - 1]).all()
    published = agent.bag.published.copy()
    agent.bag.publish = lambda: None                                              # a learner that dies before the end
    gb.learn(agent, rows(np.random.default_rng(0), 8), np.ones(8, int), 4)
    assert (agent.bag.published == published).all() and not (agent.bag.theta == published).all()


def test_replay_learns_after_every_step_from_all_that_happened():
    agent = recorder()
    gb.replay(agent, envs.Synthetic(1), 30, 16)
    shown = [call[1] for call in agent.calls if call[0] == "update_density"]
    for t, (X, r) in enumerate(phases(agent)):
        assert X.shape == (3, 16, 3) and r.shape == (3, 16)
        assert set(map(tuple, X.reshape(-1, 3))) <= set(map(tuple, shown[:t + 1]))
    assert len(set(map(tuple, phases(agent)[-1][0].reshape(-1, 3)))) > 10


def test_algorithm_2_is_the_online_loop_with_one_model_and_no_fakes():
    """Written out literally: greedy, split in order of arrival, one gradient step per mini-batch."""
    env, rng = envs.Synthetic(3), np.random.default_rng(0)
    model = bag(1, 35, 5)
    for _ in range(5):                                                            # lines 2-12
        X_on, r_on = [], []
        for _ in range(6):
            X = env.observe()
            rng.random()                                                          # U{1, 1}: the model index
            a = int(model.scores(0, X).argmax())
            X_on.append(X[a]), r_on.append(env.pull(a))
        for half in (slice(0, 3), slice(3, 6)):
            model.update(np.array(X_on)[None, half], np.ones((1, 3)), np.array(r_on)[None, half])
        model.publish()
    agent = gb.Agent(bag(1, 35, 5), np.random.default_rng(0))
    gb.online(agent, envs.Synthetic(3), 30, 6, 2)
    assert (agent.bag.theta == model.theta).all()


def test_same_seed_same_parameters_bit_for_bit():
    for loop, size in ((gb.replay, 16), (gb.online, 8)):
        thetas = []
        for _ in range(2):
            agent = recorder()
            loop(agent, envs.Synthetic(1), 40, size)
            thetas.append(agent.bag.theta)
        assert (thetas[0] == thetas[1]).all()


def test_guideboot_learns_the_synthetic_task():
    """Well below random's regret over three seeds of 4,000 steps: replay below 0.55 of it, online below 0.65."""
    regret = dict.fromkeys(("replay", "online", "random"), 0.0)
    for seed in range(3):
        for name in regret:
            env, rng = envs.Scored(envs.Synthetic(seed), 4000), envs.stream(seed, "agent")
            model = nn.LogisticBag(35, [envs.stream(seed, "models", k) for k in range(5)], 0.003 if name == "replay" else 0.02)
            if name == "replay":
                gb.replay(gb.GuideBoot(model, rng, gb.Harmonic(35)), env, 4000, 32)
            elif name == "online":
                gb.online(gb.GuideBoot(model, rng, gb.Harmonic(35)), env, 4000, 16, 2)
            else:
                gb.online(baselines.RandomPolicy(rng), env, 4000, 100)
            regret[name] += env.regret.sum()
    assert regret["replay"] < 0.55 * regret["random"] and regret["online"] < 0.65 * regret["random"], regret


def test_replay_may_learn_every_so_many_steps_by_several_batches():
    agent = recorder()
    gb.replay(agent, envs.Synthetic(1), 20, 4, every=6, updates=2)
    order = "".join({"choose": "c", "update_density": "", "samples": "s"}[call[0]] for call in agent.calls)
    assert order == "ccccccss" * 3 + "cc"
    for phase in range(3):
        assert all((p == agent.served[phase * 6]).all() for p in agent.served[phase * 6:phase * 6 + 6])


def test_an_environment_may_reuse_its_array():
    class Reusing(Fixed):
        def observe(self):
            self.X[:, 0] = (self.X[:, 0] + 1) % 25
            return self.X
    agent = recorder()
    X, _ = gb.serve(agent, Reusing([[0, 25, 30]]), 0, 4)
    assert X[:, 0].tolist() == [1, 2, 3, 4]


# ---------------------------------------------------------------- what an agent can see

def test_agents_are_handed_ids_and_rewards_and_nothing_else():
    """No argument of any hook is, or leads to, the environment."""
    agent = recorder()
    gb.replay(agent, envs.Scored(envs.Synthetic(1), 20), 20, 4)
    gb.online(agent, envs.Scored(envs.Synthetic(1), 20), 20, 4)
    for _, *arguments in agent.calls:
        assert all(type(a) in (np.ndarray, int) and (type(a) is int or a.dtype.kind in "iu") for a in arguments)


def test_nothing_public_in_an_environment_holds_expected_rewards():
    """Whatever has no underscore in front is compared with the expected rewards and the hidden weights."""
    for env in (envs.Synthetic(0), envs.BernoulliArms(0)):
        X = env.observe()
        assert X.dtype.kind in "iu" and type(env.pull(0)) is int
        hidden = {float(y) for y in env._expected()}
        for name in dir(env):
            value = getattr(env, name)
            if not name.startswith("_") and isinstance(value, (np.ndarray, float)):
                assert not hidden & set(np.ravel(value).astype(float)), name


# ---------------------------------------------------------------- bad input

class Fixed:
    """An environment that always offers the same candidates and pays the same reward."""
    fields, features = 3, 35

    def __init__(self, X, r=0):
        self.X, self.r = np.array(X), r

    def observe(self):
        return self.X

    def pull(self, a):
        return self.r


GOOD = [[0, 25, 30], [1, 26, 31]]
BAD = [("ids must be 0 to 34 .*got 35", Fixed([[0, 25, 35]])), ("ids must be 0 to 34 .*got -1", Fixed([[0, 25, -1]])),
       ("candidates must be at least one", Fixed(np.empty((0, 3), int))), ("rewards must be 0 or 1, got 2", Fixed(GOOD, 2)),
       ("candidates must be whole numbers of shape .m, 3., got float64 of shape .1, 3.", Fixed([[0.0, 25.0, 30.0]])),
       ("candidates must be whole numbers of shape .m, 3., got int64 of shape .1, 2.", Fixed([[0, 25]])),
       ("rewards must be 0 or 1, got array", Fixed(GOOD, np.array([1]))), ("rewards must be 0 or 1, got nan", Fixed(GOOD, float("nan"))), ("rewards must be 0 or 1, got 0.5", Fixed(GOOD, 0.5))]


@pytest.mark.parametrize("message, env", BAD)
@pytest.mark.parametrize("loop", [gb.replay, gb.online])
def test_bad_environments_get_one_clear_line(message, env, loop):
    with pytest.raises(ValueError, match=message) as error:
        loop(recorder(), env, 5, 4)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("call, message", [
    (lambda: gb.GuideBoot(bag(), None, gb.AdCount(8), 0.0), "alpha must be a finite number above 0, got 0.0"),
    (lambda: gb.GuideBoot(bag(), None, gb.AdCount(8), float("inf")), "alpha .*got inf"),
    (lambda: gb.replay(recorder(), Fixed(GOOD), 0, 4), "steps must be a whole number, 1 or more, got 0"),
    (lambda: gb.replay(recorder(), Fixed(GOOD), 5, 2.5), "b must be a whole number, 1 or more, got 2.5"),
    (lambda: gb.online(recorder(), Fixed(GOOD), 5, -3), "c must be a whole number, 1 or more, got -3"),
    (lambda: gb.online(recorder(), Fixed(GOOD), 5, 3, 0), "n must be a whole number, 1 or more, got 0"),
    (lambda: gb.replay(recorder(), Fixed(GOOD), 5, 4, every=0), "every must be a whole number, 1 or more, got 0"),
    (lambda: gb.replay(recorder(), Fixed(GOOD), 5, 4, updates=0), "updates must be a whole number, 1 or more, got 0"),
    (lambda: baselines.EpsilonGreedy(bag(), None, 1.5), "epsilon must be 0 to 1, got 1.5"),
    (lambda: baselines.Giro(bag(), None, -1), "alpha of Giro must be 0 to 1, got -1"),
    (lambda: baselines.GiroArms(3, None, 2), "alpha of Giro must be 0 to 1, got 2"),
    (lambda: gb.online(recorder(), Fixed(GOOD), 5, float("nan")), "c must be a whole number, 1 or more, got nan"),
    (lambda: gb.replay(gb.Agent(bag(features=34), None), Fixed(GOOD), 5, 4), "bag.features must be env.features, 35, got 34"),
    (lambda: gb.online(gb.Agent(bag(features=36), None), Fixed(GOOD), 5, 4), "bag.features must be env.features, 35, got 36"),
])
def test_bad_arguments_are_named_with_their_value_and_what_is_allowed(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# ---------------------------------------------------------------- the paper is visible

# What the statement at each line of a listing contains, in guideboot.py or nn.py.
LISTING = {
    1: {1: "History(env", 2: "rng.standard_normal", 3: "np.zeros(features)", 4: "for t in", 5: "env.observe()",
        6: "rng.random()", 7: "scores(k, X)", 8: "argmax(scores", 9: "history.append", 10: "density.update",
        11: "resample((bag.K", 12: "resample((bag.K", 13: "1 + F1 + F0", 14: "guidance(self.density",
        15: "alpha / np.maximum", 16: "F1 =", 17: "F0 =", 18: "guidance(self.density", 19: "samples(X_b",
        20: "bag.update(X_b", 21: "bag.update(X_b", 22: "bag.update(X_b", 23: "publish"},
    2: {1: "rng.standard_normal", 2: "while t < steps", 3: "[], []", 4: "for t in", 5: "env.observe()",
        6: "scores(k, X)", 7: "argmax(scores", 8: "env.pull(a)", 9: "np.array(X_on)", 10: "part = slice",
        11: "bag.update(X[:, part]", 12: "t += size"},
    3: {1: "rng.standard_normal", 2: "np.zeros(features)", 3: "while t < steps", 4: "[], []", 5: "for t in",
        6: "env.observe()", 7: "rng.random()", 8: "scores(k, X)", 9: "argmax(scores", 10: "env.pull(a)",
        11: "np.array(X_on)", 12: "density.update", 13: "np.tile", 14: "permuted", 15: "agent.samples(X, r)",
        16: "guidance(self.density", 17: "alpha / np.maximum", 18: "F1 =", 19: "F0 =",
        20: "guidance(self.density", 21: "agent.samples(X, r)", 22: "bag.update(X[:, part]", 23: "publish",
        24: "t += size"},
}


def marked(algorithm):
    """{line of the listing: the statements that carry its mark}"""
    found = {}
    for line in [*(ROOT / "guideboot.py").open(), *(ROOT / "nn.py").open()]:
        code, _, comment = line.partition("  # ")
        for first, last in re.findall(rf"Alg{algorithm}:(\d+)(?:-(\d+))?", comment):
            for number in range(int(first), int(last or first) + 1):
                found.setdefault(number, []).append(code.strip())
    return found


@pytest.mark.parametrize("algorithm", LISTING)
def test_every_line_number_of_the_listing_stands_at_its_statement(algorithm):
    found = marked(algorithm)
    assert sorted(found) == sorted(LISTING[algorithm])
    for number, fragment in LISTING[algorithm].items():
        assert any(fragment in code for code in found[number]), (number, found[number])


def test_each_loop_fits_on_one_screen():
    source = (ROOT / "guideboot.py").read_text()
    for name in ("replay", "online", "serve", "learn"):
        body = re.search(rf"^def {name}\(.*?(?=^\S)", source, re.M | re.S).group()
        assert body.count("\n") < 40


def test_the_papers_defaults_and_the_smallest_type_of_an_id():
    """Section 5.1 has alpha = 1; Algorithm 3 without n makes one batch of the buffer; 256 ids, 0 to 255, fit one byte, 257 do not."""
    agent = gb.GuideBoot(bag(), np.random.default_rng(0), gb.Harmonic(8))
    assert agent.alpha == 1.0
    batches = []
    agent.bag.update = lambda X, w, y: batches.append(X.shape)
    env = envs.BernoulliArms(0, y=[0.5] * 8)
    gb.online(agent, env, 6, 6)
    assert batches == [(3, 6, 1)]
    assert gb.History(2, 256).X.dtype == np.uint8 and gb.History(2, 257).X.dtype == np.uint16


@pytest.mark.parametrize("r", [0, 1, np.int64(0), np.int64(1), np.bool_(False), True, 0.0, 1.0, np.float32(0)])
def test_a_reward_may_be_any_zero_or_one(r):
    env = envs.checked(Fixed(GOOD, r))
    env.observe()
    got = env.pull(0)
    assert type(got) is int and got == r
