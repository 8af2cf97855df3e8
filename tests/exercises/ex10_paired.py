"""10. How many runs until two methods can be told apart? (Figure 3: "50 random runs")

Run number i of every method faces the same arms and the same luck. The mean difference of n paired
runs has the standard error sd(x - y) / sqrt(n); without pairing it is sqrt((var(x) + var(y)) / n).
A difference is seen (two-sided, at 5 %) if it is 1.96 standard errors from 0; to be seen in 80 % of
such experiments, the true one must be 0.84 further away. Then predict: does pairing save more runs
if clicks are counted, or if regret is? `python tests/exercises/ex10_paired.py measure` tells.
Explain: what is regret a difference to?
"""
import helper

import numpy as np

from envs import BernoulliArms, Scored, stream
from guideboot import online
from run_arms import Arms, GiroArms, thompson_mean


def runs_needed(x, y, paired):
    """Runs of each method for 80 % power at 5 %, judged from the scores x and y of some runs."""
    raise NotImplementedError("the mean difference must be 1.96 + 0.84 standard errors: solve for "
                              "n; use ddof=1")


# "clicks" or "regret".
SAVES_MORE_FOR = None


def scores(method, runs=60, steps=200):
    """Clicks and regret, (2, runs), on ten arms with CTRs from 0 to 1."""
    found = []
    for seed in range(runs):
        env = Scored(BernoulliArms(seed, m=10, high=1.0), steps)
        rng = stream(seed, "agent")
        agent = GiroArms(10, rng, 0.2) if method == "Giro" else Arms(10, thompson_mean, rng)
        online(agent, env, steps, c=1)
        found.append((env.rewards.sum(), env.regret.sum()))
    return np.array(found, float).T


def measure():
    for name, x, y in zip(("clicks", "regret"), scores("Thompson"), scores("Giro")):
        print(f"{name}: {runs_needed(x, y, True):.0f} runs with pairing, "
              f"{runs_needed(x, y, False):.0f} without")


def power(n, mean, sd):
    """The share of 4,000 experiments of n runs whose mean is 1.96 standard errors from 0."""
    error = sd / n ** 0.5
    means = mean + error * np.random.default_rng(1).standard_normal(4000)
    return (np.abs(means) > 1.96 * error).mean()


def check():
    rng = np.random.default_rng(0)
    x, y = 3 * rng.standard_normal(2000) + rng.standard_normal((2, 2000)) + [[0.25], [0.0]]
    for paired, sd in ((True, np.std(x - y)), (False, np.hypot(np.std(x), np.std(y)))):
        n = runs_needed(x, y, paired)
        assert np.ndim(n) == 0 and n > 1, f"one number of runs, above 1, not {n}"
        found = power(n, np.mean(x - y), sd)
        assert abs(found - 0.8) < 0.03, (                    # 4.7 standard errors
            f"with your number of runs ({'' if paired else 'not '}paired) the difference is seen "
            f"in {100 * found:.0f} % of the experiments, not in 80 %")
    saved = [runs_needed(x, y, False) / runs_needed(x, y, True)
             for x, y in zip(scores("Thompson"), scores("Giro"))]
    words = ("clicks", "regret")
    helper.expect_word("SAVES_MORE_FOR", SAVES_MORE_FOR, words[np.argmax(saved)], words,
                       "which of the two depends on how good the arms of a run happen to be?")


if __name__ == "__main__":
    helper.main(check, measure)
