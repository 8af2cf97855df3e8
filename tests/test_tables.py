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


def test_a_paired_interval_worked_by_hand():
    """Differences 1 to 5: mean 3, std sqrt(2.5), t(4) = 2.7764. Only common seeds count."""
    a = {0: 2, 1: 4, 2: 6, 3: 8, 4: 10, 7: 99}
    b = {4: 5, 3: 4, 2: 3, 1: 2, 0: 1, 8: -5}
    mean, half = tables.paired(a, b)
    assert mean == 3
    assert half == pytest.approx(2.7764 * math.sqrt(2.5 / 5), abs=0.0014)


def test_of_fewer_than_five_runs_no_error_is_known():
    assert tables.paired({0: 6.0, 1: 8.0, 2: 9.0, 3: 7.0}, dict.fromkeys(range(4), 1.0)) == (
        6.5, math.inf)
    assert tables.plus_minus(6.5, math.inf) == "6.5"
    assert tables.plus_minus(2.0, 1.25, "+.1f") == "+2.0 +- 1.2"
    nothing_in_common = tables.paired({0: 1.0}, {1: 1.0})
    assert tables.plus_minus(*nothing_in_common) == ""


@pytest.mark.parametrize("steps, expected", [
    (1, [1]), (5, [1, 2, 3, 4, 5]), (10_000, list(range(200, 10_001, 200)))])
def test_checkpoints_are_fifty_or_every_step_and_end_with_the_last(steps, expected):
    assert tables.checkpoints(steps).tolist() == expected
    odd = tables.checkpoints(steps + 99)
    assert len(odd) == 50
    assert odd[-1] == steps + 99


def record(numbers, **more):
    return {"numbers": numbers, **dict.fromkeys(tables.KNOWN, ""), "steps": "3", **more}


@pytest.mark.parametrize("columns, row", [
    (("method",), "A, the first"),
    (("setting", "method"), ("online", "B")),
    (("setting", "method", "alpha"), ("online", "B", 0.3)),
])
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


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "method,seed,regret,tuned\n"])
def test_what_is_no_result_file_is_refused(tmp_path, text):
    (tmp_path / "r.csv").write_text(text)
    with pytest.raises(ValueError):
        tables.read_csv(tmp_path / "r.csv")


@pytest.mark.parametrize("score, order", [
    ("regret", ["low", "high", "lost"]), ("reward", ["high", "low", "lost"])])
def test_a_table_is_sorted_by_the_score_in_its_direction(score, order):
    results = tables.Results()
    for row, value in (("low", 1.0), ("lost", np.nan), ("high", 2.0)):
        results.add(row, 0, record({score: value}))
    lines = tables.score_table(results, "low").splitlines()[2:]
    assert [line.split()[0] for line in lines] == order
    assert "1 diverged" in lines[2]
