"""The three run scripts: what their methods are made of, what they print, what they refuse."""
import functools
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
ROWS = [pytest.param(module, row, id=tables.label(row))
        for module in (run_synthetic, run_ads) for row in module.METHODS]


def run(method, task, steps, **options):
    """The numbers of one run."""
    return store.make(partial(method, **options), task, steps, 0, {}, {})["numbers"]


# ---------------------------------------------------------------- the methods

@pytest.mark.parametrize("module, usual", [
    (run_synthetic, dict(alpha=1.0, models=5, epsilon=0.1, giro_alpha=0.5, ucb_strength=1.0)),
    (run_ads, dict(models=5, buffer=512, epsilon=0.1, giro_alpha=0.01, ucb_strength=0.1,
                   shaping=0.25, dropout=0.1)),
])
def test_the_papers_values_are_the_defaults_and_every_constant_is_marked(module, usual):
    for row, method in module.METHODS.items():
        for name, parameter in parameters(method).items():
            assert parameter.default == usual.get(name, parameter.default), (row, name)
    source = Path(module.__file__).read_text()
    for name, value in vars(module).items():
        if name.isupper() and isinstance(value, (int, float)) and name != "AD_ID":
            assert re.search(rf"^{name} = .*# (ours|paper) ", source, re.M), name


OTHER = dict(alpha=9.0, batch=3, buffer=7, density=gb.AdCount, dropout=0.6, epsilon=0.9,
             giro_alpha=1.0, learning_rate=0.5, minibatches=1, models=2, precision=9.0,
             shaping=9.0, ucb_strength=9.0)


@pytest.mark.parametrize("module, row", ROWS)
def test_every_option_of_a_method_changes_what_it_does(module, row):
    method = module.METHODS[row]
    if module is run_synthetic:
        task, steps, usual = envs.Synthetic, 60, {"learning_rate": 0.02}
    else:
        task, steps, usual = TINY_ADS, 200, {"buffer": 32}
    options = [name for name in parameters(method) if name in OTHER]
    usual = {name: value for name, value in usual.items() if name in options}
    numbers = run(method, task, steps, **usual)
    for name in options:
        assert run(method, task, steps, **{**usual, name: OTHER[name]}) != numbers, name


def test_the_oracle_is_far_above_random():
    oracle, random = (run(method, TINY_ADS, 1000) for method in (run_ads.oracle, run_ads.random))
    assert oracle["reward"] > 2 * random["reward"]
    assert (random["clicks"] * 1000) % 1 == pytest.approx(0, abs=1e-9)


@pytest.fixture
def made(monkeypatch):
    """made(module, row): the agent that a method builds, and the sizes it gives to its loop."""
    calls = []

    def replay(agent, env, steps, b, every=1, updates=1):
        calls.append((agent, (every, b, updates)))

    def online(agent, env, steps, c, n=1):
        calls.append((agent, (c, n)))

    def built(module, row):
        task = envs.Synthetic if module is run_synthetic else TINY_ADS
        module.METHODS[row](envs.Scored(task(0), 60), 60, 0)
        return calls.pop()
    for module in (run_synthetic, run_ads):
        monkeypatch.setattr(module, "replay", replay)
        monkeypatch.setattr(module, "online", online)
    return built


@pytest.mark.parametrize("module, row, K, expected", [
    (run_synthetic, "GuideBoot", 5, (1, 256, 1)),
    (run_synthetic, "Online GuideBoot", 5, (32, 4)),
    (run_ads, ("replay", "GuideBoot"), 5, (128, 32, 4)),
    (run_ads, ("online", "Online GuideBoot"), 5, (128, 4)),
    (run_ads, ("replay", "Deep-UCB1"), 1, (128, 32, 4)),
    (run_ads, ("online", "Deep-TS-Beta"), 1, (128, 4)),
])
def test_models_densities_and_sizes_are_those_of_section_5(made, module, row, K, expected):
    """Eq. 7 on the synthetic task, Eq. 6 on the ads; every model has initial weights of its own."""
    agent, sizes = made(module, row)
    assert sizes == expected
    assert agent.bag.K == K
    assert len(agent.density.count) == agent.bag.features
    if module is run_ads:
        assert type(agent.density) is gb.AdCount
        assert agent.density.field == envs.AD_ID
        assert agent.bag.dropout == 0
    else:
        assert type(agent.density) is gb.FastHarmonic
        assert len(np.unique(agent.bag.theta)) == agent.bag.theta.size


@pytest.mark.parametrize("module, row, decay", [
    (run_synthetic, "e-greedy", None), (run_synthetic, "e-greedy (decay)", 60),
    (run_ads, ("replay", "e-greedy"), None), (run_ads, ("online", "e-greedy (decay)"), 60)])
def test_epsilon_greedy_has_one_model_and_decays_over_the_whole_run(made, module, row, decay):
    agent, _ = made(module, row)
    assert agent.decay == decay
    assert agent.bag.K == 1


@pytest.mark.parametrize("scale, c", [(1.0, 512), (0.4, 205), (0.02, 128)])
def test_the_buffer_of_the_ads_follows_the_scale(scale, c):
    assert run_ads.buffer_size(512, scale) == c
    assert run_ads.buffer_size(10, scale) == 10


def test_the_papers_numbers_are_those_of_tables_3_and_4():
    """Sums over the columns, added by hand from the paper's tables."""
    for setting, rows, A, B in (("replay", 8, 0.2030, 0.1852), ("online", 7, 0.2036, 0.1808)):
        found = [values for (table, _), values in PAPER.items() if table == setting]
        assert len(found) == rows
        assert round(sum(mean for (mean, _), _ in found), 4) == A
        assert round(sum(mean for _, (mean, _) in found), 4) == B
    assert set(PAPER) == {row for row in run_ads.METHODS if row[0] != "yardstick"}


# ---------------------------------------------------------------- the commands

def test_the_synthetic_script_prints_ten_rows_sorted_by_regret_and_draws_them(tmp_path, capsys):
    run_synthetic.main(["--runs", "5", "--steps", "60", "--out", str(tmp_path)])
    text = capsys.readouterr().out
    results = tables.read_csv(tmp_path / "synthetic.csv")
    assert len(results.records) == 10
    lines = text.split("runs\n")[-1].splitlines()[1:11]
    means = [float(re.search(r"  +([\d.]+) \+- ", line).group(1)) for line in lines]
    assert means == sorted(means)

    regret = results.values()
    difference = np.array([regret["OBB"][s] - regret["GuideBoot"][s] for s in range(5)])
    half = 2.7764 * difference.std(ddof=1) / 5 ** 0.5        # t(4) at 97.5 %
    line, = [line for line in lines if line.startswith("OBB ")]
    assert f"{difference.mean():+.1f} +- {half:.1f}" in line

    drawn = ET.parse(tmp_path / "synthetic.svg")
    words = [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert set(run_synthetic.METHODS) <= set(words)


def test_the_ads_script_prints_the_papers_tables_and_adds_the_yardsticks(tmp_path, capsys):
    run_ads.main(["--scale", "0.01", "--steps", "20", "--runs", "2", "--out", str(tmp_path)])
    text = capsys.readouterr().out
    results = tables.read_csv(tmp_path / "ads_A.csv")
    assert list(results.records) == list(run_ads.METHODS)
    heads = "method,seed,setting,reward,clicks,fakes,tuned"
    assert (tmp_path / "ads_A.csv").read_text().startswith(heads)

    table_3, table_4 = text.split("Table 3")[1].split("Table 4")
    ours = list(results.values()["replay", "GuideBoot"].values())
    line = re.search(r"^GuideBoot .*$", table_3, re.M).group()
    assert f"{np.mean(ours):.4f}  ({np.std(ours, ddof=1):.4f})" in line
    assert "0.0280  (0.0006)" in line                        # the paper's
    line = re.search(r"^Online GuideBoot .*$", table_4, re.M).group()
    assert "0.0317  (0.0004)" in line
    assert "not public" in text


def test_the_arms_are_compared_with_giro_too_and_of_few_runs_no_interval_is_shown(tmp_path, capsys):
    run_arms.main(["--compare", "--runs", "4", "--steps", "100", "--out", str(tmp_path)])
    assert list(tables.read_csv(tmp_path / "arms.csv").records) == [
        "GuideBoot", "Thompson (Beta)", "Bootstrap", "Giro", "Random"]
    text = capsys.readouterr().out
    assert "+-" not in text.split("Method")[1]
    assert "5 runs or more" in text


@pytest.mark.parametrize("script, argv, named", [
    (run_synthetic, "--methods linucb", "--methods.* linucb$"),
    (run_synthetic, "--alpha nan", r"\balpha .* nan\b"),
    (run_synthetic, "--buffer 3", r"\bn .* 4\b"),            # four mini-batches of three rows
    (run_synthetic, "--steps 1e4", "--steps.* '1e4'$"),
    (run_synthetic, "--workers 0", "workers .* 0$"),
    (run_ads, "--scale 2", r"\bscale .* 2.0\b"),
    (run_ads, "--methods obb --setting replay", "--methods.* obb .*replay"),
    (run_ads, "--steps 999999999", "steps .* 999,999,999$"),
    (run_arms, "--figure x.png", "--figure.* 'x.png'$"),
    (run_arms, "--q", "--q"),
])
def test_what_was_typed_wrong_is_one_line_and_exit_code_2(tmp_path, monkeypatch, capsys, script,
                                                          argv, named):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        script.main(argv.split())
    errors = capsys.readouterr().err
    assert end.value.code == 2
    assert errors.count("\n") == 1
    assert re.search(named, errors), errors
    assert not list(tmp_path.glob("**/*.csv"))


@pytest.mark.parametrize("script", [run_synthetic, run_ads])
def test_help_says_of_every_option_what_it_is_its_default_and_whether_it_is_tuned(
        script, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "1000")                    # every option on one line
    with pytest.raises(SystemExit) as end:
        script.main(["--help"])
    assert end.value.code == 0
    text = capsys.readouterr().out
    defaults = {name: parameter.default for method in script.METHODS.values()
                for name, parameter in parameters(method).items()}
    for option, words in script.OPTIONS.items():
        value = re.escape(str(defaults[option]))
        how = rf"\(default {value}, not tuned\)|\(default: as tuned, .* [\d.e-]+; untuned {value}\)"
        flag = option.replace("_", "-")
        assert re.search(rf"^  --{flag} [NX] +{re.escape(words)} ({how})$", text, re.M), option


# ---------------------------------------------------------------- run_arms.py

def test_the_example_needs_no_machine_room(tmp_path):
    for name in ("run_arms", "guideboot", "nn", "envs", "baselines"):
        (tmp_path / f"{name}.py").write_bytes((ROOT / f"{name}.py").read_bytes())
    done = subprocess.run([sys.executable, "run_arms.py"], cwd=tmp_path, capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr
    assert "0.2577" in done.stdout


@functools.lru_cache(maxsize=None)
def guided_distribution(s, n, alpha):
    """The guided bootstrap's; of 800 impressions, where it takes a second, another one."""
    if n == 800:
        return gb.bootstrap_distribution(s + alpha, n + 2 * alpha)
    return gb.guided_distribution(s, n, alpha)


def test_the_figure_of_section_3_holds_the_three_exact_distributions(monkeypatch, capsys):
    """An ad without clicks has the estimate 0 if it gets no fake click: (1 - 1/200)^200 = 0.367."""
    drawn = []
    assert run_arms.guided_distribution is gb.guided_distribution
    monkeypatch.setattr(run_arms, "guided_distribution", guided_distribution)
    monkeypatch.setattr(charts, "panel_chart",
                        lambda title, x, panels, columns: drawn.extend(panels))
    run_arms.figure()
    text = capsys.readouterr().out
    assert re.search("^Ad_B, +0 of 200 .* 0.367$", text, re.M)
    seen = (("Ad_A", 1, 50), ("Ad_A", 4, 200), ("Ad_A", 16, 800),
            ("Ad_B", 0, 50), ("Ad_B", 0, 200), ("Ad_B", 0, 800))
    assert len(drawn) == len(seen)
    for (heading, lines), (ad, s, n) in zip(drawn, seen):
        assert heading == f"{ad}: {s} of {n} clicked"
        (_, x, beta), (_, _, boot), (_, _, guided) = lines
        assert np.allclose(beta, gb.beta_cdf(1 + s, 1 + n - s, x))
        assert np.array_equal(boot, gb.cdf(gb.bootstrap_distribution(s, n), x))
        assert np.array_equal(guided, gb.cdf(guided_distribution(s, n, 1), x))

        row = re.search(rf"^{ad}, +{s} of +{n} .*$", text, re.M).group()
        _, mean_ratio, _, std_ratio, _, _ = row.split()[-6:]
        mean, variance = gb.moments(*guided_distribution(s, n, 1))
        beta_mean, beta_variance = gb.beta_moments(s, n, 1)
        assert mean_ratio == f"{mean / beta_mean:.3f}"
        assert std_ratio == f"{(variance / beta_variance) ** 0.5:.3f}"
