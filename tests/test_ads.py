"""The stand-in ad simulators."""
import numpy as np
import pytest

import envs


def jump(env, day):
    """Go to the block of requests at this time without serving those before it."""
    env.served, env.i = int(env.steps * day / envs.DAYS), env.block - 1


@pytest.fixture(scope="module")
def full():
    return {task: envs.Ads(0, task) for task in "AB"}


@pytest.mark.parametrize("task, steps, ads, low, high, context, ad", [
    ("A", 4_500_000, 8_900, 250, 450, 4_200, 12_000), ("B", 14_700_000, 6_500, 100, 200, 4_300, 9_400)])
def test_at_scale_one_the_statistics_are_those_of_table_2(full, task, steps, ads, low, high, context, ad):
    env = full[task]
    assert env.steps == steps and len(env.table) == ads and env.features == context + ad
    assert len(env.context_sizes) == 13 and env.context_sizes.sum() == context and env.table.shape[1] == 12 and env.ad_sizes.sum() == ad
    assert env.context_sizes.min() >= 2 and env.ad_sizes.min() >= 2 and env.ad_sizes[0] == ads
    sizes, contexts = [], set()
    for day in np.linspace(0.1, 4.9, 8):
        jump(env, day)
        for _ in range(500):
            request = env.observe()
            sizes.append(len(request))
            contexts.update(request.context.tolist())
    assert min(sizes) == low and max(sizes) == high and 0.3 * context < len(contexts) <= context
    ids = np.asarray(request)
    assert ids.shape == (len(request), 25) and ids[:, :13].max() < context <= ids[:, 13:].min() and ids.max() < context + ad
    assert (ids[:, envs.AD_ID] == context + request.items).all()


def test_candidates_are_live_ads_without_repetition_and_all_live_ads_come_up(full):
    env, day = full["A"], 2.5
    jump(env, day)
    seen = set()
    for _ in range(500):
        request = env.observe()
        assert len(request) == env.m[env.i] and len(set(request.items.tolist())) == len(request)
        assert (env.launch[request.items] <= env.day).all() and (env.day < env.retire[request.items]).all()
        seen.update(request.items.tolist())
    assert seen == set(env._live(env.day).nonzero()[0].tolist())


def test_ads_are_launched_and_retired_and_every_ad_is_live_at_some_time(full):
    for env in full.values():
        assert (env.retire > 0).all() and (env.launch < envs.DAYS).all() and (env.retire - env.launch >= 0.25).all()
        live = [set(env._live(day).nonzero()[0].tolist()) for day in (0.0, 1.0, 4.9)]
        assert all(len(a) > 2 * env.high for a in live)
        assert 0.2 < len(live[0] & live[1]) / len(live[0]) < 0.9 and len(live[0] & live[2]) < 0.2 * len(live[0])


def test_tastes_drift_and_without_drift_they_do_not():
    """The features' part of the appeal turns by 45 degrees in five days: correlation cos(pi/4) of its old and new values,
    which are independent effects of the same features."""
    env = envs.Ads(0, "A", scale=0.1)
    own = np.sqrt(0.3) * env._own_appeal
    first, last = env._appeal_at(0.0) - own, env._appeal_at(5.0) - own
    np.testing.assert_allclose(last, np.cos(np.pi / 4) * first + np.sin(np.pi / 4) * np.sqrt(0.3) * env._feature_appeal[1], atol=1e-12)
    assert abs(last - first).mean() > 0.1
    still = envs.Ads(0, "A", scale=0.1, drift=0.0)
    np.testing.assert_allclose(still._appeal_at(0.0), still._appeal_at(5.0), atol=1e-12)
    a, b = (still._draw_contexts(np.random.default_rng(0), day, 50) for day in (1.3, 4.3))
    assert (a[0] == b[0]).all() and np.allclose(a[2], b[2])                     # the same hour, the same tastes
    a, b = (env._draw_contexts(np.random.default_rng(0), day, 50) for day in (1.3, 4.3))
    assert (a[0] == b[0]).all() and not np.allclose(a[2], b[2])
    np.testing.assert_allclose(np.linalg.norm(a[2], axis=1), np.linalg.norm(b[2], axis=1))     # turned, not stretched


def test_time_passes_from_the_first_day_to_the_fifth():
    env = envs.Ads(0, "A", scale=0.01)
    days = []
    for _ in range(env.steps):
        env.observe()
        days.append(env.day)
    assert days[0] < 0.1 and days[-1] > 4.9 and (np.diff(days) >= 0).all() and len(set(days)) == -(-env.steps // env.block)
    assert not (env._live(days[0]) == env._live(days[-1])).all()


def test_liking_and_context_effect_have_the_stated_sizes():
    """By hand: appeal 1, taste 0.5, whim 0.2 give 1 + sqrt(0.6) tanh 0.5 + sqrt(0.3) sin 0.6. Variances of the parts of
    random pairs: own appeal 0.3, features' appeal 0.3, the interactions within 0.1 to 0.6; context effects about 0.25."""
    env = envs.Ads(0, "A", scale=0.1)
    assert env._liking(1.0, np.array([0.5, 0.2])) == pytest.approx(1 + 0.6 ** 0.5 * np.tanh(0.5) + 0.3 ** 0.5 * np.sin(0.6), abs=1e-12)
    ids, effect, sides = env._draw_contexts(np.random.default_rng(0), 1.3, 3000)
    items = np.random.default_rng(1).integers(0, len(env.table), 3000)
    assert 0.4 < env._appeal_at(1.3).var() < 0.8 and abs(env._own_appeal.std() - 1) < 0.15
    interaction = env._liking(0.0, np.einsum("id,idk->ik", env._v[items], sides))
    assert 0.1 < interaction.var() < 0.6 and 0.05 < effect.var() < 0.5
    both = np.einsum("id,idk->ik", env._v[items], sides)
    assert (both.std(axis=0) > 0.3).all()                                             # taste and whim both vary


def test_both_kinds_of_hidden_context_vectors_turn_with_the_drift():
    env = envs.Ads(0, "A", scale=0.1)
    early, late = (env._draw_contexts(np.random.default_rng(0), day, 50)[2] for day in (0.3, 4.3))
    for column in (0, 1):                                                             # taste, whim
        a, b = early[:, :, column], late[:, :, column]
        cosine = (a * b).sum(axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
        np.testing.assert_allclose(cosine, np.cos(np.pi / 4 * 4.0 / 5.0), atol=1e-9)


def test_the_mix_of_contexts_follows_the_hour_and_popularity_is_skewed():
    env = envs.Ads(0, "A", scale=0.1)
    share = {}
    for day in (1.0, 1.5):
        ids, _, _ = env._draw_contexts(np.random.default_rng(0), day, 4000)
        assert (ids[:, 0] == int((day % 1) * env.context_sizes[0])).all()
        counts = np.bincount(ids[:, 1] - env.context_starts[1], minlength=env.context_sizes[1])
        share[day] = counts / 4000
        assert np.sort(counts)[-3:].sum() > 0.25 * 4000
    assert abs(share[1.0] - share[1.5]).sum() > 0.5                                  # total variation above a quarter
    values = np.bincount(env.table[:, 1] - env.ad_starts[1])
    assert np.sort(values)[-3:].sum() > 0.25 * len(env.table)                        # of the ads' largest attribute, too


def test_a_world_is_fixed_and_a_seed_draws_requests_and_rewards():
    a, b, c, d = envs.Ads(0, "A", 0.02), envs.Ads(0, "A", 0.02), envs.Ads(1, "A", 0.02), envs.Ads(0, "A", 0.02, world=1)
    assert (a.table == c.table).all() and (a._v == c._v).all() and a._base == c._base and not (a.table == d.table).all()
    same = []
    for t in range(1200):                                                             # crosses blocks; a and b act differently
        x, y, z = a.observe(), b.observe(), c.observe()
        assert (x.context == y.context).all() and (x.items == y.items).all()
        same.append(len(x) == len(z) and (x.items == z.items).all())
        p, q = a._expected()[[0, -1]]
        r, s = a.pull(0), b.pull(len(y) - 1)
        assert r == s or (r > s) == (p > q)                                           # one uniform decides both
        c.pull(0)
    assert np.mean(same) < 0.1


def test_random_policies_get_a_ctr_of_one_per_cent_and_the_oracle_far_more():
    """2,400 requests spread over all hours, as the calibration's; both are samples, so within 8 % of 0.01."""
    for task, scale in (("A", 1.0), ("A", 0.1), ("B", 1.0), ("B", 0.1), ("A", 0.02), ("B", 0.02)):
        env, random, best = envs.Ads(5, task, scale), [], []
        for day in (np.arange(120) + 0.5) / 24:
            jump(env, day)
            for _ in range(20):
                env.observe()
                y = env._expected()
                random.append(y.mean())
                best.append(y.max())
        assert 0.0092 < np.mean(random) < 0.0108 and np.mean(best) > 2.3 * np.mean(random), (task, scale, np.mean(random))


def test_rewards_follow_the_user_model_and_the_scorer_keeps_what_was_promised():
    scored = envs.Scored(envs.Ads(0, "A", 0.02), 20_000)
    for _ in range(20_000):
        scored.observe()
        scored.pull(0)
    expected = scored.expected.sum(dtype=float)
    assert abs(int(scored.rewards.sum(dtype=int)) - expected) < 5 * expected ** 0.5 and 0.003 < expected / 20_000 < 0.03
    assert scored.expected[-1] == np.float32(scored.env._expected()[0])


def test_an_agent_is_handed_ids_of_context_and_ads_only():
    request = envs.Ads(0, "A", 0.02).observe()
    assert set(vars(request)) == {"context", "items", "table"} and all(v.dtype.kind in "iu" for v in vars(request).values())


def test_shrinking_keeps_impressions_per_ad():
    for task in "AB":
        full = envs.TABLE_2[task]["steps"] / envs.TABLE_2[task]["ads"]
        for scale in (0.01, 0.02, 0.1, 0.5):
            env = envs.Ads(0, task, scale)
            assert abs(env.steps / len(env.table) / full - 1) < 0.01 and 2 <= env.low < env.high
            assert env.context_sizes.min() >= 2 and env.ad_sizes.min() >= 2


def test_a_request_reads_like_its_array_of_rows():
    table = np.array([[4, 7], [5, 8], [6, 7], [4, 8], [6, 8]])
    request = envs.Request(np.array([2]), np.array([4, 0]), table)
    assert len(request) == 2
    assert np.asarray(request).tolist() == [[2, 6, 8], [2, 4, 7]]
    assert request[1].tolist() == [2, 4, 7]
    assert request[..., 1].tolist() == [6, 4]


WORLD_A = [-5.60282433808, 1.21138413517, 486, 135000, 6, 36, 22, 267, 29, 17, 373.080803776, 1039.4334477, 1416599, 1335,
           175353, 135161, 14.4605596259, 6, 1.46291245323]
WORLD_B = [-5.48426610077, 1.09931283934, 411, 441000, 6, 37, 23, 195, 28, 15, 238.085707527, 757.549471308, 870154, 826, 80152,
           138351, 7.13435933308, 2, 1.05502618965]


def portrait(task):
    """Numbers in which every constant of the simulator has a part: the world, and its requests on three days."""
    env = envs.Ads(3, task, scale=0.03)
    numbers = [env._base, env._spread, env.features, env.steps, *env.context_sizes[:3], *env.ad_sizes[:3], env.launch.sum(), env.retire.sum(), env.table.sum()]
    for day in (0.2, 2.6, 4.9):
        jump(env, day)
        for _ in range(40):
            request = env.observe()
            numbers += [len(request), request.items.sum(), request.context.sum(), env._expected().sum(), env.pull(len(request) // 2), env._expected(len(request) // 2)]
    return np.array(numbers[:13] + [sum(numbers[13 + i::6]) for i in range(6)], float)


@pytest.mark.parametrize("task, world", [("A", WORLD_A), ("B", WORLD_B)])
def test_the_two_worlds_are_the_ones_that_the_results_are_from(task, world):
    """One fixed world for A and one for B: whoever changes it must make all results anew, and these numbers."""
    assert portrait(task) == pytest.approx(world, rel=1e-9)
