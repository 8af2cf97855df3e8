"""3. Ties (Algorithm 1, line 8). Early in a run most estimates are 0: the argmax has many answers.

Write the argmax of a hurry, which takes the first of the largest scores (NumPy's does). Then
predict what it does to the vanilla bootstrap's regret on ten arms with CTRs up to 0.1, and then
measure it: `python tests/exercises/ex03_ties.py measure`.
"""
import helper

import numpy as np

import guideboot
import run_arms
from envs import BernoulliArms, Scored, stream


def first_largest(scores, rng):
    """Index of the first of the largest scores; rng, the source of random ties, is not used."""
    raise NotImplementedError("see numpy.argmax; an int, please")


# Its regret, beside that of random ties: "better", "worse" or "the same".
BY_INDEX_IS = None


def regret(argmax, runs=40, steps=400, m=10):
    """Mean regret of the bootstrap with this argmax, over runs that are the same for each."""
    ours = run_arms.argmax
    run_arms.argmax = argmax
    total = 0.0
    try:
        for seed in range(runs):
            env = Scored(BernoulliArms(seed, m), steps)
            agent = run_arms.Arms(m, run_arms.bootstrap_mean, stream(seed, "agent"))
            guideboot.online(agent, env, steps, c=1)
            total += env.regret.sum()
    finally:
        run_arms.argmax = ours
    return total / runs


def measure():
    print(f"by index {regret(first_largest):.1f}, at random {regret(guideboot.argmax):.1f}")


def check():
    for scores, first in (([0.0, 0.0], 0), ([1.0, 3.0, 3.0], 1), ([2.0, 1.0], 0)):
        assert first_largest(np.array(scores), None) == first, (
            f"of the scores {scores} take the first of the largest, not another")
    change = regret(first_largest) / regret(guideboot.argmax) - 1
    helper.expect_sign("BY_INDEX_IS", BY_INDEX_IS, change if abs(change) > 0.1 else 0,
                       ("the same", "worse", "better"),
                       "which arms are pulled while all estimates are 0?")


if __name__ == "__main__":
    helper.main(check, measure)
