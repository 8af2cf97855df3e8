"""The three run scripts: what their methods are made of, what they print, what they refuse."""
import json
import os
import re
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest

import envs
import guideboot as gb
import run_ads
import run_arms
import run_synthetic
from lab import alpha, charts, runs, store, study, tables
from lab.command import parameters
from lab.paper import PAPER

ROOT = Path(run_synthetic.__file__).parent
TASKS = {run_synthetic: envs.Synthetic, run_ads: partial(envs.Ads, scale=0.01)}
UNIX = pytest.mark.skipif(os.name == "nt", reason="Windows has a folder for any ~user")
ROWS = [pytest.param(module, row, id=tables.label(row)) for module in TASKS
        for row in module.METHODS]


# ---------------------------------------------------------------- the methods

@pytest.mark.parametrize("module, usual", [
    (run_synthetic, dict(alpha=1.0, models=5, epsilon=0.1, giro_alpha=0.5, ucb_strength=1.0,
                         density=gb.FastHarmonic, batch=256, buffer=32, minibatches=4)),
    (run_ads, dict(models=5, buffer=512, epsilon=0.1, giro_alpha=0.01, ucb_strength=0.1,
                   shaping=0.25, dropout=0.1, density=run_ads.ad_count, minibatches=4)),
    (run_arms, dict(alpha=1.0, giro_alpha=0.5))])
def test_the_papers_values_are_the_defaults(module, usual):
    """Eq. 7 on the synthetic task, Eq. 6 on the ads. What a method makes of them: test_choices."""
    for row, method in module.METHODS.items():
        for name, parameter in parameters(method).items():
            assert parameter.default == usual.get(name, parameter.default), (row, name)


OTHER = dict(alpha=9.0, batch=3, buffer=7, density=partial(gb.AdCount, field=0), dropout=0.6,
             epsilon=0.9, giro_alpha=1.0, learning_rate=0.5, minibatches=1, models=2, precision=9.0,
             shaping=9.0, ts_strength=9.0, ucb_strength=9.0)


@pytest.mark.parametrize("module, row", ROWS)
def test_every_option_of_a_method_changes_what_it_does(module, row):
    def numbers(**changed):
        method = partial(module.METHODS[row], **{**shorter, **changed})
        return store.make(method, TASKS[module], 200, 0, {}, {})["numbers"]
    options = [name for name in parameters(module.METHODS[row]) if name in OTHER]
    shorter = {"buffer": 32} if "buffer" in options else {}
    usual = numbers()
    for name in options:
        assert numbers(**{name: OTHER[name]}) != usual, name


def test_the_buffer_of_the_ads_follows_the_scale_and_replay_sees_no_fewer_rows(monkeypatch):
    assert [run_ads.buffer_size(512, scale) for scale in (1.0, 0.4, 0.02)] == [512, 205, 128]
    assert run_ads.buffer_size(10, 0.02) == 10
    monkeypatch.setattr(run_ads, "replay", spy := Mock())
    monkeypatch.setattr(run_ads, "measures", Mock())
    run_ads.run(Mock(), Mock(scale=0.4), 9, "replay", 512, 4)
    assert spy.call_args.args[3] == 52 and spy.call_args.kwargs == dict(every=205, updates=4)


def test_the_papers_numbers_are_those_of_tables_3_and_4():
    """Sums over the columns, added by hand from the paper's tables."""
    for setting, rows, A, B in (("replay", 8, 0.2030, 0.1852), ("online", 7, 0.2036, 0.1808)):
        found = [values for (table, _), values in PAPER.items() if table == setting]
        assert len(found) == rows
        assert round(sum(mean for (mean, _), _ in found), 4) == A
        assert round(sum(mean for _, (mean, _) in found), 4) == B
    theirs = {row for row in run_ads.METHODS if row[0] != "yardstick"}
    assert set(PAPER) == {row for row in theirs if row[1] not in ("Greedy", "Ridge")}


# ---------------------------------------------------------------- the commands

def test_a_script_runs_and_draws_all_its_methods(tmp_path, no_workers):
    run_arms.main(["--compare", "--runs", "2", "--steps", "60", "--out", str(tmp_path)])
    assert list(tables.read_csv(tmp_path / "arms.csv").records) == list(run_arms.METHODS)
    figure = (tmp_path / "arms.svg").read_text()
    assert all(f">{method}<" in figure for method in run_arms.METHODS)


def test_the_ads_script_prints_the_papers_tables_and_adds_the_yardsticks(tmp_path, capsys,
                                                                         no_workers):
    def line(name, table):
        return re.search(f"^{name} .*$", table, re.M).group()
    run_ads.main(["--scale", "0.01", "--steps", "130", "--runs", "2", "--out", str(tmp_path)])
    table_3, table_4 = capsys.readouterr().out.split("Table 3")[1].split("Table 4")
    results = tables.read_csv(tmp_path / "ads_A.csv")
    assert list(results.records) == list(run_ads.METHODS)
    ours, giro = [list(results.values()["replay", name].values()) for name in ("GuideBoot", "Giro")]
    assert f"{np.mean(ours):.4f}  ({np.std(ours, ddof=1):.4f})" in line("GuideBoot", table_3)
    assert f" {np.mean(giro) - np.mean(ours):+.4f} " in line("Giro", table_3)
    assert "0.0280  (0.0006)" in line("GuideBoot", table_3)              # the paper's
    assert "0.0317  (0.0004)" in line("Online GuideBoot", table_4)


def test_spread_and_disagreement_of_networks_worked_by_hand():
    """Two requests of two candidates, three models. Logits of model 2 are 3 higher: the variance of
    0, 0, 3 is 3. In the second request model 2 alone chooses otherwise: 4 of 6 ordered pairs."""
    logits = np.array([[[1, 0], [1, 0], [4, 3]], [[1, 0], [1, 0], [4, 5]]])      # (2, K, m)
    bag = SimpleNamespace(K=3, scores=lambda k, X: logits[X[0], k], dead_units=lambda X: 0.25)
    numbers = run_ads.measures(bag, [[0], [1]])
    variances = [3.0, 3.0, 3.0, 25 / 3]                      # of 0, 0, 5: 25/3
    assert numbers["spread"] == pytest.approx(np.sqrt(np.mean(variances)))
    assert numbers["disagree"] == pytest.approx((0 + 4 / 6) / 2)
    assert numbers["dead"] == 0.25


@pytest.mark.parametrize("argv, options, tuned", [
    ("", "giro_alpha=0.25, learning_rate=0.125", "synthetic"),
    ("--learning-rate 0.5", "giro_alpha=0.25, learning_rate=0.5", "changed"),
    ("--untuned", "giro_alpha=0.5, learning_rate=0.002", "no"),
    ("--untuned --giro-alpha 0.75", "giro_alpha=0.75, learning_rate=0.002", "changed")])
def test_what_is_given_goes_before_the_tuned_value_and_that_before_the_default(
        tmp_path, monkeypatch, no_workers, argv, options, tuned):
    """What was tuned for another function of a row's name does not count."""
    giro = {"method": "run_synthetic.giro", "options": {"giro_alpha": 0.25, "learning_rate": 0.125}}
    other = {"method": "mine.e_greedy", "options": {"epsilon": 0.9}}
    monkeypatch.setattr(runs, "TUNED", tmp_path / "tuned.json")
    runs.TUNED.write_text(json.dumps({"synthetic": {"Giro": giro, "e-greedy": other}}))
    run_synthetic.main(["--methods", "\u03b5-Greedy, GIRO", *argv.split(), "--runs", "1",
                        "--steps", "3", "--out", str(tmp_path)])
    results = tables.read_csv(tmp_path / "synthetic.csv")
    assert list(results.records) == ["Giro", "e-greedy"]
    assert results.known("Giro", "call") == f"run_synthetic.giro(batch=256, {options}, models=5)"
    assert results.known("Giro", "tuned") == tuned
    assert "epsilon=0.1," in results.known("e-greedy", "call")


@pytest.mark.parametrize("script, argv, named", [
    (run_synthetic, "--methods linucb", "--methods.* linucb$"),
    (run_synthetic, "--alpha nan", r"\balpha .* nan\b"),
    (run_synthetic, "--steps 1e4", "--steps.* '1e4'$"),
    (run_synthetic, "--workers 0", "workers .* 0$"),
    (run_synthetic, "--buffer 90 --steps 90", "--steps.* above 90.* 90$"),
    (run_ads, "--scale 2", r"--scale: .* 2.0\b"),
    (run_ads, "--methods obb --setting replay", "--methods.* obb .*replay"),
    (run_ads, "--steps 999999999", "steps .* 999,999,999$"),
    (run_ads, "--steps 100 --scale 0.01", "--steps.* above 128.* 100$"),
    (run_arms, "--figure x.png", "--figure.* 'x.png'$"),
    pytest.param(run_arms, "--figure ~nobody-here/x.svg", "--figure.* ~nobody-here$", marks=UNIX),
    (run_arms, "--q", "--q"),
    (study, "tune x", "'x'"),
    (study, "sweep synthetic nothing", "'nothing'"),
    (alpha, "--table x.csv", "--label")])
def test_help_is_help_and_what_was_typed_wrong_is_one_line(tmp_path, monkeypatch, capsys, script,
                                                           argv, named):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="^0$"):
        script.main(["--help"])
    with pytest.raises(SystemExit, match="^2$"):
        script.main(argv.split())
    errors = capsys.readouterr().err
    assert errors.count("\n") == 1
    assert re.search(named, errors), errors
    assert not list(tmp_path.glob("**/*.csv"))


# ---------------------------------------------------------------- run_arms.py

def test_the_example_needs_no_machine_room(tmp_path, python):
    for name in ("run_arms", "guideboot", "nn", "envs", "baselines"):
        (tmp_path / f"{name}.py").write_bytes((ROOT / f"{name}.py").read_bytes())
    assert "0.2577" in python(tmp_path, "run_arms.py").stdout


def test_the_figure_of_section_3_draws_the_three_exact_distributions(monkeypatch, capsys):
    """An ad without clicks has the estimate 0 if it gets no fake click: (1 - 1/200)^200 = 0.367."""
    drawn = {}
    monkeypatch.setattr(charts, "panel_chart", lambda *given, columns: drawn.update(given[2]))
    run_arms.figure()
    assert re.search("^Ad_B, +0 of 200 .* 0.367$", capsys.readouterr().out, re.M)
    assert len(drawn) == 6
    for ad, s, n in (("Ad_A", 1, 50), ("Ad_A", 4, 200), ("Ad_B", 0, 200)):
        (_, x, beta), (_, _, boot), (_, _, guided) = drawn[f"{ad}: {s} of {n} clicked"]
        assert np.allclose(beta, run_arms.beta_cdf(1 + s, 1 + n - s, x))
        assert np.array_equal(boot, run_arms.cdf(gb.bootstrap_distribution(s, n), x))
        assert np.array_equal(guided, run_arms.cdf(gb.guided_distribution(s, n, 1), x))
