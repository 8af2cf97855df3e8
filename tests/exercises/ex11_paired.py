"""11. How many runs until two methods can be told apart? (Figure 3: "50 random runs")

Run number i of every method faces the same arms and the same luck. With differences d_i = x_i - y_i
of paired runs the standard error of the mean is sd(d) / sqrt(n), and without pairing it is
sqrt((var(x) + var(y)) / n). A difference is seen (two-sided, at 5 %) if it is 1.96 standard errors
from 0. To see it in 80 % of such experiments it must be 0.84 further away. Then predict: does
pairing save more runs if the clicks of a run are counted, or if its regret is? Measure, with
`python tests/exercises/ex11_paired.py measure`, and explain: what is regret a difference to?
"""
import helper

import numpy as np

from baselines import GiroArms
from envs import BernoulliArms, Scored, stream
from guideboot import Arms, online, thompson_mean


def runs_needed(x, y, paired):
    """Runs of each method for 80 % power at 5 %, judged from the scores x and y of some runs."""
    raise NotImplementedError("the mean difference must be 1.96 + 0.84 standard errors: solve for "
                              "n; use ddof=1")


SAVES_MORE_FOR = None             # "clicks" or "regret"


def scores(method, runs=60, steps=200):
    """The clicks and the regret (runs,) of a method on ten arms with CTRs from 0 to 1."""
    clicks, regret = [], []
    for seed in range(runs):
        env = Scored(BernoulliArms(seed, m=10, high=1.0), steps)
        online(method(stream(seed, "agent")), env, steps, c=1)
        clicks.append(env.rewards.sum())
        regret.append(env.regret.sum())
    return {"clicks": np.array(clicks, float), "regret": np.array(regret)}


def thompson(rng):
    return Arms(10, thompson_mean, rng)


def giro(rng):
    return GiroArms(10, rng)


def measure():
    x, y = scores(thompson), scores(giro)
    for name in x:
        paired, not_paired = (runs_needed(x[name], y[name], p) for p in (True, False))
        print(f"{name}: {paired:.0f} runs with pairing, {not_paired:.0f} without")


def power(n, mean, sd, rng):
    """The share of 4,000 experiments of n differences in which the mean is 1.96 errors from 0."""
    means = mean + sd * rng.standard_normal(4000) / n ** 0.5
    return (np.abs(means) > 1.96 * sd / n ** 0.5).mean()


def check():
    rng = np.random.default_rng(0)
    shared = 3 * rng.standard_normal(2000)                   # what the runs have in common
    x, y = (shared + rng.standard_normal(2000) + shift for shift in (0.0, 0.25))
    for paired, sd in ((True, np.std(x - y)), (False, np.hypot(np.std(x), np.std(y)))):
        for a, b in ((x, y), (y, x)):
            n = runs_needed(a, b, paired)
            assert np.ndim(n) == 0 and n > 1, f"one number of runs, above 1, not {n}"
            found = power(n, np.mean(x - y), sd, rng)
            assert abs(found - 0.8) < 0.03, (                # 4.7 standard errors
                f"with your number of runs ({'' if paired else 'not '}paired) a difference is seen "
                f"in {100 * found:.0f} % of the experiments, not in 80 %")
    x, y = scores(thompson), scores(giro)
    saved = {name: runs_needed(x[name], y[name], False) / runs_needed(x[name], y[name], True)
             for name in x}
    helper.expect_word("SAVES_MORE_FOR", SAVES_MORE_FOR, max(saved, key=saved.get), tuple(saved),
                       "which of the two depends on how good the arms of a run happen to be?")


if __name__ == "__main__":
    helper.main(check, measure)
