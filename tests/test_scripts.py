"""The three run scripts: what their methods are made of, what they print, what they refuse."""
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import envs
import guideboot as gb
import run_ads
import run_arms
import run_synthetic
from lab import charts, store, tables
from lab.command import parameters
from lab.paper import PAPER

ROOT = Path(run_synthetic.__file__).parent
TINY_ADS = partial(envs.Ads, scale=0.01)


def run(method, task=envs.Synthetic, steps=60, seed=0, **options):
    """The numbers of one run."""
    return store.make(partial(method, **options), task, steps, seed, {}, {})["numbers"]


def constants(module):
    """The defaults of a script, by name."""
    return {name: value for name, value in vars(module).items()
            if name.isupper() and isinstance(value, (int, float)) and name != "AD_ID"}


# ---------------------------------------------------------------- the methods

@pytest.mark.parametrize("module, usual", [
    (run_synthetic, dict(alpha=1.0, models=5, epsilon=0.1, giro_alpha=0.5, ucb_strength=1.0)),
    (run_ads, dict(models=5, buffer=512, epsilon=0.1, giro_alpha=0.01, ucb_strength=0.1, shaping=0.25,
                   dropout=0.1))])
def test_the_papers_values_are_the_defaults_and_every_constant_is_marked(module, usual):
    for row, method in module.METHODS.items():
        for name, parameter in parameters(method).items():
            assert parameter.default == usual.get(name, parameter.default), (row, name)
    source = Path(module.__file__).read_text()
    for name in constants(module):
        assert re.search(rf"^{name} = .*# (ours|paper) ", source, re.M), name


@pytest.mark.parametrize("method, used", [
    ("GuideBoot", dict(alpha=9.0)), ("GuideBoot", dict(models=2)), ("GuideBoot", dict(batch=3)),
    ("GuideBoot", dict(density=gb.AdCount)), ("Bootstrap", dict(learning_rate=0.5)),
    ("OBB", dict(buffer=7)), ("OBB", dict(minibatches=1)), ("OBB", dict(models=2)),
    ("Online GuideBoot", dict(alpha=9.0)), ("Online GuideBoot", dict(buffer=7)),
    ("Giro", dict(giro_alpha=1.0)), ("e-greedy", dict(epsilon=0.9)), ("GLM-UCB", dict(ucb_strength=0.0)),
    ("TS-BLR", dict(precision=9.0)), ("e-greedy (decay)", dict(epsilon=0.9))])
def test_an_option_of_the_synthetic_methods_changes_what_they_do(method, used):
    base = {}
    if "learning_rate" in parameters(run_synthetic.METHODS[method]):
        base = {"learning_rate": 0.02}
    assert run(run_synthetic.METHODS[method], **base) != run(run_synthetic.METHODS[method], **{**base, **used})


@pytest.mark.parametrize("row, used", [
    (("online", "Online GuideBoot"), dict(alpha=5.0)), (("replay", "Giro"), dict(giro_alpha=1.0)),
    (("online", "Deep-UCB1"), dict(ucb_strength=9.0)), (("online", "MC-Dropout"), dict(dropout=0.6)),
    (("replay", "Deep-TS-Beta"), dict(shaping=9.0)), (("online", "OBB"), dict(models=2)),
    (("replay", "e-greedy"), dict(epsilon=0.9)), (("online", "OBB"), dict(minibatches=2)),
    (("replay", "Bootstrap"), dict(learning_rate=0.1)), (("replay", "GuideBoot"), dict(buffer=9))])
def test_an_option_of_the_ads_methods_changes_what_they_do(row, used):
    usual = {"buffer": 32}
    method = run_ads.METHODS[row]
    assert run(method, TINY_ADS, 200, **usual) != run(method, TINY_ADS, 200, **{**usual, **used})


@pytest.mark.parametrize("row", run_ads.METHODS, ids=tables.label)
def test_every_row_of_the_ads_runs_gives_sensible_numbers_and_gives_them_again(row):
    numbers = run(run_ads.METHODS[row], TINY_ADS, 200)
    assert 0.001 < numbers["reward"] < 0.1 and (numbers["clicks"] * 200) % 1 == pytest.approx(0, abs=1e-9)
    assert numbers == run(run_ads.METHODS[row], TINY_ADS, 200)
    assert numbers != run(run_ads.METHODS[row], TINY_ADS, 200, seed=1)


def test_the_oracle_is_far_above_random():
    assert run(run_ads.oracle, TINY_ADS, 1000)["reward"] > 2 * run(run_ads.random, TINY_ADS, 1000)["reward"]


def built(monkeypatch, module, method, task, **options):
    """The agent that a method builds, and the sizes that it gives to its loop."""
    calls = []

    def replay(agent, env, steps, b, every=1, updates=1):
        calls.append((agent, (every, b, updates)))

    def online(agent, env, steps, c, n=1):
        calls.append((agent, (c, n)))
    monkeypatch.setattr(module, "replay", replay)
    monkeypatch.setattr(module, "online", online)
    method(envs.Scored(task(0), 60), 60, 0, **options)
    return calls[0]


def test_the_methods_of_section_5_1_are_made_of_what_it_says(monkeypatch):
    def made(name):
        return built(monkeypatch, run_synthetic, run_synthetic.METHODS[name], envs.Synthetic)
    for name, sizes in (("GuideBoot", (1, 256, 1)), ("Online GuideBoot", (32, 4))):
        agent, got = made(name)
        assert type(agent.density) is gb.FastHarmonic and agent.alpha == 1.0 and agent.bag.K == 5
        assert len(np.unique(agent.bag.theta)) == agent.bag.theta.size and got == sizes
    assert made("e-greedy")[0].decay is None and made("e-greedy (decay)")[0].decay == 60
    assert made("e-greedy")[0].epsilon == 0.1 and made("e-greedy")[0].bag.K == 1
    assert made("Giro")[0].alpha == 0.5 and type(made("Bootstrap")[0]) is gb.Agent
    for name in ("GLM-UCB", "TS-BLR", "Random"):
        assert made(name)[1][0] == 1


def test_the_methods_of_section_5_2_are_made_of_what_it_says(monkeypatch):
    def made(*row):
        return built(monkeypatch, run_ads, run_ads.METHODS[row], TINY_ADS)
    for setting, name in (("replay", "GuideBoot"), ("online", "Online GuideBoot"),
                          ("replay", "Deep-UCB1"), ("online", "Deep-TS-Beta")):
        agent, sizes = made(setting, name)
        assert type(agent.density) is gb.AdCount and agent.density.field == envs.AD_ID
        assert len(agent.density.count) == agent.bag.features and agent.bag.dropout == 0
        assert sizes == ((128, 32, 4) if setting == "replay" else (128, 4))
        assert agent.bag.K == (5 if "GuideBoot" in name else 1)
    assert made("replay", "Deep-UCB1")[0].strength == 0.1 and made("replay", "Deep-TS-Beta")[0].shaping == 0.25
    assert made("replay", "Giro")[0].alpha == 0.01 and made("online", "MC-Dropout")[0].bag.dropout == 0.1
    decay = made("online", "e-greedy (decay)")[0]
    assert decay.decay == 60 and decay.epsilon == 0.1 and decay.bag.K == 1


@pytest.mark.parametrize("scale, c", [(1.0, 512), (0.4, 205), (0.02, 128)])
def test_the_buffer_of_the_ads_follows_the_scale(scale, c):
    assert run_ads.buffer_size(512, scale) == c and run_ads.buffer_size(10, scale) == 10


def test_the_papers_numbers_are_those_of_tables_3_and_4():
    """Sums over the columns, added by hand from the paper's tables."""
    for setting, rows, sums in (("replay", 8, (0.2030, 0.1852)), ("online", 7, (0.2036, 0.1808))):
        found = [values for (s, _), values in PAPER.items() if s == setting]
        assert len(found) == rows
        assert tuple(round(sum(v[i][0] for v in found), 4) for i in (0, 1)) == sums
    assert set(PAPER) == {row for row in run_ads.METHODS if row[0] != "yardstick"}


# ---------------------------------------------------------------- the commands

def test_the_synthetic_script_prints_ten_rows_sorted_by_regret_and_draws_them(tmp_path, capsys):
    run_synthetic.main(["--runs", "5", "--steps", "60", "--out", str(tmp_path)])
    text = capsys.readouterr().out
    results = tables.read_csv(tmp_path / "synthetic.csv")
    lines = text.split("runs\n")[-1].splitlines()[1:11]
    means = [float(re.search(r"  +([\d.]+) \+- ", line).group(1)) for line in lines]
    assert means == sorted(means) and len(results.records) == 10
    regret = results.values()
    difference = np.array([regret["OBB"][s] - regret["GuideBoot"][s] for s in range(5)])
    half = 2.7764 * difference.std(ddof=1) / 5 ** 0.5            # t(4) at 97.5 %
    line, = [line for line in lines if line.startswith("OBB ")]
    assert f"{difference.mean():+.1f} +- {half:.1f}" in line
    drawn = ET.parse(tmp_path / "synthetic.svg")
    words = [t.text for t in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert all(name in words for name in run_synthetic.METHODS)


def test_with_few_runs_no_interval_is_shown(tmp_path, capsys):
    run_synthetic.main(["--runs", "4", "--steps", "5", "--methods", "random,obb", "--out", str(tmp_path)])
    text = capsys.readouterr().out
    assert "+-" not in text.split("Method")[1] and "5 runs or more" in text


def test_the_ads_script_prints_the_papers_tables(tmp_path, capsys):
    run_ads.main(["--scale", "0.01", "--steps", "64", "--runs", "2", "--methods",
                  "guideboot,obb,online-guideboot,e-greedy", "--out", str(tmp_path)])
    text = capsys.readouterr().out
    results = tables.read_csv(tmp_path / "ads_A.csv")
    assert list(results.records) == [("replay", "e-greedy"), ("replay", "GuideBoot"), ("online", "e-greedy"),
                                     ("online", "OBB"), ("online", "Online GuideBoot")]
    replay, online = text.split("Table 3")[1].split("Table 4")
    values = list(results.values()["replay", "GuideBoot"].values())
    line = re.search(r"^GuideBoot .*$", replay, re.M).group()
    assert f"{np.mean(values):.4f}  ({np.std(values, ddof=1):.4f})" in line and "0.0280  (0.0006)" in line
    assert "0.0317  (0.0004)" in re.search(r"^Online GuideBoot .*$", online, re.M).group()
    assert "not public" in text and "Oracle" not in text
    assert (tmp_path / "ads_A.csv").read_text().startswith("method,seed,setting,reward,clicks")


def test_yardsticks_join_when_no_methods_are_named(tmp_path):
    run_ads.main(["--scale", "0.01", "--steps", "20", "--runs", "1", "--setting", "online", "--out",
                  str(tmp_path)])
    rows = list(tables.read_csv(tmp_path / "ads_A.csv").records)
    assert rows[-2:] == [("yardstick", "Random"), ("yardstick", "Oracle")] and len(rows) == 9


@pytest.mark.parametrize("script, arguments, message", [
    (run_synthetic, ("--methods", "linucb"), "argument --methods: must be some of GuideBoot, .*; got linucb"),
    (run_synthetic, ("--alpha", "0"), "GuideBoot: alpha must be a finite number above 0, got 0.0"),
    (run_synthetic, ("--alpha", "nan"), "alpha must be .*got nan"),
    (run_synthetic, ("--buffer", "3"), "n must be at most c, 3, got 4"),
    (run_synthetic, ("--steps", "1e4"), "argument --steps: must be a whole number, got '1e4'"),
    (run_synthetic, ("--steps", "0"), "steps must be a whole number, 1 or more, got 0"),
    (run_synthetic, ("--workers", "0"), "workers must be .*got 0"),
    (run_ads, ("--scale", "2"), "scale must be 0.01 to 1, got 2.0"),
    (run_ads, ("--epsilon", "1.5"), "epsilon must be 0 to 1, got 1.5"),
    (run_ads, ("--methods", "obb", "--setting", "replay"), "argument --methods: none of obb is in the replay"),
    (run_ads, ("--steps", "999999999"), "steps must be at most 90,000"),
])
def test_what_was_typed_wrong_is_one_line_and_exit_code_2(tmp_path, capsys, script, arguments, message):
    with pytest.raises(SystemExit) as end:
        script.main(["--out", str(tmp_path), *arguments])
    errors = capsys.readouterr().err
    assert end.value.code == 2 and errors.count("\n") == 1 and re.search(message, errors), errors
    assert not list(tmp_path.glob("*.csv"))


@pytest.mark.parametrize("script", ["run_synthetic", "run_ads"])
def test_help_says_of_every_option_what_it_is_its_default_and_whether_it_is_tuned(script):
    done = subprocess.run([sys.executable, ROOT / f"{script}.py", "--help"], capture_output=True, text=True)
    text = " ".join(done.stdout.split())
    for option in sys.modules[script].OPTIONS:
        assert re.search(rf"--{option.replace('_', '-')} [NX] .*?\(default.*?tuned", text), option


# ---------------------------------------------------------------- run_arms.py

def test_the_example_needs_no_machine_room(tmp_path):
    for name in ("run_arms", "guideboot", "nn", "envs", "baselines"):
        (tmp_path / f"{name}.py").write_bytes((ROOT / f"{name}.py").read_bytes())
    done = subprocess.run([sys.executable, "run_arms.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "0.2577" in done.stdout, done.stderr


def test_the_arms_are_compared_with_giro_too(tmp_path, capsys):
    run_arms.main(["--compare", "--runs", "2", "--steps", "100", "--out", str(tmp_path)])
    assert list(tables.read_csv(tmp_path / "arms.csv").records) == [
        "GuideBoot", "Thompson (Beta)", "Bootstrap", "Giro", "Random"]


def test_the_figure_of_section_3_holds_the_three_exact_distributions(monkeypatch, capsys):
    drawn = []
    monkeypatch.setattr(charts, "panel_chart", lambda title, x, panels, columns: drawn.extend(panels))
    run_arms.figure()
    assert [heading for heading, _ in drawn][0] == "Ad_A: 1 of 50 clicked" and len(drawn) == 6
    for (heading, lines), (s, n) in zip(drawn, ((1, 50), (4, 200), (16, 800), (0, 50), (0, 200), (0, 800))):
        (_, x, beta), (_, _, boot), (_, _, guided) = lines
        assert np.allclose(beta, gb.beta_cdf(1 + s, 1 + n - s, x))
        assert np.array_equal(boot, gb.cdf(gb.bootstrap_distribution(s, n), x))
        assert np.array_equal(guided, gb.cdf(gb.guided_distribution(s, n, 1), x))
    line = re.search(r"^Ad_B,  0 of 800 .*$", capsys.readouterr().out, re.M).group()
    mean, variance = gb.moments(*gb.guided_distribution(0, 800, 1))
    expected = gb.beta_moments(0, 800, 1)
    numbers = line.split()[-6:]
    assert numbers[1] == f"{mean / expected[0]:.3f}" and numbers[3] == f"{(variance / expected[1]) ** 0.5:.3f}"
    assert numbers[5] == "0.368"                                 # (1 - 1/800)^800, nearly 1/e


@pytest.mark.parametrize("argv", [["--figure", "x.png"], ["--figure", "."], ["--q"], ["--compare", "--runs", "x"]])
def test_what_the_arms_script_cannot_do_is_one_line(tmp_path, monkeypatch, capsys, argv):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        run_arms.main(argv)
    assert end.value.code == 2 and capsys.readouterr().err.count("\n") == 1
