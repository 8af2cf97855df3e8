"""The tasks: the protocol, Bernoulli arms, Section 5.1's synthetic task, the stand-ins of 5.2."""
import copy
import math
import textwrap
from functools import lru_cache
from statistics import NormalDist

import numpy as np
import pytest

import baselines
import envs
import guideboot as gb


def test_the_example_in_the_docstring_runs_and_learns(capsys):
    """Executed as it stands; GuideBoot has less than a third of the random policy's regret."""
    scope = {}
    for start, end in (("import numpy", "and GuideBoot on it"), ("from envs", "Randomness comes")):
        text = envs.__doc__.split(f"    {start}")[1].split(end)[0]
        exec(textwrap.dedent(f"    {start}{text}"), scope)
    random = envs.Scored(scope["Shelf"](np.random.default_rng(0)), 1000)
    gb.online(baselines.RandomPolicy(np.random.default_rng(1)), random, 1000, 50)
    assert float(capsys.readouterr().out) < random.regret.sum() / 3


def test_streams_differ_by_seed_purpose_and_model_and_repeat_exactly():
    draws = [envs.stream(seed, name, k).random()
             for seed in range(6) for name in envs.STREAMS for k in range(6)]
    assert len(set(draws)) == len(draws)
    assert envs.stream(1, "agent").random() == envs.stream(1, "agent", 0).random()


# ---------------------------------------------------------------- checked

class Fixed:
    """Always the same candidates and the same reward, and no expected rewards."""
    fields, features = 3, 35

    def __init__(self, X=((0, 25, 30), (1, 26, 34)), r=0):
        self.observe = lambda: X
        self.pull = lambda a: r


def observed(**given):
    """An environment that is checked, its candidates seen."""
    env = envs.checked(Fixed(**given))
    env.observe()
    return env


SHAPE = r"candidates must be whole numbers of shape \(m, 3\), m at least 1, got "


@pytest.mark.parametrize("X, message", [
    (np.empty((0, 3), int), SHAPE),
    ([[0.0, 25.0, 30.0]], SHAPE + r"float64 of shape \(1, 3\)"),
    ([[0, 25]], SHAPE + r"int.* of shape \(1, 2\)"),
    ({"action": [0, 1]}, SHAPE + "object"),                      # has items, and is no Request
    (np.array([[0, 25, 30], [0, -3, 30]], np.int8), "ids must be 0 to 34 .*, got -3"),
    ([[0, 35, 30]], r"ids must be 0 to 34 \(env.features - 1\), got 35")])
def test_wrong_candidates_are_refused(X, message):
    with pytest.raises(ValueError, match=message):
        observed(X=X)


@pytest.mark.parametrize("X", [[[0, 25, 34]], np.array([[0, 25, 34]], np.uint8)])
def test_whatever_reads_as_rows_of_ids_becomes_an_array_of_indices(X):
    X = envs.checked(Fixed(X)).observe()
    assert X.dtype == np.intp
    assert X.tolist() == [[0, 25, 34]]


def test_a_choice_outside_the_candidates_is_refused():
    env = observed()
    assert env.pull(0) == env.pull(1) == 0
    for a in (-1, 2, math.nan):
        with pytest.raises(ValueError, match=f"the chosen index must be whole, 0 to 1, got {a}"):
            env.pull(a)


@pytest.mark.parametrize("r", [0, 1, True, np.int64(1), np.float32(0)])
def test_any_zero_or_one_is_a_reward_and_becomes_an_int(r):
    assert repr(observed(r=r).pull(0)) == str(int(r))


@pytest.mark.parametrize("r", [2, -1, 0.5, math.nan, np.array([1]), None])
def test_a_reward_other_than_zero_or_one_is_refused(r):
    with pytest.raises(ValueError, match="^rewards must be 0 or 1, got "):
        observed(r=r).pull(0)


def test_a_request_reads_like_its_array_of_rows_and_passes_untouched():
    table = np.array([[4, 7], [5, 8], [6, 7], [4, 8], [6, 8]])
    request = envs.Request(np.array([2]), np.array([4, 0]), table)
    assert len(request) == 2
    assert np.asarray(request).tolist() == [[2, 6, 8], [2, 4, 7]]
    assert request[1].tolist() == [2, 4, 7]
    assert request[..., 1].tolist() == [6, 4]
    env = envs.checked(Fixed(request))
    assert env.observe() is request
    assert env.pull(1) == 0
    assert envs.checked(env) is env


# ---------------------------------------------------------------- Scored

class MovesOn:
    """Rows of expected rewards, one after another: `pull` moves on to the next."""
    fields, features, label = 1, 2, "a shelf"

    def __init__(self, *rows):
        self.rows, self.i = np.array(rows), 0

    def observe(self):
        return np.array([[0], [1]])

    def _expected(self, a=slice(None)):
        return self.rows[self.i][a]

    def pull(self, a):
        r = self._expected(a) >= 0.5
        self.i = (self.i + 1) % len(self.rows)
        return int(r)


def scored(env, choices, **options):
    books = envs.Scored(env, len(choices), **options)
    for a in choices:
        books.observe()
        books.pull(a)
    return books


def test_each_kind_of_score_has_its_books_and_its_numbers():
    """Choices 1, 1, 0, 0 have the expected rewards 1/4, 1/2, 3/4, 1/4, the regrets 1/2, 0, 0, 1/4,
    and the rewards 0, 1, 1, 0, if they are asked for before `pull` moves on."""
    env, choices = MovesOn([0.75, 0.25], [0.25, 0.5]), [1, 1, 0, 0]
    books = scored(env, choices)
    assert list(books.numbers().items()) == [("regret", 0.75), ("reward", 0.5)]
    assert books.regret.tolist() == [0.5, 0.0, 0.0, 0.25]
    assert books.rewards.tolist() == [0, 1, 1, 0]
    env.score = "expected"
    books = scored(env, choices)
    assert list(books.numbers().items()) == [("reward", 0.4375), ("clicks", 0.5)]
    assert books.expected.tolist() == [0.25, 0.5, 0.75, 0.25]
    assert len(books.regret) == 0                                         # the others keep no books
    env.score = "reward"
    assert scored(env, choices).numbers() == {"reward": 0.5}
    assert scored(Fixed(r=1), choices).numbers() == {"reward": 1.0}       # no expected rewards


def test_progress_is_told_twenty_times_or_at_every_step():
    for steps, times in ((80, 20), (3, 3)):
        told = []
        scored(Fixed(), [0] * steps, tick=told.append)
        np.testing.assert_allclose(told, (np.arange(times) + 1) / times)


def test_all_else_that_the_environment_has_is_forwarded_also_by_a_copy():
    books = copy.deepcopy(envs.Scored(MovesOn([0.5, 0.5]), 1))
    assert (books.fields, books.features, books.label) == (1, 2, "a shelf")
    with pytest.raises(AttributeError, match="nothing"):
        books.nothing


# ---------------------------------------------------------------- Sections 3.4 and 5.1

@pytest.mark.parametrize("options, y", [
    ({}, envs.stream(3, "weights").uniform(0, 0.1, 10)),
    ({"m": 5, "low": 0.2, "high": 0.8}, envs.stream(3, "weights").uniform(0.2, 0.8, 5)),
    ({"y": [0, 1]}, [0, 1])])
def test_bernoulli_arms_are_drawn_within_their_bounds_or_given(options, y):
    arms = envs.BernoulliArms(3, **options)
    assert arms.features == len(y)
    for u in envs.stream(3, "rewards").random(40):
        assert arms.observe().tolist() == [[a] for a in range(len(y))]
        assert arms._expected().tolist() == list(y)
        assert [arms.pull(a) for a in range(len(y))] == [u < y_a for y_a in y]


def test_synthetic_task_is_the_papers():
    """25 actions, x1 and x2 uniform on five values, afresh for each action and step; two blocks."""
    env = envs.Synthetic(3)
    assert (env.fields, env.features) == (3, 35)
    w = envs.stream(3, "weights").uniform(-0.25, 0.25, 35)
    contexts, rewards = envs.stream(3, "contexts"), envs.stream(3, "rewards")
    for _ in range(2):
        values, uniforms = contexts.integers(0, 5, (1024, 25, 2)), rewards.random(1024)
        for x, u in zip(values, uniforms):
            X = np.column_stack([np.arange(25), x + [25, 30]])
            y = 1 / (1 + np.exp(1 - w[X].sum(axis=1)))
            assert (env.observe() == X).all()
            np.testing.assert_allclose(env._expected(), y, rtol=1e-14)
            assert env.pull(4) == (u < y[4])


def small_ads(seed):
    return envs.Ads(seed, "A", scale=0.02)


@pytest.mark.parametrize("task", [envs.BernoulliArms, envs.Synthetic, small_ads])
def test_every_method_faces_the_same_requests_and_reward_uniforms(task):
    """One seed, two agents, 1500 steps, which cross blocks: one agent shows the first candidate,
    one the last, and one uniform decides both."""
    first, second, other = task(5), task(5), task(6)
    for _ in range(1500):
        X, Y = np.asarray(first.observe()), np.asarray(second.observe())
        assert (X == Y).all()
        y, z = first._expected()[[0, -1]]
        r, q = first.pull(0), second.pull(len(Y) - 1)
        assert r == q or (r > q) == (y > z)
    other.observe()
    assert other._expected()[0] != y


# ---------------------------------------------------------------- stand-ins for the ads: 5.2

@lru_cache                                                       # making one takes time
def ads(task, scale):
    return envs.Ads(0, task, scale)


def jump(env, day):
    """Go to the block of requests at this time without serving those before it."""
    env.served, env.i = int(env.steps * day / envs.DAYS), env.block - 1


@pytest.mark.parametrize("name, value", [
    ("task", "C"), ("scale", 0.009), ("scale", 1.1), ("drift", -0.1), ("world", 0.5)])
def test_a_world_that_cannot_be_is_refused(name, value):
    with pytest.raises(ValueError, match=f"{name} must be .*, got {value!r}"):
        envs.Ads(0, **{"scale": 0.02, name: value})


@pytest.mark.parametrize("task, steps, n, low, high, context, ad", [
    ("A", 4_500_000, 8_900, 250, 450, 4_200, 12_000),
    ("B", 14_700_000, 6_500, 100, 200, 4_300, 9_400)])
def test_at_scale_one_the_statistics_are_table_2s(task, steps, n, low, high, context, ad):
    env, sizes, seen = ads(task, 1.0), set(), set()
    assert (env.steps, env.features) == (steps, context + ad)
    assert env.table.shape == (n, 12)
    assert (len(env.context_sizes), env.context_sizes.sum()) == (13, context)
    for day in np.linspace(0.1, 4.9, 8):
        jump(env, day)
        for _ in range(500):
            request = env.observe()
            sizes.add(len(request))
            seen.update(request.context.tolist())
    assert (min(sizes), max(sizes)) == (low, high)
    assert 0.3 * context < len(seen) <= context
    X = np.asarray(request)
    assert X.shape == (len(request), env.fields)
    starts = np.cumsum([0, *env.context_sizes, *env.ad_sizes])            # a range for each field
    assert starts[-1] == env.features
    assert ((starts[:-1] <= X) & (X < starts[1:])).all()
    assert (X[:, envs.AD_ID] == context + request.items).all()


@pytest.mark.parametrize("task", "AB")
@pytest.mark.parametrize("scale, hours", [(0.01, 2), (0.1, 21), (1.0, 24)])
def test_shrinking_keeps_impressions_per_ad_and_five_to_nine_candidates(task, scale, hours):
    env, full = ads(task, scale), envs.TABLE_2[task]
    assert env.context_sizes[0] == hours
    assert env.steps / len(env.table) == pytest.approx(full["steps"] / full["ads"], rel=0.01)
    assert min(env.context_sizes.min(), env.ad_sizes.min()) >= 2
    assert env.low >= 5
    assert env.high >= env.low + 4


@pytest.mark.parametrize("task", "AB")
def test_ads_come_and_go_and_candidates_are_those_that_are_live_each_once(task):
    """Every ad is live for a quarter of a day. Of those of the first moment many are there a day
    later, and few on the last day. In 500 requests all that are live come up."""
    env, seen = ads(task, 1.0), set()
    assert (env.launch <= envs.DAYS - 0.25).all()
    assert (env.retire - np.maximum(env.launch, 0.0) >= 0.25 - 1e-12).all()
    first, second, last = (set(env._live(day).nonzero()[0]) for day in (0.0, 1.0, 4.9))
    assert min(len(first), len(last)) > 2 * env.high
    assert 0.2 < len(first & second) / len(first) < 0.9
    assert len(first & last) < 0.2 * len(first)
    jump(env, 2.5)
    for _ in range(500):
        items = env.observe().items
        assert len(set(items)) == len(items) == env.m[env.i]
        seen.update(items)
    assert seen == set(env._live(env.day).nonzero()[0])


def test_the_mix_of_contexts_follows_the_hour_and_popularity_is_skewed():
    """Half a day moves a quarter of the mass at least; three values have a quarter of it."""
    env, share = ads("A", 0.1), []
    for day in (1.0, 1.5):
        ids, _, _ = env._draw_contexts(np.random.default_rng(0), day, 4000)
        assert (ids[:, 0] == int(day % 1 * env.context_sizes[0])).all()
        share.append(np.bincount(ids[:, 1], minlength=env.context_starts[2]) / 4000)
        assert np.sort(share[-1])[-3:].sum() > 0.25
    assert abs(share[0] - share[1]).sum() / 2 > 0.25
    popularity = np.bincount(env.table[:, 1]) / len(env.table)            # of an ad's field, too
    assert np.sort(popularity)[-3:].sum() > 0.25


@pytest.mark.parametrize("task", "AB")
@pytest.mark.parametrize("scale", [0.02, 1.0])
def test_random_policies_get_one_per_cent_and_the_best_ad_is_lift_logits_above(task, scale):
    """2,400 requests over all hours, as the calibration's: both are samples, so within 8 %. The
    best candidate is the maximum of m numbers that are nearly standard normal: within 12 %."""
    env, random, gain = ads(task, scale), [], []
    for day in (np.arange(120) + 0.5) / 24:
        jump(env, day)
        for _ in range(20):
            env.observe()
            y = env._expected()
            logit = np.log(y / (1 - y))
            random.append(y.mean())
            gain.append(logit.max() - logit.mean())
    lift, m = envs.TABLE_2[task]["lift"], (env.low + env.high) // 2
    assert np.mean(random) == pytest.approx(0.01, rel=0.08)
    assert np.mean(gain) == pytest.approx(lift, rel=0.12)
    assert env._spread == pytest.approx(lift / NormalDist().inv_cdf((m - 0.375) / (m + 0.25)))


def click_rate(env, a):
    """The docstring's formula for one candidate; a turn by an angle as a complex product."""
    angle = env.drift * np.pi / 4 * env.day / 5
    ids, item, n = env.ids[env.i], env.items[a], len(env.ids[env.i])
    effect = 0.5 * sum(env._context_effect[j] for j in ids) / math.sqrt(n)
    u = sum(env._u[j] for j in ids) / math.sqrt(4 * n)                    # (8,)
    u = ((u[0::2] + 1j * u[1::2]) * np.exp(1j * angle)).view(float)
    taste, whim = u[:4] @ env._v[item, :4], u[4:] @ env._v[item, 4:]
    now, later = env._feature_appeal[:, item]
    appeal = env._own_appeal[item] + math.cos(angle) * now + math.sin(angle) * later
    liking = (math.sqrt(0.3) * appeal + math.sqrt(0.6) * math.tanh(taste)
              + math.sqrt(0.3) * math.sin(3 * whim))
    return 1 / (1 + math.exp(-(env._base + effect + env._spread * liking)))


@pytest.mark.parametrize("day", [0.1, 2.5, 4.9])
def test_no_answer_is_that_of_another_candidate_or_another_request(day):
    """The answer to a question is kept; here one comes twice, or again after the next request."""
    env, everyone = ads("A", 0.1), slice(None)
    jump(env, day)
    for _ in range(20):
        env.observe()
        rates = np.array([click_rate(env, a) for a in range(len(env.items))])
        for a in (1, 1, everyone, 2, everyone, everyone, 0, 1):
            np.testing.assert_allclose(env._expected(a), rates[a], rtol=1e-9)
        u = env._uniform[env.i] = rates[:2].mean()                       # one of the two clicks
        for a in (1, 0, 0, 1):
            assert env.pull(a) == (u < rates[a])


def test_in_five_days_tastes_turn_by_an_eighth_of_a_circle_and_without_drift_not():
    """The hidden vectors of contexts at the same hour, four days apart: 4/5 of 45 degrees."""
    for drift, cosine in ((1.0, math.cos(math.pi / 5)), (0.0, 1.0)):
        env = envs.Ads(0, "A", scale=0.02, drift=drift)
        early, late = (env._draw_contexts(np.random.default_rng(0), day, 50)[2] for day in (0, 4))
        lengths = np.linalg.norm(early, axis=1) * np.linalg.norm(late, axis=1)
        np.testing.assert_allclose((early * late).sum(axis=1) / lengths, cosine)
    assert (env._appeal_at(0.0) == env._appeal_at(5.0)).all()


def test_time_stands_still_in_a_block_and_passes_from_the_first_day_to_the_fifth():
    """Block i of 45,000 requests is at its middle, 5 (512 i + 256) / 45,000 days; then 5."""
    env = envs.Ads(0, "A", scale=0.01)
    for i in range(89):
        env.observe()
        assert env.day == pytest.approx(min(5 * (512 * i + 256) / 45_000, 5))
        env.i += 511                                                      # the last of the block


def test_a_world_is_fixed_and_a_seed_draws_its_requests():
    one, same, other = small_ads(0), small_ads(1), envs.Ads(0, "A", scale=0.02, world=1)
    assert (one.table == same.table).all()
    assert one._base == same._base
    assert not (one.table == other.table).all()
    assert not (one.observe().context == same.observe().context).all()


@pytest.mark.parametrize("task, portrait", [
    ("A", [-5.60282433808, 1.21138413517, 486, 135000, 6, 36, 22, 267, 29, 17, 373.080803776,
           1039.4334477, 1416599, 1335, 175353, 135161, 14.4605596259, 6, 1.46291245323]),
    ("B", [-5.48426610077, 1.09931283934, 411, 441000, 6, 37, 23, 195, 28, 15, 238.085707527,
           757.549471308, 870154, 826, 80152, 138351, 7.13435933308, 2, 1.05502618965])])
def test_the_two_worlds_are_the_ones_that_the_results_are_from(task, portrait):
    """The world, then sums over requests on three days: every constant of the simulator has a part
    in them. Whoever changes them must make all results anew."""
    env = envs.Ads(3, task, scale=0.03)
    world = [env._base, env._spread, env.features, env.steps, *env.context_sizes[:3],
             *env.ad_sizes[:3], env.launch.sum(), env.retire.sum(), env.table.sum()]
    sums = np.zeros(6)
    for day in (0.2, 2.6, 4.9):
        jump(env, day)
        for _ in range(40):
            request = env.observe()
            a = len(request) // 2
            sums += [len(request), request.items.sum(), request.context.sum(),
                     env._expected().sum(), env.pull(a), env._expected(a)]
    assert [*world, *sums] == pytest.approx(portrait, rel=1e-9)


# ---------------------------------------------------------------- any table with a label

@pytest.fixture
def table(tmp_path):
    path = tmp_path / "fruit.csv"
    path.write_text("colour, weight, taste, ripe\n red, 1.5, good, yes\n blue, ?, bad, yes\n"
                    " red, 2.5, good, no\n green, 3.5, bad, no\n blue, 4.5, ?, no\n"
                    " , 0.5, so so, yes\n")
    return path


def test_a_table_becomes_numbers_with_bins_for_numbers_and_one_for_missing(table):
    """By hand: the fifth row has no label. Weights 0.5, 1.5, 2.5, 3.5 have the median 2; missing is
    0, those below 2 are 1, the others 2. Words are numbered in their order: blue, green, red."""
    values, sizes, labels, classes = envs.read_table(table, "taste", bins=2)
    assert classes == ["bad", "good", "so so"]
    assert labels.tolist() == [1, 0, 1, 0, 2]
    assert values.tolist() == [[3, 1, 2], [1, 0, 2], [3, 2, 1], [2, 2, 1], [0, 1, 2]]
    assert sizes.tolist() == [4, 3, 3]


@pytest.mark.parametrize("crossed, starts", [(True, [3, 15, 24]), (False, [3, 7, 10])])
def test_a_labelled_table_has_a_candidate_for_each_class(table, crossed, starts):
    """Ids 0, 1, 2 are the classes; then come 4, 3 and 3 values, crossed three times as many, with
    those of the next class after those of one."""
    values, sizes, labels, _ = envs.read_table(table, "taste", bins=2)
    env = envs.Labelled(3, table, "taste", crossed=crossed, bins=2)
    assert (env.steps, env.fields, env.features) == (5, 4, 33 if crossed else 13)
    seen = []
    for _ in range(5):
        X, y = env.observe(), env._expected()
        v, right = X[0, 1:] - starts, int(y.argmax())
        for a in range(3):
            assert X[a].tolist() == [a, *(starts + v + crossed * a * sizes)]
            assert env.pull(a) == y[a] == (a == right)
        seen.append([*v, right])
    assert sorted(seen) == sorted([*v, a] for v, a in zip(values.tolist(), labels))
    with pytest.raises(ValueError, match="steps must be at most 5, .*, got 6"):
        env.observe()


def test_rows_are_shuffled_by_the_seed_and_rewards_flipped_with_the_noise(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f"v{i},{'xy'[i % 2]}\n" for i in range(2000)))
    first, again, other = (envs.Labelled(seed, path, "b", noise=0.25) for seed in (0, 0, 1))
    assert (first.values == again.values).all()
    assert (first.values != other.values).any()
    flipped = 0
    for _ in range(2000):
        first.observe()
        right = int(first._expected().argmax())
        assert sorted(first._expected()) == [0.25, 0.75]
        assert first.pull(right) != first.pull(1 - right)
        flipped += first.pull(right) == 0
    assert abs(flipped - 500) < 5 * math.sqrt(2000 * 0.25 * 0.75)


@pytest.mark.parametrize("text, label, message", [
    ("a,b,c,d\n1,2,3\n", "b", r"row 2: must have 4 cells, like .*, got 3 \(to column c\)"),
    ("a,b\n", "b", "table must be a CSV file with a header and rows"),
    ("a,b\n1,2\n", "c", "label must be one of the columns a, b, got 'c'"),
    ("a,b\n1,?\n2,?\n", "b", "two classes or more")])
def test_a_bad_table_is_told_in_one_line(tmp_path, text, label, message):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        envs.Labelled(0, tmp_path / "t.csv", label)
