"""The study: as much tuning for every method, signed claims, and a report that is of the files."""
import shutil
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import envs
import guideboot as gb
import run_ads
import run_synthetic
from lab import alpha, identity, runs, store, study, tables
from lab.variants import Apart, Unguided, ads_no_fakes

RESULTS = runs.TUNED.parent


def description(method):
    return identity.describe(identity.complete(method, ("env", "steps", "seed")))


# ---------------------------------------------------------------- tuning

@pytest.mark.parametrize("experiment", study.GRIDS)
def test_every_method_has_as_many_configurations(experiment):
    tried = {row: len(study.configurations(experiment, row)) for row in study.METHODS[experiment]}
    tried.pop("Random", None)
    assert len(set(tried.values())) == 1
    assert min(tried.values()) > 1


@pytest.mark.parametrize("experiment", runs.tuned_values())
def test_the_tuned_values_are_the_best_on_seeds_of_their_own(experiment):
    results = tables.read_csv(next(RESULTS.glob(f"**/tune_{experiment}.csv")))
    seeds, = {frozenset(by_seed) for by_seed in results.records.values()}
    assert min(seeds) == study.TUNING_SEED
    best = study.best_values(experiment, results)
    committed = runs.tuned_values()[experiment]
    assert {tables.label(row) for row in best} == set(committed)
    for row, (options, _) in best.items():
        assert options.items() <= committed[tables.label(row)]["options"].items()


def test_a_configuration_that_diverged_is_never_the_best(monkeypatch):
    monkeypatch.setitem(study.GRIDS, "synthetic", {"OBB": dict(learning_rate=(0.1, 0.2, 0.3))})
    results = tables.Results(("method", "values"))
    for rate, regret in ((0.1, np.nan), (0.2, 8.0), (0.3, 9.0)):
        record = {"numbers": {"regret": regret}, "steps": "1"}
        results.add(("OBB", f"learning_rate {rate}"), 0, record)
    options, _ = study.best_values("synthetic", results)["OBB"]
    assert options == {"learning_rate": 0.2}


def test_tune_tries_all_writes_the_best_leaves_the_rest_and_again_takes_it(tmp_path, monkeypatch,
                                                                           no_workers):
    shutil.copy(runs.TUNED, tmp_path / "tuned.json")
    monkeypatch.setattr(runs, "TUNED", tmp_path / "tuned.json")
    before = runs.tuned_values()
    monkeypatch.setitem(study.GRIDS, "synthetic", {"OBB": dict(learning_rate=(1e-9, 0.05))})
    monkeypatch.setitem(study.METHODS, "synthetic", {"OBB": run_synthetic.obb})
    monkeypatch.setitem(study.TUNING, "synthetic", (envs.Synthetic, 300, 3))
    study.main(["tune", "synthetic", "--out", str(tmp_path)])
    after = runs.tuned_values()
    assert after["synthetic"] == {
        "OBB": {"method": "run_synthetic.obb", "options": {"learning_rate": 0.05}}}
    assert after["ads"] == before["ads"]
    study.main(["again", "synthetic", "--runs", "2", "--seed", "7", "--out", str(tmp_path)])
    results = tables.read_csv(tmp_path / "synthetic.csv")
    assert [*results.records["OBB"]] == [7, 8]
    assert results.known("OBB", "tuned") == "synthetic"


# ---------------------------------------------------------------- sweeps

@given(st.lists(st.integers(1, 500), min_size=1, max_size=12), st.floats(0.1, 10))
def test_unguided_fakes_are_as_many_on_average_but_the_same_for_all(counts, alpha):
    ids = np.arange(len(counts))
    unguided = Unguided(len(counts), partial(gb.AdCount, field=0), alpha)
    unguided.update(np.repeat(ids, counts)[:, None])
    assert unguided.density.count.tolist() == counts
    g = gb.guidance(unguided(ids[None, :, None]), alpha)         # (1, B)
    average = gb.guidance(np.array(counts), alpha).mean()
    assert g == pytest.approx(np.full(g.shape, average))


def test_on_the_ads_pull_and_noise_of_fakes_are_their_mean_and_the_rest():
    """On the same draws; the real sample is in both, so it counts twice."""
    X, r = np.array([[[0], [1]]]), np.array([[0, 1]])
    found = {}
    for part in ("pull", "noise"):
        agent = Apart(None, np.random.default_rng(3), gb.AdCount(2, 0), 0.5, part)
        agent.density.update(np.array([[0], [1], [1], [1]]))             # counts 1 and 3
        found[part] = agent.samples(X, r)
    assert found["pull"][0] == pytest.approx(np.array([[2.0, 4 / 3]]))
    assert found["pull"][1] == pytest.approx(np.array([[0.5, 7 / 6]]))
    drawn = gb.fake_samples(r, np.array([[1 / 2, 1 / 6]]), np.random.default_rng(3))
    for pull, noise, both, real in zip(found["pull"], found["noise"], drawn, (1, r)):
        assert pull + noise == pytest.approx(both + real)
    tuned = runs.tuned(study.METHODS["ads"], "ads")["online", "Online GuideBoot"]
    assert "part='noise'" in description(study.with_density(tuned, "noise"))


def test_a_sweep_prints_differences_to_the_tuned_value_and_draws_them(tmp_path, capsys,
                                                                      monkeypatch, no_workers):
    """That value is added to those of the sweep, here 0.3."""
    monkeypatch.setitem(study.SWEEPING, "synthetic", (envs.Synthetic, 40))
    monkeypatch.setitem(study.SWEEPS["synthetic"], "alpha", (("GuideBoot",), (0.3,), "its own"))
    tuned = runs.tuned_values()["synthetic"]["GuideBoot"]["options"]["alpha"]
    study.main(["sweep", "synthetic", "alpha", "--runs", "5", "--out", str(tmp_path)])
    regret = tables.read_csv(tmp_path / "sweep_alpha.csv").values()
    gap, _ = tables.paired(regret["GuideBoot", 0.3], regret["GuideBoot", tuned])
    assert f"{gap:+.1f} +- " in capsys.readouterr().out.split("Differences")[1]
    assert "log scale" in (tmp_path / "sweep_alpha.svg").read_text()


def test_without_fakes_means_bootstrap_in_replay_and_the_shuffle_alone_online():
    with pytest.raises(ValueError, match="experiment must be synthetic or .*, got 'synthetik'"):
        runs.tuned(run_synthetic.METHODS, "synthetik")
    methods = runs.tuned(study.METHODS["ads"], "ads")
    for row, same in ((("replay", "GuideBoot"), run_ads.bootstrap),
                      (("online", "Online GuideBoot"), ads_no_fakes)):
        rate = runs.tuned_values()["ads"][tables.label(row)]["options"]["learning_rate"]
        none = description(study.with_density(methods[row], "none"))
        assert none == description(partial(same, setting=row[0], learning_rate=rate))


# ---------------------------------------------------------------- claims

def runs_around(mean, spread=0.0):
    """Five runs with this mean, and a standard deviation of sqrt(5/2) times the spread."""
    return {seed: mean + spread * offset for seed, offset in enumerate((-2, -1, 0, 1, 2))}


def test_verdicts_worked_by_hand():
    """Five differences with a standard error of sqrt(2.5 / 5) = 0.707 have a half-width of 2.776
    times that, 1.963. A true difference of 1.963 + 0.842 * 0.707 = 2.558 is missed once in five."""
    above, around, below = (runs_around(mean, 1.0) for mean in (3.0, 0.5, -2.0))
    assert study.verdict({"a": above}, "+.3f") == "reproduced"
    assert study.verdict({"a": around}, "+.3f") == "undecided (could have missed 2.558)"
    assert study.verdict({"a": below}, "+.3f") == "not reproduced"
    assert study.verdict({"a": {0: 1.0}}, "+.3f") == "not tested (too few runs)"
    sure, unsure = runs_around(1.0), runs_around(0.0, 1.0)
    assert study.verdict({"a": sure, "b": unsure}, "+.1f").startswith("undecided")
    assert study.verdict({"a": sure, "b": runs_around(-1.0)}, "+.1f") == "not reproduced"
    refuted = runs_around(-2.2, 1.0)                         # in a claim of two its interval has 0
    table = [("all", "", {"x": refuted, "y": sure}, "+.1f"), ("one", "", {"x": refuted}, "+.1f")]
    assert study.verdict(*table[0][2:]).startswith("undecided")
    assert study.verdicts(table) == ["not reproduced", "not reproduced"]


def test_claims_are_signed_so_that_above_zero_supports_the_paper():
    """In a world as the paper tells it every claim is reproduced. Of the ads these are its own
    means; its claims on standard deviations and MC-Dropout need its runs."""
    around = partial(runs_around, spread=1e-6)
    order = ["GuideBoot", "Online GuideBoot", "Giro", "GLM-UCB", "TS-BLR", "e-greedy",
             "e-greedy (decay)", "Ridge", "Bootstrap", "OBB"]
    regret = {name: around(100.0 + 5 * i * i) for i, name in enumerate(order)}
    claims = study.synthetic_claims(regret)
    apart = tables.Results()
    for i, cell in enumerate(("GuideBoot", "no fakes", "unguided fakes")):
        for seed, ratio in around(1.1).items():
            numbers = {"regret": i, "spread": 0.1, "of_posterior": ratio}
            apart.add(cell, seed, {"numbers": numbers})
    claims += study.apart_claims(apart)
    for i, task in enumerate("AB"):
        means = {row: around(values[i][0]) for row, values in study.PAPER.items()}
        means |= {(setting, name): around(0.02) for setting in study.BEST
                  for name in ("Greedy", "Ridge")}
        claims = claims + study.ads_claims(task, means)
    rate = runs.tuned_values()["synthetic"]["Online GuideBoot"]["options"]["learning_rate"]
    order = ("shuffle", "neither", "both", "weights (OBB)")
    swept = tables.Results(("setting", "method", "giro_alpha"))
    for alpha, tuned, mean in ((0.003, "ads", 0.02), (0.2, "changed", 0.01)):
        for seed, reward in around(mean).items():
            record = {"numbers": {"reward": reward}, "tuned": tuned}
            swept.add(("replay", "Giro", alpha), seed, record)
    claims += study.giro_claim(swept)
    claims += study.shuffle_claim({(kind, rate): around(i) for i, kind in enumerate(order)})
    for (text, *_), verdict in zip(claims, study.verdicts(claims)):
        if "std" not in text and "MC-Dropout" not in text:
            assert verdict == "reproduced", text


# ---------------------------------------------------------------- the report

def test_the_report_is_of_the_files_which_have_no_seed_of_the_tuning(tmp_path):
    """Made anew in a copy, nothing changes: every table and figure is what its file gives."""
    copy = tmp_path / "results"
    shutil.copytree(RESULTS, copy)
    shutil.copy(RESULTS.parent / "README.md", tmp_path)
    study.report(copy)
    front = (RESULTS.parent / "README.md").read_text(encoding="utf-8")
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == front
    assert front.count("<!-- claims -->") == 1
    for path in sorted(RESULTS.glob("**/*")):
        if path.suffix in (".svg", ".md"):
            again = copy / path.relative_to(RESULTS)
            assert again.read_bytes() == path.read_bytes(), path.name
    text = (RESULTS / "README.md").read_text(encoding="utf-8")
    tuning = set(range(study.TUNING_SEED, study.TUNING_SEED + 100))
    for path in RESULTS.glob("**/*.csv"):
        if not path.stem.startswith(("tune_", "alpha_")):
            records, name = tables.read_csv(path).records.values(), path.relative_to(RESULTS)
            assert not tuning & {seed for by_seed in records for seed in by_seed}, name
            assert f"<!-- {name.as_posix()} -->" in text + front
            figure = name.with_suffix(".svg")
            drawn = [(folder / figure).exists() for folder in (copy, RESULTS)]
            assert drawn == 2 * [f"({figure.as_posix()})" in text], figure


def test_the_numbers_in_the_readmes_prose_come_out_again():
    front = " ".join((RESULTS.parent / "README.md").read_text(encoding="utf-8").split())
    apart = tables.read_csv(RESULTS / "why/why.csv")
    runs_each = {len(by_seed) for by_seed in apart.records.values()}
    assert f"{len(apart.records)} variants, tuned alike, {runs_each.pop()} runs" in front
    shares = list(apart.values("of_posterior")["GuideBoot"].values())
    assert f"{np.mean(shares):.1f}" == "0.2" and "spread a fifth as much as the posterior" in front
    rewards = tables.read_csv(RESULTS / "synthetic.csv").values("reward")["Random"].values()
    base = np.mean(list(rewards))                    # with the opposite bias it is 1 - base
    assert f"At base rates of 1/2 and {1 - base:.2f}" in front
    assert f"at the task's own, {base:.2f}" in front
    for name, strength in (("why/why_paper", "alpha=1.0"), ("untuned/synthetic", "alpha=1.0")):
        calls = tables.read_csv(RESULTS / f"{name}.csv").records["GuideBoot"].values()
        assert all(strength in one["call"] and "rate=0.002" in one["call"] for one in calls)
    assert "2 α D / t" in front and f"α = {0.03 * 3000 / 2:g} / D, for t = 3,000" in front


@pytest.mark.parametrize("method, seed", [("Random", 207), ("OBB", 203)])
def test_cells_of_the_committed_table_come_out_again(method, seed):
    """On any arithmetic: scores in float64 differ by so little that none of these choices turns."""
    record = tables.read_csv(RESULTS / "synthetic.csv").records[method][seed]
    chosen = runs.tuned(run_synthetic.METHODS, "synthetic")[method]
    again = store.make(chosen, envs.Synthetic, 10_000, seed, {}, {})["numbers"]["regret"]
    assert again == pytest.approx(record["numbers"]["regret"], rel=1e-6)


def test_alpha_is_compared_on_a_table_of_ones_own(tmp_path, monkeypatch, capsys, no_workers):
    path = tmp_path / "fruit.csv"
    path.write_text("colour,taste\n" + "red,good\nblue,bad\n" * 20)
    monkeypatch.setattr(alpha, "STEPS", 30)
    monkeypatch.setattr(alpha, "ALPHAS", (1.0,))
    alpha.main(["--table", str(path), "--label", "taste", "--runs", "5", "--out", str(tmp_path)])
    results = tables.read_csv(tmp_path / "alpha_fruit.csv")
    assert len(results.records) == 3 + 2 * 3                     # none, two densities; three rates
    regret, fakes = results.values(), results.values("fakes")
    gap, _ = tables.paired(regret["harmonic", 1.0, 0.01], regret["none", 0.0, 0.01])
    text = capsys.readouterr().out
    assert f"({gap:+.1f} +- " in text
    mean = np.mean([value for row in fakes if row[0] == "count" for value in fakes[row].values()])
    assert f"{mean:.3f}" in text
