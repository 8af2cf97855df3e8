"""Statistics worked by hand, and result files that keep every number."""
import math

import numpy as np
import pytest

from lab import tables


def test_the_quantile_equals_the_printed_tables():
    """97.5 % of Student's t; with five intervals 99.5 %. The grid's angles are 8e-6 apart, which at
    df = 1 is 8e-6 * (1 + 12.7^2) = 0.0013 of the quantile, and less elsewhere."""
    for df, expected in ((1, 12.7062), (2, 4.3027), (9, 2.2622), (49, 2.0096), (1000, 1.9623)):
        assert tables.t_quantile(df) == pytest.approx(expected, abs=0.0014)
    assert tables.t_quantile(9, intervals=5) == pytest.approx(3.2498, abs=0.0014)
    assert tables.t_quantile(0) == math.inf


def test_of_fewer_than_five_runs_no_error_is_known():
    ones = dict.fromkeys(range(4), 1.0)
    assert tables.paired({0: 6.0, 1: 8.0, 2: 9.0, 3: 7.0}, ones) == (6.5, math.inf)
    assert tables.plus_minus(6.5, math.inf) == "6.5"
    assert tables.plus_minus(*tables.paired({9: 1.0}, ones)) == ""       # no seed in common


def test_checkpoints_are_fifty_or_every_step_and_end_with_the_last():
    assert tables.checkpoints(5).tolist() == [1, 2, 3, 4, 5]
    assert tables.checkpoints(10_000).tolist() == list(range(200, 10_001, 200))
    odd = tables.checkpoints(10_007)
    assert (len(odd), odd[-1]) == (50, 10_007)


def record(numbers, **more):
    return {"numbers": numbers, **dict.fromkeys(tables.KNOWN, ""), "steps": "3", **more}


@pytest.mark.parametrize("columns, row", [
    (("method",), "A, the first"),
    (("setting", "method"), ("online", "B")),
    (("setting", "method", "alpha"), ("online", "B", 0.3))])
def test_a_result_file_gives_back_what_was_written(tmp_path, columns, row):
    results = tables.Results(columns)
    numbers = {"regret": 1 / 3, "own": -0.0}
    results.add(row, 10, record(numbers, curve=[1e-300, 0.1, 1 / 3], tuned="no"))
    results.add(row, 9, record({"regret": math.inf}, call="m.f(x='a, b')"))
    (tmp_path / "r.csv").write_text(tables.csv_text(results))
    back = tables.read_csv(tmp_path / "r.csv")
    assert back.columns == columns
    assert list(back.records[row]) == [9, 10]
    assert back.records == results.records


HEADS, REST = f"method,seed,regret,{','.join(tables.KNOWN)}\n", "," * len(tables.KNOWN)


@pytest.mark.parametrize("text, message", [
    ("", "not a result file"), ("a,b\n1,2\n", "not a result file"), (HEADS, "not a result file"),
    (f"{HEADS}a,0{REST}\n", "r.csv is torn: line 2"),
    (f"{HEADS}a,0,1.5{REST}\na,1,{REST}\n", "r.csv, line 3: could not convert"),
    (f"{HEADS}a,0.5,1.5{REST}\n", "r.csv, line 2: invalid literal"),
    (f"{HEADS}a,0,1.5{REST}\na,0,1.5{REST}\n", "line 3: a, seed 0, once more")])
def test_what_is_no_result_file_is_refused(tmp_path, text, message):
    (tmp_path / "r.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        tables.read_csv(tmp_path / "r.csv")


@pytest.mark.parametrize("score, order, gap", [
    ("regret", ["low", "high", "lost"], "+3.0 +- 2.0"),
    ("reward", ["high", "low", "lost"], "+3.0000 +- 1.9632")])
def test_a_table_is_sorted_by_the_score_and_shows_paired_differences(score, order, gap):
    """Worked by hand: on the common seeds the differences are 1 to 5, with the mean 3 and the std
    sqrt(2.5), and t(4) = 2.7764, so the half-width is 2.7764 * sqrt(2.5 / 5) = 1.9632."""
    runs = {"low": {0: 10.0, 1: 9.0, 2: 8.0, 3: 7.0, 4: 6.0, 7: 0.0},
            "lost": {0: np.nan},
            "high": {8: 99.0, 4: 11.0, 3: 11.0, 2: 11.0, 1: 11.0, 0: 11.0}}
    results = tables.Results()
    for row, by_seed in runs.items():
        for seed, value in by_seed.items():
            results.add(row, seed, record({score: value}))
    lines = tables.score_table(results, "low").splitlines()[2:]
    assert [line.split()[0] for line in lines] == order
    assert gap in lines[order.index("high")]
    assert "1 diverged" in lines[2]
