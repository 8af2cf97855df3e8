"""The stand-in ad simulators and run_ads.py."""
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import envs
import guideboot as gb
import report
import run_ads
import run_synthetic

ROOT = Path(run_ads.__file__).parent


def jump(env, day):
    """Go to the block of requests at this time without serving those before it."""
    env.done, env.i = int(env.steps * day / envs.DAYS), env.block - 1


@pytest.fixture(scope="module")
def full():
    return {task: envs.Ads(task, 0) for task in "AB"}


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
    env = envs.Ads("A", 0, scale=0.1)
    own = np.sqrt(0.3) * env._own_appeal
    first, last = env._appeal_at(0.0) - own, env._appeal_at(5.0) - own
    np.testing.assert_allclose(last, np.cos(np.pi / 4) * first + np.sin(np.pi / 4) * np.sqrt(0.3) * env._feature_appeal[1], atol=1e-12)
    assert abs(last - first).mean() > 0.1
    still = envs.Ads("A", 0, scale=0.1, drift=0.0)
    np.testing.assert_allclose(still._appeal_at(0.0), still._appeal_at(5.0), atol=1e-12)
    a, b = (still._draw_contexts(np.random.default_rng(0), day, 50) for day in (1.3, 4.3))
    assert (a[0][0] == b[0][0]).all() and np.allclose(a[1], b[1])                     # the same hour, the same tastes
    a, b = (env._draw_contexts(np.random.default_rng(0), day, 50) for day in (1.3, 4.3))
    assert (a[0][0] == b[0][0]).all() and not np.allclose(a[1], b[1])
    np.testing.assert_allclose(np.linalg.norm(a[1], axis=1), np.linalg.norm(b[1], axis=1))     # turned, not stretched


def test_time_passes_from_the_first_day_to_the_fifth():
    env = envs.Ads("A", 0, scale=0.01)
    days = []
    for _ in range(env.steps):
        env.observe()
        days.append(env.day)
    assert days[0] < 0.1 and days[-1] > 4.9 and (np.diff(days) >= 0).all() and len(set(days)) == -(-env.steps // env.block)
    assert not (env._live(days[0]) == env._live(days[-1])).all()


def test_liking_and_context_effect_have_the_stated_sizes():
    """By hand: appeal 1, taste 0.5, whim 0.2 give 1 + sqrt(0.6) tanh 0.5 + sqrt(0.3) sin 0.6. Variances of the parts of
    random pairs: own appeal 0.3, features' appeal 0.3, the interactions within 0.1 to 0.6; context effects about 0.25."""
    env = envs.Ads("A", 0, scale=0.1)
    assert env._liking(1.0, np.array([0.5, 0.2])) == pytest.approx(1 + 0.6 ** 0.5 * np.tanh(0.5) + 0.3 ** 0.5 * np.sin(0.6), abs=1e-12)
    (ids, effect), sides = env._draw_contexts(np.random.default_rng(0), 1.3, 3000)
    items = np.random.default_rng(1).integers(0, len(env.table), 3000)
    assert 0.4 < env._appeal_at(1.3).var() < 0.8 and abs(env._own_appeal.std() - 1) < 0.15
    interaction = env._liking(0.0, np.einsum("id,idk->ik", env._v[items], sides))
    assert 0.1 < interaction.var() < 0.6 and 0.05 < effect.var() < 0.5
    both = np.einsum("id,idk->ik", env._v[items], sides)
    assert (both.std(axis=0) > 0.3).all()                                             # taste and whim both vary


def test_both_kinds_of_hidden_context_vectors_turn_with_the_drift():
    env = envs.Ads("A", 0, scale=0.1)
    early, late = (env._draw_contexts(np.random.default_rng(0), day, 50)[1] for day in (0.3, 4.3))
    for column in (0, 1):                                                             # taste, whim
        a, b = early[:, :, column], late[:, :, column]
        cosine = (a * b).sum(axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
        np.testing.assert_allclose(cosine, np.cos(np.pi / 4 * 4.0 / 5.0), atol=1e-9)


def test_the_mix_of_contexts_follows_the_hour_and_popularity_is_skewed():
    env = envs.Ads("A", 0, scale=0.1)
    share = {}
    for day in (1.0, 1.5):
        (ids, _), _ = env._draw_contexts(np.random.default_rng(0), day, 4000)
        assert (ids[:, 0] == int((day % 1) * env.context_sizes[0])).all()
        counts = np.bincount(ids[:, 1] - env.context_starts[1], minlength=env.context_sizes[1])
        share[day] = counts / 4000
        assert np.sort(counts)[-3:].sum() > 0.25 * 4000
    assert abs(share[1.0] - share[1.5]).sum() > 0.5                                  # total variation above a quarter
    values = np.bincount(env.table[:, 1] - env.ad_starts[1])
    assert np.sort(values)[-3:].sum() > 0.25 * len(env.table)                        # of the ads' largest attribute, too


def test_a_world_is_fixed_and_a_seed_draws_requests_and_rewards():
    a, b, c, d = envs.Ads("A", 0, 0.02), envs.Ads("A", 0, 0.02), envs.Ads("A", 1, 0.02), envs.Ads("A", 0, 0.02, world=1)
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
        env, random, best = envs.Ads(task, 5, scale), [], []
        for day in (np.arange(120) + 0.5) / 24:
            jump(env, day)
            for _ in range(20):
                env.observe()
                y = env._expected()
                random.append(y.mean())
                best.append(y.max())
        assert 0.0092 < np.mean(random) < 0.0108 and np.mean(best) > 2.3 * np.mean(random), (task, scale, np.mean(random))


def test_rewards_follow_the_user_model_and_the_scorer_keeps_what_was_promised():
    scored = envs.Scored(envs.Ads("A", 0, 0.02), 20_000, regret=False)
    for _ in range(20_000):
        scored.observe()
        scored.pull(0)
    expected = scored.promised.sum(dtype=float)
    assert abs(int(scored.rewards.sum(dtype=int)) - expected) < 5 * expected ** 0.5 and 0.003 < expected / 20_000 < 0.03
    assert scored.promised[-1] == np.float32(scored.env._expected()[0])


def test_an_agent_is_handed_ids_of_context_and_ads_only():
    request = envs.Ads("A", 0, 0.02).observe()
    assert set(vars(request)) == {"context", "items", "table"} and all(v.dtype.kind in "iu" for v in vars(request).values())


def test_shrinking_keeps_impressions_per_ad():
    for task in "AB":
        full = envs.TABLE_2[task]["steps"] / envs.TABLE_2[task]["ads"]
        for scale in (0.01, 0.02, 0.1, 0.5):
            env = envs.Ads(task, 0, scale)
            assert abs(env.steps / len(env.table) / full - 1) < 0.01 and 2 <= env.low < env.high
            assert env.context_sizes.min() >= 2 and env.ad_sizes.min() >= 2


def test_a_request_reads_like_its_array_of_rows():
    table = np.array([[4, 7], [5, 8], [6, 7], [4, 8], [6, 8]])
    request = envs.Request(np.array([2]), np.array([4, 0]), table)
    assert len(request) == 2
    assert np.asarray(request).tolist() == [[2, 6, 8], [2, 4, 7]]
    assert request[1].tolist() == [2, 4, 7]
    assert request[..., 1].tolist() == [6, 4]


# ---------------------------------------------------------------- run_ads.py

def row(name, seed=0, **kw):
    return run_ads.run((name, seed, {**run_ads.DEFAULTS, "task": "A", "scale": 0.01, "steps": 200, "buffer": 32, **kw}))


@pytest.mark.parametrize("name", run_ads.ORDER)
def test_every_row_runs_and_gives_sensible_numbers(name):
    values = row(name)
    assert len(values) == 2 and 0.001 < values[0] < 0.1 and (values[1] * 200) % 1 == pytest.approx(0, abs=1e-9)
    assert values == row(name) and values != row(name, seed=1)


def test_options_of_the_ads_change_what_they_say():
    for name, used, unused in (("online: Online GuideBoot", dict(alpha=5.0), dict(epsilon=0.5)), ("replay: Giro", dict(giro_alpha=1.0), dict(alpha=5.0)),
                               ("online: Deep-UCB1", dict(ucb_strength=9.0), dict(models=2)), ("online: MC-Dropout", dict(dropout=0.6), dict(alpha=5.0)),
                               ("replay: Deep-TS-Beta", dict(shaping=9.0), dict(ucb_strength=9.0)), ("online: OBB", dict(models=2), dict(shaping=9.0)),
                               ("replay: e-greedy", dict(epsilon=0.9), dict(dropout=0.6)), ("online: OBB", dict(minibatches=2), dict(giro_alpha=1.0)),
                               ("replay: Bootstrap", dict(learning_rate=0.1), dict(dropout=0.6)), ("online: OBB", dict(model="logistic"), dict(dropout=0.6)),
                               ("replay: GuideBoot", dict(world=3), dict(epsilon=0.9)), ("replay: GuideBoot", dict(buffer=9000), dict(shaping=1.0))):
        assert row(name) != row(name, **used), (name, used)
        assert row(name) == row(name, **unused), (name, unused)
    assert row("replay: e-greedy") != row("replay: e-greedy (decay)") and row("online: OBB") != row("online: Online GuideBoot")
    assert row("yardstick: Oracle")[0] > row("yardstick: Best ranking")[0] > row("yardstick: Random")[0]


def built(monkeypatch, name, **kw):
    """The agent and the loop's sizes that a row makes."""
    calls = []
    monkeypatch.setattr(run_ads, "replay", lambda agent, env, steps, b, every, updates: calls.append((agent, (every, b, updates))))
    monkeypatch.setattr(run_ads, "online", lambda agent, env, steps, c, n: calls.append((agent, (c, n))))
    with np.errstate(invalid="ignore"):
        row(name, **kw)
    return calls[0]


@pytest.mark.parametrize("scale, c, b, n", [(1.0, 512, 128, 4), (0.4, 205, 52, 4), (0.02, 128, 32, 4)])
def test_learning_sizes_follow_the_scale(scale, c, b, n):
    """Always n mini-batches: in one alone the order of the rows would not matter, and Algorithm 3's shuffle do nothing."""
    assert run_ads.learning_sizes(dict(run_ads.DEFAULTS, scale=scale)) == (c, b, n)
    assert run_ads.learning_sizes(dict(run_ads.DEFAULTS, scale=scale, buffer=10, minibatches=5)) == (10, 2, 5)


def test_replay_learns_from_as_many_rows_as_are_served_or_from_so_many_passes(monkeypatch):
    for passes in (1, 3):
        _, (c, b, updates) = built(monkeypatch, "replay: Bootstrap", passes=passes)
        assert b * updates == passes * c


def test_the_agents_are_those_of_section_5_2(monkeypatch):
    for name in ("replay: GuideBoot", "online: Online GuideBoot", "replay: Deep-UCB1", "online: Deep-TS-Beta"):
        agent, sizes = built(monkeypatch, name)
        assert type(agent.density) is gb.AdCount and agent.density.field == envs.AD_ID and len(agent.density.count) == agent.bag.features
        assert sizes == ((32, 8, 4) if name.startswith("replay") else (32, 4))
        assert agent.bag.K == (5 if "GuideBoot" in name else 1) and agent.bag.dropout == 0
        first, *others = agent.bag.dense
        assert not any((first == other).any() and first.std() == other.std() for other in others)
    assert built(monkeypatch, "replay: Deep-UCB1")[0].strength == 0.1 and built(monkeypatch, "replay: Deep-TS-Beta")[0].shaping == 0.25
    assert built(monkeypatch, "replay: Giro")[0].alpha == 0.01 and built(monkeypatch, "online: MC-Dropout")[0].bag.dropout == 0.1
    decay = built(monkeypatch, "online: e-greedy (decay)")[0]
    assert decay.decay == 200 and decay.epsilon == 0.1 and decay.bag.K == 1 and built(monkeypatch, "online: e-greedy")[0].decay is None


def test_count_based_methods_count_what_they_show(monkeypatch):
    for name, loop in (("Deep-UCB1", "online"), ("Deep-TS-Beta", "replay"), ("GuideBoot", "replay")):
        agents = []
        inner = getattr(gb, loop)
        monkeypatch.setattr(run_ads, loop, lambda agent, *args, inner=inner, **kw: (agents.append(agent), inner(agent, *args, **kw)))
        row(f"{loop}: {name}")
        assert agents[0].density.count.sum() == 200


def test_drift_reaches_the_simulator():
    assert row("yardstick: Oracle", steps=3000) != row("yardstick: Oracle", steps=3000, drift=0.0)


def test_the_fingerprint_covers_all_code_that_makes_numbers(tmp_path, monkeypatch, capsys):
    """Each of the five files, changed, changes the header's code."""
    seen = []
    monkeypatch.setattr(report, "fingerprint", lambda *modules: seen.append({Path(m).name for m in modules}) or "x")
    run_ads.main(["--scale", "0.01", "--steps", "40", "--runs", "1", "--methods", "e-greedy", "--out", str(tmp_path)])
    run_synthetic.main(["--steps", "40", "--runs", "1", "--methods", "Random", "--out", str(tmp_path)])
    shared = {"guideboot.py", "baselines.py", "envs.py", "nn.py"}
    assert seen == [shared | {"run_ads.py"}, shared | {"run_synthetic.py"}]


def test_a_box_shows_the_quartiles_and_dots_of_its_values(tmp_path):
    """Values 1 to 5 on an axis that begins at 1 and ends at 5: the box from 2 to 4, the median at 3, by proportion."""
    report.box_chart(tmp_path / "b.svg", "t", "x", [("P", {"m": [5.0, 1.0, 2.0, 3.0, 4.0]})])
    svg = "{http://www.w3.org/2000/svg}"
    tree = ET.parse(tmp_path / "b.svg")
    dots = sorted(float(c.get("cx")) for c in tree.iter(svg + "circle"))
    box = [r for r in tree.iter(svg + "rect") if r.get("fill") == "#eeeeee"][0]
    assert dots[0] == pytest.approx(132) and len(dots) == 5 and np.diff(dots) == pytest.approx(np.full(4, np.diff(dots)[0]), abs=0.11)
    assert float(box.get("x")) == pytest.approx(dots[1], abs=0.11) and float(box.get("width")) == pytest.approx(dots[3] - dots[1], abs=0.11)
    median = [p for p in tree.iter(svg + "path") if p.get("stroke-width") == "2.5"][0].get("d")
    assert float(median[1:].split()[0]) == pytest.approx(dots[2], abs=0.11)
    report.box_chart(tmp_path / "b.svg", "t", "x", [("P", {"m": [1.0, 2.0]})])
    assert not [r for r in ET.parse(tmp_path / "b.svg").iter(svg + "rect") if r.get("fill") == "#eeeeee"]


def test_tables_in_the_papers_layout_and_the_figure(tmp_path, capsys):
    run_ads.main(["--scale", "0.01", "--steps", "64", "--runs", "2", "--methods", "guideboot,obb,online-guideboot,e-greedy", "--out", str(tmp_path)])
    text = capsys.readouterr().out
    _, columns, rows = report.read_results(tmp_path / "ads_A.csv")
    assert {m for m, _ in rows} == {"replay: GuideBoot", "replay: e-greedy", "online: e-greedy", "online: OBB", "online: Online GuideBoot"}
    assert "Oracle" not in text
    replay, online = text.split("Table 3")[1].split("Table 4")
    values = [rows["replay: GuideBoot", s][0] for s in (0, 1)]
    line = re.search(r"^GuideBoot .*$", replay, re.M).group()
    assert f"{np.mean(values):.4f}" in line and f"({np.std(values, ddof=1):.4f})" in line and "0.0280  (0.0006)" in line
    assert "0.0317  (0.0004)" in re.search(r"^Online GuideBoot .*$", online, re.M).group() and "not public" in text
    svg = ET.parse(tmp_path / "ads_A.svg")
    assert len(list(svg.iter("{http://www.w3.org/2000/svg}circle"))) == 10            # five rows, two runs each
    words = " ".join(t.text for t in svg.iter("{http://www.w3.org/2000/svg}text"))
    assert all(word in words for word in ("Experience Replay", "Online GuideBoot", "OBB", "stand-in"))


def test_yardsticks_join_when_no_methods_are_named_for_two_runs_at_most(tmp_path, capsys):
    run_ads.main(["--scale", "0.01", "--steps", "20", "--runs", "3", "--setting", "online", "--out", str(tmp_path)])
    _, _, rows = report.read_results(tmp_path / "ads_A.csv")
    assert sorted(seed for row, seed in rows if row == "yardstick: Oracle") == [0, 1] and len(rows) == 3 * 7 + 2 * 3
    assert "Oracle the best for this context" in capsys.readouterr().out


def test_the_papers_figures_are_those_of_tables_3_and_4():
    """Sums over the columns, added by hand from the paper's tables."""
    sums = {(s, i): round(sum(v[i][0] for v in run_ads.PAPER[s].values()), 4) for s in run_ads.PAPER for i in (0, 1)}
    assert sums == {("replay", 0): 0.2030, ("replay", 1): 0.1852, ("online", 0): 0.2036, ("online", 1): 0.1808}
    assert len(run_ads.PAPER["replay"]) == 8 and len(run_ads.PAPER["online"]) == 7


@pytest.mark.parametrize("arguments, message", [
    (("--task", "C"), "argument --task: invalid choice: 'C'"), (("--scale", "2"), "argument --scale: must be a number, 0.01 to 1, got '2'"),
    (("--scale", "0"), "argument --scale: must be a number, 0.01 to 1, got '0'"), (("--epsilon", "1.5"), "argument --epsilon: must be a number, 0 to 1"),
    (("--methods", "glm-ucb"), "argument --methods: must be some of e-greedy, .*; got glm-ucb"), (("--alpha", "-1"), "argument --alpha: .*got '-1'"),
    (("--methods", "obb", "--setting", "replay"), "argument --methods: must be in the replay table .e-greedy, .*GuideBoot., got OBB"),
    (("--model", "logistic", "--methods", "mc-dropout"), "argument --methods: MC-Dropout needs --model mlp, got logistic"),
    (("--minibatches", "129"), r"argument --minibatches: must be at most c \(--buffer\), 128, got 129"),
    (("--out", "{file}/x"), "argument --out: must be a folder"), (("--runs", "0"), "argument --runs: .*got '0'"),
])
def test_bad_input_gets_one_line_and_exit_code_2(tmp_path, capsys, arguments, message):
    file = tmp_path / "ads_A.csv"
    file.write_text("precious")
    with pytest.raises(SystemExit) as end:
        run_ads.main(["--out", str(tmp_path), *(a.format(file=file) for a in arguments)])
    error = capsys.readouterr().err
    assert end.value.code == 2 and error.count("\n") == 1 and re.search(message, error), error
    assert file.read_text() == "precious" and len(list(tmp_path.iterdir())) == 1


def test_help_and_defaults_of_the_ads():
    text = subprocess.run([sys.executable, ROOT / "run_ads.py", "--help"], capture_output=True, text=True).stdout
    for option in "task setting scale world runs methods seed workers out learning-rate alpha models".split():
        assert re.search(rf"--{option}\b", text), option
    source = (ROOT / "run_ads.py").read_text()
    table = source[source.index("DEFAULTS = dict("):source.index("\n)\n")].splitlines()[1:]
    assert len(table) == len(run_ads.DEFAULTS) and all(re.search(r"# (ours|paper) ", line) for line in table)


WORLD_A = [-5.60282433808, 1.21138413517, 486, 135000, 6, 36, 22, 267, 29, 17, 373.080803776, 1039.4334477, 1416599, 1335,
           175353, 135161, 14.4605596259, 6, 1.46291245323]
WORLD_B = [-5.48426610077, 1.09931283934, 411, 441000, 6, 37, 23, 195, 28, 15, 238.085707527, 757.549471308, 870154, 826, 80152,
           138351, 7.13435933308, 2, 1.05502618965]


def portrait(task):
    """Numbers in which every constant of the simulator has a part: the world, and its requests on three days."""
    env = envs.Ads(task, 3, scale=0.03)
    numbers = [env._base, env._spread, env.features, env.steps, *env.context_sizes[:3], *env.ad_sizes[:3], env.launch.sum(), env.retire.sum(), env.table.sum()]
    for day in (0.2, 2.6, 4.9):
        jump(env, day)
        for _ in range(40):
            request = env.observe()
            numbers += [len(request), request.items.sum(), request.context.sum(), env._expected().sum(), env.pull(len(request) // 2), env._shown]
    return np.array(numbers[:13] + [sum(numbers[13 + i::6]) for i in range(6)], float)


@pytest.mark.parametrize("task, world", [("A", WORLD_A), ("B", WORLD_B)])
def test_the_two_worlds_are_the_ones_that_the_results_are_from(task, world):
    """One fixed world for A and one for B: whoever changes it must make all results anew, and these numbers."""
    assert portrait(task) == pytest.approx(world, rel=1e-9)
