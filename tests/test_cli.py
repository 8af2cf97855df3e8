"""The command line as a user meets it: results, messages, files."""
import math
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import report
import run_synthetic

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
    table = done.stdout.split("reward per step\n")[1].splitlines()[1:11]
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
    assert "the paper: 50 runs" in done.stdout


def test_result_is_the_same_for_any_number_of_workers_and_any_subset_of_methods(all_methods, tmp_path):
    _, _, rows = report.read_results(all_methods[0] / "synthetic.csv")
    assert cli("--runs", 2, "--steps", 120, "--workers", 1, "--methods", "OBB,guideboot, ts-blr", "--out", tmp_path).returncode == 0
    _, _, some = report.read_results(tmp_path / "synthetic.csv")
    assert {m for m, _ in some} == {"GuideBoot", "OBB", "TS-BLR"}
    assert all((rows[key] == some[key]).all() for key in some)
    again = run_synthetic.run(("synthetic", "Giro", 1, dict(run_synthetic.DEFAULTS, steps=120)))
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
    base = dict(run_synthetic.DEFAULTS, steps=60)
    run = lambda method, **kw: run_synthetic.run(("synthetic", method, 0, dict(base, **kw)))
    for method, used, unused in (("GuideBoot", dict(alpha=9.0), dict(buffer=7)), ("GuideBoot", dict(models=2), dict(epsilon=0.9)),
                                 ("GuideBoot", dict(batch=3), dict(giro_alpha=0.1)), ("OBB", dict(buffer=7), dict(batch=3)),
                                 ("OBB", dict(minibatches=1), dict(learning_rate=0.5)), ("Bootstrap", dict(learning_rate=0.5), dict(alpha=9.0)),
                                 ("OBB", dict(online_learning_rate=0.5), dict(alpha=9.0)), ("Giro", dict(giro_alpha=1.0), dict(alpha=9.0)),
                                 ("e-greedy", dict(epsilon=0.9), dict(models=2)), ("GLM-UCB", dict(ucb_strength=0.0), dict(alpha=2.0)),
                                 ("TS-BLR", dict(precision=9.0), dict(models=2)), ("Bootstrap", dict(init=3.0), dict(buffer=7))):
        assert run(method) != run(method, **used), (method, used)
        assert run(method) == run(method, **unused), (method, unused)


@pytest.mark.parametrize("arguments, message", [
    (("--methods", "guideboot,linucb"), "argument --methods: must be some of GuideBoot, .*; got linucb"),
    (("--methods", ""), "argument --methods: must be some of .*; got ''"),
    (("--runs", "0"), "argument --runs: must be a whole number, 1 or more, got '0'"),
    (("--steps", "-5"), "argument --steps: must be a whole number, 1 or more, got '-5'"),
    (("--steps", "1e4"), "argument --steps: must be a whole number, 1 or more, got '1e4'"),
    (("--alpha", "0"), "argument --alpha: must be a number, above 0, got '0'"),
    (("--alpha", "nan"), "argument --alpha: must be a number, above 0, got 'nan'"),
    (("--alpha", "inf"), "argument --alpha: must be a number, above 0, got 'inf'"),
    (("--models", "0"), "argument --models: .*got '0'"), (("--batch", "x"), "argument --batch: .*got 'x'"),
    (("--buffer", "0"), "argument --buffer: .*got '0'"), (("--minibatches", "0"), "argument --minibatches: .*got '0'"),
    (("--learning-rate", "-1"), "argument --learning-rate: must be a number, above 0, got '-1'"),
    (("--workers", "0"), "argument --workers: .*got '0'"), (("--seed", "-1"), "argument --seed: must be a whole number, 0 or more, got '-1'"),
    (("--out", "{file}/below"), "argument --out: must be a folder that can be written to, got '.*/below'"),
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


def test_an_earlier_result_is_kept_aside_and_not_overwritten(tmp_path):
    for n in range(2):
        (tmp_path / "synthetic.csv").write_text(f"earlier {n}")
        done = cli("--runs", 1, "--steps", 5, "--methods", "Random", "--out", tmp_path)
        assert done.returncode == 0 and f"synthetic.old-{n + 1}.csv" in done.stdout
    assert [(tmp_path / f"synthetic.old-{n}.csv").read_text() for n in (1, 2)] == ["earlier 0", "earlier 1"]


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
    assert len(run_synthetic.checkpoints(10_007)) == 50 and run_synthetic.checkpoints(10_007)[-1] == 10_007


# ---------------------------------------------------------------- report.py

def test_t95_equals_the_printed_tables():
    for df, expected in ((1, 12.7062), (2, 4.3027), (9, 2.2622), (49, 2.0096), (1000, 1.9623)):
        assert report.t95(df) == pytest.approx(expected, abs=2e-3 * (1 if df > 1 else 5))
    assert report.t95(0) == math.inf


def test_paired_interval_worked_by_hand():
    """Differences 1, 2, 3: mean 2, standard error 1/sqrt(3), t(2) = 4.3027."""
    mean, half = report.paired([2, 4, 6], [1, 2, 3])
    assert mean == 2 and half == pytest.approx(4.3027 / math.sqrt(3), abs=2e-3)
    assert report.mean_and_error([5.0])[0] == 5 and math.isnan(report.mean_and_error([5.0])[1])


def test_results_survive_the_round_trip_exactly(tmp_path):
    rows = {("a, b", 3): [1 / 3, 1e-300, -0.0], ("c", 4): [float("inf"), 2.0, 3.0]}
    report.write_results(tmp_path / "x.csv", {"alpha": 1e9}, ["p", "q", "r"], rows)
    header, columns, back = report.read_results(tmp_path / "x.csv")
    assert header == {"alpha": 1e9} and columns == ["p", "q", "r"] and {k: v.tolist() for k, v in back.items()} == rows
    assert [p.name for p in tmp_path.iterdir()] == ["x.csv"]


def test_labels_are_spread_to_their_gap_and_keep_their_order():
    moved = report.spread([50.0, 10.0, 11.0, 52.0, 12.0], 10)
    order = np.argsort([50.0, 10.0, 11.0, 52.0, 12.0])
    assert (np.diff(moved[order]) >= 10 - 1e-6).all() and abs(moved.mean() - 27) < 1e-6


def test_ticks_are_round_and_cover_the_range():
    for low, high in ((0, 1), (0, 10_000), (0, 0.093), (-3, 7), (2, 2)):
        ticks = report.nice_ticks(low, high)
        assert ticks[0] <= low and ticks[-1] >= high and 2 <= len(ticks) <= 12


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


def test_fingerprint_ignores_comments_and_notices_code(tmp_path):
    prints = []
    for i, text in enumerate(("x = 1\n", "x = 1  # one\n\n", "x = 2\n")):
        (tmp_path / f"{i}.py").write_text(text)
        prints.append(report.fingerprint(tmp_path / f"{i}.py"))
    assert prints[0] == prints[1] != prints[2]
