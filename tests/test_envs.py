"""The tasks: the protocol, Bernoulli arms, Section 5.1's synthetic task, the stand-ins of 5.2."""
import copy
import math
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import envs


def test_streams_differ_by_seed_purpose_and_model_and_repeat_exactly():
    draws = [envs.stream(seed, name, k).random()
             for seed in range(6) for name in envs.STREAMS for k in range(6)]
    assert len(set(draws)) == len(draws)
    assert envs.stream(1, "agent").random() == envs.stream(1, "agent", 0).random()
    for seed, name in ((-1, "agent"), (0.5, "agent"), (0, "agents")):
        with pytest.raises(ValueError, match="^(seed|name) must be "):
            envs.stream(seed, name)


# ---------------------------------------------------------------- checked

ROWS = [[0, 25, 30], [1, 26, 34]]


def fixed(X=ROWS, r=0):
    """A task with always the same candidates and the same reward, and no expected rewards."""
    return SimpleNamespace(fields=3, features=35, observe=lambda: X, pull=lambda a: r)


@pytest.mark.parametrize("name, values", [
    ("X", [np.empty((0, 3), int), [[0.0, 25.0, 30.0]], [[0, 25]], {"action": [0, 1]},
           np.array([[0, 25, 30], [0, -3, 30]], np.int8), [[0, 35, 30]]]),
    ("a", [-1, 2, 3, math.nan]),
    ("r", [2, -1, 0.5, math.nan, np.array([1]), None])])
def test_what_breaks_the_protocol_is_refused(name, values):
    """Candidates X: none, no integers, too few fields, no rows, ids out of range. Choices a of two
    candidates. Rewards r."""
    for value in values:
        given = {"X": ROWS, "a": 0, "r": 0, name: value}
        env = envs.checked(fixed(given["X"], given["r"]))
        with pytest.raises(ValueError, match=" must be .*, got "):
            env.observe()
            env.pull(given["a"])


@given(st.lists(st.integers(-2 ** 63, 2 ** 63 - 1), min_size=1), st.integers(1, 2 ** 63 - 1))
def test_one_look_for_both_ends_finds_what_two_comparisons_find(ids, features):
    assert envs.ids_within(np.array([ids], np.int64), features) == all(
        0 <= i < features for i in ids)


def test_fields_that_share_an_id_are_refused_in_one_request_and_over_several():
    for requests in ([[[0, 25, 30], [25, 26, 34]]], [[[0, 25, 30]], [[1, 26, 25]]]):
        env = fixed(None)
        env.observe = iter(requests).__next__
        env = envs.checked(env)
        with pytest.raises(ValueError, match="^ids must be of one field each, got 25 in several"):
            for _ in requests:
                env.observe()


@pytest.mark.parametrize("X, r, message", [
    ([[0, 1, 2], [0, 35, 30]], [1, 1], r"^rows must .* \(c, J\), .* 0 to 34, got 35 in row 1$"),
    ([[0, -1, 30]], [1], "^rows must be .*, got -1 in row 0$"),
    ([[0.0, 25.0, 30.0]], [1], r"^rows must be .*, got float64 of shape \(1, 3\)$"),
    ([0, 25, 30], [1], r"^rows must be .*, got int\d+ of shape \(3,\)$"),
    (ROWS, [1], r"^rewards must be one for each of 2 rows, got shape \(1,\)$"),
    (ROWS, [0, 2], "^rewards must be 0 or 1, got 2 in row 1$"),
    (ROWS, [math.nan, 1], "^rewards must be 0 or 1, got nan in row 0$")])
def test_a_buffer_that_makes_no_sense_is_refused(X, r, message):
    with pytest.raises(ValueError, match=message):
        envs.checked_buffer(X, r, 35)


@pytest.mark.parametrize("r", [0, 1, True, np.int64(1), np.float32(0)])
def test_whatever_reads_as_ids_or_as_zero_or_one_passes_as_integers(r):
    for rows in (ROWS, np.array(ROWS, np.uint8), np.array(ROWS, np.uint64)):
        env = envs.checked(fixed(rows, r))
        buffer, rewards = envs.checked_buffer(rows, [0, r], 35)
        for X in env.observe(), buffer:
            assert (X.dtype, X.tolist()) == (np.intp, ROWS)
        assert repr(env.pull(1)) == str(int(r))
        assert rewards.tolist() == [0, r]


def test_a_request_reads_like_its_array_of_rows_and_passes_untouched():
    table = np.array([[4, 7], [5, 8], [6, 7], [4, 8], [6, 8]])
    request = envs.Request(np.array([2]), np.array([4, 0]), table)
    assert np.asarray(request).tolist() == [[2, 6, 8], [2, 4, 7]]
    assert request[1].tolist() == [2, 4, 7]
    assert request[..., 1].tolist() == [6, 4]
    env = envs.checked(fixed(request))
    assert env.observe() is request
    assert env.pull(1) == 0
    with pytest.raises(ValueError, match="pull must follow observe, and only once"):
        env.pull(1)
    assert envs.checked(env) is env


# ---------------------------------------------------------------- Scored

class MovesOn:
    """The expected rewards of two candidates, which are swapped when `pull` moves on."""
    fields, features, label = 1, 2, "a shelf"
    y = np.array([1.0, 0.25])

    def observe(self):
        return np.array([[0], [1]])

    def _expected(self, a=slice(None)):
        return self.y[a]

    def pull(self, a):
        r = int(self.y[a] > 0.5)
        self.y = self.y[::-1]
        return r


def scored(env, choices, more=0, **options):
    """With `more` steps planned than are played."""
    books = envs.Scored(env, len(choices) + more, **options)
    for a in choices:
        books.observe()
        books.pull(a)
    return books


@pytest.mark.parametrize("more", [0, 7])
def test_each_kind_of_score_has_its_books_and_its_numbers(more):
    """Choices 1, 1, 0, 0 have the expected rewards 1/4, 1, 1, 1/4, the regrets 3/4, 0, 0, 3/4, and
    the rewards 0, 1, 1, 0, if they are asked for before `pull` moves on."""
    env, choices = MovesOn(), [1, 1, 0, 0]
    books = scored(env, choices, more)
    assert list(books.numbers().items()) == [("regret", 1.5), ("reward", 0.5)]
    assert books.regret[:4].tolist() == [0.75, 0, 0, 0.75]
    assert books.rewards[:4].tolist() == [0, 1, 1, 0]
    env.score = "expected"
    books = scored(env, choices, more)
    assert list(books.numbers().items()) == [("reward", 0.625), ("clicks", 0.5)]
    assert books.expected[:4].tolist() == [0.25, 1, 1, 0.25]
    env.score = "reward"
    assert scored(env, choices, more).numbers() == {"reward": 0.5}
    assert scored(env, [], more=1).numbers() == {"reward": 0.0}      # of a run that failed at once
    env.y, env.score = np.array([1.0, 0.5, 0.5]), "regret"
    with pytest.raises(ValueError, match=r"_expected\(\) must have the shape \(2,\), .*got \(3,\)"):
        scored(env, choices)
    for env.y, env.score, bad in (([math.nan, 0.5], "expected", r"nan \(expected"),
                                  ([-1.0, 0.5], "expected", r"-1.0 \(expected"),
                                  ([20.0, 60.0], "regret", r"40.0 \(regret")):
        env.y = np.array(env.y)
        with pytest.raises(ValueError, match=f"_expected must be probabilities, got {bad}"):
            scored(env, choices).numbers()


@pytest.mark.parametrize("steps, times", [(80, 20), (3, 3)])
def test_rewards_are_scored_without_expected_ones_and_progress_is_told(steps, times):
    told = []
    books = scored(fixed(r=1), [0] * steps, tick=told.append)
    assert books.numbers() == {"reward": 1.0}
    np.testing.assert_allclose(told, np.arange(1, times + 1) / times)


def test_all_else_that_the_environment_has_is_forwarded_also_by_a_copy():
    books = copy.deepcopy(envs.Scored(MovesOn(), 1))
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
    assert (arms.fields, arms.features) == (1, len(y))
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
        for x, u in zip(contexts.integers(0, 5, (1024, 25, 2)), rewards.random(1024)):
            X = np.column_stack([np.arange(25), x + [25, 30]])
            y = 1 / (1 + np.exp(1 - w[X].sum(axis=1)))
            assert (env.observe() == X).all()
            np.testing.assert_allclose(env._expected(), y, rtol=1e-14)
            assert env.pull(4) == (u < y[4])


# ---------------------------------------------------------------- stand-ins for the ads: 5.2

@lru_cache                                                       # making one takes time
def ads(task, scale, drift=1.0):
    return envs.Ads(0, task, scale, drift=drift)


def jump(env, day):
    """Go to the block of requests at this time without serving those before it."""
    env.served, env.i = int(env.steps * day / envs.DAYS), env.block - 1


@pytest.mark.parametrize("name, value", [
    ("task", "C"), ("scale", 0.009), ("scale", 1.1), ("drift", -0.1), ("drift", 10.1),
    ("world", 0.5), ("known_ctr", 0.0), ("known_ctr", 1.0)])
def test_a_world_that_cannot_be_is_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name} must be "):
        envs.Ads(0, **{"scale": 0.02, name: value})


def test_a_world_is_fixed_and_a_seed_draws_its_requests_whatever_is_shown():
    """Over 1500 steps, which cross blocks, two agents with one seed face the same requests. One
    shows the first candidate, the other the last, and one uniform decides both."""
    first, second, other = (envs.Ads(seed, "A", scale=0.02, world=5) for seed in (5, 5, 6))
    assert (first.table == other.table).all() and first._base == other._base
    own = [envs.Ads(seed, "A", scale=0.02) for seed in (5, 6)]           # a world for each seed
    assert (own[0].table == first.table).all() and (own[1].table != first.table).any()
    assert (first.observe().context != other.observe().context).any()
    second.observe()
    for _ in range(1500):
        r, q = first.pull(0), second.pull(len(second.items) - 1)
        y, z = first._expected()[[0, -1]]
        assert r == q or (r > q) == (y > z)
        assert (np.asarray(first.observe()) == np.asarray(second.observe())).all()


@pytest.mark.parametrize("task, steps, n, low, high, context, ad", [
    ("A", 4_500_000, 8_900, 250, 450, 4_200, 12_000),
    ("B", 14_700_000, 6_500, 100, 200, 4_300, 9_400)])
def test_at_scale_one_the_statistics_are_table_2s(task, steps, n, low, high, context, ad):
    env = ads(task, 1.0)
    assert (env.steps, env.features) == (steps, context + ad)
    assert env.table.shape == (n, 12)
    jump(env, 2.5)
    sizes = [len(env.observe()) for _ in range(4000)]
    assert (min(sizes), max(sizes)) == (low, high)
    X = np.asarray(env.observe())
    starts = np.cumsum([0, *env.context_sizes, *env.ad_sizes])            # a range for each field
    assert starts[envs.AD_ID] == context and starts[-1] == context + ad
    assert ((starts[:-1] <= X) & (X < starts[1:])).all()
    assert (X[:, envs.AD_ID] == context + env.items).all()


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
        assert len(set(items)) == len(items)
        seen.update(items)
    assert seen == set(env._live(env.day).nonzero()[0])


@pytest.mark.parametrize("task", "AB")
@pytest.mark.parametrize("scale, hours", [(0.02, 4), (0.1, 21), (1.0, 24)])
def test_shrinking_keeps_what_makes_the_task_as_hard_as_it_is(task, scale, hours):
    """Impressions per ad, five to nine candidates, a random policy's CTR of 0.01, and the best
    candidate `lift` logits above the average one. 2,400 requests over all hours, as those of the
    calibration: both are samples, so within 8 %. The best is the maximum of m numbers that are
    nearly standard normal: within 12 %."""
    env, full, random, gain = ads(task, scale), envs.TABLE_2[task], [], []
    assert env.steps / len(env.table) == pytest.approx(full["steps"] / full["ads"], rel=0.01)
    assert env.low >= 5 and env.high >= env.low + 4
    assert env.context_sizes[0] == hours
    for day in (np.arange(120) + 0.5) / 24:
        jump(env, day)
        for _ in range(20):
            env.observe()
            y = env._expected()
            logit = np.log(y / (1 - y))
            random.append(y.mean())
            gain.append(logit.max() - logit.mean())
    assert np.mean(random) == pytest.approx(0.01, rel=0.08)
    assert np.mean(gain) == pytest.approx(full["lift"], rel=0.12)


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
    return 1 / (1 + math.exp(-(env._base + effect + env._slope * liking)))


@pytest.mark.parametrize("day, drift", [(0.1, 1), (2.5, 1), (4.9, 1), (4.9, 0), (4.9, 2.5)])
def test_a_click_is_as_likely_as_the_formula_says_whatever_was_asked_before(day, drift):
    """In five days tastes turn by an eighth of a circle, times the drift. The answer to a question
    is kept; here one comes twice, or again after the next request."""
    env, everyone = ads("A", 0.1, drift), slice(None)
    jump(env, day)
    for _ in range(20):
        env.observe()
        rates = np.array([click_rate(env, a) for a in range(len(env.items))])
        for a in (1, 1, everyone, 2, everyone, everyone, 0, 1):
            np.testing.assert_allclose(env._expected(a), rates[a], rtol=1e-9)
        u = env._uniform[env.i] = rates[:2].mean()                       # one of the two clicks
        for a in (1, 0, 0, 1):
            assert env.pull(a) == (u < rates[a])


def test_time_stands_still_in_a_block_and_passes_from_the_first_day_to_the_fifth():
    """Block i of 45,000 requests is at its middle, 5 (512 i + 256) / 45,000 days; then 5. A day has
    two hours at this scale, the first ids."""
    env = envs.Ads(0, "A", scale=0.01)
    for i in range(89):
        env.observe()
        assert env.day == pytest.approx(min(5 * (512 * i + 256) / 45_000, 5))
        assert (env.ids[:, 0] == int(env.day % 1 * 2)).all()
        env.i += 511                                                      # the last of the block


@pytest.mark.parametrize("task, portrait", [
    ("A", [-5.60282433808, 1.21138413517, 373.080803776, 1039.4334477, 1416599, 175353, 135161,
           14.4605596259, 5]),
    ("B", [-5.48426610077, 1.09931283934, 238.085707527, 757.549471308, 870154, 80152, 138351,
           7.13435933308, 3])])
def test_the_two_worlds_are_the_ones_that_the_results_are_from(task, portrait):
    """The world, then sums over requests on three days: every constant of the simulator has a part
    in them. Whoever changes them must make all results anew."""
    env, sums = envs.Ads(3, task, scale=0.03, world=0), np.zeros(4)
    for day in (0.2, 2.6, 4.9):
        jump(env, day)
        for _ in range(40):
            request = env.observe()
            sums += [request.items.sum(), request.context.sum(), env._expected().sum(), env.pull(0)]
    world = [env._base, env._slope, env.launch.sum(), env.retire.sum(), env.table.sum()]
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
    with pytest.warns(UserWarning, match="fruit.csv: no taste in 1 of 6 rows, which are left out"):
        values, sizes, labels, classes = envs.read_table(table, "taste", bins=2)
    assert classes == ["bad", "good", "so so"]
    assert labels.tolist() == [1, 0, 1, 0, 2]
    assert values.tolist() == [[3, 1, 2], [1, 0, 2], [3, 2, 1], [2, 2, 1], [0, 1, 2]]
    assert sizes.tolist() == [4, 3, 3]
    assert envs.read_table(table, "ripe")[3] == ["no", "yes"]
    table.write_text(table.read_text().replace("yes", "ja"))                 # read anew
    assert envs.read_table(table, "ripe")[3] == ["ja", "no"]


@pytest.mark.filterwarnings("ignore:.* rows, which are")
@pytest.mark.parametrize("crossed, starts", [(True, [3, 15, 24]), (False, [3, 7, 10])])
@pytest.mark.parametrize("noise", [0.0, 0.4])
def test_a_labelled_table_has_a_candidate_for_each_class(table, crossed, starts, noise):
    """Ids 0, 1, 2 are the classes; then come 4, 3 and 3 values, crossed three times as many, with
    those of the next class after those of one. One uniform a row flips all its rewards, or none."""
    values, sizes, labels, _ = envs.read_table(table, "taste", bins=2)
    env = envs.Labelled(3, table, "taste", crossed, noise, bins=2)
    assert (env.steps, env.fields, env.features) == (5, 4, 33 if crossed else 13)
    order = envs.stream(3, "contexts").permutation(5)
    for i, u in zip(order, envs.stream(3, "rewards").random(5)):
        X = env.observe()
        for a in range(3):
            right = a == labels[i]
            assert X[a].tolist() == [a, *(starts + values[i] + crossed * a * sizes)]
            assert env._expected()[a] == (1 - noise if right else noise)
            assert env.pull(a) == (right != (u < noise))
    with pytest.raises(ValueError, match="^steps must be at most 5"):
        env.observe()


@pytest.mark.filterwarnings("ignore:.* rows, which are")
def test_a_value_that_most_rows_have_leaves_others_their_bins_and_words_a_number_each(tmp_path):
    """Four of eight bins: of 92 zeros and 1 to 8 the mid-ranks are 0.46, then 0.925 to 0.995; if
    most are the largest value it is the other way round. A class may be called None, not NaN."""
    cells = "\n".join(f"{max(i - 91, 0)},{min(i, 8)},{('x', 'None')[i % 2]}" for i in range(100))
    text = f"gain,loss,b\nNaN,N/A,x\n{cells}\nV57,null,x\ninf,?,x\n1,1,NaN\n"
    (tmp_path / "t.csv").write_text(text, encoding="utf-8-sig")
    values, sizes, _, classes = envs.read_table(tmp_path / "t.csv", "b")
    assert classes == ["None", "x"]
    assert sizes.tolist() == [5, 3]
    assert values[[0, -2, -1]].tolist() == [[0, 0], [3, 0], [4, 0]]      # 0: missing
    assert (values[1:-2, 0] == 1 + (np.arange(100) > 91)).all()
    assert (values[1:-2, 1] == 1 + (np.arange(100) >= 8)).all()


@pytest.mark.filterwarnings("ignore:.* rows, which are")
@pytest.mark.parametrize("text, options, message", [
    ("a,b,c,d\n\n1,2,3\n", {}, r"line 3: must have 4 cells, like .*, got 3 \(to column c\)"),
    ("a,a,b\n1,2,x\n", {}, "t.csv: the first line must be a header, .*, got 'a'"),
    ("b\nx\ny\n", {}, "the first line must be a header, two names or more"),
    ("a,b\n1,x\na,b\n", {}, "t.csv, line 3: the header again"),
    ("a,b\n1,x\n2,y\n", {"table": "t.csv"}, "^table must be a pathlib.Path"),
    ("a,b\n", {}, "^table must be "),
    ("a,b\n1,2\n", {"label": "c"}, "^label must be one of the columns"),
    ("a,b\n1,?\n2,?\n", {}, "^label must be .* two classes or more"),
    ('a,b\n1,x\n2,"y\n' + "1,x\n2,y\n" * 9, {}, r"t.csv, in the row after line 2: unexpected end"),
    (",b\n0,x\n1,y\n", {}, "none empty, got ''"),
    ("a,b\n" + "".join(f"x,{i}\n" for i in range(21)), {}, "^label .* not of 21 values in 21 rows"),
    ("a,b\n1,x\n2,y\n", {"noise": 0.51}, "^noise must be "),
    ("a,b\n1,x\n2,y\n", {"bins": 0}, "^bins must be "),
    ("a,b\n1,x\n2,y\n", {"crossed": "no"}, "^crossed must be True or False"),
    ("a,b\n1,x\n2,\xe9\n", {}, "t.csv, line 3, column 2: must be text in UTF-8, got .* 0xe9$"),
    ("", {"table": Path("none.csv")}, "^table must be a file that can be read, got 'none.csv'")])
def test_a_bad_table_or_option_is_told_in_one_line(tmp_path, text, options, message):
    (tmp_path / "t.csv").write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match=message):
        envs.Labelled(0, **{"table": tmp_path / "t.csv", "label": "b", **options})
