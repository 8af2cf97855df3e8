"""12. A table of your own as a bandit, with and without crossed ids (envs.Labelled).

Every row is a request, every class of the label a candidate; reward 1 for the right one. The table
below has the columns sky, trip, go: one goes by bike under a clear sky (half of the days), by bus
in the rain (three days in ten), by sledge in the snow, whatever the trip. Without crossed ids,
candidate a of a row has the ids [a, sky, trip]: look at envs.Labelled and nn.LogisticBag.scores.
"""
import csv
import tempfile
from pathlib import Path

import helper

import numpy as np

from envs import Labelled, Scored, stream
from guideboot import GuideBoot, Harmonic, replay
from nn import LogisticBag


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

    One goes by bike if the sky is clear and the trip short, or if neither is so, else by bus. (A
    logistic model adds up its ids: neither column tells anything alone.) Add what it needs.
    """
    raise NotImplementedError("return [sky, trip, ...]: a column of the pair has an id of its own")


def days(n=600):
    """n days: the sky (clear, rain or snow) and the trip (short or long)."""
    rng = np.random.default_rng(0)
    skies = rng.choice(["clear", "rain", "snow"], n, p=[0.5, 0.3, 0.2])
    return list(zip(skies, rng.choice(["short", "long"], n)))


def by_sky(sky, trip):
    return {"clear": "bike", "rain": "bus", "snow": "sledge"}[sky]


def by_both(sky, trip):
    return "bike" if (sky == "clear") == (trip == "short") else "bus"


def bandit(rule, cells, crossed):
    """The table, written to a temporary folder and read as an environment."""
    rows = [[*cells(*day), rule(*day)] for day in days()]
    heads = [f"column {i}" for i in range(len(rows[0]) - 1)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "days.csv")
        with open(path, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([[*heads, "go"], *rows])
        return Scored(Labelled(0, path, "go", crossed), len(rows))


def reward(rule, cells, crossed=True):
    """Share of right answers of GuideBoot in the second half of the table."""
    env = bandit(rule, cells, crossed)
    bag = LogisticBag(env.features, [stream(0, "models", k) for k in range(3)], learning_rate=0.05)
    replay(GuideBoot(bag, stream(0, "agent"), Harmonic(env.features), 0.1), env, 600, b=32)
    return env.rewards[300:].mean()


def plain(sky, trip):
    return [sky, trip]


def measure():
    print(f"by sky: {reward(by_sky, plain):.2f} crossed, {reward(by_sky, plain, False):.2f} not")
    print(f"by both, crossed: {reward(by_both, plain):.2f}, widened {reward(by_both, widened):.2f}")


def check():
    X = bandit(by_sky, plain, False).observe()               # (3, 3)
    for theta in np.random.default_rng(0).standard_normal((5, X.max() + 2)):
        left = theta[X].sum(axis=1) + theta[-1] - common(theta, X)
        assert np.ndim(common(theta, X)) == 0, "common is one number for all candidates"
        assert np.allclose(left, theta[X[:, 0]]), (
            "scores - common must be the weights of the ids a alone: is the bias in it, and each "
            "column of the table, once?")
    answers = [by_sky(*day) for day in days(50_000)]
    best = max(answers.count(answer) for answer in set(answers)) / len(answers)
    helper.expect_number("BEST_WITHOUT", BEST_WITHOUT, best, 0.01,
                         "without the common part the argmax is the same for every row")
    for day in days(20):
        assert list(widened(*day))[:2] == list(day), "return [sky, trip, ...], new cells at the end"
    assert len({len(widened(*day)) for day in days(100)}) == 1, "every row needs as many cells"
    right = reward(by_both, widened)
    assert right > 0.9, (
        f"{right:.2f} of the answers are right: one column whose cell tells sky and trip at once?")


if __name__ == "__main__":
    helper.main(check, measure)
