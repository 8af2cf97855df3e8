"""The command line as a user meets it: results, messages, files."""
import ast
import math
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import guideboot as gb
import report
import run_ads
import run_synthetic
import shuffle
from baselines import OBB
from guideboot import Agent

ROOT = Path(run_synthetic.__file__).parent


def cli(*arguments, cwd=None):
    return subprocess.run([sys.executable, ROOT / "run_synthetic.py", *map(str, arguments)], capture_output=True, text=True,
                          cwd=cwd, timeout=100)


@pytest.fixture(scope="module")
def all_methods(tmp_path_factory):
    """Every method, two runs of 120 steps, two workers."""
    out = tmp_path_factory.mktemp("all")
    done = cli("--runs", 2, "--steps", 120, "--workers", 2, "--out", out)
    assert done.returncode == 0, done.stderr
    return out, done


def test_ten_rows_sorted_by_regret_with_errors_and_paired_differences(all_methods):
    out, done = all_methods
    _, columns, rows = report.read_results(out / "synthetic.csv")
    assert len(rows) == 20 and len({m for m, _ in rows}) == 10 and columns[-2:] == ["regret@120", "reward"]
    table = done.stdout.split("reward per step  runs\n")[1].splitlines()[1:11]
    means = [float(re.search(r"  +([\d.]+) \+- ", line).group(1)) for line in table]
    assert means == sorted(means)
    for line in table:
        name = line.split("  ")[0]
        final = np.array([rows[name, s][-2] for s in (0, 1)])
        reference = np.array([rows["GuideBoot", s][-2] for s in (0, 1)])
        d = final - reference
        assert f"{final.mean():.1f} +- {abs(final[0] - final[1]) / 2:.1f}" in line          # se of two: half their distance
        if name != "GuideBoot":
            assert f"{d.mean():+.1f} +- {12.7062 * abs(d[0] - d[1]) / 2:.1f}" in line       # t(1) at 97.5 %: 12.7062
    assert "the paper's Figure 3: 50 runs" in done.stdout


def test_result_is_the_same_for_any_number_of_workers_and_any_subset_of_methods(all_methods, tmp_path):
    _, _, rows = report.read_results(all_methods[0] / "synthetic.csv")
    assert cli("--runs", 2, "--steps", 120, "--workers", 1, "--methods", "OBB,guideboot, ts-blr", "--out", tmp_path).returncode == 0
    _, _, some = report.read_results(tmp_path / "synthetic.csv")
    assert {m for m, _ in some} == {"GuideBoot", "OBB", "TS-BLR"}
    assert all((rows[key] == some[key]).all() for key in some)
    again = run_synthetic.run(("Giro", 1, dict(steps=120, task="synthetic", tuned=run_synthetic.TUNED)))
    assert (rows["Giro", 1] == again).all()


def test_figure_is_well_formed_and_names_every_method(all_methods):
    tree = ET.parse(all_methods[0] / "synthetic.svg")
    text = " ".join(t.text for t in tree.iter("{http://www.w3.org/2000/svg}text"))
    lines = list(tree.iter("{http://www.w3.org/2000/svg}polyline"))
    assert all(name in text for name in run_synthetic.METHODS) and len(lines) == 10
    styles = {(line.get("stroke"), line.get("stroke-dasharray")) for line in lines}
    assert len(styles) == 10


def test_arms_compares_the_multi_armed_methods(tmp_path):
    done = cli("--arms", "--runs", 2, "--steps", 300, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    _, _, rows = report.read_results(tmp_path / "arms.csv")
    assert {m for m, _ in rows} == {"GuideBoot", "Thompson (Beta)", "Bootstrap", "Giro", "Random"}
    assert (tmp_path / "arms.svg").exists()


def test_options_change_what_they_say(tmp_path):
    """Each option changes the result of a method that uses it, and not of one that does not."""
    base = dict(run_synthetic.DEFAULTS, steps=60, task="synthetic", learning_rate=0.02)
    run = lambda method, **kw: run_synthetic.run((method, 0, dict(base, **kw)))
    for method, used, unused in (("GuideBoot", dict(alpha=9.0), dict(buffer=7)), ("GuideBoot", dict(models=2), dict(epsilon=0.9)),
                                 ("GuideBoot", dict(batch=3), dict(giro_alpha=0.1)), ("OBB", dict(buffer=7), dict(batch=3)),
                                 ("OBB", dict(minibatches=1), dict(epsilon=0.9)), ("GuideBoot", dict(density="count"), dict(precision=9.0)), ("Bootstrap", dict(learning_rate=0.5), dict(alpha=9.0)),
                                 ("OBB", dict(learning_rate=0.5), dict(alpha=9.0)), ("Online GuideBoot", dict(density="unguided"), dict(precision=9.0)), ("Giro", dict(giro_alpha=1.0), dict(alpha=9.0)),
                                 ("e-greedy", dict(epsilon=0.9), dict(models=2)), ("GLM-UCB", dict(ucb_strength=0.0), dict(alpha=2.0)),
                                 ("Online GuideBoot", dict(buffer=7), dict(batch=3)), ("Online GuideBoot", dict(alpha=9.0), dict(density="harmonic")), ("OBB", dict(models=2), dict(density="none")),
                                 ("TS-BLR", dict(precision=9.0), dict(models=2)), ("Bootstrap", dict(init=3.0), dict(buffer=7))):
        assert run(method) != run(method, **used), (method, used)
        assert run(method) == run(method, **unused), (method, unused)


def agent_of(monkeypatch, method, table=run_synthetic.METHODS):
    """The agent that a row of the method table builds."""
    built = []
    monkeypatch.setattr(run_synthetic, "replay", lambda agent, *_: built.append(agent))
    monkeypatch.setattr(run_synthetic, "online", lambda agent, *_: built.append(agent))
    table[method](dict(run_synthetic.DEFAULTS, steps=60), 0, np.random.default_rng(0), None)
    return built[0]


def test_the_method_table_builds_what_section_5_1_says(monkeypatch):
    for method in ("GuideBoot", "Online GuideBoot"):
        agent = agent_of(monkeypatch, method)
        assert type(agent.density) is gb.Harmonic and agent.alpha == 1.0 and agent.bag.K == 5
        assert len(np.unique(agent.bag.theta)) == agent.bag.theta.size                 # independent initial weights
    assert agent_of(monkeypatch, "e-greedy").decay is None and agent_of(monkeypatch, "e-greedy (decay)").decay == 60
    assert agent_of(monkeypatch, "e-greedy").epsilon == 0.1 and agent_of(monkeypatch, "e-greedy").bag.K == 1
    assert agent_of(monkeypatch, "Giro").alpha == 0.5 and type(agent_of(monkeypatch, "Bootstrap")) is gb.Agent
    draws = {name: agent_of(monkeypatch, name, run_synthetic.ARMS).draw for name in ("GuideBoot", "Thompson (Beta)", "Bootstrap")}
    assert draws["GuideBoot"].func is gb.guided_mean and draws["Thompson (Beta)"].func is gb.thompson_mean
    assert draws["Bootstrap"] is gb.bootstrap_mean


def test_a_row_holds_cumulative_regret_and_the_mean_reward_and_depends_on_the_seed():
    o = dict(run_synthetic.DEFAULTS, steps=60, task="synthetic")
    rows = [np.array(run_synthetic.run(("Random", seed, o))) for seed in (0, 1)]
    assert all((np.diff(row[:-1]) >= 0).all() and (row[-1] * 60) % 1 == pytest.approx(0, abs=1e-9) for row in rows)
    assert not (rows[0] == rows[1]).any() and rows[0][-2] / 60 > 0.03


def test_the_figure_shows_regret_divided_by_the_step(tmp_path, monkeypatch, capsys):
    drawn = []
    monkeypatch.setattr(report, "line_chart", lambda path, title, x, y, series, **_: drawn.append((title, series)))
    rows = {"OBB": {0: np.array([2.0, 6.0, 0.5]), 1: np.array([4.0, 10.0, 0.5]), 2: np.full(3, np.nan)}}
    monkeypatch.setattr(run_synthetic, "checkpoints", lambda steps: np.array([10, 20]))
    run_synthetic.show(dict(steps=20, task="synthetic", alpha=3.0, models=5, batch=9), tmp_path / "x.csv", rows)
    assert drawn[0][0] == "Synthetic task (Fig. 3), alpha 3, batch 9: 3 runs, band: one standard error"
    (name, _, x, y, band), = drawn[0][1]
    assert name == "OBB" and x.tolist() == [10, 20] and y == pytest.approx([0.3, 0.4]) and band == pytest.approx([0.1, 0.1])
    text = capsys.readouterr().out
    assert "8.0 +- 2.0" in text and "2, 1 diverged" in text and "nan" not in text


@pytest.mark.parametrize("arguments, message", [
    (("--methods", "guideboot,linucb"), "argument --methods: must be some of GuideBoot, .*; got linucb"),
    (("--methods", ""), "argument --methods: must be some of .*; got ''"),
    (("--runs", "0"), "argument --runs: must be a whole number, 1 to 10000, got '0'"),
    (("--steps", "-5"), "argument --steps: must be a whole number, 1 to 1000000000, got '-5'"),
    (("--steps", "1e4"), "argument --steps: must be a whole number, 1 to 1000000000, got '1e4'"),
    (("--alpha", "0"), "argument --alpha: must be a number, above 0, got '0'"),
    (("--alpha", "nan"), "argument --alpha: must be a number, above 0, got 'nan'"),
    (("--alpha", "inf"), "argument --alpha: must be a number, above 0, got 'inf'"),
    (("--models", "0"), "argument --models: .*got '0'"), (("--batch", "x"), "argument --batch: .*got 'x'"),
    (("--buffer", "3"), r"argument --minibatches: must be at most c \(--buffer\), 3, got 4"),
    (("--buffer", "0"), "argument --buffer: .*got '0'"), (("--minibatches", "0"), "argument --minibatches: .*got '0'"),
    (("--learning-rate", "-1"), "argument --learning-rate: must be a number, above 0, got '-1'"),
    (("--workers", "0"), "argument --workers: .*got '0'"), (("--seed", "-1"), "argument --seed: must be a whole number, 0 to 1000000000, got '-1'"),
    (("--out", "{file}/below"), "argument --out: must be a folder that can be written to, got '.*/below'"),
    (("--out", " "), "argument --out: must be a folder .*the name is empty"),
    (("--speed", "3"), "unrecognized arguments: --speed 3"),
])
def test_bad_input_gets_one_line_and_exit_code_2_and_touches_nothing(tmp_path, capsys, arguments, message):
    saved = tmp_path / "out" / "synthetic.csv"
    saved.parent.mkdir()
    saved.write_text("precious")
    with pytest.raises(SystemExit) as end:
        run_synthetic.main(["--out", str(saved.parent), *(a.format(file=saved) for a in arguments)])
    error = capsys.readouterr().err
    assert end.value.code == 2 and error.count("\n") == 1 and re.search(message, error), error
    assert [p.name for p in saved.parent.iterdir()] == ["synthetic.csv"] and saved.read_text() == "precious"


def test_names_of_methods_may_be_written_as_the_paper_writes_them():
    names = list(run_synthetic.METHODS)
    assert report.Parser().methods("\u03b5-greedy, online-guideboot,Epsilon-Greedy (decay)", names) == ["Online GuideBoot", "e-greedy", "e-greedy (decay)"]


def test_the_default_output_folder_is_out_and_results_is_never_touched(tmp_path):
    assert run_synthetic.options(["--runs", "1", "--out", str(tmp_path)]).out == tmp_path
    done = cli("--runs", 1, "--steps", 5, "--methods", "Random", cwd=tmp_path)
    assert done.returncode == 0 and sorted(p.name for p in tmp_path.iterdir()) == ["out"]
    assert "out/" in (ROOT / ".gitignore").read_text().split()


def test_help_is_written_for_a_student():
    text = cli("--help").stdout
    for option in "runs steps methods seed workers alpha models batch buffer minibatches learning-rate out arms".split():
        assert re.search(rf"--{option}\b", text), option
    assert "lower is better" in text and max(map(len, text.splitlines())) <= 120


def test_every_default_is_marked_paper_or_ours():
    source = (ROOT / "run_synthetic.py").read_text()
    table = source[source.index("DEFAULTS = dict("):source.index("\n)\n")].splitlines()[1:]
    assert len(table) == len(run_synthetic.DEFAULTS) and all(re.search(r"# (ours|paper) ", line) for line in table)


def test_checkpoints_are_fifty_or_every_step_and_end_with_the_last():
    for steps, expected in ((1, [1]), (5, [1, 2, 3, 4, 5]), (10_000, list(range(200, 10_001, 200)))):
        assert run_synthetic.checkpoints(steps).tolist() == expected
    assert run_synthetic.checkpoints(10_007, curve=False).tolist() == [10_007]
    assert len(run_synthetic.checkpoints(10_007)) == 50 and run_synthetic.checkpoints(10_007)[-1] == 10_007


# ---------------------------------------------------------------- tuning, sweeps, claims

SCRIPTS = [(run_synthetic, list(run_synthetic.GRID), "synthetic"), (run_ads, [f"{s}: {m}" for s in run_ads.PAPER for m in run_ads.PAPER[s]], "ads")]


@pytest.mark.parametrize("script, rows, _", SCRIPTS)
def test_every_method_is_tuned_with_the_same_number_of_configurations(script, rows, _):
    grids = [script.GRID[row.split(": ")[-1]] for row in rows]
    assert len({len(report.product(grid)) for grid in grids}) == 1
    for grid in grids:
        assert set(grid) <= set(script.DEFAULTS) and all(len(set(values)) == len(values) for values in grid.values())


@pytest.mark.parametrize("script, rows, _", SCRIPTS)
def test_the_tuned_values_are_of_the_grid_and_every_method_has_some(script, rows, _):
    """The table that the script uses is one that its --tune could have printed."""
    if not script.TUNED:
        pytest.skip("not yet tuned")
    assert set(script.TUNED) == set(rows)
    for row, values in script.TUNED.items():
        grid = script.GRID[row.split(": ")[-1]]
        assert set(values) == set(grid) and all(value in grid[name] for name, value in values.items()), row


def test_tuned_values_are_used_unless_given_or_switched_off(monkeypatch, tmp_path):
    monkeypatch.setitem(run_synthetic.TUNED, "Giro", dict(learning_rate=0.5, giro_alpha=0.25))
    for argv, expected in (((), (0.5, 0.25)), (("--untuned",), (0.002, 0.5)), (("--learning-rate", "0.125"), (0.125, 0.25))):
        assert run_synthetic.main(["--out", str(tmp_path), "--methods", "giro", "--runs", "1", "--steps", "5", *argv]) == 0
        o = report.read_results(tmp_path / "synthetic.csv")[0]["options"]                  # the file has them in full
        values = run_synthetic.settings(o, "Giro")
        assert (values["learning_rate"], values["giro_alpha"], values["models"]) == (*expected, 5)
    monkeypatch.setattr(run_ads, "TUNED", {"online: OBB": dict(learning_rate=0.5)})
    bags = []
    monkeypatch.setattr(run_ads, "ServedAds", lambda *_, learning_rate, **__: bags.append(learning_rate) or 1 / 0)
    for row, o in (("online: OBB", {}), ("replay: Bootstrap", {}), ("online: OBB", dict(learning_rate=0.25))):
        with pytest.raises(ZeroDivisionError):
            run_ads.run((row, 0, dict(task="A", scale=0.01, tuned=run_ads.TUNED, **o)))
    assert bags == [0.5, 0.001, 0.25]


def test_tuning_takes_the_best_mean_on_seeds_that_no_figure_uses(tmp_path, capsys):
    code = run_synthetic.main(["--tune", "--methods", "e-greedy,TS-BLR", "--runs", "2", "--steps", "40", "--out", str(tmp_path)])
    text = capsys.readouterr().out
    _, _, rows = report.read_results(tmp_path / "tune_synthetic.csv")
    assert code == 0 and len(rows) == 2 * 20 * 2 and {seed for _, seed in rows} == {1000, 1001}
    table = {}
    exec(text[text.index("TUNED = {"):text.index("}\n") + 2], table)
    for method, chosen in table["TUNED"].items():
        means = {row: np.mean([rows[row, s][-2] for s in (1000, 1001)]) for row, _ in rows if row.startswith(method + " |")}
        best = min(means, key=means.get)
        assert len(means) == 20 and [f"{name} {value}" for name, value in chosen.items()] == best.split(" | ")[1:]
        assert f"{means[best]:.4g}" in re.search(rf"^{method} .*$", text, re.M).group()


def test_a_diverged_configuration_is_never_the_best_and_an_edge_is_named(capsys):
    grid = {"m": report.product(dict(a=(1, 2, 1930.698)))}
    final = {"m | a 1": {0: np.nan, 1: 0.0}, "m | a 2": {0: 2.0, 1: 4.0}, "m | a 1930.698": {0: 1.0, 1: 2.0}}
    grid["half"] = grid["none"] = grid["m"]                 # interrupted: of these not all runs are there
    final |= {f"half | a {a}": {0: 9.0, 1: 9.0} if a < 3 else {0: 0.0} for a in (1, 2, 1930.698)}
    for best, value, edge in ((min, 1930.698, "a"), (max, 2, "")):
        report.tuning_table("regret", grid, final, best)
        text = capsys.readouterr().out
        assert "runs are missing: half, none\n" in text and text.count("dict(") == 1
        assert f'"m": dict(a={value}),' in text and re.search(rf"a {value:g} +{edge}$" if edge else rf"a {value}$", text, re.M)


@pytest.mark.parametrize("sweep", [sweep for sweep in run_synthetic.SWEEPS if sweep != "ucb_strength"])
def test_a_sweep_varies_one_thing_and_draws_it(tmp_path, capsys, sweep):
    methods = {"learning_rate": "GuideBoot,GLM-UCB", "models": "GuideBoot,OBB", "batch": "GuideBoot,e-greedy"}.get(sweep, "GuideBoot,Online GuideBoot")
    run_synthetic.main(["--sweep", sweep.replace("_", "-"), "--methods", methods, "--runs", "2", "--steps", "40", "--out", str(tmp_path)])
    values = run_synthetic.SWEEPS[sweep][1]
    _, _, rows = report.read_results(tmp_path / f"sweep_{sweep}_40.csv")
    flat = {"GLM-UCB"} if sweep == "learning_rate" else set()
    assert {row for row, _ in rows} == flat | {f"{m} | {sweep} {v}" for m in methods.split(",") if m not in flat for v in values}
    row = rows[f"GuideBoot | {sweep} {values[-1]}", 1]
    o = dict(run_synthetic.settings(dict(tuned=run_synthetic.TUNED), "GuideBoot"), task="synthetic", steps=40, curve=False)
    np.testing.assert_array_equal(row, run_synthetic.run(("GuideBoot", 1, dict(o, **{sweep: values[-1]}))))
    second = methods.split(",")[1]
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith(second)]
    assert len(lines) == 2 and lines[0].count("+-") == len(values)
    usual = run_synthetic.settings(dict(tuned=run_synthetic.TUNED), second).get(sweep)      # the second table: paired differences
    row = second + ("" if second in flat else f" | {sweep} {values[0]}")
    other = f"{second} | {sweep} {usual}" if sweep in ("alpha", "density", "batch") else f"GuideBoot | {sweep} {values[0]}"
    gaps = [rows[row, s][-2] - rows[other, s][-2] for s in (0, 1)]
    assert lines[1][len(second):].strip().startswith(report.plus_minus(np.mean(gaps), 12.7062 * abs(gaps[0] - gaps[1]) / 2, "+.1f"))
    run_synthetic.main(["--sweep", sweep.replace("_", "-"), "--methods", "GuideBoot", "--runs", "3", "--steps", "40", "--out", str(tmp_path)])     # goes on
    assert len(report.read_results(tmp_path / f"sweep_{sweep}_40.csv")[2]) == len(rows) + len(values)
    run_synthetic.main(["--sweep", sweep.replace("_", "-"), "--methods", methods, "--runs", "2", "--steps", "40", "--out", str(tmp_path)])
    words = " ".join(t.text for t in ET.parse(tmp_path / f"sweep_{sweep}_40.svg").iter("{http://www.w3.org/2000/svg}text"))
    assert all(f"{v}" in words if isinstance(v, str) else f"{v:g}" in words for v in values) and methods.split(",")[1] in words


@pytest.mark.parametrize("sweep", ["density", "models"])
def test_a_sweep_cut_short_is_shown_as_far_as_it_went(tmp_path, capsys, recwarn, sweep):
    """One value of one method done; then nothing but diverged runs."""
    values, methods = run_synthetic.SWEEPS[sweep][1], run_synthetic.SWEEPS[sweep][0]
    grid = {m: [{sweep: v} for v in values] for m in methods}
    o, row = dict(steps=50, tuned=run_synthetic.TUNED), f"{methods[0]} | {sweep} {values[1]}"
    path = run_synthetic.show_sweep(o, sweep, tmp_path / "s.csv", grid, {row: {0: 12.5}})
    text = path.read_text()
    assert "nan" not in text and "12.5" in capsys.readouterr().out and not recwarn.list
    assert sweep == "density" or all(f">{v}<" in text for v in values)               # the axis is that of the whole sweep
    assert run_synthetic.show_sweep(o, sweep, tmp_path / "t.csv", grid, {row: {0: math.nan}}) is None
    assert "no run ended with a number" in capsys.readouterr().out and not (tmp_path / "t.svg").exists()


def test_no_figure_of_an_earlier_command_is_left(tmp_path, capsys):
    usual = ["--learning-rate", "1e308", "--runs", "1", "--steps", "20", "--out", str(tmp_path), "--methods"]
    run_synthetic.main([*usual, "random"])
    assert "learning rate 1e+308" in (tmp_path / "synthetic.svg").read_text()
    run_synthetic.main([*usual, "guideboot"])
    assert not (tmp_path / "synthetic.svg").exists()


def test_a_given_value_is_named_even_if_it_is_the_untuned_one(tmp_path, capsys):
    run_synthetic.main(["--alpha", "1", "--methods", "random", "--runs", "1", "--steps", "5", "--out", str(tmp_path)])
    assert "(Fig. 3), alpha 1: one run" in (tmp_path / "synthetic.svg").read_text()
    run_synthetic.main(["--untuned", "--methods", "random", "--runs", "1", "--steps", "5", "--out", str(tmp_path)])
    assert "(Fig. 3), untuned: one run" in (tmp_path / "synthetic.svg").read_text() and (tmp_path / "synthetic.other-alpha-1.csv").exists()
    run_synthetic.main(["--methods", "random", "--runs", "1", "--steps", "5", "--out", str(tmp_path)])
    assert (tmp_path / "synthetic.other-tuned-1.csv").exists()
    assert "tuned: the file has nothing tuned, now the tuned values: the earlier" in capsys.readouterr().out
    run_synthetic.main(["--arms", "--runs", "1", "--steps", "5", "--out", str(tmp_path)])
    assert "10 Bernoulli arms: one run" in (tmp_path / "arms.svg").read_text()
    run_synthetic.main(["--arms", "--batch", "7", "--runs", "1", "--steps", "5", "--out", str(tmp_path)])      # without effect, so goes on
    assert "already done: nothing to run" in capsys.readouterr().out


def test_the_strength_of_glm_ucb_is_swept_alone(tmp_path, capsys):
    assert run_synthetic.main(["--sweep", "ucb-strength", "--runs", "1", "--steps", "40", "--out", str(tmp_path)]) == 0
    _, _, rows = report.read_results(tmp_path / "sweep_ucb_strength_40.csv")
    for strength in run_synthetic.SWEEPS["ucb_strength"][1]:
        o = dict(tuned=run_synthetic.TUNED, task="synthetic", steps=40, curve=False, ucb_strength=strength)
        np.testing.assert_array_equal(rows[f"GLM-UCB | ucb_strength {strength}", 0], run_synthetic.run(("GLM-UCB", 0, o)))


def test_the_ads_tune_and_sweep_too(tmp_path, capsys):
    usual = ["--scale", "0.01", "--steps", "300", "--runs", "1", "--out", str(tmp_path)]
    assert run_ads.main(["--tune", "--methods", "guideboot", "--setting", "replay", *usual]) == 0
    header, _, rows = report.read_results(tmp_path / "tune_ads_A.csv")
    assert len(rows) == 9 and {seed for _, seed in rows} == {1000} and header["options"]["world"] == 1000
    assert run_ads.main(["--sweep", "density", *usual]) == 0
    _, _, rows = report.read_results(tmp_path / "sweep_ads_A_density.csv")
    values = {row: v[0] for (row, _), v in rows.items()}
    assert len(values) == 8 and len(set(values.values())) >= 6
    assert re.search(r"^online: Online GuideBoot .*\d", capsys.readouterr().out, re.M) and (tmp_path / "sweep_ads_A_density.svg").exists()


def test_verdicts_worked_by_hand():
    """Not reproduced: an interval below 0, or none above. Reproduced: all above. Else partly. One run proves nothing."""
    sure, likely, unlikely, opposite, open_ = (2.0, 1.9), (2.0, 2.1), (-0.1, 5.0), (-3.0, 1.0), "not reproduced (undecided)"
    for pairs, expected in (([sure], "reproduced"), ([likely], open_), ([unlikely], open_), ([opposite], "not reproduced"),
                            ([sure, sure], "reproduced"), ([sure, unlikely], "partly"), ([likely, unlikely], open_),
                            ([sure, sure, opposite], "not reproduced"), ([sure, (1.0, math.nan)], "open, too few runs"), ([(1.0, math.inf)], "open, too few runs")):
        assert report.verdict(dict(enumerate(pairs))) == expected, pairs
    table = [("all", "", {"m": unlikely, "n": sure, "o": sure}), ("m alone", "", {"m": (-0.1, 0.09)}), ("another m", "", {"m": sure}), ("n and m", "", {"n": sure, "m": likely})]
    assert report.verdicts(table) == ["not reproduced", "not reproduced", "reproduced", "partly"]         # the first contains the second
    line, = [line for line in report.claims("S", [("a", "Fig. 9", {"m": sure, "n": unlikely})]).splitlines() if line.startswith("a ")]
    assert line.split() == ["a", "Fig.", "9", "-0.1", "+-", "5.0", "n", "1", "of", "2", "partly"]


def test_claims_are_signed_so_that_above_zero_supports_the_paper(capsys, tmp_path):
    """Made-up results in which exactly the paper's claims hold; regret: the better method has less, reward: it has more."""
    regret = dict(zip(["GuideBoot", "Online GuideBoot", "GLM-UCB", "Giro", "TS-BLR", "Bootstrap", "OBB", "e-greedy", "e-greedy (decay)"], range(1, 10))) | {"OBB": 20}
    final = {m: {0: v, 1: v + 0.1} for m, v in regret.items()}
    assert [report.verdict(pairs) for _, _, pairs in run_synthetic.claims(final)] == ["reproduced"] * 7
    final["OBB"] = {0: 6.5, 1: 6.6}                                            # now it loses 0.5, Online GuideBoot 1
    assert [report.verdict(pairs) for _, _, pairs in run_synthetic.claims(final)].count("not reproduced") == 1
    for i, task in enumerate("AB"):
        paper = {f"{s}: {m}": v[i] for s in run_ads.PAPER for m, v in run_ads.PAPER[s].items()}
        rows = {row: {0: mean - std, 1: mean + std} for row, (mean, std) in paper.items()}
        table = {text: (evidence, pairs) for text, evidence, pairs in run_ads.claims(task, rows)}
        for text, (evidence, pairs) in table.items():                          # on the paper's own numbers: its own differences
            factor = math.sqrt(math.pi) if "std" in text else 1.0              # sqrt(pi / 2 n / (n - 1)) for the two runs
            assert min(mean for mean, _ in pairs.values()) == pytest.approx(factor * float(evidence), abs=6e-5)
        assert len(table["GuideBoot is the best of Table 3"][1]) == 7 and len(table["Online GuideBoot is the best of Table 4"][1]) == 6
        assert set(table["Every method is better online than with replay"][1]) == {
            "e-greedy", "e-greedy (decay)", "Deep-TS-Beta", "Deep-UCB1", "MC-Dropout", "Online GuideBoot"}
        assert [float(e) > 0 for e, _ in table.values()] == [True] * 4 + [task == "B", task == "A"]       # where the paper's own numbers fall short


def test_claims_are_printed_and_a_flat_sweep_too_but_not_two_things_at_once(capsys, tmp_path):
    row = np.array([5.0, 0.5])
    run_synthetic.show(dict(run_synthetic.DEFAULTS, steps=1, task="synthetic"), tmp_path / "x.csv",
                       {m: {0: (1 + 2 * (m == "OBB")) * row, 1: (1.1 + 2 * (m == "OBB")) * row} for m in run_synthetic.METHODS})
    assert re.search(r"Online GuideBoot beats OBB +works fairly well +\+10.0 \+- 0.0 +1 of 1 +reproduced", capsys.readouterr().out)
    run_synthetic.main(["--sweep", "learning-rate", "--methods", "glm-ucb", "--runs", "1", "--steps", "20", "--out", str(tmp_path)])
    assert capsys.readouterr().out.count("GLM-UCB") == 1                     # flat, alone
    for argv in (["--tune", "--sweep", "alpha"], ["--tune", "--arms"], ["--tune", "--alpha", "3"], ["--tune", "--untuned"],
                 ["--sweep", "alpha", "--alpha", "3"], ["--sweep", "models", "--models", "7"]):
        with pytest.raises(SystemExit):
            run_synthetic.main([*argv, "--out", str(tmp_path)])
        assert capsys.readouterr().err.count("\n") == 1


# ---------------------------------------------------------------- report.py

def test_t95_equals_the_printed_tables():
    for df, expected in ((1, 12.7062), (2, 4.3027), (9, 2.2622), (49, 2.0096), (1000, 1.9623)):
        assert report.t95(df) == pytest.approx(expected, abs=2e-3 * (1 if df > 1 else 5))
    assert report.t95(0) == math.inf
    assert report.t95(9, share=5) == pytest.approx(3.2498, abs=2e-3) and report.t95(9, share=1) == report.t95(9)       # 99.5 % quantile


def test_any_two_lines_are_told_apart_in_grey():
    """By dash, by width, or by lightness."""
    grey = lambda colour: 0.299 * int(colour[1:3], 16) + 0.587 * int(colour[3:5], 16) + 0.114 * int(colour[5:], 16)
    for i, (a, dash_a) in enumerate(report.STYLES):
        for j, (b, dash_b) in enumerate(report.STYLES[:i]):
            assert dash_a != dash_b or (i < 2) != (j < 2) or abs(grey(a) - grey(b)) > 25, (i, j)


def test_logarithmic_ticks_cover_and_are_round():
    for low, high in ((231.0, 870.0), (0.0199, 0.0312), (9.0, 11.0), (100.0, 1000.0)):
        ticks = report.log_ticks(low, high)
        assert ticks[0] <= low and ticks[-1] >= high and len(ticks) >= 2 and (ticks[1:] > ticks[:-1]).all() and len(ticks) < 14


def test_paired_interval_worked_by_hand():
    """Differences 1, 2, 3: mean 2, standard error 1/sqrt(3), t(2) = 4.3027. Only common seeds count."""
    mean, half = report.paired({0: 2, 1: 4, 2: 6, 7: 99}, {2: 3, 0: 1, 1: 2, 8: -5})
    assert mean == 2 and half == pytest.approx(4.3027 / math.sqrt(3), abs=2e-3)
    assert report.mean_and_error([5.0])[0] == 5 and math.isnan(report.mean_and_error([5.0])[1])
    assert report.plus_minus(2.0, 1.25, "+.1f") == "+2.0 +- 1.2" and report.plus_minus(2.0, math.nan) == "2.0"
    assert report.plus_minus(*report.paired({0: 1.0}, {1: 1.0})) == ""
    assert report.paired({0: 9.0, 1: 8.0}, {0: 5.0, 1: 5.0}, {0: 3.0, 1: 2.0}, {0: 1.0, 1: 1.0})[0] == 2.0      # 4 - 2 and 3 - 1


def test_labels_are_spread_to_their_gap_and_keep_their_order():
    moved = report.spread([50.0, 10.0, 11.0, 52.0, 12.0], 10, -100, 100)
    order = np.argsort([50.0, 10.0, 11.0, 52.0, 12.0])
    assert (np.diff(moved[order]) >= 10 - 1e-6).all() and abs(moved.mean() - 27) < 1e-6
    moved = report.spread([5.0, 6.0, 7.0, 95.0], 10, 0, 90)
    assert (np.diff(moved) >= 10 - 1e-6).all() and moved[0] >= 0 and moved[-1] <= 90


def test_ticks_are_round_and_cover_the_range():
    for low, high in ((0, 1), (0, 10_000), (0, 0.093), (-3, 7), (2, 2), (0.012, 0.012), (0, 0)):
        ticks = report.nice_ticks(low, high)
        assert ticks[0] <= low and ticks[-1] >= high and 2 <= len(ticks) <= 12
    assert report.nice_ticks(0.012, 0.012)[-1] < 0.02


def explode(job, tick):
    tick(0.5)
    if job == "bad":
        raise ValueError("no luck")
    if job == "dead":
        import os
        os._exit(9)
    return job * 2


def test_pool_reports_results_failures_and_deaths_by_job():
    events = list(report.pool(explode, ["a", "bad", "dead", "b"], 2))
    last = {job: (kind, value) for job, kind, value in events if kind != "tick"}
    assert last["a"] == ("done", "aa") and last["b"] == ("done", "bb") and last["bad"] == ("failed", "ValueError: no luck")
    assert last["dead"][0] == "died" and "exit code 9" in last["dead"][1]
    assert [e for e in events if e[1] == "tick"][0][2] == 0.5


def sleep(job, tick):
    import time
    tick(0.0)
    time.sleep(60)


def test_leaving_the_pool_ends_its_processes():
    import multiprocessing
    import time
    events = report.pool(sleep, ["a", "b"], 2)
    next(events)
    processes = multiprocessing.active_children()
    events.close()
    for process in processes:
        process.join(10)
    assert len(processes) == 2 and not any(process.is_alive() for process in processes)


def test_fingerprint_ignores_comments_and_docstrings_and_notices_code(tmp_path):
    prints = []
    for i, text in enumerate(("def f():\n    x = 1\n", 'def f():\n    "Doc."\n    x = 1  # one\n\n', "def f():\n    x = 2\n")):
        (tmp_path / f"{i}.py").write_text(text)
        prints.append(report.fingerprint(tmp_path / f"{i}.py"))
    assert prints[0] == prints[1] != prints[2]
    for text in ("def run():\n    x = 1\nC = 1\n", "def run():\n    x = 1\nC = 2\ndef f(): 1\n", "C = 1\ndef run():\n    x = 1\n"):
        (tmp_path / "run.py").write_text(text)                                # what comes after `run` makes no numbers
        prints.append(report.fingerprint(tmp_path / "run.py"))
    assert prints[3] == prints[4] != prints[5]
    for text in ("C = 1\ndef main(): 1\nmain()\n", "C = 1\ndef main(): 2\n", "C = 2\ndef main(): 1\n"):
        (tmp_path / "main.py").write_text(text)                               # nor does `main`, with which a module ends
        prints.append(report.fingerprint(tmp_path / "main.py"))
    assert prints[6] == prints[7] != prints[8]


@pytest.mark.parametrize("script", [run_synthetic, run_ads])
def test_a_run_depends_on_nothing_that_the_fingerprint_leaves_out(script):
    """The code up to `run`, alone, with `report`'s and the tables' names taken away, still runs."""
    source = Path(script.__file__).read_text(encoding="utf-8")
    tree = ast.parse(source)
    last = next(i for i, node in enumerate(tree.body) if getattr(node, "name", "") == "run")
    tree.body = tree.body[:last + 1]
    names = dict(__name__="cut")
    exec(compile(tree, "cut", "exec"), names)
    del names["report"]
    for row in ("Online GuideBoot", "Random") if script is run_synthetic else ("online: Online GuideBoot", "replay: GuideBoot", "yardstick: Oracle"):
        o = dict(task="synthetic", steps=60) if script is run_synthetic else dict(task="A", scale=0.01, steps=300)
        np.testing.assert_array_equal(names["run"]((row, 0, o)), script.run((row, 0, o)))


def test_shuffle_or_weights_can_be_run(tmp_path, capsys):
    """A run leaves the methods as they were, four different things come out, and the script goes on with its file."""
    methods = dict(run_synthetic.METHODS)
    shuffle.run(("both", 7, dict(task="synthetic", steps=40)))
    assert run_synthetic.METHODS == methods and not Agent.shuffle and not OBB.shuffle
    for times in (0, 1):
        assert shuffle.main(["--runs", "1", "--seed", "7", "--out", str(tmp_path)]) == 0
        text = capsys.readouterr().out
        assert ("20 of 20 already done" in text) == times and re.search(r"^both( +\d+\.\d){5}$", text, re.M)
    _, _, rows = report.read_results(tmp_path / "shuffle.csv")
    assert len(rows) == 20 and len({values[0] for values in rows.values()}) == 20 and (tmp_path / "shuffle.svg").exists()
