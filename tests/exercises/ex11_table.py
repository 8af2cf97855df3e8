"""11. A table of your own as a bandit, with and without crossed ids (envs.Labelled).

Every row is a request, every class of the label a candidate; reward 1 for the right one. The table
SKY has the columns sky, trip, go: one goes by bike under a clear sky, by bus in the rain, by sledge
in the snow. Without crossed ids, candidate a of a row has the ids [a, sky, trip]: look at
envs.Labelled and nn.LogisticBag.scores, and at `python tests/exercises/ex11_table.py measure`.
"""
import tempfile
from pathlib import Path

import helper

import numpy as np

from envs import Labelled, Scored, stream
from guideboot import GuideBoot, Harmonic, replay
from nn import LogisticBag

DAYS = [(sky, trip) for sky in ("clear", "clear", "clear", "rain", "snow")
        for trip in ("short", "long")] * 60
SKY = [(sky, trip, {"clear": "bike", "rain": "bus", "snow": "sledge"}[sky]) for sky, trip in DAYS]


def common(theta, X):
    """The part of the scores of X (m, J) that is the same for all candidates, without crossed ids.

    theta are the weights of the ids, then the bias. What is left must be the weight of the id a.
    """
    raise NotImplementedError("the score is the sum of theta[x_j] and the bias theta[-1]; which of "
                              "its terms differ between candidates?")


# So what is the largest share of right answers that a logistic model without crossed ids can have?
BEST_WITHOUT = None


def widened(sky, trip):
    """The cells of a row for another rule, which crossed ids of these two columns cannot learn.

    One goes by bike if the sky is clear and the trip short, or if neither is so; else by bus. (A
    logistic model adds up its ids: here it takes both to tell.) Add the column that it needs.
    """
    raise NotImplementedError("return [sky, trip, ...]: a pair of values needs an id of its own")


def by_both(cells):
    """The table of that rule, with these cells for every row."""
    return [(*cells(sky, trip), "bike" if (sky == "clear") == (trip == "short") else "bus")
            for sky, trip in DAYS]


def right_answers(rows, crossed=True):
    """GuideBoot's share of right answers in the second half of this table, written as a CSV."""
    heads = [*(f"column {i}" for i in range(len(rows[0]) - 1)), "go"]
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "days.csv")
        table.write_text("\n".join(map(",".join, [heads, *rows])), encoding="utf-8")
        env = Scored(Labelled(0, table, "go", crossed), len(rows))
    bag = LogisticBag(env.features, [stream(0, "models", k) for k in range(3)], learning_rate=0.05)
    agent = GuideBoot(bag, stream(0, "agent"), Harmonic(env.features), alpha=0.1)
    replay(agent, env, len(rows), b=32)
    return env.rewards[len(rows) // 2:].mean()


def measure():
    print(f"SKY: {right_answers(SKY):.2f} crossed, {right_answers(SKY, crossed=False):.2f} not")
    print(f"by both: {right_answers(by_both(lambda *day: day)):.2f} crossed, "
          f"{right_answers(by_both(widened)):.2f} with your column")


def check():
    X = np.array([[0, 4, 7], [1, 4, 7], [2, 4, 7]])          # a row, without crossed ids
    for theta in np.random.default_rng(0).standard_normal((5, 10)):
        left = theta[X].sum(axis=1) + theta[-1] - common(theta, X)
        assert np.allclose(left, theta[:3]), (
            "scores - common must be the weights of the ids a alone: is the bias in it, and each "
            "column of the table, once?")
    answers = [answer for _, _, answer in SKY]
    best = max(answers.count(answer) for answer in answers) / len(answers)
    helper.expect_number("BEST_WITHOUT", BEST_WITHOUT, best, 0.01,
                         "without the common part the argmax is the same for every row")
    assert list(widened("rain", "long"))[:2] == ["rain", "long"], "return [sky, trip, ...]"
    share = right_answers(by_both(widened))
    assert share > 0.9, (
        f"{share:.2f} of the answers are right: one column whose cell tells sky and trip at once?")


if __name__ == "__main__":
    helper.main(check, measure)
